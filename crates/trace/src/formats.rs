//! Formats of traces, and the units of the numbers in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Bytes;

/// A trace format. Its name in options is lower case with hyphens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Wordline's CSV: columns named by a header line.
    Csv,
    /// MSR Cambridge: file time, host, disk, Read or Write, offset, size, response.
    Msr,
    /// SPC-1 as of the UMass repository: ASU, LBA, size, op, seconds.
    Spc,
    /// DiskSim ASCII: milliseconds, device, LBA, size, flags.
    Disksim,
    /// SSDSim ASCII: nanoseconds, device, LBA, size, 1 for a read; further columns are ignored.
    Ssdsim,
    /// MQSim ASCII: like SSDSim, without further columns.
    Mqsim,
    /// The default text of blkparse.
    Blkparse,
    /// The text of the MOST tools: time, action, RWBS, sector, length, process, ... separated by tabs.
    Most,
    /// FIU: nanoseconds, process ID and name, LBA, size, R or W, major, minor, content hash.
    Fiu,
    /// Binary records of blktrace, one file per CPU, in a directory or an archive.
    Blktrace,
    /// fio's I/O log, version 2 or 3.
    FioIolog,
    /// Binary records of VMware's vscsiStats, version 1 or 2 (CloudPhysics).
    Vscsi,
    /// BIOtracer on Android: LBA, sectors, bytes, flags, four times in seconds.
    Biotracer,
    /// hfplayer's CSV with a header line.
    Hfplayer,
    /// Events of wiscsee: process, D or C, op, offset, size, seconds, wait, sync.
    Wiscsee,
    /// Text of ftrace (trace-cmd report, trace_pipe): events of the block layer or of the NVMe driver.
    Ftrace,
    /// Output of biosnoop (bcc, libbpf-tools), with or without the column QUE.
    Biosnoop,
    /// SYSTOR '17: Timestamp, Response, IOType, LUN, Offset, Size.
    Systor,
    /// Tencent's block storage: seconds, offset and size in sectors, 0 or 1, volume.
    Tencent,
    /// Alibaba's block storage: device, R or W, offset, length, microseconds.
    Alibaba,
    /// Binary records of libCacheSim: seconds, object, size, next request of the object.
    OracleGeneral,
    /// JSON lines of Mooncake: requests of inference with the blocks of their KV cache.
    Mooncake,
    /// Lookups of LMCache as JSON lines: requests of inference with the chunks of their KV cache.
    Lmcache,
    /// Meta's key-value caches, as in CacheLib: a header with key, op and size.
    MetaKv,
    /// Meta's block storage, as in CacheLib: a header with block_id, io_offset, io_size and op_name.
    MetaStorage,
    /// Columns of a Parquet file, with the names of a text format, or given by the option `columns`.
    Parquet,
    /// Any other text with one request per line: the option `columns` says what its columns hold.
    Columns,
}

impl Format {
    /// Every format, in the order in which their names are listed.
    pub const ALL: [Self; 27] = [
        Self::Csv,
        Self::Msr,
        Self::Spc,
        Self::Disksim,
        Self::Ssdsim,
        Self::Mqsim,
        Self::Blkparse,
        Self::Most,
        Self::Fiu,
        Self::Blktrace,
        Self::FioIolog,
        Self::Vscsi,
        Self::Biotracer,
        Self::Hfplayer,
        Self::Wiscsee,
        Self::Ftrace,
        Self::Biosnoop,
        Self::Systor,
        Self::Tencent,
        Self::Alibaba,
        Self::OracleGeneral,
        Self::Mooncake,
        Self::Lmcache,
        Self::MetaKv,
        Self::MetaStorage,
        Self::Parquet,
        Self::Columns,
    ];

    /// Name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Msr => "msr",
            Self::Spc => "spc",
            Self::Disksim => "disksim",
            Self::Ssdsim => "ssdsim",
            Self::Mqsim => "mqsim",
            Self::Blkparse => "blkparse",
            Self::Most => "most",
            Self::Fiu => "fiu",
            Self::Blktrace => "blktrace",
            Self::FioIolog => "fio-iolog",
            Self::Vscsi => "vscsi",
            Self::Biotracer => "biotracer",
            Self::Hfplayer => "hfplayer",
            Self::Wiscsee => "wiscsee",
            Self::Ftrace => "ftrace",
            Self::Biosnoop => "biosnoop",
            Self::Systor => "systor",
            Self::Tencent => "tencent",
            Self::Alibaba => "alibaba",
            Self::OracleGeneral => "oracle-general",
            Self::Mooncake => "mooncake",
            Self::Lmcache => "lmcache",
            Self::MetaKv => "meta-kv",
            Self::MetaStorage => "meta-storage",
            Self::Parquet => "parquet",
            Self::Columns => "columns",
        }
    }

    /// All names, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Units of time, address and size unless options set them.
    pub(super) const fn units(self) -> Units {
        const SECTOR: Bytes = Bytes(512);
        const BYTE: Bytes = Bytes(1);
        let (time, address, size) = match self {
            // A map of columns gives the units.
            Self::Csv | Self::Parquet | Self::Columns => (TimeUnit::Ns, BYTE, BYTE),
            Self::Msr => (TimeUnit::HundredNs, BYTE, BYTE),
            Self::Spc | Self::Biosnoop => (TimeUnit::S, SECTOR, BYTE),
            Self::Disksim => (TimeUnit::Ms, SECTOR, SECTOR),
            Self::Ssdsim | Self::Mqsim | Self::Fiu | Self::Blktrace => (TimeUnit::Ns, SECTOR, SECTOR),
            Self::Blkparse | Self::Most | Self::Biotracer | Self::Ftrace | Self::Tencent => {
                (TimeUnit::S, SECTOR, SECTOR)
            }
            Self::FioIolog | Self::Alibaba => (TimeUnit::Us, BYTE, BYTE),
            Self::Vscsi => (TimeUnit::Us, SECTOR, BYTE),
            Self::Hfplayer => (TimeUnit::Us, SECTOR, SECTOR),
            Self::Wiscsee
            | Self::Systor
            | Self::OracleGeneral
            | Self::Lmcache
            | Self::MetaKv
            | Self::MetaStorage => (TimeUnit::S, BYTE, BYTE),
            Self::Mooncake => (TimeUnit::Ms, BYTE, BYTE),
        };
        Units { time, address, size }
    }

    /// Whether the format does not define its units, so that options may set the unit of times.
    pub(super) const fn has_open_units(self) -> bool {
        !matches!(
            self,
            Self::Blktrace
                | Self::Vscsi
                | Self::Biosnoop
                | Self::Systor
                | Self::Tencent
                | Self::Alibaba
                | Self::OracleGeneral
                | Self::Lmcache
                | Self::MetaKv
                | Self::MetaStorage
                | Self::Columns
        )
    }

    /// Whether the option `columns` applies.
    pub(super) const fn has_columns(self) -> bool {
        matches!(self, Self::Parquet | Self::Columns)
    }

    /// Whether the trace is one of a KV cache, whose blocks have tokens.
    pub(super) const fn has_tokens(self) -> bool {
        matches!(self, Self::Mooncake | Self::Lmcache)
    }

    /// Whether options may set the units of addresses and sizes.
    pub(super) const fn has_open_ranges(self) -> bool {
        self.has_open_units() && !matches!(self, Self::Mooncake)
    }

    /// Whether the format has records or rows in place of lines of text.
    pub(super) const fn is_binary(self) -> bool {
        matches!(self, Self::Blktrace | Self::Vscsi | Self::OracleGeneral | Self::Parquet)
    }

    /// Whether the format records several events per request, one of which gives the time of the request.
    pub(super) const fn has_events(self) -> bool {
        matches!(
            self,
            Self::Blkparse | Self::Most | Self::Blktrace | Self::Wiscsee | Self::Ftrace | Self::Biosnoop
        )
    }
}

/// Unit of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TimeUnit {
    /// Picoseconds.
    #[serde(rename = "ps")]
    Ps,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Ticks of 100 ns, as in a Windows file time.
    #[serde(rename = "100ns")]
    HundredNs,
    /// Microseconds.
    #[serde(rename = "us")]
    Us,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Seconds.
    #[serde(rename = "s")]
    S,
}

impl TimeUnit {
    /// Every unit, smallest first.
    pub(super) const ALL: [Self; 6] = [Self::Ps, Self::Ns, Self::HundredNs, Self::Us, Self::Ms, Self::S];

    /// The name in options and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ps => "ps",
            Self::Ns => "ns",
            Self::HundredNs => "100ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }

    /// Picoseconds per unit.
    pub(super) const fn ps(self) -> i128 {
        match self {
            Self::Ps => 1,
            Self::Ns => 1_000,
            Self::HundredNs => 100_000,
            Self::Us => 1_000_000,
            Self::Ms => 1_000_000_000,
            Self::S => 1_000_000_000_000,
        }
    }

    /// Exponent of ten of the picoseconds per unit.
    pub(super) const fn digits(self) -> i32 {
        self.ps().ilog10() as i32
    }
}

/// Units of the numbers in a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub(super) time: TimeUnit,
    pub(super) address: Bytes,
    pub(super) size: Bytes,
}
