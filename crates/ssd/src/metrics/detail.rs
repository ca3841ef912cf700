//! Metrics of a device by channel, die, block and component.

use wordline_kernel::{Duration, Instant, Metrics};
use wordline_nand::{Chips, DieTimes, EnergyReport, Pool};

use super::{ENERGY_OF_POOL, Mark, energy, programs};
use crate::base::Base;
use crate::blocks::State;
use crate::device::{Times, WriteBack};
use crate::faults::Faults;
use crate::front::Front;
use crate::lifetime::PoolWear;

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
    /// Number of the member's pools. They follow the pools of earlier members.
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
    /// Failures and energy of the pool; see [`of_pool`](super::of_pool).
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
    /// Details of a device with these engines from `mark` to `now`.
    pub(crate) fn of(base: &Base, front: &Front, mark: &Mark, now: Instant) -> Self {
        let (chips, energy) = (base.flash.chips(), energy(base, mark, now));
        let written_back =
            base.written_back().iter().zip(&mark.written_back).map(|(now, before)| WriteBack {
                fills: now.fills.since(&before.fills),
                programs: now.programs.since(&before.programs),
            });
        Self {
            times: Some(base.totals.times.since(&mark.totals.times)),
            energy: energy.iter().copied().sum(),
            written_back: written_back.collect(),
            links: since(link_busy(front, now), &mark.links),
            buses: since(chips.bus_busy(now).map(Duration::from_ps).collect(), &mark.buses),
            arrays: since(chips.array_busy(now).map(Duration::from_ps).collect(), &mark.arrays),
            dies: chips.die_times(now).zip(&mark.dies).map(|(now, before)| now.since(before)).collect(),
            bus_waits: bus_waits(chips).saturating_sub(mark.bus_waits),
            pools: pools(base, mark, &energy),
            members: Vec::new(),
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

/// Busy time of each direction of the link; empty without a link.
pub(super) fn link_busy(front: &Front, now: Instant) -> Vec<Duration> {
    front.link().map_or_else(Vec::new, |link| link.busy(now).collect())
}

/// Time for which dies waited for the buses, in bus grants that have begun.
pub(crate) fn bus_waits(chips: &Chips) -> Duration {
    Duration::from_ps(chips.bus_waited().sum())
}

fn since(now: Vec<Duration>, before: &[Duration]) -> Vec<Duration> {
    now.into_iter().zip(before).map(|(now, before)| now - *before).collect()
}

/// Failures of a pool since `mark`, and this energy.
fn metrics(base: &Base, mark: &Mark, pool: usize, energy: &EnergyReport) -> Metrics {
    let faults = base.totals.faults.since(&mark.totals.faults).get(pool);
    let retried = base.flash.counts().faults.since(&mark.flash.faults).get(pool);
    let mut metrics = Metrics::default();
    Faults { read_retries: retried.read_retries, ..faults }.add_to(&mut metrics);
    metrics.add(ENERGY_OF_POOL, energy.total().joules());
    metrics
}

fn pools(base: &Base, mark: &Mark, energy: &[EnergyReport]) -> Vec<PoolDetail> {
    let (worn, programs, states) = (base.worn(), programs(base), base.pool_states());
    let detail = |(n, pool): (usize, &Pool)| PoolDetail {
        part: pool.part.name.clone(),
        bytes: pool.geometry.capacity().0,
        page_size: pool.geometry.page_size.0,
        planes: pool.geometry.planes_per_row,
        programs: programs[n] - mark.programs[n],
        worn: worn[n].since(mark.worn[n]),
        valid_share: states[n].valid_share(),
        metrics: metrics(base, mark, n, &energy[n]),
        dies: dies(base, pool),
    };
    base.config.pools.iter().enumerate().map(detail).collect()
}

fn dies(base: &Base, pool: &Pool) -> Vec<DieDetail> {
    let (geometry, erases) = (&pool.geometry, base.flash.chips().erases());
    let blocks = |die| {
        let of_rows = geometry.groups_of(die).flat_map(|row| geometry.blocks_of(row));
        of_rows.map(|block| (erases[block], base.blocks.state(block) == State::Bad)).collect()
    };
    geometry.all_dies().map(|die| DieDetail { blocks: blocks(die) }).collect()
}
