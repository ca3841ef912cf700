//! Commands of a die, and the times that they took.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration};

use crate::CellMode;
use crate::chain::Hold;
use crate::geometry::{DieId, PageId};

/// The operation of a command. Each is multi-plane when more than one plane takes part, and interleaved with the
/// commands of other dies as the bus allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Sense pages and move data out (00-30).
    Read,
    /// Sense pages and move data out of the cache register while the next pages are sensed (00-30, 31, 3F).
    ReadCache {
        /// Whether it opens a sequence: else its pages are those that the command before named as `next`.
        first: bool,
        /// The first page of the command that follows in the sequence; none ends it.
        next: Option<PageId>,
    },
    /// Move data in and program (80-10); also ends a sequence of cache programs.
    Program,
    /// Move data in, and program while the next data move in (80-15).
    ProgramCache,
    /// Sense pages and program them elsewhere in their planes, without data on the bus (00-35, 85-10).
    Copyback {
        /// The first page to be written.
        to: PageId,
    },
    /// Erase blocks (60-D0).
    Erase,
}

impl Operation {
    /// Kinds of operations, as tables count them.
    pub const KINDS: usize = 6;

    /// The names of the kinds, in the order of [`Operation::kind`].
    pub const NAMES: [&'static str; Self::KINDS] =
        ["read", "read cache", "program", "program cache", "copyback", "erase"];

    /// Which kind it is, counted from 0.
    #[inline]
    pub fn kind(self) -> usize {
        match self {
            Self::Read => 0,
            Self::ReadCache { .. } => 1,
            Self::Program => 2,
            Self::ProgramCache => 3,
            Self::Copyback { .. } => 4,
            Self::Erase => 5,
        }
    }

    /// Whether it may be started while the array works behind a cache operation: it needs the cache register alone.
    /// The program of a whole word line (`one_shot`) does not: its pages go to the write-back registers, from which
    /// the array works. On the pins its first page could wait in the cache register; a transaction waits as a whole.
    #[inline]
    pub fn goes_behind(self, one_shot: bool) -> bool {
        match self {
            Self::Program | Self::ProgramCache => !one_shot,
            Self::ReadCache { first, .. } => !first,
            Self::Read | Self::Copyback { .. } | Self::Erase => false,
        }
    }

    /// The first hold of the bus of each kind.
    pub(super) const OPENINGS: [Hold; Self::KINDS] =
        [Hold::Read, Hold::Read, Hold::Program, Hold::ProgramCache, Hold::CopybackRead, Hold::Erase];
}

/// A transaction for one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The operation.
    pub operation: Operation,
    /// The first page: of those to read, of those to program, or of the block to erase.
    pub page: PageId,
    /// Planes that take part, from that of `page` on: the same page or block in each.
    pub planes: u32,
    /// Bytes to move out, over all planes, for a read; a program moves whole pages in.
    pub bytes: Bytes,
    /// The cell mode that it is spelled in, with a prefix on the bus for any but the native one. None: that of the block,
    /// which the controller has told the die of beforehand, in no time.
    pub mode: Option<CellMode>,
    /// The number of the [set of parameters](crate::Parameters) that it is done with; 0 for that of the data sheet.
    pub parameters: u16,
}

const _: () = assert!(size_of::<Command>() == 32, "a die holds its command, and every start copies it");

impl Command {
    /// A command in the mode of its block, with the parameters of the data sheet.
    #[inline]
    pub const fn new(operation: Operation, page: PageId, planes: u32, bytes: Bytes) -> Self {
        Self { operation, page, planes, bytes, mode: None, parameters: 0 }
    }

    /// The same, spelled in a cell mode.
    pub const fn spelled(self, mode: CellMode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    /// The same with another set of parameters.
    pub const fn with(self, parameters: u16) -> Self {
        Self { parameters, ..self }
    }
}

/// A completed command, with its times and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The die. It takes the next command, if it did not do so before (a cache program).
    pub die: DieId,
    /// The command.
    pub command: Command,
    /// Time that its stages held the bus.
    pub bus: Duration,
    /// Time that it waited for the bus.
    pub bus_wait: Duration,
    /// Time that the array worked.
    pub array: Duration,
    /// Whether it failed: the status register says FAIL (a fault, an erase beyond the part's endurance, or another
    /// broken limit), or some page of a read could not be read.
    pub failed: bool,
    /// Where it failed: one bit for each plane that took part, the lowest for the first. Of a read these are the pages that
    /// could not be read.
    pub failed_planes: u16,
    /// The set of read levels that a read sensed with.
    pub level: u8,
}
