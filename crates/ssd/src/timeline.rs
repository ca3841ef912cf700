//! The work of a device in a stretch of time, for time lines.

use wordline_kernel::Instant;
use wordline_nand::Span;

use crate::command::{Answer, RequestId};
use crate::flash::DieCommand;

/// The work of a device since it was last asked.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Requests that were answered, in that order.
    pub requests: Vec<AnsweredRequest>,
    /// Commands of the dies that are over, in the order of their ends.
    pub commands: Vec<DieCommand>,
    /// The stages of commands that were begun, in the order of their beginning, each with the channel of its die.
    pub stages: Vec<(Span, u32)>,
    /// How full the device was, at each answer.
    pub levels: Vec<Levels>,
    /// The channels and dies of each device of an array, which are counted over all devices; of another device its own alone.
    pub devices: Vec<Tracks>,
}

/// The channels and dies of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracks {
    /// Channels.
    pub channels: u32,
    /// Dies.
    pub dies: u32,
}

impl Recorded {
    /// The work of the devices of an array side by side, without their requests: those are of the array.
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

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRequest {
    /// The number by which commands of dies name it; it is used again.
    pub id: RequestId,
    /// When it was submitted.
    pub submitted: Instant,
    /// The request, and its latency.
    pub answer: Answer,
}

/// How full a device was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// When.
    pub at: Instant,
    /// Pages in the write buffer.
    pub buffered: u32,
    /// Free blocks, one of each plane.
    pub free: u64,
}
