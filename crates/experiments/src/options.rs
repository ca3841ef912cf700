//! Options for running an experiment.

use std::path::PathBuf;

use wordline_lab::trace::Unit;
use wordline_lab::trace::workload::Profile;
use wordline_lab::trace::workload::profile::Claim;

use crate::show::record::{Key, Only, SEEDS};

/// Maximum number of requests of a profile in a scaled-down experiment. Chosen: a run takes a second, and the
/// rarest kind of request still has its mean size.
const QUICK_REQUESTS: f64 = 1e6;

/// Options for running an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the experiment is scaled down as its key `quick` describes.
    pub quick: bool,
    /// Folder of recorded traces. A trace in it replaces the profile of the same name.
    pub traces: Option<PathBuf>,
    /// Seed of all random streams. Of several seeds, the first.
    pub seed: u64,
    /// Number of consecutive seeds.
    pub seeds: u32,
    /// Values of varied keys to which experiments are restricted. An experiment that does not vary a key is not
    /// restricted by it.
    pub only: Only,
    /// Whether rows that are outside their bands are repeated, under the change of the model that removes
    /// their reason.
    pub beside: bool,
    /// Keys that are overridden at every point, on top of all other settings: a change of the model. If not
    /// empty, only points that an expected value compares are run.
    pub change: toml::Table,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quick: false,
            traces: None,
            seed: 0,
            seeds: SEEDS,
            only: Only::new(),
            beside: true,
            change: toml::Table::new(),
        }
    }
}

impl Options {
    /// The key of an outcome with these options. Its digests of program and file are empty.
    pub(crate) fn key(&self) -> Key {
        let traces = self.traces.is_some();
        let Self { quick, seed, seeds, .. } = *self;
        Key { quick, seed, seeds, only: self.only.clone(), traces, ..Key::default() }
    }

    /// Scale of a profile. It is 1 for the full scale, and if the paper does not print the counts of the volume.
    pub(crate) fn scale(&self, profile: &Profile) -> f64 {
        let count = |claim: Claim| claim.paper * claim.unit.size();
        let counts =
            profile.claims().into_iter().filter(|claim| matches!(claim.unit, Unit::Requests | Unit::Million));
        let requests: f64 = counts.map(count).sum();
        if self.quick && requests > QUICK_REQUESTS { QUICK_REQUESTS / requests } else { 1.0 }
    }
}
