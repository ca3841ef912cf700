//! Configuration of a zoned namespace that the host drives itself, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_device::block_device::{Shape, ZoneShape};
use wordline_kernel::{Complaints, Duration, Seed};
use wordline_open_channel::zoned::{ZonesConfig, ZonesFile};
use wordline_open_channel::{OpenChannel, OpenChannelConfig, OpenChannelFile, Zoned};

use super::ZoneHost;
use crate::pblk::{check_command_time, command_time};
use crate::zones::check_below;

/// Configuration of a zoned namespace without an FTL, as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneHostFile {
    /// Host time per command, in addition to the device time.
    #[serde(default = "command_time")]
    pub command_time: Duration,
    /// Whether the host has one write of a zone in flight at a time, so that writes reach the zone in order
    /// (zone write plugging of Linux). Zone appends are not limited.
    #[serde(default = "yes")]
    pub write_plugging: bool,
    /// The zones.
    #[serde(default)]
    pub zones: ZonesFile,
    /// The open-channel device that the zones are made of.
    pub open_channel: OpenChannelFile,
}

fn yes() -> bool {
    true
}

/// A checked configuration of a zoned namespace without an FTL.
#[derive(Clone, Debug)]
pub struct ZoneHostConfig {
    /// The configuration as given.
    pub file: ZoneHostFile,
    /// The device below the zones.
    pub device: OpenChannelConfig,
    /// The zones.
    pub zones: ZonesConfig,
}

impl ZoneHostFile {
    /// Checks the configuration of the host, of the zones and of the device below.
    ///
    /// # Errors
    /// Every key that is invalid.
    pub fn check(self) -> Result<ZoneHostConfig, Complaints> {
        let mut wrong = Complaints::default();
        check_command_time(self.command_time, &mut wrong);
        let Some((device, zones)) = check_below(&self.open_channel, &self.zones, &mut wrong) else {
            return Err(wrong);
        };
        let blocks = zones.layout.size * u64::from(zones.layout.zones);
        let wanted =
            format!("zones of fewer than {} logical blocks together: data tags number them", u32::MAX);
        wrong.require(blocks < u64::from(u32::MAX), "zones.size", format!("{blocks} logical blocks"), wanted);
        wrong.into_result(())?;
        Ok(ZoneHostConfig { file: self, device, zones })
    }
}

impl ZoneHostConfig {
    /// The shape of the device as a host sees it.
    pub fn shape(&self) -> Shape {
        shape(&self.zones, self.device.geometry.block_size)
    }

    /// A new device.
    pub fn build(&self, seed: Seed) -> ZoneHost<OpenChannel> {
        let device = Zoned::new(self.zones, OpenChannel::new(self.device.clone(), seed));
        ZoneHost::new(device, self.file.command_time, self.file.write_plugging)
    }
}

/// The shape of zones with logical blocks of this size.
pub(super) fn shape(zones: &ZonesConfig, block: wordline_kernel::Bytes) -> Shape {
    let layout = &zones.layout;
    let count = u64::from(layout.zones);
    let (size, capacity) = (block * layout.size, block * u64::from(layout.capacity));
    Shape {
        namespaces: vec![size.0 * count / SECTOR.0],
        capacity: capacity * count,
        sector_size: block,
        logical_page: block,
        discard_unit: block,
        deallocates_zeroes: false,
        block_set: capacity,
        zones: Some(ZoneShape { size, capacity, count: layout.zones, max_active: zones.limits.active }),
    }
}
