//! A run with all its inputs: device, initial state, requests and options.

use std::path::PathBuf;
use std::sync::Arc;

use crate::devices::Configured;
use crate::load::{Load, PowerCutPoint, Precondition, Start};
use crate::provenance::Provenance;
use crate::timeline::Timeline;
use crate::transient::WarmUp;
use crate::until::Until;

/// Options of a run or a session, in addition to its device and its workload.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Seed of all random streams.
    pub seed: u64,
    /// Initial state of the device. Default: the state that the workload asks for.
    pub precondition: Option<Precondition>,
    /// The warm-up, whose requests are not measured. The default depends on the load. A generated load has a
    /// warm-up until it is steady, unless the device is empty. Traces, given requests, jobs, profiles and
    /// sessions have no warm-up.
    pub warm_up: Option<WarmUp>,
    /// The condition at which the run ends: the wanted precision of a metric, or the end of a rebuild. With a
    /// precision, the run ends after the last request in any case. A rebuild outlasts the requests, and a generated
    /// load without a number of requests goes on until its end.
    pub until: Option<Until>,
    /// Whether the result includes values that it would otherwise report as
    /// [unknown](crate::summary::Summary::unknown). Meant for a caller that controls the state of the device,
    /// such as an experiment.
    pub as_counted: bool,
    /// The snapshot from which the device is restored, in place of preconditioning.
    pub from_snapshot: Option<PathBuf>,
    /// The file in which the device is saved after the run.
    pub save_snapshot: Option<PathBuf>,
    /// The file that logs every request.
    pub log: Option<PathBuf>,
    /// The number of slowest requests to list, each with its latency breakdown. Has no effect if the run has
    /// no [tail attribution](crate::tail::Tail).
    pub slowest: Option<u32>,
    /// The time line to write.
    pub timeline: Option<Timeline>,
    /// The time of a power cut, if any.
    pub power_cut: Option<PowerCutPoint>,
    /// The program that makes the run, as recorded in the result.
    pub provenance: Provenance,
}

impl RunOptions {
    /// Default options with this seed.
    pub fn seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The initial state of the device. `usual` is the default of the workload.
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
    /// Initial state.
    pub start: Start,
    /// The requests, and their description in the result.
    pub load: Load,
}
