//! Whether a block table that was read can be one of the device.

use wordline_nand::{BlockSetId, RowId};

use super::{Space, State, all_rows};
use crate::snapshot::ensure;

impl Space {
    /// The lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 4] {
        [self.table.len(), self.free.len(), self.open.len(), self.closed.rows()]
    }

    /// Valid locations of a block, counted.
    pub(crate) fn count_valid(&self, block: BlockSetId) -> u64 {
        let next = |place: &u32| self.next_valid(block, place + 1);
        std::iter::successors(self.next_valid(block, 0), next).count() as u64
    }

    /// Checks what was loaded; `programmed` says how many locations of a block the chips have programmed.
    pub(crate) fn check_loaded(&self, programmed: impl Fn(BlockSetId) -> u32) -> Result<(), String> {
        all_rows(&self.pools).try_for_each(|row| self.check_row(row, &programmed))
    }

    fn check_row(&self, row: RowId, programmed: &impl Fn(BlockSetId) -> u32) -> Result<(), String> {
        let (mut free, mut good, mut valid, mut invalid) = (0, 0, 0, 0);
        for block in self.blocks_of(row) {
            let known = &self.table[block];
            let erased = known.valid == 0 && programmed(block) == 0;
            ensure(known.state != State::Free || erased, || {
                format!("block {} is free and written", block.0)
            })?;
            // The count of a block that is mapped by whole units is not that of its contents.
            let counted = self.has_whole_units(row) || u64::from(known.valid) == self.count_valid(block);
            ensure(counted, || format!("block {} does not have {} valid pages", block.0, known.valid))?;
            free += usize::from(known.state == State::Free);
            good += u32::from(known.state != State::Bad && !known.condemned);
            valid += known.valid;
            let is_closed = known.state == State::Closed;
            invalid += if is_closed { self.pools.per_block(block).saturating_sub(known.valid) } else { 0 };
        }
        ensure(invalid == self.closed.invalid(row), || {
            format!("row {row} does not have {invalid} pages to be cleaned")
        })?;
        let counts = (free, good, valid) == (self.free(row), self.good(row), self.valid_in(row));
        ensure(counts, || {
            format!("row {row} counts {free} free and {good} good blocks and {valid} valid pages")
        })?;
        self.check_suspended(row)?;
        self.check_again(row)?;
        self.streams.all().try_for_each(|stream| {
            let open = self.open[self.at(row, stream)];
            let is_open = |(block, place): (BlockSetId, u32)| {
                self.blocks_of(row).any(|own| own == block)
                    && self.state(block) == State::Open
                    && place < self.pools.per_block(block)
            };
            let beside = self.open_beside(row, stream);
            ensure(open.is_none_or(is_open) && (open.is_some() || beside.count() == 0), || {
                format!("row {row} has {open:?} open for stream {}", stream.0)
            })?;
            ensure(self.open_beside(row, stream).all(is_open), || {
                format!("row {row} has other blocks open for stream {} than its own", stream.0)
            })
        })
    }
}
