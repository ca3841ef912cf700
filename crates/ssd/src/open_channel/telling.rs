//! Records where the time of commands went: on the link, in the buffer, and in their last task and its waits.

use std::collections::BTreeMap;

use wordline_kernel::{Duration, Instant};

use crate::flash::{ByWork, Flash, Waited};
use crate::physical_device::{Answer, Operation, Told};
use crate::times::{Component, Spent};

/// Record of a command that has not completed.
#[derive(Clone, Debug)]
struct Known {
    submitted: Instant,
    /// When the device began to execute it, and when it had finished.
    begun: Instant,
    ended: Instant,
    /// Link time of its last unit.
    brought: Duration,
    /// Work of all dies when the command began.
    worked: ByWork,
    /// The last task that it waited for.
    last: Option<(Spent, Waited)>,
}

/// Records the times of commands.
#[derive(Clone, Debug, Default)]
pub(super) struct Teller {
    open: BTreeMap<u32, Known>,
    /// Times of completed commands that were not taken yet, by tag.
    told: BTreeMap<u32, Told>,
}

impl Teller {
    /// The device begins to execute a command; `worked` is the work of its dies so far.
    pub fn begun(&mut self, number: u32, submitted: Instant, now: Instant, worked: ByWork) {
        let known = Known { submitted, begun: now, ended: now, brought: Duration::ZERO, worked, last: None };
        self.open.insert(number, known);
    }

    /// The data of a unit of a command take this long on the link.
    pub fn brought(&mut self, number: u32, time: Duration) {
        self.open.entry(number).and_modify(|known| known.brought = time);
    }

    /// A task that a command waits for has ended.
    pub fn task(&mut self, number: u32, spent: Spent, waited: Waited) {
        self.open.entry(number).and_modify(|known| known.last = Some((spent, waited)));
    }

    /// The device has finished a command.
    pub fn ended(&mut self, number: u32, now: Instant) {
        self.open.entry(number).and_modify(|known| known.ended = now);
    }

    /// A command completes.
    pub fn answered(&mut self, number: u32, answer: &Answer, flash: &Flash) {
        if let Some(known) = self.open.remove(&number) {
            self.told.insert(answer.tag, told(&known, answer, flash));
        }
    }

    /// Takes the times of the completed command with this tag.
    pub fn take(&mut self, tag: u32) -> Option<Told> {
        self.told.remove(&tag)
    }
}

fn told(known: &Known, answer: &Answer, flash: &Flash) -> Told {
    let Known { submitted, begun, ended, brought, worked, last } = known;
    let waits = match answer.operation {
        Operation::Write | Operation::Copy | Operation::Flush => Component::Buffer,
        Operation::Read | Operation::Reset | Operation::Close => Component::Queue,
    };
    let latency = answer.latency;
    let mut told = Told::waited(*submitted, latency, waits);
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
