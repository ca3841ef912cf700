//! The host as a block device.

use wordline_device::ageing::Ages;
use wordline_device::block_device::{NextCommand, OldestCommand, Programmed, Shape};
use wordline_device::content::{Content, TrackedContents};
use wordline_device::detail::Detail;
use wordline_device::preconditioning::{FillProgress, ProgressFn, Steady};
use wordline_device::snapshot::Agenda;
use wordline_device::tail::{RequestBreakdown, Tail};
use wordline_device::timeline::Recorded;
use wordline_device::{
    BlockDevice, Command, Completion, Gauges, Operation, PhysicalDevice, PowerCut, Recovered, TimeFactors,
    UnscalableReason, ageing,
};
use wordline_kernel::{Calendar, Digest, Duration, Instant, Metrics, Schedule, Seed};

use super::attribution::Explainer;
use super::metrics::Mark;
use super::{Direct, Event, Power};

/// Pages of each write during preconditioning. Chosen: the most pages that a command may have.
const FILLED_AT_ONCE: u32 = wordline_device::physical_device::MOST_BLOCKS as u32;

impl<D: PhysicalDevice> BlockDevice for Direct<D> {
    type Event = Event<D::Event>;
    type Mark = Mark<D::Mark>;

    fn shape(&self) -> Shape {
        self.device.geometry().shape_of(self.layout.pages)
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>) {
        self.take(command, calendar);
    }

    fn follow_contents(&mut self) {
        self.followed = Some(Box::new(TrackedContents::new(self.sectors_of_a_page)));
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.followed.as_mut().expect("contents are followed").carry(tag, contents);
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.followed.as_mut()?.take(tag)
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        match event {
            Event::Completion(number) => self.complete_request(number, calendar.now()),
            Event::Device(event) => {
                self.device.handle(event, &mut calendar.within(Event::Device));
                match self.power {
                    Power::On if !self.device.completions().is_empty() => self.make_progress(calendar),
                    Power::On | Power::Off => {}
                    Power::Back(_) => self.advance_recovery(calendar.now()),
                }
            }
        }
    }

    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.device.change_times(factors)
    }

    fn completions(&self) -> &[Completion] {
        &self.requests.completions
    }

    fn clear_completions(&mut self) {
        self.requests.completions.clear();
    }

    /// Starts attribution if the device reports the times of each command. Requests in flight keep their
    /// records when the tail changes.
    fn explain(&mut self, tail: Tail) {
        if let Some(explainer) = &mut self.explainer {
            explainer.tail = tail;
            return;
        }
        let tells = self.device.record_times();
        self.explainer = tells.then(|| Box::new(Explainer::of(tail)));
    }

    fn take_breakdown(&mut self, tag: u32) -> Option<RequestBreakdown> {
        Some(self.explainer.as_mut()?.tail.take_each(tag)?.complete(|_| None))
    }

    fn tail(&self) -> Option<&Tail> {
        self.explainer.as_ref().map(|explainer| &explainer.tail)
    }

    fn record(&mut self, on: bool) -> bool {
        self.recorder.set_enabled(on);
        self.device.record(on)
    }

    fn take_recorded(&mut self, now: Instant, ends: bool) -> Recorded {
        self.recorder.take(self.device.take_recorded(now, ends))
    }

    fn outstanding(&self) -> usize {
        self.requests.all.count()
    }

    /// Fails the writes for which no chunk will become free.
    fn give_up(&mut self, calendar: &mut impl Schedule<Self::Event>) -> bool {
        self.fail_waiting(calendar)
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        let torn = self.device.power_cut(now).torn;
        for sent in self.sent.take_all() {
            sent.pinned_locations().for_each(|place| self.places.unpin(place));
        }
        self.heads.forget();
        self.explainer.iter_mut().for_each(|explainer| explainer.forget());
        self.power = Power::Off;
        if let Some(followed) = &mut self.followed {
            followed.forget_outstanding();
        }
        PowerCut { incomplete: self.requests.all.take_all().map(|request| request.command).collect(), torn }
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.power = Power::Back(calendar.now());
        self.device.recover(&mut calendar.within(Event::Device));
        self.advance_recovery(calendar.now());
    }

    fn is_ready(&self) -> bool {
        self.power == Power::On
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovery
    }

    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        let pages = (f64::from(self.layout.pages) * fraction) as u32;
        let mut calendar = Calendar::new();
        self.device.stop_clock();
        let mut goes_on = true;
        for page in (0..pages).step_by(FILLED_AT_ONCE as usize) {
            let count = u64::from(FILLED_AT_ONCE.min(pages - page));
            let sectors = self.sectors_of_a_page;
            let (sector, sectors) = (u64::from(page) * sectors, count * sectors);
            self.take(
                Command { operation: Operation::Write, sector, sectors, ..Command::default() },
                &mut calendar,
            );
            while let Some(event) = calendar.advance() {
                self.handle(event, &mut calendar);
            }
            self.clear_completions();
            let written = FillProgress {
                pages: u64::from(page),
                filled: u64::from(self.layout.pages),
                expected: u64::from(pages),
            };
            if !look(written) {
                goes_on = false;
                break;
            }
        }
        self.device.start_clock();
        if let Some(followed) = &mut self.followed {
            followed.forget_written();
        }
        goes_on
    }

    /// Fills the device once. Pages are never relocated, so a full device is already in its steady state.
    fn fill_steady_while(
        &mut self,
        _seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        self.fill_while(fraction.unwrap_or(1.0), look)
            .then_some(Steady { overwritten: 0, amplification: None })
    }

    fn age(&mut self, next: NextCommand<'_>, depth: Option<u32>) -> Option<Agenda<Self::Event>> {
        ageing::age(self, next, depth)
    }

    fn digest(&self) -> Digest {
        let mut digest = self.digest;
        digest.add(self.device.digest().value());
        digest
    }

    fn audit(&self, elapsed: Duration) {
        self.device.audit(elapsed);
        self.audit_all();
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.requests.all.values().min_by_key(|request| request.submitted)?;
        // The digest changes with any progress of the device, which counts as progress of the request.
        let done = self.device.digest().value();
        Some(OldestCommand { submitted: first.submitted, tag: first.command.tag, done })
    }

    /// Four stall limits of the device. Chosen: a command may wait for the command before it, and both for
    /// relocations in the device after a program failure.
    fn stall_limit(&self) -> Duration {
        self.device.stall_limit() * 4
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let pieces: usize = self.heads.iter().map(|head| head.pieces.len()).sum();
        let requests = self.requests.all.count();
        format!("{requests} outstanding requests; {pieces} sub-requests wait for a chunk\n")
            + &self.device.describe_outstanding(now)
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        Mark::new(&self.counts, &self.device, now)
    }

    fn programmed(&self) -> Programmed {
        self.counts.programs().with_device(self.device.own_blocks())
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        mark.metrics(&self.counts, &self.device, now)
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        self.device.detail(&mark.device, now)
    }

    /// Reports a chunk without needed data as free: the host resets such a chunk before it writes to it.
    fn gauges(&self, now: Instant) -> Gauges {
        let below = self.device.gauges(now);
        Gauges { free_blocks: self.places.free_chunks().min(below.good_blocks), ..below }
    }

    fn lengths(&self) -> Vec<usize> {
        let mut lengths = self.places.lengths().to_vec();
        lengths.extend(self.device.lengths());
        lengths
    }

    /// Upper bound on the size of a field in a snapshot. Chosen: 64 B for each page, 16 MiB for fields that
    /// grow with the work, and the bound of the device.
    fn max_field_bytes(&self) -> u64 {
        self.device.max_field_bytes() + (16 << 20) + 64 * u64::from(self.layout.pages)
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        self.check_state(agenda)
    }
}

/// With the clock of its device off, a request completes when it is submitted, so that no event remains.
impl<D: PhysicalDevice> Ages for Direct<D> {
    fn is_timer(_: &Self::Event) -> bool {
        false
    }

    fn stop_clock(&mut self) -> bool {
        self.device.stop_clock();
        true
    }

    fn next_untimed_completion(&mut self, _: &mut impl Schedule<Self::Event>) -> bool {
        false
    }

    fn pause_gc(&mut self) {}

    fn start_clock(&mut self) {
        self.device.start_clock();
    }

    /// No timer runs.
    fn page_program_time(&self) -> Duration {
        Duration::ZERO
    }
}
