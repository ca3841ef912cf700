//! A measurement of a drive: a quantity under a load, with its value and its spread.

use std::fmt;
use std::str::FromStr;

use crate::load::Load;

/// Bytes of a MiB.
pub(crate) const MIB: f64 = 1_048_576.0;

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
    /// Generation of the SATA link. `sata_generation`.
    SataGeneration,
    /// Bits that a cell stores. `bits_per_cell`.
    BitsPerCell,
    /// The write buffer: bytes of random writes after an idle time until their latency jumps, less what the
    /// drive programs meanwhile. `buffer_mb`.
    Buffer,
    /// Bytes of writes at full speed after an idle time of a minute, in steady state or with a full SLC cache.
    /// `idle_gain_gb`.
    IdleGain,
    /// Zones of a zoned drive. `zones`.
    Zones,
    /// Distance of zones. `zone_size_mib`.
    ZoneSize,
    /// Writable part of a zone. `zone_capacity_mib`.
    ZoneCapacity,
    /// Most open zones. `open_zones`.
    OpenZones,
    /// Completed requests a second. `iops`.
    Iops,
    /// Throughput of the host. `mb_s`.
    Throughput,
    /// Write amplification, by the counters of the drive. `waf`.
    WriteAmplification,
    /// Mean time of a zone command in microseconds. `mean_us`.
    Mean,
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
const QUANTITIES: [(&str, Quantity); 17] = [
    ("capacity_gb", Quantity::Capacity),
    ("space_gb", Quantity::Space),
    ("slc_cache_gb", Quantity::SlcCache),
    ("link_generation", Quantity::LinkGeneration),
    ("link_lanes", Quantity::LinkLanes),
    ("sata_generation", Quantity::SataGeneration),
    ("bits_per_cell", Quantity::BitsPerCell),
    ("buffer_mb", Quantity::Buffer),
    ("idle_gain_gb", Quantity::IdleGain),
    ("zones", Quantity::Zones),
    ("zone_size_mib", Quantity::ZoneSize),
    ("zone_capacity_mib", Quantity::ZoneCapacity),
    ("open_zones", Quantity::OpenZones),
    ("mean_us", Quantity::Mean),
    ("iops", Quantity::Iops),
    ("mb_s", Quantity::Throughput),
    ("waf", Quantity::WriteAmplification),
];

/// Ranks of the percentiles that are read from tables and from outputs of fio.
pub const RANKS: [f64; 6] = [10.0, 50.0, 90.0, 95.0, 99.0, 99.9];

impl Quantity {
    /// Whether the quantity is a property of a drive, so that it has no load.
    pub const fn is_of_drive(self) -> bool {
        !matches!(
            self,
            Self::Iops
                | Self::Throughput
                | Self::WriteAmplification
                | Self::Mean
                | Self::Read(_)
                | Self::Write(_)
        )
    }

    /// The relative deviation at which a twin is one standard deviation away, if the repetitions of the
    /// measurement differ by less. Chosen: what a model of smooth mechanisms can be right to. Percentiles are
    /// the coarser, the fewer requests are beyond them.
    pub fn resolution(self) -> f64 {
        match self {
            Self::Iops | Self::Throughput | Self::WriteAmplification => 0.01,
            Self::Read(Statistic::Mean) | Self::Write(Statistic::Mean) | Self::Mean => 0.02,
            Self::Read(Statistic::Percentile(rank)) | Self::Write(Statistic::Percentile(rank)) => {
                match rank {
                    ..=60.0 => 0.02,
                    ..=92.0 => 0.04,
                    ..=96.0 => 0.08,
                    ..=99.5 => 0.1,
                    _ => 0.3,
                }
            }
            _ => 0.01,
        }
    }
}

impl Measurement {
    /// Whether the fit weighs the measurement. Means and tails of writes do not count: writes complete in the
    /// buffer, and their latencies show how the time of the firmware varies, which that of a twin does not. They
    /// would make every interval wider.
    pub const fn is_weighed(&self) -> bool {
        match self.quantity {
            Quantity::Write(Statistic::Mean) => false,
            Quantity::Write(Statistic::Percentile(rank)) => rank <= 60.0,
            _ => self.load.is_simulated(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_quantities_are_read_back() {
        for text in [
            "capacity_gb",
            "iops",
            "waf",
            "read_mean_us",
            "read_p99.9_us",
            "write_p50_us",
            "mean_us",
            "zone_size_mib",
        ] {
            assert_eq!(text.parse::<Quantity>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_quantity_that_is_unknown_is_refused() {
        for text in ["", "iop", "read_us", "read_p101_us", "write_p_us", "read_max_us"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }
}
