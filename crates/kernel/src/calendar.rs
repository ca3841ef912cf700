//! The calendar of pending events. Events at the same instant happen in the order in which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
    /// Lets `event` happen as soon as what happens now is over, before all else that is due at the present instant. A bug if
    /// something else is to happen so.
    fn next(&mut self, event: E);
    /// Goes on to `time` if nothing is due until then, nor at that instant; whether it did. For callers that know that nothing
    /// more is done at the present instant.
    #[inline]
    fn go_on_to(&mut self, _time: Instant) -> bool {
        false
    }
    /// Whether `event` is the last one scheduled for `time`, a later instant; false if that is not known.
    #[inline]
    fn is_last(&self, _time: Instant, _event: E) -> bool {
        false
    }
    /// Lets `event` happen after `delay`.
    #[inline]
    fn after(&mut self, delay: Duration, event: E) {
        self.at(self.now() + delay, event);
    }
    /// The same calendar for a part of its owner: each event of the part becomes one of its owner by `wrap`.
    #[inline]
    fn within<Inner, Wrap: Fn(Inner) -> E>(&mut self, wrap: Wrap) -> Within<'_, Self, Wrap>
    where
        Self: Sized,
    {
        Within { owner: self, wrap }
    }
}

/// A calendar as a part of its owner sees it: see [`Schedule::within`].
pub struct Within<'a, C, Wrap> {
    owner: &'a mut C,
    wrap: Wrap,
}

impl<Inner, Outer, C, Wrap> Schedule<Inner> for Within<'_, C, Wrap>
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
    fn go_on_to(&mut self, time: Instant) -> bool {
        self.owner.go_on_to(time)
    }

    #[inline]
    fn is_last(&self, time: Instant, event: Inner) -> bool {
        self.owner.is_last(time, (self.wrap)(event))
    }
}

/// Pending events in the order of time, then of scheduling.
///
/// A wheel of 4,096 lists holds the events of the near future, each list those of one stretch of time, in order;
/// a map of bits tells which lists have any. Events beyond the wheel wait in a heap. A device has a few hundred events
/// pending, spread over the time of an array's work, so that a list has one or two: to schedule an event and to take
/// the first one costs the same however many there are. The stretches narrow when lists grow long, and widen when many
/// events lie beyond; neither changes the order.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    now: Instant,
    /// The event of the present instant that precedes all others, if there is one.
    next: Option<E>,
    /// A stretch of time is 2 to this power of picoseconds.
    stretch: u32,
    /// Events that are so far away or further, in picoseconds, are beyond the wheel: all its stretches but the present one.
    reach: u64,
    occupied: Occupied,
    buckets: Box<[Bucket; BUCKETS]>,
    entries: Vec<Entry<E>>,
    /// The first of the entries that are not in use; they follow each other by `next`.
    free: u32,
    /// Long searches since the stretches last changed, and events put beyond the wheel.
    long_searches: u32,
    beyond: u32,
    /// The time of the first event of `far`, or the end of time.
    far_from: Instant,
    far: BinaryHeap<Reverse<Far<E>>>,
    far_scheduled: u64,
}

/// Lists of the wheel. Chosen: with the first stretches they cover the program of a page (1 ms), the longest delay of a device that
/// is not rare, and one word tells which words of the map have bits.
const BUCKETS: usize = 64 * 64;

/// The first stretch: 2^18 ps, about a quarter of a microsecond. Chosen: as long as a command is latched, so that the end of that has
/// a list of its own and few events are put before others.
const FIRST_STRETCH: u32 = 18;

/// The least and the greatest stretch: 1 ns, shorter than any hold of a bus; 1 s.
const STRETCHES: std::ops::RangeInclusive<u32> = 10..=40;

/// Entries that are passed over before a search is long, and how many long searches, or events beyond the wheel, make
/// a change of the stretches. Chosen: a change costs as much as some thousand events.
const LONG_SEARCH: u32 = 16;
const LONG_SEARCHES: u32 = 512;
const BEYOND: u32 = 4096;

const NONE: u32 = u32::MAX;

/// How far a wheel reaches whose stretches are 2 to this power of picoseconds.
const fn reach_of(stretch: u32) -> u64 {
    (BUCKETS as u64 - 1) << stretch
}

/// A pending event of the wheel.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    time: Instant,
    event: E,
    next: u32,
}

/// The events of a stretch of time, in order; `last` means nothing where there is no first.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u32,
    last: u32,
}

/// Which buckets have events: a bit each, and a bit for each word that has any.
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

    /// The first occupied bucket from `bucket` on, round the wheel.
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

/// A pending event beyond the wheel. At equal times it goes before those of the wheel, which were scheduled later:
/// when it was scheduled, its time was beyond.
#[derive(Clone, Copy, Debug)]
struct Far<E> {
    time: Instant,
    number: u64,
    event: E,
}

impl<E> Far<E> {
    fn key(&self) -> (Instant, u64) {
        (self.time, self.number)
    }
}

impl<E> PartialEq for Far<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Far<E> {}

impl<E> PartialOrd for Far<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Far<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The end of time: no event is beyond it.
const NEVER: Instant = Instant::from_ps(u64::MAX);

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
            stretch: FIRST_STRETCH,
            reach: reach_of(FIRST_STRETCH),
            occupied: Occupied { words: [0; 64], summary: 0 },
            buckets: buckets.try_into().unwrap_or_else(|_| unreachable!("there are as many as were made")),
            entries: Vec::with_capacity(256),
            free: NONE,
            long_searches: 0,
            beyond: 0,
            far_from: NEVER,
            far: BinaryHeap::new(),
            far_scheduled: 0,
        }
    }

    /// Goes on to the next event, or `None` when nothing is pending.
    #[inline]
    pub fn advance(&mut self) -> Option<E> {
        if self.next.is_some() {
            return self.next.take();
        }
        let Some(at) = self.occupied.first_from(self.bucket_of(self.now)) else { return self.advance_far() };
        let bucket = &mut self.buckets[at % BUCKETS];
        let first = bucket.first;
        let entry = &mut self.entries[first as usize];
        if self.far_from <= entry.time {
            return self.advance_far();
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

    /// Goes on to the next event where that is beyond the wheel.
    #[cold]
    #[inline(never)]
    fn advance_far(&mut self) -> Option<E> {
        let Reverse(Far { time, event, .. }) = self.far.pop()?;
        self.far_from = self.far.peek().map_or(NEVER, |Reverse(far)| far.time);
        self.now = time;
        Some(event)
    }

    /// Forgets all pending events. Time stays where it is.
    pub fn clear(&mut self) {
        *self = Self { now: self.now, ..Self::new() };
    }

    /// A calendar at `now` with these events, given in the order in which they are to happen.
    pub fn resumed(now: Instant, events: impl IntoIterator<Item = (Instant, E)>) -> Self {
        let mut calendar = Self { now, ..Self::new() };
        events.into_iter().for_each(|(time, event)| calendar.at(time, event));
        calendar
    }

    /// All pending events and their times, in the order in which they will happen.
    pub fn pending(&self) -> Vec<(Instant, E)> {
        let mut all = self.clone();
        std::iter::from_fn(|| all.advance().map(|event| (all.now, event))).collect()
    }

    /// The bucket of a time within the wheel.
    #[inline]
    fn bucket_of(&self, time: Instant) -> usize {
        (time.ps() >> self.stretch) as usize % BUCKETS
    }

    /// Schedules `event` at `time`. The rare cases are tail calls, so that the usual path saves no registers.
    #[inline]
    fn put(&mut self, time: Instant, event: E) {
        if time.ps() - self.now.ps() >= self.reach {
            return self.put_far(time, event);
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

    /// Puts the entry `new` into a bucket whose last one is later.
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
            if self.long_searches >= LONG_SEARCHES {
                self.change_stretch(self.stretch - 1);
            }
        }
    }

    /// The last one until `time` of a list that begins with the entry `first` and goes on beyond `time`.
    fn last_before(&self, first: u32, time: Instant) -> Option<&Entry<E>> {
        let (mut last, mut at) = (None, &self.entries[first as usize]);
        while at.time <= time {
            last = Some(at);
            at = &self.entries[at.next as usize];
        }
        last
    }

    #[cold]
    fn put_far(&mut self, time: Instant, event: E) {
        self.far.push(Reverse(Far { time, number: self.far_scheduled, event }));
        self.far_scheduled += 1;
        self.far_from = self.far_from.min(time);
        self.beyond += 1;
        if self.beyond >= BEYOND {
            self.change_stretch(self.stretch + 1);
        }
    }

    /// Takes all events out and puts them back, in their order, with another stretch.
    #[cold]
    fn change_stretch(&mut self, stretch: u32) {
        (self.long_searches, self.beyond) = (0, 0);
        if !STRETCHES.contains(&stretch) {
            return;
        }
        let now = self.now;
        let all: Vec<_> = std::iter::from_fn(|| self.advance().map(|event| (self.now, event))).collect();
        self.now = now;
        (self.stretch, self.reach) = (stretch, reach_of(stretch));
        for (time, event) in all {
            self.put(time, event);
        }
    }

    /// The stretch, for a test that changes it.
    #[cfg(test)]
    fn stretch(&self) -> u32 {
        self.stretch
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
        later && self.far_from > self.now && self.next.is_none()
    }

    #[inline]
    fn next(&mut self, event: E) {
        assert!(self.next.is_none(), "one event is the next one");
        self.next = Some(event);
    }

    #[inline]
    fn go_on_to(&mut self, time: Instant) -> bool {
        let first = self.occupied.first_from(self.bucket_of(self.now));
        let first = first.map_or(NEVER, |at| self.entries[self.buckets[at % BUCKETS].first as usize].time);
        let is_free = first.min(self.far_from) > time && self.next.is_none();
        if is_free {
            self.now = time;
        }
        is_free
    }

    #[inline]
    fn is_last(&self, time: Instant, event: E) -> bool {
        if time.ps() - self.now.ps() >= self.reach {
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
        assert!(!calendar.go_on_to(Instant::from_ps(6)), "something is to happen now");
        assert_eq!((calendar.advance(), calendar.now()), (Some(3), Instant::from_ps(5)));
        assert!(calendar.is_settled());
    }

    #[test]
    fn time_goes_on_to_where_nothing_is_due_until_then_and_not_beyond() {
        let far = Instant::from_ps(2 * BUCKETS as u64) + Duration::from_ms(1_000);
        for due in [Instant::from_ps(7), Instant::from_ps(3 << FIRST_STRETCH), far] {
            let mut calendar = Calendar::new();
            calendar.at(due, ());
            let before = Instant::from_ps(due.ps() - 1);
            assert!(!calendar.go_on_to(due) && calendar.now() == Instant::ZERO, "{due:?}");
            assert!(calendar.go_on_to(before) && calendar.now() == before, "{due:?}");
            assert_eq!((calendar.advance(), calendar.now()), (Some(()), due));
        }
        assert!(Calendar::<()>::new().go_on_to(far), "nothing is ever due");
    }

    /// Schedules after each delay, or advances where there is none, and compares with a sorted set.
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
                    let is_known = wanted == Some(n) && delay < reach_of(*STRETCHES.start());
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
        assert!(calendar.stretch() < FIRST_STRETCH);
    }

    #[test]
    fn the_wheel_comes_to_reach_as_far_as_events_are_scheduled() {
        let mut calendar = Calendar::new();
        let delays = (0..50_000).map(|n| (n % 2 == 0).then_some(n * 7919 % 20_000 * 1_000_000));
        keeps_the_order(&mut calendar, delays);
        assert!(calendar.stretch() > FIRST_STRETCH);
    }

    #[test]
    fn an_event_from_beyond_the_wheel_goes_before_one_of_its_time_that_was_scheduled_later() {
        let mut calendar = Calendar::new();
        let far = Instant::from_ps((BUCKETS as u64) << FIRST_STRETCH);
        calendar.at(far, 0);
        calendar.at(Instant::from_ps(1 << FIRST_STRETCH), 1);
        assert_eq!(calendar.advance(), Some(1));
        calendar.at(far, 2);
        assert_eq!([calendar.advance(), calendar.advance()], [Some(0), Some(2)]);
    }

    proptest! {
        /// Delays of events to be scheduled, on scales from within a list to beyond the wheel, and advances (`None`)
        /// in between.
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
