//! Work of the failure manager among that of the host: what a die does next.
//!
//! In the background a die starts an operation only when the device has no outstanding command and the buffer
//! of the die is empty. So a host command waits for at most one operation. Without the option `shift`, a
//! failed write and all later writes on its die wait until the pages are copied.

use wordline_flash::Task;
use wordline_kernel::Schedule;
use wordline_nand::DieId;

use super::chunks::ChunkId;
use super::die_work::{PendingChange, Repairs};
use super::failures::Step;
use super::repairs::After;
use super::{Event, OpenChannel};

impl OpenChannel {
    fn repairs(&mut self) -> &mut Repairs {
        self.repairs.as_mut().expect("a device without a manager repairs nothing")
    }

    /// Whether host programs of a queue have to wait for the failure manager.
    pub(super) fn must_hold_programs(&self, queue: u32) -> bool {
        self.recovery.is_under_way()
            || self.repairs.as_ref().is_some_and(|repairs| repairs.must_hold_programs(queue))
    }

    /// Does what follows a step for the failure manager.
    pub(super) fn follow_repair(&mut self, queue: u32, after: After, calendar: &mut impl Schedule<Event>) {
        match after {
            After::Wait => {}
            After::Advance => self.advance(queue, calendar),
            After::Offline(chunk) => self.take_offline(chunk, calendar),
        }
    }

    /// Recovers a failed program: the chunk continues in another block.
    pub(super) fn repair_program(
        &mut self,
        chunk: ChunkId,
        is_bad: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Self { media, host, data, repairs, .. } = self;
        let repairs = repairs.as_mut().expect("it has a manager");
        let (chunks, commands) = (&mut data.chunks, &host.commands);
        let after = repairs.repair_program((chunk, is_bad), chunks, commands, media, calendar);
        self.follow_repair(self.data.chunks.unit_of(chunk), after, calendar);
    }

    /// Recovers a failed or interrupted program of a step.
    pub(super) fn repair_step(
        &mut self,
        chunk: ChunkId,
        failed: (Step, bool),
        calendar: &mut impl Schedule<Event>,
    ) {
        let Self { media, host, data, repairs, .. } = self;
        let repairs = repairs.as_mut().expect("it has a manager");
        let after = repairs.repair_step(chunk, failed, &data.chunks, &host.commands, media, calendar);
        self.follow_repair(self.data.chunks.unit_of(chunk), after, calendar);
    }

    /// Handles the end of a flash command for the failure manager.
    pub(super) fn finish_repair_task(
        &mut self,
        task: &Task,
        failed: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Self { media, host, data, repairs, .. } = self;
        let pools = &media.config.pools;
        let queue = pools.die_of_block(pools.block_of_page(task.page)).0;
        let repairs = repairs.as_mut().expect("its die worked for the manager");
        let (chunks, commands) = (&data.chunks, &host.commands);
        let after = repairs.finish_task(queue, (task, failed), chunks, commands, media, calendar);
        self.follow_repair(queue, after, calendar);
    }

    /// Continues changes that waited for the end of all flash reads of a command.
    pub(super) fn finish_command_reads(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.repairs.as_ref().is_some_and(Repairs::is_waiting_for_reads) {
            (0..self.media.config.geometry.units()).for_each(|queue| self.advance(queue, calendar));
        }
    }

    /// Retries the first waiting change of the tables. If the reserve has no erased block but one to erase,
    /// it is erased first.
    fn retry_change(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let Self { media, host, repairs, .. } = self;
        let repairs = repairs.as_mut().expect("it has a manager");
        if repairs.manager.needs_erase(queue) {
            return repairs.erase_if_unread(queue, &host.commands, media, calendar);
        }
        match repairs.hands[queue as usize].again.pop_front() {
            None => {}
            Some(PendingChange::Program(chunk, is_bad)) => self.repair_program(chunk, is_bad, calendar),
            Some(PendingChange::Step(chunk, step, is_bad)) => {
                self.repair_step(chunk, (step, is_bad), calendar);
            }
            Some(PendingChange::Reset(chunk)) => self.resume_reset(chunk, calendar),
        }
        self.advance(queue, calendar);
    }

    /// Continues with the urgent work of a die: waiting changes of the tables, then resets, then copies that
    /// a failed write waits for, then host programs.
    pub(super) fn advance(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let is_recovering = self.recovery.is_under_way();
        let hand = &self.repairs().hands[queue as usize];
        if is_recovering || hand.action.is_some() || hand.recorded.is_some() {
            return;
        }
        if !hand.again.is_empty() {
            return self.retry_change(queue, calendar);
        }
        let chunks = self.media.config.geometry.chunks_per_unit;
        for reset in self.resets.take_all(|chunk| chunk.0 / chunks == queue) {
            self.begin_reset(reset, calendar);
        }
        let Self { media, data, repairs, .. } = self;
        let repairs = repairs.as_mut().expect("it has a manager");
        if repairs.is_busy(queue) {
            return;
        }
        if repairs.manager.must_copy_first(queue)
            && let Some(chunk) = repairs.manager.next_to_migrate(queue)
        {
            let after = repairs.begin_step(chunk, &data.chunks, media, calendar);
            return self.follow_repair(queue, after, calendar);
        }
        self.admit(queue, calendar);
    }

    /// Starts background work on idle dies.
    pub(super) fn start_background_work(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.repairs.is_none()
            || !self.host.commands.all.is_empty()
            || self.recovery.is_under_way()
            || !self.media.flash.is_clock_running()
        {
            return;
        }
        for queue in 0..self.media.config.geometry.units() {
            let Self { media, data, repairs, .. } = self;
            let repairs = repairs.as_mut().expect("it has a manager");
            let is_idle =
                !repairs.is_busy(queue) && data.buffers.is_empty(queue) && media.flash.is_idle(DieId(queue));
            if is_idle {
                let after = repairs.begin_background_work(queue, &data.chunks, media, calendar);
                self.follow_repair(queue, after, calendar);
            }
        }
    }
}
