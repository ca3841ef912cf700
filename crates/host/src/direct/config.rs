//! Configuration of a host without an FTL, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::block_device::Shape;
use wordline_kernel::{Complaints, Seed};
use wordline_open_channel::{OpenChannel, OpenChannelConfig, OpenChannelFile};

use super::Direct;
use super::layout::{Layout, Spread};

/// Default fraction of the chunks that the host does not address. Chosen: the default of pblk.
const OVER_PROVISIONING: f64 = 0.11;

/// Minimum number of chunks in each parallel unit that the host does not address: one open chunk, and one
/// chunk that becomes free.
const LEAST_SPARE: u32 = 2;

/// Configuration of a host without an FTL, as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HostOfOpenChannelFile")]
pub struct DirectFile {
    /// Fraction of the chunks that the host does not address.
    #[serde(default = "over_provisioning")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub over_provisioning: f64,
    /// Distribution of writes over the parallel units.
    #[serde(default)]
    pub spread: Spread,
    /// Whether the host repeats a failed device write at another location. Without it the request fails.
    #[serde(default = "yes")]
    pub retry: bool,
    /// The open-channel device.
    pub open_channel: OpenChannelFile,
}

fn over_provisioning() -> f64 {
    OVER_PROVISIONING
}

fn yes() -> bool {
    true
}

/// A checked configuration of a host without an FTL.
#[derive(Clone, Debug)]
pub struct DirectConfig {
    /// The configuration as given.
    pub file: DirectFile,
    /// The device below.
    pub device: OpenChannelConfig,
    /// The sizes that follow from the configuration.
    pub layout: Layout,
}

impl DirectFile {
    /// Checks the configuration of the host and of its device.
    ///
    /// # Errors
    /// Every key that is invalid.
    pub fn check(self) -> Result<DirectConfig, Complaints> {
        let mut wrong = Complaints::default();
        let device =
            self.open_channel.clone().check().map_err(|inner| wrong.nest("open_channel", inner)).ok();
        let Some(device) = device else { return Err(wrong) };
        let geometry = &device.geometry;
        let unreadable = geometry.mw_cunits;
        wrong.require(
            unreadable == 0,
            "open_channel.mw_cunits",
            unreadable,
            "0: the host has no buffer for data that the device cannot read yet",
        );
        let open = geometry.max_open;
        wrong.require(
            open == 0 || open >= geometry.units(),
            "open_channel.max_open",
            open,
            format!("at least {}: one for each parallel unit", geometry.units()),
        );
        let chunks = geometry.chunks_per_unit;
        let spare = (f64::from(chunks) * self.over_provisioning.clamp(0.0, 1.0)).ceil() as u32;
        let spare = spare.max(LEAST_SPARE);
        let fits = (0.0..1.0).contains(&self.over_provisioning) && spare < chunks;
        let wanted = format!(
            "a fraction from 0 to below 1 that leaves the host at least one of the {chunks} chunks of a parallel unit, besides {LEAST_SPARE} spare ones"
        );
        wrong.require(fits, "over_provisioning", self.over_provisioning, wanted);
        let places = u64::from(geometry.chunks()) * u64::from(geometry.blocks_per_chunk);
        let wanted = format!("fewer than {}: the map addresses them with a word", u32::MAX);
        wrong.require(
            places < u64::from(u32::MAX),
            "open_channel.logical_block",
            format!("{places} logical blocks"),
            wanted,
        );
        wrong.into_result(())?;
        let layout = Layout {
            groups: u32::from(geometry.groups),
            units: geometry.units(),
            chunks_per_unit: chunks,
            blocks_per_chunk: geometry.blocks_per_chunk,
            ws_min: geometry.ws_min,
            pages: (chunks - spare) * geometry.units() * geometry.blocks_per_chunk,
            spread: self.spread,
            retry: self.retry,
        };
        Ok(DirectConfig { file: self, device, layout })
    }
}

impl DirectConfig {
    /// The shape of the device as a host sees it.
    pub fn shape(&self) -> Shape {
        self.device.geometry.shape_of(self.layout.pages)
    }

    /// A new device.
    pub fn build(&self, seed: Seed) -> Direct<OpenChannel> {
        Direct::new(OpenChannel::new(self.device.clone(), seed), self.layout)
    }
}
