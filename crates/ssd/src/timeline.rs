//! The work of a device in a stretch of time, for time lines.

use wordline_kernel::Instant;
use wordline_nand::Span;

use crate::command::{Answer, RequestId};
use crate::flash::DieCommand;

/// The work of a device since it was last asked.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Requests that were answered, in that order.
    pub requests: Vec<AnsweredRequest>,
    /// Commands of the dies that are over, in the order of their ends.
    pub commands: Vec<DieCommand>,
    /// The stages of commands that were begun, in the order of their beginning, each with the channel of its die.
    pub stages: Vec<(Span, u32)>,
    /// How full the device was, at each answer.
    pub levels: Vec<Levels>,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRequest {
    /// The number by which commands of dies name it; it is used again.
    pub id: RequestId,
    /// When it was submitted.
    pub submitted: Instant,
    /// The request, and its latency.
    pub answer: Answer,
}

/// How full a device was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// When.
    pub at: Instant,
    /// Pages in the write buffer.
    pub buffered: u32,
    /// Free blocks, one of each plane.
    pub free: u64,
}
