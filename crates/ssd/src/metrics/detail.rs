//! Metrics of a device by channel, die, block and component, which do not fit into single numbers.

use wordline_kernel::{Duration, Instant, Metrics};
use wordline_nand::{Chips, DieTimes, EnergyReport, Pool};

use super::{ENERGY_OF_POOL, Mark, energy, programs};
use crate::base::Base;
use crate::device::{Times, WriteBack};
use crate::faults::Faults;
use crate::front::Front;
use crate::lifetime::Worn;
use crate::space::State;

/// The metrics of a device between two times, by its parts. A device made of devices puts theirs
/// [together](Self::join).
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// Where the time of its commands went; none where it is not known of each.
    pub times: Option<Times>,
    /// The energy of its flash.
    pub energy: EnergyReport,
    /// The commands that wrote its buffers out, for each pool.
    pub written_back: Vec<WriteBack>,
    /// For how long each direction of its links was taken.
    pub links: Vec<Duration>,
    /// For how long each channel's bus was busy.
    pub buses: Vec<Duration>,
    /// For how long each die's array was busy.
    pub arrays: Vec<Duration>,
    /// For how long each die sensed, programmed, erased and held its bus.
    pub dies: Vec<DieTimes>,
    /// For how long dies waited for the buses of their channels, all together.
    pub bus_waits: Duration,
    /// Its pools of flash.
    pub pools: Vec<PoolDetail>,
    /// The devices that it is made of; none where it is not.
    pub members: Vec<MemberDetail>,
}

/// A device that is part of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDetail {
    /// Its role at the end, in words.
    pub role: String,
    /// Reads that it was sent.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Writes that it was sent.
    pub writes: u64,
    /// Bytes of these.
    pub written_bytes: u64,
    /// Bytes of parity among those written.
    pub parity_bytes: u64,
    /// How many of the pools are its own. They follow those of the members before.
    pub pools: usize,
}

/// A pool of flash.
#[derive(Clone, Debug)]
pub struct PoolDetail {
    /// Its NAND part.
    pub part: String,
    /// Bytes of its flash.
    pub bytes: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// Planes whose blocks are erased together.
    pub planes: u32,
    /// Flash pages programmed, padding included.
    pub programs: u64,
    /// Its wear.
    pub worn: Worn,
    /// Valid data as a part of its flash at the end.
    pub valid_share: f64,
    /// Its failures and its energy: [`of_pool`](super::of_pool) lists them.
    pub metrics: Metrics,
    /// Its dies, in their order.
    pub dies: Vec<DieDetail>,
}

/// A die.
#[derive(Clone, Debug)]
pub struct DieDetail {
    /// Its blocks in their order, those that are erased together once: how often each was erased since it was new, and whether it is
    /// out of use.
    pub blocks: Vec<(u32, bool)>,
}

impl Detail {
    /// The metrics of a device of these engines from `mark` to `now`.
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

    /// The devices side by side. Their commands are not those of whoever puts them together.
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

/// For how long each direction of the link was taken; none without a link.
pub(super) fn link_busy(front: &Front, now: Instant) -> Vec<Duration> {
    front.link().map_or_else(Vec::new, |link| link.busy(now).collect())
}

/// For how long dies waited for the buses, in holds that have begun.
pub(crate) fn bus_waits(chips: &Chips) -> Duration {
    Duration::from_ps(chips.bus_waited().sum())
}

fn since(now: Vec<Duration>, before: &[Duration]) -> Vec<Duration> {
    now.into_iter().zip(before).map(|(now, before)| now - *before).collect()
}

/// The failures in a pool from `mark` on, and this energy.
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
        let of_rows = geometry.rows_of(die).flat_map(|row| geometry.blocks_of(row));
        of_rows.map(|block| (erases[block], base.space.state(block) == State::Bad)).collect()
    };
    geometry.all_dies().map(|die| DieDetail { blocks: blocks(die) }).collect()
}
