//! The suspended blocks in the block table: which of them can be victims, and whether all are known once.

use wordline_nand::{BlockSetId, RowId};

use super::suspended::Rests;
use super::{Space, State, all_rows};
use crate::ensure::ensure;

impl Space {
    /// The suspended blocks of a row that can be victims: those of which no program is under way.
    pub(super) fn resting_in(&self, row: RowId) -> impl Iterator<Item = BlockSetId> + '_ {
        let order = self.of(row).order.as_ref();
        let lists = order.into_iter().flat_map(move |order| {
            self.streams.all().map(move |stream| order.suspended.of(self.at(row, stream)))
        });
        lists.flatten().map(|rests| rests.block).filter(|block| self.rests(*block))
    }

    /// The victim of a row, of which its policy chose one of the closed blocks: a suspended block if to clean it gains more of what is
    /// written, or if nothing else is left. The pages of a suspended block that are not written are not lost: it may be opened again.
    pub(crate) fn or_suspended(&self, row: RowId, closed: Option<BlockSetId>) -> Option<BlockSetId> {
        let Some(order) = &self.of(row).order else { return closed };
        let per_block = self.pools.per_block_of(row);
        let lists = self.streams.all().flat_map(|stream| order.suspended.of(self.at(row, stream)));
        let gains = lists.filter(|rests| self.is_candidate(rests.block, row)).map(|rests| {
            let written = rests.place / rests.unit * (per_block / order.shape().count());
            (written - self.valid(rests.block), rests.block)
        });
        let Some((gain, suspended)) = gains.max_by_key(|(gain, _)| *gain) else { return closed };
        let of_closed = closed.map(|block| per_block - self.valid(block));
        if of_closed.is_some_and(|of_closed| of_closed >= gain) { closed } else { Some(suspended) }
    }

    /// Whether a block is suspended and no program of it is under way: it can be a victim.
    fn rests(&self, block: BlockSetId) -> bool {
        self.table[block].state == State::Suspended && self.table[block].programs == 0
    }

    /// Whether a block can be emptied without a policy's having chosen it: it is closed, or suspended and not being programmed.
    pub(crate) fn can_be_emptied(&self, block: BlockSetId) -> bool {
        self.state(block) == State::Closed || self.rests(block)
    }

    /// Checks the suspended blocks; a bug if they are wrong.
    pub(crate) fn audit_suspended(&self) {
        for row in all_rows(&self.pools) {
            self.check_suspended(row).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }

    /// Checks that each suspended block of a row is known once, for the stream that wrote it, as one that is written in part.
    pub(super) fn check_suspended(&self, row: RowId) -> Result<(), String> {
        let Some(order) = &self.of(row).order else { return Ok(()) };
        let mut known = 0;
        for stream in self.streams.all() {
            let at = self.at(row, stream);
            let (blocks, limit) = (order.suspended.of(at), order.suspended.limit(at));
            let is_own = |Rests { block, place, unit }: &Rests| {
                block.0 < self.pools.block_sets()
                    && self.row_of(*block) == row
                    && self.table[*block].written_by == stream
                    && self.state(*block) == State::Suspended
                    && (1..=self.capacity(*block) - u32::from(!self.may_change(*block)) * unit)
                        .contains(place)
                    && self.capacity(*block) == unit * order.shape().count()
            };
            ensure(blocks.len() <= limit && blocks.iter().all(is_own), || {
                format!("row {row} suspends {blocks:?} of stream {}, {limit} at the most", stream.0)
            })?;
            ensure(order.suspended.knows_word_lines(at), || {
                format!("row {row} suspends {blocks:?}, of which other word lines are written")
            })?;
            known += blocks.len();
        }
        let found = self.blocks_of(row).filter(|block| self.state(*block) == State::Suspended).count();
        ensure(found == known, || format!("row {row} has {found} suspended blocks and knows {known}"))
    }
}

#[cfg(test)]
mod tests;
