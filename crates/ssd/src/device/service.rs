//! Gives each finished task to the engine that its ticket names.

use wordline_kernel::Schedule;
use wordline_nand::{Done, Operation, RowId};

use super::Device;
use crate::base::Base;
use crate::event::Event;
use crate::flash::{Outcome, Task, Ticket};
use crate::map::LogicalPage;
use crate::policy::failure::Failed;

impl Device {
    /// A die has finished a command.
    pub(crate) fn command_done(&mut self, done: &Done, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.core.base.digest.add(now.ps() ^ u64::from(done.die.0) << 48);
        self.core.base.digest.add(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        if done.failed {
            self.writer.note_dead_die(done.die, &mut self.core);
        }
        let mut next = self.core.base.flash.finish(done, now);
        let mut makes_room = false;
        while let Some(id) = next {
            let task = self.core.base.flash.release(done.die, id);
            next = task.following();
            makes_room |= moves_writes_on(&task);
            self.task_over(&task, done, calendar);
            if let Ticket::Reclaim(row) = task.ticket {
                self.writer.note_row(row, &self.core);
                makes_room |= self.core.map.by_block().is_some();
            }
        }
        self.core.base.kick(done.die, calendar);
        // What waits for a pool that takes nothing any more goes elsewhere once nothing goes on there.
        makes_room |= self.writer.has_units() && self.writer.is_at_rest() && self.core.reclaim.is_idle();
        if makes_room || self.writer.row_opened() {
            self.front.pump(&mut self.core, &mut self.writer, calendar);
        }
        if self.core.reclaim.steps_aside() {
            self.writer.resume_rows(done.die, &mut self.core, calendar);
            if self.writer.row_opened() {
                self.front.pump(&mut self.core, &mut self.writer, calendar);
            }
        }
        if self.core.cache.has_woken() {
            self.front.wake_waiters(&mut self.core, &mut self.writer, calendar);
        }
    }

    #[inline(always)]
    fn task_over(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Base { flash, policies, .. } = &mut self.core.base;
        match flash.outcome(task, done, &mut *policies, &mut calendar.within(Event::Flash)) {
            Outcome::Done => {
                self.core.base.tell_programmed(task, done, false);
                self.task_done(task, done, calendar);
            }
            Outcome::Again => {}
            Outcome::Unread(pages) => self.read_failed(task, pages, done, calendar),
            Outcome::Failed => self.change_failed(Failed::Program, task, done, calendar),
            Outcome::Refused => self.change_failed(Failed::Refused, task, done, calendar),
        }
    }

    #[inline(always)]
    pub(super) fn task_done(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Task { location, wanted, .. } = *task;
        match task.ticket {
            Ticket::Request(_) => {
                self.core.base.check_read(task);
                self.front.host_read_done(task, done, &mut self.core, &mut self.writer, calendar);
            }
            Ticket::Prefetch(entry) => {
                self.core.base.check_read(task);
                self.front.fetched_ahead(entry, task, &mut self.core, &mut self.writer, calendar);
            }
            Ticket::Fill(entry) => {
                if !self.core.cache.entry(entry).discarded && !self.core.cache.entry(entry).void {
                    self.core.base.check_read(task);
                }
                if let Some(contents) = &mut self.core.base.contents {
                    contents.filled(LogicalPage(wanted.logical), wanted.version);
                }
                self.core.base.note_fill_time(task, done, calendar.now());
                self.writer.fill_done(task, entry, &mut self.core, calendar);
            }
            Ticket::HostUnit(row) => {
                let spent = self.core.base.flash.spent(task, done, calendar.now());
                self.core.base.written_back[self.core.base.config.pools.number_of_row(row)]
                    .programs
                    .add(&spent);
                self.front.note_program_time(row, &spent, &self.core, &self.writer);
                self.writer.host_programmed(row, location, &mut self.core, calendar);
                self.front.wake_waiters(&mut self.core, &mut self.writer, calendar);
                self.writer.collect_where_unit_left(&mut self.core, calendar);
                self.writer.collect(row, &mut self.core, calendar);
            }
            Ticket::UnitFill(sub) => {
                self.core.base.note_fill_time(task, done, calendar.now());
                self.writer.unit_fill_done(task, sub, &mut self.core, calendar);
            }
            Ticket::Table(table) => {
                self.core.base.check_read(task);
                self.front.table_read(table, task, &mut self.core, &mut self.writer, calendar);
            }
            Ticket::TableUnit(row) => {
                self.writer.tables_programmed(row, location, &mut self.core);
                self.front.discards_written(&mut self.core, &mut self.writer, calendar);
                self.writer.collect(row, &mut self.core, calendar);
            }
            Ticket::Reclaim(row) => self.step_over(row, task, calendar),
            Ticket::Scan(die) => self.scan_on(die, calendar),
        }
    }

    /// A command of a step of cleaning is done.
    #[inline(always)]
    fn step_over(&mut self, row: RowId, task: &Task, calendar: &mut impl Schedule<Event>) {
        let Task { page, location, .. } = *task;
        let by_block = self.core.map.by_block().is_some();
        match task.operation {
            Operation::Erase => self.core.reclaim.gc_erased(page, &mut self.core.base, &mut self.core.map),
            Operation::Read if by_block => self.core.map.copy_read(row, task, &mut self.core.base),
            Operation::Read => {
                self.core.reclaim.gc_read(row, task, &mut self.core.base);
                self.writer.migrate_what_leaves(&mut self.core, calendar);
            }
            _ if by_block => self.core.map.copied(row, location, &mut self.core.base),
            _ => self.core.reclaim.gc_programmed(row, location, &mut self.core.base, &mut self.core.map),
        }
        if by_block {
            self.writer.step_done(row, &mut self.core, calendar);
        } else if self.core.reclaim.command_done(row) {
            self.writer.collect_further(row, &mut self.core, calendar);
        }
    }
}

/// Commands that failed.
impl Device {
    /// A program or an erase failed, or a program was refused.
    #[cold]
    fn change_failed(
        &mut self,
        failed: Failed,
        task: &Task,
        done: &Done,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.core.base.tell_programmed(task, done, true);
        let Self { core, writer, .. } = self;
        let row = match task.ticket {
            Ticket::HostUnit(row) => {
                writer.host_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::TableUnit(row) => {
                writer.table_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::Reclaim(row) => {
                core.reclaim.step_failed(failed, row, task, &mut core.base, &mut core.map);
                row
            }
            _ => unreachable!("{task:?} changes pages"),
        };
        writer.note_row(row, core);
        writer.collect(row, core, calendar);
    }

    /// Some pages of a read, a bit each, could not be read however often it was tried: they are lost.
    #[cold]
    fn read_failed(&mut self, task: &Task, unread: u32, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Self { core, writer, .. } = self;
        core.cache.lose_unread(task, unread, &mut core.base, &mut core.map);
        let block = core.base.config.pools.block_of_page(task.page);
        core.reclaim.failed(Failed::Read, block, &mut core.base, &mut core.map);
        let row = core.base.space.row_of(block);
        writer.note_row(row, core);
        // The read for a victim is a step that is not over yet: nothing new begins then.
        writer.collect(row, core, calendar);
        if task.is_reclaim() {
            self.task_done(task, done, calendar);
        } else if let Some(die) = core.map.read_elsewhere(task, &mut core.base, calendar.now()) {
            core.base.kick(die, calendar);
            writer.read_over(task.page, core, calendar);
        } else {
            self.read_in_vain(task, done, calendar);
        }
    }

    /// A read is over without having found anything.
    fn read_in_vain(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Self { core, writer, front, .. } = self;
        match task.ticket {
            Ticket::Fill(entry) => writer.fill_done(task, entry, core, calendar),
            Ticket::UnitFill(sub) => writer.unit_fill_done(task, sub, core, calendar),
            Ticket::Table(table) => front.table_read(table, task, core, writer, calendar),
            Ticket::Prefetch(entry) => {
                core.cache.each_waiter_for_prefetch(entry, |id| front.note_lost(id, task, core));
                front.fetched_ahead(entry, task, core, writer, calendar);
            }
            Ticket::Request(id) => {
                front.note_lost(id, task, core);
                front.host_read_done(task, done, core, writer, calendar);
            }
            Ticket::HostUnit(_) | Ticket::TableUnit(_) | Ticket::Reclaim(_) | Ticket::Scan(_) => {
                unreachable!("{task:?} reads for the host")
            }
        }
    }
}

/// Whether pages in the buffer may go on when a task is over.
#[inline]
fn moves_writes_on(task: &Task) -> bool {
    match task.ticket {
        Ticket::Request(_) | Ticket::Prefetch(_) | Ticket::Scan(_) => false,
        Ticket::Reclaim(_) => task.operation == Operation::Erase,
        Ticket::Fill(_)
        | Ticket::UnitFill(_)
        | Ticket::Table(_)
        | Ticket::HostUnit(_)
        | Ticket::TableUnit(_) => true,
    }
}
