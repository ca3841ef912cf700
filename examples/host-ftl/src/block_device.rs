//! The host FTL as a block device. The device below supplies the other functions.

use wordline_device::ageing::Ages;
use wordline_device::block_device::{NextCommand, OldestCommand, Programmed, Shape};
use wordline_device::content::{Content, TrackedContents};
use wordline_device::detail::Detail;
use wordline_device::lifetime::write_amplification;
use wordline_device::preconditioning::{ProgressFn, Steady};
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Command, Completion, PhysicalDevice, PowerCut, Recovered, ageing};
use wordline_kernel::metrics::Value;
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed};
use wordline_ssd::metrics::of_name;

use crate::ftl::Counts;
use crate::{Event, HostFtl, Power};

/// The counters at a point in time.
pub struct Mark<M> {
    counts: Counts,
    device: M,
}

impl<D: PhysicalDevice> BlockDevice for HostFtl<D> {
    type Event = Event<D::Event>;
    type Mark = Mark<D::Mark>;

    fn shape(&self) -> Shape {
        self.device().geometry().shape_of(self.ftl.map.len() as u32)
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>) {
        self.take(command, calendar);
    }

    fn follow_contents(&mut self) {
        self.followed = Some(Box::new(TrackedContents::new(self.sectors_of_a_page())));
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        let followed = self.followed.as_mut().expect("contents are followed");
        followed.carry(tag, contents);
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.followed.as_mut()?.take(tag)
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        match event {
            Event::Completion(number) => self.completion(number, calendar.now()),
            Event::Device(event) => {
                self.ftl.device.handle(event, &mut calendar.within(Event::Device));
                match self.power {
                    Power::On => self.make_progress(calendar),
                    Power::Off | Power::Back(_) => self.advance_recovery(calendar),
                }
            }
        }
    }

    fn completions(&self) -> &[Completion] {
        &self.completions
    }

    fn clear_completions(&mut self) {
        self.completions.clear();
    }

    fn outstanding(&self) -> usize {
        self.requests.len()
    }

    /// Fails the commands that wait for space that never becomes free, because too many chunks are out of
    /// use.
    fn give_up(&mut self, calendar: &mut impl Schedule<Self::Event>) -> bool {
        let waiting: Vec<u32> = self.writes.drain(..).chain(self.flushes.drain(..)).collect();
        for number in &waiting {
            self.request(*number).failed = true;
            self.schedule_completion(*number, calendar);
        }
        !waiting.is_empty()
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        let torn = self.ftl.device.power_cut(now).torn;
        self.ftl.forget();
        self.writes.clear();
        self.flushes.clear();
        if let Some(followed) = &mut self.followed {
            followed.forget_outstanding();
        }
        self.power = Power::Off;
        let incomplete = std::mem::take(&mut self.requests).into_values();
        PowerCut { incomplete: incomplete.map(|request| request.command).collect(), torn }
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.power = Power::Back(calendar.now());
        self.ftl.device.recover(&mut calendar.within(Event::Device));
        self.advance_recovery(calendar);
    }

    fn is_ready(&self) -> bool {
        self.power == Power::On
    }

    fn pages_to_recover(&self) -> u64 {
        self.ftl.scanning.unwrap_or_default()
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovery
    }

    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        let pages = (self.ftl.map.len() as f64 * fraction) as u32;
        self.write_untimed(0..pages, 0, u64::from(pages), look)
    }

    fn fill_steady_while(
        &mut self,
        seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        let fraction = fraction.unwrap_or(1.0);
        if !self.fill_while(fraction, look) {
            return None;
        }
        let pages = (self.ftl.map.len() as f64 * fraction) as u32;
        self.overwrite(seed, pages, look)
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
        self.ftl.audit();
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.requests.values().min_by_key(|request| request.submitted)?;
        // The digest changes with any progress of the device, which counts as progress of the command.
        let done = self.device().digest().value();
        Some(OldestCommand { submitted: first.submitted, tag: first.command.tag, done })
    }

    /// The stall limit of the device for each chunk of a line. Chosen: a line may have to be collected first.
    fn stall_limit(&self) -> Duration {
        self.device().stall_limit() * u64::from(self.device().geometry().units())
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let (writes, flushes) = (self.writes.len(), self.flushes.len());
        let own = format!(
            "{} outstanding commands: {writes} writes and {flushes} flushes wait\n",
            self.requests.len()
        );
        own + &self.ftl.describe() + &self.device().describe_outstanding(now)
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        Mark { counts: self.ftl.counts.clone(), device: self.device().mark(now) }
    }

    fn programmed(&self) -> Programmed {
        Self::programmed(self)
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        let counts = self.ftl.counts.since(&mark.counts);
        let mut metrics = self.device().metrics(&mark.device, now);
        counts.add_to(&mut metrics);
        let page = self.device().geometry().block_size;
        let bytes = |pages: u64| Value::Count((page * pages).0);
        let of_host = counts.host_pages + counts.moved_pages;
        metrics.add(of_name("flash.programmed_bytes"), bytes(of_host + counts.padding));
        metrics.add(of_name("flash.host_bytes"), bytes(counts.host_pages));
        metrics.add(of_name("flash.gc_bytes"), bytes(counts.moved_pages));
        metrics.add(of_name("flash.padding_bytes"), bytes(counts.padding));
        metrics.add(of_name("programs_per_host_program"), write_amplification(of_host, counts.host_pages));
        metrics
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        self.device().detail(&mark.device, now)
    }

    fn lengths(&self) -> Vec<usize> {
        self.device().lengths()
    }

    /// Upper bound on the size of a field in a snapshot. Chosen: 64 B for each page that the recovery reads,
    /// and the bound of the device.
    fn max_field_bytes(&self) -> u64 {
        self.device().max_field_bytes() + Bytes(64).0 * self.ftl.map.len() as u64
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        let (mut of_device, mut completions) = (Vec::new(), Vec::new());
        for (time, event) in &agenda.events {
            match event {
                Event::Device(event) => of_device.push((*time, *event)),
                Event::Completion(number) => completions.push(*number),
            }
        }
        if !completions.iter().all(|number| self.requests.contains_key(number)) {
            return Err("a completion of a command that is not outstanding".into());
        }
        self.ftl.check_loaded()?;
        self.device().check_loaded(&Agenda { now: agenda.now, events: of_device })
    }
}

/// With the clock of its device off, an FTL command completes when it is submitted, so that no event remains.
impl<D: PhysicalDevice> Ages for HostFtl<D> {
    fn is_timer(_: &Self::Event) -> bool {
        false
    }

    fn stop_clock(&mut self) -> bool {
        self.ftl.device.stop_clock();
        true
    }

    fn next_untimed_completion(&mut self, _: &mut impl Schedule<Self::Event>) -> bool {
        false
    }

    /// Does nothing: GC runs only when the host has no space.
    fn pause_gc(&mut self) {}

    fn start_clock(&mut self) {
        self.ftl.device.start_clock();
    }

    /// No timer runs.
    fn page_program_time(&self) -> Duration {
        Duration::ZERO
    }
}
