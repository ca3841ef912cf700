//! What follows from commands that failed: reads are tried again, data are written elsewhere or noted as lost, and the
//! failure policy decides about the block.

use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DieId, Done, Operation, PageId, SlotId, Stamp};

use super::{Device, Event, Mutant};
use crate::command::RequestId;
use crate::faults::Faults;
use crate::flash::{Task, Ticket};
use crate::ftl::blocks::State;
use crate::ftl::mapping::LogicalPage;
use crate::policy::failure::{After, Failed, Failure, MOST_FAILURES};
use crate::policy::placement::Row;
use crate::sectors::Sectors;

impl Device {
    /// A command of this die failed: the die may be lost.
    #[cold]
    pub(super) fn note_dead_die(&mut self, die: DieId) {
        if self.totals.dead_dies < u64::from(self.flash.chips().dead_dies())
            && self.flash.chips().is_dead(die)
        {
            self.lose_die(die);
            self.check_life();
        }
    }

    /// A program or an erase failed.
    #[cold]
    pub(super) fn change_failed(&mut self, task: &Task, calendar: &mut impl Schedule<Event>) {
        let slot = task.slot;
        let row = match task.ticket {
            Ticket::HostUnit(row) => {
                self.host_program_failed(row, slot);
                self.program_failed(slot, calendar);
                self.note_row(row);
                row
            }
            Ticket::TableUnit(row) => {
                self.table_program_failed(row, slot);
                self.program_failed(slot, calendar);
                self.note_row(row);
                row
            }
            Ticket::Reclaim(row) => {
                self.step_failed(row, task, calendar);
                row
            }
            _ => unreachable!("{task:?} changes pages"),
        };
        self.collect(row, calendar);
    }

    /// A program or an erase of a step of cleaning failed.
    fn step_failed(&mut self, row: Row, task: &Task, calendar: &mut impl Schedule<Event>) {
        let Task { slot, page, .. } = *task;
        match task.operation {
            Operation::Erase => self.gc_erase_failed(page, calendar),
            Operation::Copyback { .. } => {
                self.collector.copyback_failed(row, self.config.pools.per_program(row));
                self.blocks.program_done(slot);
                self.program_failed(slot, calendar);
            }
            _ => self.gc_program_failed(row, slot, calendar),
        }
        match &mut self.block_map {
            Some(map) => map.command_done(row),
            None => drop(self.collector.command_done(row)),
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
            self.totals.unreadable_pages += 1;
            self.faults_at(self.config.pools.block_of_page(task.page)).unreadable_pages += 1;
            self.lose_page(PageId(task.page.0 + n));
        }
        self.after_failure(Failed::Read, self.config.pools.block_of_page(task.page), calendar);
        if task.is_reclaim() {
            self.task_done(task, done, calendar);
        } else if !self.read_elsewhere(task, calendar) {
            self.read_in_vain(task, done, calendar);
        }
    }

    /// A read is over without having found anything.
    fn read_in_vain(&mut self, task: &Task, done: &Done, calendar: &mut impl Schedule<Event>) {
        match task.ticket {
            Ticket::Fill(entry) => self.fill_done(task, entry, calendar),
            Ticket::UnitFill(sub) => self.unit_fill_done(task, sub, calendar),
            Ticket::Table(table) => {
                self.table_read(table);
                self.go_on_located(table, calendar);
                self.read_over(task.page, calendar);
            }
            Ticket::Prefetch(entry) => {
                let mut waiting = Vec::new();
                self.cache.each_waiter(entry, |id| waiting.push(id));
                waiting.into_iter().for_each(|id| self.note_lost(id, task));
                self.read_over(task.page, calendar);
                self.fetched_ahead(entry);
                self.wake_waiters(calendar);
            }
            Ticket::Request(id) => {
                self.note_lost(id, task);
                self.host_read_done(task, done, calendar);
            }
            Ticket::HostUnit(_) | Ticket::TableUnit(_) | Ticket::Reclaim(_) | Ticket::Scan(_) => {
                unreachable!("{task:?} reads for the host")
            }
        }
    }

    /// A request fails if some of what it wants of the page of a read is lost. What is lost of flash may be in the buffer by now.
    fn note_lost(&mut self, id: RequestId, read: &Task) {
        let page = LogicalPage(read.wanted.logical);
        let command = self.front.get(id).command;
        let wanted = self.piece(&command, page.0).sectors();
        self.front.get(id).failed |= !self.lost.of(page).common(wanted).is_empty();
    }

    /// Where the page is somewhere else by now, moved by the collector or written again, it is read there. False if it is
    /// not.
    fn read_elsewhere(&mut self, task: &Task, calendar: &mut impl Schedule<Event>) -> bool {
        let Task { wanted, slot, page, .. } = *task;
        let Some(at) = self.mapping.get(LogicalPage(wanted.logical)).filter(|at| *at != slot) else {
            return false;
        };
        let pools = &self.config.pools;
        // A slot of several pages is as large in each pool.
        let moved = PageId(pools.page_of(at).0 + (page.0 - pools.page_of(slot).0));
        self.blocks.read_queued(pools.block_of(at));
        let die = self.flash.read_elsewhere(task, at, moved, calendar.now());
        self.kick(die, calendar);
        self.read_over(page, calendar);
        true
    }

    /// Every slot of a page is lost.
    fn lose_page(&mut self, page: PageId) {
        let slots = self.config.pools.of_page(page).slots;
        let first = slots.slot_of(page).0;
        for slot in (first..first + slots.per_page()).map(SlotId) {
            if self.blocks.is_valid(slot) {
                self.blocks.invalidate(slot);
                self.lose_slot(slot);
            }
        }
    }

    /// What a slot held, which is valid no more, is mapped nowhere and known as lost, but for what the buffer has.
    fn lose_slot(&mut self, slot: SlotId) {
        let Stamp { logical, version } = self.flash.chips().stamp(slot);
        let page = LogicalPage(logical);
        let was = self.mapping.clear(page);
        assert_eq!(was, Some(slot), "a valid slot is where its logical page is mapped to");
        if self.is_table(page.0) {
            let row = self.blocks.row_of(self.config.pools.block_of(slot));
            if let Some((discards, table)) = self.discard_page_of(page.0) {
                discards.lost(table, row);
                if let Some(checkpoints) = &mut self.checkpoints {
                    checkpoints.lost();
                }
            } else if let Some(translation) = &mut self.translation {
                let table = translation.table(page.0).expect("it has the number of a translation page");
                translation.lost(table, row);
            }
            return;
        }
        self.note_amend(page, slot);
        self.cache.forget(page);
        let kept = self.buffer.find(page).map(|id| self.buffer.get(id)).filter(|entry| !entry.discarded);
        let gone = self.full_page().without(kept.map_or(Sectors::NONE, |entry| entry.sectors));
        // Whatever comes to flash next of the page has all that the buffer has of it now.
        let next = kept.map(|_| (version + 1, gone));
        if !gone.is_empty() {
            self.totals.lost_pages += 1;
            self.faults_at(self.config.pools.block_of(slot)).lost_pages += 1;
        }
        if !self.has(Mutant::LossNotNoted) {
            self.lost.add(page, version, self.full_page(), next);
        }
    }

    /// The host's unit of `row` was not programmed: its pages, which the buffer still has, go elsewhere at once.
    fn host_program_failed(&mut self, row: Row, first: SlotId) {
        if self.programs_whole_unit(row) {
            self.whole_unit_failed(row);
            self.blocks.program_done(first);
            return;
        }
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        self.programming -= unit.entries.len() as u32;
        self.blocks.program_done(first);
        for id in unit.entries.iter().copied() {
            self.buffer.program_failed(id);
            self.buffer.get_mut(id).urgent = true;
            self.make_ready(id);
        }
        unit.clear();
        self.units[row as usize] = unit;
    }

    /// The unit of translation pages of `row` was not programmed: they are in memory still.
    fn table_program_failed(&mut self, row: Row, first: SlotId) {
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        self.blocks.program_done(first);
        for stamp in unit.stamps.iter().rev().filter(|stamp| stamp.is_data()) {
            if let Some((discards, table)) = self.discard_page_of(stamp.logical) {
                discards.program_failed(table);
                continue;
            }
            let Some(translation) = &mut self.translation else { continue };
            let table = translation.table(stamp.logical).expect("the unit holds translation pages");
            translation.program_failed(table);
        }
        unit.clear();
        self.units[row as usize] = unit;
    }

    /// The collector's unit of `row` was not programmed: its pages, which are still in the victims, go elsewhere.
    fn gc_program_failed(&mut self, row: Row, first: SlotId, calendar: &mut impl Schedule<Event>) {
        if self.block_map.is_none() {
            let stream = self.blocks.moved_by(self.config.pools.block_of(first));
            self.collector.program_failed(row, stream.expect("the collector writes to its own streams"));
        }
        self.blocks.program_done(first);
        self.program_failed(first, calendar);
    }

    fn program_failed(&mut self, first: SlotId, calendar: &mut impl Schedule<Event>) {
        let block = self.config.pools.block_of(first);
        if self.blocks.state(block) != State::Bad {
            self.totals.program_failures += 1;
            self.faults_at(block).program_failures += 1;
            if let Some(map) = &mut self.block_map {
                map.program_failed(self.blocks.row_of(block), block);
            }
            self.after_failure(Failed::Program, block, calendar);
        }
    }

    fn gc_erase_failed(&mut self, page: PageId, calendar: &mut impl Schedule<Event>) {
        self.totals.erases += 1;
        let block = self.config.pools.block_of_page(page);
        if self.blocks.state(block) == State::Bad {
            return;
        }
        self.totals.erase_failures += 1;
        self.faults_at(block).erase_failures += 1;
        self.after_failure(Failed::Erase, block, calendar);
        if self.blocks.is_condemned(block) {
            self.blocks.retire(block);
        } else {
            let row = self.blocks.row_of(block);
            match &mut self.block_map {
                Some(map) => map.erase_again(row, block),
                None => self.collector.erase_again(row, block),
            }
        }
    }

    /// To count what failed in the pool of a block.
    fn faults_at(&mut self, block: BlockSetId) -> &mut Faults {
        let pools = &self.config.pools;
        self.totals.faults.count(pools.number_of_row(pools.row_of_block(block)))
    }

    /// Asks the policy about a block in which something failed, and acts.
    fn after_failure(&mut self, failed: Failed, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        if self.blocks.state(block) == State::Bad {
            return;
        }
        let times = &mut self.failures[block][failed as usize];
        *times = times.saturating_add(1);
        let erases = self.flash.chips().erases()[block];
        let failure = Failure { failed, block, times: u32::from(*times), erases };
        let after =
            if *times == MOST_FAILURES { After::Retire } else { self.policies.failure.after(&failure) };
        let row = self.blocks.row_of(block);
        if after != After::GoOn {
            self.blocks.close(block);
        }
        if after == After::Retire && self.blocks.condemn(block) {
            self.totals.grown_bad_blocks += 1;
            match &mut self.block_map {
                Some(map) => map.condemned(row, block),
                None => self.collector.condemn(row, block),
            }
            self.check_life();
        }
        self.note_row(row);
        // The erase that failed, or the read for a victim, is a step that is not over yet: nothing new begins then.
        self.collect(row, calendar);
    }

    /// A die is lost with everything in it.
    pub(super) fn lose_die(&mut self, die: DieId) {
        self.totals.dead_dies += 1;
        let mut slots = Vec::new();
        for row in self.config.pools.of_die(die).geometry.rows_of(die) {
            self.collector.lose(row);
            let good = self.blocks.lose_row(row, |slot| slots.push(slot));
            self.totals.grown_bad_blocks += u64::from(good);
            if let Some(map) = &mut self.block_map {
                map.lose(row, &self.blocks);
            }
            self.note_row(row);
        }
        // What waits for the lost rows goes elsewhere.
        self.row_opened = true;
        slots.into_iter().for_each(|slot| self.lose_slot(slot));
    }

    /// Whether some of a logical page is lost: a read of that fails until it is written again.
    pub fn is_lost(&self, page: LogicalPage) -> bool {
        !self.lost.of(page).is_empty()
    }
}
