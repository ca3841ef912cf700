//! Events that a design observes.

use std::ops::BitOr;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};
use wordline_nand::{BlockSetId, Location, Outcome, RowId};

use crate::command::HostWrite;
use crate::map::LogicalPage;

/// How full the write buffer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Pages that are in it, those being programmed among them; with `buffer.space = "written"` the pages that its written sectors would
    /// fill.
    pub used: u32,
    /// Pages that it has room for.
    pub capacity: u32,
}

impl Level {
    /// The part of it that is used.
    pub fn share(self) -> f64 {
        f64::from(self.used) / f64::from(self.capacity.max(1))
    }
}

/// Whose pages a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Pages of the host, out of the buffer.
    Host,
    /// Pages of victims.
    Collector,
    /// Pages of tables: translation pages, checkpoints, discards.
    Tables,
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// The host reads of a logical page.
    Read {
        /// Which one.
        page: LogicalPage,
        /// Where in flash it is read; none where memory answers, or nothing was written.
        from: Option<Location>,
    },
    /// The host wrote of a logical page; it is in the buffer.
    Written {
        /// Which one.
        page: LogicalPage,
        /// Sectors of it.
        sectors: u32,
        /// The whole write, of which this may be a part: pages are told in their order.
        request: HostWrite,
    },
    /// The data at a location are not valid any more: the page was written again, moved, or discarded.
    Invalidated {
        /// Where.
        location: Location,
    },
    /// A page is not valid any more of a block that takes none now, but may take some before it is erased: a suspended one.
    LostPage {
        /// The block.
        block: BlockSetId,
        /// Where the page was.
        location: Location,
        /// Valid logical pages that are left in the block.
        valid: u32,
    },
    /// The host discarded a whole logical page.
    Discarded {
        /// Which one.
        page: LogicalPage,
    },
    /// A program is over.
    Programmed {
        /// The first location that it wrote.
        first: Location,
        /// How many.
        locations: u32,
        /// Whose pages these are.
        of: Writes,
        /// Whether it failed: the pages are written elsewhere.
        failed: bool,
        /// Time that the array worked.
        array: Duration,
        /// How it went, where its parameters asked for that.
        outcome: Option<&'a Outcome>,
    },
    /// A block set was erased.
    Erased {
        /// Which one.
        block: BlockSetId,
        /// How often so far.
        erases: u32,
    },
    /// A free block set was opened to be written.
    Opened {
        /// Which one.
        block: BlockSetId,
        /// Where it is.
        row: RowId,
    },
    /// All programs of a block set are over: it can be a victim from now on.
    Closed {
        /// Which one.
        block: BlockSetId,
    },
    /// An open block set was set aside before it was full.
    Suspended {
        /// Which one.
        block: BlockSetId,
    },
    /// A suspended block set was opened again.
    Resumed {
        /// Which one.
        block: BlockSetId,
    },
    /// The level of the write buffer has changed since the end of the last event.
    Buffer {
        /// It now.
        level: Level,
    },
    /// The host has been idle for as long as the background policy, or the design that answers it, waits for.
    Idle {
        /// Since when.
        since: Instant,
    },
    /// The power failed: what a design has in memory is lost, unless it says otherwise.
    PowerLost,
}

impl Seen<'_> {
    /// Its kind.
    #[inline]
    pub const fn kind(&self) -> Observes {
        match self {
            Self::Read { .. } => Observes::READ,
            Self::Written { .. } => Observes::WRITTEN,
            Self::Invalidated { .. } => Observes::INVALIDATED,
            Self::Discarded { .. } => Observes::DISCARDED,
            Self::Programmed { .. } => Observes::PROGRAMMED,
            Self::Erased { .. } => Observes::ERASED,
            Self::LostPage { .. } => Observes::LOST_PAGES,
            Self::Opened { .. } | Self::Closed { .. } | Self::Suspended { .. } | Self::Resumed { .. } => {
                Observes::BLOCKS
            }
            Self::Buffer { .. } => Observes::BUFFER,
            Self::Idle { .. } => Observes::IDLE,
            Self::PowerLost => Observes::POWER_LOST,
        }
    }
}

/// The kinds of events that a design observes. Add those that it wants: `Observes::READ | Observes::ERASED`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observes(u16);

impl Observes {
    /// Nothing.
    pub const NOTHING: Self = Self(0);
    /// [`Seen::Read`].
    pub const READ: Self = Self(1);
    /// [`Seen::Written`].
    pub const WRITTEN: Self = Self(1 << 1);
    /// [`Seen::Invalidated`].
    pub const INVALIDATED: Self = Self(1 << 2);
    /// [`Seen::Discarded`].
    pub const DISCARDED: Self = Self(1 << 3);
    /// [`Seen::Programmed`].
    pub const PROGRAMMED: Self = Self(1 << 4);
    /// [`Seen::Erased`].
    pub const ERASED: Self = Self(1 << 5);
    /// [`Seen::Opened`], [`Seen::Closed`], [`Seen::Suspended`] and [`Seen::Resumed`].
    pub const BLOCKS: Self = Self(1 << 6);
    /// [`Seen::Buffer`].
    pub const BUFFER: Self = Self(1 << 7);
    /// [`Seen::Idle`].
    pub const IDLE: Self = Self(1 << 8);
    /// [`Seen::PowerLost`].
    pub const POWER_LOST: Self = Self(1 << 9);
    /// [`Seen::LostPage`].
    pub const LOST_PAGES: Self = Self(1 << 10);
    /// Everything.
    pub const ALL: Self = Self((1 << 11) - 1);

    /// Whether any of `others` is among them.
    #[inline]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl BitOr for Observes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
