//! When GC of a plane group continues: where its state changed, the writer queues the next step, and notes
//! which programs the plane group accepts.

use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DieId, Done, Operation, PageId, RowId};

use crate::engines::Core;
use crate::event::Event;
use crate::flash::Task;
use crate::writer::Writer;

impl Writer {
    /// Updates which programs a plane group accepts, after a change of its state.
    #[inline]
    pub(crate) fn note_row(&mut self, row: RowId, core: &Core) {
        self.rows.note(row, &core.base, &core.reclaim);
    }

    /// Updates which streams every plane group accepts.
    pub(crate) fn note_all_rows(&mut self, core: &Core) {
        self.rows.note_all(&core.base, &core.reclaim);
    }

    /// Queues the next GC step of a plane group. GC that yields to the host continues by itself only where it
    /// must: see [`resume_rows`](Self::resume_rows).
    #[inline]
    pub(crate) fn collect(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.collect_unless(core.reclaim.yields_to_host(), row, core, calendar);
    }

    /// Queues the next GC step of a plane group; not if it `waits` for the host and can afford to.
    pub(crate) fn collect_unless(
        &mut self,
        waits: bool,
        row: RowId,
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
        row: RowId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.collect_in_row(core.reclaim.yields_to_host(), row, core, calendar);
        self.collect_members(row, core, calendar);
    }

    /// If a superblock was just chosen in a plane group, all others of its pool collect their blocks of it.
    #[inline]
    fn collect_members(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.base.space.take_choice_of_super_block(row) {
            let rows = core.base.config.pools.of_row(row).geometry.all_rows();
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
        row: RowId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        if core.map.by_block().is_some() {
            self.work_on(row, core, calendar);
            return false;
        }
        core.reclaim.queue_cleaning(waits, row, &mut core.base, &mut core.map, calendar)
    }

    /// A command of a GC step has ended: the plane group continues.
    #[inline(always)]
    pub(crate) fn step_over(
        &mut self,
        row: RowId,
        task: &Task,
        done: &Done,
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
                self.queue.migrate_what_leaves(core, calendar);
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
        row: RowId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        if self.rows.is_busy(row) {
            return false;
        }
        core.reclaim.look_after_blocks(row, calendar.now(), &mut core.base, &mut core.map);
        let table = core.map.next_in_place(&core.base).filter(|(home, _)| *home == row);
        let waiting = self.queue.first_of(row, &mut core.cache);
        let page = match table {
            Some((_, page)) => Some(page),
            None => waiting.map(|(_, id)| core.cache.entry(id).logical),
        };
        let writes = core.map.work_on(row, page, &mut core.base, calendar);
        if writes && table.is_some() {
            self.form_tables_in_place(row, core, calendar);
            return false;
        }
        if writes {
            let (list, _) = waiting.expect("a page waits if it is to be written");
            self.form(row, list, core, calendar);
        }
        writes
    }

    /// A victim whose pages left with a whole unit may have no valid pages now: GC continues there, unless
    /// the host wants the die, which may differ from the die of the unit.
    #[inline]
    pub(crate) fn collect_where_unit_left(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if self.has_units() {
            let mut left = self.queue.take_left();
            for row in left.drain(..) {
                let die = core.base.config.pools.of_row(row).geometry.die_of_row(row);
                let waits = core.reclaim.yields_to_host() && core.base.flash.serves_host(die);
                self.collect_unless(waits, row, core, calendar);
            }
            self.queue.keep_left(left);
        }
    }

    /// Resumes GC that had yielded in the plane groups of a die, unless the host wants the die: the host has
    /// had its chance since the die's last command ended.
    #[inline(never)]
    pub(crate) fn resume_rows(&mut self, die: DieId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in core.base.config.pools.of_die(die).geometry.rows_of(die) {
            let waits = core.base.flash.serves_host(die);
            self.collect_unless(waits, row, core, calendar);
        }
    }

    /// A read of a page has ended.
    #[inline]
    pub(crate) fn read_over(&mut self, page: PageId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.reader_gone(core.base.config.pools.block_of_page(page), core, calendar);
    }

    /// A block has one reader less: if a victim waited for that, GC of its plane group continues.
    #[inline]
    pub(crate) fn reader_gone(
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
        let row = core.base.space.row_of(block);
        self.collect(row, core, calendar);
    }

    /// Whether any plane group accepts a program unit of a host stream. Pages of a plane group full of valid
    /// pages may become invalid without an event of the plane group itself, so such plane groups are checked
    /// again when everything else is idle.
    pub(in crate::writer) fn look_for_row(
        &mut self,
        stream: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let accepts = !self.rows.of(stream).is_empty();
        // With static allocation, a plane group that accepts is of no use to the pages of another.
        if self.rows.programming() > 0 || (accepts && !self.queue.lists().have_homes()) {
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
        for row in core.base.config.pools.all_rows() {
            self.collect(row, core, calendar);
            self.rows.note(row, &core.base, &core.reclaim);
        }
    }
}
