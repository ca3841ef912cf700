//! Superblocks: a plane group that needs blocks chooses one, and every plane group then collects its block of
//! it as its next victim. A plane group without such a block, or whose block gains nothing, collects a victim
//! of its own, so that no plane group depends on another.

use wordline_nand::{BlockSetId, PlaneGroupId};

use super::view::{Source, View};
use crate::gc::job::Job;

/// Collects the blocks of chosen superblocks.
pub(super) struct SuperBlockMembers;

impl Source for SuperBlockMembers {
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        next_member(row, view).map(Job::empty)
    }
}

/// Block of the plane group in a chosen superblock, unless the plane group has more free blocks than GC aims
/// for. A block whose pages do not fit anywhere, because too many blocks have failed, is skipped.
fn next_member(row: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
    while let Some(block) = view.space.next_super_block_victim(row) {
        if view.space.free(row) > view.goal() {
            return None;
        }
        if view.has_room_for(row, block) {
            return Some(block);
        }
        view.space.spare_block(block);
    }
    None
}

/// Next victim of a plane group that needs blocks: its block of a superblock chosen now, or one of its own.
pub(super) fn choose(row: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
    let View { victims, space, flash, policies, .. } = view;
    let chosen = victims.choose_super_block(row, space, (flash, policies));
    let member = if chosen { next_member(row, view) } else { None };
    let View { victims, space, flash, policies, .. } = view;
    member.or_else(|| victims.choose(row, space, (flash, policies)))
}
