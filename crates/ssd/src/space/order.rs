//! The order in which the word lines of open blocks are programmed, where it is not that of their numbers; and which of several
//! open blocks of a stream is programmed next.

use wordline_kernel::state;
use wordline_nand::{BlockSetId, Location, RowId};

use super::{Space, StreamId, Streams};
use crate::policy::frontier::{Again, OpenBlock, WordLines};

/// Which word lines of each open block of a pool were named. A stream of a row may have several open blocks, each in a slot. One of
/// them is at work, and is noted with those of the device; the others are here.
pub(super) struct Order {
    shape: WordLines,
    /// Where the open blocks of the pool begin among those of the device.
    begins: usize,
    /// Open blocks that a stream of a row may have.
    slots: usize,
    /// Bits of the open block in each slot of each stream, row by row.
    programmed: Vec<u64>,
    words: usize,
    /// The word line that the block at work of each stream is at.
    at: Vec<u32>,
    /// The slot of each stream's block at work.
    works: Vec<usize>,
    /// The open blocks in the other slots, and how many of their locations are written.
    others: Vec<Option<(BlockSetId, u32)>>,
}

state!(Order { values { works, others } parts { programmed, at } fixed { shape, begins, slots, words } });

/// Names which of the open blocks of a stream, the one opened first before the others, is programmed next, and its word line.
pub type NextWordLine<'a> = &'a mut dyn FnMut(&[OpenBlock<'_>], &Space) -> (usize, u32);

impl Order {
    /// Nothing is open in a pool of these rows and streams.
    fn new(shape: WordLines, begins: usize, streams: usize, slots: usize) -> Self {
        let words = shape.count().div_ceil(64) as usize;
        Self {
            shape,
            begins,
            slots,
            programmed: vec![0; streams * slots * words],
            words,
            at: vec![0; streams],
            works: vec![0; streams],
            others: vec![None; streams * slots],
        }
    }

    /// The shape of the blocks.
    pub fn shape(&self) -> WordLines {
        self.shape
    }

    /// The slots of the open blocks noted at `at`.
    fn slots(&self, at: usize) -> std::ops::Range<usize> {
        let first = (at - self.begins) * self.slots;
        first..first + self.slots
    }

    /// The slot of the block at work of the stream noted at `at`.
    pub(super) fn works(&self, at: usize) -> usize {
        self.slots(at).start + self.works[at - self.begins]
    }

    /// The bits of the open block in a slot.
    pub(super) fn bits(&self, slot: usize) -> &[u64] {
        &self.programmed[slot * self.words..][..self.words]
    }

    fn bits_mut(&mut self, slot: usize) -> &mut [u64] {
        &mut self.programmed[slot * self.words..][..self.words]
    }

    /// The block in another slot is at work from now on, in place of `before`; returns it.
    fn turn(
        &mut self,
        at: usize,
        slot: usize,
        before: Option<(BlockSetId, u32)>,
    ) -> Option<(BlockSetId, u32)> {
        let works = self.works(at);
        self.others[works] = before;
        self.works[at - self.begins] = slot - self.slots(at).start;
        self.others[slot].take()
    }
}

/// Open blocks of a stream that are shown without memory of their own being asked for. Chosen: designs have one or two.
const FEW: usize = 4;

impl Space {
    /// Sets which word line of a pool's blocks, which are of this shape, is next from now on, and which of this many open
    /// blocks of a stream; to be called before the first one is written.
    pub fn order(&mut self, pool: usize, shape: WordLines, open_blocks: u8) {
        let geometry = &self.pools.get(pool).geometry;
        let streams = geometry.rows() as usize * usize::from(self.streams.host + self.streams.gc);
        let begins = self.at(geometry.first_row(), StreamId(0));
        let order = Order::new(shape, begins, streams, usize::from(open_blocks));
        self.each[pool].order = Some(Box::new(order));
        self.each[pool].at_work = Streams { open_blocks, ..self.streams }.blocks_at_work();
    }

    /// Whether the word lines of a block are programmed in the order of their numbers.
    pub fn is_in_order(&self, block: BlockSetId) -> bool {
        self.each[self.pools.number_of_block(block)].order.is_none()
    }

    /// The open blocks of a stream beside the one at work, and how many of their locations are written.
    pub(super) fn open_beside(
        &self,
        row: RowId,
        stream: StreamId,
    ) -> impl Iterator<Item = (BlockSetId, u32)> + '_ {
        let order = self.of(row).order.as_ref().filter(|order| order.slots > 1);
        let at = self.at(row, stream);
        order.into_iter().flat_map(move |order| order.others[order.slots(at)].iter().flatten().copied())
    }

    /// The location that is the `place`-th to be written of the open block at work noted at `at`. A word line's locations follow
    /// each other.
    pub(super) fn location_in_order(&self, at: usize, block: BlockSetId, place: u32) -> Location {
        let Some(order) = &self.each[self.pools.number_of_block(block)].order else {
            return self.pools.at(block, place);
        };
        // Locations of a word line, in all planes of the row.
        let unit = self.capacity(block) / order.shape.count();
        self.pools.at(block, order.at[at - order.begins] * unit + place % unit)
    }

    /// Has the open block of a stream and its word line named that the next program goes to. `at` is where its block at work is
    /// noted.
    #[inline(never)]
    pub(super) fn name_word_line(&mut self, at: usize, row: RowId, stream: StreamId, next: NextWordLine<'_>) {
        let pool = self.pools.number_of_row(row);
        let (Some(order), Some((block, place))) = (&self.each[pool].order, self.open[at]) else { return };
        let unit = self.capacity(block) / order.shape.count();
        if !place.is_multiple_of(unit) {
            // It goes on in the word line that it is in.
            return;
        }
        if order.slots > 1 {
            self.open_more(at, row, stream);
        }
        let (slot, named) = self.ask_for_word_line(at, pool, next);
        let order = self.each[pool].order.as_mut().expect("the pool has an order");
        if slot != order.works(at) {
            self.open[at] = order.turn(at, slot, self.open[at]);
        }
        order.bits_mut(slot)[named as usize / 64] |= 1 << (named % 64);
        order.at[at - order.begins] = named;
    }

    /// Asks which open block of a stream, and which word line of it, is next: its slot, and the word line.
    fn ask_for_word_line(&mut self, at: usize, pool: usize, next: NextWordLine<'_>) -> (usize, u32) {
        let order = self.each[pool].order.as_mut().expect("the pool has an order");
        let works = order.works(at);
        if self.open[at].is_some_and(|(_, place)| place == 0) {
            order.bits_mut(works).fill(0);
        }
        let order = self.each[pool].order.as_ref().expect("the pool has an order");
        let shown = |slot: usize, (block, place): (BlockSetId, u32)| OpenBlock {
            block,
            is_gc: self.moved_by(block).is_some(),
            written: place * order.shape.count() / self.capacity(block),
            shape: order.shape,
            programmed: order.bits(slot),
            again: Again::NONE,
        };
        let in_slot = |slot: usize| if slot == works { self.open[at] } else { order.others[slot] };
        if order.slots == 1 {
            let open = self.open[at].map(|open| shown(works, open)).expect("a block is at work");
            return (works, next(std::slice::from_ref(&open), self).1);
        }
        let nothing =
            OpenBlock {
            block: BlockSetId(0),
            is_gc: false,
            written: 0,
            shape: order.shape,
            programmed: &[],
            again: Again::NONE,
        };
        let (mut few, mut few_slots) = ([nothing; FEW], [0; FEW]);
        let (mut many, mut many_slots) = (Vec::new(), Vec::new());
        let (open, slots) = if order.slots <= FEW {
            (&mut few[..], &mut few_slots[..])
        } else {
            many.resize(order.slots, nothing);
            many_slots.resize(order.slots, 0);
            (&mut many[..], &mut many_slots[..])
        };
        let mut count = 0;
        for slot in order.slots(at) {
            let Some(one) = in_slot(slot) else { continue };
            // The one opened first comes first.
            let opening = self.opening_of(one.0);
            let place = (0..count).rfind(|place| self.opening_of(open[*place].block) < opening);
            let place = place.map_or(0, |before| before + 1);
            open.copy_within(place..count, place + 1);
            slots.copy_within(place..count, place + 1);
            (open[place], slots[place]) = (shown(slot, one), slot);
            count += 1;
        }
        let (which, word_line) = next(&open[..count], self);
        (slots[which], word_line)
    }

    /// Opens blocks for a stream that may have several, as far as a row has more free blocks than are kept for the collector. A
    /// stream whose blocks change their mode has one at a time.
    fn open_more(&mut self, at: usize, row: RowId, stream: StreamId) {
        while !self.changes_mode(row, stream)
            && self.free(row) > self.kept(row)
            && let Some(slot) = self.empty_slot(at, row)
        {
            let block = self.open_next(row, stream);
            let order = self.of_mut(row).order.as_mut().expect("the pool has an order");
            order.bits_mut(slot).fill(0);
            order.others[slot] = Some((block, 0));
        }
    }

    /// A slot of a stream in which no block is open.
    fn empty_slot(&self, at: usize, row: RowId) -> Option<usize> {
        let order = self.of(row).order.as_ref()?;
        let works = order.works(at);
        order.slots(at).find(|slot| *slot != works && order.others[*slot].is_none())
    }

    /// The block at work of a stream takes nothing more: the one of the others that was opened first is at work now.
    #[inline]
    pub(super) fn end_work(&mut self, at: usize, row: RowId) {
        self.open[at] = None;
        if self.of(row).order.is_some() {
            self.turn_to_oldest(at, row);
        }
    }

    #[inline(never)]
    fn turn_to_oldest(&mut self, at: usize, row: RowId) {
        let Some(order) = self.of(row).order.as_ref() else { return };
        let others = order.slots(at).filter_map(|slot| Some((slot, order.others[slot]?.0)));
        let Some((slot, _)) = others.min_by_key(|(_, block)| self.opening_of(*block)) else { return };
        let order = self.of_mut(row).order.as_mut().expect("it was just there");
        let turned = order.turn(at, slot, None);
        self.open[at] = turned;
    }

    /// Notes that a block that is written in part is open again, where its stream has no other, or may have several; whether it is.
    pub(super) fn reopened(&mut self, at: usize, row: RowId, block: BlockSetId, written: u32) -> bool {
        if self.open[at].is_none() {
            self.open[at] = Some((block, written));
            return true;
        }
        let Some(slot) = self.empty_slot(at, row) else { return false };
        self.of_mut(row).order.as_mut().expect("it has slots").others[slot] = Some((block, written));
        true
    }

    /// A block that is open beside the one at work takes nothing more; whether it was one.
    pub(super) fn close_beside(&mut self, at: usize, row: RowId, block: BlockSetId) -> bool {
        let Some(order) = self.of_mut(row).order.as_mut() else { return false };
        let slots = order.slots(at);
        let other = order.others[slots].iter_mut().find(|other| other.is_some_and(|(open, _)| open == block));
        other.is_some_and(|other| other.take().is_some())
    }

    /// Nothing is open beside the blocks at work any more.
    pub(super) fn forget_open_beside(&mut self, row: RowId) {
        let rows = (row.0 - self.pools.of_row(row).geometry.first_row().0) as usize;
        let streams = usize::from(self.streams.host + self.streams.gc);
        let Some(order) = self.of_mut(row).order.as_mut() else { return };
        let slots = streams * order.slots;
        order.others[rows * slots..][..slots].fill(None);
    }

    /// Finds out again which word lines of the open blocks are programmed, from what flash tells of their locations.
    pub fn look_at_word_lines(&mut self, is_programmed: impl Fn(Location) -> bool) {
        for at in 0..self.open.len() {
            let Some((block, _)) = self.open[at] else { continue };
            let pool = self.pools.number_of_block(block);
            let Some(order) = &self.each[pool].order else { continue };
            let works = order.works(at);
            let others = order.slots(at).filter_map(|slot| Some((slot, order.others[slot]?.0)));
            for (slot, block) in others.chain([(works, block)]).collect::<Vec<_>>() {
                self.look_at_word_lines_of(block, pool, slot, &is_programmed);
            }
        }
    }

    fn look_at_word_lines_of(
        &mut self,
        block: BlockSetId,
        pool: usize,
        slot: usize,
        is_programmed: impl Fn(Location) -> bool,
    ) {
        let capacity = self.capacity(block);
        let Self { each, pools, .. } = self;
        let Some(order) = &mut each[pool].order else { return };
        let (count, unit) = (order.shape.count(), capacity / order.shape.count());
        let bits = order.bits_mut(slot);
        bits.fill(0);
        for word_line in 0..count {
            let programmed = is_programmed(pools.at(block, word_line * unit));
            bits[word_line as usize / 64] |= u64::from(programmed) << (word_line % 64);
        }
    }
}
