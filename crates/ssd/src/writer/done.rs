//! Reactions of the writer to the end of its reads and programs, or to their failure.

use wordline_kernel::Schedule;
use wordline_nand::{DieId, Done, Location, RowId, Stamp};

use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Task, Ticket};
use crate::map::LogicalPage;
use crate::map::translation::{Then, Waiter};
use crate::policy::failure::Failed;
use crate::writer::{Group, Writer};

impl Writer {
    /// The program of the host's program unit of a plane group is done: its pages are mapped to their new
    /// locations, except pages that were written or discarded meanwhile.
    pub(crate) fn host_programmed(
        &mut self,
        row: RowId,
        first: Location,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let group = self.rows.take(row);
        foresee_installs(&group, core);
        let extent = group.extent;
        let moved = if self.has_units() { group.moved() } else { 0 };
        if extent.is_some() || moved > 0 {
            self.queue.note_left(row, &group, core);
            core.base.space.note_on_their_way(core.base.config.pools.number_of_row(row), moved, false);
        }
        for place in 0..group.stamps.len() {
            let location = Location(first.0 + place as u32);
            match group.page(place) {
                Some((stamp, Some(id))) => self.page_programmed(id, stamp, location, core, calendar),
                Some((stamp, None)) if extent.is_none() => {
                    core.map.install_moved(stamp, location, &mut core.base);
                }
                Some((stamp, None)) => core.map.install_carried(stamp, location, &mut core.base),
                None => {}
            }
        }
        core.map.page_written(row);
        let mut over = self.queue.list_of_pages();
        if self.has_units() && extent.is_none() {
            let pages = (0..group.stamps.len()).filter_map(|place| group.page(place));
            over.extend(pages.filter(|(_, id)| id.is_some()).map(|(stamp, _)| LogicalPage(stamp.logical)));
        }
        self.rows.end(row, group);
        core.base.space.program_done(first);
        core.base.space.look_at_row_again(row);
        self.rows.note(row, &core.base, &core.reclaim);
        core.map.note_checkpoint(&mut core.base);
        if let Some(extent) = extent {
            self.queue.extent_programmed(extent, core, calendar);
        }
        self.queue.pages_over(over, core, calendar);
    }

    /// A buffered page was programmed to `location`: it is mapped there, unless it is invalid.
    #[inline]
    fn page_programmed(
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

    /// A page that was written again during its program is destaged once more.
    fn dirty_again(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let entry = core.cache.entry(id);
        if entry.discarded {
            core.cache.unlink(id);
            core.cache.drop_entry(id);
        } else if entry.urgent || core.cache.is_drained(id) {
            self.queue.urge(id, core, calendar);
        }
    }

    /// The program of translation pages or discard records of a plane group is done.
    pub(crate) fn tables_programmed(&mut self, row: RowId, first: Location, core: &mut Core) {
        let group = self.rows.take(row);
        for (n, stamp) in group.stamps.iter().enumerate().filter(|(_, stamp)| stamp.is_data()) {
            core.map.table_programmed(*stamp, Location(first.0 + n as u32), &mut core.base);
        }
        core.map.page_written(row);
        self.rows.end(row, group);
        core.base.space.program_done(first);
        self.rows.note(row, &core.base, &core.reclaim);
    }

    /// The program of the host's program unit of a plane group failed: its pages, which the buffer still has,
    /// go elsewhere at once.
    fn host_program_failed(&mut self, failed: Failed, row: RowId, first: Location, core: &mut Core) {
        let group = self.rows.take(row);
        core.base.space.program_done(first);
        core.base.space.spoil_word_line(first);
        core.base.space.look_at_row_again(row);
        group
            .kept
            .iter()
            .for_each(|(at, stamp)| core.cache.lose_beside(*at, *stamp, &mut core.base, &mut core.map));
        group.entries().for_each(|id| core.cache.program_failed(id));
        match group.extent {
            Some(extent) => self.queue.extent_failed(extent, &group, core),
            None => group.entries().for_each(|id| {
                core.cache.urge(id);
                self.queue.make_ready(id, core);
            }),
        }
        if group.moved() > 0 {
            self.moved_come_back(row, &group, core);
        }
        self.rows.end(row, group);
        core.reclaim.program_failed(failed, first, &mut core.base, &mut core.map);
    }

    /// Relocated pages in a program unit that go to another pool were not programmed: they wait again.
    fn moved_come_back(&mut self, row: RowId, group: &Group, core: &mut Core) {
        core.base.space.note_on_their_way(core.base.config.pools.number_of_row(row), group.moved(), false);
        for stamp in group.moved_stamps() {
            if let Some(at) = core.map.get(LogicalPage(stamp.logical)) {
                core.reclaim.come_back(core.base.config.pools.row_of(at), at);
            }
        }
    }

    /// The program of translation pages of a plane group failed: they are still in memory.
    fn table_program_failed(&mut self, failed: Failed, row: RowId, first: Location, core: &mut Core) {
        let group = self.rows.take(row);
        core.base.space.program_done(first);
        for stamp in group.stamps.iter().rev().filter(|stamp| stamp.is_data()) {
            core.map.table_program_failed(*stamp);
        }
        self.rows.end(row, group);
        core.reclaim.program_failed(failed, first, &mut core.base, &mut core.map);
    }

    /// A program or erase failed, or a program was rejected.
    #[cold]
    pub(crate) fn change_failed(
        &mut self,
        failed: Failed,
        task: &Task,
        done: &Done,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.base.tell_programmed(task, done, true);
        let row = match task.ticket {
            Ticket::HostUnit(row) => {
                self.host_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::TableUnit(row) => {
                self.table_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::Reclaim(row, _) => {
                core.reclaim.step_failed(failed, row, task, &mut core.base, &mut core.map);
                row
            }
            _ => unreachable!("{task:?} changes pages"),
        };
        self.note_row(row, core);
        self.collect(row, core, calendar);
    }

    /// Pages of a read, a bit each in `unread`, could not be read after all retries: their data are lost.
    /// Returns whether the data are read elsewhere instead.
    #[cold]
    pub(crate) fn read_failed(
        &mut self,
        task: &Task,
        unread: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        core.cache.lose_unread(task, unread, &mut core.base, &mut core.map);
        let block = core.base.config.pools.block_of_page(task.page);
        core.reclaim.failed(Failed::Read, block, &mut core.base, &mut core.map);
        let row = core.base.space.row_of(block);
        self.note_row(row, core);
        // The read of a victim is a step that has not ended: nothing new begins then.
        self.collect(row, core, calendar);
        if task.is_reclaim() {
            return false;
        }
        let elsewhere = core.map.read_elsewhere(task, &mut core.base, calendar.now());
        if let Some(die) = elsewhere {
            core.base.kick(die, calendar);
            self.read_over(task.page, core, calendar);
        }
        elsewhere.is_some()
    }

    /// A command of this die failed: the die may have failed, with everything in it.
    #[cold]
    pub(crate) fn note_dead_die(&mut self, die: DieId, core: &mut Core) {
        let chips = core.base.flash.chips();
        if core.base.totals.failed_dies < u64::from(chips.failed_dies()) && chips.is_dead(die) {
            self.lose_die(die, core);
            core.map.check_life(&mut core.base);
        }
    }

    /// A die has failed with everything in it.
    pub(crate) fn lose_die(&mut self, die: DieId, core: &mut Core) {
        core.base.totals.failed_dies += 1;
        let mut locations = Vec::new();
        for row in core.base.config.pools.of_die(die).geometry.rows_of(die) {
            core.reclaim.lose(row);
            let good = core.base.space.lose_row(row, |location| locations.push(location));
            core.base.totals.grown_bad_blocks += u64::from(good);
            core.map.lose_row(row, &core.base);
            self.rows.note(row, &core.base, &core.reclaim);
        }
        // Program units that wait for the lost plane groups go elsewhere.
        self.rows.lost_one();
        locations
            .into_iter()
            .for_each(|location| core.cache.lose_location(location, &mut core.base, &mut core.map));
    }

    /// An RMW read of a page has ended, or found nothing.
    #[inline]
    pub(crate) fn fill_done(
        &mut self,
        task: &Task,
        entry: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.base.totals.rmw_reads += 1;
        self.queue.filled(entry, core);
        self.read_over(task.page, core, calendar);
    }

    /// The RMW read of a page that is programmed with its unit has ended.
    #[inline(never)]
    pub(crate) fn unit_fill_done(
        &mut self,
        task: &Task,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.queue.unit_filled(sub, LogicalPage(task.wanted.logical), task.wanted.version, core);
        self.read_over(task.page, core, calendar);
    }

    /// A page was located for which an entry, or a sub-request that carries the page along, waited on its way
    /// to flash.
    pub(crate) fn go_on_located(
        &mut self,
        waiter: &Waiter,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        match waiter.then {
            Then::Prepare(entry) => self.queue.go_on_preparing(entry, core, calendar),
            Then::Carry(sub) => self.queue.go_on_carrying(sub, waiter.page, waiter.since, core, calendar),
            Then::Read(_) => unreachable!("{waiter:?} reads for the host"),
        }
    }
}

/// Prefetches the table entries that the end of a program needs, for all its pages at once: they are far
/// apart in large tables.
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
