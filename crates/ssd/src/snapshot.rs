//! A device at an instant, in bytes: all that it knows and all that is about to happen to it.
//!
//! Any instant between two events will do; commands of the host may be under way. A device of the same configuration
//! and design that takes the bytes over goes on as the one that wrote them would have, event by event.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Calendar, Instant};

use crate::Event;

/// The number of the layout of the bytes. It grows with every change of what a component writes, so that bytes of another
/// layout are refused and not misread.
pub const LAYOUT: u32 = 17;

/// `Err` with what is wrong unless something holds.
pub(crate) fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// The present, and a device's events that are to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agenda<E = Event> {
    /// The present.
    pub now: Instant,
    /// Pending events and their times, in the order in which they will happen.
    pub events: Vec<(Instant, E)>,
}

impl<E: Copy> Agenda<E> {
    /// That of a calendar of the device alone.
    pub fn of(calendar: &Calendar<E>) -> Self {
        use wordline_kernel::Schedule;
        Self { now: calendar.now(), events: calendar.pending() }
    }

    /// A calendar that holds it, where the device's events are wrapped by `wrap`.
    pub fn calendar<W: Copy>(&self, wrap: impl Fn(E) -> W) -> Calendar<W> {
        Calendar::resumed(self.now, self.events.iter().map(|(time, event)| (*time, wrap(*event))))
    }

    /// Whether no event is before the present or before the one that it follows.
    pub fn is_in_order(&self) -> bool {
        let times = self.events.iter().map(|(time, _)| *time);
        std::iter::once(self.now).chain(times).is_sorted()
    }
}
