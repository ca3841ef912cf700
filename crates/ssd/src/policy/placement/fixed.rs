//! Fixed: static allocation by the logical page number, in one of the orders of channel, way, die and plane.

use wordline_kernel::state;
use wordline_nand::{Geometry, PlaneGroupId, Pools};

use super::{Dynamic, Placement, PlaneGroupSet};

/// Spreads consecutive logical pages over the coordinates in a given order, as in the static allocation
/// schemes of MQSim and SSDSim. Each of several pools is covered separately; there, table pages and pages
/// migrated to another pool are placed round-robin.
pub struct Fixed {
    /// Plane groups of the first pages in each pool; the pattern repeats.
    homes: Vec<Vec<PlaneGroupId>>,
    round: Option<Dynamic>,
}

state!(Fixed { parts { round } fixed { homes } });

/// Whether `order` names each coordinate once.
pub fn is_order(order: &str) -> bool {
    let mut letters: Vec<char> = order.chars().collect();
    letters.sort_unstable();
    letters == ['C', 'D', 'P', 'W']
}

impl Fixed {
    /// Allocation in these pools, with this many packages on a channel of each. `order` has passed the check
    /// of the configuration.
    pub fn of(pools: &Pools, packages: &[u32], order: &str) -> Self {
        let homes =
            pools.iter().zip(packages).map(|(pool, packages)| homes(&pool.geometry, *packages, order));
        Self { homes: homes.collect(), round: (pools.count() > 1).then(|| Dynamic::new(pools)) }
    }
}

/// Plane groups of the first pages in a pool; the pattern repeats.
fn homes(geometry: &Geometry, packages: u32, order: &str) -> Vec<PlaneGroupId> {
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
