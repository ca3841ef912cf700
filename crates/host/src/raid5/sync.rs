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
    /// Ring of times, each with the number of rows done by then.
    marks: [(Instant, u64); MARKS],
    /// Index of the latest time in `marks`. The rate is measured from the oldest one, which is the next in
    /// the ring.
    latest: usize,
}

impl Sync {
    /// A synchronisation that starts at `now` with row `next`.
    pub fn new(task: Task, number: u32, now: Instant, next: u64) -> Self {
        Self {
            task,
            number,
            next,
            rows: Vec::new(),
            pauses: false,
            flushes: false,
            done: 0,
            marks: [(now, 0); MARKS],
            latest: 0,
        }
    }

    /// Whether the next row may start. `is_busy`: whether the host has commands outstanding. `row`: bytes of
    /// a row on each member.
    pub fn check_pace(&mut self, now: Instant, is_busy: bool, row: Bytes, limits: &Limits) -> PaceDecision {
        if self.rows.len() >= limits.rows as usize {
            return PaceDecision::Wait;
        }
        let oldest = (self.latest + 1) % MARKS;
        if now.since(self.marks[self.latest].0) >= STEP {
            self.marks[oldest] = (now, self.done);
            self.latest = oldest;
        }
        let (since, done) = self.marks[(self.latest + 1) % MARKS];
        let seconds = now.since(since).ps() / SECOND + 1;
        let begun = self.done + self.rows.len() as u64 - done;
        let pace = begun * row.0 / seconds;
        if pace < limits.slowest.0 {
            return PaceDecision::Start;
        }
        match (pace >= limits.fastest.0, is_busy && !self.rows.is_empty()) {
            (true, _) => PaceDecision::Pause(PAUSE),
            (false, true) => PaceDecision::Wait,
            (false, false) => PaceDecision::Start,
        }
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

    /// Starts rows at an instant while the pace allows it. Returns the number of rows started, and the final
    /// decision.
    fn begin(sync: &mut Sync, now: Instant, is_busy: bool) -> (u64, PaceDecision) {
        let mut begun = 0;
        loop {
            match sync.check_pace(now, is_busy, ROW, &limits()) {
                PaceDecision::Start => {
                    sync.rows.push(sync.next);
                    sync.next += 1;
                    begun += 1;
                    if !is_busy {
                        sync.end_row(sync.next - 1);
                    }
                }
                other => return (begun, other),
            }
        }
    }

    #[test]
    fn no_more_than_the_fastest_pace_is_begun_and_the_rest_after_a_pause() {
        let mut sync = Sync::new(Task::Scrub, 0, Instant::ZERO, 0);
        assert_eq!(begin(&mut sync, Instant::ZERO, false), (100, PaceDecision::Pause(PAUSE)));
        let second = Instant::ZERO + Duration::from_ms(1_000);
        assert_eq!(begin(&mut sync, second, false), (100, PaceDecision::Pause(PAUSE)));
    }

    #[test]
    fn a_busy_array_goes_on_row_by_row_above_the_slowest_pace() {
        let mut sync = Sync::new(Task::Scrub, 0, Instant::ZERO, 0);
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (4, PaceDecision::Wait), "so many rows at once");
        (0..4).for_each(|row| sync.end_row(row));
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (4, PaceDecision::Wait));
        (4..8).for_each(|row| sync.end_row(row));
        // Two more rows reach the lowest rate, ten rows a second. A third one starts once those are done.
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (2, PaceDecision::Wait));
        sync.end_row(8);
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (0, PaceDecision::Wait));
        sync.end_row(9);
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (1, PaceDecision::Wait));
        assert_eq!(sync.rows, [10]);
    }

    #[test]
    fn the_pace_is_that_of_the_last_marks() {
        let mut sync = Sync::new(Task::Scrub, 0, Instant::ZERO, 0);
        for seconds in (0..60).step_by(3) {
            let now = Instant::ZERO + Duration::from_ms(1_000 * seconds);
            begin(&mut sync, now, false);
        }
        let now = Instant::ZERO + Duration::from_ms(1_000_000);
        let (begun, _) = begin(&mut sync, now, false);
        assert!(begun > 50_000, "a long rest counts until it is forgotten: {begun}");
        let later = now + Duration::from_ms(1_000);
        assert!(begin(&mut sync, later, false).0 <= 200);
    }
}
