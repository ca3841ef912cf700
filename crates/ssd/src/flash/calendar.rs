//! Events of the chips on the calendar of the flash.

use wordline_kernel::{Instant, Schedule};

use super::Event;

/// Lets chips put their events on the calendar of the flash.
pub(super) struct ChipCalendar<'a, C>(pub &'a mut C);

impl<C: Schedule<Event>> Schedule<wordline_nand::Event> for ChipCalendar<'_, C> {
    #[inline]
    fn now(&self) -> Instant {
        self.0.now()
    }

    #[inline]
    fn at(&mut self, time: Instant, event: wordline_nand::Event) {
        self.0.at(time, Event::Chips(event));
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.0.is_settled()
    }
}
