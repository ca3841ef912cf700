//! Tickets: the issuer of a command, and how urgent it is.

use serde::{Deserialize, Serialize};
use wordline_nand::{DieId, RowId};

use crate::cache::buffer::EntryId;
use crate::command::RequestId;

/// The issuer of a command, and the number by which it knows the command. `Flash` gives the ticket back with the outcome of
/// the command, and does not look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ticket {
    /// A read for a request of the host; on a device without an FTL whatever a command of its host needs.
    Request(RequestId),
    /// A read of the rest of a partly written page, for its entry in the write buffer.
    Fill(EntryId),
    /// A read of a page that is programmed because others of its unit are, for the sub-request.
    UnitFill(u32),
    /// A read ahead of the host, for its entry in the read cache.
    Prefetch(EntryId),
    /// A read of the translation page of this number.
    Table(u32),
    /// The program of the host's unit of a row.
    HostUnit(RowId),
    /// The program of a row's unit of translation pages, or of pages that tell of discards.
    TableUnit(RowId),
    /// A step of cleaning in a row, for this purpose.
    Reclaim(RowId, Purpose),
    /// A read of the scan of a die after a power cut.
    Scan(DieId),
}

/// The reason for which pages are moved and blocks erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Purpose {
    /// Free blocks are wanted.
    #[default]
    Cleaning,
    /// Blocks of the SLC cache are folded.
    Folding,
    /// Wear is levelled.
    Levelling,
    /// Pages leave a block that failed or is vacated, or their pool.
    Vacating,
}

/// How urgent a task is. The configuration sets the order of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// A read that a command of the host waits for.
    Read,
    /// A program for the host.
    Write,
    /// A step of cleaning.
    Reclaim,
    /// A read that no command waits for: it goes as programs do until it is [promoted](super::Flash::promote).
    Background,
}
