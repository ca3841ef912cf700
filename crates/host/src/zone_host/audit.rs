//! Invariants of the host, and the check of a restored state.

use wordline_device::PhysicalDevice;
use wordline_device::snapshot::Agenda;
use wordline_kernel::ensure::ensure;
use wordline_open_channel::zoned;

use super::{Event, Power, ZoneHost};

impl<D: PhysicalDevice> ZoneHost<D> {
    /// Checks that each completed block of a zone has the address and version with which it was written.
    pub(super) fn audit_all(&self) {
        let layout = &self.zoned.config().layout;
        for zone in 0..layout.zones {
            let chunk = layout.as_chunk(zoned::ZoneId(zone));
            debug_assert!(self.zoned.geometry().has(chunk));
            let start = u64::from(zone) * layout.size;
            for block in 0..self.zoned.report(chunk).readable {
                let Some(found) = self.zoned.stamp(chunk.at(block)).filter(|found| found.is_data()) else {
                    continue;
                };
                let is_there = u64::from(found.logical) == start + u64::from(block)
                    && found.version == self.generations[zone as usize] + 1;
                assert!(is_there, "block {block} of zone {zone} holds {found:?}");
            }
        }
    }

    /// Checks that a restored state is consistent.
    pub(super) fn check_state(&self, agenda: &Agenda<Event<D::Event>>) -> Result<(), String> {
        let layout = &self.zoned.config().layout;
        let requests = &self.requests;
        let is_sound = requests.all.is_sound() && requests.sent.is_sound();
        ensure(is_sound && self.generations.len() == layout.zones as usize, || {
            "requests or zones that do not exist".into()
        })?;
        let mut parts = requests.sent.values().map(|part| (self.zone_of(part), part));
        let mut waiting = self.plugs.iter().flat_map(|plugs| plugs.waiting());
        let is_there = |zone: u32, request: u32| zone < layout.zones && requests.all.has(request);
        let are_there = parts.all(|(zone, part)| is_there(zone, part.request))
            && waiting.all(|(zone, part)| is_there(zone, part.request));
        ensure(are_there, || "parts of requests that do not exist".into())?;
        ensure(self.power == Power::On || requests.all.count() == 0, || "requests without power".into())?;
        let mut of_device = Vec::new();
        let mut are_known = true;
        for (time, event) in &agenda.events {
            match event {
                Event::Device(event) => of_device.push((*time, *event)),
                Event::Submission(number) | Event::Completion(number) => {
                    are_known &= requests.all.has(*number);
                }
            }
        }
        ensure(are_known, || "an event of a request that is not outstanding".into())?;
        self.zoned.check_loaded(&Agenda { now: agenda.now, events: of_device })
    }
}
