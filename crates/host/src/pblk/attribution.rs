//! Tail attribution: explains a host command by its waiting times in the FTL and by the latency breakdown of
//! its device commands.
//!
//! Writes wait in a FIFO. A write at the end of the FIFO waits for the same resource as the first write:
//! space in the ring from the rate limiter, an open line, or ring entries that have to be programmed. The
//! reason is constant between two events of the FTL. So waiting times are summed by reason, for all writes
//! together. The waiting time of one write is the growth of these sums while it waited.

use wordline_device::physical_device::CommandBreakdown;
use wordline_device::tail::{RequestBreakdown, Tail, UpperStage};
use wordline_device::times::Component;
use wordline_device::{Completion, PhysicalDevice};
use wordline_flash::WorkTimes;
use wordline_kernel::{Duration, Instant};

use super::limiter::{Limiter, Pressure};
use super::ring::{Origin, Ring};
use crate::slab::Records;

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
struct Explainer {
    tail: Tail,
    open: Records<CommandRecord>,
    now: Instant,
    /// Writes that wait for space in the ring.
    writes: Line,
    /// Commands that wait until entries are in flash.
    flushes: Line,
    /// The device command that completed last.
    told: Option<CommandBreakdown>,
}

impl Explainer {
    fn of(tail: Tail) -> Self {
        let (writes, flushes) = (Line::default(), Line::default());
        Self { tail, open: Records::default(), now: Instant::ZERO, writes, flushes, told: None }
    }

    /// Forgets all commands after a power cut.
    fn forget(&mut self) {
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

/// Attribution, while latencies are explained.
#[derive(Default)]
pub(super) struct Attribution(Option<Box<Explainer>>);

impl Attribution {
    /// Attributes commands to this tail from now on, if the device reports the times of each command.
    /// Commands in flight keep their records when the tail changes.
    pub(super) fn begin<D: PhysicalDevice>(&mut self, tail: Tail, device: &mut D) {
        if let Some(explainer) = &mut self.0 {
            explainer.tail = tail;
        } else if device.record_times() {
            self.0 = Some(Box::new(Explainer::of(tail)));
        }
    }

    pub(super) fn tail(&self) -> Option<&Tail> {
        self.0.as_ref().map(|explainer| &explainer.tail)
    }

    /// The tail, mutable.
    pub(super) fn tail_mut(&mut self) -> Option<&mut Tail> {
        self.0.as_mut().map(|explainer| &mut explainer.tail)
    }

    /// Forgets all commands after a power cut.
    pub(super) fn forget(&mut self) {
        self.0.iter_mut().for_each(|explainer| explainer.forget());
    }

    /// Advances to `now`. The reasons noted last applied until then.
    #[inline]
    pub(super) fn note_time(&mut self, now: Instant) {
        self.0.iter_mut().for_each(|explainer| explainer.advance(now));
    }

    /// Notes the submission of a command. A flush waits for flash from now on.
    #[inline]
    pub(super) fn note_submission(&mut self, number: u32, is_flush: bool, device: &impl PhysicalDevice) {
        let Some(explainer) = &mut self.0 else { return };
        let line = if is_flush { &explainer.flushes } else { &explainer.writes };
        let known =
            CommandRecord { before: line.waited, worked: device.worked(), ..CommandRecord::default() };
        explainer.open.insert(number, known);
    }

    /// Notes that all pages of a write are in the ring. A FUA write waits for flash from now on.
    #[inline]
    pub(super) fn note_admitted(&mut self, number: u32) {
        let Some(Explainer { open, writes, flushes, .. }) = self.0.as_deref_mut() else { return };
        if let Some(known) = open.get_mut(number) {
            known.waited = writes.since(&known.before);
            known.before = flushes.waited;
        }
    }

    /// Notes that all entries that a command waits for are in flash.
    #[inline]
    pub(super) fn note_flushed(&mut self, number: u32) {
        let Some(Explainer { open, flushes, .. }) = self.0.as_deref_mut() else { return };
        if let Some(known) = open.get_mut(number) {
            let more = flushes.since(&known.before);
            known.waited.iter_mut().zip(more).for_each(|(sum, time)| *sum += time);
        }
    }

    /// Notes the completion of the device command with this tag.
    #[inline]
    pub(super) fn note_device_completion(&mut self, tag: u32, device: &mut impl PhysicalDevice) {
        if let Some(explainer) = &mut self.0 {
            explainer.told = device.take_breakdown(tag);
        }
    }

    /// Notes that the next completions are of rejected commands. The device has no times for them.
    #[inline]
    pub(super) fn note_rejections(&mut self) {
        self.0.iter_mut().for_each(|explainer| explainer.told = None);
    }

    /// Notes that the device command that completed last ended a host read.
    #[inline]
    pub(super) fn note_read(&mut self, number: u32) {
        let Some(explainer) = &mut self.0 else { return };
        if let Some(known) = explainer.open.get_mut(number) {
            known.last = explainer.told.take();
        }
    }

    /// Notes the reasons for which commands wait, after all possible work is done. `waiting`: how many writes
    /// wait for space, and how many commands for flash. `has_line`: whether a line takes data.
    #[inline]
    pub(super) fn note_wait_reasons(
        &mut self,
        waiting: [usize; 2],
        ring: &Ring,
        limiter: &Limiter,
        has_line: bool,
    ) {
        let Some(explainer) = &mut self.0 else { return };
        let [writes, flushes] = waiting;
        let of_ring = match ring.waiting() > 0 && !has_line {
            true => Reason::Line,
            false => Reason::Ring,
        };
        let is_limited =
            limiter.pressure() != Pressure::Off && !limiter.host_can_insert(ring.of(Origin::Host));
        let of_writes = if is_limited { Reason::Limiter } else { of_ring };
        explainer.writes.reason = (writes > 0).then_some(of_writes);
        explainer.flushes.reason = (flushes > 0).then_some(of_ring);
    }

    /// Notes the completion of a host command. `own`: the host time in its latency.
    #[inline]
    pub(super) fn note_completion(
        &mut self,
        number: u32,
        (completion, submitted): (Completion, Instant),
        device: &impl PhysicalDevice,
        own: Duration,
    ) {
        let Some(Explainer { tail, open, .. }) = self.0.as_deref_mut() else { return };
        // A command that was submitted before attribution began has no record.
        let known = open.get_mut(number);
        tail.note(completion.latency, || match known {
            Some(known) => explain(completion, submitted, known, (&device.worked(), own)),
            None => RequestBreakdown::of(completion, submitted).with_rest_in(Component::Queue),
        });
        open.remove(number);
    }
}

/// Latency breakdown of a command submitted at `submitted`. `own` is the host time in its latency.
fn explain(
    completion: Completion,
    submitted: Instant,
    known: &CommandRecord,
    (worked, own): (&WorkTimes, Duration),
) -> RequestBreakdown {
    let now = submitted + completion.latency;
    let mut told = RequestBreakdown::of(completion, submitted);
    let own = own.min(completion.latency);
    let is_its_end =
        |told: &CommandBreakdown| told.submitted >= submitted && told.submitted + told.latency + own == now;
    if let Some(last) = known.last.clone().filter(is_its_end) {
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
