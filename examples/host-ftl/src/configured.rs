//! The host FTL as a device type that configurations can name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_device::block_device::Shape;
use wordline_device::physical_device::Geometry;
use wordline_kernel::{Bytes, Complaints, Duration, Metric, Seed};
use wordline_lab::devices::{ChipsInfo, Designs, DeviceType, Embedded};
use wordline_open_channel::{OpenChannel, OpenChannelConfig, OpenChannelFile, device as open_channel};

use crate::HostFtl;
use crate::ftl::{Counts, RESERVE};

/// Configuration of a host FTL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostFtlFile {
    /// Fraction of the device that the host does not see.
    #[serde(default = "over_provisioning")]
    pub over_provisioning: f64,
    /// Size of the write buffer in host memory.
    #[serde(default = "buffer")]
    pub buffer: Bytes,
    /// Host time per command, in addition to the device time.
    #[serde(default = "command_time")]
    pub command_time: Duration,
    /// The open-channel device.
    pub open_channel: OpenChannelFile,
}

/// Chosen: more than pblk's 11 %, for devices with few lines.
fn over_provisioning() -> f64 {
    0.2
}

/// Chosen: several program units of any part for each of a few parallel units.
fn buffer() -> Bytes {
    Bytes(4 << 20)
}

/// Chosen: a few thousand instructions.
fn command_time() -> Duration {
    Duration::from_us(1)
}

/// A checked configuration of a host FTL.
#[derive(Clone, Debug)]
pub struct HostFtlType {
    file: HostFtlFile,
    device: OpenChannelConfig,
    /// Logical pages.
    pages: u32,
}

/// Most logical pages with which GC always gains space. The free lines, the open line and the victim do not
/// count. Each of the other lines counts without one program unit.
fn most_pages(geometry: &Geometry) -> u32 {
    let line = geometry.units() * geometry.blocks_per_chunk;
    geometry.chunks_per_unit.saturating_sub(RESERVE as u32 + 3) * (line - geometry.ws_min)
}

impl DeviceType for HostFtlType {
    const NAME: &'static str = "host-ftl";
    const DESCRIPTION: &'static str = "An FTL of the host on an open-channel device.";
    /// The SSD that this table configures.
    const SSDS: &'static [&'static str] = &["open_channel"];

    type File = HostFtlFile;
    type Device = HostFtl<OpenChannel>;

    fn check(file: HostFtlFile, _: &Designs) -> Result<Self, Complaints> {
        let mut wrong = Complaints::default();
        let device =
            file.open_channel.clone().check().map_err(|inner| wrong.nest("open_channel", inner)).ok();
        let Some(device) = device else { return Err(wrong) };
        let geometry = &device.geometry;
        let delay = geometry.mw_cunits;
        wrong.require(
            delay == 0,
            "open_channel.mw_cunits",
            delay,
            "0: the FTL keeps a page until it is programmed, no longer",
        );
        let (all, most) = (geometry.chunks() * geometry.blocks_per_chunk, most_pages(geometry));
        let pages = (f64::from(all) * (1.0 - file.over_provisioning.clamp(0.0, 1.0))) as u32;
        wrong.require(
            (0.0..1.0).contains(&file.over_provisioning) && (1..=most).contains(&pages),
            "over_provisioning",
            file.over_provisioning,
            format!("at least {:.4} and below 1", 1.0 - f64::from(most) / f64::from(all)),
        );
        let (least, line) = (2 * geometry.ws_min, geometry.units() * geometry.blocks_per_chunk);
        let [least, line] = [least, line / 2].map(|pages| geometry.block_size * u64::from(pages));
        wrong.require(
            (least..=line).contains(&file.buffer),
            "buffer",
            file.buffer,
            format!("from {least}, two program units, to {line}, half of the chunks of one number"),
        );
        wrong.into_result(()).map(|()| Self { file, device, pages })
    }

    fn file(&self) -> HostFtlFile {
        self.file.clone()
    }

    fn shape(&self) -> Shape {
        let Geometry { block_size, blocks_per_chunk, .. } = self.device.geometry;
        let capacity = block_size * u64::from(self.pages);
        Shape {
            namespaces: vec![capacity.0 / SECTOR.0],
            capacity,
            sector_size: block_size,
            logical_page: block_size,
            discard_unit: block_size,
            deallocates_zeroes: true,
            block_set: block_size * u64::from(blocks_per_chunk),
            zones: None,
        }
    }

    fn build(&self, seed: Seed) -> Self::Device {
        let buffer = (self.file.buffer.0 / self.device.geometry.block_size.0) as u32;
        HostFtl::new(OpenChannel::new(self.device.clone(), seed), self.pages, buffer, self.file.command_time)
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        vec![ChipsInfo::of(self.device.pools.first())]
    }

    fn metrics() -> Vec<&'static Metric> {
        Counts::METRICS.iter().chain(open_channel::metrics()).collect()
    }

    fn presets() -> &'static [Embedded] {
        &[("host-ftl", include_str!("../host-ftl.toml"))]
    }
}
