//! View of a plane group for a source of jobs.

use wordline_flash::Flash;
use wordline_nand::{BlockSetId, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::gc::group_state::PlaneGroupState;
use crate::gc::job::Job;
use crate::gc::victims::Victims;
use crate::policies::ActivePolicies;

/// A reason for GC.
pub(in crate::gc) trait Source {
    /// Job that a plane group needs now for this reason; `None` if it needs none.
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job>;
}

/// Limits of the optional work of GC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcLimits {
    /// Whether GC waits for host commands while the host does not need its blocks.
    pub waits: bool,
    /// Number of free blocks up to which GC works while the host is idle; 0 while the host is active.
    pub idle_goal: usize,
    /// Number of SLC-mode blocks that may stay in the plane group. The oldest of the others are folded.
    pub keep_cached: u32,
    /// Whether these are the limits for an idle host.
    pub is_idle: bool,
}

impl GcLimits {
    /// Only required work, and no folding.
    pub const REQUIRED: Self = Self { waits: false, idle_goal: 0, keep_cached: u32::MAX, is_idle: false };
}

/// View of a plane group for a source of jobs.
pub(in crate::gc) struct View<'a> {
    pub(in crate::gc) blocks: &'a mut BlockManager,
    pub(in crate::gc) state: &'a mut PlaneGroupState,
    /// Pages of the plane group that are migrating to another pool and are not programmed there yet.
    pub(in crate::gc) away: usize,
    pub(in crate::gc) victims: &'a mut Victims,
    pub(in crate::gc) flash: &'a Flash,
    pub(in crate::gc) policies: &'a mut ActivePolicies,
    pub(in crate::gc) leave: &'a GcLimits,
    /// GC watermarks in free blocks: start and stop.
    pub(in crate::gc) marks: [usize; 2],
    /// Whether there is no space for the pages of a victim that was found.
    pub(in crate::gc) lacks_room: bool,
}

impl View<'_> {
    /// Number of free blocks that GC aims for in the plane group.
    pub(in crate::gc) fn goal(&self) -> usize {
        self.marks[1].max(self.leave.idle_goal)
    }

    /// Whether collecting all closed blocks of a plane group would free more units than it programs. The unit
    /// of the last victim is padded, and padding is invalid like other pages. If GC counted padding as a
    /// gain, it would copy the same pages forever. With this condition each pass up to the next padding gains
    /// at least a unit, so GC ends for any watermark.
    #[inline]
    pub(in crate::gc) fn can_gain_unit(&self, row: PlaneGroupId) -> bool {
        let unit = self.blocks.pools().per_program(row);
        // Pages that wait to fill a unit reduce the padding of the last unit.
        let begun = self.state.staged() as u32 % unit;
        self.blocks.invalid_in_closed(row) >= if begun > 0 { begun } else { unit }
    }

    /// Whether there is space in the plane group for the valid pages of a block, together with staged pages
    /// and pages of interrupted jobs.
    pub(in crate::gc) fn has_room_for(&self, row: PlaneGroupId, block: BlockSetId) -> bool {
        let unit = self.blocks.pools().per_program(row) as usize;
        let moving = self.pages_to_relocate(block);
        moving.next_multiple_of(unit) <= self.blocks.gc_room(row)
    }

    /// Number of pages of a plane group that there is space for, together with staged pages and pages of
    /// interrupted jobs.
    pub(in crate::gc) fn room_for_pages(&self, row: PlaneGroupId) -> usize {
        let unit = self.blocks.pools().per_program(row) as usize;
        (self.blocks.gc_room(row) / unit * unit).saturating_sub(self.pages_in_hand())
    }

    /// Whether the first pages of a block fill the partial unit. The victims that wait for this unit can then
    /// be erased, and there is space for the rest of the block.
    fn fills_unit(&self, row: PlaneGroupId, block: BlockSetId) -> bool {
        let pools = self.blocks.pools();
        let (unit, room) = (pools.per_program(row) as usize, self.blocks.gc_room(row));
        let erased = self.state.read.len() * pools.per_block_of(row) as usize;
        let is_begun = (1..unit).contains(&self.state.staged());
        // Victims also wait for migrating pages.
        is_begun
            && self.away == 0
            && room >= unit
            && self.pages_to_relocate(block).next_multiple_of(unit) <= room + erased
    }

    /// Number of pages to relocate before a victim is erased.
    fn pages_to_relocate(&self, block: BlockSetId) -> usize {
        self.blocks.table().valid(block) as usize + self.pages_in_hand()
    }

    /// Number of pages to relocate before the next job: staged pages, pages that migrate, and pages of
    /// interrupted jobs.
    fn pages_in_hand(&self) -> usize {
        let waiting = self.state.job.iter().chain(&self.state.paused).filter(|job| job.only_while_idle);
        let put_aside: usize = waiting.map(|job| job.valid_left(self.blocks)).sum();
        self.state.staged() + self.away + put_aside
    }

    /// Job that collects `block`. If there is no space for its pages, the job collects the block with the
    /// fewest valid pages instead. After a power cut there may be space only for blocks that were victims
    /// before the power cut.
    pub(in crate::gc) fn collect_fitting(&mut self, row: PlaneGroupId, block: BlockSetId) -> Option<Job> {
        let fits = |block: &BlockSetId| self.has_room_for(row, *block) || self.fills_unit(row, *block);
        let victim =
            Some(block).filter(fits).or_else(|| self.blocks.table().fewest_valid_block(row).filter(fits));
        self.lacks_room = victim.is_none();
        victim.map(Job::empty)
    }
}
