//! What a run measured. Its field names are the JSON keys.

use serde::Serialize;

pub use wordline_trace::{Source, SourceKind};

pub use crate::drift::Drift;
use crate::provenance::{Provenance, TraceFile};

/// The result of one run. Everything but `wall_seconds`, `precondition_seconds` and `requests_per_second` is a function of
/// configuration, seed and trace.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
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
    /// Time on the simulated clock from the first request to the last completion, in seconds.
    pub simulated_seconds: f64,
    /// Time that the run itself took on this machine, in seconds.
    pub wall_seconds: f64,
    /// Time that preconditioning, or restoring from a snapshot, took on this machine, in seconds.
    pub precondition_seconds: f64,
    /// Host requests simulated for each second of `wall_seconds`.
    pub requests_per_second: f64,
    /// What the host saw.
    pub host: Host,
    /// What the buffer did.
    pub buffer: Buffer,
    /// What the flash did.
    pub flash: Flash,
    /// Write amplification: bytes programmed (for the host, for the map, by the collector, as padding) for each byte that the host
    /// wrote; null without writes. What is still in the buffer at the end is not programmed. Centaur's equation 4.
    pub write_amplification: Option<f64>,
    /// Pages programmed for the host and by the collector for each page programmed for the host: what garbage collection costs.
    /// Where the host writes whole pages, one at a time, it is the write amplification of analytic models. Null if nothing was
    /// programmed.
    pub programs_per_host_program: Option<f64>,
    /// Write amplification in the second half of what the host wrote; left out where it wrote next to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Drift")]
    pub drift: Option<Drift>,
    /// Energy of all flash operations and idle time, in joules.
    pub energy_joules: f64,
    /// Energy by stage of the flash command chain.
    pub energy_by_stage: Vec<Share>,
    /// Where the requests' time went.
    pub time: Vec<TimeShare>,
    /// What wrote the buffer out, for each pool. With it goes the time that writes wait for room in the buffer.
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
    /// What was sent to which pool; left out where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SubRequests")]
    pub sub_requests: Option<SubRequests>,
    /// The power cuts; left out without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
    /// What failed.
    pub faults: Faults,
    /// Things that the user should know: wrapped addresses, clock jumps, a generated profile.
    pub notes: Vec<String>,
    /// The run over simulated time, in windows of equal width.
    pub windows: Windows,
}

/// One of several pools.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
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
    pub spent_lifetime: f64,
    /// Valid data at the end as a part of its flash. Centaur's equation 2.
    pub valid_share: f64,
}

/// What became of the sub-requests of a device with several pools in the run: what was written of a unit of consecutive
/// pages, and left the buffer together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SubRequests {
    /// Sent to the first pool by the router.
    pub to_first: u64,
    /// Bytes of these that the host wrote.
    pub to_first_bytes: u64,
    /// The mean of these bytes; null without any.
    pub to_first_mean_bytes: Option<f64>,
    /// Sent to another pool by the router.
    pub to_others: u64,
    /// Bytes of these that the host wrote.
    pub to_others_bytes: u64,
    /// The mean of these bytes; null without any.
    pub to_others_mean_bytes: Option<f64>,
    /// Times that a pool had no room, and the first one took what was meant for it.
    pub turned_away: u64,
    /// Taken from the first pool's queue for another pool.
    pub stolen: u64,
    /// Units that moved to the first pool because a victim of another held some of them.
    pub migrated_units: u64,
    /// Pages of these that left the other pool.
    pub migrated_pages: u64,
    /// The size from which on sub-requests go to the first pool, at the end: Centaur's dispatch condition, or what stands for it
    /// in another design; null where sizes do not decide.
    pub condition_bytes: Option<u64>,
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every request was answered.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// The device ran out of good blocks and refuses writes.
    ReadOnly,
}

/// What the host saw.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
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
    /// Requests answered for each simulated second.
    pub iops: f64,
    /// Time from submission to answer of reads, in microseconds.
    pub read_latency_us: Latency,
    /// Time from submission to answer of writes, in microseconds.
    pub write_latency_us: Latency,
}

/// A latency distribution, in microseconds. Mean, min and max are exact, percentiles good to three digits.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// Half are at most this.
    pub p50: f64,
    /// 90% are at most this.
    pub p90: f64,
    /// 99% are at most this.
    pub p99: f64,
    /// 99.9% are at most this.
    pub p999: f64,
    /// The greatest.
    pub max: f64,
    /// The cumulative distribution: (microseconds, fraction at or below).
    pub cumulative: Vec<(f64, f64)>,
}

/// What the buffer did, in logical pages (mapping units).
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Buffer {
    /// Page writes that merged with one that waited.
    pub merged_writes: u64,
    /// Pages that reads found in write buffer or read cache, or never written.
    pub reads_without_flash: u64,
    /// Those that were in the read cache or on their way into it.
    pub read_cache_hits: u64,
    /// Pages fetched ahead of reads.
    pub read_ahead_pages: u64,
    /// Those that the host then read.
    pub read_ahead_used: u64,
}

/// What the flash did.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Flash {
    /// Pages read, for whatever reason.
    pub reads: u64,
    /// Pages programmed, padding included.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Pages read to complete a partial write (read-modify-write).
    pub fill_reads: u64,
    /// Pages read by garbage collection.
    pub gc_reads: u64,
    /// Logical pages (mapping units) programmed by garbage collection.
    pub gc_programs: u64,
    /// Room for logical pages programmed without data, to complete a program unit.
    pub padding: u64,
    /// Bytes of pages programmed for the host.
    pub host_bytes: u64,
    /// Bytes of pages programmed because others of their unit were written, in a pool that is mapped by whole units.
    pub unit_bytes: u64,
    /// Bytes of pages programmed by garbage collection.
    pub gc_bytes: u64,
    /// Bytes of padding pages.
    pub padding_bytes: u64,
    /// Look-ups of the map that found the place of a page in memory; 0 where the whole map is there.
    pub map_hits: u64,
    /// Look-ups that did not.
    pub map_misses: u64,
    /// Hits of all look-ups; null without any.
    pub map_hit_ratio: Option<f64>,
    /// Pages read for translation pages.
    pub translation_reads: u64,
    /// Pages read for translation pages, for each look-up of the map; null without any.
    pub translation_reads_per_look_up: Option<f64>,
    /// Translation pages programmed because they changed; those that were moved are among the collector's pages.
    pub translation_programs: u64,
    /// Bytes of translation pages programmed because they changed.
    pub translation_bytes: u64,
    /// Logical pages among those of the host that were programmed in SLC mode.
    pub slc_programs: u64,
    /// Logical pages among those of garbage collection that came out of the SLC cache.
    pub folded: u64,
    /// Logical pages that went to another row of planes than their home.
    pub programs_away: u64,
    /// Part of the capacity in good blocks that holds nothing valid at the end: the over-provisioning, and what the host
    /// never wrote or discarded.
    pub effective_spare: f64,
    /// Valid data at the end as a part of all flash, bad blocks included. Centaur's equation 2.
    pub valid_share: f64,
}

/// A named amount.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Share {
    /// What it is of.
    pub name: String,
    /// The amount, in the unit of its list.
    pub amount: f64,
}

/// Where the time of the requests went: mean microseconds a request, for reads and for writes. The sum over the
/// list is the mean latency.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct TimeShare {
    /// `queue`, `link`, `controller`, `buffer`, `mapping`, `gc_wait`, `die_wait`, `bus`, `array`.
    pub name: String,
    /// Mean microseconds a read.
    pub read_us: f64,
    /// Mean microseconds a write.
    pub write_us: f64,
}

/// What wrote the buffer out to a pool.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct WriteBack {
    /// Reads from the pool of the rest of a page, or of a unit that is programmed as a whole.
    pub fill: CommandTime,
    /// Programs of the host's pages in the pool.
    pub program: CommandTime,
}

/// Commands of the chips, and mean microseconds of one since it was queued.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
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
    /// All of it.
    pub total_us: f64,
}

/// Wear of the blocks.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
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
    /// Spare space that is left: the part of the good blocks that the logical capacity does not fill, as
    /// `ftl.over_provisioning` counts it; below 0 where they cannot hold it any more.
    pub spare: f64,
    /// Terabytes (10^12 B) that the host wrote in the run, until the device refused writes where it did.
    pub terabytes_written: f64,
    /// The same in logical capacities.
    pub drive_writes: f64,
    /// Terabytes that the host could write at the run's erases a byte until all blocks have reached the part's endurance.
    /// Null without erases.
    pub terabytes_expected: Option<f64>,
    /// Erases of the run as a part of all that the blocks stand, of the pool that spent most: 1 for a run that takes a new device
    /// to its end. Planes that are erased together count as one. Centaur's equations 1 and 3.
    pub spent_lifetime: f64,
    /// Mean erases of a block in the run alone.
    pub run_erases: f64,
    /// Each die.
    pub dies: Vec<DieWear>,
}

/// Wear of a die.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DieWear {
    /// Mean erases of its blocks.
    pub erases: f64,
    /// Its blocks that are out of use.
    pub bad_blocks: u64,
}

/// A power cut and the recovery after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
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

/// What failed.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Faults {
    /// Program commands that failed.
    pub program_failures: u64,
    /// Erase commands that failed.
    pub erase_failures: u64,
    /// Reads that were tried again because pages could not be read.
    pub read_retries: u64,
    /// Flash pages that no retry read.
    pub unreadable_pages: u64,
    /// Logical pages of which something was lost.
    pub lost_pages: u64,
    /// Blocks that went out of use during the run.
    pub grown_bad_blocks: u64,
    /// Dies that were lost.
    pub dead_dies: u32,
}

/// The run over time.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Windows {
    /// Width of a window in seconds.
    pub width_seconds: f64,
    /// The windows from the first request on.
    pub windows: Vec<Window>,
}

/// One window of the run.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Window {
    /// Requests answered.
    pub requests: u64,
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
