//! Destages the pages that must leave the write buffer, as far as plane groups accept them: after events,
//! periodically, and while the host is idle. Also completes requests whose last part is done.

use wordline_ftl::Ftl;
use wordline_ftl::design::{DesignContext, DeviceEvent, EventMask};
use wordline_kernel::Schedule;
use wordline_nand::DieId;

use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::front::timer::Timer;
use crate::writer::Writer;

impl Front {
    /// Resumes after a power cut, when the tables are rebuilt: starts GC in all plane groups, and destages
    /// pages.
    pub(crate) fn resume(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        writer.update_all_groups(core);
        core.ftl.tables.resume(&mut core.ftl.map_cache);
        // First, so that background GC waits for its idle time.
        self.commands.note_idle(core, calendar);
        for row in core.ftl.config.pools.all_groups() {
            writer.collect_unless(false, row, core, calendar);
        }
        // Pages restored to the buffer are destaged at once.
        while let Some(id) = core.cache.buffer().oldest() {
            writer.force(id, core, calendar);
        }
        self.timer.set(core, calendar);
        self.pump(core, writer, calendar);
        core.start_dies(calendar);
    }

    /// Continues after a command of a die: destages pages if the command freed space, resumes plane groups
    /// whose GC had yielded, and ends requests.
    #[inline]
    pub(crate) fn proceed(
        &mut self,
        die: DieId,
        makes_room: bool,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        // Pages may wait for a pool or plane group that accepts no more pages. When the writer is idle, they
        // go to another pool or plane group.
        let waits = writer.has_units() || core.cache.waiting().has_stalled();
        let rests = waits && writer.rows().is_idle(&core.ftl.gc);
        if makes_room || rests || writer.rows().has_opened() {
            self.pump(core, writer, calendar);
        }
        if core.ftl.gc.yields_to_host() {
            writer.resume_groups(die, core, calendar);
            if writer.rows().has_opened() {
                self.pump(core, writer, calendar);
            }
        }
        if core.cache.waiting().has_woken() {
            self.wake_waiters(core, writer, calendar);
        }
    }

    /// Queries the design that requests work, and starts what it requests. Does nothing while the device is
    /// preconditioned.
    #[inline(never)]
    pub(crate) fn maintain(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.ftl.flash.is_clock_stopped() {
            return;
        }
        writer.maintain(core, calendar);
        if writer.rows().has_opened() {
            self.pump(core, writer, calendar);
        }
        core.notify_end_of_event();
    }

    /// Destages the pages that must leave the write buffer, as far as plane groups accept them.
    pub(crate) fn pump(&mut self, core: &mut Core, writer: &mut Writer, calendar: &mut impl Schedule<Event>) {
        if core.ftl.gc.take_unfinished() {
            writer.collect_everywhere(core, calendar);
        }
        loop {
            let formed = writer.build_units(core, calendar);
            // A woken write may leave a page that must be destaged at once, even if the write freed no space
            // or coalesced with that page.
            if core.cache.waiting().may_have_woken() {
                self.wake_waiters(core, writer, calendar);
            }
            let waits = |core: &Core| {
                (core.cache.buffer().in_use(), core.cache.buffer().dirty(), core.cache.waiting().stalled())
            };
            let before = waits(core);
            self.admit_stalled(core, writer, calendar);
            // A write of zeroes may have removed pages from the buffer for which requests waited.
            if core.cache.waiting().has_woken() {
                self.wake_waiters(core, writer, calendar);
            }
            let moved = formed || before != waits(core);
            if !moved && !writer.rows().has_opened() {
                return;
            }
        }
    }

    /// Ends the parts of requests that waited for a page, if the page is in flash or no longer has to be. A
    /// completion lets the next command start, which may wake further requests. The outermost call handles
    /// all of them, so that calls do not nest.
    pub(crate) fn wake_waiters(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if std::mem::replace(&mut self.waking, true) {
            return;
        }
        while let Some(id) = core.cache.next_woken() {
            self.part_done(id, core, writer, calendar);
        }
        self.waking = false;
    }

    /// Handles the flush timer: performs the next step of a round, or starts a round.
    #[inline(never)]
    pub(crate) fn flush_on_timer(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(round) = self.timer.round(core, calendar) else {
            return self.timer.rest(None, core, calendar);
        };
        let most = core.cache.buffer().dirty().saturating_sub(round.pages);
        while core.cache.buffer().dirty() > most
            && let Some(oldest) = core.cache.buffer().oldest()
            && core.cache.buffer().epoch(oldest) <= round.epoch
        {
            writer.destage(oldest, core, calendar);
        }
        if core.cache.buffer().oldest().is_some_and(|oldest| core.cache.buffer().epoch(oldest) <= round.epoch)
        {
            self.pump(core, writer, calendar);
            return self.timer.proceed(round, calendar);
        }
        self.drain(round.epoch, core, writer, calendar);
        self.timer.rest(Some(round), core, calendar);
    }

    /// Destages the pages of an epoch and of earlier epochs at once. The last pages do not wait for other
    /// pages to fill a program unit.
    fn drain(
        &mut self,
        epoch: u64,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.cache.drain_to(epoch);
        writer.force_covered(epoch, core);
        self.pump(core, writer, calendar);
    }

    /// Destages the whole buffer at once, even if it is protected.
    pub(crate) fn flush_all(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(epoch) = core.cache.end_epoch() {
            self.drain(epoch, core, writer, calendar);
        }
    }

    /// Clears the timer.
    pub(crate) fn clear_timer(&mut self) {
        self.timer = Timer::default();
    }

    /// Starts background work if the host has been idle for long enough. Otherwise schedules the next check.
    #[inline(never)]
    pub(crate) fn on_host_idle(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let now = calendar.now();
        let Some(due) = core.ftl.gc.handle_idle_timer(now, &core.ftl.policies) else { return };
        if due > now {
            return calendar.at(due, Event::Idle);
        }
        let Ftl { policies, flash, blocks, gc, .. } = &mut core.ftl;
        let context = DesignContext { flash, blocks };
        policies.designs.observe(EventMask::IDLE, context, || DeviceEvent::Idle { since: gc.idle_since() });
        for row in core.ftl.config.pools.all_groups() {
            writer.collect_unless(false, row, core, calendar);
        }
        if writer.rows().has_opened() {
            self.pump(core, writer, calendar);
        }
    }
}
