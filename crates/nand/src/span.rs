//! Spans: stages of a die or a bus with their times, the trace for cycle analyses and time lines.

use wordline_kernel::{Duration, Instant};

use crate::{DieId, Stage};

/// One stage of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Begin of the stage.
    pub begin: Instant,
    /// Die of the operation.
    pub die: DieId,
    /// The stage.
    pub stage: Stage,
    /// The planes whose array works, bit n for plane n; 0 for a bus stage.
    pub planes: u16,
    /// Duration of the stage.
    pub length: Duration,
    /// Number of the operation, counted from the beginning of the run.
    pub command: u32,
}

impl Span {
    /// End of the stage.
    pub fn end(&self) -> Instant {
        self.begin + self.length
    }
}
