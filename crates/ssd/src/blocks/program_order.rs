//! Order in which the word lines of open blocks are programmed, if it is not numerical. Also the choice among
//! several open blocks of a stream: which one is programmed next, and which one is suspended.

use wordline_kernel::state;
use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use super::suspended::{Suspended, SuspendedBlock, SuspendedBlocks};
pub use super::word_line_selector::{NextWordLine, WordLineSelector};
use super::{BlockManager, State, StreamId, Streams};
use crate::policy::event::DeviceEvent;
use crate::policy::frontier::{OpenBlock, Reprogram, WordLines};

/// Programmed word lines of each open block of a pool. A stream of a plane group may have several open
/// blocks, each in a slot. The active block is in `BlockManager::open`; the other open blocks are here.
pub(super) struct Order {
    shape: WordLines,
    /// Index of the pool's first stream among all streams of the device.
    begins: usize,
    /// Most open blocks of a stream in a plane group.
    slots: usize,
    /// Bitmaps of the open block in each slot of each stream, ordered by plane group.
    programmed: Vec<u64>,
    words: usize,
    /// Bitmap of a block with all word lines programmed.
    full: Vec<u64>,
    /// Current word line of the active block of each stream.
    at: Vec<u32>,
    /// Slot of the active block of each stream.
    works: Vec<usize>,
    /// The open blocks in other slots than the active one, with their written locations.
    others: Vec<Option<(BlockSetId, u32)>>,
    /// Suspended blocks.
    pub suspended: Suspended,
}

state!(Order { values { works, others } parts { programmed, at, suspended } fixed { shape, begins, slots, words, full } });

impl Order {
    /// No open blocks in a pool of `rows` plane groups. `limits` has the most suspended blocks of each
    /// stream.
    fn new(shape: WordLines, begins: usize, rows: usize, slots: usize, limits: Vec<u16>) -> Self {
        let words = shape.count().div_ceil(64) as usize;
        let streams = rows * limits.len();
        Self {
            suspended: Suspended::new(begins, rows, limits, shape),
            shape,
            begins,
            slots,
            programmed: vec![0; streams * slots * words],
            words,
            full: full_bits(shape.count(), words),
            at: vec![0; streams],
            works: vec![0; streams],
            others: vec![None; streams * slots],
        }
    }

    /// Word lines of a block.
    pub fn shape(&self) -> WordLines {
        self.shape
    }

    /// Whether the stream at index `at` of a loaded state has a valid slot and word line.
    pub(super) fn is_sound(&self, at: usize) -> bool {
        let stream = at - self.begins;
        self.works.get(stream).is_some_and(|slot| *slot < self.slots)
            && self.at.get(stream).is_some_and(|line| *line < self.shape.count())
            && self.others.len() * self.words == self.programmed.len()
    }

    /// Open block in a slot other than the active one, and its written locations.
    pub(super) fn other(&self, slot: usize) -> Option<(BlockSetId, u32)> {
        self.others[slot]
    }

    /// Slots of the open blocks of the stream at index `at`.
    pub(super) fn slots(&self, at: usize) -> std::ops::Range<usize> {
        let first = (at - self.begins) * self.slots;
        first..first + self.slots
    }

    /// Slot of the active block of the stream at index `at`.
    pub(super) fn works(&self, at: usize) -> usize {
        self.slots(at).start + self.works[at - self.begins]
    }

    /// Bitmap of the open block in a slot.
    pub(super) fn bits(&self, slot: usize) -> &[u64] {
        &self.programmed[slot * self.words..][..self.words]
    }

    /// A full block as designs see it.
    pub(super) fn full_block(&self, block: BlockSetId, is_gc: bool) -> OpenBlock<'_> {
        let (shape, written) = (self.shape, self.shape.count());
        OpenBlock { block, is_gc, written, shape, programmed: &self.full, again: Reprogram::NONE }
    }

    fn bits_mut(&mut self, slot: usize) -> &mut [u64] {
        &mut self.programmed[slot * self.words..][..self.words]
    }

    /// Makes the block in another slot active instead of `before`, and returns it.
    fn activate(
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

/// Bitmap of `words` words with the first `count` bits set.
fn full_bits(count: u32, words: usize) -> Vec<u64> {
    let word = |n: usize| match (count as usize).saturating_sub(64 * n) {
        rest @ 0..64 => (1 << rest) - 1,
        _ => u64::MAX,
    };
    (0..words).map(word).collect()
}

/// Number of open blocks of a stream that can be shown without a heap allocation. Chosen: designs have one or
/// two.
const FEW: usize = 4;

impl BlockManager {
    /// Sets the program order of a pool: the word lines of its blocks, the open blocks of a stream, and the
    /// most blocks that each stream may suspend. Must be called before the first block is written.
    pub fn order(&mut self, pool: usize, shape: WordLines, open_blocks: u8, suspended: Vec<u16>) {
        let geometry = &self.pools.get(pool).geometry;
        let begins = self.at(geometry.first_group(), StreamId(0));
        let all = suspended.iter().map(|limit| u32::from(*limit)).sum();
        let order = Order::new(shape, begins, geometry.rows() as usize, usize::from(open_blocks), suspended);
        self.each[pool].order = Some(Box::new(order));
        self.each[pool].at_work = Streams { open_blocks, suspended: all, ..self.streams }.active_blocks();
    }

    /// Whether the word lines of a block are programmed in numerical order.
    pub fn is_in_order(&self, block: BlockSetId) -> bool {
        self.each[self.pools.number_of_block(block)].order.is_none()
    }

    /// Open blocks of a stream other than the active one, and their written locations.
    pub(super) fn other_open_blocks(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
    ) -> impl Iterator<Item = (BlockSetId, u32)> + '_ {
        let order = self.of(row).order.as_ref().filter(|order| order.slots > 1);
        let at = self.at(row, stream);
        order.into_iter().flat_map(move |order| order.others[order.slots(at)].iter().flatten().copied())
    }

    /// Location of the active block of the stream at index `at` that is the `place`-th in program order.
    /// Locations of a word line are contiguous.
    pub(super) fn location_in_order(&self, at: usize, block: BlockSetId, place: u32) -> Location {
        let Some(order) = &self.each[self.pools.number_of_block(block)].order else {
            return self.pools.at(block, place);
        };
        // Locations of a word line, in all planes of the group.
        let unit = self.capacity(block) / order.shape.count();
        self.pools.at(block, order.at[at - order.begins] * unit + place % unit)
    }

    /// Selects the open block and the word line for the next program of the stream at index `at`.
    #[inline(never)]
    pub(super) fn select_word_line(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) {
        let pool = self.pools.number_of_group(row);
        let (Some(order), Some((block, place))) = (&self.each[pool].order, self.open[at]) else { return };
        let unit = self.capacity(block) / order.shape.count();
        if !place.is_multiple_of(unit) {
            // The program stays in its current word line.
            return;
        }
        let slots = order.slots;
        self.clear_word_lines(at, pool);
        self.suspend_one(at, row, stream, next);
        self.reclaim_one(at, row, stream, next);
        if slots > 1 {
            self.open_more(at, row, stream, next);
        }
        let (slot, named) = self.query_word_line(at, pool, next);
        let order = self.each[pool].order.as_mut().expect("the pool has an order");
        if slot != order.works(at) {
            self.open[at] = order.activate(at, slot, self.open[at]);
        }
        order.bits_mut(slot)[named as usize / 64] |= 1 << (named % 64);
        order.at[at - order.begins] = named;
    }

    /// Clears the bitmap of a block that was just opened.
    fn clear_word_lines(&mut self, at: usize, pool: usize) {
        if let Some(order) = &mut self.each[pool].order
            && self.open[at].is_some_and(|(_, place)| place == 0)
        {
            let works = order.works(at);
            order.bits_mut(works).fill(0);
        }
    }

    /// Queries the next open block of a stream and its word line. Returns its slot and the word line.
    fn query_word_line(&self, at: usize, pool: usize, next: NextWordLine<'_>) -> (usize, u32) {
        self.with_open(at, pool, |open, slots| {
            let (which, word_line) = next.next(open, self);
            (slots[which], word_line)
        })
    }

    /// Passes the open blocks of a stream and their slots to `show`, in the order of opening.
    fn with_open<T>(&self, at: usize, pool: usize, show: impl FnOnce(&[OpenBlock<'_>], &[usize]) -> T) -> T {
        let order = self.each[pool].order.as_ref().expect("the pool has an order");
        let works = order.works(at);
        let shown = |slot: usize, (block, place): (BlockSetId, u32)| OpenBlock {
            block,
            is_gc: self.relocated_by(block).is_some(),
            written: place * order.shape.count() / self.capacity(block),
            shape: order.shape,
            programmed: order.bits(slot),
            again: Reprogram::NONE,
        };
        let in_slot = |slot: usize| if slot == works { self.open[at] } else { order.others[slot] };
        if order.slots == 1 {
            let open = self.open[at].map(|open| shown(works, open)).expect("a block is at work");
            return show(std::slice::from_ref(&open), &[works]);
        }
        let nothing = OpenBlock {
            block: BlockSetId(0),
            is_gc: false,
            written: 0,
            shape: order.shape,
            programmed: &[],
            again: Reprogram::NONE,
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
            // Sorts by opening, oldest first.
            let opening = self.opening_number(one.0);
            let place = (0..count).rfind(|place| self.opening_number(open[*place].block) < opening);
            let place = place.map_or(0, |before| before + 1);
            open.copy_within(place..count, place + 1);
            slots.copy_within(place..count, place + 1);
            (open[place], slots[place]) = (shown(slot, one), slot);
            count += 1;
        }
        show(&open[..count], &slots[..count])
    }

    /// Suspends an open block of a stream if the design selects one. Opens another block if the suspended
    /// block was the only open one. Suspends nothing while the only free blocks are reserved for GC, because
    /// GC may count on the space in the block.
    fn suspend_one(&mut self, at: usize, row: PlaneGroupId, stream: StreamId, next: NextWordLine<'_>) {
        let pool = self.pools.number_of_group(row);
        let order = self.each[pool].order.as_ref().expect("the pool has an order");
        let Some((at_work, place)) = self.open[at] else { return };
        let may_one = order.suspended.has_room(at)
            && (order.slots > 1 || place > 0)
            && self.can_open(row, false)
            && self.opens_same_size(row, stream, at_work);
        if !may_one {
            return;
        }
        let Some(suspended) = self.suspended_of(row, stream, None) else { return };
        let named = self.with_open(at, pool, |open, _| next.select_to_suspend(open, &suspended, self));
        let Some(block) = named else { return };
        self.suspend_open(at, row, block);
        if self.open[at].is_none() && !self.resume_active(at, row, stream, next) {
            self.open[at] = Some((self.open_next(row, stream), 0));
            self.clear_word_lines(at, pool);
        }
    }

    /// Starts to reclaim a suspended block of a stream with reprogrammable word lines, if the design selects
    /// one. A plane group reclaims one block at a time.
    fn reclaim_one(&mut self, at: usize, row: PlaneGroupId, stream: StreamId, next: NextWordLine<'_>) {
        let again = self.of(row).again.as_ref().filter(|again| again.most(stream.0) > 0);
        if again.is_none_or(|again| again.vacated(row).is_some()) {
            return;
        }
        if self.of(row).order.as_ref().is_none_or(|order| order.suspended.of(at).is_empty()) {
            return;
        }
        let Some(suspended) = self.suspended_of(row, stream, None) else { return };
        let pool = self.pools.number_of_group(row);
        let named = self.with_open(at, pool, |open, _| next.select_to_reclaim(open, &suspended, self));
        if let Some(block) = named {
            self.start_reclaim(row, block);
        }
    }

    /// Suspended blocks of a stream in a plane group. With a `unit`, only blocks with this many locations in
    /// a word line.
    pub(super) fn suspended_of(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        unit: Option<u32>,
    ) -> Option<SuspendedBlocks<'_>> {
        let order = self.of(row).order.as_ref()?;
        let (at, is_gc) = (self.at(row, stream), self.streams.is_gc(stream));
        Some(SuspendedBlocks::new(&order.suspended, at, row, (stream.0, is_gc), unit))
    }

    /// Suspends a full block of a stream if the design decides so. Returns whether it did.
    pub(super) fn suspend_full(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        full: BlockSetId,
        next: NextWordLine<'_>,
    ) -> bool {
        let Some(order) = self.of(row).order.as_ref().filter(|order| order.suspended.has_room(at)) else {
            return false;
        };
        if !self.can_open(row, false) || !self.has_reprogram_left(full) {
            return false;
        }
        let Some(suspended) = self.suspended_of(row, stream, None) else { return false };
        let (shape, open) = (order.shape, order.full_block(full, self.streams.is_gc(stream)));
        if next.select_to_suspend(std::slice::from_ref(&open), &suspended, self).is_none() {
            return false;
        }
        self.stop_reprogram(at, row, full);
        let rests = SuspendedBlock {
            block: full,
            place: self.capacity(full),
            unit: self.capacity(full) / shape.count(),
        };
        let order = self.of_mut(row).order.as_mut().expect("it was just there");
        let Order { suspended, full: bits, .. } = &mut **order;
        suspended.add(at, rests, bits);
        self.table[full].state = State::Suspended;
        self.note(DeviceEvent::Suspended { block: full });
        true
    }

    /// Suspends an open block of the stream at index `at`, with the bitmap of its programmed word lines.
    fn suspend_open(&mut self, at: usize, row: PlaneGroupId, block: BlockSetId) {
        let (at_work, capacity) = (self.open[at].filter(|(open, _)| *open == block), self.capacity(block));
        let order = self.of_mut(row).order.as_mut().expect("the pool has an order");
        let is_it = |slot: &usize| order.others[*slot].is_some_and(|(open, _)| open == block);
        let slot = match at_work {
            Some(_) => order.works(at),
            None => order.slots(at).find(is_it).expect("it is one of the open blocks that were shown"),
        };
        let (_, place) = at_work.or_else(|| order.others[slot].take()).expect("it is open");
        let rests = SuspendedBlock { block, place, unit: capacity / order.shape.count() };
        let Order { suspended, programmed, words, .. } = &mut **order;
        suspended.add(at, rests, &programmed[slot * *words..][..*words]);
        if at_work.is_some() {
            self.clear_active(at, row);
        }
        self.table[block].state = State::Suspended;
        self.note(DeviceEvent::Suspended { block });
    }

    /// Resumes a suspended block as the stream's active block, if the design selects one. Returns whether it
    /// did.
    #[inline(never)]
    pub(super) fn resume_active(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) -> bool {
        let Some(order) = &self.of(row).order else { return false };
        let works = order.works(at);
        self.open[at] = self.resume_into(works, at, row, stream, next);
        self.open[at].is_some()
    }

    /// Resumes a suspended block of a stream into a slot, if the design selects one.
    fn resume_into(
        &mut self,
        slot: usize,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) -> Option<(BlockSetId, u32)> {
        if self.of(row).order.as_ref()?.suspended.of(at).is_empty() {
            return None;
        }
        // The next program has the unit of the blocks that the stream opens now.
        let suspended = self.suspended_of(row, stream, Some(self.unit(row, stream)))?;
        if suspended.count() == 0 {
            return None;
        }
        let block = next.select_to_resume(&suspended, self)?;
        let order = self.of_mut(row).order.as_mut().expect("the pool has an order");
        let Order { suspended, programmed, words, .. } = &mut **order;
        let place = suspended.take(at, block, &mut programmed[slot * *words..][..*words]);
        self.table[block].state = State::Open;
        self.note(DeviceEvent::Resumed { block });
        Some((block, place.expect("it is one of the suspended blocks that were shown")))
    }

    /// Removes a block from the suspended ones. Returns whether it was suspended.
    pub(super) fn end_suspension(&mut self, row: PlaneGroupId, block: BlockSetId) -> bool {
        let at = self.at(row, self.table[block].written_by);
        self.of_mut(row).order.as_mut().is_some_and(|order| order.suspended.remove(at, block))
    }

    /// Opens further blocks for a stream that may have several, while the plane group has more free blocks
    /// than are reserved for GC. A stream whose blocks change mode has one open block at a time.
    fn open_more(&mut self, at: usize, row: PlaneGroupId, stream: StreamId, next: NextWordLine<'_>) {
        while !self.may_change_mode(row, stream)
            && self.free(row) > self.kept(row)
            && let Some(slot) = self.empty_slot(at, row)
        {
            let resumed = self.resume_into(slot, at, row, stream, next);
            let opened = resumed.unwrap_or_else(|| (self.open_next(row, stream), 0));
            let order = self.of_mut(row).order.as_mut().expect("the pool has an order");
            if resumed.is_none() {
                order.bits_mut(slot).fill(0);
            }
            order.others[slot] = Some(opened);
        }
    }

    /// Slot of a stream without an open block.
    fn empty_slot(&self, at: usize, row: PlaneGroupId) -> Option<usize> {
        let order = self.of(row).order.as_ref()?;
        let works = order.works(at);
        order.slots(at).find(|slot| *slot != works && order.others[*slot].is_none())
    }

    /// Clears the active block of a stream. The oldest of its other open blocks becomes active.
    #[inline]
    pub(super) fn clear_active(&mut self, at: usize, row: PlaneGroupId) {
        self.open[at] = None;
        if self.of(row).order.is_some() {
            self.activate_oldest(at, row);
        }
    }

    #[inline(never)]
    fn activate_oldest(&mut self, at: usize, row: PlaneGroupId) {
        let Some(order) = self.of(row).order.as_ref() else { return };
        let others = order.slots(at).filter_map(|slot| Some((slot, order.others[slot]?.0)));
        let Some((slot, _)) = others.min_by_key(|(_, block)| self.opening_number(*block)) else { return };
        let order = self.of_mut(row).order.as_mut().expect("it was just there");
        let turned = order.activate(at, slot, None);
        self.open[at] = turned;
    }

    /// State of a block written in part after a power cut. It is open if its stream has no active block or a
    /// free slot. Otherwise it is suspended if its stream may suspend another block, and full if not.
    pub(super) fn reopened(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        block: BlockSetId,
        written: u32,
    ) -> State {
        if self.open[at].is_none() {
            self.open[at] = Some((block, written));
            return State::Open;
        }
        let has_several = !self.may_change_mode(row, self.table[block].written_by);
        let capacity = self.capacity(block);
        let slot = self.empty_slot(at, row).filter(|_| has_several);
        let Some(order) = self.of_mut(row).order.as_mut() else { return State::Closing };
        if let Some(slot) = slot {
            order.others[slot] = Some((block, written));
            return State::Open;
        }
        if !order.suspended.has_room(at) {
            return State::Closing;
        }
        let nothing = vec![0; order.words];
        let unit = capacity / order.shape.count();
        order.suspended.add(at, SuspendedBlock { block, place: written, unit }, &nothing);
        State::Suspended
    }

    /// Sets the states of blocks written in part, given with their written locations, after a power cut. Each
    /// stream reopens as many blocks as it may have open, beginning with the least written ones, because GC
    /// counts on the space in them. The other blocks are suspended or full.
    pub(super) fn choose_open(&mut self, mut written: Vec<(u32, BlockSetId)>) {
        written.sort_unstable();
        for (written, block) in written {
            let row = self.group_of(block);
            let at = self.at(row, self.table[block].written_by);
            self.table[block].state = self.reopened(at, row, block, written);
        }
    }

    /// Whether the stream at index `at` may ever suspend blocks of a plane group.
    pub(super) fn can_suspend(&self, at: usize, row: PlaneGroupId) -> bool {
        self.of(row).order.as_ref().is_some_and(|order| order.suspended.limit(at) > 0)
    }

    /// Closes an open block other than the active one. Returns whether it was such a block.
    pub(super) fn close_other(&mut self, at: usize, row: PlaneGroupId, block: BlockSetId) -> bool {
        let Some(order) = self.of_mut(row).order.as_mut() else { return false };
        let slots = order.slots(at);
        let other = order.others[slots].iter_mut().find(|other| other.is_some_and(|(open, _)| open == block));
        other.is_some_and(|other| other.take().is_some())
    }

    /// Clears the suspended blocks of a plane group and its open blocks other than the active ones.
    pub(super) fn clear_other_open(&mut self, row: PlaneGroupId) {
        let rows = (row.0 - self.pools.of_group(row).geometry.first_group().0) as usize;
        let streams = usize::from(self.streams.host + self.streams.gc);
        let first = self.at(row, StreamId(0));
        let Some(order) = self.of_mut(row).order.as_mut() else { return };
        let slots = streams * order.slots;
        order.others[rows * slots..][..slots].fill(None);
        order.suspended.forget(first);
    }

    /// Rebuilds the bitmaps of open and suspended blocks from flash after a power cut.
    pub fn rebuild_word_lines(&mut self, is_programmed: impl Fn(Location) -> bool) {
        for at in 0..self.open.len() {
            let Some((block, _)) = self.open[at] else { continue };
            let pool = self.pools.number_of_block(block);
            let Some(order) = &self.each[pool].order else { continue };
            let (works, shape) = (order.works(at), order.shape);
            let others = order.slots(at).filter_map(|slot| Some((slot, order.others[slot]?.0)));
            for (slot, block) in others.chain([(works, block)]).collect::<Vec<_>>() {
                let bits = self.word_lines_of(block, shape, &is_programmed);
                let order = self.each[pool].order.as_mut().expect("it was just there");
                order.bits_mut(slot).copy_from_slice(&bits);
            }
        }
        self.rebuild_suspended(is_programmed);
    }

    fn rebuild_suspended(&mut self, is_programmed: impl Fn(Location) -> bool) {
        for pool in 0..self.each.len() {
            let Some(order) = &self.each[pool].order else { continue };
            let found: Vec<Vec<u64>> = order
                .suspended
                .all()
                .map(|block| self.word_lines_of(block, order.shape, &is_programmed))
                .collect();
            let order = self.each[pool].order.as_mut().expect("it was just there");
            order.suspended.all_bits().zip(found).for_each(|(bits, found)| bits.copy_from_slice(&found));
        }
    }

    /// Bitmap of the programmed word lines of a block.
    fn word_lines_of(
        &self,
        block: BlockSetId,
        shape: WordLines,
        is_programmed: impl Fn(Location) -> bool,
    ) -> Vec<u64> {
        let (count, unit) = (shape.count(), self.capacity(block) / shape.count());
        let mut bits = vec![0; count.div_ceil(64) as usize];
        for word_line in 0..count {
            let programmed = is_programmed(self.pools.at(block, word_line * unit));
            bits[word_line as usize / 64] |= u64::from(programmed) << (word_line % 64);
        }
        bits
    }
}
