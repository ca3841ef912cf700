//! A job as its keys describe it. The defaults are fio's.

use wordline_kernel::Duration;

use super::engines::{DEFAULT, Engine};
use super::values::{Amount, Each};

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub mix: Mix,
    pub sizes: Sizes,
    pub queue: Queue,
    pub place: AddressSettings,
    pub zones: ZoneSettings,
    pub total: IoAmount,
    pub pace: Pace,
    pub times: Times,
    /// Path of a trace that the job replays in place of its own requests.
    pub replay: Option<String>,
    pub durability: Durability,
    pub verify: Verify,
    pub streams: Streams,
    pub order: Order,
}

/// Operations of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    pub ops: Ops,
    pub is_random: bool,
    /// Percentage of reads in a mixed load.
    pub reads: u64,
    /// Number of requests after which a random job draws a new address.
    pub run: u64,
    /// Whether the requests between them repeat the address (`rw_sequencer=identical`).
    pub repeats: bool,
    /// Bytes that a sequential job adds to each address.
    pub step: i64,
    /// Percentage of random addresses in a random job.
    pub random: Each<u64>,
}

/// Kinds of operations of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ops {
    /// One kind only: 0 is reads, 1 is writes, 2 is trims.
    Only(usize),
    /// Reads and writes.
    Both,
    /// A trim, and a write of the same place, in turn.
    TrimWrite,
}

/// Sizes of reads, writes and trims.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    pub of: Each<SizeDistribution>,
    /// Unit of random addresses, if it differs from the smallest size.
    pub align: Each<Option<u64>>,
    /// Whether sizes of a range may be any number of bytes that the device takes.
    pub unaligned: bool,
    /// Whether the second size is for random requests (`bs_is_seq_rand`).
    pub by_randomness: bool,
}

/// Distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// Sizes with their percentages.
    Split(Vec<(u64, f64)>),
    /// Multiples of the smallest size, up to the largest.
    Range(u64, u64),
}

impl SizeDistribution {
    /// Smallest and largest size.
    pub fn bounds(&self) -> (u64, u64) {
        match self {
            Self::Range(least, most) => (*least, *most),
            Self::Split(sizes) => sizes
                .iter()
                .fold((u64::MAX, 0), |(least, most), (size, _)| (least.min(*size), most.max(*size))),
        }
    }
}

/// Outstanding requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    pub depth: u64,
    pub engine: &'static Engine,
    pub is_direct: bool,
    /// Number of clones of this job.
    pub clones: u64,
    /// Number of outstanding requests at which a full queue is filled again; 0 for `depth`.
    pub low: u64,
    /// Completions that a full queue waits for.
    pub reap: u64,
    /// Whether requests are submitted by threads of their own (`io_submit_mode=offload`).
    pub is_offloaded: bool,
}

/// Addresses of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressSettings {
    /// Names of files; none for those that `format` makes.
    pub names: Vec<String>,
    pub format: String,
    /// Folder of the files, or several, separated by colons.
    pub folder: String,
    /// Number of files, if it is given.
    pub files: Option<u64>,
    pub service: Service,
    pub offset: Amount,
    /// Added to the offset for each clone.
    pub increment: Amount,
    /// Alignment of an offset in percent; 0 for the smallest size.
    pub offset_align: u64,
    pub size: Option<Amount>,
    /// Size of each file, if it is given.
    pub file_size: Option<u64>,
    pub spread: Each<Spread>,
    /// Whether each block is accessed once before any block is accessed again.
    pub has_map: bool,
    /// Whether each pass over the files draws the same addresses.
    pub repeats: bool,
}

/// Choice of the file of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    pub by: ServiceOrder,
    /// Requests to a file before the next one is chosen.
    pub run: u64,
}

/// Order of files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceOrder {
    Random,
    RoundRobin,
    Sequential,
}

/// Distribution of random addresses.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    Uniform,
    /// Zipf with this exponent, and the centre of the popular addresses if it is given.
    Zipf(f64, Option<f64>),
    /// Pareto with this power, and the centre.
    Pareto(f64, Option<f64>),
    /// Normal with this deviation in percent, and the centre.
    Normal(f64, Option<f64>),
    /// Zones: percentages of the requests, each with its percentage of the region.
    Zones(Vec<(u64, f64)>),
    /// Zones: percentages of the requests, each with its bytes.
    AbsoluteZones(Vec<(u64, u64)>),
}

impl Spread {
    /// Whether the hash of fio spreads its popular addresses.
    pub fn is_hashed(&self) -> bool {
        matches!(self, Self::Zipf(..) | Self::Pareto(..) | Self::Normal(..))
    }
}

/// Zones of the device (`zonemode`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZoneSettings {
    pub mode: Option<ZoneMode>,
    pub size: u64,
    /// Bytes of a zone that can be written; 0 for all.
    pub capacity: u64,
    /// Bytes of a strided zone that are accessed; 0 for `size`.
    pub range: u64,
    pub skip: Amount,
    /// Most zones that all jobs write at a time; 0 for any number.
    pub max_open: u64,
    /// Most zones that a job writes at a time; 0 for any number.
    pub job_max_open: u64,
    /// Whether reads may go beyond the write pointer of a zone.
    pub reads_beyond: bool,
    /// Whether writes are zone appends, if the device is a zoned namespace.
    pub appends: bool,
    /// Whether the size is not given, so that it is [`USUAL_ZONE`].
    pub has_usual_size: bool,
}

/// Size of zones that a job writes in order without saying their size. Chosen: that of most disks with zones.
pub const USUAL_ZONE: u64 = 256 << 20;

/// Kind of zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneMode {
    None,
    /// A part of each zone is accessed, and the rest is skipped.
    Strided,
    /// Each zone is written in order.
    Zbd,
}

impl ZoneSettings {
    /// Kind of zones in effect: a size alone means strided zones.
    pub fn kind(&self) -> ZoneMode {
        self.mode.unwrap_or(if self.size > 0 { ZoneMode::Strided } else { ZoneMode::None })
    }

    /// Sets the size of zones that are written in order, if it is not given. fio asks the device.
    pub fn complete(&mut self) {
        if self.kind() == ZoneMode::Zbd && self.size == 0 {
            (self.size, self.has_usual_size) = (USUAL_ZONE, true);
        }
    }
}

/// Amount of I/O of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoAmount {
    /// Bytes. Default: the size of the region.
    pub bytes: Option<Amount>,
    pub requests: Option<u64>,
    pub loops: u64,
}

/// Rate limit of a job, per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    None,
    Bytes(u64),
    Requests(u64),
}

/// Pace of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    pub rates: Each<Rate>,
    pub is_poisson: bool,
    pub ignores_think: bool,
    pub think: Duration,
    /// Requests between two pauses of `think`, if it is given.
    pub think_blocks: Option<u64>,
    /// Whether submitted requests count, instead of completed ones.
    pub think_by_issue: bool,
    /// Time between two pauses, if it is above 0.
    pub think_every: Duration,
}

impl Pace {
    /// Whether the job sometimes has no request for a fast enough device.
    pub fn has_pauses(&self) -> bool {
        self.think > Duration::ZERO || self.rates.iter().any(|rate| *rate != Rate::None)
    }
}

/// Start and end of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    pub delay: Duration,
    pub runtime: Option<Duration>,
    pub ramp: Duration,
    /// Whether the job continues to the end of its runtime, whatever its amount of I/O.
    pub is_time_based: bool,
}

/// Flushes and forced unit access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durability {
    /// Writes between two flushes of `fsync`; 0 for none.
    pub fsync: u64,
    /// Writes between two flushes of `fdatasync`; 0 for none.
    pub fdatasync: u64,
    /// Whether a flush follows the last write.
    pub at_end: bool,
    /// Whether files are opened for synchronous writes.
    pub is_sync: bool,
    /// Whether writes have forced unit access (`writefua`).
    pub fua: bool,
}

/// Reads of what was written (`verify`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verify {
    pub is_on: bool,
    /// Whether a job of writes does not read them.
    pub skips_reads: bool,
    /// Writes after which they are read; 0 for the end of the pass.
    pub backlog: u64,
    /// Reads at a time; 0 for `backlog`.
    pub batch: u64,
}

/// Placement of writes (`fdp`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    pub is_on: bool,
    /// Placement identifiers that the job uses.
    pub ids: Vec<u64>,
    pub is_random: bool,
}

/// Order of jobs, and their shares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// Whether the job waits until the previous jobs have ended.
    pub stonewall: bool,
    /// Whether the job begins a group of results.
    pub new_group: bool,
    /// Name of the job that ends before this one begins.
    pub wait_for: Option<String>,
    /// Whether jobs end others when they end (`exitall`).
    pub ends: bool,
    /// Jobs that end with this one, with `exitall`.
    pub scope: Scope,
    pub flow: u64,
    pub flow_id: u64,
    pub flow_sleep: Duration,
}

/// Jobs that end together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those of the same group of results.
    #[default]
    Group,
    /// Those between the same two `stonewall`s.
    Stonewall,
    All,
}

impl Default for Mix {
    fn default() -> Self {
        let (ops, random) = (Ops::Only(0), [100; 3]);
        Self { ops, is_random: false, reads: 50, run: 1, repeats: false, step: 0, random }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        let of = [0; 3].map(|_| SizeDistribution::Split(vec![(4096, 100.0)]));
        Self { of, align: [None; 3], unaligned: false, by_randomness: false }
    }
}

impl Default for Queue {
    fn default() -> Self {
        let (depth, clones, reap) = (1, 1, 1);
        Self { depth, engine: DEFAULT, is_direct: false, clones, low: 0, reap, is_offloaded: false }
    }
}

impl Default for AddressSettings {
    fn default() -> Self {
        let none = Amount::Bytes(0);
        Self {
            names: Vec::new(),
            format: "$jobname.$jobnum.$filenum".into(),
            folder: String::new(),
            files: None,
            service: Service { by: ServiceOrder::RoundRobin, run: 1 },
            offset: none,
            increment: none,
            offset_align: 0,
            size: None,
            file_size: None,
            spread: [Spread::Uniform, Spread::Uniform, Spread::Uniform],
            has_map: true,
            repeats: true,
        }
    }
}

impl Default for ZoneSettings {
    fn default() -> Self {
        Self {
            mode: None,
            size: 0,
            capacity: 0,
            range: 0,
            skip: Amount::Bytes(0),
            max_open: 0,
            job_max_open: 0,
            appends: false,
            reads_beyond: false,
            has_usual_size: false,
        }
    }
}

impl Default for IoAmount {
    fn default() -> Self {
        Self { bytes: None, requests: None, loops: 1 }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            rates: [Rate::None; 3],
            is_poisson: false,
            ignores_think: false,
            think: Duration::ZERO,
            think_blocks: None,
            think_by_issue: false,
            think_every: Duration::ZERO,
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        Self { delay: Duration::ZERO, runtime: None, ramp: Duration::ZERO, is_time_based: false }
    }
}

impl Settings {
    /// Kinds of requests of the job.
    pub fn kinds(&self) -> &'static [usize] {
        match self.mix.ops {
            Ops::Only(0) => &[0],
            Ops::Only(1) => &[1],
            Ops::Only(_) => &[2],
            Ops::Both => &[0, 1],
            Ops::TrimWrite => &[1, 2],
        }
    }

    /// Whether the job goes on to its end in time, whatever its amount of I/O.
    pub fn is_endless(&self) -> bool {
        self.times.is_time_based && self.times.runtime.is_some()
    }

    /// Whether the job writes data.
    pub fn writes(&self) -> bool {
        matches!(self.mix.ops, Ops::Only(1) | Ops::Both | Ops::TrimWrite)
    }

    /// Sizes that requests of this kind may have.
    fn bounds(&self, kind: usize) -> (u64, u64) {
        if !self.sizes.by_randomness {
            return self.sizes.of[kind].bounds();
        }
        let [(least, most), (other, another)] = [0, 1].map(|kind| self.sizes.of[kind].bounds());
        (least.min(other), most.max(another))
    }

    /// Smallest size of the job's requests.
    pub fn smallest(&self) -> u64 {
        self.kinds().iter().map(|kind| self.bounds(*kind).0).min().expect("a job has a kind")
    }

    /// Largest size of the job's requests.
    pub fn largest(&self) -> u64 {
        self.kinds().iter().map(|kind| self.bounds(*kind).1).max().expect("a job has a kind")
    }

    /// Unit of the addresses of a kind.
    pub fn alignment(&self, kind: usize) -> u64 {
        let least = self.sizes.of[kind].bounds().0;
        if self.mix.is_random { self.sizes.align[kind].unwrap_or(least) } else { least }
    }

    /// Whether all requests have one size, which is also the unit of their addresses.
    pub fn has_one_size(&self) -> bool {
        let size = self.largest();
        self.smallest() == size && self.kinds().iter().all(|kind| self.alignment(*kind) == size)
    }

    /// Whether each block is accessed once in a pass. fio keeps no map for other distributions, or for another
    /// alignment.
    pub fn has_map(&self) -> bool {
        let is_aligned = |kind: &usize| self.alignment(*kind) == self.sizes.of[*kind].bounds().0;
        let is_uniform = self.place.spread == [Spread::Uniform, Spread::Uniform, Spread::Uniform];
        self.mix.is_random && self.place.has_map && is_uniform && self.kinds().iter().all(is_aligned)
    }

    /// Number of outstanding requests that the engine allows.
    pub fn depth(&self) -> u64 {
        let trims = self.mix.ops == Ops::Only(2) && self.queue.engine.waits_for_trims;
        if self.queue.engine.is_asynchronous() && !trims { self.queue.depth } else { 1 }
    }
}
