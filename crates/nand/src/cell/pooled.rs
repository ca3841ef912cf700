//! The cell model of a device with several pools, where some parts have a parameter set.

use wordline_kernel::{Duration, Seed, state};

use super::arrays::CellArrays;
use super::read::Ecc;
use crate::geometry::PlaneBlock;
use crate::physics::{DataSheet, Outcome, Physics, Sensed, Work};
use crate::{Part, Pools};

/// The cells of each pool whose part has a parameter set. The data sheet applies to the other pools.
#[derive(Clone, Debug)]
pub struct PooledArrays {
    /// The cells pool by pool. A pool with blocks of several ages has one entry for each age. Each entry
    /// covers all blocks, but is used only for the blocks of its age.
    arrays: Vec<CellArrays>,
    mixtures: Vec<Mixture>,
    data_sheet: DataSheet,
}

state!(PooledArrays { lists { arrays } fixed { mixtures, data_sheet } });

/// The ages of the blocks of a pool.
#[derive(Clone, Debug)]
struct Mixture {
    /// Index in `arrays` of the first age, which applies to all blocks outside the shares.
    first: usize,
    /// The shares of the other ages.
    shares: Vec<f64>,
    /// Planes of a die. Blocks with the same number have the same age, because they are programmed together.
    planes: u32,
}

impl Mixture {
    /// Index of the age of a block; 0 is the age of all blocks outside the shares. It follows from the seed
    /// and the block.
    fn age(&self, at: PlaneBlock, seed: Seed) -> usize {
        if self.shares.is_empty() {
            return 0;
        }
        let block = u64::from(at.die.0) << 32 | u64::from(at.block / self.planes);
        let mut left = seed.stream("cells.ages", block).unit();
        let is_of = |share: &f64| {
            left -= share;
            left < 0.0
        };
        self.shares.iter().position(is_of).map_or(0, |n| n + 1)
    }
}

impl PooledArrays {
    /// `None` if no part has a cell model.
    pub fn of(pools: &Pools, seed: Seed) -> Option<Self> {
        let (mut arrays, mut mixtures) = (Vec::new(), Vec::new());
        for pool in pools.iter() {
            let Some(cells) = pool.part.aged_cells() else { continue };
            let shares = cells.mixture.iter().map(|of| of.share).collect();
            mixtures.push(Mixture { first: arrays.len(), shares, planes: pool.part.geometry.planes });
            let first = pool.geometry.first.die;
            let dies = first..first + pool.geometry.dies();
            for condition in cells.conditions() {
                let of_age = CellArrays::new(cells.set.clone(), &pool.part, dies.clone(), condition, seed);
                let of_age = of_age.expect("the part was checked with its cells");
                let of_age = of_age.with_surges(cells.surges.clone());
                arrays.push(if cells.retention_passes { of_age.with_retention_clock() } else { of_age });
            }
        }
        (!arrays.is_empty()).then_some(Self { arrays, mixtures, data_sheet: DataSheet {} })
    }

    /// The cells of a block.
    fn cells_of(&mut self, at: PlaneBlock) -> &mut dyn Physics {
        let Self { arrays, mixtures, data_sheet } = self;
        let Some(mixture) = mixtures.iter().find(|of| arrays[of.first].dies().contains(&at.die.0)) else {
            return data_sheet;
        };
        let age = mixture.age(at, arrays[mixture.first].seed());
        &mut arrays[mixture.first + age]
    }
}

impl Physics for PooledArrays {
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        self.cells_of(work.blocks[0]).work(work, outcome)
    }

    fn has_data_sheet_sensing(&self) -> bool {
        self.arrays.iter().all(Physics::has_data_sheet_sensing)
    }

    fn read_levels(&self) -> Option<u8> {
        self.arrays.iter().filter_map(Physics::read_levels).max()
    }

    fn is_uncorrectable(&mut self, sensed: &Sensed) -> bool {
        self.cells_of(sensed.at).is_uncorrectable(sensed)
    }

    fn needs_soft_decision(&mut self, sensed: &Sensed) -> bool {
        self.cells_of(sensed.at).needs_soft_decision(sensed)
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(self.clone())
    }
}

impl Part {
    /// The error correction, if the part has a cell model with read parameters.
    pub fn ecc(&self) -> Option<&Ecc> {
        self.aged_cells()?.set.reading.as_ref().map(|reading| &reading.ecc)
    }

    /// The highest set of read reference voltages, if the part has a cell model with read parameters.
    pub fn read_levels(&self) -> Option<u8> {
        self.aged_cells()?.set.highest_entry()
    }
}
