//! Tickets: who issued a command, and how urgent it is.

use serde::{Deserialize, Serialize};
use wordline_kernel::id;
use wordline_nand::{DieId, PlaneGroupId};

id!(
    /// Number of an outstanding command. Numbers are reused.
    RequestId
);

/// Issuer of a command, with the issuer's number for it. `Flash` returns the ticket with the outcome of the
/// command and does not interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ticket {
    /// Read for a host request. On a device without an FTL: any work for a command.
    Request(RequestId),
    /// RMW read of the rest of a page that is written in part, for the entry with this number.
    Rmw(u32),
    /// RMW read of the rest of a mapping unit that is programmed as a whole, for a sub-request.
    UnitRmw(u32),
    /// Read-ahead, for the entry with this number.
    Prefetch(u32),
    /// Read of the translation page with this number.
    Table(u32),
    /// Program of host pages in a plane group.
    HostUnit(PlaneGroupId),
    /// Program of translation pages or discard records in a plane group.
    TableUnit(PlaneGroupId),
    /// GC step in a plane group, for this purpose.
    Gc(PlaneGroupId, Purpose),
    /// Read of the recovery scan of a die after a power cut.
    Scan(DieId),
    /// Read at a location that the map guessed and where the page is not. The number is that of the guess.
    Guess(u32),
}

/// Why pages are relocated and blocks erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Purpose {
    /// To gain free blocks.
    #[default]
    Collecting,
    /// To fold blocks of the SLC cache.
    Folding,
    /// To level wear.
    Levelling,
    /// To move pages out of a failed or reclaimed block, to another pool, or on request of a design.
    Reclaiming,
}

/// Urgency class of a task. The configuration sets the order of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// Read for which a host command waits.
    Read,
    /// Host program.
    Write,
    /// GC step.
    Gc,
    /// Read for which no command waits. It has the priority of programs until it is
    /// [promoted](super::Flash::promote).
    Background,
}
