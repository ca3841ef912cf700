//! Moves pages on towards flash, and ends requests of which the last part is done.

use wordline_kernel::Schedule;
use wordline_nand::DieId;

use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
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
        for row in core.base.config.pools.all_rows() {
            writer.collect_unless(false, row, core, calendar);
        }
        self.note_rest(core, calendar);
        // What was kept of the buffer goes to flash at once.
        while let Some(id) = core.cache.oldest() {
            writer.urge(id, core, calendar);
        }
        self.set_timer(core, calendar);
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
        // What waits for a pool that takes nothing any more goes elsewhere once nothing goes on there.
        let rests = writer.has_units() && writer.is_at_rest() && core.reclaim.is_idle();
        if makes_room || rests || writer.row_opened() {
            self.pump(core, writer, calendar);
        }
        if core.reclaim.steps_aside() {
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
}
