//! Moves pages on towards flash, and ends requests of which the last part is done.

use wordline_kernel::Schedule;

use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::writer::Writer;

impl Front {
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
