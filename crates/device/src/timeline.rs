//! Recorded work of a device, for time lines.

use wordline_flash::{DieCommand, Recording, RequestId, Tracks};
use wordline_kernel::Instant;
use wordline_nand::Span;

use crate::Completion;

/// Work of a device since the last query.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Completed requests, in the order of completion.
    pub requests: Vec<TimelineRequest>,
    /// Completed die commands, in the order of their ends.
    pub commands: Vec<DieCommand>,
    /// Stages of commands in the order of their starts, each with the channel of its die.
    pub stages: Vec<(Span, u32)>,
    /// Occupancy of the device at each completion.
    pub levels: Vec<OccupancySample>,
    /// Channels and dies: of the device itself, or of each device of an array. An array numbers them over all
    /// its devices.
    pub devices: Vec<Tracks>,
}

impl From<Recording> for Recorded {
    fn from(recording: Recording) -> Self {
        let Recording { commands, stages, tracks } = recording;
        Self { commands, stages, devices: vec![tracks], ..Self::default() }
    }
}

impl Recorded {
    /// Joins the work of the devices of an array, without their requests: the array records requests of its
    /// own.
    pub fn join(devices: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        let (mut channels, mut dies) = (0, 0);
        for device in devices {
            let count = |of: fn(&Tracks) -> u32| device.devices.iter().map(of).sum::<u32>();
            let (own_channels, own_dies) = (count(|tracks| tracks.channels), count(|tracks| tracks.dies));
            all.commands.extend(device.commands.into_iter().map(|mut command| {
                (command.channel, command.die.0) = (command.channel + channels, command.die.0 + dies);
                command.requests.clear();
                command
            }));
            all.stages.extend(device.stages.into_iter().map(|(mut span, channel)| {
                span.die.0 += dies;
                (span, channel + channels)
            }));
            all.devices.extend(device.devices);
            (channels, dies) = (channels + own_channels, dies + own_dies);
        }
        all
    }
}

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub struct TimelineRequest {
    /// Number by which die commands refer to the request. Numbers are reused.
    pub id: RequestId,
    /// Time of submission.
    pub submitted: Instant,
    /// The command and its latency.
    pub completion: Completion,
}

/// Occupancy of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccupancySample {
    /// Time of the measurement.
    pub at: Instant,
    /// Pages in the write buffer.
    pub buffered: u32,
    /// Free multi-plane blocks.
    pub free: u64,
}
