//! A device at an instant, in bytes: all that it knows and all that is about to happen to it.
//!
//! Any instant between two events will do; commands of the host may be under way. A device of the same configuration
//! and design that takes the bytes over goes on as the one that wrote them would have, event by event.

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::{Broken, Reader, Sink, Source, Writer};
use wordline_kernel::{Calendar, Instant};

use crate::{Device, Event};

/// The number of the layout of the bytes. It grows with every change of what a component writes, so that bytes of another
/// layout are refused and not misread.
pub const LAYOUT: u32 = 10;

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

impl Device {
    /// Writes the device and its agenda to `to`.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn save(&self, agenda: &Agenda, to: &mut dyn Sink) -> Result<(), Broken> {
        let mut to = Writer::new(to);
        to.value(AGENDA, agenda)?;
        to.part(DEVICE, self)
    }

    /// Takes over what a device of the same configuration and design wrote; the agenda is for the caller to carry on
    /// with. Nothing is left of what this device was, whatever its seed. After an error it is good for nothing.
    ///
    /// # Errors
    /// Those of the source, and bytes that [`save`](Self::save) did not write for this configuration.
    pub fn load(&mut self, from: &mut dyn Source) -> Result<Agenda, Broken> {
        let mut from = Reader::within(from, self.most_bytes());
        let agenda: Agenda = from.value(AGENDA)?;
        if !agenda.is_in_order() {
            return Err(Broken::Value { name: AGENDA, why: "its events are not in order".into() });
        }
        let shape = self.shape();
        from.part(DEVICE, self)?;
        self.check_loaded(&shape, &agenda).map_err(|why| Broken::State { why })?;
        Ok(agenda)
    }

    /// About as many bytes as a field takes that has an entry for each page, block and place of the buffer, beside what
    /// grows with the work. Chosen: 256 B for an entry, which take less than 100, and 16 MiB.
    fn most_bytes(&self) -> u64 {
        let config = self.config();
        let entries =
            [config.mapped_pages(), config.pools.block_sets(), config.buffer_pages, config.cache_pages];
        (16 << 20) + 256 * entries.into_iter().map(u64::from).sum::<u64>()
    }
}

const AGENDA: &str = "agenda";
const DEVICE: &str = "device";
