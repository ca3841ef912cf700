//! Tickets: the issuer of a command, and its urgency.

use serde::{Deserialize, Serialize};
use wordline_nand::{DieId, PlaneGroupId};

use crate::cache::buffer::EntryId;
use crate::command::RequestId;

/// The issuer of a command, and its number for the command. `Flash` returns the ticket with the outcome of
/// the command, and does not interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ticket {
    /// A read for a host request; on a device without an FTL any work for a command.
    Request(RequestId),
    /// An RMW read of the rest of a partly written page, for its entry in the write buffer.
    Rmw(EntryId),
    /// A read of a page that is programmed because others of its unit are, for the sub-request.
    UnitRmw(u32),
    /// A read-ahead, for its entry in the read cache.
    Prefetch(EntryId),
    /// A read of the translation page with this number.
    Table(u32),
    /// A program of the host's program unit of a plane group.
    HostUnit(PlaneGroupId),
    /// A program of translation pages or discard records of a plane group.
    TableUnit(PlaneGroupId),
    /// A GC step in a plane group, for this purpose.
    Gc(PlaneGroupId, Purpose),
    /// A read of the scan after a power cut, in this die.
    Scan(DieId),
}

/// Reason for which pages are relocated and blocks erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Purpose {
    /// To gain free blocks.
    #[default]
    Collecting,
    /// To fold blocks of the SLC cache.
    Folding,
    /// To level wear.
    Levelling,
    /// To move pages out of a failed or reclaimed block, or out of their pool.
    Reclaiming,
}

/// Urgency of a task. The configuration sets the order of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// A read for which a host command waits.
    Read,
    /// A host program.
    Write,
    /// A GC step.
    Gc,
    /// A read for which no command waits: it has the priority of programs until it is
    /// [promoted](super::Flash::promote).
    Background,
}
