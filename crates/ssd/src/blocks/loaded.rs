//! Consistency check of a block table in a loaded snapshot.

use wordline_kernel::Id;
use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use super::{Block, BlockManager, State, StreamId, all_groups};

impl BlockManager {
    /// Lengths of the lists that follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 4] {
        [self.table.len(), self.free.len(), self.open.len(), self.closed.rows()]
    }

    /// Valid locations of a block, counted.
    pub(crate) fn count_valid(&self, block: BlockSetId) -> u64 {
        let next = |place: &u32| self.next_valid(block, place + 1);
        std::iter::successors(self.next_valid(block, 0), next).count() as u64
    }

    /// Checks the loaded state. `programmed` returns how many locations of a block are programmed in the
    /// chips.
    pub(crate) fn check_loaded(&self, programmed: impl Fn(BlockSetId) -> u32) -> Result<(), String> {
        self.check_free()?;
        all_groups(&self.pools).try_for_each(|row| self.check_row(row, &programmed))?;
        let of = |block: BlockSetId| {
            let Block { state, valid, .. } = self.table[block];
            (state == State::Closed).then(|| (self.group_of(block), valid))
        };
        self.closed.check(&self.none_closed(), of)?;
        self.check_super_blocks()
    }

    /// Checks the numbers of programs in progress. A block may have more than those that begin at these
    /// `locations`: some of its locations may be allocated while their data are not yet in memory.
    pub(crate) fn check_programs(&self, locations: impl Iterator<Item = Location>) -> Result<(), String> {
        let mut counted = vec![0; self.table.len()];
        locations.for_each(|location| counted[self.pools.block_of(location).index()] += 1);
        for (block, known) in self.table.entries() {
            ensure(known.programs >= counted[block.index()], || {
                format!("block {} has fewer programs in progress than its die", block.0)
            })?;
        }
        Ok(())
    }

    /// Checks that each block on a free-block list is free and listed once. The counts are checked per plane
    /// group.
    fn check_free(&self) -> Result<(), String> {
        let mut is_free: Vec<bool> = self.table.iter().map(|known| known.state == State::Free).collect();
        for (row, free) in self.free.entries() {
            for block in free.blocks() {
                let is_first = is_free.get_mut(block.index()).is_some_and(std::mem::take);
                ensure(is_first && self.group_of(block) == row, || {
                    format!("block {} in the free list of plane group {row} is not free", block.0)
                })?;
            }
        }
        Ok(())
    }

    fn check_row(&self, row: PlaneGroupId, programmed: &impl Fn(BlockSetId) -> u32) -> Result<(), String> {
        let (mut free, mut good, mut valid, mut invalid) = (0, 0, 0, 0);
        for block in self.blocks_of(row) {
            let known = &self.table[block];
            let erased = known.valid == 0 && programmed(block) == 0;
            ensure(known.state != State::Free || erased, || {
                format!("block {} is free and written", block.0)
            })?;
            let has_mode = self.is_native(block) || self.opens_mode(row, self.mode(block));
            ensure(has_mode, || format!("block {} is in a cell mode of no stream", block.0))?;
            // With coarse-grained mapping the valid count is in whole units, so it differs from the valid
            // locations.
            let is_whole = self.is_coarsely_mapped(row) && known.valid <= self.pools.per_block(block);
            let counted = is_whole || u64::from(known.valid) == self.count_valid(block);
            ensure(counted, || format!("block {} does not have {} valid pages", block.0, known.valid))?;
            free += usize::from(known.state == State::Free);
            good += u32::from(known.state != State::Bad && !known.pending_retirement);
            valid += known.valid;
            let is_closed = known.state == State::Closed;
            invalid += if is_closed { self.pools.per_block(block).saturating_sub(known.valid) } else { 0 };
        }
        ensure(invalid == self.closed.invalid(row), || {
            format!("plane group {row} does not count {invalid} invalid pages in closed blocks")
        })?;
        let counts = (free, good, valid) == (self.free(row), self.good(row), self.valid_in(row));
        ensure(counts, || {
            format!("plane group {row} counts {free} free and {good} good blocks and {valid} valid pages")
        })?;
        self.check_suspended(row)?;
        self.check_reprograms(row)?;
        self.streams.all().try_for_each(|stream| self.check_open(row, stream, programmed))
    }

    /// Checks the bitmaps of a stream's open blocks that are programmed in any order. A bit must be set for
    /// each word line written, and perhaps for the next one, if it is selected.
    fn check_word_lines(&self, row: PlaneGroupId, stream: StreamId) -> Result<(), String> {
        let (at, Some(order)) = (self.at(row, stream), &self.of(row).order) else { return Ok(()) };
        ensure(order.is_sound(at), || format!("plane group {row} programs word lines that do not exist"))?;
        let works = order.works(at);
        let of_slot = |slot: usize| if slot == works { self.open[at] } else { order.other(slot) };
        for slot in order.slots(at) {
            let Some((block, place)) = of_slot(slot).filter(|(_, place)| *place > 0) else { continue };
            ensure(block.0 < self.pools.block_sets(), || {
                format!("plane group {row} has block {} open", block.0)
            })?;
            let written = place.div_ceil((self.capacity(block) / order.shape().count()).max(1));
            let marked = order.bits(slot).iter().map(|word| word.count_ones()).sum::<u32>();
            ensure(marked == written || marked == written + 1 && slot == works, || {
                format!("block {} has {marked} word lines marked and {written} written", block.0)
            })?;
        }
        Ok(())
    }

    /// Checks that a stream's open blocks are programmed up to their write pointers, except for programs in
    /// progress.
    fn check_open(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        programmed: &impl Fn(BlockSetId) -> u32,
    ) -> Result<(), String> {
        let open = self.open[self.at(row, stream)];
        let is_written = |block: BlockSetId, place: u32| {
            let Block { programs, pending_retirement, .. } = self.table[block];
            pending_retirement || programmed(block) == place || programs > 0 && programmed(block) < place
        };
        let is_open = |(block, place): (BlockSetId, u32)| {
            self.blocks_of(row).any(|own| own == block)
                && self.state(block) == State::Open
                && place < self.pools.per_block(block)
                && is_written(block, place)
        };
        self.check_word_lines(row, stream)?;
        let beside = self.other_open_blocks(row, stream);
        ensure(open.is_none_or(is_open) && (open.is_some() || beside.count() == 0), || {
            format!("plane group {row} has the invalid open block {open:?} for stream {}", stream.0)
        })?;
        ensure(self.other_open_blocks(row, stream).all(is_open), || {
            format!("plane group {row} has an invalid further open block for stream {}", stream.0)
        })
    }
}
