//! Greedy: the block with the fewest valid pages.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Preference, VictimPolicy};

/// Selects the block with the fewest valid pages. In a tie the last block to reach that count wins.
pub struct Greedy;

state!(Greedy {});

impl VictimPolicy for Greedy {
    fn preference(&self) -> Option<Preference> {
        Some(Preference::Fewest)
    }

    fn choose(&mut self, from: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
        from.fewest_valid()
    }
}
