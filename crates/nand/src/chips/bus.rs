//! Bus arbitration of a channel: the die that has the grant and the dies that wait for one.
//!
//! At an edge of the controller's clock at which the bus is free, it is granted to one of the dies that have
//! requested it by then. Dies that only latch a command have priority, so that their arrays work while the
//! bus transfers data. Otherwise the first request is granted first. Among requests at the same instant, the
//! lowest die number is first.
//!
//! Erases and copybacks only latch, and enough dies with such commands could saturate the bus. After
//! [`MAX_CONSECUTIVE_LATCHES`] latches while data wait, one data transfer is therefore granted, so that no
//! die starves.
//!
//! The priority applies only to requests that wait at the same time. If the bus is free and no event is due,
//! a command is granted the bus as soon as it starts. A latch that starts directly afterwards, at the same
//! instant, then has to wait.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use crate::DieId;

/// Maximum number of latches granted while data wait. Chosen: as many as a channel usually has dies, so that
/// each die can latch once.
pub(crate) const MAX_CONSECUTIVE_LATCHES: u32 = 16;

/// A waiting request: its time and die. Earlier requests are granted first.
type Request = (Instant, DieId);

/// A channel's bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bus {
    pub(super) busy_until: Instant,
    /// Dies that wait to latch a command; a die waits at most once.
    commands: VecDeque<Request>,
    /// Dies that wait to transfer data.
    transfers: VecDeque<Request>,
    /// Consecutive latches granted while data waited.
    in_a_row: u32,
    /// Earliest time of the next command latch, after the turnaround of the bus.
    latch_from: Instant,
    /// The die whose current grant ends with an event of its own.
    told_by: Option<DieId>,
    /// Whether that event passes the bus to a waiting die.
    hands_on: bool,
    busy: u64,
    /// Time that dies waited for the bus, summed over dies, in picoseconds.
    pub(super) waited: u64,
}

impl Bus {
    /// An idle bus for `dies` dies.
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

    /// Whether a die waits for the bus.
    #[inline]
    pub(super) fn has_requests(&self) -> bool {
        !self.commands.is_empty() || !self.transfers.is_empty()
    }

    /// Queues a request of `die` at `now`. No earlier request has a later time, so only requests of the same
    /// instant must be sorted.
    #[inline]
    pub(super) fn request(&mut self, die: DieId, latches_only: bool, now: Instant) {
        let queue = if latches_only { &mut self.commands } else { &mut self.transfers };
        match queue.back() {
            Some((since, last)) if *since == now && *last > die => insert_sorted(queue, (now, die)),
            _ => queue.push_back((now, die)),
        }
    }

    /// Withdraws the request of `die`, which waits to latch a command.
    pub(super) fn forget(&mut self, die: DieId) {
        self.commands.retain(|(_, waits)| *waits != die);
    }

    /// Takes the next die to be granted the bus out of the queues.
    #[inline]
    pub(super) fn next(&mut self) -> Option<DieId> {
        let data_wait = !self.transfers.is_empty();
        let latch_first = !data_wait || self.in_a_row < MAX_CONSECUTIVE_LATCHES;
        let latch = if latch_first { self.commands.pop_front() } else { None };
        self.in_a_row = if data_wait && latch.is_some() { self.in_a_row + 1 } else { 0 };
        latch.or_else(|| self.transfers.pop_front()).map(|(_, die)| die)
    }

    /// Records a grant for `time`, until `end`, after a wait of `waited`.
    #[inline]
    pub(super) fn hold(&mut self, end: Instant, time: Duration, waited: Duration) {
        self.busy_until = end;
        self.told_by = None;
        self.busy += time.ps();
        self.waited += waited.ps();
    }

    /// The remaining turnaround time of the bus for a command latch at `time`.
    #[inline]
    pub(super) fn turnaround(&self, time: Instant) -> Duration {
        self.latch_from.since(time)
    }

    /// Records data out of `die`, which end at `end` with an event, and their turnaround.
    #[inline]
    pub(super) fn end_data_out(&mut self, die: DieId, end: Instant, turnaround: Duration) {
        self.latch_from = end + turnaround;
        self.told_by = Some(die);
    }

    /// The die whose event ends the current grant, if there is such an event.
    #[inline]
    pub(super) fn told_by(&self) -> Option<DieId> {
        self.told_by
    }

    /// Lets the event at the end of the current grant pass the bus on.
    #[inline]
    pub(super) fn hand_on(&mut self) {
        self.hands_on = true;
    }

    /// Whether the event at the end of the current grant, which is being handled, passes the bus on.
    #[inline]
    pub(super) fn hands_on(&mut self) -> bool {
        std::mem::take(&mut self.hands_on)
    }

    /// The bus of `dies` dies after a power cut at `now`.
    pub(super) fn cut(&self, dies: usize, now: Instant) -> Self {
        Self { busy: self.busy(now), waited: self.waited, ..Self::new(dies) }
    }

    /// The dies that wait for the bus.
    pub(super) fn waiting(&self) -> impl Iterator<Item = DieId> + '_ {
        self.commands.iter().chain(&self.transfers).map(|(_, die)| *die)
    }

    /// Whether the busy time covers the remaining time of the current grant.
    pub(super) fn is_counted(&self, now: Instant) -> bool {
        self.busy_until.since(now).ps() <= self.busy
    }

    /// Busy time until `now`, in picoseconds.
    pub(super) fn busy(&self, now: Instant) -> u64 {
        self.busy - self.busy_until.since(now).ps()
    }
}

/// Inserts a request before all later requests.
#[inline(never)]
fn insert_sorted(queue: &mut VecDeque<Request>, wish: Request) {
    queue.insert(queue.partition_point(|other| *other < wish), wish);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_wait_go_after_so_many_latches() {
        let mut bus = Bus::new(64);
        bus.request(DieId(63), false, Instant::ZERO);
        let mut latches = 0;
        let first_data = loop {
            bus.request(DieId(latches % 63), true, Instant::ZERO + Duration::from_ns(u64::from(latches)));
            match bus.next() {
                Some(DieId(63)) => break latches,
                _ => latches += 1,
            }
        };
        assert_eq!(first_data, MAX_CONSECUTIVE_LATCHES);
        assert_eq!(
            bus.next().map(|die| die.0),
            Some(MAX_CONSECUTIVE_LATCHES % 63),
            "latches go on behind it"
        );
    }
}
