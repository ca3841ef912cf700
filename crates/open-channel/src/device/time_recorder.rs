//! Latency breakdown of commands: time on the link, in the buffer, and in the last flash command and its
//! waits.

use std::collections::BTreeMap;

use wordline_device::physical_device::{CommandBreakdown, Completion, Operation};
use wordline_device::times;
use wordline_device::times::Component;
use wordline_flash::{Flash, FlashTime, TaskWait, WorkTimes};
use wordline_kernel::{Duration, Instant};

/// Times of an outstanding command.
#[derive(Clone, Debug)]
struct OpenCommand {
    submitted: Instant,
    /// When the device began to execute the command. `ended` is when it had finished.
    begun: Instant,
    ended: Instant,
    /// Link time of the command's last unit.
    brought: Duration,
    /// Work of all dies when the command began.
    worked: WorkTimes,
    /// Last flash command that the command waited for.
    last: Option<(FlashTime, TaskWait)>,
}

/// Recorder of latency breakdowns.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeRecorder {
    open: BTreeMap<u32, OpenCommand>,
    /// Breakdowns of completed commands that were not taken yet, by tag.
    told: BTreeMap<u32, CommandBreakdown>,
}

impl TimeRecorder {
    /// Records that the device begins to execute a command. `worked` is the work of its dies so far.
    pub fn begun(&mut self, number: u32, submitted: Instant, now: Instant, worked: WorkTimes) {
        let known =
            OpenCommand { submitted, begun: now, ended: now, brought: Duration::ZERO, worked, last: None };
        self.open.insert(number, known);
    }

    /// Records the link time of the data of a unit.
    pub fn brought(&mut self, number: u32, time: Duration) {
        self.open.entry(number).and_modify(|known| known.brought = time);
    }

    /// Records the end of a flash command that a command waits for.
    pub fn task(&mut self, number: u32, spent: FlashTime, waited: TaskWait) {
        self.open.entry(number).and_modify(|known| known.last = Some((spent, waited)));
    }

    /// Records that the device has finished a command.
    pub fn ended(&mut self, number: u32, now: Instant) {
        self.open.entry(number).and_modify(|known| known.ended = now);
    }

    /// Records the completion of a command.
    pub fn completed(&mut self, number: u32, completion: &Completion, flash: &Flash) {
        if let Some(known) = self.open.remove(&number) {
            self.told.insert(completion.tag, told(&known, completion, flash));
        }
    }

    /// Takes the breakdown of the completed command with this tag.
    pub fn take(&mut self, tag: u32) -> Option<CommandBreakdown> {
        self.told.remove(&tag)
    }
}

fn told(known: &OpenCommand, completion: &Completion, flash: &Flash) -> CommandBreakdown {
    let OpenCommand { submitted, begun, ended, brought, worked, last } = known;
    let waits = match completion.operation {
        Operation::Write | Operation::Copy | Operation::Flush => Component::Buffer,
        Operation::Read | Operation::Reset | Operation::Close => Component::Queue,
    };
    let latency = completion.latency;
    let mut told = CommandBreakdown::waited(*submitted, latency, waits);
    told.parts[waits as usize] = Duration::ZERO;
    let inside = *ended - *begun;
    // A flash command that was queued before this command began belongs to another command, and does not
    // count.
    let last = last.as_ref().filter(|(spent, waited)| waited.queued() >= *begun && spent.total() <= inside);
    if let Some((spent, waited)) = last {
        told.parts = times::with_outside(spent, Default::default());
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
