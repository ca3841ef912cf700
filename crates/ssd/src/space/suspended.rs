//! Blocks that a design sets aside before they are full. Such a block keeps where it is written next. It takes nothing until its design
//! opens it again, and it can be a victim. Room is kept for all that may be suspended at once, so that the guarantees of the
//! collector hold whether they are ever opened again or not.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::{BlockSetId, RowId};

use crate::policy::frontier::{Again, OpenBlock, WordLines};

/// A block that is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rests {
    /// Which one.
    pub block: BlockSetId,
    /// How many of its locations are written.
    pub place: u32,
    /// Locations of a word line, in the mode that it is in.
    pub unit: u32,
}

/// The suspended blocks of a stream in a row.
struct List {
    /// The one set aside first before the others.
    blocks: Vec<Rests>,
    /// The bits of the blocks, one after another: one bit a word line, whether it is programmed.
    programmed: Vec<u64>,
}

state!(List { values { blocks, programmed } });

impl List {
    fn position(&self, block: BlockSetId) -> Option<usize> {
        self.blocks.iter().position(|rests| rests.block == block)
    }

    /// Removes the block at `place`, with its bits of so many words.
    fn remove(&mut self, place: usize, words: usize) -> Rests {
        self.programmed.drain(place * words..(place + 1) * words);
        self.blocks.remove(place)
    }
}

/// The suspended blocks of the rows of a pool.
pub(super) struct Suspended {
    /// Where the open blocks of the pool begin among those of the device.
    begins: usize,
    /// Blocks of a row that each of its streams may suspend at once.
    limits: Vec<u16>,
    /// How the word lines of a block lie.
    shape: WordLines,
    /// Words of the bits of a block.
    words: usize,
    /// Those of each stream, row by row.
    lists: Vec<List>,
    /// While this is set, none is set aside.
    paused: bool,
}

state!(Suspended { lists { lists } fixed { begins, limits, shape, words, paused } });

impl Suspended {
    /// None in a pool of `rows` rows, of which each stream may suspend as many as its limit says.
    pub fn new(begins: usize, rows: usize, limits: Vec<u16>, shape: WordLines) -> Self {
        let words = shape.count().div_ceil(64) as usize;
        let list = |limit: &u16| List {
            blocks: Vec::with_capacity(usize::from(*limit)),
            programmed: Vec::with_capacity(usize::from(*limit) * words),
        };
        let lists = (0..rows).flat_map(|_| limits.iter().map(list)).collect();
        Self { begins, limits, shape, words, lists, paused: false }
    }

    /// Blocks that the stream noted at `at` may suspend at once.
    pub fn limit(&self, at: usize) -> usize {
        usize::from(self.limits[(at - self.begins) % self.limits.len()])
    }

    /// Sets none aside while `paused`.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Whether the stream noted at `at` may suspend another block.
    pub fn has_room(&self, at: usize) -> bool {
        self.of(at).len() < self.limit(at) && !self.paused
    }

    /// Those of the stream noted at `at`.
    pub fn of(&self, at: usize) -> &[Rests] {
        &self.list(at).blocks
    }

    /// Whether there are bits for each block of the stream noted at `at`, and one bit for each word line that is written.
    pub fn knows_word_lines(&self, at: usize) -> bool {
        let List { blocks, programmed } = self.list(at);
        let ones = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
        let written = blocks.iter().map(|rests| rests.place / rests.unit.max(1));
        programmed.len() == blocks.len() * self.words && programmed.chunks(self.words).map(ones).eq(written)
    }

    fn list(&self, at: usize) -> &List {
        &self.lists[at - self.begins]
    }

    /// A block of the stream noted at `at` is set aside, with the bits of its word lines.
    pub fn add(&mut self, at: usize, rests: Rests, programmed: &[u64]) {
        let list = &mut self.lists[at - self.begins];
        list.blocks.push(rests);
        list.programmed.extend_from_slice(programmed);
    }

    /// A block of the stream noted at `at` is suspended no more. Its bits go to `programmed`; returns how many of its locations are
    /// written, or none if it is not suspended.
    pub fn take(&mut self, at: usize, block: BlockSetId, programmed: &mut [u64]) -> Option<u32> {
        let list = &mut self.lists[at - self.begins];
        let place = list.position(block)?;
        programmed.copy_from_slice(&list.programmed[place * self.words..][..self.words]);
        Some(list.remove(place, self.words).place)
    }

    /// The same, with the bits forgotten; whether it was suspended.
    pub fn remove(&mut self, at: usize, block: BlockSetId) -> bool {
        let list = &mut self.lists[at - self.begins];
        let Some(place) = list.position(block) else { return false };
        list.remove(place, self.words);
        true
    }

    /// The streams of the row whose first one is noted at `first` have none any more.
    pub fn forget(&mut self, first: usize) {
        let first = first - self.begins;
        for list in &mut self.lists[first..first + self.limits.len()] {
            list.blocks.clear();
            list.programmed.clear();
        }
    }

    /// All of the pool.
    pub fn all(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.lists.iter().flat_map(|list| list.blocks.iter().map(|rests| rests.block))
    }

    /// The bits of [all](Self::all) of them.
    pub fn all_bits(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let words = self.words;
        self.lists.iter_mut().flat_map(move |list| list.programmed.chunks_mut(words))
    }
}

/// The suspended blocks of a stream in a row, as its design sees them.
#[derive(Clone, Copy)]
pub struct SuspendedBlocks<'a> {
    suspended: &'a Suspended,
    at: usize,
    row: RowId,
    stream: u8,
    is_gc: bool,
    /// Locations of a word line, where only blocks with as many of them are shown that can be opened again.
    unit: Option<u32>,
}

impl<'a> SuspendedBlocks<'a> {
    /// Those of a stream of a row that is noted at `at`, by its number and side; with a `unit`, those of which a word line has that many
    /// locations, and not each one is programmed.
    pub(super) fn new(
        suspended: &'a Suspended,
        at: usize,
        row: RowId,
        (stream, is_gc): (u8, bool),
        unit: Option<u32>,
    ) -> Self {
        Self { suspended, at, row, stream, is_gc, unit }
    }

    /// The row that they are in.
    pub fn row(&self) -> RowId {
        self.row
    }

    /// The number of the stream that wrote them. Those of the host come first, pool after pool; then those of the collector.
    pub fn stream(&self) -> u8 {
        self.stream
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.iter().count()
    }

    /// Whether a block is among them.
    pub fn has(&self, block: BlockSetId) -> bool {
        self.iter().any(|one| one.block == block)
    }

    /// All of them, the one set aside first before the others; after a power cut the one written least.
    pub fn iter(&self) -> impl Iterator<Item = OpenBlock<'a>> + use<'a> {
        let Self { suspended, at, is_gc, unit: wanted, .. } = *self;
        let List { blocks, programmed } = suspended.list(at);
        let shape = suspended.shape;
        let bits = programmed.chunks(suspended.words);
        blocks.iter().zip(bits).filter_map(move |(Rests { block, place, unit }, programmed)| {
            let (written, again) = (place / unit, Again::NONE);
            let shown = OpenBlock { block: *block, is_gc, written, shape, programmed, again };
            let may_open = |wanted| wanted == *unit && written < shape.count();
            wanted.is_none_or(may_open).then_some(shown)
        })
    }
}
