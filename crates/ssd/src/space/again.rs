//! Word lines that are programmed again. One with two bits a cell takes a new page in the place of one that is not valid, as often as its
//! stream says and the part stands, and until a word line of a later super layer is programmed (ReSSD, sections 3.2 and 3.3). What is
//! written there takes no room from the row.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::onfi::LunTimes;
use wordline_nand::{BlockSetId, CellMode, Location, Pool, RowId};

use super::{Space, State, StreamId};
use crate::snapshot::ensure;

/// How often a word line was programmed again that is not programmed, or that cannot be read any more: it is not programmed again.
const NEVER: u8 = u8::MAX;

/// A page of a word line, in all planes, that the next program of a stream replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub block: BlockSetId,
    pub word_line: u32,
    /// Which of its two pages.
    page: u32,
}

/// The blocks of a stream in a row whose word lines may be programmed again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Turn {
    /// The place of the next program; none if it goes to a word line that is not programmed.
    named: Option<Place>,
    /// A block of which each word line is programmed, and which stays open to be programmed again.
    full: Option<BlockSetId>,
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
    /// By streams, row by row.
    turns: Vec<Turn>,
    /// Rows of which the next places are to be named again, in the order in which that was noted.
    unnamed: Vec<RowId>,
    is_unnamed: Vec<bool>,
}

state!(Again {
    values { turns, unnamed, is_unnamed }
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
            turns: vec![Turn::default(); rows * most.len()],
            most,
            unnamed: Vec::new(),
            is_unnamed: vec![false; rows],
        }
    }

    /// Word lines of a super layer.
    pub fn per_super_layer(&self) -> u32 {
        self.per_super_layer
    }

    /// How often a stream lets a word line be programmed again.
    #[inline]
    pub fn most(&self, stream: StreamId) -> u8 {
        self.most[usize::from(stream.0)]
    }

    /// Whether lists that were loaded have the lengths that follow from the configuration.
    fn is_whole(&self) -> bool {
        let rows = self.rows as usize;
        let is_own = |row: &RowId| (self.first_row.0..self.first_row.0 + self.rows).contains(&row.0);
        self.turns.len() == rows * self.most.len()
            && self.is_unnamed.len() == rows
            && self.times.len() == self.super_layers.len() * self.per_block as usize
            && self.unnamed.iter().all(is_own)
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
        self.super_layers[at] = 0;
    }

    /// The state of a word line as flash tells it after a power cut; none where it is not programmed, or cannot be read.
    pub fn found(&mut self, block: BlockSetId, word_line: u32, times: Option<u8>) {
        self.programmed(block, word_line);
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
        let at = (row.0 - self.first_row.0) as usize;
        if !self.is_unnamed[at] {
            self.is_unnamed[at] = true;
            self.unnamed.push(row);
        }
    }

    /// A row of which the places are to be named again.
    pub fn take_unnamed(&mut self) -> Option<RowId> {
        let row = self.unnamed.pop()?;
        self.is_unnamed[(row.0 - self.first_row.0) as usize] = false;
        Some(row)
    }

    /// A block takes nothing more.
    pub fn leave(&mut self, at: usize, block: BlockSetId) -> bool {
        let turn = &mut self.turns[at - self.begins];
        turn.named = turn.named.filter(|place| place.block != block);
        let was_full = turn.full == Some(block);
        turn.full = turn.full.filter(|_| !was_full);
        was_full
    }

    /// Nothing is open in a row any more.
    pub fn forget_row(&mut self, row: RowId) {
        let first = (row.0 - self.first_row.0) as usize * self.most.len();
        self.turns[first..first + self.most.len()].fill(Turn::default());
    }

    /// Nothing is open or programmed.
    pub fn forget(&mut self) {
        self.turns.fill(Turn::default());
        self.times.fill(NEVER);
        self.super_layers.fill(0);
        self.unnamed.clear();
        self.is_unnamed.fill(false);
    }
}

/// The state of a word line of a block with two bits a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordLineFacts {
    /// How often it was programmed again; none if it is not programmed, or cannot be read.
    pub again: Option<u8>,
    /// Valid logical pages of the lower and of the upper page, in all planes.
    pub valid: [u32; 2],
}

impl Space {
    /// Whether word lines of some pool are programmed again.
    pub fn programs_again(&self) -> bool {
        self.each.iter().any(|pool| pool.again.is_some())
    }

    /// Whether a block can hold other pages than before without having been erased.
    pub fn may_change(&self, block: BlockSetId) -> bool {
        let again = self.each[self.pools.number_of_block(block)].again.as_ref();
        again.is_some_and(|again| again.most(self.table[block].written_by) > 0)
            && self.mode(block) == CellMode::TwoBit
    }

    /// Locations of a page of a word line, in all planes.
    fn side(&self, block: BlockSetId) -> u32 {
        let Pool { geometry, locations, .. } = self.pools.of_block(block);
        locations.of_pages_side_by_side(geometry.planes_per_row)
    }

    /// The first location of a place.
    pub(super) fn location_of(&self, place: Place) -> Location {
        let Place { block, word_line, page } = place;
        self.pools.at(block, (word_line * 2 + page) * self.side(block))
    }

    /// The place of the next program of a stream, if it replaces a page.
    #[inline]
    pub(super) fn named_again(&self, row: RowId, stream: StreamId) -> Option<Place> {
        self.of(row).again.as_ref()?.named(self.at(row, stream))
    }

    /// The mode of a program of a place.
    pub(super) fn mode_again(&self, place: Place) -> CellMode {
        let again = self.each[self.pools.number_of_block(place.block)].again.as_ref();
        let times = again.and_then(|again| again.times(place.block, place.word_line)).unwrap_or(0);
        CellMode::Reprogrammed(times + 1)
    }

    /// The state of a word line; nothing in a block that is not in the two-bit mode.
    pub fn word_line(&self, block: BlockSetId, word_line: u32) -> WordLineFacts {
        if self.mode(block) != CellMode::TwoBit {
            return WordLineFacts { again: None, valid: [0, 0] };
        }
        let again = self.each[self.pools.number_of_block(block)].again.as_ref();
        let again = again.and_then(|again| again.times(block, word_line));
        let valid = |page| self.valid_at(Place { block, word_line, page });
        WordLineFacts { again, valid: [valid(0), valid(1)] }
    }

    fn valid_at(&self, place: Place) -> u32 {
        let first = self.location_of(place).0;
        (first..first + self.side(place.block)).map(|at| u32::from(self.is_valid(Location(at)))).sum()
    }

    /// The places of a block that can be written again now, a page of each word line at most: none while a program of it is under way or
    /// a read of it is queued, which would find the new page in the place of the old one.
    pub(super) fn places_again(&self, block: BlockSetId) -> impl Iterator<Item = Place> + '_ {
        let known = &self.table[block];
        let rests = known.programs == 0 && known.readers == 0 && !known.condemned && known.state == State::Open;
        let again = self.each[self.pools.number_of_block(block)].again.as_ref();
        let again = again.filter(|_| rests && self.mode(block) == CellMode::TwoBit);
        again.into_iter().flat_map(move |again| {
            let first = again.super_layers[again.block(block)] * again.per_super_layer;
            let lines = first..(first + again.per_super_layer).min(again.per_block);
            let most = again.most(known.written_by);
            let may = move |line: &u32| again.times(block, *line).is_some_and(|times| times < most);
            lines.filter(may).filter_map(move |word_line| {
                let mut pages = [0, 1].map(|page| Place { block, word_line, page }).into_iter();
                pages.find(|place| self.valid_at(*place) == 0)
            })
        })
    }

    /// The locations of the other page of the word line that a program of `first` replaced a page of; none if it replaced none.
    pub(crate) fn kept_beside(&self, first: Location) -> std::ops::Range<u32> {
        let (block, place) = self.pools.of_location(first).locations.split(first);
        let side = self.side(block);
        let word_line = place / (2 * side);
        let is_again = self.word_line(block, word_line).again.is_some_and(|times| times > 0);
        let other = self.pools.at(block, word_line * 2 * side + (side - place % (2 * side) / side * side)).0;
        if is_again { other..other + side } else { 0..0 }
    }

    /// Checks what is known of the word lines against the chips, which say how often that of a location was programmed again; a bug if
    /// it is wrong.
    pub(crate) fn audit_again(&self, times: impl Fn(Location) -> u8) {
        for pool in self.each.iter().zip(self.pools.iter()) {
            let (Some(again), Pool { geometry, .. }) = (&pool.0.again, pool.1) else { continue };
            for block in geometry.all_blocks().filter(|block| self.mode(*block) == CellMode::TwoBit) {
                for word_line in 0..again.per_block {
                    let Some(known) = again.times(block, word_line) else { continue };
                    let there = times(self.location_of(Place { block, word_line, page: 0 }));
                    let under_way = u8::from(self.table[block].programs > 0);
                    assert!(
                        known >= there && known - there <= under_way,
                        "word line {word_line} of {block:?} was programmed again {there} times, not {known}"
                    );
                }
            }
        }
    }

    /// Checks what was loaded of a row: the blocks that stay open are there, and so are the places named.
    pub(super) fn check_again(&self, row: RowId) -> Result<(), String> {
        let Some(again) = &self.of(row).again else { return Ok(()) };
        ensure(again.is_whole(), || "word lines that are programmed again of another device".to_owned())?;
        for stream in self.streams.all() {
            let at = self.at(row, stream);
            let is_own = |block: BlockSetId| {
                self.blocks_of(row).any(|own| own == block) && self.state(block) == State::Open
            };
            let is_place = |place: Place| {
                is_own(place.block) && place.word_line < again.per_block && place.page < 2
            };
            ensure(again.full(at).is_none_or(is_own) && again.named(at).is_none_or(is_place), || {
                format!("row {row} programs word lines of stream {} again that are not there", stream.0)
            })?;
        }
        Ok(())
    }
}
