//! Tail attribution: explains a host command by its waiting times in the FTL and by the latency breakdown of
//! its device commands.
//!
//! Writes wait in a FIFO. A write at the end of the FIFO waits for the same resource as the first write:
//! space in the ring from the rate limiter, an open line, or ring entries that have to be programmed. The
//! reason is constant between two events of the FTL. So waiting times are summed by reason, for all writes
//! together. The waiting time of one write is the growth of these sums while it waited.

use std::collections::BTreeMap;

use wordline_device::physical_device::CommandBreakdown;
use wordline_device::tail::{RequestBreakdown, Tail, UpperStage};
use wordline_device::times::Component;
use wordline_device::{Completion, PhysicalDevice};
use wordline_flash::WorkTimes;
use wordline_kernel::{Duration, Instant};

use super::Pblk;
use super::limiter::Pressure;
use super::ring::Origin;

/// Reasons for which a command waits in the FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The rate limiter reserves the ring for GC.
    Limiter,
    /// No line is open for writes.
    Line,
    /// Ring entries have to be programmed first.
    Ring,
}

/// Waiting times by reason.
type ByReason = [Duration; 3];

/// A FIFO of waiting commands.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    reason: Option<Reason>,
    /// Total time in which any command waited, by reason.
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

/// The record of an outstanding command.
#[derive(Clone, Debug, Default)]
struct CommandRecord {
    /// The sums of the waiting times when the command began to wait, for the ring or for flash.
    before: ByReason,
    waited: ByReason,
    worked: WorkTimes,
    /// The last device command of this command.
    last: Option<CommandBreakdown>,
}

/// Explains commands as they complete.
pub(super) struct Explainer {
    tail: Tail,
    open: BTreeMap<u32, CommandRecord>,
    now: Instant,
    /// Writes that wait for space in the ring.
    writes: Line,
    /// Commands that wait until entries are in flash.
    flushes: Line,
    /// The device command that completed last.
    told: Option<CommandBreakdown>,
}

impl Explainer {
    pub fn of(tail: Tail) -> Self {
        let (writes, flushes) = (Line::default(), Line::default());
        Self { tail, open: BTreeMap::new(), now: Instant::ZERO, writes, flushes, told: None }
    }

    /// Attributes commands to this tail from now on.
    pub fn set_tail(&mut self, tail: Tail) {
        self.tail = tail;
    }

    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Forgets per-command explanations once the completions have been read.
    pub fn clear_completions(&mut self) {
        self.tail.clear_each();
    }

    /// Forgets all commands after a power cut.
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
    /// Advances to `now`. The reasons noted last applied until then.
    pub(super) fn note_time(&mut self, now: Instant) {
        self.explainer.iter_mut().for_each(|explainer| explainer.advance(now));
    }

    /// Notes the submission of a command. A flush waits for flash from now on.
    pub(super) fn note_submission(&mut self, number: u32, is_flush: bool) {
        let Some(explainer) = &mut self.explainer else { return };
        let line = if is_flush { &explainer.flushes } else { &explainer.writes };
        let known = CommandRecord {
            before: line.waited,
            worked: self.port.device.worked(),
            ..CommandRecord::default()
        };
        explainer.open.insert(number, known);
    }

    /// Notes that all pages of a write are in the ring. A FUA write waits for flash from now on.
    pub(super) fn note_admitted(&mut self, number: u32) {
        let Some(Explainer { open, writes, flushes, .. }) = self.explainer.as_deref_mut() else { return };
        if let Some(known) = open.get_mut(&number) {
            known.waited = writes.since(&known.before);
            known.before = flushes.waited;
        }
    }

    /// Notes that all entries that a command waits for are in flash.
    pub(super) fn note_flushed(&mut self, number: u32) {
        let Some(Explainer { open, flushes, .. }) = self.explainer.as_deref_mut() else { return };
        if let Some(known) = open.get_mut(&number) {
            let more = flushes.since(&known.before);
            known.waited.iter_mut().zip(more).for_each(|(sum, time)| *sum += time);
        }
    }

    /// Notes the completion of the device command with this tag.
    pub(super) fn note_device_completion(&mut self, tag: u32) {
        if let Some(explainer) = &mut self.explainer {
            explainer.told = self.port.device.take_breakdown(tag);
        }
    }

    /// Notes that the next completions are of rejected commands. The device has no times for them.
    pub(super) fn note_rejections(&mut self) {
        self.explainer.iter_mut().for_each(|explainer| explainer.told = None);
    }

    /// Notes that the device command that completed last ended a host read.
    pub(super) fn note_read(&mut self, number: u32) {
        let Some(explainer) = &mut self.explainer else { return };
        if let Some(known) = explainer.open.get_mut(&number) {
            known.last = explainer.told.take();
        }
    }

    /// Notes the reasons for which commands wait, after all possible work is done.
    pub(super) fn note_wait_reasons(&mut self) {
        if self.explainer.is_none() {
            return;
        }
        let [writes, flushes] = self.front.waiting();
        let ring = match self.ring.waiting() > 0 && !self.writer.has_line() {
            true => Reason::Line,
            false => Reason::Ring,
        };
        let is_limited = self.limiter.pressure() != Pressure::Off
            && !self.limiter.host_can_insert(self.ring.of(Origin::Host));
        let of_writes = if is_limited { Reason::Limiter } else { ring };
        if let Some(explainer) = &mut self.explainer {
            explainer.writes.reason = (writes > 0).then_some(of_writes);
            explainer.flushes.reason = (flushes > 0).then_some(ring);
        }
    }

    /// Notes the completion of a host command.
    pub(super) fn note_completion(&mut self, number: u32, completion: Completion, submitted: Instant) {
        let (worked, own) = (self.port.device.worked(), self.command_time);
        let Some(explainer) = &mut self.explainer else { return };
        // A command that was submitted before attribution began has an incomplete record.
        let Some(known) = explainer.open.remove(&number) else { return };
        explainer.tail.note(completion.latency, || explain(completion, submitted, known, (&worked, own)));
    }
}

/// Latency breakdown of a command submitted at `submitted`. `own` is the host time in its latency.
fn explain(
    completion: Completion,
    submitted: Instant,
    known: CommandRecord,
    (worked, own): (&WorkTimes, Duration),
) -> RequestBreakdown {
    let now = submitted + completion.latency;
    let mut told = RequestBreakdown::of(completion, submitted);
    let own = own.min(completion.latency);
    let is_its_end =
        |told: &CommandBreakdown| told.submitted >= submitted && told.submitted + told.latency + own == now;
    if let Some(last) = known.last.filter(is_its_end) {
        (told.parts, told.behind, told.meanwhile) = (last.parts, last.behind, last.meanwhile);
    }
    let [limiter, line, ring] = known.waited;
    (told.above[UpperStage::Limiter as usize], told.above[UpperStage::Line as usize]) = (limiter, line);
    told.parts[Component::Buffer as usize] += ring;
    if ring > Duration::ZERO {
        told.meanwhile = Some(std::array::from_fn(|work| worked[work] - known.worked[work]));
    }
    told.parts[Component::Controller as usize] += own;
    told.with_rest_in(Component::Queue)
}
