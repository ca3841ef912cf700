//! Completed host commands, recorded for time lines.

use wordline_device::Completion;
use wordline_device::timeline::{OccupancySample, Recorded, TimelineRequest};
use wordline_flash::RequestId;
use wordline_kernel::Instant;

/// Records the completed commands of a host above a device, while recording is on.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Option<Box<Recorded>>);

impl Recorder {
    /// Switches recording on or off. Switching off discards the records.
    pub fn set_enabled(&mut self, on: bool) {
        self.0 = on.then(Box::default);
    }

    /// Records the completion of the command with this number. `levels` gives the occupancy of the device:
    /// pages in the write buffer, and free blocks.
    pub fn note(
        &mut self,
        number: u32,
        (completion, submitted): (Completion, Instant),
        levels: impl FnOnce() -> (u32, u64),
    ) {
        if let Some(recorded) = &mut self.0 {
            let at = submitted + completion.latency;
            recorded.requests.push(TimelineRequest { id: RequestId(number), submitted, completion });
            let (buffered, free) = levels();
            recorded.levels.push(OccupancySample { at, buffered, free });
        }
    }

    /// The commands recorded so far, merged with the work that the device below recorded.
    pub fn take(&mut self, below: Recorded) -> Recorded {
        let own = self.0.as_mut().map(|recorded| std::mem::take(&mut **recorded)).unwrap_or_default();
        Recorded { requests: own.requests, levels: own.levels, ..below }
    }
}
