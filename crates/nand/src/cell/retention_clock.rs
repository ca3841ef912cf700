//! Retention with simulated time: the program time of each word line.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Duration, Instant};

/// Marks a word line whose data were written before the run.
const BEFORE_RUN: u64 = u64::MAX;

/// The program time of each word line.
#[derive(Clone, Debug)]
pub struct RetentionClock {
    /// Program times in picoseconds of simulated time, word line by word line.
    programmed: Vec<u64>,
    /// Word lines of a block.
    word_lines: usize,
}

impl State for RetentionClock {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.value("programmed", &self.programmed)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.programmed = from.value("programmed")?;
        Ok(())
    }
}

impl RetentionClock {
    /// A clock for data that were all written before the run.
    pub fn new(blocks: usize, word_lines: u32) -> Self {
        let word_lines = word_lines as usize;
        Self { programmed: vec![BEFORE_RUN; blocks * word_lines], word_lines }
    }

    /// Records a program or reprogram of a word line. Its data age from `now` on.
    pub fn note(&mut self, block: usize, word_line: u32, now: Instant) {
        self.programmed[block * self.word_lines + word_line as usize] = (now - Instant::ZERO).ps();
    }

    /// Retention time of a word line, in hours. Data from before the run were `laid` hours old when the run
    /// began.
    pub fn hours(&self, block: usize, word_line: u32, laid: f64, now: Instant) -> f64 {
        let now = now - Instant::ZERO;
        match self.programmed[block * self.word_lines + word_line as usize] {
            BEFORE_RUN => laid + hours(now),
            since => hours(now.saturating_sub(Duration::from_ps(since))),
        }
    }
}

fn hours(time: Duration) -> f64 {
    time.us() / 3.6e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_as_old_as_their_program_or_older_than_the_run() {
        let day = |days: u64| Instant::ZERO + Duration::from_ms(days * 86_400_000);
        let mut passing = RetentionClock::new(2, 4);
        passing.note(1, 2, day(3));
        let hours = |block, line| passing.hours(block, line, 100.0, day(4));
        assert_eq!([hours(1, 2), hours(1, 1), hours(0, 0)], [24.0, 196.0, 196.0]);
    }
}
