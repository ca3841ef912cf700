//! Service of the dies: starts their next commands, and suspends commands.

use wordline_kernel::{Bytes, Instant, Schedule};
use wordline_nand::{CellMode, Command, CommandCompletion, DieId, Geometry, Operation, PageId, Parameters};

use super::decoder::{DecoderId, Decoders};
use super::task::{Task, TaskId};
use super::ticket::Ticket;
use super::{Event, Flash};
use crate::policy::tuner::{ErasedBlock, ProgrammedPage, Tuner};

impl Flash {
    /// Handles an event of the chips. Returns the command that a die has finished, if any. The command has
    /// ended, unless its data [go to a decoder](Self::decode_if_needed).
    #[inline(always)]
    pub fn handle(
        &mut self,
        event: wordline_nand::Event,
        tuner: &dyn Tuner,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<CommandCompletion> {
        let done = self.chips.handle(event, &mut calendar.within(Event::Chips));
        if done.is_none()
            && let wordline_nand::Event::ArraySuspended(die) = event
        {
            self.on_suspended(die, tuner, calendar);
        }
        done
    }

    /// Hands the data of a finished command to a decoder, if they must be decoded. Returns whether they must.
    /// The command then ends when the decoder has [finished](Self::handle_own).
    #[inline(always)]
    pub fn decode_if_needed(
        &mut self,
        done: &CommandCompletion,
        tuner: &dyn Tuner,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        self.decoders.is_some() && self.decode(done, tuner, calendar)
    }

    /// Handles an event other than the chips'. Returns the command whose data a decoder has finished, if any.
    pub fn handle_own(&mut self, event: Event, now: Instant) -> Option<CommandCompletion> {
        match event {
            Event::Decoded(id) => self.decoded(id, now),
            Event::Chips(_) => unreachable!("{event:?} is handled by the chips"),
        }
    }

    /// Hands the data of a finished read to a decoder, and gives the die its next command. Returns false if
    /// nothing must be decoded.
    #[inline(never)]
    fn decode(
        &mut self,
        done: &CommandCompletion,
        tuner: &dyn Tuner,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let (now, is_running) = (calendar.now(), self.is_clock_running());
        let decodes = |decoders: &Decoders| decoders.decodes(done, self.chips.pools());
        if !is_running || !self.decoders.as_deref().is_some_and(decodes) {
            return false;
        }
        let Some(first) = self.finish(done, now) else { return true };
        let softly = self.chips.pages_with_soft_decision(done);
        let Self { decoders, chips, queues, .. } = self;
        let decoders = decoders.as_deref_mut().expect("they decode it");
        let (id, end) = decoders.take((done, first), softly, now, (queues, chips.pools()));
        calendar.at(end, Event::Decoded(id));
        self.start(done.die, tuner, calendar);
        true
    }

    /// Ends the oldest command of a decoder.
    fn decoded(&mut self, id: DecoderId, now: Instant) -> Option<CommandCompletion> {
        let (done, first, since, gc_ps) = self.decoders.as_deref_mut()?.finished(id)?;
        let meanwhile = self.queues.gc_time(done.die, now) - gc_ps;
        self.queues.note_decoding(first, now - since, meanwhile);
        Some(done)
    }

    /// Gives an idle die its next command, or suspends the current one for a read.
    #[inline]
    pub fn start(&mut self, die: DieId, tuner: &dyn Tuner, calendar: &mut impl Schedule<Event>) {
        if self.chips.is_idle(die) {
            if self.queues.has_work(die) || self.chips.is_suspended(die) {
                self.start_next(die, tuner, calendar);
            }
        } else if self.queues.wants_suspend(die, calendar.now()) {
            self.suspend(die, calendar);
        }
    }

    /// Starts a die at the end of the event in progress, so that all reads that the event queues for one page
    /// share its sense.
    #[inline]
    pub fn start_at_end_of_event(&mut self, die: DieId) {
        self.to_start.push(die);
    }

    /// Starts the dies that were left to the end of the event.
    #[inline(always)]
    pub fn start_waiting(&mut self, tuner: &dyn Tuner, calendar: &mut impl Schedule<Event>) {
        if !self.to_start.is_empty() {
            self.start_all(tuner, calendar);
        }
    }

    #[inline(never)]
    fn start_all(&mut self, tuner: &dyn Tuner, calendar: &mut impl Schedule<Event>) {
        for n in 0..self.to_start.len() {
            self.start(self.to_start[n], tuner, calendar);
        }
        self.to_start.clear();
    }

    #[inline(never)]
    fn start_next(&mut self, die: DieId, tuner: &dyn Tuner, calendar: &mut impl Schedule<Event>) {
        // While the clock is stopped the chips are always idle, but the queue is busy until the command is
        // reported.
        if !self.is_clock_running() && self.queues.is_at_work(die) {
            return;
        }
        let Self { levels, chips, queues, history, counts, .. } = self;
        let geometry = &chips.pools().of_die(die).geometry;
        let mergeable = |before: &Task, next: &Task| {
            next.page.0.wrapping_sub(before.page.0) <= 1
                && are_side_by_side(geometry, before.page, next.page)
                && levels.as_ref().is_none_or(|levels| levels.have_same_level(before, next, chips, tuner))
        };
        let Some(first) = queues.next(die, calendar.now(), &mut counts.deadline_promotions, mergeable) else {
            return self.resume(die, calendar);
        };
        if let Some(history) = history {
            history.begin(die, calendar.now());
        }
        let (operation, page, again) = (first.operation, first.page, first.again);
        let collects = matches!(first.ticket, Ticket::Gc(..));
        let (mut planes, mut bytes) = (first.planes, u64::from(first.bytes));
        if first.next_in_chain().is_some() {
            (planes, bytes) = queues.current_reads(die, geometry.page_size);
        }
        if self.at_once.is_some() {
            let command = Command::new(operation, page, planes, Bytes(bytes));
            return self.execute_untimed(die, command);
        }
        if operation != Operation::Read {
            planes = geometry.planes_per_row;
            self.fill_registers(die);
        }
        match &self.levels {
            Some(levels) => levels.choose(die, operation, &self.queues, &mut self.chips, tuner),
            None if self.counts.read_retries > 0 => self.set_retry_time(die),
            None => {}
        }
        let mut command = Command::new(operation, page, planes, Bytes(bytes));
        if again > 0 {
            command = command.spelled(CellMode::Reprogrammed(again));
        }
        if self.tunes && matches!(operation, Operation::Program | Operation::Erase) {
            command = self.with_tuned_parameters(die, command, tuner);
        }
        if self.chips.has_marks() {
            self.chips.mark(die, collects);
        }
        self.chips.begin(die, command, &mut calendar.within(Event::Chips));
    }

    /// Sets the parameters that the tuner selects for a program or erase, in the parameter set of its die.
    #[inline(never)]
    fn with_tuned_parameters(&mut self, die: DieId, command: Command, tuner: &dyn Tuner) -> Command {
        let part = &self.chips.pools().of_die(die).part;
        let (pool, parameters, beyond) = if command.operation == Operation::Erase {
            let asked = self.block_to_erase(command.page);
            let parameters = tuner.erase(&asked);
            let beyond = parameters.erase.and_then(|time| part.beyond_erase(asked.mode, time));
            (asked.pool, parameters, beyond)
        } else {
            let asked = self.programmed_page(command.page);
            (asked.pool, tuner.program(&asked), None)
        };
        if parameters == Parameters::DATA_SHEET {
            return command;
        }
        if let Some((found, allowed)) = beyond.or_else(|| part.beyond(&parameters)) {
            tuner.refused(pool, found, allowed);
            return command;
        }
        // Set 0 has the data sheet's parameters.
        let set = die.0 as u16 + 1;
        self.chips.set_parameters(set, parameters);
        command.with(set)
    }

    /// Block of an erase, as the tuner sees it.
    fn block_to_erase(&self, page: PageId) -> ErasedBlock {
        let ProgrammedPage { block, pool, erases, .. } = self.programmed_page(page);
        let mode = self.chips.mode(block);
        let time = self.chips.pools().of_block(block).part.erase_time(mode);
        ErasedBlock { block, pool, erases, mode, time }
    }

    /// First page of a program, as the tuner sees it.
    pub(super) fn programmed_page(&self, page: PageId) -> ProgrammedPage {
        let pools = self.chips.pools();
        let block = pools.block_of_page(page);
        let geometry = &pools.of_block(block).geometry;
        ProgrammedPage {
            page,
            block,
            pool: pools.number_of_group(pools.group_of_block(block)) as u8,
            number: geometry.page_in_block(geometry.split(page).1),
            erases: self.chips.erases()[block],
        }
    }

    /// Copies the data of a program to the registers of its die.
    #[inline(never)]
    fn fill_registers(&mut self, die: DieId) {
        let task = self.queues.current(die);
        if task.operation == Operation::Program {
            let stamps = self.payloads.get(task.payload, task.locations);
            self.chips.registers(die)[..stamps.len()].copy_from_slice(stamps);
        }
    }

    /// Resumes the suspended operation of a die for which no other eligible task waits.
    #[inline(never)]
    fn resume(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if self.chips.is_suspended(die) {
            self.queues.resume(die, calendar.now());
            if let Some(history) = &mut self.history {
                history.begin(die, calendar.now());
            }
            let collects = matches!(self.queues.current(die).ticket, Ticket::Gc(..));
            self.chips.mark(die, collects);
            self.chips.resume(die, &mut calendar.within(Event::Chips));
        }
    }

    /// Suspends the current program or erase of a die, if it can be suspended and has not reached the limit.
    #[cold]
    #[inline(never)]
    fn suspend(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if self.chips.suspends(die) < self.max_suspends && self.chips.can_suspend(die, calendar.now()) {
            self.chips.suspend(die, &mut calendar.within(Event::Chips));
        }
    }

    /// Starts a read on a die whose work is now suspended.
    #[cold]
    #[inline(never)]
    fn on_suspended(&mut self, die: DieId, tuner: &dyn Tuner, calendar: &mut impl Schedule<Event>) {
        if let Some(history) = &mut self.history {
            history.end(die, calendar.now(), (&self.queues, self.chips.pools()), 1);
        }
        self.queues.suspend(die, calendar.now());
        self.start(die, tuner, calendar);
    }

    /// Records that a die has finished a command. Returns the first of its tasks; the caller must
    /// [release](Self::release) each of them.
    #[inline]
    pub fn finish(&mut self, done: &CommandCompletion, now: Instant) -> Option<TaskId> {
        let decoded = self.decoders.as_deref_mut().and_then(Decoders::take_finished);
        if decoded.is_some() {
            return decoded;
        }
        self.served_ps += u128::from((done.bus + done.array).ps());
        if let Some(history) = &mut self.history
            && self.queues.is_at_work(done.die)
        {
            history.end(done.die, now, (&self.queues, self.chips.pools()), done.command.planes);
        }
        self.queues.finish(done.die, now)
    }

    /// Releases an ended task of a die, and returns it.
    #[inline]
    pub fn release(&mut self, die: DieId, id: TaskId) -> Task {
        let task = self.queues.release(die, id);
        if task.operation == Operation::Program {
            self.payloads.release(task.payload);
        }
        task
    }
}

/// Whether one command can read two pages, because they are parts of one page or adjacent pages in several
/// planes.
#[inline(never)]
fn are_side_by_side(geometry: &Geometry, page: PageId, next: PageId) -> bool {
    let (block, offset) = geometry.split(page);
    let (next_block, next_offset) = geometry.split(next);
    block == next_block && geometry.page_in_block(offset) == geometry.page_in_block(next_offset)
}
