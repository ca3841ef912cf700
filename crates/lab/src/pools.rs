//! What is measured of the pools of a device: what wrote the buffer out, and of several what is sent to which.

use wordline_nand::chips::Counts;
use wordline_ssd::Device;
use wordline_ssd::device::{self, CommandTimes, Component};
use wordline_ssd::lifetime::Worn;

use crate::summary::{CommandTime, PoolUse, WriteBack};

/// Pages that the chips of each pool programmed since `before`.
fn programs(device: &Device, before: &[Counts]) -> impl Iterator<Item = u64> {
    let now = device.chips().counts_of_pools().iter().zip(before);
    now.map(|(now, before)| now.pages_programmed - before.pages_programmed)
}

/// The pools, where there are several, since they were so `worn` and had done what `before` says.
pub fn used(device: &Device, worn: &[Worn], before: &[Counts]) -> Vec<PoolUse> {
    let pools = &device.config().pools;
    if pools.count() == 1 {
        return Vec::new();
    }
    let worn = device.worn().into_iter().zip(worn).map(|(now, before)| now.since(*before));
    let states = device.pool_states().into_iter().zip(worn).zip(programs(device, before));
    let used = pools.iter().zip(states).map(|(pool, ((state, worn), programs))| PoolUse {
        part: pool.part.name.clone(),
        dies: pool.geometry.dies(),
        bytes: pool.geometry.capacity().0,
        programs,
        programmed_bytes: programs * pool.geometry.page_size.0,
        erases: worn.erases,
        erases_per_block: worn.erases_per_block(),
        spent_lifetime: worn.spent(),
        valid_share: state.valid_share(),
    });
    used.collect()
}

/// What wrote the buffer out since it had been written out as `before` says.
pub fn write_back(device: &Device, before: &[device::WriteBack]) -> Vec<WriteBack> {
    let since = |(now, before): (&device::WriteBack, &device::WriteBack)| WriteBack {
        fill: command_time(&now.fills.since(&before.fills)),
        program: command_time(&now.programs.since(&before.programs)),
    };
    device.written_back().iter().zip(before).map(since).collect()
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
