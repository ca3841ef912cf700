//! Fixed: the row follows from the logical page number, in one of the orders of channel, way, die and plane.

use wordline_kernel::state;
use wordline_nand::{Geometry, Pools, RowId};

use super::{Dynamic, Placement, RowSet};

/// Spreads consecutive logical pages over the coordinates in a given order, as in the static allocation schemes of
/// MQSim and SSDSim. Each of several pools is spread over by itself; what finds its row there full, and pages of tables, go round the rows.
pub struct Fixed {
    /// In the first pool, and in those beside it.
    home: Vec<RowId>,
    others: Vec<Vec<RowId>>,
    round: Option<Dynamic>,
}

state!(Fixed { parts { round } fixed { home, others } });

/// Whether `order` names each coordinate once.
pub fn is_order(order: &str) -> bool {
    let mut letters: Vec<char> = order.chars().collect();
    letters.sort_unstable();
    letters == ['C', 'D', 'P', 'W']
}

impl Fixed {
    /// The homes of the first pages; the pattern repeats. `order` is one that the check of the configuration accepts.
    pub fn new(geometry: &Geometry, packages: u32, order: &str) -> Self {
        Self { home: homes(geometry, packages, order), others: Vec::new(), round: None }
    }

    /// The same in each of these pools, with so many packages on its channels.
    pub fn of(pools: &Pools, packages: &[u32], order: &str) -> Self {
        let mut homes =
            pools.iter().zip(packages).map(|(pool, packages)| homes(&pool.geometry, *packages, order));
        let home = homes.next().expect("there is a first pool");
        Self { home, others: homes.collect(), round: (pools.count() > 1).then(|| Dynamic::new(pools)) }
    }
}

/// The homes in a pool of the first pages; the pattern repeats.
fn homes(geometry: &Geometry, packages: u32, order: &str) -> Vec<RowId> {
    let dies = geometry.dies_per_channel / packages;
    let home = (0..geometry.rows()).map(|page| {
        let (mut rest, mut channel, mut way, mut die, mut row) = (page, 0, 0, 0, 0);
        for letter in order.chars() {
            let (coordinate, count) = match letter {
                'C' => (&mut channel, geometry.channels),
                'W' => (&mut way, packages),
                'D' => (&mut die, dies),
                _ => (&mut row, geometry.rows_per_die),
            };
            *coordinate = rest % count;
            rest /= count;
        }
        RowId(
            geometry.first_row().0 + ((channel * packages + way) * dies + die) * geometry.rows_per_die + row,
        )
    });
    home.collect()
}

impl Placement for Fixed {
    fn home(&self, page: u32, pool: usize) -> Option<RowId> {
        let homes = pool.checked_sub(1).map_or(&self.home, |other| &self.others[other]);
        Some(homes[page as usize % homes.len()])
    }

    fn next(&mut self, rows: &RowSet) -> Option<RowId> {
        self.round.as_mut()?.next(rows)
    }
}
