//! The spans of bus use with their operations, and the times in which dies are busy.

use wordline_kernel::Instant;

use crate::{DieId, Span, Stage};

/// A time in which a die is busy after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPeriod {
    /// The die.
    pub die: DieId,
    /// When RDY and ARDY are low: tWB after the last cycle of the command.
    pub begin: Instant,
    /// When RDY is high.
    pub ready: Instant,
    /// When ARDY is high.
    pub array_ready: Instant,
    /// Number of the operation.
    pub command: u32,
}

/// Spans of the bus in order. The first cycles of a sequence have no address; they are assigned to a LUN when
/// the address follows.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    spans: Vec<Span>,
    /// Index of the first span of the open sequence.
    sequence: usize,
    die: DieId,
    serial: u32,
    /// Number of operations so far.
    operations: u32,
    busy: Vec<BusyPeriod>,
}

impl Trace {
    pub fn new() -> Self {
        Self { spans: Vec::new(), sequence: 0, die: DieId(0), serial: 0, operations: 0, busy: Vec::new() }
    }

    /// Begins a sequence with the next span, initially assigned to the operation `serial` of `die`.
    pub fn open(&mut self, die: DieId, serial: u32) {
        self.sequence = self.spans.len();
        (self.die, self.serial) = (die, serial);
    }

    /// Assigns the open sequence to the operation `serial` of `die`.
    pub fn own(&mut self, die: DieId, serial: u32) {
        (self.die, self.serial) = (die, serial);
        for span in &mut self.spans[self.sequence..] {
            (span.die, span.command) = (die, serial);
        }
    }

    /// Returns the number of a new operation.
    pub fn number(&mut self) -> u32 {
        self.operations += 1;
        self.operations
    }

    /// Records a use of the bus. Consecutive address cycles are one span.
    pub fn hold(&mut self, stage: Stage, begin: Instant, end: Instant) {
        let joins = self.spans.len() > self.sequence && stage == Stage::Ale;
        if let Some(last) =
            self.spans.last_mut().filter(|last| joins && last.stage == stage && last.end() == begin)
        {
            last.length += end - begin;
            return;
        }
        let (die, command) = (self.die, self.serial);
        self.spans.push(Span { begin, die, stage, planes: 0, length: end - begin, command });
    }

    /// Records that a command makes a die busy, or that it changes the ends of an earlier busy period.
    pub fn hold_die(&mut self, next: BusyPeriod) {
        if let Some(last) = self.busy.iter_mut().rfind(|last| last.die == next.die) {
            last.ready = last.ready.min(next.begin);
            last.array_ready = last.array_ready.min(next.begin);
        }
        if next.array_ready > next.begin {
            self.busy.push(BusyPeriod { ready: next.ready.max(next.begin), ..next });
        }
    }

    /// Takes all busy periods.
    pub fn take_busy(&mut self) -> Vec<BusyPeriod> {
        std::mem::take(&mut self.busy)
    }

    /// Takes all spans.
    pub fn take(&mut self) -> Vec<Span> {
        self.sequence = 0;
        std::mem::take(&mut self.spans)
    }
}
