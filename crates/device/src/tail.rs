//! Latency breakdown of single requests: of the slowest, and of a sample.

mod scaled;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use wordline_flash::{Behind, Flash, RequestId, TaskWait, WORKS, WorkTimes};
use wordline_kernel::{Duration, Id, Instant};

use crate::Completion;
use crate::times::{COMPONENTS, Component};

/// Number of requests at the beginning of a run that are all in the sample. Chosen: enough for a short run,
/// and cheap for a long one.
const ALL_OF_THE_FIRST: u64 = 10_000;

/// Sampling rate of later requests: one of this many, a power of two. A sequence without a period selects
/// them, so that no pattern of requests matches it.
const ONE_OF: u64 = 128;

/// Step of the sequence: 2^64 divided by the golden ratio. Its multiples are spread evenly.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Latency intervals of the sample for each factor of two. Chosen: latencies are exact to about a tenth.
const STEPS: u64 = 8;

/// Stages of a request in a layer above its device, for example in an array of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpperStage {
    /// Waiting for its turn, or for steps of other requests.
    Wait,
    /// Waiting for reads of devices that its further work needs.
    Reads,
    /// Waiting for the write of a log.
    Log,
    /// Waiting for a rate limiter, which reserves capacity for garbage collection.
    Limiter,
    /// Waiting for a line or a chunk to be prepared.
    Line,
}

/// Number of [stages above a device](UpperStage).
pub const UPPER_STAGES: usize = UpperStage::ALL.len();

impl UpperStage {
    /// All stages, in order.
    pub const ALL: [Self; 5] = [Self::Wait, Self::Reads, Self::Log, Self::Limiter, Self::Line];
}

/// A request with its latency breakdown.
#[derive(Clone, Debug)]
pub struct RequestBreakdown {
    /// Completion of the request, with its latency.
    pub completion: Completion,
    /// Time of submission.
    pub submitted: Instant,
    /// Time in the [layer above](UpperStage) the device.
    pub above: [Duration; UPPER_STAGES],
    /// Device of an array that completed it; `None` without an array.
    pub device: Option<u16>,
    /// Time by [component](crate::times::Component). Together with `above` the sum is the latency.
    pub parts: [Duration; COMPONENTS],
    /// Commands for which its last command waited, in the components `gc_wait` and `die_wait`. `None` if it
    /// waited for no die.
    pub behind: Option<Behind>,
    /// Work of all dies while it waited for the buffer. `None` if it did not wait.
    pub meanwhile: Option<WorkTimes>,
    /// Number of its completion, counted from 0.
    number: u64,
}

/// Latency breakdown of a request without the commands for which its last command waited. They are known as long as
/// the die has not done many others.
#[derive(Clone, Debug)]
pub struct PartialBreakdown {
    known: RequestBreakdown,
    /// The last flash command, unless `known` is complete.
    waited: Option<TaskWait>,
}

/// Sums over sampled requests of similar latency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Number of requests that the interval represents.
    pub requests: u64,
    /// Sum of the requests' latencies, in picoseconds.
    pub latency_ps: u128,
    /// Sums of the requests' times above the device, in picoseconds.
    pub above: [u128; UPPER_STAGES],
    /// Sums of the requests' components, in picoseconds.
    pub parts: [u128; COMPONENTS],
    /// Sums of the work for which the requests waited, in picoseconds.
    pub behind: [u128; WORKS],
    /// Sums of the requests' time in the buffer, split in proportion to the concurrent work of the dies, in
    /// picoseconds.
    pub meanwhile: [u128; WORKS],
}

/// Collects the latency breakdown of requests when they complete.
#[derive(Clone, Debug)]
pub struct Tail {
    keep: usize,
    completed: u64,
    /// Latency above which a request is among the slowest.
    threshold: Duration,
    slowest: BinaryHeap<Reverse<SlowRequest>>,
    sample: [BTreeMap<u64, Interval>; 2],
    open: Vec<OpenRequest>,
    /// Completed requests that were not [taken](Self::take_each), instead of a sample. `None` unless every request
    /// is collected.
    each: Option<VecDeque<PartialBreakdown>>,
}

/// Data of an outstanding request. If these data are older than the submission of the request, they belong to
/// an earlier request with the same number.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    /// Last flash command of the request.
    waited: Option<TaskWait>,
    /// Time when the request began to wait for the buffer, and the work of all dies so far.
    came: Option<(Instant, WorkTimes)>,
}

/// A request, ordered by latency. Of two requests with equal latency the later is smaller.
#[derive(Clone, Debug)]
struct SlowRequest(Box<RequestBreakdown>);

impl SlowRequest {
    fn key(&self) -> (Duration, Reverse<u64>) {
        (self.0.completion.latency, Reverse(self.0.number))
    }
}

impl PartialEq for SlowRequest {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for SlowRequest {}

impl PartialOrd for SlowRequest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SlowRequest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Tail {
    /// Collects every request for a layer above, which [takes](Self::take_each) or [drops](Self::drop_each) each, and
    /// keeps no slowest ones.
    pub fn recording_each() -> Self {
        Self { each: Some(VecDeque::new()), ..Self::keeping_slowest(0) }
    }

    /// Keeps the `keep` slowest requests.
    pub fn keeping_slowest(keep: usize) -> Self {
        Self {
            keep,
            completed: 0,
            threshold: if keep == 0 { Duration::from_ps(u64::MAX) } else { Duration::ZERO },
            slowest: BinaryHeap::new(),
            sample: Default::default(),
            open: Vec::new(),
            each: None,
        }
    }

    /// Records a flash command of a request.
    #[inline]
    pub fn note_command(&mut self, id: RequestId, waited: TaskWait) {
        self.known(id).waited = Some(waited);
    }

    /// Records that a request waits for the buffer from now on.
    #[inline]
    pub fn note_buffer_wait(&mut self, id: RequestId, now: Instant, flash: &Flash) {
        self.known(id).came = Some((now, flash.worked()));
    }

    #[inline]
    fn known(&mut self, id: RequestId) -> &mut OpenRequest {
        if id.index() >= self.open.len() {
            self.open.resize(id.index() + 1, OpenRequest { waited: None, came: None });
        }
        &mut self.open[id.index()]
    }

    /// Records the completion of a request, with its times by component.
    #[inline]
    pub fn completed(
        &mut self,
        id: RequestId,
        (completion, submitted): (&Completion, Instant),
        parts: impl FnOnce() -> [Duration; COMPONENTS],
        flash: &Flash,
    ) {
        let is_each = self.each.is_some();
        let (weight, is_slow) = if is_each { (0, false) } else { self.count(completion.latency) };
        if is_each || weight > 0 || is_slow {
            self.record(id, (completion, submitted), parts(), flash, (weight, is_slow));
        }
    }

    /// Records a completed request. A layer above its devices made the breakdown.
    pub fn note(&mut self, latency: Duration, explain: impl FnOnce() -> RequestBreakdown) {
        if let Some(each) = &mut self.each {
            return each.push_back(PartialBreakdown { known: explain(), waited: None });
        }
        let (weight, is_slow) = self.count(latency);
        if weight > 0 || is_slow {
            let explained = RequestBreakdown { number: self.completed, ..explain() };
            self.take(explained, weight, is_slow);
        }
    }

    /// Whether a request with this latency may be [broken down](Self::note) when it completes, after at most
    /// `ahead` others.
    pub fn may_want(&self, latency: Duration, ahead: u64) -> bool {
        self.each.is_some()
            || self.is_slow(latency)
            || (self.completed..=self.completed + ahead).any(|number| weight_of(number) > 0)
    }

    /// Counts a completed request. Returns its weight in the sample, and whether it is among the slowest so
    /// far.
    #[inline]
    fn count(&mut self, latency: Duration) -> (u64, bool) {
        let number = self.completed;
        self.completed += 1;
        (weight_of(number), self.is_slow(latency))
    }

    #[inline]
    fn is_slow(&self, latency: Duration) -> bool {
        latency > self.threshold || self.slowest.len() < self.keep
    }

    /// Breaks down a completed request, and records it: for the layer above, or with a weight in the sample and
    /// among the slowest.
    #[cold]
    #[inline(never)]
    fn record(
        &mut self,
        id: RequestId,
        completed: (&Completion, Instant),
        parts: [Duration; COMPONENTS],
        flash: &Flash,
        (weight, is_slow): (u64, bool),
    ) {
        let partial = self.partial(id, completed, parts, flash);
        match &mut self.each {
            Some(each) => each.push_back(partial),
            None => self.take(partial.complete(|waited| flash.behind(waited)), weight, is_slow),
        }
    }

    /// The breakdown of a completed request, without the commands for which it waited.
    fn partial(
        &mut self,
        id: RequestId,
        (completion, submitted): (&Completion, Instant),
        parts: [Duration; COMPONENTS],
        flash: &Flash,
    ) -> PartialBreakdown {
        let OpenRequest { waited, came } = *self.known(id);
        let waited = waited.filter(|waited| waited.queued() >= submitted);
        let came = came
            .filter(|(since, _)| *since >= submitted && parts[Component::Buffer as usize] > Duration::ZERO);
        let meanwhile = came.map(|(_, worked)| difference(&flash.worked(), &worked));
        let number = self.completed;
        let known =
            RequestBreakdown { parts, meanwhile, number, ..RequestBreakdown::of(*completion, submitted) };
        PartialBreakdown { known, waited }
    }

    /// Adds a request to the sample with a weight. If it `is_slow`, also adds it to the slowest requests.
    #[cold]
    #[inline(never)]
    fn take(&mut self, explained: RequestBreakdown, weight: u64, is_slow: bool) {
        let latency = explained.completion.latency;
        if let Some(sample) = self.sample.get_mut(explained.completion.command.operation as usize)
            && weight > 0
        {
            sample.entry(step_of(latency)).or_default().add(&explained, weight);
        }
        if !is_slow {
            return;
        }
        self.slowest.push(Reverse(SlowRequest(Box::new(explained))));
        if self.slowest.len() > self.keep {
            self.slowest.pop();
        }
        if self.slowest.len() == self.keep {
            self.threshold =
                self.slowest.peek().map_or(Duration::ZERO, |Reverse(slow)| slow.0.completion.latency);
        }
    }

    /// Drops the outstanding requests after a power cut.
    pub fn forget(&mut self) {
        self.open.clear();
        self.each.iter_mut().for_each(VecDeque::clear);
    }

    /// Takes the breakdown of the completed request with this tag, if every request is collected. Those of requests
    /// that completed before it are dropped.
    pub fn take_each(&mut self, tag: u32) -> Option<PartialBreakdown> {
        let place = self.place_of(tag)?;
        let each = self.each.as_mut()?;
        each.drain(..place);
        each.pop_front()
    }

    /// Drops the breakdown of the completed request with this tag, and those of requests that completed before it.
    pub fn drop_each(&mut self, tag: u32) {
        if let (Some(place), Some(each)) = (self.place_of(tag), &mut self.each) {
            each.drain(..=place);
        }
    }

    /// The place of the completed request with this tag among those that were not taken.
    fn place_of(&self, tag: u32) -> Option<usize> {
        self.each.as_ref()?.iter().position(|one| one.known.completion.command.tag == tag)
    }

    /// The slowest requests, slowest first. Of two requests with equal latency the earlier completion comes
    /// first.
    pub fn slowest(&self) -> Vec<&RequestBreakdown> {
        let mut all: Vec<&SlowRequest> = self.slowest.iter().map(|Reverse(slow)| slow).collect();
        all.sort_unstable_by_key(|slow| Reverse(slow.key()));
        all.into_iter().map(|slow| &*slow.0).collect()
    }

    /// The samples of reads and of writes, as intervals in ascending order of latency.
    pub fn sample(&self) -> [Vec<&Interval>; 2] {
        [0, 1].map(|kind| self.sample[kind].values().collect())
    }
}

impl PartialBreakdown {
    /// The complete breakdown. `behind` returns the commands for which a flash command waited.
    pub fn complete(self, behind: impl FnOnce(&TaskWait) -> Option<Behind>) -> RequestBreakdown {
        let Self { mut known, waited } = self;
        if let Some(waited) = waited {
            known.behind = behind(&waited);
        }
        known.capped()
    }
}

impl RequestBreakdown {
    /// A request without a breakdown.
    pub fn of(completion: Completion, submitted: Instant) -> Self {
        let (above, parts) = ([Duration::ZERO; UPPER_STAGES], [Duration::ZERO; COMPONENTS]);
        Self { completion, submitted, above, device: None, parts, behind: None, meanwhile: None, number: 0 }
    }

    /// Sets the device of the request in an array.
    #[must_use]
    pub fn of_device(self, device: u16) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Adds the rest of the latency to a component, and limits `behind` to the wait for the die. Panics if
    /// the parts exceed the latency.
    #[must_use]
    pub fn with_rest_in(mut self, component: Component) -> Self {
        let known = self.above.iter().chain(&self.parts).fold(Duration::ZERO, |sum, part| sum + *part);
        assert!(known <= self.completion.latency, "the parts of a command's time exceed it: {self:?}");
        self.parts[component as usize] += self.completion.latency - known;
        self.capped()
    }

    /// Time that the request waited for its die.
    pub fn die_wait(&self) -> Duration {
        self.parts[Component::GcWait as usize] + self.parts[Component::DieWait as usize]
    }

    /// Limits `behind` to the wait for the die. `behind` can exceed the wait if a command was suspended or
    /// retried: the die then worked on other commands during time that counts as the command's own.
    #[must_use]
    pub fn capped(mut self) -> Self {
        let mut left = self.die_wait();
        if let Some(behind) = &mut self.behind {
            for time in &mut behind.by_work {
                *time = (*time).min(left);
                left = left.saturating_sub(*time);
            }
            if behind.by_work.iter().all(|time| *time == Duration::ZERO) {
                self.behind = None;
            }
        }
        self
    }

    /// Time in the buffer, split in proportion to the concurrent work of the dies.
    pub fn buffer_by_work(&self) -> Option<WorkTimes> {
        let meanwhile = self.meanwhile?;
        let all: u128 = meanwhile.iter().map(|time| u128::from(time.ps())).sum();
        let buffer = u128::from(self.parts[Component::Buffer as usize].ps());
        let part = |time: Duration| u128::from(time.ps()) * buffer / all.max(1);
        Some(meanwhile.map(|time| Duration::from_ps(part(time) as u64)))
    }
}

impl Interval {
    /// Interval that represents one request.
    pub fn of(explained: &RequestBreakdown) -> Self {
        let mut interval = Self::default();
        interval.add(explained, 1);
        interval
    }

    fn add(&mut self, explained: &RequestBreakdown, weight: u64) {
        let weight_ps = |time: Duration| u128::from(time.ps()) * u128::from(weight);
        self.requests += weight;
        self.latency_ps += weight_ps(explained.completion.latency);
        self.above.iter_mut().zip(explained.above).for_each(|(sum, time)| *sum += weight_ps(time));
        self.parts.iter_mut().zip(explained.parts).for_each(|(sum, time)| *sum += weight_ps(time));
        if let Some(behind) = &explained.behind {
            self.behind.iter_mut().zip(behind.by_work).for_each(|(sum, time)| *sum += weight_ps(time));
        }
        if let Some(meanwhile) = explained.buffer_by_work() {
            self.meanwhile.iter_mut().zip(meanwhile).for_each(|(sum, time)| *sum += weight_ps(time));
        }
    }
}

/// Weight in the sample of the request that completes with this number; 0 if it is not in the sample.
#[inline]
fn weight_of(number: u64) -> u64 {
    if number < ALL_OF_THE_FIRST {
        1
    } else if number.wrapping_mul(STEP) < u64::MAX / ONE_OF {
        ONE_OF
    } else {
        0
    }
}

/// Number of the interval of a latency.
fn step_of(latency: Duration) -> u64 {
    let ps = latency.ps().max(STEPS);
    let power = u64::from(ps.ilog2());
    power * STEPS + (ps >> (power - u64::from(STEPS.ilog2()))) % STEPS
}

fn difference(now: &WorkTimes, then: &WorkTimes) -> WorkTimes {
    std::array::from_fn(|work| now[work] - then[work])
}
