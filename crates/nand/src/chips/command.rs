//! Commands of a die, and their completions.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration};

use crate::CellMode;
use crate::chain::BusPhase;
use crate::geometry::{DieId, PageId};

/// The operation of a command. It is multi-plane if more than one plane takes part, and interleaves with the
/// commands of other dies as the bus allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Sense pages and transfer data out (00-30).
    Read,
    /// Cache read: sense pages and transfer data out of the cache register while the next pages are sensed
    /// (00-30, 31, 3F).
    ReadCache {
        /// Whether the command opens a sequence. Otherwise its pages are the `next` pages of the previous
        /// command.
        first: bool,
        /// The first page of the next command of the sequence; `None` ends the sequence.
        next: Option<PageId>,
    },
    /// Transfer data in and program (80-10); also ends a sequence of cache programs.
    Program,
    /// Cache program: transfer data in, and program while the next data are transferred (80-15).
    ProgramCache,
    /// Copyback: sense pages and program them elsewhere in their planes, without data on the bus (00-35,
    /// 85-10).
    Copyback {
        /// The first destination page.
        to: PageId,
    },
    /// Erase blocks (60-D0).
    Erase,
}

impl Operation {
    /// Number of kinds of operations, for tables.
    pub const KINDS: usize = 6;

    /// The names of the kinds, in the order of [`Operation::kind`].
    pub const NAMES: [&'static str; Self::KINDS] =
        ["read", "read cache", "program", "program cache", "copyback", "erase"];

    /// Index of the kind, from 0.
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

    /// Whether the operation may start while the array works on a cache operation. It may if it first needs
    /// only the cache register. The program of a whole word line (`one_shot`) may not: its pages go to the
    /// write-back registers, which the array uses. On the pins the first page of such a program could wait in
    /// the cache register, but a transaction waits as a whole.
    #[inline]
    pub fn can_follow_cache_operation(self, one_shot: bool) -> bool {
        match self {
            Self::Program | Self::ProgramCache => !one_shot,
            Self::ReadCache { first, .. } => !first,
            Self::Read | Self::Copyback { .. } | Self::Erase => false,
        }
    }

    /// The first bus phase of each kind.
    pub(super) const OPENINGS: [BusPhase; Self::KINDS] = [
        BusPhase::Read,
        BusPhase::Read,
        BusPhase::Program,
        BusPhase::ProgramCache,
        BusPhase::CopybackRead,
        BusPhase::Erase,
    ];
}

/// A transaction for one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The operation.
    pub operation: Operation,
    /// The first page to read or to program, or the first page of the block to erase.
    pub page: PageId,
    /// Number of planes, from the plane of `page` on: the same page or block in each.
    pub planes: u32,
    /// Bytes that a read transfers, over all planes; a program transfers whole pages.
    pub bytes: Bytes,
    /// The cell mode of the command; any mode but the native one has a prefix on the bus. `None`: the mode of
    /// the block, which the controller has set in the die beforehand, in no time.
    pub mode: Option<CellMode>,
    /// The number of its [parameter set](crate::Parameters); 0 for the data sheet.
    pub parameters: u16,
}

const _: () = assert!(size_of::<Command>() == 32, "a die holds its command, and every start copies it");

impl Command {
    /// A command in the mode of its block, with the parameters of the data sheet.
    #[inline]
    pub const fn new(operation: Operation, page: PageId, planes: u32, bytes: Bytes) -> Self {
        Self { operation, page, planes, bytes, mode: None, parameters: 0 }
    }

    /// The same command in a cell mode.
    pub const fn spelled(self, mode: CellMode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    /// The same command with another parameter set.
    pub const fn with(self, parameters: u16) -> Self {
        Self { parameters, ..self }
    }
}

/// The completion of a command, with its times and its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCompletion {
    /// The die. It accepts the next command, unless it already did so before (cache program).
    pub die: DieId,
    /// The command.
    pub command: Command,
    /// Bus time of the command.
    pub bus: Duration,
    /// Time that the command waited for the bus.
    pub bus_wait: Duration,
    /// Array time of the command.
    pub array: Duration,
    /// Whether the command failed: FAIL in the status register (an injected fault, an erase beyond the part's
    /// endurance, or another exceeded limit), or an uncorrectable page of a read.
    pub failed: bool,
    /// The failed planes: one bit for each plane of the command, the lowest for the first. For a read these
    /// are the uncorrectable pages.
    pub failed_planes: u16,
    /// The set of read reference voltages of a read.
    pub level: u8,
}
