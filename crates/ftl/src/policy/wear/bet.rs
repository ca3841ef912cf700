//! BET (block erasing table): records which sets of blocks had an erase in the current interval. The other
//! sets are collected in cyclic order while erases are too uneven.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, Stream, state};
use wordline_nand::PlaneGroupId;

use super::{PlaneGroupBlocks, WearLeveller};

/// Block erasing table of a plane group.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Table {
    saw_erase: Vec<bool>,
    /// Sets that had an erase.
    marked: u32,
    /// Erases in the interval.
    erases: u64,
    /// Set at which the search continues.
    at: u32,
}

impl Table {
    /// Records that a set had an erase or is about to have one.
    fn mark(&mut self, set: u32) {
        let before = std::mem::replace(&mut self.saw_erase[set as usize], true);
        self.marked += u32::from(!before);
    }
}

/// Static wear leveller of Chang, Hsieh and Kuo (DAC 2007). Each plane group has its own table, because data
/// stay in their plane group.
pub struct Bet {
    k: u32,
    threshold: u64,
    /// Number of blocks of each plane group.
    blocks: Column<PlaneGroupId, u32>,
    rows: Column<PlaneGroupId, Table>,
}

state!(Bet { values { rows } fixed { k, threshold, blocks } });

impl Bet {
    /// Leveller with sets of `2^k` blocks. `threshold` is the number of erases for each set with an erase at
    /// which wear counts as uneven.
    pub fn new(blocks: Column<PlaneGroupId, u32>, k: u32, threshold: u32) -> Self {
        let table = |row| {
            let sets = blocks[row].div_ceil(1 << k);
            Table { saw_erase: vec![false; sets as usize], marked: 0, erases: 0, at: 0 }
        };
        Self { k, threshold: threshold.into(), rows: Column::from_fn(blocks.len(), table), blocks }
    }
}

impl WearLeveller for Bet {
    fn is_on(&self) -> bool {
        true
    }

    fn erased(&mut self, row: PlaneGroupId, block: u32) {
        let table = &mut self.rows[row];
        table.erases += 1;
        table.mark(block >> self.k);
    }

    fn check_loaded(&self) -> Result<(), String> {
        let is_table = |(row, table): (PlaneGroupId, &Table)| {
            let sets = self.blocks[row].div_ceil(1 << self.k);
            let marked = table.saw_erase.iter().filter(|saw| **saw).count();
            (table.saw_erase.len(), marked) == (sets as usize, table.marked as usize)
                && table.at < sets.max(1)
        };
        let fits = self.rows.len() == self.blocks.len() && self.rows.entries().all(is_table);
        ensure(fits, || "the wear leveller marks other sets of blocks than there are".into())
    }

    fn next(&mut self, blocks: &PlaneGroupBlocks<'_>, random: &mut Stream) -> Option<Range<u32>> {
        let row = blocks.row();
        let table = &mut self.rows[row];
        let sets = table.saw_erase.len() as u32;
        if table.marked == 0 || table.erases < self.threshold * u64::from(table.marked) {
            return None;
        }
        if table.marked == sets {
            table.saw_erase.fill(false);
            (table.marked, table.erases) = (0, 0);
            table.at = random.below(u64::from(sets)) as u32;
            return None;
        }
        while table.saw_erase[table.at as usize] {
            table.at = (table.at + 1) % sets;
        }
        // Marked even if the set has no full blocks and is not erased now; otherwise it would be found
        // forever.
        let set = table.at;
        table.mark(set);
        table.at = (set + 1) % sets;
        Some(set << self.k..((set + 1) << self.k).min(self.blocks[row]))
    }
}
