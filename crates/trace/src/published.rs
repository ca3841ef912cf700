//! Trace statistics that papers publish, with names and units for use in data files.

use serde::{Deserialize, Serialize};

use super::stats::Statistics;

/// A statistic printed in a paper's trace table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Requests of any kind.
    Requests,
    /// Reads.
    ReadRequests,
    /// Writes.
    WriteRequests,
    /// Writes as a share of reads and writes.
    WriteShare,
    /// Mean size of a read.
    MeanReadSize,
    /// Mean size of a write.
    MeanWriteSize,
    /// Data read.
    ReadVolume,
    /// Data written.
    WrittenVolume,
    /// Footprint of reads: data read at least once, each address counted once.
    UniqueRead,
    /// Footprint of writes: data written at least once, each address counted once.
    UniqueWritten,
    /// Writes that rewrite an address (updates), as a share of all writes.
    UpdateShare,
    /// Share of the updates in the most updated fifth of the written addresses.
    HottestFifth,
    /// Writes of up to 4 KiB, as a share of all writes.
    WriteSizesTo4,
    /// Writes of over 4 to 8 KiB.
    WriteSizesTo8,
    /// Writes of over 8 to 16 KiB.
    WriteSizesTo16,
    /// Writes of over 16 to 32 KiB.
    WriteSizesTo32,
    /// Writes of over 32 KiB.
    WriteSizesOver32,
}

/// Unit in which a statistic is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Requests.
    #[serde(rename = "requests")]
    Requests,
    /// Millions of requests.
    #[serde(rename = "million")]
    Million,
    /// Hundredths.
    #[serde(rename = "%")]
    Percent,
    /// 2^10 bytes.
    #[serde(rename = "KiB")]
    KiB,
    /// 2^30 bytes.
    #[serde(rename = "GiB")]
    GiB,
}

impl Unit {
    /// Size of the unit in the base unit: a request, a byte, or 1 for shares.
    pub fn size(self) -> f64 {
        match self {
            Self::Requests => 1.0,
            Self::Million => 1e6,
            Self::Percent => 0.01,
            Self::KiB => 1024.0,
            Self::GiB => (1u64 << 30) as f64,
        }
    }

    /// Name of the unit in data files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Million => "million",
            Self::Percent => "%",
            Self::KiB => "KiB",
            Self::GiB => "GiB",
        }
    }
}

impl Statistic {
    /// Whether the statistic can be written in `unit`.
    pub fn fits(self, unit: Unit) -> bool {
        use Statistic as S;
        match unit {
            Unit::Requests | Unit::Million => {
                matches!(self, S::Requests | S::ReadRequests | S::WriteRequests)
            }
            Unit::KiB | Unit::GiB => matches!(
                self,
                S::MeanReadSize
                    | S::MeanWriteSize
                    | S::ReadVolume
                    | S::WrittenVolume
                    | S::UniqueRead
                    | S::UniqueWritten
            ),
            Unit::Percent => !Self::fits(self, Unit::Million) && !Self::fits(self, Unit::KiB),
        }
    }

    /// Name in data files.
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => format!("{self:?}"),
        }
    }

    /// The value in the base unit: requests, bytes, or a fraction of 1.
    pub fn of(self, stats: &Statistics) -> f64 {
        let classes = &stats.write_sizes.classes;
        match self {
            Self::Requests => stats.requests as f64,
            Self::ReadRequests => stats.reads as f64,
            Self::WriteRequests => stats.writes as f64,
            Self::WriteShare => stats.write_share,
            Self::MeanReadSize => stats.mean_read_size,
            Self::MeanWriteSize => stats.mean_write_size,
            Self::ReadVolume => stats.read_bytes as f64,
            Self::WrittenVolume => stats.written_bytes as f64,
            Self::UniqueRead => stats.footprint_read as f64,
            Self::UniqueWritten => stats.footprint_written as f64,
            Self::UpdateShare => stats.update_share,
            Self::HottestFifth => stats.hottest_fifth,
            Self::WriteSizesTo4 => classes[0],
            Self::WriteSizesTo8 => classes[1],
            Self::WriteSizesTo16 => classes[2],
            Self::WriteSizesTo32 => classes[3],
            Self::WriteSizesOver32 => classes[4],
        }
    }
}

/// Returns the value of the statistic `name` in the unit `unit`; both names are as in data files. `None` if
/// there is no such statistic, or if it cannot have the unit.
pub fn statistic(stats: &Statistics, name: &str, unit: &str) -> Option<f64> {
    let read = |text: &str| serde_json::Value::String(text.to_owned());
    let statistic: Statistic = serde_json::from_value(read(name)).ok()?;
    let unit: Unit = serde_json::from_value(read(unit)).ok()?;
    statistic.fits(unit).then(|| statistic.of(stats) / unit.size())
}
