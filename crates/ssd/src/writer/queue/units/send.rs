//! Life of a sub-request, from destaging to its end.

use wordline_flash::Ticket;
use wordline_ftl::contents::InjectedFault;
use wordline_ftl::design::DesignContext;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::map::translation::Continuation;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_ftl::{Ftl, LocationRead, WantedSectors};
use wordline_kernel::{Duration, Instant, Schedule};
use wordline_nand::{DataTag, Location, PlaneGroupId, Pools};

use super::NO_SUB;
use crate::cache::Ready;
use crate::cache::buffer::{EntryId, EntryState, NONE};
use crate::engines::Core;
use crate::event::Event;
use crate::writer::ProgramUnit;
use crate::writer::queue::destage::destages_with;
use crate::writer::queue::{HAS_SUB_REQUESTS, WriteQueue};

impl WriteQueue {
    /// Destages a dirty entry and all dirty pages of its unit as a sub-request. If the unit has a sub-request
    /// in progress, the entry waits for its end.
    #[inline(never)]
    pub fn destage_unit(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let page = core.cache.buffer().get(id).logical;
        let subs = self.units();
        if let Some(sub) = subs.of(page) {
            subs.get(sub).later.push(id);
            core.cache.unlink(id);
            core.cache.begin_completing(id);
            if core.cache.buffer().get(id).urgent || core.cache.is_drained(id) {
                self.force_sub_request(sub, core);
            }
            if core.cache.has_waiters(id) {
                self.promote_sub_request(sub, core, calendar);
            }
            return;
        }
        self.send_unit(page, core, calendar);
    }

    /// Speeds up the sub-request in progress that a page waits for.
    pub fn promote_unit(&mut self, page: LogicalPage, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if let Some(sub) = self.units().of(page) {
            self.force_sub_request(sub, core);
            self.promote_sub_request(sub, core, calendar);
        }
    }

    /// Speeds up the sub-requests that pages of this flush epoch or an older one wait for.
    pub fn promote_covered(&mut self, epoch: u64, core: &mut Core) {
        for sub in 0..self.units().all.len() as u32 {
            let later = &self.units().all[sub as usize].later;
            if later.iter().any(|id| core.cache.buffer().epoch(*id) <= epoch) {
                self.force_sub_request(sub, core);
            }
        }
    }

    /// Makes all pages of a sub-request urgent.
    fn force_sub_request(&mut self, sub: u32, core: &mut Core) {
        for place in 0..self.units().get(sub).entries.len() {
            let one = self.units().get(sub);
            let (id, whole) = (one.entries[place], one.whole);
            if id == NONE {
                continue;
            }
            let was_urgent = core.cache.force(id);
            let entry = core.cache.buffer().get(id);
            if !was_urgent && !whole && entry.state == EntryState::Ready {
                let list = self.list_of(entry.logical, entry.stream, core);
                self.ready.force(list, true);
            }
        }
    }

    /// Sends the dirty pages of a unit to a pool as a sub-request. `members` already has the pages that
    /// waited for the last sub-request.
    fn send_unit(&mut self, page: LogicalPage, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let unit = page.0 / self.units().per_unit;
        let mut members = std::mem::take(&mut self.units().members);
        let page = members.first().map_or(page, |id| core.cache.buffer().get(*id).logical);
        self.unit_members(page, &mut members, core);
        if !members.is_empty() {
            self.send_members(unit, &members, core, calendar);
        }
        members.clear();
        self.units().members = members;
    }

    /// Adds the dirty pages that are destaged together with `leaving` to `members`, and removes discarded
    /// pages.
    fn unit_members(&mut self, leaving: LogicalPage, members: &mut Vec<EntryId>, core: &mut Core) {
        let asks = core.ftl.policies.coalesces();
        for page in self.unit_of_page(leaving, core) {
            if let Some(id) = core.cache.buffer().dirty_entry(page)
                && (!asks || page == leaving.0 || destages_with(leaving.0, page, core))
            {
                core.cache.unlink(id);
                members.push(id);
            }
        }
        members.retain(|id| {
            let discarded = core.cache.buffer().get(*id).discarded;
            if discarded {
                core.cache.drop_entry(*id);
            }
            !discarded
        });
    }

    /// Begins a sub-request of these entries, in the pool that the router selects.
    fn send_members(
        &mut self,
        unit: u32,
        members: &[EntryId],
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let per_unit = self.units().per_unit;
        let mut outgoing = HostPage::of(unit * per_unit);
        for id in members {
            let entry = core.cache.buffer().get(*id);
            (outgoing.sectors, outgoing.tag) = (outgoing.sectors + entry.sectors.count(), entry.tag);
            if entry.request.sectors > outgoing.request.sectors {
                outgoing.request = entry.request;
            }
        }
        let stream = self.stream_for(&outgoing, members.len() as u64, core);
        let subs = self.units();
        let sub = subs.begin(unit, stream);
        let whole = subs.get(sub).whole;
        for id in members {
            let place = core.cache.buffer().get(*id).logical.0 % per_unit;
            self.units().get(sub).entries[place as usize] = *id;
            let pool = self.units().pool_of(stream);
            self.units().set_target_pool(sub, place as usize, pool, &mut core.ftl.blocks);
        }
        self.units().get(sub).waits = members.len() as u32;
        if whole {
            self.carry(sub, core, calendar);
        }
        for id in members.iter().copied() {
            core.cache.set_stream(id, stream);
            self.prepare(id, core, calendar);
        }
    }

    /// Stream of a sub-request with `pages` pages. If the pool of the router's stream is full, the first
    /// pool's stream.
    fn stream_for(&mut self, outgoing: &HostPage<'_>, pages: u64, core: &mut Core) -> u8 {
        if core.ftl.policies.designs.routes() {
            core.ftl.policies.designs.note_level(core.cache.level());
        }
        let pools = &core.ftl.config.pools;
        let from = core.ftl.map.get(LogicalPage(outgoing.logical));
        let home = from.map(|at| pools.number_of_group(pools.group_of(at)) as u8);
        let Ftl { policies, flash, blocks, .. } = &mut core.ftl;
        let subs = self.subs.as_mut().expect(HAS_SUB_REQUESTS);
        let outgoing = HostPage { pools: self.states.update(flash, blocks), from, home, ..*outgoing };
        let (chosen, sectors) =
            (policies.route(&outgoing, DesignContext { flash, blocks }), outgoing.sectors);
        let pool = subs.pool_of(chosen);
        let second = usize::from(pool != FALLBACK_POOL);
        subs.counts.sent[second] += 1;
        subs.counts.sent_bytes[second] += u64::from(sectors) * wordline_device::SECTOR.0;
        if !subs.has_room(pool, pages, core) {
            subs.counts.redirected += 1;
            return subs.first_stream();
        }
        chosen
    }

    /// Reads the other pages of a unit that are in flash. They are programmed with the sub-request.
    pub fn carry(&mut self, sub: u32, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if InjectedFault::UnitNotCarried.is_enabled(core.ftl.contents.as_deref()) {
            return;
        }
        let per_unit = self.units().per_unit;
        let first = self.units().get(sub).unit * per_unit;
        for place in 0..per_unit {
            let page = LogicalPage(first + place);
            let one = self.units().get(sub);
            let known = one.carried[place as usize].is_data() || one.entries[place as usize] != NONE;
            if known || page.0 >= core.ftl.config.logical_pages {
                continue;
            }
            let class = self.units().class_of_reads(sub, &core.cache);
            let then = (Continuation::Carry(sub), class);
            if core.ftl.locate_or_wait(page, then, &mut calendar.within(Event::Flash)) {
                self.carry_page(sub, page, Duration::ZERO, core, calendar);
            } else {
                self.filling += 1;
                self.units().get(sub).waits += 1;
            }
        }
    }

    /// Reads a carried page, if it is in flash and has to be carried.
    fn carry_page(
        &mut self,
        sub: u32,
        page: LogicalPage,
        waited: Duration,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(location) = core.ftl.map.get(page) else { return };
        if !self.units().get(sub).whole && is_in_first_pool(location, &core.ftl.config.pools) {
            return;
        }
        if core.ftl.policies.coalesces() && !is_carried_along(page, location, &mut core.ftl) {
            return;
        }
        let read = LocationRead {
            ticket: Ticket::UnitRmw(sub),
            class: self.units().class_of_reads(sub, &core.cache),
            location,
            sectors: WantedSectors::Set(core.ftl.page_size.full()),
            logical: page,
            version: core.ftl.flash.stamp(location).version,
            waited,
        };
        let (die, reads) = read.queue(&mut core.ftl.blocks, &mut core.ftl.flash, calendar.now());
        self.filling += reads;
        self.units().get(sub).waits += reads;
        core.ftl.flash.start_at_end_of_event(die);
    }

    /// Continues with a carried page whose location is known now.
    pub fn resume_carrying(
        &mut self,
        sub: u32,
        page: LogicalPage,
        since: Instant,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.filling -= 1;
        self.carry_page(sub, page, calendar.now() - since, core, calendar);
        self.units().end_wait(sub);
    }

    /// Handles the end of the read of a carried page, or its failure.
    pub fn finish_carried_read(&mut self, sub: u32, page: LogicalPage, version: u32) {
        self.filling -= 1;
        let place = self.units().place(page);
        let one = self.units().get(sub);
        one.carried[place] = DataTag { logical: page.0, version };
        self.units().end_wait(sub);
    }

    /// Handles a page of a sub-request that is complete in the buffer.
    #[inline(never)]
    pub fn unit_page_ready(&mut self, id: EntryId, core: &mut Core) {
        let Ready { page, stream, urgent } = core.cache.completed(id);
        let subs = self.units();
        let sub = subs.of(page).expect("a page on its way is part of a sub-request");
        if subs.get(sub).whole {
            self.units().end_wait(sub);
        } else {
            let list = self.list_of(page, stream, core);
            self.ready.push(list, id, urgent);
        }
    }

    /// Ends pages of sub-requests that are in flash or no longer needed. Keeps the list for its capacity.
    #[inline]
    pub fn finish_pages(
        &mut self,
        mut pages: Vec<LogicalPage>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.subs.is_some() {
            pages.drain(..).for_each(|page| self.finish_sub_request_page(page, core, calendar));
            self.units().over = pages;
        }
    }

    /// Ends a page of a sub-request. After its last page the sub-request ends.
    fn finish_sub_request_page(
        &mut self,
        page: LogicalPage,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let subs = self.units();
        let Some(sub) = subs.of(page) else { return };
        let place = subs.place(page);
        let one = subs.get(sub);
        one.entries[place] = NONE;
        subs.set_target_pool(sub, place, FALLBACK_POOL, &mut core.ftl.blocks);
        let one = subs.get(sub);
        if one.whole {
            // The other pages were redirected from a full pool while this page was being programmed there.
            self.units().end_wait(sub);
            return;
        }
        one.waits -= 1;
        if one.waits == 0 {
            self.finish_sub_request(sub, core, calendar);
        }
    }

    /// Ends a sub-request. Pages of the unit that waited for its end are sent now.
    pub fn finish_sub_request(&mut self, sub: u32, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let subs = self.units();
        let one = &mut subs.all[sub as usize];
        let (unit, migrates) = (one.unit, one.migrates);
        let goes_on = !one.later.is_empty();
        subs.members.append(&mut one.later);
        subs.of_unit[unit as usize] = NO_SUB;
        subs.free.push(sub);
        let page = LogicalPage(unit * subs.per_unit);
        if goes_on {
            self.send_unit(page, core, calendar);
        }
        if migrates {
            self.migrate_unit(page, core, calendar);
        }
    }

    /// Puts the next ready sub-request of a stream into a program unit, with its carried pages. Returns the
    /// sub-request.
    pub fn fill_whole_unit(
        &mut self,
        stream: usize,
        places: u32,
        group: &mut ProgramUnit,
        core: &mut Core,
    ) -> u32 {
        let subs = self.units();
        let sub = subs.ready[stream].pop_front().expect("the caller knows that one waits");
        subs.fill(sub, places, group, core);
        sub
    }

    /// Records the plane groups that lost pages to a unit that was programmed in `row`.
    pub fn note_source_groups(&mut self, row: PlaneGroupId, group: &ProgramUnit, core: &Core) {
        self.units().note_source_groups(row, group, core);
    }

    /// Plane groups that lost pages to the last unit. [`return_source_groups`](Self::return_source_groups)
    /// takes the list back.
    pub fn take_source_groups(&mut self) -> Vec<PlaneGroupId> {
        std::mem::take(&mut self.units().left)
    }

    /// Takes back the list of plane groups, for its capacity.
    pub fn return_source_groups(&mut self, left: Vec<PlaneGroupId>) {
        self.units().left = left;
    }

    /// Handles the end of the program of a whole unit.
    pub fn unit_programmed(&mut self, sub: u32, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        core.ftl.map.note_unit_written(self.units().first_page(sub));
        self.finish_sub_request(sub, core, calendar);
    }

    /// Handles a failed program of a whole unit.
    pub fn unit_failed(&mut self, sub: u32, group: &ProgramUnit, core: &mut Core) {
        self.units().unit_failed(sub, group, core);
    }

    /// Sends pages that wait in a list for a full pool to the first pool instead.
    pub fn redirect_full_pool(&mut self, list: usize, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let first = self.units().first_stream();
        let ready = self.ready.take(list);
        for id in ready.pages {
            let page = core.cache.buffer().get(id).logical;
            core.cache.set_stream(id, first);
            let whole = self.units().is_whole(first);
            let subs = self.units();
            let sub = subs.of(page).expect("a page on its way is part of a sub-request");
            let place = subs.place(page);
            subs.set_target_pool(sub, place, FALLBACK_POOL, &mut core.ftl.blocks);
            let one = &mut subs.all[sub as usize];
            let begun = std::mem::replace(&mut one.whole, whole);
            subs.counts.redirected += u64::from(one.stream != first);
            one.stream = first;
            if !whole {
                self.unit_page_ready(id, core);
                continue;
            }
            // Pages of the unit that are in flash by now become carried pages.
            if !begun {
                self.carry(sub, core, calendar);
            }
            core.cache.return_to_ready(id);
            self.units().end_wait(sub);
        }
    }
}

/// Whether a page is programmed together with pages of its unit that go to the first pool. Always if it is
/// already there; otherwise a design decides.
fn is_carried_along(page: LogicalPage, location: Location, ftl: &mut Ftl) -> bool {
    let Ftl { policies, flash, blocks, .. } = ftl;
    if is_in_first_pool(location, blocks.pools()) {
        return true;
    }
    policies.is_carried_along(page.0, DesignContext { flash, blocks })
}

fn is_in_first_pool(location: Location, pools: &Pools) -> bool {
    pools.number_of_group(pools.group_of(location)) == FALLBACK_POOL
}
