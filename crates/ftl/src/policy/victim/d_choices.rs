//! d-choices: the best of several random blocks.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Indexes, VictimPolicy};

/// Draws `choices` candidates at random and selects the one with the fewest valid pages. The first draw wins
/// a tie.
pub struct DChoices {
    /// Number of draws.
    pub choices: u32,
}

state!(DChoices { fixed { choices } });

impl VictimPolicy for DChoices {
    fn needs(&self) -> Indexes {
        Indexes { numbered: true, ..Indexes::default() }
    }

    fn choose(&mut self, from: Candidates<'_>, random: &mut Stream) -> Option<BlockSetId> {
        let drawn = (0..self.choices).map_while(|_| from.random(random));
        drawn.min_by_key(|block| from.valid(*block))
    }
}
