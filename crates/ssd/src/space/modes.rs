//! Blocks in other cell modes than the native one. Such a block holds fewer pages for each word line, in the first of its locations, and
//! counts as a block in which the others are invalid: any victim policy sees what cleaning it gains, and the guarantees
//! of the collector hold as they are, for to clean such a block always gains space.

use std::collections::VecDeque;

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, CellMode, Geometry, Pool, RowId};

use super::pool::PoolSpace;
use super::{Block, Space, State, StreamId};

/// The streams whose blocks are opened in a mode, where its share of the row lasts: one bit each by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeStreams {
    /// Those of the host.
    pub host: u32,
    /// Those of the collector.
    pub gc: u16,
}

impl ModeStreams {
    /// Whether there is none.
    pub fn are_none(self) -> bool {
        self == Self::default()
    }

    /// Whether a stream is among them.
    #[inline]
    fn has(self, stream: StreamId, of_host: u8) -> bool {
        match stream.0.checked_sub(of_host) {
            Some(gc) => u32::from(self.gc) >> gc & 1 != 0,
            None => self.host >> stream.0 & 1 != 0,
        }
    }
}

/// The streams and blocks of a pool that may be in a mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeShare {
    /// The mode, which is not the native one.
    pub mode: CellMode,
    /// The streams whose blocks are opened in it.
    pub streams: ModeStreams,
    /// Locations that a program in the mode writes.
    pub unit: u32,
    /// Locations that it takes away from a row: its blocks hold a part of what others do.
    pub cost: u32,
    /// Blocks of a row that are spare for the mode.
    pub blocks: u32,
    /// Fraction of its other spare blocks that may be in the mode as well; none where the host may open as many as it wants.
    pub spare: Option<f64>,
    /// Those beside, but for ones of the host without a limit, are opened in it while more blocks than this are free.
    pub spare_above: usize,
}

impl ModeShare {
    /// Locations that a program writes that replaces a page of a word line.
    pub fn unit_again(&self) -> u32 {
        self.unit / 2
    }
}

/// The blocks of a pool in a mode.
#[derive(Clone, Debug)]
pub(super) struct ModeBlocks {
    share: ModeShare,
    /// The first row of the pool.
    begins: RowId,
    /// Blocks of each row that are in the mode.
    used: Vec<u32>,
    /// Those of them that are being cleaned.
    cleaning: Vec<u32>,
    /// Those of them that are closed, the oldest first. Blocks that were cleaned meanwhile are passed over.
    closed: Vec<VecDeque<BlockSetId>>,
    /// Blocks of each row that were ever opened in the mode.
    opened: Vec<u64>,
    /// While this is set, no block is opened in the mode.
    paused: bool,
}

state!(ModeBlocks { values { used, cleaning, closed, opened, paused } fixed { share, begins } });

impl ModeBlocks {
    /// Which of the lists is that of a row.
    #[inline]
    fn at(&self, row: RowId) -> usize {
        (row.0 - self.begins.0) as usize
    }

    /// No block of a pool is in the mode.
    pub fn new(share: ModeShare, geometry: &Geometry) -> Self {
        let rows = geometry.rows() as usize;
        Self {
            share,
            begins: geometry.first_row(),
            used: vec![0; rows],
            cleaning: vec![0; rows],
            closed: vec![VecDeque::new(); rows],
            opened: vec![0; rows],
            paused: false,
        }
    }

    /// The mode.
    #[inline]
    pub fn mode(&self) -> CellMode {
        self.share.mode
    }

    /// Opens no blocks in the mode while `paused`.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// A block of a row was opened in the mode.
    pub fn opened(&mut self, row: RowId) {
        let at = self.at(row);
        self.used[at] += 1;
        self.opened[at] += 1;
    }

    /// Blocks of a row that were ever opened in the mode.
    pub fn ever_opened(&self, row: RowId) -> u64 {
        self.opened[self.at(row)]
    }

    /// A block of a row in the mode was closed: it can be cleaned.
    pub fn closed(&mut self, row: RowId, block: BlockSetId) {
        let at = self.at(row);
        self.closed[at].push_back(block);
    }

    /// A block of a row in the mode is a victim.
    pub fn cleans(&mut self, row: RowId) {
        let at = self.at(row);
        self.cleaning[at] += 1;
    }

    /// A block of a row is in the mode no more; whether it was a victim.
    pub fn left(&mut self, row: RowId, was_victim: bool) {
        let at = self.at(row);
        self.used[at] -= 1;
        self.cleaning[at] -= u32::from(was_victim);
    }

    /// The oldest closed block of a row in the mode, where more than `keep` are not being cleaned.
    #[inline(never)]
    pub fn oldest(&mut self, row: RowId, keep: u32, table: &Column<BlockSetId, Block>) -> Option<BlockSetId> {
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

    /// Blocks of a row in the mode that are not being cleaned.
    fn kept(&self, row: RowId) -> u32 {
        self.used[self.at(row)] - self.cleaning[self.at(row)]
    }

    /// Forgets which blocks can be cleaned, or are.
    pub fn forget(&mut self) {
        self.closed.iter_mut().for_each(VecDeque::clear);
        self.cleaning.fill(0);
    }
}

/// Locations that can be written of a block of a pool that is in this mode.
fn capacity_in(mode: CellMode, Pool { geometry, locations, .. }: &Pool) -> u32 {
    match mode {
        CellMode::Native => locations.per_block(),
        mode => {
            let bits = geometry.bits_per_cell();
            locations.per_block() / bits * mode.bits(bits)
        }
    }
}

impl Space {
    /// The blocks of a row's pool in other modes than the native one, by mode.
    #[inline]
    fn modes(&self, row: RowId) -> &[ModeBlocks] {
        &self.of(row).modes
    }

    /// The blocks of a row's pool in a mode, where blocks are opened in it.
    #[inline]
    fn in_mode(&self, row: RowId, mode: CellMode) -> Option<&ModeBlocks> {
        self.modes(row).iter().find(|blocks| blocks.mode() == mode)
    }

    /// Whether blocks of some pool are opened in a mode.
    pub fn uses_mode(&self, mode: CellMode) -> bool {
        self.each.iter().flat_map(|pool| &pool.modes).any(|blocks| blocks.mode() == mode)
    }

    /// Locations that programs in other modes than the native one write, in each pool that has such blocks.
    pub fn smaller_units(&self) -> impl Iterator<Item = u32> + '_ {
        let units = |pool: &'_ PoolSpace| {
            let again = pool.again.is_some();
            let unit = move |share: &ModeShare| {
                if again && share.mode == CellMode::TwoBit { share.unit_again() } else { share.unit }
            };
            pool.modes.iter().map(|blocks| unit(&blocks.share)).collect::<Vec<_>>()
        };
        self.each.iter().flat_map(units)
    }

    /// Whether blocks of a row are opened in a mode.
    #[inline]
    pub fn opens_in(&self, row: RowId, mode: CellMode) -> bool {
        self.in_mode(row, mode).is_some()
    }

    /// Whether blocks of a row are opened in another mode than the native one.
    #[inline]
    pub fn has_modes(&self, row: RowId) -> bool {
        !self.modes(row).is_empty()
    }

    /// Locations that a program of the host takes away from a row at most: blocks in other modes hold a part of what native ones do.
    #[inline]
    pub fn dearest(&self, row: RowId) -> u32 {
        let usual = self.pools.per_program(row);
        self.modes(row).iter().fold(usual, |most, blocks| most.max(blocks.share.cost))
    }

    /// The mode of a block.
    #[inline]
    pub fn mode(&self, block: BlockSetId) -> CellMode {
        self.table[block].mode.into()
    }

    /// Whether a block is in the native mode, in which it holds as much as any.
    #[inline]
    pub fn is_native(&self, block: BlockSetId) -> bool {
        self.mode(block) == CellMode::Native
    }

    /// Locations of a block that can be written.
    #[inline]
    pub(super) fn capacity(&self, block: BlockSetId) -> u32 {
        capacity_in(self.mode(block), self.pools.of_block(block))
    }

    /// Locations of a row that its blocks in other modes lacked, of all that were ever opened.
    pub(super) fn lacked(&self, row: RowId) -> u64 {
        let (per_block, pool) = (self.pools.per_block_of(row), self.pools.of_row(row));
        let lacks = |blocks: &ModeBlocks| {
            blocks.ever_opened(row) * u64::from(per_block - capacity_in(blocks.mode(), pool))
        };
        self.modes(row).iter().map(lacks).sum()
    }

    /// Locations that the next program of a stream writes to the row.
    #[inline]
    pub fn unit(&self, row: RowId, stream: StreamId) -> u32 {
        match self.mode_of_next(row, stream) {
            Some(blocks) if self.named_again(row, stream).is_some() => blocks.share.unit_again(),
            Some(blocks) => blocks.share.unit,
            None => self.pools.per_program(row),
        }
    }

    /// Locations that the next program of a stream takes away from the row: a block in another mode holds only a part of
    /// what native ones do.
    #[inline]
    pub fn cost(&self, row: RowId, stream: StreamId) -> u32 {
        match self.mode_of_next(row, stream) {
            // A page that is replaced takes no room from the row.
            Some(_) if self.named_again(row, stream).is_some() => 0,
            Some(blocks) => blocks.share.cost,
            None => self.pools.per_program(row),
        }
    }

    /// The mode of the next program of a stream.
    #[inline]
    pub fn writes_in(&self, row: RowId, stream: StreamId) -> CellMode {
        let Some(blocks) = self.mode_of_next(row, stream) else { return CellMode::Native };
        self.named_again(row, stream).map_or(blocks.mode(), |place| self.mode_again(place))
    }

    /// The same, with what is known of the blocks in it; none for the native mode.
    #[inline]
    fn mode_of_next(&self, row: RowId, stream: StreamId) -> Option<&ModeBlocks> {
        if self.modes(row).is_empty() {
            return None;
        }
        let mode = match (self.named_again(row, stream), self.open[self.at(row, stream)]) {
            (Some(place), _) => self.mode(place.block),
            (None, Some((block, _))) => self.mode(block),
            (None, None) => self.mode_to_open(row, stream),
        };
        self.in_mode(row, mode)
    }

    /// Whether the pages of a stream go to blocks in another mode of the row, where its share for them lasts: its blocks are opened in that
    /// mode or in the native one.
    #[inline]
    pub fn changes_mode(&self, row: RowId, stream: StreamId) -> bool {
        self.modes(row).iter().any(|blocks| blocks.share.streams.has(stream, self.streams.host))
    }

    /// Whether a block that is opened for the stream takes programs of the same size as one that it has.
    pub(super) fn opens_alike(&self, row: RowId, stream: StreamId, block: BlockSetId) -> bool {
        !self.changes_mode(row, stream) || self.mode_to_open(row, stream) == self.mode(block)
    }

    /// The mode of a block that is opened for the stream now. Those kept for the collector are native: they have to take as much as a
    /// victim holds.
    pub(super) fn mode_to_open(&self, row: RowId, stream: StreamId) -> CellMode {
        let has = |blocks: &&ModeBlocks| blocks.share.streams.has(stream, self.streams.host);
        let Some(blocks) = self.modes(row).iter().find(has).filter(|blocks| !blocks.paused) else {
            return CellMode::Native;
        };
        if !self.may_open(row, false) {
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

    /// Spare blocks of a row beside those at work and those for a mode alone: more than it was made with, where not
    /// everything is written.
    fn other_spare(&self, row: RowId, share: &ModeShare) -> u32 {
        let full = self.valid_in(row).div_ceil(self.pools.per_block_of(row));
        self.good(row).saturating_sub(full + share.blocks + self.of(row).at_work)
    }

    /// Blocks of a row in a mode that are not being cleaned.
    pub fn blocks_in(&self, row: RowId, mode: CellMode) -> u32 {
        self.in_mode(row, mode).map_or(0, |blocks| blocks.kept(row))
    }

    /// The same of all rows.
    pub fn all_blocks_in(&self, mode: CellMode) -> u32 {
        self.pools.all_rows().map(|row| self.blocks_in(row, mode)).sum()
    }
}
