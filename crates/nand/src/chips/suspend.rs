//! Suspend and resume of programs and erases. Meanwhile a die accepts reads and, during an erase, programs of
//! other blocks.
//!
//! The suspend command uses the bus like any other command. Then the array becomes idle after the part's
//! suspend time, in which the operation makes no progress, and the die accepts reads. A resume continues the
//! operation for its remaining time. A program or erase that would end before it could be suspended runs to
//! its end. A copyback is suspended in its program: a suspend during its sense takes effect when the program
//! begins. The pins ([`onfi`](crate::onfi)) have the same rules.

use wordline_kernel::{Duration, Instant, Schedule};

use super::cells::Cells;
use super::command::Operation;
use super::event::Event;
use super::sequencer::Sequencer;
use super::step::Step;
use super::suspended::Suspended;
use crate::Stage;
use crate::geometry::DieId;

impl Sequencer {
    /// Whether `die` executes a program or an erase that can be suspended.
    pub(super) fn can_suspend(&self, die: DieId, now: Instant) -> bool {
        let work = &self.dies[die];
        let goes_on = match (work.step, work.command.operation) {
            (Step::Opening, Operation::Program | Operation::Erase | Operation::Copyback { .. })
            | (Step::Copy, _) => self.suspended[die].is_none(),
            (Step::Resume, _) => true,
            _ => false,
        };
        let free = goes_on && !work.suspend_soon && self.behind[die].is_none();
        let ends_later = |(stage, left)| left > self.rest(die, stage);
        free && (work.senses_for_copyback() || work.array_work(now).is_none_or(ends_later))
    }

    /// Suspends the program or erase of `die` as soon as its array works and the bus is free for the command.
    /// [`Event::ArraySuspended`] reports that the die accepts reads. If the suspend is too late, this event
    /// does not occur, and the command completes normally.
    ///
    /// Panics unless [`can_suspend`](Self::can_suspend).
    pub(super) fn suspend(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        assert!(self.can_suspend(die, now), "die {die:?} has something to suspend");
        let work = &mut self.dies[die];
        let senses = work.senses_for_copyback();
        if !senses && work.array_work(now).is_some() && work.hold_until <= now {
            self.request_step(die, Step::Suspend, cells, calendar);
            return;
        }
        work.suspend_soon = true;
        // Otherwise the command still waits for the bus, or a copyback has yet to program.
        if !senses && work.hold_until > now {
            calendar.at(work.works_from(), Event::Suspend(die));
        }
    }

    /// Handles the begin of an array operation that must be suspended.
    #[inline(never)]
    pub(super) fn suspend_now(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.dies[die].suspend_soon = false;
        if self.can_suspend(die, now) {
            self.request_step(die, Step::Suspend, cells, calendar);
        }
    }

    /// Whether a suspended operation of `die` allows `operation`. If no operation is suspended, any operation
    /// is allowed. Otherwise reads are allowed and, during a suspended erase, plain programs: an erase leaves
    /// the registers free.
    #[inline]
    pub(super) fn accepts_while_suspended(&self, die: DieId, operation: Operation) -> bool {
        match &self.suspended[die] {
            None => true,
            Some(suspended) => match operation {
                Operation::Read => true,
                Operation::Program => suspended.stage == Stage::Ber,
                _ => false,
            },
        }
    }

    /// Whether a program or erase of `die` is suspended. Until it is resumed, the die accepts only reads and,
    /// during a suspended erase, programs.
    #[inline]
    pub(super) fn is_suspended(&self, die: DieId) -> bool {
        self.dies[die].suspended
    }

    /// Number of suspends of the current or suspended program or erase of `die`.
    pub(super) fn suspends(&self, die: DieId) -> u32 {
        match &self.suspended[die] {
            Some(suspended) if suspended.parked => suspended.suspends,
            _ => self.dies[die].suspends,
        }
    }

    /// Requests the bus to resume the suspended operation. Panics unless `die` is idle and
    /// [`is_suspended`](Self::is_suspended).
    #[inline(never)]
    pub(super) fn resume(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        assert!(self.is_idle(die), "die {die:?} reads still");
        let suspended = self.suspended[die].as_mut().expect("something is suspended");
        let Suspended { command, serial, suspends, bus, bus_wait, array, .. } = *suspended;
        suspended.set_parked(false);
        let work = &mut self.dies[die];
        work.begin(command, Step::Resume, serial, calendar.now());
        (work.suspends, work.bus, work.bus_wait, work.array) = (suspends, bus, bus_wait, array);
        if cells.modes.is_some() || self.tables.are_changed() {
            self.choose_times(die, cells);
        }
        self.request_bus(die, cells, calendar);
    }

    /// Suspend latency: time from the suspend until the array is idle.
    fn rest(&self, die: DieId, stage: Stage) -> Duration {
        let [program, erase] = self.tables.of(&self.dies[die]).rest;
        if stage == Stage::Ber { erase } else { program }
    }

    /// Applies a suspend that is latched at `end`. The array becomes idle after the suspend latency, unless
    /// it finishes before.
    #[inline(never)]
    pub(super) fn interrupt(&mut self, die: DieId, end: Instant, calendar: &mut impl Schedule<Event>) {
        let at = self.tables.wiring.clocks.nand.edge(end);
        let Some((stage, left)) = self.dies[die].array_work(at) else { return };
        let rest = self.rest(die, stage);
        if left <= rest {
            return;
        }
        let work = &mut self.dies[die];
        let (left, worked) = work.abort_array(at, rest);
        work.suspended = true;
        work.suspends += 1;
        work.overtaken += 1;
        let (command, serial, suspends) = (work.command, work.serial, work.suspends);
        let (bus, bus_wait, array) = (work.bus, work.bus_wait, work.array);
        self.suspended[die] =
            Some(Suspended { stage, left, parked: false, command, serial, suspends, bus, bus_wait, array });
        if let Some(recorder) = &mut self.recorder {
            recorder.shorten(die, serial, stage, worked);
        }
        calendar.at(at + rest, Event::ArraySuspended(die));
    }

    /// Parks the suspended operation, as the array is idle.
    pub(super) fn park_suspended(&mut self, die: DieId) {
        self.dies[die].step = Step::Idle;
        self.suspended[die].as_mut().expect("the array rests for a suspend").set_parked(true);
    }

    /// Whether the event at `now` that ends an array operation is obsolete because of a suspend.
    #[cold]
    #[inline(never)]
    pub(super) fn is_obsolete_end(&mut self, die: DieId, now: Instant) -> bool {
        let work = &mut self.dies[die];
        let comes = match work.step {
            // A command that still waits for the bus has no array operation that could end.
            Step::Opening | Step::Copy => work.works_for_current(),
            // Once the suspend is latched, the end of the suspend latency is due at that instant, not the end
            // of the operation.
            Step::Suspend | Step::Resume => !work.suspended,
            _ => false,
        };
        let overtaken = !(comes && work.ends_at(now));
        work.overtaken -= u32::from(overtaken);
        overtaken
    }

    /// Bus and array time of the suspended operation while it is parked.
    pub(super) fn parked(&self, die: DieId) -> Duration {
        let parked = self.suspended[die].as_ref().filter(|suspended| suspended.parked);
        parked.map_or(Duration::ZERO, |suspended| suspended.bus + suspended.array)
    }
}

#[cfg(test)]
mod tests;
