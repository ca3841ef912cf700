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
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Digest, Duration, Instant, Metrics, Schedule};
use wordline_nand::DataTag;

use super::check::Rules;
use super::chunk_data::ChunkData;
use super::media::Media;
use super::{Event, Mark, OpenChannel};

impl PhysicalDevice for OpenChannel {
    type Event = Event;
    type Mark = Mark;

    fn geometry(&self) -> &Geometry {
        &self.media.config.geometry
    }

    #[inline]
    fn report(&self, chunk: Chunk) -> Descriptor {
        let config = &self.media.config;
        let id = self.media.id_of(chunk);
        let (entry, block) = (self.data.chunks.get(id), self.block_of(id));
        let (erases, stood) = (u64::from(self.chips().erases()[block]), config.pools.first().part.endurance);
        Descriptor {
            chunk,
            state: entry.state,
            kind: ChunkType::Sequential,
            wear_level: (erases * 255 / u64::from(stood.max(1))).min(255) as u8,
            blocks: config.geometry.blocks_per_chunk,
            write_pointer: entry.next,
            readable: entry.readable(config.geometry.mw_cunits),
        }
    }

    fn stamp(&self, block: LogicalBlock) -> Option<DataTag> {
        let LogicalBlock { chunk, block } = block;
        let id = self.media.id_of(chunk);
        let ChunkData { chunks, buffers } = &self.data;
        if block >= chunks.get(id).programmed {
            return buffers.find(chunks.unit_of(id), id, block);
        }
        let found = self.media.flash.stamp(self.location_of(id, block));
        (found != DataTag::ERASED && found != DataTag::UNREADABLE).then_some(found)
    }

    fn submit(&mut self, command: &Command<'_>, calendar: &mut impl Schedule<Event>) -> Result<(), Refusal> {
        if self.recovery.is_under_way() {
            return Err(Refusal::NotReady);
        }
        let geometry = &self.media.config.geometry;
        Rules { geometry, chunks: &self.data.chunks }.check(command)?;
        self.take(command, calendar);
        Ok(())
    }

    fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        let event = match event {
            Event::Flash(event) => event,
            Event::Link(number) => {
                if self.host.advance(number, &self.media, calendar) {
                    self.start_command(number, calendar);
                }
                return self.follow_completions(calendar);
            }
            Event::Unit(id) => return self.receive_unit(id, calendar),
        };
        let Media { flash, policies, .. } = &mut self.media;
        let (tuner, of_flash) = (&*policies.tuner, &mut calendar.within(Event::Flash));
        let done = match event {
            flash::Event::Chips(event) => {
                let done = flash.handle(event, tuner, of_flash);
                done.filter(|done| !flash.decode_if_needed(done, tuner, of_flash))
            }
            event => flash.handle_own(event, calendar.now()),
        };
        if let Some(done) = &done {
            self.command_done(done, calendar);
        }
    }

    fn completions(&self) -> &[Completion] {
        &self.host.completions
    }

    #[inline]
    fn take_completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.host.completions);
    }

    fn clear_completions(&mut self) {
        self.host.completions.clear();
    }

    fn notifications(&self) -> &[Notification] {
        &self.host.notifications
    }

    fn clear_notifications(&mut self) {
        self.host.notifications.clear();
    }

    fn outstanding(&self) -> usize {
        self.host.commands.all.len()
    }

    fn is_outstanding(&self, tag: u32) -> bool {
        self.host.commands.all.values().any(|command| command.tag == tag)
    }

    fn stop_clock(&mut self) {
        self.media.flash.stop_clock();
    }

    fn start_clock(&mut self) {
        self.media.flash.start_clock();
    }

    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.media.flash.change_times(&factors.of_chips(), factors.controller);
        match &mut self.host.link {
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
        !self.recovery.is_under_way()
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovery.last
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn audit(&self, elapsed: Duration) {
        let Media { flash, counts, cut_programs, .. } = &self.media;
        flash.audit(elapsed);
        let programs = self.chips().counts().program_commands;
        assert_eq!(programs, counts.all_programs() + cut_programs, "programs are those of writes");
        let parts: u32 = self.host.commands.all.values().map(|command| command.parts).sum();
        assert_eq!(Some(parts as usize), self.parts_in_flight(), "commands wait for what is in flight");
        let checked = self.check_tables();
        assert!(checked.is_ok(), "{checked:?}");
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let command = self.host.commands.oldest()?;
        let (submitted, tag) = (command.submitted, command.tag);
        // Progress of other commands at the dies counts as progress of this command.
        let done = u64::from(command.parts) << 32
            ^ self.chips().counts().program_commands
            ^ self.chips().counts().block_sets_erased << 16;
        Some(OldestCommand { submitted, tag, done })
    }

    fn stall_limit(&self) -> Duration {
        self.media.config.stall_limit()
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let mut text = String::new();
        let described = self
            .host
            .commands
            .describe(now, &mut text)
            .and_then(|()| self.recovery.describe(&mut text))
            .and_then(|()| self.media.describe(&self.data.buffers, now, &mut text));
        described.expect("a text takes everything");
        text
    }

    fn mark(&self, now: Instant) -> Mark {
        Mark::new(&self.host, self.repairs.as_ref(), &self.media, now)
    }

    fn metrics(&self, mark: &Mark, now: Instant) -> Metrics {
        mark.metrics(&self.host, &self.data.chunks, self.repairs.as_ref(), &self.media, now)
    }

    fn detail(&self, mark: &Mark, now: Instant) -> Detail {
        mark.detail(self.mark(now), &self.media, &self.data.chunks, |chunk| self.block_of(chunk))
    }

    fn own_blocks(&self) -> u64 {
        self.media.own_blocks(&self.media.counts)
    }

    fn gauges(&self, now: Instant) -> Gauges {
        let (mut free, mut good) = (0, 0);
        for (_, entry) in self.data.chunks.iter() {
            free += u64::from(entry.state == ChunkState::Free);
            good += u64::from(entry.state != ChunkState::Offline);
        }
        Gauges {
            arrays: self.chips().array_busy(now).map(Duration::from_ps).collect(),
            free_blocks: free,
            good_blocks: good,
            buffered_pages: u64::from(self.data.buffers.occupied_units() * self.media.unit()),
            ..Gauges::default()
        }
    }

    fn record(&mut self, on: bool) -> bool {
        self.media.flash.record(on);
        true
    }

    fn take_recorded(&mut self, now: Instant, ends: bool) -> Recorded {
        let mut recorded = Recorded::from(self.media.flash.take_recorded(now, ends));
        // The recorded numbers are numbers of vector commands, not of host requests.
        recorded.commands.iter_mut().for_each(|command| command.requests.clear());
        recorded
    }

    fn record_times(&mut self) -> bool {
        self.media.flash.keep_history();
        self.host.commands.breakdowns = Some(Box::default());
        true
    }

    #[inline]
    fn take_breakdown(&mut self, tag: u32) -> Option<CommandBreakdown> {
        let times = self.host.commands.breakdowns.as_mut()?.take(tag)?;
        Some(times.breakdown(&self.media.flash))
    }

    #[inline]
    fn drop_breakdown(&mut self, tag: u32) {
        self.host.commands.breakdowns.as_mut().and_then(|breakdowns| breakdowns.take(tag));
    }

    fn worked(&self) -> WorkTimes {
        self.media.flash.worked()
    }

    fn lengths(&self) -> Vec<usize> {
        let mut lengths = vec![self.data.buffers.len()];
        lengths.extend(self.data.chunks.lengths());
        lengths.extend(self.media.flash.shape());
        lengths.extend(self.repairs.iter().flat_map(|repairs| repairs.lengths()));
        lengths
    }

    /// Chosen: 64 B for a chunk, which takes less than 40 B, and 16 MiB for state that grows with outstanding
    /// work.
    fn max_field_bytes(&self) -> u64 {
        (16 << 20) + 64 * self.data.chunks.len() as u64
    }

    fn check_loaded(&self, agenda: &Agenda<Event>) -> Result<(), String> {
        let Media { config, flash, .. } = &self.media;
        let commands = &self.host.commands;
        flash.check_loaded(agenda.now)?;
        ensure(commands.all.is_sound(), || "a command is over that was the oldest".into())?;
        commands.all.values().try_for_each(|command| command.check(&config.geometry))?;
        self.data.check_units(&self.host, &self.media)?;
        self.check_tables()?;
        let chunks = self.data.chunks.len();
        let there = self.recovery.chunks().iter().all(|chunk| (chunk.0 as usize) < chunks);
        ensure(there, || "a recovery of a chunk that does not exist".into())?;
        let parts: u32 = commands.all.values().map(|command| command.parts).sum();
        ensure(Some(parts as usize) == self.parts_in_flight(), || {
            "commands that wait without work in flight".into()
        })?;
        let of_flash = |(_, event): &(Instant, Event)| match *event {
            Event::Flash(event) => Some(event),
            Event::Link(_) | Event::Unit(_) => None,
        };
        flash.check_pending(agenda.events.iter().filter_map(of_flash))?;
        agenda.events.iter().try_for_each(|(_, event)| self.check_event(*event))
    }
}
