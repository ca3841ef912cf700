//! The steps of a block map on the dies: what waits for a row is written at its place, and what must be copied or erased
//! before that goes as the commands of a collector do.

use wordline_kernel::Schedule;
use wordline_nand::{DieId, PageId, SlotId};

use crate::base::Base;
use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Class, Task, Ticket};
use crate::map::Moved;
use crate::map::block_map::Step;
use crate::policy::placement::Row;
use crate::space::StreamId;
use crate::writer::Writer;

impl Writer {
    /// Lets the rows go on that pages wait for. Returns whether a page of the host was taken to be programmed.
    #[inline(never)]
    pub(crate) fn form_mapped(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        let streams = usize::from(core.base.space.streams().host);
        let mut next = 0;
        while let Some(list) = self.ready.held_from(next) {
            formed |= self.work_on((list / streams) as Row, core, calendar);
            next = list + 1;
        }
        formed
    }

    /// Queues the next command of a row, if none is under way. Returns whether it programs a page of the host.
    #[inline(never)]
    pub(super) fn work_on(&mut self, row: Row, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        !self.units[row as usize].busy && self.queue_step(row, core, calendar)
    }

    fn queue_step(&mut self, row: Row, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        loop {
            let waiting = self.waiting_for(row, core);
            let page = waiting.map(|(_, id)| core.cache.entry(id).logical);
            let Base { space: blocks, flash, .. } = &mut core.base;
            let Some(map) = core.map.by_block_mut() else { return false };
            let Some(step) = map.next(row, page, blocks, flash.chips()) else {
                core.base.life.read_only |= map.is_stuck(row);
                return false;
            };
            let die = match (step, waiting) {
                (Step::Retire { block }, _) => {
                    core.base.space.retire(block);
                    continue;
                }
                (Step::Write { .. }, Some((list, _))) => {
                    self.form(row, list, core, calendar);
                    return true;
                }
                (Step::Write { .. }, None) => unreachable!("a page waits if it is to be written"),
                (Step::Read { from }, _) => self.queue_copy_reads(row, from, core, calendar),
                (Step::Program { to }, _) => self.queue_copy(row, to, core, calendar),
                (Step::Erase { block }, _) => {
                    core.map.begin_step(row, 1);
                    core.base.flash.erase(calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), block)
                }
            };
            core.base.kick(die, calendar);
            return false;
        }
    }

    /// The page that the row writes next, and the list that it is in. Those that were discarded meanwhile leave theirs.
    fn waiting_for(&mut self, row: Row, core: &mut Core) -> Option<(usize, EntryId)> {
        let streams = usize::from(core.base.space.streams().host);
        let first = row as usize * streams;
        for list in first..first + streams {
            while let Some(id) = self.ready[list].pages.front().copied() {
                if !core.cache.entry(id).discarded {
                    return Some((list, id));
                }
                self.ready.pop(list);
                if core.cache.entry(id).urgent {
                    self.ready.urge(list, false);
                }
                core.cache.drop_entry(id);
            }
        }
        None
    }

    /// Where the unit of a row goes: to its place, where there is a block map.
    #[inline]
    pub(super) fn take_place(&mut self, row: Row, stream: StreamId, pages: u32, core: &mut Core) -> SlotId {
        match core.map.by_block() {
            Some(map) => map.place_of_write(row),
            None => core.base.space.take(row, stream, pages),
        }
    }

    /// Queues the reads of a slot that is copied: one for each of its page numbers.
    fn queue_copy_reads(
        &mut self,
        row: Row,
        from: SlotId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> DieId {
        let (geometry, slots) = (core.base.config.geometry(), *core.base.config.slots());
        let (first, pages) = (slots.page_of(from), slots.pages());
        let die = geometry.die_of(slots.block_of(from));
        let planes = pages.min(geometry.planes_per_row);
        let commands = pages / planes;
        for n in 0..commands {
            let page = PageId(first.0 + n * planes);
            let read =
                core.base.flash.read(die, calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), page);
            (read.slot, read.planes) = (from, planes);
            read.bytes = slots.size.0 as u32 / commands;
            // The pages of a slot are there once the last of them is.
            read.slots = u32::from(n + 1 == commands);
        }
        core.map.begin_step(row, commands);
        die
    }

    /// Queues the program of the page that the row holds, or of padding.
    fn queue_copy(
        &mut self,
        row: Row,
        to: SlotId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> DieId {
        let held = core.map.by_block().map_or(&[][..], |map| map.held(row));
        let (copied, per_program) = (held.len() as u64, core.base.config.slots().per_program);
        let (die, stamps) =
            core.base.flash.program(calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), to, per_program);
        held.iter().for_each(|moved| stamps[0] = moved.stamp);
        core.base.totals.gc_programs += copied;
        core.base.totals.padding += 1 - copied;
        core.map.begin_step(row, 1);
        die
    }

    /// A page was read to be copied; if it was not lost, nor written or discarded meanwhile, it is held.
    pub(crate) fn copy_read(&mut self, row: Row, read: &Task, core: &mut Core) {
        core.base.totals.gc_reads += u64::from(read.planes);
        let Task { slot, slots, .. } = *read;
        if slots > 0 && core.base.space.is_valid(slot) {
            let moved = Moved { stamp: core.base.flash.stamp(slot), from: slot };
            if let Some(map) = core.map.by_block_mut() {
                map.hold(row, moved);
            }
        }
    }

    /// A page that was copied is where it was written to.
    pub(crate) fn copied(&mut self, row: Row, to: SlotId, core: &mut Core) {
        let moved = core.map.by_block_mut().and_then(|map| map.take_held(row));
        if let Some(moved) = moved.filter(|moved| core.base.space.is_valid(moved.from)) {
            let place = |slot| core.base.config.slots().split(slot).1;
            debug_assert_eq!(place(to), place(SlotId(moved.stamp.logical)));
            core.map.relocate(moved, to, &mut core.base.space);
        }
        core.base.space.program_done(to);
    }

    /// A command of the row's step is done: the row goes on.
    pub(crate) fn step_done(&mut self, row: Row, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if let Some(map) = core.map.by_block_mut() {
            map.command_done(row);
            self.work_on(row, core, calendar);
        }
    }
}
