//! Destaging: which pages leave the dirty list of the write buffer, and when.

use std::ops::Range;

use wordline_device::Command;
use wordline_flash::Ticket;
use wordline_ftl::design::{CoalescedUnit, DesignContext, DeviceEvent, EventMask};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::{Ftl, HostWrite, Piece};
use wordline_kernel::Schedule;

use crate::cache::buffer::EntryId;
use crate::config::BufferMode;
use crate::engines::Core;
use crate::event::Event;
use crate::writer::queue::WriteQueue;

impl WriteQueue {
    /// Puts a page of a write into the buffer. `None` if the write has to wait, because the buffer is full.
    /// With the buffer off, a write also waits while the page or another page of its unit is on its way to
    /// flash.
    #[inline(always)]
    pub fn admit_page(&self, command: &Command, page: u32, core: &mut Core) -> Option<EntryId> {
        let piece = core.ftl.page_size.piece(command, page);
        if let Some(id) = core.cache.buffer().find(piece.page) {
            if !core.cache.merge_page(command, &piece, id, &mut core.ftl.map) {
                return None;
            }
            core.ftl.totals.coalesced_writes += 1;
            note_written(command, &piece, false, &mut core.ftl);
            return Some(id);
        }
        if !core.cache.buffer().has_room() || self.subs.is_some() && self.must_wait_for_unit(piece.page, core)
        {
            return None;
        }
        let id = core.cache.add_page(command, &piece, &mut core.ftl.map);
        note_written(command, &piece, true, &mut core.ftl);
        Some(id)
    }

    /// Destages pages while the buffer is too full or a flush waits. Pages of a flush leave by age, others as
    /// the eviction policy decides.
    pub fn destage_excess(&mut self, programming: u32, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        while let Some(oldest) = core.cache.buffer().oldest() {
            if core.cache.is_drained(oldest) {
                self.destage(oldest, core, calendar);
                continue;
            }
            if !core.cache.is_too_full(programming) {
                return;
            }
            let id = core.cache.next_to_destage();
            self.destage(id, core, calendar);
            core.cache.prefetch_destage(&core.ftl.map, &core.ftl.blocks, &core.ftl.flash);
        }
    }

    /// Destages a dirty entry, together with the other pages of its unit that have to leave with it.
    pub fn destage(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if self.subs.is_some() {
            self.destage_unit(id, core, calendar);
        } else if core.ftl.policies.coalesces() {
            self.destage_chosen(core.cache.buffer().get(id).logical, core, calendar);
        } else if core.config.file.buffer.coalesce {
            self.destage_run(core.cache.buffer().get(id).logical, core, calendar);
        } else {
            core.cache.unlink(id);
            self.prepare(id, core, calendar);
        }
    }

    /// Destages the run of consecutive dirty pages around `page`, within one program unit of consecutive
    /// pages, in ascending order.
    #[inline(never)]
    fn destage_run(&mut self, page: LogicalPage, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let unit = self.unit_of_page(page, core);
        let mut first = page.0;
        while first > unit.start && core.cache.buffer().dirty_entry(first - 1).is_some() {
            first -= 1;
        }
        for page in first..unit.end {
            let Some(id) = core.cache.buffer().dirty_entry(page) else { return };
            core.cache.unlink(id);
            self.prepare(id, core, calendar);
        }
    }

    /// Destages a dirty page and the pages of its program unit of consecutive pages that a design selects, in
    /// ascending order.
    #[inline(never)]
    fn destage_chosen(&mut self, page: LogicalPage, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for other in self.unit_of_page(page, core) {
            let Some(id) = core.cache.buffer().dirty_entry(other) else { continue };
            if other == page.0 || destages_with(page.0, other, core) {
                core.cache.unlink(id);
                self.prepare(id, core, calendar);
            }
        }
    }

    /// Pages of the unit of a page. A unit is what a sub-request covers, or with one pool a program unit of
    /// consecutive pages.
    pub(super) fn unit_of_page(&self, page: LogicalPage, core: &Core) -> Range<u32> {
        let size = match &self.subs {
            Some(subs) => subs.per_unit,
            None => core.ftl.config.pools.first().locations.per_program,
        };
        let first = page.0 - page.0 % size;
        first..first + size
    }

    /// Whether a design decides that the dirty pages of the unit of a page are destaged now.
    fn has_to_coalesce(&self, page: LogicalPage, core: &mut Core) -> bool {
        if !core.ftl.policies.coalesces() {
            return false;
        }
        let pages = self.unit_of_page(page, core);
        let Core { ftl: Ftl { policies, flash, blocks, .. }, cache, .. } = core;
        let is_waiting = |page| cache.buffer().dirty_entry(page).is_some();
        let unit = CoalescedUnit::new(pages, &is_waiting);
        policies.designs.note_level(cache.level());
        policies.destages_now(&unit, DesignContext { flash, blocks })
    }

    /// Forces the flush of waiting pages that belong to this flush epoch or an older one.
    pub fn force_covered(&mut self, epoch: u64, core: &mut Core) {
        if self.subs.is_some() {
            self.promote_covered(epoch, core);
        }
        let mut next = 0;
        while let Some(list) = self.ready.nonempty_from(next) {
            for n in 0..self.ready[list].pages.len() {
                let id = self.ready[list].pages[n];
                if core.cache.buffer().epoch(id) <= epoch && !core.cache.buffer().get(id).urgent {
                    core.cache.force(id);
                    self.ready.force(list, true);
                }
            }
            next = list + 1;
        }
    }

    /// Promotes background reads for a sub-request to host reads, because a host command waits for it.
    pub(super) fn promote_sub_request(
        &mut self,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if !core.ftl.flash.has_background() {
            return;
        }
        let (entries, pages) = self.units().members_of(sub);
        let tables = pages.filter_map(|page| core.ftl.map_cache.ticket_of_table(LogicalPage(page)));
        let mut tickets: Vec<Ticket> = tables.collect();
        tickets.push(Ticket::UnitRmw(sub));
        tickets.extend(entries.into_iter().map(|entry| Ticket::Rmw(entry.0)));
        core.ftl.flash.promote(&tickets, &core.ftl.policies, &mut calendar.within(Event::Flash));
    }

    /// Forces the flush of all these pages.
    #[inline(never)]
    pub fn force_pages(&mut self, pages: Range<u32>, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for page in pages {
            if let Some(id) = core.cache.buffer().find(LogicalPage(page)) {
                self.force(id, core, calendar);
            }
        }
    }

    /// Whether the buffer is off and a page of the same unit is on its way to flash.
    #[inline(never)]
    fn must_wait_for_unit(&self, page: LogicalPage, core: &Core) -> bool {
        core.config.file.buffer.mode == BufferMode::Off
            && self.subs.as_ref().is_some_and(|subs| subs.is_under_way(page))
    }

    /// Destages an entry that the host just wrote, if it is waiting and the destage policy or a design
    /// decides so.
    #[inline(never)]
    pub fn destage_if_due(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let page = core.cache.buffer().get(id).logical;
        let leaves = core.cache.is_destaged_at_once(page, calendar.now());
        // The entry may have been destaged together with other pages of its unit.
        if core.cache.buffer().dirty_entry(page.0) == Some(id) && (leaves || self.has_to_coalesce(page, core))
        {
            self.destage(id, core, calendar);
        }
    }
}

/// Records a piece of a page that the host wrote into the buffer, for data verification and designs. If it
/// `is_new`, the buffer had nothing of the page before.
#[inline(always)]
fn note_written(command: &Command, piece: &Piece, is_new: bool, ftl: &mut Ftl) {
    let Ftl { contents, policies, flash, blocks, .. } = ftl;
    if let Some(contents) = contents {
        contents.wrote(command, piece, is_new);
    }
    policies.designs.observe(EventMask::WRITTEN, DesignContext { flash, blocks }, || DeviceEvent::Written {
        page: piece.page,
        sectors: piece.count(),
        request: HostWrite::of(command),
    });
}

/// Whether a design decides that a dirty page is destaged together with another page of its unit.
pub(super) fn destages_with(page: u32, other: u32, core: &mut Core) -> bool {
    core.ftl.policies.designs.note_level(core.cache.level());
    let Ftl { policies, flash, blocks, .. } = &mut core.ftl;
    policies.destages_with(page, other, DesignContext { flash, blocks })
}
