//! Flash work for the failure manager: page copies, erases of reserve blocks, and records of the tables.
//!
//! In the background a die does one such operation at a time. A die starts an operation only when the device
//! has no outstanding command and the buffer of the die is empty. So a host command waits for at most one
//! operation. Without the option `shift`, a failed write and all later writes on its die wait until the pages
//! are copied.

use wordline_flash::{Class, Purpose, Task, Ticket};
use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DataTag, Location, Operation as Work};

use super::chunks::ChunkId;
use super::die_work::{Action, DieWork, PendingChange, Repairs, UndoEntry};
use super::failures::{NoBlock, PageLocation, Step};
use super::journal::Journal;
use super::{Event, OpenChannel};

impl OpenChannel {
    /// Whether host programs of a queue have to wait for the failure manager.
    pub(super) fn must_hold_programs(&self, queue: u32) -> bool {
        self.recovering.is_some()
            || self.repairs.as_ref().is_some_and(|repairs| repairs.must_hold_programs(queue))
    }

    fn repairs(&mut self) -> &mut Repairs {
        self.repairs.as_mut().expect("a device without a manager repairs nothing")
    }

    fn die_work(&mut self, queue: u32) -> &mut DieWork {
        &mut self.repairs().hands[queue as usize]
    }

    /// Recovers a failed program: the chunk continues in another block.
    pub(super) fn repair_program(
        &mut self,
        chunk: ChunkId,
        is_bad: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        let queue = self.chunks.unit_of(chunk);
        if self.die_work(queue).recorded.is_some() {
            return self.die_work(queue).again.push_back(PendingChange::Program(chunk, is_bad));
        }
        let pages = self.chunks.get(chunk).programmed / self.config.geometry.ws_min;
        let before = self.before(chunk);
        match self.repairs().manager.failed(chunk, pages, is_bad) {
            Ok(()) => {
                self.counts.recovered += 1;
                self.record(queue, before, calendar);
            }
            Err(NoBlock::UsedUp) => {
                self.chunks.get_mut(chunk).is_bad |= is_bad;
                self.take_offline(chunk, calendar);
            }
            Err(NoBlock::NotErased(_)) => {
                self.erase_first(queue, PendingChange::Program(chunk, is_bad), calendar);
            }
        }
    }

    /// Saves the table entries of a chunk before a change.
    fn before(&mut self, chunk: ChunkId) -> UndoEntry {
        let entry = self.chunks.get(chunk);
        let (is_bad, is_void) = (entry.is_bad, entry.is_void);
        UndoEntry { before: self.repairs().manager.before(chunk), is_bad, is_void }
    }

    /// Block of a chunk after its reset. The caller must erase the block. If the tables change, the change is
    /// recorded first: this call fails, and the reset calls again after the record.
    pub(super) fn repair_reset(
        &mut self,
        chunk: ChunkId,
        is_bad: bool,
        calendar: &mut impl Schedule<Event>,
    ) -> Result<BlockSetId, NoBlock> {
        let queue = self.chunks.unit_of(chunk);
        if self.die_work(queue).recorded.is_some() {
            self.die_work(queue).again.push_back(PendingChange::Reset(chunk));
            return Err(NoBlock::NotErased(self.block_of(chunk)));
        }
        let before = self.before(chunk);
        let manager = &mut self.repairs().manager;
        let changes = is_bad || manager.shift(chunk) != Some(0);
        let block = manager.reset(chunk, is_bad);
        match block {
            Ok(of_chunk) if changes => {
                self.chunks.get_mut(chunk).is_void = true;
                self.chunks.get_mut(chunk).is_bad = false;
                self.record(queue, before, calendar);
                if self.die_work(queue).recorded.is_some() {
                    return Err(NoBlock::NotErased(of_chunk));
                }
            }
            Ok(_) | Err(NoBlock::UsedUp) => {}
            Err(NoBlock::NotErased(_)) => self.erase_first(queue, PendingChange::Reset(chunk), calendar),
        }
        block
    }

    /// Records a change of the tables in the journal, if there is one.
    fn record(&mut self, queue: u32, before: UndoEntry, calendar: &mut impl Schedule<Event>) {
        let is_recorded = self.die_work(queue).journal.is_some();
        if !is_recorded {
            return self.advance(queue, calendar);
        }
        let records = self.repairs().pages_of_record;
        let hand = self.die_work(queue);
        (hand.recorded, hand.records) = (Some(before), records);
        self.program_record(queue, calendar);
    }

    /// Programs the next page of a record. When the current journal block is full, the other block is used,
    /// and erased first if necessary.
    fn program_record(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let unit = self.config.geometry.ws_min;
        let pages = self.config.geometry.blocks_per_chunk / unit;
        let Self { repairs, flash, config, .. } = self;
        let hand = &mut repairs.as_mut().expect("it has a journal").hands[queue as usize];
        let journal = hand.journal.as_mut().expect("only what has a journal is recorded");
        if journal.is_full(pages) {
            journal.turn();
        }
        let first = config.pools.at(journal.block(), 0);
        let asked = (Ticket::TableUnit(config.pools.group_of(first)), Class::Write);
        let programmed = flash.chips().programmed(journal.block());
        let die = if journal.is_new() && programmed > 0 {
            flash.erase(calendar.now(), asked, journal.block())
        } else {
            let PageLocation { block, page } = journal.take_page();
            // The data tags are padding; the contents of the tables are not modelled.
            flash.program(calendar.now(), asked, config.pools.at(block, page * unit), unit).0
        };
        self.start(die, calendar);
    }

    /// Handles the end of a program of a record, or of the erase of a journal block.
    fn finish_record(&mut self, queue: u32, task: &Task, failed: bool, calendar: &mut impl Schedule<Event>) {
        if task.operation == Work::Erase {
            self.counts.journal_erases += 1;
            if failed && !self.replace_in_journal(queue, true) {
                (self.die_work(queue).recorded, self.die_work(queue).records) = (None, 0);
                return self.advance(queue, calendar);
            }
            return self.program_record(queue, calendar);
        }
        self.counts.journal_programs += 1;
        self.die_work(queue).records -= u32::from(!failed);
        if self.die_work(queue).records > 0 {
            return self.program_record(queue, calendar);
        }
        self.die_work(queue).recorded = None;
        self.advance(queue, calendar);
    }

    /// Replaces a journal block whose erase failed. If the reserve has no block, no further records are made.
    fn replace_in_journal(&mut self, queue: u32, is_current: bool) -> bool {
        let block = self.repairs().manager.take_reserve_block(queue);
        let hand = self.die_work(queue);
        match (block, &mut hand.journal) {
            (Some(block), Some(journal)) => {
                if is_current {
                    journal.replace(block);
                } else {
                    journal.replace_other(block);
                }
                hand.recorded.iter_mut().for_each(|recorded| recorded.before.exclude(block));
            }
            _ => hand.journal = None,
        }
        block.is_some()
    }

    /// Erases a reserve block at once, for a change that waits for it.
    fn erase_first(&mut self, queue: u32, again: PendingChange, calendar: &mut impl Schedule<Event>) {
        self.die_work(queue).again.push_back(again);
        if self.die_work(queue).action.is_none() && !self.is_being_read() {
            self.erase_reserve(queue, calendar);
        }
    }

    /// Whether a host read may still use a reserve block. Without `shift` blocks return to the reserve while
    /// the host reads.
    fn is_being_read(&self) -> bool {
        let shifts = self.failures().is_some_and(|manager| manager.shifts());
        !shifts && self.commands.iter().any(|command| command.reads > 0)
    }

    /// Continues changes that waited for the end of all flash reads of a command.
    pub(super) fn finish_command_reads(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.repairs.as_ref().is_some_and(Repairs::is_waiting_for_reads) {
            (0..self.config.geometry.units()).for_each(|queue| self.advance(queue, calendar));
        }
    }

    fn erase_reserve(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let block = self.repairs().manager.next_to_erase(queue).expect("a block is to be erased");
        self.erase_for(queue, (block, Action::Erase), calendar);
    }

    fn erase_for(
        &mut self,
        queue: u32,
        (block, action): (BlockSetId, Action),
        calendar: &mut impl Schedule<Event>,
    ) {
        self.die_work(queue).action = Some(action);
        let ticket = Ticket::Gc(self.config.pools.group_of_block(block), Purpose::Reclaiming);
        let die = self.flash.erase(calendar.now(), (ticket, Class::Write), block);
        self.start(die, calendar);
    }

    /// Handles the end of a flash command for the failure manager.
    pub(super) fn finish_repair_task(
        &mut self,
        task: &Task,
        failed: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        let block = self.config.pools.block_of_page(task.page);
        let queue = self.config.pools.die_of_block(block).0;
        if matches!(task.ticket, Ticket::TableUnit(_)) {
            return self.finish_record(queue, task, failed, calendar);
        }
        match self.die_work(queue).action.take().expect("its die worked for the manager") {
            Action::Read { chunk, step, left, mut unread } => {
                unread |= self.unread_of(step, task, failed);
                if left > 1 {
                    let action = Action::Read { chunk, step, left: left - 1, unread };
                    self.die_work(queue).action = Some(action);
                    return;
                }
                // After a new host command the page is read again later.
                if !self.commands.is_empty() && !self.repairs().manager.must_copy_first(queue) {
                    return self.advance(queue, calendar);
                }
                self.program_step(queue, chunk, step, unread, calendar);
            }
            Action::Program { chunk, step, unread } => {
                self.finish_step(queue, chunk, step, (unread, failed), calendar);
            }
            Action::Erase => {
                self.counts.reserve_erases += 1;
                self.repairs().manager.erased(queue, failed);
                self.advance(queue, calendar);
            }
            Action::EraseJournal => {
                self.counts.journal_erases += 1;
                if failed {
                    self.replace_in_journal(queue, false);
                }
                self.advance(queue, calendar);
            }
        }
    }

    /// Bitmap of the logical blocks of a copied page that a read could not read.
    fn unread_of(&self, step: Step, task: &Task, failed: bool) -> u64 {
        let Step::Copy { from, .. } = step else { return 0 };
        let first = self.first_location(from).0;
        let of_task = task.location.0..task.location.0 + task.locations;
        let is_unread =
            |location: &u32| failed || self.flash.stamp(Location(*location)) == DataTag::UNREADABLE;
        of_task.filter(is_unread).map(|location| 1 << (location - first)).fold(0, |all, one: u64| all | one)
    }

    fn first_location(&self, place: PageLocation) -> Location {
        self.config.pools.at(place.block, place.page * self.config.geometry.ws_min)
    }

    /// Starts the next step of a migration.
    fn step(&mut self, queue: u32, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        let step = self.repairs().manager.step(chunk);
        match step {
            Step::Finish => {
                let before = self.before(chunk);
                self.repairs().manager.finish(chunk);
                self.counts.migrated += 1;
                self.record(queue, before, calendar);
            }
            Step::Pad { .. } => self.program_step(queue, chunk, step, 0, calendar),
            Step::Copy { from, .. } => self.read_step(queue, chunk, (step, from), calendar),
        }
    }

    fn read_step(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        (step, from): (Step, PageLocation),
        calendar: &mut impl Schedule<Event>,
    ) {
        let first = self.first_location(from).0;
        let Self { flash, config, .. } = self;
        let pools = &config.pools;
        let locations: Vec<Location> = (first..first + config.geometry.ws_min).map(Location).collect();
        let ticket = Ticket::Gc(pools.group_of(locations[0]), Purpose::Reclaiming);
        let mut left = 0;
        for of_page in locations.chunk_by(|one, other| pools.page_of(*one) == pools.page_of(*other)) {
            let (die, page) = pools.die_and_page_of(of_page[0]);
            let task = flash.read(die, calendar.now(), (ticket, Class::Read), page);
            (task.location, task.locations) = (of_page[0], of_page.len() as u32);
            task.bytes = (config.geometry.block_size.0 * of_page.len() as u64) as u32;
            left += 1;
        }
        self.die_work(queue).action = Some(Action::Read { chunk, step, left, unread: 0 });
        self.start(wordline_nand::DieId(queue), calendar);
    }

    /// Programs the page of a step. Unreadable blocks are programmed as padding, and marked as corrupted
    /// afterwards.
    fn program_step(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        step: Step,
        unread: u64,
        calendar: &mut impl Schedule<Event>,
    ) {
        let (from, to) = match step {
            Step::Copy { from, to } => (Some(self.first_location(from)), self.first_location(to)),
            Step::Pad { to } => (None, self.first_location(to)),
            Step::Finish => unreachable!("finishing programs nothing"),
        };
        let found = |n: u32| from.map(|from| self.flash.stamp(Location(from.0 + n)));
        let is_read = |n: u32| unread >> n & 1 == 0;
        let data = |n: u32| found(n).filter(|_| is_read(n)).unwrap_or(DataTag::PADDING);
        let data: Vec<DataTag> = (0..self.config.geometry.ws_min).map(data).collect();
        let asked = (Ticket::Gc(self.config.pools.group_of(to), Purpose::Reclaiming), Class::Write);
        let (die, stamps) = self.flash.program(calendar.now(), asked, to, data.len() as u32);
        stamps.copy_from_slice(&data);
        self.die_work(queue).action = Some(Action::Program { chunk, step, unread });
        self.start(die, calendar);
    }

    fn finish_step(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        step: Step,
        (unread, failed): (u64, bool),
        calendar: &mut impl Schedule<Event>,
    ) {
        self.counts.repair_programs += 1;
        self.counts.copied_first += u64::from(self.repairs().manager.must_copy_first(queue));
        if failed {
            self.counts.program_failures += 1;
            return self.repair_step(queue, chunk, (step, true), calendar);
        }
        if let Step::Copy { to, .. } = step {
            let first = self.first_location(to).0;
            let spoilt = (0..self.config.geometry.ws_min).filter(|n| unread >> n & 1 != 0);
            spoilt.for_each(|n| self.flash.corrupt(Location(first + n)));
        }
        self.repairs().manager.complete_step(chunk, step);
        self.advance(queue, calendar);
    }

    /// Recovers a failed or interrupted program of a step.
    pub(super) fn repair_step(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        (step, is_bad): (Step, bool),
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.die_work(queue).recorded.is_some() {
            return self.die_work(queue).again.push_back(PendingChange::Step(chunk, step, is_bad));
        }
        let before = self.before(chunk);
        let manager = &mut self.repairs().manager;
        let copied_first = manager.must_copy_first(queue);
        match manager.fail_step(chunk, step, is_bad) {
            Ok(()) => self.record(queue, before, calendar),
            // A full chunk keeps its open block list. A chunk that the host was writing cannot continue.
            Err(NoBlock::UsedUp) if copied_first => self.take_offline(chunk, calendar),
            Err(NoBlock::UsedUp) => self.record(queue, before, calendar),
            Err(NoBlock::NotErased(_)) => {
                self.erase_first(queue, PendingChange::Step(chunk, step, is_bad), calendar);
            }
        }
    }

    /// Retries the first waiting change of the tables. If the reserve has no erased block but one to erase,
    /// it is erased first.
    fn retry_change(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        if self.repairs().manager.needs_erase(queue) {
            if !self.is_being_read() {
                self.erase_reserve(queue, calendar);
            }
            return;
        }
        match self.die_work(queue).again.pop_front() {
            None => {}
            Some(PendingChange::Program(chunk, is_bad)) => self.repair_program(chunk, is_bad, calendar),
            Some(PendingChange::Step(chunk, step, is_bad)) => {
                self.repair_step(queue, chunk, (step, is_bad), calendar);
            }
            Some(PendingChange::Reset(chunk)) => self.resume_reset(chunk, calendar),
        }
        self.advance(queue, calendar);
    }

    /// Continues with the urgent work of a die: waiting changes of the tables, then resets, then copies that
    /// a failed write waits for, then host programs.
    pub(super) fn advance(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let is_recovering = self.recovering.is_some();
        let hand = self.die_work(queue);
        if is_recovering || hand.action.is_some() || hand.recorded.is_some() {
            return;
        }
        if !hand.again.is_empty() {
            return self.retry_change(queue, calendar);
        }
        let chunks = self.config.geometry.chunks_per_unit;
        for reset in self.resets.take_all(|chunk| chunk.0 / chunks == queue) {
            self.begin_reset(reset, calendar);
        }
        if self.repairs().is_busy(queue) {
            return;
        }
        let manager = &self.repairs().manager;
        if manager.must_copy_first(queue)
            && let Some(chunk) = manager.next_to_migrate(queue)
        {
            return self.step(queue, chunk, calendar);
        }
        self.admit(queue, calendar);
    }

    /// Starts background work on idle dies.
    pub(super) fn start_background_work(&mut self, calendar: &mut impl Schedule<Event>) {
        let is_idle = self.commands.is_empty() && self.recovering.is_none() && self.flash.is_clock_running();
        if self.repairs.is_none() || !is_idle {
            return;
        }
        for queue in 0..self.config.geometry.units() {
            let is_free = !self.repairs().is_busy(queue);
            let die = wordline_nand::DieId(queue);
            if !is_free || !self.buffers.is_empty(queue) || !self.flash.is_idle(die) {
                continue;
            }
            let repairs = self.repairs.as_ref().expect("it has a manager");
            let manager = &repairs.manager;
            let journal = repairs.hands[queue as usize].journal.as_ref();
            let old = journal.map(Journal::other).filter(|block| self.chips().programmed(*block) > 0);
            if let Some(block) = old {
                self.erase_for(queue, (block, Action::EraseJournal), calendar);
            } else if manager.next_to_erase(queue).is_some() {
                self.erase_reserve(queue, calendar);
            } else if let Some(chunk) = manager.next_to_migrate(queue) {
                self.step(queue, chunk, calendar);
            }
        }
    }
}
