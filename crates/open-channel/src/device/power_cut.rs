//! Power loss and recovery.
//!
//! The chunk table survives a power loss, as in real devices, in memory of its own. Recovery only finds out
//! how far the outstanding commands had progressed. It reads the last programmed page of each chunk that
//! these commands were changing:
//!
//! * A unit whose program was interrupted closes its chunk before the unit. With a failure manager the chunk
//!   continues in another block.
//! * A chunk whose erase was interrupted stays closed and unreadable until it is reset again.
//! * Commands that were not started have no effect.
//!
//! The contents of the buffer are lost unless it is protected. The tables of the failure manager are read
//! from their journals. Without journals the first page of each block is read: its spare area has the chunk
//! and the page number, from which the tables follow.

use wordline_device::Recovered;
use wordline_device::physical_device::{ChunkState, PowerCut};
use wordline_flash::{Class, Ticket};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::{BlockSetId, DataTag, InFlightFate, Location};

use super::chunks::ChunkId;
use super::die_work::{InterruptedWork, UndoEntry};
use super::failures::{Manager, PageLocation, Step};
use super::{Event, OpenChannel, Recovering};

impl OpenChannel {
    pub(super) fn cut(&mut self, now: Instant) -> PowerCut {
        let at_cut = InFlightFate::from(self.config.file.programs_at_cut);
        let before = self.chips().counts().program_commands;
        let torn = self.flash.cut_power(now, at_cut, |_, _| {});
        self.cut_programs += self.chips().counts().program_commands - before;
        if self.flash.needs_tuner() {
            self.policies.tuner.forget();
        }
        self.digest.add(now.ps());
        self.commands.teller.iter_mut().for_each(|teller| **teller = Default::default());
        let is_protected = self.config.file.buffer.as_ref().is_some_and(|buffer| buffer.protected);
        let forgotten = self.buffers.forget(is_protected);
        self.counts.blocks_lost += u64::from(self.config.geometry.ws_min) * forgotten.lost.len() as u64;
        let at_work = self.cut_repairs();
        let is_changing =
            |chunk: &ChunkId| self.chunks.get(*chunk).changes() || self.chunks.get(*chunk).is_behind();
        let changing = self.chunks.iter().map(|(chunk, _)| chunk).filter(is_changing);
        let mut chunks: Vec<ChunkId> =
            changing.chain(forgotten.lost).chain(forgotten.programming).chain(at_work).collect();
        self.chunks.forget();
        self.resets.forget();
        // Chunks that an interrupted recovery had not examined.
        chunks.extend(self.recovering.take().into_iter().flat_map(|recovering| recovering.chunks));
        chunks.sort_unstable();
        chunks.dedup();
        self.recovering = Some(Recovering { chunks, ..Recovering::default() });
        PowerCut { incomplete: self.commands.forget(), torn }
    }

    /// Undoes changes that were not recorded. Returns the chunks on which dies were working for the failure
    /// manager.
    fn cut_repairs(&mut self) -> Vec<ChunkId> {
        let Some(repairs) = &mut self.repairs else { return Vec::new() };
        repairs.retries.forget_all();
        let InterruptedWork { mut chunks, undone, unread } = repairs.cut();
        for UndoEntry { before, is_bad, is_void } in undone {
            let entry = self.chunks.get_mut(before.chunk());
            (entry.is_bad, entry.is_void, entry.is_erasing) = (is_bad, is_void, false);
            chunks.push(before.chunk());
        }
        // Copies of unreadable blocks are corrupted, even if their program completed.
        for (PageLocation { block, page }, unread) in unread {
            let first = page * self.config.geometry.ws_min;
            if self.chips().programmed(block) > first {
                let spoilt = (0..self.config.geometry.ws_min).filter(|n| unread >> n & 1 != 0);
                spoilt.for_each(|n| self.flash.corrupt(self.config.pools.at(block, first + n)));
            }
        }
        chunks
    }

    pub(super) fn begin_recovery(&mut self, calendar: &mut impl Schedule<Event>) {
        let recovering = self.recovering.as_mut().expect("the power was cut");
        recovering.since = Some(calendar.now());
        let unit = self.config.geometry.ws_min;
        let to_read: Vec<Location> = {
            let chunks = &self.recovering.as_ref().expect("it is under way").chunks;
            let last = |chunk: &ChunkId| {
                let block = self.written_block(*chunk);
                Some(self.config.pools.at(block, self.chips().programmed(block).checked_sub(1)?))
            };
            chunks.iter().filter_map(last).chain(self.tables_to_read(unit)).collect()
        };
        let mut dies = Vec::new();
        for location in &to_read {
            let (die, page) = self.config.pools.die_and_page_of(*location);
            let task = self.flash.read(die, calendar.now(), (Ticket::Scan(die), Class::Read), page);
            task.location = *location;
            // A retry of an interrupted program would not help.
            task.retried = false;
            task.bytes = self.config.geometry.block_size.0 as u32;
            dies.push(die);
        }
        let recovering = self.recovering.as_mut().expect("the power was cut");
        (recovering.left, recovering.pages_read) = (dies.len() as u32, dies.len() as u64);
        if dies.is_empty() {
            self.recovered(calendar);
        }
        dies.sort_unstable();
        dies.dedup();
        for die in dies {
            self.start(die, calendar);
        }
    }

    /// Block in which a chunk is being written.
    fn written_block(&self, chunk: ChunkId) -> BlockSetId {
        self.config.pools.block_of(self.unit_location(chunk, self.next_or_last_block(chunk)))
    }

    /// Next logical block of a chunk to be programmed, or the last one of a full chunk.
    fn next_or_last_block(&self, chunk: ChunkId) -> u32 {
        self.chunks.get(chunk).programmed.min(self.config.geometry.blocks_per_chunk - 1)
    }

    /// Pages from which the tables of the failure manager are read.
    fn tables_to_read(&self, unit: u32) -> Vec<Location> {
        let Some(repairs) = &self.repairs else { return Vec::new() };
        match repairs.last_records() {
            Some(records) => {
                records.iter().map(|place| self.config.pools.at(place.block, place.page * unit)).collect()
            }
            None => {
                let blocks = self.config.pools.all_blocks();
                let written = blocks.filter(|block| self.chips().programmed(*block) > 0);
                written.map(|block| self.config.pools.at(block, 0)).collect()
            }
        }
    }

    /// Handles the end of a page read of the recovery.
    pub(super) fn finish_scan_read(&mut self, calendar: &mut impl Schedule<Event>) {
        let recovering = self.recovering.as_mut().expect("chunks are read after a power cut");
        recovering.left -= 1;
        if recovering.left == 0 {
            self.recovered(calendar);
        }
    }

    fn recovered(&mut self, calendar: &mut impl Schedule<Event>) {
        // No program starts before all chunks are examined.
        let recovering = self.recovering.as_mut().expect("it was under way");
        let Recovering { chunks, since, pages_read, .. } = std::mem::take(recovering);
        let time = calendar.now() - since.expect("the power is on");
        self.recovery = Some(Recovered { time, pages_read, ..Recovered::default() });
        let Self { repairs, flash, .. } = self;
        let unit = self.config.geometry.ws_min;
        if let Some(repairs) = repairs {
            repairs.settle_journals(|block| flash.chips().programmed(block) / unit);
        }
        for chunk in chunks {
            self.settle(chunk, calendar);
            self.settle_copies(chunk, calendar);
        }
        self.recovering = None;
        for queue in 0..self.config.geometry.units() {
            match self.repairs {
                None => self.admit(queue, calendar),
                Some(_) => self.advance(queue, calendar),
            }
        }
        self.start_background_work(calendar);
    }

    /// Finds out how far the outstanding commands on a chunk had progressed.
    fn settle(&mut self, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        let entry = self.chunks.get_mut(chunk);
        if entry.is_resetting && (entry.is_void || entry.is_erasing) {
            return self.settle_reset(chunk);
        }
        entry.is_resetting = false;
        if self.chunks.get(chunk).state == ChunkState::Offline {
            let stranded = self.buffers.stranded(self.chunks.unit_of(chunk), chunk);
            return self.chunks.settle(chunk, stranded * self.config.geometry.ws_min);
        }
        let unit = self.config.geometry.ws_min;
        let entry = *self.chunks.get(chunk);
        let programmed = entry.programmed;
        let next = self.unit_location(chunk, self.next_or_last_block(chunk));
        let block = self.config.pools.block_of(next);
        let behind = self.config.pools.at(block, 0).0 + self.chips().programmed(block);
        // In a closed chunk only padding can follow the last unit. While pages are copied before a retry, the
        // page at `next` is the failed one.
        let is_migrating = self.failures().is_some_and(|manager| manager.is_migrating(chunk));
        let is_expected = entry.is_behind() || entry.state != ChunkState::Closed;
        let is_begun = is_expected && !is_migrating && behind > next.0;
        let is_torn =
            is_begun && (next.0..next.0 + unit).any(|n| self.flash.stamp(Location(n)) == DataTag::UNREADABLE);
        if is_begun && !is_torn {
            self.chunks.get_mut(chunk).programmed += unit;
            self.buffers.drop_programmed(self.chunks.unit_of(chunk), chunk, programmed);
            if let Some(repairs) = &mut self.repairs {
                repairs.note_programmed(chunk);
            }
        }
        let kept = self.buffers.units_of_chunk(self.chunks.unit_of(chunk), chunk).len() as u32 * unit;
        self.chunks.settle(chunk, kept);
        if is_torn {
            self.settle_interrupted(chunk, kept > 0, calendar);
        }
        self.settle_closed(chunk);
    }

    /// Handles an interrupted program of the next unit: the chunk continues in another block, or ends before
    /// the unit.
    fn settle_interrupted(&mut self, chunk: ChunkId, is_kept: bool, calendar: &mut impl Schedule<Event>) {
        let is_written = matches!(self.chunks.get(chunk).state, ChunkState::Free | ChunkState::Open);
        let goes_on = |manager: &Manager| {
            is_kept || is_written && !manager.reserve(self.chunks.unit_of(chunk)).is_empty()
        };
        if self.failures().is_some_and(goes_on) {
            self.repair_program(chunk, false, calendar);
        } else if is_kept {
            self.close_early(chunk, false, calendar);
        } else {
            // If the failure manager pads the chunk, it finds the padding interrupted.
            self.chunks.end(chunk, ChunkState::Closed);
        }
    }

    /// Finds out how far the reset of a chunk had progressed.
    fn settle_reset(&mut self, chunk: ChunkId) {
        let block = self.block_of(chunk);
        if self.chunks.get(chunk).is_erasing && self.chips().programmed(block) == 0 {
            return self.chunks.finish_reset(chunk, false);
        }
        let is_torn = self.flash.stamp(self.config.pools.at(block, 0)) == DataTag::UNREADABLE;
        let entry = self.chunks.get_mut(chunk);
        (entry.is_resetting, entry.is_erasing) = (false, false);
        if entry.is_void {
            (entry.programmed, entry.written, entry.next) = (0, 0, 0);
        }
        let is_void = entry.is_void;
        self.chunks.settle(chunk, 0);
        if is_torn || is_void {
            self.chunks.set_state(chunk, ChunkState::Closed);
        }
    }

    /// Finds out how far the migration of a chunk had progressed.
    fn settle_copies(&mut self, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        let Some(repairs) = &mut self.repairs else { return };
        let is_migrating = repairs.manager().is_migrating(chunk);
        let step = if is_migrating { repairs.manager().step(chunk) } else { Step::Finish };
        let (Step::Copy { to, .. } | Step::Pad { to }) = step else { return };
        let unit = self.config.geometry.ws_min;
        if self.flash.chips().programmed(to.block) <= to.page * unit {
            return;
        }
        let first = self.config.pools.at(to.block, to.page * unit).0;
        let is_torn = (first..first + unit).any(|n| self.flash.stamp(Location(n)) == DataTag::UNREADABLE);
        if is_torn {
            let queue = self.chunks.unit_of(chunk);
            return self.repair_step(queue, chunk, (step, false), calendar);
        }
        repairs.complete_step(chunk, step);
    }
}
