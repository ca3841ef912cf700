//! `BlockDevice` for the SSD.

use wordline_device::block_device::{NextCommand, OldestCommand, Programmed, Shape};
use wordline_device::content::Content;
use wordline_device::detail::Detail;
use wordline_device::preconditioning::{ProgressFn, Steady};
use wordline_device::snapshot::Agenda;
use wordline_device::tail::{RequestBreakdown, Tail};
use wordline_device::timeline::Recorded;
use wordline_device::{
    BlockDevice, Command, Completion, Gauges, InvalidDecision, PowerCut, Recovered, TimeFactors,
    UnscalableReason, ageing,
};
use wordline_flash as flash;
use wordline_flash::RequestId;
use wordline_ftl::Ftl;
use wordline_kernel::chart::ChartData;
use wordline_kernel::{Digest, Duration, Id, Instant, Metrics, Schedule, Seed};

use super::{Contents, Device, Event};
use crate::engines::Core;
use crate::metrics::Mark;
use crate::{metrics, power, watchdog};

impl BlockDevice for Device {
    type Event = Event;
    type Mark = Mark;

    fn shape(&self) -> Shape {
        self.config().shape()
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Event>) {
        assert!(self.is_ready(), "a command for a device that is without its tables: {command:?}");
        if let Some(wrong) = self.invalid_decision() {
            panic!("a command after an invalid decision that was not reported: {wrong}");
        }
        self.core.ftl.policies.designs.note_time(calendar.now());
        self.front.submit(command, &mut self.core, &mut self.writer, calendar);
        self.core.start_dies(calendar);
        self.notify_designs(calendar);
    }

    fn has_volatile_writes(&self) -> bool {
        self.config().file.buffer.is_volatile()
    }

    fn follow_contents(&mut self) {
        self.core.ftl.keep_contents(Contents::default());
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.contents().expect("contents are followed").carry(tag, contents);
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.contents()?.take_completed(tag)
    }

    #[inline]
    fn prefetch_lookups(&self, [next, later]: [Option<&Command>; 2]) {
        let Ftl { map, blocks, flash, .. } = &self.core.ftl;
        self.core.cache.prefetch_lookups([next, later], map, blocks, flash);
    }

    #[inline(always)]
    fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        self.core.ftl.policies.designs.note_time(calendar.now());
        if let Event::Flash(flash::Event::Chips(event)) = event {
            let Ftl { flash, policies, .. } = &mut self.core.ftl;
            let calendar_of_flash = &mut calendar.within(Event::Flash);
            if let Some(done) = &flash.handle(event, policies, calendar_of_flash)
                && !flash.decode_if_needed(done, policies, calendar_of_flash)
            {
                self.command_done(done, calendar);
            }
        } else {
            self.handle_own(event, calendar);
        }
        self.writer.write_tables(true, &mut self.core, calendar);
        self.notify_designs(calendar);
    }

    fn explain(&mut self, tail: Tail) {
        self.core.ftl.flash.keep_history();
        self.front.explain(tail);
    }

    fn tail(&self) -> Option<&Tail> {
        self.front.tail()
    }

    fn take_breakdown(&mut self, tag: u32) -> Option<RequestBreakdown> {
        self.front.take_breakdown(tag, &self.core.ftl.flash)
    }

    fn drop_breakdown(&mut self, tag: u32) {
        self.front.drop_breakdown(tag);
    }

    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.core.change_times(factors);
        self.front.change_link(factors.link)
    }

    fn record(&mut self, on: bool) -> bool {
        self.core.ftl.flash.record(on);
        self.front.record(on);
        true
    }

    fn take_recorded(&mut self, now: Instant, ends: bool) -> Recorded {
        let (requests, levels) = self.front.take_recorded();
        Recorded { requests, levels, ..self.core.ftl.flash.take_recorded(now, ends).into() }
    }

    #[inline]
    fn completions(&self) -> &[Completion] {
        self.front.completions()
    }

    #[inline]
    fn clear_completions(&mut self) {
        self.front.clear_completions();
    }

    #[inline]
    fn invalid_decision(&self) -> Option<&InvalidDecision> {
        self.core.ftl.policies.designs.invalid_decision()
    }

    fn designs(&self) -> Vec<&'static str> {
        self.core.ftl.policies.designs.names()
    }

    fn outstanding(&self) -> usize {
        self.front.outstanding()
    }

    fn give_up(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        self.front.give_up(&mut self.core, calendar)
    }

    fn is_read_only(&self) -> bool {
        self.core.ftl.health.read_only
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        let Self { core, writer, recovery, front } = self;
        let incomplete = front.forget(&core.config, now);
        PowerCut { incomplete, torn: power::cut(now, recovery, core, writer) }
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Event>) {
        power::restore(calendar.now(), &mut self.recovery, &mut self.core, &mut self.writer);
        for die in self.core.ftl.config.pools.all_dies() {
            self.continue_scan(die, calendar);
        }
    }

    fn is_ready(&self) -> bool {
        self.recovery.is_ready()
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovery.last()
    }

    fn pages_recovered(&self) -> u64 {
        self.recovery.pages_recovered()
    }

    fn pages_to_recover(&self) -> u64 {
        self.recovery.pages_to_recover(&self.core.ftl)
    }

    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        Self::fill_while(self, fraction, look)
    }

    fn fill_steady_while(
        &mut self,
        seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        match fraction {
            None => Self::fill_steady_while(self, seed, look),
            Some(fraction) => self.fill_steady_to_while(seed, fraction, look),
        }
    }

    fn age(&mut self, next: NextCommand<'_>, depth: Option<u32>) -> Option<Agenda<Event>> {
        ageing::age(self, next, depth)
    }

    fn digest(&self) -> Digest {
        self.core.ftl.digest
    }

    fn audit(&self, elapsed: Duration) {
        self.core.audit_map();
        self.writer.audit(&self.core);
        self.core.ftl.audit(elapsed);
    }

    fn oldest(&self) -> Option<OldestCommand> {
        watchdog::oldest_command(&self.front)
    }

    fn stall_limit(&self) -> Duration {
        watchdog::stall_limit(self.config())
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        watchdog::describe_outstanding(&self.core, &self.writer, &self.front, now)
    }

    fn mark(&self, now: Instant) -> Mark {
        Mark::of(&self.core, &self.writer, &self.front, now)
    }

    #[inline]
    fn programmed(&self) -> Programmed {
        let totals = self.totals();
        let other = totals.gc_programs + totals.unit_programs + totals.translation_programs + totals.padding;
        Programmed { host: totals.host_programs, other }
    }

    fn metrics(&self, mark: &Mark, now: Instant) -> Metrics {
        metrics::since(&self.core, &self.writer, mark, now)
    }

    fn charts(&self, mark: &Mark) -> Vec<(&'static str, ChartData)> {
        metrics::charts_since(&self.core.ftl, mark)
    }

    fn detail(&self, mark: &Mark, now: Instant) -> Detail {
        metrics::detail_since(&self.core, &self.front, mark, now)
    }

    fn room(&self) -> Option<u64> {
        let Ftl { config, blocks, gc, .. } = &self.core.ftl;
        Some((blocks.free_pages() + gc.processed_pages(blocks)) * config.unit.0)
    }

    fn gauges(&self, now: Instant) -> Gauges {
        self.core.ftl.gauges(self.core.cache.buffer().in_use(), now)
    }

    fn lengths(&self) -> Vec<usize> {
        let Core { ftl, cache, written_back, .. } = &self.core;
        let lengths = ftl.shape().into_iter().chain(self.writer.shape()).chain(cache.shape());
        lengths.chain([written_back.len()]).collect()
    }

    fn max_field_bytes(&self) -> u64 {
        self.config().max_field_bytes()
    }

    fn check_loaded(&self, agenda: &Agenda<Event>) -> Result<(), String> {
        let Core { config, ftl, cache, .. } = &self.core;
        let in_use = self.front.check_loaded(agenda.now, &config.file.front)?;
        let known = |id: RequestId| in_use.get(id.index()) == Some(&true);
        let events = agenda.events.iter().map(|(_, event)| *event);
        ftl.check_loaded(agenda.now, events.clone().filter_map(Event::of_flash), known)?;
        cache.check_loaded(&ftl.map, known)?;
        self.writer.check_loaded(cache, &ftl.blocks, ftl.map.pages())?;
        power::check_versions(&self.recovery, &self.core)?;
        events.into_iter().try_for_each(|event| self.front.check_event(event, &ftl.flash, known))
    }
}
