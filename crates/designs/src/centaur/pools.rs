//! The two pools of a device with 2D and 3D chips.

use wordline_ftl::Config;
use wordline_ftl::policy::pool_state::PoolState;
use wordline_kernel::Complaints;

/// The first pool: 3D, or MLC in the hybrid.
pub(super) const LARGE: u8 = 0;
/// The second pool: 2D, or SLC in the hybrid.
pub(super) const SMALL: u8 = 1;

/// Endurance used of the 2D chips and of the 3D chips (equation 1).
pub(super) fn spent(pools: &[PoolState]) -> [f64; 2] {
    [SMALL, LARGE].map(|pool| pools[usize::from(pool)].spent())
}

/// Checks that the device has two pools, as both designs require.
pub(super) fn check_device(name: &str, config: &Config, wrong: &mut Complaints) {
    let pools = config.pools.count();
    wrong.require(
        pools == 2,
        "",
        format!("{name} beside {pools} {}", if pools == 1 { "pool" } else { "pools" }),
        "a device with two pools: one table [[pools]] beside the first part",
    );
}
