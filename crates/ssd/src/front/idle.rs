//! What begins when the host has been idle for long enough.

use wordline_kernel::Schedule;

use crate::design::{Observes, Seen};
use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::writer::Writer;

impl Front {
    /// A command was answered: perhaps the last one for some time.
    #[inline]
    pub(crate) fn note_rest(&self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if self.outstanding() > 0 {
            return;
        }
        if let Some(due) = core.reclaim.note_rest(calendar.now(), &core.base) {
            calendar.at(due, Event::Idle);
        }
    }

    /// Background work begins if the host has rested for long enough; else it is looked at again when it may have.
    #[inline(never)]
    pub(crate) fn host_rests(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let now = calendar.now();
        let Some(due) = core.reclaim.rests_from(now, &core.base) else { return };
        if due > now {
            return calendar.at(due, Event::Idle);
        }
        core.base.observe(Observes::IDLE, |_| Seen::Idle { since: core.reclaim.idle_since() });
        for row in core.base.config.pools.all_rows() {
            writer.collect_unless(false, row, core, calendar);
        }
        if writer.row_opened() {
            self.pump(core, writer, calendar);
        }
    }
}
