//! Stages of a die or a bus, with their times: the trace that cycle analyses and time lines are made of.

use wordline_kernel::{Duration, Instant};

use crate::{DieId, Stage};

/// One stage of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// When it began.
    pub begin: Instant,
    /// The die that it belongs to.
    pub die: DieId,
    /// The stage.
    pub stage: Stage,
    /// The planes whose array works, bit n for plane n; none for a stage on the bus.
    pub planes: u16,
    /// How long it took.
    pub length: Duration,
    /// Which operation it belongs to, counted from the beginning of the run.
    pub command: u32,
}

impl Span {
    /// When it ended.
    pub fn end(&self) -> Instant {
        self.begin + self.length
    }
}
