//! Rebuild, resync and scrub of an array, row by row, at md's pace.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Instant};

/// Kind of a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Writes the data of a replaced member to its new device.
    Rebuild {
        /// The member.
        member: u16,
    },
    /// Recovers parity from the partial parity log after a power cut.
    Replay,
    /// Rewrites parity that may be wrong after a power cut.
    Resync,
    /// Reads and compares all rows.
    Scrub,
}

/// Rate limits of a synchronisation, as in md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rate below which host requests are ignored, in bytes per second on each member.
    pub slowest: Bytes,
    /// Highest rate, in bytes per second on each member.
    pub fastest: Bytes,
    /// Maximum number of rows in progress at the same time.
    pub rows: u32,
}

/// Pause of a synchronisation that exceeds its highest rate, as in md.
const PAUSE: Duration = Duration::from_ms(500);
/// Number of times from which the rate is measured: `SYNC_MARKS` of md.
const MARKS: usize = 10;
/// Minimum interval between two of these times: `SYNC_MARK_STEP` of md.
const STEP: Duration = Duration::from_ms(3_000);
const SECOND: u64 = Duration::from_ms(1_000).ps();
/// Bytes of a member that are synchronised between two decisions: 32 pages in md.
const WINDOW: Bytes = Bytes::kib(128);
/// Sectors of other traffic up to which md takes a device for idle.
const IDLE_SECTORS: u64 = 64;

/// The decision whether the next row may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceDecision {
    /// It may start now.
    Start,
    /// It may start when a row in progress is done.
    Wait,
    /// It may start after this pause.
    Pause(Duration),
}

/// A synchronisation in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sync {
    /// Kind of the synchronisation.
    pub task: Task,
    /// Sequence number in the array.
    pub number: u32,
    /// The first row not started.
    pub next: u64,
    /// Rows in progress.
    pub rows: Vec<u64>,
    /// Whether the synchronisation is paused.
    pub pauses: bool,
    /// Whether the flush that makes the rows non-volatile has started.
    pub flushes: bool,
    /// Rows done.
    pub done: u64,
    /// Rows started since the last decision.
    unchecked: u64,
    /// Sectors of other traffic of each device at the last decision that found some.
    other: Vec<u64>,
    /// Ring of times, each with the number of rows done by then.
    marks: [(Instant, u64); MARKS],
    /// Index of the latest time in `marks`.
    latest: usize,
    /// The time from which the rate is measured, with the number of rows done by then.
    since: (Instant, u64),
}

impl Sync {
    /// A synchronisation that starts at `now` with row `next`. `other`: sectors of other traffic of each device.
    pub fn new(task: Task, number: u32, now: Instant, next: u64, other: Vec<u64>) -> Self {
        Self {
            task,
            number,
            next,
            rows: Vec::new(),
            pauses: false,
            flushes: false,
            done: 0,
            unchecked: 0,
            other,
            marks: [(now, 0); MARKS],
            latest: 0,
            since: (now, 0),
        }
    }

    /// Whether the next row may start. `row`: bytes of a row on each member. `other`: sectors of other traffic
    /// of each device so far.
    pub fn check_pace(
        &mut self,
        now: Instant,
        row: Bytes,
        limits: &Limits,
        other: impl Iterator<Item = u64>,
    ) -> PaceDecision {
        // After a decision that found other traffic, the next window starts when the rows in progress are done.
        let waits = self.unchecked == 0 && !self.rows.is_empty();
        if waits || self.rows.len() >= limits.rows as usize {
            return PaceDecision::Wait;
        }
        if self.unchecked * row.0 < WINDOW.0 {
            return self.start();
        }
        self.note_time(now);
        let (since, done) = self.since;
        let seconds = now.since(since).ps() / SECOND + 1;
        let pace = Bytes::kib((self.done - done) * row.0 / 1024 / seconds + 1);
        if pace > limits.fastest {
            return PaceDecision::Pause(PAUSE);
        }
        self.unchecked = 0;
        if pace > limits.slowest && self.has_other_traffic(other) && !self.rows.is_empty() {
            return PaceDecision::Wait;
        }
        self.start()
    }

    fn start(&mut self) -> PaceDecision {
        self.unchecked += 1;
        PaceDecision::Start
    }

    /// Moves the time from which the rate is measured.
    fn note_time(&mut self, now: Instant) {
        if now.since(self.marks[self.latest].0) >= STEP {
            self.latest = (self.latest + 1) % MARKS;
            self.since = std::mem::replace(&mut self.marks[self.latest], (now, self.done));
        }
    }

    /// Whether a device had other traffic since the last time that it had some: `is_mddev_idle` of md.
    fn has_other_traffic(&mut self, other: impl Iterator<Item = u64>) -> bool {
        let mut found = false;
        for (before, now) in self.other.iter_mut().zip(other) {
            if now - *before > IDLE_SECTORS {
                (*before, found) = (now, true);
            }
        }
        found
    }

    /// Whether a loaded synchronisation holds together. `other`: sectors of other traffic of each device so far.
    pub fn is_sound(&self, other: impl ExactSizeIterator<Item = u64>) -> bool {
        let mut times = self.marks.iter().chain([&self.since]);
        self.latest < MARKS
            && times.all(|(_, done)| *done <= self.done)
            && self.other.len() == other.len()
            && self.other.iter().zip(other).all(|(before, now)| *before <= now)
    }

    /// Notes the end of a row.
    pub fn end_row(&mut self, row: u64) {
        let before = self.rows.len();
        self.rows.retain(|under_way| *under_way != row);
        self.done += (before - self.rows.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Bytes = Bytes::kib(64);

    fn limits() -> Limits {
        Limits { slowest: Bytes::kib(640), fastest: Bytes::kib(6400), rows: 4 }
    }

    fn scrub() -> Sync {
        Sync::new(Task::Scrub, 0, Instant::ZERO, 0, vec![0])
    }

    /// Starts rows at an instant while the pace allows it; a device has this many sectors of other traffic
    /// between two rows. Without other traffic the rows end at once. Returns the number of rows started, and
    /// the final decision.
    fn begin(sync: &mut Sync, now: Instant, other: u64) -> (u64, PaceDecision) {
        let (mut begun, mut all) = (0, sync.other[0]);
        loop {
            all += other;
            match sync.check_pace(now, ROW, &limits(), [all].into_iter()) {
                PaceDecision::Start => {
                    sync.rows.push(sync.next);
                    sync.next += 1;
                    begun += 1;
                    if other == 0 {
                        sync.end_row(sync.next - 1);
                    }
                }
                decision => return (begun, decision),
            }
        }
    }

    #[test]
    fn a_synchronisation_that_does_not_hold_together_is_found() {
        let is_sound = |change: fn(&mut Sync)| {
            let mut sync = scrub();
            change(&mut sync);
            sync.is_sound([5].into_iter())
        };
        assert!(is_sound(|_| {}) && is_sound(|sync| sync.other = vec![5]));
        assert!(!is_sound(|sync| sync.latest = MARKS) && !is_sound(|sync| sync.since.1 = 1));
        assert!(!is_sound(|sync| sync.other = vec![6]) && !is_sound(|sync| sync.other.clear()));
    }

    #[test]
    fn no_more_than_the_fastest_pace_is_begun_and_the_rest_after_a_pause() {
        let mut sync = scrub();
        assert_eq!(begin(&mut sync, Instant::ZERO, 0), (100, PaceDecision::Pause(PAUSE)));
        let second = Instant::ZERO + Duration::from_ms(1_000);
        assert_eq!(begin(&mut sync, second, 0), (100, PaceDecision::Pause(PAUSE)));
    }

    #[test]
    fn beside_other_traffic_a_window_begins_when_the_one_before_is_done() {
        let mut sync = scrub();
        for rows in [0..4, 4..8, 8..12] {
            assert_eq!(begin(&mut sync, Instant::ZERO, 65), (4, PaceDecision::Wait), "so many rows at once");
            rows.for_each(|row| sync.end_row(row));
        }
        // Twelve rows are more than the lowest rate, ten rows a second. A window has two.
        for first in [12, 14] {
            assert_eq!(begin(&mut sync, Instant::ZERO, 65), (2, PaceDecision::Wait));
            sync.end_row(first);
            assert_eq!(begin(&mut sync, Instant::ZERO, 65), (0, PaceDecision::Wait));
            sync.end_row(first + 1);
        }
        // So little traffic is none, until it adds up to more.
        assert_eq!(begin(&mut sync, Instant::ZERO, 1), (4, PaceDecision::Wait));
    }

    #[test]
    fn the_pace_is_that_of_the_last_marks() {
        let mut sync = scrub();
        for seconds in (0..60).step_by(3) {
            let now = Instant::ZERO + Duration::from_ms(1_000 * seconds);
            begin(&mut sync, now, 0);
        }
        let now = Instant::ZERO + Duration::from_ms(1_000_000);
        let (begun, _) = begin(&mut sync, now, 0);
        assert!(begun > 50_000, "a long rest counts until it is forgotten: {begun}");
        let later = now + Duration::from_ms(1_000);
        assert!(begin(&mut sync, later, 0).0 <= 200);
    }
}
