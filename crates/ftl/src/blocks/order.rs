//! Open and suspended blocks of a pool whose word lines are not programmed in numerical order, with the word
//! lines that are programmed in each.

use wordline_kernel::ensure::ensure;
use wordline_kernel::state;
use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use super::block::State;
use super::reprogram::Reprogram;
use super::streams::{ActiveBlocks, OpenPlace, StreamId};
use super::suspended::{Suspended, SuspendedBlock, SuspendedBlocks};
use super::table::BlockTable;
use crate::policy::frontier::{self, OpenBlock, WordLines};

/// Programmed word lines of each open block of a pool. A stream of a plane group may have several open
/// blocks, each in a slot. The active block is in [`ActiveBlocks`]; the other open blocks are here.
pub(super) struct Order {
    shape: WordLines,
    /// Index of the pool's first stream among all streams of the device.
    begins: usize,
    /// First plane group of the pool.
    first_group: PlaneGroupId,
    /// Streams of a plane group.
    streams: usize,
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
    others: Vec<Option<OpenPlace>>,
    /// Suspended blocks.
    pub suspended: Suspended,
}

state!(Order {
    values { works, others }
    parts { programmed, at, suspended }
    fixed { shape, begins, first_group, streams, slots, words, full }
});

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

impl Order {
    /// No open blocks in a pool of `rows` plane groups from `first_group` on. `begins` is the index of its
    /// first stream. `limits` has the most suspended blocks of each stream.
    pub fn new(
        shape: WordLines,
        (first_group, begins): (PlaneGroupId, usize),
        rows: usize,
        slots: usize,
        limits: Vec<u16>,
    ) -> Self {
        let words = shape.count().div_ceil(64) as usize;
        let streams = limits.len();
        let all = rows * streams;
        Self {
            suspended: Suspended::new(begins, rows, limits, shape),
            shape,
            begins,
            first_group,
            streams,
            slots,
            programmed: vec![0; all * slots * words],
            words,
            full: full_bits(shape.count(), words),
            at: vec![0; all],
            works: vec![0; all],
            others: vec![None; all * slots],
        }
    }

    /// Word lines of a block.
    pub fn shape(&self) -> WordLines {
        self.shape
    }

    /// Locations of a word line of a block, in all planes of the group.
    pub fn unit(&self, block: BlockSetId, table: &BlockTable) -> u32 {
        table.capacity(block) / self.shape.count()
    }

    /// Whether a stream may have several open blocks.
    pub fn has_several_slots(&self) -> bool {
        self.slots > 1
    }

    /// Index of the first stream of a plane group.
    fn first_of(&self, row: PlaneGroupId) -> usize {
        self.begins + (row.0 - self.first_group.0) as usize * self.streams
    }

    /// Indices of the streams of a plane group.
    fn all_of(&self, row: PlaneGroupId) -> std::ops::Range<usize> {
        let first = self.first_of(row);
        first..first + self.streams
    }

    /// Open block in a slot other than the active one, and its written locations.
    fn other(&self, slot: usize) -> Option<OpenPlace> {
        self.others[slot]
    }

    /// Open blocks of the stream at index `at` other than the active one, and their written locations.
    pub fn others(&self, at: usize) -> impl Iterator<Item = OpenPlace> + '_ {
        let slots = if self.slots > 1 { self.slots(at) } else { 0..0 };
        self.others[slots].iter().flatten().copied()
    }

    /// Slots of the open blocks of the stream at index `at`.
    fn slots(&self, at: usize) -> std::ops::Range<usize> {
        let first = (at - self.begins) * self.slots;
        first..first + self.slots
    }

    /// Slot of the active block of the stream at index `at`.
    pub fn works(&self, at: usize) -> usize {
        self.slots(at).start + self.works[at - self.begins]
    }

    /// Bitmap of the open block in a slot.
    pub fn bits(&self, slot: usize) -> &[u64] {
        &self.programmed[slot * self.words..][..self.words]
    }

    fn bits_mut(&mut self, slot: usize) -> &mut [u64] {
        &mut self.programmed[slot * self.words..][..self.words]
    }

    /// Clears the bitmap of a block that was just opened in a slot.
    pub fn clear_word_lines(&mut self, slot: usize) {
        self.bits_mut(slot).fill(0);
    }

    /// Location of the active block of the stream at index `at` that is the `place`-th in program order.
    /// Locations of a word line are contiguous.
    pub fn location(&self, at: usize, block: BlockSetId, place: u32, table: &BlockTable) -> Location {
        let unit = self.unit(block, table);
        table.pools.at(block, self.at[at - self.begins] * unit + place % unit)
    }

    /// Marks a word line of the block in a slot, which the next program of the stream at index `at` writes.
    /// If the block is not the active one, it becomes active instead of `before`. Returns the active block.
    pub fn program(
        &mut self,
        at: usize,
        (slot, word_line): (usize, u32),
        before: Option<OpenPlace>,
    ) -> Option<OpenPlace> {
        let active = if slot == self.works(at) { before } else { self.activate(at, slot, before) };
        self.bits_mut(slot)[word_line as usize / 64] |= 1 << (word_line % 64);
        self.at[at - self.begins] = word_line;
        active
    }

    /// Makes the block in another slot active instead of `before`, and returns it.
    fn activate(&mut self, at: usize, slot: usize, before: Option<OpenPlace>) -> Option<OpenPlace> {
        let works = self.works(at);
        self.others[works] = before;
        self.works[at - self.begins] = slot - self.slots(at).start;
        self.others[slot].take()
    }

    /// Makes the oldest of the other open blocks of a stream active, and returns it.
    #[inline(never)]
    pub fn activate_oldest(&mut self, at: usize, table: &BlockTable) -> Option<OpenPlace> {
        let others = self.slots(at).filter_map(|slot| Some((slot, self.others[slot]?.0)));
        let (slot, _) = others.min_by_key(|(_, block)| table.opening_number(*block))?;
        self.activate(at, slot, None)
    }

    /// Slot of a stream without an open block.
    pub fn empty_slot(&self, at: usize) -> Option<usize> {
        let works = self.works(at);
        self.slots(at).find(|slot| *slot != works && self.others[*slot].is_none())
    }

    /// Adds an open block in a slot other than the active one.
    pub fn add_other(&mut self, slot: usize, open: OpenPlace) {
        self.others[slot] = Some(open);
    }

    /// Closes an open block other than the active one. Returns whether it was such a block.
    pub fn close_other(&mut self, at: usize, block: BlockSetId) -> bool {
        let slots = self.slots(at);
        let other = self.others[slots].iter_mut().find(|other| other.is_some_and(|(open, _)| open == block));
        other.is_some_and(|other| other.take().is_some())
    }

    /// A full block as designs see it.
    pub fn full_block(&self, block: BlockSetId, is_gc: bool) -> OpenBlock<'_> {
        let (shape, written) = (self.shape, self.shape.count());
        OpenBlock { block, is_gc, written, shape, programmed: &self.full, again: frontier::Reprogram::NONE }
    }

    /// The open block in a slot as designs see it.
    pub fn shown(&self, slot: usize, (block, place): OpenPlace, table: &BlockTable) -> OpenBlock<'_> {
        OpenBlock {
            block,
            is_gc: table.opened_by(block).gc().is_some(),
            written: place * self.shape.count() / table.capacity(block),
            shape: self.shape,
            programmed: self.bits(slot),
            again: frontier::Reprogram::NONE,
        }
    }

    /// Passes the open blocks of a stream and their slots to `show`, in the order of opening.
    pub fn with_open<T>(
        &self,
        at: usize,
        active: Option<OpenPlace>,
        table: &BlockTable,
        show: impl FnOnce(&[OpenBlock<'_>], &[usize]) -> T,
    ) -> T {
        let works = self.works(at);
        let in_slot = |slot: usize| if slot == works { active } else { self.others[slot] };
        if self.slots == 1 {
            let open = active.map(|open| self.shown(works, open, table)).expect("a block is at work");
            return show(std::slice::from_ref(&open), &[works]);
        }
        let nothing = OpenBlock {
            block: BlockSetId(0),
            is_gc: false,
            written: 0,
            shape: self.shape,
            programmed: &[],
            again: frontier::Reprogram::NONE,
        };
        let (mut few, mut few_slots) = ([nothing; FEW], [0; FEW]);
        let (mut many, mut many_slots) = (Vec::new(), Vec::new());
        let (open, slots) = if self.slots <= FEW {
            (&mut few[..], &mut few_slots[..])
        } else {
            many.resize(self.slots, nothing);
            many_slots.resize(self.slots, 0);
            (&mut many[..], &mut many_slots[..])
        };
        let mut count = 0;
        for slot in self.slots(at) {
            let Some(one) = in_slot(slot) else { continue };
            // Sorts by opening, oldest first.
            let opening = table.opening_number(one.0);
            let place = (0..count).rfind(|place| table.opening_number(open[*place].block) < opening);
            let place = place.map_or(0, |before| before + 1);
            open.copy_within(place..count, place + 1);
            slots.copy_within(place..count, place + 1);
            (open[place], slots[place]) = (self.shown(slot, one, table), slot);
            count += 1;
        }
        show(&open[..count], &slots[..count])
    }

    /// Suspends an open block of the stream at index `at`, with the bitmap of its programmed word lines.
    /// `active` is the active block of the stream. Returns whether it is that block.
    pub fn suspend(
        &mut self,
        at: usize,
        block: BlockSetId,
        active: Option<OpenPlace>,
        table: &BlockTable,
    ) -> bool {
        let at_work = active.filter(|(open, _)| *open == block);
        let is_it = |slot: &usize| self.others[*slot].is_some_and(|(open, _)| open == block);
        let slot = match at_work {
            Some(_) => self.works(at),
            None => self.slots(at).find(is_it).expect("it is one of the open blocks that were shown"),
        };
        let (_, place) = at_work.or_else(|| self.others[slot].take()).expect("it is open");
        let rests = SuspendedBlock { block, place, unit: self.unit(block, table) };
        let Self { suspended, programmed, words, .. } = self;
        suspended.add(at, rests, &programmed[slot * *words..][..*words]);
        at_work.is_some()
    }

    /// Suspends a full block of the stream at index `at`.
    pub fn suspend_full(&mut self, at: usize, block: BlockSetId, table: &BlockTable) {
        let rests = SuspendedBlock { block, place: table.capacity(block), unit: self.unit(block, table) };
        self.suspended.add(at, rests, &self.full);
    }

    /// Suspends a block written in part that was found after a power cut, if its stream may suspend another
    /// block. Returns whether it may. The bitmap is [rebuilt](Self::rebuild) later.
    pub fn suspend_found(&mut self, at: usize, block: BlockSetId, place: u32, table: &BlockTable) -> bool {
        let has_room = self.suspended.has_room(at);
        if has_room {
            let rests = SuspendedBlock { block, place, unit: self.unit(block, table) };
            self.suspended.add(at, rests, &vec![0; self.words]);
        }
        has_room
    }

    /// Resumes a suspended block of the stream at index `at` into a slot, and returns its write pointer.
    pub fn resume(&mut self, at: usize, slot: usize, block: BlockSetId) -> u32 {
        let Self { suspended, programmed, words, .. } = self;
        let place = suspended.take(at, block, &mut programmed[slot * *words..][..*words]);
        place.expect("it is one of the suspended blocks that were shown")
    }

    /// Whether the stream at index `at` may ever suspend blocks.
    pub fn can_suspend(&self, at: usize) -> bool {
        self.suspended.limit(at) > 0
    }

    /// Suspended blocks of a stream in a plane group. With a `unit`, only blocks with this many locations in
    /// a word line.
    pub fn suspended_of(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        is_gc: bool,
        unit: Option<u32>,
    ) -> SuspendedBlocks<'_> {
        let at = self.first_of(row) + usize::from(stream.0);
        SuspendedBlocks::new(&self.suspended, at, row, (stream.0, is_gc), unit)
    }

    /// Suspended blocks of a plane group without a program in progress.
    pub fn idle_suspended<'a>(
        &'a self,
        row: PlaneGroupId,
        table: &'a BlockTable,
    ) -> impl Iterator<Item = BlockSetId> + 'a {
        let lists = self.all_of(row).flat_map(|at| self.suspended.of(at));
        lists.map(|rests| rests.block).filter(|block| table.is_idle_suspended(*block))
    }

    /// Victim of a plane group, given the `closed` block that its policy selected. A suspended block is
    /// preferred if its collection gains more written pages, or if there is no closed block. Unwritten pages
    /// of a suspended block are no gain, because the block may be resumed.
    pub fn better_victim(
        &self,
        row: PlaneGroupId,
        closed: Option<BlockSetId>,
        table: &BlockTable,
    ) -> Option<BlockSetId> {
        let per_block = table.pools.per_block_of(row);
        let lists = self.all_of(row).flat_map(|at| self.suspended.of(at));
        let gains = lists.filter(|rests| table.is_candidate(rests.block, row)).map(|rests| {
            let written = rests.place / rests.unit * (per_block / self.shape.count());
            (written - table.valid(rests.block), rests.block)
        });
        let Some((gain, suspended)) = gains.max_by_key(|(gain, _)| *gain) else { return closed };
        let of_closed = closed.map(|block| per_block - table.valid(block));
        if of_closed.is_some_and(|of_closed| of_closed >= gain) { closed } else { Some(suspended) }
    }

    /// Clears the suspended blocks of a plane group and its open blocks other than the active ones.
    pub fn clear(&mut self, row: PlaneGroupId) {
        let (first, slots) = (self.first_of(row), self.streams * self.slots);
        self.others[(first - self.begins) * self.slots..][..slots].fill(None);
        self.suspended.forget(first);
    }

    /// Resets everything that a power cut loses.
    pub fn forget(&mut self) {
        self.others.fill(None);
        self.suspended.forget_all();
    }

    /// Rebuilds the bitmaps of open and suspended blocks from flash after a power cut.
    pub fn rebuild(
        &mut self,
        active: &ActiveBlocks,
        table: &BlockTable,
        is_programmed: &impl Fn(Location) -> bool,
    ) {
        for at in self.begins..self.begins + self.works.len() {
            let Some((block, _)) = active[at] else { continue };
            let others = self.slots(at).filter_map(|slot| Some((slot, self.others[slot]?.0)));
            for (slot, block) in others.chain([(self.works(at), block)]).collect::<Vec<_>>() {
                let bits = self.word_lines_of(block, table, is_programmed);
                self.bits_mut(slot).copy_from_slice(&bits);
            }
        }
        let suspended = self.suspended.all();
        let found: Vec<Vec<u64>> =
            suspended.map(|block| self.word_lines_of(block, table, is_programmed)).collect();
        self.suspended.all_bits().zip(found).for_each(|(bits, found)| bits.copy_from_slice(&found));
    }

    /// Bitmap of the programmed word lines of a block.
    fn word_lines_of(
        &self,
        block: BlockSetId,
        table: &BlockTable,
        is_programmed: &impl Fn(Location) -> bool,
    ) -> Vec<u64> {
        let unit = self.unit(block, table);
        let mut bits = vec![0; self.words];
        for word_line in 0..self.shape.count() {
            let programmed = is_programmed(table.pools.at(block, word_line * unit));
            bits[word_line as usize / 64] |= u64::from(programmed) << (word_line % 64);
        }
        bits
    }

    /// Checks that the stream at index `at` of a loaded state has a valid slot and word line.
    fn is_sound(&self, at: usize) -> bool {
        let stream = at - self.begins;
        self.works.get(stream).is_some_and(|slot| *slot < self.slots)
            && self.at.get(stream).is_some_and(|line| *line < self.shape.count())
            && self.others.len() * self.words == self.programmed.len()
    }

    /// Checks the bitmaps of a stream's open blocks. A bit must be set for each word line written, and
    /// perhaps for the next one of the `active` block, if it is selected.
    pub fn check_word_lines(
        &self,
        row: PlaneGroupId,
        at: usize,
        active: Option<OpenPlace>,
        table: &BlockTable,
    ) -> Result<(), String> {
        ensure(self.is_sound(at), || format!("plane group {row} programs word lines that do not exist"))?;
        let works = self.works(at);
        let of_slot = |slot: usize| if slot == works { active } else { self.other(slot) };
        for slot in self.slots(at) {
            let Some((block, place)) = of_slot(slot).filter(|(_, place)| *place > 0) else { continue };
            ensure(block.0 < table.pools.block_sets(), || {
                format!("plane group {row} has block {} open", block.0)
            })?;
            let written = place.div_ceil(self.unit(block, table).max(1));
            let marked = self.bits(slot).iter().map(|word| word.count_ones()).sum::<u32>();
            ensure(marked == written || marked == written + 1 && slot == works, || {
                format!("block {} has {marked} word lines marked and {written} written", block.0)
            })?;
        }
        Ok(())
    }

    /// Checks the suspended blocks of a plane group: each is listed once, for the stream that wrote it, and
    /// is written in part. Blocks of the streams in `again` may be written in full.
    pub fn check_suspended(
        &self,
        row: PlaneGroupId,
        again: Option<&Reprogram>,
        table: &BlockTable,
    ) -> Result<(), String> {
        let is_reprogrammable = |block| again.is_some_and(|again| again.may_reprogram(block, table));
        let mut known = 0;
        for (at, stream) in self.all_of(row).zip((0..).map(StreamId)) {
            let (blocks, limit) = (self.suspended.of(at), self.suspended.limit(at));
            let is_own = |SuspendedBlock { block, place, unit }: &SuspendedBlock| {
                block.0 < table.pools.block_sets()
                    && table.group_of(*block) == row
                    && table.blocks[*block].written_by == stream
                    && table.state(*block) == State::Suspended
                    && (1..=table.capacity(*block) - u32::from(!is_reprogrammable(*block)) * unit)
                        .contains(place)
                    && table.capacity(*block) == unit * self.shape.count()
            };
            ensure(blocks.len() <= limit && blocks.iter().all(is_own), || {
                format!("plane group {row} suspends {blocks:?} of stream {}, {limit} at the most", stream.0)
            })?;
            ensure(self.suspended.has_word_line_bitmaps(at), || {
                format!("plane group {row} suspends {blocks:?} with wrong word-line bitmaps")
            })?;
            known += blocks.len();
        }
        let found = table.blocks_of(row).filter(|block| table.state(*block) == State::Suspended).count();
        ensure(found == known, || format!("plane group {row} has {found} suspended blocks and knows {known}"))
    }
}

#[cfg(test)]
mod tests;
