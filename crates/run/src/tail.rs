//! Tail attribution: latency breakdowns of the slowest requests, and of ranges of latency percentiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::tail;
use wordline_device::tail::{Interval, RequestBreakdown, UpperStage};
use wordline_device::times::Component;
use wordline_device::{Operation, SECTOR};
use wordline_flash::DieWork;
use wordline_kernel::Instant;

/// Default number of slowest requests that are kept.
pub const SLOWEST: u32 = 1_000;

/// Number of slowest requests that are listed one by one. Chosen: as many as a reader looks at.
const LISTED: usize = 20;

/// Upper ends of the percentile ranges.
const ENDS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// Latency breakdowns of single requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Reads and writes by percentile of latency. The breakdown is of a sample (each of the first 10,000
    /// requests, then one of 128) and of the slowest requests, scaled to the latencies of all.
    pub ranges: Vec<LatencyRange>,
    /// The slowest requests together; left out if none was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Slowest")]
    pub slowest: Option<Slowest>,
    /// The slowest requests one by one, at most 20, the slowest first.
    pub requests: Vec<SlowRequest>,
}

/// Requests between two percentiles of latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRange {
    /// `read` or `write`.
    pub operation: String,
    /// The lower percentile.
    pub from_percentile: f64,
    /// The upper percentile.
    pub to_percentile: f64,
    /// Number of requests that the range represents.
    pub requests: u64,
    /// Mean latency of these requests, in microseconds.
    pub latency_us: f64,
    /// Mean latency breakdown of these requests. The parts add up to the mean latency.
    pub time: Vec<TailPart>,
    /// Time in the write buffer, by the work of the dies meanwhile, of requests that waited for buffer space
    /// or for a program.
    pub buffer_while: Vec<TailPart>,
}

/// A part of the latency of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailPart {
    /// A stage, named as in `time` of the run. The waits `gc_wait` and `die_wait` are split by the work of
    /// the die, into parts such as `behind_erase`. `behind_other` means that the work is not known: it was
    /// more than 1,024 commands ago, or the die was suspending a command. Arrays have three more parts:
    /// `raid_wait` (waits for a row or for another command), `raid_reads` (reads of blocks from which parity
    /// or a lost block is computed) and `raid_log` (waits for the partial parity log). Host FTLs on
    /// open-channel devices or zones have two more parts: `rate_limiter` (waits for a share of the write
    /// buffer, whose rest is for garbage collection) and `line_wait` (waits until a line or chunk is ready).
    /// In `buffer_while` the name is the work only.
    pub name: String,
    /// Microseconds.
    pub us: f64,
}

/// The slowest requests together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowest {
    /// Number of requests.
    pub requests: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Least latency, in microseconds.
    pub least_us: f64,
    /// Greatest latency, in microseconds.
    pub most_us: f64,
    /// Mean latency breakdown of these requests. The parts add up to the mean latency.
    pub time: Vec<TailPart>,
    /// Time in the write buffer, by the work of the dies meanwhile.
    pub buffer_while: Vec<TailPart>,
    /// The dies that the requests waited for, the longest wait first.
    pub dies: Vec<TailDie>,
}

/// A die that requests waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailDie {
    /// Number of the die's device in an array; left out for other devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16")]
    pub device: Option<u16>,
    /// Number of the die in its device.
    pub die: u32,
    /// Fraction of all waits for dies.
    pub part: f64,
}

/// One of the slowest requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowRequest {
    /// `read`, `write`, `discard`, `flush`, `write_zeroes`, `compare`, or an operation of zones such as
    /// `zone_append`.
    pub operation: String,
    /// First byte of the request.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of its submission, in seconds from the beginning of the run.
    pub submitted_seconds: f64,
    /// Latency in microseconds.
    pub latency_us: f64,
    /// Latency breakdown. The parts add up to the latency.
    pub time: Vec<TailPart>,
    /// Time in the write buffer, by the work of the dies meanwhile.
    pub buffer_while: Vec<TailPart>,
    /// The command behind which the request waited longest; left out if it waited for no die.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LongestCommand")]
    pub longest: Option<LongestCommand>,
}

/// The command behind which a request waited longest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongestCommand {
    /// Work of the command: `host_read`, `host_program`, `rmw_read`, `prefetch`, `map_read`, `map_program`,
    /// `erase` or `scan`. Relocations have two names each, such as `gc_read` and `gc_program`; the first word
    /// is `gc`, `folding`, `levelling` or `reclaim`.
    pub work: String,
    /// Number of its device in an array; left out for other devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16")]
    pub device: Option<u16>,
    /// Number of the die.
    pub die: u32,
    /// Number of the multi-plane block.
    pub block: u32,
    /// Length of the wait, in microseconds.
    pub us: f64,
}

/// The record from which a part of the latency is taken.
#[derive(Clone, Copy)]
pub enum PartSource {
    /// A stage outside of the flash device.
    Above(UpperStage),
    /// A component of the device.
    Component(Component),
    /// The work of the die that the request waited for.
    Work(DieWork),
    /// The wait for a die whose work is not known.
    Other,
}

/// The parts of a latency, in the order of tables and charts: stages outside of the device, then its
/// components. The works of the die replace the waits for dies.
pub fn part_names() -> impl Iterator<Item = (String, PartSource)> {
    let above =
        UpperStage::ALL.into_iter().map(|part| (name_above(part).to_owned(), PartSource::Above(part)));
    above.chain(Component::ALL.into_iter().flat_map(|component| match component {
        Component::GcWait => Vec::new(),
        Component::DieWait => {
            let works = DieWork::ALL
                .into_iter()
                .map(|work| (format!("behind_{}", work.name()), PartSource::Work(work)));
            works.chain([("behind_other".to_owned(), PartSource::Other)]).collect()
        }
        component => vec![(component.name().to_owned(), PartSource::Component(component))],
    }))
}

fn name_above(part: UpperStage) -> &'static str {
    match part {
        UpperStage::Wait => "raid_wait",
        UpperStage::Reads => "raid_reads",
        UpperStage::Log => "raid_log",
        UpperStage::Limiter => "rate_limiter",
        UpperStage::Line => "line_wait",
    }
}

/// Mean microseconds of reads and writes in each stage, from the scaled samples of a tail attribution.
pub fn time_of_sample(sample: &[Vec<Interval>; 2]) -> Vec<(&'static str, [f64; 2])> {
    let all = sample.each_ref().map(|sample| {
        let mut sums = Sums::default();
        sample.iter().for_each(|interval| sums.add(interval));
        sums
    });
    let above = UpperStage::ALL
        .map(|part| (name_above(part), all.each_ref().map(|sums| sums.mean(sums.0.above[part as usize]))));
    // Stages that the device does not have are left out: an array has no rate limiter, and a host FTL has no
    // stripe rows.
    let above = above.into_iter().filter(|(_, means)| means.iter().any(|us| *us > 0.0));
    let parts = Component::ALL
        .map(|part| (part.name(), all.each_ref().map(|sums| sums.mean(sums.0.parts[part as usize]))));
    above.chain(parts).collect()
}

/// Sums of request times, in picoseconds.
#[derive(Clone, Debug, Default)]
struct Sums(Interval);

impl Sums {
    fn add(&mut self, interval: &Interval) {
        let sum = &mut self.0;
        sum.requests += interval.requests;
        sum.latency_ps += interval.latency_ps;
        let pairs = sum.above.iter_mut().zip(interval.above);
        let pairs = pairs.chain(sum.parts.iter_mut().zip(interval.parts));
        let pairs = pairs.chain(sum.behind.iter_mut().zip(interval.behind));
        pairs.chain(sum.meanwhile.iter_mut().zip(interval.meanwhile)).for_each(|(sum, ps)| *sum += ps);
    }

    /// The mean in microseconds, from a sum in picoseconds.
    fn mean(&self, ps: u128) -> f64 {
        ps as f64 / 1e6 / self.0.requests.max(1) as f64
    }

    /// The mean latency breakdown.
    fn time(&self) -> Vec<TailPart> {
        let Interval { above, parts, behind, .. } = &self.0;
        let waited = parts[Component::GcWait as usize] + parts[Component::DieWait as usize];
        let known: u128 = behind.iter().sum();
        let mut time = Vec::new();
        let mut part = |name: String, ps: u128| {
            if ps > 0 {
                time.push(TailPart { name, us: self.mean(ps) });
            }
        };
        for (name, of) in part_names() {
            part(
                name,
                match of {
                    PartSource::Above(part) => above[part as usize],
                    PartSource::Component(component) => parts[component as usize],
                    PartSource::Work(work) => behind[work as usize],
                    // Rounding of a scaled sample may exceed it.
                    PartSource::Other => waited.saturating_sub(known),
                },
            );
        }
        time
    }

    fn buffer_while(&self) -> Vec<TailPart> {
        let works = DieWork::ALL.iter().zip(self.0.meanwhile).filter(|(_, ps)| *ps > 0);
        works.map(|(work, ps)| TailPart { name: work.name().into(), us: self.mean(ps) }).collect()
    }
}

impl Tail {
    /// The tail attribution from the records of a device and their scaled samples, for a run that began at
    /// `begin`.
    pub fn of(tail: &tail::Tail, sample: &[Vec<Interval>; 2], begin: Instant) -> Self {
        let slowest = tail.slowest();
        let told = slowest.iter().take(LISTED).map(|slow| request(slow, begin)).collect();
        let ranges = ["read", "write"].into_iter().zip(sample);
        Self {
            ranges: ranges.flat_map(|(operation, sample)| ranges_of(operation, sample)).collect(),
            slowest: summarize_slowest(&slowest),
            requests: told,
        }
    }
}

/// Groups latency intervals into percentile ranges. The intervals are in ascending order. An interval belongs
/// to the range that contains its middle.
fn ranges_of(operation: &str, sample: &[Interval]) -> Vec<LatencyRange> {
    let all: u64 = sample.iter().map(|interval| interval.requests).sum();
    let mut ranges: [Sums; ENDS.len()] = Default::default();
    let mut before = 0;
    for interval in sample {
        let middle = (before as f64 + interval.requests as f64 / 2.0) / all as f64 * 100.0;
        let range = ENDS.iter().position(|end| middle <= *end).unwrap_or(ENDS.len() - 1);
        ranges[range].add(interval);
        before += interval.requests;
    }
    let ranges = ranges.into_iter().enumerate().filter(|(_, sums)| sums.0.requests > 0);
    let range = |(n, sums): (usize, Sums)| LatencyRange {
        operation: operation.into(),
        from_percentile: if n == 0 { 0.0 } else { ENDS[n - 1] },
        to_percentile: ENDS[n],
        requests: sums.0.requests,
        latency_us: sums.mean(sums.0.latency_ps),
        time: sums.time(),
        buffer_while: sums.buffer_while(),
    };
    ranges.map(range).collect()
}

/// The results of the slowest requests together. `slowest` begins with the slowest request.
fn summarize_slowest(slowest: &[&RequestBreakdown]) -> Option<Slowest> {
    let (first, last) = (slowest.first()?, slowest.last()?);
    let mut sums = Sums::default();
    let mut dies: Vec<((Option<u16>, u32), u128)> = Vec::new();
    for slow in slowest {
        sums.add(&Interval::of(slow));
        let Some(behind) = &slow.behind else { continue };
        let waited = u128::from(slow.die_wait().ps());
        let die = (slow.device, behind.die.0);
        match dies.iter_mut().find(|(other, _)| *other == die) {
            Some((_, sum)) => *sum += waited,
            None => dies.push((die, waited)),
        }
    }
    let count = |operation| {
        slowest.iter().filter(|slow| slow.completion.command.operation == operation).count() as u64
    };
    dies.sort_by_key(|(die, waited)| (std::cmp::Reverse(*waited), *die));
    let all: u128 = dies.iter().map(|(_, waited)| waited).sum();
    let part = |((device, die), waited)| TailDie { device, die, part: waited as f64 / all.max(1) as f64 };
    Some(Slowest {
        requests: slowest.len() as u64,
        reads: count(Operation::Read),
        writes: count(Operation::Write),
        least_us: last.completion.latency.us(),
        most_us: first.completion.latency.us(),
        time: sums.time(),
        buffer_while: sums.buffer_while(),
        dies: dies.into_iter().map(part).collect(),
    })
}

fn request(slow: &RequestBreakdown, begin: wordline_kernel::Instant) -> SlowRequest {
    let RequestBreakdown { completion, submitted, behind, device, .. } = slow;
    let mut sums = Sums::default();
    sums.add(&Interval::of(slow));
    let longest = behind.as_ref().and_then(|behind| {
        let (work, block, time) = behind.longest?;
        let (work, device) = (work.name().into(), *device);
        Some(LongestCommand { work, device, die: behind.die.0, block: block.0, us: time.us() })
    });
    SlowRequest {
        operation: completion.command.operation.name().into(),
        offset: completion.command.sector * SECTOR.0,
        bytes: completion.command.sectors * SECTOR.0,
        submitted_seconds: submitted.since(begin).seconds(),
        latency_us: completion.latency.us(),
        time: sums.time(),
        buffer_while: sums.buffer_while(),
        longest,
    }
}

/// The work of a die as a phrase; in the plural if `several` commands did it.
pub fn work_in_words(name: &str, several: bool) -> String {
    let plural = if several { "s" } else { "" };
    match name {
        "rmw_read" => format!("RMW read{plural}"),
        "prefetch" => format!("prefetch{}", if several { "es" } else { "" }),
        "erase" => format!("erase{plural}"),
        other => match other.split_once('_') {
            Some(("gc", command)) => format!("GC {command}{plural}"),
            Some(("levelling", command)) => format!("wear-levelling {command}{plural}"),
            Some((purpose, command)) => format!("{purpose} {command}{plural}"),
            None => other.to_owned(),
        },
    }
}
