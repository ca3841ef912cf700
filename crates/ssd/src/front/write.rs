//! Commands that change pages: writes, discards and flushes.

use wordline_device::{Command, Operation};
use wordline_flash::RequestId;
use wordline_ftl::contents::InjectedFault;
use wordline_ftl::design::{DesignContext, DeviceEvent, EventMask};
use wordline_ftl::map::LogicalPage;
use wordline_kernel::Schedule;

use super::completion::{complete_soon, is_durable};
use crate::engines::Core;
use crate::event::Event;
use crate::front::{Front, Request};
use crate::writer::Writer;

impl Front {
    pub(super) fn begin_write(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.ftl.health.read_only {
            self.commands.refuse(id, core, calendar);
            return;
        }
        let command = self.get(id).command;
        if command.operation == Operation::WriteZeroes
            && InjectedFault::ZeroesIgnored.is_enabled(core.ftl.contents.as_deref())
        {
            return complete_soon(id, &core.config, calendar);
        }
        let request = self.get(id);
        // The admission counts as one part until all pages are in the buffer.
        request.parts = 1;
        let (first, _) = core.ftl.page_size.pages_of(&command);
        self.get(id).next_page = first;
        if is_durable(&command, core) {
            self.note_buffer_wait(id, calendar.now(), core);
        }
        if core.cache.waiting().has_stalled() || !self.admit(id, core, writer, calendar) {
            core.cache.stall(id);
            self.note_buffer_wait(id, calendar.now(), core);
            core.ftl.flash.promote_all(&core.ftl.policies, &mut calendar.within(Event::Flash));
        }
        self.pump(core, writer, calendar);
    }

    /// Puts the pages of a write into the buffer. Returns false if one of them must wait for space.
    fn admit(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Request { command, next_page: begin, .. } = *self.get(id);
        let durable = is_durable(&command, core);
        let urges_units = durable && writer.has_units();
        let (_, end) = core.ftl.page_size.pages_of(&command);
        let may_leave = core.cache.destages_at_once() || core.ftl.policies.coalesces();
        for page in begin..end {
            if command.operation == Operation::WriteZeroes && zero_page(&command, page, core) {
                continue;
            }
            let waits = core.cache.destages_at_once()
                && core.cache.must_wait_for_destage(LogicalPage(page), calendar.now());
            let Some(entry) = (if waits { None } else { writer.admit_page(&command, page, core) }) else {
                self.get(id).next_page = page;
                if urges_units {
                    writer.force_pages(begin..page, core, calendar);
                }
                return false;
            };
            if durable {
                self.get(id).parts += 1;
                core.cache.wait(entry, id);
                if !urges_units {
                    writer.force(entry, core, calendar);
                }
            } else if may_leave {
                writer.destage_if_due(entry, core, calendar);
            }
        }
        if urges_units {
            writer.force_pages(begin..end, core, calendar);
        }
        if durable && command.operation == Operation::WriteZeroes && core.ftl.tables.wait_for_discards(id) {
            self.get(id).parts += 1;
        }
        self.timer.set(core, calendar);
        let request = self.get(id);
        request.parts -= 1;
        request.next_page = end;
        if request.parts == 0 {
            complete_soon(id, &core.config, calendar);
        }
        true
    }

    /// Continues stalled writes while the buffer has space.
    pub(super) fn admit_stalled(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        while let Some(id) = core.cache.waiting().first_stalled() {
            if core.ftl.health.read_only {
                core.cache.end_first_stall();
                self.fail_stalled(id, core, calendar);
            } else if core.cache.buffer().has_room() && self.admit(id, core, writer, calendar) {
                core.cache.end_first_stall();
            } else {
                return;
            }
        }
    }

    /// Fails a write that waits for buffer space. Some of its pages may already be in the buffer; the last
    /// part for which it waits then completes it.
    fn fail_stalled(&mut self, id: RequestId, core: &Core, calendar: &mut impl Schedule<Event>) {
        let request = self.get(id);
        request.failed = true;
        request.parts -= 1;
        if request.parts == 0 {
            complete_soon(id, &core.config, calendar);
        }
    }

    /// Executes a flush command.
    pub(super) fn flush(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let epoch = core.cache.end_epoch().filter(|_| !core.config.file.buffer.is_protected());
        let waits = core.ftl.tables.wait_for_discards(id);
        let parts = u32::from(waits) + u32::from(epoch.is_some());
        self.get(id).parts = parts;
        if let Some(epoch) = epoch {
            self.note_buffer_wait(id, calendar.now(), core);
            core.cache.flush(epoch, id);
            writer.force_covered(epoch, core);
            core.ftl.flash.promote_all(&core.ftl.policies, &mut calendar.within(Event::Flash));
        }
        match parts {
            0 => complete_soon(id, &core.config, calendar),
            _ => self.pump(core, writer, calendar),
        }
    }

    /// Executes a discard: invalidates the pages that it covers entirely.
    pub(super) fn discard(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let command = self.get(id).command;
        let per_page = core.ftl.page_size.sectors();
        let first = command.sector.div_ceil(per_page) as u32;
        let end = ((command.sector + command.sectors) / per_page) as u32;
        for page in first..end {
            discard_page(LogicalPage(page), core);
        }
        core.ftl.map_cache.release_tables();
        self.wake_waiters(core, writer, calendar);
        self.get(id).parts = 1;
        if !(is_durable(&command, core) && core.ftl.tables.wait_for_discards(id)) {
            complete_soon(id, &core.config, calendar);
        }
        self.pump(core, writer, calendar);
    }
}

/// Discards a page of zeroes if the command covers the whole page. Returns false if it must be written.
fn zero_page(command: &Command, page: u32, core: &mut Core) -> bool {
    let piece = core.ftl.page_size.piece(command, page);
    let whole = piece.sectors() == core.ftl.page_size.full();
    if whole {
        discard_page(piece.page, core);
    }
    whole
}

/// Discards a page. It reads as zeroes from now on.
fn discard_page(page: LogicalPage, core: &mut Core) {
    if let Some(contents) = &mut core.ftl.contents {
        contents.discarded(page);
    }
    core.ftl.tables.discard(page, &mut core.ftl.map, &mut core.ftl.map_cache, &mut core.ftl.blocks);
    core.cache.discard_page(page);
    let context = DesignContext { flash: &core.ftl.flash, blocks: &core.ftl.blocks };
    core.ftl.policies.designs.observe(EventMask::DISCARDED, context, || DeviceEvent::Discarded { page });
}
