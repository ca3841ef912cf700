//! Configuration of the front end, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::link::{PcieFile, SataFile};
use wordline_kernel::{Bytes, Complaints, Duration};

/// Configuration of the front end, between the host and the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrontFile {
    /// Most commands that the device executes at a time. Further commands wait in the queue.
    pub queue_depth: u32,
    /// Firmware time of each command, before its other work. With a direct interface it includes the time on
    /// the link.
    pub command_time: Duration,
    /// Least time between two commands in the firmware, which limits the commands a second: with 1us to a
    /// million. Commands wait for it before their `command_time`. 0 for no limit.
    pub command_interval: Duration,
    /// How commands and data reach the device.
    pub interface: Interface,
    /// Sector size of the host. Addresses and sizes of commands are multiples of it.
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
    /// From one unlimited queue, in no time.
    Direct,
    /// From several submission queues, over a PCI Express link.
    Nvme,
    /// From a native command queue with 32 entries, over a Serial ATA link.
    Sata,
}

/// NVMe submission queues, and the link to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NvmeFile {
    /// Number of submission queues. The queue number of a command is taken modulo this number.
    pub queues: u32,
    /// Entries of each submission queue. One entry stays empty. Commands without an entry wait in the host.
    #[schemars(range(min = 2, max = 65_536))]
    pub entries: u32,
    /// Arbitration: selects the submission queue from which the device takes the next command.
    pub arbitration: Arbitration,
    /// The link.
    pub link: PcieFile,
}

/// Arbitration: selects the submission queue from which the device takes the next command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arbitration {
    /// All queues take turns.
    RoundRobin {
        /// Most commands taken from a queue in its turn; 0 for all commands in the queue.
        #[serde(default = "one")]
        burst: u32,
    },
    /// Urgent queues go first and take turns. Queues of high, medium and low priority share the rest by their
    /// weights.
    WeightedRoundRobin {
        /// Most commands taken from a queue in its turn; 0 for as many as its weight allows.
        #[serde(default = "one")]
        burst: u32,
        /// Priorities of the queues: a string of the letters U, H, M and L, which repeats if there are more
        /// queues than letters.
        #[serde(default = "every_priority")]
        priorities: String,
        /// Weight of high priority: the commands that its queues may start in a round.
        #[serde(default = "weight_high")]
        high: u32,
        /// Weight of medium priority: the commands that its queues may start in a round.
        #[serde(default = "weight_medium")]
        medium: u32,
        /// Weight of low priority: the commands that its queues may start in a round.
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

/// A namespace: a part of the logical capacity with its own addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceFile {
    /// Size, a multiple of 1 MiB. Use either this key or `fraction`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Fraction of the logical capacity, rounded down to 1 MiB. Use either this key or `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
}

impl Default for FrontFile {
    /// Chosen: 256 commands, without firmware time and without a link, so that closed forms of the flash
    /// alone apply. Presets have the values of their drives.
    fn default() -> Self {
        Self {
            queue_depth: 256,
            command_time: Duration::ZERO,
            command_interval: Duration::ZERO,
            interface: Interface::Direct,
            sector_size: Bytes(512),
            nvme: NvmeFile::default(),
            sata: SataFile::default(),
        }
    }
}

impl Default for NvmeFile {
    /// Chosen: eight queues, one for each processor of a desktop computer. Each has 1,024 entries, the number
    /// that Linux requests (`io_queue_depth` of its nvme driver).
    fn default() -> Self {
        Self {
            queues: 8,
            entries: 1024,
            arbitration: Arbitration::RoundRobin { burst: 1 },
            link: PcieFile::default(),
        }
    }
}

/// Most submission queues of a device. Chosen: more than the processors of any host. One 64-bit word then has
/// a bit for each group of 64 queues.
pub const MOST_QUEUES: u32 = 4096;

impl FrontFile {
    /// Adds complaints about these settings, with keys that begin with `front`.
    pub fn check(&self, wrong: &mut Complaints) {
        let mut inner = Complaints::default();
        let depth = self.queue_depth;
        inner.require((1..=65_535).contains(&depth), "queue_depth", depth, "from 1 to 65535");
        let limit = Duration::from_ms(10_000);
        inner.require(self.command_time <= limit, "command_time", self.command_time, "at most 10s");
        let interval = self.command_interval;
        inner.require(interval <= limit, "command_interval", interval, "at most 10s");
        let sector = self.sector_size;
        inner.require([Bytes(512), Bytes::kib(4)].contains(&sector), "sector_size", sector, "512B or 4KiB");
        self.nvme.check(&mut inner);
        inner.nest("sata", self.sata.complaints());
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
