//! Records where the time of zone commands went: waiting for a command to the device below, and in the last
//! such command.

use wordline_kernel::Instant;

use super::in_flight::{InFlight, Interface};
use crate::physical_device::{CommandBreakdown, Operation};
use crate::times::Component;

/// Records the times of commands.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeRecorder {
    /// The last completed command of the device below, and when it completed.
    below: Option<(CommandBreakdown, Instant)>,
    /// Times of completed commands that were not taken yet, with their tags.
    told: Vec<(u32, CommandBreakdown)>,
}

impl TimeRecorder {
    /// A command of the device below completes; `told` are its times.
    pub fn note_below(&mut self, told: Option<CommandBreakdown>, now: Instant) {
        self.below = told.map(|told| (told, now));
    }

    /// A command completes.
    pub fn note_completed(&mut self, command: &InFlight, now: Instant) {
        let (submitted, latency) = (command.submitted, now - command.submitted);
        // Logical blocks wait until they fill a program, and for the blocks before them in their zone.
        let waits = match command.face {
            Interface::Chunks(Operation::Write | Operation::Flush) => Component::Buffer,
            _ => Component::Queue,
        };
        let below = self.below.clone().filter(|(told, at)| *at == now && told.submitted >= submitted);
        let told = match below {
            Some((told, _)) => told.with_wait_above(submitted, latency, waits),
            None => CommandBreakdown::waited(submitted, latency, waits),
        };
        self.told.retain(|(tag, _)| *tag != command.tag);
        self.told.push((command.tag, told));
    }

    /// Takes the times of the completed command with this tag.
    pub fn take(&mut self, tag: u32) -> Option<CommandBreakdown> {
        let place = self.told.iter().position(|(of, _)| *of == tag)?;
        Some(self.told.swap_remove(place).1)
    }
}
