//! Limits of a part that an operation can exceed.

use std::fmt;

use wordline_kernel::Instant;

use super::{CellMode, Row};

/// An exceeded limit of the part: the request, and the allowed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A page number beyond the block, in its cell mode. Such row addresses are holes.
    Hole {
        /// The row addressed.
        row: Row,
        /// Pages of a block in this mode.
        pages: u32,
    },
    /// The LUN has no such block.
    NoSuchBlock {
        /// The block addressed.
        block: u32,
        /// Blocks of the LUN.
        blocks: u32,
    },
    /// The target has no such LUN.
    NoSuchLun {
        /// The LUN addressed.
        lun: u32,
        /// LUNs of the target.
        luns: u32,
    },
    /// A program of a page below the page programmed last in its block.
    ProgramOutOfOrder {
        /// The page.
        row: Row,
        /// The last page programmed.
        last: u32,
    },
    /// More programs of a page than the part allows between erases (NOP).
    TooManyPrograms {
        /// The page.
        row: Row,
        /// Maximum number of programs.
        limit: u32,
    },
    /// An erase beyond the part's endurance.
    Endurance {
        /// The block.
        block: u32,
        /// Maximum number of erases.
        limit: u32,
    },
    /// Two rows of a multi-plane operation in the same plane, or with different page numbers.
    PlaneRule {
        /// A row addressed earlier.
        first: Row,
        /// The row that conflicts with it.
        second: Row,
    },
    /// A row of an operation other than the queued multi-plane operation.
    OtherQueued {
        /// A row queued before.
        first: Row,
        /// The row of another operation.
        second: Row,
    },
    /// A copyback program into a plane other than the plane of its copyback read.
    CopybackAcrossPlanes {
        /// Destination.
        row: Row,
        /// The plane that was read.
        from: u32,
    },
    /// A copyback program without a copyback read before it.
    CopybackWithoutRead {
        /// Destination.
        row: Row,
    },
    /// A program or erase of a factory bad block.
    BadBlock {
        /// The block.
        block: u32,
    },
    /// A program or erase while the write-protect pin is low.
    WriteProtected,
    /// An operation in a cell mode other than the mode that the block was programmed in.
    MixedModes {
        /// The row addressed.
        row: Row,
        /// The mode of the block.
        block: CellMode,
    },
    /// A one-shot program with pages missing in the write-back registers.
    IncompleteWordLine {
        /// A page of the word line.
        row: Row,
        /// Pages loaded.
        loaded: u32,
        /// Pages that a program writes.
        wanted: u32,
    },
    /// A page of a word line other than the word line in the write-back registers.
    OtherWordLine {
        /// The page.
        row: Row,
        /// A page loaded before.
        loaded: Row,
    },
    /// A sequential cache read beyond the last page of its block.
    PastBlock {
        /// The last page read.
        row: Row,
    },
    /// A reprogram of a word line that was not programmed in MLC mode.
    NothingToReprogram {
        /// The page.
        row: Row,
    },
    /// More reprograms of a word line than the part allows.
    TooManyReprograms {
        /// A page of the word line.
        row: Row,
        /// Maximum number of reprograms.
        limit: u32,
    },
    /// A reprogram in a super layer below the super layer programmed last.
    SuperLayerClosed {
        /// The page.
        row: Row,
        /// The last page programmed in the block.
        last: u32,
    },
    /// The LUN or its array is busy.
    Busy {
        /// The time from which it accepts this operation.
        until: Instant,
    },
    /// A cache read without a page sensed before it.
    NothingSensed,
    /// A suspend without a program or erase that can be suspended.
    NothingToSuspend,
    /// A resume without a suspended operation.
    NothingToResume,
    /// An operation that is not allowed during a suspended one.
    Suspended {
        /// The row addressed.
        row: Row,
    },
    /// An operation that the part does not have.
    Unsupported {
        /// Name of the operation.
        what: &'static str,
    },
}

impl Limit {
    /// Short name, the key of the counters of exceeded limits.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hole { .. } => "hole",
            Self::NoSuchBlock { .. } => "no-such-block",
            Self::NoSuchLun { .. } => "no-such-lun",
            Self::ProgramOutOfOrder { .. } => "program-out-of-order",
            Self::TooManyPrograms { .. } => "too-many-programs",
            Self::Endurance { .. } => "endurance",
            Self::PlaneRule { .. } => "plane-rule",
            Self::OtherQueued { .. } => "other-queued",
            Self::CopybackAcrossPlanes { .. } => "copyback-across-planes",
            Self::CopybackWithoutRead { .. } => "copyback-without-read",
            Self::BadBlock { .. } => "bad-block",
            Self::WriteProtected => "write-protected",
            Self::MixedModes { .. } => "mixed-modes",
            Self::IncompleteWordLine { .. } => "incomplete-word-line",
            Self::OtherWordLine { .. } => "other-word-line",
            Self::PastBlock { .. } => "past-block",
            Self::NothingToReprogram { .. } => "nothing-to-reprogram",
            Self::TooManyReprograms { .. } => "too-many-reprograms",
            Self::SuperLayerClosed { .. } => "super-layer-closed",
            Self::Busy { .. } => "busy",
            Self::NothingSensed => "nothing-sensed",
            Self::NothingToSuspend => "nothing-to-suspend",
            Self::NothingToResume => "nothing-to-resume",
            Self::Suspended { .. } => "suspended",
            Self::Unsupported { .. } => "unsupported",
        }
    }

    /// Whether the operation can be executed nevertheless, with FAIL in the status. True for limits of
    /// reliability, false for operations that are impossible.
    pub fn can_be_ignored(self) -> bool {
        matches!(
            self,
            Self::ProgramOutOfOrder { .. }
                | Self::TooManyPrograms { .. }
                | Self::Endurance { .. }
                | Self::PlaneRule { .. }
                | Self::CopybackAcrossPlanes { .. }
                | Self::CopybackWithoutRead { .. }
                | Self::BadBlock { .. }
                | Self::MixedModes { .. }
                | Self::IncompleteWordLine { .. }
                | Self::OtherWordLine { .. }
                | Self::TooManyReprograms { .. }
                | Self::SuperLayerClosed { .. }
        )
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "page {} of block {} of LUN {}", self.page, self.block, self.lun)
    }
}

impl Limit {
    /// Writes a limit with its address.
    fn write_of_address(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hole { row, pages } => write!(out, "found {row}, wanted a page below {pages}"),
            Self::NoSuchBlock { block, blocks } => {
                write!(out, "found block {block}, wanted a block below {blocks}")
            }
            Self::NoSuchLun { lun, luns } => write!(out, "found LUN {lun}, wanted a LUN below {luns}"),
            Self::ProgramOutOfOrder { row, last } => {
                write!(out, "found a program of {row}, wanted none below page {last}, programmed last")
            }
            Self::TooManyPrograms { row, limit } => {
                write!(out, "found one more program of {row}, wanted at most {limit} between erases")
            }
            Self::Endurance { block, limit } => {
                write!(out, "found one more erase of block {block}, wanted at most {limit}")
            }
            Self::PlaneRule { first, second } => write!(
                out,
                "found {second} after {first} in one multi-plane operation, wanted another plane and the same page"
            ),
            Self::OtherQueued { first, second } => {
                write!(
                    out,
                    "found {second}, wanted the end of the multi-plane operation that {first} waits for"
                )
            }
            Self::CopybackAcrossPlanes { row, from } => {
                write!(out, "found a copyback to {row}, wanted plane {from}, which was read")
            }
            Self::CopybackWithoutRead { row } => {
                write!(out, "found a copyback to {row}, wanted a copyback read before it")
            }
            Self::BadBlock { block } => {
                write!(out, "found block {block}, wanted a block that is not marked bad")
            }
            Self::MixedModes { row, block } => {
                write!(out, "found {row} in another mode than its block's, wanted {}", block.name())
            }
            Self::IncompleteWordLine { row, loaded, wanted } => write!(
                out,
                "found {loaded} pages of the word line of {row} in the registers, wanted {wanted}"
            ),
            Self::OtherWordLine { row, loaded } => {
                write!(out, "found {row}, wanted a page of the word line of {loaded}, loaded before")
            }
            Self::PastBlock { row } => {
                write!(out, "found a cache read past {row}, wanted no more than its block")
            }
            Self::NothingToReprogram { row } => {
                write!(out, "found a reprogram of {row}, wanted a word line programmed in MLC mode")
            }
            Self::TooManyReprograms { row, limit } => {
                write!(out, "found one more reprogram of the word line of {row}, wanted at most {limit}")
            }
            Self::SuperLayerClosed { row, last } => {
                write!(
                    out,
                    "found a reprogram of {row}, wanted the super layer of page {last}, programmed last"
                )
            }
            Self::Suspended { row } => {
                write!(out, "found {row}, wanted cells that the suspended operation does not use")
            }
            Self::WriteProtected | Self::Busy { .. } | Self::Unsupported { .. } => Ok(()),
            Self::NothingSensed | Self::NothingToSuspend | Self::NothingToResume => Ok(()),
        }
    }
}

impl std::error::Error for Limit {}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WriteProtected => out.write_str("found a program or erase, wanted write-protect high"),
            Self::Busy { until } => write!(out, "found a busy LUN, wanted to wait until {} ps", until.ps()),
            Self::NothingSensed => out.write_str("found a cache read, wanted a page read before it"),
            Self::NothingToSuspend => out.write_str("found a suspend, wanted a program or erase that works"),
            Self::NothingToResume => out.write_str("found a resume, wanted something suspended"),
            Self::Unsupported { what } => write!(out, "found {what}, wanted an operation that the part has"),
            _ => self.write_of_address(out),
        }
    }
}
