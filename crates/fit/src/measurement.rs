//! A measurement of a drive: a quantity under a load, with its value and its spread.

use std::fmt;
use std::str::FromStr;

/// A load under which a drive was measured. Its text is a column of a table of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// None: a property of the drive. `drive`.
    Drive,
    /// Random reads of a full drive in a closed loop. `randread bs=4KiB iodepth=8 numjobs=1`.
    RandomReads {
        /// Bytes of a read.
        size: u64,
        /// Outstanding reads of each job.
        depth: u32,
        /// Jobs.
        jobs: u32,
    },
    /// Random 4 KiB reads of a drive that holds no data. `randread trimmed iodepth=1`.
    TrimmedReads {
        /// Outstanding reads.
        depth: u32,
    },
    /// Sequential writes of an erased drive in a closed loop. `write bs=131072 iodepth=1`.
    Writes {
        /// Bytes of a write.
        size: u64,
        /// Outstanding writes.
        depth: u32,
    },
    /// Single random 4 KiB writes with pauses of 1 ms. `randwrite idle`.
    IdleWrites,
    /// Saturating random 4 KiB writes on a drive that was filled once, before its first GC. `randwrite fresh`.
    FreshWrites,
    /// Saturating random 4 KiB writes in steady state. `randwrite steady`.
    SteadyWrites,
    /// A probe of 10,000 requests of 4 KiB a second at fixed intervals, half of them reads, beside random
    /// 4 KiB writes with Poisson arrivals, in steady state. `beside rate_iops=30000`.
    Beside {
        /// Writes a second, with the 5,000 of the probe.
        rate: u32,
    },
    /// Sequential writes of an erased drive into its SLC cache. `write cache`.
    CacheWrites,
    /// Sequential writes after the SLC cache is full. `write native`.
    NativeWrites,
}

/// A statistic of a latency.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A percentile, as a number from 0 to 100.
    Percentile(f64),
}

/// A measured quantity. Its text is a column of a table of measurements.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Quantity {
    /// Capacity that the host sees. `capacity_gb`.
    Capacity,
    /// Flash behind the capacity: the capacity in use plus what was written at full speed before the first fall
    /// of saturating random writes. `space_gb`.
    Space,
    /// Sequential writes into the SLC cache until the first fall. `slc_cache_gb`.
    SlcCache,
    /// Generation of the PCI Express link. `link_generation`.
    LinkGeneration,
    /// Lanes of the link. `link_lanes`.
    LinkLanes,
    /// Completed requests a second. `iops`.
    Iops,
    /// Throughput of the host. `mb_s`.
    Throughput,
    /// Write amplification, by the counters of the drive. `waf`.
    WriteAmplification,
    /// Latency of reads in microseconds. `read_mean_us`, `read_p99.9_us`.
    Read(Statistic),
    /// Latency of writes in microseconds. `write_mean_us`, `write_p99.9_us`.
    Write(Statistic),
}

/// One measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The quantity.
    pub quantity: Quantity,
    /// The load.
    pub load: Load,
    /// The value in the unit of the quantity.
    pub value: f64,
    /// Standard deviation from repetition to repetition, relative to the value; `None` if not known.
    pub spread: Option<f64>,
    /// The file and the line, or the job, that it is from.
    pub source: String,
}

/// Names of quantities that have no statistic.
const QUANTITIES: [(&str, Quantity); 8] = [
    ("capacity_gb", Quantity::Capacity),
    ("space_gb", Quantity::Space),
    ("slc_cache_gb", Quantity::SlcCache),
    ("link_generation", Quantity::LinkGeneration),
    ("link_lanes", Quantity::LinkLanes),
    ("iops", Quantity::Iops),
    ("mb_s", Quantity::Throughput),
    ("waf", Quantity::WriteAmplification),
];

/// Texts of loads that have no settings.
const LOADS: [(&str, Load); 6] = [
    ("drive", Load::Drive),
    ("randwrite idle", Load::IdleWrites),
    ("randwrite fresh", Load::FreshWrites),
    ("randwrite steady", Load::SteadyWrites),
    ("write cache", Load::CacheWrites),
    ("write native", Load::NativeWrites),
];

/// Ranks of the percentiles that are read from tables and from outputs of fio.
pub const RANKS: [f64; 6] = [10.0, 50.0, 90.0, 95.0, 99.0, 99.9];

impl Load {
    /// Outstanding requests of a closed loop of reads; 0 for other loads.
    pub fn outstanding(self) -> u64 {
        match self {
            Self::RandomReads { depth, jobs, .. } => u64::from(depth) * u64::from(jobs),
            Self::TrimmedReads { depth } => depth.into(),
            _ => 0,
        }
    }

    /// As [`Quantity::resolution`], for loads that are less certain than their quantity. Chosen: the rates until
    /// a fall are means over the few intervals before it, in which the buffer or the cache was still filling.
    pub const fn resolution(self) -> f64 {
        match self {
            Self::FreshWrites | Self::CacheWrites | Self::NativeWrites => 0.05,
            _ => 0.0,
        }
    }
}

impl Quantity {
    /// Whether the quantity is a property of a drive, so that it has no load.
    pub const fn is_of_drive(self) -> bool {
        matches!(self, Self::Capacity | Self::Space | Self::SlcCache | Self::LinkGeneration | Self::LinkLanes)
    }

    /// The relative deviation at which a twin is one standard deviation away, if the repetitions of the
    /// measurement differ by less. Chosen: what a model of smooth mechanisms can be right to. Percentiles are
    /// the coarser, the fewer requests are beyond them.
    pub fn resolution(self) -> f64 {
        match self {
            Self::Iops | Self::Throughput | Self::WriteAmplification => 0.01,
            Self::Read(Statistic::Mean) | Self::Write(Statistic::Mean) => 0.02,
            Self::Read(Statistic::Percentile(rank)) | Self::Write(Statistic::Percentile(rank)) => {
                match rank {
                    ..=60.0 => 0.02,
                    ..=92.0 => 0.04,
                    ..=96.0 => 0.08,
                    ..=99.5 => 0.1,
                    _ => 0.3,
                }
            }
            Self::Capacity | Self::Space | Self::SlcCache | Self::LinkGeneration | Self::LinkLanes => 0.01,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => write!(out, "mean"),
            Self::Percentile(rank) => write!(out, "p{rank}"),
        }
    }
}

impl FromStr for Statistic {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "mean" {
            return Ok(Self::Mean);
        }
        let rank: f64 = text.strip_prefix('p').ok_or(())?.parse().map_err(|_| ())?;
        if (0.0..=100.0).contains(&rank) { Ok(Self::Percentile(rank)) } else { Err(()) }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(statistic) => write!(out, "read_{statistic}_us"),
            Self::Write(statistic) => write!(out, "write_{statistic}_us"),
            plain => match QUANTITIES.iter().find(|(_, of)| of == plain) {
                Some((name, _)) => out.write_str(name),
                None => write!(out, "{plain:?}"),
            },
        }
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, quantity)) = QUANTITIES.iter().find(|(name, _)| *name == text) {
            return Ok(*quantity);
        }
        let latency = |prefix: &str| text.strip_prefix(prefix)?.strip_suffix("_us")?.parse().ok();
        if let Some(statistic) = latency("read_") {
            return Ok(Self::Read(statistic));
        }
        latency("write_").map(Self::Write).ok_or_else(|| {
            let names: Vec<&str> = QUANTITIES.iter().map(|(name, _)| *name).collect();
            format!("{}, or a latency such as read_mean_us or write_p99.9_us", names.join(", "))
        })
    }
}

impl fmt::Display for Load {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RandomReads { size, depth, jobs } => {
                write!(out, "randread bs={size} iodepth={depth}")?;
                if *jobs == 1 { Ok(()) } else { write!(out, " numjobs={jobs}") }
            }
            Self::TrimmedReads { depth } => write!(out, "randread trimmed iodepth={depth}"),
            Self::Writes { size, depth } => write!(out, "write bs={size} iodepth={depth}"),
            Self::Beside { rate } => write!(out, "beside rate_iops={rate}"),
            plain => match LOADS.iter().find(|(_, of)| of == plain) {
                Some((name, _)) => out.write_str(name),
                None => write!(out, "{plain:?}"),
            },
        }
    }
}

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WANTED: &str = "drive, randread [bs=4096] iodepth=8 [numjobs=1], randread trimmed iodepth=1, randwrite idle, randwrite \
                              fresh, randwrite steady, beside rate_iops=30000, write [bs=131072] iodepth=1, write cache or \
                              write native";
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some((_, load)) = LOADS.iter().find(|(name, _)| *name == words.join(" ")) {
            return Ok(*load);
        }
        let wrong = || WANTED.to_owned();
        let (kind, settings) = words.split_first().ok_or_else(wrong)?;
        let (is_trimmed, settings) = match settings {
            ["trimmed", rest @ ..] => (true, rest),
            all => (false, all),
        };
        let mut read = Settings::of(settings).ok_or_else(wrong)?;
        let load = match *kind {
            "randread" if is_trimmed => {
                Self::TrimmedReads { depth: read.small("iodepth").ok_or_else(wrong)? }
            }
            _ if is_trimmed => return Err(wrong()),
            "randread" => Self::RandomReads {
                size: read.take("bs").unwrap_or(4096),
                depth: read.small("iodepth").ok_or_else(wrong)?,
                jobs: read.small("numjobs").unwrap_or(1),
            },
            "write" => Self::Writes {
                size: read.take("bs").unwrap_or(131_072),
                depth: read.small("iodepth").ok_or_else(wrong)?,
            },
            "beside" => Self::Beside { rate: read.small("rate_iops").ok_or_else(wrong)? },
            _ => return Err(wrong()),
        };
        if read.0.is_empty() { Ok(load) } else { Err(wrong()) }
    }
}

/// The settings of a load, `key=number`.
struct Settings<'a>(Vec<(&'a str, u64)>);

impl<'a> Settings<'a> {
    /// The settings in these words; `None` if a word is none, or is zero.
    fn of(words: &[&'a str]) -> Option<Self> {
        let setting = |word: &&'a str| {
            let (key, value) = word.split_once('=')?;
            Some((key, value.parse().ok().filter(|value| *value > 0)?))
        };
        words.iter().map(setting).collect::<Option<Vec<_>>>().map(Self)
    }

    fn take(&mut self, key: &str) -> Option<u64> {
        let place = self.0.iter().position(|(name, _)| *name == key)?;
        Some(self.0.remove(place).1)
    }

    fn small(&mut self, key: &str) -> Option<u32> {
        self.take(key).and_then(|value| value.try_into().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_loads_and_quantities_are_read_back() {
        for text in [
            "drive",
            "randread bs=4096 iodepth=8",
            "randread bs=16384 iodepth=32 numjobs=4",
            "randread trimmed iodepth=1",
            "write bs=32768 iodepth=1",
            "randwrite idle",
            "randwrite fresh",
            "randwrite steady",
            "beside rate_iops=30000",
            "write cache",
            "write native",
        ] {
            assert_eq!(text.parse::<Load>().expect(text).to_string(), text);
        }
        for text in ["capacity_gb", "iops", "waf", "read_mean_us", "read_p99.9_us", "write_p50_us"] {
            assert_eq!(text.parse::<Quantity>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_load_or_a_quantity_that_is_unknown_is_refused() {
        for text in [
            "",
            "randread",
            "randread iodepth=0",
            "randread iodepth=8 rw=1",
            "beside",
            "randwrite",
            "wirte cache",
            "write",
            "write trimmed iodepth=1",
        ] {
            assert!(text.parse::<Load>().is_err(), "{text}");
        }
        for text in ["", "iop", "read_us", "read_p101_us", "write_p_us", "read_max_us"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }
}
