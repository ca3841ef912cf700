//! What follows from commands that failed: reads are tried again, data are written elsewhere or noted as lost, and the
//! failure policy decides about the block.

use wordline_kernel::{Duration, Schedule};
use wordline_nand::{BlockSetId, DieId, Done, PageId, SlotId, Stamp};

use super::{Device, Event, Mutant};
use crate::command::RequestId;
use crate::ftl::blocks::State;
use crate::ftl::mapping::LogicalPage;
use crate::policy::failure::{After, Failed, Failure, MOST_FAILURES};
use crate::policy::placement::Row;
use crate::queue::{Purpose, Transaction, TransactionId};
use crate::sectors::Sectors;

/// The pages of a read that its last command could not read, the lowest bit for the first.
pub(super) fn unread_by(read: &Transaction, done: &Done) -> u32 {
    u32::from(done.unreadable) >> (read.page.0 - done.command.page.0) & ((1 << read.planes) - 1)
}

impl Device {
    /// A transaction whose command failed, or some of whose command's pages could not be read.
    #[cold]
    pub(super) fn transaction_failed(
        &mut self,
        transaction: &Transaction,
        done: &Done,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.totals.dead_dies < u64::from(self.chips.dead_dies()) && self.chips.is_dead(done.die) {
            self.lose_die(done.die);
        }
        let Transaction { owner, slot, page, .. } = *transaction;
        match transaction.purpose {
            Purpose::HostRead
            | Purpose::Fill
            | Purpose::UnitFill
            | Purpose::ReadAhead
            | Purpose::TranslationRead
            | Purpose::GcRead => return self.read_failed(transaction, done, calendar),
            Purpose::HostProgram => self.host_program_failed(owner, slot, calendar),
            Purpose::TranslationProgram => self.table_program_failed(owner, slot, calendar),
            Purpose::GcProgram => self.gc_program_failed(owner, slot, calendar),
            Purpose::GcCopyback => {
                self.collector.copyback_failed(owner, self.config.pools.per_program(owner));
                self.blocks.program_done(slot);
                self.program_failed(slot, calendar);
            }
            Purpose::GcErase => self.gc_erase_failed(page, calendar),
            // What cannot be read is not known, and no copy of it is found.
            Purpose::Scan => return self.scan_on(done.die, calendar),
        }
        match &mut self.block_map {
            Some(map) if transaction.purpose.is_gc() => map.command_done(owner),
            None if transaction.purpose.is_gc() => drop(self.collector.command_done(owner)),
            _ => {}
        }
        self.collect(owner, calendar);
    }

    /// A read that could not be read is tried again as often as is allowed; then its pages are lost.
    fn read_failed(&mut self, transaction: &Transaction, done: &Done, calendar: &mut impl Schedule<Event>) {
        let now = unread_by(transaction, done);
        let unread = if transaction.tries == 0 { now } else { now & u32::from(transaction.unread) };
        if unread == 0 {
            return self.transaction_done(transaction, done, calendar);
        }
        let retry = &self.config.file.ftl.read_retry;
        if transaction.tries < retry.levels && !self.chips.is_dead(done.die) {
            self.totals.read_retries += 1;
            let mut again = *transaction;
            (again.tries, again.unread) = (transaction.tries + 1, unread as u16);
            if let Some(tuning) = &self.tuning {
                let page = PageId(transaction.page.0 + unread.trailing_zeros());
                let level = self.chips.read_level(done.die);
                again.level = tuning.again(page, u32::from(again.tries), level, &self.chips);
            }
            let id = self.queues.keep(again);
            // With a tuner the die itself takes the time to set the levels.
            if retry.time > Duration::ZERO && self.tuning.is_none() {
                calendar.after(retry.time, Event::Retry(id));
            } else {
                self.queues.queue_kept(done.die, id);
            }
            return;
        }
        self.tell_tuner(transaction, done.die, unread, false);
        for n in (0..transaction.planes).filter(|n| unread >> n & 1 != 0) {
            self.totals.unreadable_pages += 1;
            self.lose_page(PageId(transaction.page.0 + n));
        }
        self.after_failure(Failed::Read, self.config.pools.block_of_page(transaction.page), calendar);
        if transaction.purpose == Purpose::GcRead {
            self.transaction_done(transaction, done, calendar);
        } else if !self.read_elsewhere(transaction, calendar) {
            self.read_in_vain(transaction, done, calendar);
        }
    }

    /// A read is over without having found anything.
    fn read_in_vain(&mut self, transaction: &Transaction, done: &Done, calendar: &mut impl Schedule<Event>) {
        let Transaction { owner, page, .. } = *transaction;
        // What is lost of flash may be in the buffer by now.
        let lost = self.is_lost(LogicalPage(transaction.logical));
        match transaction.purpose {
            Purpose::Fill => self.fill_done(transaction, calendar),
            Purpose::UnitFill => self.unit_fill_done(transaction, calendar),
            Purpose::TranslationRead => {
                self.table_read(transaction, calendar);
                self.read_over(page, calendar);
            }
            Purpose::ReadAhead => {
                let Self { cache, front, .. } = self;
                cache.each_waiter(owner, |id| front.get(id).failed |= lost);
                self.read_over(page, calendar);
                self.fetched_ahead(owner, calendar);
            }
            _ => {
                self.front.get(RequestId(owner)).failed |= lost;
                self.host_read_done(transaction, done, calendar);
            }
        }
    }

    /// The chip is ready to sense a page again.
    #[cold]
    pub(super) fn retry(&mut self, id: TransactionId, calendar: &mut impl Schedule<Event>) {
        let page = self.queues.get(id).page;
        let die = self.config.pools.die_of_block(self.config.pools.block_of_page(page));
        self.queues.queue_kept(die, id);
        self.kick(die, calendar);
    }

    /// Where the page is somewhere else by now, moved by the collector or written again, it is read there. False if it is
    /// not.
    fn read_elsewhere(&mut self, transaction: &Transaction, calendar: &mut impl Schedule<Event>) -> bool {
        let Transaction { logical, slot, page, .. } = *transaction;
        let Some(at) = self.mapping.get(LogicalPage(logical)).filter(|at| *at != slot) else { return false };
        let pools = &self.config.pools;
        // A slot of several pages is as large in each pool.
        let moved = PageId(pools.page_of(at).0 + (page.0 - pools.page_of(slot).0));
        let block = pools.block_of(at);
        let die = self.config.pools.die_of_block(block);
        self.blocks.read_queued(block);
        let mut again = *transaction;
        (again.page, again.slot, again.version) = (moved, at, self.chips.stamp(at).version);
        (again.tries, again.unread) = (0, 0);
        again.gc_before = self.queues.gc_time(die, calendar.now());
        let id = self.queues.keep(again);
        self.queues.queue_kept(die, id);
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
        let Stamp { logical, version } = self.chips.stamp(slot);
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
        self.totals.lost_pages += u64::from(!gone.is_empty());
        // Whatever comes to flash next of the page has all that the buffer has of it now.
        let next = kept.map(|_| (version + 1, gone));
        if !self.has(Mutant::LossNotNoted) {
            self.lost.add(page, version, self.full_page(), next);
        }
    }

    /// The host's unit of `row` was not programmed: its pages, which the buffer still has, go elsewhere at once.
    fn host_program_failed(&mut self, row: Row, first: SlotId, calendar: &mut impl Schedule<Event>) {
        if self.programs_whole_unit(row) {
            self.whole_unit_failed(row);
            self.blocks.program_done(first);
            self.program_failed(first, calendar);
            self.note_row(row);
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
        self.program_failed(first, calendar);
        self.note_row(row);
    }

    /// The unit of translation pages of `row` was not programmed: they are in memory still.
    fn table_program_failed(&mut self, row: Row, first: SlotId, calendar: &mut impl Schedule<Event>) {
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
        self.program_failed(first, calendar);
        self.note_row(row);
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

    /// Asks the policy about a block in which something failed, and acts.
    fn after_failure(&mut self, failed: Failed, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        if self.blocks.state(block) == State::Bad {
            return;
        }
        let times = &mut self.failures[block][failed as usize];
        *times = times.saturating_add(1);
        let erases = self.chips.erases()[block];
        let failure = Failure { failed, block, times: u32::from(*times), erases };
        let after = if *times == MOST_FAILURES { After::Retire } else { self.failure.after(&failure) };
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
        self.check_life();
    }

    /// Whether some of a logical page is lost: a read of that fails until it is written again.
    pub fn is_lost(&self, page: LogicalPage) -> bool {
        !self.lost.of(page).is_empty()
    }
}
