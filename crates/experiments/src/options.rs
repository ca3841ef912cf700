//! Options for running an experiment.

use std::path::PathBuf;

use crate::show::record::{Key, SEEDS};

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
    /// Key of an outcome with them, but for the digests of program and file.
    pub(crate) fn key(&self) -> Key {
        let traces = self.traces.is_some();
        Key { quick: self.quick, seed: self.seed, seeds: self.seeds, traces, ..Key::default() }
    }
}
