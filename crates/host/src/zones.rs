//! A host FTL over zones: the FTL of [`pblk`](crate::pblk) with lines of zones.
//!
//! The FTL treats zones as chunks: a line has one zone of each set of parallel units. It writes zones in
//! order, keeps a page-level L2P map, collects the line with the fewest valid pages, and then resets the
//! zones of that line. `docs/zoned.md` lists the keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::block_device::Shape;
use wordline_device::physical_device::Geometry;
use wordline_kernel::{Bytes, Complaints, Duration, Seed};
use wordline_open_channel::zoned::{ZonesConfig, ZonesFile, check_device};
use wordline_open_channel::{OpenChannel, OpenChannelConfig, OpenChannelFile, Zoned};

use crate::pblk::{CollectorFile, Layout, OPEN_LINES, Pblk, Sizes, check_host, check_places, command_time};

/// Configuration of a zoned host, as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZonedFile {
    /// Fraction of the zones that the host does not see. Default: 0.11, or the least that the device needs
    /// if that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<f64>,
    /// Size of the write ring buffer in host memory, rounded up to a power of two of logical blocks. Left
    /// out: the size that pblk computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<Bytes>,
    /// Host time per command, in addition to the device time.
    #[serde(default = "command_time")]
    pub command_time: Duration,
    /// Concurrency of garbage collection.
    #[serde(default)]
    pub gc: CollectorFile,
    /// The zones.
    #[serde(default)]
    pub zones: ZonesFile,
    /// The open-channel device that the zones are made of.
    pub open_channel: OpenChannelFile,
}

/// A checked configuration of a zoned host.
#[derive(Clone, Debug)]
pub struct ZonedConfig {
    /// The configuration as given.
    pub file: ZonedFile,
    /// The device below the zones.
    pub device: OpenChannelConfig,
    /// The zones.
    pub zones: ZonesConfig,
    /// The layout of the FTL that follows from the configuration.
    pub layout: Layout,
}

impl ZonedFile {
    /// Checks the configuration of the host and of its device.
    ///
    /// # Errors
    /// Every key that is invalid.
    pub fn check(self) -> Result<ZonedConfig, Complaints> {
        let mut wrong = Complaints::default();
        check_host(&self.gc, self.command_time, &mut wrong);
        let Some((device, zones)) = check_below(&self.open_channel, &self.zones, &mut wrong) else {
            return Err(wrong);
        };
        let geometry = zones.geometry(&device.geometry);
        check_limits(&geometry, &mut wrong);
        check_places(&geometry, &mut wrong);
        let sizes = Sizes { over_provisioning: self.over_provisioning, write_buffer: self.write_buffer };
        sizes.check(&geometry, &mut wrong);
        wrong.into_result(())?;
        let layout = sizes.layout(&geometry)?;
        Ok(ZonedConfig { file: self, device, zones, layout })
    }
}

/// Checks zones and the open-channel device that they are made of.
pub(crate) fn check_below(
    open_channel: &OpenChannelFile,
    zones: &ZonesFile,
    wrong: &mut Complaints,
) -> Option<(OpenChannelConfig, ZonesConfig)> {
    if let Err(inner) = check_device(open_channel) {
        wrong.nest("open_channel", inner);
    }
    let device = open_channel.clone().check().map_err(|inner| wrong.nest("open_channel", inner)).ok()?;
    let zones = zones.check(open_channel, &device.geometry);
    let zones = zones.map_err(|inner| wrong.nest("zones", inner)).ok()?;
    Some((device, zones))
}

/// Checks that the limit of active zones allows the lines that the FTL keeps open.
fn check_limits(geometry: &Geometry, wrong: &mut Complaints) {
    let (active, units) = (geometry.max_open, geometry.units());
    let least = OPEN_LINES * units;
    let wanted = format!("at least {least}: {OPEN_LINES} lines of {units} zones; leave it out for no limit");
    wrong.require(active == 0 || active >= least, "zones.max_active", active, wanted);
}

impl ZonedConfig {
    /// The shape of the device as a host sees it.
    pub fn shape(&self) -> Shape {
        self.device.geometry.shape_of(self.layout.pages)
    }

    /// A new device.
    pub fn build(&self, seed: Seed) -> Pblk<Zoned<OpenChannel>> {
        let device = Zoned::new(self.zones, OpenChannel::new(self.device.clone(), seed));
        Pblk::new(device, self.layout, self.file.command_time, self.file.gc)
    }
}
