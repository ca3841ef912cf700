//! Tail attribution: explains host commands by the latency breakdown of their member commands.
//!
//! A host command ends with the last member command that it waits for. The breakdown of that member command
//! is known. Before it, members may have read blocks for the parity computation, or written an entry of the
//! partial parity log. The remaining time is waiting time: for a stripe head, for the row, for other rows, or
//! for deferred parity.

use wordline_device::tail::{RequestBreakdown, Tail, UPPER_STAGES, UpperStage};
use wordline_device::{BlockDevice, Completion};
use wordline_kernel::{Duration, Instant};

use super::members::{MemberCommand, Purpose};
use super::requests::Requests;
use super::stripe_cache::HeadId;

/// The consecutive steps of a stripe head since its work started.
#[derive(Clone, Debug, Default)]
struct Steps {
    begun: Instant,
    /// By stage: the time of the steps before the last step.
    before: [Duration; UPPER_STAGES],
    /// The kind of the last step, and the breakdown of the member command that ended it, if that is known.
    last: Option<(UpperStage, Box<RequestBreakdown>)>,
}

/// Cause of a host completion.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Cause {
    /// The array itself, without a member command.
    #[default]
    Array,
    /// The member command that has just completed.
    Command,
    /// The work on a row, by its head.
    Row(HeadId),
}

/// Explains the commands of an array.
struct Explainer {
    tail: Tail,
    heads: Vec<Steps>,
    command: Option<Box<RequestBreakdown>>,
    cause: Cause,
}

impl Explainer {
    /// Attributes commands to this tail, for an array with `heads` heads.
    pub fn of(tail: Tail, heads: u32) -> Self {
        let heads = vec![Steps::default(); heads as usize];
        Self { tail, heads, command: None, cause: Cause::Array }
    }

    /// Notes that a head starts its work.
    pub fn begin(&mut self, id: HeadId, now: Instant) {
        self.heads[id.0 as usize] = Steps { begun: now, ..Steps::default() };
    }

    /// Notes the completion of a member command of `device` at `now`. Its breakdown is taken if it may be needed.
    pub fn note_member_completion<D: BlockDevice>(
        &mut self,
        sent: &MemberCommand,
        (device, requests): (&mut D, &Requests),
        now: Instant,
    ) {
        let is_needed = match sent.why {
            Purpose::Read { request, .. } | Purpose::Pass { request } => {
                self.cause = Cause::Command;
                // If this is the last part of the host command, the command completes now.
                self.tail.may_want(now - requests.get(request).submitted, 0)
            }
            _ => {
                self.cause = Cause::Array;
                true
            }
        };
        self.command = None;
        if is_needed {
            let breakdown = device.take_breakdown(sent.command.tag);
            self.command = breakdown.map(|breakdown| Box::new(breakdown.of_device(sent.device)));
        } else {
            device.drop_breakdown(sent.command.tag);
        }
    }

    /// Ends a step of a head with the member command that has just completed.
    pub fn end_step(&mut self, id: HeadId, why: Purpose) {
        let Some(command) = &self.command else { return };
        let steps = &mut self.heads[id.0 as usize];
        let of = match why {
            Purpose::Fetch { .. } => UpperStage::Reads,
            Purpose::Log { .. } => UpperStage::Log,
            _ => UpperStage::Wait,
        };
        if let Some((of, before)) = steps.last.replace((of, command.clone())) {
            steps.before[of as usize] += before.completion.latency;
        }
    }

    /// Notes the completion of a host command.
    pub fn note(&mut self, completion: Completion, submitted: Instant) {
        let Self { tail, heads, command, cause } = self;
        let nothing = Steps::default();
        let (last, steps) = match *cause {
            Cause::Array => (None, &nothing),
            Cause::Command => (command.as_deref(), &nothing),
            Cause::Row(id) => {
                let steps = &heads[id.0 as usize];
                (steps.last.as_ref().map(|(_, last)| &**last), steps)
            }
        };
        tail.note(completion.latency, || explain(completion, submitted, last, steps));
    }
}

/// Attribution, while host commands are explained.
#[derive(Default)]
pub(super) struct Attribution(Option<Box<Explainer>>);

impl Attribution {
    /// Attributes commands to this tail from now on, or to none. `heads`: how many stripe heads there are.
    pub fn begin_tail(&mut self, tail: Option<Tail>, heads: u32) {
        self.0 = tail.map(|tail| Box::new(Explainer::of(tail, heads)));
    }

    /// The tail.
    pub fn tail(&self) -> Option<&Tail> {
        self.0.as_ref().map(|explainer| &explainer.tail)
    }

    /// The tail, mutable.
    pub fn tail_mut(&mut self) -> Option<&mut Tail> {
        self.0.as_mut().map(|explainer| &mut explainer.tail)
    }

    /// Notes that a head starts its work.
    pub fn begin(&mut self, id: HeadId, now: Instant) {
        self.0.iter_mut().for_each(|explainer| explainer.begin(id, now));
    }

    /// Notes the completion of a member command.
    pub fn note_member_completion<D: BlockDevice>(
        &mut self,
        sent: &MemberCommand,
        context: (&mut D, &Requests),
        now: Instant,
    ) {
        if let Some(explainer) = &mut self.0 {
            explainer.note_member_completion(sent, context, now);
        }
    }

    /// Notes the end of a step of a stripe head at the completion of a member command.
    pub fn end_step(&mut self, id: HeadId, why: Purpose) {
        self.0.iter_mut().for_each(|explainer| explainer.end_step(id, why));
    }

    /// Sets the cause of the host completions that follow.
    pub fn set_cause(&mut self, cause: Cause) {
        self.0.iter_mut().for_each(|explainer| explainer.cause = cause);
    }

    /// Notes the completion of a host command.
    pub fn note(&mut self, completion: Completion, submitted: Instant) {
        self.0.iter_mut().for_each(|explainer| explainer.note(completion, submitted));
    }
}

/// Latency breakdown of a command that ended with the member command `last`, after these steps. If the steps
/// began before the submission of the command, they do not count.
fn explain(
    completion: Completion,
    submitted: Instant,
    last: Option<&RequestBreakdown>,
    steps: &Steps,
) -> RequestBreakdown {
    let mut told = RequestBreakdown::of(completion, submitted);
    if let Some(last) = last.filter(|last| last.submitted >= submitted) {
        told = last.clone();
        (told.completion, told.submitted) = (completion, submitted);
    }
    if steps.begun >= submitted {
        told.above = steps.before;
    }
    let known = told.above.iter().chain(&told.parts).fold(Duration::ZERO, |sum, part| sum + *part);
    assert!(known <= completion.latency, "the parts of a command's time exceed it: {told:?}");
    told.above[UpperStage::Wait as usize] += completion.latency - known;
    told
}
