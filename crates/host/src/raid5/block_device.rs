//! The array as a block device.

use wordline_device::ageing::Ages;
use wordline_device::block_device::{NextCommand, OldestCommand, Programmed, Rebuild, Shape};
use wordline_device::content::Content;
use wordline_device::detail::{Detail, MemberDetail};
use wordline_device::preconditioning::{FillProgress, ProgressFn, Steady};
use wordline_device::snapshot::Agenda;
use wordline_device::tail::{RequestBreakdown, Tail};
use wordline_device::timeline::Recorded;
use wordline_device::{
    BlockDevice, Command, Completion, Gauges, InvalidDecision, PowerCut, Recovered, SECTOR, TimeFactors,
    UnscalableReason, ageing,
};
use wordline_kernel::metrics::Value;
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed};

use super::array::Power;
use super::event::Event;
use super::intervals::IntervalSum;
use super::members::{DeviceTraffic, Purpose};
use super::metrics::{
    DATA_INTERVAL, DEGRADED, DEGRADED_TIME, INTERVAL_RATIO, MEMBERS, PARITY_INTERVAL, PARITY_SHARE,
};
use super::stripe_cache::{HeadId, Step};
use super::{Mark, Raid5};

/// Ratio of the stall limit of the array to the stall limit of a member. Chosen: a command may wait for rows
/// that wait for the reads and writes of other rows.
const STALL_FACTOR: u64 = 16;

/// Maximum number of waiting rows without a stripe head that a stall report lists. Chosen.
const MOST_REPORTED: usize = 32;

impl<D: BlockDevice> Raid5<D> {
    fn member_count(&self) -> usize {
        self.array.settings.striping.members as usize
    }

    fn interval_sums(&self) -> [IntervalSum; 2] {
        self.stripes.intervals.as_ref().map_or_else(Default::default, |intervals| intervals.sums())
    }

    /// The events of one device among the events of the array.
    fn agenda_of(number: usize, agenda: &Agenda<Event<D::Event>>) -> Agenda<D::Event> {
        let own = agenda.events.iter().filter_map(|(time, event)| match event {
            Event::Device { device, event } if usize::from(*device) == number => Some((*time, *event)),
            _ => None,
        });
        Agenda { now: agenda.now, events: own.collect() }
    }

    /// Whether an event is possible for this array.
    fn is_possible(&self, event: &Event<D::Event>) -> bool {
        match *event {
            Event::Device { device, .. } => usize::from(device) < self.devices().len(),
            Event::Fails(number) => usize::from(number) < self.array.settings.file.failures.len(),
            _ => true,
        }
    }
}

impl<D: Ages> BlockDevice for Raid5<D> {
    type Event = Event<D::Event>;
    type Mark = Mark<D::Mark>;

    fn shape(&self) -> Shape {
        self.array.settings.shape(self.devices()[0].shape())
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>) {
        self.array.start_timers(calendar);
        self.take(command, calendar);
        self.make_progress(calendar);
    }

    fn follow_contents(&mut self) {
        self.array.members.follow_contents();
        let followed = self.array.new_followed(self.stripes.heads.count());
        self.array.followed = Some(Box::new(followed));
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.array.followed.as_mut().expect("contents are followed").set_contents(tag, contents);
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.array.followed.as_mut()?.take(tag)
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        match event {
            Event::Device { device, event } => {
                self.array.members.handle(device, event, calendar);
                // Nothing becomes possible before a command completes, except for a synchronisation, whose pace
                // depends on the time.
                let may_change = self.array.sync.is_some() || self.array.power != Power::On;
                if !may_change && !self.array.members.has_completed() {
                    return;
                }
            }
            own => self.handle_timer(own, calendar),
        }
        self.make_progress(calendar);
    }

    /// Scales the times of the members. The array itself takes no time.
    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        self.array.members.devices_mut().iter_mut().try_for_each(|member| member.change_times(factors))
    }

    /// Starts attribution if every member reports the times of each command.
    fn explain(&mut self, tail: Tail) {
        let members = self.array.members.devices_mut();
        members.iter_mut().for_each(|member| member.explain(Tail::recording_each()));
        let explain = members.iter().all(|member| member.tail().is_some());
        if !explain {
            members.iter_mut().for_each(|member| member.explain(Tail::keeping_slowest(0)));
        }
        self.host.attribution.begin_tail(explain.then_some(tail), self.stripes.heads.count());
    }

    fn record(&mut self, on: bool) -> bool {
        self.host.recorder.set_enabled(on);
        // Switches every member, also after a member that cannot record.
        let recording = self.array.members.devices_mut().iter_mut().map(|member| member.record(on));
        recording.filter(|records| !records).count() == 0
    }

    fn take_recorded(&mut self, now: Instant, ends: bool) -> Recorded {
        let members =
            self.array.members.devices_mut().iter_mut().map(|member| member.take_recorded(now, ends));
        let members = Recorded::join(members);
        self.host.recorder.take(members)
    }

    fn take_breakdown(&mut self, tag: u32) -> Option<RequestBreakdown> {
        Some(self.host.attribution.tail_mut()?.take_each(tag)?.complete(|_| None))
    }

    fn tail(&self) -> Option<&Tail> {
        self.host.attribution.tail()
    }

    fn completions(&self) -> &[Completion] {
        &self.host.completions
    }

    fn clear_completions(&mut self) {
        self.host.completions.clear();
    }

    fn outstanding(&self) -> usize {
        self.host.requests.count()
    }

    fn give_up(&mut self, calendar: &mut impl Schedule<Self::Event>) -> bool {
        let any = self.array.members.give_up(calendar);
        self.make_progress(calendar);
        any
    }

    fn designs(&self) -> Vec<&'static str> {
        self.devices().first().map(D::designs).unwrap_or_default()
    }

    fn invalid_decision(&self) -> Option<&InvalidDecision> {
        self.devices().iter().find_map(D::invalid_decision)
    }

    /// True when two members have failed.
    fn is_read_only(&self) -> bool {
        self.array.durability.held.failed().count_ones() > 1
    }

    fn rebuild(&self) -> Option<Rebuild> {
        Some(self.array.rebuild())
    }

    fn start_timers(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.array.start_timers(calendar);
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        self.cut(now)
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        self.power_on(calendar);
    }

    fn is_ready(&self) -> bool {
        self.array.is_accepting()
    }

    fn pages_recovered(&self) -> u64 {
        self.devices().iter().map(D::pages_recovered).sum()
    }

    fn pages_to_recover(&self) -> u64 {
        self.devices().iter().map(D::pages_to_recover).sum()
    }

    /// Recovery of the array: the time until it accepts commands, with the replay of the log, and the sums of
    /// the pages over all devices.
    fn recovery(&self) -> Option<Recovered> {
        let all: Option<Vec<Recovered>> = self.devices().iter().map(D::recovery).collect();
        let sum = |sum: Recovered, one: &Recovered| Recovered {
            time: sum.time,
            pages_read: sum.pages_read + one.pages_read,
            lost: sum.lost + one.lost,
            returned: sum.returned + one.returned,
        };
        let time = self.array.timers.recovery?;
        all.map(|all| all.iter().fold(Recovered { time, ..Recovered::default() }, sum))
    }

    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        let count = self.member_count();
        let mut before = 0;
        self.array.members.devices_mut()[..count].iter_mut().all(|member| {
            let mut pages = 0;
            let done = member.fill_while(fraction, &mut |written| {
                pages = written.pages;
                look(combined_progress(written, before, count as u64))
            });
            before += pages;
            done
        })
    }

    fn fill_steady_while(
        &mut self,
        seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        let count = self.member_count();
        let mut all = Steady { overwritten: 0, amplification: Some(0.0) };
        let mut before = 0;
        for (number, member) in self.array.members.devices_mut()[..count].iter_mut().enumerate() {
            let mut pages = 0;
            let own = Seed(seed.0.wrapping_add(number as u64));
            let one = member.fill_steady_while(own, fraction, &mut |written| {
                pages = written.pages;
                look(combined_progress(written, before, count as u64))
            })?;
            before += pages;
            all.overwritten += one.overwritten;
            let of_one = one.amplification.map(|amplification| amplification / count as f64);
            all.amplification = all.amplification.zip(of_one).map(|(all, one)| all + one);
        }
        Some(all)
    }

    fn age(&mut self, next: NextCommand<'_>, depth: Option<u32>) -> Option<Agenda<Self::Event>> {
        ageing::age(self, next, depth)
    }

    fn digest(&self) -> Digest {
        let mut digest = self.host.digest;
        self.devices().iter().for_each(|device| digest.add(device.digest().value()));
        digest
    }

    fn audit(&self, elapsed: Duration) {
        self.devices().iter().for_each(|device| device.audit(elapsed));
        self.stripes.heads.audit();
        let of_heads: u64 = self.stripes.heads.all().map(|(_, head)| u64::from(head.left)).sum();
        let is_of_head =
            |why: Purpose| matches!(why, Purpose::Fetch { .. } | Purpose::Store { .. } | Purpose::Log { .. });
        assert_eq!(
            self.array.members.count_outstanding(is_of_head),
            of_heads,
            "members work for the heads that wait for them"
        );
        assert!(self.stripes.batch.is_empty(), "what is stored together is with the members");
        for (number, request) in self.host.requests.all() {
            assert!(request.left > 0, "command {number} waits for something");
        }
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.host.requests.all().min_by_key(|(_, request)| request.submitted);
        first.map(|(_, request)| {
            let of_devices = self.devices().iter().filter_map(D::oldest).map(|oldest| oldest.done);
            let own = u64::from(request.left).wrapping_add(self.array.counts.member_commands);
            let done = of_devices.fold(own, u64::wrapping_add);
            OldestCommand { submitted: request.submitted, tag: request.command.tag, done }
        })
    }

    fn stall_limit(&self) -> Duration {
        let of_one = self.devices().iter().map(D::stall_limit).max().unwrap_or(Duration::ZERO);
        of_one * STALL_FACTOR
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let mut text = format!(
            "{} commands, {} rows wait for one of {} stripe heads, {} of them active\n",
            self.host.requests.count(),
            self.host.requests.waiting.len(),
            self.stripes.heads.count(),
            self.stripes.heads.active
        );
        for (_, head) in self.stripes.heads.all().filter(|(_, head)| head.step != Step::Idle) {
            text += &format!("row {:?}: {:?}, {:?}, {:?}\n", head.row, head.job, head.step, head.turns);
        }
        for want in self.host.requests.waiting.iter().take(MOST_REPORTED) {
            text += &format!("row {} waits for a stripe head: {:?}\n", want.row, want.by);
        }
        for flush in &self.host.requests.flushes {
            text += &format!("command {} waits for deferred parity of {} rows\n", flush.request, flush.rows);
        }
        for (number, device) in self.devices().iter().enumerate() {
            text += &format!("device {number}\n{}", device.describe_outstanding(now));
        }
        text
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        let devices = self.devices().iter().map(|device| device.mark(now)).collect();
        let (work, degraded) = (self.array.members.work().to_vec(), self.array.timers.degraded_until(now));
        Mark {
            counts: self.array.counts.clone(),
            devices,
            work,
            intervals: self.interval_sums(),
            degraded,
            at: now,
        }
    }

    fn programmed(&self) -> Programmed {
        self.devices().iter().map(D::programmed).fold(Programmed::default(), |sum, one| Programmed {
            host: sum.host + one.host,
            other: sum.other + one.other,
        })
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        let devices = self.devices().iter().zip(&mark.devices);
        let mut metrics = Metrics::join(devices.map(|(device, mark)| device.metrics(mark, now)));
        metrics.add(MEMBERS, self.array.settings.striping.members);
        let number = |value: Option<f64>| value.map_or(Value::Absent, Value::Number);
        let time = now.since(mark.at).ps();
        let degraded = self.array.timers.degraded_until(now).saturating_sub(mark.degraded);
        metrics.add(DEGRADED, number((time > 0).then(|| degraded.ps() as f64 / time as f64)));
        metrics.add(DEGRADED_TIME, degraded.ps() / 1_000_000);
        let counts = self.array.counts.since(&mark.counts);
        let share = counts.parity_writes as f64 / counts.data_writes as f64;
        metrics.add(PARITY_SHARE, number((counts.data_writes > 0).then_some(share)));
        let sums = self.interval_sums();
        let [data, parity] = std::array::from_fn(|of| sums[of].since(&mark.intervals[of]).mean());
        metrics.add(DATA_INTERVAL, number(data));
        metrics.add(PARITY_INTERVAL, number(parity));
        metrics.add(INTERVAL_RATIO, number(data.zip(parity).map(|(data, parity)| parity / data)));
        counts.add_to(&mut metrics);
        metrics
    }

    fn room(&self) -> Option<u64> {
        self.array.members.room()
    }

    fn gauges(&self, now: Instant) -> Gauges {
        self.array.members.gauges(now)
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        let devices = self.devices().iter().zip(&mark.devices);
        let of_device = |((number, work), (device, mark)): ((u16, DeviceTraffic), (&D, &D::Mark))| {
            let mut detail = device.detail(mark, now);
            detail.members = vec![MemberDetail {
                role: self.array.members.role(number, &self.array.durability.held),
                reads: work.reads,
                read_bytes: work.read_sectors * SECTOR.0,
                writes: work.writes,
                written_bytes: work.written_sectors * SECTOR.0,
                parity_bytes: work.parity_sectors * SECTOR.0,
                parts: detail.parts(),
            }];
            detail
        };
        let work = self.array.members.work().iter().zip(&mark.work).map(|(now, before)| now.since(before));
        Detail::join((0..).zip(work).zip(devices).map(of_device))
    }

    fn lengths(&self) -> Vec<usize> {
        let own = [
            self.stripes.heads.count() as usize,
            self.labels.len(),
            self.array.members.work().len(),
            self.array.durability.log.areas(),
            self.stripes.intervals.as_ref().map_or(0, |intervals| intervals.pages()),
        ];
        own.into_iter().chain(self.devices().iter().flat_map(D::lengths)).collect()
    }

    fn max_field_bytes(&self) -> u64 {
        let of_devices: u64 = self.devices().iter().map(D::max_field_bytes).sum();
        let of_heads =
            u64::from(self.stripes.heads.count()) * (256 + 16 * self.array.settings.striping.members);
        of_devices.max(of_heads).max(self.array.settings.striping.rows() / 4).max(Bytes::mib(16).0)
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        if agenda.events.iter().any(|(_, event)| !self.is_possible(event)) {
            return Err("an event of a device that does not exist".into());
        }
        let first = self.labels.first().copied().unwrap_or_default();
        if let Some(other) = self.labels.iter().position(|label| *label != first) {
            return Err(format!("device {other} belongs to another array than device 0"));
        }
        self.array.members.check_loaded()?;
        self.array.durability.check_loaded()?;
        if !self
            .stripes
            .heads
            .is_sound(self.array.settings.striping.members, self.array.settings.striping.rows())
        {
            return Err("an invalid head of the stripe cache".into());
        }
        let other = self.array.members.work().iter().map(DeviceTraffic::other_sectors);
        if self.array.sync.as_ref().is_some_and(|sync| !sync.is_sound(other)) {
            return Err("a synchronisation with counts that never were".into());
        }
        let is_there =
            |id: &HeadId| id.0 < self.stripes.heads.count() && self.stripes.heads.get(*id).row.is_some();
        if !self.stripes.wait_for_log.iter().all(is_there) {
            return Err("a row that waits for the log and has no stripe head".into());
        }
        let of_host = self.host.requests.flushes.iter().filter(|flush| flush.sent).count();
        if usize::from(self.array.durability.is_flushing())
            != of_host + usize::from(self.array.own_flush.left > 0)
            || self.array.members.count_outstanding(|why| why == Purpose::Flush)
                != u64::from(self.array.own_flush.left)
        {
            return Err("a number of flushes that differs from the covering flushes in progress".into());
        }
        let mut each = self.devices().iter().enumerate();
        each.try_for_each(|(number, device)| device.check_loaded(&Self::agenda_of(number, agenda)))
    }
}

impl<D: Ages> Ages for Raid5<D> {
    fn is_timer(event: &Self::Event) -> bool {
        match event {
            Event::Device { event, .. } => D::is_timer(event),
            Event::Unplug => false,
            Event::Settle | Event::Sync(_) | Event::Fails(_) | Event::Scrub => true,
        }
    }

    fn stop_clock(&mut self) -> bool {
        self.array.timers.untimed = true;
        let ages = self.array.members.devices_mut().iter_mut().all(D::stop_clock);
        self.array.timers.untimed = ages;
        ages
    }

    fn next_untimed_completion(&mut self, clock: &mut impl Schedule<Self::Event>) -> bool {
        let is_over = self.array.members.complete_next_flash_command(clock);
        self.make_progress(clock);
        is_over
    }

    fn pause_gc(&mut self) {
        self.array.members.devices_mut().iter_mut().for_each(D::pause_gc);
    }

    fn start_clock(&mut self) {
        self.array.timers.untimed = false;
        self.array.members.devices_mut().iter_mut().for_each(D::start_clock);
    }

    /// Time per page of the array: the members work concurrently, and one block of each row is parity.
    fn page_program_time(&self) -> Duration {
        let of_one = self.devices().iter().map(D::page_program_time).max().unwrap_or(Duration::ZERO);
        Duration::from_ps(of_one.ps() / self.array.settings.striping.data())
    }
}

/// Progress over all members, which are preconditioned one after another. `one`: progress of the current
/// member. `before`: pages written to earlier members. Expects the same number of pages from each member.
/// Each member is filled and overwritten before the next one, so the array has no separate filled phase.
fn combined_progress(one: FillProgress, before: u64, members: u64) -> FillProgress {
    let expected = one.expected * members;
    FillProgress { pages: before + one.pages, filled: expected, expected }
}
