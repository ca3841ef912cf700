//! Explains the requests of the host by the commands of the device that ended them. Before its command a write waits for a chunk to be reset.

use std::collections::{BTreeMap, BTreeSet};

use wordline_kernel::Instant;
use wordline_ssd::device::{Above, Component, Explained, Tail};
use wordline_ssd::physical_device::Told;
use wordline_ssd::{Answer, Operation, PhysicalDevice};

use super::{Direct, Work};

/// Explains requests as they are answered.
pub(super) struct Explainer {
    pub(super) tail: Tail,
    /// The command of the device that was answered last, of each request.
    last: BTreeMap<u32, (Told, bool)>,
    /// The requests that came since they are explained and are not answered.
    open: BTreeSet<u32>,
}

impl Explainer {
    pub fn of(tail: Tail) -> Self {
        Self { tail, last: BTreeMap::new(), open: BTreeSet::new() }
    }

    /// The power is cut: nothing is answered any more.
    pub fn forget(&mut self) {
        self.last.clear();
        self.open.clear();
    }
}

impl<D: PhysicalDevice> Direct<D> {
    /// A request comes.
    pub(super) fn note_came(&mut self, number: u32) {
        if let Some(explainer) = &mut self.explainer {
            explainer.open.insert(number);
        }
    }

    /// The device has answered a command of this tag, which was for that.
    pub(super) fn note_told(&mut self, tag: u32, work: Work) {
        let Some(explainer) = &mut self.explainer else { return };
        let told = self.device.take_told(tag);
        let (Work::Write(number) | Work::Read(number) | Work::Flush(Some(number))) = work else { return };
        let is_flush = matches!(work, Work::Flush(_));
        explainer.last.extend(told.map(|told| (number, (told, is_flush))));
    }

    /// A request is answered.
    pub(super) fn note_answered(&mut self, number: u32, answer: Answer, submitted: Instant) {
        let Some(explainer) = &mut self.explainer else { return };
        let last = explainer.last.remove(&number);
        // Of one that came before requests were explained too little is known.
        if !explainer.open.remove(&number) {
            return;
        }
        explainer.tail.note(answer.latency, || explain(answer, submitted, last));
    }
}

/// Where the time of a request went that was submitted at that time.
fn explain(answer: Answer, submitted: Instant, last: Option<(Told, bool)>) -> Explained {
    let now = submitted + answer.latency;
    let mut explained = Explained::of(answer, submitted);
    let is_its_end =
        |(told, _): &(Told, bool)| told.submitted >= submitted && told.submitted + told.latency == now;
    if let Some((told, is_flush)) = last.filter(is_its_end) {
        let before = told.submitted - submitted;
        (explained.parts, explained.behind, explained.meanwhile) = (told.parts, told.behind, told.meanwhile);
        match answer.command.operation {
            // A write that is flushed waits for its own data to come to the device first.
            Operation::Write | Operation::WriteZeroes if is_flush => {
                explained.parts[Component::Buffer as usize] += before;
            }
            Operation::Write | Operation::WriteZeroes => explained.above[Above::Line as usize] = before,
            _ => {}
        }
    } else if matches!(answer.command.operation, Operation::Write | Operation::WriteZeroes) {
        // It was given up: no chunk for it got free.
        explained.above[Above::Line as usize] = answer.latency;
    }
    explained.rested(Component::Queue)
}
