//! GC steps as die commands, and what happens when they complete.

use wordline_flash::{Class, Event, Task, Ticket};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::{
    BlockSetId, CellMode, CommandCompletion, DataTag, DieId, Location, PageId, PlaneGroupId, Pool,
};

use crate::base::Base;
use crate::blocks::BlockManager;
use crate::design::{DesignContext, ExtensionPoint};
use crate::gc::collector::GcLimits;
use crate::gc::sources::Fold;
use crate::gc::step::Step;
use crate::gc::{Gc, StepLimit};
use crate::map::{LogicalPage, Map, MapCache, Relocation};
use crate::policy::relocator::RelocatedPage;

impl Gc {
    /// Queues the next GC step of a plane group. Returns whether the plane group may now accept other host
    /// programs than before.
    pub fn queue_gc_step(
        &mut self,
        waits: bool,
        row: PlaneGroupId,
        base: &mut Base,
        map: &mut Map,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let waits = match self.begins {
            StepLimit::All => waits,
            StepLimit::Required => true,
            StepLimit::None => return false,
        };
        if base.flash.gc_passes_reads() {
            self.inherit_priority(row, base);
        }
        let leave = match base.policies.has_background() || Fold::is_in(row, &base.blocks) {
            true => self.gc_limits(waits, row, calendar.now(), base),
            false => GcLimits { waits, ..GcLimits::REQUIRED },
        };
        if base.blocks.pool_of(row).is_over_limit() {
            self.migrate_emptiest(row, base);
        }
        let step = loop {
            let Base { blocks, flash, policies, .. } = &mut *base;
            let Some(step) = self.collector.next(row, blocks, leave, (flash, policies)) else {
                base.life.read_only |= self.collector.rows[row].stuck;
                // An idle collector does not make the host wait.
                return true;
            };
            match step {
                Step::QueryRelocator => self.ask_relocator(row, base),
                Step::Retire { block } => {
                    self.collector.selected.take(block);
                    base.blocks.retire(block);
                }
                _ => break step,
            }
            self.collector.command_done(row);
        };
        let die = match step {
            Step::Read { first, end, valid } => {
                self.queue_gc_reads(row, first, end, valid, calendar.now(), base)
            }
            Step::Program { stream } => {
                let programmed = self.collector.rows[row].unit.len() as u64;
                base.totals.gc_programs += programmed;
                self.count_folded(row, base);
                let unit = base.blocks.unit(row, stream);
                base.totals.padding += u64::from(unit) - programmed;
                let first = base.take(row, stream, unit);
                base.set_mode(row, base.config.pools.page_of(first));
                let from = self.collector.rows[row].unit[0].from;
                map.note_copy(row, from, first, (&base.blocks, &base.flash));
                self.queue_gc_program(row, first, unit, calendar.now(), base)
            }
            Step::Copyback { from } => self.queue_copyback(row, from, calendar.now(), base, map),
            Step::Erase { block } => {
                base.totals.gc_empty_victims += self.collector.take_empty_victims();
                base.flash.erase(calendar.now(), self.ticket(row), block)
            }
            Step::QueryRelocator | Step::Retire { .. } => unreachable!("{step:?} takes no time"),
        };
        base.start_die(die, calendar);
        matches!(step, Step::Program { .. } | Step::Copyback { .. })
    }

    /// Queues a copyback. Its pages stay together, so the relocator is queried only for the first one.
    fn queue_copyback(
        &mut self,
        row: PlaneGroupId,
        from: Location,
        now: Instant,
        base: &mut Base,
        map: &mut Map,
    ) -> DieId {
        let unit = base.config.pools.per_program(row);
        let mut stream = stream_of(base.flash.stamp(from), Victim::of(from, &base.blocks), base);
        if base.blocks.modes(row).may_change(base.blocks.streams().gc(stream)) {
            stream = 0;
        }
        for from in (from.0..from.0 + unit).map(Location) {
            self.collector.rows[row].copy(Relocation { stamp: base.flash.stamp(from), from });
        }
        base.totals.gc_programs += u64::from(unit);
        base.totals.gc_copied += u64::from(unit);
        let to = base.take(row, base.blocks.streams().gc(stream), unit);
        map.note_copy(row, from, to, (&base.blocks, &base.flash));
        base.flash.copyback(now, self.ticket(row), from, to)
    }

    /// Queues the program of the pages collected in a plane group, with padding for the rest of the unit.
    fn queue_gc_program(
        &self,
        row: PlaneGroupId,
        first: Location,
        unit: u32,
        now: Instant,
        base: &mut Base,
    ) -> DieId {
        let place = places(&base.blocks, row);
        let (die, stamps) = base.flash.program(now, self.ticket(row), first, unit);
        for (n, moved) in self.collector.rows[row].unit.iter().enumerate() {
            stamps[place(n, moved.from)] = moved.stamp;
        }
        die
    }

    /// Queues the reads of a step. There is one multi-plane command for each page number that the locations
    /// cover. Invalid parts of a page are not transferred.
    fn queue_gc_reads(
        &mut self,
        row: PlaneGroupId,
        first: Location,
        end: Location,
        valid: u32,
        now: Instant,
        base: &mut Base,
    ) -> DieId {
        let Pool { geometry, locations, .. } = base.config.pools.of_group(row);
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
        base.flash.prefetch(first);
        let (bytes, mut page) = (valid * locations.size.0 as u32, from);
        while page < beyond {
            let next = (geometry.first.page + (number_of(page) + 1) * planes).min(beyond);
            let read = base.flash.read(die, now, self.ticket(row), PageId(page));
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
    fn ticket(&self, row: PlaneGroupId) -> (Ticket, Class) {
        (Ticket::Gc(row, self.collector.rows[row].purpose()), self.collector.rows[row].class())
    }

    /// Starts to migrate a block to the first pool, if the pool of a plane group has too many valid pages.
    /// Selects the block with the fewest valid pages and without translation pages. Does nothing while pages
    /// are migrating.
    #[cold]
    fn migrate_emptiest(&mut self, row: PlaneGroupId, base: &mut Base) {
        if self.collector.is_migrating(row) || self.collector.rows[row].leaves() {
            return;
        }
        let pools = &base.config.pools;
        let is_of_host = |block: &BlockSetId| {
            let mut places = 0..pools.per_block(*block);
            !places.any(|place| {
                let at = pools.at(*block, place);
                base.blocks.table().is_valid(at) && base.config.is_table(base.flash.stamp(at).logical)
            })
        };
        if let Some(block) = base.blocks.table().fewest_valid_of(row, is_of_host) {
            base.blocks.make_victim(block);
            self.collector.selected.note(block, base.blocks.table().valid(block));
            self.collector.give_up(row, block);
        }
    }

    /// Queries the relocator once for each victim, before its first pages are read: whether its pages migrate
    /// to another pool.
    fn ask_relocator(&mut self, row: PlaneGroupId, base: &mut Base) {
        let pool = base.config.pools.number_of_group(row);
        let victim = self.collector.rows[row].victim();
        let Base { blocks, flash, policies, states, .. } = base;
        let states = states.update(flash, blocks);
        if victim.is_some_and(|victim| policies.leaves(victim, pool, DesignContext { flash, blocks }, states))
        {
            self.collector.migrate(row);
        }
    }

    /// Handles pages read from a victim. Pages that are still valid are staged for a program, or migrated.
    pub fn gc_read(&mut self, row: PlaneGroupId, read: &Task, base: &mut Base) {
        let Task { location: first, planes, locations, .. } = *read;
        base.totals.gc_reads += u64::from(planes);
        let (leaves, whole) =
            (self.collector.rows[row].leaves(), base.blocks.pool_of(row).is_coarsely_mapped());
        let with_host = self.collector.rows[row].is_programmed_with_host();
        let may_migrate = self.collector.rows[row].victim().is_some();
        let victim = Victim::of(first, &base.blocks);
        for from in (first.0..first.0 + locations).map(Location) {
            if base.blocks.table().is_valid(from) {
                let stamp = base.flash.stamp(from);
                if with_host {
                    self.collector.vacating.add(row, Relocation { stamp, from });
                    continue;
                }
                if leaves && !base.config.is_table(stamp.logical) {
                    self.leaving.push(stamp);
                    continue;
                }
                if may_migrate && let Some(stream) = migration_stream(stamp, victim, base) {
                    self.collector.departures.add(row, stream, Relocation { stamp, from });
                    continue;
                }
                // With coarse-grained mapping a unit is written as a whole, to the stream of its first page.
                let of_unit = if whole { self.collector.rows[row].stream_of_unit() } else { None };
                let stream = of_unit.unwrap_or_else(|| stream_of(stamp, victim, base));
                self.collector.rows[row].stage(stream, Relocation { stamp, from });
            }
        }
    }

    /// Maps the pages of a plane group's programmed unit that are still valid in their victims.
    pub fn gc_programmed(
        &mut self,
        row: PlaneGroupId,
        first: Location,
        base: &mut Base,
        (map, map_cache): (&mut Map, &mut MapCache),
    ) {
        let place = places(&base.blocks, row);
        for moved in &self.collector.rows[row].unit {
            base.blocks.prefetch(moved.from);
            map.prefetch(LogicalPage(moved.stamp.logical));
        }
        for (n, moved) in self.collector.rows[row].unit.drain(..).enumerate() {
            let location = Location(first.0 + place(n, moved.from) as u32);
            // A page that the host has overwritten or discarded is not mapped.
            if base.blocks.table().is_valid(moved.from) {
                map_cache.relocate(moved, location, map, &mut base.blocks);
            }
        }
        base.blocks.program_done(first);
    }

    /// Records that a victim was erased, and frees it.
    pub fn gc_erased(&mut self, done: &CommandCompletion, base: &mut Base, map_cache: &mut MapCache) {
        base.totals.erases += 1;
        map_cache.release_tables();
        let block = base.config.pools.block_of_page(done.command.page);
        base.flash.set_mode(block, CellMode::Native);
        base.blocks.erased(block, base.flash.chips().erases()[block]);
        if base.flash.needs_tuner() {
            base.policies.tuner.erased(block);
        }
        if let Some(valid) = self.collector.selected.take(block) {
            base.totals.gc_victim_valid_pages += u64::from(valid);
            base.totals.gc_victim_pages += u64::from(base.config.pools.per_block(block));
        }
        self.collector.erased(block, &base.blocks);
        base.notify_erased(block, done);
    }

    /// Counts the pages of the unit that come from the SLC cache.
    fn count_folded(&self, row: PlaneGroupId, base: &mut Base) {
        if Fold::is_in(row, &base.blocks) {
            let from_cache = self.collector.rows[row].unit.iter();
            let from_cache = from_cache.filter(|moved| Fold::holds(moved.from, &base.blocks));
            base.totals.folded += from_cache.count() as u64;
        }
    }

    /// Gives queued reads of victims without valid pages the priority of GC. Otherwise GC would continue with
    /// other victims, and never erase the victims that wait for these reads.
    #[inline(never)]
    fn inherit_priority(&mut self, row: PlaneGroupId, base: &mut Base) {
        let Self { collector, .. } = self;
        let Base { blocks, flash, .. } = base;
        collector.rows[row].victims_awaiting_reads(blocks).for_each(|block| flash.prioritize_readers(block));
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

/// GC stream for a valid page. Collecting a block in a non-native mode must gain space, so its pages go to
/// native blocks.
fn stream_of(stamp: DataTag, victim: Victim, base: &mut Base) -> u8 {
    let Victim { row, relocated_by, is_native } = victim;
    assert!(stamp.is_data(), "a valid location of {row:?} holds {stamp:?}");
    if base.config.is_table(stamp.logical) {
        return base.blocks.streams().gc - 1;
    }
    let Base { blocks, flash, policies, .. } = base;
    let page = RelocatedPage { logical: stamp.logical, relocated_by };
    let stream =
        policies.relocate(&page, || blocks.pools().number_of_group(row), DesignContext { flash, blocks });
    let stays = !is_native && blocks.modes(row).may_change(blocks.streams().gc(stream));
    if stays { 0 } else { stream }
}

/// Host stream in another pool to which a valid page of a victim migrates; `None` if it stays.
fn migration_stream(stamp: DataTag, victim: Victim, base: &mut Base) -> Option<u8> {
    let Base { policies, flash, blocks, config, .. } = base;
    if !policies.designs.decides(ExtensionPoint::Relocate) || config.pools.count() == 1 {
        return None;
    }
    let Victim { row, relocated_by, .. } = victim;
    if blocks.pool_of(row).is_coarsely_mapped() || stamp.logical >= config.logical_pages {
        return None;
    }
    let page = RelocatedPage { logical: stamp.logical, relocated_by };
    policies.migration_target(&page, config.pools.number_of_group(row), DesignContext { flash, blocks })
}
