//! Suspended blocks in the block table: which of them can become victims, and checks of their lists.

use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::suspended::SuspendedBlock;
use super::{BlockManager, State, all_groups};

impl BlockManager {
    /// Suspended blocks of a plane group that can become victims, because no program is in progress in them.
    pub(super) fn suspended_candidates(&self, row: PlaneGroupId) -> impl Iterator<Item = BlockSetId> + '_ {
        let order = self.of(row).order.as_ref();
        let lists = order.into_iter().flat_map(move |order| {
            self.streams.all().map(move |stream| order.suspended.of(self.at(row, stream)))
        });
        lists.flatten().map(|rests| rests.block).filter(|block| self.is_idle_suspended(*block))
    }

    /// Victim of a plane group, given the `closed` block that its policy selected. A suspended block is
    /// preferred if its collection gains more written pages, or if there is no closed block. Unwritten pages
    /// of a suspended block are no gain, because the block may be resumed.
    pub(crate) fn better_of_suspended(
        &self,
        row: PlaneGroupId,
        closed: Option<BlockSetId>,
    ) -> Option<BlockSetId> {
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

    /// Whether a block is suspended without a program in progress.
    fn is_idle_suspended(&self, block: BlockSetId) -> bool {
        self.table[block].state == State::Suspended && self.table[block].programs == 0
    }

    /// Whether GC may collect a block that its policy did not select: a closed block, or a suspended one
    /// without a program in progress.
    pub(crate) fn can_be_collected(&self, block: BlockSetId) -> bool {
        self.state(block) == State::Closed || self.is_idle_suspended(block)
    }

    /// Checks the suspended blocks; panics if they are inconsistent.
    pub(crate) fn audit_suspended(&self) {
        for row in all_groups(&self.pools) {
            self.check_suspended(row).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }

    /// Checks the suspended blocks of a plane group: each is listed once, for the stream that wrote it, and
    /// is written in part.
    pub(super) fn check_suspended(&self, row: PlaneGroupId) -> Result<(), String> {
        let Some(order) = &self.of(row).order else { return Ok(()) };
        let mut known = 0;
        for stream in self.streams.all() {
            let at = self.at(row, stream);
            let (blocks, limit) = (order.suspended.of(at), order.suspended.limit(at));
            let is_own = |SuspendedBlock { block, place, unit }: &SuspendedBlock| {
                block.0 < self.pools.block_sets()
                    && self.group_of(*block) == row
                    && self.table[*block].written_by == stream
                    && self.state(*block) == State::Suspended
                    && (1..=self.capacity(*block) - u32::from(!self.is_reprogrammable(*block)) * unit)
                        .contains(place)
                    && self.capacity(*block) == unit * order.shape().count()
            };
            ensure(blocks.len() <= limit && blocks.iter().all(is_own), || {
                format!("plane group {row} suspends {blocks:?} of stream {}, {limit} at the most", stream.0)
            })?;
            ensure(order.suspended.has_word_line_bitmaps(at), || {
                format!("plane group {row} suspends {blocks:?} with wrong word-line bitmaps")
            })?;
            known += blocks.len();
        }
        let found = self.blocks_of(row).filter(|block| self.state(*block) == State::Suspended).count();
        ensure(found == known, || format!("plane group {row} has {found} suspended blocks and knows {known}"))
    }
}

#[cfg(test)]
mod tests;
