//! Whether a state that was read can be one of the device: lists have the lengths that its configuration gives them, numbers
//! are those of something that is there, and places, blocks and what is counted of them go together.

use super::{Device, Event};
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::RowSet;
use crate::snapshot::{Agenda, ensure};

impl Device {
    /// The lengths of the lists whose lengths follow from the configuration.
    pub(super) fn lengths(&self) -> Vec<usize> {
        let Self { waiting, failures, ready, units, accepting, written_back, .. } = self;
        let mut lengths = vec![waiting.len(), failures.len(), units.len(), written_back.len()];
        lengths.extend(ready.shape());
        lengths.extend(accepting.iter().map(RowSet::words));
        lengths.extend(self.blocks.shape());
        lengths.extend(self.collector.shape());
        lengths.extend(self.flash.shape());
        lengths.extend(self.buffer.shape());
        lengths
    }

    /// Checks what was loaded.
    pub(super) fn check_loaded(&self, agenda: &Agenda) -> Result<(), String> {
        self.check_places()?;
        self.blocks.check_loaded(|block| self.flash.chips().programmed(block))?;
        self.collector.check_loaded(&self.blocks)?;
        self.flash.check_loaded()?;
        self.buffer.check_loaded(self.mapping.len())?;
        ensure(self.ready.check_loaded(), || "lists of pages that are not what they are noted as".into())?;
        agenda.events.iter().try_for_each(|(_, event)| self.check_event(*event))
    }

    /// What is mapped is valid where it is, and holds what it should; and nothing else is valid.
    fn check_places(&self) -> Result<(), String> {
        let pools = &self.config.pools;
        let (mut mapped, all) = (0u64, pools.slots());
        for page in (0..self.mapping.len()).map(LogicalPage) {
            let Some(slot) = self.mapping.get(page) else { continue };
            mapped += 1;
            ensure(slot.0 < all && self.blocks.is_valid(slot), || format!("page {} is nowhere", page.0))?;
            let stamp = self.flash.stamp(slot);
            ensure(stamp.logical == page.0 && stamp.version <= self.mapping.versions(page), || {
                format!("page {} is in slot {}, which holds {stamp:?}", page.0, slot.0)
            })?;
        }
        let blocks = pools.all_blocks();
        let valid: u64 = blocks.map(|block| self.blocks.count_valid(block)).sum();
        ensure(valid == mapped && mapped == u64::from(self.mapping.mapped()), || {
            format!("{mapped} pages are mapped and {valid} valid, not {}", self.mapping.mapped())
        })
    }

    fn check_event(&self, event: Event) -> Result<(), String> {
        match event {
            Event::Flash(event) => self.flash.check_event(event),
            Event::Begin(id) | Event::Answer(id) | Event::Link(id) => {
                ensure(self.front.requests.ids().any(|taken| taken == id), || {
                    format!("{event:?} of a command that is not there")
                })
            }
            Event::FlushTimer | Event::Idle => Ok(()),
        }
    }
}
