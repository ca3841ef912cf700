//! View of a plane group for a source of jobs.

use wordline_nand::{BlockSetId, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::flash::Flash;
use crate::gc::group_state::PlaneGroupState;
use crate::gc::job::Job;
use crate::gc::victims::Victims;
use crate::parts::Policies;

/// A cause of GC.
pub(in crate::gc) trait Source {
    /// Job that a plane group needs now for this cause; `None` if it needs none.
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job>;
}

/// Limits of the optional work of GC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcLimits {
    /// Whether GC waits for host commands as long as the host does not need its blocks.
    pub waits: bool,
    /// Free blocks to which the plane group may be collected while the host is idle; 0 while it is active.
    pub idle_goal: usize,
    /// Blocks in SLC mode that may stay in the plane group: the oldest ones beyond are folded.
    pub keep_cached: u32,
    /// Whether the limits are those of an idle host.
    pub is_idle: bool,
}

impl GcLimits {
    /// Required work only, without folding.
    pub const REQUIRED: Self = Self { waits: false, idle_goal: 0, keep_cached: u32::MAX, is_idle: false };
}

/// View of a plane group for a source of jobs.
pub(in crate::gc) struct View<'a> {
    pub(in crate::gc) space: &'a mut BlockManager,
    pub(in crate::gc) state: &'a mut PlaneGroupState,
    /// Pages of the plane group that are migrating to another pool and have not been programmed there.
    pub(in crate::gc) away: usize,
    pub(in crate::gc) victims: &'a mut Victims,
    pub(in crate::gc) flash: &'a Flash,
    pub(in crate::gc) policies: &'a mut Policies,
    pub(in crate::gc) leave: &'a GcLimits,
    /// GC watermarks in free blocks: start and stop.
    pub(in crate::gc) marks: [usize; 2],
    /// Whether a victim was found whose pages do not fit anywhere.
    pub(in crate::gc) lacks_room: bool,
}

impl View<'_> {
    /// Free blocks that GC aims for in the plane group.
    pub(in crate::gc) fn goal(&self) -> usize {
        self.marks[1].max(self.leave.idle_goal)
    }

    /// Whether collecting all closed blocks of a plane group would program fewer units than it frees. The
    /// unit of the last victim is padded, and padding is invalid like any other page: a collector that
    /// counted it as a gain would copy the same pages forever. Each pass from here to the next padding gains
    /// at least a unit, so that GC ends whatever its watermark.
    #[inline]
    pub(in crate::gc) fn can_gain_unit(&self, row: PlaneGroupId) -> bool {
        let unit = self.space.pools().per_program(row);
        // Pages waiting to fill a unit take room in the one to be padded.
        let begun = self.state.staged() as u32 % unit;
        self.space.invalid_in_closed(row) >= if begun > 0 { begun } else { unit }
    }

    /// Whether the valid pages of a block fit into the plane group, together with staged pages and those of
    /// interrupted jobs.
    pub(in crate::gc) fn has_room_for(&self, row: PlaneGroupId, block: BlockSetId) -> bool {
        let unit = self.space.pools().per_program(row) as usize;
        let moving = self.pages_to_relocate(block);
        moving.next_multiple_of(unit) <= self.space.gc_room(row)
    }

    /// Whether the first pages of a block fill the partial unit, so that the victims waiting for it are
    /// erased and the rest of the block then fits.
    fn fills_unit(&self, row: PlaneGroupId, block: BlockSetId) -> bool {
        let pools = self.space.pools();
        let (unit, room) = (pools.per_program(row) as usize, self.space.gc_room(row));
        let erased = self.state.read.len() * pools.per_block_of(row) as usize;
        let is_begun = (1..unit).contains(&self.state.staged());
        // Victims also wait for migrating pages.
        is_begun
            && self.away == 0
            && room >= unit
            && self.pages_to_relocate(block).next_multiple_of(unit) <= room + erased
    }

    /// Pages to relocate before a victim is erased.
    fn pages_to_relocate(&self, block: BlockSetId) -> usize {
        let waiting = self.state.job.iter().chain(&self.state.paused).filter(|job| job.only_while_idle);
        let put_aside: usize = waiting.map(|job| job.valid_left(self.space)).sum();
        self.space.valid(block) as usize + self.state.staged() + self.away + put_aside
    }

    /// Job that collects `block`, or the block with the fewest valid pages if the pages of `block` do not
    /// fit: after a power cut, there may be room only for blocks that were victims before it.
    pub(in crate::gc) fn collect_fitting(&mut self, row: PlaneGroupId, block: BlockSetId) -> Option<Job> {
        let fits = |block: &BlockSetId| self.has_room_for(row, *block) || self.fills_unit(row, *block);
        let victim = Some(block).filter(fits).or_else(|| self.space.fewest_valid_block(row).filter(fits));
        self.lacks_room = victim.is_none();
        victim.map(Job::empty)
    }
}
