//! Word lines that are programmed again. One with two bits a cell takes a new page in the place of one that is not valid, as often as its
//! stream says and the part stands, and until a word line of a later super layer is programmed (ReSSD, sections 3.2 and 3.3). What is
//! written there takes no room from the row.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::onfi::LunTimes;
use wordline_nand::{BlockSetId, Pool, RowId};

/// How often a word line was programmed again that is not programmed, or that cannot be read any more: it is not programmed again.
const NEVER: u8 = u8::MAX;

/// The state of a word line of a block with two bits a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordLineFacts {
    /// How often it was programmed again; none if it is not programmed, or cannot be read.
    pub again: Option<u8>,
    /// Valid logical pages of the lower and of the upper page, in all planes.
    pub valid: [u32; 2],
}

/// A page of a word line, in all planes, that the next program of a stream replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub block: BlockSetId,
    pub word_line: u32,
    /// Which of its two pages.
    pub page: u32,
}

/// The blocks of a stream in a row whose word lines may be programmed again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Turn {
    /// The place of the next program; none if it goes to a word line that is not programmed.
    named: Option<Place>,
    /// A block of which each word line is programmed, and which stays open to be programmed again.
    full: Option<BlockSetId>,
}

/// A block that is vacated: its valid pages move, so that its word lines can be programmed again, and it holds nothing soon.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Vacated {
    pub block: BlockSetId,
    /// The super layer of which pages move: first the last one, then those before it.
    pub super_layer: u32,
    /// Whether the pages of the super layer were listed.
    is_listed: bool,
}

impl Vacated {
    /// The pages of the super layer are listed.
    fn set_listed(&mut self) {
        self.is_listed = true;
    }
}

/// The word lines of a pool that were, or may be, programmed again.
pub(super) struct Again {
    /// Where the open blocks of the pool begin among those of the device.
    begins: usize,
    first: BlockSetId,
    first_row: RowId,
    rows: u32,
    /// How often a word line may be programmed again, by the number of the stream that wrote it.
    most: Vec<u8>,
    /// Word lines of a block.
    per_block: u32,
    /// Word lines of a super layer.
    per_super_layer: u32,
    /// How often each word line was programmed again, block by block.
    times: Vec<u8>,
    /// The last super layer of each block of which a word line is programmed.
    super_layers: Vec<u32>,
    /// Blocks that lost a page since they were last seen to have nothing to be programmed again.
    lost_page: Vec<bool>,
    /// By streams, row by row.
    turns: Vec<Turn>,
    /// Rows of which the next places are to be named again, in the order in which that was noted.
    unnamed: Vec<RowId>,
    is_unnamed: Vec<bool>,
    /// The block of each row that is vacated.
    vacated: Vec<Option<Vacated>>,
}

state!(Again {
    values { lost_page, turns, unnamed, is_unnamed, vacated }
    parts { times, super_layers }
    fixed { begins, first, first_row, rows, most, per_block, per_super_layer }
});

impl Again {
    /// Nothing is programmed in a pool of which the streams let a word line be programmed again so often, `most` by their numbers.
    pub fn new(pool: &Pool, begins: usize, most: Vec<u8>) -> Self {
        let (geometry, part) = (&pool.geometry, &pool.part);
        let (rows, blocks) = (geometry.rows() as usize, geometry.block_sets() as usize);
        let per_block = part.pages().word_lines();
        let layers = LunTimes::of(part).layers_per_super_layer;
        let per_super_layer = (0..per_block).take_while(|line| part.super_layer(*line, layers) == 0).count();
        Self {
            begins,
            first: geometry.first_block(geometry.first_row()),
            first_row: geometry.first_row(),
            rows: geometry.rows(),
            per_block,
            per_super_layer: per_super_layer as u32,
            times: vec![NEVER; blocks * per_block as usize],
            super_layers: vec![0; blocks],
            lost_page: vec![false; blocks],
            turns: vec![Turn::default(); rows * most.len()],
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

    /// The word lines of the last super layer of a block of which one is programmed.
    pub fn in_last_super_layer(&self, block: BlockSetId) -> std::ops::Range<u32> {
        self.in_super_layer(self.super_layers[self.block(block)])
    }

    /// The word lines of a super layer.
    pub fn in_super_layer(&self, number: u32) -> std::ops::Range<u32> {
        let first = number * self.per_super_layer;
        first..(first + self.per_super_layer).min(self.per_block)
    }

    /// Whether a block lost a page since it was last seen to have nothing to be programmed again.
    pub fn lost_page(&self, block: BlockSetId) -> bool {
        self.lost_page[self.block(block)]
    }

    /// A block lost a page, or has nothing to be programmed again until it loses one.
    pub fn set_lost_page(&mut self, block: BlockSetId, lost: bool) {
        let at = self.block(block);
        self.lost_page[at] = lost;
    }

    /// How often the stream of this number lets a word line be programmed again.
    #[inline]
    pub fn most(&self, stream: u8) -> u8 {
        self.most[usize::from(stream)]
    }

    /// Whether lists that were loaded have the lengths that follow from the configuration.
    pub fn is_whole(&self) -> bool {
        let rows = self.rows as usize;
        let is_own = |row: &RowId| (self.first_row.0..self.first_row.0 + self.rows).contains(&row.0);
        self.turns.len() == rows * self.most.len()
            && self.is_unnamed.len() == rows
            && self.vacated.len() == rows
            && self.times.len() == self.super_layers.len() * self.per_block as usize
            && self.lost_page.len() == self.super_layers.len()
            && self.unnamed.iter().all(is_own)
    }

    fn row(&self, row: RowId) -> usize {
        (row.0 - self.first_row.0) as usize
    }

    fn block(&self, block: BlockSetId) -> usize {
        (block.0 - self.first.0) as usize
    }

    fn line(&self, block: BlockSetId, word_line: u32) -> usize {
        self.block(block) * self.per_block as usize + word_line as usize
    }

    /// How often a word line was programmed again; none if it is not programmed, or cannot be read.
    pub fn times(&self, block: BlockSetId, word_line: u32) -> Option<u8> {
        Some(self.times[self.line(block, word_line)]).filter(|times| *times != NEVER)
    }

    /// The place of the next program of the stream noted at `at`.
    #[inline]
    pub fn named(&self, at: usize) -> Option<Place> {
        self.turns[at - self.begins].named
    }

    /// The block of the stream noted at `at` of which each word line is programmed.
    pub fn full(&self, at: usize) -> Option<BlockSetId> {
        self.turns[at - self.begins].full
    }

    pub fn name(&mut self, at: usize, place: Option<Place>) {
        self.turns[at - self.begins].named = place;
    }

    pub fn set_full(&mut self, at: usize, block: Option<BlockSetId>) {
        self.turns[at - self.begins].full = block;
    }

    /// A word line of a block is programmed that was not before.
    pub fn programmed(&mut self, block: BlockSetId, word_line: u32) {
        let (at, line) = (self.block(block), self.line(block, word_line));
        self.times[line] = 0;
        self.super_layers[at] = self.super_layers[at].max(word_line / self.per_super_layer);
    }

    /// A page of a word line is replaced.
    pub fn replaced(&mut self, place: Place) {
        let line = self.line(place.block, place.word_line);
        self.times[line] += 1;
    }

    /// Nothing of a block is programmed any more.
    pub fn forget_block(&mut self, block: BlockSetId) {
        let (at, first) = (self.block(block), self.line(block, 0));
        self.times[first..first + self.per_block as usize].fill(NEVER);
        (self.super_layers[at], self.lost_page[at]) = (0, false);
    }

    /// The state of a word line as flash tells it after a power cut; none where it is not programmed, or cannot be read.
    pub fn found(&mut self, block: BlockSetId, word_line: u32, times: Option<u8>) {
        self.programmed(block, word_line);
        self.set_lost_page(block, true);
        let line = self.line(block, word_line);
        self.times[line] = times.unwrap_or(NEVER);
    }

    /// A program of a word line failed: it is not programmed again.
    pub fn spoiled(&mut self, block: BlockSetId, word_line: u32) {
        let line = self.line(block, word_line);
        self.times[line] = NEVER;
    }

    /// The places of a row are to be named again.
    #[inline]
    pub fn look_at(&mut self, row: RowId) {
        let at = self.row(row);
        if !self.is_unnamed[at] {
            self.is_unnamed[at] = true;
            self.unnamed.push(row);
        }
    }

    /// A row of which the places are to be named again.
    pub fn take_unnamed(&mut self) -> Option<RowId> {
        let row = self.unnamed.pop()?;
        let at = self.row(row);
        self.is_unnamed[at] = false;
        Some(row)
    }

    /// The place named of the stream noted at `at` is in another block than this one from now on, or none is.
    pub fn unname(&mut self, at: usize, block: BlockSetId) {
        let turn = &mut self.turns[at - self.begins];
        turn.named = turn.named.filter(|place| place.block != block);
    }

    /// A block takes nothing more; whether it was open to be programmed again alone.
    pub fn leave(&mut self, at: usize, block: BlockSetId) -> bool {
        self.unname(at, block);
        let turn = &mut self.turns[at - self.begins];
        let was_full = turn.full == Some(block);
        turn.full = turn.full.filter(|_| !was_full);
        was_full
    }

    /// The block of a row that is vacated.
    #[inline]
    pub fn vacated(&self, row: RowId) -> Option<Vacated> {
        self.vacated[self.row(row)]
    }

    /// Whether the last super layer of a block of a row is vacated.
    pub fn leaves_last_super_layer(&self, row: RowId, block: BlockSetId) -> bool {
        let super_layer = self.super_layers[self.block(block)];
        self.vacated(row).is_some_and(|vacated| (vacated.block, vacated.super_layer) == (block, super_layer))
    }

    /// Whether pages of the block of a row that is vacated are still to be listed.
    #[inline]
    pub fn is_to_list(&self, row: RowId) -> bool {
        self.vacated(row).is_some_and(|vacated| !vacated.is_listed)
    }

    /// The pages of the super layer of a row that is vacated are listed.
    pub fn set_listed(&mut self, row: RowId) {
        let at = self.row(row);
        self.vacated[at].iter_mut().for_each(Vacated::set_listed);
    }

    /// A block of a row is vacated from now on, its last super layer first.
    pub fn vacate(&mut self, row: RowId, block: BlockSetId) {
        let super_layer = self.super_layers[self.block(block)];
        self.go_on_vacating(row, Some((block, super_layer)));
    }

    /// A super layer of a block of a row is vacated from now on, or none is.
    pub fn go_on_vacating(&mut self, row: RowId, next: Option<(BlockSetId, u32)>) {
        let at = self.row(row);
        self.vacated[at] = next.map(|(block, super_layer)| Vacated { block, super_layer, is_listed: false });
    }

    /// Nothing is open in a row any more.
    pub fn forget_row(&mut self, row: RowId) {
        let (at, streams) = (self.row(row), self.most.len());
        self.turns[at * streams..][..streams].fill(Turn::default());
        self.vacated[at] = None;
    }

    /// Nothing is open or programmed.
    pub fn forget(&mut self) {
        self.turns.fill(Turn::default());
        self.times.fill(NEVER);
        self.super_layers.fill(0);
        self.lost_page.fill(false);
        self.unnamed.clear();
        self.is_unnamed.fill(false);
        self.vacated.fill(None);
    }
}
