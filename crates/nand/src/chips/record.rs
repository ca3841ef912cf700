//! Recording of the spans of every stage, for time lines and cycle analyses.

use wordline_kernel::{Duration, Instant};

use super::die::Die;
use super::{Chips, Operation, Step, phase_of};
use crate::chain::{Shape, partial_data_out};
use crate::geometry::{DieId, PageId};
use crate::{Span, Stage};

/// Spans recorded so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    spans: Vec<Span>,
    /// Senses ahead: the sense of a page for the next cache read, at most one per die. The next cache read
    /// has no number until it starts, because other dies may start commands before it.
    ahead: Vec<Span>,
}

impl Chips {
    /// Records every stage from now on.
    pub fn record(&mut self) {
        self.recorder = Some(Box::default());
    }

    /// Stops recording and drops the recorded spans.
    pub fn stop_recording(&mut self) {
        self.recorder = None;
    }

    /// The stages recorded so far, ordered by their begin, each with its whole length. A sense ahead is
    /// included once the command that transfers its page has started.
    pub fn take_spans(&mut self) -> Vec<Span> {
        let mut spans = self.recorder.as_mut().map_or_else(Vec::new, |r| std::mem::take(&mut r.spans));
        spans.sort();
        spans
    }

    /// Records the stages of a bus grant, with adjacent spans of one stage joined.
    #[cold]
    pub(super) fn record_phase(&mut self, die: DieId, begin: Instant) {
        let Die { command, step, serial, late, .. } = self.dies[die];
        let (part, times) = self.part_and_times(die);
        let mode = command.mode.unwrap_or_default();
        let shape = Shape { mode, ..Shape::of(part, command.planes, times.shared_enable) };
        let (mut at, mut spans) = (begin, Vec::<Span>::new());
        let mut push = |stage: Stage, length: Duration| {
            match spans.last_mut() {
                Some(last) if last.stage == stage => last.length += length,
                _ => spans.push(Span { begin: at, die, stage, planes: 0, length, command: serial }),
            }
            at += length;
        };
        let partial = step == Step::DataOut && command.bytes != shape.page * u64::from(command.planes);
        let cycles = if partial {
            partial_data_out(&shape, command.bytes)
        } else {
            phase_of(&self.pool_of(die).geometry, step, &command).cycles(&shape)
        };
        if late > Duration::ZERO {
            push(Stage::Cle, late);
        }
        for cycle in cycles {
            let (stage, length) = times.cycle(part, cycle);
            push(stage, length);
        }
        self.recorder.as_mut().expect("spans are recorded").spans.extend(spans);
    }

    /// Records an array stage of the current command, or a sense ahead for the next one.
    #[cold]
    pub(super) fn record_array(&mut self, die: DieId, stage: Stage, begin: Instant, length: Duration) {
        let Die { command, step, serial, .. } = self.dies[die];
        let ahead = match (step, command.operation) {
            (Step::Turn, Operation::ReadCache { next, .. }) => next,
            _ => None,
        };
        let page = ahead.unwrap_or(command.page);
        let span = Span {
            begin,
            die,
            stage,
            planes: self.planes_of(die, page, command.planes),
            length,
            command: serial,
        };
        let recorder = self.recorder.as_mut().expect("spans are recorded");
        if ahead.is_some() { recorder.ahead.push(span) } else { recorder.spans.push(span) }
    }

    /// Changes the length of the last array stage of `die`, unless the span was taken out already.
    pub(super) fn shorten_record(&mut self, die: DieId, stage: Stage, length: Duration) {
        let Some(recorder) = &mut self.recorder else { return };
        let serial = self.dies[die].serial;
        let of_it = |span: &&mut Span| (span.die, span.stage, span.command) == (die, stage, serial);
        if let Some(span) = recorder.spans.iter_mut().rev().find(of_it) {
            span.length = length;
        }
    }

    /// Assigns the sense ahead of `die` to the command that has started.
    #[inline]
    pub(super) fn claim_ahead(&mut self, die: DieId) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Some(at) = recorder.ahead.iter().position(|span| span.die == die) {
            let span = recorder.ahead.swap_remove(at);
            recorder.spans.push(Span { command: self.dies[die].serial, ..span });
        }
    }

    /// A mask with one bit for each of `count` planes, from the plane of `page` on.
    fn planes_of(&self, die: DieId, page: PageId, count: u32) -> u16 {
        let geometry = &self.pool_of(die).geometry;
        let (_, offset) = geometry.split(page);
        (((1u32 << count) - 1) << (offset % geometry.planes_per_row)) as u16
    }
}
