//! The configuration of the front end, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration};

/// Configuration of the front end, between the host and the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrontFile {
    /// Commands that the device executes at once; more wait in the queue.
    pub queue_depth: u32,
    /// Firmware time of every command, before its other work. With a direct interface it includes the link.
    pub command_time: Duration,
    /// How commands and data reach the device.
    pub interface: Interface,
    /// Sector size of the host: addresses and sizes of commands are whole sectors.
    pub sector_size: Bytes,
    /// Settings of the interface `nvme`.
    pub nvme: NvmeFile,
    /// Settings of the interface `sata`.
    pub sata: SataFile,
}

/// How commands and data reach the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// At no cost, from one unlimited queue.
    Direct,
    /// From many submission queues, over a PCI Express link.
    Nvme,
    /// From a native command queue of 32, over a Serial ATA link.
    Sata,
}

/// Submission queues, and the link to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NvmeFile {
    /// Submission queues; a command names its queue by number, modulo this.
    pub queues: u32,
    /// Entries of a submission queue. One stays empty; further commands wait in the host.
    #[schemars(range(min = 2, max = 65_536))]
    pub entries: u32,
    /// Arbitration: the submission queue from which the device takes the next command.
    pub arbitration: Arbitration,
    /// The link.
    pub link: PcieFile,
}

/// Arbitration: the submission queue from which the device takes the next command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arbitration {
    /// From all queues in turn.
    RoundRobin {
        /// Commands taken from a queue in its turn; 0 for all that it has.
        #[serde(default = "one")]
        burst: u32,
    },
    /// From urgent queues first, in turn; then from those of high, medium and low priority by their weights.
    WeightedRoundRobin {
        /// Commands taken from a queue in its turn; 0 for all that its weight allows.
        #[serde(default = "one")]
        burst: u32,
        /// The priorities of the queues, in turn: letters U, H, M and L.
        #[serde(default = "every_priority")]
        priorities: String,
        /// Commands that queues of high priority may start in a round.
        #[serde(default = "weight_high")]
        high: u32,
        /// Commands that queues of medium priority may start in a round.
        #[serde(default = "weight_medium")]
        medium: u32,
        /// Commands that queues of low priority may start in a round.
        #[serde(default = "weight_low")]
        low: u32,
    },
}

fn one() -> u32 {
    1
}

fn every_priority() -> String {
    "UHML".into()
}

fn weight_high() -> u32 {
    4
}

fn weight_medium() -> u32 {
    2
}

fn weight_low() -> u32 {
    1
}

/// A PCI Express link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PcieFile {
    /// Generation, from 1 (2.5 GT/s a lane) to 5 (32 GT/s).
    pub generation: u32,
    /// Lanes.
    pub lanes: u32,
    /// Largest data payload of a packet (MPS).
    pub max_payload: Bytes,
    /// Largest read request of the device to host memory (MRRS).
    pub max_read_request: Bytes,
    /// One-way latency of a packet beyond its transmission time: bridges, and host memory.
    pub latency: Duration,
}

/// A Serial ATA link with native command queuing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SataFile {
    /// Generation: 1 for 1.5 Gb/s, 2 for 3 Gb/s, 3 for 6 Gb/s.
    pub generation: u32,
    /// Link time of a frame beyond its bytes: handshake before it and acknowledgement after it.
    pub handshake: Duration,
}

/// A part of the logical capacity with addresses of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceFile {
    /// Size, a multiple of 1 MiB. Either this or `fraction`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Fraction of the logical capacity, rounded down to 1 MiB. Either this or `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
}

impl Default for FrontFile {
    /// 256 commands, no time, no link: the closed forms of the flash alone. Chosen; presets have the values
    /// of their drives.
    fn default() -> Self {
        Self {
            queue_depth: 256,
            command_time: Duration::ZERO,
            interface: Interface::Direct,
            sector_size: Bytes(512),
            nvme: NvmeFile::default(),
            sata: SataFile::default(),
        }
    }
}

impl Default for NvmeFile {
    /// Eight queues, one for each processor of a desktop computer, with 1,024 entries, as many as Linux
    /// requests (`io_queue_depth` of its nvme driver). Chosen.
    fn default() -> Self {
        Self {
            queues: 8,
            entries: 1024,
            arbitration: Arbitration::RoundRobin { burst: 1 },
            link: PcieFile::default(),
        }
    }
}

impl Default for PcieFile {
    /// Four lanes of generation 3, as client drives have since 2015; 256 B a packet and 512 B a read request,
    /// as current hosts set them. A quarter of a microsecond one way, so that a read of the host's memory
    /// takes half of one. Chosen.
    fn default() -> Self {
        Self {
            generation: 3,
            lanes: 4,
            max_payload: Bytes(256),
            max_read_request: Bytes(512),
            latency: Duration::from_ns(250),
        }
    }
}

impl Default for SataFile {
    /// 6 Gb/s, as drives have had since 2009, and 0.1 µs for the handshake of a frame. Chosen.
    fn default() -> Self {
        Self { generation: 3, handshake: Duration::from_ns(100) }
    }
}

/// Most submission queues of a device. Chosen: above the processors of any host, and a word has a bit for
/// each 64 of them.
pub const MOST_QUEUES: u32 = 4096;

impl FrontFile {
    /// Adds its complaints, under keys that begin with `front`.
    pub fn check(&self, wrong: &mut Complaints) {
        let mut inner = Complaints::default();
        let depth = self.queue_depth;
        inner.require((1..=65_535).contains(&depth), "queue_depth", depth, "from 1 to 65535");
        let limit = Duration::from_ms(10_000);
        inner.require(self.command_time <= limit, "command_time", self.command_time, "at most 10s");
        let sector = self.sector_size;
        inner.require([Bytes(512), Bytes::kib(4)].contains(&sector), "sector_size", sector, "512B or 4KiB");
        self.nvme.check(&mut inner);
        let generation = self.sata.generation;
        inner.require((1..=3).contains(&generation), "sata.generation", generation, "1, 2 or 3");
        let handshake = self.sata.handshake;
        inner.require(handshake <= Duration::from_ms(1), "sata.handshake", handshake, "at most 1ms");
        wrong.nest("front", inner);
    }
}

impl NvmeFile {
    fn check(&self, wrong: &mut Complaints) {
        let wanted = format!("from 1 to {MOST_QUEUES}");
        wrong.require((1..=MOST_QUEUES).contains(&self.queues), "nvme.queues", self.queues, wanted);
        let entries = self.entries;
        wrong.require((2..=65_536).contains(&entries), "nvme.entries", entries, "from 2 to 65536");
        self.arbitration.check(wrong);
        wrong.nest("nvme.link", self.link.complaints());
    }
}

impl PcieFile {
    /// All complaints.
    pub(crate) fn complaints(&self) -> Complaints {
        let mut wrong = Complaints::default();
        let Self { generation, lanes, max_payload, max_read_request, latency } = *self;
        wrong.require((1..=5).contains(&generation), "generation", generation, "from 1 to 5");
        wrong.require([1, 2, 4, 8, 16].contains(&lanes), "lanes", lanes, "1, 2, 4, 8 or 16");
        for (key, size) in [("max_payload", max_payload), ("max_read_request", max_read_request)] {
            let holds = size.0.is_power_of_two() && (128..=4096).contains(&size.0);
            wrong.require(holds, key, size, "a power of two from 128B to 4KiB");
        }
        wrong.require(latency <= Duration::from_ms(1), "latency", latency, "at most 1ms");
        wrong
    }
}

impl Arbitration {
    fn check(&self, wrong: &mut Complaints) {
        let (Self::RoundRobin { burst } | Self::WeightedRoundRobin { burst, .. }) = self;
        let holds = *burst == 0 || burst.is_power_of_two() && *burst <= 64;
        wrong.require(
            holds,
            "nvme.arbitration.burst",
            burst,
            "a power of two from 1 to 64, or 0 for no limit",
        );
        let Self::WeightedRoundRobin { priorities, high, medium, low, .. } = self else { return };
        let holds = !priorities.is_empty() && priorities.chars().all(|letter| "UHML".contains(letter));
        wrong.require(holds, "nvme.arbitration.priorities", priorities, "letters U, H, M and L");
        for (key, weight) in [("high", high), ("medium", medium), ("low", low)] {
            let key = format!("nvme.arbitration.{key}");
            wrong.require((1..=256).contains(weight), &key, weight, "from 1 to 256");
        }
    }
}
