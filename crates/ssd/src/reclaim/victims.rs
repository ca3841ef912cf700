//! Asks the victim policy.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use crate::policy::placement::Row;
use crate::policy::victim::VictimPolicy;
use crate::space::Space;

/// The victim policy, with its random numbers.
pub(super) struct Victims {
    policy: Box<dyn VictimPolicy>,
    random: Stream,
}

state!(Victims { values { random } parts { policy } });

impl Victims {
    pub(super) fn new(policy: Box<dyn VictimPolicy>, random: Stream) -> Self {
        Self { policy, random }
    }

    /// The next victim among the closed blocks of a row.
    pub(super) fn choose(&mut self, row: Row, space: &mut Space) -> Option<BlockSetId> {
        self.policy.choose(space.candidates(row), &mut self.random)
    }

    /// Chooses a super block, if that is what is cleaned and not enough of them are being cleaned; whether it did.
    pub(super) fn choose_super_block(&mut self, row: Row, space: &mut Space) -> bool {
        let Some(candidates) = space.super_candidates(row) else { return false };
        let chosen = self.policy.choose(candidates, &mut self.random);
        if let Some(chosen) = chosen {
            space.choose_super_block(row, chosen);
        }
        chosen.is_some()
    }
}
