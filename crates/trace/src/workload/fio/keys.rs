//! Keys of a job, and their values.

use wordline_kernel::{Complaints, Duration};

use super::values::{
    AMOUNT, Amount, Each, FLAG, NUMBER, SHARES, TIME, amount, each, flag, number, shares, time,
};

/// A job as described by its keys. The defaults are fio's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub mix: Mix,
    /// Sizes of reads, writes and trims, each with its percentage.
    pub sizes: Sizes,
    pub queue: Queue,
    pub place: AddressSettings,
    pub total: IoAmount,
    pub pace: Pace,
    pub times: Times,
    pub replay: Replay,
    /// Whether the job waits until the previous jobs have ended.
    pub stonewall: bool,
}

/// Operations of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    pub ops: Ops,
    pub is_random: bool,
    /// Percentage of reads in a mixed load.
    pub reads: u64,
}

/// Kinds of operations of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ops {
    /// One kind only: 0 is reads, 1 is writes, 2 is trims.
    Only(usize),
    /// Reads and writes.
    Both,
}

/// Sizes with their percentages.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(pub Each<Vec<(u64, f64)>>);

/// Outstanding requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    pub depth: u32,
    /// Whether the engine continues before a request completes.
    pub is_asynchronous: bool,
    pub is_direct: bool,
    /// Number of clones of this job.
    pub clones: u32,
}

/// Addresses of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressSettings {
    pub file: Option<String>,
    pub offset: Amount,
    /// Added to the offset for each clone.
    pub increment: Amount,
    pub size: Option<Amount>,
    pub spread: Spread,
    /// Whether each block is accessed once before any block is accessed again.
    pub has_map: bool,
    /// Alignment of random addresses. Default: the smallest size of a request.
    pub align: Option<u64>,
}

/// Trace that a job replays in place of its own requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Path of the trace.
    pub log: Option<String>,
    /// Number of times that the trace is replayed.
    pub loops: u32,
}

impl Default for Replay {
    fn default() -> Self {
        Self { log: None, loops: 1 }
    }
}

/// Distribution of random addresses.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    Uniform,
    /// Zipf with this exponent.
    Zipf(f64),
    /// Pareto with this power.
    Pareto(f64),
    /// Zones: percentages of the requests, each with its percentage of the region.
    Zones(Vec<(u64, f64)>),
}

/// Amount of I/O of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoAmount {
    /// Bytes. Default: the size of the region.
    pub bytes: Option<Amount>,
    pub requests: Option<u64>,
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
    pub think: Duration,
    /// Completed requests between two pauses of `think`.
    pub think_blocks: u64,
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

impl Default for Mix {
    fn default() -> Self {
        Self { ops: Ops::Only(0), is_random: false, reads: 50 }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self([0; 3].map(|_| vec![(4096, 100.0)]))
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self { depth: 1, is_asynchronous: false, is_direct: false, clones: 1 }
    }
}

impl Default for AddressSettings {
    fn default() -> Self {
        let none = Amount::Bytes(0);
        Self {
            file: None,
            offset: none,
            increment: none,
            size: None,
            spread: Spread::Uniform,
            has_map: true,
            align: None,
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self { rates: [Rate::None; 3], is_poisson: false, think: Duration::ZERO, think_blocks: 1 }
    }
}

impl Default for Times {
    fn default() -> Self {
        Self { delay: Duration::ZERO, runtime: None, ramp: Duration::ZERO, is_time_based: false }
    }
}

/// Whether a key affects the requests.
pub enum KeyEffect {
    Requests,
    Ignored(&'static str),
}

/// An invalid key or value.
pub enum InvalidKey {
    Key,
    /// Text that would be valid.
    Value(&'static str),
}

/// Keys that affect the requests.
pub const KEYS: [&str; 38] = [
    "rw",
    "readwrite",
    "rwmixread",
    "rwmixwrite",
    "bs",
    "blocksize",
    "bssplit",
    "ba",
    "blockalign",
    "read_iolog",
    "loops",
    "iodepth",
    "ioengine",
    "direct",
    "buffered",
    "numjobs",
    "filename",
    "offset",
    "offset_increment",
    "size",
    "filesize",
    "io_size",
    "io_limit",
    "number_ios",
    "random_distribution",
    "norandommap",
    "rate",
    "rate_iops",
    "rate_process",
    "thinktime",
    "thinktime_blocks",
    "startdelay",
    "runtime",
    "timeout",
    "time_based",
    "ramp_time",
    "stonewall",
    "wait_for_previous",
];

/// Keys that do not affect the requests: names, reports, clocks, memory, processors, buffer contents, and
/// file creation.
const IGNORED_KEYS: [&str; 49] = [
    "allow_file_create",
    "allow_mounted_write",
    "allrandrepeat",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "cpumask",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_on_open",
    "create_serialize",
    "description",
    "directory",
    "disable_bw",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "fallocate",
    "fixedbufs",
    "group_reporting",
    "gtod_reduce",
    "hipri",
    "invalidate",
    "iomem",
    "iopsavgtime",
    "lat_percentiles",
    "lockmem",
    "log_avg_msec",
    "log_hist_msec",
    "mem",
    "name",
    "new_group",
    "nice",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "overwrite",
    "per_job_logs",
    "percentile_list",
    "randrepeat",
    "refill_buffers",
    "registerfiles",
    "scramble_buffers",
    "sqthread_poll",
    "thread",
    "unlink",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
];

/// Keys that are often used and not simulated, with an alternative for each.
pub const REFUSED: [(&str, &str); 3] = [
    ("bsrange", "bssplit, which gives the share of each size"),
    ("blocksize_range", "bssplit, which gives the share of each size"),
    ("verify", "none: contents are not simulated, and reads of lost data are counted separately"),
];

/// Engines that continue before a request completes, and engines that wait for it.
const ASYNCHRONOUS: [&str; 6] =
    ["libaio", "io_uring", "io_uring_cmd", "posixaio", "windowsaio", "solarisaio"];
const SYNCHRONOUS: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];

const ENGINE: &str = "one of libaio, io_uring, io_uring_cmd, posixaio, windowsaio, solarisaio, which keep iodepth requests \
    outstanding, and psync, sync, vsync, pvsync, pvsync2, mmap, which wait for each completion";
const MIX: &str = "one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw";
const EACH_SIZE: &str =
    "sizes from 512 to 1g in multiples of 512, one or with commas those of reads, writes and trims";
const ALIGN: &str = "a multiple of 512 from 512 to 1g";
const SPREAD: &str = "random, zipf:1.2 with an exponent above 0 and at most 5, pareto:0.2 with a power above 0 and below 1, or \
    zoned:60/10:40/90";
const EACH_RATE: &str = "a number above 0, one or with commas those of reads, writes and trims";
const PERCENT: &str = "a percentage from 0 to 100";

/// Stores a parsed value.
fn assign<T>(to: &mut T, read: Option<T>, wanted: &'static str) -> Result<(), InvalidKey> {
    *to = read.ok_or(InvalidKey::Value(wanted))?;
    Ok(())
}

impl Settings {
    /// Sets a key.
    pub fn set(&mut self, key: &str, value: Option<&str>) -> Result<KeyEffect, InvalidKey> {
        if let Some(known) = IGNORED_KEYS.iter().find(|known| **known == key) {
            return Ok(KeyEffect::Ignored(known));
        }
        let given = value.unwrap_or("");
        match key {
            "rw" | "readwrite" | "rwmixread" | "rwmixwrite" | "bs" | "blocksize" | "bssplit" => {
                self.set_requests(key, given)?;
            }
            "ba" | "blockalign" => assign(&mut self.place.align, size(given).map(Some), ALIGN)?,
            "read_iolog" => {
                let path = (!given.is_empty() && !given.contains(':')).then(|| Some(given.to_owned()));
                assign(&mut self.replay.log, path, "the path of one trace")?;
            }
            "loops" => {
                let count =
                    number(given).and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
                assign(&mut self.replay.loops, count, "a number of at least 1")?;
            }
            "iodepth" | "ioengine" | "direct" | "buffered" | "numjobs" => self.queue.set(key, value)?,
            "filename"
            | "offset"
            | "offset_increment"
            | "size"
            | "filesize"
            | "random_distribution"
            | "norandommap" => self.place.set(key, value)?,
            "io_size" | "io_limit" => assign(&mut self.total.bytes, amount(given).map(Some), AMOUNT)?,
            "number_ios" => assign(&mut self.total.requests, number(given).map(Some), NUMBER)?,
            "rate" | "rate_iops" | "rate_process" | "thinktime" | "thinktime_blocks" => {
                self.pace.set(key, given)?;
            }
            "startdelay" | "runtime" | "timeout" | "time_based" | "ramp_time" => {
                self.times.set(key, value)?;
            }
            "stonewall" | "wait_for_previous" => assign(&mut self.stonewall, flag(value), FLAG)?,
            _ => return Err(InvalidKey::Key),
        }
        Ok(KeyEffect::Requests)
    }

    fn set_requests(&mut self, key: &str, value: &str) -> Result<(), InvalidKey> {
        let percent = || number(value).filter(|percent| *percent <= 100);
        match key {
            "rwmixread" => assign(&mut self.mix.reads, percent(), PERCENT),
            "rwmixwrite" => assign(&mut self.mix.reads, percent().map(|writes| 100 - writes), PERCENT),
            "bssplit" => {
                let sizes = each(value, &vec![(4096, 100.0)], |part| shares(part, size));
                assign(&mut self.sizes.0, sizes, SHARES)
            }
            "bs" | "blocksize" => {
                let sizes = each(value, &4096, size).map(|each| each.map(|size| vec![(size, 100.0)]));
                assign(&mut self.sizes.0, sizes, EACH_SIZE)
            }
            _ => {
                let (ops, is_random) = match value {
                    "read" => (Ops::Only(0), false),
                    "write" => (Ops::Only(1), false),
                    "trim" => (Ops::Only(2), false),
                    "randread" => (Ops::Only(0), true),
                    "randwrite" => (Ops::Only(1), true),
                    "randtrim" => (Ops::Only(2), true),
                    "rw" | "readwrite" => (Ops::Both, false),
                    "randrw" => (Ops::Both, true),
                    _ => return Err(InvalidKey::Value(MIX)),
                };
                self.mix = Mix { ops, is_random, ..self.mix };
                Ok(())
            }
        }
    }

    /// Kinds of requests of the job.
    pub fn kinds(&self) -> &'static [usize] {
        match self.mix.ops {
            Ops::Only(0) => &[0],
            Ops::Only(1) => &[1],
            Ops::Only(_) => &[2],
            Ops::Both => &[0, 1],
        }
    }

    /// All sizes of the job's requests.
    fn all_sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.kinds().iter().flat_map(|kind| self.sizes.0[*kind].iter().map(|(size, _)| *size))
    }

    /// Alignment of addresses. As in fio, `blockalign` concerns random addresses only.
    pub fn alignment(&self) -> u64 {
        let smallest = self.all_sizes().min().expect("a job has a size");
        self.place.align.filter(|_| self.mix.is_random).unwrap_or(smallest)
    }

    /// Whether the job has no request at times, however fast the device is.
    pub fn has_pauses(&self) -> bool {
        self.replay.log.is_some() || self.pace.has_pauses()
    }

    /// Largest request size.
    pub fn largest(&self) -> u64 {
        self.all_sizes().max().expect("a job has a size")
    }

    /// Whether fio would keep a map of random blocks that this generator does not keep.
    pub fn may_repeat(&self) -> bool {
        let place = &self.place;
        let wants_map = self.mix.is_random && place.has_map && place.spread == Spread::Uniform;
        wants_map && self.alignment() < self.largest()
    }

    /// Checks constraints across keys.
    pub fn check(&self, wrong: &mut Complaints) {
        let is_endless = self.times.is_time_based && self.times.runtime.is_none();
        wrong.require(!is_endless, "time_based", "no runtime", "a runtime as well");
        let is_replay = self.replay.log.is_some();
        let wanted = "1 without read_iolog: io_size has the bytes of all loops together";
        wrong.require(is_replay || self.replay.loops == 1, "loops", self.replay.loops, wanted);
        let aligned = |amount: Amount| !matches!(amount, Amount::Bytes(bytes) if !bytes.is_multiple_of(512));
        for (key, at) in [("offset", self.place.offset), ("offset_increment", self.place.increment)] {
            wrong.require(aligned(at), key, format!("{at:?}"), "a multiple of 512");
        }
    }
}

/// Parses the size of a request.
fn size(text: &str) -> Option<u64> {
    number(text).filter(|size| *size > 0 && size.is_multiple_of(512) && *size <= 1 << 30)
}

impl Queue {
    fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), InvalidKey> {
        let given = value.unwrap_or("");
        let count = || number(given).and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        match key {
            "iodepth" => {
                let depth = count().filter(|depth| *depth <= 65_536);
                assign(&mut self.depth, depth, "a number from 1 to 65536")
            }
            "numjobs" => {
                let clones = count().filter(|clones| *clones <= 65_535);
                assign(&mut self.clones, clones, "a number from 1 to 65535")
            }
            "direct" => assign(&mut self.is_direct, flag(value), FLAG),
            "buffered" => assign(&mut self.is_direct, flag(value).map(|is| !is), FLAG),
            _ => {
                let (is, waits) = (ASYNCHRONOUS.contains(&given), SYNCHRONOUS.contains(&given));
                assign(&mut self.is_asynchronous, (is || waits).then_some(is), ENGINE)
            }
        }
    }
}

impl AddressSettings {
    fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), InvalidKey> {
        let given = value.unwrap_or("");
        match key {
            "filename" => {
                let one = Some(given).filter(|name| !name.is_empty() && !name.contains(':'));
                assign(
                    &mut self.file,
                    one.map(|name| Some(name.to_owned())),
                    "one file: a run has one device",
                )
            }
            "offset" => assign(&mut self.offset, amount(given), AMOUNT),
            "offset_increment" => assign(&mut self.increment, amount(given), AMOUNT),
            "random_distribution" => assign(&mut self.spread, spread(given), SPREAD),
            "norandommap" => assign(&mut self.has_map, flag(value).map(|is| !is), FLAG),
            _ => assign(&mut self.size, amount(given).map(Some), AMOUNT),
        }
    }
}

/// Parses a distribution of addresses, as in `random_distribution`.
fn spread(text: &str) -> Option<Spread> {
    let (kind, value) = text.split_once(':').map_or((text, None), |(kind, value)| (kind, Some(value)));
    let number = |default: f64| match value {
        None => Some(default),
        Some(value) => value.trim().parse::<f64>().ok().filter(|number| number.is_finite()),
    };
    match kind {
        "random" => value.is_none().then_some(Spread::Uniform),
        // fio's defaults: FIO_DEF_ZIPF and FIO_DEF_PARETO.
        "zipf" => number(1.1).filter(|theta| *theta > 0.0 && *theta <= 5.0).map(Spread::Zipf),
        "pareto" => number(0.2).filter(|power| *power > 0.0 && *power < 1.0).map(Spread::Pareto),
        "zoned" => {
            let zones = shares(value?, |accesses| accesses.parse::<u64>().ok())?;
            let whole = zones.iter().map(|(accesses, _)| *accesses).sum::<u64>() == 100;
            let has_room = zones.iter().all(|(accesses, part)| *accesses == 0 || *part > 0.0);
            (whole && has_room).then_some(Spread::Zones(zones))
        }
        _ => None,
    }
}

impl Pace {
    fn set(&mut self, key: &str, value: &str) -> Result<(), InvalidKey> {
        let above = |part: &str| number(part).filter(|number| *number > 0);
        match key {
            "rate" => assign(
                &mut self.rates,
                each(value, &Rate::None, |part| above(part).map(Rate::Bytes)),
                EACH_RATE,
            ),
            "rate_iops" => {
                let rates = each(value, &Rate::None, |part| above(part).map(Rate::Requests));
                assign(&mut self.rates, rates, EACH_RATE)
            }
            "rate_process" => {
                let is_poisson = match value {
                    "linear" => Some(false),
                    "poisson" => Some(true),
                    _ => None,
                };
                assign(&mut self.is_poisson, is_poisson, "linear or poisson")
            }
            "thinktime" => assign(&mut self.think, time(value, Duration::from_us(1)), TIME),
            _ => assign(&mut self.think_blocks, above(value), "a number above 0"),
        }
    }
}

impl Times {
    fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), InvalidKey> {
        let second = Duration::from_ms(1000);
        let of = || time(value.unwrap_or(""), second);
        match key {
            "startdelay" => assign(&mut self.delay, of(), TIME),
            "ramp_time" => assign(&mut self.ramp, of(), TIME),
            "time_based" => assign(&mut self.is_time_based, flag(value), FLAG),
            // In fio a runtime of 0 means no runtime.
            _ => assign(&mut self.runtime, of().map(|time| Some(time).filter(|time| time.ps() > 0)), TIME),
        }
    }
}
