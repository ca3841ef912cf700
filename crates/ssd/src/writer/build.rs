//! Program units: built from complete host pages, sub-requests or table pages, and queued in plane groups
//! that accept them.

use wordline_flash::{Class, Ticket};
use wordline_ftl::Ftl;
use wordline_ftl::blocks::StreamId;
use wordline_ftl::design::{DesignContext, WordLineQueries};
use wordline_ftl::map::Tables;
use wordline_ftl::policy::placement::PlaneGroupSet;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_ftl::recovery::PageCounts;
use wordline_kernel::Schedule;
use wordline_nand::{CellMode, PlaneGroupId};

use crate::engines::Core;
use crate::event::Event;
use crate::writer::Writer;
use crate::writer::plane_groups::reclaimed_pages;

impl Writer {
    /// Destages pages that must leave the buffer, and builds program units as long as plane groups accept
    /// them. Returns whether it built any.
    pub(crate) fn build_units(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        self.rows.clear_opened();
        if self.rows.has_modes() {
            self.select_reprogram(core);
        }
        self.queue.destage_excess(self.rows.programming(), core, calendar);
        self.write_tables(false, core, calendar);
        let formed = self.build_page_units(core, calendar);
        let formed_whole = self.has_units() && self.build_whole_units(core, calendar);
        formed | formed_whole
    }

    /// Selects the word lines that are reprogrammed next. The selection determines the size of the program
    /// units that plane groups accept.
    #[inline(never)]
    fn select_reprogram(&mut self, core: &mut Core) {
        while let Some(row) = core.ftl.blocks.take_unselected() {
            core.ftl.gc.drop_invalid_reclaimed(row, &core.ftl.blocks);
            let Ftl { blocks, flash, policies, .. } = &mut core.ftl;
            blocks.select_reprogram(row, &mut WordLineQueries { flash, policies });
            self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
        }
    }

    /// Builds program units of the waiting pages, list by list, in the assigned plane group or in any that
    /// accepts them.
    fn build_page_units(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        // With block-level mapping a waiting page starts work in its plane group, even if the plane group
        // accepts no program now.
        let by_row = self.queue.lists().has_static_allocation() && core.ftl.block_map.is_none();
        // If everything is stalled, a unit is padded, however small.
        let waits = self.queue.lists().nonempty_from(0).is_some();
        let pads = !by_row || waits && self.check_all_streams(core, calendar);
        let (mut formed, mut next) = (false, 0);
        while let Some(list) = match by_row {
            true => self.queue.lists().with_unit_from(next, pads, self.rows.of_all()),
            false => self.queue.lists().nonempty_from(next),
        } {
            next = list + 1;
            formed |= match self.queue.lists().home(list) {
                Some(row) => self.build_at_home(row, list, core, calendar),
                None => self.build_anywhere(list, core, calendar),
            };
        }
        if by_row && (core.ftl.policies.balances() || self.has_units()) {
            formed |= self.balance(core, calendar);
        }
        formed
    }

    /// Looks for plane groups for all streams. Returns whether everything is stalled.
    #[inline(never)]
    fn check_all_streams(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        for stream in 0..self.rows.of_all().len() {
            self.ensure_accepting_group(stream, core, calendar);
        }
        self.rows.is_stalled(&core.cache)
    }

    /// Builds program units of a list whose pages may go to any plane group.
    fn build_anywhere(&mut self, list: usize, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        while !self.queue.lists()[list].pages.is_empty() {
            if !self.ensure_accepting_group(list, core, calendar) {
                formed |= self.has_units() && self.redirect_to_first_pool(list, core, calendar);
                break;
            }
            let unit = self.rows.unit_of(list, &core.ftl.config.pools);
            if (self.queue.lists()[list].pages.len() as u32) < unit {
                if !self.queue.must_pad(list, &self.rows, core) {
                    break;
                }
                self.queue.top_up(list, unit, core);
            }
            let row = place(self.rows.preferred_groups(list), &mut core.ftl);
            if self.rows.has_larger_unit(row, list, unit, &core.ftl.blocks) {
                self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
                continue;
            }
            self.build_unit(row, list, core, calendar);
            formed = true;
        }
        formed
    }

    /// Builds a program unit of a list in its assigned plane group, if the plane group accepts one and the
    /// unit is complete or must be written. With block-level mapping, queues the command that is needed next.
    #[inline(never)]
    fn build_at_home(
        &mut self,
        row: PlaneGroupId,
        list: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        if core.ftl.block_map.is_some() {
            return self.work_on(row, core, calendar);
        }
        let waiting = self.queue.lists()[list].pages.len() as u32;
        let (stream, beside) = self.rows.with_reclaimed(row, list, self.queue.lists(), core);
        let unit = core.ftl.blocks.unit(row, core.ftl.blocks.streams().host(stream as u8));
        let complete = waiting + beside >= unit;
        let goes = (complete || (waiting > 0 && self.queue.must_pad(list, &self.rows, core)))
            && self.rows.of(stream).contains(row);
        if goes {
            self.build_unit(row, list, core, calendar);
        }
        let takes_none = self.has_units() && waiting > 0 && self.rows.of(stream).is_empty();
        goes || takes_none && self.redirect_to_first_pool(list, core, calendar)
    }

    /// Takes up to a program unit of pages from a list and queues their program in `row`.
    pub(super) fn build_unit(
        &mut self,
        row: PlaneGroupId,
        list: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let (stream, beside) = self.rows.with_reclaimed(row, list, self.queue.lists(), core);
        let stream = core.ftl.blocks.streams().host(stream as u8);
        let unit = core.ftl.blocks.unit(row, stream);
        let beside = match beside {
            0 => 0,
            may => {
                let waiting = self.queue.lists()[list].pages.len() as u32;
                reclaimed_pages(row, waiting, unit, may, &core.ftl.config.pools)
            }
        };
        let over =
            self.queue.fill(list, (unit - beside) as usize, self.rows.program_unit_mut(row), &mut core.cache);
        if !self.rows.group(row).is_empty() {
            if beside > 0 {
                let group = self.rows.program_unit_mut(row);
                core.ftl.gc.take_reclaimed(row, beside, |stamp| group.carry(stamp));
            }
            self.send(row, stream, core, calendar);
        }
        self.queue.finish_pages(over, core, calendar);
    }

    /// Queues the program of a host program unit in its plane group, padded to full size.
    fn send(
        &mut self,
        row: PlaneGroupId,
        stream: StreamId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let places = core.ftl.blocks.unit(row, stream);
        let PageCounts { host, carried, .. } = self.rows.group(row).count_pages();
        core.ftl.totals.host_programs += host;
        core.ftl.totals.unit_programs += carried;
        core.ftl.totals.padding += u64::from(places) - host - carried;
        let mode = core.ftl.blocks.next_mode(row, stream);
        core.ftl.totals.count_in_mode(mode, host);
        self.rows.begin(row, host as u32, places);
        core.ftl.map_cache.note_host_program(row);
        self.queue_unit(row, stream, Ticket::HostUnit(row), core, calendar);
    }

    /// Sends the waiting pages of a list to the first pool, if everything is idle and no plane group of their
    /// own pool accepts them. Returns whether it did.
    #[inline(never)]
    fn redirect_to_first_pool(
        &mut self,
        list: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let pool = self.rows.pool_of(self.queue.lists().stream(list));
        let leaves = pool != FALLBACK_POOL && self.rows.is_idle(&core.ftl.gc);
        if leaves {
            self.queue.redirect_full_pool(list, core, calendar);
        }
        leaves
    }

    /// Queues the program of the program unit of `row`.
    fn queue_unit(
        &mut self,
        row: PlaneGroupId,
        stream: StreamId,
        ticket: Ticket,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(contents) = &mut core.ftl.contents
            && ticket == Ticket::HostUnit(row)
        {
            self.rows.note_sent(row, &core.cache, contents);
        }
        let (pages, cost) = (core.ftl.blocks.unit(row, stream), core.ftl.blocks.cost(row, stream));
        let mode = core.ftl.blocks.next_mode(row, stream);
        let first = match &core.ftl.block_map {
            Some(map) => map.write_target(row),
            None => {
                let Ftl { blocks, flash, policies, .. } = &mut core.ftl;
                blocks.take(row, stream, pages, &mut WordLineQueries { flash, policies })
            }
        };
        if let Some(extent) = self.rows.group(row).extent {
            self.subs().set_unit_location(extent, first, core);
        }
        core.ftl.gc.spend(row, cost);
        self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
        if let Some((block, mode)) = core.ftl.blocks.mode_of_program(row, first) {
            core.ftl.flash.set_mode(block, mode);
        }
        let times = if let CellMode::Reprogrammed(times) = mode { times } else { 0 };
        if times > 0 {
            self.rows.keep_partner_pages(row, first, &core.ftl.blocks, &core.ftl.flash);
        }
        let group = &self.rows.group(row).stamps;
        let (by, program) = ((ticket, Class::Write), (first, group.len() as u32));
        let (die, stamps) = core.ftl.flash.reprogram(calendar.now(), by, program, times);
        stamps.copy_from_slice(group);
        core.start_die(die, calendar);
        self.collect(row, core, calendar);
    }

    /// Builds program units outside the assigned plane group of their pages. Returns whether it built any.
    #[inline(never)]
    fn balance(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        for list in 0..self.queue.lists().len() {
            while let Some(row) = self.rows.overflow_group(list, &self.queue, self.has_units(), core) {
                self.build_remote(row, list, core, calendar);
                formed = true;
            }
        }
        if self.has_units() {
            return formed;
        }
        let unit = core.ftl.config.pools.first().locations.per_program;
        let mut waits = self.balance.count(self.queue.lists(), unit);
        let mut rows = core.ftl.config.pools.all_groups();
        while waits && let Some(row) = rows.next() {
            let Ftl { blocks, flash, policies, .. } = &mut core.ftl;
            let lists = self.queue.lists();
            if let Some(list) = self.balance.list_to_steal(row, lists, &self.rows, blocks, flash, policies) {
                self.build_remote(row, list, core, calendar);
                formed = true;
                waits = self.balance.count(self.queue.lists(), unit);
            }
        }
        formed
    }

    /// Builds a program unit of a list outside the assigned plane group of its pages.
    fn build_remote(
        &mut self,
        row: PlaneGroupId,
        list: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.build_unit(row, list, core, calendar);
        core.ftl.totals.remote_programs += u64::from(self.rows.group(row).entry_count());
    }

    /// Programs whole units as long as plane groups accept them. Another pool may steal units that no plane
    /// group accepts.
    #[inline(never)]
    fn build_whole_units(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        for stream in self.subs().streams() {
            while self.subs().has_ready(stream) && self.ensure_accepting_group(stream, core, calendar) {
                self.build_whole_unit(stream, core, calendar);
                formed = true;
            }
        }
        formed | self.queue.steal(&self.rows, core)
    }

    /// Queues the program of the next sub-request of a stream, with the carried pages of its unit. The caller
    /// has ensured that a plane group accepts it.
    fn build_whole_unit(&mut self, stream: usize, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let row = place(self.rows.preferred_groups(stream), &mut core.ftl);
        let id = core.ftl.blocks.streams().host(stream as u8);
        let places = core.ftl.blocks.unit(row, id);
        let sub = self.queue.fill_whole_unit(stream, places, self.rows.program_unit_mut(row), core);
        if self.rows.group(row).count_pages().data == 0 {
            // All its pages were discarded since it was queued.
            self.rows.program_unit_mut(row).clear();
            self.queue.finish_sub_request(sub, core, calendar);
            return;
        }
        self.send(row, id, core, calendar);
    }

    /// Writes dirty table pages, and pages that migrate to another pool, as long as plane groups accept them. If
    /// this ends an event, starts the dies of the reads that table pages need.
    #[inline]
    pub(crate) fn write_tables(
        &mut self,
        ends_event: bool,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.ftl.map_cache.translation().is_some() {
            self.write_translation(core, calendar);
            if ends_event {
                core.start_dies(calendar);
            }
        }
        while core.ftl.tables.has_discards_to_write() && self.write_unit(Tables::Discards, core, calendar) {}
        if core.ftl.gc.departures().has_waiting() {
            self.write_relocated(core, calendar);
        }
    }

    /// Queues complete program units of pages that migrate to another pool, as long as plane groups accept
    /// them.
    #[inline(never)]
    fn write_relocated(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for stream in 0..core.ftl.policies.host_streams() {
            while self.write_relocated_unit(stream, core, calendar) {}
        }
    }

    /// Queues one program unit of migrating pages. Returns whether another call may queue more.
    ///
    /// If the other pool does not accept pages that hold up GC, they stay in their own pool. A unit is never
    /// padded, because the two pools could then send pages back and forth without gain.
    fn write_relocated_unit(
        &mut self,
        stream: u8,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let list = usize::from(stream);
        let (waiting, hurries) = core.ftl.gc.migrating_to(stream, &core.ftl.blocks);
        let unit = self.rows.unit_of(list, &core.ftl.config.pools);
        let has_room = self.subs().has_room(self.rows.pool_of(list), unit.into(), core);
        if waiting >= unit && has_room && self.ensure_accepting_group(list, core, calendar) {
            let row = place(self.rows.preferred_groups(list), &mut core.ftl);
            // The mode may have changed since the plane group was last updated.
            if core.ftl.blocks.unit(row, core.ftl.blocks.streams().host(stream)) != unit {
                self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
                return true;
            }
            let group = self.rows.program_unit_mut(row);
            core.ftl.gc.take_migrating(stream, unit, |stamp| group.carry(stamp));
            core.ftl.blocks.count_in_flight(core.ftl.config.pools.number_of_group(row), unit, true);
            self.send(row, core.ftl.blocks.streams().host(stream), core, calendar);
            return true;
        }
        if waiting > 0 && (hurries || !has_room) {
            for row in core.ftl.gc.keep(stream) {
                self.collect(row, core, calendar);
            }
        }
        false
    }

    /// Writes discard records that have fixed locations, one after another in each plane group.
    #[inline(never)]
    fn write_in_place(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let mut last = None;
        while let Some((row, page)) = core
            .ftl
            .tables
            .next_discard_page(&*core.ftl.policies.placement)
            .filter(|next| last != Some(*next))
        {
            last = Some((row, page));
            self.work_on(row, core, calendar);
        }
    }

    /// Queues the program of the next discard record, which has a fixed location in this plane group.
    pub(super) fn build_discard_record(
        &mut self,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.build_table_unit(Tables::Discards, row, core, calendar);
    }

    /// Reads and writes translation pages. Not inlined, so that devices without translation pages pay only
    /// for the test in the caller.
    #[inline(never)]
    fn write_translation(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        loop {
            let class = if core.cache.waiting().has_stalled() { Class::Read } else { Class::Background };
            core.ftl.read_queued_tables(class, &mut calendar.within(Event::Flash));
            if !self.write_unit(Tables::Translation, core, calendar) {
                return;
            }
        }
    }

    /// Queues a program unit of table pages, if there is one and a plane group accepts it.
    #[inline(never)]
    fn write_unit(&mut self, of: Tables, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        if core.ftl.block_map.is_some() {
            self.write_in_place(core, calendar);
            return false;
        }
        let stream = self.rows.of_all().len() - 1;
        if !core.ftl.tables.has_unit(of, &core.ftl.map_cache)
            || !self.ensure_accepting_group(stream, core, calendar)
        {
            return false;
        }
        let Some(row) = self.row_for_tables(of, &mut core.ftl) else { return false };
        let host_waits = || self.rows.has_waiting_pages(row, self.queue.lists(), &core.ftl.blocks);
        let goes = core.ftl.tables.may_write_to(row, of, &core.ftl.map_cache, host_waits);
        if goes {
            self.build_table_unit(of, row, core, calendar);
        }
        goes
    }

    /// Plane group for a program unit of table pages. With static allocation it has more free space than its
    /// own pages need.
    fn row_for_tables(&self, of: Tables, ftl: &mut Ftl) -> Option<PlaneGroupId> {
        let accepting = self.rows.for_tables();
        if !ftl.health.has_static_pages() {
            return Some(place(accepting, ftl));
        }
        let Ftl { tables, map_cache, health, blocks, policies, .. } = ftl;
        tables.row_for_tables(of, accepting, map_cache, health, blocks, policies.balances())
    }

    /// Queues a program unit of table pages in a plane group.
    fn build_table_unit(
        &mut self,
        of: Tables,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let stream = self.rows.of_all().len() - 1;
        let places = core.ftl.config.pools.per_program(row);
        let group = self.rows.program_unit_mut(row);
        let Ftl { totals, map, map_cache, tables, .. } = &mut core.ftl;
        tables.fill_unit(of, (row, places), &mut group.stamps, map, map_cache);
        let pages = group.stamps.len() as u64;
        totals.translation_programs += pages;
        totals.padding += u64::from(places) - pages;
        self.rows.begin(row, 0, places);
        let stream = core.ftl.blocks.streams().host(stream as u8);
        self.queue_unit(row, stream, Ticket::TableUnit(row), core, calendar);
    }
}

/// Selects one of these plane groups. The set must not be empty.
#[inline]
fn place(rows: &PlaneGroupSet, ftl: &mut Ftl) -> PlaneGroupId {
    let Ftl { policies, flash, blocks, .. } = ftl;
    policies.place(rows, DesignContext { flash, blocks })
}
