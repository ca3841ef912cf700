//! Super blocks: a row that needs blocks chooses one, and every row then empties its block of it, as its next victim. A row of
//! which none is chosen, or to which that gains nothing, empties a victim of its own, so that no row depends on another.

use wordline_nand::{BlockSetId, RowId};

use super::view::{Source, View};
use crate::reclaim::job::Job;

/// Empties the blocks of super blocks that were chosen.
pub(super) struct Members;

impl Source for Members {
    #[inline]
    fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job> {
        next_member(row, view).map(Job::empty)
    }
}

/// The row's block of a super block that was chosen, unless the row has free blocks beyond those that cleaning goes for. A block
/// whose pages have nowhere to go, because too many blocks have failed, is left out.
fn next_member(row: RowId, view: &mut View<'_>) -> Option<BlockSetId> {
    while let Some(block) = view.space.next_of_super_block(row) {
        if view.space.free(row) > view.goal() {
            return None;
        }
        if view.has_room_for(row, block) {
            return Some(block);
        }
        view.space.leave_out(block);
    }
    None
}

/// The next victim of a row that needs blocks: its block of a super block that is chosen now, or one of its own.
pub(super) fn choose(row: RowId, view: &mut View<'_>) -> Option<BlockSetId> {
    let View { victims, space, flash, policies, .. } = view;
    let chosen = victims.choose_super_block(row, space, (flash, policies));
    let member = if chosen { next_member(row, view) } else { None };
    let View { victims, space, flash, policies, .. } = view;
    member.or_else(|| victims.choose(row, space, (flash, policies)))
}
