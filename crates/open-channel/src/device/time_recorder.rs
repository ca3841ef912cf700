//! Latency breakdown of commands: time on the link, in the buffer, and in the last flash command and its
//! waits.

use wordline_device::physical_device::{CommandBreakdown, Completion, Operation};
use wordline_device::times;
use wordline_device::times::Component;
use wordline_flash::{Flash, FlashTime, TaskWait, WorkTimes};
use wordline_kernel::{Duration, Instant};

/// Times of an outstanding command.
#[derive(Clone, Debug)]
pub(super) struct CommandTimes {
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

/// Times of a completed command.
#[derive(Clone, Debug)]
pub(super) struct CompletedTimes {
    times: Box<CommandTimes>,
    operation: Operation,
    latency: Duration,
}

impl CommandTimes {
    /// Times of a command that the device begins to execute. `worked` is the work of its dies so far.
    pub fn begin(submitted: Instant, now: Instant, worked: WorkTimes) -> Self {
        Self { submitted, begun: now, ended: now, brought: Duration::ZERO, worked, last: None }
    }

    /// Records the link time of the data of a unit.
    pub fn note_link(&mut self, time: Duration) {
        self.brought = time;
    }

    /// Records the end of a flash command that the command waits for.
    pub fn note_task(&mut self, spent: FlashTime, waited: TaskWait) {
        self.last = Some((spent, waited));
    }

    /// Records that the device has finished the command.
    pub fn end(&mut self, now: Instant) {
        self.ended = now;
    }
}

impl CompletedTimes {
    /// Times of a command at its completion.
    pub fn of(times: Box<CommandTimes>, completion: &Completion) -> Self {
        Self { times, operation: completion.operation, latency: completion.latency }
    }

    /// The breakdown of the command, within the event in which it completed. `flash` executed it.
    pub fn breakdown(&self, flash: &Flash) -> CommandBreakdown {
        let Self { times, operation, latency } = self;
        let CommandTimes { submitted, begun, ended, brought, worked, last } = &**times;
        let waits = match operation {
            Operation::Write | Operation::Copy | Operation::Flush => Component::Buffer,
            Operation::Read | Operation::Reset | Operation::Close => Component::Queue,
        };
        let mut told = CommandBreakdown::waited(*submitted, *latency, waits);
        told.parts[waits as usize] = Duration::ZERO;
        let inside = *ended - *begun;
        // A flash command that was queued before this command began belongs to another command, and does not
        // count.
        let last =
            last.as_ref().filter(|(spent, waited)| waited.queued() >= *begun && spent.total() <= inside);
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
}
