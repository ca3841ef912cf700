//! The spans in which the bus is held, and to which operation each belongs.

use wordline_kernel::Instant;

use crate::{DieId, Span, Stage};

/// Spans of the bus as they come. The first cycles of a sequence do not name a LUN: they are given to it when the
/// address does.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    spans: Vec<Span>,
    /// Where the open sequence begins.
    sequence: usize,
    die: DieId,
    serial: u32,
    /// Operations so far.
    operations: u32,
}

impl Trace {
    pub fn new() -> Self {
        Self { spans: Vec::new(), sequence: 0, die: DieId(0), serial: 0, operations: 0 }
    }

    /// A sequence begins with the next span, for the time being on behalf of the operation `serial` of `die`.
    pub fn open(&mut self, die: DieId, serial: u32) {
        self.sequence = self.spans.len();
        (self.die, self.serial) = (die, serial);
    }

    /// The open sequence belongs to the operation `serial` of `die`.
    pub fn own(&mut self, die: DieId, serial: u32) {
        (self.die, self.serial) = (die, serial);
        for span in &mut self.spans[self.sequence..] {
            (span.die, span.command) = (die, serial);
        }
    }

    /// The serial number of a new operation.
    pub fn number(&mut self) -> u32 {
        self.operations += 1;
        self.operations
    }

    /// The bus is held. Address cycles that follow each other are one span.
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

    /// Takes the spans.
    pub fn take(&mut self) -> Vec<Span> {
        self.sequence = 0;
        std::mem::take(&mut self.spans)
    }
}
