//! The interface of a run in progress on a device of any type, which a [`Session`](crate::Session) drives.

use wordline_kernel::{Instant, Metrics};

use crate::error::Result;
use crate::observer::Observer;
use crate::output::Output;
use crate::record::CompletedRequest;
use crate::summary::{Host, Summary};
use crate::trace::Request;

/// How far to advance a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepTarget {
    /// To this time, counted from the beginning of the session. All events up to and at this instant have
    /// been handled.
    Time(Instant),
    /// Until this many more requests complete.
    Completions(u64),
    /// To the next completion, but not beyond this time, counted from the beginning of the session.
    CompletionBy(Instant),
    /// Until the device has accepted every request submitted to the session: in an open loop at their times,
    /// in a closed loop as slots become free. A request submitted then is handled as if it had been known
    /// from the beginning.
    Accepted,
    /// Until nothing is left to do: every request has completed, and only requests that are not submitted yet
    /// can follow.
    Idle,
}

/// The reason why a session stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It reached its target.
    Target,
    /// It came to rest before: every request has completed.
    Idle,
    /// The observer stopped it.
    Stopped,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The present, counted from the beginning of the session.
    pub now: Instant,
    /// Requests submitted to the session that the device has not accepted yet.
    pub waiting: u64,
    /// Requests that the device has accepted.
    pub submitted: u64,
    /// Requests that have completed.
    pub completed: u64,
    /// Requests that the device has accepted and that can still complete.
    pub outstanding: u64,
    /// Requests lost in a power cut.
    pub lost: u64,
    /// Whether the device is recovering from a power cut, and accepts nothing.
    pub recovers: bool,
}

/// A run in progress on a device of any type. The methods are documented at [`Session`](crate::Session).
pub trait SteppedRun: Send {
    /// Submits a request. Returns its number.
    ///
    /// # Errors
    /// If the device cannot accept it.
    fn submit(&mut self, request: &Request) -> Result<u64>;
    /// Advances the run, and keeps the completions.
    ///
    /// # Errors
    /// The errors of a run.
    fn advance(&mut self, until: StepTarget, observer: &mut dyn Observer) -> Result<StopReason>;
    /// The completions since the last call.
    fn completions(&mut self) -> Vec<CompletedRequest>;
    /// The state of the run.
    fn standing(&self) -> Standing;
    /// The metrics of the device since the beginning.
    fn metrics(&self) -> Metrics;
    /// Requests, throughput and latency at the host since the beginning.
    fn host(&self) -> Host;
    /// The result so far.
    fn summary(&mut self) -> Summary;
    /// Cuts the power and switches it on again.
    ///
    /// # Errors
    /// If the device is recovering from another power cut.
    fn cut_power(&mut self, observer: &mut dyn Observer) -> Result<()>;
    /// Saves the device.
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
