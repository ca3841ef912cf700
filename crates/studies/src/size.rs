//! Size of a study: numbers of combinations and runs, computed without creating any, and their limits.

use wordline_kernel::{Complaints, grouped};

use crate::file::Study;

/// Maximum number of combinations of a study. Chosen: ten times the greatest number of values of a key,
/// 10,000. Each combination is a device that is validated and kept with its text, a row of a table that
/// somebody reads, and a point of the charts.
const MAX_COMBINATIONS: u128 = 100_000;

/// Maximum number of runs of a study. Chosen: with the shortest runs (0.8 ms) they take a quarter of an hour,
/// and a folder with this many files can be listed in seconds.
const MAX_RUNS: u128 = 1_000_000;

impl Study {
    /// Number of combinations of the varied keys.
    fn combinations(&self) -> u128 {
        self.sweep.vary.iter().fold(1, |count, axis| u128::saturating_mul(count, axis.values.len() as u128))
    }

    /// Adds a fault if the size exceeds the limits, at the key with the most values or at the seeds. No
    /// combination is created.
    pub(crate) fn require_size(&self, wrong: &mut Complaints) {
        let shown = |count: u128| grouped(&count.to_string());
        let path = self.path.display();
        let combinations = self.combinations();
        if combinations > MAX_COMBINATIONS {
            let longest = self.sweep.vary.iter().enumerate().max_by_key(|(_, axis)| axis.values.len());
            let (place, axis) = longest.expect("more than one combination has a key");
            let found = format!(
                "{} values of `{}`, with the other keys {} combinations",
                shown(axis.values.len() as u128),
                axis.key,
                shown(combinations)
            );
            let wanted = format!("at most {} combinations", shown(MAX_COMBINATIONS));
            wrong.add(format!("{path}: vary[{place}].values"), found, wanted);
            return;
        }
        let until = self.repeat.until.as_ref().map(|until| ("repeat.until.at_most", until.at_most));
        for (key, seeds) in [("repeat.seeds", self.repeat.seeds)].into_iter().chain(until) {
            let runs = combinations.saturating_mul(seeds.into());
            if runs > MAX_RUNS {
                let found = format!("{} seeds, {} runs", shown(seeds.into()), shown(runs));
                let most = MAX_RUNS / combinations.max(1);
                let wanted = format!("at most {} seeds, {} runs", shown(most), shown(MAX_RUNS));
                wrong.add(format!("{path}: {key}"), found, wanted);
                return;
            }
        }
    }
}
