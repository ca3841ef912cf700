//! From the buffer towards flash: which pages leave it and when, and how a partly written one is completed.

use std::ops::Range;

use wordline_kernel::{Duration, Schedule};

use crate::base::{Base, LocationRead, Wanted};
use crate::cache::Ready;
use crate::cache::buffer::{EntryId, EntryState};
use crate::command::Command;
use crate::config::BufferMode;
use crate::contents::Mutant;
use crate::design::{Gathered, Seam, Sight};
use crate::engines::Core;
use crate::event::Event;
use crate::flash::Ticket;
use crate::map::LogicalPage;
use crate::map::translation::Then;
use crate::policy::router::Outgoing;
use crate::writer::Writer;

impl Writer {
    /// Puts a page of a write into the buffer; none if it has to wait for room, or with the buffer off for what is on
    /// its way of the same page, or of the unit that leaves together with it.
    #[inline(always)]
    pub(crate) fn admit_page(&self, command: &Command, page: u32, core: &mut Core) -> Option<EntryId> {
        let piece = core.base.piece(command, page);
        if let Some(id) = core.cache.find(piece.page) {
            return core.cache.merge_page(command, &piece, id, &mut core.base, &mut core.map);
        }
        if !core.cache.has_room() || self.has_units() && self.waits_for_unit(piece.page, core) {
            return None;
        }
        Some(core.cache.add_page(command, &piece, &mut core.base, &mut core.map))
    }

    /// An entry must not stay in the buffer.
    pub(crate) fn urge(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let was_urgent = core.cache.urge(id);
        let entry = *core.cache.entry(id);
        match entry.state {
            EntryState::Dirty => self.leave(id, core, calendar),
            EntryState::Ready if !was_urgent && self.waits_in_list(entry.logical) => {
                let list = self.list_of(entry.logical, entry.stream, core);
                self.ready.urge(list, true);
            }
            EntryState::Filling if self.subs.is_some() => self.hurry_unit(entry.logical, core, calendar),
            EntryState::Filling => core.cache.hurry_fill(id, &mut core.base, &core.map, calendar),
            _ => {}
        }
    }

    /// Makes an entry that left the list ready for a program unit, as soon as the place of its page is known.
    pub(in crate::writer) fn prepare(
        &mut self,
        id: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let logical = core.cache.entry(id).logical;
        let class = core.cache.class_of_reads_for(id);
        if core.map.locate_or_wait(logical, (Then::Prepare(id), class), &mut core.base, calendar) {
            self.complete(id, core, calendar);
        } else {
            core.cache.begin_completing(id);
            self.filling += 1;
        }
    }

    /// An entry knows where its page is.
    pub(crate) fn go_on_preparing(
        &mut self,
        id: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.filling -= 1;
        self.complete(id, core, calendar);
    }

    /// Makes an entry ready; the rest of a partly written page is read first.
    fn complete(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.cache.is_complete(id, &core.base, &core.map) || core.base.has(Mutant::RestNotRead) {
            self.make_ready(id, core);
            return;
        }
        let full = core.base.full_page();
        core.cache.begin_completing(id);
        let entry = core.cache.entry(id);
        let (logical, version, missing) = (entry.logical, entry.flash_version, full.without(entry.sectors));
        let location = core.map.get(logical).expect("an incomplete page is in flash");
        self.filling += 1;
        let fill = LocationRead {
            ticket: Ticket::Fill(id),
            class: core.cache.class_of_reads_for(id),
            location,
            sectors: Wanted::Set(missing),
            logical,
            version,
            waited: Duration::ZERO,
        };
        let (die, reads) = core.base.queue_read(fill, calendar);
        core.cache.await_reads(id, reads);
        core.base.kick(die, calendar);
    }

    /// A read of the rest of a page is over; the last one completes it.
    pub(super) fn filled(&mut self, id: EntryId, core: &mut Core) {
        if core.cache.read_over(id) {
            self.filling -= 1;
            self.make_ready(id, core);
        }
    }

    /// A complete page waits for its program unit.
    pub(super) fn make_ready(&mut self, id: EntryId, core: &mut Core) {
        if let Some(contents) = &mut core.base.contents {
            let logical = core.cache.entry(id).logical;
            if core.map.get(logical).is_none() {
                contents.completed(logical);
            }
        }
        if self.subs.is_some() {
            return self.unit_page_ready(id, core);
        }
        let entry = core.cache.entry(id);
        let (logical, tag, sectors) = (entry.logical.0, entry.tag, entry.sectors.count());
        let outgoing = Outgoing { logical, tag, sectors, pools: &[], home: None };
        if core.base.policies.designs.routes() {
            core.base.policies.designs.note_level(core.cache.level());
        }
        let Base { policies, flash, space, .. } = &mut core.base;
        let stream = policies.route(&outgoing, Sight { flash, space });
        core.cache.send_to(id, stream);
        let Ready { page, stream, urgent } = core.cache.completed(id, &core.base);
        let list = self.list_of(page, stream, core);
        self.ready.push(list, id, urgent);
    }

    /// Which list a complete page waits in.
    #[inline]
    fn list_of(&self, logical: LogicalPage, stream: u8, core: &Core) -> usize {
        let home = match self.ready.have_homes() {
            true => core.base.policies.placement.home(logical.0),
            false => None,
        };
        self.ready.of(home, usize::from(stream))
    }

    /// Takes pages out of the list while the buffer is too full, or a flush wants them: the flush's by age, others as
    /// the eviction policy has them.
    pub(crate) fn draw_from_list(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        while let Some(oldest) = core.cache.oldest() {
            if core.cache.is_drained(oldest) {
                self.leave(oldest, core, calendar);
                continue;
            }
            if !core.cache.is_too_full(self.programming) {
                return;
            }
            let id = core.cache.next_out();
            self.leave(id, core, calendar);
            core.cache.foresee_leaving(&core.base, &core.map);
        }
    }

    /// Takes a dirty entry out of the list, and its neighbours if they are to go with it.
    pub(crate) fn leave(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if self.subs.is_some() {
            self.leave_with_unit(id, core, calendar);
        } else if core.base.policies.designs.answers(Seam::Coalesce) {
            self.leave_as_told(core.cache.entry(id).logical, core, calendar);
        } else if core.base.config.file.buffer.coalesce {
            self.leave_together(core.cache.entry(id).logical, core, calendar);
        } else {
            core.cache.unlink(id);
            self.prepare(id, core, calendar);
        }
    }

    /// Takes out the run of dirty pages around `page` that belong to one program unit of consecutive pages, in order.
    #[inline(never)]
    fn leave_together(&mut self, page: LogicalPage, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let unit = core.base.config.pools.first().locations.per_program;
        let start = page.0 - page.0 % unit;
        let mut first = page.0;
        while first > start && core.cache.dirty_entry(first - 1).is_some() {
            first -= 1;
        }
        for page in first..start + unit {
            let Some(id) = core.cache.dirty_entry(page) else { return };
            core.cache.unlink(id);
            self.prepare(id, core, calendar);
        }
    }

    /// Takes out a dirty page and those of its program unit of consecutive pages that a design says, in order.
    #[inline(never)]
    fn leave_as_told(&mut self, page: LogicalPage, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let unit = core.base.config.pools.first().locations.per_program;
        let start = page.0 - page.0 % unit;
        for other in start..start + unit {
            let Some(id) = core.cache.dirty_entry(other) else { continue };
            if other == page.0 || leaves_with(page.0, other, core) {
                core.cache.unlink(id);
                self.prepare(id, core, calendar);
            }
        }
    }

    /// Whether a design says that what waits of the unit of a page leaves the buffer.
    fn is_gathered(&self, page: LogicalPage, core: &mut Core) -> bool {
        if !core.base.policies.designs.answers(Seam::Coalesce) {
            return false;
        }
        let size = match &self.subs {
            Some(subs) => subs.per_unit,
            None => core.base.config.pools.first().locations.per_program,
        };
        let Core { base, cache, .. } = core;
        let is_waiting = |page| cache.dirty_entry(page).is_some();
        let unit = Gathered { is_waiting: &is_waiting, first: page.0 - page.0 % size, size };
        let Base { policies, flash, space, .. } = base;
        policies.designs.note_level(cache.level());
        policies.leaves_now(&unit, Sight { flash, space })
    }

    /// Pages on their way to flash belong to the flush too.
    pub(crate) fn urge_covered(&mut self, epoch: u64, core: &mut Core) {
        if self.subs.is_some() {
            self.hurry_covered(epoch, core);
        }
        let mut next = 0;
        while let Some(list) = self.ready.held_from(next) {
            for n in 0..self.ready[list].pages.len() {
                let id = self.ready[list].pages[n];
                if core.cache.epoch(id) <= epoch && !core.cache.entry(id).urgent {
                    core.cache.urge(id);
                    self.ready.urge(list, true);
                }
            }
            next = list + 1;
        }
    }

    /// The host waits for what is on its way of a unit.
    pub(in crate::writer) fn hurry_sub_request(
        &mut self,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if !core.base.flash.has_background() {
            return;
        }
        let (entries, pages) = self.subs().members_of(sub);
        let tables = pages.filter_map(|page| core.map.ticket_of_table(LogicalPage(page)));
        let mut tickets: Vec<Ticket> = tables.collect();
        tickets.push(Ticket::UnitFill(sub));
        tickets.extend(entries.into_iter().map(Ticket::Fill));
        core.base.promote(&tickets, calendar);
    }

    /// Pages that must not stay in the buffer leave it together, as what is of one unit is sent together.
    #[inline(never)]
    pub(crate) fn urge_units(
        &mut self,
        pages: Range<u32>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        for page in pages {
            if let Some(id) = core.cache.find(LogicalPage(page)) {
                self.urge(id, core, calendar);
            }
        }
    }

    /// Whether the buffer is off and something of the page's unit is on its way.
    #[inline(never)]
    fn waits_for_unit(&self, page: LogicalPage, core: &Core) -> bool {
        core.base.config.file.buffer.mode == BufferMode::Off
            && self.subs.as_ref().is_some_and(|subs| subs.is_under_way(page))
    }

    /// The host wrote the entry: it leaves now if the policy or a design says so, and it waits.
    #[inline(never)]
    pub(crate) fn leave_if_told(
        &mut self,
        id: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let page = core.cache.entry(id).logical;
        let leaves = core.cache.leaves_at_once(page, calendar.now());
        // It may have left with its neighbours.
        if core.cache.dirty_entry(page.0) == Some(id) && (leaves || self.is_gathered(page, core)) {
            self.leave(id, core, calendar);
        }
    }
}

/// Whether a page that waits leaves the buffer with another one of its unit.
pub(super) fn leaves_with(page: u32, other: u32, core: &mut Core) -> bool {
    core.base.policies.designs.note_level(core.cache.level());
    let Base { policies, flash, space, .. } = &mut core.base;
    policies.leaves_with(page, other, Sight { flash, space })
}
