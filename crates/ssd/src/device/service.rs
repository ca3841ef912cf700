//! What follows from what the dies did.

use wordline_kernel::{Instant, Schedule};
use wordline_nand::{BlockSetId, DieId, Done, Operation, PageId, SlotId};

use super::{Device, Event};
use crate::flash::{Outcome, Task, Ticket};
use crate::ftl::Blocks;
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;
use crate::times::Spent;

impl Device {
    /// Gives an idle die its next command.
    #[inline]
    pub(super) fn kick(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.flash.start(die, &*self.policies.tuner, &mut calendar.within(Event::Flash));
    }

    /// A die has finished a command.
    pub(super) fn command_done(&mut self, done: &Done, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.digest.add(now.ps() ^ u64::from(done.die.0) << 48);
        self.digest.add(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        if done.failed {
            self.note_dead_die(done.die);
        }
        let mut next = self.flash.finish(done, now);
        let mut makes_room = false;
        while let Some(id) = next {
            let task = self.flash.release(done.die, id);
            next = task.following();
            makes_room |= moves_writes_on(&task);
            self.task_over(&task, done, calendar);
            if let Ticket::Reclaim(row) = task.ticket {
                self.note_row(row);
                makes_room |= self.block_map.is_some();
            }
        }
        self.kick(done.die, calendar);
        // What waits for a pool that takes nothing any more goes elsewhere once nothing goes on there.
        makes_room |= self.subs.is_some() && self.programming == 0 && self.collector.is_idle();
        if makes_room || self.row_opened {
            self.pump(calendar);
        }
        if self.preemptible {
            self.resume_rows(done.die, calendar);
            if self.row_opened {
                self.pump(calendar);
            }
        }
        if !self.wake.is_empty() {
            self.wake_waiters(calendar);
        }
    }

    #[inline(always)]
    fn task_over(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Self { flash, policies, .. } = self;
        match flash.outcome(task, done, &mut *policies.tuner, &mut calendar.within(Event::Flash)) {
            Outcome::Done => self.task_done(task, done, calendar),
            Outcome::Again => {}
            Outcome::Unread(pages) => self.read_failed(task, pages, done, calendar),
            Outcome::Failed => self.change_failed(task, calendar),
        }
    }

    #[inline(always)]
    pub(super) fn task_done(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Task { page, slot, wanted, .. } = *task;
        match task.ticket {
            Ticket::Request(_) => {
                self.check_read(task);
                self.host_read_done(task, done, calendar);
            }
            Ticket::Prefetch(entry) => {
                self.check_read(task);
                self.read_over(page, calendar);
                self.fetched_ahead(entry);
                self.wake_waiters(calendar);
            }
            Ticket::Fill(entry) => {
                if !self.buffer.get(entry).discarded && !self.buffer.get(entry).void {
                    self.check_read(task);
                }
                if self.contents.is_some() {
                    self.note_filled(LogicalPage(wanted.logical), wanted.version);
                }
                self.note_fill_time(task, done, calendar.now());
                self.fill_done(task, entry, calendar);
            }
            Ticket::HostUnit(row) => {
                let spent = self.flash.spent(task, done, calendar.now());
                self.written_back[self.config.pools.number_of_row(row)].programs.add(&spent);
                self.note_program_time(row, &spent);
                self.host_programmed(row, slot, calendar);
                self.wake_waiters(calendar);
                self.collect_where_unit_left(calendar);
                self.collect(row, calendar);
            }
            Ticket::UnitFill(sub) => {
                self.note_fill_time(task, done, calendar.now());
                self.unit_fill_done(task, sub, calendar);
            }
            Ticket::Table(table) => {
                self.check_read(task);
                self.table_read(table);
                self.go_on_located(table, calendar);
                self.read_over(page, calendar);
            }
            Ticket::TableUnit(row) => {
                self.tables_programmed(row, slot);
                self.discards_written(calendar);
                self.collect(row, calendar);
            }
            Ticket::Reclaim(row) => self.step_over(row, task, calendar),
            Ticket::Scan(die) => self.scan_on(die, calendar),
        }
    }

    /// A command of a step of cleaning is done.
    #[inline(always)]
    fn step_over(&mut self, row: Row, task: &Task, calendar: &mut impl Schedule<Event>) {
        let Task { page, slot, .. } = *task;
        let by_block = self.block_map.is_some();
        match task.operation {
            Operation::Erase => self.gc_erased(page),
            Operation::Read if by_block => self.copy_read(row, task),
            Operation::Read => {
                self.gc_read(row, task);
                self.migrate_what_leaves(calendar);
            }
            _ if by_block => self.copied(row, slot),
            _ => self.gc_programmed(row, slot),
        }
        if by_block {
            self.step_done(row, calendar);
        } else if self.collector.command_done(row) {
            self.collect(row, calendar);
        }
    }

    #[inline(always)]
    pub(super) fn host_read_done(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Ticket::Request(id) = task.ticket else { unreachable!("{task:?} is a read of the host") };
        self.totals.host_reads += 1;
        let spent = self.flash.spent(task, done, calendar.now());
        self.front.get(id).spent = spent;
        self.read_over(task.page, calendar);
        if self.cache.is_on() && !done.failed {
            let command = self.front.get(id).command;
            self.keep_read(&command, task);
        }
        self.part_done(id, calendar);
    }

    #[inline]
    pub(super) fn fill_done(&mut self, task: &Task, entry: u32, calendar: &mut impl Schedule<Event>) {
        self.totals.fill_reads += 1;
        self.filled(entry);
        self.read_over(task.page, calendar);
    }

    /// A page that is programmed with its unit was read, or could not be.
    #[inline(never)]
    pub(super) fn unit_fill_done(&mut self, task: &Task, sub: u32, calendar: &mut impl Schedule<Event>) {
        self.unit_filled(sub, LogicalPage(task.wanted.logical), task.wanted.version);
        self.read_over(task.page, calendar);
    }

    /// A read found what the host wrote last, or the run stops.
    #[inline]
    fn check_read(&self, task: &Task) {
        let (wanted, found) = (task.wanted, self.flash.stamp(task.slot));
        assert!(
            found == wanted,
            "a read of logical page {} wanted version {} and found {found:?} in {:?}",
            wanted.logical,
            wanted.version,
            task.slot
        );
    }

    /// Something that is not in the buffer was read, to be written with what is.
    fn note_fill_time(&mut self, task: &Task, done: &Done, now: Instant) {
        let spent = self.flash.spent(task, done, now);
        self.written_back[self.config.pools.number_of(done.die)].fills.add(&spent);
    }

    /// The requests that wait for a page of the unit waited for this program.
    fn note_program_time(&mut self, row: Row, spent: &Spent) {
        for n in 0..self.units[row as usize].entries.len() {
            let id = self.units[row as usize].entries[n];
            let version = self.units[row as usize].stamps[self.place_in_unit(row, n)].version;
            let Self { buffer, front, .. } = self;
            buffer.each_waiter(id, version, |slot| front.get(slot).spent = *spent);
        }
    }

    #[inline]
    pub(super) fn read_over(&mut self, page: PageId, calendar: &mut impl Schedule<Event>) {
        let block = self.config.pools.block_of_page(page);
        if self.blocks.read_done(block) {
            self.collect_in_victim(block, calendar);
        }
    }

    /// Nobody reads a victim any more.
    #[inline(never)]
    fn collect_in_victim(&mut self, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        let row = self.blocks.row_of(block);
        self.collect(row, calendar);
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

/// Where in a program unit of a row the collector's page goes that is its `n`-th and comes from this slot: in a pool of whole
/// units to its place.
pub(super) fn places(blocks: &Blocks, row: Row) -> impl Fn(usize, SlotId) -> usize + use<> {
    let (first, unit) = {
        let slots = &blocks.pools().of_row(row).slots;
        (slots.first(), slots.per_program)
    };
    let whole = blocks.has_whole_units(row);
    move |n, from| if whole { ((from.0 - first) % unit) as usize } else { n }
}
