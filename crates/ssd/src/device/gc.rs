//! Garbage collection on the dies: the collector's steps as commands, and what they did.

use wordline_kernel::{Instant, Schedule};
use wordline_nand::{DieId, PageId, Pool, SlotId};

use super::service::places;
use super::{Device, Event};
use crate::flash::{Class, Task, Ticket};
use crate::ftl::Translation;
use crate::ftl::blocks::Blocks;
use crate::ftl::collector::{Leave, Moved, Step};
use crate::ftl::mapping::{LogicalPage, Mapping};
use crate::policy::placement::Row;
use crate::policy::relocator::Leaving;

/// A valid page was copied to `to`: it is mapped there, and valid where it was no more. Its translation page changes if it
/// has one.
#[inline]
pub(super) fn relocate(
    mapping: &mut Mapping,
    blocks: &mut Blocks,
    translation: &mut Option<Translation>,
    moved: Moved,
    to: SlotId,
) {
    let old = mapping.set(LogicalPage(moved.stamp.logical), to);
    assert_eq!(old, Some(moved.from), "a valid page is where its logical page is mapped to");
    blocks.invalidate(moved.from);
    blocks.validate(to);
    if let Some(translation) = translation
        && blocks.is_mapped_by_page(to)
    {
        translation.moved(moved.stamp.logical);
    }
}

impl Device {
    /// Queues the collector's next step in a row. A collector that steps aside for the host goes on by itself only where
    /// it must: see [`resume_rows`](Self::resume_rows).
    #[inline]
    pub(super) fn collect(&mut self, row: Row, calendar: &mut impl Schedule<Event>) {
        self.collect_unless(self.preemptible, row, calendar);
    }

    /// Queues the collector's next step in a row; not if it `waits` for the host and can afford that. If a super block is
    /// chosen, all rows begin to clean their blocks of it.
    pub(super) fn collect_unless(&mut self, waits: bool, row: Row, calendar: &mut impl Schedule<Event>) {
        self.collect_in_row(waits, row, calendar);
        if self.blocks.super_block_was_chosen() {
            for other in (0..self.config.pools.rows()).filter(|other| *other != row) {
                self.collect_in_row(self.preemptible, other, calendar);
            }
        }
    }

    fn collect_in_row(&mut self, waits: bool, row: Row, calendar: &mut impl Schedule<Event>) {
        if self.block_map.is_some() {
            self.work_on(row, calendar);
        } else if self.queue_cleaning(waits, row, calendar) {
            self.note_row(row);
        }
    }

    /// Queues the next step of the collector in a row. Returns whether the row may take other programs of the host than before.
    fn queue_cleaning(&mut self, waits: bool, row: Row, calendar: &mut impl Schedule<Event>) -> bool {
        if self.is_paused {
            return false;
        }
        if self.flash.cleaning_passes_reads() {
            self.readers_inherit(row);
        }
        let leave = match self.policies.background.is_some() || self.blocks.has_slc_cache() {
            true => self.leave_to_collect(waits, row, calendar.now()),
            false => Leave { waits, ..Leave::MUST },
        };
        let step = loop {
            let Some(step) = self.collector.next(row, &mut self.blocks, leave) else {
                self.read_only |= self.collector.is_stuck(row);
                // A collector that has come to rest holds the host back no longer.
                return true;
            };
            let Step::Retire { block } = step else { break step };
            self.blocks.retire(block);
            self.collector.command_done(row);
        };
        let die = match step {
            Step::Read { first, end, valid } => {
                if self.config.pools.count() > 1 {
                    self.look_at_new_victim(row);
                }
                self.queue_gc_reads(row, first, end, valid, calendar.now())
            }
            Step::Program { stream } => {
                let programmed = self.collector.unit(row).len() as u64;
                self.totals.gc_programs += programmed;
                self.count_folded(row);
                let unit = self.config.pools.per_program(row);
                self.totals.padding += u64::from(unit) - programmed;
                let first = self.blocks.take(row, stream, unit);
                self.note_copy(row, self.collector.unit(row)[0].from, first);
                self.queue_gc_program(row, first, unit, calendar.now())
            }
            Step::Copyback { from } => self.queue_copyback(row, from, calendar.now()),
            Step::Erase { block } => {
                self.flash.erase(calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), block)
            }
            Step::Retire { .. } => unreachable!("a block is retired at once"),
        };
        self.kick(die, calendar);
        matches!(step, Step::Program { .. } | Step::Copyback { .. })
    }

    /// Queues a copyback. The pages stay together: the relocator is asked about the first.
    fn queue_copyback(&mut self, row: Row, from: SlotId, now: Instant) -> DieId {
        let unit = self.config.pools.per_program(row);
        let stream = self.stream_of(from);
        for from in (from.0..from.0 + unit).map(SlotId) {
            self.collector.copy(row, Moved { stamp: self.flash.stamp(from), from });
        }
        self.totals.gc_programs += u64::from(unit);
        self.totals.gc_copied += u64::from(unit);
        let to = self.blocks.take(row, self.blocks.streams().gc(stream), unit);
        self.note_copy(row, from, to);
        self.flash.copyback(now, (Ticket::Reclaim(row), Class::Reclaim), from, to)
    }

    /// Queues the program of what the collector has gathered in a row; the rest of the unit is padding.
    fn queue_gc_program(&mut self, row: Row, first: SlotId, unit: u32, now: Instant) -> DieId {
        let place = places(&self.blocks, row);
        let (die, stamps) = self.flash.program(now, (Ticket::Reclaim(row), Class::Reclaim), first, unit);
        for (n, moved) in self.collector.unit(row).iter().enumerate() {
            stamps[place(n, moved.from)] = moved.stamp;
        }
        die
    }

    /// The collector's stream, by its number, that a valid page goes to.
    fn stream_of(&mut self, from: SlotId) -> u8 {
        let stamp = self.flash.stamp(from);
        assert!(stamp.is_data(), "the valid slot {from:?} holds {stamp:?}");
        if self.is_table(stamp.logical) {
            return self.blocks.streams().gc - 1;
        }
        let moved_by = self.blocks.moved_by(self.config.pools.block_of(from));
        let stream = self.policies.relocator.route(&Leaving { logical: stamp.logical, moved_by });
        assert!(stream < self.blocks.streams().gc, "the relocator chose stream {stream}");
        stream
    }

    /// Queues the reads of a step: one multi-plane command, or one for each page number that a larger slot covers. What
    /// is not valid of a page is not moved out of the chip.
    fn queue_gc_reads(&mut self, row: Row, first: SlotId, end: SlotId, valid: u32, now: Instant) -> DieId {
        let Pool { geometry, slots, .. } = self.config.pools.of_row(row);
        let die = geometry.die_of(slots.block_of(first));
        let (from, beyond) = (slots.page_of(first).0, slots.page_of(SlotId(end.0 - 1)).0 + slots.pages());
        // A command reads pages of one number: where a slot begins within those of a number, its first one is short.
        let planes = geometry.planes_per_row;
        let number_of = |page: u32| (page - geometry.first.page) / planes;
        let commands = number_of(beyond - 1) - number_of(from) + 1;
        if commands > 1 {
            self.collector.split_step(row, commands);
        }
        self.flash.prefetch(first);
        let (bytes, mut page) = (valid * slots.size.0 as u32, from);
        while page < beyond {
            let next = (geometry.first.page + (number_of(page) + 1) * planes).min(beyond);
            let read = self.flash.read(die, now, (Ticket::Reclaim(row), Class::Reclaim), PageId(page));
            read.planes = next - page;
            read.bytes = bytes * (next - page) / (beyond - from);
            // The pages of a slot are there once the last of them is.
            (read.slot, read.slots) = (first, if next == beyond { end.0 - first.0 } else { 0 });
            page = next;
        }
        die
    }

    /// Whether the pages of a victim leave the pool is asked once, when cleaning it begins.
    fn look_at_new_victim(&mut self, row: Row) {
        let pool = self.config.pools.number_of_row(row);
        if self.collector.has_new_victim(row) && pool > 0 {
            self.gather_states();
            if self.policies.relocator.leaves(pool, &self.states) {
                self.collector.send_off(row);
            }
        }
    }

    pub(super) fn gc_read(&mut self, row: Row, read: &Task) {
        let Task { slot: first, planes, slots, .. } = *read;
        self.totals.gc_reads += u64::from(planes);
        let migrates = self.collector.migrates(row);
        for from in (first.0..first.0 + slots).map(SlotId) {
            if self.blocks.is_valid(from) {
                let stamp = self.flash.stamp(from);
                if migrates && !self.is_table(stamp.logical) {
                    self.leaving.push(stamp);
                    continue;
                }
                let stream = self.stream_of(from);
                self.collector.stage(row, stream, Moved { stamp, from });
            }
        }
    }

    pub(super) fn gc_programmed(&mut self, row: Row, first: SlotId) {
        let place = places(&self.blocks, row);
        let Self { collector, mapping, translation, blocks, .. } = self;
        for moved in collector.unit(row) {
            blocks.prefetch(moved.from);
            mapping.prefetch(LogicalPage(moved.stamp.logical));
        }
        for (n, moved) in collector.take_unit(row).enumerate() {
            let slot = SlotId(first.0 + place(n, moved.from) as u32);
            // A page that the host wrote or discarded meanwhile stays where the host left it.
            if !blocks.is_valid(moved.from) {
                continue;
            }
            relocate(mapping, blocks, translation, moved, slot);
        }
        blocks.program_done(first);
    }

    pub(super) fn gc_erased(&mut self, page: PageId) {
        self.totals.erases += 1;
        self.release_tables();
        let block = self.config.pools.block_of_page(page);
        self.flash.set_slc(block, false);
        self.blocks.erased(block, self.flash.chips().erases()[block]);
        if self.flash.asks_tuner() {
            self.policies.tuner.erased(block);
        }
        self.collector.erased(block, &self.blocks);
    }
}
