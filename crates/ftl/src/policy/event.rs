//! Device events that a design observes.

use std::ops::BitOr;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};
use wordline_nand::{BlockSetId, Location, Outcome, PlaneGroupId};

use crate::HostWrite;
use crate::map::LogicalPage;

/// Occupancy of the write buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferOccupancy {
    /// Pages in use, including those being programmed. With `buffer.space = "written"`, the number of pages
    /// that the written sectors would fill.
    pub used: u32,
    /// Capacity in pages.
    pub capacity: u32,
}

impl BufferOccupancy {
    /// Fraction in use.
    pub fn share(self) -> f64 {
        f64::from(self.used) / f64::from(self.capacity.max(1))
    }
}

/// Source of the pages of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramSource {
    /// Host pages, from the buffer.
    Host,
    /// Pages of GC victims.
    Gc,
    /// Pages of metadata: translation pages, checkpoints, discard records.
    Tables,
}

/// Stream for which a block was opened. If a stream could not open a block, it writes to those of another stream
/// of the host, or of GC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpenedBy {
    /// Host stream, by number. Table pages have the last one, and a block-level map writes for the first.
    Host(u8),
    /// GC stream, by number.
    Gc(u8),
}

impl OpenedBy {
    /// Number of the GC stream; `None` for a host stream.
    pub fn gc(self) -> Option<u8> {
        match self {
            Self::Host(_) => None,
            Self::Gc(stream) => Some(stream),
        }
    }
}

/// An event of the device.
#[derive(Clone, Copy, Debug)]
pub enum DeviceEvent<'a> {
    /// Host read of a logical page.
    Read {
        /// Logical page.
        page: LogicalPage,
        /// Location in flash; `None` if the write buffer or a cache has the data, or the page was never
        /// written.
        from: Option<Location>,
    },
    /// Host write of a logical page; the data are in the buffer.
    Written {
        /// Logical page.
        page: LogicalPage,
        /// Number of sectors written in this page.
        sectors: u32,
        /// Whole host write. If it covers several pages, each is reported by an event of its own, in
        /// ascending order.
        request: HostWrite,
    },
    /// The data at a location became invalid: the page was overwritten, relocated or discarded.
    Invalidated {
        /// Location.
        location: Location,
    },
    /// A page of a suspended block became invalid. The block may be resumed before it is erased.
    LostPage {
        /// Block.
        block: BlockSetId,
        /// Location of the page.
        location: Location,
        /// Valid logical pages left in the block.
        valid: u32,
    },
    /// Host discard of a whole logical page.
    Discarded {
        /// Logical page.
        page: LogicalPage,
    },
    /// Completion of a program.
    Programmed {
        /// First location written.
        first: Location,
        /// Number of locations.
        locations: u32,
        /// Source of the pages.
        of: ProgramSource,
        /// Whether the program failed. If it did, its pages are programmed elsewhere.
        failed: bool,
        /// Array time.
        array: Duration,
        /// Outcome, if the parameters of the program requested it.
        outcome: Option<&'a Outcome>,
    },
    /// Erase of a multi-plane block.
    Erased {
        /// Block.
        block: BlockSetId,
        /// Erases of the block so far.
        erases: u32,
        /// Array time.
        array: Duration,
        /// Outcome, if the parameters of the erase requested it.
        outcome: Option<&'a Outcome>,
    },
    /// Opening of a free multi-plane block.
    Opened {
        /// Block.
        block: BlockSetId,
        /// Its plane group.
        row: PlaneGroupId,
        /// Stream for which it was opened.
        by: OpenedBy,
    },
    /// Closing of a multi-plane block: all its programs are done, and GC may select it.
    Closed {
        /// Block.
        block: BlockSetId,
    },
    /// Suspension of an open multi-plane block that is not full.
    Suspended {
        /// Block.
        block: BlockSetId,
    },
    /// Resumption of a suspended multi-plane block.
    Resumed {
        /// Block.
        block: BlockSetId,
    },
    /// Change of the buffer occupancy. Reported at most once for each simulated event.
    Buffer {
        /// Current occupancy.
        level: BufferOccupancy,
    },
    /// The host has been idle for the time that the background policy, or the design that replaces it,
    /// requires.
    Idle {
        /// Start of the idle time.
        since: Instant,
    },
    /// Power loss. A design must drop the state that a power loss would destroy.
    PowerLost,
}

impl DeviceEvent<'_> {
    /// Mask bit of the event.
    #[inline]
    pub const fn kind(&self) -> EventMask {
        match self {
            Self::Read { .. } => EventMask::READ,
            Self::Written { .. } => EventMask::WRITTEN,
            Self::Invalidated { .. } => EventMask::INVALIDATED,
            Self::Discarded { .. } => EventMask::DISCARDED,
            Self::Programmed { .. } => EventMask::PROGRAMMED,
            Self::Erased { .. } => EventMask::ERASED,
            Self::LostPage { .. } => EventMask::LOST_PAGES,
            Self::Opened { .. } | Self::Closed { .. } | Self::Suspended { .. } | Self::Resumed { .. } => {
                EventMask::BLOCKS
            }
            Self::Buffer { .. } => EventMask::BUFFER,
            Self::Idle { .. } => EventMask::IDLE,
            Self::PowerLost => EventMask::POWER_LOST,
        }
    }
}

/// Kinds of events that a design observes. Combine them: `EventMask::READ | EventMask::ERASED`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventMask(u16);

impl EventMask {
    /// No events.
    pub const NOTHING: Self = Self(0);
    /// [`DeviceEvent::Read`].
    pub const READ: Self = Self(1);
    /// [`DeviceEvent::Written`].
    pub const WRITTEN: Self = Self(1 << 1);
    /// [`DeviceEvent::Invalidated`].
    pub const INVALIDATED: Self = Self(1 << 2);
    /// [`DeviceEvent::Discarded`].
    pub const DISCARDED: Self = Self(1 << 3);
    /// [`DeviceEvent::Programmed`].
    pub const PROGRAMMED: Self = Self(1 << 4);
    /// [`DeviceEvent::Erased`].
    pub const ERASED: Self = Self(1 << 5);
    /// [`DeviceEvent::Opened`], [`DeviceEvent::Closed`], [`DeviceEvent::Suspended`] and
    /// [`DeviceEvent::Resumed`].
    pub const BLOCKS: Self = Self(1 << 6);
    /// [`DeviceEvent::Buffer`].
    pub const BUFFER: Self = Self(1 << 7);
    /// [`DeviceEvent::Idle`].
    pub const IDLE: Self = Self(1 << 8);
    /// [`DeviceEvent::PowerLost`].
    pub const POWER_LOST: Self = Self(1 << 9);
    /// [`DeviceEvent::LostPage`].
    pub const LOST_PAGES: Self = Self(1 << 10);
    /// All events.
    pub const ALL: Self = Self((1 << 11) - 1);

    /// Whether any of `others` is in the mask.
    #[inline]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl BitOr for EventMask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
