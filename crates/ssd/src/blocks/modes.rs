//! Blocks in non-native cell modes. Such a block holds fewer pages in each word line, in the word line's
//! first locations. For GC such a block counts as a block whose remaining locations are invalid. A victim
//! policy thus sees how many pages a collection gains, and collecting such a block always gains space.

use std::collections::VecDeque;

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, CellMode, Geometry, PlaneGroupId, Pool};

use super::pool_blocks::PoolBlocks;
use super::{Block, BlockManager, State, StreamId};

/// Bitmap of streams whose blocks are opened in a mode, while the plane group has blocks left for it. Bit n
/// is for stream n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeStreams {
    /// Host streams.
    pub host: u32,
    /// GC streams.
    pub gc: u16,
}

impl ModeStreams {
    /// Whether the set is empty.
    pub fn are_none(self) -> bool {
        self == Self::default()
    }

    /// Whether a stream is in the set.
    #[inline]
    fn has(self, stream: StreamId, of_host: u8) -> bool {
        match stream.0.checked_sub(of_host) {
            Some(gc) => u32::from(self.gc) >> gc & 1 != 0,
            None => self.host >> stream.0 & 1 != 0,
        }
    }
}

/// Streams and blocks of a pool that may use a cell mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeShare {
    /// Cell mode, not the native one.
    pub mode: CellMode,
    /// Streams whose blocks are opened in the mode.
    pub streams: ModeStreams,
    /// Locations written by a program in the mode.
    pub unit: u32,
    /// Locations of the plane group that such a program consumes. It is more than `unit`, because blocks in
    /// the mode hold fewer pages than native ones.
    pub cost: u32,
    /// Blocks of a plane group reserved for the mode.
    pub blocks: u32,
    /// Fraction of the other spare blocks that may also be in the mode; `None` for no limit on host streams.
    pub spare: Option<f64>,
    /// Free blocks above which blocks beyond the reserved ones may be opened in the mode. Does not apply to
    /// host streams without a limit.
    pub spare_above: usize,
}

impl ModeShare {
    /// Locations written by a program that replaces a page of a word line.
    pub fn reprogram_unit(&self) -> u32 {
        self.unit / 2
    }
}

/// Blocks of a pool in a cell mode.
#[derive(Clone, Debug)]
pub(super) struct ModeBlocks {
    share: ModeShare,
    /// First plane group of the pool.
    begins: PlaneGroupId,
    /// Blocks of each plane group in the mode.
    used: Vec<u32>,
    /// Blocks in the mode that are victims.
    collecting: Vec<u32>,
    /// Closed blocks in the mode, oldest first. Blocks that were collected since are skipped.
    closed: Vec<VecDeque<BlockSetId>>,
    /// Number of blocks of each plane group ever opened in the mode.
    opened: Vec<u64>,
    /// While set, no block is opened in the mode.
    paused: bool,
}

state!(ModeBlocks { values { used, collecting, closed, opened, paused } fixed { share, begins } });

impl ModeBlocks {
    /// Index of a plane group in the pool.
    #[inline]
    fn at(&self, row: PlaneGroupId) -> usize {
        (row.0 - self.begins.0) as usize
    }

    /// No blocks of a pool in the mode.
    pub fn new(share: ModeShare, geometry: &Geometry) -> Self {
        let rows = geometry.rows() as usize;
        Self {
            share,
            begins: geometry.first_group(),
            used: vec![0; rows],
            collecting: vec![0; rows],
            closed: vec![VecDeque::new(); rows],
            opened: vec![0; rows],
            paused: false,
        }
    }

    /// Cell mode of the blocks.
    #[inline]
    pub fn mode(&self) -> CellMode {
        self.share.mode
    }

    /// While `paused`, no block is opened in the mode.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Records that a block was opened in the mode.
    pub fn opened(&mut self, row: PlaneGroupId) {
        let at = self.at(row);
        self.used[at] += 1;
        self.opened[at] += 1;
    }

    /// Number of blocks of a plane group ever opened in the mode.
    pub fn ever_opened(&self, row: PlaneGroupId) -> u64 {
        self.opened[self.at(row)]
    }

    /// Records that a block in the mode was closed, so that it can be collected.
    pub fn closed(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let at = self.at(row);
        self.closed[at].push_back(block);
    }

    /// Records that a block in the mode is a victim.
    pub fn note_victim(&mut self, row: PlaneGroupId) {
        let at = self.at(row);
        self.collecting[at] += 1;
    }

    /// Records that a block left the mode; `was_victim` if it was a victim.
    pub fn left(&mut self, row: PlaneGroupId, was_victim: bool) {
        let at = self.at(row);
        self.used[at] -= 1;
        self.collecting[at] -= u32::from(was_victim);
    }

    /// Oldest closed block of a plane group in the mode; `None` unless more than `keep` blocks in the mode
    /// are not victims.
    #[inline(never)]
    pub fn oldest(
        &mut self,
        row: PlaneGroupId,
        keep: u32,
        table: &Column<BlockSetId, Block>,
    ) -> Option<BlockSetId> {
        let at = self.at(row);
        if self.kept(row) <= keep {
            return None;
        }
        while let Some(block) = self.closed[at].front().copied() {
            if table[block].state == State::Closed && table[block].mode == self.share.mode.into() {
                return Some(block);
            }
            self.closed[at].pop_front();
        }
        None
    }

    /// Blocks of a plane group in the mode that are not victims.
    fn kept(&self, row: PlaneGroupId) -> u32 {
        self.used[self.at(row)] - self.collecting[self.at(row)]
    }

    /// Clears the closed blocks and the victims.
    pub fn forget(&mut self) {
        self.closed.iter_mut().for_each(VecDeque::clear);
        self.collecting.fill(0);
    }
}

/// Locations of a block of a pool that can be written in this mode.
fn capacity_in(mode: CellMode, Pool { geometry, locations, .. }: &Pool) -> u32 {
    match mode {
        CellMode::Native => locations.per_block(),
        mode => {
            let bits = geometry.bits_per_cell();
            locations.per_block() / bits * mode.bits(bits)
        }
    }
}

impl BlockManager {
    /// Blocks of a plane group's pool in each non-native mode.
    #[inline]
    fn modes(&self, row: PlaneGroupId) -> &[ModeBlocks] {
        &self.of(row).modes
    }

    /// Blocks of a plane group's pool in a mode; `None` if no blocks are opened in it.
    #[inline]
    fn in_mode(&self, row: PlaneGroupId, mode: CellMode) -> Option<&ModeBlocks> {
        self.modes(row).iter().find(|blocks| blocks.mode() == mode)
    }

    /// Whether blocks of some pool are opened in a mode.
    pub fn uses_mode(&self, mode: CellMode) -> bool {
        self.each.iter().flat_map(|pool| &pool.modes).any(|blocks| blocks.mode() == mode)
    }

    /// Locations written by programs in non-native modes, for each pool with such blocks.
    pub fn smaller_units(&self) -> impl Iterator<Item = u32> + '_ {
        let units = |pool: &'_ PoolBlocks| {
            let again = pool.again.is_some();
            let unit = move |share: &ModeShare| {
                if again && share.mode == CellMode::Mlc { share.reprogram_unit() } else { share.unit }
            };
            pool.modes.iter().map(|blocks| unit(&blocks.share)).collect::<Vec<_>>()
        };
        self.each.iter().flat_map(units)
    }

    /// Whether blocks of a plane group are opened in a mode.
    #[inline]
    pub fn opens_mode(&self, row: PlaneGroupId, mode: CellMode) -> bool {
        self.in_mode(row, mode).is_some()
    }

    /// Whether blocks of a plane group are opened in non-native modes.
    #[inline]
    pub fn has_modes(&self, row: PlaneGroupId) -> bool {
        !self.modes(row).is_empty()
    }

    /// Most locations of a plane group that a host program consumes. A program in a non-native mode consumes
    /// more than it writes.
    #[inline]
    pub fn max_cost(&self, row: PlaneGroupId) -> u32 {
        let usual = self.pools.per_program(row);
        self.modes(row).iter().fold(usual, |most, blocks| most.max(blocks.share.cost))
    }

    /// Cell mode of a block.
    #[inline]
    pub fn mode(&self, block: BlockSetId) -> CellMode {
        self.table[block].mode.into()
    }

    /// Whether a block is in the native mode, with full capacity.
    #[inline]
    pub fn is_native(&self, block: BlockSetId) -> bool {
        self.mode(block) == CellMode::Native
    }

    /// Capacity of a block in locations, in its mode.
    #[inline]
    pub(super) fn capacity(&self, block: BlockSetId) -> u32 {
        capacity_in(self.mode(block), self.pools.of_block(block))
    }

    /// Locations that blocks in non-native modes could not hold, summed over all such blocks ever opened in a
    /// plane group.
    pub(super) fn lacked(&self, row: PlaneGroupId) -> u64 {
        let (per_block, pool) = (self.pools.per_block_of(row), self.pools.of_group(row));
        let lacks = |blocks: &ModeBlocks| {
            blocks.ever_opened(row) * u64::from(per_block - capacity_in(blocks.mode(), pool))
        };
        self.modes(row).iter().map(lacks).sum()
    }

    /// Locations that the next program of a stream writes.
    #[inline]
    pub fn unit(&self, row: PlaneGroupId, stream: StreamId) -> u32 {
        match self.next_mode_blocks(row, stream) {
            Some(blocks) if self.selected_reprogram(row, stream).is_some() => blocks.share.reprogram_unit(),
            Some(blocks) => blocks.share.unit,
            None => self.pools.per_program(row),
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
            None => self.pools.per_program(row),
        }
    }

    /// Cell mode of the next program of a stream.
    #[inline]
    pub fn next_mode(&self, row: PlaneGroupId, stream: StreamId) -> CellMode {
        let Some(blocks) = self.next_mode_blocks(row, stream) else { return CellMode::Native };
        self.selected_reprogram(row, stream).map_or(blocks.mode(), |place| self.reprogram_mode(place))
    }

    /// Blocks in the mode of the stream's next program; `None` for the native mode.
    #[inline]
    fn next_mode_blocks(&self, row: PlaneGroupId, stream: StreamId) -> Option<&ModeBlocks> {
        if self.modes(row).is_empty() {
            return None;
        }
        let mode = match (self.selected_reprogram(row, stream), self.open[self.at(row, stream)]) {
            (Some(place), _) => self.mode(place.block),
            (None, Some((block, _))) => self.mode(block),
            (None, None) => self.mode_to_open(row, stream),
        };
        self.in_mode(row, mode)
    }

    /// Whether the stream's blocks change mode: non-native while the plane group has blocks left for the
    /// mode, native otherwise.
    #[inline]
    pub fn may_change_mode(&self, row: PlaneGroupId, stream: StreamId) -> bool {
        self.modes(row).iter().any(|blocks| blocks.share.streams.has(stream, self.streams.host))
    }

    /// Whether a block that the stream opens now takes programs of the same size as `block`.
    pub(super) fn opens_same_size(&self, row: PlaneGroupId, stream: StreamId, block: BlockSetId) -> bool {
        !self.may_change_mode(row, stream) || self.mode_to_open(row, stream) == self.mode(block)
    }

    /// Cell mode of a block that the stream opens now. Blocks reserved for GC are native, because each must
    /// be able to hold all valid pages of a victim.
    pub(super) fn mode_to_open(&self, row: PlaneGroupId, stream: StreamId) -> CellMode {
        let has = |blocks: &&ModeBlocks| blocks.share.streams.has(stream, self.streams.host);
        let Some(blocks) = self.modes(row).iter().find(has).filter(|blocks| !blocks.paused) else {
            return CellMode::Native;
        };
        if !self.can_open(row, false) {
            return CellMode::Native;
        }
        let (used, share) = (blocks.used[blocks.at(row)], &blocks.share);
        let is_plenty = self.free(row) > share.spare_above;
        let lasts = used < share.blocks
            || match share.spare {
                None => is_plenty || !self.streams.is_gc(stream),
                Some(spare) => {
                    let most = (f64::from(self.other_spare(row, share)) * spare) as u32;
                    is_plenty && used - share.blocks < most
                }
            };
        if lasts { share.mode } else { CellMode::Native }
    }

    /// Spare blocks of a plane group, without active blocks and blocks reserved for the mode. Space that the
    /// host has not written counts as spare.
    fn other_spare(&self, row: PlaneGroupId, share: &ModeShare) -> u32 {
        let full = self.valid_in(row).div_ceil(self.pools.per_block_of(row));
        self.good(row).saturating_sub(full + share.blocks + self.of(row).at_work)
    }

    /// Blocks of a plane group in a mode that are not victims.
    pub fn blocks_in(&self, row: PlaneGroupId, mode: CellMode) -> u32 {
        self.in_mode(row, mode).map_or(0, |blocks| blocks.kept(row))
    }

    /// Blocks of all plane groups in a mode that are not victims.
    pub fn all_blocks_in(&self, mode: CellMode) -> u32 {
        self.pools.all_groups().map(|row| self.blocks_in(row, mode)).sum()
    }
}
