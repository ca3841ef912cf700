//! Configuration of host links, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration};

/// A PCI Express link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PcieFile {
    /// Generation, from 1 (2.5 GT/s a lane) to 5 (32 GT/s).
    pub generation: u32,
    /// Lanes.
    pub lanes: u32,
    /// Bytes that a lane transfers in a second in each direction, headers of packets included, such as
    /// `1000MB`. Default: the rate of the generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane_bandwidth: Option<Bytes>,
    /// Largest data payload of a packet (MPS).
    pub max_payload: Bytes,
    /// Largest read request of the device to host memory (MRRS).
    pub max_read_request: Bytes,
    /// One-way latency of a packet in addition to its transmission time: bridges, and host memory.
    pub latency: Duration,
}

/// A Serial ATA link with native command queuing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SataFile {
    /// Generation: 1 for 1.5 Gb/s, 2 for 3 Gb/s, 3 for 6 Gb/s.
    pub generation: u32,
    /// Link time of a frame in addition to its bytes: the handshake before it and the acknowledgement after
    /// it.
    pub handshake: Duration,
}

impl Default for PcieFile {
    /// Chosen: four lanes of generation 3, as in client drives since 2015. Current hosts set 256 B a packet
    /// and 512 B a read request. The one-way latency is a quarter of a microsecond, so that a read of host
    /// memory takes half a microsecond.
    fn default() -> Self {
        Self {
            generation: 3,
            lanes: 4,
            lane_bandwidth: None,
            max_payload: Bytes(256),
            max_read_request: Bytes(512),
            latency: Duration::from_ns(250),
        }
    }
}

impl Default for SataFile {
    /// Chosen: 6 Gb/s, as in drives since 2009, and 0.1 µs for the handshake of a frame.
    fn default() -> Self {
        Self { generation: 3, handshake: Duration::from_ns(100) }
    }
}

impl PcieFile {
    /// All complaints about these settings.
    pub fn complaints(&self) -> Complaints {
        let mut wrong = Complaints::default();
        let Self { generation, lanes, lane_bandwidth, max_payload, max_read_request, latency } = *self;
        wrong.require((1..=5).contains(&generation), "generation", generation, "from 1 to 5");
        wrong.require([1, 2, 4, 8, 16].contains(&lanes), "lanes", lanes, "1, 2, 4, 8 or 16");
        if let Some(bandwidth) = lane_bandwidth {
            let holds = (1_000_000..=1_000_000_000_000).contains(&bandwidth.0);
            wrong.require(holds, "lane_bandwidth", bandwidth, "from 1MB to 1000GB a second");
        }
        for (key, size) in [("max_payload", max_payload), ("max_read_request", max_read_request)] {
            let holds = size.0.is_power_of_two() && (128..=4096).contains(&size.0);
            wrong.require(holds, key, size, "a power of two from 128B to 4KiB");
        }
        wrong.require(latency <= Duration::from_ms(1), "latency", latency, "at most 1ms");
        wrong
    }
}

impl SataFile {
    /// All complaints about these settings.
    pub fn complaints(&self) -> Complaints {
        let mut wrong = Complaints::default();
        let Self { generation, handshake } = *self;
        wrong.require((1..=3).contains(&generation), "generation", generation, "1, 2 or 3");
        wrong.require(handshake <= Duration::from_ms(1), "handshake", handshake, "at most 1ms");
        wrong
    }
}
