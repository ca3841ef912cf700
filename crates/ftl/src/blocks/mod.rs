//! Block table: which multi-plane blocks are free, open, closed, GC victims or bad, and how many valid pages
//! each has. A page is a logical page here: the content of one [location](wordline_nand::Locations).
//!
//! Each plane group has a free-block list in the order of erase counts. For dynamic wear levelling, the least
//! worn block is opened next. Among equally worn blocks it is the one with the lowest number. Another
//! [allocation](wear::Allocation) can be configured. A block is opened in a cell mode (`modes.rs`). Closed
//! blocks are [indexed](candidates) for the victim policy.
//!
//! The parts own their state:
//!
//! 1. `table`: the state of each block and its valid locations;
//! 2. `space`: the free blocks, good blocks and valid pages of each plane group, and the reserved blocks;
//! 3. `pool`: for each pool its cell modes (`modes`), the open and suspended blocks whose word lines have an order
//!    (`order`), reprogrammed word lines (`reprogram`, `reprogrammable`) and superblocks;
//! 4. `streams`: the active block of each stream; `candidates`: the closed blocks.
//!
//! [`BlockManager`] is their sum. It moves blocks between them as they are opened, written, collected and erased.

mod block;
pub mod candidates;
mod factory;
pub mod mlc;
mod modes;
mod open_sequence;
mod order;
mod pending_events;
mod pool;
mod program_order;
mod recovery;
mod reprogram;
mod reprogram_selection;
mod reprogrammable;
pub mod slc_cache;
mod space;
mod streams;
mod super_blocks;
mod suspended;
mod table;
mod valid;
pub mod wear;
mod word_line_selector;

use block::{Block, BlockMode};
use candidates::{Candidates, Closed, Indexes, Valid};
use modes::Modes;
use pending_events::BlockEvents;
use streams::ActiveBlocks;
use super_blocks::SuperBlocks;
use wear::Allocation;
use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId, Pools};

use crate::policy::event::{DeviceEvent, EventMask};

pub use block::State;
pub use factory::bad_from_factory;
pub use modes::{ModeShare, ModeStreams};
pub use pool::{ByPool, PoolBlocks};
pub use reprogram::WordLineInfo;
pub use space::Space;
pub use streams::{StreamId, Streams};
pub use super_blocks::SuperBlockCounts;
pub use suspended::SuspendedBlocks;
pub use table::BlockTable;
pub use word_line_selector::{NextWordLine, WordLineSelector};

/// Locations of a block, by plane group.
fn full_blocks(pools: &Pools) -> Column<PlaneGroupId, u32> {
    Column::from_fn(pools.rows() as usize, |row| pools.per_block_of(row))
}

/// The block table of a device.
pub struct BlockManager {
    table: BlockTable,
    space: Space,
    by_pool: ByPool,
    open: ActiveBlocks,
    indexes: Indexes,
    closed: Closed,
    events: BlockEvents,
}

state!(BlockManager of {
    Self { table, space, by_pool, open, indexes: _, closed, events: _ },
    BlockTable { pools: _, streams: _, blocks: table, openings, is_valid } = table,
    Space { free, valid: row_valid, good, reserves: _, counts_programs: _ } = space,
    ByPool { each } = by_pool,
    ActiveBlocks { streams: _, blocks: open } = open,
} {
    values { table, free, open, closed }
    parts { openings, is_valid, row_valid, good }
    lists { each }
});

impl BlockManager {
    /// A block table in which all blocks are free, except the `bad` ones.
    pub fn new(pools: &Pools, streams: Streams, bad: impl Fn(BlockSetId) -> bool) -> Self {
        let indexes = Indexes::default();
        let mut new = Self {
            table: BlockTable::new(pools, streams),
            space: Space::new(pools, streams),
            by_pool: ByPool::new(pools.count(), streams),
            open: ActiveBlocks::new(streams, pools.rows() as usize),
            indexes,
            closed: Closed::new(full_blocks(pools), pools.block_sets() as usize, indexes),
            events: BlockEvents::unobserved(),
        };
        for block in new.table.blocks.ids() {
            let row = new.table.group_of(block);
            if bad(block) {
                new.table.blocks[block].state = State::Bad;
                new.space.good[row] -= 1;
            } else {
                new.space.put(row, 0, block);
            }
        }
        new
    }

    /// Maintains these candidate indexes from now on. Must be called before the first block is written.
    pub fn keep(&mut self, indexes: Indexes) {
        debug_assert!(
            self.table.blocks.iter().all(|block| matches!(block.state, State::Free | State::Bad)),
            "nothing is written"
        );
        self.indexes = indexes;
        self.closed = self.none_closed();
    }

    fn none_closed(&self) -> Closed {
        Closed::new(full_blocks(self.pools()), self.pools().block_sets() as usize, self.indexes)
    }

    /// Sets the GC watermarks of a pool, in free blocks of a plane group: the start and the stop watermark.
    pub fn set_gc_watermarks(&mut self, pool: usize, marks: [u32; 2]) {
        for row in self.table.pools.get(pool).geometry.all_groups() {
            self.space.reserves[row].marks = marks.map(|blocks| blocks as usize);
        }
    }

    /// Maps a pool by program units. Must be called before the first block is written.
    pub fn map_coarsely(&mut self, pool: usize) {
        let unit = self.pools().get(pool).locations.per_program;
        self.by_pool[pool].map_coarsely(unit);
    }

    /// Lets a pool form superblocks. Must be called after [`keep`](Self::keep) and before the first block is
    /// written.
    pub fn form_super_blocks(&mut self, pool: usize) {
        let all = SuperBlocks::new(self.pools().get(pool), self.streams().count(), self.indexes);
        self.by_pool[pool].super_blocks = Some(Box::new(all));
    }

    /// Sets which free block is opened next. Must be called before the first block is opened.
    pub fn set_allocation(&mut self, allocation: Allocation) {
        self.space.set_allocation(allocation);
    }

    /// Lets GC count free space by programmed pages, as SSDSim does: locations that blocks in non-native
    /// modes cannot hold never count as consumed.
    pub fn count_programs(&mut self) {
        self.space.counts_programs = true;
    }

    /// Records events of these kinds from now on.
    pub(crate) fn observe_kinds(&mut self, kinds: EventMask) {
        self.events.observe(kinds);
    }

    /// Records no events while `paused`.
    pub fn pause_events(&mut self, paused: bool) {
        self.events.pause(paused);
    }

    /// State of each block.
    #[inline]
    pub fn table(&self) -> &BlockTable {
        &self.table
    }

    /// Free blocks, good blocks and valid pages of each plane group.
    #[inline]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// State of each pool.
    #[inline]
    pub fn by_pool(&self) -> &ByPool {
        &self.by_pool
    }

    /// Events that designs have not been notified of.
    #[inline]
    pub(crate) fn events(&self) -> &BlockEvents {
        &self.events
    }

    /// The pools of the device.
    #[inline]
    pub fn pools(&self) -> &Pools {
        &self.table.pools
    }

    /// Write streams of a plane group.
    #[inline]
    pub fn streams(&self) -> Streams {
        self.table.streams
    }

    /// State of the pool of a plane group.
    #[inline]
    pub fn pool_of(&self, row: PlaneGroupId) -> &PoolBlocks {
        &self.by_pool[self.table.pools.number_of_group(row)]
    }

    /// Mutable state of the pool of a plane group.
    #[inline]
    fn pool_of_mut(&mut self, row: PlaneGroupId) -> &mut PoolBlocks {
        &mut self.by_pool[self.table.pools.number_of_group(row)]
    }

    /// Pool, plane group and table entry of a block.
    #[inline]
    fn parts_of(&mut self, block: BlockSetId) -> (&mut PoolBlocks, PlaneGroupId, &mut Block) {
        let Self { by_pool, table, .. } = self;
        let row = table.group_of(block);
        (&mut by_pool[table.pools.number_of_group(row)], row, &mut table.blocks[block])
    }

    /// Cell modes of the blocks of a plane group.
    #[inline]
    pub fn modes(&self, row: PlaneGroupId) -> &Modes {
        &self.pool_of(row).modes
    }

    /// Whether the page-level L2P map covers a location. A pool with coarse-grained mapping has a map of its
    /// own in memory, with one entry for each unit.
    #[inline]
    pub fn is_mapped_by_page(&self, location: Location) -> bool {
        !self.by_pool[self.table.pools.number_of_location(location)].is_coarsely_mapped()
    }

    /// Prefetches the state of `location`, whose page will soon become invalid; see
    /// [`wordline_kernel::prefetch`].
    #[inline]
    pub fn prefetch(&self, location: Location) {
        let block = self.table.pools.block_of(location);
        self.table.is_valid.prefetch(location);
        self.table.blocks.prefetch(block);
        self.closed.prefetch(block);
    }

    /// Counts the pages in flight to a pool: adds pages that are sent there (`begin`), or subtracts pages
    /// that now have a location.
    #[inline]
    pub fn count_in_flight(&mut self, pool: usize, pages: u32, begin: bool) {
        self.by_pool.count_in_flight(pool, pages, begin);
    }

    /// Sets the number of valid pages above which host pages leave a pool. Not for the first pool.
    pub(crate) fn limit_valid_pages(&mut self, pool: usize, pages: u64) {
        self.by_pool[pool].limit_valid_pages(pages);
    }

    /// Sets whether superblocks wait for all plane groups, however far behind one is.
    pub fn set_waiting_for_groups(&mut self, waits: bool) {
        self.by_pool.set_waiting_for_groups(waits);
    }

    /// Whether a superblock was selected since the last call, in the pool of a plane group.
    #[inline]
    pub fn take_super_block_choice(&mut self, row: PlaneGroupId) -> bool {
        self.pool_of_mut(row).take_super_block_choice()
    }

    /// Does not collect a block although its superblock was selected.
    pub(crate) fn spare_block(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.pool_of_mut(row).spare_block(row, block);
    }

    /// Makes the blocks of a selected superblock the next victims of their plane groups, except blocks
    /// without gain.
    pub(crate) fn choose_super_block(&mut self, row: PlaneGroupId, chosen: BlockSetId) {
        let pool = self.table.pools.number_of_group(row);
        if let Some(all) = &mut self.by_pool[pool].super_blocks {
            all.choose(chosen, &self.table);
        }
    }

    /// Allocates the next `pages` of the stream's active block; `pages` must divide the block. Without an
    /// active block, opens a free one. If no block may be opened, uses the active block of another stream of
    /// the same side (host or GC). Panics if there is no space. `next` selects the word line, unless word
    /// lines are programmed in numerical order.
    pub fn take(
        &mut self,
        row: PlaneGroupId,
        stream: StreamId,
        pages: u32,
        next: NextWordLine<'_>,
    ) -> Location {
        if let Some(place) = self.selected_reprogram(row, stream) {
            return self.take_reprogram(row, stream, place);
        }
        let (mut at, mut stream) = (self.open.at(row, stream), stream);
        let pool = self.table.pools.number_of_group(row);
        if self.open[at].is_none() && !self.resume_active(at, row, stream, next) {
            if self.space.can_open(row, self.streams().is_gc(stream)) {
                self.open[at] = Some((self.open_next(row, stream), 0));
            } else {
                let shared = self.open.shared(row, stream, &self.table);
                stream = shared.expect("the caller saw that there is room");
                at = self.open.at(row, stream);
            }
        }
        if self.by_pool[pool].order.is_some() {
            self.select_word_line(at, row, stream, next);
        }
        let (block, place) = self.open[at].expect("it was open, or was just opened");
        self.table.blocks[block].programs += 1;
        let after = place + pages;
        let full = after == self.table.capacity(block);
        let location = match &self.by_pool[pool].order {
            Some(order) => order.location(at, block, place, &self.table),
            None => self.table.pools.at(block, place),
        };
        if self.by_pool[pool].again.is_some() {
            self.note_word_line(at, location, full);
        }
        if full {
            let again = self.by_pool[pool].again.as_ref();
            if again.is_none_or(|again| again.full(at) != Some(block)) {
                self.table.blocks[block].state = State::Closing;
            }
            self.clear_active(at, row);
        } else {
            self.open[at] = Some((block, after));
        }
        location
    }

    /// Opens a free block of a plane group for a stream. There must be one.
    fn open_next(&mut self, row: PlaneGroupId, stream: StreamId) -> BlockSetId {
        let modes = self.modes(row);
        let mode = match modes.are_none() {
            true => CellMode::Native,
            false => modes.mode_to_open(row, stream, &self.space),
        };
        let free = self.space.take(row, self.streams().is_gc(stream));
        let block = free.expect("the caller saw that there is room");
        self.opened(block, stream);
        self.table.blocks[block].mode = mode.into();
        self.pool_of_mut(row).opened(row, stream, block, mode);
        block
    }

    /// Records that a free block was opened for a stream.
    fn opened(&mut self, block: BlockSetId, stream: StreamId) {
        self.table.open(block, stream);
        self.events.note(|| {
            let (row, by) = (self.table.group_of(block), self.table.opened_by(block));
            DeviceEvent::Opened { block, row, by }
        });
    }

    /// Opens a free block of a plane group for host writes or, if `for_moved`, for relocated pages. `None` if
    /// no block is free. With block-level mapping, which selects the location of each write itself, a plane
    /// group may have any number of open blocks.
    pub fn open_free(&mut self, row: PlaneGroupId, for_moved: bool) -> Option<BlockSetId> {
        let block = self.space.take(row, for_moved)?;
        self.opened(block, StreamId(0));
        Some(block)
    }

    /// Records that the program allocated by [`take`](Self::take) has completed.
    pub fn program_done(&mut self, first: Location) {
        let block = self.table.pools.block_of(first);
        self.table.blocks[block].programs -= 1;
        self.close_if_programmed(block);
    }

    #[inline]
    fn close_if_programmed(&mut self, block: BlockSetId) {
        let Block { programs, state, valid, pending_retirement, .. } = self.table.blocks[block];
        if programs == 0 && state == State::Closing {
            let (pool, row, known) = self.parts_of(block);
            if pending_retirement {
                pool.pending_retirement(row, block, known);
                known.state = State::PendingRetirement;
                return;
            }
            known.state = State::Closed;
            pool.closed(row, block, known);
            self.closed.add(row, valid, block);
            self.events.note(|| DeviceEvent::Closed { block });
        }
    }

    /// Closes an open or suspended block early. The active block of GC stays open if no other block can be
    /// opened, because GC could not finish its victim otherwise.
    pub fn close(&mut self, block: BlockSetId) {
        let (row, stream) = (self.table.group_of(block), self.table.blocks[block].written_by);
        let at = self.open.at(row, stream);
        let is_at_work = self.open[at].is_some_and(|(open, _)| open == block);
        if self.pool_of_mut(row).again.as_mut().is_some_and(|again| again.leave(at, block)) {
            // A full block has no write pointer to clear.
        } else if is_at_work && (!self.streams().is_gc(stream) || self.space.free(row) > 0) {
            self.clear_active(at, row);
        } else if !self.pool_of_mut(row).close_other(at, block)
            && !self.pool_of_mut(row).end_suspension(at, block)
        {
            return;
        }
        self.table.blocks[block].state = State::Closing;
        self.close_if_programmed(block);
    }

    /// Starts a program of the location at offset `place` of an open block under block-level mapping, and
    /// returns the location. [`program_done`](Self::program_done) ends the program.
    pub fn program_at(&mut self, block: BlockSetId, place: u32) -> Location {
        assert_eq!(self.table.state(block), State::Open, "only an open block is programmed");
        self.table.blocks[block].programs += 1;
        self.table.pools.at(block, place)
    }

    /// Closes an open block under block-level mapping. It may have unwritten word lines.
    pub fn close_open(&mut self, block: BlockSetId) {
        assert!(
            self.table.state(block) == State::Open && self.table.blocks[block].programs == 0,
            "an open block at rest closes"
        );
        self.table.blocks[block].state = State::Closing;
        self.close_if_programmed(block);
    }

    /// Reopens a closed block that is not full.
    pub fn reopen(&mut self, block: BlockSetId) {
        assert_eq!(self.table.state(block), State::Closed, "a closed block opens again");
        self.closed.remove(self.table.group_of(block), self.table.valid(block), block);
        self.table.blocks[block].state = State::Open;
    }

    /// Marks a block for retirement: its valid pages are relocated, then it leaves service. Returns false if
    /// it is bad or already marked.
    pub fn mark_for_retirement(&mut self, block: BlockSetId) -> bool {
        if self.table.state(block) == State::Bad || self.table.is_pending_retirement(block) {
            return false;
        }
        self.table.blocks[block].pending_retirement = true;
        let row = self.table.group_of(block);
        self.space.good[row] -= 1;
        self.deselect_reprogram(row, block);
        if self.table.state(block) == State::Closed {
            self.closed.remove(row, self.table.valid(block), block);
            let (pool, _, known) = self.parts_of(block);
            pool.pending_retirement(row, block, known);
            known.state = State::PendingRetirement;
        }
        true
    }

    /// Takes all blocks of a plane group out of service. `lost` receives each valid location. Returns how
    /// many of the blocks were good.
    pub fn fail_group(&mut self, row: PlaneGroupId, mut lost: impl FnMut(Location)) -> u32 {
        let good = self.space.fail_group(row);
        self.open.clear(row);
        if let Some(order) = &mut self.pool_of_mut(row).order {
            order.clear(row);
        }
        for block in self.table.blocks_of(row) {
            if self.table.state(block) == State::Closed {
                self.closed.remove(row, self.table.valid(block), block);
            }
            let (pool, _, known) = self.parts_of(block);
            pool.reset_mode(row, known);
            pool.pending_retirement(row, block, known);
            known.state = State::Bad;
            let mut place = 0;
            while let Some(at) = self.table.next_valid(block, place) {
                let location = self.table.pools.at(block, at);
                self.invalidate(location);
                lost(location);
                place = at + 1;
            }
        }
        self.pool_of_mut(row).fail_group(row);
        good
    }

    /// Records that a logical page is now mapped to `location`.
    #[inline]
    pub fn validate(&mut self, location: Location) {
        let (pool, block, row) = self.table.pools.locate_block(location);
        debug_assert!(!self.table.is_valid(location), "a location becomes valid once");
        self.table.is_valid.add(location);
        debug_assert!(
            self.table.state(block) != State::Closed,
            "a location becomes valid while its block is written"
        );
        let gained = self.by_pool[pool].count_valid_page(location, true, &self.table);
        self.table.blocks[block].valid += gained;
        self.space.valid[row] += gained;
        if let Some(all) = &mut self.by_pool[pool].super_blocks {
            all.count(block, self.table.blocks[block].state, gained, true);
        }
    }

    /// Records that no logical page is mapped to `location`.
    #[inline]
    pub fn invalidate(&mut self, location: Location) {
        let (pool, block, row) = self.table.pools.locate_block(location);
        debug_assert!(self.table.is_valid(location), "only a valid location becomes invalid");
        self.table.is_valid.remove(location);
        let lost = self.by_pool[pool].count_valid_page(location, false, &self.table);
        self.space.valid[row] -= lost;
        let Block { valid, state, .. } = &mut self.table.blocks[block];
        let before = std::mem::replace(valid, *valid - lost);
        if *state == State::Closed && lost > 0 {
            self.closed.lose_page(row, before, before - lost, block);
        } else if self.table.blocks[block].mode == BlockMode::TwoBit {
            self.by_pool[pool].note_reprogrammable(row, block);
        }
        if let Some(all) = &mut self.by_pool[pool].super_blocks {
            all.count(block, self.table.blocks[block].state, lost, false);
        }
        if let Some(events) = self.events.observed() {
            events.note(DeviceEvent::Invalidated { location });
            let Block { valid, .. } = self.table.blocks[block];
            if self.table.blocks[block].takes_more_later() {
                events.note(DeviceEvent::LostPage { block, location, valid });
            }
        }
    }

    /// Victim candidates of a plane group.
    pub fn candidates(&self, row: PlaneGroupId) -> Candidates<'_> {
        let candidates = Candidates::new(&self.closed, Valid::OfBlocks(&self.table.blocks), row);
        candidates.beside(self.pool_of(row), &self.table)
    }

    /// Makes a block a victim. It must be closed, suspended or pending retirement.
    pub fn make_victim(&mut self, block: BlockSetId) {
        let (pool, row, known) = self.parts_of(block);
        pool.note_victim(row, block, known);
        let state = std::mem::replace(&mut known.state, State::Victim);
        self.deselect_reprogram(row, block);
        let at = self.open.at(row, self.table.blocks[block].written_by);
        if state == State::PendingRetirement
            || (state == State::Suspended && self.pool_of_mut(row).end_suspension(at, block))
        {
            return;
        }
        assert_eq!(state, State::Closed, "a victim is closed");
        self.closed.remove(row, self.table.valid(block), block);
    }

    /// Records that a victim was erased. `erases` is its total number of erases.
    pub fn erased(&mut self, block: BlockSetId, erases: u32) {
        assert!(
            self.table.state(block) == State::Victim && self.table.can_erase(block),
            "only a clean victim is erased"
        );
        let (pool, row, known) = self.parts_of(block);
        pool.note_collected(row, block, known);
        known.state = State::Free;
        self.space.put(row, erases, block);
    }

    /// Takes a victim that is pending retirement out of service.
    pub fn retire(&mut self, block: BlockSetId) {
        assert!(
            self.table.state(block) == State::Victim && self.table.can_erase(block),
            "only a clean victim is retired"
        );
        assert!(self.table.is_pending_retirement(block), "only a block pending retirement is retired");
        let (pool, row, known) = self.parts_of(block);
        pool.note_collected(row, block, known);
        known.state = State::Bad;
    }

    /// Records that a read in `block` was queued.
    #[inline]
    pub fn read_queued(&mut self, block: BlockSetId) {
        self.table.blocks[block].readers += 1;
    }

    /// Records that a read in `block` completed. Returns true if it was the last one and the block is a
    /// victim.
    #[inline]
    pub fn read_done(&mut self, block: BlockSetId) -> bool {
        let Block { readers, state, mode, .. } = &mut self.table.blocks[block];
        *readers -= 1;
        let (is_last, waits) = (*readers == 0, *state == State::Victim);
        if is_last && *mode == BlockMode::TwoBit {
            let row = self.table.group_of(block);
            self.pool_of_mut(row).request_selection(row);
        }
        is_last && waits
    }
}
