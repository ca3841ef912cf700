//! Start, pauses, rate and end of a lane.

use wordline_kernel::{Duration, Instant, Stream};

use super::settings::{Rate, Settings, SizeDistribution};
use super::values::Each;

/// Start, pauses and end of a lane.
#[derive(Clone, Debug)]
pub struct Clock {
    length: Option<Duration>,
    pub begin: Instant,
    pub end: Instant,
    /// End of the current pause.
    pub resume: Instant,
    think: Think,
    meters: Each<RateMeter>,
    is_poisson: bool,
    /// Whether the rate counts on as if there were no pauses.
    ignores_think: bool,
}

/// Pauses of a lane.
#[derive(Clone, Copy, Debug)]
struct Think {
    time: Duration,
    blocks: u64,
    by_issue: bool,
    every: Duration,
    /// Whether only `every` counts.
    by_time_alone: bool,
    /// Requests that count, so far, and at the beginning of the last pause.
    count: u64,
    last: u64,
    /// Count at which the next pause began, while requests are outstanding.
    pending: Option<u64>,
    /// End of the last pause.
    since: Instant,
    /// Whether a pause may begin: after a request, but not while the rate holds the next one up.
    is_checked: bool,
}

/// Rate limit for one kind of requests.
#[derive(Clone, Copy, Debug)]
struct RateMeter {
    rate: Rate,
    /// Bytes, or requests, so far.
    count: u64,
    /// Earliest time of the next request, for random times.
    next: Instant,
    /// Smallest size: the rate in bytes of random times is one of requests of this size.
    smallest: u64,
    /// Time of the pauses that the rate does not count.
    shift: Duration,
}

impl Clock {
    /// Creates the clock of a lane.
    pub fn new(settings: &Settings) -> Self {
        let (pace, times) = (&settings.pace, &settings.times);
        let smallest = [0, 1, 2].map(|kind| settings.sizes.of[kind].bounds().0);
        let shift = Duration::ZERO;
        // In a range of sizes fio takes a number of requests as bytes of so many of the smallest size.
        let rate = |kind: usize| match (pace.rates[kind], &settings.sizes.of[kind]) {
            (Rate::Requests(rate), SizeDistribution::Range(..)) => {
                Rate::Bytes(rate.saturating_mul(smallest[kind]))
            }
            (rate, _) => rate,
        };
        let meter = |kind: usize| RateMeter {
            rate: rate(kind),
            count: 0,
            next: Instant::ZERO,
            smallest: smallest[kind],
            shift,
        };
        Self {
            length: times.runtime.map(|runtime| runtime + times.ramp),
            begin: Instant::ZERO,
            end: Instant::LIMIT,
            resume: Instant::ZERO,
            think: Think {
                time: pace.think,
                blocks: pace.think_blocks.unwrap_or(1),
                by_issue: pace.think_by_issue,
                every: pace.think_every,
                by_time_alone: pace.think_every > Duration::ZERO && pace.think_blocks.is_none(),
                count: 0,
                last: 0,
                pending: None,
                since: Instant::ZERO,
                is_checked: false,
            },
            meters: [0, 1, 2].map(meter),
            is_poisson: pace.is_poisson,
            ignores_think: pace.ignores_think,
        }
    }

    /// Starts at `now`.
    pub fn start(&mut self, now: Instant) {
        self.begin = now;
        self.end = self.length.map_or(Instant::LIMIT, |length| later(now, length));
        (self.resume, self.think.since) = (now, now);
        for meter in &mut self.meters {
            meter.next = now;
        }
    }

    /// Whether a pause begins once no request is outstanding. If none is, it begins now.
    pub fn wants_pause(&mut self, now: Instant, outstanding: u64) -> bool {
        let think = &mut self.think;
        if think.time == Duration::ZERO || !think.is_checked {
            return false;
        }
        let is_late =
            think.every > Duration::ZERO && now.since(think.since) >= think.every && think.count > 0;
        let is_full = !think.by_time_alone && think.count >= think.last + think.blocks;
        if think.pending.is_none() && (is_late || is_full) {
            think.pending = Some(think.count);
        }
        let Some(count) = think.pending else { return false };
        // fio waits for all completions, and then sleeps.
        if outstanding > 0 {
            return true;
        }
        (think.last, think.pending, think.is_checked) = (count, None, false);
        self.resume = later(now, think.time);
        think.since = self.resume;
        if self.ignores_think {
            for meter in &mut self.meters {
                meter.shift = Duration::from_ps(meter.shift.ps().saturating_add(think.time.ps()));
                meter.next = later(meter.next, think.time);
            }
        }
        false
    }

    /// Notes that the next request waits for its rate.
    pub fn holds(&mut self) {
        self.think.is_checked = false;
    }

    /// Counts a completion.
    pub fn completed(&mut self) {
        self.think.count += u64::from(!self.think.by_issue);
    }

    /// Earliest time of the next request of a kind.
    pub fn due(&self, kind: usize) -> Instant {
        let meter = &self.meters[kind];
        let (per_second, count) = match meter.rate {
            Rate::None => return self.begin,
            _ if self.is_poisson => return meter.next,
            Rate::Bytes(rate) | Rate::Requests(rate) => (rate, meter.count),
        };
        let ps = u128::from(count) * 1_000_000_000_000 / u128::from(per_second);
        let due = later(self.begin, Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)));
        later(due, meter.shift)
    }

    /// Counts a request of a kind.
    pub fn count(&mut self, kind: usize, size: u64, random: &mut Stream) {
        self.think.count += u64::from(self.think.by_issue);
        self.think.is_checked = true;
        let meter = &mut self.meters[kind];
        let (rate, amount, mean) = match meter.rate {
            Rate::None => return,
            // At random times each request counts as one of the smallest size.
            Rate::Bytes(rate) => (rate, size, meter.smallest),
            Rate::Requests(rate) => (rate, 1, 1),
        };
        meter.count = meter.count.saturating_add(amount);
        if self.is_poisson {
            let mean = mean as f64 * 1e12 / rate as f64;
            meter.next = later(meter.next, Duration::from_ps((mean * random.exponential()) as u64));
        }
    }
}

/// Adds a duration, saturating at the time limit.
pub fn later(time: Instant, by: Duration) -> Instant {
    Instant::from_ps(time.ps().saturating_add(by.ps())).min(Instant::LIMIT)
}
