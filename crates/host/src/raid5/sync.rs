//! Rebuilding, resynchronising and scrubbing an array, row by row, at the pace of md.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Instant};

/// The reason for which an array goes through its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// A device that took the place of a failed one is written.
    Rebuild {
        /// The member.
        member: u16,
    },
    /// Parity is had from the log after a power cut.
    Replay,
    /// Parity that may be wrong after a power cut is written.
    Resync,
    /// All is read and compared.
    Scrub,
}

/// The limits of the pace, as those of md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a member a second below which the host is not looked at.
    pub slowest: Bytes,
    /// Bytes of a member a second that are not exceeded.
    pub fastest: Bytes,
    /// Rows at once.
    pub rows: u32,
}

/// The pause of a synchronisation that is above its fastest pace: that of md.
const PAUSE: Duration = Duration::from_ms(500);
/// The pace is measured over up to ten steps of three seconds: `SYNC_MARKS` and `SYNC_MARK_STEP` of md.
const MARKS: usize = 10;
const STEP: Duration = Duration::from_ms(3_000);
const SECOND: u64 = Duration::from_ms(1_000).ps();

/// Whether the next row may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// At once.
    Now,
    /// When a row under way is over.
    Later,
    /// After a pause.
    After(Duration),
}

/// A synchronisation under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sync {
    /// The reason.
    pub task: Task,
    /// Its number among those of the array.
    pub number: u32,
    /// The first row that was not begun.
    pub next: u64,
    /// Rows that are under way.
    pub rows: Vec<u64>,
    /// Whether it pauses.
    pub pauses: bool,
    /// Whether the flush that makes its rows durable has begun.
    pub flushes: bool,
    /// Rows that are over.
    pub done: u64,
    /// Instants, and how many rows were over then; the latest, and the one from which the pace is measured.
    marks: [(Instant, u64); MARKS],
    latest: usize,
}

impl Sync {
    /// One with this number, which begins at `now` with row `next`.
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

    /// Whether the next row may begin, `is_busy` being whether the host has commands outstanding, and `row` the bytes of a row on a member.
    pub fn may_go(&mut self, now: Instant, is_busy: bool, row: Bytes, limits: &Limits) -> Go {
        if self.rows.len() >= limits.rows as usize {
            return Go::Later;
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
            return Go::Now;
        }
        match (pace >= limits.fastest.0, is_busy && !self.rows.is_empty()) {
            (true, _) => Go::After(PAUSE),
            (false, true) => Go::Later,
            (false, false) => Go::Now,
        }
    }

    /// A row is over.
    pub fn row_over(&mut self, row: u64) {
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

    /// Begins rows at an instant as long as that is allowed; how many, and what is answered then.
    fn begin(sync: &mut Sync, now: Instant, is_busy: bool) -> (u64, Go) {
        let mut begun = 0;
        loop {
            match sync.may_go(now, is_busy, ROW, &limits()) {
                Go::Now => {
                    sync.rows.push(sync.next);
                    sync.next += 1;
                    begun += 1;
                    if !is_busy {
                        sync.row_over(sync.next - 1);
                    }
                }
                other => return (begun, other),
            }
        }
    }

    #[test]
    fn no_more_than_the_fastest_pace_is_begun_and_the_rest_after_a_pause() {
        let mut sync = Sync::new(Task::Scrub, 0, Instant::ZERO, 0);
        assert_eq!(begin(&mut sync, Instant::ZERO, false), (100, Go::After(PAUSE)));
        let second = Instant::ZERO + Duration::from_ms(1_000);
        assert_eq!(begin(&mut sync, second, false), (100, Go::After(PAUSE)));
    }

    #[test]
    fn a_busy_array_goes_on_row_by_row_above_the_slowest_pace() {
        let mut sync = Sync::new(Task::Scrub, 0, Instant::ZERO, 0);
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (4, Go::Later), "so many rows at once");
        (0..4).for_each(|row| sync.row_over(row));
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (4, Go::Later));
        (4..8).for_each(|row| sync.row_over(row));
        // Two more rows come to the slowest pace, of ten rows a second, and a third begins once they are over.
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (2, Go::Later));
        sync.row_over(8);
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (0, Go::Later));
        sync.row_over(9);
        assert_eq!(begin(&mut sync, Instant::ZERO, true), (1, Go::Later));
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
