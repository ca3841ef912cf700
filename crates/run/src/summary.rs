//! The summary of a run. Its field names are the keys of the JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Metrics;
use wordline_kernel::chart::{Chart, ChartAxis, ChartData};
pub use wordline_trace::{Source, SourceKind};

use crate::course::Course;
pub use crate::drift::Drift;
pub use crate::latency::Latency;
pub use crate::measured::{Attained, LeftOut, RebuildTime, Unknown, WarmUpEnd};
use crate::metrics::{MetricsSchema, PoolMetricsSchema};
use crate::provenance::{Provenance, TraceFile};
use crate::tail::Tail;
pub use crate::zones::ZoneRequests;

/// The result of one run. All of it except `simulator` is a function of configuration, seed and requests.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Name of the device: the preset or the configuration file.
    pub device: String,
    /// The source of the requests.
    pub workload: Source,
    /// The trace file that the requests come from. Null without a trace file, and for a trace that cannot be
    /// read again.
    #[schemars(with = "TraceFile")]
    pub trace_file: Option<TraceFile>,
    /// The program that made this result, and its command line.
    pub provenance: Provenance,
    /// The whole configuration of the device, in TOML.
    pub configuration: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Digest of all events of the run. It is equal for equal configuration, seed and requests.
    pub digest: String,
    /// `complete`, `interrupted` (stopped with Ctrl-C; the result covers the requests completed so far) or
    /// `read_only` (the device reached the end of its life).
    pub outcome: Outcome,
    /// Simulated time in seconds, from the first request or the end of the warm-up to the last completion.
    pub simulated_seconds: f64,
    /// The warm-up, which was not measured; left out if everything was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LeftOut")]
    pub warm_up: Option<LeftOut>,
    /// The precision reached for the metric that `--until` names; left out without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Attained")]
    pub precision: Option<Attained>,
    /// The rebuild that `--until rebuilt` waits for; left out without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RebuildTime")]
    pub rebuild: Option<RebuildTime>,
    /// Simulated seconds of recoveries after power cuts; `host.iops` leaves them out.
    pub recovery_seconds: f64,
    /// Speed of the simulator on this machine.
    pub simulator: Simulator,
    /// The bottleneck of the run; null without completions, and if no part can be busy.
    #[schemars(with = "Verdict")]
    pub verdict: Option<Verdict>,
    /// Requests, throughput and latency at the host.
    pub host: Host,
    /// The metrics that `wordline metrics` lists; the part of a name before the dot is a table.
    #[serde(flatten, deserialize_with = "crate::metrics::read")]
    #[schemars(with = "MetricsSchema")]
    pub metrics: Metrics,
    /// Write amplification: bytes programmed (for the host, the map, GC and padding) per byte that the host
    /// wrote, corrected for the growth of the write buffer. Null without writes, and if unknown. Centaur's
    /// equation 4.
    pub write_amplification: Option<f64>,
    /// Write amplification in the last two quarters of the host's writes; left out after too few writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Drift")]
    pub drift: Option<Drift>,
    /// Energy by stage of the flash commands.
    pub energy_by_stage: Vec<Share>,
    /// The latency breakdown of the requests.
    pub time: Vec<TimeShare>,
    /// The tail attribution: latency breakdowns of single requests; left out unless requested and supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Tail")]
    pub tail: Option<Tail>,
    /// Flash commands that destaged the write buffer, by pool. Writes wait for buffer space until such
    /// commands end.
    pub write_back: Vec<WriteBack>,
    /// Utilisation of each direction of the link: to the device and to the host, or one value for a
    /// half-duplex link. Empty without a link.
    pub link_utilisation: Vec<f64>,
    /// Utilisation of each channel's bus, by channel.
    pub channel_utilisation: Vec<f64>,
    /// Utilisation of each die's array, by die.
    pub die_utilisation: Vec<f64>,
    /// The wear of the blocks.
    pub wear: Wear,
    /// The pools, in order; left out if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolUse>,
    /// The devices of an array; left out for other devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberUse>,
    /// The jobs of a job file, in order; left out for other workloads. The clones of a job count as one job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobUse>,
    /// Jain's fairness index of the IOPS of the jobs with completed requests: 1 if all are equal, one over
    /// their number if one job has all. Left out for fewer than two of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub fairness: Option<f64>,
    /// The power cuts; left out if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
    /// The charts of the designs; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<DesignChart>,
    /// Notes for the user, such as wrapped addresses, clock jumps, or a generated profile.
    pub notes: Vec<String>,
    /// Metrics without a value, because the run cannot answer them, with reasons.
    pub unknown: Vec<Unknown>,
    /// Time series of the run, in windows of equal width.
    pub windows: Windows,
}

/// Speed of the simulator on this machine. It is not a property of the simulated device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulator {
    /// Wall time of the run, in seconds.
    pub wall_seconds: f64,
    /// Wall time of preconditioning, or of restoring a snapshot, in seconds.
    pub precondition_seconds: f64,
    /// Host requests simulated per second of `wall_seconds`.
    pub requests_per_second: f64,
}

impl Summary {
    /// The reason why the metric with this dotted name is unknown; `None` if it is known.
    pub fn why_unknown(&self, metric: &str) -> Option<&str> {
        self.unknown.iter().find(|unknown| unknown.metric == metric).map(|unknown| unknown.reason.as_str())
    }

    /// Simulated seconds in which the device accepted requests: all except recoveries.
    pub fn seconds_in_service(&self) -> f64 {
        (self.simulated_seconds - self.recovery_seconds).max(0.0)
    }

    /// Adds power cuts to the summary. The time of their recoveries does not count in the IOPS.
    pub(crate) fn with_power_cuts(self, power_cuts: Vec<PowerCut>) -> Self {
        // A sum of no numbers would be -0.0.
        let recovery_seconds = power_cuts.iter().fold(0.0, |sum, cut| sum + cut.recovery_seconds);
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The arrays of the dies, with work for the host.
    Arrays,
    /// The buses of the channels.
    Buses,
    /// The link to the host.
    Link,
    /// Garbage collection: the arrays work for it, or commands wait for it.
    GarbageCollection,
    /// The host: it does not demand more.
    Host,
    /// The run alone does not show the bottleneck.
    Unknown,
}

/// The bottleneck of a run, and the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// `arrays`, `buses`, `link`, `garbage_collection`, `host`, or `unknown` if the run alone does not show
    /// it.
    pub bound: Bound,
    /// The kind of part that is busiest: `arrays`, `buses` or `link`.
    pub busiest: Bound,
    /// Utilisation of the busiest part of this kind: a die, a channel, or a direction of the link.
    pub busy: f64,
    /// Mean utilisation of all parts of this kind.
    pub mean_busy: f64,
    /// Fraction of the arrays' busy time that garbage collection took; null if the arrays were idle.
    pub gc: Option<f64>,
    /// The stage in which requests spent most of their time, named as in `time`; null if none is recorded.
    pub stage: Option<String>,
    /// Fraction of the requests' total time spent in this stage.
    pub stage_share: f64,
    /// The bottleneck in a sentence.
    pub text: String,
}

/// A chart that a design reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesignChart {
    /// Name: the design, a hyphen, and the chart.
    pub name: String,
    /// Title of the chart.
    pub title: String,
    /// Caption of the chart.
    pub caption: String,
    /// Title of the horizontal axis; null if the axis is simulated time, from the beginning of the run.
    #[schemars(with = "String")]
    pub over: Option<String>,
    /// Title of the vertical axis.
    pub value: String,
    /// The points of the chart: a time in seconds or a size, and the value there.
    pub points: Vec<[f64; 2]>,
}

impl DesignChart {
    /// The chart of the design with this name.
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

/// Results of a pool, for devices with several pools.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PoolUse {
    /// Name of its NAND part.
    pub part: String,
    /// Number of its dies.
    pub dies: u32,
    /// Physical flash capacity in bytes.
    pub bytes: u64,
    /// Flash pages programmed, including padding.
    pub programs: u64,
    /// Bytes programmed, including padding.
    pub programmed_bytes: u64,
    /// Multi-plane blocks erased: the blocks of a plane group that are erased together count as one.
    pub erases: u64,
    /// Erases in the run per multi-plane block.
    pub erases_per_block: f64,
    /// Endurance used in the run, as a fraction. Centaur's equation 1.
    pub endurance_used: f64,
    /// Valid data at the end of the run, as a fraction of the pool's flash. Centaur's equation 2.
    pub valid_share: f64,
    /// Mean utilisation of its dies.
    pub dies_busy: f64,
    /// Erases of its least worn block, over its whole life.
    pub least_worn: u32,
    /// Erases of its most worn block, over its whole life.
    pub most_worn: u32,
    /// Number of its blocks that are out of service.
    pub bad_blocks: u64,
    /// Number of its values in `wear.erases`, where the values of the pools follow each other.
    pub wear_values: u64,
    /// Counters of failures and energy.
    #[serde(flatten, deserialize_with = "crate::metrics::read")]
    #[schemars(with = "PoolMetricsSchema")]
    pub metrics: Metrics,
}

/// Results of a device of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberUse {
    /// Role at the end: `member 0`, `member 0, failed`, `member 0, being rebuilt`, `spare` or `failed`.
    pub role: String,
    /// Name of the NAND part of its first pool.
    pub part: String,
    /// Reads that the array sent to the device.
    pub reads: u64,
    /// Writes that the array sent to the device.
    pub writes: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Bytes of these writes.
    pub written_bytes: u64,
    /// Bytes of parity among the written bytes.
    pub parity_bytes: u64,
    /// Flash pages programmed, including padding.
    pub programs: u64,
    /// Multi-plane blocks erased: the blocks of a plane group that are erased together count as one.
    pub erases: u64,
    /// Erases in the run per multi-plane block.
    pub erases_per_block: f64,
    /// Endurance used in the run, as a fraction, for the pool with the greatest value.
    pub endurance_used: f64,
    /// Erases of its least worn block, over its whole life.
    pub least_worn: u32,
    /// Erases of its most worn block, over its whole life.
    pub most_worn: u32,
    /// Number of its blocks that are out of service.
    pub bad_blocks: u64,
    /// Mean utilisation of its dies.
    pub dies_busy: f64,
}

/// Results of a job of a job file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct JobUse {
    /// Name of the job in the file.
    pub name: String,
    /// Requests completed.
    pub requests: u64,
    /// Reads completed.
    pub reads: u64,
    /// Writes and zone appends completed.
    pub writes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time of the job's first submission, in seconds from the beginning of the run.
    pub from_seconds: f64,
    /// Time from that submission to the job's last completion, in seconds.
    pub seconds: f64,
    /// Requests completed per second of `seconds`.
    pub iops: f64,
    /// Latency of the job's reads.
    pub read_latency_us: Latency,
    /// Latency of the job's writes.
    pub write_latency_us: Latency,
}

impl JobUse {
    /// The number and the latency of the reads, or of the writes if `reads` is false.
    pub fn requests_of(&self, reads: bool) -> (u64, &Latency) {
        if reads { (self.reads, &self.read_latency_us) } else { (self.writes, &self.write_latency_us) }
    }
}

/// The way in which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every request completed.
    Complete,
    /// The user stopped the run.
    Interrupted,
    /// The device ran out of good blocks, and rejects writes.
    ReadOnly,
}

/// Requests, throughput and latency at the host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Requests completed.
    pub requests: u64,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Discards completed.
    pub discards: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Write zeroes commands completed.
    pub write_zeroes: u64,
    /// Compare commands completed.
    pub compares: u64,
    /// Requests completed with an error: writes to a read-only device, reads of lost data, failed compares.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, by write zeroes too where the device writes them as data.
    pub written_bytes: u64,
    /// Requests completed per second of simulated time, without recoveries after power cuts.
    pub iops: f64,
    /// Latency of reads from submission to completion, in microseconds.
    pub read_latency_us: Latency,
    /// Latency of writes from submission to completion, in microseconds.
    pub write_latency_us: Latency,
    /// Latency of discards from submission to completion, in microseconds.
    pub discard_latency_us: Latency,
    /// Latency of flushes from submission to completion, in microseconds.
    pub flush_latency_us: Latency,
    /// Latency of write zeroes commands from submission to completion, in microseconds.
    pub write_zeroes_latency_us: Latency,
    /// Latency of compares from submission to completion, in microseconds.
    pub compare_latency_us: Latency,
    /// Requests to zones; left out without any. Appended bytes are written bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ZoneRequests")]
    pub zones: Option<ZoneRequests>,
}

/// A named amount.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Name of the item that the amount belongs to.
    pub name: String,
    /// The amount, in the unit of the list.
    pub amount: f64,
}

/// A stage of the latency breakdown: mean microseconds that reads and writes spend in it. The stages add up
/// to the mean latency. For arrays and host FTLs the breakdown is that of a sample (the first 10,000 requests,
/// then one of 128) and of the slowest requests, scaled to the latencies of all, and needs `--slowest`. It is empty for devices that do not record it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TimeShare {
    /// `queue`, `link`, `controller`, `buffer`, `mapping`, `gc_wait`, `die_wait`, `bus`, `array`, `decoding`
    /// or `retries`. Arrays have `raid_wait`, `raid_reads` and `raid_log` before these; see the `name` of a
    /// part in `tail`.
    pub name: String,
    /// Mean microseconds of a read.
    pub read_us: f64,
    /// Mean microseconds of a write.
    pub write_us: f64,
}

/// The commands that destaged the write buffer to a pool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WriteBack {
    /// Read-modify-write reads of the pool: the rest of a page or of a program unit.
    pub fill: CommandTime,
    /// Programs of host pages in the pool.
    pub program: CommandTime,
}

/// A kind of flash command: number of commands, and mean microseconds in each stage. Times count from the
/// queueing of the command.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CommandTime {
    /// Number of commands.
    pub commands: u64,
    /// L2P lookup, if only a part of the map is in memory.
    pub mapping_us: f64,
    /// Wait for a die that works for garbage collection.
    pub gc_wait_us: f64,
    /// Wait for a die with other work.
    pub die_wait_us: f64,
    /// Wait for the channel's bus, and time on the bus.
    pub bus_us: f64,
    /// Array read or program.
    pub array_us: f64,
    /// Wait for the ECC decoder, and decoding.
    pub decoding_us: f64,
    /// Earlier attempts of reads that were retried.
    pub retries_us: f64,
    /// Total time of a command.
    pub total_us: f64,
}

/// Wear of the blocks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Wear {
    /// Erases of each block, by die and block. The list has at most 65,536 values; for more blocks, each
    /// value is the mean of neighbouring blocks.
    pub erases: Vec<f64>,
    /// Erases of the least worn block.
    pub min: u32,
    /// Erases of the most worn block.
    pub max: u32,
    /// Mean erases per block.
    pub mean: f64,
    /// Standard deviation of the erases over their mean, for all blocks ever in service; null without erases.
    pub variation: Option<f64>,
    /// Number of blocks that are out of service.
    pub bad_blocks: u64,
    /// Remaining spare space: the fraction of the good blocks, including reserved ones, that exceeds the
    /// logical capacity. Below 0 if the good blocks cannot hold the logical capacity any more.
    pub spare: f64,
    /// Terabytes (10^12 B) that the host wrote in the run. Writes that the device rejected do not count.
    pub terabytes_written: f64,
    /// Data that the host wrote in the run, in units of the logical capacity.
    pub drive_writes: f64,
    /// Terabytes that the host can write until the part's endurance is used; null without erases.
    pub terabytes_expected: Option<f64>,
    /// Years until the part's endurance is used, at this run's write rate; null without erases.
    pub years_expected: Option<f64>,
    /// Drive writes per day (DWPD) at the write rate of this run. Null if no time passed.
    pub drive_writes_per_day: Option<f64>,
    /// Endurance used: erases in the run as a fraction of the erases that the blocks endure. With several
    /// pools it is the greatest value of a pool. A value of 1 wears out a new device. Planes that are erased
    /// together count as one. Centaur's equations 1 and 3.
    pub endurance_used: f64,
    /// Mean erases of a block in this run.
    pub run_erases: f64,
    /// Wear of each die.
    pub dies: Vec<DieWear>,
}

/// Wear of a die.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DieWear {
    /// Mean erases of its blocks.
    pub erases: f64,
    /// Number of its blocks that are out of service.
    pub bad_blocks: u64,
}

/// A power cut, and the recovery from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerCut {
    /// Time of the power cut, in simulated seconds.
    pub at_seconds: f64,
    /// Outstanding requests, which were lost.
    pub lost_requests: u64,
    /// Unreadable pages: pages of interrupted programs, and pages that share cells with them.
    pub torn_pages: u64,
    /// Interrupted erases. The blocks of a plane group count as one.
    pub torn_erases: u64,
    /// Logical pages whose last completed write was not in flash. They have older data, or none.
    pub lost_pages: u64,
    /// Discarded logical pages whose data returned.
    pub returned_pages: u64,
    /// Flash pages that the recovery read.
    pub pages_read: u64,
    /// Time from power-on until the device accepted commands, in seconds.
    pub recovery_seconds: f64,
}

/// Time series of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Width of a window in seconds.
    pub width_seconds: f64,
    /// The windows, from the first measured request on.
    pub windows: Vec<Window>,
    /// Time series of the flash in the same windows; empty for devices that do not report them.
    pub course: Course,
}

/// A window of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Requests completed.
    pub requests: u64,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, by write zeroes too where the device writes them as data.
    pub written_bytes: u64,
    /// Mean latency of the reads that completed in the window, in microseconds.
    pub read_latency_us: f64,
    /// Mean latency of the writes that completed in the window, in microseconds.
    pub write_latency_us: f64,
    /// Greatest latency of any request that completed in the window, in microseconds.
    pub max_latency_us: f64,
    /// Logical pages programmed for the host.
    pub host_programs: u64,
    /// Logical pages programmed by GC, as the rest of a unit, as translation pages, or as padding.
    pub other_programs: u64,
    /// Bytes of `host_programs` and `other_programs` together.
    pub programmed_bytes: u64,
}

impl Window {
    /// This window and the next one, merged.
    pub fn joined(&self, next: &Self) -> Self {
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
