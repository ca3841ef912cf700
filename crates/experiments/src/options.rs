//! Options for running an experiment.

use std::path::PathBuf;

/// Default number of seeds of an experiment. Chosen: with four degrees of freedom the half-width of the 95 %
/// interval is 1.24 standard deviations, with three seeds 2.48, with ten 0.72.
pub const SEEDS: u32 = 5;

/// Options for running an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether it is scaled down as specified under `quick`.
    pub quick: bool,
    /// Folder of recorded traces, which take precedence over profiles.
    pub traces: Option<PathBuf>,
    /// Seed of all random streams; the first of several.
    pub seed: u64,
    /// Number of consecutive seeds.
    pub seeds: u32,
    /// Whether rows outside are repeated under the change that removes their reason.
    pub beside: bool,
    /// Keys overridden at every point, whatever else sets them: a change of the model. Then only the compared
    /// points are run.
    pub change: toml::Table,
}

impl Default for Options {
    fn default() -> Self {
        Self { quick: false, traces: None, seed: 0, seeds: SEEDS, beside: true, change: toml::Table::new() }
    }
}

impl Options {
    /// Command that prints the table of an experiment, with the options that affect its numbers.
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
