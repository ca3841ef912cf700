//! Records where the time of commands went: on the link, in the buffer, and in their last task and its waits.

use std::collections::BTreeMap;

use wordline_kernel::{Duration, Instant};

use crate::flash::{Flash, TaskWait, WorkTimes};
use crate::physical_device::{CommandBreakdown, Completion, Operation};
use crate::times::{Component, FlashTime};

/// Record of a command that has not completed.
#[derive(Clone, Debug)]
struct OpenCommand {
    submitted: Instant,
    /// When the device began to execute it, and when it had finished.
    begun: Instant,
    ended: Instant,
    /// Link time of its last unit.
    brought: Duration,
    /// Work of all dies when the command began.
    worked: WorkTimes,
    /// The last task that it waited for.
    last: Option<(FlashTime, TaskWait)>,
}

/// Records the times of commands.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeRecorder {
    open: BTreeMap<u32, OpenCommand>,
    /// Times of completed commands that were not taken yet, by tag.
    told: BTreeMap<u32, CommandBreakdown>,
}

impl TimeRecorder {
    /// The device begins to execute a command; `worked` is the work of its dies so far.
    pub fn begun(&mut self, number: u32, submitted: Instant, now: Instant, worked: WorkTimes) {
        let known =
            OpenCommand { submitted, begun: now, ended: now, brought: Duration::ZERO, worked, last: None };
        self.open.insert(number, known);
    }

    /// The data of a unit of a command take this long on the link.
    pub fn brought(&mut self, number: u32, time: Duration) {
        self.open.entry(number).and_modify(|known| known.brought = time);
    }

    /// A task that a command waits for has ended.
    pub fn task(&mut self, number: u32, spent: FlashTime, waited: TaskWait) {
        self.open.entry(number).and_modify(|known| known.last = Some((spent, waited)));
    }

    /// The device has finished a command.
    pub fn ended(&mut self, number: u32, now: Instant) {
        self.open.entry(number).and_modify(|known| known.ended = now);
    }

    /// A command completes.
    pub fn completed(&mut self, number: u32, answer: &Completion, flash: &Flash) {
        if let Some(known) = self.open.remove(&number) {
            self.told.insert(answer.tag, told(&known, answer, flash));
        }
    }

    /// Takes the times of the completed command with this tag.
    pub fn take(&mut self, tag: u32) -> Option<CommandBreakdown> {
        self.told.remove(&tag)
    }
}

fn told(known: &OpenCommand, answer: &Completion, flash: &Flash) -> CommandBreakdown {
    let OpenCommand { submitted, begun, ended, brought, worked, last } = known;
    let waits = match answer.operation {
        Operation::Write | Operation::Copy | Operation::Flush => Component::Buffer,
        Operation::Read | Operation::Reset | Operation::Close => Component::Queue,
    };
    let latency = answer.latency;
    let mut told = CommandBreakdown::waited(*submitted, latency, waits);
    told.parts[waits as usize] = Duration::ZERO;
    let inside = *ended - *begun;
    // A task that was queued before, for another command, does not describe this one.
    let last = last.as_ref().filter(|(spent, waited)| waited.queued() >= *begun && spent.total() <= inside);
    if let Some((spent, waited)) = last {
        told.parts = spent.with(Default::default());
        told.behind = flash.behind(waited);
    }
    let spent = last.map_or(Duration::ZERO, |(spent, _)| spent.total());
    let brought = (*brought).min(inside.saturating_sub(spent));
    told.parts[Component::Link as usize] += latency.saturating_sub(inside) + brought;
    let rest = inside.saturating_sub(spent + brought);
    told.parts[waits as usize] += rest;
    if waits == Component::Buffer && rest > Duration::ZERO {
        let now = flash.worked();
        told.meanwhile = Some(std::array::from_fn(|work| now[work] - worked[work]));
    }
    told
}
