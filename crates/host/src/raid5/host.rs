//! The side of the host: its outstanding commands, and their completions.

use wordline_device::{BlockDevice, Completion, Gauges, Operation};
use wordline_kernel::{Digest, Instant};

use super::array::Array;
use super::attribution::Attribution;
use super::requests::{Request, Requests};
use crate::recorder::Recorder;

/// The commands of the host, and what is recorded of their completions.
#[derive(Default)]
pub(super) struct Host {
    pub(super) requests: Requests,
    pub(super) completions: Vec<Completion>,
    pub(super) digest: Digest,
    pub(super) attribution: Attribution,
    pub(super) recorder: Recorder,
}

impl Host {
    /// Completes a part of a host command. The last part completes the command.
    pub(super) fn complete_part<D: BlockDevice>(
        &mut self,
        number: u32,
        failed: bool,
        now: Instant,
        array: &mut Array<D>,
    ) {
        let Some(Request { command, submitted, failed, .. }) = self.requests.complete_part(number, failed)
        else {
            return;
        };
        match command.operation {
            Operation::Flush => {
                self.requests.flushes.retain(|flush| flush.request != number);
                array.end_covering_flush(failed);
            }
            Operation::Discard => {
                self.requests.discarding.retain(|discarding| discarding.request != number);
            }
            _ => {}
        }
        if let Some(followed) = &mut array.followed {
            followed.note_completion(number, command.tag);
        }
        let latency = now - submitted;
        self.digest.add(u64::from(command.tag));
        self.digest.add(latency.ps());
        let completion = Completion { command, latency, failed };
        self.attribution.note(completion, submitted);
        self.completions.push(completion);
        let members = &array.members;
        let levels = || {
            let Gauges { buffered_pages, free_blocks, .. } = members.gauges(now);
            (buffered_pages as u32, free_blocks)
        };
        self.recorder.note(number, (completion, submitted), levels);
    }
}
