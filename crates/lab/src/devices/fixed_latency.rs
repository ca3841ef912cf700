//! The device type `fixed-latency`: a device whose commands all take the same time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::Designs;
use wordline_device::block_device::Shape;
use wordline_device::{BlockDevice, SECTOR};
use wordline_kernel::{Bytes, Complaints, Duration, Seed};

use super::device_type::DeviceType;
use crate::config::embedded::{Embedded, OTHER_PRESETS};

/// The validated configuration of a device with a fixed latency.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedLatency(FixedLatencyFile);

/// Keys of a device with a fixed latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedLatencyFile {
    /// Capacity that the host sees.
    pub capacity: Bytes,
    /// Latency of every command, independent of load.
    pub latency: Duration,
}

impl Default for FixedLatencyFile {
    /// Chosen: the capacity of MQSim's device, and the latency of the fastest drives.
    fn default() -> Self {
        Self { capacity: Bytes(64 << 30), latency: Duration::from_us(10) }
    }
}

impl DeviceType for FixedLatency {
    const NAME: &'static str = "fixed-latency";
    const DESCRIPTION: &'static str = "Completes each command after the same time and stores no data: a lower bound on the wall time of runs.";

    type File = FixedLatencyFile;
    type Device = wordline_device::FixedLatency;

    fn check(file: FixedLatencyFile, _: &Designs) -> Result<Self, Complaints> {
        let mut wrong = Complaints::default();
        let (capacity, latency) = (file.capacity, file.latency);
        let whole = capacity.0 > 0 && capacity.0.is_multiple_of(SECTOR.0);
        wrong.require(whole, "capacity", capacity, format!("a multiple of {SECTOR} above 0"));
        let holds = latency > Duration::ZERO && latency <= Duration::from_ms(3_600_000);
        wrong.require(holds, "latency", latency, "above 0 and at most 1h");
        wrong.into_result(Self(file))
    }

    fn file(&self) -> FixedLatencyFile {
        self.0.clone()
    }

    fn shape(&self) -> Shape {
        // The device is cheap, so it is made just to get its shape.
        self.build(Seed(0)).shape()
    }

    fn build(&self, _seed: Seed) -> Self::Device {
        wordline_device::FixedLatency::new(self.0.capacity, self.0.latency)
    }

    fn presets() -> &'static [Embedded] {
        OTHER_PRESETS
    }
}
