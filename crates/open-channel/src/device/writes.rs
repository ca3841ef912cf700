//! Changes of chunks: writes, copies, resets and closes, and the handling of failed programs and erases.

use wordline_device::physical_device::Operation;
use wordline_device::physical_device::{ChunkState, Failure, Notice};
use wordline_flash::policy::failure::{FailedOperation, FailureAction};
use wordline_flash::{RequestId, Task, Ticket};
use wordline_kernel::Schedule;
use wordline_nand::BlockSetId;

use super::buffer::Stage;
use super::chunks::ChunkId;
use super::failures::NoBlock;
use super::resets::Reset;
use super::{Event, OpenChannel};

impl OpenChannel {
    /// Queues the units of a write or copy. Units of a chunk that has ended in the meantime fail.
    pub(super) fn begin_writes(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        for queue in self.data.queue_units(number, &mut self.host, &self.media) {
            self.admit(queue, calendar);
        }
    }

    /// Gives space to units of a queue as far as there is any, and starts the queue's next program.
    pub(super) fn admit(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        while let Some(id) = self.data.buffers.grant(queue) {
            let number = self.data.buffers.get(id).command.expect("its command waits for it");
            let command = self.host.commands.all.get(number);
            if command.operation == Operation::Copy {
                if command.reads > 0 {
                    self.data.buffers.set_stage(id, Stage::Copying);
                } else {
                    self.copied(id, calendar);
                }
                continue;
            }
            if !self.host.transfer_unit(number, id, &self.media, calendar) {
                self.mark_ready(id, calendar);
            }
        }
        self.program_next(queue, calendar);
    }

    /// Handles a unit whose data have arrived over the link.
    pub(super) fn receive_unit(&mut self, id: u32, calendar: &mut impl Schedule<Event>) {
        if self.data.buffers.get(id).stage == Stage::Dropped {
            return self.data.buffers.free_dropped(id);
        }
        self.mark_ready(id, calendar);
        self.program_next(self.data.queue_of(id), calendar);
    }

    /// Continues a copy after the last of its reads.
    pub(super) fn finish_copy_reads(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        for queue in self.data.queues_of(number, &self.host, &self.media) {
            for id in self.data.buffers.units_of_command(queue, number) {
                if self.data.buffers.get(id).stage == Stage::Copying {
                    self.copied(id, calendar);
                }
            }
            self.program_next(queue, calendar);
        }
    }

    /// Fills a unit of a copy with the data read. If any data of the copy are unreadable, no unit of it is
    /// written.
    fn copied(&mut self, id: u32, calendar: &mut impl Schedule<Event>) {
        if self.data.fill_copied(id, &self.host, &self.media) {
            self.mark_ready(id, calendar);
        }
    }

    /// Marks a unit as being in the buffer.
    fn mark_ready(&mut self, id: u32, calendar: &mut impl Schedule<Event>) {
        let is_write_back = self.is_write_back(self.data.queue_of(id));
        self.data.mark_ready(id, is_write_back, &mut self.host, &self.media, calendar);
        self.follow_completions(calendar);
    }

    /// Starts the next program of a queue. Does nothing if a program is at the die, or if the queue has to
    /// wait for the failure manager.
    fn program_next(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        while !self.must_hold_programs(queue)
            && let Some(id) = self.data.buffers.next(queue)
        {
            let unit = *self.data.buffers.get(id);
            if unit.stage == Stage::Unreadable {
                self.close_early(unit.chunk, false, calendar);
                continue;
            }
            let location = self.unit_location(unit.chunk, unit.first);
            let ticket = Ticket::HostUnit(self.media.config.pools.group_of(location));
            self.data.buffers.begin(queue, id);
            return self.media.program(ticket, location, self.data.buffers.stamps(id), calendar);
        }
    }

    /// Handles the end of the program of a unit.
    pub(super) fn finish_program(&mut self, task: &Task, failed: bool, calendar: &mut impl Schedule<Event>) {
        let queue = self.media.config.pools.die_of(task.location).0;
        let id = self.data.buffers.end(queue);
        let chunk = self.data.buffers.get(id).chunk;
        self.media.counts.programs += u64::from(self.media.flash.is_clock_running());
        if failed {
            self.media.counts.program_failures += 1;
            let block = self.media.config.pools.block_of(task.location);
            let is_bad = self.query_failure_policy(block, FailedOperation::Program) == FailureAction::Retire;
            match &mut self.repairs {
                None => self.close_early(chunk, is_bad, calendar),
                Some(repairs) => {
                    let used = self.data.buffers.occupancy(queue);
                    repairs.retries.failed(chunk, calendar.now(), used);
                    self.repair_program(chunk, is_bad, calendar);
                }
            }
        } else {
            if let Some(repairs) = &mut self.repairs {
                repairs.note_programmed(chunk);
                repairs.retries.note_programmed(chunk, calendar.now());
            }
            self.data.finish_unit(id, &mut self.host, &mut self.media, calendar);
            self.follow_completions(calendar);
            self.settle_closed(chunk);
            self.finish_flushes(calendar);
        }
        self.resume_reset(chunk, calendar);
        self.admit(queue, calendar);
    }

    /// Asks the failure policy about a block in which a program or erase failed.
    fn query_failure_policy(&mut self, block: BlockSetId, failed: FailedOperation) -> FailureAction {
        let times = self.resets.failed(block, failed == FailedOperation::Erase);
        self.media.query_failure_policy(block, failed, times)
    }

    /// Ends a chunk after its programmed blocks, and drops its other units.
    pub(super) fn close_early(&mut self, chunk: ChunkId, is_bad: bool, calendar: &mut impl Schedule<Event>) {
        self.drop_units(chunk, false, calendar);
        self.data.chunks.end(chunk, ChunkState::Closed);
        self.data.chunks.get_mut(chunk).is_bad |= is_bad;
        self.media.counts.early_closes += 1;
        self.notify_end(chunk, Notice::EarlyClose);
        self.settle_closed(chunk);
        self.finish_flushes(calendar);
        self.admit(self.data.chunks.unit_of(chunk), calendar);
    }

    /// Takes a chunk offline after a failed program, because no reserve block is left. Its completed data
    /// stay readable.
    pub(super) fn take_offline(&mut self, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        self.repairs.iter_mut().for_each(|repairs| repairs.retries.forget(chunk));
        self.drop_units(chunk, true, calendar);
        let entry = self.data.chunks.get_mut(chunk);
        entry.next = entry.written;
        self.data.chunks.set_state(chunk, ChunkState::Offline);
        self.notify_end(chunk, Notice::Offline);
        self.finish_flushes(calendar);
        self.admit(self.data.chunks.unit_of(chunk), calendar);
    }

    /// Drops the units of a chunk that are not programmed. Completed units are lost, unless they are `kept`
    /// in the buffer.
    fn drop_units(&mut self, chunk: ChunkId, kept: bool, calendar: &mut impl Schedule<Event>) {
        self.data.drop_units(chunk, kept, &mut self.host, &mut self.media, calendar);
        self.follow_completions(calendar);
    }

    /// Notifies the host that a chunk ended early.
    fn notify_end(&mut self, chunk: ChunkId, notice: Notice) {
        let next = self.data.chunks.get(chunk).next;
        self.host.notify_end(chunk, next, notice, &self.media);
    }

    fn finish_flushes(&mut self, calendar: &mut impl Schedule<Event>) {
        self.data.finish_flushes(&mut self.host, &self.media, calendar);
        self.follow_completions(calendar);
    }

    /// Closes chunks for the host. Their buffered data are still programmed.
    pub(super) fn close(&mut self, number: u32) {
        for n in 0..self.host.commands.all.get(number).blocks.len() {
            let chunk = self.media.id_of(self.host.commands.all.get(number).blocks[n].chunk);
            self.data.chunks.set_state(chunk, ChunkState::Closed);
            self.settle_closed(chunk);
        }
    }

    /// Notifies the failure manager of a closed chunk when all its data are programmed.
    pub(super) fn settle_closed(&mut self, chunk: ChunkId) {
        let entry = self.data.chunks.get(chunk);
        let is_over = entry.state == ChunkState::Closed && entry.programmed == entry.next;
        if let Some(repairs) = self.repairs.as_mut().filter(|_| is_over) {
            repairs.closed(chunk);
        }
    }

    /// Starts the resets of a command.
    pub(super) fn begin_resets(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        for at in 0..self.host.commands.all.get(number).blocks.len() {
            let command = self.host.commands.all.get_mut(number);
            command.parts += 1;
            let chunk = self.media.id_of(command.blocks[at].chunk);
            self.begin_reset((number, at, chunk), calendar);
        }
    }

    /// Starts a reset. It waits while a program of its chunk is at the die. Buffered units of the chunk are
    /// dropped.
    pub(super) fn begin_reset(&mut self, reset: Reset, calendar: &mut impl Schedule<Event>) {
        let (_, _, chunk) = reset;
        let queue = self.data.chunks.unit_of(chunk);
        if self.data.is_at_die(chunk) || self.repairs.as_ref().is_some_and(|repairs| repairs.is_busy(queue)) {
            return self.resets.wait(reset);
        }
        self.repairs.iter_mut().for_each(|repairs| repairs.retries.forget(chunk));
        self.data.void_units(chunk);
        self.finish_flushes(calendar);
        let is_bad = self.data.chunks.get(chunk).is_bad;
        self.erase_for(reset, is_bad, calendar);
        self.admit(queue, calendar);
    }

    /// Erases the block that a chunk has after a reset, or waits until the failure manager has one.
    fn erase_for(&mut self, reset: Reset, is_bad: bool, calendar: &mut impl Schedule<Event>) {
        match self.block_to_erase(reset.2, is_bad, calendar) {
            Ok(block) => self.erase(reset, block, calendar),
            Err(NoBlock::UsedUp) => self.finish_reset(reset, true, calendar),
            Err(NoBlock::NotErased(_)) => self.resets.wait(reset),
        }
    }

    /// Block of a chunk that has to be erased for a reset.
    fn block_to_erase(
        &mut self,
        chunk: ChunkId,
        is_bad: bool,
        calendar: &mut impl Schedule<Event>,
    ) -> Result<BlockSetId, NoBlock> {
        let Self { media, host, data, repairs, .. } = self;
        let Some(repairs) = repairs else {
            return if is_bad { Err(NoBlock::UsedUp) } else { Ok(self.block_of(chunk)) };
        };
        let (chunks, commands) = (&mut data.chunks, &host.commands);
        let (block, after) = repairs.repair_reset((chunk, is_bad), chunks, commands, media, calendar);
        self.follow_repair(self.data.chunks.unit_of(chunk), after, calendar);
        block
    }

    /// Erases the block of a chunk for a reset, unless it is erased already.
    fn erase(&mut self, reset: Reset, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        let (number, at, chunk) = reset;
        if self.chips().programmed(block) == 0 && self.repairs.is_some() {
            return self.finish_reset(reset, false, calendar);
        }
        self.host.commands.all.get_mut(number).locations[at] = self.media.config.pools.at(block, 0);
        self.data.chunks.get_mut(chunk).is_erasing = true;
        self.media.erase(Ticket::Request(RequestId(number)), block, calendar);
    }

    /// Handles the end of an erase for a reset.
    pub(super) fn finish_erase(
        &mut self,
        number: u32,
        task: &Task,
        failed: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        let block = self.media.config.pools.block_of_page(task.page);
        let first = self.media.config.pools.at(block, 0);
        let command = self.host.commands.all.get(number);
        let at = command.locations.iter().position(|location| *location == first);
        let at = at.expect("the reset has the block erased");
        let chunk = self.media.id_of(command.blocks[at].chunk);
        let reset = (number, at, chunk);
        if !failed {
            self.media.note_erased(block);
            return self.finish_reset(reset, false, calendar);
        }
        self.media.counts.erase_failures += 1;
        if self.query_failure_policy(block, FailedOperation::Erase) != FailureAction::Retire {
            return self.erase(reset, block, calendar);
        }
        // The failure manager replaces the block, if the reserve has one. The data after the failed erase are
        // invalid.
        let entry = self.data.chunks.get_mut(chunk);
        (entry.is_bad, entry.is_void) = (true, true);
        self.erase_for(reset, true, calendar);
    }

    /// Resumes the waiting reset of a chunk, if there is one.
    pub(super) fn resume_reset(&mut self, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        if let Some(reset) = self.resets.take(chunk) {
            self.begin_reset(reset, calendar);
        }
    }

    /// Ends a reset. The chunk is free, or offline if the reset failed.
    fn finish_reset(&mut self, reset: Reset, failed: bool, calendar: &mut impl Schedule<Event>) {
        let (number, at, chunk) = reset;
        self.data.chunks.finish_reset(chunk, failed);
        if failed {
            self.media.counts.reset_failures += 1;
            self.host.commands.all.get_mut(number).record_failure(at, 1, Failure::Offline);
            self.notify_end(chunk, Notice::Offline);
        } else {
            self.media.counts.chunks_reset += 1;
        }
        self.finish_part(number, calendar);
    }
}
