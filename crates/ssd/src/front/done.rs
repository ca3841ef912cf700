//! Handles host reads and programs that are done or have failed: their waiters continue.

use wordline_kernel::Schedule;
use wordline_nand::{Done, RowId};

use crate::cache::buffer::EntryId;
use crate::command::RequestId;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Task, Ticket, Waited};
use crate::front::Front;
use crate::map::translation::Then;
use crate::writer::Writer;

impl Front {
    /// Discard records are in flash: the flushes that waited for them continue.
    #[cold]
    pub(crate) fn discards_written(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        while let Some(waiters) = core.map.end_discards() {
            waiters.into_iter().for_each(|id| self.part_done(id, core, writer, calendar));
        }
        for block in core.map.take_held() {
            writer.reader_gone(block, core, calendar);
        }
    }

    /// A host program has ended: the requests that waited for its pages continue, and so does its plane
    /// group.
    #[inline]
    pub(crate) fn host_programmed(
        &mut self,
        row: RowId,
        task: &Task,
        done: &Done,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let spent = core.base.note_program_time(row, task, done, calendar.now());
        for (id, version) in writer.group(row).versions() {
            core.cache.each_waiter(id, version, |waiter| {
                self.get(waiter).spent = spent;
                self.note_waited(waiter, task, done);
            });
        }
        writer.host_programmed(row, task.location, core, calendar);
        self.wake_waiters(core, writer, calendar);
        writer.collect_where_unit_left(core, calendar);
        writer.collect(row, core, calendar);
    }

    /// Records a flash command of a request; the last one explains where the time went.
    #[inline]
    fn note_waited(&mut self, id: RequestId, task: &Task, done: &Done) {
        if let Some(tail) = &mut self.commands.tail {
            tail.note_waited(id, Waited::of(done.die, task));
        }
    }

    /// Ends a part of a command; the last one completes it.
    #[inline(always)]
    pub(super) fn part_done(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let request = self.get(id);
        request.parts -= 1;
        if request.parts == 0 {
            self.answer(id, core, writer, calendar);
        }
    }

    #[inline(always)]
    pub(crate) fn host_read_done(
        &mut self,
        task: &Task,
        done: &Done,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Ticket::Request(id) = task.ticket else { unreachable!("{task:?} is a read of the host") };
        core.base.totals.host_reads += 1;
        let spent = core.base.flash.spent(task, done, calendar.now());
        self.get(id).spent = spent;
        self.note_waited(id, task, done);
        writer.read_over(task.page, core, calendar);
        if core.cache.keeps_reads() && !done.failed {
            let command = self.get(id).command;
            core.cache.keep_read(&command, task, &core.base, &core.map);
        }
        self.part_done(id, core, writer, calendar);
    }

    /// Ends a read that found nothing.
    pub(crate) fn read_in_vain(
        &mut self,
        task: &Task,
        done: &Done,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        match task.ticket {
            Ticket::Fill(entry) => writer.fill_done(task, entry, core, calendar),
            Ticket::UnitFill(sub) => writer.unit_fill_done(task, sub, core, calendar),
            Ticket::Table(table) => self.table_read(table, task, core, writer, calendar),
            Ticket::Prefetch(entry) => {
                core.cache
                    .each_waiter_for_prefetch(entry, |id| self.commands.requests.note_lost(id, task, core));
                self.fetched_ahead(entry, task, core, writer, calendar);
            }
            Ticket::Request(id) => {
                self.commands.requests.note_lost(id, task, core);
                self.host_read_done(task, done, core, writer, calendar);
            }
            Ticket::HostUnit(_) | Ticket::TableUnit(_) | Ticket::Reclaim(..) | Ticket::Scan(_) => {
                unreachable!("{task:?} reads for the host")
            }
        }
    }

    /// The read of a translation page has ended: its waiters continue.
    pub(crate) fn table_read(
        &mut self,
        table: u32,
        task: &Task,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.map.table_read(table, &mut core.base);
        self.go_on_located(table, core, writer, calendar);
        writer.read_over(task.page, core, calendar);
    }

    /// A read-ahead has ended: the reads that wait for its page continue.
    pub(crate) fn fetched_ahead(
        &mut self,
        entry: EntryId,
        task: &Task,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        writer.read_over(task.page, core, calendar);
        core.cache.fetched_ahead(entry, &mut core.base);
        self.wake_waiters(core, writer, calendar);
    }

    /// All waiters for the entries of a translation page continue, if it is in memory.
    pub(crate) fn go_on_located(
        &mut self,
        table: u32,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(mut waiting) = core.map.take_waiters(table) else { return };
        while let Some(waiter) = core.map.next_located(&mut waiting) {
            match waiter.then {
                Then::Read(id) => {
                    let requests = &mut self.commands.requests;
                    requests.go_on_reading(id, waiter.page, waiter.since, core, calendar);
                    // The wait was a part.
                    self.part_done(id, core, writer, calendar);
                }
                Then::Prepare(_) | Then::Carry(_) => writer.go_on_located(&waiter, core, calendar),
            }
        }
    }
}
