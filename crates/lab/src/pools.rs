//! What is measured of the pools of a device, in the shape of a summary.

use wordline_ssd::device::{self, CommandTimes, Component};
use wordline_ssd::metrics::PoolDetail;

use crate::summary::{CommandTime, PoolUse, WriteBack};

/// The pools, where there are several.
pub fn used(pools: &[PoolDetail]) -> Vec<PoolUse> {
    let used = |pool: &PoolDetail| PoolUse {
        part: pool.part.clone(),
        dies: pool.dies.len() as u32,
        bytes: pool.bytes,
        programs: pool.programs,
        programmed_bytes: pool.programs * pool.page_size,
        erases: pool.worn.erases,
        erases_per_block: pool.worn.erases_per_block(),
        spent_lifetime: pool.worn.spent(),
        valid_share: pool.valid_share,
    };
    if pools.len() > 1 { pools.iter().map(used).collect() } else { Vec::new() }
}

/// What wrote the buffer out to a pool.
pub fn write_back(times: &device::WriteBack) -> WriteBack {
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
        total_us: Component::ALL.into_iter().map(mean).sum(),
    }
}
