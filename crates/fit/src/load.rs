//! A load under which a drive was measured, and its text in a table.

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
    /// Saturating random 4 KiB writes in steady state on a drive of which only a part is in use.
    /// `randwrite steady used_gb=400`.
    SteadyPart {
        /// The part in use, in GB.
        used: u32,
    },
    /// Random reads and writes of 4 KiB in a closed loop, in steady state.
    /// `randrw rwmixread=70 iodepth=32 numjobs=1`.
    Mixed {
        /// Percentage of reads.
        reads: u32,
        /// Outstanding requests of each job.
        depth: u32,
        /// Jobs.
        jobs: u32,
    },
    /// Random 4 KiB reads in a closed loop beside one outstanding sequential write at a limited rate, on a drive
    /// that was filled once. `randread iodepth=1 beside write bs=65536 rate_mib=200`.
    BesideSequential {
        /// Outstanding reads.
        depth: u32,
        /// Bytes of a write.
        size: u64,
        /// Writes, in MiB a second.
        rate: u32,
    },
    /// The reset of a zone. `zone reset blocks=275712`.
    ZoneReset {
        /// Blocks of 4 KiB that were written to it before.
        blocks: u32,
    },
    /// The finish of a zone. `zone finish blocks=1`.
    ZoneFinish {
        /// Blocks of 4 KiB that were written to it before.
        blocks: u32,
    },
}

/// Texts of loads that have no settings.
const LOADS: [(&str, Load); 6] = [
    ("drive", Load::Drive),
    ("randwrite idle", Load::IdleWrites),
    ("randwrite fresh", Load::FreshWrites),
    ("randwrite steady", Load::SteadyWrites),
    ("write cache", Load::CacheWrites),
    ("write native", Load::NativeWrites),
];

impl Load {
    /// Outstanding requests of a closed loop with reads; 0 for other loads.
    pub fn outstanding(self) -> u64 {
        match self {
            Self::RandomReads { depth, jobs, .. } => u64::from(depth) * u64::from(jobs),
            Self::TrimmedReads { depth } => depth.into(),
            Self::Mixed { depth, jobs, .. } => u64::from(depth) * u64::from(jobs),
            _ => 0,
        }
    }

    /// Whether the load is simulated on a twin. Times of zone commands follow from its parameters.
    pub const fn is_simulated(self) -> bool {
        !matches!(self, Self::Drive | Self::ZoneReset { .. } | Self::ZoneFinish { .. })
    }

    /// As [`Quantity::resolution`](crate::measurement::Quantity::resolution), for loads that are less certain than
    /// their quantity. Chosen: the rates until a fall are means over the few intervals before it, in which the buffer
    /// or the cache was still filling.
    pub const fn resolution(self) -> f64 {
        match self {
            Self::FreshWrites | Self::CacheWrites | Self::NativeWrites => 0.05,
            _ => 0.0,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = |out: &mut fmt::Formatter<'_>, jobs: u32| match jobs {
            1 => Ok(()),
            jobs => write!(out, " numjobs={jobs}"),
        };
        match self {
            Self::RandomReads { size, depth, jobs: clones } => {
                write!(out, "randread bs={size} iodepth={depth}")?;
                jobs(out, *clones)
            }
            Self::TrimmedReads { depth } => write!(out, "randread trimmed iodepth={depth}"),
            Self::Writes { size, depth } => write!(out, "write bs={size} iodepth={depth}"),
            Self::Beside { rate } => write!(out, "beside rate_iops={rate}"),
            Self::SteadyPart { used } => write!(out, "randwrite steady used_gb={used}"),
            Self::Mixed { reads, depth, jobs: clones } => {
                write!(out, "randrw rwmixread={reads} iodepth={depth}")?;
                jobs(out, *clones)
            }
            Self::BesideSequential { depth, size, rate } => {
                write!(out, "randread iodepth={depth} beside write bs={size} rate_mib={rate}")
            }
            Self::ZoneReset { blocks } => write!(out, "zone reset blocks={blocks}"),
            Self::ZoneFinish { blocks } => write!(out, "zone finish blocks={blocks}"),
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
        const WANTED: &str = "drive, randread [bs=4096] iodepth=8 [numjobs=1], randread trimmed iodepth=1, randread iodepth=1 beside \
                              write bs=65536 rate_mib=200, randwrite idle, randwrite fresh, randwrite steady [used_gb=400], randrw \
                              rwmixread=70 iodepth=32 [numjobs=1], beside rate_iops=30000, write [bs=131072] iodepth=1, write \
                              cache, write native, zone reset blocks=0 or zone finish blocks=1";
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some((_, load)) = LOADS.iter().find(|(name, _)| *name == words.join(" ")) {
            return Ok(*load);
        }
        let (names, settings): (Vec<&str>, Vec<&str>) =
            words.into_iter().partition(|word| !word.contains('='));
        let mut read = Settings::of(&settings).ok_or(WANTED)?;
        match read.load(&names.join(" ")) {
            Some(load) if read.0.is_empty() => Ok(load),
            _ => Err(WANTED.to_owned()),
        }
    }
}

/// The settings of a load, `key=number`.
struct Settings<'a>(Vec<(&'a str, u64)>);

impl<'a> Settings<'a> {
    /// The settings in these words; `None` if one is no number, or is zero and counts no blocks of a zone.
    fn of(words: &[&'a str]) -> Option<Self> {
        let setting = |word: &&'a str| {
            let (key, value) = word.split_once('=')?;
            Some((key, value.parse().ok().filter(|value| *value > 0 || key == "blocks")?))
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

    /// The load with this name, whose settings are taken.
    fn load(&mut self, name: &str) -> Option<Load> {
        Some(match name {
            "randread" => Load::RandomReads {
                size: self.take("bs").unwrap_or(4096),
                depth: self.small("iodepth")?,
                jobs: self.small("numjobs").unwrap_or(1),
            },
            "randread trimmed" => Load::TrimmedReads { depth: self.small("iodepth")? },
            "randread beside write" => Load::BesideSequential {
                depth: self.small("iodepth")?,
                size: self.take("bs")?,
                rate: self.small("rate_mib")?,
            },
            "write" => {
                Load::Writes { size: self.take("bs").unwrap_or(131_072), depth: self.small("iodepth")? }
            }
            "randwrite steady" => Load::SteadyPart { used: self.small("used_gb")? },
            "randrw" => Load::Mixed {
                reads: self.small("rwmixread").filter(|percent| *percent < 100)?,
                depth: self.small("iodepth")?,
                jobs: self.small("numjobs").unwrap_or(1),
            },
            "beside" => Load::Beside { rate: self.small("rate_iops")? },
            "zone reset" => Load::ZoneReset { blocks: self.small("blocks")? },
            "zone finish" => Load::ZoneFinish { blocks: self.small("blocks")? },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_loads_are_read_back() {
        for text in [
            "drive",
            "randread bs=4096 iodepth=8",
            "randread bs=16384 iodepth=32 numjobs=4",
            "randread trimmed iodepth=1",
            "randread iodepth=1 beside write bs=65536 rate_mib=200",
            "write bs=32768 iodepth=1",
            "randwrite idle",
            "randwrite fresh",
            "randwrite steady",
            "randwrite steady used_gb=400",
            "randrw rwmixread=70 iodepth=32",
            "randrw rwmixread=50 iodepth=4 numjobs=2",
            "beside rate_iops=30000",
            "write cache",
            "write native",
            "zone reset blocks=0",
            "zone finish blocks=17232",
        ] {
            assert_eq!(text.parse::<Load>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_load_that_is_unknown_is_refused() {
        for text in [
            "",
            "randread",
            "randread iodepth=0",
            "randread iodepth=8 rw=1",
            "randread iodepth=1 beside write",
            "beside",
            "randwrite",
            "randwrite steady used=75",
            "randrw rwmixread=100 iodepth=1",
            "wirte cache",
            "write",
            "write trimmed iodepth=1",
            "zone reset",
        ] {
            assert!(text.parse::<Load>().is_err(), "{text}");
        }
    }
}
