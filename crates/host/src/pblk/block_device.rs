//! The FTL as a block device. The device below supplies the other functions.

use wordline_device::ageing::Ages;
use wordline_device::block_device::{NextCommand, OldestCommand, Programmed, Shape};
use wordline_device::content::{Content, TrackedContents};
use wordline_device::detail::Detail;
use wordline_device::preconditioning::{ProgressFn, Steady};
use wordline_device::snapshot::Agenda;
use wordline_device::tail::{RequestBreakdown, Tail};
use wordline_device::timeline::Recorded;
use wordline_device::{
    BlockDevice, Command, Completion, Gauges, PhysicalDevice, PowerCut, Recovered, TimeFactors,
    UnscalableReason, ageing,
};
use wordline_kernel::{Digest, Duration, Instant, Metrics, Schedule, Seed};

use super::Pblk;
use super::metrics::Mark;
use super::port::Event;
use super::recovery::Power;
use super::ring::Origin;

impl<D: PhysicalDevice> BlockDevice for Pblk<D> {
    type Event = Event<D::Event>;
    type Mark = Mark<D::Mark>;

    fn shape(&self) -> Shape {
        self.device().geometry().shape_of(self.flash.layout.pages)
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>) {
        self.take(command, calendar);
    }

    fn follow_contents(&mut self) {
        self.tracked = Some(Box::new(TrackedContents::new(self.front.sectors_of_a_page())));
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.tracked.as_mut().expect("contents are tracked").carry(tag, contents);
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.tracked.as_mut()?.take(tag)
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        match event {
            Event::Completion(number) => self.complete_request(number, calendar.now()),
            Event::Silence => {
                self.flash.limiter.end_timer();
                if self.recovery.power == Power::On {
                    self.make_progress(calendar);
                }
            }
            Event::Device(event) => {
                self.flash.port.device.handle(event, &mut calendar.within(Event::Device));
                match self.recovery.power {
                    Power::On if self.flash.port.has_events() => self.make_progress(calendar),
                    Power::On => {}
                    Power::Off | Power::Back(_) => self.advance_recovery(calendar),
                }
            }
        }
    }

    fn explain(&mut self, tail: Tail) {
        self.attribution.begin(tail, &mut self.flash.port.device);
    }

    fn take_breakdown(&mut self, tag: u32) -> Option<RequestBreakdown> {
        Some(self.attribution.tail_mut()?.take_each(tag)?.complete(|_| None))
    }

    fn tail(&self) -> Option<&Tail> {
        self.attribution.tail()
    }

    fn record(&mut self, on: bool) -> bool {
        self.recorder.set_enabled(on);
        self.flash.port.device.record(on)
    }

    fn take_recorded(&mut self, now: Instant, ends: bool) -> Recorded {
        self.recorder.take(self.flash.port.device.take_recorded(now, ends))
    }

    /// Scales the host time of a command with the controller times.
    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.front.set_command_time(factors.controller.of(self.front.command_time()));
        self.flash.port.device.change_times(factors)
    }

    fn completions(&self) -> &[Completion] {
        self.front.completions()
    }

    fn clear_completions(&mut self) {
        self.front.clear_completions();
    }

    fn outstanding(&self) -> usize {
        self.front.outstanding()
    }

    /// Fails the commands that wait for space that never becomes free, because too many chunks are out of
    /// use.
    fn give_up(&mut self, calendar: &mut impl Schedule<Self::Event>) -> bool {
        self.front.fail_waiting(calendar)
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        let torn = self.flash.port.device.power_cut(now).torn;
        self.recovery.forget(&self.buffer.map);
        self.flash.port.forget();
        self.buffer.map.forget();
        self.buffer.ring.forget();
        self.durable.forget(self.buffer.ring.head());
        self.flash.limiter.forget();
        self.flash.lines.forget();
        self.writer.forget();
        self.collector.forget();
        self.attribution.forget();
        self.tracked.iter_mut().for_each(|tracked| tracked.forget_outstanding());
        PowerCut { incomplete: self.front.forget(), torn }
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.recovery.power = Power::Back(calendar.now());
        self.flash.port.device.recover(&mut calendar.within(Event::Device));
        self.advance_recovery(calendar);
    }

    fn is_ready(&self) -> bool {
        self.recovery.power == Power::On
    }

    fn pages_recovered(&self) -> u64 {
        self.recovery.pages_read
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovery.last
    }

    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        let pages = (f64::from(self.buffer.map.pages()) * fraction) as u32;
        self.write_untimed(0..pages, 0, u64::from(pages), look)
    }

    fn fill_steady_while(
        &mut self,
        seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        let pages = (f64::from(self.buffer.map.pages()) * fraction.unwrap_or(1.0)) as u32;
        self.fill_steady(seed, pages.max(1), look)
    }

    fn age(&mut self, next: NextCommand<'_>, depth: Option<u32>) -> Option<Agenda<Self::Event>> {
        ageing::age(self, next, depth)
    }

    fn digest(&self) -> Digest {
        let mut digest = self.digest;
        digest.add(self.device().digest().value());
        digest
    }

    fn audit(&self, elapsed: Duration) {
        self.device().audit(elapsed);
        self.audit_all();
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.front.requests().min_by_key(|request| request.submitted)?;
        // The digest changes with any progress of the device, which counts as progress of the command.
        let done = self.device().digest().value();
        Some(OldestCommand { submitted: first.submitted, tag: first.command.tag, done })
    }

    /// The stall limit of the device for each chunk of a line. Chosen: a line may have to be collected first.
    fn stall_limit(&self) -> Duration {
        self.device().stall_limit() * u64::from(self.flash.layout.units)
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        self.describe() + &self.device().describe_outstanding(now)
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        Mark::at(&self.flash, now)
    }

    fn programmed(&self) -> Programmed {
        self.flash.programmed()
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        mark.metrics(&self.flash, now)
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        self.device().detail(&mark.device, now)
    }

    /// Reports the chunks of free lines as free, although they are reset only when their line is opened.
    fn gauges(&self, now: Instant) -> Gauges {
        let below = self.device().gauges(now);
        if below.good_blocks == 0 {
            return below;
        }
        let good = self.flash.lines.ids().map(|line| u64::from(self.flash.lines.chunks_of(line))).sum();
        Gauges {
            free_blocks: self.flash.lines.free_chunks().into(),
            good_blocks: good,
            buffered_pages: self.buffer.ring.of(Origin::Host).into(),
            victim_pages: self.collector.victim_pages(),
            victim_valid_pages: self.flash.counts.victim_valid_pages,
            ..below
        }
    }

    fn lengths(&self) -> Vec<usize> {
        self.list_lengths()
    }

    /// Upper bound on the size of a field in a snapshot. Chosen: 64 B for each logical page and ring entry,
    /// 16 MiB for fields that grow with the work, and the bound of the device.
    fn max_field_bytes(&self) -> u64 {
        let own = u64::from(self.buffer.map.pages())
            + self.buffer.ring.capacity() as u64
            + u64::from(self.flash.layout.lines);
        self.device().max_field_bytes() + (16 << 20) + 64 * own
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        self.check_state(agenda)
    }
}

/// With the clock of its device off, an FTL command completes when it is submitted, so that only the timer of
/// GC remains.
impl<D: PhysicalDevice> Ages for Pblk<D> {
    fn is_timer(event: &Self::Event) -> bool {
        *event == Event::Silence
    }

    fn stop_clock(&mut self) -> bool {
        self.flash.port.device.stop_clock();
        true
    }

    fn next_untimed_completion(&mut self, _: &mut impl Schedule<Self::Event>) -> bool {
        false
    }

    /// Does nothing: GC runs only when free lines are short.
    fn pause_gc(&mut self) {}

    fn start_clock(&mut self) {
        self.flash.port.device.start_clock();
    }

    /// Commands take no time.
    fn page_program_time(&self) -> Duration {
        Duration::ZERO
    }
}
