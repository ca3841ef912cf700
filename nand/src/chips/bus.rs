//! A channel's bus: who holds it and who waits.
//!
//! Of the dies that wait for a busy bus, those that only latch a command go first, so that their arrays work while
//! the bus moves data; else it is first come, first served. A die latches one command and is then busy for long, so
//! nobody starves.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant};

use crate::DieId;

/// A channel's bus.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    pub(super) busy_until: Instant,
    /// Dies that want it to latch a command, and dies that want it to move data; a die waits at most once.
    commands: VecDeque<DieId>,
    transfers: VecDeque<DieId>,
    busy: u64,
    /// Time that dies waited for it, summed over dies, in picoseconds.
    pub(super) waited: u64,
}

impl Bus {
    /// A free bus for `dies` dies.
    pub(super) fn new(dies: usize) -> Self {
        Self {
            busy_until: Instant::ZERO,
            commands: VecDeque::with_capacity(dies),
            transfers: VecDeque::with_capacity(dies),
            busy: 0,
            waited: 0,
        }
    }

    /// Whether somebody waits.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        !self.commands.is_empty() || !self.transfers.is_empty()
    }

    /// Lets `die` wait.
    #[inline]
    pub(super) fn want(&mut self, die: DieId, latches_only: bool) {
        if latches_only {
            self.commands.push_back(die);
        } else {
            self.transfers.push_back(die);
        }
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn next(&mut self) -> Option<DieId> {
        self.commands.pop_front().or_else(|| self.transfers.pop_front())
    }

    /// Somebody holds it from `begin` for `time` and asked for it `waited` before.
    #[inline]
    pub(super) fn hold(&mut self, begin: Instant, time: Duration, waited: Duration) {
        self.busy_until = begin + time;
        self.busy += time.ps();
        self.waited += waited.ps();
    }

    /// Time that it was held until `now`, in picoseconds.
    pub(super) fn busy(&self, now: Instant) -> u64 {
        self.busy - self.busy_until.since(now).ps()
    }
}
