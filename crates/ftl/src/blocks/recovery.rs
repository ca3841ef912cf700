//! The block table after a power cut, when it is rebuilt from flash, and the checks of a loaded snapshot.

use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use super::{Block, BlockManager, PoolBlocks, State, StreamId};

impl BlockManager {
    /// Resets the table after a power cut to the state that flash reports. This state is the bad blocks and,
    /// for each block, the number of `programmed` locations and the stream that wrote it. Blocks written in
    /// part become active again. Full blocks wait for [`close_full`](Self::close_full), until their valid
    /// pages are known.
    pub fn forget(&mut self, programmed: impl Fn(BlockSetId) -> u32, erases: impl Fn(BlockSetId) -> u32) {
        self.closed = self.none_closed();
        self.table.is_valid.clear();
        self.by_pool.forget();
        self.space.forget();
        self.open.blocks.fill(None);
        let in_use = |block: &BlockSetId| self.table.state(*block) != State::Bad;
        let mut to_choose_from = Vec::new();
        for block in self.table.blocks.ids().filter(in_use).collect::<Vec<_>>() {
            self.table.blocks[block] =
                Block { valid: 0, programs: 0, readers: 0, ..self.table.blocks[block] };
            let (row, written) = (self.table.group_of(block), programmed(block));
            let at = self.open.at(row, self.table.blocks[block].written_by);
            self.table.blocks[block].state = State::Free;
            if written == 0 {
                let (pool, _, known) = self.parts_of(block);
                pool.reset_mode(row, known);
            }
            self.table.blocks[block].state = if written == 0 && self.table.is_pending_retirement(block) {
                State::Bad
            } else if written == 0 {
                self.space.put(row, erases(block), block);
                State::Free
            } else if written == self.table.capacity(block) || self.table.is_pending_retirement(block) {
                State::Closing
            } else if self.pool_of(row).order.as_ref().is_some_and(|order| order.can_suspend(at)) {
                to_choose_from.push((written, block));
                State::Closing
            } else {
                self.reopened(at, row, block, written)
            };
        }
        // Each stream reopens as many blocks as it may have open, beginning with the least written ones, because
        // GC counts on the space in them. The other blocks are suspended or full.
        to_choose_from.sort_unstable();
        for (written, block) in to_choose_from {
            let row = self.table.group_of(block);
            let at = self.open.at(row, self.table.blocks[block].written_by);
            self.table.blocks[block].state = self.reopened(at, row, block, written);
        }
        self.by_pool.found(&self.table.blocks);
    }

    /// Closes the full blocks in the order of opening, once their valid pages are known. Blocks pending
    /// retirement stay in that state.
    pub fn close_full(&mut self) {
        let mut full: Vec<BlockSetId> =
            self.table.blocks.ids().filter(|block| self.table.state(*block) == State::Closing).collect();
        full.sort_unstable_by_key(|block| self.table.openings.of(*block));
        for block in full {
            self.close_if_programmed(block);
        }
    }

    /// State of a block written in part after a power cut. It is open if its stream has no active block or a
    /// free slot. Otherwise it is suspended if its stream may suspend another block, and full if not.
    fn reopened(&mut self, at: usize, row: PlaneGroupId, block: BlockSetId, written: u32) -> State {
        let Self { by_pool, table, open, .. } = self;
        if open[at].is_none() {
            open[at] = Some((block, written));
            return State::Open;
        }
        let pool = &mut by_pool[table.pools.number_of_group(row)];
        let Some(order) = pool.order.as_mut() else { return State::Closing };
        let has_several = !pool.modes.may_change(table.blocks[block].written_by);
        if let Some(slot) = order.empty_slot(at).filter(|_| has_several) {
            order.add_other(slot, (block, written));
            return State::Open;
        }
        if order.suspend_found(at, block, written, table) { State::Suspended } else { State::Closing }
    }

    /// Clears all active blocks. Called after [`forget`](Self::forget), for block-level mapping.
    pub fn clear_active_blocks(&mut self) {
        for (block, _) in self.open.blocks.iter_mut().filter_map(Option::take) {
            self.table.blocks[block].state = State::Closing;
        }
    }

    /// Rebuilds the bitmaps of open and suspended blocks from flash after a power cut.
    pub(crate) fn rebuild_word_lines(&mut self, is_programmed: impl Fn(Location) -> bool) {
        let Self { by_pool, table, open, .. } = self;
        for order in by_pool.each.iter_mut().filter_map(|pool| pool.order.as_mut()) {
            order.rebuild(open, table, &is_programmed);
        }
    }

    /// Rebuilds the reprogram counts of word lines from flash after a power cut. `times` returns `None` for
    /// an unprogrammed location, and `u8::MAX` for an unreadable one.
    pub(crate) fn rebuild_reprogram_counts(&mut self, times: impl Fn(Location) -> Option<u8>) {
        let Self { by_pool, table, .. } = self;
        for (of_pool, pool) in by_pool.each.iter_mut().zip(table.pools.iter()) {
            if let (Some(order), Some(again)) = (&of_pool.order, &mut of_pool.again) {
                again.rebuild((pool, order.shape().count()), table, &times);
            }
        }
    }

    /// Lengths of the lists that follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 4] {
        [self.table.blocks.len(), self.space.free.len(), self.open.blocks.len(), self.closed.rows()]
    }

    /// Checks the loaded state. `programmed` returns how many locations of a block are programmed in the
    /// chips.
    pub(crate) fn check_loaded(&self, programmed: impl Fn(BlockSetId) -> u32) -> Result<(), String> {
        self.space.check_free(&self.table)?;
        self.pools().all_groups().try_for_each(|row| self.check_row(row, &programmed))?;
        let of = |block: BlockSetId| {
            let Block { state, valid, .. } = self.table.blocks[block];
            (state == State::Closed).then(|| (self.table.group_of(block), valid))
        };
        self.closed.check(&self.none_closed(), of)?;
        self.by_pool.check_super_blocks(&self.table)
    }

    fn check_row(&self, row: PlaneGroupId, programmed: &impl Fn(BlockSetId) -> u32) -> Result<(), String> {
        let (mut free, mut good, mut valid, mut invalid) = (0, 0, 0, 0);
        for block in self.table.blocks_of(row) {
            let known = &self.table.blocks[block];
            let erased = known.valid == 0 && programmed(block) == 0;
            ensure(known.state != State::Free || erased, || {
                format!("block {} is free and written", block.0)
            })?;
            let has_mode = self.table.is_native(block) || self.modes(row).opens(self.table.mode(block));
            ensure(has_mode, || format!("block {} is in a cell mode of no stream", block.0))?;
            // With coarse-grained mapping the valid count is in whole units, so it differs from the valid
            // locations.
            let is_whole =
                self.pool_of(row).is_coarsely_mapped() && known.valid <= self.table.pools.per_block(block);
            let counted = is_whole || u64::from(known.valid) == self.table.count_valid(block);
            ensure(counted, || format!("block {} does not have {} valid pages", block.0, known.valid))?;
            free += usize::from(known.state == State::Free);
            good += u32::from(known.state != State::Bad && !known.pending_retirement);
            valid += known.valid;
            let is_closed = known.state == State::Closed;
            invalid +=
                if is_closed { self.table.pools.per_block(block).saturating_sub(known.valid) } else { 0 };
        }
        ensure(invalid == self.closed.invalid(row), || {
            format!("plane group {row} does not count {invalid} invalid pages in closed blocks")
        })?;
        let counts =
            (free, good, valid) == (self.space.free(row), self.space.good(row), self.space.valid_in(row));
        ensure(counts, || {
            format!("plane group {row} counts {free} free and {good} good blocks and {valid} valid pages")
        })?;
        self.check_suspended(row)?;
        if let Some(again) = &self.pool_of(row).again {
            again.check(row, self.open.at(row, StreamId(0)), &self.table)?;
        }
        self.streams().all().try_for_each(|stream| self.check_open(row, stream, programmed))
    }

    /// Checks that a stream's open blocks are programmed up to their write pointers, except for programs in
    /// progress.
    fn check_open(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        programmed: &impl Fn(BlockSetId) -> u32,
    ) -> Result<(), String> {
        let (at, pool) = (self.open.at(row, stream), self.pool_of(row));
        let open = self.open[at];
        let is_written = |block: BlockSetId, place: u32| {
            let Block { programs, pending_retirement, .. } = self.table.blocks[block];
            pending_retirement || programmed(block) == place || programs > 0 && programmed(block) < place
        };
        let is_open = |(block, place): (BlockSetId, u32)| {
            self.table.blocks_of(row).any(|own| own == block)
                && self.table.state(block) == State::Open
                && place < self.table.pools.per_block(block)
                && is_written(block, place)
        };
        if let Some(order) = &pool.order {
            order.check_word_lines(row, at, open, &self.table)?;
        }
        let beside = pool.other_open_blocks(at);
        ensure(open.is_none_or(is_open) && (open.is_some() || beside.count() == 0), || {
            format!("plane group {row} has the invalid open block {open:?} for stream {}", stream.0)
        })?;
        ensure(pool.other_open_blocks(at).all(is_open), || {
            format!("plane group {row} has an invalid further open block for stream {}", stream.0)
        })
    }

    /// Checks the suspended blocks of a plane group.
    pub(super) fn check_suspended(&self, row: PlaneGroupId) -> Result<(), String> {
        let PoolBlocks { order, again, .. } = self.pool_of(row);
        order.as_ref().map_or(Ok(()), |order| order.check_suspended(row, again.as_deref(), &self.table))
    }

    /// Checks the superblocks and the suspended blocks; panics if they are inconsistent.
    pub(crate) fn audit(&self) {
        let suspended = || self.pools().all_groups().try_for_each(|row| self.check_suspended(row));
        self.by_pool
            .check_super_blocks(&self.table)
            .and_then(|()| suspended())
            .unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}
