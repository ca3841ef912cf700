//! Retention with simulated time: the program time of each word line, and the error rates at the ages that
//! occur.

use std::collections::BTreeMap;

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Duration, Instant};

use super::rates::RateTable;

/// Age classes per decade of time. Chosen: neighbouring classes differ by a sixteenth of the effect of a
/// decade.
const CLASSES_PER_DECADE: f64 = 16.0;

/// Begin of the first class, in hours: one second. Younger data have lost no charge. Chosen: retention begins
/// after an hour (`retention.onset_hours`).
const FIRST_CLASS_HOURS: f64 = 1.0 / 3_600.0;

/// Marks a word line whose data were written before the run.
const BEFORE_RUN: u64 = u64::MAX;

/// The program time of each word line.
#[derive(Clone, Debug)]
pub struct RetentionClock {
    /// Program times in picoseconds of simulated time, word line by word line.
    programmed: Vec<u64>,
    /// Word lines of a block.
    word_lines: usize,
    /// Error rates by age class.
    rates: BTreeMap<u32, RateTable>,
}

impl State for RetentionClock {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.value("programmed", &self.programmed)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.programmed = from.value("programmed")?;
        self.rates.clear();
        Ok(())
    }
}

impl RetentionClock {
    /// A clock for data that were all written before the run.
    pub fn new(blocks: usize, word_lines: u32) -> Self {
        let word_lines = word_lines as usize;
        Self { programmed: vec![BEFORE_RUN; blocks * word_lines], word_lines, rates: BTreeMap::new() }
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

    /// The error rates of the age class of `hours`, derived from `of` on first use.
    pub fn rates(&mut self, of: &RateTable, hours: f64) -> &mut RateTable {
        let class = class_of(hours);
        self.rates.entry(class).or_insert_with(|| of.after(middle(class)))
    }
}

fn hours(time: Duration) -> f64 {
    time.us() / 3.6e9
}

/// The class of an age in hours, 0 for data that have lost no charge.
fn class_of(hours: f64) -> u32 {
    if hours < FIRST_CLASS_HOURS {
        0
    } else {
        1 + (libm::log10(hours / FIRST_CLASS_HOURS) * CLASSES_PER_DECADE) as u32
    }
}

/// The hours in the middle of a class.
fn middle(class: u32) -> f64 {
    class
        .checked_sub(1)
        .map_or(0.0, |n| FIRST_CLASS_HOURS * libm::pow(10.0, (f64::from(n) + 0.5) / CLASSES_PER_DECADE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_class_lies_in_it_and_classes_rise_with_the_hours() {
        for class in 0..160 {
            assert_eq!(class_of(middle(class)), class);
        }
        assert_eq!([0.0, 1e-4, 1e-3, 1.0].map(class_of), [0, 0, 9, 57]);
    }

    #[test]
    fn data_are_as_old_as_their_program_or_older_than_the_run() {
        let day = |days: u64| Instant::ZERO + Duration::from_ms(days * 86_400_000);
        let mut passing = RetentionClock::new(2, 4);
        passing.note(1, 2, day(3));
        let hours = |block, line| passing.hours(block, line, 100.0, day(4));
        assert_eq!([hours(1, 2), hours(1, 1), hours(0, 0)], [24.0, 196.0, 196.0]);
    }
}
