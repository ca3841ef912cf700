//! Fixed: static allocation by logical page number, in a given order of channel, way, die and plane.

use wordline_kernel::state;
use wordline_nand::{Geometry, PlaneGroupId, Pools};

use super::{Dynamic, Placement, PlaneGroupSet};

/// Spreads consecutive logical pages over the coordinates in a given order, as the static allocation schemes
/// of MQSim and SSDSim do. Each pool has its own pattern. With several pools, translation pages and pages
/// migrated to another pool are placed round-robin.
pub struct Fixed {
    /// For each pool, the plane groups of its first logical pages. The pattern repeats.
    homes: Vec<Vec<PlaneGroupId>>,
    round: Option<Dynamic>,
}

state!(Fixed { parts { round } fixed { homes } });

/// Whether `order` has each coordinate exactly once.
pub fn is_order(order: &str) -> bool {
    let mut letters: Vec<char> = order.chars().collect();
    letters.sort_unstable();
    letters == ['C', 'D', 'P', 'W']
}

impl Fixed {
    /// Policy for these pools. `packages` has the packages on a channel of each pool. `order` was checked
    /// with the configuration.
    pub fn of(pools: &Pools, packages: &[u32], order: &str) -> Self {
        let homes =
            pools.iter().zip(packages).map(|(pool, packages)| homes(&pool.geometry, *packages, order));
        Self { homes: homes.collect(), round: (pools.count() > 1).then(|| Dynamic::new(pools)) }
    }
}

/// Plane groups of the first logical pages in a pool. The pattern repeats.
pub(super) fn homes(geometry: &Geometry, packages: u32, order: &str) -> Vec<PlaneGroupId> {
    let dies = geometry.dies_per_channel / packages;
    let homes = (0..geometry.rows()).map(|page| {
        let (mut rest, mut channel, mut way, mut die, mut row) = (page, 0, 0, 0, 0);
        for letter in order.chars() {
            let (coordinate, count) = match letter {
                'C' => (&mut channel, geometry.channels),
                'W' => (&mut way, packages),
                'D' => (&mut die, dies),
                _ => (&mut row, geometry.groups_per_die),
            };
            *coordinate = rest % count;
            rest /= count;
        }
        PlaneGroupId(
            geometry.first_group().0
                + ((channel * packages + way) * dies + die) * geometry.groups_per_die
                + row,
        )
    });
    homes.collect()
}

impl Placement for Fixed {
    fn home(&self, page: u32, pool: usize) -> Option<PlaneGroupId> {
        let homes = &self.homes[pool];
        Some(homes[page as usize % homes.len()])
    }

    fn check_loaded(&self) -> Result<(), String> {
        self.round.as_ref().map_or(Ok(()), Dynamic::check_loaded)
    }

    fn next(&mut self, rows: &PlaneGroupSet) -> Option<PlaneGroupId> {
        self.round.as_mut()?.next(rows)
    }
}
