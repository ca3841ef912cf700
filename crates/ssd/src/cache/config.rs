//! The keys of `[buffer]`, and their check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration, Energy};
use wordline_nand::Pools;

use super::buffer::MIN_OCCUPANCY;
use super::protection::{self, Protection};
use crate::command::SECTOR;
use crate::policy::destage::DestageKind;
use crate::policy::eviction::EvictionKind;

/// When a write completes, and whether writes coalesce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferMode {
    /// Completes once its data are in the buffer.
    WriteBack,
    /// Completes once its data are in flash. Later writes to a page coalesce with it until its program
    /// begins.
    WriteThrough,
    /// Completes once its data are in flash. Nothing coalesces: a write to a page, or with `pools` to a unit
    /// of pages, that is on its way to flash waits until that has ended, and so do the writes behind it.
    Off,
}

/// Occupancy of a page in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferSpace {
    /// The whole page, even if it was written in part.
    WholePages,
    /// The written sectors, at least 4 KiB. The rest of the page, which is read before the program, stays in
    /// the chips' registers.
    Written,
}

/// The DRAM buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferFile {
    /// When a write completes, and whether writes coalesce.
    pub mode: BufferMode,
    /// Capacity: pages that wait to be programmed or are being programmed.
    pub size: Bytes,
    /// Occupancy of a page.
    pub space: BufferSpace,
    /// Access time of the buffer for all pages of a command, in parallel.
    pub access_time: Duration,
    /// High watermark: pages are destaged while the occupancy is above this fraction; with 0 (or -0, which is
    /// the same number) as soon as there is one.
    pub flush_above: f64,
    /// Low watermark: destaging that began above `flush_above` continues down to this occupancy. Left out:
    /// `flush_above`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_to: Option<f64>,
    /// Interval at which the whole buffer is destaged, a program unit at a time spread over the next
    /// interval, so that a page stays for at most two intervals; `0` for never.
    pub flush_interval: Duration,
    /// Pages that are destaged as soon as they are written, with `mode = "write-back"`.
    pub destage: DestageKind,
    /// The page that is destaged next above the watermark. A flush goes by age.
    pub eviction: EvictionKind,
    /// Whether a destaged page takes adjacent dirty pages of its program unit of consecutive pages along.
    pub coalesce: bool,
    /// Whether written pages in the buffer survive a power cut.
    pub power_loss_protection: Protection,
    /// Energy of the capacitors, for `power_loss_protection = "capacitors"`. A program unit takes twice the
    /// energy of its program, data transfer and RMW reads in the part's power table.
    pub capacitors: Energy,
    /// Size of the read cache, which keeps pages that were read or programmed; `0` for none.
    pub read_cache: Bytes,
    /// The page that is evicted from the read cache for another.
    pub read_eviction: EvictionKind,
    /// Logical pages that are read ahead into the read cache after sequential reads; 0 for none.
    pub read_ahead: u32,
}

impl Default for BufferFile {
    /// 64 MiB flushed every 30 s as in Centaur (table 2 and section 6.2.4). Chosen: a microsecond per access,
    /// and half of the capacity reserved for bursts.
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
    /// Capacity in sectors, if sectors are counted.
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

    /// Capacity in logical pages, as far as its protection allows; complains if it is too small or too large.
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

    /// Capacity of the read cache in logical pages; complains if it is too small for the read-ahead.
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
