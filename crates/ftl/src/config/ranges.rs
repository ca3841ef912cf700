//! Checks the ranges of addresses that have their own plane groups.

use wordline_kernel::{Bytes, Complaints};
use wordline_nand::Pools;
use wordline_nand::geometry::Layout;

use crate::policy::placement::{Partitioned, PlacementKind, check_ranges};

/// Checks `ftl.placement.ranges` on a device with `pages` logical pages of `unit` bytes. Its
/// plane groups together have space for `room` of them.
pub(super) fn check(
    placement: &PlacementKind,
    (layout, has_page_map): (&Layout, bool),
    pools: &Pools,
    (unit, pages): (Bytes, u32),
    room: u64,
    wrong: &mut Complaints,
) {
    let PlacementKind::Partitioned { order, ranges } = placement else { return };
    let is_one = pools.count() == 1 && has_page_map;
    let wanted = "fixed, or one pool mapped by page: ranges of addresses are divided among its plane groups";
    wrong.require(is_one, "ftl.placement.policy", "partitioned", wanted);
    let (geometry, packages) = (&pools.first().geometry, layout.packages_per_channel);
    let before = wrong.0.len();
    check_ranges(ranges, (geometry, packages), (unit, pages), wrong);
    let is_sound = is_one && placement.complaint().is_none() && wrong.0.len() == before;
    if !is_sound || layout.short_channels > 0 {
        return;
    }
    let room = room / u64::from(geometry.rows());
    let divided = Partitioned::of(geometry, packages, unit, order, ranges);
    let most = divided.most_pages(pages, geometry.rows());
    wrong.require(
        most <= room,
        "ftl.placement.ranges",
        format!("{most} pages for a plane group"),
        format!("at most {room}, for which it has space beside its active and reserved blocks"),
    );
}
