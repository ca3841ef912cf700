//! What follows from commands that failed: reads are tried again, data are written elsewhere or noted as lost, and the
//! failure policy decides about the block.

use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DieId, Done, Location, Operation, PageId};

use super::Device;
use crate::event::Event;
use crate::flash::{Task, Ticket};
use crate::map::LogicalPage;
use crate::policy::failure::{After, Failed, Failure, MOST_FAILURES};
use crate::policy::placement::Row;
use crate::space::State;

impl Device {
    /// A command of this die failed: the die may be lost.
    #[cold]
    pub(super) fn note_dead_die(&mut self, die: DieId) {
        if self.core.base.totals.dead_dies < u64::from(self.core.base.flash.chips().dead_dies())
            && self.core.base.flash.chips().is_dead(die)
        {
            self.writer.lose_die(die, &mut self.core);
            self.core.map.check_life(&mut self.core.base);
        }
    }

    /// A program or an erase failed.
    #[cold]
    pub(super) fn change_failed(&mut self, task: &Task, calendar: &mut impl Schedule<Event>) {
        let location = task.location;
        let row = match task.ticket {
            Ticket::HostUnit(row) => {
                self.writer.host_program_failed(row, location, &mut self.core);
                self.program_failed(location, calendar);
                self.writer.note_row(row, &self.core);
                row
            }
            Ticket::TableUnit(row) => {
                self.writer.table_program_failed(row, location, &mut self.core);
                self.program_failed(location, calendar);
                self.writer.note_row(row, &self.core);
                row
            }
            Ticket::Reclaim(row) => {
                self.step_failed(row, task, calendar);
                row
            }
            _ => unreachable!("{task:?} changes pages"),
        };
        self.writer.collect(row, &mut self.core, calendar);
    }

    /// A program or an erase of a step of cleaning failed.
    fn step_failed(&mut self, row: Row, task: &Task, calendar: &mut impl Schedule<Event>) {
        let Task { location, page, .. } = *task;
        match task.operation {
            Operation::Erase => self.gc_erase_failed(page, calendar),
            Operation::Copyback { .. } => {
                self.core
                    .reclaim
                    .collector_mut()
                    .copyback_failed(row, self.core.base.config.pools.per_program(row));
                self.core.base.space.program_done(location);
                self.program_failed(location, calendar);
            }
            _ => self.gc_program_failed(row, location, calendar),
        }
        match self.core.map.by_block_mut() {
            Some(map) => map.command_done(row),
            None => drop(self.core.reclaim.collector_mut().command_done(row)),
        }
    }

    /// Some pages of a read, a bit each, could not be read however often it was tried: they are lost.
    #[cold]
    pub(super) fn read_failed(
        &mut self,
        task: &Task,
        unread: u32,
        done: &Done,
        calendar: &mut impl Schedule<Event>,
    ) {
        for n in (0..task.planes).filter(|n| unread >> n & 1 != 0) {
            self.core.base.totals.unreadable_pages += 1;
            self.core
                .base
                .faults_at(self.core.base.config.pools.block_of_page(task.page))
                .unreadable_pages += 1;
            self.core.cache.lose_page(PageId(task.page.0 + n), &mut self.core.base, &mut self.core.map);
        }
        self.after_failure(Failed::Read, self.core.base.config.pools.block_of_page(task.page), calendar);
        if task.is_reclaim() {
            self.task_done(task, done, calendar);
        } else if !self.read_elsewhere(task, calendar) {
            self.read_in_vain(task, done, calendar);
        }
    }

    /// A read is over without having found anything.
    fn read_in_vain(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        match task.ticket {
            Ticket::Fill(entry) => self.writer.fill_done(task, entry, &mut self.core, calendar),
            Ticket::UnitFill(sub) => self.writer.unit_fill_done(task, sub, &mut self.core, calendar),
            Ticket::Table(table) => {
                self.core.map.table_read(table, &mut self.core.base);
                self.front.go_on_located(table, &mut self.core, &mut self.writer, calendar);
                self.writer.read_over(task.page, &mut self.core, calendar);
            }
            Ticket::Prefetch(entry) => {
                let mut waiting = Vec::new();
                self.core.cache.each_waiter_for_prefetch(entry, |id| waiting.push(id));
                waiting.into_iter().for_each(|id| self.front.note_lost(id, task, &self.core));
                self.writer.read_over(task.page, &mut self.core, calendar);
                self.core.cache.fetched_ahead(entry, &mut self.core.base);
                self.front.wake_waiters(&mut self.core, &mut self.writer, calendar);
            }
            Ticket::Request(id) => {
                self.front.note_lost(id, task, &self.core);
                self.front.host_read_done(task, done, &mut self.core, &mut self.writer, calendar);
            }
            Ticket::HostUnit(_) | Ticket::TableUnit(_) | Ticket::Reclaim(_) | Ticket::Scan(_) => {
                unreachable!("{task:?} reads for the host")
            }
        }
    }

    /// Where the page is somewhere else by now, moved by the collector or written again, it is read there. False if it is
    /// not.
    fn read_elsewhere(&mut self, task: &Task, calendar: &mut impl Schedule<Event>) -> bool {
        let Task { wanted, location, page, .. } = *task;
        let Some(at) = self.core.map.get(LogicalPage(wanted.logical)).filter(|at| *at != location) else {
            return false;
        };
        let pools = &self.core.base.config.pools;
        // A location of several pages is as large in each pool.
        let moved = PageId(pools.page_of(at).0 + (page.0 - pools.page_of(location).0));
        self.core.base.space.read_queued(pools.block_of(at));
        let die = self.core.base.flash.read_elsewhere(task, at, moved, calendar.now());
        self.core.base.kick(die, calendar);
        self.writer.read_over(page, &mut self.core, calendar);
        true
    }

    /// The collector's unit of `row` was not programmed: its pages, which are still in the victims, go elsewhere.
    fn gc_program_failed(&mut self, row: Row, first: Location, calendar: &mut impl Schedule<Event>) {
        if self.core.map.by_block().is_none() {
            let stream = self.core.base.space.moved_by(self.core.base.config.pools.block_of(first));
            self.core
                .reclaim
                .collector_mut()
                .program_failed(row, stream.expect("the collector writes to its own streams"));
        }
        self.core.base.space.program_done(first);
        self.program_failed(first, calendar);
    }

    fn program_failed(&mut self, first: Location, calendar: &mut impl Schedule<Event>) {
        let block = self.core.base.config.pools.block_of(first);
        if self.core.base.space.state(block) != State::Bad {
            self.core.base.totals.program_failures += 1;
            self.core.base.faults_at(block).program_failures += 1;
            if let Some(map) = self.core.map.by_block_mut() {
                map.program_failed(self.core.base.space.row_of(block), block);
            }
            self.after_failure(Failed::Program, block, calendar);
        }
    }

    fn gc_erase_failed(&mut self, page: PageId, calendar: &mut impl Schedule<Event>) {
        self.core.base.totals.erases += 1;
        let block = self.core.base.config.pools.block_of_page(page);
        if self.core.base.space.state(block) == State::Bad {
            return;
        }
        self.core.base.totals.erase_failures += 1;
        self.core.base.faults_at(block).erase_failures += 1;
        self.after_failure(Failed::Erase, block, calendar);
        if self.core.base.space.is_condemned(block) {
            self.core.base.space.retire(block);
        } else {
            let row = self.core.base.space.row_of(block);
            match self.core.map.by_block_mut() {
                Some(map) => map.erase_again(row, block),
                None => self.core.reclaim.collector_mut().erase_again(row, block),
            }
        }
    }

    /// Asks the policy about a block in which something failed, and acts.
    fn after_failure(&mut self, failed: Failed, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        if self.core.base.space.state(block) == State::Bad {
            return;
        }
        let times = &mut self.core.base.life.failures[block][failed as usize];
        *times = times.saturating_add(1);
        let erases = self.core.base.flash.chips().erases()[block];
        let failure = Failure { failed, block, times: u32::from(*times), erases };
        let after = if *times == MOST_FAILURES {
            After::Retire
        } else {
            self.core.base.policies.failure.after(&failure)
        };
        let row = self.core.base.space.row_of(block);
        if after != After::GoOn {
            self.core.base.space.close(block);
        }
        if after == After::Retire && self.core.base.space.condemn(block) {
            self.core.base.totals.grown_bad_blocks += 1;
            match self.core.map.by_block_mut() {
                Some(map) => map.condemned(row, block),
                None => self.core.reclaim.collector_mut().condemn(row, block),
            }
            self.core.map.check_life(&mut self.core.base);
        }
        self.writer.note_row(row, &self.core);
        // The erase that failed, or the read for a victim, is a step that is not over yet: nothing new begins then.
        self.writer.collect(row, &mut self.core, calendar);
    }
}
