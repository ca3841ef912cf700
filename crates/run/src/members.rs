//! Measurements of the devices of an array, as in a summary.

use wordline_device::detail::{Detail, MemberDetail, PoolDetail};
use wordline_device::lifetime;

use crate::summary::MemberUse;
use crate::wear;

/// The results of each device of an array. `busy` is the utilisation of all dies, in the order of the
/// devices.
pub fn usage(detail: &Detail, busy: &[f64]) -> Vec<MemberUse> {
    let (mut pools, mut busy) = (&detail.pools[..], busy);
    let usage = |member: &MemberDetail| {
        let (own, other_pools) = pools.split_at(member.parts.pools.min(pools.len()));
        let (own_busy, other_busy) = busy.split_at(member.parts.dies.min(busy.len()));
        (pools, busy) = (other_pools, other_busy);
        of(member, own, own_busy)
    };
    detail.members.iter().map(usage).collect()
}

fn of(member: &MemberDetail, pools: &[PoolDetail], busy: &[f64]) -> MemberUse {
    let sum = |of: fn(&PoolDetail) -> u64| pools.iter().map(of).sum::<u64>();
    let worn = || pools.iter().flat_map(wear::erases);
    let blocks: u64 = sum(|pool| pool.dies.iter().map(|die| die.blocks.len() as u64).sum());
    let erases = sum(|pool| pool.worn.erases);
    MemberUse {
        role: member.role.clone(),
        part: pools.first().map(|pool| pool.part.clone()).unwrap_or_default(),
        reads: member.reads,
        writes: member.writes,
        read_bytes: member.read_bytes,
        written_bytes: member.written_bytes,
        parity_bytes: member.parity_bytes,
        programs: sum(|pool| pool.programs),
        erases,
        erases_per_block: erases as f64 / blocks.max(1) as f64,
        endurance_used: lifetime::spent(pools.iter().map(|pool| pool.worn)),
        least_worn: worn().min().unwrap_or(0),
        most_worn: worn().max().unwrap_or(0),
        bad_blocks: sum(|pool| pool.dies.iter().map(wear::bad).sum::<u64>() * u64::from(pool.planes)),
        dies_busy: busy.iter().sum::<f64>() / busy.len().max(1) as f64,
    }
}
