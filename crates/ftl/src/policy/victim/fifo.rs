//! First in, first out: the oldest block.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Indexes, Preference, VictimPolicy};

/// Selects the candidate that closed first.
pub struct Fifo;

state!(Fifo {});

impl VictimPolicy for Fifo {
    fn needs(&self) -> Indexes {
        Indexes { by_closing: true, ..Indexes::default() }
    }

    fn preference(&self) -> Option<Preference> {
        Some(Preference::Oldest)
    }

    fn choose(&mut self, from: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
        from.oldest_first().next()
    }
}
