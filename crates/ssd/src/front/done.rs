//! Handles host reads and programs that are done or have failed: requests that waited for them continue.

use wordline_flash::{RequestId, Task, TaskWait, Ticket};
use wordline_ftl::map::translation::{Continuation, WrongGuess};
use wordline_kernel::Schedule;
use wordline_nand::{CommandCompletion, PlaneGroupId};

use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::writer::Writer;

impl Front {
    /// Called when discard records are in flash: the flushes that waited for them continue.
    #[cold]
    pub(crate) fn discards_written(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        while let Some(waiters) = core.ftl.tables.take_completed_flushes(&core.ftl.map_cache) {
            waiters.into_iter().for_each(|id| self.part_done(id, core, writer, calendar));
        }
        for block in core.ftl.tables.take_held() {
            writer.release_reader(block, core, calendar);
        }
    }

    /// Called when a host program has ended: the requests that waited for its pages and the plane group
    /// continue.
    #[inline]
    pub(crate) fn host_programmed(
        &mut self,
        row: PlaneGroupId,
        task: &Task,
        done: &CommandCompletion,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let spent = core.note_program_time(row, task, done, calendar.now());
        for (id, version) in writer.rows().group(row).versions() {
            core.cache.buffer().each_waiter(id, version, |waiter| {
                self.get(waiter).spent = spent;
                self.note_command(waiter, task, done);
            });
        }
        writer.host_programmed(row, task.location, core, calendar);
        self.wake_waiters(core, writer, calendar);
        writer.collect_source_groups(core, calendar);
        writer.collect(row, core, calendar);
    }

    /// Records a flash command of a request. Tail attribution uses the last one.
    #[inline]
    fn note_command(&mut self, id: RequestId, task: &Task, done: &CommandCompletion) {
        if let Some(tail) = &mut self.commands.tail {
            tail.note_command(id, TaskWait::of(done.die, task));
        }
    }

    /// Ends a part of a command. The last part completes the command.
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
            self.complete(id, core, writer, calendar);
        }
    }

    #[inline(always)]
    pub(crate) fn host_read_done(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Ticket::Request(id) = task.ticket else { unreachable!("{task:?} is a read of the host") };
        core.ftl.totals.host_reads += task.pages_read();
        let spent = core.ftl.flash.spent(task, done, calendar.now());
        self.get(id).spent = spent;
        self.note_command(id, task, done);
        writer.finish_read(task.page, core, calendar);
        if core.cache.read_cache().is_on() && !done.failed {
            let command = self.get(id).command;
            core.cache.keep_read(&command, task, &core.ftl.config.pools, &core.ftl.map);
        }
        self.part_done(id, core, writer, calendar);
    }

    /// Ends a read of a page that could not be read.
    pub(crate) fn finish_empty_read(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        match task.ticket {
            Ticket::Rmw(entry) => writer.rmw_read_done(task, EntryId(entry), core, calendar),
            Ticket::UnitRmw(sub) => writer.unit_rmw_read_done(task, sub, core, calendar),
            Ticket::Table(table) => self.table_read(table, task, core, writer, calendar),
            Ticket::Guess(number) => self.guess_read(number, false, task, core, writer, calendar),
            Ticket::Prefetch(entry) => {
                let entry = EntryId(entry);
                core.cache
                    .read_cache()
                    .each_waiter(entry, |id| self.commands.requests.note_lost(id, task, core));
                self.finish_read_ahead(entry, task, core, writer, calendar);
            }
            Ticket::Request(id) => {
                self.commands.requests.note_lost(id, task, core);
                self.host_read_done(task, done, core, writer, calendar);
            }
            Ticket::HostUnit(_) | Ticket::TableUnit(_) | Ticket::Gc(..) | Ticket::Scan(_) => {
                unreachable!("{task:?} reads for the host")
            }
        }
    }

    /// Called when the read of a translation page has ended: requests that waited for it continue.
    pub(crate) fn table_read(
        &mut self,
        table: u32,
        task: &Task,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.ftl.totals.translation_reads += task.pages_read();
        core.ftl.map_cache.table_read(table);
        self.resume_located(table, core, writer, calendar);
        writer.finish_read(task.page, core, calendar);
    }

    /// Called when a read-ahead has ended: the reads that wait for its page continue.
    pub(crate) fn finish_read_ahead(
        &mut self,
        entry: EntryId,
        task: &Task,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        writer.finish_read(task.page, core, calendar);
        core.ftl.totals.read_ahead_reads += task.pages_read();
        core.cache.finish_read_ahead(entry);
        self.wake_waiters(core, writer, calendar);
    }

    /// Called when the read of a wrongly guessed location has ended: the request that waited for it continues,
    /// unless it waits for a translation page now.
    #[inline(never)]
    pub(crate) fn guess_read(
        &mut self,
        number: u32,
        is_readable: bool,
        task: &Task,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(WrongGuess { id, page, since, .. }) =
            core.ftl.guess_read(number, (is_readable, task.pages_read()), &mut calendar.within(Event::Flash))
        {
            self.commands.requests.resume_read(id, page, since, core, calendar);
            // The wait for the lookup counts as a part.
            self.part_done(id, core, writer, calendar);
        }
        writer.finish_read(task.page, core, calendar);
    }

    /// Lets all requests that wait for entries of a translation page continue, if the page is in memory.
    pub(crate) fn resume_located(
        &mut self,
        table: u32,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(mut waiting) = core.ftl.map_cache.take_waiters(table) else { return };
        while let Some(waiter) = core.ftl.map_cache.next_located(&mut waiting) {
            match waiter.then {
                Continuation::Read(id) => {
                    let requests = &mut self.commands.requests;
                    requests.resume_read(id, waiter.page, waiter.since, core, calendar);
                    // The wait for the lookup counts as a part.
                    self.part_done(id, core, writer, calendar);
                }
                Continuation::Prepare(_) | Continuation::Carry(_) => {
                    writer.resume_located(&waiter, core, calendar);
                }
            }
        }
    }
}
