//! Invariants of the direct host, and the check of a restored state.

use wordline_device::PhysicalDevice;
use wordline_device::snapshot::Agenda;

use super::in_flight::{InFlightCommand, Purpose};
use super::l2p::Ppa;
use super::{Direct, Event, Power};

impl<D: PhysicalDevice> Direct<D> {
    /// Checks the reference counts of the chunks against mapped pages and commands in flight.
    pub(super) fn audit_all(&self) {
        let mut holds = self.places.count_pins();
        for place in self.sent.values().flat_map(InFlightCommand::pinned_locations) {
            holds[(place.0 / self.layout.blocks_per_chunk) as usize] += 1;
        }
        assert!(self.places.has_pins(&holds), "what is held of chunks is what pages and commands need");
    }

    /// Checks that a restored state is consistent.
    pub(super) fn check_state(&self, agenda: &Agenda<Event<D::Event>>) -> Result<(), String> {
        let places = self.layout.units * self.layout.chunks_per_unit * self.layout.blocks_per_chunk;
        self.places.check(places)?;
        if !self.requests.all.is_sound() {
            return Err("requests that do not exist".into());
        }
        self.heads.check(&self.layout, |number| self.requests.all.has(number))?;
        let is_there = |place: &Ppa| place.0 < places;
        let is_right = self.sent.values().all(|sent| {
            let is_known = match sent.work {
                Purpose::Write(number) | Purpose::Read(number) => {
                    self.requests.all.has(number)
                        && sent.places.len() == sent.stamps.len()
                        && !sent.places.is_empty()
                }
                Purpose::Close(unit) | Purpose::Reset(unit) => {
                    unit < self.layout.units && sent.places.len() == 1
                }
                Purpose::Flush(number) => number.is_none_or(|number| self.requests.all.has(number)),
            };
            let is_page =
                |stamp: &wordline_nand::DataTag| !stamp.is_data() || stamp.logical < self.layout.pages;
            is_known && sent.places.iter().all(is_there) && sent.stamps.iter().all(is_page)
        });
        if !is_right || !self.sent.is_sound() {
            return Err("invalid commands in flight to the device".into());
        }
        let (mut of_device, mut completed) = (Vec::new(), true);
        for (time, event) in &agenda.events {
            match event {
                Event::Device(event) => of_device.push((*time, *event)),
                Event::Completion(number) => completed &= self.requests.all.has(*number),
            }
        }
        if !completed {
            return Err("a completion of a request that is not outstanding".into());
        }
        self.device.check_loaded(&Agenda { now: agenda.now, events: of_device })
    }

    /// Completes a recovery, once the device has recovered.
    pub(super) fn advance_recovery(&mut self, now: wordline_kernel::Instant) {
        let Power::Back(since) = self.power else { return };
        if !self.device.is_ready() {
            return;
        }
        self.device.clear_notifications();
        self.device.clear_completions();
        let Self { device, layout, heads, places, .. } = self;
        let size = layout.blocks_per_chunk;
        let report = |chunk: u32| device.report(layout.chunk(chunk));
        let lost = places.resolve_unflushed(|place| place.0 % size < report(place.0 / size).readable);
        for unit in 0..layout.units {
            let head = heads.get_mut(unit);
            let Some((chunk, _)) = head.open else { continue };
            let found = report(chunk);
            head.resume_or_close(found.state, found.write_pointer);
        }
        let of_device = self.device.recovery().unwrap_or_default();
        let time = now - since;
        self.recovery = Some(wordline_device::Recovered { time, lost, ..of_device });
        self.power = Power::On;
    }
}
