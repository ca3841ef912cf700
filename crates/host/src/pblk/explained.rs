//! Explains the commands of the host: what they waited for in the FTL, and where the device spent the time of those that went there.
//!
//! A write waits at the end of a queue, so that it waits for what the first one waits for: its share of the ring by the rate limiter, a line to write
//! to, or entries of the ring to be programmed. Between two events of the FTL the reason stays as it is. So the times by reason of all writes together
//! are kept, and those of one are what they grew by while it waited.

use std::collections::BTreeMap;

use wordline_kernel::{Duration, Instant};
use wordline_ssd::device::{Above, ByWork, Component, Explained, Tail};
use wordline_ssd::physical_device::Told;
use wordline_ssd::{Answer, PhysicalDevice};

use super::Pblk;
use super::limiter::Pressure;
use super::ring::Origin;

/// The reasons for which a command waits in the FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The rate limiter keeps the ring for the collector.
    Limiter,
    /// No line can be written.
    Line,
    /// Entries of the ring are to be programmed.
    Ring,
}

/// Times by reason.
type ByReason = [Duration; 3];

/// Commands that wait for one thing after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    reason: Option<Reason>,
    /// The time in which some waited, until now.
    waited: ByReason,
}

impl Line {
    fn advance(&mut self, time: Duration) {
        if let Some(reason) = self.reason {
            self.waited[reason as usize] += time;
        }
    }

    fn since(&self, before: &ByReason) -> ByReason {
        std::array::from_fn(|reason| self.waited[reason] - before[reason])
    }
}

/// The knowledge of a command that is not answered.
#[derive(Clone, Debug, Default)]
struct Known {
    /// When it began to wait, by the times of those that wait for the ring to take them, or for the flash.
    before: ByReason,
    waited: ByReason,
    worked: ByWork,
    /// The command of the device that ended it.
    last: Option<Told>,
}

/// Explains commands as they are answered.
pub(super) struct Explainer {
    tail: Tail,
    open: BTreeMap<u32, Known>,
    now: Instant,
    /// Writes that wait for the ring to take them, and commands that wait for entries to be in flash.
    writes: Line,
    flushes: Line,
    /// The command of the device that was answered last.
    told: Option<Told>,
}

impl Explainer {
    pub fn of(tail: Tail) -> Self {
        let (writes, flushes) = (Line::default(), Line::default());
        Self { tail, open: BTreeMap::new(), now: Instant::ZERO, writes, flushes, told: None }
    }

    /// From now on commands are explained to this tail.
    pub fn tell_to(&mut self, tail: Tail) {
        self.tail = tail;
    }

    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// The answers were seen.
    pub fn forget_answers(&mut self) {
        self.tail.forget_each();
    }

    /// The power is cut: nothing waits any more.
    pub fn forget(&mut self) {
        self.open.clear();
        (self.writes.reason, self.flushes.reason, self.told) = (None, None, None);
    }

    fn advance(&mut self, now: Instant) {
        let time = now.since(self.now);
        self.writes.advance(time);
        self.flushes.advance(time);
        self.now = now;
    }
}

impl<D: PhysicalDevice> Pblk<D> {
    /// Time has come to `now`: the reasons were as they are noted.
    pub(super) fn note_time(&mut self, now: Instant) {
        self.explainer.iter_mut().for_each(|explainer| explainer.advance(now));
    }

    /// A command comes; a flush waits for the flash at once.
    pub(super) fn note_came(&mut self, number: u32, is_flush: bool) {
        let Some(explainer) = &mut self.explainer else { return };
        let line = if is_flush { &explainer.flushes } else { &explainer.writes };
        let known = Known { before: line.waited, worked: self.port.device.worked(), ..Known::default() };
        explainer.open.insert(number, known);
    }

    /// The ring has all of a write; with forced unit access it waits for the flash from now on.
    pub(super) fn note_taken(&mut self, number: u32) {
        let Some(Explainer { open, writes, flushes, .. }) = self.explainer.as_deref_mut() else { return };
        if let Some(known) = open.get_mut(&number) {
            known.waited = writes.since(&known.before);
            known.before = flushes.waited;
        }
    }

    /// The entries that a command waits for are in flash.
    pub(super) fn note_flushed(&mut self, number: u32) {
        let Some(Explainer { open, flushes, .. }) = self.explainer.as_deref_mut() else { return };
        if let Some(known) = open.get_mut(&number) {
            let more = flushes.since(&known.before);
            known.waited.iter_mut().zip(more).for_each(|(sum, time)| *sum += time);
        }
    }

    /// The device has answered a command of this tag.
    pub(super) fn note_told(&mut self, tag: u32) {
        if let Some(explainer) = &mut self.explainer {
            explainer.told = self.port.device.take_told(tag);
        }
    }

    /// Commands that the device refused are next, of which it tells nothing.
    pub(super) fn note_refusals(&mut self) {
        self.explainer.iter_mut().for_each(|explainer| explainer.told = None);
    }

    /// The command of the device that was answered last ends a read of the host.
    pub(super) fn note_read(&mut self, number: u32) {
        let Some(explainer) = &mut self.explainer else { return };
        if let Some(known) = explainer.open.get_mut(&number) {
            known.last = explainer.told.take();
        }
    }

    /// All that can be done now is done: the reasons for which commands wait from now on.
    pub(super) fn note_reasons(&mut self) {
        if self.explainer.is_none() {
            return;
        }
        let [writes, flushes] = self.front.waiting();
        let ring = match self.ring.waiting() > 0 && !self.writer.has_line() {
            true => Reason::Line,
            false => Reason::Ring,
        };
        let is_limited = self.limiter.pressure() != Pressure::Off
            && !self.limiter.host_may_insert(self.ring.of(Origin::Host));
        let of_writes = if is_limited { Reason::Limiter } else { ring };
        if let Some(explainer) = &mut self.explainer {
            explainer.writes.reason = (writes > 0).then_some(of_writes);
            explainer.flushes.reason = (flushes > 0).then_some(ring);
        }
    }

    /// A command of the host is answered.
    pub(super) fn note_answered(&mut self, number: u32, answer: Answer, submitted: Instant) {
        let (worked, own) = (self.port.device.worked(), self.command_time);
        let Some(explainer) = &mut self.explainer else { return };
        // Of one that came before commands were explained too little is known.
        let Some(known) = explainer.open.remove(&number) else { return };
        explainer.tail.note(answer.latency, || explain(answer, submitted, known, (&worked, own)));
    }
}

/// Where the time of a command went that was submitted at that time, after `own` time of the host.
fn explain(
    answer: Answer,
    submitted: Instant,
    known: Known,
    (worked, own): (&ByWork, Duration),
) -> Explained {
    let now = submitted + answer.latency;
    let mut told = Explained::of(answer, submitted);
    let own = own.min(answer.latency);
    let is_its_end = |told: &Told| told.submitted >= submitted && told.submitted + told.latency + own == now;
    if let Some(last) = known.last.filter(is_its_end) {
        (told.parts, told.behind, told.meanwhile) = (last.parts, last.behind, last.meanwhile);
    }
    let [limiter, line, ring] = known.waited;
    (told.above[Above::Limiter as usize], told.above[Above::Line as usize]) = (limiter, line);
    told.parts[Component::Buffer as usize] += ring;
    if ring > Duration::ZERO {
        told.meanwhile = Some(std::array::from_fn(|work| worked[work] - known.worked[work]));
    }
    told.parts[Component::Controller as usize] += own;
    told.rested(Component::Queue)
}
