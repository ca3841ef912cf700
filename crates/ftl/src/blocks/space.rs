//! Space of the plane groups: their free and good blocks and their valid pages, with the blocks that are reserved.

use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, Id};
use wordline_nand::{BlockSetId, PlaneGroupId, Pool, Pools};

use super::block::State;
use super::streams::Streams;
use super::table::BlockTable;
use super::wear::{Allocation, FreeBlocks};

/// Blocks of a plane group, and how many of them are reserved. All plane groups of a pool have the same
/// numbers.
#[derive(Clone, Copy)]
pub(in crate::blocks) struct Reserve {
    /// Blocks of the plane group.
    blocks: u32,
    /// Locations of a block.
    per_block: u32,
    /// Blocks that are not available for data; see [`Streams::active_blocks`].
    pub at_work: u32,
    /// Free blocks that only GC may open; see [`Streams::reserved_blocks`].
    kept: usize,
    /// GC watermarks: GC starts below the first number of free blocks and stops at the second.
    pub marks: [usize; 2],
}

/// Free blocks, good blocks and valid pages of each plane group.
pub struct Space {
    pub(in crate::blocks) free: Column<PlaneGroupId, FreeBlocks>,
    pub(in crate::blocks) valid: Column<PlaneGroupId, u32>,
    pub(in crate::blocks) good: Column<PlaneGroupId, u32>,
    pub(in crate::blocks) reserves: Column<PlaneGroupId, Reserve>,
    /// Whether GC counts as free space the locations that blocks in non-native modes cannot hold.
    pub(in crate::blocks) counts_programs: bool,
}

impl Space {
    /// Free blocks and valid pages of a plane group, as text.
    pub fn describe(&self, row: PlaneGroupId) -> String {
        format!(
            "plane group {row}: {} free of {} good blocks, {} valid of at most {} pages",
            self.free(row),
            self.good(row),
            self.valid_in(row),
            self.limit(row),
        )
    }

    /// Plane groups without free blocks, all of whose blocks are good.
    pub(super) fn new(pools: &Pools, streams: Streams) -> Self {
        let rows = pools.rows() as usize;
        let blocks_of = |row| pools.of_group(row).geometry.blocks_per_plane;
        let reserve = |row| Reserve {
            blocks: blocks_of(row),
            per_block: pools.per_block_of(row),
            at_work: streams.active_blocks(),
            kept: streams.reserved_blocks(),
            marks: [0, 0],
        };
        Self {
            free: Column::from_fn(rows, |row| FreeBlocks::new(Allocation::LeastWorn, blocks_of(row))),
            valid: Column::filled(rows, 0),
            good: Column::from_fn(rows, blocks_of),
            reserves: Column::from_fn(rows, reserve),
            counts_programs: false,
        }
    }

    /// Sets which free block is opened next. Must be called before the first block is opened.
    pub(super) fn set_allocation(&mut self, allocation: Allocation) {
        for (row, Reserve { blocks, .. }) in self.free.iter_mut().zip(self.reserves.iter()) {
            let mut free = FreeBlocks::new(allocation, *blocks);
            while let Some(block) = row.pop(false) {
                free.push(0, block);
            }
            *row = free;
        }
    }

    /// GC watermarks of a plane group, in free blocks: GC starts below the first and stops at the second.
    #[inline]
    pub fn marks(&self, row: PlaneGroupId) -> [usize; 2] {
        self.reserves[row].marks
    }

    /// Length of the free-block list of a plane group.
    #[inline]
    pub fn free(&self, row: PlaneGroupId) -> usize {
        self.free[row].len()
    }

    /// Free blocks of a plane group that only GC may open.
    #[inline]
    pub fn kept(&self, row: PlaneGroupId) -> usize {
        self.reserves[row].kept
    }

    /// Whether GC (if `gc`) or the host may open a block.
    #[inline]
    pub fn can_open(&self, row: PlaneGroupId, gc: bool) -> bool {
        self.free(row) > if gc { 0 } else { self.kept(row) }
    }

    /// Takes the next free block of a plane group, for GC or for the host.
    pub(super) fn take(&mut self, row: PlaneGroupId, for_gc: bool) -> Option<BlockSetId> {
        self.free[row].pop(for_gc)
    }

    /// Adds a block that was erased `erases` times to the free blocks of its plane group.
    pub(super) fn put(&mut self, row: PlaneGroupId, erases: u32, block: BlockSetId) {
        self.free[row].push(erases, block);
    }

    /// Blocks out of service.
    pub fn bad(&self) -> u64 {
        let all = self.reserves.iter().zip(self.good.iter());
        all.map(|(Reserve { blocks, .. }, good)| u64::from(blocks - good)).sum()
    }

    /// Good blocks of a plane group.
    pub fn good(&self, row: PlaneGroupId) -> u32 {
        self.good[row]
    }

    /// Valid pages of a plane group.
    pub fn valid_in(&self, row: PlaneGroupId) -> u32 {
        self.valid[row]
    }

    /// Pages that a plane group can hold, not counting its active blocks.
    #[inline]
    pub fn limit(&self, row: PlaneGroupId) -> u32 {
        let Reserve { at_work, per_block, .. } = self.reserves[row];
        self.good[row].saturating_sub(at_work) * per_block
    }

    /// Pages that the good blocks of a pool can hold, if each plane group has one program unit in progress.
    pub(crate) fn room_of(&self, pool: &Pool) -> u64 {
        let of_group = |row| u64::from(self.limit(row).saturating_sub(pool.locations.per_program));
        pool.geometry.all_groups().map(of_group).sum()
    }

    /// Whether a plane group cannot hold `pages` more valid pages.
    #[inline]
    pub fn is_full(&self, row: PlaneGroupId, pages: u32) -> bool {
        self.valid[row] + pages > self.limit(row)
    }

    /// Spare blocks of a plane group, without active blocks and `others` that are reserved. Space that the
    /// host has not written counts as spare.
    pub(super) fn spare(&self, row: PlaneGroupId, others: u32) -> u32 {
        let Reserve { at_work, per_block, .. } = self.reserves[row];
        let full = self.valid_in(row).div_ceil(per_block);
        self.good(row).saturating_sub(full + others + at_work)
    }

    /// Checks that each block on a free-block list is free and listed once. The counts are checked per plane
    /// group.
    pub(super) fn check_free(&self, table: &BlockTable) -> Result<(), String> {
        let mut is_free: Vec<bool> = table.blocks.iter().map(|known| known.state == State::Free).collect();
        for (row, free) in self.free.entries() {
            for block in free.blocks() {
                let is_first = is_free.get_mut(block.index()).is_some_and(std::mem::take);
                ensure(is_first && table.group_of(block) == row, || {
                    format!("block {} in the free list of plane group {row} is not free", block.0)
                })?;
            }
        }
        Ok(())
    }

    /// Takes a plane group out of service. Returns how many of its blocks were good.
    pub(super) fn fail_group(&mut self, row: PlaneGroupId) -> u32 {
        self.free[row].clear();
        std::mem::take(&mut self.good[row])
    }

    /// Resets everything that a power cut loses: which blocks are free, and the valid pages.
    pub(super) fn forget(&mut self) {
        self.valid.fill(0);
        self.free.iter_mut().for_each(FreeBlocks::clear);
    }
}
