//! Resets, finishes and retirements of zones. Each is a job that waits for earlier jobs of its zone.

use wordline_device::physical_device::{ChunkState, LogicalBlock, Notice};
use wordline_device::{PhysicalDevice, physical_device as physical};
use wordline_kernel::{Instant, Schedule};

use super::below::{Below, Context};
use super::command::{Action, Status};
use super::config::ResetTimes;
use super::host::Host;
use super::in_flight::Work;
use super::table::ZoneId;
use super::zone_data::Job;
use super::zones::Zones;
use wordline_device::ZoneState;

impl Zones {
    /// Queues the flash job of a state change. `number` and `at` are the command and the index of the zone in
    /// it.
    pub(super) fn queue_job<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        action: Action,
        (number, at): (u32, u32),
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) {
        let job = match action {
            // These actions only change the table: memory for gathered blocks is not limited.
            Action::Open | Action::Close | Action::Offline => return,
            Action::Finish => Job::Close(Some(number)),
            Action::Reset => Job::Reset(Some((number, at))),
        };
        self.counts.resets += u64::from(action == Action::Reset);
        context.host.commands.get_mut(number).parts += 1;
        self.bodies[zone].jobs.push_back(job);
        self.run_jobs(zone, context);
    }

    /// Runs the jobs of a zone as far as they can run now.
    pub(super) fn run_jobs<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) {
        loop {
            let body = &mut self.bodies[zone];
            if body.is_at_work {
                return;
            }
            let goes_on = match body.jobs.front() {
                None => return,
                Some(Job::Reset(_)) => self.reset(zone, context),
                Some(Job::Close(_)) => self.close(zone, context),
                Some(Job::Write(..)) => self.write_next(zone, context),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Runs the first job of a zone, a write. The write fails if the zone went offline before.
    fn write_next<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) -> bool {
        let Some(Job::Write(piece, stamps)) = self.bodies[zone].jobs.pop_front() else {
            unreachable!("it is the first")
        };
        if self.table.get(zone).state == ZoneState::Offline {
            self.pieces.get_mut(piece).has_failed = true;
            self.write_piece(piece, &[], context);
        } else {
            self.write_piece(piece, &stamps, context);
        }
        true
    }

    /// First logical blocks of the zone's chunks that are in one of `states`.
    fn chunks_in<D: PhysicalDevice>(
        &self,
        zone: ZoneId,
        states: &[ChunkState],
        below: &Below<D>,
    ) -> Vec<LogicalBlock> {
        let chunks = self.config.layout.chunks(zone);
        chunks
            .filter(|chunk| states.contains(&below.device.report(*chunk).state))
            .map(|chunk| chunk.at(0))
            .collect()
    }

    /// The times after which the firmware ends the reset of a zone, whether its chunks are erased or not.
    fn reset_times(&self) -> Option<ResetTimes> {
        self.config.resets.filter(|_| !self.is_untimed)
    }

    /// Resets the chunks of a zone when none of its reads and writes is in flight. Returns whether the reset
    /// is done.
    fn reset<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) -> bool {
        let body = &self.bodies[zone];
        if body.writes + body.reads > 0 {
            return false;
        }
        if let Some(times) = self.reset_times()
            && let Some(Job::Reset(Some((number, _)))) = body.jobs.front()
        {
            let time = times.of(body.taken, self.config.layout.capacity);
            context.host.later.push((*number, time));
        }
        self.bodies[zone].clear();
        let chunks = self.chunks_in(zone, &[ChunkState::Open, ChunkState::Closed], context.below);
        if chunks.is_empty() {
            self.finish_reset(zone, false, context.below, context.host, context.calendar.now());
            return true;
        }
        self.bodies[zone].is_at_work = true;
        let reset = |tag| physical::Command::reset(tag, &chunks);
        assert!(
            context.below.send(Work::Reset { zone }, reset, context.calendar),
            "nothing of the zone is in flight"
        );
        false
    }

    pub(super) fn on_reset_done<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        failed: bool,
        context: &mut Context<'_, D, C>,
    ) {
        self.bodies[zone].is_at_work = false;
        self.finish_reset(zone, failed, context.below, context.host, context.calendar.now());
        self.run_jobs(zone, context);
    }

    /// Ends a reset. If a chunk of the zone failed, the zone goes offline.
    fn finish_reset<D: PhysicalDevice>(
        &mut self,
        zone: ZoneId,
        failed: bool,
        below: &Below<D>,
        host: &mut Host,
        now: Instant,
    ) {
        let Some(Job::Reset(asked)) = self.bodies[zone].jobs.pop_front() else {
            unreachable!("a reset is the first")
        };
        let has_lost = failed || !self.chunks_in(zone, &[ChunkState::Offline], below).is_empty();
        if has_lost {
            self.counts.zones_lost += u64::from(self.table.get(zone).state != ZoneState::Offline);
            self.table.retire(zone, ZoneState::Offline);
            self.notify(zone, Notice::Offline, host);
        }
        if let Some((number, at)) = asked {
            // A command that the firmware has ended no longer hears of a failure.
            if has_lost && let Some(command) = host.commands.find_mut(number) {
                command.record_failure(at as usize, 1, Status::Offline);
            }
            if self.reset_times().is_none() {
                host.finish_part(number, now);
            }
        }
    }

    /// Closes the chunks of a full or read-only zone when none of its reads and writes is in flight. Gathered
    /// blocks are written before. Returns whether the close is done.
    fn close<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) -> bool {
        self.pad(zone, context);
        let body = &mut self.bodies[zone];
        if body.writes + body.reads > 0 {
            return false;
        }
        let chunks = self.chunks_in(zone, &[ChunkState::Open], context.below);
        if chunks.is_empty() {
            self.finish_close(zone, context.host, context.calendar.now());
            return true;
        }
        // A zone without data has no open chunk, and needs no padding.
        if self.config.finish_pads && matches!(self.bodies[zone].jobs.front(), Some(Job::Close(Some(_)))) {
            let (runs, layout) = (&self.bodies[zone].runs, &self.config.layout);
            // Padding after earlier writes moves the end of the zone within a program unit.
            let end = runs.position(layout.capacity).next_multiple_of(layout.unit);
            self.pad_to(zone, end.min(layout.positions()), context);
            if self.bodies[zone].writes > 0 {
                return false;
            }
        }
        self.bodies[zone].is_at_work = true;
        let close = |tag| physical::Command::close(tag, &chunks);
        assert!(
            context.below.send(Work::Close { zone }, close, context.calendar),
            "nothing of the zone is in flight"
        );
        false
    }

    pub(super) fn on_close_done<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) {
        self.bodies[zone].is_at_work = false;
        self.finish_close(zone, context.host, context.calendar.now());
        self.run_jobs(zone, context);
    }

    fn finish_close(&mut self, zone: ZoneId, host: &mut Host, now: Instant) {
        let Some(Job::Close(asked)) = self.bodies[zone].jobs.pop_front() else {
            unreachable!("a close is the first")
        };
        if let Some(number) = asked {
            host.finish_part(number, now);
        }
    }

    /// Makes a zone full that cannot accept more writes.
    pub(super) fn end<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) {
        if !self.table.get(zone).state.is_active() || self.bodies[zone].has_pending_reset() {
            return;
        }
        self.table.end(zone);
        self.counts.zones_filled_by_device += 1;
        self.notify(zone, Notice::EarlyClose, context.host);
        self.bodies[zone].jobs.push_back(Job::Close(None));
        self.run_jobs(zone, context);
    }

    /// Retires a zone with an offline chunk. An empty zone goes offline; any other becomes read-only, so that
    /// its completed data stay readable.
    pub(super) fn retire<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) {
        let state = match self.table.get(zone).state {
            ZoneState::Empty => ZoneState::Offline,
            ZoneState::Offline | ZoneState::ReadOnly => return,
            _ => ZoneState::ReadOnly,
        };
        self.table.retire(zone, state);
        self.counts.zones_lost += 1;
        self.notify(zone, Notice::Offline, context.host);
        self.bodies[zone].jobs.push_back(Job::Close(None));
        self.run_jobs(zone, context);
    }
}
