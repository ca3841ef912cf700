//! Blocks that a design suspends before they are full. A suspended block keeps its write pointer. It accepts
//! no programs until its design resumes it, and it can become a victim. Space is reserved for all blocks that
//! may be suspended at once. GC can therefore free blocks even if no suspended block is resumed.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::{BlockSetId, PlaneGroupId};

use crate::policy::frontier::{OpenBlock, Reprogram, WordLines};

/// A suspended block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SuspendedBlock {
    /// Number of the block.
    pub block: BlockSetId,
    /// Locations written.
    pub place: u32,
    /// Locations of a word line, in the cell mode of the block.
    pub unit: u32,
}

/// Suspended blocks of a stream in a plane group.
struct List {
    /// Blocks in the order of suspension.
    blocks: Vec<SuspendedBlock>,
    /// Bitmaps of the blocks, one after another: a bit for each word line, set if it is programmed.
    programmed: Vec<u64>,
}

state!(List { values { blocks, programmed } });

impl List {
    fn position(&self, block: BlockSetId) -> Option<usize> {
        self.blocks.iter().position(|rests| rests.block == block)
    }

    /// Removes the block at index `place` and its bitmap of `words` words.
    fn remove(&mut self, place: usize, words: usize) -> SuspendedBlock {
        self.programmed.drain(place * words..(place + 1) * words);
        self.blocks.remove(place)
    }
}

/// Suspended blocks of the plane groups of a pool.
pub(super) struct Suspended {
    /// Index of the pool's first stream among all streams of the device.
    begins: usize,
    /// Most blocks that each stream may have suspended in a plane group.
    limits: Vec<u16>,
    /// Word lines of a block.
    shape: WordLines,
    /// Words of a block's bitmap.
    words: usize,
    /// Lists of each stream, ordered by plane group.
    lists: Vec<List>,
    /// While set, no block is suspended.
    paused: bool,
}

state!(Suspended { lists { lists } fixed { begins, limits, shape, words, paused } });

impl Suspended {
    /// No suspended blocks in a pool of `rows` plane groups. `limits` has the most suspended blocks of each
    /// stream.
    pub fn new(begins: usize, rows: usize, limits: Vec<u16>, shape: WordLines) -> Self {
        let words = shape.count().div_ceil(64) as usize;
        let list = |limit: &u16| List {
            blocks: Vec::with_capacity(usize::from(*limit)),
            programmed: Vec::with_capacity(usize::from(*limit) * words),
        };
        let lists = (0..rows).flat_map(|_| limits.iter().map(list)).collect();
        Self { begins, limits, shape, words, lists, paused: false }
    }

    /// Most blocks that the stream at index `at` may have suspended.
    pub fn limit(&self, at: usize) -> usize {
        usize::from(self.limits[(at - self.begins) % self.limits.len()])
    }

    /// While `paused`, no block is suspended.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Whether the stream at index `at` may suspend another block.
    pub fn has_room(&self, at: usize) -> bool {
        self.of(at).len() < self.limit(at) && !self.paused
    }

    /// Suspended blocks of the stream at index `at`.
    pub fn of(&self, at: usize) -> &[SuspendedBlock] {
        &self.list(at).blocks
    }

    /// Whether each suspended block of the stream at index `at` has a bitmap with one bit set for each
    /// written word line.
    pub fn has_word_line_bitmaps(&self, at: usize) -> bool {
        let List { blocks, programmed } = self.list(at);
        let ones = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
        let written = blocks.iter().map(|rests| rests.place / rests.unit.max(1));
        programmed.len() == blocks.len() * self.words && programmed.chunks(self.words).map(ones).eq(written)
    }

    fn list(&self, at: usize) -> &List {
        &self.lists[at - self.begins]
    }

    /// Adds a suspended block to the stream at index `at`, with the bitmap of its word lines.
    pub fn add(&mut self, at: usize, rests: SuspendedBlock, programmed: &[u64]) {
        let list = &mut self.lists[at - self.begins];
        list.blocks.push(rests);
        list.programmed.extend_from_slice(programmed);
    }

    /// Removes a block from the stream at index `at` and copies its bitmap to `programmed`. Returns the
    /// written locations; `None` if the block is not suspended.
    pub fn take(&mut self, at: usize, block: BlockSetId, programmed: &mut [u64]) -> Option<u32> {
        let list = &mut self.lists[at - self.begins];
        let place = list.position(block)?;
        programmed.copy_from_slice(&list.programmed[place * self.words..][..self.words]);
        Some(list.remove(place, self.words).place)
    }

    /// Removes a block and its bitmap. Returns whether it was suspended.
    pub fn remove(&mut self, at: usize, block: BlockSetId) -> bool {
        let list = &mut self.lists[at - self.begins];
        let Some(place) = list.position(block) else { return false };
        list.remove(place, self.words);
        true
    }

    /// Clears the lists of all streams of a plane group. `first` is the index of its first stream.
    pub fn forget(&mut self, first: usize) {
        let first = first - self.begins;
        for list in &mut self.lists[first..first + self.limits.len()] {
            list.blocks.clear();
            list.programmed.clear();
        }
    }

    /// Clears the lists of all streams.
    pub fn forget_all(&mut self) {
        for List { blocks, programmed } in &mut self.lists {
            blocks.clear();
            programmed.clear();
        }
    }

    /// All suspended blocks of the pool.
    pub fn all(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.lists.iter().flat_map(|list| list.blocks.iter().map(|rests| rests.block))
    }

    /// Bitmaps of [all](Self::all) suspended blocks of the pool.
    pub fn all_bits(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let words = self.words;
        self.lists.iter_mut().flat_map(move |list| list.programmed.chunks_mut(words))
    }
}

/// Suspended blocks of a stream in a plane group, as its design sees them.
#[derive(Clone, Copy)]
pub struct SuspendedBlocks<'a> {
    suspended: &'a Suspended,
    at: usize,
    row: PlaneGroupId,
    stream: u8,
    is_gc: bool,
    /// If set, only blocks with this many locations in a word line are shown, and only if they have
    /// unprogrammed word lines.
    unit: Option<u32>,
}

impl<'a> SuspendedBlocks<'a> {
    /// Suspended blocks of the stream at index `at`, with the stream's number and whether it is of GC. With a
    /// `unit`, only blocks with this many locations in a word line and with unprogrammed word lines.
    pub(super) fn new(
        suspended: &'a Suspended,
        at: usize,
        row: PlaneGroupId,
        (stream, is_gc): (u8, bool),
        unit: Option<u32>,
    ) -> Self {
        Self { suspended, at, row, stream, is_gc, unit }
    }

    /// Plane group of the blocks.
    pub fn row(&self) -> PlaneGroupId {
        self.row
    }

    /// Number of the stream that wrote the blocks. Host streams come first, pool after pool, then GC streams.
    pub fn stream(&self) -> u8 {
        self.stream
    }

    /// Number of blocks.
    pub fn count(&self) -> usize {
        self.iter().count()
    }

    /// Whether a block is one of them.
    pub fn has(&self, block: BlockSetId) -> bool {
        self.iter().any(|one| one.block == block)
    }

    /// The blocks in the order of suspension. After a power cut, those with the fewest written pages come
    /// first.
    pub fn iter(&self) -> impl Iterator<Item = OpenBlock<'a>> + use<'a> {
        let Self { suspended, at, is_gc, unit: wanted, .. } = *self;
        let List { blocks, programmed } = suspended.list(at);
        let shape = suspended.shape;
        let bits = programmed.chunks(suspended.words);
        blocks.iter().zip(bits).filter_map(move |(SuspendedBlock { block, place, unit }, programmed)| {
            let (written, again) = (place / unit, Reprogram::NONE);
            let shown = OpenBlock { block: *block, is_gc, written, shape, programmed, again };
            let may_open = |wanted| wanted == *unit && written < shape.count();
            wanted.is_none_or(may_open).then_some(shown)
        })
    }
}
