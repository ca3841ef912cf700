//! Configuration of zones, and its check against the device below.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{Capabilities, Geometry, MOST_BLOCKS};
use wordline_kernel::{Bytes, Complaints, Duration};

use super::layout::Layout;
use super::table::Limits;
use crate::OpenChannelFile;

/// Configuration of zones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZonesFile {
    /// Number of chunks in a zone, each on a different parallel unit. Must divide the number of parallel
    /// units. Default: all parallel units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Consecutive logical blocks in a chunk before the zone continues in the next chunk. Must be a multiple
    /// of the logical blocks of a program, and divide the logical blocks of a chunk. Default: `ws_opt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<u32>,
    /// Writable bytes of a zone (zone capacity): a multiple of `stripe`, at most the size of the zone's
    /// chunks. Space beyond the capacity is used for padding. Default: the size of the zone's chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Bytes from the start of a zone to the start of the next one (zone size), at least `capacity`. Default:
    /// the next power of two, which Linux requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Maximum number of active zones, which are open or closed. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active: Option<u32>,
    /// Maximum number of open zones, at most `max_active`. Default: `max_active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open: Option<u32>,
    /// Maximum bytes of an append (ZASL): 4 KiB times a power of two. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append_limit: Option<Bytes>,
    /// Time of the reset of an empty zone. With it, the firmware completes a reset by its own time. The erases
    /// begin with the reset, and a write to the zone waits for them. Default: a reset completes when its
    /// chunks are erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_time: Option<Duration>,
    /// Time of the reset of a full zone. Between empty and full the time is in proportion to what was written.
    /// Default: `reset_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_time_full: Option<Duration>,
    /// Whether the finish of a zone programs padding up to its capacity. Otherwise it only closes the chunks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finish_pads: bool,
}

/// Checked configuration of zones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZonesConfig {
    /// Layout of the zones.
    pub layout: Layout,
    /// Limits of active and open zones.
    pub limits: Limits,
    /// Maximum number of logical blocks in an append.
    pub append_limit: Option<u32>,
    /// Whether gathered blocks survive a power loss, as in a protected buffer.
    pub is_protected: bool,
    /// Times of resets; `None` if a reset completes when its chunks are erased.
    pub resets: Option<ResetTimes>,
    /// Whether the finish of a zone programs padding up to its capacity.
    pub finish_pads: bool,
}

/// Times of resets that the firmware completes before the chunks are erased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResetTimes {
    /// Time for an empty zone.
    pub empty: Duration,
    /// Time for a full zone.
    pub full: Duration,
}

impl ResetTimes {
    /// Time for a zone of which this many of its `capacity` logical blocks were written.
    pub(super) fn of(&self, written: u32, capacity: u32) -> Duration {
        self.empty
            + Duration::from_ps(
                (u128::from((self.full - self.empty).ps()) * u128::from(written) / u128::from(capacity))
                    as u64,
            )
    }
}

/// Longest time of a reset. Chosen: far beyond any drive.
const LONGEST_RESET: Duration = Duration::from_ms(100_000);

/// Minimum memory page size of a controller. NVMe defines the append limit in this unit.
const PAGE: Bytes = Bytes::kib(4);

impl ZonesFile {
    /// Checks the configuration for a device with this configuration and geometry.
    ///
    /// # Errors
    /// All invalid keys.
    pub fn check(&self, file: &OpenChannelFile, geometry: &Geometry) -> Result<ZonesConfig, Complaints> {
        let mut wrong = Complaints::default();
        self.check_limits(&mut wrong);
        let (units, unit, chunk) = (geometry.units(), geometry.ws_min, geometry.blocks_per_chunk);
        let width = self.width.unwrap_or(units);
        let divides = width > 0 && units.is_multiple_of(width) && width as usize <= MOST_BLOCKS;
        let wanted = format!("a divisor of the {units} parallel units, at most {MOST_BLOCKS}");
        wrong.require(divides, "width", width, wanted);
        let stripe = self.stripe.unwrap_or(geometry.ws_opt);
        let fits = stripe > 0
            && stripe.is_multiple_of(unit)
            && chunk.is_multiple_of(stripe)
            && stripe as usize <= MOST_BLOCKS;
        let wanted = format!(
            "a multiple of {unit} (ws_min) that divides the {chunk} logical blocks of a chunk, at most {MOST_BLOCKS}"
        );
        wrong.require(fits, "stripe", stripe, wanted);
        if !(divides && fits) {
            return Err(wrong);
        }
        let block = geometry.block_size;
        let all = block * u64::from(width * chunk);
        let capacity = self.capacity.unwrap_or(all);
        let step = block * u64::from(stripe);
        let fits = capacity.0 > 0 && capacity.0.is_multiple_of(step.0) && capacity <= all;
        let wanted = format!("a multiple of {step} (stripe), at most {all}, the chunks of a zone");
        wrong.require(fits, "capacity", capacity, wanted);
        let size = self.size.unwrap_or(Bytes(capacity.0.next_power_of_two()));
        let fits = size >= capacity && size.0.is_multiple_of(block.0);
        wrong.require(fits, "size", size, format!("at least {capacity} (capacity), in whole logical blocks"));
        let append_limit = self.append_limit.map(|limit| (limit.0 / block.0) as u32);
        let blocks = |size: Bytes| size.0 / block.0;
        if let Some(limit) = self.append_limit {
            let is_power = limit.0.is_multiple_of(PAGE.0) && (limit.0 / PAGE.0).is_power_of_two();
            let fits = is_power && limit >= step;
            let wanted = format!("{PAGE} times a power of two, at least {step} (stripe)");
            wrong.require(fits, "append_limit", limit, wanted);
        }
        let resets = self.check_resets(&mut wrong);
        wrong.into_result(())?;
        let layout = Layout::of(geometry, width, stripe, blocks(capacity) as u32, blocks(size));
        Ok(ZonesConfig {
            layout,
            limits: Limits { active: self.max_active, open: self.max_open.or(self.max_active) },
            append_limit,
            is_protected: file.buffer.as_ref().is_some_and(|buffer| buffer.protected),
            resets,
            finish_pads: self.finish_pads,
        })
    }

    fn check_resets(&self, wrong: &mut Complaints) -> Option<ResetTimes> {
        let empty = self.reset_time.unwrap_or_default();
        let full = self.reset_time_full.unwrap_or(empty);
        wrong.require(empty <= LONGEST_RESET, "reset_time", empty, format!("at most {LONGEST_RESET}"));
        let fits = self.reset_time.is_some() || self.reset_time_full.is_none();
        wrong.require(fits, "reset_time_full", full, "`reset_time` as well");
        let fits = (empty..=LONGEST_RESET).contains(&full);
        wrong.require(fits, "reset_time_full", full, format!("from {empty} (reset_time) to {LONGEST_RESET}"));
        self.reset_time.map(|_| ResetTimes { empty, full })
    }

    fn check_limits(&self, wrong: &mut Complaints) {
        let active = self.max_active.unwrap_or(u32::MAX);
        wrong.require(active > 0, "max_active", active, "at least 1; leave it out for no limit");
        let open = self.max_open.unwrap_or(1);
        let wanted = "from 1 to `max_active`; leave it out for no limit but that";
        wrong.require((1..=active.max(1)).contains(&open), "max_open", open, wanted);
    }
}

/// Checks whether a device can have zones. It must have no limits of its own on open chunks, all written data
/// must be readable, and open chunks must be resettable.
///
/// # Errors
/// All invalid keys of the device.
pub fn check_device(file: &OpenChannelFile) -> Result<(), Complaints> {
    let mut wrong = Complaints::default();
    let unreadable = file.mw_cunits;
    wrong.require(unreadable == 0, "mw_cunits", unreadable, "0: all that is written of a zone can be read");
    for (name, limit) in [("max_open", file.max_open), ("max_open_per_unit", file.max_open_per_unit)] {
        let found = limit.unwrap_or(0);
        wrong.require(limit.is_none(), name, found, "none: zones have limits of their own");
    }
    let early = file.early_resets;
    wrong.require(early, "early_resets", early, "true: zones are reset that are not full");
    wrong.into_result(())
}

impl ZonesConfig {
    /// Geometry with zones as chunks, on a device with the geometry `below`. Zones on the same parallel units
    /// form one parallel unit. The optimal write covers as many chunks as fit in one command.
    pub fn geometry(&self, below: &Geometry) -> Geometry {
        let layout = self.layout;
        let most = layout.width.min(MOST_BLOCKS as u32 / layout.stripe);
        let fits = |chunks: &u32| layout.capacity.is_multiple_of(chunks * layout.stripe);
        let at_once = (1..=most).rev().find(fits).unwrap_or(1);
        let units = layout.units / layout.width;
        Geometry {
            groups: 1,
            units_per_group: units as u16,
            chunks_per_unit: layout.zones / units,
            blocks_per_chunk: layout.capacity,
            ws_opt: layout.stripe * at_once,
            max_open: self.limits.active.unwrap_or(0),
            max_open_per_unit: 0,
            capabilities: Capabilities {
                copy: false,
                multiple_resets: true,
                early_resets: true,
                ..below.capabilities
            },
            ..below.clone()
        }
    }
}
