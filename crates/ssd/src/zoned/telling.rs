//! Tells where the time of commands of zones went: in the last command to the device below, and before that waiting for one.

use wordline_kernel::Instant;

use super::in_flight::{Face, InFlight};
use crate::physical_device::{Operation, Told};
use crate::times::Component;

/// Tells of commands as they are answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Teller {
    /// The command of the device below that was answered last, and when.
    below: Option<(Told, Instant)>,
    /// Those that were answered and not asked for, with their tags.
    told: Vec<(u32, Told)>,
}

impl Teller {
    /// The device below has answered a command of which it told this.
    pub fn note_below(&mut self, told: Option<Told>, now: Instant) {
        self.below = told.map(|told| (told, now));
    }

    /// A command is answered.
    pub fn note_answered(&mut self, command: &InFlight, now: Instant) {
        let (submitted, latency) = (command.submitted, now - command.submitted);
        // Logical blocks wait until they fill a program, and for those before them in their zone.
        let waits = match command.face {
            Face::Chunks(Operation::Write | Operation::Flush) => Component::Buffer,
            _ => Component::Queue,
        };
        let below = self.below.clone().filter(|(told, at)| *at == now && told.submitted >= submitted);
        let told = match below {
            Some((told, _)) => told.of_above(submitted, latency, waits),
            None => Told::waited(submitted, latency, waits),
        };
        self.told.retain(|(tag, _)| *tag != command.tag);
        self.told.push((command.tag, told));
    }

    /// Where the time of the answered command of this tag went, told once.
    pub fn take(&mut self, tag: u32) -> Option<Told> {
        let place = self.told.iter().position(|(of, _)| *of == tag)?;
        Some(self.told.swap_remove(place).1)
    }
}
