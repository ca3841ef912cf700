//! Map of the blocks that random requests of a pass have accessed.

/// Bits in a word.
const BITS: u64 = 64;

/// One bit for each block, and above it one bit for each word that has no free block, and so on.
#[derive(Clone, Debug)]
pub struct RandomMap {
    blocks: u64,
    levels: Vec<Vec<u64>>,
}

impl RandomMap {
    /// Creates a map of `blocks` free blocks, at least 1.
    pub fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut count = blocks;
        loop {
            let words = count.div_ceil(BITS);
            let mut level = vec![0; words as usize];
            // Bits behind the last block count as taken.
            if !count.is_multiple_of(BITS) {
                *level.last_mut().expect("there is a word") = u64::MAX << (count % BITS);
            }
            levels.push(level);
            if words == 1 {
                return Self { blocks, levels };
            }
            count = words;
        }
    }

    /// Frees all blocks.
    pub fn reset(&mut self) {
        *self = Self::new(self.blocks);
    }

    fn is_taken(&self, level: usize, bit: u64) -> bool {
        self.levels[level][(bit / BITS) as usize] >> (bit % BITS) & 1 > 0
    }

    /// Returns the first free block from `block` on, or the first of all.
    pub fn next_free(&self, block: u64) -> Option<u64> {
        self.free_from(block).or_else(|| self.free_from(0))
    }

    fn free_from(&self, block: u64) -> Option<u64> {
        let (mut level, mut bit) = (0, block);
        loop {
            let word = self.levels.get(level)?.get((bit / BITS) as usize)?;
            let free = !word & u64::MAX << (bit % BITS);
            if free > 0 {
                bit = bit / BITS * BITS + u64::from(free.trailing_zeros());
                if level == 0 {
                    return Some(bit);
                }
                level -= 1;
                bit *= BITS;
            } else {
                level += 1;
                bit = bit / BITS + 1;
            }
        }
    }

    /// Takes up to `count` free blocks from `block` on, up to the first taken one, and returns their number.
    pub fn take(&mut self, block: u64, count: u64) -> u64 {
        let end = block.saturating_add(count).min(self.blocks);
        let mut at = block;
        while at < end && !self.is_taken(0, at) {
            self.set(at);
            at += 1;
        }
        at - block
    }

    fn set(&mut self, block: u64) {
        let mut bit = block;
        for level in &mut self.levels {
            let word = &mut level[(bit / BITS) as usize];
            *word |= 1 << (bit % BITS);
            if *word < u64::MAX {
                return;
            }
            bit /= BITS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_found_once_from_any_start() {
        for blocks in [1, 2, 63, 64, 65, 4096, 4097, 5000] {
            let mut map = RandomMap::new(blocks);
            let mut found = vec![false; blocks as usize];
            for n in 0..blocks {
                let start = n * 7919 % blocks;
                let block = map.next_free(start).expect("one is free");
                assert!(!std::mem::replace(&mut found[block as usize], true), "{block} of {blocks} twice");
                assert_eq!(map.take(block, 1), 1);
            }
            assert_eq!(map.next_free(0), None, "{blocks}");
            map.reset();
            assert_eq!(map.next_free(blocks - 1), Some(blocks - 1));
        }
    }

    #[test]
    fn a_run_ends_before_a_taken_block_and_at_the_end() {
        let mut map = RandomMap::new(100);
        assert_eq!(map.take(70, 4), 4);
        assert_eq!((map.take(66, 10), map.take(98, 10)), (4, 2));
        assert_eq!((map.next_free(66), map.next_free(98)), (Some(74), Some(0)));
    }
}
