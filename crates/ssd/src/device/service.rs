//! Passes each finished task to the engine of its ticket.

use wordline_kernel::Schedule;
use wordline_nand::Done;

use super::Device;
use crate::event::Event;
use crate::flash::{Outcome, Task, Ticket};
use crate::policy::failure::Failed;

impl Device {
    /// Handles a command that a die has finished.
    pub(crate) fn command_done(&mut self, done: &Done, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.core.base.digest(now.ps() ^ u64::from(done.die.0) << 48);
        self.core.base.digest(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        if done.failed {
            self.writer.note_dead_die(done.die, &mut self.core);
        }
        let mut next = self.core.base.flash.finish(done, now);
        let mut makes_room = false;
        while let Some(id) = next {
            let task = self.core.base.flash.release(done.die, id);
            next = task.following();
            makes_room |= task.moves_writes_on();
            self.task_over(&task, done, calendar);
            if let Ticket::Reclaim(row, _) = task.ticket {
                self.writer.note_row(row, &self.core);
                makes_room |= self.core.map.by_block().is_some();
            }
        }
        self.core.base.kick(done.die, calendar);
        self.front.go_on(done.die, makes_room, &mut self.core, &mut self.writer, calendar);
    }

    #[inline(always)]
    fn task_over(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Self { core, writer, front, .. } = self;
        let policies = &mut core.base.policies;
        match core.base.flash.outcome(task, done, policies, &mut calendar.within(Event::Flash)) {
            Outcome::Done => {
                core.base.tell_programmed(task, done, false);
                self.task_done(task, done, calendar);
            }
            Outcome::Again => {}
            Outcome::Unread(pages) if writer.read_failed(task, pages, core, calendar) => {}
            Outcome::Unread(_) if task.is_reclaim() => self.task_done(task, done, calendar),
            Outcome::Unread(_) => front.read_in_vain(task, done, core, writer, calendar),
            Outcome::Failed => writer.change_failed(Failed::Program, task, done, core, calendar),
            Outcome::Refused => writer.change_failed(Failed::Refused, task, done, core, calendar),
        }
    }

    #[inline(always)]
    fn task_done(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Self { core, writer, front, .. } = self;
        match task.ticket {
            Ticket::Request(_) => {
                core.base.check_read(task);
                front.host_read_done(task, done, core, writer, calendar);
            }
            Ticket::Prefetch(entry) => {
                core.base.check_read(task);
                front.fetched_ahead(entry, task, core, writer, calendar);
            }
            Ticket::Fill(entry) => {
                core.cache.check_fill(entry, task, &mut core.base);
                core.base.note_fill_time(task, done, calendar.now());
                writer.fill_done(task, entry, core, calendar);
            }
            Ticket::HostUnit(row) => front.host_programmed(row, task, done, core, writer, calendar),
            Ticket::UnitFill(sub) => {
                core.base.note_fill_time(task, done, calendar.now());
                writer.unit_fill_done(task, sub, core, calendar);
            }
            Ticket::Table(table) => {
                core.base.check_read(task);
                front.table_read(table, task, core, writer, calendar);
            }
            Ticket::TableUnit(row) => {
                writer.tables_programmed(row, task.location, core);
                front.discards_written(core, writer, calendar);
                writer.collect(row, core, calendar);
            }
            Ticket::Reclaim(row, _) => writer.step_over(row, task, done, core, calendar),
            Ticket::Scan(die) => self.scan_on(die, calendar),
        }
    }
}
