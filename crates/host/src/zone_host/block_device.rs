//! The host as a block device.

use wordline_device::block_device::{OldestCommand, Programmed, Shape};
use wordline_device::content::{Content, TrackedContents};
use wordline_device::detail::Detail;
use wordline_device::preconditioning::{FillProgress, ProgressFn, Steady};
use wordline_device::snapshot::Agenda;
use wordline_device::timeline::Recorded;
use wordline_device::{
    BlockDevice, Command, Completion, Gauges, PhysicalDevice, PowerCut, Recovered, TimeFactors,
    UnscalableReason, ZoneDescriptor,
};
use wordline_kernel::{Calendar, Digest, Duration, Instant, Metrics, Schedule, Seed};
use wordline_nand::DataTag;
use wordline_open_channel::zoned;

use super::config::shape;
use super::metrics::Mark;
use super::{Event, Power, ZoneHost};

/// Logical blocks of each write during preconditioning. Chosen: the most blocks of a command to the device
/// below.
const FILLED_AT_ONCE: u64 = wordline_device::physical_device::MOST_BLOCKS as u64;

impl<D: PhysicalDevice> BlockDevice for ZoneHost<D> {
    type Event = Event<D::Event>;
    type Mark = Mark<zoned::Mark<D::Mark>>;

    fn shape(&self) -> Shape {
        shape(self.zoned.config(), self.zoned.geometry().block_size)
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>) {
        self.take(command, calendar);
    }

    fn follow_contents(&mut self) {
        self.followed = Some(Box::new(TrackedContents::new(self.sectors_of_a_block)));
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.followed.as_mut().expect("contents are followed").carry(tag, contents);
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.followed.as_mut()?.take(tag)
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        match event {
            Event::Submission(number) => self.submit_parts(number, calendar),
            Event::Completion(number) => self.complete(number, calendar.now()),
            Event::Device(event) => {
                self.zoned.handle(event, &mut calendar.within(Event::Device));
                match self.power {
                    Power::On => self.process(calendar),
                    Power::Off => {}
                    Power::Back(since) => self.advance_recovery(since, calendar.now()),
                }
            }
        }
    }

    /// Scales the host time of a command with the controller times.
    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.command_time = factors.controller.of(self.command_time);
        self.zoned.change_times(factors)
    }

    fn completions(&self) -> &[Completion] {
        &self.requests.completions
    }

    fn clear_completions(&mut self) {
        self.requests.completions.clear();
    }

    fn record(&mut self, on: bool) -> bool {
        self.recorder.set_enabled(on);
        self.zoned.record(on)
    }

    fn take_recorded(&mut self, now: Instant, ends: bool) -> Recorded {
        self.recorder.take(self.zoned.take_recorded(now, ends))
    }

    fn outstanding(&self) -> usize {
        self.requests.all.count()
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        let torn = self.zoned.power_cut(now).torn;
        drop(self.requests.sent.take_all());
        self.plugs.iter_mut().for_each(|plugs| plugs.forget());
        self.followed.iter_mut().for_each(|followed| followed.forget_outstanding());
        self.power = Power::Off;
        PowerCut { incomplete: self.requests.all.take_all().map(|request| request.command).collect(), torn }
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.power = Power::Back(calendar.now());
        self.zoned.recover(&mut calendar.within(Event::Device));
        self.advance_recovery(calendar.now(), calendar.now());
    }

    fn is_ready(&self) -> bool {
        self.power == Power::On
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovery
    }

    fn report_zones(&self) -> Option<Vec<ZoneDescriptor>> {
        let sectors = self.sectors_of_a_block;
        let descriptor = |zone: zoned::Zone| ZoneDescriptor {
            start: zone.start * sectors,
            capacity: u64::from(zone.capacity) * sectors,
            write_pointer: zone.state.is_writable().then(|| zone.write_pointer * sectors),
            state: zone.state,
        };
        let zones = self.zoned.config().layout.zones;
        Some((0..zones).map(|zone| descriptor(self.zoned.zone(zoned::ZoneId(zone)))).collect())
    }

    /// Writes this fraction of the capacity, zone by zone from the first one on.
    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        let layout = self.zoned.config().layout;
        let (all, capacity) =
            (u64::from(layout.zones) * u64::from(layout.capacity), u64::from(layout.capacity));
        let expected = (all as f64 * fraction) as u64;
        let mut calendar = Calendar::new();
        self.zoned.stop_clock();
        let (mut written, mut goes_on) = (0, true);
        while written < expected && goes_on {
            let (zone, place) = (written / capacity, written % capacity);
            let count = FILLED_AT_ONCE.min(capacity - place).min(expected - written);
            let first = layout.start(zoned::ZoneId(zone as u32)) + place;
            let version = self.generations[zone as usize] + 1;
            let stamp = |block: u64| DataTag { logical: block as u32, version };
            let stamps: Vec<DataTag> = (first..first + count).map(stamp).collect();
            let command = zoned::Command::write(0, first, &stamps);
            // A zone with factory-bad chunks is offline, and stays empty.
            let taken = self.zoned.submit(&command, &mut calendar);
            debug_assert!(
                taken.is_ok()
                    || self.zoned.zone(zoned::ZoneId(zone as u32)).state == zoned::ZoneState::Offline
            );
            while let Some(event) = calendar.advance() {
                self.zoned.handle(event, &mut calendar);
            }
            self.zoned.clear_zone_completions();
            self.zoned.clear_notifications();
            written += count;
            goes_on = look(FillProgress { pages: written - count, filled: all, expected });
        }
        self.zoned.start_clock();
        goes_on
    }

    /// Fills the zones once. The device relocates nothing, so full zones are already its steady state.
    fn fill_steady_while(
        &mut self,
        _seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        let fills = self.fill_while(fraction.unwrap_or(1.0), look);
        fills.then_some(Steady { overwritten: 0, amplification: None })
    }

    fn digest(&self) -> Digest {
        let mut digest = self.digest;
        digest.add(self.zoned.digest().value());
        digest
    }

    fn audit(&self, elapsed: Duration) {
        self.zoned.audit(elapsed);
        self.audit_all();
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.requests.all.values().min_by_key(|request| request.submitted)?;
        // The digest changes with any progress of the device, which counts as progress of the request.
        let done = self.zoned.digest().value();
        Some(OldestCommand { submitted: first.submitted, tag: first.command.tag, done })
    }

    /// Four stall limits of the device. Chosen: a request may wait for the one before it, and both for
    /// relocations in the device after a program failure.
    fn stall_limit(&self) -> Duration {
        self.zoned.stall_limit() * 4
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let requests = self.requests.all.count();
        let waiting = self.plugs.iter().flat_map(|plugs| plugs.waiting()).count();
        format!("{requests} outstanding requests; {waiting} parts wait for a write of their zone\n")
            + &self.zoned.describe_outstanding(now)
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        Mark::new(&self.counts, &self.zoned, now)
    }

    fn programmed(&self) -> Programmed {
        Programmed { host: self.counts.blocks_written, other: self.zoned.own_blocks() }
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        mark.metrics(&self.counts, &self.zoned, now)
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        self.zoned.detail(&mark.zones, now)
    }

    fn gauges(&self, now: Instant) -> Gauges {
        self.zoned.gauges(now)
    }

    fn lengths(&self) -> Vec<usize> {
        let mut lengths = self.zoned.lengths();
        lengths.push(self.generations.len());
        lengths
    }

    fn max_field_bytes(&self) -> u64 {
        self.zoned.max_field_bytes()
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        self.check_state(agenda)
    }
}
