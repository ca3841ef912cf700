//! The spans of every stage, for time lines and cycle analyses, recorded on request.

use super::{Chips, Duration, Instant, PageId, Span, Stage, Step, Work};
use crate::chain::{Shape, part_of_data_out};
use crate::geometry::DieId;

/// Spans recorded so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    spans: Vec<Span>,
    /// Pages sensed ahead, one a die at most. Which command they belong to is known once it has started: other dies
    /// start commands in the meantime.
    ahead: Vec<Span>,
}

impl Chips {
    /// Records every stage from now on.
    pub fn record(&mut self) {
        self.recorder = Some(Box::default());
    }

    /// The stages recorded so far, in the order of their beginning: those that were begun, with their whole length.
    /// The sensing of a page ahead comes with the command that moves it out.
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

    /// The array's stage for the present command.
    #[inline]
    pub(super) fn record_array(&mut self, die: DieId, stage: Stage, begin: Instant, length: Duration) {
        if self.recorder.is_some() {
            let span = self.span_of_array(die, self.work[die].command.page, stage, begin, length);
            self.recorder.as_mut().expect("spans are recorded").spans.push(span);
        }
    }

    /// The array senses `page` for the command that follows.
    #[inline]
    pub(super) fn record_ahead(&mut self, die: DieId, page: PageId, begin: Instant, length: Duration) {
        if self.recorder.is_some() {
            let span = self.span_of_array(die, page, Stage::Ton, begin, length);
            self.recorder.as_mut().expect("spans are recorded").ahead.push(span);
        }
    }

    /// The command of `die` has started that what was sensed ahead belongs to.
    #[inline]
    pub(super) fn claim_ahead(&mut self, die: DieId) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Some(at) = recorder.ahead.iter().position(|span| span.die == die) {
            let span = recorder.ahead.swap_remove(at);
            recorder.spans.push(Span { command: self.work[die].serial, ..span });
        }
    }

    #[cold]
    fn span_of_array(
        &self,
        die: DieId,
        page: PageId,
        stage: Stage,
        begin: Instant,
        length: Duration,
    ) -> Span {
        let Work { command, serial, .. } = self.work[die];
        let (_, offset) = self.geometry.split(page);
        let planes = (((1u32 << command.planes) - 1) << (offset % self.geometry.planes_per_row)) as u16;
        Span { begin, die, stage, planes, length, command: serial }
    }
}
