//! Rejection of commands by a die. Commands are checked before they begin, and a rejected command changes
//! nothing.

use std::fmt;

use wordline_kernel::{Bytes, Instant};

use crate::CellMode;
use crate::geometry::{DieId, PageId};

/// The reason why a die rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such die.
    NoSuchDie {
        /// The die.
        die: DieId,
        /// Dies of the device.
        dies: u32,
    },
    /// There is no such page, or the block has no page of this number in this mode.
    NoSuchPage {
        /// The page.
        page: PageId,
    },
    /// The page lies in another die.
    OtherDie {
        /// The page.
        page: PageId,
        /// The die of the command.
        die: DieId,
        /// The die of the page.
        of: DieId,
    },
    /// No planes, or more planes than the die has from the plane of the page on.
    Planes {
        /// Planes of the command.
        found: u32,
        /// Planes available, from the plane of the page on.
        most: u32,
    },
    /// More data out than the pages hold.
    Bytes {
        /// Bytes that the command would transfer.
        found: Bytes,
        /// Data bytes of the pages.
        most: Bytes,
    },
    /// A program of a one-shot part that does not begin with the first page of a word line.
    WithinWordLine {
        /// The page.
        page: PageId,
    },
    /// The program leaves out planes of the plane group; pages with data tags need all of them.
    NotAllPlanes {
        /// Planes of the command.
        found: u32,
        /// Planes of the plane group.
        wanted: u32,
    },
    /// The part does not support the operation: a cache operation without a second register, or a copyback in
    /// a one-shot part.
    Unsupported {
        /// The operation.
        what: &'static str,
    },
    /// A cache read that continues no sequence, or a command within a sequence that is not its next cache
    /// read.
    Sequence {
        /// The page that is sensed for the next command, if any.
        sensed: Option<PageId>,
    },
    /// The die executes another command, or its array works.
    Busy {
        /// The time at which the array is idle. The command itself may end later.
        until: Instant,
    },
    /// An operation is suspended: the die accepts only reads and, during a suspended erase, programs of other
    /// blocks.
    Suspended,
    /// The block was programmed in another cell mode.
    Mode {
        /// The page.
        page: PageId,
        /// The mode of the command.
        found: CellMode,
        /// The mode of the block.
        wanted: CellMode,
    },
    /// A reprogram of a word line that is not fully programmed.
    NothingToReprogram {
        /// The page.
        page: PageId,
    },
    /// A reprogram whose pass number is not the next one, or beyond the limit.
    Reprograms {
        /// The page.
        page: PageId,
        /// Pass number of the command.
        found: u8,
        /// The next pass number.
        wanted: u32,
        /// Maximum number of passes.
        most: u32,
    },
    /// A program of a page beyond the number allowed between two erases.
    Programs {
        /// The page.
        page: PageId,
        /// Programs allowed between two erases.
        most: u32,
    },
    /// A program of a part of a page that is already programmed.
    Overwrites {
        /// The page.
        page: PageId,
    },
    /// There is no such parameter set.
    NoSuchParameters {
        /// The number of the set.
        set: u16,
    },
    /// A reprogram of a word line while a word line of a later super layer is programmed.
    SuperLayerClosed {
        /// The page.
        page: PageId,
        /// A programmed page of the later super layer.
        later: PageId,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDie { die, dies } => write!(out, "die: found {}, wanted below {dies}", die.0),
            Self::NoSuchPage { page } => write!(out, "page: found {}, wanted an existing page", page.0),
            Self::OtherDie { page, die, of } => {
                write!(out, "page: found {} of die {}, wanted one of die {}", page.0, of.0, die.0)
            }
            Self::Planes { found, most } => {
                write!(out, "planes: found {found}, wanted from 1 to {most}, from the plane of the page on")
            }
            Self::Bytes { found, most } => {
                write!(out, "data out: found {found}, wanted at most {most}, the pages")
            }
            Self::WithinWordLine { page } => {
                write!(out, "page: found {} within a word line, wanted its first page", page.0)
            }
            Self::NotAllPlanes { found, wanted } => {
                write!(out, "planes: found {found}, wanted all {wanted} of the plane group")
            }
            Self::Unsupported { what } => {
                write!(out, "operation: found {what}, which the part does not have")
            }
            Self::Sequence { sensed: None } => {
                write!(
                    out,
                    "operation: found a cache read that continues a sequence, wanted one that begins it"
                )
            }
            Self::Sequence { sensed: Some(page) } => {
                write!(
                    out,
                    "operation: found another, wanted the cache read of page {}, which is sensed",
                    page.0
                )
            }
            Self::Busy { until } => {
                write!(out, "die: found busy until {}, wanted ready", *until - Instant::ZERO)
            }
            Self::Suspended => {
                write!(
                    out,
                    "operation: found an operation other than a read (or, during an erase, a program of another block) while an operation \
                     is suspended"
                )
            }
            _ => self.write_of_mode(out),
        }
    }
}

impl Refusal {
    /// Writes the rejections by modes and program limits.
    fn write_of_mode(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode { page, found, wanted } => {
                write!(out, "mode of page {}: found {found}, wanted the mode of its block, {wanted}", page.0)
            }
            Self::NothingToReprogram { page } => {
                write!(out, "page: found {}, wanted one of a word line whose pages are programmed", page.0)
            }
            Self::Reprograms { page, found, wanted, most } => write!(
                out,
                "reprogram of page {}: found time {found}, wanted time {wanted}, of at most {most}",
                page.0
            ),
            Self::Programs { page, most } => {
                write!(
                    out,
                    "program of page {}: found one more, wanted at most {most} between erases",
                    page.0
                )
            }
            Self::Overwrites { page } => {
                write!(out, "program of page {}: found a part that is programmed, wanted others", page.0)
            }
            Self::NoSuchParameters { set } => {
                write!(out, "parameters: found set {set}, wanted one that was set")
            }
            Self::SuperLayerClosed { page, later } => write!(
                out,
                "reprogram of page {}: found page {} of a later super layer programmed, wanted none",
                page.0, later.0
            ),
            _ => unreachable!("the others are written above"),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests;
