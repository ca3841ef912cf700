//! What the collector does where super blocks are cleaned: a row that needs blocks chooses one, and every row then
//! cleans its block of it, as its next victim. A row of which none is chosen, or to which that gains nothing, cleans a
//! victim of its own, so that no row depends on another.

use wordline_nand::BlockSetId;

use super::{Collector, Leave};
use crate::policy::placement::Row;
use crate::space::Space;

impl Collector {
    /// Whether the row's next victim is a block of a super block that was chosen, and it does not have free blocks beyond
    /// those that cleaning goes for.
    #[inline]
    pub(super) fn cleans_member(&self, row: Row, space: &Space, leave: &Leave) -> bool {
        space.next_of_super_block(row).is_some()
            && space.free(row) <= space.marks(row)[1].max(leave.rest_goal)
    }

    /// That block. One of which the pages have nowhere to go, so many blocks have failed, is left out.
    pub(super) fn next_member(&self, row: Row, leave: &Leave, space: &mut Space) -> Option<BlockSetId> {
        while self.cleans_member(row, space, leave) {
            let block = space.next_of_super_block(row)?;
            if self.has_room_for(row, block, space) {
                return Some(block);
            }
            space.leave_out(block);
        }
        None
    }

    /// The next victim of a row that needs blocks: its block of a super block that is chosen now, or one of its own.
    pub(super) fn choose(&mut self, row: Row, leave: &Leave, space: &mut Space) -> Option<BlockSetId> {
        let member =
            if self.choose_super_block(row, space) { self.next_member(row, leave, space) } else { None };
        member.or_else(|| self.policy.choose(space.candidates(row), &mut self.random))
    }

    /// Chooses a super block, if that is what is cleaned and not enough of them are being cleaned; whether it did.
    fn choose_super_block(&mut self, row: Row, space: &mut Space) -> bool {
        let Some(candidates) = space.super_candidates(row) else { return false };
        let chosen = self.policy.choose(candidates, &mut self.random);
        if let Some(chosen) = chosen {
            space.choose_super_block(row, chosen);
        }
        chosen.is_some()
    }

    /// The next victim of a row that needs blocks, where nothing takes time: other rows clean their blocks of a super
    /// block when they need some.
    pub(super) fn choose_untimed(&mut self, row: Row, space: &mut Space) -> Option<BlockSetId> {
        if space.next_of_super_block(row).is_none() {
            self.choose_super_block(row, space);
        }
        space.next_of_super_block(row).or_else(|| self.policy.choose(space.candidates(row), &mut self.random))
    }
}
