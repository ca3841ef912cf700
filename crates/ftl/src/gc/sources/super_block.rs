//! Superblocks. A plane group that needs free blocks selects a superblock. Every plane group then collects
//! its block of this superblock as its next victim. A plane group whose block is missing or gains nothing
//! collects another victim, so that no plane group depends on another.

use wordline_nand::{BlockSetId, PlaneGroupId};

use super::view::{Source, View};
use crate::gc::job::Job;

/// Collects the blocks of selected superblocks.
pub(super) struct SuperBlockMembers;

impl Source for SuperBlockMembers {
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        next_member(row, view).map(Job::empty)
    }
}

/// Block of the plane group in a selected superblock; `None` if the plane group has more free blocks than GC
/// aims for. A block is skipped if there is no space for its pages, because too many blocks have failed.
fn next_member(row: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
    while let Some(block) = view.blocks.pool_of(row).next_super_block_victim(row) {
        if view.blocks.space().free(row) > view.goal() {
            return None;
        }
        if view.has_room_for(row, block) {
            return Some(block);
        }
        view.blocks.spare_block(row, block);
    }
    None
}

/// Next victim of a plane group that needs free blocks. It is the plane group's block in a superblock that is
/// selected now, or another block.
pub(super) fn choose(row: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
    let View { victims, blocks, flash, policies, .. } = view;
    let chosen = victims.choose_super_block(row, blocks, flash, policies);
    let member = if chosen { next_member(row, view) } else { None };
    let View { victims, blocks, flash, policies, .. } = view;
    member.or_else(|| victims.choose(row, blocks, flash, policies))
}
