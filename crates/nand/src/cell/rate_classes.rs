//! Error rates of blocks at the ages of data and at the counts of reads that occur in a run, by class.

use std::collections::BTreeMap;

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Instant, Seed};

use super::rates::RateTable;
use super::retention_clock::RetentionClock;

/// Classes per decade of time or of reads. Chosen: neighbouring classes differ by a sixteenth of the effect of
/// a decade.
const CLASSES_PER_DECADE: f64 = 16.0;

/// Begin of the first class of ages, in hours: one second. Younger data have lost no charge. Chosen: retention
/// begins after an hour (`retention.onset_hours`).
const FIRST_HOURS: f64 = 1.0 / 3_600.0;

/// Begin of the first class of reads. Fewer reads disturb nothing. Chosen: sources give the effect of
/// thousands of reads.
const FIRST_READS: f64 = 100.0;

/// The error rates of all blocks, by the age of their data and by their reads.
#[derive(Clone, Debug)]
pub struct BlockRates {
    /// Rates under the condition of all cells.
    usual: RateTable,
    /// `None` if all data have the retention time of the condition.
    passing: Option<RetentionClock>,
    /// Page reads of each block since its last erase in the run; `None` without read disturb.
    disturbing: Option<Vec<u32>>,
    /// Rates by class of ages and of reads.
    classes: BTreeMap<(u32, u32), RateTable>,
}

impl State for BlockRates {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self { usual: _, passing, disturbing, classes: _ } = self;
        passing.iter().try_for_each(|passing| passing.save_state(to))?;
        disturbing.iter().try_for_each(|reads| reads.save_state(to))
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.passing.iter_mut().try_for_each(|passing| passing.load_state(from))?;
        self.disturbing.iter_mut().try_for_each(|reads| reads.load_state(from))
    }
}

impl BlockRates {
    /// The rates of blocks that are not read yet. `disturbing`: reads of each block, if they disturb it.
    pub fn new(usual: RateTable, disturbing: Option<Vec<u32>>) -> Self {
        Self { usual, passing: None, disturbing, classes: BTreeMap::new() }
    }

    /// Lets retention time pass with simulated time.
    pub fn start_clock(&mut self, passing: RetentionClock) {
        self.passing = Some(passing);
    }

    /// Whether retention time passes with simulated time.
    pub fn has_clock(&self) -> bool {
        self.passing.is_some()
    }

    /// The rates under the condition of all cells.
    pub fn usual(&mut self) -> &mut RateTable {
        &mut self.usual
    }

    /// Draws the classes of `blocks` blocks of each die from the seed, and drops all rates.
    pub fn redraw(&mut self, dies: std::ops::Range<u32>, blocks: u32, seed: Seed) {
        self.classes.clear();
        self.usual.clear_variants();
        self.usual.draw(dies, blocks, seed);
    }

    /// Records the program of a word line, whose data age from now on.
    pub fn note_program(&mut self, block: usize, word_line: u32, now: Instant) {
        self.passing.iter_mut().for_each(|passing| passing.note(block, word_line, now));
    }

    /// Counts a page read of a block.
    pub fn note_read(&mut self, block: usize) {
        self.disturbing.iter_mut().for_each(|reads| reads[block] = reads[block].saturating_add(1));
    }

    /// Handles an erase of a block.
    pub fn note_erase(&mut self, block: usize) {
        self.disturbing.iter_mut().for_each(|reads| reads[block] = 0);
    }

    /// Retention time of a word line, in hours.
    pub fn hours(&self, block: usize, word_line: u32, now: Instant) -> f64 {
        let laid = self.usual.hours();
        self.passing.as_ref().map_or(laid, |passing| passing.hours(block, word_line, laid, now))
    }

    /// The rates of a word line by its age and by the reads of its block, derived on first use.
    pub fn at(&mut self, block: usize, word_line: u32, now: Instant) -> &mut RateTable {
        if self.passing.is_none() && self.disturbing.is_none() {
            return &mut self.usual;
        }
        let age = self.passing.as_ref().map(|_| class_of(self.hours(block, word_line, now), FIRST_HOURS));
        let reads = self.disturbing.as_ref().map_or(0, |reads| reads[block]);
        let reads = class_of(f64::from(reads), FIRST_READS);
        let Self { usual, classes, .. } = self;
        classes.entry((age.unwrap_or(0), reads)).or_insert_with(|| {
            usual.under(age.map(|class| middle(class, FIRST_HOURS)), middle(reads, FIRST_READS))
        })
    }
}

/// The class of a value, 0 for values below the first class.
fn class_of(value: f64, first: f64) -> u32 {
    if value < first { 0 } else { 1 + (libm::log10(value / first) * CLASSES_PER_DECADE) as u32 }
}

/// The value in the middle of a class.
fn middle(class: u32, first: f64) -> f64 {
    class.checked_sub(1).map_or(0.0, |n| first * libm::pow(10.0, (f64::from(n) + 0.5) / CLASSES_PER_DECADE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_class_lies_in_it_and_classes_rise_with_the_value() {
        for (class, first) in (0..160).flat_map(|class| [(class, FIRST_HOURS), (class, FIRST_READS)]) {
            assert_eq!(class_of(middle(class, first), first), class);
        }
        assert_eq!([0.0, 1e-4, 1e-3, 1.0].map(|hours| class_of(hours, FIRST_HOURS)), [0, 0, 9, 57]);
    }
}
