//! The data of chunks: how far each chunk is written, and the units in the buffer.

use wordline_device::physical_device::{ChunkState, Command, Failure, LogicalBlock, Operation};
use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DataTag, Location};

use super::buffer::{Buffers, Stage, Unit};
use super::chunks::{ChunkId, Chunks, Entry};
use super::config::OpenChannelConfig;
use super::die_work::UndoEntry;
use super::event::Event;
use super::host::Host;
use super::in_flight::InFlight;
use super::media::Media;

/// Chunk table and write buffer, which change together. A part of a command ends with its unit: the host is
/// handed to what can end one.
pub(super) struct ChunkData {
    pub(super) chunks: Chunks,
    pub(super) buffers: Buffers,
}

/// Findings of the recovery about a chunk.
pub(super) struct Settled {
    /// The program of the next unit ended before the power loss.
    pub(super) is_programmed: bool,
    /// The program of the next unit was interrupted.
    pub(super) is_torn: bool,
    /// Units of the chunk are still in the buffer.
    pub(super) is_kept: bool,
}

impl ChunkData {
    /// Free chunks, and empty buffers.
    pub(super) fn new(config: &OpenChannelConfig) -> Self {
        let size = config.file.buffer.as_ref().map(|buffer| buffer.size);
        Self { chunks: Chunks::new(&config.geometry), buffers: Buffers::new(&config.geometry, size) }
    }

    /// Accepts a checked command: moves write pointers, and counts the command on its chunks.
    pub(super) fn accept(&mut self, command: &Command<'_>, media: &Media) {
        for LogicalBlock { chunk, .. } in command.written() {
            self.chunks.write(media.id_of(*chunk), 1);
        }
        for LogicalBlock { chunk, .. } in command.blocks {
            let chunk = media.id_of(*chunk);
            match command.operation {
                Operation::Read | Operation::Copy => self.chunks.get_mut(chunk).readers += 1,
                Operation::Reset => self.chunks.get_mut(chunk).is_resetting = true,
                Operation::Write | Operation::Flush | Operation::Close => {}
            }
        }
    }

    /// Queues the units of a write or copy. Units of a chunk that has ended in the meantime fail. Returns the
    /// queues.
    pub(super) fn queue_units(&mut self, number: u32, host: &mut Host, media: &Media) -> Vec<u32> {
        let unit = media.unit();
        let command = host.commands.all.get_mut(number);
        let firsts: Vec<LogicalBlock> = command.written().iter().copied().step_by(unit as usize).collect();
        let mut queues = Vec::new();
        for (n, LogicalBlock { chunk, block }) in (0..).zip(firsts) {
            let (chunk, at) = (media.id_of(chunk), n * unit);
            if self.chunks.get(chunk).state != ChunkState::Open {
                self.chunks.get_mut(chunk).writing -= unit;
                command.record_failure(at as usize, unit, Failure::EarlyClose);
                continue;
            }
            command.parts += 1;
            let stamps = &command.stamps[at as usize..(at + unit) as usize];
            let queue = self.chunks.unit_of(chunk);
            self.buffers.push(queue, (number, at), (chunk, block), stamps);
            queues.push(queue);
        }
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    /// Parallel unit of a unit of the buffer.
    pub(super) fn queue_of(&self, id: u32) -> u32 {
        self.chunks.unit_of(self.buffers.get(id).chunk)
    }

    /// Parallel units to which a command writes.
    pub(super) fn queues_of(&self, number: u32, host: &Host, media: &Media) -> Vec<u32> {
        let written = host.commands.all.get(number).written().iter();
        let mut queues: Vec<u32> =
            written.map(|block| self.chunks.unit_of(media.id_of(block.chunk))).collect();
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    /// Marks a unit as being in the buffer. With write-back it completes when all earlier units of its chunk
    /// are in the buffer too.
    pub(super) fn mark_ready(
        &mut self,
        id: u32,
        is_write_back: bool,
        host: &mut Host,
        media: &Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.buffers.set_stage(id, Stage::Ready);
        if !is_write_back {
            return;
        }
        let chunk = self.buffers.get(id).chunk;
        let queue = self.chunks.unit_of(chunk);
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| self.buffers.get(*id).first == self.chunks.get(chunk).written)
            && let Some(number) = self.buffers.release_command(id)
        {
            self.chunks.written(chunk, media.unit());
            self.finish_part(number, host, media, calendar);
            next = self.buffers.ready_at(queue, chunk, self.chunks.get(chunk).written);
        }
    }

    /// Fills a unit of a copy with the data read. Returns false, and the unit is not written, if any data of
    /// the copy are unreadable.
    pub(super) fn fill_copied(&mut self, id: u32, host: &Host, media: &Media) -> bool {
        let unit = self.buffers.get(id);
        let command = host.commands.all.get(unit.command.expect("its copy waits for it"));
        if command.has_failed() {
            self.buffers.set_stage(id, Stage::Unreadable);
            return false;
        }
        let stamps = &command.stamps[unit.at as usize..][..media.unit() as usize];
        self.buffers.fill(id, stamps);
        true
    }

    /// Ends a part of a command. After its last part the command completes.
    pub(super) fn finish_part(
        &mut self,
        number: u32,
        host: &mut Host,
        media: &Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        if !host.commands.finish_part(number) {
            return;
        }
        let command = host.commands.all.get_mut(number);
        let is_in_buffer = self.buffers.has_stranded() && !media.is_buffer_protected();
        if command.operation == Operation::Flush && is_in_buffer {
            command.record_failure(0, 1, Failure::NotFlushed);
        }
        if matches!(command.operation, Operation::Read | Operation::Copy) {
            for block in &command.blocks {
                self.chunks.get_mut(media.id_of(block.chunk)).readers -= 1;
            }
        }
        host.end(number, media, calendar);
    }

    /// Ends the flushes whose wait is over.
    pub(super) fn finish_flushes(
        &mut self,
        host: &mut Host,
        media: &Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        while let Some(number) = self.buffers.take_completed_flush() {
            self.finish_part(number, host, media, calendar);
        }
    }

    /// Removes a unit that is programmed from the buffer.
    pub(super) fn finish_unit(
        &mut self,
        id: u32,
        host: &mut Host,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        let size = media.unit();
        let unit = self.buffers.remove(self.queue_of(id), id);
        self.chunks.get_mut(unit.chunk).programmed += size;
        media.counts.blocks_written += u64::from(size);
        if let Some(number) = unit.command {
            self.chunks.written(unit.chunk, size);
            self.finish_part(number, host, media, calendar);
        }
    }

    /// Drops the units of a chunk that are not programmed. Completed units are lost, unless they are `kept`
    /// in the buffer.
    pub(super) fn drop_units(
        &mut self,
        chunk: ChunkId,
        kept: bool,
        host: &mut Host,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        let (queue, size) = (self.chunks.unit_of(chunk), media.unit());
        for id in self.buffers.units_of_chunk(queue, chunk) {
            match self.buffers.get(id).command {
                None if kept => self.buffers.strand(queue, id),
                None => {
                    self.buffers.remove(queue, id);
                    media.counts.blocks_lost += u64::from(size);
                }
                Some(number) => {
                    let at = self.buffers.remove(queue, id).at;
                    self.chunks.get_mut(chunk).writing -= size;
                    let command = host.commands.all.get_mut(number);
                    command.record_failure(at as usize, size, Failure::EarlyClose);
                    self.finish_part(number, host, media, calendar);
                }
            }
        }
    }

    /// Drops the units of a chunk that is reset.
    pub(super) fn void_units(&mut self, chunk: ChunkId) {
        let queue = self.chunks.unit_of(chunk);
        for id in self.buffers.units_of_chunk(queue, chunk) {
            self.buffers.remove(queue, id);
            self.chunks.get_mut(chunk).is_void = true;
        }
    }

    /// Whether a unit of a chunk is being programmed.
    pub(super) fn is_at_die(&self, chunk: ChunkId) -> bool {
        let at_die = self.buffers.at_die(self.chunks.unit_of(chunk));
        at_die.is_some_and(|id| self.buffers.get(id).chunk == chunk)
    }

    /// Drops outstanding work at a power loss, and the buffer's contents unless they are `protected`. Returns
    /// the chunks that were being changed, and the number of units that completed and are lost.
    pub(super) fn cut(&mut self, is_protected: bool) -> (Vec<ChunkId>, u64) {
        let lost = self.buffers.forget(is_protected);
        let units = lost.lost.len() as u64;
        let is_changing =
            |(chunk, entry): (ChunkId, &Entry)| (entry.changes() || entry.is_behind()).then_some(chunk);
        let changing = self.chunks.iter().filter_map(is_changing);
        let changing = changing.chain(lost.lost).chain(lost.programming).collect();
        self.chunks.forget();
        (changing, units)
    }

    /// Undoes a change of the failure manager's tables in the table of chunks.
    pub(super) fn undo(&mut self, undone: &UndoEntry) {
        let entry = self.chunks.get_mut(undone.before.chunk());
        (entry.is_bad, entry.is_void, entry.is_erasing) = (undone.is_bad, undone.is_void, false);
    }

    /// Finds out how far the writes of a chunk had progressed at a power loss. `next` is the location of its
    /// next unit. `is_migrating`: the page there is one that failed, while other pages are copied.
    pub(super) fn settle(
        &mut self,
        chunk: ChunkId,
        next: Location,
        is_migrating: bool,
        media: &Media,
    ) -> Settled {
        let (queue, unit) = (self.chunks.unit_of(chunk), media.unit());
        let entry = *self.chunks.get(chunk);
        let block = media.config.pools.block_of(next);
        let behind = media.config.pools.at(block, 0).0 + media.chips().programmed(block);
        // In a closed chunk only padding can follow the last unit.
        let is_expected = entry.is_behind() || entry.state != ChunkState::Closed;
        let is_begun = is_expected && !is_migrating && behind > next.0;
        let is_torn = is_begun && media.is_torn(next);
        let is_programmed = is_begun && !is_torn;
        if is_programmed {
            self.chunks.get_mut(chunk).programmed += unit;
            self.buffers.drop_programmed(queue, chunk, entry.programmed);
        }
        let kept = self.buffers.units_of_chunk(queue, chunk).len() as u32 * unit;
        self.chunks.settle(chunk, kept);
        Settled { is_programmed, is_torn, is_kept: kept > 0 }
    }

    /// Sets an offline chunk after a power loss: units that stay in the buffer count as written.
    pub(super) fn settle_offline(&mut self, chunk: ChunkId, unit: u32) {
        let stranded = self.buffers.stranded(self.chunks.unit_of(chunk), chunk);
        self.chunks.settle(chunk, stranded * unit);
    }

    /// Finds out how far the reset of a chunk with this block had progressed at a power loss.
    pub(super) fn settle_reset(&mut self, chunk: ChunkId, block: BlockSetId, media: &Media) {
        if self.chunks.get(chunk).is_erasing && media.chips().programmed(block) == 0 {
            return self.chunks.finish_reset(chunk, false);
        }
        let is_torn = media.flash.stamp(media.config.pools.at(block, 0)) == DataTag::UNREADABLE;
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

    /// Checks the units of a loaded state: each belongs to a chunk of its queue, and to a command of it.
    pub(super) fn check_units(&self, host: &Host, media: &Media) -> Result<(), String> {
        let chunks = self.chunks.len();
        let unit_of = |chunk: ChunkId| ((chunk.0 as usize) < chunks).then(|| self.chunks.unit_of(chunk));
        let size = media.unit() as usize;
        let knows = |unit: &Unit| {
            let Some(number) = unit.command else { return true };
            let written = host.commands.all.find(number).map(InFlight::written);
            let at = unit.at as usize;
            written.and_then(|written| written.get(at..at + size)).is_some_and(|blocks| {
                media.id_of(blocks[0].chunk) == unit.chunk && blocks[0].block == unit.first
            })
        };
        self.buffers.check_loaded(unit_of, knows)
    }
}
