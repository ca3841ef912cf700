//! Keys of `[buffer]`, and their check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_kernel::{Bytes, Complaints, Duration, Energy};
use wordline_nand::Pools;

use super::buffer::MIN_OCCUPANCY;
use super::protection::{self, Protection};
use crate::policy::destage::DestageKind;
use crate::policy::eviction::EvictionKind;

/// When a write completes, and whether writes coalesce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferMode {
    /// A write completes when its data are in the buffer.
    WriteBack,
    /// A write completes when its data are in flash. Later writes to a page coalesce with it until its
    /// program begins.
    WriteThrough,
    /// A write completes when its data are in flash, and writes do not coalesce. A write to a page that is
    /// being programmed waits until the program has ended. With `pools`, a write waits while any page of its
    /// unit is being programmed. Later writes wait behind a waiting write.
    Off,
}

/// Buffer space that a page occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferSpace {
    /// A whole page, even if it was written in part.
    WholePages,
    /// The written sectors, but at least 4 KiB. The rest of the page is read before the program and stays in
    /// the chips' registers.
    Written,
}

/// The DRAM buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferFile {
    /// When a write completes, and whether writes coalesce.
    pub mode: BufferMode,
    /// Capacity, for pages that wait to be programmed or are being programmed.
    pub size: Bytes,
    /// Buffer space that a page occupies.
    pub space: BufferSpace,
    /// Access time of the buffer, for all pages of a command together.
    pub access_time: Duration,
    /// High watermark: pages are destaged while the occupancy is above this fraction. With 0 pages are
    /// destaged at once.
    pub flush_above: f64,
    /// Low watermark: destaging begins above `flush_above` and continues down to this fraction. The default
    /// is `flush_above`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_to: Option<f64>,
    /// Interval at which the whole buffer is destaged; `0` for never. The program units are spread over the
    /// next interval, so a page stays for two intervals at most.
    pub flush_interval: Duration,
    /// Selects pages that are destaged as soon as they are written, with `mode = "write-back"`.
    pub destage: DestageKind,
    /// Selects the page that is destaged next above the watermark. A flush destages the oldest page first.
    pub eviction: EvictionKind,
    /// Whether a page is destaged together with the dirty pages of its unit. A unit is the consecutive
    /// logical pages that fill a program unit.
    pub coalesce: bool,
    /// Whether written pages in the buffer survive a power cut.
    pub power_loss_protection: Protection,
    /// Energy of the capacitors, for `power_loss_protection = "capacitors"`. A program unit needs twice the
    /// energy of its program, data transfer and RMW reads, according to the part's power table.
    pub capacitors: Energy,
    /// Size of the read cache, which keeps pages that were read or programmed; `0` for no cache.
    pub read_cache: Bytes,
    /// Selects the page that leaves the read cache when another needs its space.
    pub read_eviction: EvictionKind,
    /// Number of logical pages that are read ahead into the read cache after sequential reads; 0 for no
    /// read-ahead.
    pub read_ahead: u32,
}

impl Default for BufferFile {
    /// 64 MiB, flushed every 30 s, as in Centaur (table 2 and section 6.2.4). Chosen: a microsecond per
    /// access, and half of the capacity reserved for bursts.
    fn default() -> Self {
        Self {
            mode: BufferMode::WriteBack,
            size: Bytes::mib(64),
            space: BufferSpace::WholePages,
            access_time: Duration::from_us(1),
            flush_above: 0.5,
            flush_to: None,
            flush_interval: Duration::from_ms(30_000),
            destage: DestageKind::default(),
            eviction: EvictionKind::default(),
            coalesce: false,
            power_loss_protection: Protection::None,
            capacitors: Energy(0),
            read_cache: Bytes(0),
            read_eviction: EvictionKind::Lru {},
            read_ahead: 0,
        }
    }
}

/// The smallest occupancy of a page if written sectors are counted.
const LEAST: Bytes = Bytes(SECTOR.0 * MIN_OCCUPANCY as u64);

impl BufferFile {
    /// Whether the buffer survives a power loss.
    pub fn is_protected(&self) -> bool {
        self.power_loss_protection != Protection::None
    }

    /// Whether completed writes are lost with the buffer in a power loss.
    pub fn is_volatile(&self) -> bool {
        self.mode == BufferMode::WriteBack && !self.is_protected()
    }

    /// Capacity in sectors; `None` if pages are counted.
    pub fn room(&self) -> Option<u32> {
        (self.space == BufferSpace::Written).then_some((self.size.0 / SECTOR.0) as u32)
    }

    /// Adds complaints about single keys.
    pub fn check(&self, wrong: &mut Complaints) {
        let time = self.access_time;
        wrong.require(time <= Duration::from_ms(10_000), "buffer.access_time", time, "at most 10s");
        let above = self.flush_above;
        wrong.require((0.0..=0.9).contains(&above), "buffer.flush_above", above, "a fraction from 0 to 0.9");
        let to = self.flush_to.unwrap_or(above);
        wrong.require(
            (0.0..=above).contains(&to) || !(0.0..=0.9).contains(&above),
            "buffer.flush_to",
            to,
            format!("a fraction from 0 to buffer.flush_above ({above})"),
        );
        let interval = self.flush_interval;
        wrong.require(
            interval == Duration::ZERO
                || (Duration::from_us(1)..=Duration::from_ms(86_400_000)).contains(&interval),
            "buffer.flush_interval",
            interval,
            "0 for never, or from 1us to 1d",
        );
        if let Some((key, found, wanted)) = self.destage.complaint() {
            wrong.add(format!("buffer.destage.{key}"), found, wanted);
        }
        let cache = self.read_cache;
        wrong.require(cache <= Bytes::gib(64), "buffer.read_cache", cache, "at most 64GiB");
        if self.power_loss_protection != Protection::Capacitors {
            let wanted = "none without buffer.power_loss_protection = \"capacitors\"";
            wrong.require(self.capacitors == Energy(0), "buffer.capacitors", self.capacitors, wanted);
        }
    }

    /// Capacity in logical pages, limited by the power-loss protection. Complains if it is too small or too
    /// large.
    pub fn pages(&self, pools: &Pools, unit: Bytes, wrong: &mut Complaints) -> u32 {
        let pages = (self.size.0 / unit.0) as u32;
        let counted = if self.space == BufferSpace::Written { unit.min(LEAST) } else { unit };
        let entries = (self.size.0 / counted.0) as u32;
        let least = 2 * pools.iter().map(|pool| pool.locations.per_program).max().unwrap_or(0);
        wrong.require(
            pages >= least && self.size <= Bytes::gib(64),
            "buffer.size",
            self.size,
            format!(
                "from two program units ({}) to 64GiB: pages pass through it in every mode",
                unit * u64::from(least)
            ),
        );
        if self.power_loss_protection != Protection::Capacitors {
            return entries;
        }
        let wanted = "whole-pages with buffer.power_loss_protection = \"capacitors\", which count pages";
        wrong.require(self.space == BufferSpace::WholePages, "buffer.space", "written", wanted);
        let protected = protection::pages_for(self.capacitors, pools);
        wrong.require(
            protected >= least,
            "buffer.capacitors",
            self.capacitors,
            format!("at least {} for two program units", protection::charge_for(least, pools)),
        );
        pages.min(protected)
    }

    /// Capacity of the read cache in logical pages. Complains if it is too small for the read-ahead.
    pub fn cache_pages(&self, unit: Bytes, wrong: &mut Complaints) -> u32 {
        let pages = (self.read_cache.0 / unit.0) as u32;
        wrong.require(
            self.read_ahead <= pages / 2,
            "buffer.read_ahead",
            self.read_ahead,
            format!("at most half of the pages of buffer.read_cache ({pages})"),
        );
        pages
    }
}
