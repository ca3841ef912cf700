//! Power loss and recovery.
//!
//! The zone table survives a power loss, except for the write pointers. The write pointer of an active zone
//! is found from its chunks: the first missing block of any chunk ends the zone. Blocks of other chunks
//! beyond it are skipped, and all chunks are padded to the same position. The zone becomes full if it has too
//! little space for that, or if one of its chunks accepts no more writes.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, ChunkState, Descriptor, PowerCut};
use wordline_kernel::{Instant, Schedule};

use super::below::{Below, Context};
use super::table::ZoneId;
use super::zone_data::Job;
use super::zones::Zones;
use super::{Event, Zoned};
use wordline_device::ZoneState;

impl<D: PhysicalDevice> Zoned<D> {
    pub(super) fn cut(&mut self, now: Instant) -> PowerCut {
        let torn = self.below.cut(now);
        self.zones.cut();
        self.is_recovering = true;
        PowerCut { incomplete: self.host.cut(now), torn }
    }

    /// Continues the recovery when the device below has recovered.
    pub(super) fn continue_recovery(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        if !self.is_recovering || !self.below.device.is_ready() {
            return;
        }
        self.is_recovering = false;
        // Notifications of the device below are dropped, because `settle` reads the chunk reports.
        self.below.device.clear_notifications();
        let Self { zones, below, host, .. } = self;
        zones.recover(&mut Context { below, host, calendar: &mut calendar.within(Event::Device) });
        // Notifications about zones are dropped, because the host reads the zone reports.
        self.host.outbox.notifications.clear();
        self.process_below(calendar);
    }
}

impl Zones {
    /// Drops outstanding work at a power loss, and gathered blocks unless the buffer is protected.
    fn cut(&mut self) {
        for body in self.bodies.iter_mut() {
            self.counts.blocks_lost += body.forget(self.config.is_protected) as u64;
        }
        drop(self.pieces.forget());
        self.losses.forget();
    }

    /// Finishes the resets and closes that had begun, and finds the write pointers of active zones.
    fn recover<D: PhysicalDevice, C: Schedule<D::Event>>(&mut self, context: &mut Context<'_, D, C>) {
        self.lost_at_cut = 0;
        for zone in self.table.ids() {
            let (state, completed) = (self.table.get(zone).state, self.bodies[zone].completed);
            if self.bodies[zone].has_pending_reset() {
                if state.is_active() || state == ZoneState::Full {
                    self.table.settle(zone, 0);
                }
                self.run_jobs(zone, context);
            } else if state.is_active() {
                self.settle(zone, context);
                self.lost_at_cut += u64::from(completed.saturating_sub(self.bodies[zone].taken));
            } else if matches!(state, ZoneState::Full | ZoneState::ReadOnly) {
                self.lost_at_cut += self.missing_blocks(zone, context.below);
                self.bodies[zone].jobs.push_back(Job::Close(None));
                self.run_jobs(zone, context);
            }
        }
    }

    /// Logical blocks of completed writes that are neither in flash nor in memory.
    fn missing_blocks<D: PhysicalDevice>(&self, zone: ZoneId, below: &Below<D>) -> u64 {
        let (layout, body) = (&self.config.layout, &self.bodies[zone]);
        let end = body.runs.position(body.completed);
        let readable = |chunk: Chunk| below.device.report(chunk).readable;
        if layout.chunks(zone).zip(0..).all(|(chunk, member)| readable(chunk) >= layout.below(member, end)) {
            return 0;
        }
        let is_missing = |block: &u32| {
            let place = layout.block(zone, body.runs.position(*block));
            body.buffered_tag(*block).is_none() && place.block >= readable(place.chunk)
        };
        (0..body.completed).filter(is_missing).count() as u64
    }

    /// Finds the write pointer of an active zone.
    fn settle<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) {
        let layout = self.config.layout;
        let reports: Vec<Descriptor> =
            layout.chunks(zone).map(|chunk| context.below.device.report(chunk)).collect();
        let written = || (0..).zip(&reports).map(|(member, report)| (member, report.readable));
        let missing = written().filter(|(_, end)| *end < layout.blocks_per_chunk);
        let missing = missing.map(|(member, end)| layout.position(member, end)).min();
        let missing = missing.unwrap_or(layout.positions());
        let last = written().filter(|(_, end)| *end > 0);
        let last = last.map(|(member, end)| layout.position(member, end - 1) + 1).max().unwrap_or(0);

        let body = &mut self.bodies[zone];
        let handed = body.blocks_sent();
        let is_whole = missing == body.runs.position(handed) && last <= missing;
        if !is_whole {
            let lost = body.roll_back(body.runs.blocks_below(missing, handed));
            self.counts.blocks_lost += lost as u64;
        }
        body.on_way.clear();
        body.completed = body.taken;
        let taken = body.taken;
        self.table.settle(zone, taken);
        if taken == 0 {
            body.clear();
            body.jobs.push_back(Job::Reset(None));
            return self.run_jobs(zone, context);
        }
        if !is_whole {
            body.runs.add_run(body.blocks_sent(), last);
        }
        let fits = body.fits(&layout);
        let ends = |(report, member): (&Descriptor, u32)| {
            report.state == ChunkState::Closed
                && report.write_pointer < layout.below(member, layout.positions())
        };
        if reports.iter().any(|report| report.state == ChunkState::Offline) {
            self.retire(zone, context);
        } else if !fits || reports.iter().zip(0..).any(ends) {
            self.end(zone, context);
        } else {
            self.pad_to(zone, last, context);
        }
    }
}
