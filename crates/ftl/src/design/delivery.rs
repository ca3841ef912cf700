//! Delivery of events to the designs that observe them.

use wordline_kernel::Instant;

use super::table::Designs;
use super::{BufferOccupancy, DesignContext, DeviceEvent, EventMask, ExtensionPoint, View};
use crate::blocks::BlockManager;

impl Designs {
    /// Event kinds that some design observes.
    pub(crate) fn observed(&self) -> EventMask {
        self.observed
    }

    /// Whether some design observes one of these kinds of events.
    #[inline]
    pub fn observes(&self, kinds: EventMask) -> bool {
        self.observed.has(kinds)
    }

    /// Sets the time that designs see.
    #[inline]
    pub fn note_time(&mut self, now: Instant) {
        self.now = now;
    }

    /// Whether designs must be notified at the end of an event, given the buffer occupancy.
    #[inline]
    pub fn has_notifications(&self, level: BufferOccupancy, blocks: &BlockManager) -> bool {
        !self.is_empty()
            && (self.is_maintenance_due || level != self.notified_level || blocks.events().are_pending())
    }

    /// Sets the buffer occupancy that designs see.
    pub fn note_level(&mut self, level: BufferOccupancy) {
        self.level = level;
    }

    /// Sets the buffer occupancy at the end of an event. Returns whether designs must be notified of it.
    pub(crate) fn is_new_level(&mut self, level: BufferOccupancy) -> bool {
        self.level = level;
        std::mem::replace(&mut self.notified_level, level) != level
    }

    /// Notifies designs of the pending block events that they observe.
    #[inline]
    pub(crate) fn notify_pending(&mut self, context: DesignContext<'_>) {
        if let Some(news) = context.blocks.events().take() {
            for seen in &news {
                self.notify(seen, context);
            }
            context.blocks.events().take_back(news);
        }
    }

    /// Notifies the designs of an event, after the pending block events.
    pub(crate) fn notify_after_pending(&mut self, seen: &DeviceEvent<'_>, context: DesignContext<'_>) {
        self.notify_pending(context);
        self.notify(seen, context);
    }

    /// Notifies the designs that observe this event.
    #[inline(never)]
    pub(crate) fn notify(&mut self, seen: &DeviceEvent<'_>, context: DesignContext<'_>) {
        let maintains = self.owner(ExtensionPoint::Maintain, 0);
        let Self { all, level, now, is_maintenance_due, logical_pages, .. } = self;
        for (n, one) in all.iter_mut().enumerate().filter(|(_, one)| one.observes.has(seen.kind())) {
            let (level, now, logical_pages) = (*level, *now, *logical_pages);
            let mut view = View { context, level, now, logical_pages, random: &mut one.random };
            one.design.observe(seen, &mut view);
            *is_maintenance_due |= maintains == Some(n);
        }
    }
}
