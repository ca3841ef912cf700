//! Explains the commands of the host by those of the members: where the time of single ones went.
//!
//! A command ends with the last command of a member that it waits for. The time of that is known part by part; before it, members may have read what
//! parity follows from, or written an entry of the partial parity log. The rest it waited: for a head of the stripe cache, for its row, for other
//! rows, or for its parity to stay behind no longer.

use wordline_kernel::{Duration, Instant};
use wordline_ssd::Answer;
use wordline_ssd::device::{ABOVE, Above, Explained, Tail};

use super::heads::HeadId;
use super::members::{Over, Why};

/// The steps of a head since it took up its work. They come one after another.
#[derive(Clone, Debug, Default)]
struct Steps {
    begun: Instant,
    /// The time of those before the last one.
    before: [Duration; ABOVE],
    /// The command that ended the last one, where it is explained, and what the step was.
    last: Option<(Above, Box<Explained>)>,
}

/// The reason for which commands of the host end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Cause {
    /// None that a member knows of.
    #[default]
    Array,
    /// The command that a member has answered.
    Command,
    /// The work on a row, by its head.
    Row(HeadId),
}

/// Explains the commands of an array.
pub(super) struct Explainer {
    tail: Tail,
    heads: Vec<Steps>,
    command: Option<Box<Explained>>,
    pub cause: Cause,
}

impl Explainer {
    /// Explains commands to this tail, of an array with this many heads.
    pub fn of(tail: Tail, heads: u32) -> Self {
        let heads = vec![Steps::default(); heads as usize];
        Self { tail, heads, command: None, cause: Cause::Array }
    }

    /// Where the time went.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// The answers were seen.
    pub fn forget_answers(&mut self) {
        self.tail.forget_each();
    }

    /// A head takes up work.
    pub fn begin(&mut self, id: HeadId, now: Instant) {
        self.heads[id.0 as usize] = Steps { begun: now, ..Steps::default() };
    }

    /// A member has answered a command.
    pub fn answered(&mut self, over: &mut Over) {
        self.command = over.explained.take();
        self.cause = match over.sent.why {
            Why::Read { .. } | Why::Pass { .. } => Cause::Command,
            _ => Cause::Array,
        };
    }

    /// The command that a member has just answered ends a step of a head.
    pub fn step_over(&mut self, id: HeadId, why: Why) {
        let Some(command) = &self.command else { return };
        let steps = &mut self.heads[id.0 as usize];
        let of = match why {
            Why::Fetch { .. } => Above::Reads,
            Why::Log { .. } => Above::Log,
            _ => Above::Wait,
        };
        if let Some((of, before)) = steps.last.replace((of, command.clone())) {
            steps.before[of as usize] += before.answer.latency;
        }
    }

    /// A command of the host is answered.
    pub fn note(&mut self, answer: Answer, submitted: Instant) {
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
        tail.note(answer.latency, || explain(answer, submitted, last, steps));
    }
}

/// Where the time of a command went that ended with the `last` of a member, after these steps. What began before it came is not its own.
fn explain(answer: Answer, submitted: Instant, last: Option<&Explained>, steps: &Steps) -> Explained {
    let mut told = Explained::of(answer, submitted);
    if let Some(last) = last.filter(|last| last.submitted >= submitted) {
        told = last.clone();
        (told.answer, told.submitted) = (answer, submitted);
    }
    if steps.begun >= submitted {
        told.above = steps.before;
    }
    let known = told.above.iter().chain(&told.parts).fold(Duration::ZERO, |sum, part| sum + *part);
    assert!(known <= answer.latency, "the parts of a command's time exceed it: {told:?}");
    told.above[Above::Wait as usize] += answer.latency - known;
    told
}
