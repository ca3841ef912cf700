//! What is measured of the pools of a device: what wrote the buffer out, and of several what is sent to which.

use wordline_nand::chips::Counts;
use wordline_ssd::Device;
use wordline_ssd::device::{self, CommandTimes, Component, SubRequestCounts};
use wordline_ssd::lifetime::Worn;

use crate::summary::{CommandTime, PoolUse, SubRequests, WriteBack};

/// Pages that the chips of each pool programmed since `before`.
pub fn programs(device: &Device, before: &[Counts]) -> impl Iterator<Item = u64> {
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

/// What became of the sub-requests since `before`; none in a device with one pool.
pub fn sub_requests(device: &Device, before: &SubRequestCounts) -> Option<SubRequests> {
    let now = device.sub_requests()?;
    let [to_first, to_others] = [0, 1].map(|pool| now.sent[pool] - before.sent[pool]);
    let [first_bytes, others_bytes] = [0, 1].map(|pool| now.sent_bytes[pool] - before.sent_bytes[pool]);
    let mean = |bytes: u64, count: u64| (count > 0).then(|| bytes as f64 / count as f64);
    Some(SubRequests {
        to_first,
        to_first_bytes: first_bytes,
        to_first_mean_bytes: mean(first_bytes, to_first),
        to_others,
        to_others_bytes: others_bytes,
        to_others_mean_bytes: mean(others_bytes, to_others),
        turned_away: now.turned_away - before.turned_away,
        stolen: now.stolen - before.stolen,
        migrated_units: now.migrated - before.migrated,
        migrated_pages: now.migrated_pages - before.migrated_pages,
        condition_bytes: device.least_of_first_pool().map(|size| size.0),
    })
}
