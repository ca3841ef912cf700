//! Changes of chunks: writes, copies, resets and closes, and the handling of failed programs and erases.

use wordline_device::physical_device::{ChunkState, Failure, LogicalBlock, Notice, Notification, Operation};
use wordline_flash::policy::failure::{
    FailedOperation, Failure as FailureEvent, FailureAction, MOST_FAILURES,
};
use wordline_flash::{Class, RequestId, Task, Ticket};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::BlockSetId;

use super::buffer::Stage;
use super::chunks::ChunkId;
use super::failures::NoBlock;
use super::resets::Reset;
use super::{Event, OpenChannel};

impl OpenChannel {
    /// Queues the units of a write or copy. Units of a chunk that has ended in the meantime fail.
    pub(super) fn begin_writes(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let unit = self.config.geometry.ws_min;
        let command = self.commands.get(number);
        let firsts: Vec<LogicalBlock> = command.written().iter().copied().step_by(unit as usize).collect();
        let mut queues = Vec::new();
        for (n, LogicalBlock { chunk, block }) in (0..).zip(firsts) {
            let (chunk, at) = (self.id_of(chunk), n * unit);
            if self.chunks.get(chunk).state != ChunkState::Open {
                self.chunks.get_mut(chunk).writing -= unit;
                self.commands.get_mut(number).record_failure(at as usize, unit, Failure::EarlyClose);
                continue;
            }
            let command = self.commands.get_mut(number);
            command.parts += 1;
            let stamps = &command.stamps[at as usize..(at + unit) as usize];
            let queue = self.chunks.unit_of(chunk);
            self.buffers.push(queue, (number, at), (chunk, block), stamps);
            queues.push(queue);
        }
        queues.sort_unstable();
        queues.dedup();
        for queue in queues {
            self.admit(queue, calendar);
        }
    }

    /// Gives space to units of a queue as far as there is any, and starts the queue's next program.
    pub(super) fn admit(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        while let Some(id) = self.buffers.grant(queue) {
            let number = self.buffers.get(id).command.expect("its command waits for it");
            let command = self.commands.get(number);
            if command.operation == Operation::Copy {
                if command.reads > 0 {
                    self.buffers.set_stage(id, Stage::Copying);
                } else {
                    self.copied(id, calendar);
                }
                continue;
            }
            match self.link.as_mut().filter(|_| self.flash.is_clock_running()) {
                Some(link) => {
                    let bytes = self.config.geometry.block_size.0 * u64::from(self.config.geometry.ws_min);
                    let at = link.receive(bytes, calendar.now());
                    calendar.at(at, Event::Unit(id));
                    let time = at - calendar.now();
                    self.commands.teller.iter_mut().for_each(|teller| teller.brought(number, time));
                }
                None => self.mark_unit_ready(id, calendar),
            }
        }
        self.program_next(queue, calendar);
    }

    /// Handles a unit whose data have arrived over the link.
    pub(super) fn receive_unit(&mut self, id: u32, calendar: &mut impl Schedule<Event>) {
        if self.buffers.get(id).stage == Stage::Dropped {
            return self.buffers.free_dropped(id);
        }
        self.mark_unit_ready(id, calendar);
        let queue = self.chunks.unit_of(self.buffers.get(id).chunk);
        self.program_next(queue, calendar);
    }

    /// Continues a copy after the last of its reads.
    pub(super) fn finish_copy_reads(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let to = self.commands.get(number).to.iter();
        let mut queues: Vec<u32> = to.map(|block| self.chunks.unit_of(self.id_of(block.chunk))).collect();
        queues.sort_unstable();
        queues.dedup();
        for queue in queues {
            for id in self.buffers.units_of_command(queue, number) {
                if self.buffers.get(id).stage == Stage::Copying {
                    self.copied(id, calendar);
                }
            }
            self.program_next(queue, calendar);
        }
    }

    /// Fills a unit of a copy with the data read. If any data of the copy are unreadable, no unit of it is
    /// written.
    fn copied(&mut self, id: u32, calendar: &mut impl Schedule<Event>) {
        let (number, at) =
            (self.buffers.get(id).command.expect("its copy waits for it"), self.buffers.get(id).at);
        let command = self.commands.get(number);
        if command.has_failed() {
            return self.buffers.set_stage(id, Stage::Unreadable);
        }
        let stamps = &command.stamps[at as usize..][..self.config.geometry.ws_min as usize];
        self.buffers.fill(id, stamps);
        self.mark_unit_ready(id, calendar);
    }

    /// Marks a unit as being in the buffer. With write-back it completes when all earlier units of its chunk
    /// are in the buffer too.
    fn mark_unit_ready(&mut self, id: u32, calendar: &mut impl Schedule<Event>) {
        self.buffers.set_stage(id, Stage::Ready);
        let chunk = self.buffers.get(id).chunk;
        let queue = self.chunks.unit_of(chunk);
        if !self.is_write_back(queue) {
            return;
        }
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| self.buffers.get(*id).first == self.chunks.get(chunk).written)
            && let Some(number) = self.buffers.release_command(id)
        {
            self.chunks.written(chunk, self.config.geometry.ws_min);
            self.finish_part(number, calendar);
            next = self.buffers.ready_at(queue, chunk, self.chunks.get(chunk).written);
        }
    }

    /// Starts the next program of a queue. Does nothing if a program is at the die, or if the queue has to
    /// wait for the failure manager.
    pub(super) fn program_next(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        while !self.must_hold_programs(queue)
            && let Some(id) = self.buffers.next(queue)
        {
            let unit = *self.buffers.get(id);
            if unit.stage == Stage::Unreadable {
                self.close_early(unit.chunk, false, calendar);
                continue;
            }
            let location = self.unit_location(unit.chunk, unit.first);
            let row = self.config.pools.group_of(location);
            let (ticket, size) = (Ticket::HostUnit(row), self.config.geometry.ws_min);
            let (die, stamps) = self.flash.program(calendar.now(), (ticket, Class::Write), location, size);
            stamps.copy_from_slice(self.buffers.stamps(id));
            self.buffers.begin(queue, id);
            return self.start(die, calendar);
        }
    }

    /// Handles the end of the program of a unit.
    pub(super) fn finish_program(&mut self, task: &Task, failed: bool, calendar: &mut impl Schedule<Event>) {
        let queue = self.config.pools.die_of(task.location).0;
        let (id, size) = (self.buffers.end(queue), self.config.geometry.ws_min);
        let chunk = self.buffers.get(id).chunk;
        self.counts.programs += u64::from(self.flash.is_clock_running());
        if failed {
            self.counts.program_failures += 1;
            let is_bad = self.query_failure_policy(self.config.pools.block_of(task.location), false)
                == FailureAction::Retire;
            match self.repairs {
                None => self.close_early(chunk, is_bad, calendar),
                Some(_) => {
                    self.note_failure(chunk, calendar.now());
                    self.repair_program(chunk, is_bad, calendar);
                }
            }
        } else {
            let unit = self.buffers.remove(queue, id);
            self.chunks.get_mut(chunk).programmed += size;
            self.counts.blocks_written += u64::from(size);
            if let Some(repairs) = &mut self.repairs {
                repairs.note_programmed(chunk);
                repairs.retries.note_programmed(chunk, calendar.now());
            }
            if let Some(number) = unit.command {
                self.chunks.written(chunk, size);
                self.finish_part(number, calendar);
            }
            self.settle_closed(chunk);
            self.finish_flushes(calendar);
        }
        self.resume_reset(chunk, calendar);
        self.admit(queue, calendar);
    }

    /// Records a failed program of a chunk that is retried.
    fn note_failure(&mut self, chunk: ChunkId, now: Instant) {
        let used = self.buffers.occupancy(self.chunks.unit_of(chunk));
        self.repairs.iter_mut().for_each(|repairs| repairs.retries.failed(chunk, now, used));
    }

    /// Asks the failure policy about a block in which a program or erase failed.
    fn query_failure_policy(&mut self, block: BlockSetId, is_erase: bool) -> FailureAction {
        let times = self.resets.failed(block, is_erase);
        let failed = if is_erase { FailedOperation::Erase } else { FailedOperation::Program };
        let seen = FailureEvent { failed, block, times, erases: self.chips().erases()[block] };
        let after = self.policies.failure.after(&seen);
        if times >= u32::from(MOST_FAILURES) { FailureAction::Retire } else { after }
    }

    /// Ends a chunk after its programmed blocks, and drops its other units.
    pub(super) fn close_early(&mut self, chunk: ChunkId, is_bad: bool, calendar: &mut impl Schedule<Event>) {
        self.drop_buffered(chunk, false, calendar);
        self.chunks.end(chunk, ChunkState::Closed);
        self.chunks.get_mut(chunk).is_bad |= is_bad;
        self.counts.early_closes += 1;
        self.notify_end(chunk, Notice::EarlyClose);
        self.settle_closed(chunk);
        self.finish_flushes(calendar);
        self.admit(self.chunks.unit_of(chunk), calendar);
    }

    /// Takes a chunk offline after a failed program, because no reserve block is left. Its completed data
    /// stay readable.
    pub(super) fn take_offline(&mut self, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        self.repairs.iter_mut().for_each(|repairs| repairs.retries.forget(chunk));
        self.drop_buffered(chunk, true, calendar);
        let entry = self.chunks.get_mut(chunk);
        entry.next = entry.written;
        self.chunks.set_state(chunk, ChunkState::Offline);
        self.notify_end(chunk, Notice::Offline);
        self.finish_flushes(calendar);
        self.admit(self.chunks.unit_of(chunk), calendar);
    }

    /// Drops the units of a chunk that are not programmed. Completed units are lost, unless they are `kept`
    /// in the buffer.
    fn drop_buffered(&mut self, chunk: ChunkId, kept: bool, calendar: &mut impl Schedule<Event>) {
        let (queue, size) = (self.chunks.unit_of(chunk), self.config.geometry.ws_min);
        for id in self.buffers.units_of_chunk(queue, chunk) {
            match self.buffers.get(id).command {
                None if kept => self.buffers.strand(queue, id),
                None => {
                    self.buffers.remove(queue, id);
                    self.counts.blocks_lost += u64::from(size);
                }
                Some(number) => {
                    let at = self.buffers.remove(queue, id).at;
                    self.chunks.get_mut(chunk).writing -= size;
                    self.commands.get_mut(number).record_failure(at as usize, size, Failure::EarlyClose);
                    self.finish_part(number, calendar);
                }
            }
        }
    }

    /// Notifies the host that a chunk ended early.
    fn notify_end(&mut self, chunk: ChunkId, notice: Notice) {
        let next = self.chunks.get(chunk).next;
        let first = self.config.geometry.chunk(chunk.0).at(next);
        let blocks = self.config.geometry.blocks_per_chunk - next;
        self.notifications.push(Notification { first, blocks, notice });
    }

    fn finish_flushes(&mut self, calendar: &mut impl Schedule<Event>) {
        while let Some(number) = self.buffers.take_completed_flush() {
            self.finish_part(number, calendar);
        }
    }

    /// Closes chunks for the host. Their buffered data are still programmed.
    pub(super) fn close(&mut self, number: u32) {
        for n in 0..self.commands.get(number).blocks.len() {
            let chunk = self.id_of(self.commands.get(number).blocks[n].chunk);
            self.chunks.set_state(chunk, ChunkState::Closed);
            self.settle_closed(chunk);
        }
    }

    /// Notifies the failure manager of a closed chunk when all its data are programmed.
    pub(super) fn settle_closed(&mut self, chunk: ChunkId) {
        let entry = self.chunks.get(chunk);
        let is_over = entry.state == ChunkState::Closed && entry.programmed == entry.next;
        if let Some(repairs) = self.repairs.as_mut().filter(|_| is_over) {
            repairs.closed(chunk);
        }
    }

    /// Starts the resets of a command.
    pub(super) fn begin_resets(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        for at in 0..self.commands.get(number).blocks.len() {
            let command = self.commands.get_mut(number);
            command.parts += 1;
            let chunk = command.blocks[at].chunk;
            self.begin_reset((number, at, self.id_of(chunk)), calendar);
        }
    }

    /// Starts a reset. It waits while a program of its chunk is at the die. Buffered units of the chunk are
    /// dropped.
    pub(super) fn begin_reset(&mut self, reset: Reset, calendar: &mut impl Schedule<Event>) {
        let (number, at, chunk) = reset;
        let queue = self.chunks.unit_of(chunk);
        let at_die = self.buffers.at_die(queue);
        let is_busy = at_die.is_some_and(|id| self.buffers.get(id).chunk == chunk);
        if is_busy || self.repairs.as_ref().is_some_and(|repairs| repairs.is_busy(queue)) {
            return self.resets.wait(reset);
        }
        self.repairs.iter_mut().for_each(|repairs| repairs.retries.forget(chunk));
        for id in self.buffers.units_of_chunk(queue, chunk) {
            self.buffers.remove(queue, id);
            self.chunks.get_mut(chunk).is_void = true;
        }
        self.finish_flushes(calendar);
        let is_bad = self.chunks.get(chunk).is_bad;
        match self.block_to_erase(chunk, is_bad, calendar) {
            Ok(block) => self.erase((number, at, chunk), block, calendar),
            Err(NoBlock::UsedUp) => self.finish_reset((number, at, chunk), true, calendar),
            Err(NoBlock::NotErased(_)) => self.resets.wait(reset),
        }
        self.admit(queue, calendar);
    }

    /// Block of a chunk that has to be erased for a reset.
    fn block_to_erase(
        &mut self,
        chunk: ChunkId,
        is_bad: bool,
        calendar: &mut impl Schedule<Event>,
    ) -> Result<BlockSetId, NoBlock> {
        match self.repairs {
            None if is_bad => Err(NoBlock::UsedUp),
            None => Ok(self.block_of(chunk)),
            Some(_) => self.repair_reset(chunk, is_bad, calendar),
        }
    }

    /// Erases the block of a chunk for a reset, unless it is erased already.
    fn erase(&mut self, reset: Reset, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        let (number, at, chunk) = reset;
        if self.chips().programmed(block) == 0 && self.repairs.is_some() {
            return self.finish_reset(reset, false, calendar);
        }
        self.commands.get_mut(number).locations[at] = self.config.pools.at(block, 0);
        self.chunks.get_mut(chunk).is_erasing = true;
        let asked = (Ticket::Request(RequestId(number)), Class::Write);
        let die = self.flash.erase(calendar.now(), asked, block);
        self.start(die, calendar);
    }

    /// Handles the end of an erase for a reset.
    pub(super) fn finish_erase(
        &mut self,
        number: u32,
        task: &Task,
        failed: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        let block = self.config.pools.block_of_page(task.page);
        let first = self.config.pools.at(block, 0);
        let command = self.commands.get(number);
        let at = command.locations.iter().position(|location| *location == first);
        let at = at.expect("the reset has the block erased");
        let chunk = self.id_of(command.blocks[at].chunk);
        let reset = (number, at, chunk);
        if !failed {
            self.note_erased(block);
            return self.finish_reset(reset, false, calendar);
        }
        self.counts.erase_failures += 1;
        if self.query_failure_policy(block, true) != FailureAction::Retire {
            return self.erase(reset, block, calendar);
        }
        // The failure manager replaces the block, if the reserve has one. The data after the failed erase are
        // invalid.
        let entry = self.chunks.get_mut(chunk);
        (entry.is_bad, entry.is_void) = (true, true);
        match self.block_to_erase(chunk, true, calendar) {
            Ok(other) => self.erase(reset, other, calendar),
            Err(NoBlock::UsedUp) => self.finish_reset(reset, true, calendar),
            Err(NoBlock::NotErased(_)) => self.resets.wait(reset),
        }
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
        self.chunks.finish_reset(chunk, failed);
        if failed {
            self.counts.reset_failures += 1;
            self.commands.get_mut(number).record_failure(at, 1, Failure::Offline);
            self.notify_end(chunk, Notice::Offline);
        } else {
            self.counts.chunks_reset += 1;
        }
        self.finish_part(number, calendar);
    }
}
