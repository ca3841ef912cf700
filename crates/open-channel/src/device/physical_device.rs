//! `PhysicalDevice` for the open-channel device.

use wordline_device::block_device::OldestCommand;
use wordline_device::detail::Detail;
use wordline_device::factors::{NO_GC, NO_LINK, none_of};
use wordline_device::physical_device::{
    Chunk, ChunkState, ChunkType, Command, CommandBreakdown, Completion, Descriptor, Geometry, LogicalBlock,
    Notification, PowerCut, Refusal,
};
use wordline_device::snapshot::Agenda;
use wordline_device::timeline::Recorded;
use wordline_device::{Gauges, PhysicalDevice, Recovered, TimeFactors, UnscalableReason};
use wordline_flash as flash;
use wordline_flash::WorkTimes;
use wordline_kernel::{Digest, Duration, Instant, Metrics, Schedule};
use wordline_nand::DataTag;

use super::{Event, Mark, OpenChannel};

impl PhysicalDevice for OpenChannel {
    type Event = Event;
    type Mark = Mark;

    fn geometry(&self) -> &Geometry {
        &self.config.geometry
    }

    fn report(&self, chunk: Chunk) -> Descriptor {
        let id = self.id_of(chunk);
        let (entry, block) = (self.chunks.get(id), self.block_of(id));
        let (erases, stood) =
            (u64::from(self.chips().erases()[block]), self.config.pools.first().part.endurance);
        Descriptor {
            chunk,
            state: entry.state,
            kind: ChunkType::Sequential,
            wear_level: (erases * 255 / u64::from(stood.max(1))).min(255) as u8,
            blocks: self.config.geometry.blocks_per_chunk,
            write_pointer: entry.next,
            readable: self.readable(id),
        }
    }

    fn stamp(&self, block: LogicalBlock) -> Option<DataTag> {
        let LogicalBlock { chunk, block } = block;
        let id = self.id_of(chunk);
        if block >= self.chunks.get(id).programmed {
            return self.buffers.find(self.chunks.unit_of(id), id, block);
        }
        let found = self.flash.stamp(self.location_of(id, block));
        (found != DataTag::ERASED && found != DataTag::UNREADABLE).then_some(found)
    }

    fn submit(&mut self, command: &Command<'_>, calendar: &mut impl Schedule<Event>) -> Result<(), Refusal> {
        self.check(command)?;
        self.take(command, calendar);
        Ok(())
    }

    fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        let event = match event {
            Event::Flash(event) => event,
            Event::Link(number) => return self.advance_on_link(number, calendar),
            Event::Unit(id) => return self.receive_unit(id, calendar),
        };
        let (tuner, of_flash) = (&*self.policies.tuner, &mut calendar.within(Event::Flash));
        let done = match event {
            flash::Event::Chips(event) => {
                let done = self.flash.handle(event, tuner, of_flash);
                done.filter(|done| !self.flash.decode_if_needed(done, tuner, of_flash))
            }
            event => self.flash.handle_own(event, tuner, of_flash),
        };
        if let Some(done) = &done {
            self.command_done(done, calendar);
        }
    }

    fn completions(&self) -> &[Completion] {
        &self.completions
    }

    fn take_completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.completions);
    }

    fn clear_completions(&mut self) {
        self.completions.clear();
    }

    fn notifications(&self) -> &[Notification] {
        &self.notifications
    }

    fn clear_notifications(&mut self) {
        self.notifications.clear();
    }

    fn outstanding(&self) -> usize {
        self.commands.len()
    }

    fn is_outstanding(&self, tag: u32) -> bool {
        self.commands.iter().any(|command| command.tag == tag)
    }

    fn stop_clock(&mut self) {
        self.flash.stop_clock();
    }

    fn start_clock(&mut self) {
        self.flash.start_clock();
    }

    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.flash.change_times(&factors.of_chips(), factors.controller);
        match &mut self.link {
            Some(link) => link.change_times(factors.link),
            None => none_of(factors.link, NO_LINK)?,
        }
        none_of(factors.gc, NO_GC)
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        self.cut(now)
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Event>) {
        self.begin_recovery(calendar);
    }

    fn is_ready(&self) -> bool {
        self.recovering.is_none()
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovery
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn audit(&self, elapsed: Duration) {
        self.audit_all(elapsed);
    }

    fn oldest(&self) -> Option<OldestCommand> {
        self.oldest_command()
    }

    fn stall_limit(&self) -> Duration {
        self.stall_limit()
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let mut text = String::new();
        self.describe(now, &mut text).expect("a text takes everything");
        text
    }

    fn mark(&self, now: Instant) -> Mark {
        self.mark_now(now)
    }

    fn metrics(&self, mark: &Mark, now: Instant) -> Metrics {
        self.metrics_since(mark, now)
    }

    fn detail(&self, mark: &Mark, now: Instant) -> Detail {
        self.detail_since(mark, now)
    }

    fn gauges(&self, now: Instant) -> Gauges {
        let (mut free, mut good) = (0, 0);
        for (_, entry) in self.chunks.iter() {
            free += u64::from(entry.state == ChunkState::Free);
            good += u64::from(entry.state != ChunkState::Offline);
        }
        Gauges {
            arrays: self.chips().array_busy(now).map(Duration::from_ps).collect(),
            free_blocks: free,
            good_blocks: good,
            buffered_pages: u64::from(self.buffers.occupied_units() * self.config.geometry.ws_min),
            ..Gauges::default()
        }
    }

    fn record(&mut self, on: bool) -> bool {
        self.flash.record(on);
        true
    }

    fn take_recorded(&mut self) -> Recorded {
        let mut recorded = Recorded::from(self.flash.take_recorded());
        // The recorded numbers are numbers of vector commands, not of host requests.
        recorded.commands.iter_mut().for_each(|command| command.requests.clear());
        recorded
    }

    fn record_times(&mut self) -> bool {
        self.flash.keep_history();
        self.commands.teller = Some(Box::default());
        true
    }

    fn take_breakdown(&mut self, tag: u32) -> Option<CommandBreakdown> {
        self.commands.teller.as_mut()?.take(tag)
    }

    fn worked(&self) -> WorkTimes {
        self.flash.worked()
    }

    fn lengths(&self) -> Vec<usize> {
        let mut lengths = vec![self.chunks.len(), self.buffers.len()];
        lengths.extend(self.flash.shape());
        lengths.extend(self.repairs.iter().flat_map(|repairs| repairs.lengths()));
        lengths
    }

    /// Chosen: 64 B for a chunk, which takes less than 40 B, and 16 MiB for state that grows with outstanding
    /// work.
    fn max_field_bytes(&self) -> u64 {
        (16 << 20) + 64 * self.chunks.len() as u64
    }

    fn check_loaded(&self, agenda: &Agenda<Event>) -> Result<(), String> {
        self.check_state(agenda)
    }
}
