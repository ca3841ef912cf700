//! Random: any block.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Indexes, Preference, VictimPolicy};

/// Selects a candidate at random, each equally likely.
pub struct Random;

state!(Random {});

impl VictimPolicy for Random {
    fn needs(&self) -> Indexes {
        Indexes { numbered: true, ..Indexes::default() }
    }

    fn preference(&self) -> Option<Preference> {
        Some(Preference::Random)
    }

    fn choose(&mut self, from: Candidates<'_>, random: &mut Stream) -> Option<BlockSetId> {
        from.random(random)
    }
}
