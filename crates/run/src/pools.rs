//! Results of the pools of a device for a summary.

use wordline_device::detail::PoolDetail;
use wordline_device::times;
use wordline_device::times::{CommandTimes, Component};

use crate::summary::{CommandTime, PoolUse, WriteBack};
use crate::wear;

/// The results of each pool, if there are several. `busy` is the utilisation of all dies, in the order of the
/// pools.
pub fn usage(pools: &[PoolDetail], busy: &[f64]) -> Vec<PoolUse> {
    let (mut busy, group) = (busy.iter(), wear::blocks_a_value(pools));
    let usage = |pool: &PoolDetail| PoolUse {
        part: pool.part.clone(),
        dies: pool.dies.len() as u32,
        bytes: pool.bytes,
        programs: pool.programs,
        programmed_bytes: pool.programs * pool.page_size,
        erases: pool.worn.erases,
        erases_per_block: pool.worn.erases_per_block(),
        endurance_used: pool.worn.spent(),
        valid_share: pool.valid_share,
        dies_busy: busy.by_ref().take(pool.dies.len()).sum::<f64>() / pool.dies.len().max(1) as f64,
        least_worn: wear::erases(pool).min().unwrap_or(0),
        most_worn: wear::erases(pool).max().unwrap_or(0),
        bad_blocks: pool.dies.iter().map(wear::bad).sum::<u64>() * u64::from(pool.planes),
        wear_values: wear::erases(pool).count().div_ceil(group) as u64,
        metrics: pool.metrics.clone(),
    };
    if pools.len() > 1 { pools.iter().map(usage).collect() } else { Vec::new() }
}

/// The commands that destaged pages to a pool.
pub fn write_back(times: &times::WriteBack) -> WriteBack {
    WriteBack { fill: command_time(&times.fills), program: command_time(&times.programs) }
}

fn command_time(times: &CommandTimes) -> CommandTime {
    let mean = |component| times.mean_us(component);
    CommandTime {
        commands: times.commands,
        mapping_us: mean(Component::Mapping),
        gc_wait_us: mean(Component::GcWait),
        die_wait_us: mean(Component::DieWait),
        bus_us: mean(Component::Bus),
        array_us: mean(Component::Array),
        decoding_us: mean(Component::Decoding),
        retries_us: mean(Component::Retries),
        total_us: Component::ALL.into_iter().map(mean).sum(),
    }
}
