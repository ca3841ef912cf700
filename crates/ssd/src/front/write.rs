//! Writes on their way into the buffer.

use wordline_kernel::Schedule;
use wordline_nand::{Done, RowId};

use super::answering::{answer_soon, is_durable};
use crate::command::{Operation, RequestId};
use crate::contents::Mutant;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::Task;
use crate::front::{Front, Request};
use crate::map::LogicalPage;
use crate::writer::Writer;

impl Front {
    /// A program of what the host wrote is over: who waited for its pages hears of it, and its row goes on.
    #[inline]
    pub(crate) fn host_programmed(
        &mut self,
        row: RowId,
        task: &Task,
        done: &Done,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let spent = core.base.note_program_time(row, task, done, calendar.now());
        for (id, version) in writer.group(row).versions() {
            core.cache.each_waiter(id, version, |waiter| self.get(waiter).spent = spent);
        }
        writer.host_programmed(row, task.location, core, calendar);
        self.wake_waiters(core, writer, calendar);
        writer.collect_where_unit_left(core, calendar);
        writer.collect(row, core, calendar);
    }

    pub(super) fn begin_write(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.base.life.read_only {
            self.refuse(id, core, calendar);
            return;
        }
        let command = self.get(id).command;
        if command.operation == Operation::WriteZeroes && core.base.has(Mutant::ZeroesIgnored) {
            return answer_soon(id, &core.base, calendar);
        }
        let request = self.get(id);
        // Until all pages are in the buffer, the admission itself is one part.
        request.parts = 1;
        let (first, _) = core.base.pages_of(&command);
        self.get(id).next_page = first;
        if core.cache.stalls() || !self.admit(id, core, writer, calendar) {
            core.cache.stall(id);
            core.base.promote_all(calendar);
        }
        self.pump(core, writer, calendar);
    }

    /// Puts the pages of a write into the buffer; false if one of them has to wait.
    fn admit(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Request { command, next_page: begin, .. } = *self.get(id);
        let durable = is_durable(&command, &core.base);
        let urges_units = durable && writer.has_units();
        let (_, end) = core.base.pages_of(&command);
        let may_leave = core.cache.destages_at_once() || core.base.gathers();
        for page in begin..end {
            if command.operation == Operation::WriteZeroes
                && core.cache.zero_page(&command, page, &mut core.base, &mut core.map)
            {
                continue;
            }
            let waits =
                core.cache.destages_at_once() && core.cache.waits_to_leave(LogicalPage(page), calendar.now());
            let Some(entry) = (if waits { None } else { writer.admit_page(&command, page, core) }) else {
                self.get(id).next_page = page;
                if urges_units {
                    writer.urge_pages(begin..page, core, calendar);
                }
                return false;
            };
            if durable {
                self.get(id).parts += 1;
                core.cache.wait(entry, id);
                if !urges_units {
                    writer.urge(entry, core, calendar);
                }
            } else if may_leave {
                writer.leave_if_told(entry, core, calendar);
            }
        }
        if urges_units {
            writer.urge_pages(begin..end, core, calendar);
        }
        if durable && command.operation == Operation::WriteZeroes && core.map.wait_for_discards(id) {
            self.get(id).parts += 1;
        }
        self.set_timer(core, calendar);
        let request = self.get(id);
        request.parts -= 1;
        request.next_page = end;
        if request.parts == 0 {
            answer_soon(id, &core.base, calendar);
        }
        true
    }

    /// Lets stalled writes go on as far as there is room.
    pub(super) fn admit_stalled(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        while let Some(id) = core.cache.first_stalled() {
            if core.base.life.read_only {
                core.cache.end_first_stall();
                self.refuse_stalled(id, core, calendar);
            } else if core.cache.has_room() && self.admit(id, core, writer, calendar) {
                core.cache.end_first_stall();
            } else {
                return;
            }
        }
    }

    /// Refuses a write of which some pages may be in the buffer already: the last of those that it waits for ends it.
    fn refuse_stalled(&mut self, id: RequestId, core: &Core, calendar: &mut impl Schedule<Event>) {
        let request = self.get(id);
        request.failed = true;
        request.parts -= 1;
        if request.parts == 0 {
            answer_soon(id, &core.base, calendar);
        }
    }
}
