//! Windowed greedy: the best of the oldest blocks.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Indexes, VictimPolicy};

/// Selects the block with the fewest valid pages among the `window` candidates that closed first. The block
/// that closed first wins a tie.
pub struct WindowedGreedy {
    /// Number of blocks compared.
    pub window: u32,
}

state!(WindowedGreedy { fixed { window } });

impl VictimPolicy for WindowedGreedy {
    fn needs(&self) -> Indexes {
        Indexes { by_closing: true, ..Indexes::default() }
    }

    fn choose(&mut self, from: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
        from.oldest_first().take(self.window as usize).min_by_key(|block| from.valid(*block))
    }
}
