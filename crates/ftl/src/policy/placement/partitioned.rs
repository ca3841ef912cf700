//! Partitioned: static allocation in which ranges of logical pages have their own plane groups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, state};
use wordline_nand::{Geometry, PlaneGroupId};

use super::fixed::homes;
use super::{Placement, PlaneGroupSet};

/// A range of logical addresses, and the plane groups of its pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementRange {
    /// Size. Ranges follow one another from the first logical byte on.
    pub size: Bytes,
    /// Channels, from 0. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<u32>>,
    /// Packages of a channel, from 0. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<Vec<u32>>,
    /// Dies of a package, from 0. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies: Option<Vec<u32>>,
    /// Plane groups of a die, from 0. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<Vec<u32>>,
}

impl PlacementRange {
    /// The lists of numbers by their keys, each with the count that the device has.
    fn lists(&self, geometry: &Geometry, packages: u32) -> [(&'static str, Option<&[u32]>, u32); 4] {
        [
            ("channels", self.channels.as_deref(), geometry.channels),
            ("packages", self.packages.as_deref(), packages),
            ("dies", self.dies.as_deref(), geometry.dies_per_channel / packages),
            ("planes", self.planes.as_deref(), geometry.groups_per_die),
        ]
    }

    /// Whether the range has a plane group.
    fn has(&self, group: PlaneGroupId, geometry: &Geometry, packages: u32) -> bool {
        let [(_, channels, _), (_, of_channel, _), (_, dies, count), (_, planes, groups)] =
            self.lists(geometry, packages);
        let (die, plane) = (group.0 / groups, group.0 % groups);
        let (package, die) = (die / count, die % count);
        let (channel, package) = (package / packages, package % packages);
        let has = |list: Option<&[u32]>, n| list.is_none_or(|list| list.contains(&n));
        has(channels, channel) && has(of_channel, package) && has(dies, die) && has(planes, plane)
    }
}

/// The plane groups of each range, and of the pages behind all ranges.
#[derive(Clone, Debug)]
pub struct Partitioned {
    parts: Vec<Part>,
}

state!(Partitioned { fixed { parts } });

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// First logical page.
    first: u32,
    /// Plane groups of its first pages. The pattern repeats.
    groups: Vec<PlaneGroupId>,
}

impl Partitioned {
    /// Policy for one pool with `packages` packages on a channel, whose logical pages have `unit` bytes. The
    /// ranges were checked with the configuration. Pages behind all ranges go to the plane groups that no
    /// range has, or to all of them if ranges have them all.
    pub fn of(
        geometry: &Geometry,
        packages: u32,
        unit: Bytes,
        order: &str,
        ranges: &[PlacementRange],
    ) -> Self {
        let all = homes(geometry, packages, order);
        let mut first = 0_u32;
        let mut parts = Vec::with_capacity(ranges.len() + 1);
        for range in ranges {
            let groups = all.iter().copied().filter(|group| range.has(*group, geometry, packages)).collect();
            parts.push(Part { first, groups });
            first = first.saturating_add((range.size.0 / unit.0) as u32);
        }
        let is_free =
            |group: &PlaneGroupId| !ranges.iter().any(|range| range.has(*group, geometry, packages));
        let free: Vec<PlaneGroupId> = all.iter().copied().filter(is_free).collect();
        parts.push(Part { first, groups: if free.is_empty() { all } else { free } });
        Self { parts }
    }

    fn part(&self, page: u32) -> &Part {
        let at = self.parts.partition_point(|part| part.first <= page);
        &self.parts[at.saturating_sub(1)]
    }

    /// The most pages that a plane group has, of `pages` logical pages.
    pub(crate) fn most_pages(&self, pages: u32, groups: u32) -> u64 {
        let mut load = vec![0_u64; groups as usize];
        for (n, part) in self.parts.iter().enumerate() {
            let end = self.parts.get(n + 1).map_or(pages, |next| next.first).min(pages);
            let (count, share) = (u64::from(end.saturating_sub(part.first)), part.groups.len() as u64);
            for (at, group) in part.groups.iter().enumerate() {
                load[group.0 as usize] += count / share + u64::from((at as u64) < count % share);
            }
        }
        load.into_iter().max().unwrap_or(0)
    }
}

impl Placement for Partitioned {
    fn home(&self, page: u32, _: usize) -> Option<PlaneGroupId> {
        let part = self.part(page);
        Some(part.groups[(page - part.first) as usize % part.groups.len()])
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn next(&mut self, _: &PlaneGroupSet) -> Option<PlaneGroupId> {
        None
    }
}

/// Checks ranges on one pool, whose logical pages have `unit` bytes.
pub(crate) fn check(
    ranges: &[PlacementRange],
    (geometry, packages): (&Geometry, u32),
    (unit, pages): (Bytes, u32),
    wrong: &mut Complaints,
) {
    let mut total = 0_u64;
    for (n, range) in ranges.iter().enumerate() {
        let place = |key: &str| format!("ftl.placement.ranges[{n}].{key}");
        let is_whole = range.size.0 > 0 && range.size.0.is_multiple_of(unit.0);
        wrong.require(is_whole, &place("size"), range.size, format!("a multiple of {unit}, a mapping unit"));
        total = total.saturating_add(range.size.0);
        for (key, list, count) in range.lists(geometry, packages) {
            let Some(list) = list else { continue };
            let fits = !list.is_empty() && list.iter().all(|number| *number < count);
            let unique = list.iter().enumerate().all(|(n, number)| !list[..n].contains(number));
            let wanted = format!("numbers below {count}, each once, such as [0]");
            wrong.require(fits && unique, &place(key), format!("{list:?}"), wanted);
        }
    }
    let capacity = unit.0.saturating_mul(pages.into());
    wrong.require(
        total <= capacity,
        "ftl.placement.ranges",
        format!("{} in all", Bytes(total)),
        format!("at most the {} of the device", Bytes(capacity)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    fn rig(ranges: &[PlacementRange]) -> (Partitioned, u32) {
        let mut file = small();
        (file.layout.channels, file.layout.packages_per_channel, file.layout.dies_per_package) = (2, 2, 1);
        file.layout.planes_per_row = Some(1);
        let config = file.check().expect("the device is sound");
        let geometry = config.pools.first().geometry;
        (Partitioned::of(&geometry, 2, config.unit, "CWDP", ranges), geometry.rows())
    }

    fn range(pages: u64, channels: Option<Vec<u32>>, packages: Option<Vec<u32>>) -> PlacementRange {
        let unit = small().check().expect("the device is sound").unit;
        PlacementRange { size: unit * pages, channels, packages, dies: None, planes: None }
    }

    #[test]
    fn a_range_has_its_own_planes_and_the_rest_has_those_of_nobody() {
        let ranges = [range(10, Some(vec![0]), Some(vec![0])), range(7, Some(vec![1]), None)];
        let (placement, groups) = rig(&ranges);
        let of = |pages: std::ops::Range<u32>| {
            let mut all: Vec<u32> = pages.map(|page| placement.home(page, 0).expect("static").0).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let per_package = groups / 4;
        assert_eq!(of(0..10), (0..per_package).collect::<Vec<_>>(), "the first package of channel 0");
        assert_eq!(of(10..17), (2 * per_package..groups).collect::<Vec<_>>(), "channel 1");
        assert_eq!(
            of(17..60),
            (per_package..2 * per_package).collect::<Vec<_>>(),
            "the second package of channel 0"
        );
    }

    #[test]
    fn pages_behind_ranges_that_have_all_planes_go_everywhere() {
        let (placement, groups) = rig(&[range(5, None, None)]);
        let mut all: Vec<u32> =
            (5..5 + groups).map(|page| placement.home(page, 0).expect("static").0).collect();
        all.sort_unstable();
        assert_eq!(all, (0..groups).collect::<Vec<_>>());
        assert_eq!(placement.most_pages(5 + groups, groups), 1 + 5_u64.div_ceil(groups.into()));
    }
}
