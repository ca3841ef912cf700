//! The calendar (event queue) of the simulation. Events at the same instant are handled in the order in which
//! they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Duration, Instant};

/// Schedules the events of a component. A device sees only this interface, so that several devices share one
/// calendar by wrapping their events.
pub trait Schedule<E> {
    /// The current simulated time.
    fn now(&self) -> Instant;
    /// Schedules `event` at `time`, which must not be in the past.
    fn at(&mut self, time: Instant, event: E);
    /// Whether no other event is due now: a decision made now then knows all events of this instant.
    fn is_settled(&self) -> bool;
    /// Schedules `event` directly after the event being handled, before all others that are due at the
    /// current instant. Panics if another event is scheduled in this way already.
    fn next(&mut self, event: E);
    /// Advances the clock to `time` if no event is due up to that instant, inclusive. Returns whether it did.
    #[inline]
    fn advance_to(&mut self, _time: Instant) -> bool {
        false
    }
    /// Whether `event` is the last one scheduled for the later instant `time`; false if that is unknown.
    #[inline]
    fn is_last(&self, _time: Instant, _event: E) -> bool {
        false
    }
    /// Schedules `event` after `delay`.
    #[inline]
    fn after(&mut self, delay: Duration, event: E) {
        self.at(self.now() + delay, event);
    }
    /// The calendar for a sub-component. `wrap` converts its events to events of the owner.
    #[inline]
    fn within<Inner, Wrap: Fn(Inner) -> E>(&mut self, wrap: Wrap) -> MappedSchedule<'_, Self, Wrap>
    where
        Self: Sized,
    {
        MappedSchedule { owner: self, wrap }
    }
}

/// The calendar of a sub-component; see [`Schedule::within`].
pub struct MappedSchedule<'a, C, Wrap> {
    owner: &'a mut C,
    wrap: Wrap,
}

impl<Inner, Outer, C, Wrap> Schedule<Inner> for MappedSchedule<'_, C, Wrap>
where
    C: Schedule<Outer>,
    Wrap: Fn(Inner) -> Outer,
{
    #[inline]
    fn now(&self) -> Instant {
        self.owner.now()
    }

    #[inline]
    fn at(&mut self, time: Instant, event: Inner) {
        self.owner.at(time, (self.wrap)(event));
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.owner.is_settled()
    }

    #[inline]
    fn next(&mut self, event: Inner) {
        self.owner.next((self.wrap)(event));
    }

    #[inline]
    fn advance_to(&mut self, time: Instant) -> bool {
        self.owner.advance_to(time)
    }

    #[inline]
    fn is_last(&self, time: Instant, event: Inner) -> bool {
        self.owner.is_last(time, (self.wrap)(event))
    }
}

/// Pending events, ordered by time, then by the order of scheduling.
///
/// A timing wheel of 4,096 buckets holds the events of the near future. Each bucket is a sorted list of the
/// events of one time slot; a bitmap marks the buckets in use. Events beyond the wheel wait in a heap. A
/// bucket holds one or two of the few hundred pending events of a device, so that the cost of an event does
/// not depend on their number. Slots narrow when lists grow long and widen when many events lie beyond the
/// wheel; neither changes the order of events.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    now: Instant,
    /// The event of the current instant that is handled before all others, if any.
    next: Option<E>,
    /// Width of a time slot: 2 to this power, in picoseconds.
    slot_bits: u32,
    /// Least delay of events beyond the wheel, in picoseconds: the width of all slots but the current one.
    span_ps: u64,
    occupied: Occupied,
    buckets: Box<[Bucket; BUCKETS]>,
    entries: Vec<Entry<E>>,
    /// Head of the list of unused entries, linked by `next`.
    free: u32,
    /// Long searches since the slot width last changed.
    long_searches: u32,
    /// Events put beyond the wheel since the slot width last changed.
    overflows: u32,
    /// Time of the first event of `overflow`, or the end of time.
    overflow_from: Instant,
    overflow: BinaryHeap<Reverse<OverflowEntry<E>>>,
    overflow_scheduled: u64,
}

/// Buckets of the wheel. Chosen: at the initial slot width they cover a page program (1 ms), the longest
/// frequent delay, and one word suffices to summarize the words of the bitmap.
const BUCKETS: usize = 64 * 64;

/// Initial slot width: 2^18 ps, about a quarter of a microsecond. Chosen: about the time to latch a command,
/// so that the end of the latch cycles falls into its own bucket and few insertions search.
const INITIAL_SLOT_BITS: u32 = 18;

/// The narrowest slot, 1 ns, is shorter than any bus grant. The widest is 1 s.
const SLOT_BITS: std::ops::RangeInclusive<u32> = 10..=40;

/// Slots narrow after `MAX_LONG_SEARCHES` searches of over `LONG_SEARCH` entries, and widen after
/// `MAX_OVERFLOWS` events beyond the wheel. Chosen: a change costs as much as some thousand events.
const LONG_SEARCH: u32 = 16;
const MAX_LONG_SEARCHES: u32 = 512;
const MAX_OVERFLOWS: u32 = 4096;

const NONE: u32 = u32::MAX;

/// Span of the wheel, in picoseconds, with slots of 2 to this power of picoseconds.
const fn wheel_span(slot_bits: u32) -> u64 {
    (BUCKETS as u64 - 1) << slot_bits
}

/// A pending event of the wheel.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    time: Instant,
    event: E,
    next: u32,
}

/// The events of one time slot, in order; `last` is meaningless if the list is empty.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u32,
    last: u32,
}

/// Bitmap of the buckets in use, and a summary bit for each of its words that is not zero.
#[derive(Clone, Debug)]
struct Occupied {
    words: [u64; 64],
    summary: u64,
}

impl Occupied {
    #[inline]
    fn set(&mut self, bucket: usize) {
        self.words[bucket / 64 % 64] |= 1 << (bucket % 64);
        self.summary |= 1 << (bucket / 64 % 64);
    }

    #[inline]
    fn clear(&mut self, bucket: usize) {
        let word = &mut self.words[bucket / 64 % 64];
        *word &= !(1 << (bucket % 64));
        if *word == 0 {
            self.summary &= !(1 << (bucket / 64 % 64));
        }
    }

    /// The first bucket in use from `bucket` on, wrapping around.
    #[inline]
    fn first_from(&self, bucket: usize) -> Option<usize> {
        let word = bucket / 64 % 64;
        let here = self.words[word] >> (bucket % 64);
        if here != 0 {
            return Some(bucket + here.trailing_zeros() as usize);
        }
        let above = self.summary & (!1 << word);
        let words = if above == 0 { self.summary } else { above };
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

/// A pending event beyond the wheel. It precedes an event of the wheel with the same time: it was scheduled
/// earlier, when that time was still beyond the wheel.
#[derive(Clone, Copy, Debug)]
struct OverflowEntry<E> {
    time: Instant,
    number: u64,
    event: E,
}

impl<E> OverflowEntry<E> {
    fn key(&self) -> (Instant, u64) {
        (self.time, self.number)
    }
}

impl<E> PartialEq for OverflowEntry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for OverflowEntry<E> {}

impl<E> PartialOrd for OverflowEntry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for OverflowEntry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The end of time: no event is beyond it.
const END_OF_TIME: Instant = Instant::from_ps(u64::MAX);

impl<E: Copy + PartialEq> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy + PartialEq> Calendar<E> {
    /// An empty calendar at time zero.
    pub fn new() -> Self {
        let buckets = vec![Bucket { first: NONE, last: NONE }; BUCKETS].into_boxed_slice();
        Self {
            now: Instant::ZERO,
            next: None,
            slot_bits: INITIAL_SLOT_BITS,
            span_ps: wheel_span(INITIAL_SLOT_BITS),
            occupied: Occupied { words: [0; 64], summary: 0 },
            buckets: buckets.try_into().unwrap_or_else(|_| unreachable!("there are as many as were made")),
            entries: Vec::with_capacity(256),
            free: NONE,
            long_searches: 0,
            overflows: 0,
            overflow_from: END_OF_TIME,
            overflow: BinaryHeap::new(),
            overflow_scheduled: 0,
        }
    }

    /// Advances to the next event and returns it; `None` when nothing is pending.
    #[inline]
    pub fn advance(&mut self) -> Option<E> {
        if self.next.is_some() {
            return self.next.take();
        }
        let Some(at) = self.occupied.first_from(self.bucket_of(self.now)) else {
            return self.advance_to_overflow();
        };
        let bucket = &mut self.buckets[at % BUCKETS];
        let first = bucket.first;
        let entry = &mut self.entries[first as usize];
        if self.overflow_from <= entry.time {
            return self.advance_to_overflow();
        }
        self.now = entry.time;
        let event = entry.event;
        bucket.first = std::mem::replace(&mut entry.next, self.free);
        self.free = first;
        if bucket.first == NONE {
            self.occupied.clear(at);
        }
        Some(event)
    }

    /// Advances to the next event when it lies beyond the wheel.
    #[cold]
    #[inline(never)]
    fn advance_to_overflow(&mut self) -> Option<E> {
        let Reverse(OverflowEntry { time, event, .. }) = self.overflow.pop()?;
        self.overflow_from = self.overflow.peek().map_or(END_OF_TIME, |Reverse(overflow)| overflow.time);
        self.now = time;
        Some(event)
    }

    /// Drops all pending events. The current time does not change.
    pub fn clear(&mut self) {
        *self = Self { now: self.now, ..Self::new() };
    }

    /// A calendar at `now` with these events, given in the order in which they must be handled.
    pub fn resumed(now: Instant, events: impl IntoIterator<Item = (Instant, E)>) -> Self {
        let mut calendar = Self { now, ..Self::new() };
        events.into_iter().for_each(|(time, event)| calendar.at(time, event));
        calendar
    }

    /// All pending events and their times, in the order in which they will be handled.
    pub fn pending(&self) -> Vec<(Instant, E)> {
        let mut all = self.clone();
        std::iter::from_fn(|| all.advance().map(|event| (all.now, event))).collect()
    }

    /// The bucket of a time within the wheel.
    #[inline]
    fn bucket_of(&self, time: Instant) -> usize {
        (time.ps() >> self.slot_bits) as usize % BUCKETS
    }

    /// Schedules `event` at `time`. The rare cases are tail calls, so that the usual path saves no registers.
    #[inline]
    fn put(&mut self, time: Instant, event: E) {
        if time.ps() - self.now.ps() >= self.span_ps {
            return self.push_overflow(time, event);
        }
        let new = self.free;
        let Some(free) = self.entries.get_mut(new as usize) else { return self.grow_and_put(time, event) };
        self.free = free.next;
        *free = Entry { time, event, next: NONE };
        let at = self.bucket_of(time);
        let bucket = &mut self.buckets[at];
        if bucket.first == NONE {
            *bucket = Bucket { first: new, last: new };
            return self.occupied.set(at);
        }
        let last = &mut self.entries[bucket.last as usize];
        if last.time > time {
            return self.insert(at, new, time);
        }
        last.next = new;
        bucket.last = new;
    }

    #[cold]
    #[inline(never)]
    fn grow_and_put(&mut self, time: Instant, event: E) {
        self.free = self.entries.len() as u32;
        self.entries.push(Entry { time, event, next: NONE });
        self.put(time, event);
    }

    /// Inserts the entry `new` into a bucket whose last entry is later.
    #[inline(never)]
    fn insert(&mut self, bucket: usize, new: u32, time: Instant) {
        let bucket = &mut self.buckets[bucket % BUCKETS];
        let mut before = bucket.first;
        if self.entries[before as usize].time > time {
            self.entries[new as usize].next = before;
            bucket.first = new;
            return;
        }
        let (mut at, mut passed) = (self.entries[before as usize].next, 1);
        while self.entries[at as usize].time <= time {
            passed += 1;
            before = at;
            at = self.entries[at as usize].next;
        }
        self.entries[new as usize].next = at;
        self.entries[before as usize].next = new;
        if passed > LONG_SEARCH {
            self.long_searches += 1;
            if self.long_searches >= MAX_LONG_SEARCHES {
                self.change_slot_bits(self.slot_bits - 1);
            }
        }
    }

    /// The last entry at or before `time` in a list that begins with `first` and extends beyond `time`.
    fn last_before(&self, first: u32, time: Instant) -> Option<&Entry<E>> {
        let (mut last, mut at) = (None, &self.entries[first as usize]);
        while at.time <= time {
            last = Some(at);
            at = &self.entries[at.next as usize];
        }
        last
    }

    #[cold]
    fn push_overflow(&mut self, time: Instant, event: E) {
        self.overflow.push(Reverse(OverflowEntry { time, number: self.overflow_scheduled, event }));
        self.overflow_scheduled += 1;
        self.overflow_from = self.overflow_from.min(time);
        self.overflows += 1;
        if self.overflows >= MAX_OVERFLOWS {
            self.change_slot_bits(self.slot_bits + 1);
        }
    }

    /// Takes all events out and puts them back, in order, with another slot width.
    #[cold]
    fn change_slot_bits(&mut self, slot_bits: u32) {
        (self.long_searches, self.overflows) = (0, 0);
        if !SLOT_BITS.contains(&slot_bits) {
            return;
        }
        let now = self.now;
        let all: Vec<_> = std::iter::from_fn(|| self.advance().map(|event| (self.now, event))).collect();
        self.now = now;
        (self.slot_bits, self.span_ps) = (slot_bits, wheel_span(slot_bits));
        for (time, event) in all {
            self.put(time, event);
        }
    }

    /// The slot width, for tests.
    #[cfg(test)]
    fn slot_bits(&self) -> u32 {
        self.slot_bits
    }
}

impl<E: Copy + PartialEq> Schedule<E> for Calendar<E> {
    #[inline]
    fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn at(&mut self, time: Instant, event: E) {
        debug_assert!(time >= self.now, "an event in the past");
        self.put(time, event);
    }

    #[inline]
    fn is_settled(&self) -> bool {
        let bucket = self.buckets[self.bucket_of(self.now)];
        let later = bucket.first == NONE || self.entries[bucket.first as usize].time > self.now;
        later && self.overflow_from > self.now && self.next.is_none()
    }

    #[inline]
    fn next(&mut self, event: E) {
        assert!(self.next.is_none(), "one event is the next one");
        self.next = Some(event);
    }

    #[inline]
    fn advance_to(&mut self, time: Instant) -> bool {
        let first = self.occupied.first_from(self.bucket_of(self.now));
        let first =
            first.map_or(END_OF_TIME, |at| self.entries[self.buckets[at % BUCKETS].first as usize].time);
        let is_free = first.min(self.overflow_from) > time && self.next.is_none();
        if is_free {
            self.now = time;
        }
        is_free
    }

    #[inline]
    fn is_last(&self, time: Instant, event: E) -> bool {
        if time.ps() - self.now.ps() >= self.span_ps {
            return false;
        }
        let bucket = self.buckets[self.bucket_of(time)];
        if bucket.first == NONE {
            return false;
        }
        let mut last = &self.entries[bucket.last as usize];
        if last.time > time {
            let Some(before) = self.last_before(bucket.first, time) else { return false };
            last = before;
        }
        last.time == time && last.event == event
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

    #[test]
    fn what_is_next_goes_before_all_that_is_due_and_the_instant_is_not_settled_until_then() {
        let mut calendar = Calendar::new();
        (0..2).for_each(|n| calendar.at(Instant::from_ps(5), n));
        assert_eq!(calendar.advance(), Some(0));
        calendar.next(2);
        assert!(!calendar.is_settled());
        let wanted = [2, 1].map(|n| (Instant::from_ps(5), n));
        assert_eq!(calendar.pending(), wanted);
        assert_eq!([calendar.advance(), calendar.advance(), calendar.advance()], [Some(2), Some(1), None]);
        calendar.next(3);
        assert!(!calendar.advance_to(Instant::from_ps(6)), "something is to happen now");
        assert_eq!((calendar.advance(), calendar.now()), (Some(3), Instant::from_ps(5)));
        assert!(calendar.is_settled());
    }

    #[test]
    fn time_goes_on_to_where_nothing_is_due_until_then_and_not_beyond() {
        let overflow = Instant::from_ps(2 * BUCKETS as u64) + Duration::from_ms(1_000);
        for due in [Instant::from_ps(7), Instant::from_ps(3 << INITIAL_SLOT_BITS), overflow] {
            let mut calendar = Calendar::new();
            calendar.at(due, ());
            let before = Instant::from_ps(due.ps() - 1);
            assert!(!calendar.advance_to(due) && calendar.now() == Instant::ZERO, "{due:?}");
            assert!(calendar.advance_to(before) && calendar.now() == before, "{due:?}");
            assert_eq!((calendar.advance(), calendar.now()), (Some(()), due));
        }
        assert!(Calendar::<()>::new().advance_to(overflow), "nothing is ever due");
    }

    /// Schedules an event after each delay, or advances for `None`, and compares with a sorted set.
    fn keeps_the_order(calendar: &mut Calendar<usize>, steps: impl IntoIterator<Item = Option<u64>>) {
        let mut pending = std::collections::BTreeSet::new();
        let mut now = 0;
        for (n, step) in steps.into_iter().enumerate() {
            if let Some(delay) = step {
                calendar.at(Instant::from_ps(now + delay), n);
                pending.insert((now + delay, n));
                let (first, _) = *pending.first().expect("it was put there just now");
                for time in [now + delay, first] {
                    let wanted = pending.range((time, 0)..=(time, usize::MAX)).next_back().map(|(_, n)| *n);
                    let at = Instant::from_ps(time);
                    let is_known = wanted == Some(n) && delay < wheel_span(*SLOT_BITS.start());
                    assert!(!is_known || calendar.is_last(at, n), "{n} at {time}");
                    assert!((0..n).rev().take(20).all(|m| wanted == Some(m) || !calendar.is_last(at, m)));
                }
            } else {
                let wanted = pending.pop_first();
                assert_eq!(calendar.advance(), wanted.map(|(_, n)| n));
                now = wanted.map_or(now, |(time, _)| time);
                assert_eq!(calendar.now(), Instant::from_ps(now));
                let settled = pending.first().is_none_or(|(time, _)| *time > now);
                assert_eq!(calendar.is_settled(), settled);
            }
        }
        let all = calendar.pending();
        assert!(all.iter().map(|(time, n)| (time.ps(), *n)).eq(pending.iter().copied()));
        let mut again = Calendar::resumed(calendar.now(), all);
        while let Some((_, n)) = pending.pop_first() {
            assert_eq!([calendar.advance(), again.advance()], [Some(n); 2]);
        }
        assert_eq!([calendar.advance(), again.advance()], [None; 2]);
    }

    #[test]
    fn lists_that_grow_long_are_parted() {
        let mut calendar = Calendar::new();
        let delays = (0..50_000).map(|n| (n % 3 > 0).then_some(n * 7919 % 900_000));
        keeps_the_order(&mut calendar, delays);
        assert!(calendar.slot_bits() < INITIAL_SLOT_BITS);
    }

    #[test]
    fn the_wheel_comes_to_reach_as_far_as_events_are_scheduled() {
        let mut calendar = Calendar::new();
        let delays = (0..50_000).map(|n| (n % 2 == 0).then_some(n * 7919 % 20_000 * 1_000_000));
        keeps_the_order(&mut calendar, delays);
        assert!(calendar.slot_bits() > INITIAL_SLOT_BITS);
    }

    #[test]
    fn an_event_from_beyond_the_wheel_goes_before_one_of_its_time_that_was_scheduled_later() {
        let mut calendar = Calendar::new();
        let overflow = Instant::from_ps((BUCKETS as u64) << INITIAL_SLOT_BITS);
        calendar.at(overflow, 0);
        calendar.at(Instant::from_ps(1 << INITIAL_SLOT_BITS), 1);
        assert_eq!(calendar.advance(), Some(1));
        calendar.at(overflow, 2);
        assert_eq!([calendar.advance(), calendar.advance()], [Some(0), Some(2)]);
    }

    proptest! {
        /// Delays of scheduled events, from within a slot to beyond the wheel, with advances (`None`) in
        /// between.
        #[test]
        fn events_come_in_the_order_of_time_then_of_scheduling(
            steps in prop::collection::vec(
                prop::option::weighted(0.6, (0u64..50, prop::sample::select(vec![0u32, 18, 20, 27, 33]))), 0..300),
        ) {
            let delays = steps.into_iter().map(|step| step.map(|(delay, scale)| delay << scale));
            keeps_the_order(&mut Calendar::new(), delays);
        }
    }
}
