//! Zones as chunks, for hosts of physical devices. A write to a chunk is an append to the zone.

use wordline_device::block_device::OldestCommand;
use wordline_device::detail::Detail;
use wordline_device::physical_device::{
    Chunk, ChunkType, Command, CommandBreakdown, Completion, Descriptor, Geometry, LogicalBlock,
    Notification, PowerCut, Refusal,
};
use wordline_device::snapshot::Agenda;
use wordline_device::timeline::Recorded;
use wordline_device::{Gauges, PhysicalDevice, Recovered, TimeFactors, UnscalableReason};
use wordline_flash::WorkTimes;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Digest, Duration, Instant, Metrics, Schedule};
use wordline_nand::DataTag;

use super::config::ResetTimes;
use super::metrics::Mark;
use super::rules::{ChunkRules, state_of};
use super::{Event, Zoned};

impl<D: PhysicalDevice> PhysicalDevice for Zoned<D> {
    type Event = Event<D::Event>;
    type Mark = Mark<D::Mark>;

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, chunk: Chunk) -> Descriptor {
        let zone = self.zones.config.layout.zone_from_chunk(chunk);
        let entry = self.zones.table.get(zone);
        let worn = self
            .zones
            .config
            .layout
            .chunks(zone)
            .map(|chunk| self.below.device.report(chunk).wear_level)
            .max();
        Descriptor {
            chunk,
            state: state_of(entry.state),
            kind: ChunkType::Sequential,
            wear_level: worn.unwrap_or(0),
            blocks: self.zones.config.layout.capacity,
            write_pointer: entry.next,
            readable: self.zones.completed_blocks(zone),
        }
    }

    fn stamp(&self, block: LogicalBlock) -> Option<DataTag> {
        let LogicalBlock { chunk, block } = block;
        let zone = self.zones.config.layout.zone_from_chunk(chunk);
        let body = &self.zones.bodies[zone];
        if block >= self.zones.completed_blocks(zone) {
            return None;
        }
        let below =
            || self.below.device.stamp(self.zones.config.layout.block(zone, body.runs.position(block)));
        body.buffered_tag(block).or_else(below)
    }

    fn submit(
        &mut self,
        command: &Command<'_>,
        calendar: &mut impl Schedule<Self::Event>,
    ) -> Result<(), Refusal> {
        if !self.accepts_commands() {
            return Err(Refusal::NotReady);
        }
        ChunkRules { geometry: &self.geometry, zones: &self.zones }.check(command)?;
        self.take_chunks(command, calendar);
        Ok(())
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        match event {
            Event::Device(event) => self.below.device.handle(event, &mut calendar.within(Event::Device)),
            Event::Firmware(number) => self.host.finish_part(number, calendar.now()),
        }
        if self.is_recovering {
            self.continue_recovery(calendar);
        } else if self.below.device.is_ready() {
            self.process_below(calendar);
        }
    }

    fn completions(&self) -> &[Completion] {
        &self.host.outbox.chunk_answers
    }

    fn clear_completions(&mut self) {
        self.host.outbox.chunk_answers.clear();
    }

    fn notifications(&self) -> &[Notification] {
        &self.host.outbox.notifications
    }

    fn clear_notifications(&mut self) {
        self.host.outbox.notifications.clear();
    }

    fn outstanding(&self) -> usize {
        self.host.commands.len()
    }

    fn is_outstanding(&self, tag: u32) -> bool {
        self.host.commands.values().any(|command| command.tag == tag)
    }

    fn stop_clock(&mut self) {
        self.zones.is_untimed = true;
        self.below.device.stop_clock();
    }

    fn start_clock(&mut self) {
        self.zones.is_untimed = false;
        self.below.device.start_clock();
    }

    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        if let Some(ResetTimes { empty, full }) = &mut self.zones.config.resets {
            (*empty, *full) = (factors.controller.of(*empty), factors.controller.of(*full));
        }
        self.below.device.change_times(factors)
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        self.cut(now)
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.below.device.recover(&mut calendar.within(Event::Device));
        self.continue_recovery(calendar);
    }

    fn is_ready(&self) -> bool {
        self.accepts_commands()
    }

    fn recovery(&self) -> Option<Recovered> {
        let below = self.below.device.recovery()?;
        Some(Recovered { lost: below.lost + self.zones.lost_at_cut, ..below })
    }

    fn digest(&self) -> Digest {
        let mut digest = self.host.digest;
        digest.add(self.below.device.digest().value());
        digest
    }

    fn audit(&self, elapsed: Duration) {
        self.below.device.audit(elapsed);
        let checked = self.check_zones();
        assert!(checked.is_ok(), "{checked:?}");
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.host.commands.values().min_by_key(|command| command.submitted)?;
        // A number that changes whenever the device makes progress.
        let done = self.below.device.digest().value();
        Some(OldestCommand { submitted: first.submitted, tag: first.tag, done })
    }

    /// Chosen: a command waits for all earlier ones of its zone, which may use all its chunks.
    fn stall_limit(&self) -> Duration {
        self.below.device.stall_limit() * u64::from(self.zones.config.layout.width)
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let mut text = String::new();
        self.describe(&mut text).expect("a text takes everything");
        text + &self.below.device.describe_outstanding(now)
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        Mark::new(&self.zones, self.below.device.mark(now))
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        let mut metrics = self.below.device.metrics(&mark.device, now);
        mark.add_metrics(&self.zones, &mut metrics);
        metrics
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        self.below.device.detail(&mark.device, now)
    }

    fn own_blocks(&self) -> u64 {
        self.below.device.own_blocks() + self.zones.counts.padding
    }

    fn gauges(&self, now: Instant) -> Gauges {
        self.below.device.gauges(now)
    }

    fn record(&mut self, on: bool) -> bool {
        self.below.device.record(on)
    }

    fn take_recorded(&mut self, now: Instant, ends: bool) -> Recorded {
        self.below.device.take_recorded(now, ends)
    }

    fn record_times(&mut self) -> bool {
        let tells = self.below.device.record_times();
        self.host.outbox.teller = tells.then(Box::default);
        tells
    }

    fn take_breakdown(&mut self, tag: u32) -> Option<CommandBreakdown> {
        self.host.outbox.teller.as_mut()?.take(tag)
    }

    fn worked(&self) -> WorkTimes {
        self.below.device.worked()
    }

    fn lengths(&self) -> Vec<usize> {
        let mut lengths = self.below.device.lengths();
        lengths.extend([self.zones.table.len(), self.zones.bodies.len()]);
        lengths
    }

    /// Chosen: 1 KiB for a zone with its gathered blocks, and 16 MiB for state that grows with outstanding
    /// work.
    fn max_field_bytes(&self) -> u64 {
        self.below.device.max_field_bytes() + (16 << 20) + 1_024 * self.zones.table.len() as u64
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        let (mut of_device, mut are_known) = (Vec::new(), true);
        for (time, event) in &agenda.events {
            match event {
                Event::Device(event) => of_device.push((*time, *event)),
                Event::Firmware(number) => are_known &= self.host.commands.find(*number).is_some(),
            }
        }
        ensure(are_known, || "the firmware ends a command that does not exist".into())?;
        self.below.device.check_loaded(&Agenda { now: agenda.now, events: of_device })?;
        let tables =
            [self.host.commands.is_sound(), self.below.sent.is_sound(), self.zones.pieces.is_sound()];
        ensure(tables == [true; 3], || "work is over that was the oldest".into())?;
        let notified = self.host.outbox.notifications.iter().all(|one| self.geometry.has(one.first.chunk));
        ensure(notified, || "a notification of a zone that does not exist".into())?;
        let are_sent = self.below.sent.numbers().all(|number| self.below.device.is_outstanding(number));
        ensure(are_sent && self.below.sent.len() == self.below.device.outstanding(), || {
            "the device below works on other commands than it was sent".into()
        })?;
        self.check_zones()
    }
}
