//! The summary of a run. Its field names are the JSON keys.

use schemars::JsonSchema;
use serde::Serialize;
use wordline_kernel::Metrics;
use wordline_kernel::chart::{Chart, ChartAxis, ChartData};
pub use wordline_trace::{Source, SourceKind};

use crate::course::Course;
pub use crate::drift::Drift;
pub use crate::measured::{Attained, LeftOut, Unknown, WarmUpEnd};
use crate::metrics::{MetricsSchema, PoolMetricsSchema};
use crate::provenance::{Provenance, TraceFile};
use crate::tail::Tail;

/// The result of one run. All but `simulator` is a function of configuration, seed and trace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Name of the device: its preset, or the configuration file.
    pub device: String,
    /// The source of the requests.
    pub workload: Source,
    /// The trace file that the requests were read from; null without one that can be read again.
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
    /// `complete`, `interrupted` (Ctrl-C: the numbers cover the requests completed by then) or `read_only`
    /// (the device reached its end of life).
    pub outcome: Outcome,
    /// Simulated seconds from the first request, or from the end of the warm-up, to the last completion.
    pub simulated_seconds: f64,
    /// The warm-up, which was not measured; left out where everything was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LeftOut")]
    pub warm_up: Option<LeftOut>,
    /// The precision of the metric that the run was to measure; left out without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Attained")]
    pub precision: Option<Attained>,
    /// The part of `simulated_seconds` in recoveries after power cuts: `host.iops` leaves it out.
    pub recovery_seconds: f64,
    /// The speed of the simulator on this machine.
    pub simulator: Simulator,
    /// The bottleneck of the run; null without completions, and for a device without parts that can be busy.
    #[schemars(with = "Verdict")]
    pub verdict: Option<Verdict>,
    /// Requests, throughput and latency at the host.
    pub host: Host,
    /// The metrics of the device, with the names of `wordline metrics`; the part before the dot is a table.
    #[serde(flatten)]
    #[schemars(with = "MetricsSchema")]
    pub metrics: Metrics,
    /// Write amplification: bytes programmed (for the host, the map, GC and padding) for each byte of the
    /// host, corrected for the growth of the write buffer; null without writes, and where unknown. Centaur's
    /// equation 4.
    pub write_amplification: Option<f64>,
    /// Write amplification in the second half of the host's writes; left out where it wrote next to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Drift")]
    pub drift: Option<Drift>,
    /// Energy by stage of the flash command chain.
    pub energy_by_stage: Vec<Share>,
    /// The latency breakdown of the requests.
    pub time: Vec<TimeShare>,
    /// Tail attribution: latency breakdowns of single requests; left out unless requested and supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Tail")]
    pub tail: Option<Tail>,
    /// The commands that destaged the buffer, for each pool; how long writes wait for room depends on them.
    pub write_back: Vec<WriteBack>,
    /// Utilisation of each direction of the link: to the device, to the host, or both together where the link
    /// is half-duplex; empty without a link.
    pub link_utilisation: Vec<f64>,
    /// Utilisation of each channel's bus, in the order of channels.
    pub channel_utilisation: Vec<f64>,
    /// Utilisation of each die's array, in the order of dies.
    pub die_utilisation: Vec<f64>,
    /// The wear of the blocks.
    pub wear: Wear,
    /// The pools, in order; left out where there is only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolUse>,
    /// The devices of an array; left out for other devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberUse>,
    /// The jobs of a job file, in order, the clones of each as one; left out for other workloads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobUse>,
    /// Jain's index of the IOPS of the jobs: 1 where all are equal, one over their number where one has them
    /// all; left out for fewer than two jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub fairness: Option<f64>,
    /// The power cuts; left out without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
    /// The charts of the designs; left out without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<DesignChart>,
    /// Notes for the user, such as wrapped addresses, clock jumps, or a generated profile.
    pub notes: Vec<String>,
    /// Metrics that the run cannot answer, with the reasons: they have no value.
    pub unknown: Vec<Unknown>,
    /// The run over simulated time, in windows of equal width.
    pub windows: Windows,
}

/// The speed of the simulator on this machine; it says nothing about the simulated device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Simulator {
    /// Wall time of the run, in seconds.
    pub wall_seconds: f64,
    /// Wall time of preconditioning, or of restoring from a snapshot, in seconds.
    pub precondition_seconds: f64,
    /// Host requests simulated for each second of `wall_seconds`.
    pub requests_per_second: f64,
}

impl Summary {
    /// The reason why the metric with this dotted name is unknown; none where it is known.
    pub fn why_unknown(&self, metric: &str) -> Option<&str> {
        self.unknown.iter().find(|unknown| unknown.metric == metric).map(|unknown| unknown.reason.as_str())
    }

    /// Simulated seconds in which the device accepted requests: without recoveries after power cuts.
    pub fn seconds_in_service(&self) -> f64 {
        (self.simulated_seconds - self.recovery_seconds).max(0.0)
    }

    /// The same with these power cuts, whose recoveries do not count in the IOPS.
    pub(crate) fn with_power_cuts(self, power_cuts: Vec<PowerCut>) -> Self {
        let recovery_seconds = power_cuts.iter().map(|cut| cut.recovery_seconds).sum();
        let mut summary = Self { power_cuts, recovery_seconds, ..self };
        let seconds = summary.seconds_in_service();
        summary.wear = summary.wear.with_rates(seconds);
        if recovery_seconds > 0.0 && seconds > 0.0 {
            summary.host.iops = summary.host.requests as f64 / seconds;
        }
        summary
    }
}

/// The bottleneck of a run: a kind of part, a kind of work, or the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The arrays of the dies, working for the host.
    Arrays,
    /// The buses of the channels.
    Buses,
    /// The link to the host.
    Link,
    /// Garbage collection: the arrays worked for it, or commands waited for it.
    GarbageCollection,
    /// The host: its demand was no greater.
    Host,
    /// Not known from the run alone.
    Unknown,
}

/// The bottleneck of a run, and the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// `arrays`, `buses`, `link`, `garbage_collection` or `host`; `unknown` where the run does not show it.
    pub bound: Bound,
    /// The busiest kind of part of the device: `arrays`, `buses` or `link`.
    pub busiest: Bound,
    /// Utilisation of the busiest part of this kind: a die, a channel, a direction of the link.
    pub busy: f64,
    /// Mean utilisation of all parts of the kind.
    pub mean_busy: f64,
    /// Fraction of the busy time of the arrays spent on garbage collection; null where they were idle.
    pub gc: Option<f64>,
    /// The stage in which requests spent most of their time, as in `time`; null without any.
    pub stage: Option<String>,
    /// Its fraction of all their time.
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
    /// The caption.
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
    /// The chart that a design with this name drew.
    pub fn of((design, drawn): (&'static str, ChartData)) -> Self {
        let Chart { name, title, caption, over, value } = *drawn.chart;
        let over = match over {
            ChartAxis::Time => None,
            ChartAxis::Sizes(title) => Some(title.to_owned()),
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
    /// Blocks erased; blocks of a plane group that are erased together count as one.
    pub erases: u64,
    /// Erases of a block in the run, with the same count.
    pub erases_per_block: f64,
    /// Endurance used in the run, as a fraction. Centaur's equation 1.
    pub endurance_used: f64,
    /// Valid data at the end, as a fraction of its flash. Centaur's equation 2.
    pub valid_share: f64,
    /// Mean utilisation of its dies.
    pub dies_busy: f64,
    /// Erases of its least worn block.
    pub least_worn: u32,
    /// Erases of its most worn block.
    pub most_worn: u32,
    /// Its blocks that are out of service.
    pub bad_blocks: u64,
    /// The number of values of `wear.erases` for its blocks, after those of earlier pools.
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
    /// The NAND part of its first pool.
    pub part: String,
    /// Reads that the array sent to it.
    pub reads: u64,
    /// Writes that the array sent to it.
    pub writes: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Bytes of the writes.
    pub written_bytes: u64,
    /// Bytes of parity among those written.
    pub parity_bytes: u64,
    /// Flash pages programmed, padding included.
    pub programs: u64,
    /// Blocks erased; blocks of a plane group that are erased together count as one.
    pub erases: u64,
    /// Erases of a block in the run, with the same count.
    pub erases_per_block: f64,
    /// Endurance used in the run, as a fraction, for the pool with the greatest value.
    pub endurance_used: f64,
    /// Erases of its least worn block.
    pub least_worn: u32,
    /// Erases of its most worn block.
    pub most_worn: u32,
    /// Its blocks that are out of service.
    pub bad_blocks: u64,
    /// Mean utilisation of its dies.
    pub dies_busy: f64,
}

/// A job of a job file.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct JobUse {
    /// Its name in the file.
    pub name: String,
    /// Requests completed.
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
    /// Submission of its first request, in seconds since the beginning of the run.
    pub from_seconds: f64,
    /// Time from there to its last completion, in seconds.
    pub seconds: f64,
    /// Requests for each second of this time.
    pub iops: f64,
    /// Latency of its reads.
    pub read_latency_us: Latency,
    /// Latency of its writes.
    pub write_latency_us: Latency,
}

impl JobUse {
    /// The number of reads, or else of writes, and their latency.
    pub fn requests_of(&self, reads: bool) -> (u64, &Latency) {
        if reads { (self.reads, &self.read_latency_us) } else { (self.writes, &self.write_latency_us) }
    }
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every request completed.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// The device ran out of good blocks and rejects writes.
    ReadOnly,
}

/// Requests, throughput and latency at the host.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Host {
    /// Requests completed.
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
    /// Compare commands among them.
    pub compares: u64,
    /// Requests completed with an error: writes to a read-only device, reads of lost data, failed compares.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests completed for each simulated second, without recoveries after power cuts.
    pub iops: f64,
    /// Time from submission to completion of reads, in microseconds.
    pub read_latency_us: Latency,
    /// Time from submission to completion of writes, in microseconds.
    pub write_latency_us: Latency,
    /// Time from submission to completion of discards, in microseconds.
    pub discard_latency_us: Latency,
    /// Time from submission to completion of flushes, in microseconds.
    pub flush_latency_us: Latency,
    /// Time from submission to completion of write zeroes commands, in microseconds.
    pub write_zeroes_latency_us: Latency,
    /// Time from submission to completion of compares, in microseconds.
    pub compare_latency_us: Latency,
}

/// A latency distribution, in microseconds. Mean, min and max are exact, percentiles accurate to three
/// digits; a percentile is null without requests, and where fewer than ten of them lie beyond it.
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

/// The latency breakdown: mean microseconds a request in each stage, for reads and for writes; the sum is the
/// mean latency. For arrays it is estimated from a sample (the first 10,000 requests, then one of 128), and
/// empty without `--slowest`; it is also empty where a device does not record it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TimeShare {
    /// `queue`, `link`, `controller`, `buffer`, `mapping`, `gc_wait`, `die_wait`, `bus`, `array`, `decoding`,
    /// `retries`; for arrays, `raid_wait`, `raid_reads` and `raid_log` before these, as in `tail`.
    pub name: String,
    /// Mean microseconds a read.
    pub read_us: f64,
    /// Mean microseconds a write.
    pub write_us: f64,
}

/// The commands that destaged the buffer to a pool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WriteBack {
    /// Read-modify-write reads of the pool: the rest of a page, or of a unit that is programmed as a whole.
    pub fill: CommandTime,
    /// Programs of the host's pages in the pool.
    pub program: CommandTime,
}

/// Flash commands, and mean microseconds of one since it was queued.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommandTime {
    /// Number of commands.
    pub commands: u64,
    /// Lookup of the page in the map, where only a part of the map is in memory.
    pub mapping_us: f64,
    /// Waiting for a die in garbage collection.
    pub gc_wait_us: f64,
    /// Waiting for a die with other work.
    pub die_wait_us: f64,
    /// Waiting for the channel's bus, and using it.
    pub bus_us: f64,
    /// Read or program of the array.
    pub array_us: f64,
    /// Waiting for the ECC decoder, and decoding.
    pub decoding_us: f64,
    /// Earlier attempts of retried reads.
    pub retries_us: f64,
    /// The total.
    pub total_us: f64,
}

/// Wear of the blocks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Wear {
    /// Erases of each block, in the order of dies and blocks; at most 65,536 values, each the mean of
    /// neighbours where there are more blocks.
    pub erases: Vec<f64>,
    /// The least worn block's erases.
    pub min: u32,
    /// The most worn block's erases.
    pub max: u32,
    /// Mean erases a block.
    pub mean: f64,
    /// Standard deviation of the erases over their mean, of blocks ever in service; 0 is even. Null without
    /// erases.
    pub variation: Option<f64>,
    /// Blocks that are out of service.
    pub bad_blocks: u64,
    /// Remaining spare space: the fraction of the good blocks beyond the logical capacity, with reserved
    /// blocks; below 0 where they cannot hold it any more.
    pub spare: f64,
    /// Terabytes (10^12 B) that the host wrote in the run, until the device rejected writes if it did.
    pub terabytes_written: f64,
    /// The same in units of the logical capacity.
    pub drive_writes: f64,
    /// Terabytes that the host can write until all blocks reach the part's endurance, at the run's erases for
    /// each byte. Null without erases.
    pub terabytes_expected: Option<f64>,
    /// Years until then at the write rate of the run, without recoveries from power cuts; null without
    /// erases.
    pub years_expected: Option<f64>,
    /// Drive writes a day (DWPD) at the rate of the run. Null where no time passed.
    pub drive_writes_per_day: Option<f64>,
    /// Endurance used: erases of the run as a fraction of all that the blocks stand, for the pool with the
    /// greatest value; 1 wears a new device out. Planes that are erased together count as one. Centaur's
    /// equations 1 and 3.
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
    /// Its blocks that are out of service.
    pub bad_blocks: u64,
}

/// A power cut and the recovery from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PowerCut {
    /// The time of the power cut, in simulated seconds.
    pub at_seconds: f64,
    /// Outstanding requests, which are lost in the power cut.
    pub lost_requests: u64,
    /// Pages of interrupted programs, and pages that share their cells: they are unreadable.
    pub torn_pages: u64,
    /// Interrupted erases; the blocks of a plane group count as one.
    pub torn_erases: u64,
    /// Logical pages whose last write was not in flash: they have the previous data, or none.
    pub lost_pages: u64,
    /// Discarded logical pages that returned.
    pub returned_pages: u64,
    /// Pages that recovery read.
    pub pages_read: u64,
    /// Time from power on until the device accepted commands, in seconds.
    pub recovery_seconds: f64,
}

/// The run over simulated time.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Windows {
    /// Width of a window in seconds.
    pub width_seconds: f64,
    /// The windows from the first request on.
    pub windows: Vec<Window>,
    /// The flash meanwhile: dies, free blocks and victims. Empty for devices that do not report them.
    pub course: Course,
}

/// One window of the run.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Window {
    /// Requests completed.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Mean latency of the reads completed, in microseconds.
    pub read_latency_us: f64,
    /// Mean latency of the writes completed, in microseconds.
    pub write_latency_us: f64,
    /// Greatest latency of any request completed, in microseconds.
    pub max_latency_us: f64,
    /// Logical pages programmed for the host.
    pub host_programs: u64,
    /// Logical pages programmed by GC, as the rest of a unit, as translation pages or as padding.
    pub other_programs: u64,
    /// Bytes of both.
    pub programmed_bytes: u64,
}

impl Window {
    /// This window and the next one merged.
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
