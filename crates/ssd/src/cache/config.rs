//! The keys of `[buffer]`, and their check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration, Energy};
use wordline_nand::Pools;

use super::buffer::LEAST_WEIGHT;
use super::protection::{self, Protection};
use crate::command::SECTOR;
use crate::policy::destage::DestageKind;
use crate::policy::eviction::EvictionKind;

/// When a write is answered, and what the buffer does for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferMode {
    /// Answered once its data are in the buffer.
    WriteBack,
    /// Answered once its data are in flash. Until a page's program begins, later writes merge with it.
    WriteThrough,
    /// Answered once its data are in flash. Nothing merges: a write to a page that is on its way, or with `pools` to a
    /// unit of pages, waits until that is done, and so do the writes behind it.
    Off,
}

/// The room that a page takes in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferSpace {
    /// The whole page, however little of it was written.
    WholePages,
    /// The sectors written, 4 KiB at least. The rest of the page, which is read before it is programmed, goes by the
    /// chips' registers.
    Written,
}

/// The DRAM buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferFile {
    /// When a write is answered, and what the buffer does for it.
    pub mode: BufferMode,
    /// Its size: pages that wait to be programmed or are being programmed.
    pub size: Bytes,
    /// The room that a page takes in it.
    pub space: BufferSpace,
    /// Time that the pages of a command take into the buffer or from there, side by side.
    pub access_time: Duration,
    /// Pages are written out while the buffer is fuller than this fraction; with 0 (or -0, which is the same number) as soon as there is one.
    pub flush_above: f64,
    /// Once pages are written out because the buffer is too full, this goes on until it is no fuller than this
    /// fraction. Left out: `flush_above`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_to: Option<f64>,
    /// Everything in the buffer is written out this often, a program unit at a time over the next interval, so that a page
    /// stays for two of them at the most; `0` for never.
    pub flush_interval: Duration,
    /// Which pages are written out as soon as they are written, with `mode = "write-back"`.
    pub destage: DestageKind,
    /// Which page is written out next when the buffer is too full. A flush goes by age.
    pub eviction: EvictionKind,
    /// Whether a page that leaves takes those before and after it along that wait too, within the program unit of
    /// consecutive pages to which it belongs.
    pub coalesce: bool,
    /// Whether written pages in the buffer outlive the power.
    pub power_loss_protection: Protection,
    /// Charge of the capacitors, for `power_loss_protection = "capacitors"`. A program unit takes twice what programming
    /// it, moving its data and reading the rest of its pages draw in the part's power table.
    pub capacitors: Energy,
    /// Size of the read cache, where pages are kept after they were read or programmed; `0` for none.
    pub read_cache: Bytes,
    /// Which page leaves the read cache when another comes in.
    pub read_eviction: EvictionKind,
    /// Logical pages that are fetched into the read cache ahead of reads that follow each other; 0 for none.
    pub read_ahead: u32,
}

impl Default for BufferFile {
    /// 64 MiB flushed every 30 s as in Centaur (table 2 and section 6.2.4). Chosen: a microsecond an access, and
    /// half of the room kept for bursts.
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

/// The least that a page takes where what was written of it is counted.
const LEAST: Bytes = Bytes(SECTOR.0 * LEAST_WEIGHT as u64);

impl BufferFile {
    /// Sectors that it holds, where these are counted.
    pub fn room(&self) -> Option<u32> {
        (self.space == BufferSpace::Written).then_some((self.size.0 / SECTOR.0) as u32)
    }

    /// Adds what is wrong with single keys.
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
            let wanted = "nothing without buffer.power_loss_protection = \"capacitors\"";
            wrong.require(self.capacitors == Energy(0), "buffer.capacitors", self.capacitors, wanted);
        }
    }

    /// Logical pages that it holds at the most, no more than its protection allows; complains if these are too few or too many.
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

    /// Logical pages that the read cache holds; complains if these are too few for the read-ahead.
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
