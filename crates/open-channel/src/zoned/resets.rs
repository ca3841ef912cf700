//! Resets, finishes and retirements of zones. Each is a job that waits for earlier jobs of its zone.

use wordline_device::physical_device::{ChunkState, LogicalBlock, Notice};
use wordline_device::{PhysicalDevice, physical_device as physical};
use wordline_kernel::Schedule;

use super::Zoned;
use super::command::{Action, Status};
use super::in_flight::Work;
use super::table::{ZoneId, ZoneState};
use super::zone_data::Job;

impl<D: PhysicalDevice> Zoned<D> {
    /// Queues the flash job of a state change. `number` and `at` are the command and the index of the zone in
    /// it.
    pub(super) fn queue_job(
        &mut self,
        action: Action,
        (number, at): (u32, u32),
        zone: ZoneId,
        calendar: &mut impl Schedule<D::Event>,
    ) {
        let job = match action {
            // These actions only change the table: memory for gathered blocks is not limited.
            Action::Open | Action::Close | Action::Offline => return,
            Action::Finish => Job::Close(Some(number)),
            Action::Reset => Job::Reset(Some((number, at))),
        };
        self.counts.resets += u64::from(action == Action::Reset);
        self.commands.get_mut(number).parts += 1;
        self.bodies[zone].jobs.push_back(job);
        self.run_jobs(zone, calendar);
    }

    /// Runs the jobs of a zone as far as they can run now.
    pub(super) fn run_jobs(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) {
        loop {
            let body = &mut self.bodies[zone];
            if body.is_at_work {
                return;
            }
            let goes_on = match body.jobs.front() {
                None => return,
                Some(Job::Reset(_)) => self.reset(zone, calendar),
                Some(Job::Close(_)) => self.close(zone, calendar),
                Some(Job::Write(..)) => self.write_next(zone, calendar),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Runs the first job of a zone, a write. The write fails if the zone went offline before.
    fn write_next(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) -> bool {
        let Some(Job::Write(piece, stamps)) = self.bodies[zone].jobs.pop_front() else {
            unreachable!("it is the first")
        };
        if self.table.get(zone).state == ZoneState::Offline {
            self.pieces.get_mut(piece).has_failed = true;
            self.write_piece(piece, &[], calendar);
        } else {
            self.write_piece(piece, &stamps, calendar);
        }
        true
    }

    /// First logical blocks of the zone's chunks that are in one of `states`.
    fn chunks_in(&self, zone: ZoneId, states: &[ChunkState]) -> Vec<LogicalBlock> {
        let chunks = self.config.layout.chunks(zone);
        chunks
            .filter(|chunk| states.contains(&self.device.report(*chunk).state))
            .map(|chunk| chunk.at(0))
            .collect()
    }

    /// Resets the chunks of a zone when none of its reads and writes is in flight. Returns whether the reset
    /// is done.
    fn reset(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) -> bool {
        let body = &mut self.bodies[zone];
        if body.writes + body.reads > 0 {
            return false;
        }
        body.clear();
        let chunks = self.chunks_in(zone, &[ChunkState::Open, ChunkState::Closed]);
        if chunks.is_empty() {
            self.finish_reset(zone, false, calendar);
            return true;
        }
        self.bodies[zone].is_at_work = true;
        let reset = |tag| physical::Command::reset(tag, &chunks);
        assert!(self.send(Work::Reset { zone }, reset, calendar), "nothing of the zone is in flight");
        false
    }

    pub(super) fn on_reset_done(
        &mut self,
        zone: ZoneId,
        failed: bool,
        calendar: &mut impl Schedule<D::Event>,
    ) {
        self.bodies[zone].is_at_work = false;
        self.finish_reset(zone, failed, calendar);
        self.run_jobs(zone, calendar);
    }

    /// Ends a reset. If a chunk of the zone failed, the zone goes offline.
    fn finish_reset(&mut self, zone: ZoneId, failed: bool, calendar: &mut impl Schedule<D::Event>) {
        let Some(Job::Reset(asked)) = self.bodies[zone].jobs.pop_front() else {
            unreachable!("a reset is the first")
        };
        let has_lost = failed || !self.chunks_in(zone, &[ChunkState::Offline]).is_empty();
        if has_lost {
            self.counts.zones_lost += u64::from(self.table.get(zone).state != ZoneState::Offline);
            self.table.retire(zone, ZoneState::Offline);
            self.notify(zone, Notice::Offline);
        }
        if let Some((number, at)) = asked {
            if has_lost {
                self.commands.get_mut(number).record_failure(at as usize, 1, Status::Offline);
            }
            self.finish_part(number, calendar);
        }
    }

    /// Closes the chunks of a full or read-only zone when none of its reads and writes is in flight. Gathered
    /// blocks are written before. Returns whether the close is done.
    fn close(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) -> bool {
        self.pad(zone, calendar);
        let body = &mut self.bodies[zone];
        if body.writes + body.reads > 0 {
            return false;
        }
        let chunks = self.chunks_in(zone, &[ChunkState::Open]);
        if chunks.is_empty() {
            self.finish_close(zone, calendar);
            return true;
        }
        self.bodies[zone].is_at_work = true;
        let close = |tag| physical::Command::close(tag, &chunks);
        assert!(self.send(Work::Close { zone }, close, calendar), "nothing of the zone is in flight");
        false
    }

    pub(super) fn on_close_done(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) {
        self.bodies[zone].is_at_work = false;
        self.finish_close(zone, calendar);
        self.run_jobs(zone, calendar);
    }

    fn finish_close(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) {
        let Some(Job::Close(asked)) = self.bodies[zone].jobs.pop_front() else {
            unreachable!("a close is the first")
        };
        if let Some(number) = asked {
            self.finish_part(number, calendar);
        }
    }

    /// Makes a zone full that cannot accept more writes.
    pub(super) fn end(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) {
        if !self.table.get(zone).state.is_active() || self.bodies[zone].has_pending_reset() {
            return;
        }
        self.table.end(zone);
        self.counts.zones_filled_by_device += 1;
        self.notify(zone, Notice::EarlyClose);
        self.bodies[zone].jobs.push_back(Job::Close(None));
        self.run_jobs(zone, calendar);
    }

    /// Retires a zone with an offline chunk. An empty zone goes offline; any other becomes read-only, so that
    /// its completed data stay readable.
    pub(super) fn retire(&mut self, zone: ZoneId, calendar: &mut impl Schedule<D::Event>) {
        let state = match self.table.get(zone).state {
            ZoneState::Empty => ZoneState::Offline,
            ZoneState::Offline | ZoneState::ReadOnly => return,
            _ => ZoneState::ReadOnly,
        };
        self.table.retire(zone, state);
        self.counts.zones_lost += 1;
        self.notify(zone, Notice::Offline);
        self.bodies[zone].jobs.push_back(Job::Close(None));
        self.run_jobs(zone, calendar);
    }
}
