//! Completions: how the writer handles the end of its reads and programs, and their failures.

use wordline_flash::policy::failure::FailedOperation;
use wordline_flash::{Task, Ticket};
use wordline_ftl::Ftl;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::map::translation::{Continuation, Waiter};
use wordline_kernel::Schedule;
use wordline_nand::{CommandCompletion, DieId, Location, PlaneGroupId};

use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::writer::{ProgramUnit, Writer, failing, losses};

impl Writer {
    /// Handles the end of a host program. Its pages are mapped to their new locations, except pages that were
    /// written or discarded meanwhile.
    pub(crate) fn host_programmed(
        &mut self,
        row: PlaneGroupId,
        first: Location,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let group = self.rows.take(row);
        prefetch_installs(&group, core);
        let extent = group.extent;
        let moved = if self.has_units() { group.relocated_count() } else { 0 };
        if extent.is_some() || moved > 0 {
            self.queue.note_source_groups(row, &group, core);
            core.ftl.blocks.count_in_flight(core.ftl.config.pools.number_of_group(row), moved, false);
        }
        for place in 0..group.stamps.len() {
            let location = Location(first.0 + place as u32);
            match group.page(place) {
                Some((stamp, Some(id))) => self.queue.page_programmed(id, stamp, location, core, calendar),
                Some((stamp, None)) if extent.is_none() => {
                    let Ftl { map_cache, map, blocks, flash, .. } = &mut core.ftl;
                    map_cache.install_migrated(stamp, location, map, blocks, flash);
                }
                Some((stamp, None)) => {
                    let Ftl { map_cache, map, blocks, flash, .. } = &mut core.ftl;
                    map_cache.install_carried(stamp, location, map, blocks, flash);
                }
                None => {}
            }
        }
        if let Some(map) = &mut core.ftl.block_map {
            map.page_written(row);
        }
        let mut over = self.queue.list_of_pages();
        if self.has_units() && extent.is_none() {
            let pages = (0..group.stamps.len()).filter_map(|place| group.page(place));
            over.extend(pages.filter(|(_, id)| id.is_some()).map(|(stamp, _)| LogicalPage(stamp.logical)));
        }
        self.rows.end(row, group);
        core.ftl.blocks.program_done(first);
        core.ftl.blocks.request_selection(row);
        self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
        let Ftl { totals, contents, flash, map_cache, tables, .. } = &mut core.ftl;
        tables.note_checkpoint(totals.host_programs, map_cache, flash, contents.as_deref());
        if let Some(extent) = extent {
            self.queue.unit_programmed(extent, core, calendar);
        }
        self.queue.finish_pages(over, core, calendar);
    }

    /// Handles the end of a program of translation pages or discard records.
    pub(crate) fn tables_programmed(&mut self, row: PlaneGroupId, first: Location, core: &mut Core) {
        let group = self.rows.take(row);
        for (n, stamp) in group.stamps.iter().enumerate().filter(|(_, stamp)| stamp.is_data()) {
            let Ftl { blocks, map, map_cache, tables, .. } = &mut core.ftl;
            tables.table_programmed(*stamp, Location(first.0 + n as u32), map, map_cache, blocks);
        }
        if let Some(map) = &mut core.ftl.block_map {
            map.page_written(row);
        }
        self.rows.end(row, group);
        core.ftl.blocks.program_done(first);
        self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
    }

    /// Handles a failed host program. Its pages, which the buffer still has, are programmed elsewhere at
    /// once.
    fn host_program_failed(
        &mut self,
        failed: FailedOperation,
        row: PlaneGroupId,
        first: Location,
        core: &mut Core,
    ) {
        let group = self.rows.take(row);
        core.ftl.blocks.program_done(first);
        core.ftl.blocks.exclude_word_line(first);
        core.ftl.blocks.request_selection(row);
        group.kept.iter().for_each(|(at, stamp)| losses::lose_beside(*at, *stamp, core));
        group.entries().for_each(|id| core.cache.program_failed(id));
        match group.extent {
            Some(extent) => self.queue.unit_failed(extent, &group, core),
            None => group.entries().for_each(|id| {
                core.cache.force(id);
                self.queue.make_ready(id, core);
            }),
        }
        if group.relocated_count() > 0 {
            requeue_relocated(row, &group, core);
        }
        self.rows.end(row, group);
        failing::program_failed(failed, first, core);
    }

    /// Handles a failed program of translation pages or discard records, which are still in memory.
    fn table_program_failed(
        &mut self,
        failed: FailedOperation,
        row: PlaneGroupId,
        first: Location,
        core: &mut Core,
    ) {
        let group = self.rows.take(row);
        core.ftl.blocks.program_done(first);
        for stamp in group.stamps.iter().rev().filter(|stamp| stamp.is_data()) {
            core.ftl.tables.table_program_failed(*stamp, &mut core.ftl.map_cache);
        }
        self.rows.end(row, group);
        failing::program_failed(failed, first, core);
    }

    /// Handles a failed program or erase, or a rejected program.
    #[cold]
    pub(crate) fn program_or_erase_failed(
        &mut self,
        failed: FailedOperation,
        task: &Task,
        done: &CommandCompletion,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.notify_programmed(task, done, true);
        let row = match task.ticket {
            Ticket::HostUnit(row) => {
                self.host_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::TableUnit(row) => {
                self.table_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::Gc(row, _) => {
                failing::gc_step_failed(failed, row, task, core);
                row
            }
            _ => unreachable!("{task:?} changes pages"),
        };
        self.update_group(row, core);
        self.collect(row, core, calendar);
    }

    /// Handles a read that failed after all retries. `unread` is a bitmap of its unreadable pages, whose data
    /// are lost. `of_command` is one of the command's pages that its reads so far reported, which count once.
    /// Returns whether the data are read at another location instead.
    #[cold]
    pub(crate) fn read_failed(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        (unread, of_command): (u32, &mut u32),
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let place = task.page.0 - done.command.page.0;
        let new = unread & !(*of_command >> place);
        *of_command |= unread << place;
        losses::lose_unread(task, [unread, new], core);
        let block = core.ftl.config.pools.block_of_page(task.page);
        if new != 0 {
            failing::block_failed(FailedOperation::Read, block, core);
        }
        let row = core.ftl.blocks.table().group_of(block);
        self.update_group(row, core);
        // A failed read of GC is a step that has not ended, so this starts no new step.
        self.collect(row, core, calendar);
        // A wrong guess is not repeated: the request looks the page up instead.
        if task.is_gc() || matches!(task.ticket, Ticket::Guess(_)) {
            return false;
        }
        let Ftl { blocks, flash, map, .. } = &mut core.ftl;
        let elsewhere = map.read_elsewhere((task, done), blocks, flash, calendar.now());
        if let Some(die) = elsewhere {
            core.start_die(die, calendar);
            self.finish_read(task.page, core, calendar);
        }
        elsewhere.is_some()
    }

    /// Checks whether a failed command means that its die has failed.
    #[cold]
    pub(crate) fn check_failed_die(&mut self, die: DieId, core: &mut Core) {
        let chips = core.ftl.flash.chips();
        if core.ftl.totals.failed_dies < u64::from(chips.failed_dies()) && chips.has_failed(die) {
            self.lose_die(die, core);
            core.ftl.check_end_of_life();
        }
    }

    /// Handles the failure of a die. All its data are lost.
    pub(crate) fn lose_die(&mut self, die: DieId, core: &mut Core) {
        core.ftl.totals.failed_dies += 1;
        let mut locations = Vec::new();
        for row in core.ftl.config.pools.of_die(die).geometry.groups_of(die) {
            core.ftl.gc.lose(row);
            let good = core.ftl.blocks.fail_group(row, |location| locations.push(location));
            let totals = &mut core.ftl.totals;
            totals.grown_bad_blocks += u64::from(good);
            totals.faults.count(core.ftl.config.pools.number_of_group(row)).grown_bad_blocks +=
                u64::from(good);
            if let Some(map) = &mut core.ftl.block_map {
                map.lose(row, &core.ftl.blocks);
            }
            self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
        }
        // Program units that wait for the lost plane groups go elsewhere.
        self.rows.note_lost_group();
        locations.into_iter().for_each(|location| losses::lose_location(location, core));
    }

    /// Handles the end of an RMW read, even if the page was unreadable.
    #[inline]
    pub(crate) fn rmw_read_done(
        &mut self,
        task: &Task,
        entry: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.ftl.totals.rmw_reads += task.pages_read();
        self.queue.finish_rmw_read(entry, core);
        self.finish_read(task.page, core, calendar);
    }

    /// Handles the end of the RMW read of a page that is programmed with its unit.
    #[inline(never)]
    pub(crate) fn unit_rmw_read_done(
        &mut self,
        task: &Task,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.ftl.totals.rmw_reads += task.pages_read();
        self.queue.finish_carried_read(sub, LogicalPage(task.wanted.logical), task.wanted.version);
        self.finish_read(task.page, core, calendar);
    }

    /// Continues a page whose location was looked up in flash: a buffer entry, or a page carried by a
    /// sub-request.
    pub(crate) fn resume_located(
        &mut self,
        waiter: &Waiter,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        match waiter.then {
            Continuation::Prepare(entry) => self.queue.resume_preparing(EntryId(entry), core, calendar),
            Continuation::Carry(sub) => {
                self.queue.resume_carrying(sub, waiter.page, waiter.since, core, calendar);
            }
            Continuation::Read(_) => unreachable!("{waiter:?} reads for the host"),
        }
    }
}

/// Requeues pages that migrate to another pool after a failed program.
fn requeue_relocated(row: PlaneGroupId, group: &ProgramUnit, core: &mut Core) {
    core.ftl.blocks.count_in_flight(
        core.ftl.config.pools.number_of_group(row),
        group.relocated_count(),
        false,
    );
    for stamp in group.relocated_tags() {
        if let Some(at) = core.ftl.map.get(LogicalPage(stamp.logical)) {
            core.ftl.gc.requeue(core.ftl.config.pools.group_of(at), at);
        }
    }
}

/// Prefetches the table entries that the end of a program needs. They are far apart in large tables.
fn prefetch_installs(group: &ProgramUnit, core: &Core) {
    let data = group.stamps.iter().take_while(|stamp| stamp.is_data());
    let pages = || data.clone().map(|stamp| LogicalPage(stamp.logical));
    for page in pages() {
        core.ftl.map.prefetch(page);
        core.cache.buffer().prefetch(page);
    }
    for old in pages().filter_map(|page| core.ftl.map.get(page)) {
        core.ftl.blocks.prefetch(old);
    }
}
