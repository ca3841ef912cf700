//! The steps of a block map on the dies: what waits for a row is written at its place, and what must be copied or erased
//! before that goes as the commands of a collector do.

use wordline_kernel::{Schedule, Stream};
use wordline_nand::{DieId, PageId, SlotId, Stamp};

use super::gc::relocate;
use super::precondition::{Steady, Watched};
use super::{Device, Event};
use crate::Config;
use crate::buffer::EntryId;
use crate::flash::{Class, Task, Ticket};
use crate::ftl::block_map::{ByBlock, Step};
use crate::ftl::blocks::StreamId;
use crate::ftl::collector::{Moved, erase_untimed};
use crate::ftl::mapping::LogicalPage;
use crate::parts::Parts;
use crate::policy::placement::Row;

/// Pages that are overwritten for each replacement block before the device counts as steady, and again while its write
/// amplification is taken. Chosen: one would do where no two writes meet in a logical block.
const ROUNDS: u64 = 8;

/// Where there is a block map, all pages of a logical block have the home that the placement gives it.
pub(super) fn with_homes(parts: Parts, config: &Config) -> Parts {
    match config.file.ftl.mapping.block {
        Some(_) => Parts { placement: Box::new(ByBlock::new(parts.placement, config)), ..parts },
        None => parts,
    }
}

impl Device {
    /// Lets the rows go on that pages wait for. Returns whether a page of the host was taken to be programmed.
    #[inline(never)]
    pub(super) fn form_mapped(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        let streams = usize::from(self.streams.host);
        let mut next = 0;
        while let Some(list) = self.ready.held_from(next) {
            formed |= self.work_on((list / streams) as Row, calendar);
            next = list + 1;
        }
        formed
    }

    /// Queues the next command of a row, if none is under way. Returns whether it programs a page of the host.
    #[inline(never)]
    pub(super) fn work_on(&mut self, row: Row, calendar: &mut impl Schedule<Event>) -> bool {
        !self.units[row as usize].busy && self.queue_step(row, calendar)
    }

    fn queue_step(&mut self, row: Row, calendar: &mut impl Schedule<Event>) -> bool {
        loop {
            let waiting = self.waiting_for(row);
            let page = waiting.map(|(_, id)| self.buffer.get(id).logical);
            let Self { block_map, blocks, flash, .. } = self;
            let Some(map) = block_map else { return false };
            let Some(step) = map.next(row, page, blocks, flash.chips()) else {
                self.read_only |= map.is_stuck(row);
                return false;
            };
            let die = match (step, waiting) {
                (Step::Retire { block }, _) => {
                    self.blocks.retire(block);
                    continue;
                }
                (Step::Write { .. }, Some((list, _))) => {
                    self.form(row, list, calendar);
                    return true;
                }
                (Step::Write { .. }, None) => unreachable!("a page waits if it is to be written"),
                (Step::Read { from }, _) => self.queue_copy_reads(row, from, calendar),
                (Step::Program { to }, _) => self.queue_copy(row, to, calendar),
                (Step::Erase { block }, _) => {
                    self.begin_step(row, 1);
                    self.flash.erase(calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), block)
                }
            };
            self.kick(die, calendar);
            return false;
        }
    }

    /// The page that the row writes next, and the list that it is in. Those that were discarded meanwhile leave theirs.
    fn waiting_for(&mut self, row: Row) -> Option<(usize, EntryId)> {
        let streams = usize::from(self.streams.host);
        let first = row as usize * streams;
        for list in first..first + streams {
            while let Some(id) = self.ready[list].pages.front().copied() {
                if !self.buffer.get(id).discarded {
                    return Some((list, id));
                }
                self.ready.pop(list);
                if self.buffer.get(id).urgent {
                    self.ready.urge(list, false);
                }
                self.buffer.drop_entry(id, &mut self.wake);
            }
        }
        None
    }

    /// Where the unit of a row goes: to its place, where there is a block map.
    #[inline]
    pub(super) fn take_place(&mut self, row: Row, stream: StreamId, pages: u32) -> SlotId {
        match &self.block_map {
            Some(map) => map.place_of_write(row),
            None => self.blocks.take(row, stream, pages),
        }
    }

    fn begin_step(&mut self, row: Row, commands: u32) {
        if let Some(map) = &mut self.block_map {
            map.begin(row, commands);
        }
    }

    /// Queues the reads of a slot that is copied: one for each of its page numbers.
    fn queue_copy_reads(&mut self, row: Row, from: SlotId, calendar: &mut impl Schedule<Event>) -> DieId {
        let (geometry, slots) = (self.config.geometry(), *self.config.slots());
        let (first, pages) = (slots.page_of(from), slots.pages());
        let die = geometry.die_of(slots.block_of(from));
        let planes = pages.min(geometry.planes_per_row);
        let commands = pages / planes;
        for n in 0..commands {
            let page = PageId(first.0 + n * planes);
            let read = self.flash.read(die, calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), page);
            (read.slot, read.planes) = (from, planes);
            read.bytes = slots.size.0 as u32 / commands;
            // The pages of a slot are there once the last of them is.
            read.slots = u32::from(n + 1 == commands);
        }
        self.begin_step(row, commands);
        die
    }

    /// Queues the program of the page that the row holds, or of padding.
    fn queue_copy(&mut self, row: Row, to: SlotId, calendar: &mut impl Schedule<Event>) -> DieId {
        let held = self.block_map.as_ref().map_or(&[][..], |map| map.held(row));
        let (copied, per_program) = (held.len() as u64, self.config.slots().per_program);
        let (die, stamps) =
            self.flash.program(calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), to, per_program);
        held.iter().for_each(|moved| stamps[0] = moved.stamp);
        self.totals.gc_programs += copied;
        self.totals.padding += 1 - copied;
        self.begin_step(row, 1);
        die
    }

    /// A page was read to be copied; if it was not lost, nor written or discarded meanwhile, it is held.
    pub(super) fn copy_read(&mut self, row: Row, read: &Task) {
        self.totals.gc_reads += u64::from(read.planes);
        let Task { slot, slots, .. } = *read;
        if slots > 0 && self.blocks.is_valid(slot) {
            let moved = Moved { stamp: self.flash.stamp(slot), from: slot };
            if let Some(map) = &mut self.block_map {
                map.hold(row, moved);
            }
        }
    }

    /// A page that was copied is where it was written to.
    pub(super) fn copied(&mut self, row: Row, to: SlotId) {
        let moved = self.block_map.as_mut().and_then(|map| map.take_held(row));
        if let Some(moved) = moved.filter(|moved| self.blocks.is_valid(moved.from)) {
            let place = |slot| self.config.slots().split(slot).1;
            debug_assert_eq!(place(to), place(SlotId(moved.stamp.logical)));
            relocate(&mut self.mapping, &mut self.blocks, &mut self.translation, moved, to);
        }
        self.blocks.program_done(to);
    }

    /// A command of the row's step is done: the row goes on.
    pub(super) fn step_done(&mut self, row: Row, calendar: &mut impl Schedule<Event>) {
        if let Some(map) = &mut self.block_map {
            map.command_done(row);
            self.work_on(row, calendar);
        }
    }

    /// Whether each row has the good blocks that its logical blocks need.
    pub(super) fn holds_logical_blocks(&self) -> bool {
        let mut rows = 0..self.config.pools.rows();
        self.block_map.as_ref().is_none_or(|map| rows.all(|row| self.blocks.good(row) >= map.needs(row)))
    }

    /// Writes a whole page in no time, and what must be copied for it. Returns how many slots were programmed.
    pub(super) fn write_mapped_untimed(&mut self, page: LogicalPage) -> u64 {
        let row = self.policies.placement.home(page.0).unwrap_or(0);
        let mut programmed = 0;
        loop {
            let Self { block_map, blocks, flash, .. } = self;
            let Some(map) = block_map else { return programmed };
            let step = map.next(row, Some(page), blocks, flash.chips());
            match step.expect("a device that was checked has room for its pages") {
                Step::Write { to } => {
                    let version = self.mapping.written(page);
                    self.flash.put(to, Stamp { logical: page.0, version });
                    self.install(page, to);
                    self.blocks.program_done(to);
                    return programmed + 1;
                }
                Step::Read { from } => map.hold(row, Moved { stamp: flash.stamp(from), from }),
                Step::Program { to } => {
                    let stamp = map.held(row).first().map_or(Stamp::PADDING, |moved| moved.stamp);
                    self.flash.put(to, stamp);
                    self.copied(row, to);
                    programmed += 1;
                }
                Step::Erase { block } => erase_untimed(block, blocks, flash),
                Step::Retire { .. } => unreachable!("nothing fails before the run"),
            }
        }
    }

    /// Fills the device and overwrites pages of it at random, until the replacement blocks are what they are under such
    /// writes.
    pub(super) fn fill_steady_mapped(
        &mut self,
        mut random: Stream,
        watched: &mut Watched<'_>,
    ) -> Option<Steady> {
        self.fill_watched(1.0, watched).then_some(())?;
        let replacements = self.config.file.ftl.mapping.block.map_or(0, |block| block.replacements);
        let writes = ROUNDS * u64::from(replacements) * u64::from(self.config.pools.rows());
        watched.overwrites(2 * writes);
        let mut write = |_| {
            let page = LogicalPage(random.below(self.config.logical_pages.into()) as u32);
            let programmed = self.write_mapped_untimed(page);
            watched.wrote(1).then_some(programmed)
        };
        (0..writes).map(&mut write).sum::<Option<u64>>()?;
        let programmed = (0..writes).map(write).sum::<Option<u64>>()?;
        let amplification = programmed as f64 / writes.max(1) as f64;
        Some(Steady { overwritten: 2 * writes, amplification })
    }
}
