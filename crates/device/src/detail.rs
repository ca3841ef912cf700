//! Metrics of a device by channel, die, block and component.

use wordline_flash::faults::Faults;
use wordline_kernel::metrics::Unit;
use wordline_kernel::{Duration, Metric, Metrics};
use wordline_nand::{Chips, DieTimes, EnergyReport};

use crate::lifetime::PoolWear;
use crate::times::{Times, WriteBack};

/// Metrics of a device between two times, by component. A device that consists of other devices
/// [joins](Self::join) their metrics.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// Latency breakdown of commands; `None` if it is not recorded.
    pub times: Option<Times>,
    /// Energy of the flash.
    pub energy: EnergyReport,
    /// Latency breakdown of the commands that destaged the buffers, by pool.
    pub written_back: Vec<WriteBack>,
    /// Busy time of each direction of the links.
    pub links: Vec<Duration>,
    /// Busy time of each channel's bus.
    pub buses: Vec<Duration>,
    /// Busy time of each die's array.
    pub arrays: Vec<Duration>,
    /// Times for which each die sensed, programmed, erased and occupied its bus.
    pub dies: Vec<DieTimes>,
    /// Time for which dies waited for the buses of their channels, summed over all dies.
    pub bus_waits: Duration,
    /// Flash pools.
    pub pools: Vec<PoolDetail>,
    /// Member devices; empty if there are none.
    pub members: Vec<MemberDetail>,
}

/// A member of a device that consists of other devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDetail {
    /// Role at the end of the run, as text.
    pub role: String,
    /// Number of reads sent to the member.
    pub reads: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Number of writes sent to the member.
    pub writes: u64,
    /// Bytes of these writes.
    pub written_bytes: u64,
    /// Bytes of parity in these writes.
    pub parity_bytes: u64,
    /// Number of the member's parts. They follow those of earlier members.
    pub parts: PartCounts,
}

/// Number of parts of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartCounts {
    /// Directions of the links.
    pub links: usize,
    /// Channels.
    pub buses: usize,
    /// Dies.
    pub dies: usize,
    /// Flash pools.
    pub pools: usize,
}

/// A flash pool.
#[derive(Clone, Debug)]
pub struct PoolDetail {
    /// The NAND part.
    pub part: String,
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// Planes whose blocks are erased together.
    pub planes: u32,
    /// Flash pages programmed, including padding.
    pub programs: u64,
    /// Wear of the pool.
    pub worn: PoolWear,
    /// Valid fraction of the pool at the end of the run.
    pub valid_share: f64,
    /// Failures and energy of the pool; see [`of_pool`].
    pub metrics: Metrics,
    /// Dies of the pool, in order.
    pub dies: Vec<DieDetail>,
}

/// A die.
#[derive(Clone, Debug)]
pub struct DieDetail {
    /// Multi-plane blocks in order, each with its erases since new and whether it is retired.
    pub blocks: Vec<(u32, bool)>,
}

impl Detail {
    /// Number of the parts of the device.
    pub fn parts(&self) -> PartCounts {
        PartCounts {
            links: self.links.len(),
            buses: self.buses.len(),
            dies: self.dies.len(),
            pools: self.pools.len(),
        }
    }

    /// Joins the details of several devices. Latency breakdowns are left out, because the joined device has
    /// commands of its own.
    pub fn join(devices: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for device in devices {
            all.energy = [all.energy, device.energy].into_iter().sum();
            all.written_back.extend(device.written_back);
            all.links.extend(device.links);
            all.buses.extend(device.buses);
            all.arrays.extend(device.arrays);
            all.dies.extend(device.dies);
            all.bus_waits += device.bus_waits;
            all.pools.extend(device.pools);
            all.members.extend(device.members);
        }
        all
    }
}

/// Time for which dies waited for the buses, in bus grants that have begun.
pub fn bus_waits(chips: &Chips) -> Duration {
    Duration::from_ps(chips.bus_waited().sum())
}

/// The energy of a pool.
pub const ENERGY_OF_POOL: Metric =
    Metric::new("energy_joules", Unit::Joules, "Energy of its flash, operations and idle time.");

/// The metrics of each pool that are not fields of [`PoolDetail`].
pub fn of_pool() -> impl Iterator<Item = &'static Metric> {
    Faults::METRICS.iter().chain([&ENERGY_OF_POOL])
}
