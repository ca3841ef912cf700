//! Moves pages towards flash: as far as they can and must go, periodically, and while the host is idle; and
//! ends requests whose last part is done.

use wordline_kernel::Schedule;
use wordline_nand::DieId;

use crate::design::{DeviceEvent, EventMask};
use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::front::timer::Timer;
use crate::writer::Writer;

impl Front {
    /// Resumes after a power cut, once the tables are rebuilt: plane groups collect, and pages move on.
    pub(crate) fn resume(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        writer.update_all_groups(core);
        core.map.resume_tables();
        for row in core.base.config.pools.all_groups() {
            writer.collect_unless(false, row, core, calendar);
        }
        self.commands.note_idle(core, calendar);
        // Restored pages of the buffer are destaged at once.
        while let Some(id) = core.cache.oldest() {
            writer.force(id, core, calendar);
        }
        self.timer.set(core, calendar);
        self.pump(core, writer, calendar);
    }

    /// Continues after a command of a die: pages move on if that frees space, plane groups resume GC that had
    /// yielded, and requests end.
    #[inline]
    pub(crate) fn proceed(
        &mut self,
        die: DieId,
        makes_room: bool,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        // Pages that wait for a pool or plane group which accepts none any more go elsewhere once that is
        // idle.
        let waits = writer.has_units() || core.cache.has_stalled();
        let rests = waits && writer.is_idle(core);
        if makes_room || rests || writer.has_opened() {
            self.pump(core, writer, calendar);
        }
        if core.reclaim.yields_to_host() {
            writer.resume_groups(die, core, calendar);
            if writer.has_opened() {
                self.pump(core, writer, calendar);
            }
        }
        if core.cache.has_woken() {
            self.wake_waiters(core, writer, calendar);
        }
    }

    /// Moves pages towards flash as far as they can and must go.
    pub(crate) fn pump(&mut self, core: &mut Core, writer: &mut Writer, calendar: &mut impl Schedule<Event>) {
        if core.reclaim.take_unfinished() {
            writer.collect_everywhere(core, calendar);
        }
        loop {
            let formed = writer.build_units(core, calendar);
            // A write that continues may free nothing and still leave a page that must be destaged at once,
            // even one that it coalesced with.
            if core.cache.may_have_woken() {
                self.wake_waiters(core, writer, calendar);
            }
            let waits = |core: &Core| (core.cache.in_use(), core.cache.dirty(), core.cache.stalled());
            let before = waits(core);
            self.admit_stalled(core, writer, calendar);
            // Zeroes may have removed pages from the buffer for which others waited.
            if core.cache.has_woken() {
                self.wake_waiters(core, writer, calendar);
            }
            let moved = formed || before != waits(core);
            if !moved && !writer.has_opened() {
                return;
            }
        }
    }

    /// Ends parts of the requests whose pages are in flash, or need not be any more. A completion lets the
    /// next command start, which may wake others: the outermost call ends them all, to bound the stack.
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

    /// Flush timer: performs the next step of a round, or starts the next round.
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
        let most = core.cache.dirty().saturating_sub(round.pages);
        while core.cache.dirty() > most
            && let Some(oldest) = core.cache.oldest()
            && core.cache.epoch(oldest) <= round.epoch
        {
            writer.destage(oldest, core, calendar);
        }
        if core.cache.oldest().is_some_and(|oldest| core.cache.epoch(oldest) <= round.epoch) {
            self.pump(core, writer, calendar);
            return self.timer.proceed(round, calendar);
        }
        self.drain(round.epoch, core, writer, calendar);
        self.timer.rest(Some(round), core, calendar);
    }

    /// Destages the pages of an epoch and of older ones at once; the last pages do not wait for others to
    /// fill a program unit.
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

    /// Destages the whole buffer at once, protected or not.
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

    /// Starts background work if the host has been idle for long enough; otherwise checks again when it may
    /// have been.
    #[inline(never)]
    pub(crate) fn on_host_idle(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let now = calendar.now();
        let Some(due) = core.reclaim.handle_idle_timer(now, &core.base) else { return };
        if due > now {
            return calendar.at(due, Event::Idle);
        }
        core.base.observe(EventMask::IDLE, |_| DeviceEvent::Idle { since: core.reclaim.idle_since() });
        for row in core.base.config.pools.all_groups() {
            writer.collect_unless(false, row, core, calendar);
        }
        if writer.has_opened() {
            self.pump(core, writer, calendar);
        }
    }
}
