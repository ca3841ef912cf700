//! Free-space map of a file system: a bitmap, and a next-fit allocator.

/// Upper bound on free runs examined to find a run that is long enough. Chosen: with 40% free space such a
/// run is nearly always found within this number, and no request waits for a long search.
const MAX_RUNS_EXAMINED: usize = 16;

/// Blocks from `first` on, some of them allocated.
#[derive(Clone, Debug)]
pub struct FreeSpaceMap {
    first: u32,
    blocks: u32,
    /// One bit per block, set if allocated; bits after the last block are set, too.
    words: Vec<u64>,
    /// Start of the next search.
    cursor: u32,
    free: u32,
}

impl FreeSpaceMap {
    /// Creates a map of free blocks.
    pub fn new(first: u32, blocks: u32) -> Self {
        let mut words = vec![0; blocks.div_ceil(64) as usize];
        if let (Some(last), tail @ 1..) = (words.last_mut(), blocks % 64) {
            *last = u64::MAX << tail;
        }
        Self { first, blocks, words, cursor: 0, free: blocks }
    }

    /// Number of free blocks.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Total number of blocks.
    #[cfg(test)]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Number of the first block.
    #[cfg(test)]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Allocates up to `wanted` contiguous blocks: from the first run after the last allocation that is long
    /// enough, else from the longest of the few runs examined. Returns first block and count; `None` if
    /// nothing is free.
    pub fn take(&mut self, wanted: u32) -> Option<(u32, u32)> {
        if self.free == 0 || wanted == 0 {
            return None;
        }
        let (mut from, mut longest) = (self.cursor, (0, 0));
        for _ in 0..MAX_RUNS_EXAMINED {
            let start = self.first_free(from);
            let length = self.run(start, wanted);
            if length > longest.1 {
                longest = (start, length);
            }
            if length == wanted {
                break;
            }
            from = start + length;
        }
        let (start, length) = longest;
        self.mark(start, length, true);
        self.cursor = start + length;
        Some((self.first + start, length))
    }

    /// Allocates up to `wanted` blocks from `block` on while they are free. Returns how many it allocated.
    pub fn allocate_at(&mut self, block: u32, wanted: u32) -> u32 {
        let start = block - self.first;
        if start >= self.blocks {
            return 0;
        }
        let length = self.run(start, wanted);
        self.mark(start, length, true);
        length
    }

    /// Frees blocks.
    pub fn release(&mut self, block: u32, blocks: u32) {
        self.mark(block - self.first, blocks, false);
    }

    /// Returns the first free block from `from` on, wrapping around; one must exist.
    fn first_free(&self, from: u32) -> u32 {
        let from = if from < self.blocks { from } else { 0 };
        let mut at = from as usize / 64;
        let mut word = self.words[at] | !(u64::MAX << (from % 64));
        // Once around, and the first word a second time.
        for _ in 0..=self.words.len() {
            if word != u64::MAX {
                return at as u32 * 64 + word.trailing_ones();
            }
            at = if at + 1 < self.words.len() { at + 1 } else { 0 };
            word = self.words[at];
        }
        unreachable!("a block is free")
    }

    /// Number of contiguous free blocks from `start` on, at most `most`.
    fn run(&self, start: u32, most: u32) -> u32 {
        let mut length = 0;
        while length < most && start + length < self.blocks {
            let at = start + length;
            let here = (self.words[at as usize / 64] >> (at % 64)).trailing_zeros().min(64 - at % 64);
            length += here;
            if at % 64 + here < 64 {
                break;
            }
        }
        length.min(most)
    }

    fn mark(&mut self, start: u32, blocks: u32, taken: bool) {
        let (mut at, end) = (start, start + blocks);
        while at < end {
            let here = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - here)) << (at % 64);
            let word = &mut self.words[at as usize / 64];
            assert_eq!(*word & mask, if taken { 0 } else { mask }, "a block is taken or given back twice");
            *word ^= mask;
            at += here;
        }
        self.free = if taken { self.free - blocks } else { self.free + blocks };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_are_taken_in_a_row_round_the_end_and_given_back() {
        let mut space = FreeSpaceMap::new(10, 100);
        assert_eq!(space.take(60), Some((10, 60)));
        assert_eq!(space.take(30), Some((70, 30)));
        space.release(20, 15);
        assert_eq!(space.take(12), Some((20, 12)), "the ten at the end are too few");
        assert_eq!(space.take(12), Some((100, 10)), "the longest that there is");
        assert_eq!(space.take(12), Some((32, 3)));
        assert_eq!((space.take(1), space.free()), (None, 0));
        space.release(32, 3);
        assert_eq!((space.allocate_at(32, 5), space.allocate_at(110, 1)), (3, 0));
    }

    proptest! {
        #[test]
        fn whatever_is_taken_and_given_back_no_block_is_taken_twice(
            blocks in 1u32..500, steps in prop::collection::vec((any::<bool>(), 0u32..80), 0..200)
        ) {
            let mut space = FreeSpaceMap::new(7, blocks);
            let mut taken: Vec<(u32, u32)> = Vec::new();
            for (is_taken, number) in steps {
                if is_taken {
                    if let Some(run) = space.take(number) {
                        prop_assert!(run.1 >= 1 && run.1 <= number && run.0 >= 7 && run.0 + run.1 <= 7 + blocks);
                        let apart = |other: &(u32, u32)| other.0 + other.1 <= run.0 || run.0 + run.1 <= other.0;
                        prop_assert!(taken.iter().all(apart), "{run:?} of {taken:?}");
                        taken.push(run);
                    } else {
                        prop_assert!(number == 0 || space.free() == 0);
                    }
                } else if !taken.is_empty() {
                    let (block, count) = taken.swap_remove(number as usize % taken.len());
                    space.release(block, count);
                }
                prop_assert_eq!(space.free() + taken.iter().map(|run| run.1).sum::<u32>(), blocks);
            }
        }
    }
}
