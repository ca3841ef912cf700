//! Devices with static allocation in two pools.

use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ssd::DeviceFile;

use super::{Rig, two_pools};

/// Number of pages in another plane group than the one assigned to them in their pool.
pub fn away(rig: &Rig) -> u64 {
    let (config, kind) = (rig.device.config(), PlacementKind::Fixed { order: "CWDP".into() });
    let placement = kind.build(&config.ftl.pools, &config.ftl.file.packages());
    let is_away = |page: &u32| {
        let Some(at) = rig.device.map().get(LogicalPage(*page)) else { return false };
        let row = config.ftl.pools.group_of(at);
        placement.home(*page, config.ftl.pools.number_of_group(row)) != Some(row)
    };
    (0..config.ftl.logical_pages).filter(is_away).count() as u64
}

/// Device in which each page has an assigned plane group in each of two pools.
pub fn with_homes(least: u64) -> DeviceFile {
    let mut file = two_pools(least);
    file.pools[0].layout.planes_per_row = Some(1);
    file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
    file
}
