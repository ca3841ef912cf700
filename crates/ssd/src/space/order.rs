//! The order in which the word lines of open blocks are programmed, where it is not that of their numbers.

use wordline_kernel::state;
use wordline_nand::{BlockSetId, Location};

use super::Space;
use crate::policy::frontier::{Frontier, OpenBlock, WordLines};

/// The frontier, and which word lines of each open block it has named.
pub(super) struct Order {
    frontier: Box<dyn Frontier>,
    shape: WordLines,
    /// Bits of the open block of each stream, row by row.
    programmed: Vec<u64>,
    words: usize,
    /// The word line that each of them is at.
    at: Vec<u32>,
}

state!(Order { parts { frontier, programmed, at } fixed { shape, words } });

impl Space {
    /// Lets `frontier` say which word line of a block of this shape is next; before the first one is written.
    pub fn order(&mut self, frontier: Box<dyn Frontier>, shape: WordLines) {
        let words = shape.count().div_ceil(64) as usize;
        let programmed = vec![0; self.open.len() * words];
        let at = vec![0; self.open.len()];
        self.order = Some(Box::new(Order { frontier, shape, programmed, words, at }));
    }

    /// Whether word lines are programmed in the order of their numbers.
    pub fn is_in_order(&self) -> bool {
        self.order.is_none()
    }

    /// Locations of a word line of a block, in all planes of the row.
    fn per_word_line(&self, block: BlockSetId) -> u32 {
        self.order.as_ref().map_or(1, |order| self.capacity(block) / order.shape.count())
    }

    /// The location that is the `place`-th to be written of the open block noted at `at`. A word line's locations follow each
    /// other.
    #[inline(never)]
    pub(super) fn location_in_order(&mut self, at: usize, block: BlockSetId, place: u32) -> Location {
        let unit = self.per_word_line(block);
        let is_gc = self.moved_by(block).is_some();
        let Some(order) = &mut self.order else { return self.pools.at(block, place) };
        let (written, within) = (place / unit, place % unit);
        if within == 0 {
            let bits = &mut order.programmed[at * order.words..][..order.words];
            if written == 0 {
                bits.fill(0);
            }
            let open = OpenBlock { block, is_gc, written, shape: order.shape, programmed: bits };
            let next = order.frontier.next(&open);
            let fresh = next < order.shape.count() && !open.is_programmed(next);
            assert!(fresh, "the frontier chose word line {next} of {block:?}, which is none, or programmed");
            bits[next as usize / 64] |= 1 << (next % 64);
            order.at[at] = next;
        }
        self.pools.at(block, order.at[at] * unit + within)
    }

    /// Finds out again which word lines of the open blocks are programmed, from what flash tells of their locations.
    pub fn look_at_word_lines(&mut self, is_programmed: impl Fn(Location) -> bool) {
        for at in 0..if self.is_in_order() { 0 } else { self.open.len() } {
            let Some((block, _)) = self.open[at] else { continue };
            let unit = self.per_word_line(block);
            let Self { order, pools, .. } = self;
            let Some(order) = order else { return };
            let bits = &mut order.programmed[at * order.words..][..order.words];
            bits.fill(0);
            for word_line in 0..order.shape.count() {
                let programmed = is_programmed(pools.at(block, word_line * unit));
                bits[word_line as usize / 64] |= u64::from(programmed) << (word_line % 64);
            }
        }
    }
}
