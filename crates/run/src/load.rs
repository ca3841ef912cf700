//! The load of a run: the initial state of the device, the requests, and the data that describe them in the
//! result.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wordline_device::block_device::Shape;
use wordline_host::{Pace, QueueMapping};
use wordline_kernel::Duration;

use crate::arrivals::{PassSource, RequestSource};
use crate::change::Change;
use crate::provenance::{Fingerprint, Provenance};
use crate::settling::Settling;
use crate::summary::Source;
use crate::transient::WarmUp;
use crate::until::Until;
use wordline_trace::workload::Precondition as Wished;
use wordline_trace::{LateNotes, Locator, Requests};

/// The state of a device before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// Nothing was ever written.
    Empty,
    /// This fraction of the logical pages was written once, in ascending order.
    Filled(f64),
    /// All logical pages were written, then overwritten at random until write amplification was steady.
    Steady,
    /// As `Steady`, but only this fraction of the logical pages was written, from the first on. The device
    /// has no more free blocks than a full device.
    SteadyTo(f64),
    /// All logical pages were written once, in ascending order. Then the workload itself wrote this many
    /// drive writes, or until write amplification was steady.
    Workload(Option<f64>),
}

impl Precondition {
    /// The default on a device of `shape`, for a workload whose default is this state. Zones begin empty:
    /// requests that do not manage zones could write nothing to full ones.
    #[must_use]
    pub fn usual_on(self, shape: &Shape) -> Self {
        if shape.zones.is_some() { Self::Empty } else { self }
    }

    /// Fraction of the logical pages that are written in this state.
    pub fn filled(self) -> f64 {
        match self {
            Self::Empty => 0.0,
            Self::Filled(fraction) | Self::SteadyTo(fraction) => fraction,
            Self::Steady | Self::Workload(_) => 1.0,
        }
    }

    /// The state in words, for titles.
    pub fn in_words(self) -> String {
        let percent = |fraction: f64| format!("{} %", (1e4 * fraction).round() / 1e2);
        match self {
            Self::Empty => "empty".into(),
            Self::Filled(fraction) if fraction >= 1.0 => "filled once".into(),
            Self::Filled(fraction) => format!("{} filled", percent(fraction)),
            Self::Steady => "steady state".into(),
            Self::SteadyTo(fraction) => format!("steady state of {}", percent(fraction)),
            Self::Workload(None) => "steady state of the workload".into(),
            Self::Workload(Some(drives)) => format!("after {drives} drive writes of the workload"),
        }
    }
}

/// The way in which a device gets its initial state.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// A new device is brought into this state.
    Preconditioned(Precondition),
    /// The device is restored from the snapshot in this file.
    Snapshot(PathBuf),
}

/// The time of a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCutPoint {
    /// After this many completed requests.
    Requests(u64),
    /// After this simulated time, from the beginning of the run.
    Time(Duration),
}

/// The requests of a run, and the data that describe them in the result.
pub struct Load {
    /// Name of the device in the result.
    pub device_name: String,
    /// The configuration as text, for a reproducer.
    pub config_text: String,
    /// The source of the requests as the result describes it.
    pub source: Source,
    /// The warm-up, whose requests are not measured.
    pub warm_up: WarmUp,
    /// A warm-up of whole passes over the workload, which replaces `warm_up`.
    pub settling: Option<Settling>,
    /// The condition at which the measurement ends, in place of the last request.
    pub until: Option<Until>,
    /// Whether the result includes values that it would otherwise report as unknown.
    pub as_counted: bool,
    /// The requests, including those of the warm-up. A request that cannot be read ends the run with its
    /// error, after all earlier requests have completed.
    pub requests: RequestSource,
    /// Number of measured requests, if known.
    pub total: Option<u64>,
    /// Number of additional requests for the warm-up. 0 if the warm-up uses the first of the measured
    /// requests.
    pub beside: u64,
    /// The pace at which they are submitted.
    pub pace: Pace,
    /// The mapping of requests to the submission queues of the device.
    pub spread: QueueMapping,
    /// Namespace of the requests, from 0.
    pub namespace: u16,
    /// Default stream of writes; 0 for none.
    pub stream: u8,
    /// Seed of all random streams.
    pub seed: u64,
    /// The file that logs every request, if any.
    pub log: Option<PathBuf>,
    /// Number of slowest requests to list, if requests have a tail attribution.
    pub slowest: Option<u32>,
    /// The time line to write: its file, and its begin and end, from the beginning of the run.
    pub timeline: Option<(PathBuf, Duration, Duration)>,
    /// The file in which the device is saved after the run, if any.
    pub save_snapshot: Option<PathBuf>,
    /// The time of a power cut, if any.
    pub power_cut: Option<PowerCutPoint>,
    /// Notes for the user in the result.
    pub notes: Vec<String>,
    /// The program that makes the run, as recorded in the result.
    pub provenance: Provenance,
    /// Digest of the trace file that the requests come from, as recorded in the result.
    pub trace_file: Option<Fingerprint>,
    /// Looks up the lines of requests for errors, if they come from a file that can be read again.
    pub locator: Option<Locator>,
    /// Notes that are only known after the last request.
    pub late_notes: LateNotes,
    /// The change of device and host after preparation.
    pub change: Change,
    /// Makes the requests of further passes for the warm-up. None if the requests can be read only once.
    pub passes: Option<PassSource>,
}

impl Load {
    /// The measured requests in a fixed order, for uses without a device. A generator's warm-up requests are
    /// left out.
    pub fn in_order(self) -> Requests {
        let most = if self.beside > 0 { self.total } else { None };
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        Box::new(self.requests.in_order().take(most))
    }
}

impl std::str::FromStr for Precondition {
    type Err = String;

    /// Reads `empty`, `filled`, `filled:FRACTION`, `steady-state`, `steady-state:FRACTION`, `workload` or
    /// `workload:DRIVE-WRITES`. A fraction alone is the fraction to fill.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let steady_to = text.strip_prefix("steady-state:").map(str::parse::<f64>);
        if let Some(drives) = text.strip_prefix("workload:") {
            let drives = drives.parse::<f64>().ok().filter(|drives| *drives > 0.0 && *drives <= 1_000.0);
            return drives.map(|drives| Self::Workload(Some(drives))).ok_or_else(|| refused(text));
        }
        match (text, steady_to, text.strip_prefix("filled:").unwrap_or(text).parse::<f64>()) {
            ("empty", ..) => Ok(Self::Empty),
            ("filled", ..) => Ok(Self::Filled(1.0)),
            ("steady-state", ..) => Ok(Self::Steady),
            ("workload", ..) => Ok(Self::Workload(None)),
            (_, Some(Ok(fraction)), _) if fraction > 0.0 && fraction <= 1.0 => Ok(Self::SteadyTo(fraction)),
            (_, None, Ok(fraction)) if (0.0..=1.0).contains(&fraction) => Ok(Self::Filled(fraction)),
            _ => Err(refused(text)),
        }
    }
}

fn refused(text: &str) -> String {
    format!(
        "found \"{text}\", wanted empty, filled, steady-state, steady-state:0.5 of a fraction above 0, workload, workload:3 for \
         3 drive writes, at most 1000, or the fraction to fill, from 0 to 1"
    )
}

impl From<Wished> for Precondition {
    fn from(wished: Wished) -> Self {
        match wished {
            Wished::Empty => Self::Empty,
            Wished::Filled => Self::Filled(1.0),
            Wished::SteadyState => Self::Steady,
            Wished::Workload => Self::Workload(None),
        }
    }
}
