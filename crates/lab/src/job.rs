//! A run with all its inputs, and its options beside device and workload.

use std::path::PathBuf;
use std::sync::Arc;

use crate::devices::Configured;
use crate::load::{Load, PowerCutPoint, Precondition, Start};
use crate::precision::Precision;
use crate::provenance::Provenance;
use crate::timeline::Timeline;
use crate::transient::WarmUp;

/// Options of a run or a session, beside its device and its workload.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The seed of all random streams.
    pub seed: u64,
    /// The initial state of the device; by default as the workload says.
    pub precondition: Option<Precondition>,
    /// The warm-up, which is left out of the result. By default generated loads leave out everything until
    /// the steady state, except on an empty device; recorded and given requests, jobs, profiles and sessions
    /// leave out nothing.
    pub warm_up: Option<WarmUp>,
    /// The precision of a metric: the run ends when it is reached, or when all requests have come.
    pub until: Option<Precision>,
    /// Whether the result has every value as counted, also those that it would call
    /// [unknown](crate::summary::Summary::unknown): for a caller that controls the state of the device, such
    /// as an experiment.
    pub as_counted: bool,
    /// The snapshot to restore the device from, in place of a precondition.
    pub from_snapshot: Option<PathBuf>,
    /// The file to save the device to after the run.
    pub save_snapshot: Option<PathBuf>,
    /// The file to log every request to.
    pub log: Option<PathBuf>,
    /// The number of slowest requests to keep, each with its latency breakdown; none where requests have no
    /// [tail attribution](crate::tail::Tail).
    pub slowest: Option<u32>,
    /// The time line to write.
    pub timeline: Option<Timeline>,
    /// The time of a power cut, if any.
    pub power_cut: Option<PowerCutPoint>,
    /// The program that runs it, for the result.
    pub provenance: Provenance,
}

impl RunOptions {
    /// Default options with this seed.
    pub fn seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The initial state of the device, for a workload whose default is `usual`.
    pub(crate) fn start(&self, usual: Precondition) -> Start {
        match &self.from_snapshot {
            Some(path) => Start::Snapshot(path.clone()),
            None => Start::Preconditioned(self.precondition.unwrap_or(usual)),
        }
    }
}

/// A run with all its inputs.
pub struct Job {
    /// The device, of any type.
    pub device: Arc<dyn Configured>,
    /// Its initial state.
    pub start: Start,
    /// The requests, and their description for the result.
    pub load: Load,
}
