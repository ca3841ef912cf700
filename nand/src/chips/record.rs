//! The spans of every stage, for time lines and cycle analyses, recorded on request.

use super::{Chips, Duration, Instant, Operation, Span, Stage, Step};
use crate::chain::{Shape, part_of_data_out};
use crate::geometry::DieId;

/// Spans recorded so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    spans: Vec<Span>,
}

impl Chips {
    /// Records every stage from now on.
    pub fn record(&mut self) {
        self.recorder = Some(Box::default());
    }

    /// The stages recorded so far, in the order of their beginning: those that were begun, with their whole length.
    pub fn take_spans(&mut self) -> Vec<Span> {
        let mut spans = self.recorder.as_mut().map_or_else(Vec::new, |r| std::mem::take(&mut r.spans));
        spans.sort();
        spans
    }

    /// The stages of a hold of the bus, neighbours of one stage joined.
    #[cold]
    pub(super) fn record_hold(&mut self, die: DieId, step: Step, begin: Instant) {
        let work = self.work[die];
        let shape = Shape::of(&self.part, work.command.planes, self.times.shared_enable);
        let (mut at, mut spans) = (begin, Vec::<Span>::new());
        let mut push = |stage: Stage, length: Duration| {
            match spans.last_mut() {
                Some(last) if last.stage == stage => last.length += length,
                _ => spans.push(Span { begin: at, die, stage, planes: 0, length, command: work.serial }),
            }
            at += length;
        };
        let partial =
            step == Step::DataOut && work.command.bytes != shape.page * u64::from(work.command.planes);
        let cycles = if partial {
            part_of_data_out(&shape, work.command.bytes)
        } else {
            self.hold_of(step, &work.command).cycles(&shape)
        };
        for cycle in cycles {
            let (stage, length) = self.times.cycle(&self.part, cycle);
            push(stage, length);
        }
        self.recorder.as_mut().expect("spans are recorded").spans.extend(spans);
    }

    /// The array's stage; `ahead` commands after the present one for what is sensed ahead.
    #[inline]
    pub(super) fn record_array(
        &mut self,
        die: DieId,
        stage: Stage,
        begin: Instant,
        length: Duration,
        ahead: u32,
    ) {
        let Some(recorder) = &mut self.recorder else { return };
        let Self { work, geometry, .. } = self;
        let command = &work[die].command;
        let page = match (command.operation, ahead) {
            (Operation::ReadCache { next: Some(next), .. }, 1) => next,
            _ => command.page,
        };
        let (_, offset) = geometry.split(page);
        let planes = (((1u32 << command.planes) - 1) << (offset % geometry.planes_per_row)) as u16;
        let serial = work[die].serial.wrapping_add(ahead);
        recorder.spans.push(Span { begin, die, stage, planes, length, command: serial });
    }
}
