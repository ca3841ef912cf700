//! A channel's bus: the die that holds it and those that wait.
//!
//! At an edge of the controller's clock at which the bus is free, it goes to one of the dies that have asked by then.
//! Those that only latch a command go first, so that their arrays work while the bus moves data; else it is first
//! come, first served, and of dies that ask at the same instant the one with the lowest number. After
//! [`LATCHES_IN_A_ROW`] latches while data wait, data go once, so that no die starves: erases and copybacks only latch,
//! and enough dies that do nothing else could fill the bus.
//!
//! One case is outside the rule: commands that are started one after the other while nothing else is due find the
//! bus free or taken in their order, because the first one cannot know that others will follow.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use crate::DieId;

/// Most latches that go before data that wait. Chosen: as many as a channel usually has dies, so that each can latch
/// once.
pub(crate) const LATCHES_IN_A_ROW: u32 = 16;

/// A die that waits: since when, and which. Earlier ones go first.
type Wish = (Instant, DieId);

/// A channel's bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bus {
    pub(super) busy_until: Instant,
    /// Dies that want it to latch a command, and dies that want it to move data; a die waits at most once.
    commands: VecDeque<Wish>,
    transfers: VecDeque<Wish>,
    /// Latches that went before data that wait.
    in_a_row: u32,
    /// When the next command may be latched: the bus turns round after data out.
    latch_from: Instant,
    /// The die whose present hold ends with an event of its own, and whether that event hands the bus on to a waiting
    /// die.
    told_by: Option<DieId>,
    hands_on: bool,
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
            in_a_row: 0,
            latch_from: Instant::ZERO,
            told_by: None,
            hands_on: false,
            busy: 0,
            waited: 0,
        }
    }

    /// Whether a die waits.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        !self.commands.is_empty() || !self.transfers.is_empty()
    }

    /// Lets `die` wait from `now` on. No die waits since a later instant, so that only those of this one have to
    /// be put in order.
    #[inline]
    pub(super) fn want(&mut self, die: DieId, latches_only: bool, now: Instant) {
        let queue = if latches_only { &mut self.commands } else { &mut self.transfers };
        match queue.back() {
            Some((since, last)) if *since == now && *last > die => put_in_order(queue, (now, die)),
            _ => queue.push_back((now, die)),
        }
    }

    /// `die`, which waits to latch a command, does not want the bus any more.
    pub(super) fn forget(&mut self, die: DieId) {
        self.commands.retain(|(_, waits)| *waits != die);
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn next(&mut self) -> Option<DieId> {
        let data_wait = !self.transfers.is_empty();
        let latch_first = !data_wait || self.in_a_row < LATCHES_IN_A_ROW;
        let latch = if latch_first { self.commands.pop_front() } else { None };
        self.in_a_row = if data_wait && latch.is_some() { self.in_a_row + 1 } else { 0 };
        latch.or_else(|| self.transfers.pop_front()).map(|(_, die)| die)
    }

    /// A die holds it for `time`, until `end`, and `waited` for it.
    #[inline]
    pub(super) fn hold(&mut self, end: Instant, time: Duration, waited: Duration) {
        self.busy_until = end;
        self.told_by = None;
        self.busy += time.ps();
        self.waited += waited.ps();
    }

    /// How long a command latch at `time` has to wait still for the bus to turn round.
    #[inline]
    pub(super) fn turnaround(&self, time: Instant) -> Duration {
        self.latch_from.since(time)
    }

    /// Data out of `die` end at `end`, which an event tells.
    #[inline]
    pub(super) fn turns(&mut self, die: DieId, end: Instant, turnaround: Duration) {
        self.latch_from = end + turnaround;
        self.told_by = Some(die);
    }

    /// The die whose event tells the end of the present hold, if one does.
    #[inline]
    pub(super) fn told_by(&self) -> Option<DieId> {
        self.told_by
    }

    /// The event that tells the end of the present hold is to hand the bus on.
    #[inline]
    pub(super) fn hand_on(&mut self) {
        self.hands_on = true;
    }

    /// Whether the event that tells the end of the present hold, which has come, hands the bus on.
    #[inline]
    pub(super) fn hands_on(&mut self) -> bool {
        std::mem::take(&mut self.hands_on)
    }

    /// The bus of `dies` dies after the power was cut at `now`.
    pub(super) fn cut(&self, dies: usize, now: Instant) -> Self {
        Self { busy: self.busy(now), waited: self.waited, ..Self::new(dies) }
    }

    /// The dies that wait for it.
    pub(super) fn waiting(&self) -> impl Iterator<Item = DieId> + '_ {
        self.commands.iter().chain(&self.transfers).map(|(_, die)| *die)
    }

    /// Whether it was held for as long as it will still be.
    pub(super) fn is_counted(&self, now: Instant) -> bool {
        self.busy_until.since(now).ps() <= self.busy
    }

    /// Time that it was held until `now`, in picoseconds.
    pub(super) fn busy(&self, now: Instant) -> u64 {
        self.busy - self.busy_until.since(now).ps()
    }
}

/// Puts a wish before those that it is earlier than.
#[inline(never)]
fn put_in_order(queue: &mut VecDeque<Wish>, wish: Wish) {
    queue.insert(queue.partition_point(|other| *other < wish), wish);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_wait_go_after_so_many_latches() {
        let mut bus = Bus::new(64);
        bus.want(DieId(63), false, Instant::ZERO);
        let mut latches = 0;
        let first_data = loop {
            bus.want(DieId(latches % 63), true, Instant::ZERO + Duration::from_ns(u64::from(latches)));
            match bus.next() {
                Some(DieId(63)) => break latches,
                _ => latches += 1,
            }
        };
        assert_eq!(first_data, LATCHES_IN_A_ROW);
        assert_eq!(bus.next().map(|die| die.0), Some(LATCHES_IN_A_ROW % 63), "latches go on behind it");
    }
}
