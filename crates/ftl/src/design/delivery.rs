//! Delivery of events to the designs that observe them.

use wordline_flash::{Task, Ticket};
use wordline_kernel::Instant;
use wordline_nand::{BlockSetId, CommandCompletion, Operation};

use super::table::Designs;
use super::{BufferOccupancy, DesignContext, DeviceEvent, EventMask, ExtensionPoint, ProgramSource, View};
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
    #[inline(never)]
    pub fn notify_after_pending(&mut self, seen: &DeviceEvent<'_>, context: DesignContext<'_>) {
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

    /// Notifies designs of an event, if one of them observes this kind.
    #[inline(always)]
    pub fn observe<'a>(
        &mut self,
        kind: EventMask,
        context: DesignContext<'_>,
        seen: impl FnOnce() -> DeviceEvent<'a>,
    ) {
        if self.observes(kind) {
            self.notify_after_pending(&seen(), context);
        }
    }

    /// Notifies designs at the end of an event: of pending block events, and of a changed buffer occupancy.
    #[inline(never)]
    pub fn notify_end_of_event(&mut self, level: BufferOccupancy, context: DesignContext<'_>) {
        self.notify_pending(context);
        if self.is_new_level(level) {
            self.observe(EventMask::BUFFER, context, || DeviceEvent::Buffer { level });
        }
    }

    /// Notifies designs of a completed program.
    #[inline]
    pub fn notify_programmed(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        failed: bool,
        context: DesignContext<'_>,
    ) {
        if self.observes(EventMask::PROGRAMMED) {
            self.notify_program(task, done, failed, context);
        }
    }

    #[inline(never)]
    fn notify_program(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        failed: bool,
        context: DesignContext<'_>,
    ) {
        let locations = match task.operation {
            Operation::Program => task.locations,
            Operation::Read | Operation::Erase => return,
            // A copyback programs a whole unit.
            _ => context.blocks.pools().of_location(task.location).locations.per_program,
        };
        let of = match task.ticket {
            Ticket::Gc(..) => ProgramSource::Gc,
            Ticket::TableUnit(_) => ProgramSource::Tables,
            _ => ProgramSource::Host,
        };
        let (first, array, outcome) = (task.location, done.array, context.flash.chips().outcome(done));
        let seen = DeviceEvent::Programmed { first, locations, of, failed, array, outcome };
        self.notify_after_pending(&seen, context);
    }

    /// Notifies designs of an erase.
    #[inline]
    pub(crate) fn notify_erased(
        &mut self,
        block: BlockSetId,
        done: &CommandCompletion,
        context: DesignContext<'_>,
    ) {
        if self.observes(EventMask::ERASED) {
            let chips = context.flash.chips();
            let (erases, array, outcome) = (chips.erases()[block], done.array, chips.outcome(done));
            let seen = DeviceEvent::Erased { block, erases, array, outcome };
            self.notify_after_pending(&seen, context);
        }
    }
}
