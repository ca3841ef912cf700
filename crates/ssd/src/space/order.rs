//! The order in which the word lines of open blocks are programmed, where it is not that of their numbers.

use wordline_kernel::state;
use wordline_nand::{BlockSetId, Location};

use super::{Space, StreamId};
use crate::policy::frontier::{OpenBlock, WordLines};

/// Which word lines of each open block of a pool were named.
pub(super) struct Order {
    shape: WordLines,
    /// Where the open blocks of the pool begin among those of the device.
    begins: usize,
    /// Bits of the open block of each stream, row by row.
    programmed: Vec<u64>,
    words: usize,
    /// The word line that each of them is at.
    at: Vec<u32>,
}

state!(Order { parts { programmed, at } fixed { shape, begins, words } });

/// Names the next word line of an open block.
pub type NextWordLine<'a> = &'a mut dyn FnMut(&OpenBlock<'_>, &Space) -> u32;

impl Order {
    /// The bits of the open block noted at `at`.
    fn bits(&mut self, at: usize) -> &mut [u64] {
        &mut self.programmed[(at - self.begins) * self.words..][..self.words]
    }
}

impl Space {
    /// Has it said from now on which word line of a pool's blocks, which are of this shape, is next; before the first one is
    /// written.
    pub fn order(&mut self, pool: usize, shape: WordLines) {
        let words = shape.count().div_ceil(64) as usize;
        let rows = self.pools.get(pool).geometry.all_rows();
        let open = (rows.end - rows.start) as usize * usize::from(self.streams.host + self.streams.gc);
        let (begins, programmed) = (self.at(rows.start, StreamId(0)), vec![0; open * words]);
        let order = Order { shape, begins, programmed, words, at: vec![0; open] };
        self.each[pool].order = Some(Box::new(order));
    }

    /// Whether the word lines of a block are programmed in the order of their numbers.
    pub fn is_in_order(&self, block: BlockSetId) -> bool {
        self.each[self.pools.number_of_block(block)].order.is_none()
    }

    /// The location that is the `place`-th to be written of the open block noted at `at`. A word line's locations follow each
    /// other.
    #[inline(never)]
    pub(super) fn location_in_order(
        &mut self,
        at: usize,
        block: BlockSetId,
        place: u32,
        next: NextWordLine<'_>,
    ) -> Location {
        let pool = self.pools.number_of_block(block);
        let Some(order) = &self.each[pool].order else { return self.pools.at(block, place) };
        // Locations of a word line, in all planes of the row.
        let unit = self.capacity(block) / order.shape.count();
        let (written, within) = (place / unit, place % unit);
        let word_line = match within {
            0 => self.name_word_line((at, pool), block, written, next),
            _ => order.at[at - order.begins],
        };
        self.pools.at(block, word_line * unit + within)
    }

    /// Has the word line named that an open block of a pool goes on with, of which so many are `written`.
    fn name_word_line(
        &mut self,
        (at, pool): (usize, usize),
        block: BlockSetId,
        written: u32,
        next: NextWordLine<'_>,
    ) -> u32 {
        let is_gc = self.moved_by(block).is_some();
        let there = "the pool has an order";
        let order = self.each[pool].order.as_mut().expect(there);
        if written == 0 {
            order.bits(at).fill(0);
        }
        let order = self.each[pool].order.as_ref().expect(there);
        let programmed = &order.programmed[(at - order.begins) * order.words..][..order.words];
        let named = next(&OpenBlock { block, is_gc, written, shape: order.shape, programmed }, self);
        let order = self.each[pool].order.as_mut().expect(there);
        order.bits(at)[named as usize / 64] |= 1 << (named % 64);
        order.at[at - order.begins] = named;
        named
    }

    /// Finds out again which word lines of the open blocks are programmed, from what flash tells of their locations.
    pub fn look_at_word_lines(&mut self, is_programmed: impl Fn(Location) -> bool) {
        for at in 0..self.open.len() {
            let Some((block, _)) = self.open[at] else { continue };
            let capacity = self.capacity(block);
            let Self { each, pools, .. } = self;
            let Some(order) = &mut each[pools.number_of_block(block)].order else { continue };
            let (count, unit) = (order.shape.count(), capacity / order.shape.count());
            let bits = order.bits(at);
            bits.fill(0);
            for word_line in 0..count {
                let programmed = is_programmed(pools.at(block, word_line * unit));
                bits[word_line as usize / 64] |= u64::from(programmed) << (word_line % 64);
            }
        }
    }
}
