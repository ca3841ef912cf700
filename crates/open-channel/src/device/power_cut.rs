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

use wordline_device::physical_device::{ChunkState, PowerCut};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::Location;

use super::chunk_data::Settled;
use super::chunks::ChunkId;
use super::failures::Manager;
use super::{Event, OpenChannel};

impl OpenChannel {
    pub(super) fn cut(&mut self, now: Instant) -> PowerCut {
        let torn = self.media.cut(now);
        self.digest.add(now.ps());
        let incomplete = self.host.cut();
        let (mut chunks, lost) = self.data.cut(self.media.is_buffer_protected());
        self.media.counts.blocks_lost += u64::from(self.media.unit()) * lost;
        if let Some(repairs) = &mut self.repairs {
            let (at_work, undone) = repairs.undo_unrecorded(&mut self.media);
            undone.iter().for_each(|undone| self.data.undo(undone));
            chunks.extend(at_work.into_iter().chain(undone.iter().map(|undone| undone.before.chunk())));
        }
        self.resets.forget();
        self.recovery.cut(chunks);
        PowerCut { incomplete, torn }
    }

    pub(super) fn begin_recovery(&mut self, calendar: &mut impl Schedule<Event>) {
        let last = |chunk: &ChunkId| {
            let block = self.media.config.pools.block_of(self.next_unit(*chunk));
            Some(self.media.config.pools.at(block, self.chips().programmed(block).checked_sub(1)?))
        };
        let mut to_read: Vec<Location> = self.recovery.chunks().iter().filter_map(last).collect();
        to_read.extend(self.repairs.iter().flat_map(|repairs| repairs.tables_to_read(&self.media)));
        if !self.recovery.begin(&to_read, &mut self.media, calendar) {
            self.recovered(calendar);
        }
    }

    /// Location of the next unit of a chunk to be programmed, or of the last one of a full chunk.
    fn next_unit(&self, chunk: ChunkId) -> Location {
        let last = self.media.config.geometry.blocks_per_chunk - 1;
        self.unit_location(chunk, self.data.chunks.get(chunk).programmed.min(last))
    }

    /// Ends the recovery, whose pages are all read.
    pub(super) fn recovered(&mut self, calendar: &mut impl Schedule<Event>) {
        // No program starts before all chunks are examined.
        let chunks = self.recovery.take_chunks(calendar.now());
        if let Some(repairs) = &mut self.repairs {
            repairs.settle_journals(|block| self.media.chips().programmed(block) / self.media.unit());
        }
        for chunk in chunks {
            self.settle(chunk, calendar);
            let torn = self.repairs.as_mut().and_then(|repairs| repairs.settle_copies(chunk, &self.media));
            if let Some(step) = torn {
                self.repair_step(chunk, (step, false), calendar);
            }
        }
        self.recovery.end();
        for queue in 0..self.media.config.geometry.units() {
            match self.repairs {
                None => self.admit(queue, calendar),
                Some(_) => self.advance(queue, calendar),
            }
        }
        self.start_background_work(calendar);
    }

    /// Finds out how far the outstanding commands on a chunk had progressed.
    fn settle(&mut self, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        let entry = self.data.chunks.get_mut(chunk);
        if entry.is_resetting && (entry.is_void || entry.is_erasing) {
            return self.data.settle_reset(chunk, self.block_of(chunk), &self.media);
        }
        entry.is_resetting = false;
        if entry.state == ChunkState::Offline {
            return self.data.settle_offline(chunk, self.media.unit());
        }
        let is_migrating = self.failures().is_some_and(|manager| manager.is_migrating(chunk));
        let settled = self.data.settle(chunk, self.next_unit(chunk), is_migrating, &self.media);
        if let Some(repairs) = self.repairs.as_mut().filter(|_| settled.is_programmed) {
            repairs.note_programmed(chunk);
        }
        if settled.is_torn {
            self.settle_interrupted(chunk, &settled, calendar);
        }
        self.settle_closed(chunk);
    }

    /// Handles an interrupted program of the next unit: the chunk continues in another block, or ends before
    /// the unit.
    fn settle_interrupted(
        &mut self,
        chunk: ChunkId,
        &Settled { is_kept, .. }: &Settled,
        calendar: &mut impl Schedule<Event>,
    ) {
        let is_written = matches!(self.data.chunks.get(chunk).state, ChunkState::Free | ChunkState::Open);
        let goes_on =
            |manager: &Manager| is_kept || is_written && !manager.reserve(manager.unit_of(chunk)).is_empty();
        if self.failures().is_some_and(goes_on) {
            self.repair_program(chunk, false, calendar);
        } else if is_kept {
            self.close_early(chunk, false, calendar);
        } else {
            // If the failure manager pads the chunk, it finds the padding interrupted.
            self.data.chunks.end(chunk, ChunkState::Closed);
        }
    }
}
