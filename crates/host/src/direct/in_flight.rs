//! Requests of the host and commands to its device, while they are in flight.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use wordline_device::{Command, Completion};
use wordline_kernel::Instant;
use wordline_nand::DataTag;

use super::l2p::Ppa;
use crate::slab::Slab;

/// An outstanding request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) command: Command,
    pub(super) submitted: Instant,
    /// Outstanding device commands and pieces.
    pub(super) parts: u32,
    pub(super) failed: bool,
    /// Whether the request needs a flush before it completes (FUA).
    pub(super) is_forced: bool,
}

/// All requests, and the completions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Requests {
    pub(super) all: Slab<Request>,
    pub(super) completions: Vec<Completion>,
}

/// The purpose of a command in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Purpose {
    /// Writes pages of a request.
    Write(u32),
    /// Reads pages of a request.
    Read(u32),
    /// Closes the next chunk of a parallel unit, before the reset of that chunk.
    Close(u32),
    /// Resets the next chunk of a parallel unit.
    Reset(u32),
    /// Makes completed writes non-volatile, for a request or to free chunks.
    Flush(Option<u32>),
}

/// Locations of the pages of a command, and their data tags. Those of a few pages need no allocation.
pub(super) type Places = SmallVec<[Ppa; 4]>;
pub(super) type Stamps = SmallVec<[DataTag; 2]>;

/// A command in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InFlightCommand {
    pub(super) work: Purpose,
    pub(super) places: Places,
    /// The data tags that a write programs, or that a read is expected to find.
    pub(super) stamps: Stamps,
    /// Sequence number of a flush.
    pub(super) flush: u64,
}

impl InFlightCommand {
    /// The logical blocks that must stay readable until this command completes: the sources of a read, and
    /// the targets of a write.
    pub(super) fn pinned_locations(&self) -> impl Iterator<Item = Ppa> {
        let needs = matches!(self.work, Purpose::Read(_) | Purpose::Write(_));
        let held = self.places.iter().zip(&self.stamps).filter(move |(_, stamp)| needs && stamp.is_data());
        held.map(|(place, _)| *place)
    }
}
