//! The array of a die and the registers before it, clock by clock.

use wordline_kernel::Instant;

use super::World;
use crate::{DieId, Span, Stage};

/// The work of the array after a confirmed command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Clocks in which a page moves between cache and data register first; then the bus has the cache register, and
    /// the die is ready.
    pub(super) turn: Option<u64>,
    /// The work of the array then; the die is ready after it if there was no turn.
    pub(super) work: Option<Work>,
}

/// Sensing, programming or erasing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) stage: Stage,
    pub(super) planes: u16,
    pub(super) clocks: u64,
    pub(super) command: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Resting,
    Turning { left: u64, work: Option<Work> },
    Working { left: u64, work: Work, begin: Instant, signals: bool },
}

/// The array of a die.
#[derive(Clone, Debug)]
pub(super) struct Array {
    die: DieId,
    state: State,
    /// The next job, from an edge of its clock on.
    confirmed: Option<Job>,
    /// RDY has risen and the die has not looked yet.
    ready: bool,
}

impl Array {
    pub(super) fn new(die: DieId) -> Self {
        Self { die, state: State::Resting, confirmed: None, ready: false }
    }

    /// ARDY: nothing is done, nor will be before the next command.
    pub(super) fn rests(&self) -> bool {
        matches!(self.state, State::Resting) && self.confirmed.is_none()
    }

    /// Takes what a command was confirmed for. The die waits for RDY, so that there is one job at a time.
    pub(super) fn confirm(&mut self, job: Job) {
        assert!(self.confirmed.is_none(), "a busy die takes no command");
        self.confirmed = Some(job);
    }

    /// Whether RDY has risen since it was asked last.
    pub(super) fn take_ready(&mut self) -> bool {
        std::mem::take(&mut self.ready)
    }

    /// One clock less to go.
    pub(super) fn tick(&mut self, world: &mut World<'_>) {
        match &mut self.state {
            State::Resting => {}
            State::Turning { left, .. } | State::Working { left, .. } => *left -= 1,
        }
        self.settle(world);
    }

    /// An edge of its clock: a confirmed job begins if the array rests.
    pub(super) fn begin(&mut self, world: &mut World<'_>) {
        if !matches!(self.state, State::Resting) {
            return;
        }
        let Some(job) = self.confirmed.take() else { return };
        match (job.turn, job.work) {
            (Some(left), work) => self.state = State::Turning { left, work },
            (None, Some(work)) => self.work(work, true, world.now),
            (None, None) => unreachable!("a confirmed command does something"),
        }
        self.settle(world);
    }

    fn work(&mut self, work: Work, signals: bool, begin: Instant) {
        self.state = State::Working { left: work.clocks, work, begin, signals };
    }

    /// The transition at the end of a count.
    fn settle(&mut self, world: &mut World<'_>) {
        match self.state {
            State::Turning { left: 0, work } => {
                self.ready = true;
                match work {
                    Some(work) => self.work(work, false, world.now),
                    None => self.state = State::Resting,
                }
            }
            State::Working { left: 0, work, begin, signals } => {
                self.ready |= signals;
                self.state = State::Resting;
                let Work { stage, planes, command, .. } = work;
                let length = world.now - begin;
                world.spans.push(Span { begin, die: self.die, stage, planes, length, command });
            }
            _ => {}
        }
    }
}
