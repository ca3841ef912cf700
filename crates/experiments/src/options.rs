//! The choices with which an experiment is run.

use std::path::PathBuf;

/// How an experiment is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Scaled down as the experiment says under `quick`.
    pub quick: bool,
    /// A folder of real traces, which take precedence over profiles.
    pub traces: Option<PathBuf>,
    /// The seed of all random streams.
    pub seed: u64,
    /// Keys that take other values at every point, whatever else sets them: a change of the model. Then nothing is run but
    /// what the expected values compare.
    pub change: toml::Table,
}
