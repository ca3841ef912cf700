//! Fixed: the row follows from the logical page number, in one of the orders of channel, way, die and plane.

use wordline_kernel::state;
use wordline_nand::{Geometry, RowId};

use super::{Placement, RowSet};

/// Spreads consecutive logical pages over the coordinates in a given order, as in the static allocation schemes of
/// MQSim and SSDSim.
pub struct Fixed {
    home: Vec<RowId>,
}

state!(Fixed { fixed { home } });

/// Whether `order` names each coordinate once.
pub fn is_order(order: &str) -> bool {
    let mut letters: Vec<char> = order.chars().collect();
    letters.sort_unstable();
    letters == ['C', 'D', 'P', 'W']
}

impl Fixed {
    /// The homes of the first pages; the pattern repeats. `order` is one that the check of the configuration accepts.
    pub fn new(geometry: &Geometry, packages: u32, order: &str) -> Self {
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
            RowId(((channel * packages + way) * dies + die) * geometry.rows_per_die + row)
        });
        Self { home: home.collect() }
    }
}

impl Placement for Fixed {
    fn home(&self, page: u32) -> Option<RowId> {
        Some(self.home[page as usize % self.home.len()])
    }

    fn next(&mut self, _: &RowSet) -> Option<RowId> {
        None
    }
}
