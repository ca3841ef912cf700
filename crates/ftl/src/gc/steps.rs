//! GC steps as die commands, and what happens when they complete.

use std::ops::Range;

use wordline_flash::{Class, Flash, Task, Ticket};
use wordline_kernel::Instant;
use wordline_nand::{
    BlockSetId, CellMode, CommandCompletion, DataTag, DieId, Location, PageId, PlaneGroupId, Pool,
};

use crate::blocks::BlockManager;
use crate::design::{DesignContext, ExtensionPoint};
use crate::gc::collector::GcLimits;
use crate::gc::sources::Fold;
use crate::gc::step::Step;
use crate::gc::{Gc, StepLimit};
use crate::map::{LogicalPage, Map, MapCache, Relocation};
use crate::policies::ActivePolicies;
use crate::policy::relocator::RelocatedPage;
use crate::totals::Totals;

/// The next step of a plane group, and the commands of a step.
impl Gc {
    /// Whether the next step may be only one that the host needs. `waits`: whether GC yields to the host now. `None`
    /// if no step may begin.
    #[inline]
    pub(crate) fn must_wait(&self, waits: bool) -> Option<bool> {
        match self.begins {
            StepLimit::All => Some(waits),
            StepLimit::Required => Some(true),
            StepLimit::None => None,
        }
    }

    /// Next step of a plane group that takes time; `None` if there is nothing to do or a step is in progress.
    /// Steps before it that take no time are executed.
    #[inline(always)]
    pub(crate) fn next_step(
        &mut self,
        row: PlaneGroupId,
        leave: GcLimits,
        blocks: &mut BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> Option<Step> {
        loop {
            let step = self.collector.next(row, blocks, leave, flash, policies)?;
            match step {
                Step::QueryRelocator => self.ask_relocator(row, blocks, flash, policies),
                Step::Retire { block } => {
                    self.collector.selected.take(block);
                    blocks.retire(block);
                }
                _ => return Some(step),
            }
            self.collector.command_done(row);
        }
    }

    /// Whether GC of a plane group found no space for the pages of a victim.
    #[inline]
    pub(crate) fn is_stuck(&self, row: PlaneGroupId) -> bool {
        self.collector.rows[row].stuck
    }

    /// Counts the program that is queued next in a plane group, of `unit` pages with padding.
    #[inline]
    pub(crate) fn count_program(
        &self,
        row: PlaneGroupId,
        unit: u32,
        blocks: &BlockManager,
        totals: &mut Totals,
    ) {
        let pages = &self.collector.rows[row].unit;
        let programmed = pages.len() as u64;
        totals.gc_programs += programmed;
        if Fold::is_in(row, blocks) {
            let from_cache = pages.iter().filter(|moved| Fold::holds(moved.from, blocks));
            totals.folded += from_cache.count() as u64;
        }
        totals.padding += u64::from(unit) - programmed;
    }

    /// Location of the first page that is programmed next in a plane group.
    #[inline]
    pub(crate) fn first_source(&self, row: PlaneGroupId) -> Location {
        self.collector.rows[row].unit[0].from
    }

    /// Number of victims without valid pages that were selected since the last call.
    #[inline]
    pub(crate) fn take_empty_victims(&mut self) -> u64 {
        self.collector.take_empty_victims()
    }

    /// Stages the pages of a unit that is relocated within its planes. They stay together, so the relocator is
    /// queried only for the first one. Returns its GC stream.
    pub(crate) fn stage_unit(
        &mut self,
        row: PlaneGroupId,
        from: Location,
        unit: u32,
        blocks: &BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> u8 {
        let context = DesignContext { flash, blocks };
        let mut stream = self.stream_of(flash.stamp(from), Victim::of(from, blocks), policies, context);
        if blocks.modes(row).may_change(blocks.streams().gc(stream)) {
            stream = 0;
        }
        for from in (from.0..from.0 + unit).map(Location) {
            self.collector.rows[row].copy(Relocation { stamp: flash.stamp(from), from });
        }
        stream
    }

    /// Queues the program of the pages collected in a plane group, with padding for the rest of the unit.
    pub(crate) fn queue_program(
        &self,
        row: PlaneGroupId,
        first: Location,
        unit: u32,
        blocks: &BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> DieId {
        let place = places(blocks, row);
        let (die, stamps) = flash.program(now, self.ticket(row), first, unit);
        for (n, moved) in self.collector.rows[row].unit.iter().enumerate() {
            stamps[place(n, moved.from)] = moved.stamp;
        }
        die
    }

    /// Queues the reads of a step. There is one multi-plane command for each page number that the `pages`
    /// cover. Invalid parts of a page are not transferred.
    pub(crate) fn queue_reads(
        &mut self,
        row: PlaneGroupId,
        pages: Range<Location>,
        valid: u32,
        blocks: &BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> DieId {
        let Pool { geometry, locations, .. } = blocks.pools().of_group(row);
        let Range { start: first, end } = pages;
        let die = geometry.die_of(locations.block_of(first));
        let (from, beyond) =
            (locations.page_of(first).0, locations.page_of(Location(end.0 - 1)).0 + locations.pages());
        // A command reads pages with one page number. If a location begins in the middle of a multi-plane
        // page, its first command is short.
        let planes = geometry.planes_per_row;
        let number_of = |page: u32| (page - geometry.first.page) / planes;
        let commands = number_of(beyond - 1) - number_of(from) + 1;
        if commands > 1 {
            self.collector.rows[row].split_step(commands);
        }
        flash.prefetch(first);
        let (bytes, mut page) = (valid * locations.size.0 as u32, from);
        while page < beyond {
            let next = (geometry.first.page + (number_of(page) + 1) * planes).min(beyond);
            let read = flash.read(die, now, self.ticket(row), PageId(page));
            read.planes = next - page;
            read.bytes = bytes * (next - page) / (beyond - from);
            // The data of a location are available after its last page.
            (read.location, read.locations) = (first, if next == beyond { end.0 - first.0 } else { 0 });
            page = next;
        }
        die
    }

    /// Ticket and class of the commands of a plane group's step.
    #[inline]
    pub(crate) fn ticket(&self, row: PlaneGroupId) -> (Ticket, Class) {
        (Ticket::Gc(row, self.collector.rows[row].purpose()), self.collector.rows[row].class())
    }

    /// Starts to migrate a block to the first pool, if the pool of a plane group has too many valid pages.
    /// Selects the block with the fewest valid pages and without translation pages. Does nothing while pages
    /// are migrating.
    #[cold]
    pub(crate) fn migrate_emptiest(&mut self, row: PlaneGroupId, blocks: &mut BlockManager, flash: &Flash) {
        if self.collector.is_migrating(row) || self.collector.rows[row].leaves() {
            return;
        }
        let pools = blocks.pools();
        let is_of_host = |block: &BlockSetId| {
            let mut places = 0..pools.per_block(*block);
            !places.any(|place| {
                let at = pools.at(*block, place);
                blocks.table().is_valid(at) && self.is_table(flash.stamp(at).logical)
            })
        };
        if let Some(block) = blocks.table().fewest_valid_of(row, is_of_host) {
            blocks.make_victim(block);
            self.collector.selected.note(block, blocks.table().valid(block));
            self.collector.give_up(row, block);
        }
    }

    /// Queries the relocator once for each victim, before its first pages are read: whether its pages migrate
    /// to another pool.
    fn ask_relocator(
        &mut self,
        row: PlaneGroupId,
        blocks: &BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) {
        let pool = blocks.pools().number_of_group(row);
        let victim = self.collector.rows[row].victim();
        let (context, states) = (DesignContext { flash, blocks }, self.pool_states.update(flash, blocks));
        if victim.is_some_and(|victim| policies.leaves(victim, pool, context, states)) {
            self.collector.migrate(row);
        }
    }
}

/// The ends of commands.
impl Gc {
    /// Handles pages read from a victim. Pages that are still valid are staged for a program, or migrated.
    pub fn gc_read(
        &mut self,
        row: PlaneGroupId,
        read: &Task,
        blocks: &BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) {
        let Task { location: first, locations, .. } = *read;
        let context = DesignContext { flash, blocks };
        let (leaves, whole) = (self.collector.rows[row].leaves(), blocks.pool_of(row).is_coarsely_mapped());
        let with_host = self.collector.rows[row].is_programmed_with_host();
        let may_migrate = self.collector.rows[row].victim().is_some();
        let victim = Victim::of(first, blocks);
        for from in (first.0..first.0 + locations).map(Location) {
            if blocks.table().is_valid(from) {
                let stamp = flash.stamp(from);
                if with_host {
                    self.collector.vacating.add(row, Relocation { stamp, from });
                    continue;
                }
                if leaves && !self.is_table(stamp.logical) {
                    self.leaving.push(stamp);
                    continue;
                }
                if may_migrate && let Some(stream) = self.migration_stream(stamp, victim, policies, context) {
                    self.collector.departures.add(row, stream, Relocation { stamp, from });
                    continue;
                }
                // With coarse-grained mapping a unit is written as a whole, to the stream of its first page.
                let of_unit = if whole { self.collector.rows[row].stream_of_unit() } else { None };
                let stream = of_unit.unwrap_or_else(|| self.stream_of(stamp, victim, policies, context));
                self.collector.rows[row].stage(stream, Relocation { stamp, from });
            }
        }
    }

    /// Maps the pages of a plane group's programmed unit that are still valid in their victims.
    pub fn gc_programmed(
        &mut self,
        row: PlaneGroupId,
        first: Location,
        blocks: &mut BlockManager,
        map: &mut Map,
        map_cache: &mut MapCache,
    ) {
        let place = places(blocks, row);
        for moved in &self.collector.rows[row].unit {
            blocks.prefetch(moved.from);
            map.prefetch(LogicalPage(moved.stamp.logical));
        }
        for (n, moved) in self.collector.rows[row].unit.drain(..).enumerate() {
            let location = Location(first.0 + place(n, moved.from) as u32);
            // A page that the host has overwritten or discarded is not mapped.
            if blocks.table().is_valid(moved.from) {
                map_cache.relocate(moved, location, map, blocks);
            }
        }
        blocks.program_done(first);
    }

    /// Records that a victim was erased, and frees it.
    pub fn gc_erased(
        &mut self,
        done: &CommandCompletion,
        totals: &mut Totals,
        blocks: &mut BlockManager,
        flash: &mut Flash,
        policies: &mut ActivePolicies,
    ) {
        totals.erases += 1;
        let block = blocks.pools().block_of_page(done.command.page);
        let capacity = blocks.table().capacity(block);
        flash.set_mode(block, CellMode::Native);
        blocks.erased(block, flash.chips().erases()[block]);
        if flash.needs_tuner() {
            policies.tuner.erased(block);
        }
        if let Some(valid) = self.collector.selected.take(block) {
            totals.gc_victim_valid_pages += u64::from(valid);
            totals.gc_victim_pages += u64::from(capacity);
        }
        self.collector.erased(block, blocks);
        policies.designs.notify_erased(block, done, DesignContext { flash, blocks });
    }

    /// Gives queued reads of victims without valid pages the priority of GC. Otherwise GC would continue with
    /// other victims, and never erase the victims that wait for these reads.
    #[inline(never)]
    pub(crate) fn inherit_priority(&mut self, row: PlaneGroupId, blocks: &BlockManager, flash: &mut Flash) {
        let rows = &mut self.collector.rows;
        rows[row].victims_awaiting_reads(blocks).for_each(|block| flash.prioritize_readers(block));
    }

    /// Whether this is the logical page number of a table page.
    #[inline]
    fn is_table(&self, logical: u32) -> bool {
        logical >= self.host_pages
    }

    /// GC stream for a valid page. Collecting a block in a non-native mode must gain space, so its pages go to
    /// native blocks.
    fn stream_of(
        &self,
        stamp: DataTag,
        victim: Victim,
        policies: &mut ActivePolicies,
        context: DesignContext<'_>,
    ) -> u8 {
        let (Victim { row, relocated_by, is_native }, blocks) = (victim, context.blocks);
        assert!(stamp.is_data(), "a valid location of {row:?} holds {stamp:?}");
        if self.is_table(stamp.logical) {
            return blocks.streams().gc - 1;
        }
        let page = RelocatedPage { logical: stamp.logical, relocated_by };
        let stream = policies.relocate(&page, || blocks.pools().number_of_group(row), context);
        let stays = !is_native && blocks.modes(row).may_change(blocks.streams().gc(stream));
        if stays { 0 } else { stream }
    }

    /// Host stream in another pool to which a valid page of a victim migrates; `None` if it stays.
    fn migration_stream(
        &self,
        stamp: DataTag,
        victim: Victim,
        policies: &mut ActivePolicies,
        context: DesignContext<'_>,
    ) -> Option<u8> {
        let (Victim { row, relocated_by, .. }, pools) = (victim, context.blocks.pools());
        if !policies.designs.decides(ExtensionPoint::Relocate) || pools.count() == 1 {
            return None;
        }
        if context.blocks.pool_of(row).is_coarsely_mapped() || self.is_table(stamp.logical) {
            return None;
        }
        let page = RelocatedPage { logical: stamp.logical, relocated_by };
        policies.migration_target(&page, pools.number_of_group(row), context)
    }
}

/// Returns the offset in the new unit for the `n`-th page, relocated from a location. With coarse-grained
/// mapping it is the offset that the page had in the old unit.
fn places(blocks: &BlockManager, row: PlaneGroupId) -> impl Fn(usize, Location) -> usize + use<> {
    let (first, unit) = {
        let locations = &blocks.pools().of_group(row).locations;
        (locations.first(), locations.per_program)
    };
    let whole = blocks.pool_of(row).is_coarsely_mapped();
    move |n, from| if whole { ((from.0 - first) % unit) as usize } else { n }
}

/// Properties of a victim that determine the destination of its pages.
#[derive(Clone, Copy)]
struct Victim {
    row: PlaneGroupId,
    /// GC stream that wrote it; `None` if a host stream did.
    relocated_by: Option<u8>,
    is_native: bool,
}

impl Victim {
    /// Victim that contains a page.
    fn of(page: Location, blocks: &BlockManager) -> Self {
        let block = blocks.pools().block_of(page);
        Self {
            row: blocks.table().group_of(block),
            relocated_by: blocks.table().opened_by(block).gc(),
            is_native: blocks.table().is_native(block),
        }
    }
}
