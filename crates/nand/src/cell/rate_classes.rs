//! Error rates at the ages of data and at the counts of reads that occur in a run, by class.

use std::collections::BTreeMap;

use super::rates::RateTable;

/// Classes per decade of time or of reads. Chosen: neighbouring classes differ by a sixteenth of the effect of
/// a decade.
const CLASSES_PER_DECADE: f64 = 16.0;

/// Begin of the first class of ages, in hours: one second. Younger data have lost no charge. Chosen: retention
/// begins after an hour (`retention.onset_hours`).
const FIRST_HOURS: f64 = 1.0 / 3_600.0;

/// Begin of the first class of reads. Fewer reads disturb nothing. Chosen: sources give the effect of
/// thousands of reads.
const FIRST_READS: f64 = 100.0;

/// The error rates of each class of ages and of reads.
#[derive(Clone, Debug, Default)]
pub struct RateClasses(BTreeMap<(u32, u32), RateTable>);

impl RateClasses {
    /// The error rates of data of this age in a block with so many reads, derived from `of` on first use.
    pub fn at(&mut self, of: &RateTable, hours: Option<f64>, reads: u32) -> &mut RateTable {
        let age = hours.map(|hours| class_of(hours, FIRST_HOURS));
        let reads = class_of(f64::from(reads), FIRST_READS);
        self.0.entry((age.unwrap_or(0), reads)).or_insert_with(|| {
            of.under(age.map(|class| middle(class, FIRST_HOURS)), middle(reads, FIRST_READS))
        })
    }

    /// Drops all rates.
    pub fn clear(&mut self) {
        self.0.clear();
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
