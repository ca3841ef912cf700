//! d-choices: the best of several random blocks.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Indexes, VictimPolicy};

/// Selects the block with the fewest valid pages among `choices` random draws from all candidates; the one
/// drawn first wins a tie.
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
