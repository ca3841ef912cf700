//! The spans of every stage, for time lines and cycle analyses, recorded on request.

use wordline_kernel::{Duration, Instant};

use super::die::Die;
use super::{Chips, Operation, Step, hold_of};
use crate::chain::{Shape, part_of_data_out};
use crate::geometry::{DieId, PageId};
use crate::{Span, Stage};

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

    /// Records nothing any more, and forgets what was recorded.
    pub fn record_no_longer(&mut self) {
        self.recorder = None;
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
    pub(super) fn record_hold(&mut self, die: DieId, begin: Instant) {
        let Die { command, step, serial, late, .. } = self.dies[die];
        let (part, times) = self.seen_by(die);
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
            part_of_data_out(&shape, command.bytes)
        } else {
            hold_of(&self.pool_of(die).geometry, step, &command).cycles(&shape)
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

    /// The array's stage: for the present command, or ahead for the one that follows it.
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

    /// The array's last stage of `die` takes `length` after all, unless it was taken out already.
    pub(super) fn shorten_record(&mut self, die: DieId, stage: Stage, length: Duration) {
        let Some(recorder) = &mut self.recorder else { return };
        let serial = self.dies[die].serial;
        let of_it = |span: &&mut Span| (span.die, span.stage, span.command) == (die, stage, serial);
        if let Some(span) = recorder.spans.iter_mut().rev().find(of_it) {
            span.length = length;
        }
    }

    /// The command of `die` has started that what was sensed ahead belongs to.
    #[inline]
    pub(super) fn claim_ahead(&mut self, die: DieId) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Some(at) = recorder.ahead.iter().position(|span| span.die == die) {
            let span = recorder.ahead.swap_remove(at);
            recorder.spans.push(Span { command: self.dies[die].serial, ..span });
        }
    }

    /// A bit for each of `count` planes from that of `page` on.
    fn planes_of(&self, die: DieId, page: PageId, count: u32) -> u16 {
        let geometry = &self.pool_of(die).geometry;
        let (_, offset) = geometry.split(page);
        (((1u32 << count) - 1) << (offset % geometry.planes_per_row)) as u16
    }
}
