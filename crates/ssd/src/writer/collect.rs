//! When GC of a plane group continues: where its state changed, the writer queues the next step, and notes
//! which programs the plane group accepts.

use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, CommandCompletion, DieId, Operation, PageId, PlaneGroupId};

use crate::engines::Core;
use crate::event::Event;
use crate::flash::Task;
use crate::writer::Writer;

impl Writer {
    /// Updates which programs a plane group accepts, after a change of its state.
    #[inline]
    pub(crate) fn update_group(&mut self, row: PlaneGroupId, core: &Core) {
        self.rows.note(row, &core.base, &core.reclaim);
    }

    /// Updates which streams every plane group accepts.
    pub(crate) fn update_all_groups(&mut self, core: &Core) {
        self.rows.note_all(&core.base, &core.reclaim);
    }

    /// Queues the next GC step of a plane group. GC that yields to the host continues by itself only where it
    /// must: see [`resume_groups`](Self::resume_groups).
    #[inline]
    pub(crate) fn collect(
        &mut self,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.collect_unless(core.reclaim.yields_to_host(), row, core, calendar);
    }

    /// Queues the next GC step of a plane group; not if it `waits` for the host and can afford to.
    pub(crate) fn collect_unless(
        &mut self,
        waits: bool,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.collect_in_row(waits, row, core, calendar) {
            self.rows.note(row, &core.base, &core.reclaim);
        }
        self.collect_members(row, core, calendar);
    }

    /// Continues after a GC step of a plane group. The caller updates which programs the plane group accepts.
    #[inline]
    pub(crate) fn collect_further(
        &mut self,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.collect_in_row(core.reclaim.yields_to_host(), row, core, calendar);
        self.collect_members(row, core, calendar);
    }

    /// If a superblock was just chosen in a plane group, all others of its pool collect their blocks of it.
    #[inline]
    fn collect_members(&mut self, row: PlaneGroupId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.base.space.take_super_block_choice(row) {
            let rows = core.base.config.pools.of_group(row).geometry.all_groups();
            for other in rows.filter(|other| *other != row) {
                if self.collect_in_row(core.reclaim.yields_to_host(), other, core, calendar) {
                    self.rows.note(other, &core.base, &core.reclaim);
                }
            }
        }
    }

    /// Queues the next GC step of a plane group. Returns whether the plane group may accept other host
    /// programs than before, which the caller has to update.
    fn collect_in_row(
        &mut self,
        waits: bool,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        if core.map.by_block().is_some() {
            self.work_on(row, core, calendar);
            return false;
        }
        core.reclaim.queue_gc_step(waits, row, &mut core.base, &mut core.map, calendar)
    }

    /// A command of a GC step has ended: the plane group continues.
    #[inline(always)]
    pub(crate) fn finish_gc_step(
        &mut self,
        row: PlaneGroupId,
        task: &Task,
        done: &CommandCompletion,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Task { page, location, .. } = *task;
        core.base.totals.gc_array_us += (done.array.ps() + 500_000) / 1_000_000;
        let by_block = core.map.by_block().is_some();
        match task.operation {
            Operation::Erase => core.reclaim.gc_erased(page, &mut core.base, &mut core.map),
            Operation::Read if by_block => core.map.copy_read(row, task, &mut core.base),
            Operation::Read => {
                core.reclaim.gc_read(row, task, &mut core.base);
                self.queue.migrate_leaving_pages(core, calendar);
            }
            _ if by_block => core.map.copied(row, location, &mut core.base),
            _ => core.reclaim.gc_programmed(row, location, &mut core.base, &mut core.map),
        }
        if by_block {
            core.map.command_done(row);
            self.work_on(row, core, calendar);
        } else if core.reclaim.command_done(row) {
            self.collect_further(row, core, calendar);
        }
    }

    /// Queues the next command of a plane group with block-level mapping, if none is in progress: the program
    /// of the waiting page of a table or of the host, or the copies and erases that it needs first. Returns
    /// whether it programs a host page.
    #[inline(never)]
    pub(super) fn work_on(
        &mut self,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        if self.rows.is_busy(row) {
            return false;
        }
        core.reclaim.do_block_upkeep(row, calendar.now(), &mut core.base, &mut core.map);
        let table = core.map.next_discard_page(&core.base).filter(|(home, _)| *home == row);
        let waiting = self.queue.first_of(row, &mut core.cache);
        let page = match table {
            Some((_, page)) => Some(page),
            None => waiting.map(|(_, id)| core.cache.entry(id).logical),
        };
        let writes = core.map.work_on(row, page, &mut core.base, calendar);
        if writes && table.is_some() {
            self.build_discard_record(row, core, calendar);
            return false;
        }
        if writes {
            let (list, _) = waiting.expect("a page waits if it is to be written");
            self.build_unit(row, list, core, calendar);
        }
        writes
    }

    /// A victim whose pages left with a whole unit may have no valid pages now: GC continues there, unless
    /// the host wants the die, which may differ from the die of the unit.
    #[inline]
    pub(crate) fn collect_source_groups(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if self.has_units() {
            let mut left = self.queue.take_source_groups();
            for row in left.drain(..) {
                let die = core.base.config.pools.of_group(row).geometry.die_of_group(row);
                let waits = core.reclaim.yields_to_host() && core.base.flash.serves_host(die);
                self.collect_unless(waits, row, core, calendar);
            }
            self.queue.return_source_groups(left);
        }
    }

    /// Resumes GC that had yielded in the plane groups of a die, unless the host wants the die: the host has
    /// had its chance since the die's last command ended.
    #[inline(never)]
    pub(crate) fn resume_groups(&mut self, die: DieId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in core.base.config.pools.of_die(die).geometry.groups_of(die) {
            let waits = core.base.flash.serves_host(die);
            self.collect_unless(waits, row, core, calendar);
        }
    }

    /// A read of a page has ended.
    #[inline]
    pub(crate) fn finish_read(&mut self, page: PageId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.release_reader(core.base.config.pools.block_of_page(page), core, calendar);
    }

    /// A block has one reader less: if a victim waited for that, GC of its plane group continues.
    #[inline]
    pub(crate) fn release_reader(
        &mut self,
        block: BlockSetId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.base.space.read_done(block) {
            self.collect_in_victim(block, core, calendar);
        }
    }

    /// A victim has no readers any more.
    #[inline(never)]
    fn collect_in_victim(&mut self, block: BlockSetId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let row = core.base.space.group_of(block);
        self.collect(row, core, calendar);
    }

    /// Whether any plane group accepts a program unit of a host stream. Pages of a plane group full of valid
    /// pages may become invalid without an event of the plane group itself, so such plane groups are checked
    /// again when everything else is idle.
    pub(in crate::writer) fn ensure_accepting_group(
        &mut self,
        stream: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let accepts = !self.rows.of(stream).is_empty();
        // With static allocation, a plane group that accepts is of no use to the pages of another.
        if self.rows.programming() > 0 || (accepts && !self.queue.lists().has_static_allocation()) {
            return accepts;
        }
        if self.rows.take_some_full() || core.reclaim.is_idle() {
            self.collect_everywhere(core, calendar);
        }
        !self.rows.of(stream).is_empty()
    }

    /// Checks every plane group again for GC, even without an event there.
    #[inline(never)]
    pub(crate) fn collect_everywhere(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in core.base.config.pools.all_groups() {
            self.collect(row, core, calendar);
            self.rows.note(row, &core.base, &core.reclaim);
        }
    }
}
