//! Static wear levelling: blocks with cold data are collected.

use std::ops::Range;

use wordline_flash::Flash;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, Stream, state};
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::view::{Source, View};
use crate::blocks::BlockManager;
use crate::gc::job::Job;
use crate::policy::wear::{PlaneGroupBlock, PlaneGroupBlocks, WearLeveller};

/// Collects the blocks that the wear leveller selects.
pub(super) struct Wear {
    leveller: Box<dyn WearLeveller>,
    random: Stream,
    /// Blocks of each plane group, by number in the group, that are not examined yet.
    still: Column<PlaneGroupId, Range<u32>>,
}

state!(Wear { values { random, still } parts { leveller } });

impl Wear {
    pub(super) fn new(leveller: Box<dyn WearLeveller>, random: Stream, rows: u32) -> Self {
        Self { leveller, random, still: Column::filled(rows as usize, 0..0) }
    }

    /// Records that a block was erased.
    pub(super) fn erased(&mut self, block: BlockSetId, blocks: &BlockManager) {
        let row = blocks.table().group_of(block);
        self.leveller.erased(row, blocks.pools().of_group(row).geometry.number_of(block));
    }

    /// Clears a plane group that is out of service. Also used after a power cut.
    pub(super) fn forget(&mut self, row: PlaneGroupId) {
        self.still[row] = 0..0;
    }

    /// Checks the loaded state: the blocks must exist in their plane groups.
    pub(super) fn check_loaded(&self, blocks: &BlockManager) -> Result<(), String> {
        let rows = blocks.pools().rows() as usize;
        ensure(self.still.len() == rows, || format!("wear is levelled in {} rows", self.still.len()))?;
        for (row, still) in self.still.entries() {
            let blocks = blocks.pools().of_group(row).geometry.blocks_per_plane;
            ensure(still.end <= blocks, || {
                format!("wear is levelled in blocks {still:?} of plane group {row}")
            })?;
        }
        self.leveller.check_loaded()
    }

    /// Next block with cold data, by number in its plane group.
    fn next_cold(&mut self, row: PlaneGroupId, (flash, blocks): (&Flash, &BlockManager)) -> Option<u32> {
        loop {
            let next = self.still[row].next();
            if next.is_some() {
                return next;
            }
            let geometry = &blocks.pools().of_group(row).geometry;
            let first = geometry.first_block(row);
            let counts = [
                geometry.blocks_per_plane,
                blocks.space().free(row) as u32,
                blocks.pools().per_block_of(row),
            ];
            let each = |number| shown(BlockSetId(first.0 + number), flash, blocks);
            let blocks = PlaneGroupBlocks::new((row, first), counts, &each);
            self.still[row] = self.leveller.next(&blocks, &mut self.random)?;
        }
    }

    /// Next block with cold data that is `wanted`.
    pub(super) fn next_cold_wanted(
        &mut self,
        row: PlaneGroupId,
        (flash, blocks): (&Flash, &BlockManager),
        wanted: impl Fn(BlockSetId) -> bool,
    ) -> Option<BlockSetId> {
        let first = blocks.pools().of_group(row).geometry.first_block(row).0;
        loop {
            let block = BlockSetId(first + self.next_cold(row, (flash, blocks))?);
            if wanted(block) {
                return Some(block);
            }
        }
    }
}

/// A block as the wear leveller sees it.
fn shown(block: BlockSetId, flash: &Flash, blocks: &BlockManager) -> PlaneGroupBlock {
    PlaneGroupBlock {
        may_move: blocks.table().can_be_collected(block),
        valid: blocks.table().valid(block),
        erases: flash.chips().erases()[block],
        age: blocks.table().openings() - blocks.table().opening_number(block),
    }
}

impl Source for Wear {
    /// Next cold block that is closed or suspended, if there is space for its pages and the plane group has
    /// enough free blocks.
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        if view.blocks.space().free(row) < view.goal() {
            return None;
        }
        let fits = |block| view.blocks.table().can_be_collected(block) && view.has_room_for(row, block);
        self.next_cold_wanted(row, (view.flash, &*view.blocks), fits).map(Job::empty)
    }
}
