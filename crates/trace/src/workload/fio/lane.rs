//! A lane, that is, a clone of a job: its requests in order, and when it may issue the next one.

use wordline_kernel::{Bytes, Duration, Instant, Seed, Stream};

use super::addresses::AddressGenerator;
use super::keys::{Ops, Rate, Settings};
use super::replay::ReplayedTrace;
use super::values::Each;
use crate::{Op, Request};

/// Byte range that a clone accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub begin: u64,
    pub length: u64,
}

/// Next action of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneAction {
    /// The lane issues this request.
    Issue(Request),
    /// The lane issues nothing before this time.
    WaitUntil(Instant),
    /// The lane issues nothing before a completion.
    WaitForCompletion,
    /// The lane has ended.
    Ended,
}

/// A clone of a job.
#[derive(Clone, Debug)]
pub struct Lane {
    number: u16,
    ops: Ops,
    /// Share of reads in a mixed load.
    reads: f64,
    sizes: Each<Vec<(u64, f64)>>,
    region: Region,
    align: u64,
    slots: u64,
    places: AddressGenerator,
    random: Random,
    left: Remaining,
    clock: Clock,
    flow: InFlight,
    /// The trace that takes the place of generated requests.
    replay: Option<ReplayedTrace>,
}

/// Random streams of a lane. A change of one does not affect the others.
#[derive(Clone, Debug)]
pub struct Random {
    place: Stream,
    size: Stream,
    op: Stream,
    rate: Stream,
}

/// Bytes and requests that a lane has left.
#[derive(Clone, Copy, Debug)]
pub struct Remaining {
    bytes: u64,
    requests: u64,
}

/// Start, pauses and end of a lane.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Delay from the start of the group to the start of the lane.
    delay: Duration,
    length: Option<Duration>,
    begin: Instant,
    end: Instant,
    /// End of the current pause.
    resume: Instant,
    think: Duration,
    think_blocks: u64,
    /// Requests completed since the last pause.
    completed: u64,
    meters: Each<RateMeter>,
    is_poisson: bool,
}

/// Rate limit for one kind of requests.
#[derive(Clone, Copy, Debug)]
pub struct RateMeter {
    rate: Rate,
    /// Bytes, or requests, so far.
    count: u64,
    /// Earliest time of the next request, for random times.
    next: Instant,
}

/// Outstanding requests, and whether more will follow.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    depth: u32,
    outstanding: u32,
    is_over: bool,
    /// Kind of the next request, already drawn and not yet due.
    drawn: Option<usize>,
}

impl Lane {
    /// Creates a clone of a job. It is number `number` of all clones.
    pub fn new(settings: &Settings, region: Region, seed: Seed, number: u64) -> Self {
        let (align, largest) = (settings.alignment(), settings.largest());
        let slots = (region.length - largest) / align + 1;
        let place = &settings.place;
        let places = if settings.mix.is_random {
            AddressGenerator::random(&place.spread, place.has_map && align >= largest, slots)
        } else {
            AddressGenerator::Sequential { next: [0; 3] }
        };
        let total = &settings.total;
        let is_endless = settings.times.is_time_based;
        let bytes = total.bytes.map_or(region.length, |bytes| bytes.of(region.length, 1));
        let queue = &settings.queue;
        let (pace, times) = (&settings.pace, &settings.times);
        Self {
            number: number as u16,
            ops: settings.mix.ops,
            reads: settings.mix.reads as f64 / 100.0,
            sizes: settings.sizes.0.clone(),
            region,
            align,
            slots,
            places,
            random: Random {
                place: seed.stream("fio.place", number),
                size: seed.stream("fio.size", number),
                op: seed.stream("fio.op", number),
                rate: seed.stream("fio.rate", number),
            },
            left: Remaining {
                bytes: if is_endless { u64::MAX } else { bytes },
                requests: total.requests.filter(|_| !is_endless).unwrap_or(u64::MAX),
            },
            clock: Clock {
                delay: times.delay,
                length: times.runtime.map(|runtime| runtime + times.ramp),
                begin: Instant::ZERO,
                end: Instant::LIMIT,
                resume: Instant::ZERO,
                think: pace.think,
                think_blocks: pace.think_blocks,
                completed: 0,
                meters: pace.rates.map(|rate| RateMeter { rate, count: 0, next: Instant::ZERO }),
                is_poisson: pace.is_poisson,
            },
            flow: InFlight {
                depth: if queue.is_asynchronous { queue.depth } else { 1 },
                outstanding: 0,
                is_over: false,
                drawn: None,
            },
            replay: None,
        }
    }

    /// The lane with the requests of a trace, if there is one. They are moved into its region.
    pub fn replaying(mut self, trace: Option<&[Request]>, region: Region, loops: u32) -> Self {
        if let Some(trace) = trace {
            self.replay = Some(ReplayedTrace::new(trace, region, loops));
            self.left.bytes = u64::MAX;
        }
        self
    }

    /// Starts the lane; its group starts at `now`.
    pub fn begin(&mut self, now: Instant) {
        let clock = &mut self.clock;
        clock.begin = later(now, clock.delay);
        if let Some(replay) = &mut self.replay {
            replay.begin(clock.begin);
        }
        clock.end = clock.length.map_or(Instant::LIMIT, |length| later(clock.begin, length));
        clock.resume = clock.begin;
        for meter in &mut clock.meters {
            meter.next = clock.begin;
        }
    }

    /// Returns the next action at `now`.
    pub fn step(&mut self, now: Instant) -> LaneAction {
        if now >= self.clock.end || self.left.bytes == 0 || self.left.requests == 0 {
            self.flow.is_over = true;
        }
        if self.flow.is_over {
            return LaneAction::Ended;
        }
        if self.replay.is_some() {
            return self.step_replay(now);
        }
        let clock = &mut self.clock;
        if clock.think > Duration::ZERO && clock.completed >= clock.think_blocks {
            // fio waits for all completions, and then sleeps.
            if self.flow.outstanding > 0 {
                return LaneAction::WaitForCompletion;
            }
            (clock.completed, clock.resume) = (0, later(now, clock.think));
        }
        if now < clock.resume {
            return LaneAction::WaitUntil(clock.resume.min(clock.end));
        }
        if self.flow.outstanding >= self.flow.depth {
            return LaneAction::WaitForCompletion;
        }
        let kind = match self.flow.drawn.take() {
            Some(kind) => kind,
            None => self.draw_kind(),
        };
        let (due, other) = (self.clock.due(kind), self.ops == Ops::Both);
        if due <= now {
            return LaneAction::Issue(self.ask(kind, now));
        }
        self.flow.drawn = Some(kind);
        let others_due = if other { self.clock.due(1 - kind) } else { due };
        if others_due <= now {
            // If a kind is ahead of its rate, the other kind continues.
            return LaneAction::Issue(self.ask(1 - kind, now));
        }
        LaneAction::WaitUntil(due.min(others_due).min(self.clock.end))
    }

    /// Returns the next action of a lane that replays a trace.
    fn step_replay(&mut self, now: Instant) -> LaneAction {
        let next = self.replay.as_mut().and_then(|replay| replay.next(now));
        let Some((due, request)) = next else {
            self.flow.is_over = true;
            return LaneAction::Ended;
        };
        if due > now {
            return LaneAction::WaitUntil(due.min(self.clock.end));
        }
        if self.flow.outstanding >= self.flow.depth {
            return LaneAction::WaitForCompletion;
        }
        if let Some(replay) = &mut self.replay {
            replay.advance();
        }
        self.left.requests = self.left.requests.saturating_sub(u64::from(self.left.requests < u64::MAX));
        self.flow.outstanding += 1;
        LaneAction::Issue(Request { arrival: now, cpu: Some(self.number), ..request })
    }

    /// Reports a completion. Returns whether it was the last one of a lane that has ended.
    pub fn completed(&mut self) -> bool {
        self.flow.outstanding -= 1;
        self.clock.completed += 1;
        self.flow.is_over && self.flow.outstanding == 0
    }

    /// Whether nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.flow.outstanding == 0
    }

    fn draw_kind(&mut self) -> usize {
        match self.ops {
            Ops::Only(kind) => kind,
            Ops::Both => usize::from(self.random.op.unit() >= self.reads),
        }
    }

    fn ask(&mut self, kind: usize, now: Instant) -> Request {
        let size = self.draw_size(kind);
        let place = self.places.next(kind, self.slots, size / self.align, &mut self.random.place);
        self.left.bytes =
            if self.left.bytes == u64::MAX { u64::MAX } else { self.left.bytes.saturating_sub(size) };
        self.left.requests = self.left.requests.saturating_sub(u64::from(self.left.requests < u64::MAX));
        self.flow.outstanding += 1;
        self.clock.count(kind, size, &mut self.random.rate);
        let op = [Op::Read, Op::Write, Op::Discard][kind];
        let offset = Bytes(self.region.begin + place * self.align);
        Request { arrival: now, cpu: Some(self.number), ..Request::new(op, offset, Bytes(size)) }
    }

    fn draw_size(&mut self, kind: usize) -> u64 {
        let sizes = &self.sizes[kind];
        if let [(size, _)] = sizes[..] {
            return size;
        }
        let mut draw = self.random.size.unit() * 100.0;
        for (size, percent) in sizes {
            draw -= percent;
            if draw < 0.0 {
                return *size;
            }
        }
        sizes.iter().rev().find(|(_, percent)| *percent > 0.0).expect("percentages add to 100").0
    }
}

impl Clock {
    /// Earliest time of the next request of a kind.
    fn due(&self, kind: usize) -> Instant {
        let meter = &self.meters[kind];
        let (per_second, count) = match meter.rate {
            Rate::None => return self.begin,
            _ if self.is_poisson => return meter.next,
            Rate::Bytes(rate) | Rate::Requests(rate) => (rate, meter.count),
        };
        let ps = u128::from(count) * 1_000_000_000_000 / u128::from(per_second);
        later(self.begin, Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)))
    }

    /// Counts a request of a kind.
    fn count(&mut self, kind: usize, size: u64, random: &mut Stream) {
        let meter = &mut self.meters[kind];
        let (rate, amount) = match meter.rate {
            Rate::None => return,
            Rate::Bytes(rate) => (rate, size),
            Rate::Requests(rate) => (rate, 1),
        };
        meter.count = meter.count.saturating_add(amount);
        if self.is_poisson {
            let mean = amount as f64 * 1e12 / rate as f64;
            meter.next = later(meter.next, Duration::from_ps((mean * random.exponential()) as u64));
        }
    }
}

/// Adds a duration, saturating at the time limit.
pub(super) fn later(time: Instant, by: Duration) -> Instant {
    Instant::from_ps(time.ps().saturating_add(by.ps())).min(Instant::LIMIT)
}
