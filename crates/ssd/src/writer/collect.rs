//! When a row goes on cleaning: where its state changed the writer lets the next step be queued, and notes what the row accepts.

use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DieId, Done, Operation, PageId, RowId};

use crate::engines::Core;
use crate::event::Event;
use crate::flash::Task;
use crate::writer::Writer;

impl Writer {
    /// Something happened to a row: what it accepts is worked out anew.
    #[inline]
    pub(crate) fn note_row(&mut self, row: RowId, core: &Core) {
        self.rows.note(row, &core.base, &core.reclaim);
    }

    /// Notes anew which streams each row accepts.
    pub(crate) fn note_all_rows(&mut self, core: &Core) {
        self.rows.note_all(&core.base, &core.reclaim);
    }

    /// Queues the collector's next step in a row. A collector that steps aside for the host goes on by itself only where
    /// it must: see [`resume_rows`](Self::resume_rows).
    #[inline]
    pub(crate) fn collect(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.collect_unless(core.reclaim.yields_to_host(), row, core, calendar);
    }

    /// Queues the collector's next step in a row; not if it `waits` for the host and can afford that.
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

    /// Goes on after a step of the collector in a row. The caller notes what the row accepts.
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

    /// If a super block was just chosen in a row, all others of its pool clean their blocks of it.
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

    /// Queues the next step in a row. Whether the row may take other programs of the host than before, which is still to be noted.
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

    /// A command of a step of cleaning is done: the row goes on.
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

    /// Queues the next command of a row with a block map, if none is under way: the program of the page of a table or of the host that waits, or what
    /// must be copied or erased before that. Whether it programs a page of the host.
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

    /// A victim that the pages of a whole unit left may be clean now: cleaning goes on there, unless the host wants the die, which may be
    /// another one than that of the unit.
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

    /// Lets the collector go on in the rows of a die where it stepped aside, unless the host wants the die: it has had its
    /// chance to do so since the die's last command ended.
    #[inline(never)]
    pub(crate) fn resume_rows(&mut self, die: DieId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in core.base.config.pools.of_die(die).geometry.rows_of(die) {
            let waits = core.base.flash.serves_host(die);
            self.collect_unless(waits, row, core, calendar);
        }
    }

    /// A read of a page is over.
    #[inline]
    pub(crate) fn read_over(&mut self, page: PageId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.reader_gone(core.base.config.pools.block_of_page(page), core, calendar);
    }

    /// A block has a reader less: if a victim waited for that, its row goes on cleaning.
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

    /// Whether any row takes a program unit of a stream of the host. Pages of a row that is full of valid ones may become
    /// invalid without anything happening to the row itself, so that such rows are looked at again when nothing else goes
    /// on.
    pub(in crate::writer) fn look_for_row(
        &mut self,
        stream: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let accepts = !self.rows.of(stream).is_empty();
        // Where pages have homes, a row that accepts is of no use to the pages of another.
        if self.rows.programming() > 0 || (accepts && !self.queue.lists().have_homes()) {
            return accepts;
        }
        if self.rows.take_some_full() || core.reclaim.is_idle() {
            self.collect_everywhere(core, calendar);
        }
        !self.rows.of(stream).is_empty()
    }

    /// Looks at every row again, which nothing may have happened to that would make the collector begin there.
    #[inline(never)]
    pub(crate) fn collect_everywhere(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in core.base.config.pools.all_rows() {
            self.collect(row, core, calendar);
            self.rows.note(row, &core.base, &core.reclaim);
        }
    }
}
