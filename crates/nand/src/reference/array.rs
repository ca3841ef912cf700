//! The array of a die and its registers, clock by clock.

use wordline_kernel::Instant;

use super::shared::SharedState;
use crate::{DieId, Span, Stage};

/// The array operation of a confirmed command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Clocks of a preceding page transfer between cache and data register. After it the cache register is
    /// available to the bus, and the die is ready.
    pub(super) turn: Option<u64>,
    /// The following array operation. Without a transfer, the die is ready after it.
    pub(super) work: Option<Work>,
}

/// A sense, program or erase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) stage: Stage,
    pub(super) planes: u16,
    pub(super) clocks: u64,
    pub(super) command: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Transferring { left: u64, work: Option<Work> },
    Working { left: u64, work: Work, begin: Instant, signals: bool },
}

/// The array of a die.
#[derive(Clone, Debug)]
pub(super) struct Array {
    die: DieId,
    state: State,
    /// The next job, which begins at an edge of the clock.
    confirmed: Option<Job>,
    /// RDY has risen, and the die has not polled it yet.
    ready: bool,
}

impl Array {
    pub(super) fn new(die: DieId) -> Self {
        Self { die, state: State::Idle, confirmed: None, ready: false }
    }

    /// ARDY: the array is idle, without a pending job.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle) && self.confirmed.is_none()
    }

    /// Queues the job of a confirmed command. The die waits for RDY, so there is one job at a time.
    pub(super) fn confirm(&mut self, job: Job) {
        assert!(self.confirmed.is_none(), "a busy die takes no command");
        self.confirmed = Some(job);
    }

    /// Whether RDY has risen since the last call.
    pub(super) fn take_ready(&mut self) -> bool {
        std::mem::take(&mut self.ready)
    }

    /// Counts down one clock.
    pub(super) fn tick(&mut self, world: &mut SharedState<'_>) {
        match &mut self.state {
            State::Idle => {}
            State::Transferring { left, .. } | State::Working { left, .. } => *left -= 1,
        }
        self.settle(world);
    }

    /// Handles a clock edge: a confirmed job begins if the array is idle.
    pub(super) fn begin(&mut self, world: &mut SharedState<'_>) {
        if !matches!(self.state, State::Idle) {
            return;
        }
        let Some(job) = self.confirmed.take() else { return };
        match (job.turn, job.work) {
            (Some(left), work) => self.state = State::Transferring { left, work },
            (None, Some(work)) => self.work(work, true, world.now),
            (None, None) => unreachable!("a confirmed command does something"),
        }
        self.settle(world);
    }

    fn work(&mut self, work: Work, signals: bool, begin: Instant) {
        self.state = State::Working { left: work.clocks, work, begin, signals };
    }

    /// Handles the end of a count.
    fn settle(&mut self, world: &mut SharedState<'_>) {
        match self.state {
            State::Transferring { left: 0, work } => {
                self.ready = true;
                match work {
                    Some(work) => self.work(work, false, world.now),
                    None => self.state = State::Idle,
                }
            }
            State::Working { left: 0, work, begin, signals } => {
                self.ready |= signals;
                self.state = State::Idle;
                let Work { stage, planes, command, .. } = work;
                let length = world.now - begin;
                world.spans.push(Span { begin, die: self.die, stage, planes, length, command });
            }
            _ => {}
        }
    }
}
