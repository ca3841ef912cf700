//! A device at an instant, in bytes: all that it knows and all that is about to happen to it.
//!
//! Any instant between two events will do; commands of the host may be under way. A device of the same configuration
//! and design that takes the bytes over goes on as the one that wrote them would have, event by event.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::{Broken, Reader, Sink, Source, State, Writer};
use wordline_kernel::{Calendar, Duration, Instant};

use crate::Event;

/// The number of the layout of the bytes. It grows with every change of what a component writes, so that bytes of another
/// layout are refused and not misread.
pub const LAYOUT: u32 = 52;

const AGENDA: &str = "agenda";
const DEVICE: &str = "device";

/// Writes a device of whichever face and what is about to happen to it.
pub(crate) fn save<E: Serialize>(
    device: &(impl State + ?Sized),
    agenda: &Agenda<E>,
    to: &mut dyn Sink,
) -> Result<(), Broken> {
    let mut to = Writer::new(to);
    to.value(AGENDA, agenda)?;
    to.part(DEVICE, device)
}

/// Takes over what [`save`] wrote. `most` is about as many bytes as the longest field takes, `lengths` those of the lists whose
/// lengths follow from the configuration, and `check` says whether the state can be one of the device.
pub(crate) fn load<D: State + ?Sized, E: Copy + DeserializeOwned>(
    device: &mut D,
    most: u64,
    from: &mut dyn Source,
    lengths: impl Fn(&D) -> Vec<usize>,
    check: impl FnOnce(&D, &Agenda<E>) -> Result<(), String>,
) -> Result<Agenda<E>, Broken> {
    let mut from = Reader::within(from, most);
    let agenda: Agenda<E> = from.value(AGENDA)?;
    let wrong = |why: &str| Err(Broken::Value { name: AGENDA, why: why.into() });
    if !agenda.is_in_order() {
        return wrong("its events are not in order");
    }
    if agenda.is_too_late() {
        return wrong("the clock cannot show what follows it");
    }
    let before = lengths(device);
    from.part(DEVICE, device)?;
    let wrong = |why: String| Broken::State { why };
    if lengths(device) != before {
        return Err(wrong("lists of other lengths than the device has".into()));
    }
    check(device, &agenda).map_err(wrong)?;
    Ok(agenda)
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
    pub fn of(calendar: &Calendar<E>) -> Self
    where
        E: PartialEq,
    {
        use wordline_kernel::Schedule;
        Self { now: calendar.now(), events: calendar.pending() }
    }

    /// A calendar that holds it, where the device's events are wrapped by `wrap`.
    pub fn calendar<W: Copy + PartialEq>(&self, wrap: impl Fn(E) -> W) -> Calendar<W> {
        Calendar::resumed(self.now, self.events.iter().map(|(time, event)| (*time, wrap(*event))))
    }

    /// Whether the present, or the last event, is so late that the clock may come to its end.
    pub fn is_too_late(&self) -> bool {
        let last = self.events.last().map_or(self.now, |(time, _)| *time);
        last > Instant::LIMIT + Duration::LIMIT
    }

    /// Whether no event is before the present or before the one that it follows.
    pub fn is_in_order(&self) -> bool {
        let times = self.events.iter().map(|(time, _)| *time);
        std::iter::once(self.now).chain(times).is_sorted()
    }
}
