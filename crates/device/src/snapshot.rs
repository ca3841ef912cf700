//! Snapshot of a device: its state and its pending events, in bytes.
//!
//! A snapshot can be taken between any two events, also with commands outstanding. A device of the same
//! configuration and design that loads it continues exactly like the saved device, event by event.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::{Reader, Sink, SnapshotError, Source, State, Writer};
use wordline_kernel::{Calendar, Duration, Instant};

/// Version of the byte layout. It increases with every change of a component's state, so that a snapshot with
/// another layout is rejected.
pub const LAYOUT: u32 = 64;

const AGENDA: &str = "agenda";
const DEVICE: &str = "device";

/// Saves a device of any interface, and its pending events.
pub fn save<E: Serialize>(
    device: &(impl State + ?Sized),
    agenda: &Agenda<E>,
    to: &mut dyn Sink,
) -> Result<(), SnapshotError> {
    let mut to = Writer::new(to);
    to.value(AGENDA, agenda)?;
    to.part(DEVICE, device)
}

/// Loads a state written by [`save`]. `most` limits the bytes of a field. `lengths` returns the lengths of
/// lists that follow from the configuration. `check` checks that the state is possible for the device.
pub fn load<D: State + ?Sized, E: Copy + DeserializeOwned>(
    device: &mut D,
    most: u64,
    from: &mut dyn Source,
    lengths: impl Fn(&D) -> Vec<usize>,
    check: impl FnOnce(&D, &Agenda<E>) -> Result<(), String>,
) -> Result<Agenda<E>, SnapshotError> {
    let mut from = Reader::within(from, most);
    let agenda: Agenda<E> = from.value(AGENDA)?;
    let wrong = |why: &str| Err(SnapshotError::InvalidValue { name: AGENDA, why: why.into() });
    if !agenda.is_in_order() {
        return wrong("its events are not in order");
    }
    if agenda.is_too_late() {
        return wrong("the clock cannot show what follows it");
    }
    let before = lengths(device);
    from.part(DEVICE, device)?;
    let wrong = |why: String| SnapshotError::Inconsistent { why };
    if lengths(device) != before {
        return Err(wrong("lists of other lengths than the device has".into()));
    }
    check(device, &agenda).map_err(wrong)?;
    Ok(agenda)
}

/// Current time and pending events of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agenda<E> {
    /// Current time.
    pub now: Instant,
    /// Pending events with their times, in order.
    pub events: Vec<(Instant, E)>,
}

impl<E: Copy> Agenda<E> {
    /// Agenda of a calendar that has only events of this device.
    pub fn of(calendar: &Calendar<E>) -> Self
    where
        E: PartialEq,
    {
        use wordline_kernel::Schedule;
        Self { now: calendar.now(), events: calendar.pending() }
    }

    /// Calendar with this agenda, whose events are wrapped by `wrap`.
    pub fn calendar<W: Copy + PartialEq>(&self, wrap: impl Fn(E) -> W) -> Calendar<W> {
        Calendar::resumed(self.now, self.events.iter().map(|(time, event)| (*time, wrap(*event))))
    }

    /// Whether the current time or the last event is so late that the clock may overflow.
    pub fn is_too_late(&self) -> bool {
        let last = self.events.last().map_or(self.now, |(time, _)| *time);
        last > Instant::LIMIT + Duration::LIMIT
    }

    /// Whether the events are in order, and none is before the current time.
    pub fn is_in_order(&self) -> bool {
        let times = self.events.iter().map(|(time, _)| *time);
        std::iter::once(self.now).chain(times).is_sorted()
    }
}
