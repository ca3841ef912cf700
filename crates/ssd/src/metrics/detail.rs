//! Metrics of an SSD by channel, die, block and component.

use wordline_device::detail::{Detail, DieDetail, ENERGY_OF_POOL, PoolDetail, bus_waits};
use wordline_device::times::WriteBack;
use wordline_flash::faults::Faults;
use wordline_ftl::Ftl;
use wordline_ftl::blocks::State;
use wordline_kernel::{Duration, Instant, Metrics};
use wordline_nand::{EnergyReport, Pool};

use super::{Mark, energy, programs};
use crate::engines::Core;
use crate::front::Front;

/// Details of a device with these engines from `mark` to `now`.
pub(crate) fn detail_since(core: &Core, front: &Front, mark: &Mark, now: Instant) -> Detail {
    let ftl = &core.ftl;
    let (chips, energy) = (ftl.flash.chips(), energy(ftl, mark, now));
    let written_back = core.written_back.iter().zip(&mark.written_back).map(|(now, before)| WriteBack {
        fills: now.fills.since(&before.fills),
        programs: now.programs.since(&before.programs),
    });
    Detail {
        times: Some(ftl.totals.times.since(&mark.totals.times)),
        energy: energy.iter().copied().sum(),
        written_back: written_back.collect(),
        links: since(link_busy(front, now), &mark.links),
        buses: since(chips.bus_busy(now).map(Duration::from_ps).collect(), &mark.buses),
        arrays: since(chips.array_busy(now).map(Duration::from_ps).collect(), &mark.arrays),
        dies: chips.die_times(now).zip(&mark.dies).map(|(now, before)| now.since(before)).collect(),
        bus_waits: bus_waits(chips).saturating_sub(mark.bus_waits),
        pools: pools(ftl, mark, &energy),
        members: Vec::new(),
    }
}

/// Busy time of each direction of the link; empty without a link.
pub(super) fn link_busy(front: &Front, now: Instant) -> Vec<Duration> {
    front.link().map_or_else(Vec::new, |link| link.busy(now).collect())
}

fn since(now: Vec<Duration>, before: &[Duration]) -> Vec<Duration> {
    now.into_iter().zip(before).map(|(now, before)| now - *before).collect()
}

/// Failures of a pool since `mark`, and this energy.
fn metrics(ftl: &Ftl, mark: &Mark, pool: usize, energy: &EnergyReport) -> Metrics {
    let faults = ftl.totals.faults.since(&mark.totals.faults).get(pool);
    let retried = ftl.flash.counts().faults.since(&mark.flash.faults).get(pool);
    let mut metrics = Metrics::default();
    Faults { read_retries: retried.read_retries, ..faults }.add_to(&mut metrics);
    metrics.add(ENERGY_OF_POOL, energy.total().joules());
    metrics
}

fn pools(ftl: &Ftl, mark: &Mark, energy: &[EnergyReport]) -> Vec<PoolDetail> {
    let (worn, programs, states) = (ftl.worn(), programs(ftl), ftl.pool_states());
    let detail = |(n, pool): (usize, &Pool)| PoolDetail {
        part: pool.part.name.clone(),
        bytes: pool.geometry.capacity().0,
        page_size: pool.geometry.page_size.0,
        planes: pool.geometry.planes_per_row,
        programs: programs[n] - mark.programs[n],
        worn: worn[n].since(mark.worn[n]),
        valid_share: states[n].valid_share(),
        metrics: metrics(ftl, mark, n, &energy[n]),
        dies: dies(ftl, pool),
    };
    ftl.config.pools.iter().enumerate().map(detail).collect()
}

fn dies(ftl: &Ftl, pool: &Pool) -> Vec<DieDetail> {
    let (geometry, erases) = (&pool.geometry, ftl.flash.chips().erases());
    let blocks = |die| {
        let of_rows = geometry.groups_of(die).flat_map(|row| geometry.blocks_of(row));
        of_rows.map(|block| (erases[block], ftl.blocks.table().state(block) == State::Bad)).collect()
    };
    geometry.all_dies().map(|die| DieDetail { blocks: blocks(die) }).collect()
}
