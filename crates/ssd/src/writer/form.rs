//! Program units of the host's pages: formed of complete pages, programmed, and mapped.

use wordline_kernel::Schedule;
use wordline_nand::{Location, RowId, Stamp};

use crate::base::Base;
use crate::cache::Begun;
use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Class, Ticket};
use crate::map::LogicalPage;
use crate::pools::EVERYTHING_IN;
use crate::space::StreamId;
use crate::writer::{Counted, Group, Writer};

impl Writer {
    /// Takes pages out of the buffer as far as they must leave, and forms program units as far as rows take them. Whether it formed
    /// one.
    pub(crate) fn move_on(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        self.rows.forget_opened();
        self.draw_from_list(core, calendar);
        self.write_tables(core, calendar);
        let formed = self.form_of_pages(core, calendar);
        let formed_whole = self.subs.is_some() && self.form_whole_units(core, calendar);
        formed | formed_whole
    }

    /// Forms groups of the pages that wait, list by list: in the row that is their home, or in those that take them.
    fn form_of_pages(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        // A page that has its place in a row lets it go on, whether the row takes anything now or not.
        let by_row = self.ready.have_homes() && core.map.by_block().is_none();
        // Where nothing moves a unit is padded, whatever there is of it.
        let pads = !by_row || self.look_for_rows(core, calendar);
        let (mut formed, mut next) = (false, 0);
        while let Some(list) = match by_row {
            true => self.ready.ripe_from(next, pads, self.rows.of_all()),
            false => self.ready.held_from(next),
        } {
            next = list + 1;
            formed |= match self.ready.home(list) {
                Some(row) => self.form_at_home(row, list, core, calendar),
                None => self.form_anywhere(list, core, calendar),
            };
        }
        if by_row && core.base.policies.balances() {
            formed |= self.balance(core, calendar);
        }
        formed
    }

    /// Looks for rows of all streams; whether nothing moves.
    #[inline(never)]
    fn look_for_rows(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        for stream in 0..self.rows.of_all().len() {
            self.look_for_row(stream, core, calendar);
        }
        self.nothing_moves(core)
    }

    /// The host's group of a row goes to flash with what the buffer has of its pages.
    #[cold]
    fn note_sent(&self, row: RowId, core: &mut Core) {
        let Some(contents) = &mut core.base.contents else { return };
        for entry in self.groups[row].entries().map(|id| core.cache.entry(id)) {
            contents.sent(entry.logical, entry.version);
        }
    }

    /// Whether an unfilled program unit must be written of a list: somebody waits for a page of it and no other page is
    /// coming, or nothing else would ever make room.
    pub(super) fn must_pad(&self, list: usize, core: &Core) -> bool {
        self.filling == 0 && (self.ready[list].urgent > 0 || self.nothing_moves(core))
    }

    /// Whether writes wait for room and nothing is being programmed that would make some.
    fn nothing_moves(&self, core: &Core) -> bool {
        self.programming == 0 && core.cache.stalls()
    }

    /// Forms program units of pages of a list that may go anywhere.
    fn form_anywhere(&mut self, list: usize, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        while !self.ready[list].pages.is_empty() {
            if !self.look_for_row(list, core, calendar) {
                formed |= self.subs.is_some() && self.looks_elsewhere(list, core, calendar);
                break;
            }
            let unit = self.rows.unit_of(list, &core.base);
            if (self.ready[list].pages.len() as u32) < unit {
                if !self.must_pad(list, core) {
                    break;
                }
                self.top_up(list, unit, core);
            }
            let row = core.base.place(self.rows.that_take(list));
            if self.rows.is_outgrown(row, list, unit, &core.base) {
                self.rows.note(row, &core.base, &core.reclaim);
                continue;
            }
            self.form(row, list, core, calendar);
            formed = true;
        }
        formed
    }

    /// Fills a program unit that must go with dirty pages that are complete, instead of padding. The router may send
    /// them elsewhere.
    #[inline(never)]
    fn top_up(&mut self, list: usize, unit: u32, core: &mut Core) {
        while (self.ready[list].pages.len() as u32) < unit {
            if core.cache.dirty() == 0 || self.subs.is_some() {
                return;
            }
            let id = core.cache.next_out();
            if !core.cache.is_complete(id, &core.base, &core.map) {
                return;
            }
            core.cache.unlink(id);
            self.make_ready(id, core);
        }
    }

    /// Forms a program unit of pages of a list whose home is a row, if it takes one and there is one, or one must go. Where pages
    /// have their places in the row, what must be done before that is begun.
    #[inline(never)]
    fn form_at_home(
        &mut self,
        row: RowId,
        list: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        if core.map.by_block().is_some() {
            return self.work_on(row, core, calendar);
        }
        let stream = self.ready.stream(list);
        let waiting = self.ready[list].pages.len() as u32;
        let complete = waiting >= core.base.space.unit(row, core.base.space.streams().host(stream as u8));
        let goes =
            (complete || (waiting > 0 && self.must_pad(list, core))) && self.rows.of(stream).contains(row);
        if goes {
            self.form(row, list, core, calendar);
        }
        goes
    }

    /// Takes up to a program unit of pages from a list and queues their program in `row`.
    pub(super) fn form(
        &mut self,
        row: RowId,
        list: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let stream = core.base.space.streams().host(self.ready.stream(list) as u8);
        let pages = core.base.space.unit(row, stream) as usize;
        let mut group = std::mem::take(&mut self.groups[row]);
        let mut over = self.list_of_pages();
        while group.stamps.len() < pages {
            let Some(id) = self.ready.pop(list) else { break };
            let Begun { page, stamp, was_urgent } = core.cache.begin_program(id);
            if was_urgent {
                self.ready.urge(list, false);
            }
            if let Some(stamp) = stamp {
                group.push(id, stamp);
            } else if self.subs.is_some() {
                over.push(page);
            }
        }
        let is_empty = group.stamps.is_empty();
        self.groups[row] = group;
        if !is_empty {
            self.send(row, stream, core, calendar);
        }
        self.pages_over(over, core, calendar);
    }

    /// Queues the program of the host's group of a row, padded to a whole one.
    pub(in crate::writer) fn send(
        &mut self,
        row: RowId,
        stream: StreamId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let places = core.base.space.unit(row, stream);
        let Counted { host, carried, .. } = self.counted(row);
        self.programming += host as u32;
        core.base.totals.host_programs += host;
        core.base.totals.unit_programs += carried;
        core.base.totals.padding += u64::from(places) - host - carried;
        if core.base.space.caches(row) && core.base.space.writes_slc(row, stream) {
            core.base.totals.slc_programs += host;
        }
        self.groups[row].pad(places as usize);
        self.rows.set_busy(row, true);
        if let Some(translation) = core.map.translation_mut() {
            translation.turn_over(row);
        }
        self.queue_unit(row, stream, Ticket::HostUnit(row), core, calendar);
    }

    /// A list for pages of sub-requests that are over; one without room where there are no sub-requests.
    #[inline]
    fn list_of_pages(&mut self) -> Vec<LogicalPage> {
        self.subs.as_mut().map_or_else(Vec::new, |subs| std::mem::take(&mut subs.over))
    }

    /// Pages of sub-requests need not come to flash any more, or are there.
    #[inline]
    fn pages_over(
        &mut self,
        mut pages: Vec<LogicalPage>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.subs.is_some() {
            pages.drain(..).for_each(|page| self.page_of_sub_request_over(page, core, calendar));
            self.subs().over = pages;
        }
    }

    /// Where nothing goes on any more in the pool of a list, and no row of it will take the pages that wait, they go to
    /// the first pool; whether they do.
    #[inline(never)]
    fn looks_elsewhere(&mut self, list: usize, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let leaves =
            self.rows.pool_of(list) != EVERYTHING_IN && self.programming == 0 && core.reclaim.is_idle();
        if leaves {
            self.leave_full_pool(list, core, calendar);
        }
        leaves
    }

    /// Queues the program of the unit of `row`.
    pub(in crate::writer) fn queue_unit(
        &mut self,
        row: RowId,
        stream: StreamId,
        ticket: Ticket,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.base.contents.is_some() && ticket == Ticket::HostUnit(row) {
            self.note_sent(row, core);
        }
        let (pages, cost) = (core.base.space.unit(row, stream), core.base.space.cost(row, stream));
        let first = core.map.take_place(row, stream, pages, &mut core.base);
        if let Some(extent) = self.groups[row].extent {
            self.extent_goes_to(extent, first, core);
        }
        core.reclaim.spend(row, cost);
        self.rows.note(row, &core.base, &core.reclaim);
        core.base.set_mode(row, core.base.config.pools.page_of(first));
        let Base { flash, .. } = &mut core.base;
        let group = &self.groups[row].stamps;
        let (die, stamps) = flash.program(calendar.now(), (ticket, Class::Write), first, group.len() as u32);
        stamps.copy_from_slice(group);
        core.base.kick(die, calendar);
        self.collect(row, core, calendar);
    }

    /// The program of the host's group of `row` is done: its pages are where they were written, but for those that were written
    /// or discarded meanwhile.
    pub(crate) fn host_programmed(
        &mut self,
        row: RowId,
        first: Location,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let mut group = std::mem::take(&mut self.groups[row]);
        foresee_installs(&group, core);
        if group.extent.is_some() {
            self.note_left(row, &group, core);
        }
        for place in 0..group.stamps.len() {
            let location = Location(first.0 + place as u32);
            match group.page(place) {
                Some((stamp, Some(id))) => self.page_programmed(id, stamp, location, core, calendar),
                Some((stamp, None)) => core.map.install_carried(stamp, location, &mut core.base),
                None => {}
            }
        }
        self.programming -= group.brought();
        core.map.page_written(row);
        let mut over = self.list_of_pages();
        let extent = group.extent;
        if self.subs.is_some() && extent.is_none() {
            let data = group.stamps.iter().filter(|stamp| stamp.is_data());
            over.extend(data.map(|stamp| LogicalPage(stamp.logical)));
        }
        group.clear();
        self.rows.set_busy(row, false);
        self.groups[row] = group;
        core.base.space.program_done(first);
        self.rows.note(row, &core.base, &core.reclaim);
        core.map.note_checkpoint(&mut core.base);
        if let Some(extent) = extent {
            self.extent_programmed(extent, core, calendar);
        }
        self.pages_over(over, core, calendar);
    }

    /// A page of the buffer was programmed to `location`: it is there, unless it is void.
    #[inline]
    pub(in crate::writer) fn page_programmed(
        &mut self,
        id: EntryId,
        stamp: Stamp,
        location: Location,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Stamp { logical, version } = stamp;
        let page = LogicalPage(logical);
        if core.cache.is_there(id, version) {
            let old = core.map.install(page, location, &mut core.base);
            core.map.note_update(page, old, location, &core.base);
            core.map.in_flash(page, version);
        }
        if core.cache.programmed(id, version) {
            self.dirty_again(id, core, calendar);
        } else if core.cache.keeps_reads() {
            core.cache.keep_programmed(page, version, &core.base, &core.map);
        }
    }

    /// A page that was written again while it was programmed goes round once more.
    fn dirty_again(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let entry = core.cache.entry(id);
        if entry.discarded {
            core.cache.unlink(id);
            core.cache.drop_entry(id);
        } else if entry.urgent || core.cache.is_drained(id) {
            self.urge(id, core, calendar);
        }
    }
}

/// Asks for what the end of a program looks up, for all its pages at once: they lie far apart in large tables.
fn foresee_installs(group: &Group, core: &Core) {
    let data = group.stamps.iter().take_while(|stamp| stamp.is_data());
    let pages = || data.clone().map(|stamp| LogicalPage(stamp.logical));
    for page in pages() {
        core.map.prefetch(page);
        core.cache.prefetch(page);
    }
    for old in pages().filter_map(|page| core.map.get(page)) {
        core.base.space.prefetch(old);
    }
}
