//! The face of a run under way on a device of any type, by which a [`Session`](crate::Session) drives it.

use wordline_kernel::{Instant, Metrics};

use crate::error::Result;
use crate::observer::Observer;
use crate::output::Output;
use crate::record::Answered;
use crate::summary::{Host, Summary};
use crate::trace::Request;

/// How far a session is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To this time, counted from the beginning of the session. All that is due by then, and at that instant, has happened.
    Time(Instant),
    /// Until so many more requests are answered.
    Answers(u64),
    /// To the next answer, but no further than to this time, counted from the beginning of the session.
    AnswerBy(Instant),
    /// Until the device has taken every request that was submitted to the session: those of an open loop at their times, those of a
    /// closed loop as there is room. A request that is submitted then comes as if it had been known from the beginning.
    Taken,
    /// Until nothing is left to do: every request is answered, and none is to come but those that are still to be submitted.
    Rest,
}

/// Where a session has come to a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Where it was to go.
    Wanted,
    /// At rest before that: every request is answered.
    Rest,
    /// Where its observer stopped it.
    Stopped,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The present, counted from the beginning of the session.
    pub now: Instant,
    /// Requests that were submitted to the session and that the device has not taken yet.
    pub waiting: u64,
    /// Requests that the device has taken.
    pub submitted: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that the device has taken and that may still be answered.
    pub outstanding: u64,
    /// Requests that a power cut lost.
    pub lost: u64,
    /// Whether the device recovers from a power cut, and takes nothing.
    pub recovers: bool,
}

/// A run under way on a device of any type. The methods are those of a [`Session`](crate::Session), which are documented there.
pub trait Steps: Send {
    /// Takes a request. Returns its number.
    ///
    /// # Errors
    /// If the device cannot take it.
    fn submit(&mut self, request: &Request) -> Result<u64>;
    /// Goes on, and keeps the answers.
    ///
    /// # Errors
    /// Those of a run.
    fn advance(&mut self, until: Until, observer: &mut dyn Observer) -> Result<Reached>;
    /// The answers since they were last taken.
    fn answers(&mut self) -> Vec<Answered>;
    /// Where the run stands.
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
    /// If the device recovers from another power cut.
    fn cut_power(&mut self, observer: &mut dyn Observer) -> Result<()>;
    /// Saves the device.
    ///
    /// # Errors
    /// If a request is not answered, or the file cannot be written.
    fn save(&mut self, to: Output, observer: &mut dyn Observer) -> Result<()>;
    /// Goes on to the end of the workload. Returns the result.
    ///
    /// # Errors
    /// Those of a run.
    fn finish(&mut self, observer: &mut dyn Observer) -> Result<Summary>;
}
