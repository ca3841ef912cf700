//! A run with everything that it depends on, and its settings beside device and workload.

use std::path::PathBuf;
use std::sync::Arc;

use crate::devices::Configured;
use crate::load::{CutAfter, Load, Precondition, Start};
use crate::provenance::Provenance;
use crate::timeline::Timeline;
use crate::transient::WarmUp;
use crate::until::Precision;

/// Settings of a run or a session beside its device and its workload.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The seed of all random streams.
    pub seed: u64,
    /// The state of the device before; that of the workload where it is left out.
    pub precondition: Option<Precondition>,
    /// How much of the beginning of the load is left out of the result. Where it is not said: of a generated load all until it is
    /// steady, on any device but an empty one; of recorded and given requests, of jobs, of profiles and of sessions nothing.
    pub warm_up: Option<WarmUp>,
    /// The column that is to be known well enough: the run ends when it is, or when all requests have come.
    pub until: Option<Precision>,
    /// Whether the result has every value as it was counted, also those that it would call [unknown](crate::summary::Summary::unknown): for
    /// a caller that knows what it compares, as an experiment does that states the state of its device.
    pub as_counted: bool,
    /// The snapshot that the device is restored from, in place of a precondition.
    pub from_snapshot: Option<PathBuf>,
    /// Where the device is to be saved after the run.
    pub save_snapshot: Option<PathBuf>,
    /// Where every request is to be logged.
    pub log: Option<PathBuf>,
    /// How many of the slowest requests are kept, each with where its time went; none where requests are not [explained](crate::tail::Tail).
    pub slowest: Option<u32>,
    /// The time line that is to be written.
    pub timeline: Option<Timeline>,
    /// When the power is cut, if at all.
    pub power_cut: Option<CutAfter>,
    /// The program that runs it, for the result.
    pub provenance: Provenance,
}

impl RunOptions {
    /// Those with this seed, and nothing else that is asked for.
    pub fn seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// How the device comes to its state, on a workload that wants `usual`.
    pub(crate) fn start(&self, usual: Precondition) -> Start {
        match &self.from_snapshot {
            Some(path) => Start::Snapshot(path.clone()),
            None => Start::As(self.precondition.unwrap_or(usual)),
        }
    }
}

/// A run: everything that it depends on.
pub struct Job {
    /// The device, of whichever type.
    pub device: Arc<dyn Configured>,
    /// How it comes to its state before the first request.
    pub start: Start,
    /// The requests, and their description for the result.
    pub load: Load,
}
