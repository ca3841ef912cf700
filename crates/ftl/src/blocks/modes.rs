//! Blocks in non-native cell modes. Such a block holds fewer pages in each word line, in the word line's
//! first locations. For GC such a block counts as a block whose remaining locations are invalid. A victim
//! policy thus sees how many pages a collection gains, and collecting such a block always gains space.

use std::collections::VecDeque;

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, CellMode, Geometry, PlaneGroupId, Pool};

use super::block::{Block, State};
use super::space::Space;
use super::streams::{StreamId, Streams};
use super::table::capacity_in;

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
    pub share: ModeShare,
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

/// Blocks of a pool in each cell mode other than the native one.
pub struct Modes {
    pub(super) streams: Streams,
    pub(super) all: Vec<ModeBlocks>,
}

impl Modes {
    /// No blocks in any other mode than the native one.
    pub(super) fn none(streams: Streams) -> Self {
        Self { streams, all: Vec::new() }
    }

    /// Lets streams open blocks in a cell mode.
    pub(super) fn add(&mut self, share: ModeShare, geometry: &Geometry) {
        self.all.push(ModeBlocks::new(share, geometry));
    }

    /// While `paused`, no block is opened in a mode.
    pub(super) fn pause(&mut self, paused: bool) {
        self.all.iter_mut().for_each(|blocks| blocks.paused = paused);
    }

    /// Whether no blocks are opened in non-native modes.
    #[inline]
    pub fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// Blocks in a mode; `None` if no blocks are opened in it.
    #[inline]
    pub(super) fn of(&self, mode: CellMode) -> Option<&ModeBlocks> {
        self.all.iter().find(|blocks| blocks.mode() == mode)
    }

    /// Mutable blocks in a mode.
    #[inline]
    pub(super) fn of_mut(&mut self, mode: CellMode) -> Option<&mut ModeBlocks> {
        self.all.iter_mut().find(|blocks| blocks.mode() == mode)
    }

    /// Blocks in the mode of this block; `None` for a native block.
    #[inline]
    pub(super) fn of_block(&mut self, known: &Block) -> Option<&mut ModeBlocks> {
        if self.all.is_empty() {
            return None;
        }
        self.of_mut(known.mode.into())
    }

    /// Whether blocks are opened in a mode.
    #[inline]
    pub fn opens(&self, mode: CellMode) -> bool {
        self.of(mode).is_some()
    }

    /// Locations written by programs in each mode. `again` tells whether word lines are reprogrammed.
    pub(super) fn units(&self, again: bool) -> impl Iterator<Item = u32> + '_ {
        self.all.iter().map(move |ModeBlocks { share, .. }| {
            if again && share.mode == CellMode::Mlc { share.reprogram_unit() } else { share.unit }
        })
    }

    /// Most locations of a plane group that a host program consumes, if one in the native mode consumes
    /// `usual`. A program in a non-native mode consumes more than it writes.
    #[inline]
    pub fn max_cost(&self, usual: u32) -> u32 {
        self.all.iter().fold(usual, |most, blocks| most.max(blocks.share.cost))
    }

    /// Whether the stream's blocks change mode: non-native while the plane group has blocks left for the
    /// mode, native otherwise.
    #[inline]
    pub fn may_change(&self, stream: StreamId) -> bool {
        self.all.iter().any(|blocks| blocks.share.streams.has(stream, self.streams.host))
    }

    /// Cell mode of a block that the stream opens now. Blocks reserved for GC are native, because each must
    /// be able to hold all valid pages of a victim.
    pub(super) fn mode_to_open(&self, row: PlaneGroupId, stream: StreamId, space: &Space) -> CellMode {
        let has = |blocks: &&ModeBlocks| blocks.share.streams.has(stream, self.streams.host);
        let Some(blocks) = self.all.iter().find(has).filter(|blocks| !blocks.paused) else {
            return CellMode::Native;
        };
        if !space.can_open(row, false) {
            return CellMode::Native;
        }
        let (used, share) = (blocks.used[blocks.at(row)], &blocks.share);
        let is_plenty = space.free(row) > share.spare_above;
        let lasts = used < share.blocks
            || match share.spare {
                None => is_plenty || !self.streams.is_gc(stream),
                Some(spare) => {
                    let most = (f64::from(space.spare(row, share.blocks)) * spare) as u32;
                    is_plenty && used - share.blocks < most
                }
            };
        if lasts { share.mode } else { CellMode::Native }
    }

    /// Whether a block that the stream opens now takes programs of the same size as one in this mode.
    pub(super) fn opens_same_size(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        mode: CellMode,
        space: &Space,
    ) -> bool {
        !self.may_change(stream) || self.mode_to_open(row, stream, space) == mode
    }

    /// Blocks of a plane group in a mode that are not victims.
    pub fn blocks_in(&self, row: PlaneGroupId, mode: CellMode) -> u32 {
        self.of(mode).map_or(0, |blocks| blocks.kept(row))
    }

    /// Blocks of all plane groups in a mode that are not victims.
    pub(super) fn all_blocks_in(&self, mode: CellMode) -> u32 {
        let kept = |blocks: &ModeBlocks| {
            blocks.used.iter().zip(&blocks.collecting).map(|(used, collecting)| used - collecting).sum()
        };
        self.of(mode).map_or(0, kept)
    }

    /// Locations that blocks in non-native modes could not hold, summed over all such blocks ever opened in a
    /// plane group of this `pool`.
    pub(super) fn lacked(&self, row: PlaneGroupId, pool: &Pool) -> u64 {
        let per_block = pool.locations.per_block();
        let lacks = |blocks: &ModeBlocks| {
            blocks.ever_opened(row) * u64::from(per_block - capacity_in(blocks.mode(), pool))
        };
        self.all.iter().map(lacks).sum()
    }

    /// Clears the closed blocks and the victims.
    pub(super) fn forget(&mut self) {
        self.all.iter_mut().for_each(ModeBlocks::forget);
    }
}
