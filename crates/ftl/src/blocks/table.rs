//! State of each block: what it holds, and what is in progress in it. The table counts nothing beyond a single
//! block.

use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, Id};
use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId, Pool, Pools};

use super::block::{Block, State};
use super::open_sequence::OpenSequence;
use super::streams::{StreamId, Streams};
use super::valid::ValidLocations;
use crate::policy::event::OpenedBy;

/// Blocks of a device with their valid locations.
pub struct BlockTable {
    pub(in crate::blocks) pools: Pools,
    pub(in crate::blocks) streams: Streams,
    pub(in crate::blocks) blocks: Column<BlockSetId, Block>,
    pub(in crate::blocks) openings: OpenSequence,
    pub(in crate::blocks) is_valid: ValidLocations,
}

/// Locations of a block of a pool that can be written in this mode.
pub(super) fn capacity_in(mode: CellMode, Pool { geometry, locations, .. }: &Pool) -> u32 {
    match mode {
        CellMode::Native => locations.per_block(),
        mode => {
            let bits = geometry.bits_per_cell();
            locations.per_block() / bits * mode.bits(bits)
        }
    }
}

impl BlockTable {
    /// All multi-plane blocks in service.
    pub(crate) fn in_service(&self) -> Vec<BlockSetId> {
        self.blocks.ids().filter(|block| self.state(*block) != State::Bad).collect()
    }

    /// A table of erased blocks.
    pub(super) fn new(pools: &Pools, streams: Streams) -> Self {
        let blocks = pools.block_sets() as usize;
        Self {
            blocks: Column::filled(blocks, Block::FREE),
            openings: OpenSequence::new(blocks),
            is_valid: ValidLocations::none_of(pools.locations() as usize),
            pools: pools.clone(),
            streams,
        }
    }

    /// Plane group of `block`.
    #[inline]
    pub fn group_of(&self, block: BlockSetId) -> PlaneGroupId {
        self.pools.group_of_block(block)
    }

    /// Blocks of a plane group.
    pub(super) fn blocks_of(&self, row: PlaneGroupId) -> impl Iterator<Item = BlockSetId> + use<> {
        self.pools.of_group(row).geometry.blocks_of(row)
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: BlockSetId) -> u32 {
        self.blocks[block].valid
    }

    /// The state of a block.
    pub fn state(&self, block: BlockSetId) -> State {
        self.blocks[block].state
    }

    /// Cell mode of a block.
    #[inline]
    pub fn mode(&self, block: BlockSetId) -> CellMode {
        self.blocks[block].mode.into()
    }

    /// Whether a block is in the native mode, with full capacity.
    #[inline]
    pub fn is_native(&self, block: BlockSetId) -> bool {
        self.mode(block) == CellMode::Native
    }

    /// Capacity of a block in locations, in its mode.
    #[inline]
    pub(crate) fn capacity(&self, block: BlockSetId) -> u32 {
        capacity_in(self.mode(block), self.pools.of_block(block))
    }

    /// Stream for which a block was opened last.
    pub fn opened_by(&self, block: BlockSetId) -> OpenedBy {
        let StreamId(stream) = self.blocks[block].written_by;
        stream.checked_sub(self.streams.host).map_or(OpenedBy::Host(stream), OpenedBy::Gc)
    }

    /// Number of block openings so far.
    pub fn openings(&self) -> u64 {
        self.openings.count()
    }

    /// Sequence number of a block's last opening in the device.
    pub fn opening_number(&self, block: BlockSetId) -> u64 {
        self.openings.of(block)
    }

    /// Records that a free block was opened for a stream.
    pub(super) fn open(&mut self, block: BlockSetId, stream: StreamId) {
        let Block { state, written_by, .. } = &mut self.blocks[block];
        (*state, *written_by) = (State::Open, stream);
        self.openings.note(block);
    }

    /// Whether a block is pending retirement.
    #[inline]
    pub fn is_pending_retirement(&self, block: BlockSetId) -> bool {
        self.blocks[block].pending_retirement
    }

    /// Whether a victim can be erased, because it has no valid pages and no queued reads.
    pub fn can_erase(&self, block: BlockSetId) -> bool {
        let Block { valid, readers, .. } = self.blocks[block];
        valid == 0 && readers == 0
    }

    /// Whether a block is suspended without a program in progress.
    pub(super) fn is_idle_suspended(&self, block: BlockSetId) -> bool {
        self.blocks[block].state == State::Suspended && self.blocks[block].programs == 0
    }

    /// Whether GC may collect a block that its policy did not select: a closed block, or a suspended one
    /// without a program in progress.
    pub(crate) fn can_be_collected(&self, block: BlockSetId) -> bool {
        self.state(block) == State::Closed || self.is_idle_suspended(block)
    }

    /// Whether GC may relocate single pages of a block that it does not collect. Victims and blocks pending
    /// retirement are collected anyway.
    pub fn may_relocate_from(&self, block: BlockSetId) -> bool {
        matches!(self.state(block), State::Open | State::Closing | State::Closed | State::Suspended)
    }

    /// Whether a block can be the next victim of a plane group.
    #[inline]
    pub(crate) fn is_candidate(&self, block: BlockSetId, row: PlaneGroupId) -> bool {
        block.0 < self.pools.block_sets()
            && self.can_be_collected(block)
            && self.group_of(block) == row
            && self.valid(block) < self.pools.per_block(block)
    }

    /// Closed block of a plane group with the fewest valid pages; the lowest number among equals. Scans all
    /// blocks.
    pub fn fewest_valid_block(&self, row: PlaneGroupId) -> Option<BlockSetId> {
        self.fewest_valid_of(row, |_| true)
    }

    /// Closed block of a plane group with the fewest valid pages, among those that are `wanted`. Scans all
    /// blocks of the plane group.
    pub fn fewest_valid_of(
        &self,
        row: PlaneGroupId,
        wanted: impl Fn(&BlockSetId) -> bool,
    ) -> Option<BlockSetId> {
        let closed = self.blocks_of(row).filter(|block| self.state(*block) == State::Closed);
        closed.filter(wanted).min_by_key(|block| self.valid(*block))
    }

    /// Whether any block of a plane group is in service.
    pub fn is_in_use(&self, row: PlaneGroupId) -> bool {
        self.blocks_of(row).any(|block| self.state(block) != State::Bad)
    }

    /// Reads queued or in progress in a block.
    pub fn readers(&self, block: BlockSetId) -> u32 {
        self.blocks[block].readers
    }

    /// Whether some logical page is mapped to the location.
    #[inline]
    pub fn is_valid(&self, location: Location) -> bool {
        self.is_valid.has(location)
    }

    /// Pages of a unit, if no other location of the unit is valid; otherwise 0.
    #[inline(never)]
    pub(super) fn pages_alone(&self, location: Location, unit: u32) -> u32 {
        let first = location.0 - self.pools.of_location(location).locations.split(location).1 % unit;
        let alone = (first..first + unit).all(|other| other == location.0 || !self.is_valid(Location(other)));
        if alone { unit } else { 0 }
    }

    /// First valid location of a block at or after offset `place`, as an offset in the block.
    pub fn next_valid(&self, block: BlockSetId, place: u32) -> Option<u32> {
        let first = self.pools.at(block, 0).index();
        let end = first + self.pools.per_block(block) as usize;
        let found = self.is_valid.first_in(first + place as usize..end)?;
        Some((found - first) as u32)
    }

    /// Valid locations of a block, counted.
    pub(crate) fn count_valid(&self, block: BlockSetId) -> u64 {
        let next = |place: &u32| self.next_valid(block, place + 1);
        std::iter::successors(self.next_valid(block, 0), next).count() as u64
    }

    /// Prefetches the block of `location`, which will soon be read; see [`wordline_kernel::prefetch`].
    #[inline]
    pub fn prefetch_block(&self, location: Location) {
        self.blocks.prefetch(self.pools.block_of(location));
    }

    /// Checks the numbers of programs in progress. A block may have more than those that begin at these
    /// `locations`: some of its locations may be allocated while their data are not yet in memory.
    pub(crate) fn check_programs(&self, locations: impl Iterator<Item = Location>) -> Result<(), String> {
        let mut counted = vec![0; self.blocks.len()];
        locations.for_each(|location| counted[self.pools.block_of(location).index()] += 1);
        for (block, known) in self.blocks.entries() {
            ensure(known.programs >= counted[block.index()], || {
                format!("block {} has fewer programs in progress than its die", block.0)
            })?;
        }
        Ok(())
    }
}
