//! Zones as chunks, for hosts of physical devices. A write to a chunk is an append to the zone.

use wordline_device::block_device::OldestCommand;
use wordline_device::detail::Detail;
use wordline_device::physical_device::{
    Chunk, ChunkState, ChunkType, Command, CommandBreakdown, Completion, Descriptor, Geometry, LogicalBlock,
    MOST_BLOCKS, Notification, Operation, PowerCut, Refusal,
};
use wordline_device::snapshot::Agenda;
use wordline_device::timeline::Recorded;
use wordline_device::{Gauges, PhysicalDevice, Recovered, TimeFactors, UnscalableReason};
use wordline_flash::WorkTimes;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Digest, Duration, Instant, Metrics, Schedule};
use wordline_nand::DataTag;

use super::Zoned;
use super::command::Status;
use super::metrics::Mark;
use super::table::{ZoneId, ZoneState};

/// Chunk state of a zone.
fn state_of(state: ZoneState) -> ChunkState {
    match state {
        ZoneState::Empty => ChunkState::Free,
        ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen | ZoneState::Closed => ChunkState::Open,
        ZoneState::Full => ChunkState::Closed,
        ZoneState::ReadOnly | ZoneState::Offline => ChunkState::Offline,
    }
}

/// Splits a list into runs of consecutive logical blocks.
pub(super) fn runs(blocks: &[LogicalBlock]) -> impl Iterator<Item = &[LogicalBlock]> {
    blocks.chunk_by(|one, next| *next == one.chunk.at(one.block + 1))
}

impl<D: PhysicalDevice> Zoned<D> {
    /// Number of logical blocks of a zone that the host can read as a chunk: the blocks of completed writes.
    fn completed_blocks(&self, zone: ZoneId) -> u32 {
        let body = &self.bodies[zone];
        let is_there = self.table.get(zone).state != ZoneState::Offline && !body.has_pending_reset();
        if is_there { body.completed } else { 0 }
    }

    /// Checks a command of a host that sees zones as chunks.
    fn check_chunks(&self, command: &Command<'_>) -> Result<(), Refusal> {
        let Command { operation, blocks, to, stamps, .. } = *command;
        if !self.accepts_commands() {
            return Err(Refusal::NotReady);
        }
        if operation == Operation::Copy {
            return Err(Refusal::Unsupported { operation });
        }
        let allowed = if operation == Operation::Flush { 0..=0 } else { 1..=MOST_BLOCKS };
        if !allowed.contains(&blocks.len()) {
            return Err(Refusal::Count { found: blocks.len() });
        }
        if !to.is_empty() {
            return Err(Refusal::Destinations { found: to.len(), wanted: 0 });
        }
        let is_there =
            |at: &&LogicalBlock| self.geometry.has(at.chunk) && at.block < self.geometry.blocks_per_chunk;
        if let Some(block) = blocks.iter().find(|block| !is_there(block)) {
            return Err(Refusal::NoSuchBlock { block: *block });
        }
        let wanted = if operation == Operation::Write { blocks.len() } else { 0 };
        if stamps.len() != wanted {
            return Err(Refusal::Stamps { found: stamps.len(), wanted });
        }
        match operation {
            Operation::Read => blocks.iter().try_for_each(|block| {
                let end = self.completed_blocks(self.config.layout.zone_from_chunk(block.chunk));
                if block.block < end { Ok(()) } else { Err(Refusal::NotReadable { block: *block, end }) }
            }),
            Operation::Write => self.check_runs(blocks, stamps),
            Operation::Reset | Operation::Close => self.check_changes(operation, blocks),
            Operation::Copy | Operation::Flush => Ok(()),
        }
    }

    /// Checks that each run of a list begins at the write pointer of its zone and fills whole programs.
    fn check_runs(&self, blocks: &[LogicalBlock], stamps: &[DataTag]) -> Result<(), Refusal> {
        let is_written = |stamp: &DataTag| stamp.is_data() || *stamp == DataTag::PADDING;
        if let Some(at) = stamps.iter().position(|stamp| !is_written(stamp)) {
            return Err(Refusal::NoData { block: blocks[at] });
        }
        let mut after = None;
        for run in runs(blocks) {
            let (first, found) = (run[0], run.len() as u32);
            let (chunk, zone) = (first.chunk, self.config.layout.zone_from_chunk(first.chunk));
            let table = after.as_ref().unwrap_or(&self.table);
            let entry = table.get(zone);
            let state = state_of(entry.state);
            table.check_write(zone, Some(first.block), u64::from(found), true).map_err(
                |status| match status {
                    Status::InvalidWrite => Refusal::OutOfOrder { block: first, wanted: entry.next },
                    Status::TooManyActive | Status::TooManyOpen => {
                        Refusal::TooManyOpen { chunk, limit: self.geometry.max_open }
                    }
                    _ => Refusal::State { chunk, state },
                },
            )?;
            let wanted = self.geometry.ws_min;
            if !found.is_multiple_of(wanted) {
                return Err(Refusal::WriteSize { chunk, found, wanted });
            }
            if run.len() < blocks.len() {
                after.get_or_insert_with(|| self.table.clone()).write(zone, found);
            }
        }
        Ok(())
    }

    fn check_changes(&self, operation: Operation, blocks: &[LogicalBlock]) -> Result<(), Refusal> {
        for (n, LogicalBlock { chunk, .. }) in blocks.iter().enumerate() {
            let state = state_of(self.table.get(self.config.layout.zone_from_chunk(*chunk)).state);
            let may = match operation {
                Operation::Close => state == ChunkState::Open,
                _ => state != ChunkState::Offline,
            };
            if !may {
                return Err(Refusal::State { chunk: *chunk, state });
            }
            if blocks[..n].iter().any(|before| before.chunk == *chunk) {
                return Err(Refusal::Twice { chunk: *chunk });
            }
        }
        Ok(())
    }
}

impl<D: PhysicalDevice> PhysicalDevice for Zoned<D> {
    type Event = D::Event;
    type Mark = Mark<D::Mark>;

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, chunk: Chunk) -> Descriptor {
        let zone = self.config.layout.zone_from_chunk(chunk);
        let entry = self.table.get(zone);
        let worn = self.config.layout.chunks(zone).map(|chunk| self.device.report(chunk).wear_level).max();
        Descriptor {
            chunk,
            state: state_of(entry.state),
            kind: ChunkType::Sequential,
            wear_level: worn.unwrap_or(0),
            blocks: self.config.layout.capacity,
            write_pointer: entry.next,
            readable: self.completed_blocks(zone),
        }
    }

    fn stamp(&self, block: LogicalBlock) -> Option<DataTag> {
        let LogicalBlock { chunk, block } = block;
        let zone = self.config.layout.zone_from_chunk(chunk);
        let body = &self.bodies[zone];
        if block >= self.completed_blocks(zone) {
            return None;
        }
        let below = || self.device.stamp(self.config.layout.block(zone, body.runs.position(block)));
        body.buffered_tag(block).or_else(below)
    }

    fn submit(
        &mut self,
        command: &Command<'_>,
        calendar: &mut impl Schedule<Self::Event>,
    ) -> Result<(), Refusal> {
        self.check_chunks(command)?;
        self.take_chunks(command, calendar);
        Ok(())
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        self.device.handle(event, calendar);
        if self.is_recovering {
            self.continue_recovery(calendar);
        } else if self.device.is_ready() {
            self.process_below(calendar);
        }
    }

    fn completions(&self) -> &[Completion] {
        &self.outbox.chunk_answers
    }

    fn clear_completions(&mut self) {
        self.outbox.chunk_answers.clear();
    }

    fn notifications(&self) -> &[Notification] {
        &self.outbox.notifications
    }

    fn clear_notifications(&mut self) {
        self.outbox.notifications.clear();
    }

    fn outstanding(&self) -> usize {
        self.commands.len()
    }

    fn is_outstanding(&self, tag: u32) -> bool {
        self.commands.values().any(|command| command.tag == tag)
    }

    fn stop_clock(&mut self) {
        self.device.stop_clock();
    }

    fn start_clock(&mut self) {
        self.device.start_clock();
    }

    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.device.change_times(factors)
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        self.cut(now)
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.device.recover(calendar);
        self.continue_recovery(calendar);
    }

    fn is_ready(&self) -> bool {
        self.accepts_commands()
    }

    fn recovery(&self) -> Option<Recovered> {
        self.device.recovery()
    }

    fn digest(&self) -> Digest {
        let mut digest = self.digest;
        digest.add(self.device.digest().value());
        digest
    }

    fn audit(&self, elapsed: Duration) {
        self.device.audit(elapsed);
        self.audit_zones();
    }

    fn oldest(&self) -> Option<OldestCommand> {
        self.oldest_command()
    }

    /// Chosen: a command waits for all earlier ones of its zone, which may use all its chunks.
    fn stall_limit(&self) -> Duration {
        self.device.stall_limit() * u64::from(self.config.layout.width)
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let mut text = String::new();
        self.describe(&mut text).expect("a text takes everything");
        text + &self.device.describe_outstanding(now)
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        self.mark_now(now)
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        self.metrics_since(mark, now)
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        self.device.detail(&mark.device, now)
    }

    fn gauges(&self, now: Instant) -> Gauges {
        self.device.gauges(now)
    }

    fn record(&mut self, on: bool) -> bool {
        self.device.record(on)
    }

    fn take_recorded(&mut self) -> Recorded {
        self.device.take_recorded()
    }

    fn record_times(&mut self) -> bool {
        let tells = self.device.record_times();
        self.outbox.teller = tells.then(Box::default);
        tells
    }

    fn take_breakdown(&mut self, tag: u32) -> Option<CommandBreakdown> {
        self.outbox.teller.as_mut()?.take(tag)
    }

    fn worked(&self) -> WorkTimes {
        self.device.worked()
    }

    fn lengths(&self) -> Vec<usize> {
        let mut lengths = self.device.lengths();
        lengths.extend([self.table.len(), self.bodies.len()]);
        lengths
    }

    /// Chosen: 1 KiB for a zone with its gathered blocks, and 16 MiB for state that grows with outstanding
    /// work.
    fn max_field_bytes(&self) -> u64 {
        self.device.max_field_bytes() + (16 << 20) + 1_024 * self.table.len() as u64
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        self.device.check_loaded(agenda)?;
        let notified = self.outbox.notifications.iter().all(|one| self.geometry.has(one.first.chunk));
        ensure(notified, || "a notification of a zone that does not exist".into())?;
        let are_sent = self.sent.numbers().all(|number| self.device.is_outstanding(number));
        ensure(are_sent && self.sent.len() == self.device.outstanding(), || {
            "the device below works on other commands than it was sent".into()
        })?;
        self.check_zones()
    }
}
