//! Whether a state that was read can be one of the device: lists have the lengths that its configuration gives them, numbers
//! are those of something that is there, and places, blocks and what is counted of them go together.

use super::Device;
use crate::base::Base;
use crate::event::Event;
use crate::map::LogicalPage;
use crate::snapshot::{Agenda, ensure};

impl Device {
    /// The lengths of the lists whose lengths follow from the configuration.
    pub(super) fn lengths(&self) -> Vec<usize> {
        let Base { life, written_back, .. } = &self.core.base;
        let mut lengths = vec![life.failures.len(), written_back.len()];
        lengths.extend(self.writer.shape());
        lengths.extend(self.core.base.space.shape());
        lengths.extend(self.core.reclaim.collector().shape());
        lengths.extend(self.core.base.flash.shape());
        lengths.extend(self.core.cache.shape());
        lengths
    }

    /// Checks what was loaded.
    pub(super) fn check_loaded(&self, agenda: &Agenda) -> Result<(), String> {
        self.check_places()?;
        self.core.base.space.check_loaded(|block| self.core.base.flash.chips().programmed(block))?;
        self.core.reclaim.collector().check_loaded(&self.core.base.space)?;
        self.core.base.flash.check_loaded()?;
        self.core.cache.check_loaded(self.core.map.len())?;
        ensure(self.writer.check_loaded(), || "lists of pages that are not what they are noted as".into())?;
        agenda.events.iter().try_for_each(|(_, event)| self.check_event(*event))
    }

    /// What is mapped is valid where it is, and holds what it should; and nothing else is valid.
    fn check_places(&self) -> Result<(), String> {
        let pools = &self.core.base.config.pools;
        let (mut mapped, all) = (0u64, pools.locations());
        for page in (0..self.core.map.len()).map(LogicalPage) {
            let Some(location) = self.core.map.get(page) else { continue };
            mapped += 1;
            ensure(location.0 < all && self.core.base.space.is_valid(location), || {
                format!("page {} is nowhere", page.0)
            })?;
            let stamp = self.core.base.flash.stamp(location);
            ensure(stamp.logical == page.0 && stamp.version <= self.core.map.versions(page), || {
                format!("page {} is in location {}, which holds {stamp:?}", page.0, location.0)
            })?;
        }
        let blocks = pools.all_blocks();
        let valid: u64 = blocks.map(|block| self.core.base.space.count_valid(block)).sum();
        ensure(valid == mapped && mapped == u64::from(self.core.map.mapped()), || {
            format!("{mapped} pages are mapped and {valid} valid, not {}", self.core.map.mapped())
        })
    }

    fn check_event(&self, event: Event) -> Result<(), String> {
        match event {
            Event::Flash(event) => self.core.base.flash.check_event(event),
            Event::Begin(id) | Event::Answer(id) | Event::Link(id) => {
                ensure(self.front.has(id), || format!("{event:?} of a command that is not there"))
            }
            Event::FlushTimer | Event::Idle => Ok(()),
        }
    }
}
