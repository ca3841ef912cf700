//! Flash work for the failure manager: page copies, erases of reserve blocks, and records of the tables.
//!
//! A die does one such operation at a time. Each step says what the device does [after it](After).

use wordline_flash::{Class, Purpose, Task, Ticket};
use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DataTag, DieId, Location, Operation as Work};

use super::chunks::{ChunkId, Chunks};
use super::die_work::{Action, PendingChange, Repairs, UndoEntry};
use super::event::Event;
use super::failures::{NoBlock, Step};
use super::in_flight::Commands;
use super::journal::Journal;
use super::media::Media;

/// Continuation of the device after a step for the failure manager.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(super) enum After {
    /// Nothing: a die works for the manager, or a change of the tables waits.
    Wait,
    /// It continues with the urgent work of the die.
    Advance,
    /// It takes the chunk offline, because no reserve block is left.
    Offline(ChunkId),
}

impl Repairs {
    /// Recovers a failed program: the chunk continues in another block.
    pub(super) fn repair_program(
        &mut self,
        (chunk, is_bad): (ChunkId, bool),
        chunks: &mut Chunks,
        commands: &Commands,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let queue = chunks.unit_of(chunk);
        let again = PendingChange::Program(chunk, is_bad);
        if self.must_wait(queue, again) {
            return After::Wait;
        }
        let pages = chunks.get(chunk).programmed / media.unit();
        let before = self.before(chunk, chunks);
        match self.manager.failed(chunk, pages, is_bad) {
            Ok(()) => {
                media.counts.recovered += 1;
                self.record(queue, before, media, calendar)
            }
            Err(NoBlock::UsedUp) => {
                chunks.get_mut(chunk).is_bad |= is_bad;
                After::Offline(chunk)
            }
            Err(NoBlock::NotErased(_)) => self.erase_first(queue, again, commands, media, calendar),
        }
    }

    /// Whether a change of the tables has to wait, because another one is being recorded. If so, it is
    /// retried later.
    fn must_wait(&mut self, queue: u32, again: PendingChange) -> bool {
        let hand = &mut self.hands[queue as usize];
        let waits = hand.recorded.is_some();
        hand.again.extend(waits.then_some(again));
        waits
    }

    /// Saves the table entries of a chunk before a change.
    fn before(&self, chunk: ChunkId, chunks: &Chunks) -> UndoEntry {
        let entry = chunks.get(chunk);
        UndoEntry { before: self.manager.before(chunk), is_bad: entry.is_bad, is_void: entry.is_void }
    }

    /// Block of a chunk after its reset. The caller must erase the block. If the tables change, the change is
    /// recorded first: this call fails, and the reset calls again after the record.
    pub(super) fn repair_reset(
        &mut self,
        (chunk, is_bad): (ChunkId, bool),
        chunks: &mut Chunks,
        commands: &Commands,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> (Result<BlockSetId, NoBlock>, After) {
        let queue = chunks.unit_of(chunk);
        let again = PendingChange::Reset(chunk);
        if self.must_wait(queue, again) {
            return (Err(NoBlock::NotErased(self.manager.block(chunk))), After::Wait);
        }
        let before = self.before(chunk, chunks);
        let changes = is_bad || self.manager.shift(chunk) != Some(0);
        let block = self.manager.reset(chunk, is_bad);
        match block {
            Ok(of_chunk) if changes => {
                let entry = chunks.get_mut(chunk);
                (entry.is_void, entry.is_bad) = (true, false);
                match self.record(queue, before, media, calendar) {
                    After::Wait => (Err(NoBlock::NotErased(of_chunk)), After::Wait),
                    after => (block, after),
                }
            }
            Ok(_) | Err(NoBlock::UsedUp) => (block, After::Wait),
            Err(NoBlock::NotErased(_)) => (block, self.erase_first(queue, again, commands, media, calendar)),
        }
    }

    /// Records a change of the tables in the journal. Without a journal the change is over.
    fn record(
        &mut self,
        queue: u32,
        before: UndoEntry,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let records = self.pages_of_record;
        let hand = &mut self.hands[queue as usize];
        if hand.journal.is_none() {
            return After::Advance;
        }
        (hand.recorded, hand.records) = (Some(before), records);
        self.program_record(queue, media, calendar)
    }

    /// Programs the next page of a record. When the current journal block is full, the other block is used,
    /// and erased first if necessary.
    fn program_record(
        &mut self,
        queue: u32,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let pages = media.config.geometry.blocks_per_chunk / media.unit();
        let hand = &mut self.hands[queue as usize];
        let journal = hand.journal.as_mut().expect("only what has a journal is recorded");
        if journal.is_full(pages) {
            journal.turn();
        }
        let block = journal.block();
        let ticket = Ticket::TableUnit(media.config.pools.group_of_block(block));
        if journal.is_new() && media.chips().programmed(block) > 0 {
            media.erase(ticket, block, calendar);
        } else {
            let first = media.first_location(journal.take_page());
            // The data tags are padding; the contents of the tables are not modelled.
            let (die, _) = media.flash.program(calendar.now(), (ticket, Class::Write), first, media.unit());
            media.start(die, calendar);
        }
        After::Wait
    }

    /// Handles the end of a program of a record, or of the erase of a journal block.
    fn finish_record(
        &mut self,
        queue: u32,
        (task, failed): (&Task, bool),
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let is_erase = task.operation == Work::Erase;
        let is_over = if is_erase {
            media.counts.journal_erases += 1;
            // Without a block for the journal the record is given up.
            failed && !self.replace_in_journal(queue, true)
        } else {
            media.counts.journal_programs += 1;
            let hand = &mut self.hands[queue as usize];
            hand.records -= u32::from(!failed);
            hand.records == 0
        };
        if !is_over {
            return self.program_record(queue, media, calendar);
        }
        let hand = &mut self.hands[queue as usize];
        (hand.recorded, hand.records) = (None, 0);
        After::Advance
    }

    /// Replaces a journal block whose erase failed. If the reserve has no block, no further records are made.
    fn replace_in_journal(&mut self, queue: u32, is_current: bool) -> bool {
        let block = self.manager.take_reserve_block(queue);
        let hand = &mut self.hands[queue as usize];
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
    fn erase_first(
        &mut self,
        queue: u32,
        again: PendingChange,
        commands: &Commands,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let hand = &mut self.hands[queue as usize];
        hand.again.push_back(again);
        if hand.action.is_none() {
            self.erase_if_unread(queue, commands, media, calendar);
        }
        After::Wait
    }

    /// Erases the next reserve block, unless a host read may still use it. Without `shift` blocks return to
    /// the reserve while the host reads.
    pub(super) fn erase_if_unread(
        &mut self,
        queue: u32,
        commands: &Commands,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        let is_being_read = !self.manager.shifts() && commands.all.values().any(|command| command.reads > 0);
        if !is_being_read {
            self.erase_reserve(queue, media, calendar);
        }
    }

    fn erase_reserve(&mut self, queue: u32, media: &mut Media, calendar: &mut impl Schedule<Event>) {
        let block = self.manager.next_to_erase(queue).expect("a block is to be erased");
        self.erase_for(queue, (block, Action::Erase), media, calendar);
    }

    fn erase_for(
        &mut self,
        queue: u32,
        (block, action): (BlockSetId, Action),
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.hands[queue as usize].action = Some(action);
        let ticket = Ticket::Gc(media.config.pools.group_of_block(block), Purpose::Reclaiming);
        media.erase(ticket, block, calendar);
    }

    /// Handles the end of a flash command for the failure manager, on the die `queue`.
    pub(super) fn finish_task(
        &mut self,
        queue: u32,
        (task, failed): (&Task, bool),
        chunks: &Chunks,
        commands: &Commands,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        if matches!(task.ticket, Ticket::TableUnit(_)) {
            return self.finish_record(queue, (task, failed), media, calendar);
        }
        let hand = &mut self.hands[queue as usize];
        match hand.action.take().expect("its die worked for the manager") {
            Action::Read { chunk, step, left, mut unread } => {
                unread |= unread_of(step, task, failed, media);
                if left > 1 {
                    hand.action = Some(Action::Read { chunk, step, left: left - 1, unread });
                    return After::Wait;
                }
                // After a new host command the page is read again later.
                if !commands.all.is_empty() && !self.manager.must_copy_first(queue) {
                    return After::Advance;
                }
                self.program_step((queue, chunk), step, unread, media, calendar)
            }
            Action::Program { chunk, step, unread } => {
                media.counts.repair_programs += 1;
                media.counts.copied_first += u64::from(self.manager.must_copy_first(queue));
                if failed {
                    media.counts.program_failures += 1;
                    return self.repair_step(chunk, (step, true), chunks, commands, media, calendar);
                }
                if let Step::Copy { to, .. } = step {
                    media.corrupt(to, unread);
                }
                self.manager.complete_step(chunk, step);
                After::Advance
            }
            Action::Erase => {
                media.counts.reserve_erases += 1;
                self.manager.erased(queue, failed);
                After::Advance
            }
            Action::EraseJournal => {
                media.counts.journal_erases += 1;
                if failed {
                    self.replace_in_journal(queue, false);
                }
                After::Advance
            }
        }
    }

    /// Starts the next step of the migration of a chunk.
    pub(super) fn begin_step(
        &mut self,
        chunk: ChunkId,
        chunks: &Chunks,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let queue = chunks.unit_of(chunk);
        let step = self.manager.step(chunk);
        match step {
            Step::Finish => {
                let before = self.before(chunk, chunks);
                self.manager.finish(chunk);
                media.counts.migrated += 1;
                self.record(queue, before, media, calendar)
            }
            Step::Pad { .. } => self.program_step((queue, chunk), step, 0, media, calendar),
            Step::Copy { from, .. } => {
                let first = media.first_location(from).0;
                let locations: Vec<Location> = (first..first + media.unit()).map(Location).collect();
                let ticket = Ticket::Gc(media.config.pools.group_of(locations[0]), Purpose::Reclaiming);
                let left = media.queue_reads(&locations, ticket, calendar.now(), &mut Vec::new());
                self.hands[queue as usize].action = Some(Action::Read { chunk, step, left, unread: 0 });
                media.start(DieId(queue), calendar);
                After::Wait
            }
        }
    }

    /// Programs the page of a step. Unreadable blocks are programmed as padding, and marked as corrupted
    /// afterwards.
    fn program_step(
        &mut self,
        (queue, chunk): (u32, ChunkId),
        step: Step,
        unread: u64,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let (from, to) = match step {
            Step::Copy { from, to } => (Some(media.first_location(from)), media.first_location(to)),
            Step::Pad { to } => (None, media.first_location(to)),
            Step::Finish => unreachable!("finishing programs nothing"),
        };
        let found = |n: u32| from.map(|from| media.flash.stamp(Location(from.0 + n)));
        let is_read = |n: u32| unread >> n & 1 == 0;
        let data = |n: u32| found(n).filter(|_| is_read(n)).unwrap_or(DataTag::PADDING);
        let data: Vec<DataTag> = (0..media.unit()).map(data).collect();
        let ticket = Ticket::Gc(media.config.pools.group_of(to), Purpose::Reclaiming);
        self.hands[queue as usize].action = Some(Action::Program { chunk, step, unread });
        media.program(ticket, to, &data, calendar);
        After::Wait
    }

    /// Recovers a failed or interrupted program of a step.
    pub(super) fn repair_step(
        &mut self,
        chunk: ChunkId,
        (step, is_bad): (Step, bool),
        chunks: &Chunks,
        commands: &Commands,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let queue = chunks.unit_of(chunk);
        let again = PendingChange::Step(chunk, step, is_bad);
        if self.must_wait(queue, again) {
            return After::Wait;
        }
        let before = self.before(chunk, chunks);
        let copied_first = self.manager.must_copy_first(queue);
        match self.manager.fail_step(chunk, step, is_bad) {
            Ok(()) => self.record(queue, before, media, calendar),
            // A full chunk keeps its open block list. A chunk that the host was writing cannot continue.
            Err(NoBlock::UsedUp) if copied_first => After::Offline(chunk),
            Err(NoBlock::UsedUp) => self.record(queue, before, media, calendar),
            Err(NoBlock::NotErased(_)) => self.erase_first(queue, again, commands, media, calendar),
        }
    }

    /// Starts background work on an idle die: the erase of a journal block, then of a reserve block, then the
    /// next step of a migration.
    pub(super) fn begin_background_work(
        &mut self,
        queue: u32,
        chunks: &Chunks,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> After {
        let journal = self.hands[queue as usize].journal.as_ref();
        let old = journal.map(Journal::other).filter(|block| media.chips().programmed(*block) > 0);
        if let Some(block) = old {
            self.erase_for(queue, (block, Action::EraseJournal), media, calendar);
        } else if self.manager.next_to_erase(queue).is_some() {
            self.erase_reserve(queue, media, calendar);
        } else if let Some(chunk) = self.manager.next_to_migrate(queue) {
            return self.begin_step(chunk, chunks, media, calendar);
        }
        After::Wait
    }

    /// Finds out how far the migration of a chunk had progressed at a power loss. Returns a step whose
    /// program was interrupted.
    pub(super) fn settle_copies(&mut self, chunk: ChunkId, media: &Media) -> Option<Step> {
        if !self.manager.is_migrating(chunk) {
            return None;
        }
        let step = self.manager.step(chunk);
        let (Step::Copy { to, .. } | Step::Pad { to }) = step else { return None };
        if media.chips().programmed(to.block) <= to.page * media.unit() {
            return None;
        }
        if media.is_torn(media.first_location(to)) {
            return Some(step);
        }
        self.manager.complete_step(chunk, step);
        None
    }

    /// Pages from which the tables are read after a power loss.
    pub(super) fn tables_to_read(&self, media: &Media) -> Vec<Location> {
        let pools = &media.config.pools;
        match self.last_records() {
            Some(records) => records.into_iter().map(|place| media.first_location(place)).collect(),
            None => {
                let written = pools.all_blocks().filter(|block| media.chips().programmed(*block) > 0);
                written.map(|block| pools.at(block, 0)).collect()
            }
        }
    }

    /// Undoes changes that were not recorded, at a power loss. Copies of unreadable blocks are corrupted,
    /// even if their program completed.
    pub(super) fn undo_unrecorded(&mut self, media: &mut Media) -> (Vec<ChunkId>, Vec<UndoEntry>) {
        self.retries.forget_all();
        let at_work = self.cut();
        for (to, unread) in at_work.unread {
            if media.chips().programmed(to.block) > to.page * media.unit() {
                media.corrupt(to, unread);
            }
        }
        (at_work.chunks, at_work.undone)
    }
}

/// Bitmap of the logical blocks of a copied page that a read could not read.
fn unread_of(step: Step, task: &Task, failed: bool, media: &Media) -> u64 {
    let Step::Copy { from, .. } = step else { return 0 };
    let first = media.first_location(from).0;
    let of_task = task.location.0..task.location.0 + task.locations;
    let is_unread = |location: &u32| failed || media.flash.stamp(Location(*location)) == DataTag::UNREADABLE;
    of_task.filter(is_unread).map(|location| 1 << (location - first)).fold(0, |all, one: u64| all | one)
}
