//! Steps of GC in a plane group.

use wordline_nand::{BlockSetId, Location};

use crate::blocks::StreamId;

/// Next step of GC in a plane group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads the locations from `first` up to `end` (exclusive), in adjacent planes.
    Read {
        /// First location; it is valid.
        first: Location,
        /// Location after the last one, which is valid.
        end: Location,
        /// Number of valid locations.
        valid: u32,
    },
    /// Programs the plane group's `unit` to the active block of a stream.
    Program {
        /// The GC stream.
        stream: StreamId,
    },
    /// Relocates a program unit of valid pages within their planes. The pages are added to the plane group's
    /// `unit` with `PlaneGroupState::copy`.
    Copyback {
        /// First location.
        from: Location,
    },
    /// Queries whether the pages of the current victim migrate to another pool. Done before the pages are
    /// read. If the decision is true, they are [migrated](super::collector::Collector::migrate). Takes no simulated time.
    QueryRelocator,
    /// Erases a victim.
    Erase {
        /// The victim.
        block: BlockSetId,
    },
    /// Takes a victim out of service. Takes no simulated time.
    Retire {
        /// The victim.
        block: BlockSetId,
    },
}
