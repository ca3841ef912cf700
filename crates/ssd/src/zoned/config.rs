//! The configuration of zones, and its check against the device below.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};

use super::layout::Layout;
use super::table::Limits;
use crate::open_channel::OpenChannelFile;
use crate::physical_device::{Capabilities, Geometry, MOST_BLOCKS};

/// Configuration of zones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZonesFile {
    /// Chunks of a zone, each of a parallel unit of its own: a divisor of the number of parallel units. Left
    /// out: one chunk of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Consecutive logical blocks in a chunk before the zone continues in the next chunk: a multiple of one
    /// program that divides a chunk. Left out: `ws_opt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<u32>,
    /// Writable bytes of a zone (zone capacity): a multiple of `stripe`, at most the size of its chunks. The
    /// rest of the chunks is spare for padding. Left out: the size of its chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Bytes from the beginning of a zone to the beginning of the next one (zone size): at least `capacity`.
    /// Left out: the next power of two, as Linux requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Most active zones, that is open or closed ones. Left out: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active: Option<u32>,
    /// Most open zones: at most `max_active`. Left out: `max_active` is the only limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open: Option<u32>,
    /// Most bytes of an append (ZASL): 4 KiB times a power of two. Left out: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append_limit: Option<Bytes>,
}

/// A checked configuration of zones on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZonesConfig {
    /// Layout of the zones.
    pub layout: Layout,
    /// Limits of active and open zones.
    pub limits: Limits,
    /// Most logical blocks of an append.
    pub append_limit: Option<u32>,
    /// Whether blocks that do not fill a program yet survive a power cut, as with a protected buffer.
    pub is_protected: bool,
}

/// The minimum memory page size of a controller, the unit of the append limit in NVMe.
const PAGE: Bytes = Bytes::kib(4);

impl ZonesFile {
    /// Checks the zones of a device with this configuration and geometry.
    ///
    /// # Errors
    /// All keys that are wrong.
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
        wrong.into_result(())?;
        let layout = Layout::of(geometry, width, stripe, blocks(capacity) as u32, blocks(size));
        Ok(ZonesConfig {
            layout,
            limits: Limits { active: self.max_active, open: self.max_open.or(self.max_active) },
            append_limit,
            is_protected: file.buffer.as_ref().is_some_and(|buffer| buffer.protected),
        })
    }

    fn check_limits(&self, wrong: &mut Complaints) {
        let active = self.max_active.unwrap_or(u32::MAX);
        wrong.require(active > 0, "max_active", active, "at least 1; leave it out for no limit");
        let open = self.max_open.unwrap_or(1);
        let wanted = "from 1 to `max_active`; leave it out for no limit but that";
        wrong.require((1..=active.max(1)).contains(&open), "max_open", open, wanted);
    }
}

/// Checks whether a device can have zones: limits are set for zones only, all written data are readable, and
/// open chunks can be reset.
///
/// # Errors
/// The keys of the device that are wrong.
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
    /// The geometry of the zones as chunks, on a device with the geometry `below`: zones on the same parallel
    /// units form a parallel unit. The optimal write covers as many chunks as one command reaches.
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
