//! Latency breakdown of zone commands: the time in the last command to the device below, and the wait before
//! it.

use wordline_device::physical_device::CommandBreakdown;
use wordline_device::times::Component;
use wordline_kernel::Instant;

use crate::breakdowns::Breakdowns;

/// Recorder of latency breakdowns.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeRecorder {
    /// Last completed command of the device below, and when it completed.
    below: Option<(CommandBreakdown, Instant)>,
    told: Breakdowns<CommandBreakdown>,
}

impl TimeRecorder {
    /// Records the completion of a command of the device below, with its breakdown.
    pub fn note_below(&mut self, told: Option<CommandBreakdown>, now: Instant) {
        self.below = told.map(|told| (told, now));
    }

    /// Records the completion of the command with this tag, which waited above the device below in the stage
    /// `waits`.
    pub fn note_completed(&mut self, tag: u32, submitted: Instant, waits: Component, now: Instant) {
        let latency = now - submitted;
        let below = self.below.clone().filter(|(told, at)| *at == now && told.submitted >= submitted);
        let told = match below {
            Some((told, _)) => told.with_wait_above(submitted, latency, waits),
            None => CommandBreakdown::waited(submitted, latency, waits),
        };
        self.told.insert(tag, told);
    }

    /// Takes the breakdown of the completed command with this tag.
    pub fn take(&mut self, tag: u32) -> Option<CommandBreakdown> {
        self.told.take(tag)
    }
}
