//! The calendar: what happens next. Events at the same instant happen in the order in which they were scheduled.

use std::collections::VecDeque;

use crate::{Duration, Instant};

/// Where a component puts the events it needs. A device sees only this, never the whole calendar, so several
/// devices share one calendar by wrapping each other's events.
pub trait Schedule<E> {
    /// The present.
    fn now(&self) -> Instant;
    /// Lets `event` happen at `time`, which is not in the past.
    fn at(&mut self, time: Instant, event: E);
    /// Whether nothing else is due at the present instant, so that what is decided now is decided with all that
    /// happens now known.
    fn is_settled(&self) -> bool;
    /// Lets `event` happen after `delay`.
    #[inline]
    fn after(&mut self, delay: Duration, event: E) {
        self.at(self.now() + delay, event);
    }
}

/// Pending events in the order of time, then of scheduling: a four-ary heap, and beside it the events that were
/// scheduled in their order already. Most delays of a device come in a few lengths, so that the longest of them need
/// no heap and the heap stays small.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    heap: Vec<Entry<E>>,
    /// Each later than the one before.
    sorted: VecDeque<Entry<E>>,
    now: Instant,
    scheduled: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    /// The time above, the order of scheduling below: one comparison.
    key: u128,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn time(&self) -> Instant {
        Instant::from_ps((self.key >> 64) as u64)
    }
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// Children of a node of the heap.
const ARITY: usize = 4;

impl<E: Copy> Calendar<E> {
    /// An empty calendar at time zero.
    pub fn new() -> Self {
        Self {
            heap: Vec::with_capacity(1024),
            sorted: VecDeque::with_capacity(1024),
            now: Instant::ZERO,
            scheduled: 0,
        }
    }

    /// Goes on to the next event, or `None` when nothing is pending.
    #[inline]
    pub fn advance(&mut self) -> Option<E> {
        let first = match (self.heap.first(), self.sorted.front()) {
            (Some(top), Some(front)) if top.key < front.key => self.pop_heap(),
            (_, Some(_)) => self.sorted.pop_front(),
            (_, None) => self.pop_heap(),
        }?;
        self.now = first.time();
        Some(first.event)
    }

    /// Takes the first of the heap.
    #[inline]
    fn pop_heap(&mut self) -> Option<Entry<E>> {
        let first = *self.heap.first()?;
        let last = self.heap.pop().expect("there is a first");
        if !self.heap.is_empty() {
            self.sink(last);
        }
        Some(first)
    }

    /// Puts `entry` where the first was: the hole sinks below every earlier child.
    #[inline]
    fn sink(&mut self, entry: Entry<E>) {
        let heap = self.heap.as_mut_slice();
        let mut hole = 0;
        loop {
            let first = hole * ARITY + 1;
            let least = first
                + match heap.get(first..) {
                    // The usual case without a loop, so that it compiles to comparisons without jumps.
                    Some([a, b, c, d, ..]) => {
                        let (left, left_key) = if b.key < a.key { (1, b.key) } else { (0, a.key) };
                        let (right, right_key) = if d.key < c.key { (3, d.key) } else { (2, c.key) };
                        if right_key < left_key { right } else { left }
                    }
                    Some([]) | None => break,
                    Some(few) => {
                        (1..few.len()).fold(0, |least, n| if few[n].key < few[least].key { n } else { least })
                    }
                };
            if heap[least].key >= entry.key {
                break;
            }
            heap[hole] = heap[least];
            hole = least;
        }
        heap[hole] = entry;
    }
}

impl<E: Copy> Schedule<E> for Calendar<E> {
    #[inline]
    fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn at(&mut self, time: Instant, event: E) {
        debug_assert!(time >= self.now, "an event in the past");
        let entry = Entry { key: u128::from(time.ps()) << 64 | u128::from(self.scheduled), event };
        self.scheduled += 1;
        if self.sorted.back().is_none_or(|last| last.key < entry.key) {
            self.sorted.push_back(entry);
            return;
        }
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if entry.key >= self.heap[parent].key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    #[inline]
    fn is_settled(&self) -> bool {
        let later = |first: Option<&Entry<E>>| first.is_none_or(|first| first.time() > self.now);
        later(self.heap.first()) && later(self.sorted.front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_instant_is_settled_once_nothing_else_is_due_at_it() {
        let mut calendar = Calendar::new();
        assert!(calendar.is_settled());
        for ps in [5, 5, 6] {
            calendar.at(Instant::from_ps(ps), ());
        }
        let settled: Vec<bool> =
            std::iter::from_fn(|| calendar.advance().map(|()| calendar.is_settled())).collect();
        assert_eq!(settled, [false, true, true]);
    }

    proptest! {
        /// Delays of events to be scheduled, and advances (`None`) in between.
        #[test]
        fn events_come_in_the_order_of_time_then_of_scheduling(
            steps in prop::collection::vec(prop::option::weighted(0.6, 0u64..50), 0..300),
        ) {
            let mut calendar = Calendar::new();
            let mut pending = std::collections::BTreeSet::new();
            let mut now = 0;
            for (n, step) in steps.into_iter().enumerate() {
                if let Some(delay) = step {
                    calendar.at(Instant::from_ps(now + delay), n);
                    pending.insert((now + delay, n));
                } else {
                    let wanted = pending.pop_first();
                    prop_assert_eq!(calendar.advance(), wanted.map(|(_, n)| n));
                    now = wanted.map_or(now, |(time, _)| time);
                    prop_assert_eq!(calendar.now(), Instant::from_ps(now));
                    let settled = pending.first().is_none_or(|(time, _)| *time > now);
                    prop_assert_eq!(calendar.is_settled(), settled);
                }
            }
            while let Some((_, n)) = pending.pop_first() {
                prop_assert_eq!(calendar.advance(), Some(n));
            }
            prop_assert_eq!(calendar.advance(), None);
        }
    }
}
