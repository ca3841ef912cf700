//! Recording of the spans of every stage, for time lines and cycle analyses.

use wordline_kernel::{Duration, Instant};

use super::cells::Cells;
use super::command::Operation;
use super::die::Die;
use super::step::{Step, phase_of};
use super::tables::Tables;
use crate::chain::{Shape, partial_data_out};
use crate::geometry::{DieId, Geometry, PageId};
use crate::{Span, Stage};

/// Spans recorded so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    spans: Vec<Span>,
    /// Senses ahead: the sense of a page for the next cache read, at most one per die. The next cache read
    /// has no number until it starts, because other dies may start commands before it.
    ahead: Vec<Span>,
}

impl Recorder {
    /// Takes the recorded stages that have ended at `now`, ordered by their begin. Other stages are kept until
    /// they end, because a suspend can still shorten them. A sense ahead is included once the command that
    /// transfers its page has started.
    pub(super) fn take_spans(&mut self, now: Instant) -> Vec<Span> {
        let mut spans: Vec<Span> = self.spans.extract_if(.., |span| span.end() <= now).collect();
        spans.sort();
        spans
    }

    /// Ends all stages at `now`.
    pub(super) fn cut(&mut self, now: Instant) {
        self.spans.retain(|span| span.begin < now);
        self.spans.iter_mut().for_each(|span| span.length = span.length.min(now - span.begin));
    }

    /// Records the stages of a bus grant, with adjacent spans of one stage joined.
    #[cold]
    pub(super) fn record_phase(
        &mut self,
        (die, work): (DieId, &Die),
        begin: Instant,
        tables: &Tables,
        cells: &Cells,
    ) {
        let Die { command, step, serial, late, .. } = *work;
        let part = tables.part_of(work, &cells.pools, cells.modes.as_deref());
        let times = tables.of(work);
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
            phase_of(&cells.pool_of(work).geometry, step, &command).cycles(&shape)
        };
        if late > Duration::ZERO {
            push(Stage::Cle, late);
        }
        for cycle in cycles {
            let (stage, length) = times.cycle(part, cycle);
            push(stage, length);
        }
        self.spans.extend(spans);
    }

    /// Records an array stage of the current command, or a sense ahead for the next one.
    #[cold]
    pub(super) fn record_array(
        &mut self,
        (die, work): (DieId, &Die),
        stage: Stage,
        (begin, length): (Instant, Duration),
        cells: &Cells,
    ) {
        let Die { command, step, serial, .. } = *work;
        let ahead = match (step, command.operation) {
            (Step::Turn, Operation::ReadCache { next, .. }) => next,
            _ => None,
        };
        let page = ahead.unwrap_or(command.page);
        let planes = planes_of(&cells.pool_of(work).geometry, page, command.planes);
        let span = Span { begin, die, stage, planes, length, command: serial };
        if ahead.is_some() { self.ahead.push(span) } else { self.spans.push(span) }
    }

    /// Changes the length of the last array stage of a die in command `serial`.
    pub(super) fn shorten(&mut self, die: DieId, serial: u32, stage: Stage, length: Duration) {
        let of_it = |span: &&mut Span| (span.die, span.stage, span.command) == (die, stage, serial);
        if let Some(span) = self.spans.iter_mut().rev().find(of_it) {
            span.length = length;
        }
    }

    /// Assigns the sense ahead of `die` to command `serial`, which has started.
    pub(super) fn claim_ahead(&mut self, die: DieId, serial: u32) {
        if let Some(at) = self.ahead.iter().position(|span| span.die == die) {
            let span = self.ahead.swap_remove(at);
            self.spans.push(Span { command: serial, ..span });
        }
    }
}

/// A mask with one bit for each of `count` planes, from the plane of `page` on.
fn planes_of(geometry: &Geometry, page: PageId, count: u32) -> u16 {
    let (_, offset) = geometry.split(page);
    (((1u32 << count) - 1) << (offset % geometry.planes_per_row)) as u16
}
