//! How sub-requests leave the buffer, and when they are over.

use wordline_kernel::{Duration, Instant, Schedule};
use wordline_nand::{Location, Stamp};

use super::NO_SUB;
use crate::base::{Base, LocationRead, Wanted};
use crate::cache::Ready;
use crate::cache::buffer::{EntryId, EntryState, NONE};
use crate::contents::Mutant;
use crate::design::{Seam, Sight};
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Class, Ticket};
use crate::map::LogicalPage;
use crate::map::translation::Then;
use crate::policy::router::Outgoing;
use crate::pools::EVERYTHING_IN;
use crate::writer::Writer;
use crate::writer::leave::leaves_with;
use crate::writer::units::THERE;

impl Writer {
    /// Takes a dirty entry out of the list with all dirty pages of its unit, and sends them to a pool; or lets them wait
    /// for what of the unit is under way.
    #[inline(never)]
    pub(in crate::writer) fn leave_with_unit(
        &mut self,
        id: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let page = core.cache.entry(id).logical;
        let subs = self.subs();
        if let Some(sub) = subs.of(page) {
            subs.get(sub).later.push(id);
            core.cache.unlink(id);
            core.cache.begin_completing(id);
            if core.cache.entry(id).urgent || core.cache.is_drained(id) {
                self.do_not_hold_back(sub, core);
            }
            if core.cache.is_waited_for(id) {
                self.hurry_sub_request(sub, core, calendar);
            }
            return;
        }
        self.send_unit(page, core, calendar);
    }

    /// A page that waits for what is under way of its unit must not wait for long.
    pub(in crate::writer) fn hurry_unit(
        &mut self,
        page: LogicalPage,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(sub) = self.subs().of(page) {
            self.do_not_hold_back(sub, core);
            self.hurry_sub_request(sub, core, calendar);
        }
    }

    /// The same for those of this flush epoch and of older ones.
    pub(in crate::writer) fn hurry_covered(&mut self, epoch: u64, core: &mut Core) {
        for sub in 0..self.subs().all.len() as u32 {
            let later = &self.subs().all[sub as usize].later;
            if later.iter().any(|id| core.cache.epoch(*id) <= epoch) {
                self.do_not_hold_back(sub, core);
            }
        }
    }

    /// What is under way of a unit must not wait.
    fn do_not_hold_back(&mut self, sub: u32, core: &mut Core) {
        for place in 0..self.subs().get(sub).entries.len() {
            let one = self.subs().get(sub);
            let (id, whole, stream) = (one.entries[place], one.whole, usize::from(one.stream));
            if id == NONE {
                continue;
            }
            let was_urgent = core.cache.urge(id);
            if !was_urgent && !whole && core.cache.entry(id).state == EntryState::Ready {
                self.ready.urge(stream, true);
            }
        }
    }

    /// Sends the dirty pages of a unit to a pool together, and those that waited for their turn, which are among the
    /// members already.
    fn send_unit(&mut self, page: LogicalPage, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let unit = page.0 / self.subs().per_unit;
        let mut members = std::mem::take(&mut self.subs().members);
        let page = members.first().map_or(page, |id| core.cache.entry(*id).logical);
        self.unit_members(page, &mut members, core);
        if !members.is_empty() {
            self.send_members(unit, &members, core, calendar);
        }
        members.clear();
        self.subs().members = members;
    }

    /// Adds the dirty pages that leave with `page`, if it is one, and of its unit to those that waited, and leaves out what was discarded.
    fn unit_members(&mut self, leaving: LogicalPage, members: &mut Vec<EntryId>, core: &mut Core) {
        let per_unit = self.subs().per_unit;
        let asks = core.base.policies.designs.answers(Seam::Coalesce);
        let first = leaving.0 - leaving.0 % per_unit;
        for page in first..first + per_unit {
            if let Some(id) = core.cache.dirty_entry(page)
                && (!asks || page == leaving.0 || leaves_with(leaving.0, page, core))
            {
                core.cache.unlink(id);
                members.push(id);
            }
        }
        members.retain(|id| {
            let discarded = core.cache.entry(*id).discarded;
            if discarded {
                core.cache.drop_entry(*id);
            }
            !discarded
        });
    }

    /// Begins a sub-request of these pages, in the pool that the router says.
    fn send_members(
        &mut self,
        unit: u32,
        members: &[EntryId],
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let per_unit = self.subs().per_unit;
        let (mut sectors, mut tag) = (0, 0);
        for id in members {
            let entry = core.cache.entry(*id);
            (sectors, tag) = (sectors + entry.sectors.count(), entry.tag);
        }
        let stream = self.stream_for(unit * per_unit, tag, sectors, members.len() as u64, core);
        let subs = self.subs();
        let sub = subs.begin(unit, stream);
        let whole = subs.get(sub).whole;
        for id in members {
            let place = core.cache.entry(*id).logical.0 % per_unit;
            self.subs().get(sub).entries[place as usize] = *id;
            let pool = self.subs().pool_of(stream);
            self.subs().note_goes_to(sub, place as usize, pool);
        }
        self.subs().get(sub).waits = members.len() as u32;
        if whole {
            self.carry(sub, core, calendar);
        }
        for id in members.iter().copied() {
            core.cache.send_to(id, stream);
            self.prepare(id, core, calendar);
        }
    }

    /// The stream for a sub-request of so many sectors and pages: the router's, unless its pool has no room for them.
    fn stream_for(&mut self, logical: u32, tag: u8, sectors: u32, pages: u64, core: &mut Core) -> u8 {
        core.base.gather_states();
        if core.base.policies.designs.routes() {
            core.base.policies.designs.note_level(core.cache.level());
        }
        let pools = &core.base.config.pools;
        let home = core.map.get(LogicalPage(logical)).map(|at| pools.number_of_row(pools.row_of(at)) as u8);
        let Base { policies, flash, space, states, .. } = &mut core.base;
        let outgoing = Outgoing { logical, tag, sectors, pools: states, home };
        let chosen = policies.route(&outgoing, Sight { flash, space });
        let subs = self.subs.as_mut().expect(THERE);
        let pool = subs.pool_of(chosen);
        let second = usize::from(pool != EVERYTHING_IN);
        subs.counts.sent[second] += 1;
        subs.counts.sent_bytes[second] += u64::from(sectors) * crate::SECTOR.0;
        if !self.pool_has_room(pool, pages, core) {
            self.subs().counts.turned_away += 1;
            return self.first_stream();
        }
        chosen
    }

    /// Whether a pool has room for so many pages beside what it holds and what is under way to it. The first has room for everything.
    pub(in crate::writer) fn pool_has_room(&self, pool: usize, pages: u64, core: &Core) -> bool {
        let under_way = self.subs.as_ref().expect(THERE).under_way[pool];
        pool == EVERYTHING_IN
            || core.map.held(pool, &core.base) + under_way + pages <= core.base.life.room[pool]
    }

    /// The first stream of the host that goes to the first pool.
    pub(in crate::writer) fn first_stream(&self) -> u8 {
        self.subs.as_ref().expect(THERE).stream_to(EVERYTHING_IN)
    }

    /// Reads what flash holds of the pages of a unit that a sub-request does not bring, for they are programmed with it.
    pub(in crate::writer) fn carry(
        &mut self,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.base.has(Mutant::UnitNotCarried) {
            return;
        }
        let per_unit = self.subs().per_unit;
        let first = self.subs().get(sub).unit * per_unit;
        for place in 0..per_unit {
            let page = LogicalPage(first + place);
            let one = self.subs().get(sub);
            let known = one.carried[place as usize].is_data() || one.entries[place as usize] != NONE;
            if known || page.0 >= core.base.config.logical_pages {
                continue;
            }
            let class = self.class_of_reads_for_unit(sub, core);
            if core.map.locate_or_wait(page, (Then::Carry(sub), class), &mut core.base, calendar) {
                self.carry_page(sub, page, Duration::ZERO, core, calendar);
            } else {
                self.filling += 1;
                self.subs().get(sub).waits += 1;
            }
        }
    }

    /// Reads a page that is carried along, if flash holds it.
    fn carry_page(
        &mut self,
        sub: u32,
        page: LogicalPage,
        waited: Duration,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(location) = core.map.get(page) else { return };
        if core.base.policies.designs.answers(Seam::Coalesce) && !goes_along(page, location, &mut core.base) {
            return;
        }
        let read = LocationRead {
            ticket: Ticket::UnitFill(sub),
            class: self.class_of_reads_for_unit(sub, core),
            location,
            sectors: Wanted::Set(core.base.full_page()),
            logical: page,
            version: core.base.flash.stamp(location).version,
            waited,
        };
        let (die, reads) = core.base.queue_read(read, calendar);
        self.filling += reads;
        self.subs().get(sub).waits += reads;
        core.base.kick(die, calendar);
    }

    /// The class of reads for a sub-request: does a command of the host wait for a page of it, or for one that waits for
    /// its turn?
    fn class_of_reads_for_unit(&self, sub: u32, core: &Core) -> Class {
        let one = &self.subs.as_ref().expect(THERE).all[sub as usize];
        let mut entries = one.entries.iter().chain(&one.later).filter(|id| **id != NONE);
        if entries.any(|id| core.cache.is_waited_for(*id)) { Class::Read } else { Class::Background }
    }

    /// A sub-request knows where a page is that it carries along.
    pub(crate) fn go_on_carrying(
        &mut self,
        sub: u32,
        page: LogicalPage,
        since: Instant,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.filling -= 1;
        self.carry_page(sub, page, calendar.now() - since, core, calendar);
        self.unit_waits_less(sub);
    }

    /// A page of a unit was read to be programmed with the rest of it, or could not be.
    pub(in crate::writer) fn unit_filled(
        &mut self,
        sub: u32,
        page: LogicalPage,
        version: u32,
        core: &mut Core,
    ) {
        core.base.totals.fill_reads += 1;
        self.filling -= 1;
        let place = self.subs().place(page);
        let one = self.subs().get(sub);
        one.carried[place] = Stamp { logical: page.0, version };
        self.unit_waits_less(sub);
    }

    /// A sub-request that is programmed as a whole waits for a page less; for none, it is ready.
    pub(in crate::writer) fn unit_waits_less(&mut self, sub: u32) {
        let one = self.subs().get(sub);
        one.waits -= 1;
        if one.waits == 0 {
            let stream = usize::from(one.stream);
            self.subs().ready[stream].push_back(sub);
        }
    }

    /// A page of a sub-request is complete in the buffer.
    #[inline(never)]
    pub(in crate::writer) fn unit_page_ready(&mut self, id: EntryId, core: &mut Core) {
        let Ready { page, stream, urgent } = core.cache.completed(id, &core.base);
        let subs = self.subs();
        let sub = subs.of(page).expect("a page on its way is part of a sub-request");
        if subs.get(sub).whole {
            self.unit_waits_less(sub);
        } else {
            self.ready.push(usize::from(stream), id, urgent);
        }
    }

    /// Whether an entry that is ready waits in a list, and not for its whole unit.
    pub(in crate::writer) fn waits_in_list(&self, logical: LogicalPage) -> bool {
        let Some(subs) = &self.subs else { return true };
        subs.of(logical).is_none_or(|sub| !subs.all[sub as usize].whole)
    }

    /// A page of a sub-request that goes page by page is in flash, or need not be.
    pub(in crate::writer) fn page_of_sub_request_over(
        &mut self,
        page: LogicalPage,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let subs = self.subs();
        let Some(sub) = subs.of(page) else { return };
        let place = subs.place(page);
        let one = subs.get(sub);
        one.entries[place] = NONE;
        subs.note_goes_to(sub, place, EVERYTHING_IN);
        let one = subs.get(sub);
        if one.whole {
            // The rest of it has left a full pool while this page was being programmed there.
            self.unit_waits_less(sub);
            return;
        }
        one.waits -= 1;
        if one.waits == 0 {
            self.sub_request_over(sub, core, calendar);
        }
    }

    /// A sub-request is over: what waited for it goes on.
    pub(in crate::writer) fn sub_request_over(
        &mut self,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let subs = self.subs();
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

    /// Sends what waits for a pool that has no room any more to the first one instead.
    pub(in crate::writer) fn leave_full_pool(
        &mut self,
        stream: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let first = self.first_stream();
        let ready = self.ready.take(stream);
        for id in ready.pages {
            let page = core.cache.entry(id).logical;
            core.cache.send_to(id, first);
            let whole = self.subs().is_whole(first);
            let subs = self.subs();
            let sub = subs.of(page).expect("a page on its way is part of a sub-request");
            let place = subs.place(page);
            subs.note_goes_to(sub, place, EVERYTHING_IN);
            let one = &mut subs.all[sub as usize];
            let begun = std::mem::replace(&mut one.whole, whole);
            subs.counts.turned_away += u64::from(one.stream != first);
            one.stream = first;
            if !whole {
                self.unit_page_ready(id, core);
                continue;
            }
            // The pages of it that are in flash by now are carried along with the others.
            if !begun {
                self.carry(sub, core, calendar);
            }
            core.cache.ready_again(id);
            self.unit_waits_less(sub);
        }
    }
}

/// Whether a page is programmed with what of its unit goes to the first pool. One that is there does in any case.
fn goes_along(page: LogicalPage, location: Location, base: &mut Base) -> bool {
    let Base { policies, flash, space, config, .. } = base;
    config.pools.number_of_row(config.pools.row_of(location)) == EVERYTHING_IN
        || policies.goes_along(page.0, Sight { flash, space })
}
