//! The summary of a run. Its field names are the JSON keys.

use schemars::JsonSchema;
use serde::Serialize;
use wordline_kernel::Metrics;
use wordline_kernel::chart::{Chart, Drawn, Over};
pub use wordline_trace::{Source, SourceKind};

use crate::course::Course;
pub use crate::drift::Drift;
pub use crate::measured::{Attained, LeftOut, Unknown, WarmUpEnd};
use crate::metrics::{MetricsSchema, PoolMetricsSchema};
use crate::provenance::{Provenance, TraceFile};
use crate::tail::Tail;

/// The result of one run. Everything but `simulator` is a function of
/// configuration, seed and trace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Name of the device: its preset, or the configuration file.
    pub device: String,
    /// Where the requests came from.
    pub workload: Source,
    /// The trace file that the requests were read from; null where there was none that can be read again.
    #[schemars(with = "TraceFile")]
    pub trace_file: Option<TraceFile>,
    /// The program that ran it.
    pub provenance: Provenance,
    /// The whole configuration of the device, in TOML.
    pub configuration: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// Digest of the run's events: equal for equal configuration, seed and trace.
    pub digest: String,
    /// `complete`, `interrupted` (Ctrl-C: the numbers are of the requests finished by then) or `read_only` (the
    /// device reached its end of life).
    pub outcome: Outcome,
    /// Time on the simulated clock from the first request, or from the end of the warm-up, to the last completion, in seconds.
    pub simulated_seconds: f64,
    /// The beginning of the load, which was not measured; left out where everything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LeftOut")]
    pub warm_up: Option<LeftOut>,
    /// How well the column is known that was to be known well enough; left out where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Attained")]
    pub precision: Option<Attained>,
    /// Of it, the time of recoveries after power cuts, in seconds: `host.iops` leaves it out.
    pub recovery_seconds: f64,
    /// The speed of the simulator on this machine.
    pub simulator: Simulator,
    /// The bound of the run, and how near to its bound it came; null where nothing was answered, and of a device without parts that can
    /// be busy.
    #[schemars(with = "Verdict")]
    pub verdict: Option<Verdict>,
    /// Requests, throughput and latency at the host.
    pub host: Host,
    /// The metrics of the device, by the names that `wordline metrics` lists; the part before the dot names a table.
    #[serde(flatten)]
    #[schemars(with = "MetricsSchema")]
    pub metrics: Metrics,
    /// Write amplification: bytes programmed (for the host, for the map, by the collector, as padding) for each byte that the host wrote,
    /// without those by which the write buffer grew; null without writes, and where it is unknown. Centaur's equation 4.
    pub write_amplification: Option<f64>,
    /// Write amplification in the second half of what the host wrote; left out where it wrote next to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Drift")]
    pub drift: Option<Drift>,
    /// Energy by stage of the flash command chain.
    pub energy_by_stage: Vec<Share>,
    /// Where the requests' time went.
    pub time: Vec<TimeShare>,
    /// Where the time of single requests went, the slowest among them; left out where that was not asked for, and by devices that do not
    /// tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Tail")]
    pub tail: Option<Tail>,
    /// The commands that wrote the buffer out, for each pool. With it goes the time that writes wait for room
    /// in the buffer.
    pub write_back: Vec<WriteBack>,
    /// Fraction of the run during which each direction of the link to the host was taken: to the device and to the host,
    /// or both together where only one is possible at a time; empty without a link.
    pub link_utilisation: Vec<f64>,
    /// Fraction of the run during which each channel's bus was busy, in the order of channels.
    pub channel_utilisation: Vec<f64>,
    /// Fraction of the run during which each die's array was busy, in the order of dies.
    pub die_utilisation: Vec<f64>,
    /// The blocks.
    pub wear: Wear,
    /// The pools, in their order; left out where there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolUse>,
    /// The devices that the device is made of; left out where it is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberUse>,
    /// The jobs of a job file, in its order, the clones of each together; left out where requests come from elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobUse>,
    /// Jain's index of the requests a second of the jobs: 1 where all have as many, and one over their number where one has them all; left
    /// out where there are no two.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub fairness: Option<f64>,
    /// The power cuts; left out without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
    /// The charts of the designs; left out where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<DesignChart>,
    /// Things that the user should know: wrapped addresses, clock jumps, a generated profile.
    pub notes: Vec<String>,
    /// Metrics that the run cannot answer, each with the reason: they have no value.
    pub unknown: Vec<Unknown>,
    /// The run over simulated time, in windows of equal width.
    pub windows: Windows,
}

/// The speed of the simulator on the machine that ran it: nothing of the device that was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Simulator {
    /// Time that the run itself took on this machine, in seconds.
    pub wall_seconds: f64,
    /// Time that preconditioning, or restoring from a snapshot, took on this machine, in seconds.
    pub precondition_seconds: f64,
    /// Host requests simulated for each second of `wall_seconds`.
    pub requests_per_second: f64,
}

impl Summary {
    /// Why the metric of a name with dots is unknown; none where it is not.
    pub fn why_unknown(&self, metric: &str) -> Option<&str> {
        self.unknown.iter().find(|unknown| unknown.metric == metric).map(|unknown| unknown.reason.as_str())
    }

    /// Seconds of simulated time in which the device took requests: all but recoveries after power cuts.
    pub fn seconds_in_service(&self) -> f64 {
        (self.simulated_seconds - self.recovery_seconds).max(0.0)
    }

    /// The same with the power cuts that came, whose recoveries are left out of the requests a second.
    pub(crate) fn with_power_cuts(self, power_cuts: Vec<PowerCut>) -> Self {
        let recovery_seconds = power_cuts.iter().map(|cut| cut.recovery_seconds).sum();
        let mut summary = Self { power_cuts, recovery_seconds, ..self };
        let seconds = summary.seconds_in_service();
        summary.wear = summary.wear.at_the_rate_of(seconds);
        if recovery_seconds > 0.0 && seconds > 0.0 {
            summary.host.iops = summary.host.requests as f64 / seconds;
        }
        summary
    }
}

/// A part of the device, or what it works for, that bound a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The arrays of the dies, at work for the host.
    Arrays,
    /// The buses of the channels.
    Buses,
    /// The link to the host.
    Link,
    /// Garbage collection: the arrays were at work for it, or commands waited for it.
    Cleaning,
    /// The host: it did not ask for more.
    Host,
    /// Not known from the run alone.
    Unknown,
}

/// The bound of a run, and how near it came to that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The part or work that bound it: `arrays`, `buses`, `link`, `cleaning` or `host`; `unknown` where the run does not show it.
    pub bound: Bound,
    /// The busiest kind of part of the device: `arrays`, `buses` or `link`.
    pub busiest: Bound,
    /// Fraction of the run during which the busiest part of this kind was busy: a die, a channel, a direction of the link.
    pub busy: f64,
    /// The same in the mean of all parts of the kind.
    pub mean_busy: f64,
    /// Part of the time of the arrays that went into garbage collection; null where they were idle.
    pub cleaning: Option<f64>,
    /// The stage in which requests spent most of their time, as in `time`; null where they took none.
    pub stage: Option<String>,
    /// Its part of all of that time.
    pub stage_share: f64,
    /// The verdict in a sentence.
    pub text: String,
}

/// A chart of a design.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DesignChart {
    /// The design, and after a hyphen the chart.
    pub name: String,
    /// Its title.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The title of its horizontal axis; null for simulated time, from the beginning of the run.
    #[schemars(with = "String")]
    pub over: Option<String>,
    /// The title of its vertical axis.
    pub value: String,
    /// Its points: a time in seconds, or a size, and the value there.
    pub points: Vec<[f64; 2]>,
}

impl DesignChart {
    /// A chart that a design of this name drew.
    pub fn of((design, drawn): (&'static str, Drawn)) -> Self {
        let Chart { name, title, caption, over, value } = *drawn.chart;
        let over = match over {
            Over::Time => None,
            Over::Sizes(title) => Some(title.to_owned()),
        };
        let (title, caption, value) = (title.to_owned(), caption.to_owned(), value.to_owned());
        Self { name: format!("{design}-{name}"), title, caption, over, value, points: drawn.points }
    }
}

/// One of several pools.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PoolUse {
    /// Its NAND part.
    pub part: String,
    /// Its dies.
    pub dies: u32,
    /// Bytes of its flash.
    pub bytes: u64,
    /// Flash pages programmed, padding included.
    pub programs: u64,
    /// Bytes of these.
    pub programmed_bytes: u64,
    /// Blocks erased; those of the planes of a row together count as one.
    pub erases: u64,
    /// Erases of a block in the run; those of the planes of a row together count as one.
    pub erases_per_block: f64,
    /// The part of its lifetime that the run spent. Centaur's equation 1.
    pub endurance_used: f64,
    /// Valid data at the end as a part of its flash. Centaur's equation 2.
    pub valid_share: f64,
    /// Part of the run during which one of its dies was busy, in the mean of them.
    pub dies_busy: f64,
    /// Erases of its least worn block.
    pub least_worn: u32,
    /// Erases of its most worn block.
    pub most_worn: u32,
    /// Its blocks that are out of use.
    pub bad_blocks: u64,
    /// How many values of `wear.erases` are of its blocks. They follow those of the pools before.
    pub wear_values: u64,
    /// Its failures and its energy.
    #[serde(flatten)]
    #[schemars(with = "PoolMetricsSchema")]
    pub metrics: Metrics,
}

/// A device that is part of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MemberUse {
    /// Its role at the end: `member 0`, `member 0, failed`, `member 0, being rebuilt`, `spare`, or `failed`.
    pub role: String,
    /// Its NAND part, that of its first pool.
    pub part: String,
    /// Reads that it was sent.
    pub reads: u64,
    /// Writes that it was sent.
    pub writes: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Bytes of the writes.
    pub written_bytes: u64,
    /// Bytes of parity among those written.
    pub parity_bytes: u64,
    /// Flash pages programmed, padding included.
    pub programs: u64,
    /// Blocks erased; those of the planes of a row together count as one.
    pub erases: u64,
    /// Erases of a block in the run; those of the planes of a row together count as one.
    pub erases_per_block: f64,
    /// The part of its lifetime that the run spent, of the pool that spent most.
    pub endurance_used: f64,
    /// Erases of its least worn block.
    pub least_worn: u32,
    /// Erases of its most worn block.
    pub most_worn: u32,
    /// Its blocks that are out of use.
    pub bad_blocks: u64,
    /// Part of the run during which one of its dies was busy, in the mean of them.
    pub dies_busy: f64,
}

/// A job of a job file.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct JobUse {
    /// Its name in the file.
    pub name: String,
    /// Requests answered.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// When its first request was submitted, in seconds since the run began.
    pub from_seconds: f64,
    /// The time from there to its last answer, in seconds.
    pub seconds: f64,
    /// Requests for each second of that.
    pub iops: f64,
    /// Latency of its reads.
    pub read_latency_us: Latency,
    /// Latency of its writes.
    pub write_latency_us: Latency,
}

impl JobUse {
    /// How many reads there were, or else writes, and their latency.
    pub fn requests_of(&self, reads: bool) -> (u64, &Latency) {
        if reads { (self.reads, &self.read_latency_us) } else { (self.writes, &self.write_latency_us) }
    }
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every request was answered.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// The device ran out of good blocks and refuses writes.
    ReadOnly,
}

/// Requests, throughput and latency at the host.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Host {
    /// Requests answered.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Discards among them.
    pub discards: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// Write zeroes commands among them.
    pub write_zeroes: u64,
    /// Comparisons among them.
    pub compares: u64,
    /// Requests answered with an error: by a device that is read-only, reads of what is lost, or comparisons that found
    /// something else.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests completed for each simulated second, recoveries after power cuts left out.
    pub iops: f64,
    /// Time from submission to answer of reads, in microseconds.
    pub read_latency_us: Latency,
    /// Time from submission to answer of writes, in microseconds.
    pub write_latency_us: Latency,
    /// Time from submission to completion of discards, in microseconds.
    pub discard_latency_us: Latency,
    /// Time from submission to completion of flushes, in microseconds.
    pub flush_latency_us: Latency,
    /// Time from submission to completion of write zeroes commands, in microseconds.
    pub write_zeroes_latency_us: Latency,
    /// Time from submission to completion of comparisons, in microseconds.
    pub compare_latency_us: Latency,
}

/// A latency distribution, in microseconds. Mean, min and max are exact, percentiles good to three digits; a percentile is null without
/// requests, and where fewer than ten of them lie beyond it.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// Half are at most this.
    pub p50: Option<f64>,
    /// 80% are at most this.
    pub p80: Option<f64>,
    /// 90% are at most this.
    pub p90: Option<f64>,
    /// 95% are at most this.
    pub p95: Option<f64>,
    /// 99% are at most this.
    pub p99: Option<f64>,
    /// 99.9% are at most this.
    pub p999: Option<f64>,
    /// 99.99% are at most this.
    pub p9999: Option<f64>,
    /// 99.999% are at most this.
    pub p99999: Option<f64>,
    /// The greatest.
    pub max: f64,
    /// The cumulative distribution: (microseconds, fraction at or below).
    pub cumulative: Vec<(f64, f64)>,
}

/// A named amount.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Share {
    /// The part that the amount belongs to.
    pub name: String,
    /// The amount, in the unit of its list.
    pub amount: f64,
}

/// Where the time of the requests went: mean microseconds a request, for reads and for writes. The sum over the
/// list is the mean latency. Of an array of devices it is estimated from the first 10,000 requests and one of 128 of the others, and
/// the list is empty without `--slowest`; so it is where a device does not know.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TimeShare {
    /// `queue`, `link`, `controller`, `buffer`, `mapping`, `gc_wait`, `die_wait`, `bus`, `array`, `decoding`, `retries`; of an array of
    /// devices `raid_wait`, `raid_reads` and `raid_log` before these, as in `tail`.
    pub name: String,
    /// Mean microseconds a read.
    pub read_us: f64,
    /// Mean microseconds a write.
    pub write_us: f64,
}

/// The commands that wrote the buffer out to a pool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WriteBack {
    /// Reads from the pool of the rest of a page, or of a unit that is programmed as a whole.
    pub fill: CommandTime,
    /// Programs of the host's pages in the pool.
    pub program: CommandTime,
}

/// Commands of the chips, and mean microseconds of one since it was queued.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommandTime {
    /// How many there were.
    pub commands: u64,
    /// Looking up where the page is, where only a part of the map is in memory.
    pub mapping_us: f64,
    /// Waiting for a die that collects garbage.
    pub gc_wait_us: f64,
    /// Waiting for a die that does something else.
    pub die_wait_us: f64,
    /// Waiting for the channel's bus, and on it.
    pub bus_us: f64,
    /// While the array senses or programs.
    pub array_us: f64,
    /// Waiting for the decoder of the error correction, and in it.
    pub decoding_us: f64,
    /// Earlier tries of reads that could not be read.
    pub retries_us: f64,
    /// All of it.
    pub total_us: f64,
}

/// Wear of the blocks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Wear {
    /// Erases of each block, in the order of dies and blocks; at most 65,536 values, each the mean of neighbours
    /// where there are more blocks.
    pub erases: Vec<f64>,
    /// The least worn block's erases.
    pub min: u32,
    /// The most worn block's erases.
    pub max: u32,
    /// Mean erases a block.
    pub mean: f64,
    /// Evenness: standard deviation of the blocks' erases over their mean; 0 is even. Blocks that were never of use are left
    /// out. Null without erases.
    pub variation: Option<f64>,
    /// Blocks that are out of use.
    pub bad_blocks: u64,
    /// Spare space that is left: the part of the good blocks that the logical capacity does not fill,
    /// reserved ones counted in; below 0 where they cannot hold it any more.
    pub spare: f64,
    /// Terabytes (10^12 B) that the host wrote in the run, until the device refused writes where it did.
    pub terabytes_written: f64,
    /// The same in logical capacities.
    pub drive_writes: f64,
    /// Terabytes that the host could write at the run's erases a byte until all blocks have reached the part's endurance.
    /// Null without erases.
    pub terabytes_expected: Option<f64>,
    /// Years of the run's writes until then, at its rate: recoveries after power cuts left out. Null without erases.
    pub years_expected: Option<f64>,
    /// Drive writes a day (DWPD) at the rate of the run. Null where no time passed.
    pub drive_writes_per_day: Option<f64>,
    /// Erases of the run as a part of all that the blocks stand, of the pool that spent most: 1 for a run that takes a new device
    /// to its end. Planes that are erased together count as one. Centaur's equations 1 and 3.
    pub endurance_used: f64,
    /// Mean erases of a block in the run alone.
    pub run_erases: f64,
    /// Each die.
    pub dies: Vec<DieWear>,
}

/// Wear of a die.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DieWear {
    /// Mean erases of its blocks.
    pub erases: f64,
    /// Its blocks that are out of use.
    pub bad_blocks: u64,
}

/// A power cut and the recovery after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PowerCut {
    /// When the power was cut, in seconds of simulated time.
    pub at_seconds: f64,
    /// Requests that were outstanding, and are lost at the power cut.
    pub lost_requests: u64,
    /// Pages that were being programmed, and pages that share their cells: they are unreadable.
    pub torn_pages: u64,
    /// Erases that stopped half-way, of the blocks of a row together.
    pub torn_erases: u64,
    /// Logical pages of which the last write was not in flash: the one before is there, or nothing.
    pub lost_pages: u64,
    /// Logical pages that had been discarded and are back.
    pub returned_pages: u64,
    /// Pages that recovery read.
    pub pages_read: u64,
    /// From power on until the device took commands again, in seconds.
    pub recovery_seconds: f64,
}

/// The run over time.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Windows {
    /// Width of a window in seconds.
    pub width_seconds: f64,
    /// The windows from the first request on.
    pub windows: Vec<Window>,
    /// The flash meanwhile: its dies, free blocks, and victims. Empty for devices that do not tell.
    pub course: Course,
}

/// One window of the run.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Window {
    /// Requests answered.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Mean latency of the reads answered, in microseconds.
    pub read_latency_us: f64,
    /// Mean latency of the writes answered, in microseconds.
    pub write_latency_us: f64,
    /// Greatest latency of any request answered, in microseconds.
    pub max_latency_us: f64,
    /// Logical pages programmed for the host.
    pub host_programs: u64,
    /// Logical pages programmed by garbage collection, with the rest of their unit, as translation pages or as padding.
    pub other_programs: u64,
    /// Bytes of both.
    pub programmed_bytes: u64,
}

impl Window {
    /// This window and the next one as one.
    pub(crate) fn joined(&self, next: &Self) -> Self {
        let mean = |a: (u64, f64), b: (u64, f64)| {
            let all = (a.0 + b.0).max(1) as f64;
            (a.0 as f64 * a.1 + b.0 as f64 * b.1) / all
        };
        Self {
            requests: self.requests + next.requests,
            reads: self.reads + next.reads,
            writes: self.writes + next.writes,
            read_bytes: self.read_bytes + next.read_bytes,
            written_bytes: self.written_bytes + next.written_bytes,
            read_latency_us: mean((self.reads, self.read_latency_us), (next.reads, next.read_latency_us)),
            write_latency_us: mean(
                (self.writes, self.write_latency_us),
                (next.writes, next.write_latency_us),
            ),
            max_latency_us: self.max_latency_us.max(next.max_latency_us),
            host_programs: self.host_programs + next.host_programs,
            other_programs: self.other_programs + next.other_programs,
            programmed_bytes: self.programmed_bytes + next.programmed_bytes,
        }
    }
}
