//! Since when the host rests.

use wordline_kernel::Schedule;

use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::writer::Writer;

impl Front {
    /// A command was answered: perhaps the last one for some time.
    #[inline]
    pub(crate) fn note_rest(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let Some(background) = &core.base.policies.background else { return };
        if self.outstanding() > 0 {
            return;
        }
        (core.reclaim.rest.since, core.reclaim.rest.host_works) = (calendar.now(), false);
        if let Some(idle) = background.rests_after()
            && !std::mem::replace(&mut core.reclaim.rest.timer_set, true)
        {
            calendar.after(idle, Event::Idle);
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
        core.reclaim.rest.timer_set = false;
        let idle = core.base.policies.background.as_ref().and_then(|background| background.rests_after());
        let Some(due) = idle.map(|idle| core.reclaim.rest.since + idle).filter(|_| self.outstanding() == 0)
        else {
            return;
        };
        if due > calendar.now() {
            core.reclaim.rest.timer_set = true;
            calendar.at(due, Event::Idle);
            return;
        }
        for row in 0..core.base.config.pools.rows() {
            writer.collect_unless(false, row, core, calendar);
        }
        if writer.row_opened {
            self.pump(core, writer, calendar);
        }
    }
}
