//! View of the device for a design that makes a decision or observes an event.

use wordline_flash::Flash;
use wordline_kernel::{Instant, Stream};
use wordline_nand::{BlockSetId, CellMode, DieId, Location, PlaneGroupId, Pools};

use crate::blocks::{BlockManager, State, WordLineInfo};
use crate::map::LogicalPage;
use crate::policy::event::{BufferOccupancy, OpenedBy};
use crate::policy::pool_state::PoolState;
use crate::pools::FALLBACK_POOL;

/// State of a multi-plane block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// State of the block.
    pub state: State,
    /// Valid logical pages.
    pub valid: u32,
    /// Number of erases.
    pub erases: u32,
    /// Sequence number of the block's last opening in the device. A larger number is later.
    pub opened: u64,
    /// Cell mode.
    pub mode: CellMode,
    /// Stream for which the block was opened last.
    pub opened_by: OpenedBy,
}

/// Parts of the device that a view can show.
#[derive(Clone, Copy)]
pub struct DesignContext<'a> {
    /// The flash.
    pub flash: &'a Flash,
    /// The block table.
    pub blocks: &'a BlockManager,
}

/// Read-only view of the device for a design, with the design's own random stream.
pub struct View<'a> {
    pub(super) context: DesignContext<'a>,
    pub(super) level: BufferOccupancy,
    pub(super) now: Instant,
    /// Logical pages of the host.
    pub(super) logical_pages: u32,
    pub(super) random: &'a mut Stream,
}

impl View<'_> {
    /// Current time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether the device is being preconditioned or aged. Simulated time then does not advance as in a run.
    pub fn is_preconditioning(&self) -> bool {
        self.context.flash.is_clock_stopped()
    }

    /// The pools: parts, geometry and numbering.
    pub fn pools(&self) -> &Pools {
        self.context.blocks.pools()
    }

    /// Wear and utilization of a pool, by its number. In a device with a single pool the time of the call
    /// grows with the number of blocks.
    pub fn pool(&self, pool: usize) -> PoolState {
        let DesignContext { flash, blocks } = self.context;
        let one = blocks.pools().iter().nth(pool).expect("a pool of the device");
        PoolState::of(one, &flash.chips().counts_of_pools()[pool], blocks.by_pool()[pool].valid())
    }

    /// Occupancy of the write buffer when the current event began, or after a page was last taken out of it.
    pub fn buffer(&self) -> BufferOccupancy {
        self.level
    }

    /// Occupancy of a pool's part of the write buffer, by the pool's number. It counts the pages that will be
    /// programmed in the pool. The pool's part of the buffer is proportional to its number of locations
    /// (chosen). Pages whose pool is not known yet count for the first pool. With a single pool this is the
    /// [occupancy of the whole buffer](Self::buffer).
    pub fn buffer_of(&self, pool: usize) -> BufferOccupancy {
        let DesignContext { blocks, .. } = self.context;
        let on_their_way = |pool| u32::try_from(blocks.by_pool()[pool].on_their_way()).unwrap_or(u32::MAX);
        let elsewhere = || (0..blocks.pools().count()).map(on_their_way).fold(0, u32::saturating_add);
        let used = match pool {
            FALLBACK_POOL => self.level.used.saturating_sub(elsewhere()),
            _ => on_their_way(pool),
        };
        let own = u64::from(blocks.pools().get(pool).locations.count());
        let share = own * u64::from(self.level.capacity) / u64::from(blocks.pools().locations());
        BufferOccupancy { used, capacity: (share as u32).max(1) }
    }

    /// Number of tasks queued or in progress on a die. Each call counts them.
    pub fn queue_length(&self, die: DieId) -> u32 {
        self.context.flash.queue_length(die)
    }

    /// Die of a plane group.
    pub fn die_of_group(&self, row: PlaneGroupId) -> DieId {
        self.pools().of_group(row).geometry.die_of_group(row)
    }

    /// Free blocks of a plane group.
    pub fn free_blocks(&self, row: PlaneGroupId) -> u32 {
        self.context.blocks.space().free(row) as u32
    }

    /// Valid logical pages of a plane group.
    pub fn valid_in(&self, row: PlaneGroupId) -> u32 {
        self.context.blocks.space().valid_in(row)
    }

    /// State of a multi-plane block.
    pub fn block(&self, block: BlockSetId) -> BlockInfo {
        let DesignContext { flash, blocks } = self.context;
        BlockInfo {
            state: blocks.table().state(block),
            valid: blocks.table().valid(block),
            erases: flash.chips().erases()[block],
            opened: blocks.table().opening_number(block),
            mode: blocks.table().mode(block),
            opened_by: blocks.table().opened_by(block),
        }
    }

    /// Logical page of the host that is valid at a location; `None` if the location has no valid page, or one
    /// of the device's tables.
    pub fn page_at(&self, location: Location) -> Option<LogicalPage> {
        self.stored_at(location).filter(|_| self.context.blocks.table().is_valid(location))
    }

    /// Logical page of the host whose data are stored at a location, even if they are not valid: in the event
    /// of a program they are not valid yet, and in the event of an invalidation no longer. `None` if the
    /// location is erased or unreadable, or has padding or a page of the device's tables.
    pub fn stored_at(&self, location: Location) -> Option<LogicalPage> {
        let stamp = self.context.flash.stamp(location);
        (stamp.is_data() && stamp.logical < self.logical_pages).then_some(LogicalPage(stamp.logical))
    }

    /// State of a word line of a block in MLC mode.
    pub fn word_line(&self, block: BlockSetId, word_line: u32) -> WordLineInfo {
        self.context.blocks.word_line(block, word_line)
    }

    /// Number of word lines of a super layer in the pool of a block; `None` if word lines are not
    /// reprogrammed there.
    pub fn super_layer(&self, block: BlockSetId) -> Option<u32> {
        let DesignContext { blocks, .. } = self.context;
        blocks.pool_of(blocks.table().group_of(block)).per_super_layer()
    }

    /// Random stream of the design.
    pub fn random(&mut self) -> &mut Stream {
        self.random
    }
}
