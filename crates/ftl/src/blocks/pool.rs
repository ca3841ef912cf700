//! State of a pool: its mapping unit, counts of valid pages, cell modes, program order, reprogrammed word lines
//! and superblocks. A device has at least one pool; the code treats all pools alike.

use std::ops::{Index, IndexMut};

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId};

use super::block::{Block, BlockMode, State};
use super::candidates::Candidates;
use super::modes::Modes;
use super::order::Order;
use super::reprogram::{Reprogram, WordLinePage};
use super::streams::{OpenPlace, StreamId, Streams};
use super::super_blocks::{SuperBlockCounts, SuperBlocks};
use super::suspended::SuspendedBlocks;
use super::table::BlockTable;
use crate::policy::frontier::OpenBlock;

/// Properties shared by the plane groups of a pool.
pub struct PoolBlocks {
    /// Pages of a program unit, if a unit has one map entry; `None` if each page has an entry.
    whole_unit: Option<u32>,
    /// Valid pages.
    valid: u64,
    /// Pages that will be programmed in this pool and have no location in it yet. Not counted for the first
    /// pool.
    on_their_way: u64,
    /// Number of valid pages above which host pages are migrated to the first pool.
    most: u64,
    /// Blocks in each cell mode other than the native one.
    pub(crate) modes: Modes,
    /// `None` if word lines are programmed in numerical order.
    pub(super) order: Option<Box<Order>>,
    /// `None` if no word line is reprogrammed.
    pub(super) again: Option<Box<Reprogram>>,
    /// `None` if blocks are collected one by one.
    pub(super) super_blocks: Option<Box<SuperBlocks>>,
}

state!(PoolBlocks of {
    Self { whole_unit: _, valid, on_their_way, most, modes, order, again, super_blocks },
    Modes { streams: _, all: modes } = modes,
} {
    values { valid, on_their_way, most }
    parts { order, again, super_blocks }
    lists { modes }
});

impl PoolBlocks {
    /// A pool without valid pages, mapped by page, whose word lines are programmed in order.
    fn new(streams: Streams) -> Self {
        Self {
            whole_unit: None,
            valid: 0,
            on_their_way: 0,
            most: u64::MAX,
            modes: Modes::none(streams),
            order: None,
            again: None,
            super_blocks: None,
        }
    }

    /// Whether the pool is mapped by program units. All pages of such a unit count as valid if one is.
    #[inline]
    pub fn is_coarsely_mapped(&self) -> bool {
        self.whole_unit.is_some()
    }

    /// Maps the pool by program units of `unit` pages. Must be called before the first block is written.
    pub(super) fn map_coarsely(&mut self, unit: u32) {
        self.whole_unit = Some(unit);
    }

    /// Valid pages.
    pub fn valid(&self) -> u64 {
        self.valid
    }

    /// Pages that will be programmed in the pool and have no location in it yet; 0 for the first pool.
    pub fn on_their_way(&self) -> u64 {
        self.on_their_way
    }

    /// Sets the number of valid pages above which host pages leave the pool. Not for the first pool.
    pub(super) fn limit_valid_pages(&mut self, pages: u64) {
        self.most = pages;
    }

    /// Whether host pages of the pool must be migrated to the first pool.
    #[inline]
    pub fn is_over_limit(&self) -> bool {
        self.valid > self.most
    }

    /// Counts a location as valid or invalid. Returns the number of pages by which the valid count of its
    /// block changes. With coarse-grained mapping, all pages of a unit count as valid while one of them is
    /// valid.
    #[inline]
    pub(super) fn count_valid_page(&mut self, location: Location, is_valid: bool, table: &BlockTable) -> u32 {
        self.valid = if is_valid { self.valid + 1 } else { self.valid - 1 };
        match self.whole_unit {
            Some(unit) => table.pages_alone(location, unit),
            None => 1,
        }
    }

    /// Order of the word lines, of which the caller knows that it is not numerical.
    pub(super) fn order_mut(&mut self) -> &mut Order {
        self.order.as_mut().expect("the pool has an order")
    }

    /// Reprogrammed word lines, of which the caller knows that there are some.
    pub(super) fn again_mut(&mut self) -> &mut Reprogram {
        self.again.as_mut().expect("the caller saw it")
    }

    /// Suspended blocks of a stream in a plane group. With a `unit`, only blocks with this many locations in
    /// a word line.
    pub(super) fn suspended_of(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        unit: Option<u32>,
    ) -> Option<SuspendedBlocks<'_>> {
        let is_gc = self.modes.streams.is_gc(stream);
        self.order.as_ref().map(|order| order.suspended_of(row, stream, is_gc, unit))
    }

    /// All suspended blocks of a stream in a plane group.
    pub(super) fn all_suspended(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
    ) -> impl Iterator<Item = OpenBlock<'_>> {
        self.suspended_of(row, stream, None).into_iter().flat_map(|suspended| suspended.iter())
    }

    /// Closes an open block of the stream at index `at` other than the active one. Returns whether it was
    /// such a block.
    pub(super) fn close_other(&mut self, at: usize, block: BlockSetId) -> bool {
        self.order.as_mut().is_some_and(|order| order.close_other(at, block))
    }

    /// Removes a block from the suspended ones of the stream at index `at`. Returns whether it was suspended.
    pub(super) fn end_suspension(&mut self, at: usize, block: BlockSetId) -> bool {
        self.order.as_mut().is_some_and(|order| order.suspended.remove(at, block))
    }

    /// Blocks of the stream at index `at` with pages that can be replaced now, and its `active` block, in the
    /// order of opening. Empty if no page can be replaced.
    pub(super) fn reprogram_choices(
        &self,
        at: usize,
        (row, stream): (PlaneGroupId, StreamId),
        active: Option<OpenPlace>,
        table: &BlockTable,
    ) -> Vec<(OpenBlock<'_>, Vec<WordLinePage>)> {
        let (Some(again), Some(order)) = (&self.again, &self.order) else {
            return Vec::new();
        };
        let full = again.full(at).map(|block| order.full_block(block, table.streams.is_gc(stream)));
        let beside = full.into_iter().chain(self.all_suspended(row, stream));
        let beside = beside.map(|open| (open, again.pages_now(open.block, table)));
        let mut all: Vec<_> = beside.filter(|(_, places)| !places.is_empty()).collect();
        let at_work =
            active.map(|open| (order.shown(order.works(at), open, table), again.pages_now(open.0, table)));
        if let Some(at_work) = at_work.filter(|(_, places)| !all.is_empty() || !places.is_empty()) {
            all.push(at_work);
        }
        all.sort_by_key(|(open, _)| table.opening_number(open.block));
        all
    }

    /// Notes which suspended blocks of a stream have nothing to reprogram. They are skipped until they lose a
    /// page.
    pub(super) fn forget_lost_pages(&mut self, row: PlaneGroupId, stream: StreamId, table: &BlockTable) {
        let again = self.again.as_ref().expect("the caller saw it");
        let blocks = self.all_suspended(row, stream).map(|open| open.block);
        let done: Vec<BlockSetId> = blocks.filter(|block| again.has_lost_in_vain(*block, table)).collect();
        let again = self.again_mut();
        done.into_iter().for_each(|block| again.set_lost_page(block, false));
    }

    /// Open blocks of the stream at index `at` other than the active one, and their written locations.
    pub(super) fn other_open_blocks(&self, at: usize) -> impl Iterator<Item = (BlockSetId, u32)> + '_ {
        self.order.as_ref().into_iter().flat_map(move |order| order.others(at))
    }

    /// Suspended blocks of a plane group that can become victims, because no program is in progress in them.
    pub(super) fn suspended_candidates<'a>(
        &'a self,
        row: PlaneGroupId,
        table: &'a BlockTable,
    ) -> impl Iterator<Item = BlockSetId> + 'a {
        self.order.as_ref().into_iter().flat_map(move |order| order.idle_suspended(row, table))
    }

    /// Victim of a plane group, given the `closed` block that its policy selected. A suspended block is
    /// preferred if its collection gains more written pages, or if there is no closed block.
    pub(crate) fn better_of_suspended(
        &self,
        row: PlaneGroupId,
        closed: Option<BlockSetId>,
        table: &BlockTable,
    ) -> Option<BlockSetId> {
        match &self.order {
            Some(order) => order.better_victim(row, closed, table),
            None => closed,
        }
    }

    /// Block of a plane group that is being reclaimed.
    #[inline]
    pub fn vacated(&self, row: PlaneGroupId) -> Option<BlockSetId> {
        Some(self.again.as_ref()?.vacated(row)?.block)
    }

    /// Whether pages of the block being reclaimed in a plane group are not listed for GC yet.
    #[inline]
    pub(crate) fn needs_reclaim_list(&self, row: PlaneGroupId) -> bool {
        self.again.as_ref().is_some_and(|again| again.needs_listing(row))
    }

    /// Word lines of a super layer; `None` if word lines are not reprogrammed.
    pub fn per_super_layer(&self) -> Option<u32> {
        Some(self.again.as_ref()?.per_super_layer())
    }

    /// Requests a new selection of the pages to reprogram in a plane group.
    #[inline]
    pub(super) fn request_selection(&mut self, row: PlaneGroupId) {
        if let Some(again) = &mut self.again {
            again.request_selection(row);
        }
    }

    /// Requests a new selection after a block in MLC mode lost a page.
    #[inline]
    pub(super) fn note_reprogrammable(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if let Some(again) = &mut self.again {
            again.set_lost_page(block, true);
            again.request_selection(row);
        }
    }

    /// Superblocks that may be selected; `None` while enough are being collected.
    pub(crate) fn super_block_candidates(&self) -> Option<Candidates<'_>> {
        self.super_blocks.as_ref()?.candidates()
    }

    /// Whether a superblock may be selected.
    pub(crate) fn is_super_block_candidate(&self, chosen: BlockSetId) -> bool {
        self.super_blocks.as_ref().is_some_and(|all| all.is_candidate(chosen))
    }

    /// Next victim of a plane group because its superblock was selected.
    #[inline]
    pub(crate) fn next_super_block_victim(&self, row: PlaneGroupId) -> Option<BlockSetId> {
        self.super_blocks.as_ref()?.next_victim(row)
    }

    /// Whether a superblock was selected since the last call.
    #[inline]
    pub(super) fn take_super_block_choice(&mut self) -> bool {
        self.super_blocks.as_mut().is_some_and(|all| all.take_choice())
    }

    /// Does not collect a block although its superblock was selected.
    pub(super) fn spare_block(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if let Some(all) = &mut self.super_blocks {
            all.spare_block(row, block);
        }
    }

    /// Records that a block was opened for a stream, in a cell mode.
    pub(super) fn opened(&mut self, row: PlaneGroupId, stream: StreamId, block: BlockSetId, mode: CellMode) {
        if let Some(all) = &mut self.super_blocks {
            all.open(row, stream.0.into(), block);
        }
        if let Some(blocks) = self.modes.of_mut(mode) {
            blocks.opened(row);
        }
    }

    /// Records that a block was closed.
    #[inline]
    pub(super) fn closed(&mut self, row: PlaneGroupId, block: BlockSetId, known: &Block) {
        if let Some(blocks) = self.modes.of_block(known) {
            blocks.closed(row, block);
        }
        if let Some(all) = &mut self.super_blocks {
            all.closed(block);
        }
    }

    /// Records that a block becomes a victim. Called before its state changes.
    #[inline]
    pub(super) fn note_victim(&mut self, row: PlaneGroupId, block: BlockSetId, known: &Block) {
        if let Some(blocks) = self.modes.of_block(known) {
            blocks.note_victim(row);
        }
        if let Some(all) = &mut self.super_blocks {
            all.leave(row, block, known);
        }
    }

    /// Records that a block is pending retirement or out of service. Called before its state changes.
    pub(super) fn pending_retirement(&mut self, row: PlaneGroupId, block: BlockSetId, known: &Block) {
        if let Some(all) = &mut self.super_blocks {
            all.leave(row, block, known);
            all.remove(block);
        }
    }

    /// Returns a block that is erased or out of service to the native mode. Called before its state changes.
    #[inline]
    pub(super) fn reset_mode(&mut self, row: PlaneGroupId, known: &mut Block) {
        let was_victim = known.state == State::Victim;
        if let Some(blocks) = self.modes.of_block(known) {
            blocks.left(row, was_victim);
        }
        known.mode = BlockMode::Native;
    }

    /// Records that a victim was erased or taken out of service. Called before its state changes.
    #[inline]
    pub(super) fn note_collected(&mut self, row: PlaneGroupId, block: BlockSetId, known: &mut Block) {
        self.reset_mode(row, known);
        if let Some(again) = &mut self.again {
            again.forget_block(block);
        }
        if let Some(all) = &mut self.super_blocks {
            all.remove(block);
        }
    }

    /// Records that a plane group is out of service.
    pub(super) fn fail_group(&mut self, row: PlaneGroupId) {
        if let Some(again) = &mut self.again {
            again.forget_row(row);
        }
        if let Some(all) = &mut self.super_blocks {
            all.fail_group(row);
        }
    }

    /// Rebuilds the superblocks after a power cut, from the blocks found.
    fn found(&mut self, table: &Column<BlockSetId, Block>) {
        if let Some(all) = &mut self.super_blocks {
            all.find(table);
        }
    }

    /// Resets everything that a power cut loses.
    fn forget(&mut self) {
        (self.valid, self.on_their_way, self.most) = (0, 0, u64::MAX);
        self.modes.forget();
        if let Some(order) = &mut self.order {
            order.forget();
        }
        if let Some(again) = &mut self.again {
            again.forget();
        }
        if let Some(all) = &mut self.super_blocks {
            all.forget();
        }
    }
}

/// State of each pool, by its number.
pub struct ByPool {
    pub(super) each: Vec<PoolBlocks>,
}

impl Index<usize> for ByPool {
    type Output = PoolBlocks;

    #[inline]
    fn index(&self, pool: usize) -> &PoolBlocks {
        &self.each[pool]
    }
}

impl IndexMut<usize> for ByPool {
    #[inline]
    fn index_mut(&mut self, pool: usize) -> &mut PoolBlocks {
        &mut self.each[pool]
    }
}

impl ByPool {
    /// State of `count` pools.
    pub(super) fn new(count: usize, streams: Streams) -> Self {
        Self { each: (0..count).map(|_| PoolBlocks::new(streams)).collect() }
    }

    /// Valid pages of the device.
    pub fn total_valid(&self) -> u64 {
        self.each.iter().map(|pool| pool.valid).sum()
    }

    /// Counts the pages in flight to a pool: adds pages that are sent there (`begin`), or subtracts pages
    /// that now have a location.
    #[inline]
    pub(super) fn count_in_flight(&mut self, pool: usize, pages: u32, begin: bool) {
        if pool > 0 {
            let count = &mut self.each[pool].on_their_way;
            *count = if begin { *count + u64::from(pages) } else { *count - u64::from(pages) };
        }
    }

    /// Whether blocks of some pool are opened in a mode.
    pub fn uses_mode(&self, mode: CellMode) -> bool {
        self.each.iter().any(|pool| pool.modes.opens(mode))
    }

    /// Blocks of all plane groups in a mode that are not victims.
    pub fn blocks_in(&self, mode: CellMode) -> u32 {
        self.each.iter().map(|pool| pool.modes.all_blocks_in(mode)).sum()
    }

    /// Locations written by programs in non-native modes, for each pool with such blocks.
    pub(crate) fn smaller_units(&self) -> impl Iterator<Item = u32> + '_ {
        self.each.iter().flat_map(|pool| pool.modes.units(pool.again.is_some()))
    }

    /// While `paused`, only native blocks are opened.
    pub(super) fn pause_modes(&mut self, paused: bool) {
        self.each.iter_mut().for_each(|pool| pool.modes.pause(paused));
    }

    /// While `paused`, no block is suspended.
    pub(super) fn pause_suspension(&mut self, paused: bool) {
        let orders = self.each.iter_mut().filter_map(|pool| pool.order.as_mut());
        orders.for_each(|order| order.suspended.pause(paused));
    }

    /// A plane group whose pages to reprogram must be
    /// [selected](super::BlockManager::select_reprogram).
    pub(super) fn take_unselected(&mut self) -> Option<PlaneGroupId> {
        self.each.iter_mut().filter_map(|pool| pool.again.as_mut()).find_map(|again| again.take_unselected())
    }

    /// Superblocks of each pool that forms them.
    fn super_blocks(&self) -> impl Iterator<Item = &SuperBlocks> {
        self.each.iter().filter_map(|pool| pool.super_blocks.as_deref())
    }

    /// Counts of superblock GC; `None` if no pool forms superblocks.
    pub fn super_block_counts(&self) -> Option<SuperBlockCounts> {
        self.super_blocks().map(SuperBlocks::counts).reduce(|one, other| SuperBlockCounts {
            chosen: one.chosen + other.chosen,
            blocks: one.blocks + other.blocks,
        })
    }

    /// Superblocks that were selected and are not completely erased yet.
    pub fn super_blocks_collecting(&self) -> u32 {
        self.super_blocks().map(SuperBlocks::collecting).sum()
    }

    /// Sets whether superblocks wait for all plane groups, however far behind one is. Used while plane groups
    /// are filled one after the other.
    pub(super) fn set_waiting_for_groups(&mut self, waits: bool) {
        self.each.iter_mut().filter_map(|pool| pool.super_blocks.as_mut()).for_each(|all| all.wait(waits));
    }

    /// Checks the superblocks against the block table.
    pub(super) fn check_super_blocks(&self, table: &BlockTable) -> Result<(), String> {
        for (of_pool, pool) in self.each.iter().zip(table.pools.iter()) {
            if let Some(all) = &of_pool.super_blocks {
                all.check(pool, table.streams.count(), table)?;
            }
        }
        Ok(())
    }

    /// Checks the reprogram counts against those of the chips, which `times` returns by location. Panics if
    /// they differ.
    pub(crate) fn audit_reprograms(&self, table: &BlockTable, times: impl Fn(Location) -> u8) {
        for (of_pool, pool) in self.each.iter().zip(table.pools.iter()) {
            of_pool.again.iter().for_each(|again| again.audit(pool, table, &times));
        }
    }

    /// Rebuilds the superblocks after a power cut, from the blocks found.
    pub(super) fn found(&mut self, table: &Column<BlockSetId, Block>) {
        self.each.iter_mut().for_each(|pool| pool.found(table));
    }

    /// Resets everything that a power cut loses.
    pub(super) fn forget(&mut self) {
        self.each.iter_mut().for_each(PoolBlocks::forget);
    }
}
