//! Moves pages on towards flash: as far as they can and must go, from time to time, and while the host rests; and ends requests of which
//! the last part is done.

use wordline_kernel::Schedule;
use wordline_nand::DieId;

use crate::design::{Observes, Seen};
use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::front::timer::Timer;
use crate::writer::Writer;

impl Front {
    /// The tables are there again after a power cut: rows clean, and pages move on.
    pub(crate) fn resume(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        writer.note_all_rows(core);
        core.map.resume_tables();
        for row in core.base.config.pools.all_rows() {
            writer.collect_unless(false, row, core, calendar);
        }
        self.commands.note_rest(core, calendar);
        // Restored pages of the buffer go to flash at once.
        while let Some(id) = core.cache.oldest() {
            writer.urge(id, core, calendar);
        }
        self.timer.set(core, calendar);
        self.pump(core, writer, calendar);
    }

    /// A command of a die is over, and what it was for is noted: pages move on if that makes room for them, rows go on cleaning that
    /// stepped aside, and requests end.
    #[inline]
    pub(crate) fn go_on(
        &mut self,
        die: DieId,
        makes_room: bool,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        // Pages that wait for a pool or a row which takes none any more go elsewhere once nothing goes on there.
        let waits = writer.has_units() || core.cache.stalls();
        let rests = waits && writer.nothing_goes_on(core);
        if makes_room || rests || writer.row_opened() {
            self.pump(core, writer, calendar);
        }
        if core.reclaim.yields_to_host() {
            writer.resume_rows(die, core, calendar);
            if writer.row_opened() {
                self.pump(core, writer, calendar);
            }
        }
        if core.cache.has_woken() {
            self.wake_waiters(core, writer, calendar);
        }
    }

    /// Moves pages on towards flash as far as they can and must go.
    pub(crate) fn pump(&mut self, core: &mut Core, writer: &mut Writer, calendar: &mut impl Schedule<Event>) {
        if core.reclaim.take_work_left() {
            writer.collect_everywhere(core, calendar);
        }
        loop {
            let formed = writer.move_on(core, calendar);
            // A write that goes on may make room nowhere and still leave a page that must go at once, also one that it merged with.
            if core.cache.is_any_awake() {
                self.wake_waiters(core, writer, calendar);
            }
            let waits = |core: &Core| (core.cache.in_use(), core.cache.dirty(), core.cache.stalled());
            let before = waits(core);
            self.admit_stalled(core, writer, calendar);
            // Zeroes may have taken pages out of the buffer that others waited for.
            if core.cache.has_woken() {
                self.wake_waiters(core, writer, calendar);
            }
            let moved = formed || before != waits(core);
            if !moved && !writer.row_opened() {
                return;
            }
        }
    }

    /// Ends parts of the requests whose pages are in flash, or need not be any more. An answer lets the next command begin,
    /// which may wake others: the outermost call ends them all, so that they do not pile up on the stack.
    pub(crate) fn wake_waiters(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if std::mem::replace(&mut self.waking, true) {
            return;
        }
        while let Some(id) = core.cache.next_awake() {
            self.part_done(id, core, writer, calendar);
        }
        self.waking = false;
    }

    /// The next step of a round, or the next round.
    #[inline(never)]
    pub(crate) fn write_out_on_time(
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
            writer.leave(oldest, core, calendar);
        }
        if core.cache.oldest().is_some_and(|oldest| core.cache.epoch(oldest) <= round.epoch) {
            self.pump(core, writer, calendar);
            return self.timer.go_on(round, calendar);
        }
        self.drain(round.epoch, core, writer, calendar);
        self.timer.rest(Some(round), core, calendar);
    }

    /// Sends the pages of an epoch and of older ones on at once; the last pages do not wait for others to fill a program unit
    /// with.
    fn drain(
        &mut self,
        epoch: u64,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.cache.drain_to(epoch);
        writer.urge_covered(epoch, core);
        self.pump(core, writer, calendar);
    }

    /// Everything in the buffer leaves at once, protected or not.
    pub(crate) fn write_out(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(epoch) = core.cache.end_epoch() {
            self.drain(epoch, core, writer, calendar);
        }
    }

    /// No timer is set any more.
    pub(crate) fn forget_timer(&mut self) {
        self.timer = Timer::default();
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
