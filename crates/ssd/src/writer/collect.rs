//! Triggers of GC: after a change of its state, a plane group gets its next GC step, and the writer updates
//! which programs it accepts.

use wordline_flash::Task;
use wordline_ftl::Ftl;
use wordline_ftl::design::{DesignContext, Maintenance};
use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, CommandCompletion, DieId, Operation, PageId, PlaneGroupId};

use crate::engines::Core;
use crate::event::Event;
use crate::writer::Writer;

/// Most requests of a design at the end of an event. Chosen: more than a design has to make at once, so that
/// it bounds only a design that never stops.
const MOST_REQUESTS: u32 = 64;

impl Writer {
    /// Updates which programs a plane group accepts, after a change of its state.
    #[inline]
    pub(crate) fn update_group(&mut self, row: PlaneGroupId, core: &Core) {
        self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
    }

    /// Updates which streams every plane group accepts.
    pub(crate) fn update_all_groups(&mut self, core: &Core) {
        self.rows.note_all(&core.ftl.blocks, &core.ftl.gc);
    }

    /// Queues the next GC step of a plane group. If GC yields to the host, only a step that cannot wait is
    /// queued; [`resume_groups`](Self::resume_groups) queues the others.
    #[inline]
    pub(crate) fn collect(
        &mut self,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.collect_unless(core.ftl.gc.yields_to_host(), row, core, calendar);
    }

    /// Queues the next GC step of a plane group. If `waits` is true, only a step that cannot wait for the
    /// host is queued.
    pub(crate) fn collect_unless(
        &mut self,
        waits: bool,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.collect_in_row(waits, row, core, calendar) {
            self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
        }
        self.collect_members(row, core, calendar);
    }

    /// Queues the next GC step after one has ended. The caller updates which programs the plane group
    /// accepts.
    #[inline]
    pub(crate) fn collect_further(
        &mut self,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.collect_in_row(core.ftl.gc.yields_to_host(), row, core, calendar);
        self.collect_members(row, core, calendar);
    }

    /// If the plane group just selected a superblock, the other plane groups of its pool collect their blocks
    /// of it.
    #[inline]
    fn collect_members(&mut self, row: PlaneGroupId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.ftl.blocks.take_super_block_choice(row) {
            let rows = core.ftl.config.pools.of_group(row).geometry.all_groups();
            for other in rows.filter(|other| *other != row) {
                if self.collect_in_row(core.ftl.gc.yields_to_host(), other, core, calendar) {
                    self.rows.note(other, &core.ftl.blocks, &core.ftl.gc);
                }
            }
        }
    }

    /// Queues the next GC step of a plane group. Returns whether the caller must update which programs it
    /// accepts.
    fn collect_in_row(
        &mut self,
        waits: bool,
        row: PlaneGroupId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        if core.ftl.block_map.is_some() {
            self.work_on(row, core, calendar);
            return false;
        }
        core.ftl.queue_gc_step(waits, row, &mut calendar.within(Event::Flash))
    }

    /// Handles the end of a GC command and queues the next step.
    #[inline(always)]
    pub(crate) fn finish_gc_step(
        &mut self,
        row: PlaneGroupId,
        task: &Task,
        done: &CommandCompletion,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let location = task.location;
        let Ftl { totals, policies, flash, blocks, map, map_cache, block_map, gc, .. } = &mut core.ftl;
        match (task.operation, block_map) {
            (Operation::Erase, _) => {
                map_cache.release_tables();
                gc.gc_erased(done, totals, blocks, flash, policies);
            }
            (Operation::Read, block_map) => {
                totals.gc_reads += u64::from(task.planes);
                match block_map {
                    Some(block_map) => block_map.copy_read(row, task, blocks, flash),
                    None => {
                        gc.gc_read(row, task, blocks, flash, policies);
                        self.queue.migrate_leaving_pages(core, calendar);
                    }
                }
            }
            (_, Some(block_map)) => block_map.copied(row, location, map, blocks),
            (_, None) => gc.gc_programmed(row, location, blocks, map, map_cache),
        }
        if let Some(map) = &mut core.ftl.block_map {
            map.command_done(row);
            self.work_on(row, core, calendar);
        } else if core.ftl.gc.command_done(row) {
            self.collect_further(row, core, calendar);
        }
    }

    /// Queues the next command of a plane group with block-level mapping, unless one is in progress. The
    /// command programs the next waiting discard record or host page, or is a copy or erase needed before
    /// that. Returns whether it programs a host page.
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
        core.ftl.do_block_upkeep(row, calendar.now());
        let table =
            core.ftl.tables.next_discard_page(&*core.ftl.policies.placement).filter(|(home, _)| *home == row);
        let waiting = self.queue.first_of(row, &mut core.cache);
        let page = match table {
            Some((_, page)) => Some(page),
            None => waiting.map(|(_, id)| core.cache.buffer().get(id).logical),
        };
        let writes = core.ftl.queue_block_map_step(row, page, &mut calendar.within(Event::Flash));
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

    /// Continues GC of victims that lost their last valid pages because those were programmed with a whole
    /// unit. GC yields to a host command on the victim's die, which may differ from the die of the unit.
    #[inline]
    pub(crate) fn collect_source_groups(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if self.has_units() {
            let mut left = self.queue.take_source_groups();
            for row in left.drain(..) {
                let die = core.ftl.config.pools.of_group(row).geometry.die_of_group(row);
                let waits = core.ftl.gc.yields_to_host() && core.ftl.flash.serves_host(die);
                self.collect_unless(waits, row, core, calendar);
            }
            self.queue.return_source_groups(left);
        }
    }

    /// Resumes GC that had yielded to the host in the plane groups of a die, unless a host command uses the
    /// die.
    #[inline(never)]
    pub(crate) fn resume_groups(&mut self, die: DieId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in core.ftl.config.pools.of_die(die).geometry.groups_of(die) {
            let waits = core.ftl.flash.serves_host(die);
            self.collect_unless(waits, row, core, calendar);
        }
    }

    /// Queries the design that requests work, and queues what it requests.
    #[inline(never)]
    pub(crate) fn maintain(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let mut rows = Vec::new();
        for _ in 0..MOST_REQUESTS {
            let Ftl { policies, flash, blocks, map, gc, .. } = &mut core.ftl;
            let Some(request) = policies.maintenance(DesignContext { flash, blocks }) else { break };
            let table = blocks.table();
            match request {
                Maintenance::Block(block) => {
                    gc.request_block(table.group_of(block), block);
                    rows.push(table.group_of(block));
                }
                Maintenance::Pages(pages) => {
                    let pools = blocks.pools();
                    let located = pages.iter().filter_map(|page| Some((*page, map.get(*page)?)));
                    for (page, at) in located.filter(|(_, at)| table.may_relocate_from(pools.block_of(*at))) {
                        gc.request_page(pools.group_of(at), page, at);
                        rows.push(pools.group_of(at));
                    }
                }
            }
        }
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            let die = core.ftl.config.pools.of_group(row).geometry.die_of_group(row);
            let waits = core.ftl.gc.yields_to_host() && core.ftl.flash.serves_host(die);
            self.collect_unless(waits, row, core, calendar);
        }
    }

    /// Handles the end of a page read.
    #[inline]
    pub(crate) fn finish_read(&mut self, page: PageId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.release_reader(core.ftl.config.pools.block_of_page(page), core, calendar);
    }

    /// Removes a reader of a block. If the block is a victim that waited for its last reader, GC continues.
    #[inline]
    pub(crate) fn release_reader(
        &mut self,
        block: BlockSetId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.ftl.blocks.read_done(block) {
            self.collect_in_victim(block, core, calendar);
        }
    }

    /// Continues GC after the last reader of a victim.
    #[inline(never)]
    fn collect_in_victim(&mut self, block: BlockSetId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let row = core.ftl.blocks.table().group_of(block);
        self.collect(row, core, calendar);
    }

    /// Whether any plane group accepts a program unit of a host stream. Also checks plane groups full of
    /// valid pages again when everything else is idle, because their pages may have become invalid without an
    /// event there.
    pub(in crate::writer) fn ensure_accepting_group(
        &mut self,
        stream: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let accepts = !self.rows.of(stream).is_empty();
        // With static allocation, a plane group that accepts programs does not help pages of another plane
        // group.
        if self.rows.programming() > 0 || (accepts && !self.queue.lists().has_static_allocation()) {
            return accepts;
        }
        if self.rows.take_some_full() || core.ftl.gc.is_idle() {
            self.collect_everywhere(core, calendar);
        }
        !self.rows.of(stream).is_empty()
    }

    /// Queues GC steps in every plane group, even without an event there.
    #[inline(never)]
    pub(crate) fn collect_everywhere(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in core.ftl.config.pools.all_groups() {
            self.collect(row, core, calendar);
            self.rows.note(row, &core.ftl.blocks, &core.ftl.gc);
        }
    }
}
