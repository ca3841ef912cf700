//! Tail attribution: explains each host request by the last device command of that request. A write may first
//! wait for the reset of a chunk.

use wordline_device::physical_device::CommandBreakdown;
use wordline_device::tail::{RequestBreakdown, Tail, UpperStage};
use wordline_device::times::Component;
use wordline_device::{Completion, Operation, PhysicalDevice};
use wordline_kernel::Instant;

use super::in_flight::{Purpose, Requests};
use crate::slab::Records;

/// Explains requests as they complete.
pub(super) struct Explainer {
    pub(super) tail: Tail,
    /// Outstanding requests that were submitted after attribution began. Each has its last completed device
    /// command, and whether that command was a flush.
    open: Records<Option<(CommandBreakdown, bool)>>,
    /// Number of these requests whose completion is due now.
    completing: u64,
}

impl Explainer {
    pub fn of(tail: Tail) -> Self {
        Self { tail, open: Records::default(), completing: 0 }
    }

    /// Forgets all requests after a power cut. None of them completes.
    pub fn forget(&mut self) {
        self.open.clear();
        self.completing = 0;
    }

    /// Notes the submission of a request.
    #[inline]
    pub fn note_submission(&mut self, number: u32) {
        self.open.insert(number, None);
    }

    /// Notes the completion of the device command with this tag for `work` at `now`. Its breakdown is taken if
    /// it may be needed.
    #[inline]
    pub fn note_device_completion<D: PhysicalDevice>(
        &mut self,
        tag: u32,
        work: Purpose,
        (device, requests): (&mut D, &Requests),
        now: Instant,
    ) {
        let (Purpose::Write(number) | Purpose::Read(number) | Purpose::Flush(Some(number))) = work else {
            return device.drop_breakdown(tag);
        };
        // Only the last command of a request is of use, and the request completes with it, at `now`.
        let latency = now - requests.all.get(number).submitted;
        let last = self.open.get_mut(number);
        match last.filter(|_| self.tail.may_want(latency, self.completing)) {
            Some(last) => {
                let is_flush = matches!(work, Purpose::Flush(_));
                *last = device.take_breakdown(tag).map(|breakdown| (breakdown, is_flush)).or(last.take());
            }
            None => device.drop_breakdown(tag),
        }
    }

    /// Notes that the last part of a request has ended. The request completes at the same instant.
    #[inline]
    pub fn note_last_part(&mut self, number: u32) {
        self.completing += u64::from(self.open.get_mut(number).is_some());
    }

    /// Notes the completion of a request.
    pub fn note_completion(&mut self, number: u32, completion: Completion, submitted: Instant) {
        let Self { tail, open, completing } = self;
        let Some(last) = open.get_mut(number) else {
            // It was submitted before attribution began.
            let unknown = || RequestBreakdown::of(completion, submitted).with_rest_in(Component::Queue);
            return tail.note(completion.latency, unknown);
        };
        tail.note(completion.latency, || explain(completion, submitted, last.take()));
        open.remove(number);
        *completing -= 1;
    }
}

/// Latency breakdown of a request that was submitted at `submitted`.
fn explain(
    completion: Completion,
    submitted: Instant,
    last: Option<(CommandBreakdown, bool)>,
) -> RequestBreakdown {
    let now = submitted + completion.latency;
    let mut explained = RequestBreakdown::of(completion, submitted);
    let is_its_end = |(told, _): &(CommandBreakdown, bool)| {
        told.submitted >= submitted && told.submitted + told.latency == now
    };
    if let Some((told, is_flush)) = last.filter(is_its_end) {
        let before = told.submitted - submitted;
        (explained.parts, explained.behind, explained.meanwhile) = (told.parts, told.behind, told.meanwhile);
        match completion.command.operation {
            // A write that needs a flush first waits until the device has its data.
            Operation::Write | Operation::WriteZeroes if is_flush => {
                explained.parts[Component::Buffer as usize] += before;
            }
            Operation::Write | Operation::WriteZeroes => explained.above[UpperStage::Line as usize] = before,
            _ => {}
        }
    } else if matches!(completion.command.operation, Operation::Write | Operation::WriteZeroes) {
        // The request failed, because no chunk became free for it.
        explained.above[UpperStage::Line as usize] = completion.latency;
    }
    explained.with_rest_in(Component::Queue)
}
