//! The interface through which a session drives a run on a device of any type, step by step.

use wordline_device::ZoneDescriptor;
use wordline_kernel::{Instant, Metrics};

use crate::error::Result;
use crate::observer::Observer;
use crate::output::Output;
use crate::record::CompletedRequest;
use crate::summary::{Host, Summary};
use wordline_trace::Request;

/// The point to which a session is advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepTarget {
    /// This time, from the beginning of the session. All events up to and at this instant are handled.
    Time(Instant),
    /// The completion of this many more requests.
    Completions(u64),
    /// The next completion, or this time if it comes first. The time counts from the beginning of the
    /// session.
    CompletionBy(Instant),
    /// The acceptance of every submitted request by the device. In an open loop requests are accepted at
    /// their times, in a closed loop as slots become free. A request that is submitted at this point has the
    /// same effect as if it had been known from the beginning.
    Accepted,
    /// The point at which nothing is left to do: every request has completed, and only requests that are not
    /// submitted yet can follow.
    Idle,
}

/// The reason why a session stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The session reached its target.
    Target,
    /// Every request completed before the target was reached.
    Idle,
    /// The observer stopped the session.
    Stopped,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The present, from the beginning of the session.
    pub now: Instant,
    /// Number of requests that were submitted to the session and not yet accepted by the device.
    pub waiting: u64,
    /// Number of requests that the device has accepted.
    pub submitted: u64,
    /// Number of requests that have completed.
    pub completed: u64,
    /// Number of requests that the device has accepted and that can still complete.
    pub outstanding: u64,
    /// Number of requests that were lost in power cuts.
    pub lost: u64,
    /// Whether the device is recovering from a power cut and accepts no requests.
    pub recovers: bool,
}

/// A run in progress on a device of any type. A session documents the methods.
pub trait SteppedRun: Send {
    /// Submits a request. Returns its number.
    ///
    /// # Errors
    /// If the device cannot accept it.
    fn submit(&mut self, request: &Request) -> Result<u64>;
    /// Advances the run, and keeps completed requests for [`completions`](Self::completions).
    ///
    /// # Errors
    /// The errors of a run.
    fn advance(&mut self, until: StepTarget, observer: &mut dyn Observer) -> Result<StopReason>;
    /// The requests that completed since the last call.
    fn completions(&mut self) -> Vec<CompletedRequest>;
    /// The state of the run.
    fn standing(&self) -> Standing;
    /// The metrics of the device since the beginning of the run.
    fn metrics(&self) -> Metrics;
    /// Requests, throughput and latency at the host since the beginning of the run.
    fn host(&self) -> Host;
    /// The result so far.
    fn summary(&mut self) -> Summary;
    /// The descriptors of all zones of the device.
    ///
    /// # Errors
    /// If the device has no zones, or is recovering from a power cut.
    fn report_zones(&self) -> Result<Vec<ZoneDescriptor>>;
    /// Cuts the power and restores it.
    ///
    /// # Errors
    /// If the device is recovering from an earlier power cut.
    fn cut_power(&mut self, observer: &mut dyn Observer) -> Result<()>;
    /// Saves the device as a snapshot.
    ///
    /// # Errors
    /// If a request has not completed, or the file cannot be written.
    fn save(&mut self, to: Output, observer: &mut dyn Observer) -> Result<()>;
    /// Advances to the end of the workload. Returns the result.
    ///
    /// # Errors
    /// The errors of a run.
    fn finish(&mut self, observer: &mut dyn Observer) -> Result<Summary>;
}
