//! The cells behind the arrays of a device of several pools, some of whose parts name a parameter set.

use wordline_kernel::{Duration, Seed, state};

use super::arrays::CellArrays;
use crate::geometry::DieId;
use crate::physics::{DataSheet, Outcome, Physics, Sensed, Work};
use crate::{Part, Pools};

/// The cells of each pool whose part names a set; the data sheet answers for the others.
#[derive(Clone, Debug)]
pub struct PooledArrays {
    arrays: Vec<CellArrays>,
    data_sheet: DataSheet,
}

state!(PooledArrays { lists { arrays } fixed { data_sheet } });

impl PooledArrays {
    /// None where no part names cells.
    pub fn of(pools: &Pools, seed: Seed) -> Option<Self> {
        let arrays: Vec<CellArrays> = pools
            .iter()
            .filter_map(|pool| {
                let cells = pool.part.aged_cells()?;
                let first = pool.geometry.first.die;
                let dies = first..first + pool.geometry.dies();
                let arrays = CellArrays::new(cells.set.clone(), &pool.part, dies, cells.condition, seed);
                let arrays = arrays.expect("the part was checked with its cells");
                Some(arrays.with_surges(cells.surges.clone()))
            })
            .collect();
        (!arrays.is_empty()).then_some(Self { arrays, data_sheet: DataSheet {} })
    }

    /// The cells behind a die.
    fn behind(&mut self, die: DieId) -> &mut dyn Physics {
        match self.arrays.iter_mut().find(|arrays| arrays.dies().contains(&die.0)) {
            Some(arrays) => arrays,
            None => &mut self.data_sheet,
        }
    }
}

impl Physics for PooledArrays {
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        self.behind(work.blocks[0].die).work(work, outcome)
    }

    fn read_levels(&self) -> Option<u8> {
        self.arrays.iter().filter_map(Physics::read_levels).max()
    }

    fn is_unread(&mut self, sensed: &Sensed) -> bool {
        self.behind(sensed.at.die).is_unread(sensed)
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(self.clone())
    }
}

impl Part {
    /// The highest set of read levels, if its cells say which reads are tried again.
    pub fn read_levels(&self) -> Option<u8> {
        self.aged_cells()?.set.highest_entry()
    }
}
