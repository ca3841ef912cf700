//! Block table: which multi-plane blocks are free, open, closed, GC victims or bad, and how many valid pages
//! each has. A page is a logical page here: the content of one [location](wordline_nand::Locations).
//!
//! Each plane group has a free-block list in the order of erase counts. For dynamic wear levelling, the least
//! worn block is opened next. Among equally worn blocks it is the one with the lowest number. Another
//! [allocation](wear::Allocation) can be configured. A block is opened in a cell mode (`modes.rs`). Closed
//! blocks are [indexed](candidates) for the victim policy.

mod block;
mod block_mapped;
pub mod candidates;
mod capacity;
mod factory;
mod loaded;
pub mod mlc;
mod modes;
mod open_sequence;
mod pending_events;
mod pool;
mod pool_blocks;
mod program_order;
mod reprogram;
mod reprogrammable;
pub mod slc_cache;
mod streams;
mod super_blocks;
mod suspended;
mod suspension;
mod valid;
pub mod wear;
mod word_line_selector;

use block::{Block, BlockMode};
use candidates::{Candidates, Closed, Indexes, Valid};
use open_sequence::OpenSequence;
use pending_events::PendingEvents;
use pool_blocks::PoolBlocks;
use valid::ValidLocations;
use wear::{Allocation, FreeBlocks};
use wordline_kernel::{Column, Id, state};
use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId, Pools};

use crate::policy::event::{DeviceEvent, EventMask};

pub use block::State;
pub use factory::bad_from_factory;
pub use modes::{ModeShare, ModeStreams};
pub use program_order::{NextWordLine, WordLineSelector};
pub use reprogram::WordLineInfo;
pub use streams::{StreamId, Streams};
pub use super_blocks::SuperBlockCounts;
pub use suspended::SuspendedBlocks;

fn all_groups(pools: &Pools) -> impl Iterator<Item = PlaneGroupId> + use<> {
    pools.all_groups()
}

/// Locations of a block, by plane group.
fn full_blocks(pools: &Pools) -> Column<PlaneGroupId, u32> {
    Column::from_fn(pools.rows() as usize, |row| pools.per_block_of(row))
}

/// The block table of a device.
pub struct BlockManager {
    pools: Pools,
    streams: Streams,
    /// State of each pool, shared by its plane groups.
    each: Vec<PoolBlocks>,
    table: Column<BlockSetId, Block>,
    openings: OpenSequence,
    is_valid: ValidLocations,
    free: Column<PlaneGroupId, FreeBlocks>,
    /// Active block of each stream and its write pointer in locations, ordered by plane group.
    open: Vec<Option<(BlockSetId, u32)>>,
    indexes: Indexes,
    closed: Closed,
    row_valid: Column<PlaneGroupId, u32>,
    good: Column<PlaneGroupId, u32>,
    /// `None` if no design observes block events.
    news: Option<Box<PendingEvents>>,
}

state!(BlockManager {
    values { table, free, open, closed }
    parts { openings, is_valid, row_valid, good }
    lists { each }
    fixed { pools, streams, indexes, news }
});

impl BlockManager {
    /// A block table in which all blocks are free, except the `bad` ones.
    pub fn new(pools: &Pools, streams: Streams, bad: impl Fn(BlockSetId) -> bool) -> Self {
        let (rows, blocks) = (pools.rows() as usize, pools.block_sets() as usize);
        let blocks_of = |row| pools.of_group(row).geometry.blocks_per_plane;
        let mut new = Self {
            table: Column::filled(blocks, Block::FREE),
            openings: OpenSequence::new(blocks),
            is_valid: ValidLocations::none_of(pools.locations() as usize),
            free: Column::from_fn(rows, |row| FreeBlocks::new(Allocation::LeastWorn, blocks_of(row))),
            open: vec![None; rows * usize::from(streams.host + streams.gc)],
            indexes: Indexes::default(),
            closed: Closed::new(full_blocks(pools), blocks, Indexes::default()),
            row_valid: Column::filled(rows, 0),
            good: Column::from_fn(rows, blocks_of),
            each: pools.iter().map(|_| PoolBlocks::new(streams)).collect(),
            news: None,
            pools: pools.clone(),
            streams,
        };
        for block in new.table.ids() {
            let row = new.group_of(block);
            if bad(block) {
                new.table[block].state = State::Bad;
                new.good[row] -= 1;
            } else {
                new.free[row].push(0, block);
            }
        }
        new
    }

    /// Maintains these candidate indexes from now on. Must be called before the first block is written.
    pub fn keep(&mut self, indexes: Indexes) {
        debug_assert!(
            self.table.iter().all(|block| matches!(block.state, State::Free | State::Bad)),
            "nothing is written"
        );
        self.indexes = indexes;
        self.closed = self.none_closed();
    }

    fn none_closed(&self) -> Closed {
        Closed::new(full_blocks(&self.pools), self.pools.block_sets() as usize, self.indexes)
    }

    /// Sets which free block is opened next. Must be called before the first block is opened.
    pub fn set_allocation(&mut self, allocation: Allocation) {
        for (row, number) in self.free.iter_mut().zip(all_groups(&self.pools)) {
            let blocks = self.pools.of_group(number).geometry.blocks_per_plane;
            let mut free = FreeBlocks::new(allocation, blocks);
            while let Some(block) = row.pop(false) {
                free.push(0, block);
            }
            *row = free;
        }
    }

    /// Plane group of `block`.
    #[inline]
    pub fn group_of(&self, block: BlockSetId) -> PlaneGroupId {
        self.pools.group_of_block(block)
    }

    /// Length of the free-block list of a plane group.
    #[inline]
    pub fn free(&self, row: PlaneGroupId) -> usize {
        self.free[row].len()
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: BlockSetId) -> u32 {
        self.table[block].valid
    }

    /// The state of a block.
    pub fn state(&self, block: BlockSetId) -> State {
        self.table[block].state
    }

    /// GC stream that opened a block, by number; `None` if a host stream opened it.
    pub fn relocated_by(&self, block: BlockSetId) -> Option<u8> {
        self.table[block].written_by.0.checked_sub(self.streams.host)
    }

    /// Whether some logical page is mapped to the location.
    #[inline]
    pub fn is_valid(&self, location: Location) -> bool {
        self.is_valid.has(location)
    }

    /// Prefetches the state of `location`, whose page will soon become invalid; see
    /// [`wordline_kernel::prefetch`].
    #[inline]
    pub fn prefetch(&self, location: Location) {
        let block = self.pools.block_of(location);
        self.is_valid.prefetch(location);
        self.table.prefetch(block);
        self.closed.prefetch(block);
    }

    /// Prefetches the block of `location`, which will soon be read; see [`wordline_kernel::prefetch`].
    #[inline]
    pub fn prefetch_block(&self, location: Location) {
        self.table.prefetch(self.pools.block_of(location));
    }

    fn blocks_of(&self, row: PlaneGroupId) -> impl Iterator<Item = BlockSetId> + use<> {
        self.pools.of_group(row).geometry.blocks_of(row)
    }

    /// Closed block of a plane group with the fewest valid pages; the lowest number among equals. Scans all
    /// blocks.
    pub fn fewest_valid_block(&self, row: PlaneGroupId) -> Option<BlockSetId> {
        self.fewest_valid_of(row, |_| true)
    }

    /// Pages that GC can write in a plane group before the next erase.
    pub fn gc_room(&self, row: PlaneGroupId) -> usize {
        let per_block = self.pools.per_block_of(row);
        let takes_all = |stream: &StreamId| {
            self.open[self.at(row, *stream)].is_none_or(|(block, _)| self.is_native(block))
        };
        let of_collector = (0..self.streams.gc).map(|n| self.streams.gc(n)).filter(takes_all);
        let in_open: u32 = of_collector.map(|stream| self.unwritten(row, stream)).sum();
        self.free(row) * per_block as usize + in_open as usize
    }

    /// Unwritten pages in the open blocks of a stream.
    fn unwritten(&self, row: PlaneGroupId, stream: StreamId) -> u32 {
        let per_block = self.pools.per_block_of(row);
        let at_work = self.write_pointer(row, stream).map_or(0, |place| per_block - place);
        at_work + self.other_open_blocks(row, stream).map(|(_, place)| per_block - place).sum::<u32>()
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
        let (mut at, mut stream, pool) = (self.at(row, stream), stream, self.pools.number_of_group(row));
        if self.open[at].is_none() && !self.resume_active(at, row, stream, next) {
            if self.can_open(row, self.streams.is_gc(stream)) {
                self.open[at] = Some((self.open_next(row, stream), 0));
            } else {
                stream = self.open_block(row, stream).expect("the caller saw that there is room");
                at = self.at(row, stream);
            }
        }
        let has_order = self.each[pool].order.is_some();
        if has_order {
            self.select_word_line(at, row, stream, next);
        }
        let (block, place) = self.open[at].expect("it was open, or was just opened");
        self.table[block].programs += 1;
        let after = place + pages;
        let full = after == self.capacity(block);
        let location =
            if has_order { self.location_in_order(at, block, place) } else { self.pools.at(block, place) };
        if self.each[pool].again.is_some() {
            self.note_word_line(at, location, full);
        }
        if full {
            if !self.is_kept_open(at, pool, block) {
                self.table[block].state = State::Closing;
            }
            self.clear_active(at, row);
        } else {
            self.open[at] = Some((block, after));
        }
        location
    }

    /// Opens a free block of a plane group for a stream. There must be one.
    fn open_next(&mut self, row: PlaneGroupId, stream: StreamId) -> BlockSetId {
        let mode = if self.has_modes(row) { self.mode_to_open(row, stream) } else { CellMode::Native };
        let free = self.free[row].pop(self.streams.is_gc(stream));
        let block = free.expect("the caller saw that there is room");
        self.opened(block, stream);
        self.table[block].mode = mode.into();
        self.of_mut(row).opened(row, stream, block, mode);
        block
    }

    /// Records events of these kinds from now on.
    pub(crate) fn observe_kinds(&mut self, kinds: EventMask) {
        self.news = PendingEvents::of(kinds);
    }

    /// Records no events while `paused`.
    pub(crate) fn pause_events(&mut self, paused: bool) {
        if let Some(news) = &mut self.news {
            news.pause(paused);
        }
    }

    /// Records that a free block was opened for a stream.
    fn opened(&mut self, block: BlockSetId, stream: StreamId) {
        let Block { state, written_by, .. } = &mut self.table[block];
        (*state, *written_by) = (State::Open, stream);
        self.openings.note(block);
        if let Some(news) = &self.news {
            news.note(DeviceEvent::Opened { block, row: self.group_of(block) });
        }
    }

    /// Sequence number of a block's last opening in the device.
    pub fn opening_number(&self, block: BlockSetId) -> u64 {
        self.openings.of(block)
    }

    /// Write pointer of the stream's active block, in locations; `None` if the stream has no active block.
    pub fn write_pointer(&self, row: PlaneGroupId, stream: StreamId) -> Option<u32> {
        self.open[self.at(row, stream)].map(|(_, place)| place)
    }

    /// Records that the program allocated by [`take`](Self::take) has completed.
    pub fn program_done(&mut self, first: Location) {
        let block = self.pools.block_of(first);
        self.table[block].programs -= 1;
        self.close_if_programmed(block);
    }

    #[inline]
    fn close_if_programmed(&mut self, block: BlockSetId) {
        let Block { programs, state, valid, pending_retirement, .. } = self.table[block];
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
            if let Some(news) = &self.news {
                news.note(DeviceEvent::Closed { block });
            }
        }
    }

    /// Closes an open or suspended block early. The active block of GC stays open if no other block can be
    /// opened, because GC could not finish its victim otherwise.
    pub fn close(&mut self, block: BlockSetId) {
        let (row, stream) = (self.group_of(block), self.table[block].written_by);
        let at = self.at(row, stream);
        let is_at_work = self.open[at].is_some_and(|(open, _)| open == block);
        if self.stop_reprogram(at, row, block) {
            // A full block has no write pointer to clear.
        } else if is_at_work && (!self.streams.is_gc(stream) || self.free(row) > 0) {
            self.clear_active(at, row);
        } else if !self.close_other(at, row, block) && !self.end_suspension(row, block) {
            return;
        }
        self.table[block].state = State::Closing;
        self.close_if_programmed(block);
    }

    /// Marks a block for retirement: its valid pages are relocated, then it leaves service. Returns false if
    /// it is bad or already marked.
    pub fn mark_for_retirement(&mut self, block: BlockSetId) -> bool {
        if self.state(block) == State::Bad || self.is_pending_retirement(block) {
            return false;
        }
        self.table[block].pending_retirement = true;
        let row = self.group_of(block);
        self.good[row] -= 1;
        self.deselect_reprogram(row, block);
        if self.state(block) == State::Closed {
            self.closed.remove(row, self.valid(block), block);
            let (pool, _, known) = self.parts_of(block);
            pool.pending_retirement(row, block, known);
            known.state = State::PendingRetirement;
        }
        true
    }

    /// Whether a block is pending retirement.
    #[inline]
    pub fn is_pending_retirement(&self, block: BlockSetId) -> bool {
        self.table[block].pending_retirement
    }

    /// Takes all blocks of a plane group out of service. `lost` receives each valid location. Returns how
    /// many of the blocks were good.
    pub fn fail_group(&mut self, row: PlaneGroupId, mut lost: impl FnMut(Location)) -> u32 {
        while self.free[row].pop(true).is_some() {}
        for stream in self.streams.all() {
            let at = self.at(row, stream);
            self.open[at] = None;
        }
        self.clear_other_open(row);
        for block in self.blocks_of(row) {
            if self.state(block) == State::Closed {
                self.closed.remove(row, self.valid(block), block);
            }
            let (pool, _, known) = self.parts_of(block);
            pool.reset_mode(row, known);
            pool.pending_retirement(row, block, known);
            known.state = State::Bad;
            let mut place = 0;
            while let Some(at) = self.next_valid(block, place) {
                let location = self.pools.at(block, at);
                self.invalidate(location);
                lost(location);
                place = at + 1;
            }
        }
        self.of_mut(row).fail_group(row);
        std::mem::take(&mut self.good[row])
    }

    /// Records that a logical page is now mapped to `location`.
    #[inline]
    pub fn validate(&mut self, location: Location) {
        let (pool, block, row) = self.pools.locate_block(location);
        debug_assert!(!self.is_valid(location), "a location becomes valid once");
        self.is_valid.add(location);
        debug_assert!(
            self.state(block) != State::Closed,
            "a location becomes valid while its block is written"
        );
        let gained = self.count_valid_page(pool, location, true);
        self.table[block].valid += gained;
        self.row_valid[row] += gained;
        if let Some(all) = &mut self.each[pool].super_blocks {
            all.count(block, self.table[block].state, gained, true);
        }
    }

    /// Records that no logical page is mapped to `location`.
    #[inline]
    pub fn invalidate(&mut self, location: Location) {
        let (pool, block, row) = self.pools.locate_block(location);
        debug_assert!(self.is_valid(location), "only a valid location becomes invalid");
        self.is_valid.remove(location);
        let lost = self.count_valid_page(pool, location, false);
        self.row_valid[row] -= lost;
        let Block { valid, state, .. } = &mut self.table[block];
        let before = std::mem::replace(valid, *valid - lost);
        if *state == State::Closed && lost > 0 {
            self.closed.lose_page(row, before, before - lost, block);
        } else if self.table[block].mode == BlockMode::TwoBit {
            self.note_reprogrammable(row, block);
        }
        if let Some(all) = &mut self.each[pool].super_blocks {
            all.count(block, self.table[block].state, lost, false);
        }
        if let Some(news) = &self.news {
            news.note(DeviceEvent::Invalidated { location });
            let Block { valid, .. } = self.table[block];
            if self.table[block].takes_more_later() {
                news.note(DeviceEvent::LostPage { block, location, valid });
            }
        }
    }

    /// Victim candidates of a plane group.
    pub fn candidates(&self, row: PlaneGroupId) -> Candidates<'_> {
        Candidates::new(&self.closed, Valid::OfBlocks(&self.table), row).beside(self)
    }

    /// Makes a block a victim. It must be closed, suspended or pending retirement.
    pub fn make_victim(&mut self, block: BlockSetId) {
        let (pool, row, known) = self.parts_of(block);
        pool.note_victim(row, block, known);
        let state = std::mem::replace(&mut known.state, State::Victim);
        self.deselect_reprogram(row, block);
        if state == State::PendingRetirement || (state == State::Suspended && self.end_suspension(row, block))
        {
            return;
        }
        assert_eq!(state, State::Closed, "a victim is closed");
        self.closed.remove(row, self.valid(block), block);
    }

    /// Whether a victim can be erased, because it has no valid pages and no queued reads.
    pub fn can_erase(&self, block: BlockSetId) -> bool {
        let Block { valid, readers, .. } = self.table[block];
        valid == 0 && readers == 0
    }

    /// Reads queued or in progress in a block.
    pub fn readers(&self, block: BlockSetId) -> u32 {
        self.table[block].readers
    }

    /// Records that a victim was erased. `erases` is its total number of erases.
    pub fn erased(&mut self, block: BlockSetId, erases: u32) {
        assert!(self.state(block) == State::Victim && self.can_erase(block), "only a clean victim is erased");
        let (pool, row, known) = self.parts_of(block);
        pool.note_collected(row, block, known);
        known.state = State::Free;
        self.free[row].push(erases, block);
    }

    /// Takes a victim that is pending retirement out of service.
    pub fn retire(&mut self, block: BlockSetId) {
        assert!(
            self.state(block) == State::Victim && self.can_erase(block),
            "only a clean victim is retired"
        );
        assert!(self.is_pending_retirement(block), "only a block pending retirement is retired");
        let (pool, row, known) = self.parts_of(block);
        pool.note_collected(row, block, known);
        known.state = State::Bad;
    }

    /// First valid location of a block at or after offset `place`, as an offset in the block.
    pub fn next_valid(&self, block: BlockSetId, place: u32) -> Option<u32> {
        let first = self.pools.at(block, 0).index();
        let end = first + self.pools.per_block(block) as usize;
        let found = self.is_valid.first_in(first + place as usize..end)?;
        Some((found - first) as u32)
    }

    /// Records that a read in `block` was queued.
    #[inline]
    pub fn read_queued(&mut self, block: BlockSetId) {
        self.table[block].readers += 1;
    }

    /// Records that a read in `block` completed. Returns true if it was the last one and the block is a
    /// victim.
    #[inline]
    pub fn read_done(&mut self, block: BlockSetId) -> bool {
        let Block { readers, state, mode, .. } = &mut self.table[block];
        *readers -= 1;
        let (is_last, waits) = (*readers == 0, *state == State::Victim);
        if is_last && *mode == BlockMode::TwoBit {
            self.request_selection_in(self.group_of(block));
        }
        is_last && waits
    }

    /// Resets the table after a power cut to the state that flash reports. This state is the bad blocks and,
    /// for each block, the number of `programmed` locations and the stream that wrote it. Blocks written in
    /// part become active again. Full blocks wait for [`close_full`](Self::close_full), until their valid
    /// pages are known.
    pub fn forget(&mut self, programmed: impl Fn(BlockSetId) -> u32, erases: impl Fn(BlockSetId) -> u32) {
        self.closed = self.none_closed();
        self.is_valid.clear();
        self.each.iter_mut().for_each(PoolBlocks::forget);
        self.row_valid.fill(0);
        self.free.iter_mut().for_each(FreeBlocks::clear);
        self.open.fill(None);
        all_groups(&self.pools.clone()).for_each(|row| self.clear_other_open(row));
        let in_use = |block: &BlockSetId| self.state(*block) != State::Bad;
        let mut to_choose_from = Vec::new();
        for block in self.table.ids().filter(in_use).collect::<Vec<_>>() {
            self.table[block] = Block { valid: 0, programs: 0, readers: 0, ..self.table[block] };
            let (row, written) = (self.group_of(block), programmed(block));
            let at = self.at(row, self.table[block].written_by);
            self.table[block].state = State::Free;
            if written == 0 {
                let (pool, _, known) = self.parts_of(block);
                pool.reset_mode(row, known);
            }
            self.table[block].state = if written == 0 && self.is_pending_retirement(block) {
                State::Bad
            } else if written == 0 {
                self.free[row].push(erases(block), block);
                State::Free
            } else if written == self.capacity(block) || self.is_pending_retirement(block) {
                State::Closing
            } else if self.can_suspend(at, row) {
                to_choose_from.push((written, block));
                State::Closing
            } else {
                self.reopened(at, row, block, written)
            };
        }
        self.choose_open(to_choose_from);
        let Self { each, table, .. } = self;
        each.iter_mut().for_each(|pool| pool.found(table));
    }

    /// Closes the full blocks in the order of opening, once their valid pages are known. Blocks pending
    /// retirement stay in that state.
    pub fn close_full(&mut self) {
        let mut full: Vec<BlockSetId> =
            self.table.ids().filter(|block| self.state(*block) == State::Closing).collect();
        full.sort_unstable_by_key(|block| self.openings.of(*block));
        for block in full {
            self.close_if_programmed(block);
        }
    }

    /// The pools of the device.
    #[inline]
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Write streams of a plane group.
    pub fn streams(&self) -> Streams {
        self.streams
    }
}
