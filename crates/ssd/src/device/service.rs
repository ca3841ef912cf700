//! Passes each finished task to the engine that its ticket names.

use wordline_flash::policy::failure::FailedOperation;
use wordline_flash::{Outcome, Task, Ticket};
use wordline_kernel::Schedule;
use wordline_nand::CommandCompletion;

use super::Device;
use crate::cache::buffer::EntryId;
use crate::event::Event;
use crate::writer::unblocks_writes;

impl Device {
    /// Handles a command that a die has finished.
    pub(crate) fn command_done(&mut self, done: &CommandCompletion, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.core.ftl.digest.add(now.ps() ^ u64::from(done.die.0) << 48);
        self.core.ftl.digest.add(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        if done.failed {
            self.writer.check_failed_die(done.die, &mut self.core);
        }
        let mut next = self.core.ftl.flash.finish(done, now);
        // Pages of the command that were found unreadable: one bit for each.
        let (mut makes_room, mut unreadable) = (false, 0);
        while let Some(id) = next {
            let task = self.core.ftl.flash.release(done.die, id);
            next = task.next_in_chain();
            makes_room |= unblocks_writes(&task);
            self.finish_task(&task, done, &mut unreadable, calendar);
            if let Ticket::Gc(row, _) = task.ticket {
                self.core.ftl.totals.gc_array_us += (done.array.ps() + 500_000) / 1_000_000;
                self.writer.update_group(row, &self.core);
                makes_room |= self.core.ftl.block_map.is_some();
            }
        }
        self.core.start_die(done.die, calendar);
        self.front.proceed(done.die, makes_room, &mut self.core, &mut self.writer, calendar);
        self.core.start_dies(calendar);
    }

    #[inline(always)]
    fn finish_task(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        unreadable: &mut u32,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Self { core, writer, front, .. } = self;
        let policies = &mut core.ftl.policies;
        match core.ftl.flash.outcome(task, done, policies) {
            Outcome::Done => {
                core.notify_programmed(task, done, false);
                self.task_done(task, done, calendar);
            }
            Outcome::Retried => {}
            Outcome::Unreadable(pages)
                if writer.read_failed(task, done, (pages, unreadable), core, calendar) => {}
            Outcome::Unreadable(_) if task.is_gc() => self.task_done(task, done, calendar),
            Outcome::Unreadable(_) => front.finish_empty_read(task, done, core, writer, calendar),
            Outcome::Failed => {
                writer.program_or_erase_failed(FailedOperation::Program, task, done, core, calendar);
            }
            Outcome::Rejected => {
                writer.program_or_erase_failed(FailedOperation::Rejected, task, done, core, calendar);
            }
        }
    }

    #[inline(always)]
    fn task_done(&mut self, task: &Task, done: &CommandCompletion, calendar: &mut impl Schedule<Event>) {
        let Self { core, writer, front, .. } = self;
        match task.ticket {
            Ticket::Request(_) => {
                core.ftl.flash.check_read(task);
                front.host_read_done(task, done, core, writer, calendar);
            }
            Ticket::Prefetch(entry) => {
                core.ftl.flash.check_read(task);
                front.finish_read_ahead(EntryId(entry), task, core, writer, calendar);
            }
            Ticket::Rmw(entry) => {
                let entry = EntryId(entry);
                core.cache.check_fill(entry, task, &core.ftl.flash, core.ftl.contents.as_deref_mut());
                core.note_rmw_time(task, done, calendar.now());
                writer.rmw_read_done(task, entry, core, calendar);
            }
            Ticket::HostUnit(row) => front.host_programmed(row, task, done, core, writer, calendar),
            Ticket::UnitRmw(sub) => {
                core.note_rmw_time(task, done, calendar.now());
                writer.unit_rmw_read_done(task, sub, core, calendar);
            }
            Ticket::Table(table) => {
                core.ftl.flash.check_read(task);
                front.table_read(table, task, core, writer, calendar);
            }
            Ticket::Guess(number) => {
                core.ftl.flash.check_read(task);
                front.guess_read(number, true, task, core, writer, calendar);
            }
            Ticket::TableUnit(row) => {
                writer.tables_programmed(row, task.location, core);
                front.discards_written(core, writer, calendar);
                writer.collect(row, core, calendar);
            }
            Ticket::Gc(row, _) => writer.finish_gc_step(row, task, done, core, calendar),
            Ticket::Scan(die) => self.continue_scan(die, calendar),
        }
    }
}
