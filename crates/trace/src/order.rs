//! Sorts rows by time within a window and closes clock jumps.
//!
//! The window holds a fixed number of rows; when it is full, each new row evicts the earliest. A row that is
//! out of order by more than the window holds is an error. An *era* is a sequence of rows between two jumps
//! of the clock.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use wordline_kernel::Duration;

use super::options::{Action, CLOSED_GAP_PS};
use super::row::Row;

/// Least number of requests in a trace for strays to be dropped. A stray is the only request of its era.
/// Chosen: in a shorter trace every request counts.
const MIN_REQUESTS_FOR_STRAYS: u64 = 1_000;

/// Clock jumps noted one by one. If there are more, a note gives their number. Chosen.
const MAX_JUMP_NOTES: usize = 10;

/// A row in the window, with its position in the file.
struct HeldRow {
    row: Row,
    number: u64,
}

impl HeldRow {
    const fn key(&self) -> (i128, u64) {
        (self.row.time, self.number)
    }
}

impl PartialEq for HeldRow {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for HeldRow {}

impl PartialOrd for HeldRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeldRow {
    /// The earliest row is the greatest, so that a heap pops it first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Rows between two clock jumps.
#[derive(Default)]
struct Era {
    /// Latest time of all its rows, including rows already emitted.
    latest: i128,
    /// Position in the file of the first row of the era, which decides the order of eras, and the number of
    /// requests before it.
    first: (u64, u64),
    /// Rows in order of time, and rows that arrived after a later row.
    in_order: VecDeque<HeldRow>,
    behind: BinaryHeap<HeldRow>,
    /// Rows held, by event kind; the last element counts rows without an event.
    held: [u64; 4],
}

impl Era {
    fn push(&mut self, held: HeldRow) -> Result<(), std::collections::TryReserveError> {
        self.held[kind_of(&held.row)] += 1;
        self.latest = self.latest.max(held.row.time);
        if self.in_order.back().is_none_or(|last| last.key() <= held.key()) {
            self.in_order.try_reserve(1)?;
            self.in_order.push_back(held);
        } else {
            self.behind.try_reserve(1)?;
            self.behind.push(held);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<HeldRow> {
        let from_behind = match (self.in_order.front(), self.behind.peek()) {
            (Some(next), Some(behind)) => behind.key() < next.key(),
            (next, _) => next.is_none(),
        };
        let held = if from_behind { self.behind.pop() } else { self.in_order.pop_front() }?;
        self.held[kind_of(&held.row)] -= 1;
        Some(held)
    }

    fn len(&self) -> usize {
        self.in_order.len() + self.behind.len()
    }

    /// Merges this era with the next one: the smaller is moved into the larger.
    fn merged_with(self, later: Self) -> Self {
        let latest = self.latest.max(later.latest);
        let first = self.first.min(later.first);
        let (mut small, mut large) = (self, later);
        if small.len() > large.len() {
            std::mem::swap(&mut small, &mut large);
        }
        while let Some(held) = small.pop() {
            // Memory that held two eras suffices for one, except for the growth steps of vectors.
            large.push(held).expect("the window was taken in before");
        }
        (large.latest, large.first) = (latest, first);
        large
    }

    /// Time of the row that is emitted next.
    fn next_time(&self) -> Option<i128> {
        let times = [self.in_order.front(), self.behind.peek()];
        times.into_iter().flatten().map(|held| held.row.time).min()
    }
}

const fn kind_of(row: &Row) -> usize {
    match row.event {
        Some(event) => event as usize,
        None => 3,
    }
}

/// The era being emitted. It is separate from the others because most rows of most traces belong to it.
struct CurrentEra {
    era: Era,
    /// Earliest time of all its rows.
    earliest: i128,
    /// Recorded time of the last row emitted.
    left: i128,
    /// Offset added to recorded times.
    shift: i128,
}

/// Reasons why a row cannot be sorted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OrderError {
    /// The row is this many picoseconds earlier than a row already emitted.
    TooLate(i128),
    /// Memory for the window cannot be allocated.
    NoMemory,
}

/// Sorts rows by time.
pub(super) struct Sorter {
    window: usize,
    jump: i128,
    /// Eras not yet emitted, by the earliest time of their rows. Any two are further apart than a clock jump.
    eras: BTreeMap<i128, Era>,
    /// The earliest time of each era not yet emitted, by the file position of its first row.
    turns: BTreeMap<u64, i128>,
    current: Option<CurrentEra>,
    held: usize,
    /// Rows taken in.
    taken: u64,
    /// Requests taken in, by event kind.
    counts: [u64; 4],
    /// Time of the last row taken in.
    before: Option<i128>,
    /// Recorded time of the last row emitted.
    left: Option<i128>,
    /// Time of the last row emitted, from the first row.
    emitted: Option<i128>,
    disorder: (u64, i128),
    strays: u64,
    jumps: u64,
    told: Vec<String>,
}

impl Sorter {
    pub(super) fn new(window: usize, jump: Duration) -> Self {
        Self {
            window,
            jump: i128::from(jump.ps()),
            eras: BTreeMap::new(),
            turns: BTreeMap::new(),
            current: None,
            held: 0,
            taken: 0,
            counts: [0; 4],
            before: None,
            left: None,
            emitted: None,
            disorder: (0, 0),
            strays: 0,
            jumps: 0,
            told: Vec::new(),
        }
    }

    /// Whether a row must be emitted before the next one is taken in.
    pub(super) const fn is_full(&self) -> bool {
        self.held >= self.window
    }

    /// Adds the next row of the file.
    #[inline]
    pub(super) fn push(&mut self, row: Row) -> Result<(), OrderError> {
        let time = row.time;
        let back = self.before.map_or(0, |before| before - time);
        if back > 0 && back <= self.jump {
            self.disorder = (self.disorder.0 + 1, self.disorder.1.max(back));
        }
        self.before = Some(time);
        let is_of_current = self.is_in_current_era(time);
        let earliest = if is_of_current { time } else { self.era_of(time)? };
        let (held, kind) = (HeldRow { row, number: self.taken }, kind_of(&row));
        let era = match &mut self.current {
            Some(current) if is_of_current || current.earliest == earliest => {
                if time < current.left {
                    return Err(OrderError::TooLate(current.left - time));
                }
                &mut current.era
            }
            _ => self.eras.get_mut(&earliest).expect("the era of the row is there"),
        };
        self.taken += 1;
        self.counts[kind] += 1;
        self.held += 1;
        era.push(held).map_err(|_| OrderError::NoMemory)
    }

    /// Whether a time belongs to the era being emitted without joining this era to another one.
    #[inline]
    fn is_in_current_era(&self, time: i128) -> bool {
        let Some(CurrentEra { era, earliest, .. }) = &self.current else { return false };
        let follows = || {
            let is_alone = || self.eras.range(time..=time + self.jump).next().is_none();
            time - era.latest <= self.jump && (self.eras.is_empty() || is_alone())
        };
        time >= *earliest && (time <= era.latest || follows())
    }

    /// Finds the era of a time, and creates or joins eras if necessary. Returns the earliest time of the rows
    /// of the era.
    fn era_of(&mut self, time: i128) -> Result<i128, OrderError> {
        let before = self.before(time);
        if let Some((earliest, latest)) = before
            && time <= latest
        {
            return Ok(earliest);
        }
        let before = before.map(|(earliest, _)| earliest);
        let after = self.after(time).filter(|earliest| Some(*earliest) != before);
        match (before, after) {
            (Some(before), None) => Ok(before),
            (Some(before), Some(after)) => {
                if let Some(current) = self.current.as_ref().filter(|current| current.earliest == after) {
                    // The rows of the earlier era should have been emitted before.
                    return Err(OrderError::TooLate(current.left - before));
                }
                let later = self.remove(after);
                self.join(before, later);
                Ok(before)
            }
            (None, Some(after)) => {
                if let Some(current) = self.current.as_mut().filter(|current| current.earliest == after) {
                    current.earliest = time;
                } else {
                    let era = self.remove(after);
                    self.insert(time, era);
                }
                Ok(time)
            }
            (None, None) => {
                let requests = self.counts.iter().sum();
                let era = Era { latest: time, first: (self.taken, requests), ..Era::default() };
                self.insert(time, era);
                Ok(time)
            }
        }
    }

    /// Returns the earliest and latest time of the era that begins at or before a time and extends to within
    /// a jump of it.
    fn before(&self, time: i128) -> Option<(i128, i128)> {
        let waiting = self.eras.range(..=time).next_back().map(|(earliest, era)| (*earliest, era.latest));
        let current = self.current.as_ref().map(|current| (current.earliest, current.era.latest));
        let nearest = waiting.into_iter().chain(current.filter(|(earliest, _)| *earliest <= time)).max();
        nearest.filter(|(_, latest)| time - latest <= self.jump)
    }

    /// Returns the earliest time of the era that begins at most a jump after a time.
    fn after(&self, time: i128) -> Option<i128> {
        let waiting = self.eras.range(time..).next().map(|(earliest, _)| *earliest);
        let current = self.current.as_ref().map(|current| current.earliest).filter(|begin| *begin >= time);
        let nearest = waiting.into_iter().chain(current).min();
        nearest.filter(|earliest| earliest - time <= self.jump)
    }

    fn insert(&mut self, earliest: i128, era: Era) {
        self.turns.insert(era.first.0, earliest);
        self.eras.insert(earliest, era);
    }

    fn remove(&mut self, earliest: i128) -> Era {
        let era = self.eras.remove(&earliest).expect("the era was just found");
        self.turns.remove(&era.first.0);
        era
    }

    /// Joins an era to the previous one.
    fn join(&mut self, earliest: i128, later: Era) {
        if let Some(current) = self.current.as_mut().filter(|current| current.earliest == earliest) {
            let era = std::mem::take(&mut current.era);
            current.era = era.merged_with(later);
        } else {
            let joined = self.remove(earliest).merged_with(later);
            self.insert(earliest, joined);
        }
    }

    /// Returns the next row in order, with its time from the first; `None` if no row is held. In formats with
    /// events, rows of kind `taken` are the requests.
    #[inline]
    pub(super) fn pop(&mut self, taken: Option<Action>) -> Option<Row> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(HeldRow { mut row, .. }) = current.era.pop()
            {
                self.held -= 1;
                current.left = row.time;
                row.time += current.shift;
                self.emitted = Some(row.time);
                return Some(row);
            }
            self.start_next_era(taken)?;
        }
    }

    /// Makes the era with the earliest file position current; `None` if no rows are held.
    fn start_next_era(&mut self, taken: Option<Action>) -> Option<()> {
        if self.held == 0 {
            return None;
        }
        let is_first = self.current.is_none() && self.left.is_none();
        self.left = self.current.take().map_or(self.left, |current| Some(current.left));
        let earliest = *self.turns.first_key_value()?.1;
        let era = self.remove(earliest);
        let is_one_of_several = !is_first || !self.eras.is_empty();
        let of_kind = taken.map_or(3, |taken| taken as usize);
        let (requests, first, time) = (era.held[of_kind], era.first.1, era.next_time()?);
        if let Some(last) = self.left.filter(|_| requests > 0) {
            self.note_jump(time - last, first + 1);
        }
        let is_stray = requests == 1 && is_one_of_several && self.counts[of_kind] >= MIN_REQUESTS_FOR_STRAYS;
        if requests == 0 || is_stray {
            // Events without a request need no completion.
            self.held -= era.len();
            self.strays += u64::from(is_stray);
            self.left = if is_stray { Some(time) } else { self.left };
            return Some(());
        }
        let begins = self.emitted.map_or(0, |emitted| emitted + CLOSED_GAP_PS);
        self.current = Some(CurrentEra { era, earliest, left: time, shift: begins - time });
        Some(())
    }

    fn note_jump(&mut self, gap: i128, at: u64) {
        self.jumps += 1;
        if self.told.len() < MAX_JUMP_NOTES {
            let gap = gap / 1_000_000_000_000;
            self.told.push(format!("the clock jumps by {gap} s at request {at} of the file"));
        }
    }

    /// Number of requests that arrived after a later one, and the greatest delay in picoseconds.
    pub(super) const fn disorder(&self) -> (u64, i128) {
        self.disorder
    }

    /// Number of single requests across a jump of the clock, which were dropped.
    pub(super) const fn strays(&self) -> u64 {
        self.strays
    }

    /// Notes for the user about clock jumps.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.told.clone();
        let more = self.jumps - self.told.len() as u64;
        notes.extend((more > 0).then(|| format!("the clock jumps {more} times more")));
        let strays = self.strays;
        let note = || format!("{strays} single requests across a jump of the clock were dropped");
        notes.extend((strays > 0).then(note));
        notes.extend((self.jumps > 0).then(|| "jumps of the clock were closed to 1 ms".into()));
        notes
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
