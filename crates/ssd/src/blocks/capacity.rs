//! Capacity of a plane group: its good blocks, valid pages and free pages.

use wordline_nand::PlaneGroupId;

use super::{BlockManager, State, all_groups};

impl BlockManager {
    /// Blocks out of service.
    pub fn bad(&self) -> u64 {
        let bad = |row: PlaneGroupId| self.pools.of_group(row).geometry.blocks_per_plane - self.good(row);
        all_groups(&self.pools).map(|row| u64::from(bad(row))).sum()
    }

    /// Pages that a plane group can hold, not counting its active blocks.
    #[inline]
    pub fn limit(&self, row: PlaneGroupId) -> u32 {
        self.good[row].saturating_sub(self.of(row).at_work) * self.pools.per_block_of(row)
    }

    /// Good blocks of a plane group.
    pub fn good(&self, row: PlaneGroupId) -> u32 {
        self.good[row]
    }

    /// Whether any block of a plane group is in service.
    pub fn is_in_use(&self, row: PlaneGroupId) -> bool {
        self.blocks_of(row).any(|block| self.state(block) != State::Bad)
    }

    /// Valid pages of a plane group.
    pub fn valid_in(&self, row: PlaneGroupId) -> u32 {
        self.row_valid[row]
    }

    /// Pages of a plane group that were written and are invalid, which GC can gain.
    pub fn gain(&self, row: PlaneGroupId) -> u32 {
        let per_block = self.pools.per_block_of(row);
        let unwritten: u32 = self.streams.all().map(|stream| self.unwritten(row, stream)).sum();
        let used = self.good(row).saturating_sub(self.free(row) as u32);
        (used * per_block).saturating_sub(unwritten + self.valid_in(row))
    }

    /// Pages that can be programmed before the next erase: the pages of free blocks, and the unwritten pages
    /// of open blocks in their cell modes.
    pub fn free_pages(&self) -> u64 {
        all_groups(&self.pools).map(|row| u64::from(self.room_of(row))).sum()
    }

    /// Pages of a plane group that can be programmed before the next erase.
    pub fn room_of(&self, row: PlaneGroupId) -> u32 {
        let open = self.streams.all().flat_map(|stream| {
            self.open[self.at(row, stream)].into_iter().chain(self.other_open_blocks(row, stream))
        });
        let unwritten: u32 = open.map(|(block, place)| self.capacity(block) - place).sum();
        self.free(row) as u32 * self.pools.per_block_of(row) + unwritten
    }

    /// Free pages of a plane group as GC counts them.
    pub fn room_to_collector(&self, row: PlaneGroupId) -> u64 {
        let room = u64::from(self.room_of(row));
        let counts_programs = self.of(row).counts_programs && self.free(row) > self.kept(row) + 1;
        if counts_programs { room + self.lacked(row) } else { room }
    }

    /// Free blocks of a plane group as GC counts them. GC compares this number with its watermarks.
    #[inline]
    pub fn free_to_collector(&self, row: PlaneGroupId) -> usize {
        if self.of(row).counts_programs {
            return (self.room_to_collector(row) / u64::from(self.pools.per_block_of(row))) as usize;
        }
        self.free(row)
    }

    /// Invalid pages of the closed blocks of a plane group: the gain if all of them were collected.
    #[inline]
    pub fn invalid_in_closed(&self, row: PlaneGroupId) -> u32 {
        self.closed.invalid(row)
    }

    /// Whether a plane group cannot hold `pages` more valid pages.
    #[inline]
    pub fn is_full(&self, row: PlaneGroupId, pages: u32) -> bool {
        self.row_valid[row] + pages > self.limit(row)
    }
}
