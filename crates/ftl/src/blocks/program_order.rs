//! The next program of a stream: whether there is room for it, its size and cell mode, and its word line if the
//! order is not numerical. Also the choice among several open blocks of a stream: which one is programmed next, and which one is suspended.

use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId};

use super::modes::ModeBlocks;
use super::order::Order;
use super::streams::OpenPlace;
use super::word_line_selector::NextWordLine;
use super::{BlockManager, ModeShare, State, StreamId, Streams};
use crate::policy::event::DeviceEvent;
use crate::policy::frontier::{OpenBlock, WordLines};

impl BlockManager {
    /// Block of the program at `first` in a plane group, and the mode in which it was opened, for the chips; `None` if
    /// all blocks of the plane group are in the native mode.
    #[inline]
    pub fn mode_of_program(&self, row: PlaneGroupId, first: Location) -> Option<(BlockSetId, CellMode)> {
        if self.modes(row).are_none() {
            return None;
        }
        let block = self.table.pools.block_of(first);
        Some((block, self.table.mode(block)))
    }

    /// Sets the program order of a pool: the word lines of its blocks, the open blocks of a stream, and the
    /// most blocks that each stream may suspend. Must be called before the first block is written.
    pub fn order(&mut self, pool: usize, shape: WordLines, open_blocks: u8, suspended: Vec<u16>) {
        let geometry = &self.table.pools.get(pool).geometry;
        let first = geometry.first_group();
        let begins = self.open.at(first, StreamId(0));
        let all = suspended.iter().map(|limit| u32::from(*limit)).sum();
        let at_work = Streams { open_blocks, suspended: all, ..self.streams() }.active_blocks();
        geometry.all_groups().for_each(|row| self.space.reserves[row].at_work = at_work);
        let (rows, slots) = (geometry.rows() as usize, usize::from(open_blocks));
        self.by_pool[pool].order = Some(Box::new(Order::new(shape, (first, begins), rows, slots, suspended)));
    }

    /// Whether the word lines of a block are programmed in numerical order.
    pub(crate) fn is_in_order(&self, block: BlockSetId) -> bool {
        self.pool_of(self.table.group_of(block)).order.is_none()
    }

    /// Lets streams open blocks of a pool in a cell mode. Must be called before the first block is written.
    pub fn open_in_mode(&mut self, pool: usize, share: ModeShare) {
        self.by_pool[pool].modes.add(share, &self.table.pools.get(pool).geometry);
    }

    /// While `paused`, only native blocks are opened.
    pub fn pause_modes(&mut self, paused: bool) {
        self.by_pool.pause_modes(paused);
    }

    /// While `paused`, no block is suspended.
    pub fn pause_suspension(&mut self, paused: bool) {
        self.by_pool.pause_suspension(paused);
    }

    /// Oldest closed block of a plane group in a mode; `None` unless more than `keep` blocks in the mode are
    /// not victims.
    #[inline]
    pub fn oldest_in_mode(&mut self, row: PlaneGroupId, mode: CellMode, keep: u32) -> Option<BlockSetId> {
        let pool = self.table.pools.number_of_group(row);
        self.by_pool[pool].modes.of_mut(mode)?.oldest(row, keep, &self.table.blocks)
    }

    /// Write pointer of the stream's active block, in locations; `None` if the stream has no active block.
    pub fn write_pointer(&self, row: PlaneGroupId, stream: StreamId) -> Option<u32> {
        self.open.of(row, stream).map(|(_, place)| place)
    }

    /// Whether a stream can write a program unit of `pages` to a plane group.
    #[inline]
    pub fn has_room(&self, row: PlaneGroupId, stream: StreamId, pages: u32) -> bool {
        let gc = self.streams().is_gc(stream);
        (gc || !self.space.is_full(row, pages))
            && (self.space.can_open(row, gc)
                || self.open.shared(row, stream, &self.table).is_some()
                || self.selected_reprogram(row, stream).is_some())
    }

    /// Whether a host stream can write to a plane group that is not full. It writes to a block of its own, or
    /// to a block of another stream if it `may_share`.
    #[inline]
    pub fn takes(&self, row: PlaneGroupId, stream: StreamId, may_share: bool) -> bool {
        self.space.can_open(row, false)
            || self.open.of(row, stream).is_some()
            || self.selected_reprogram(row, stream).is_some()
            || (may_share && self.can_share(row, stream))
    }

    /// Whether the stream or another one of the same side (host or GC) has an active block.
    #[inline(never)]
    fn can_share(&self, row: PlaneGroupId, stream: StreamId) -> bool {
        self.open.shared(row, stream, &self.table).is_some()
    }

    /// Open blocks of a stream and their written locations.
    fn open_blocks(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
    ) -> impl Iterator<Item = (BlockSetId, u32)> + '_ {
        let others = self.pool_of(row).other_open_blocks(self.open.at(row, stream));
        self.open.of(row, stream).into_iter().chain(others)
    }

    /// Unwritten locations in the open blocks of a stream, those that the cell mode excludes among them.
    fn unwritten(&self, row: PlaneGroupId, stream: StreamId) -> u32 {
        let per_block = self.pools().per_block_of(row);
        self.open_blocks(row, stream).map(|(_, place)| per_block - place).sum()
    }

    /// Pages that GC can write in a plane group before the next erase.
    pub fn gc_room(&self, row: PlaneGroupId) -> usize {
        let (streams, per_block) = (self.streams(), self.pools().per_block_of(row));
        let takes_all = |stream: &StreamId| {
            self.open.of(row, *stream).is_none_or(|(block, _)| self.table.is_native(block))
        };
        let of_collector = (0..streams.gc).map(|n| streams.gc(n)).filter(takes_all);
        let in_open: u32 = of_collector.map(|stream| self.unwritten(row, stream)).sum();
        self.space.free(row) * per_block as usize + in_open as usize
    }

    /// Pages of a plane group that were written and are invalid, which GC can gain.
    pub fn gain(&self, row: PlaneGroupId) -> u32 {
        let unwritten: u32 = self.streams().all().map(|stream| self.unwritten(row, stream)).sum();
        let used = self.space.good(row).saturating_sub(self.space.free(row) as u32);
        (used * self.pools().per_block_of(row)).saturating_sub(unwritten + self.space.valid_in(row))
    }

    /// Pages that can be programmed before the next erase: the pages of free blocks, and the unwritten pages
    /// of open blocks in their cell modes.
    pub fn free_pages(&self) -> u64 {
        self.pools().all_groups().map(|row| u64::from(self.room_of(row))).sum()
    }

    /// Pages of a plane group that can be programmed before the next erase.
    pub fn room_of(&self, row: PlaneGroupId) -> u32 {
        let open = self.streams().all().flat_map(|stream| self.open_blocks(row, stream));
        let unwritten: u32 = open.map(|(block, place)| self.table.capacity(block) - place).sum();
        self.space.free(row) as u32 * self.pools().per_block_of(row) + unwritten
    }

    /// Free pages of a plane group as GC counts them.
    pub fn room_to_collector(&self, row: PlaneGroupId) -> u64 {
        let room = u64::from(self.room_of(row));
        let counts_programs = self.space.counts_programs && self.space.free(row) > self.space.kept(row) + 1;
        let lacked = || self.modes(row).lacked(row, self.pools().of_group(row));
        if counts_programs { room + lacked() } else { room }
    }

    /// Free blocks of a plane group as GC counts them. GC compares this number with its watermarks.
    #[inline]
    pub fn free_to_collector(&self, row: PlaneGroupId) -> usize {
        if self.space.counts_programs {
            return (self.room_to_collector(row) / u64::from(self.pools().per_block_of(row))) as usize;
        }
        self.space.free(row)
    }

    /// Invalid pages of the closed blocks of a plane group: the gain if all of them were collected.
    #[inline]
    pub fn invalid_in_closed(&self, row: PlaneGroupId) -> u32 {
        self.closed.invalid(row)
    }

    /// Locations that the next program of a stream writes.
    #[inline]
    pub fn unit(&self, row: PlaneGroupId, stream: StreamId) -> u32 {
        match self.next_mode_blocks(row, stream) {
            Some(blocks) if self.selected_reprogram(row, stream).is_some() => blocks.share.reprogram_unit(),
            Some(blocks) => blocks.share.unit,
            None => self.pools().per_program(row),
        }
    }

    /// Locations of the plane group that the next program of a stream consumes. A program in a non-native
    /// mode consumes more than it writes, because its block holds fewer pages than a native one.
    #[inline]
    pub fn cost(&self, row: PlaneGroupId, stream: StreamId) -> u32 {
        match self.next_mode_blocks(row, stream) {
            // A reprogram consumes no free page.
            Some(_) if self.selected_reprogram(row, stream).is_some() => 0,
            Some(blocks) => blocks.share.cost,
            None => self.pools().per_program(row),
        }
    }

    /// Cell mode of the next program of a stream.
    #[inline]
    pub fn next_mode(&self, row: PlaneGroupId, stream: StreamId) -> CellMode {
        let Some(blocks) = self.next_mode_blocks(row, stream) else { return CellMode::Native };
        match (self.selected_reprogram(row, stream), &self.pool_of(row).again) {
            (Some(place), Some(again)) => again.mode_of(place),
            _ => blocks.mode(),
        }
    }

    /// Blocks in the mode of the stream's next program; `None` for the native mode.
    #[inline]
    fn next_mode_blocks(&self, row: PlaneGroupId, stream: StreamId) -> Option<&ModeBlocks> {
        let modes = self.modes(row);
        if modes.are_none() {
            return None;
        }
        let mode = match (self.selected_reprogram(row, stream), self.open.of(row, stream)) {
            (Some(place), _) => self.table.mode(place.block),
            (None, Some((block, _))) => self.table.mode(block),
            (None, None) => modes.mode_to_open(row, stream, &self.space),
        };
        modes.of(mode)
    }

    /// Selects the open block and the word line for the next program of the stream at index `at`.
    #[inline(never)]
    pub(super) fn select_word_line(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) {
        let (Some(order), Some((block, place))) = (&self.pool_of(row).order, self.open[at]) else { return };
        if !place.is_multiple_of(order.unit(block, &self.table)) {
            // The program stays in its current word line.
            return;
        }
        let has_several_slots = order.has_several_slots();
        self.clear_word_lines(at, row);
        self.suspend_one(at, row, stream, next);
        self.reclaim_one(at, row, stream, next);
        if has_several_slots {
            self.open_more(at, row, stream, next);
        }
        let named = self.with_open(at, row, |open, slots| {
            let (which, word_line) = next.next(open, self);
            (slots[which], word_line)
        });
        let before = self.open[at];
        self.open[at] = self.pool_of_mut(row).order_mut().program(at, named, before);
    }

    /// Clears the bitmap of a block that was just opened.
    fn clear_word_lines(&mut self, at: usize, row: PlaneGroupId) {
        if self.open[at].is_some_and(|(_, place)| place == 0) {
            let order = self.pool_of_mut(row).order_mut();
            order.clear_word_lines(order.works(at));
        }
    }

    /// Passes the open blocks of a stream and their slots to `show`, in the order of opening.
    fn with_open<T>(
        &self,
        at: usize,
        row: PlaneGroupId,
        show: impl FnOnce(&[OpenBlock<'_>], &[usize]) -> T,
    ) -> T {
        let order = self.pool_of(row).order.as_ref().expect("the pool has an order");
        order.with_open(at, self.open[at], &self.table, show)
    }

    /// Suspends an open block of a stream if the design selects one. Opens another block if the suspended
    /// block was the only open one. Suspends nothing while the only free blocks are reserved for GC, because
    /// GC may count on the space in the block.
    fn suspend_one(&mut self, at: usize, row: PlaneGroupId, stream: StreamId, next: NextWordLine<'_>) {
        let order = self.pool_of(row).order.as_ref().expect("the pool has an order");
        let Some((at_work, place)) = self.open[at] else { return };
        let may_one = order.suspended.has_room(at)
            && (order.has_several_slots() || place > 0)
            && self.space.can_open(row, false)
            && self.modes(row).opens_same_size(row, stream, self.table.mode(at_work), &self.space);
        if !may_one {
            return;
        }
        let Some(suspended) = self.pool_of(row).suspended_of(row, stream, None) else { return };
        let named = self.with_open(at, row, |open, _| next.select_to_suspend(open, &suspended, self));
        let Some(block) = named else { return };
        self.suspend_open(at, row, block);
        if self.open[at].is_none() && !self.resume_active(at, row, stream, next) {
            self.open[at] = Some((self.open_next(row, stream), 0));
            self.clear_word_lines(at, row);
        }
    }

    /// Starts to reclaim a suspended block of a stream with reprogrammable word lines, if the design selects
    /// one. A plane group reclaims one block at a time. None of the block's pages is selected for a reprogram
    /// while its last super layer has valid pages.
    fn reclaim_one(&mut self, at: usize, row: PlaneGroupId, stream: StreamId, next: NextWordLine<'_>) {
        let again = self.pool_of(row).again.as_ref().filter(|again| again.most(stream.0) > 0);
        if again.is_none_or(|again| again.vacated(row).is_some()) {
            return;
        }
        if self.pool_of(row).order.as_ref().is_none_or(|order| order.suspended.of(at).is_empty()) {
            return;
        }
        let Some(suspended) = self.pool_of(row).suspended_of(row, stream, None) else { return };
        let named = self.with_open(at, row, |open, _| next.select_to_reclaim(open, &suspended, self));
        if let Some(block) = named {
            self.deselect_reprogram(row, block);
            let again = self.pool_of_mut(row).again.as_mut();
            again.expect("a stream has reprogrammable word lines").start_reclaim(row, block);
        }
    }

    /// Suspends a full block of a stream if the design decides so. Returns whether it did.
    pub(super) fn suspend_full(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        full: BlockSetId,
        next: NextWordLine<'_>,
    ) -> bool {
        let (pool, table) = (self.pool_of(row), &self.table);
        let Some(order) = pool.order.as_ref().filter(|order| order.suspended.has_room(at)) else {
            return false;
        };
        let has_lines_left = pool.again.as_ref().is_some_and(|again| again.has_lines_left(full, table));
        if !self.space.can_open(row, false) || !has_lines_left {
            return false;
        }
        let Some(suspended) = self.pool_of(row).suspended_of(row, stream, None) else { return false };
        let open = order.full_block(full, table.streams.is_gc(stream));
        if next.select_to_suspend(std::slice::from_ref(&open), &suspended, self).is_none() {
            return false;
        }
        let Self { by_pool, table, .. } = self;
        let pool = &mut by_pool[table.pools.number_of_group(row)];
        if let Some(again) = &mut pool.again {
            again.leave(at, full);
        }
        pool.order.as_mut().expect("it was just there").suspend_full(at, full, table);
        self.suspended(full);
        true
    }

    /// Suspends an open block of the stream at index `at`.
    fn suspend_open(&mut self, at: usize, row: PlaneGroupId, block: BlockSetId) {
        let Self { by_pool, table, open, .. } = self;
        let order = by_pool[table.pools.number_of_group(row)].order.as_mut().expect("the pool has an order");
        if order.suspend(at, block, open[at], table) {
            self.clear_active(at, row);
        }
        self.suspended(block);
    }

    /// Records that a block was suspended.
    fn suspended(&mut self, block: BlockSetId) {
        self.table.blocks[block].state = State::Suspended;
        self.events.note(|| DeviceEvent::Suspended { block });
    }

    /// Resumes a suspended block as the stream's active block, if the design selects one. Returns whether it
    /// did.
    #[inline(never)]
    pub(super) fn resume_active(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) -> bool {
        let Some(order) = &self.pool_of(row).order else { return false };
        let works = order.works(at);
        self.open[at] = self.resume_into(works, at, row, stream, next);
        self.open[at].is_some()
    }

    /// Resumes a suspended block of a stream into a slot, if the design selects one.
    fn resume_into(
        &mut self,
        slot: usize,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) -> Option<OpenPlace> {
        if self.pool_of(row).order.as_ref()?.suspended.of(at).is_empty() {
            return None;
        }
        // The next program has the unit of the blocks that the stream opens now.
        let suspended = self.pool_of(row).suspended_of(row, stream, Some(self.unit(row, stream)))?;
        if suspended.count() == 0 {
            return None;
        }
        let block = next.select_to_resume(&suspended, self)?;
        let place = self.pool_of_mut(row).order_mut().resume(at, slot, block);
        self.table.blocks[block].state = State::Open;
        self.events.note(|| DeviceEvent::Resumed { block });
        Some((block, place))
    }

    /// Opens further blocks for a stream that may have several, while the plane group has more free blocks
    /// than are reserved for GC. A stream whose blocks change mode has one open block at a time.
    fn open_more(&mut self, at: usize, row: PlaneGroupId, stream: StreamId, next: NextWordLine<'_>) {
        while !self.pool_of(row).modes.may_change(stream)
            && self.space.can_open(row, false)
            && let Some(slot) = self.pool_of_mut(row).order_mut().empty_slot(at)
        {
            let resumed = self.resume_into(slot, at, row, stream, next);
            let opened = resumed.unwrap_or_else(|| (self.open_next(row, stream), 0));
            let order = self.pool_of_mut(row).order_mut();
            if resumed.is_none() {
                order.clear_word_lines(slot);
            }
            order.add_other(slot, opened);
        }
    }

    /// Clears the active block of a stream. The oldest of its other open blocks becomes active.
    #[inline]
    pub(super) fn clear_active(&mut self, at: usize, row: PlaneGroupId) {
        let Self { by_pool, table, open, .. } = self;
        let order = by_pool[table.pools.number_of_group(row)].order.as_mut();
        open[at] = order.and_then(|order| order.activate_oldest(at, table));
    }
}
