//! The collector's steps as commands of the dies, and what follows when these are done.

use wordline_kernel::{Instant, Schedule};
use wordline_nand::{BlockSetId, CellMode, DieId, Location, PageId, Pool, RowId, Stamp};

use crate::base::Base;
use crate::design::{Seam, Sight};
use crate::event::Event;
use crate::flash::{Class, Task, Ticket};
use crate::map::{LogicalPage, Map, Moved};
use crate::policy::relocator::Leaving;
use crate::reclaim::collector::{Leave, Step};
use crate::reclaim::sources::Fold;
use crate::reclaim::{Begins, Reclaim};
use crate::space::Space;

impl Reclaim {
    /// Queues the next step of the collector in a row. Returns whether the row may take other programs of the host than before.
    pub(crate) fn queue_cleaning(
        &mut self,
        waits: bool,
        row: RowId,
        base: &mut Base,
        map: &mut Map,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let waits = match self.begins {
            Begins::All => waits,
            Begins::Musts => true,
            Begins::None => return false,
        };
        if base.flash.cleaning_passes_reads() {
            self.readers_inherit(row, base);
        }
        let leave = match base.policies.has_background() || Fold::is_in(row, &base.space) {
            true => self.leave_to_collect(waits, row, calendar.now(), base),
            false => Leave { waits, ..Leave::MUST },
        };
        if base.space.is_crowded(row) {
            self.relieve(row, base);
        }
        let step = loop {
            let Base { space, flash, policies, .. } = &mut *base;
            let Some(step) = self.collector.next(row, space, leave, (flash, policies)) else {
                base.life.read_only |= self.collector.is_stuck(row);
                // A collector that has come to rest holds the host back no longer.
                return true;
            };
            match step {
                Step::Ask => self.ask_relocator(row, base),
                Step::Retire { block } => {
                    self.collector.selected.take(block);
                    base.space.retire(block);
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
                let programmed = self.collector.unit(row).len() as u64;
                base.totals.gc_programs += programmed;
                self.count_folded(row, base);
                let unit = base.space.unit(row, stream);
                base.totals.padding += u64::from(unit) - programmed;
                let first = base.take(row, stream, unit);
                base.set_mode(row, base.config.pools.page_of(first));
                map.note_copy(row, self.collector.unit(row)[0].from, first, base);
                self.queue_gc_program(row, first, unit, calendar.now(), base)
            }
            Step::Copyback { from } => self.queue_copyback(row, from, calendar.now(), base, map),
            Step::Erase { block } => {
                base.totals.gc_empty_victims += self.collector.take_empty_victims();
                base.flash.erase(calendar.now(), self.ticket(row), block)
            }
            Step::Ask | Step::Retire { .. } => unreachable!("{step:?} takes no time"),
        };
        base.kick(die, calendar);
        matches!(step, Step::Program { .. } | Step::Copyback { .. })
    }

    /// Queues a copyback. The pages stay together: the relocator is asked about the first.
    fn queue_copyback(
        &mut self,
        row: RowId,
        from: Location,
        now: Instant,
        base: &mut Base,
        map: &mut Map,
    ) -> DieId {
        let unit = base.config.pools.per_program(row);
        let mut stream = stream_of(base.flash.stamp(from), Victim::of(from, &base.space), base);
        if base.space.changes_mode(row, base.space.streams().gc(stream)) {
            stream = 0;
        }
        for from in (from.0..from.0 + unit).map(Location) {
            self.collector.copy(row, Moved { stamp: base.flash.stamp(from), from });
        }
        base.totals.gc_programs += u64::from(unit);
        base.totals.gc_copied += u64::from(unit);
        let to = base.take(row, base.space.streams().gc(stream), unit);
        map.note_copy(row, from, to, base);
        base.flash.copyback(now, self.ticket(row), from, to)
    }

    /// Queues the program of what the collector has gathered in a row; the rest of the unit is padding.
    fn queue_gc_program(
        &self,
        row: RowId,
        first: Location,
        unit: u32,
        now: Instant,
        base: &mut Base,
    ) -> DieId {
        let place = places(&base.space, row);
        let (die, stamps) = base.flash.program(now, self.ticket(row), first, unit);
        for (n, moved) in self.collector.unit(row).iter().enumerate() {
            stamps[place(n, moved.from)] = moved.stamp;
        }
        die
    }

    /// Queues the reads of a step: one multi-plane command, or one for each page number that a larger location covers.
    /// Invalid parts of a page are not moved out of the chip.
    fn queue_gc_reads(
        &mut self,
        row: RowId,
        first: Location,
        end: Location,
        valid: u32,
        now: Instant,
        base: &mut Base,
    ) -> DieId {
        let Pool { geometry, locations, .. } = base.config.pools.of_row(row);
        let die = geometry.die_of(locations.block_of(first));
        let (from, beyond) =
            (locations.page_of(first).0, locations.page_of(Location(end.0 - 1)).0 + locations.pages());
        // A command reads pages of one number: where a location begins within those of a number, its first one is short.
        let planes = geometry.planes_per_row;
        let number_of = |page: u32| (page - geometry.first.page) / planes;
        let commands = number_of(beyond - 1) - number_of(from) + 1;
        if commands > 1 {
            self.collector.split_step(row, commands);
        }
        base.flash.prefetch(first);
        let (bytes, mut page) = (valid * locations.size.0 as u32, from);
        while page < beyond {
            let next = (geometry.first.page + (number_of(page) + 1) * planes).min(beyond);
            let read = base.flash.read(die, now, self.ticket(row), PageId(page));
            read.planes = next - page;
            read.bytes = bytes * (next - page) / (beyond - from);
            // The pages of a location are there once the last of them is.
            (read.location, read.locations) = (first, if next == beyond { end.0 - first.0 } else { 0 });
            page = next;
        }
        die
    }

    /// The ticket of the commands of a row's step, and their class.
    #[inline]
    fn ticket(&self, row: RowId) -> (Ticket, Class) {
        (Ticket::Reclaim(row, self.collector.purpose(row)), self.collector.class(row))
    }

    /// Too much is valid in the pool of a row: the pages of its emptiest block without tables leave for the first pool, unless some
    /// are on their way.
    #[cold]
    fn relieve(&mut self, row: RowId, base: &mut Base) {
        if self.collector.migrates(row) || self.collector.leaves(row) {
            return;
        }
        let pools = &base.config.pools;
        let is_of_host = |block: &BlockSetId| {
            let mut places = 0..pools.per_block(*block);
            !places.any(|place| {
                let at = pools.at(*block, place);
                base.space.is_valid(at) && Map::is_table(base.flash.stamp(at).logical, base)
            })
        };
        if let Some(block) = base.space.emptiest_of(row, is_of_host) {
            base.space.clean(block);
            self.collector.selected.note(block, base.space.valid(block));
            self.collector.give_up(row, block);
        }
    }

    /// Whether the pages of a victim leave the pool is asked once, when the first of them are going to be read.
    fn ask_relocator(&mut self, row: RowId, base: &mut Base) {
        let pool = base.config.pools.number_of_row(row);
        base.gather_states();
        let victim = self.collector.victim(row);
        let Base { space, flash, policies, states, .. } = base;
        if victim.is_some_and(|victim| policies.leaves(victim, pool, Sight { flash, space }, states)) {
            self.collector.send_off(row);
        }
    }

    /// Pages of a victim were read: those still valid are staged for a program, or leave the pool.
    pub(crate) fn gc_read(&mut self, row: RowId, read: &Task, base: &mut Base) {
        let Task { location: first, planes, locations, .. } = *read;
        base.totals.gc_reads += u64::from(planes);
        let (leaves, whole) = (self.collector.leaves(row), base.space.has_whole_units(row));
        let with_host = self.collector.goes_with_host(row);
        let victim = Victim::of(first, &base.space);
        for from in (first.0..first.0 + locations).map(Location) {
            if base.space.is_valid(from) {
                let stamp = base.flash.stamp(from);
                if with_host {
                    self.collector.vacating.add(row, Moved { stamp, from });
                    continue;
                }
                if leaves && !Map::is_table(stamp.logical, base) {
                    self.leaving.push(stamp);
                    continue;
                }
                if let Some(stream) = leaves_alone(stamp, victim, base) {
                    self.collector.departures.add(row, stream, Moved { stamp, from });
                    continue;
                }
                // A unit that is written as a whole goes to one stream, that of its first page.
                let of_unit = if whole { self.collector.stream_of_unit(row) } else { None };
                let stream = of_unit.unwrap_or_else(|| stream_of(stamp, victim, base));
                self.collector.stage(row, stream, Moved { stamp, from });
            }
        }
    }

    /// The collector's unit of a row was programmed: its pages that are still valid in their victims are mapped there.
    pub(crate) fn gc_programmed(&mut self, row: RowId, first: Location, base: &mut Base, map: &mut Map) {
        let place = places(&base.space, row);
        for moved in self.collector.unit(row) {
            base.space.prefetch(moved.from);
            map.prefetch(LogicalPage(moved.stamp.logical));
        }
        for (n, moved) in self.collector.take_unit(row).enumerate() {
            let location = Location(first.0 + place(n, moved.from) as u32);
            // A page that the host wrote or discarded meanwhile stays where the host left it.
            if base.space.is_valid(moved.from) {
                map.relocate(moved, location, &mut base.space);
            }
        }
        base.space.program_done(first);
    }

    /// A victim was erased: it is free.
    pub(crate) fn gc_erased(&mut self, page: PageId, base: &mut Base, map: &mut Map) {
        base.totals.erases += 1;
        map.release_tables();
        let block = base.config.pools.block_of_page(page);
        base.flash.set_mode(block, CellMode::Native);
        base.space.erased(block, base.flash.chips().erases()[block]);
        if base.flash.asks_tuner() {
            base.policies.tuner.erased(block);
        }
        if let Some(valid) = self.collector.selected.take(block) {
            base.totals.gc_victim_valid_pages += u64::from(valid);
            base.totals.gc_victim_pages += u64::from(base.config.pools.per_block(block));
        }
        self.collector.erased(block, &base.space);
        base.told_erased(block);
    }

    /// Counts the pages of the collector's unit that come out of the SLC cache.
    fn count_folded(&self, row: RowId, base: &mut Base) {
        if Fold::is_in(row, &base.space) {
            let from_cache = self.collector.unit(row).iter();
            let from_cache = from_cache.filter(|moved| Fold::holds(moved.from, &base.space));
            base.totals.folded += from_cache.count() as u64;
        }
    }

    /// Reads that wait in a victim of which the collector has moved everything go as its commands do: else it would go on
    /// with other victims, and never come to the erase that waits for them.
    #[inline(never)]
    fn readers_inherit(&mut self, row: RowId, base: &mut Base) {
        let Self { collector, .. } = self;
        let Base { space, flash, .. } = base;
        collector.waits_for_readers(row, space).for_each(|block| flash.raise_readers(block));
    }
}

/// Where in a program unit of a row the collector's page goes that is its `n`-th and comes from this location: in a pool of whole
/// units to its place.
fn places(space: &Space, row: RowId) -> impl Fn(usize, Location) -> usize + use<> {
    let (first, unit) = {
        let locations = &space.pools().of_row(row).locations;
        (locations.first(), locations.per_program)
    };
    let whole = space.has_whole_units(row);
    move |n, from| if whole { ((from.0 - first) % unit) as usize } else { n }
}

/// The facts of a victim that where its pages go depends on.
#[derive(Clone, Copy)]
struct Victim {
    row: RowId,
    /// The collector's stream that wrote it; none if the host did.
    moved_by: Option<u8>,
    is_native: bool,
}

impl Victim {
    /// The victim that a page is in.
    fn of(page: Location, space: &Space) -> Self {
        let block = space.pools().block_of(page);
        Self { row: space.row_of(block), moved_by: space.moved_by(block), is_native: space.is_native(block) }
    }
}

/// The collector's stream, by its number, that a valid page goes to. To clean a block in another mode has to gain space: what is in it goes to
/// native blocks.
fn stream_of(stamp: Stamp, victim: Victim, base: &mut Base) -> u8 {
    let Victim { row, moved_by, is_native } = victim;
    assert!(stamp.is_data(), "a valid location of {row:?} holds {stamp:?}");
    if Map::is_table(stamp.logical, base) {
        return base.space.streams().gc - 1;
    }
    let Base { space, flash, policies, .. } = base;
    let page = Leaving { logical: stamp.logical, moved_by };
    let stream = policies.relocate(&page, || space.pools().number_of_row(row), Sight { flash, space });
    let stays = !is_native && space.changes_mode(row, space.streams().gc(stream));
    if stays { 0 } else { stream }
}

/// The stream of the host, in another pool, that a valid page of a victim goes to alone, if a design says so.
fn leaves_alone(stamp: Stamp, victim: Victim, base: &mut Base) -> Option<u8> {
    let Base { policies, flash, space, config, .. } = base;
    if !policies.designs.answers(Seam::Relocate) || config.pools.count() == 1 {
        return None;
    }
    let Victim { row, moved_by, .. } = victim;
    if space.has_whole_units(row) || stamp.logical >= config.logical_pages {
        return None;
    }
    let page = Leaving { logical: stamp.logical, moved_by };
    policies.moves_to(&page, config.pools.number_of_row(row), Sight { flash, space })
}
