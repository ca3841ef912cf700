//! The choices with which an experiment is run.

use std::path::PathBuf;

/// How many seeds an experiment is run with if nothing else is asked for. Chosen: with four degrees of freedom the 95 % interval is 1.24
/// standard deviations to both sides, with three seeds 2.48, with ten 0.72.
pub const SEEDS: u32 = 5;

/// How an experiment is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Scaled down as the experiment says under `quick`.
    pub quick: bool,
    /// A folder of real traces, which take precedence over profiles.
    pub traces: Option<PathBuf>,
    /// The seed of all random streams; the first of several.
    pub seed: u64,
    /// How many seeds it is run with, one after the other.
    pub seeds: u32,
    /// Whether rows that lie outside are run once more under the change that takes their reason away.
    pub beside: bool,
    /// Keys that take other values at every point, whatever else sets them: a change of the model. Then nothing is run but
    /// what the expected values compare.
    pub change: toml::Table,
}

impl Default for Options {
    fn default() -> Self {
        Self { quick: false, traces: None, seed: 0, seeds: SEEDS, beside: true, change: toml::Table::new() }
    }
}

impl Options {
    /// The command that prints the table of an experiment, by the options that decide its numbers.
    pub fn command(&self, id: &str) -> String {
        let usual = Self::default();
        let options = [
            self.quick.then(|| " --quick".to_owned()),
            (self.seed != usual.seed).then(|| format!(" --seed {}", self.seed)),
            (self.seeds != usual.seeds).then(|| format!(" --seeds {}", self.seeds)),
            self.traces.is_some().then(|| " --traces DIR".to_owned()),
        ];
        let options: String = options.into_iter().flatten().collect();
        format!("wordline repro {id}{options} --markdown")
    }
}
