//! The configuration of the FTL over an open-channel device, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::block_device::Shape;
use wordline_device::physical_device::{Geometry, MOST_BLOCKS};
use wordline_kernel::{Bytes, Complaints, Duration, Seed};
use wordline_open_channel::{OpenChannel, OpenChannelConfig, OpenChannelFile};

use super::layout::least_ring;
use super::{CollectorFile, Layout, Pblk};

/// Default over-provisioning of pblk (Linux 5.10: PBLK_DEFAULT_OP).
const OVER_PROVISIONING: f64 = 0.11;

/// Number of steps between 0 and 1 in the search for the least over-provisioning. Chosen: the precision at
/// which messages show it.
const STEPS: u32 = 1_000;

/// Maximum number of locations that an L2P map word can address besides the ring.
const MOST_PLACES: u64 = (1 << 31) - 32;

/// Configuration of a host FTL after pblk, as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PblkFile {
    /// Fraction of the chunks that the host does not see. Default: 0.11, or the least that the device needs
    /// if that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<f64>,
    /// Size of the write ring buffer in host memory, rounded up to a power of two of logical blocks. Left
    /// out: the size that pblk computes from `ws_opt`, `mw_cunits` and the parallel units of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<Bytes>,
    /// Host time per command, in addition to the device time.
    #[serde(default = "command_time")]
    pub command_time: Duration,
    /// Concurrency of garbage collection.
    #[serde(default)]
    pub gc: CollectorFile,
    /// The open-channel device.
    pub open_channel: OpenChannelFile,
}

/// Chosen: a few thousand instructions.
pub(crate) fn command_time() -> Duration {
    Duration::from_us(1)
}

/// A checked configuration of a host FTL.
#[derive(Clone, Debug)]
pub struct PblkConfig {
    /// The configuration as given.
    pub file: PblkFile,
    /// The device below.
    pub device: OpenChannelConfig,
    /// The layout of the FTL that follows from the configuration.
    pub layout: Layout,
}

impl PblkFile {
    /// Checks the configuration of the FTL and of its device.
    ///
    /// # Errors
    /// Every key that is invalid.
    pub fn check(self) -> Result<PblkConfig, Complaints> {
        let mut wrong = Complaints::default();
        check_host(&self.gc, self.command_time, &mut wrong);
        let device =
            self.open_channel.clone().check().map_err(|inner| wrong.nest("open_channel", inner)).ok();
        let Some(device) = device else { return Err(wrong) };
        check_device(&device.geometry, &mut wrong);
        let sizes = Sizes { over_provisioning: self.over_provisioning, write_buffer: self.write_buffer };
        sizes.check(&device.geometry, &mut wrong);
        wrong.into_result(())?;
        let layout = sizes.layout(&device.geometry)?;
        Ok(PblkConfig { file: self, device, layout })
    }
}

/// Checks the keys that pblk and zoned hosts share.
pub(crate) fn check_host(gc: &CollectorFile, command_time: Duration, wrong: &mut Complaints) {
    gc.check("gc", wrong);
    check_command_time(command_time, wrong);
}

/// Longest host time of a command. Chosen: far beyond any software.
const LONGEST_COMMAND_TIME: Duration = Duration::from_ms(1_000);

/// Checks the host time of a command.
pub(crate) fn check_command_time(time: Duration, wrong: &mut Complaints) {
    let most = LONGEST_COMMAND_TIME;
    wrong.require(time <= most, "command_time", time, format!("at most {most}"));
}

/// Configured sizes of an FTL. Sizes that are left out follow from the device.
pub(crate) struct Sizes {
    /// Fraction of the chunks that the host does not see.
    pub(crate) over_provisioning: Option<f64>,
    /// Memory of the ring.
    pub(crate) write_buffer: Option<Bytes>,
}

impl Sizes {
    /// Checks that the ring fits the device.
    pub(crate) fn check(&self, geometry: &Geometry, wrong: &mut Complaints) {
        let Some(size) = self.write_buffer else { return };
        let line = u64::from(geometry.units() * geometry.blocks_per_chunk) * geometry.block_size.0;
        let least = geometry.block_size * u64::from(least_ring(geometry));
        let most = Bytes(line.max(least.0));
        let wanted = format!(
            "from {least} (unreadable blocks of open chunks and a strip for each parallel unit) to {most} (a line)"
        );
        wrong.require((least..=most).contains(&size), "write_buffer", size, wanted);
    }

    /// Configured entries of the ring.
    fn ring(&self, geometry: &Geometry) -> Option<u32> {
        Some(self.write_buffer?.0.div_ceil(geometry.block_size.0).min(1 << 30) as u32)
    }

    /// The layout of the FTL on this device. Without a configured over-provisioning it has the least
    /// over-provisioning that works.
    pub(crate) fn layout(&self, geometry: &Geometry) -> Result<Layout, Complaints> {
        let mut wrong = Complaints::default();
        let ring = self.ring(geometry);
        let least = (1..STEPS)
            .map(|step| f64::from(step) / f64::from(STEPS))
            .find(|fraction| Layout::of(geometry, *fraction, ring).is_viable());
        let Some(least) = least else {
            let lines = geometry.chunks_per_unit;
            wrong.add(
                "open_channel.part",
                format!("{lines} lines of chunks"),
                "more or larger lines, so that garbage collection has space",
            );
            return Err(wrong);
        };
        let fraction = self.over_provisioning.unwrap_or(OVER_PROVISIONING.max(least));
        let layout = Layout::of(geometry, fraction.clamp(0.001, 0.999), ring);
        let fits = (0.0..1.0).contains(&fraction) && layout.is_viable();
        let wanted = format!(
            "at least {least} (for garbage collection, metadata and the ring), below 1, and small enough to leave a page"
        );
        wrong.require(fits, "over_provisioning", fraction, wanted);
        wrong.into_result(layout)
    }
}

/// Checks that the chunks of the device divide into strips and that the map can address all of its logical
/// blocks.
fn check_device(geometry: &Geometry, wrong: &mut Complaints) {
    let (strip, size) = (geometry.ws_opt, geometry.blocks_per_chunk);
    wrong.require(
        strip as usize <= MOST_BLOCKS && size.is_multiple_of(strip) && strip.is_multiple_of(geometry.ws_min),
        "open_channel",
        format!("ws_opt {strip} in chunks of {size} logical blocks"),
        format!("a multiple of ws_min that divides a chunk, at most {MOST_BLOCKS}"),
    );
    let lines = super::writer::OPEN_LINES;
    for (key, open, of_line) in [
        ("open_channel.max_open", geometry.max_open, geometry.units()),
        ("open_channel.max_open_per_unit", geometry.max_open_per_unit, 1),
    ] {
        let least = lines * of_line;
        let wanted = format!("at least {least}, the chunks of {lines} lines; leave it out for no limit");
        wrong.require(open == 0 || open >= least, key, open, wanted);
    }
    check_places(geometry, wrong);
}

/// Checks that the map can address all logical blocks of the device.
pub(crate) fn check_places(geometry: &Geometry, wrong: &mut Complaints) {
    let places = u64::from(geometry.chunks()) * u64::from(geometry.blocks_per_chunk);
    wrong.require(
        places < MOST_PLACES,
        "open_channel.logical_block",
        format!("{places} logical blocks"),
        format!("fewer than {MOST_PLACES}, or larger ones: the map addresses them with a word"),
    );
}

impl PblkConfig {
    /// The shape of the device as a host sees it.
    pub fn shape(&self) -> Shape {
        self.device.geometry.shape_of(self.layout.pages)
    }

    /// A new device.
    pub fn build(&self, seed: Seed) -> Pblk<OpenChannel> {
        let device = OpenChannel::new(self.device.clone(), seed);
        Pblk::new(device, self.layout, self.file.command_time, self.file.gc)
    }
}
