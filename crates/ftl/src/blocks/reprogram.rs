//! Reprogrammable word lines (ReSSD, sections 3.2 and 3.3). A reprogram writes a new page to a programmed
//! word line in MLC mode, in place of an invalid page. It consumes no free page of the plane group. The
//! stream and the part limit the number of reprograms of a word line. The word lines of a super layer (a
//! group of layers) can be reprogrammed until a word line of a later super layer is programmed.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::onfi::LunTimes;
use wordline_nand::{BlockSetId, PlaneGroupId, Pool};

/// Reprogram count of a word line that cannot be reprogrammed, because it is unprogrammed or unreadable.
const NEVER: u8 = u8::MAX;

/// State of a word line of a block in MLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordLineInfo {
    /// Number of reprograms; `None` if the word line is unprogrammed or unreadable.
    pub again: Option<u8>,
    /// Valid logical pages of the lower page and of the upper page, in all planes.
    pub valid: [u32; 2],
}

/// A page of a word line, in all planes, that the next program of a stream replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WordLinePage {
    pub block: BlockSetId,
    pub word_line: u32,
    /// Page of the word line: 0 for the lower, 1 for the upper one.
    pub page: u32,
}

/// Reprogram state of a stream in a plane group.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct ReprogramCursor {
    /// Page that the next program replaces; `None` if the program goes to an unprogrammed word line.
    named: Option<WordLinePage>,
    /// Full block that stays open because it can be reprogrammed.
    full: Option<BlockSetId>,
}

/// A block being reclaimed. Its valid pages are relocated, so that its word lines can be reprogrammed and the
/// block is soon empty.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ReclaimTarget {
    pub block: BlockSetId,
    /// Super layer whose pages are relocated. The last super layer comes first.
    pub super_layer: u32,
    /// Whether the pages of the super layer were already listed.
    is_listed: bool,
}

impl ReclaimTarget {
    /// Marks the pages of the super layer as listed.
    fn set_listed(&mut self) {
        self.is_listed = true;
    }
}

/// Reprogrammable word lines of a pool.
pub(super) struct Reprogram {
    /// Index of the pool's first stream among all streams of the device.
    begins: usize,
    first: BlockSetId,
    first_group: PlaneGroupId,
    rows: u32,
    /// Most reprograms of a word line, by the number of the stream that wrote it.
    most: Vec<u8>,
    /// Word lines of a block.
    per_block: u32,
    /// Word lines of a super layer.
    per_super_layer: u32,
    /// Number of reprograms of each word line, block by block.
    times: Vec<u8>,
    /// The last super layer of each block that has a programmed word line.
    super_layers: Vec<u32>,
    /// Whether each block lost a page since it was last found to have nothing to reprogram.
    lost_page: Vec<bool>,
    /// State of each stream, ordered by plane group.
    turns: Vec<ReprogramCursor>,
    /// Plane groups whose next pages must be selected again, in the order of requests.
    unnamed: Vec<PlaneGroupId>,
    is_unnamed: Vec<bool>,
    /// Block being reclaimed in each plane group.
    vacated: Vec<Option<ReclaimTarget>>,
}

state!(Reprogram {
    values { lost_page, turns, unnamed, is_unnamed, vacated }
    parts { times, super_layers }
    fixed { begins, first, first_group, rows, most, per_block, per_super_layer }
});

impl Reprogram {
    /// Reprogram state of an empty pool. `most` has the most reprograms of a word line for each stream
    /// number.
    pub fn new(pool: &Pool, begins: usize, most: Vec<u8>) -> Self {
        let (geometry, part) = (&pool.geometry, &pool.part);
        let (rows, blocks) = (geometry.rows() as usize, geometry.block_sets() as usize);
        let per_block = part.pages().word_lines();
        let layers = LunTimes::of(part).layers_per_super_layer;
        let per_super_layer = (0..per_block).take_while(|line| part.super_layer(*line, layers) == 0).count();
        Self {
            begins,
            first: geometry.first_block(geometry.first_group()),
            first_group: geometry.first_group(),
            rows: geometry.rows(),
            per_block,
            per_super_layer: per_super_layer as u32,
            times: vec![NEVER; blocks * per_block as usize],
            super_layers: vec![0; blocks],
            lost_page: vec![false; blocks],
            turns: vec![ReprogramCursor::default(); rows * most.len()],
            most,
            unnamed: Vec::new(),
            is_unnamed: vec![false; rows],
            vacated: vec![None; rows],
        }
    }

    /// Word lines of a super layer.
    pub fn per_super_layer(&self) -> u32 {
        self.per_super_layer
    }

    /// Word lines of a block.
    pub fn per_block(&self) -> u32 {
        self.per_block
    }

    /// Word lines of the last super layer of a block that has a programmed word line.
    pub fn in_last_super_layer(&self, block: BlockSetId) -> std::ops::Range<u32> {
        self.in_super_layer(self.super_layers[self.block(block)])
    }

    /// Word lines of a super layer.
    pub fn in_super_layer(&self, number: u32) -> std::ops::Range<u32> {
        let first = number * self.per_super_layer;
        first..(first + self.per_super_layer).min(self.per_block)
    }

    /// Whether a block lost a page since it was last found to have nothing to reprogram.
    pub fn lost_page(&self, block: BlockSetId) -> bool {
        self.lost_page[self.block(block)]
    }

    /// Sets whether a block lost a page since it was last found to have nothing to reprogram.
    pub fn set_lost_page(&mut self, block: BlockSetId, lost: bool) {
        let at = self.block(block);
        self.lost_page[at] = lost;
    }

    /// Most reprograms of a word line that a stream allows.
    #[inline]
    pub fn most(&self, stream: u8) -> u8 {
        self.most[usize::from(stream)]
    }

    /// Whether loaded lists have the lengths that follow from the configuration.
    pub fn is_whole(&self) -> bool {
        let rows = self.rows as usize;
        let is_own =
            |row: &PlaneGroupId| (self.first_group.0..self.first_group.0 + self.rows).contains(&row.0);
        self.turns.len() == rows * self.most.len()
            && self.is_unnamed.len() == rows
            && self.vacated.len() == rows
            && self.times.len() == self.super_layers.len() * self.per_block as usize
            && self.lost_page.len() == self.super_layers.len()
            && self.unnamed.iter().all(is_own)
    }

    fn row(&self, row: PlaneGroupId) -> usize {
        (row.0 - self.first_group.0) as usize
    }

    fn block(&self, block: BlockSetId) -> usize {
        (block.0 - self.first.0) as usize
    }

    fn line(&self, block: BlockSetId, word_line: u32) -> usize {
        self.block(block) * self.per_block as usize + word_line as usize
    }

    /// Number of reprograms of a word line; `None` if it is unprogrammed or unreadable.
    pub fn times(&self, block: BlockSetId, word_line: u32) -> Option<u8> {
        Some(self.times[self.line(block, word_line)]).filter(|times| *times != NEVER)
    }

    /// Page that the next program of the stream at index `at` replaces.
    #[inline]
    pub fn named(&self, at: usize) -> Option<WordLinePage> {
        self.turns[at - self.begins].named
    }

    /// Full block of the stream at index `at` that stays open to be reprogrammed.
    pub fn full(&self, at: usize) -> Option<BlockSetId> {
        self.turns[at - self.begins].full
    }

    pub fn name(&mut self, at: usize, place: Option<WordLinePage>) {
        self.turns[at - self.begins].named = place;
    }

    pub fn set_full(&mut self, at: usize, block: Option<BlockSetId>) {
        self.turns[at - self.begins].full = block;
    }

    /// Records the first program of a word line.
    pub fn programmed(&mut self, block: BlockSetId, word_line: u32) {
        let (at, line) = (self.block(block), self.line(block, word_line));
        self.times[line] = 0;
        self.super_layers[at] = self.super_layers[at].max(word_line / self.per_super_layer);
    }

    /// Records that a page of a word line is replaced.
    pub fn replaced(&mut self, place: WordLinePage) {
        let line = self.line(place.block, place.word_line);
        self.times[line] += 1;
    }

    /// Resets a block that was erased.
    pub fn forget_block(&mut self, block: BlockSetId) {
        let (at, first) = (self.block(block), self.line(block, 0));
        self.times[first..first + self.per_block as usize].fill(NEVER);
        (self.super_layers[at], self.lost_page[at]) = (0, false);
    }

    /// Records the state of a word line found in flash after a power cut. `times` is `None` if it is
    /// unreadable.
    pub fn found(&mut self, block: BlockSetId, word_line: u32, times: Option<u8>) {
        self.programmed(block, word_line);
        self.set_lost_page(block, true);
        let line = self.line(block, word_line);
        self.times[line] = times.unwrap_or(NEVER);
    }

    /// Excludes a word line from reprogramming after a failed program.
    pub fn exclude(&mut self, block: BlockSetId, word_line: u32) {
        let line = self.line(block, word_line);
        self.times[line] = NEVER;
    }

    /// Requests that the next pages of a plane group are selected again.
    #[inline]
    pub fn request_selection(&mut self, row: PlaneGroupId) {
        let at = self.row(row);
        if !self.is_unnamed[at] {
            self.is_unnamed[at] = true;
            self.unnamed.push(row);
        }
    }

    /// Takes a plane group whose next pages must be selected again.
    pub fn take_unselected(&mut self) -> Option<PlaneGroupId> {
        let row = self.unnamed.pop()?;
        let at = self.row(row);
        self.is_unnamed[at] = false;
        Some(row)
    }

    /// Deselects the page of the stream at index `at` if it is in `block`.
    pub fn deselect(&mut self, at: usize, block: BlockSetId) {
        let turn = &mut self.turns[at - self.begins];
        turn.named = turn.named.filter(|place| place.block != block);
    }

    /// Stops reprogramming a block. Returns whether the block was open only for this.
    pub fn leave(&mut self, at: usize, block: BlockSetId) -> bool {
        self.deselect(at, block);
        let turn = &mut self.turns[at - self.begins];
        let was_full = turn.full == Some(block);
        turn.full = turn.full.filter(|_| !was_full);
        was_full
    }

    /// Block being reclaimed in a plane group.
    #[inline]
    pub fn vacated(&self, row: PlaneGroupId) -> Option<ReclaimTarget> {
        self.vacated[self.row(row)]
    }

    /// Whether the last super layer of a block is being reclaimed.
    pub fn is_reclaiming_last_super_layer(&self, row: PlaneGroupId, block: BlockSetId) -> bool {
        let super_layer = self.super_layers[self.block(block)];
        self.vacated(row).is_some_and(|vacated| (vacated.block, vacated.super_layer) == (block, super_layer))
    }

    /// Whether pages of the block being reclaimed are not listed yet.
    #[inline]
    pub fn needs_listing(&self, row: PlaneGroupId) -> bool {
        self.vacated(row).is_some_and(|vacated| !vacated.is_listed)
    }

    /// Marks the pages of the super layer being reclaimed as listed.
    pub fn set_listed(&mut self, row: PlaneGroupId) {
        let at = self.row(row);
        self.vacated[at].iter_mut().for_each(ReclaimTarget::set_listed);
    }

    /// Starts to reclaim a block, beginning with its last super layer.
    pub fn start_reclaim(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let super_layer = self.super_layers[self.block(block)];
        self.set_reclaim(row, Some((block, super_layer)));
    }

    /// Ends the reclaim of a block, if it is being reclaimed.
    pub fn stop_reclaim(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if self.vacated(row).is_some_and(|vacated| vacated.block == block) {
            self.set_reclaim(row, None);
        }
    }

    /// Sets the super layer that a plane group reclaims next; `None` ends the reclaim.
    pub fn set_reclaim(&mut self, row: PlaneGroupId, next: Option<(BlockSetId, u32)>) {
        let at = self.row(row);
        self.vacated[at] =
            next.map(|(block, super_layer)| ReclaimTarget { block, super_layer, is_listed: false });
    }

    /// Clears the open blocks of a plane group.
    pub fn forget_row(&mut self, row: PlaneGroupId) {
        let (at, streams) = (self.row(row), self.most.len());
        self.turns[at * streams..][..streams].fill(ReprogramCursor::default());
        self.vacated[at] = None;
    }

    /// Resets everything that a power cut loses.
    pub fn forget(&mut self) {
        self.turns.fill(ReprogramCursor::default());
        self.times.fill(NEVER);
        self.super_layers.fill(0);
        self.lost_page.fill(false);
        self.unnamed.clear();
        self.is_unnamed.fill(false);
        self.vacated.fill(None);
    }
}
