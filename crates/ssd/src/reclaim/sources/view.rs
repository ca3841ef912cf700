//! The view of a row for a source of jobs.

use wordline_nand::{BlockSetId, RowId};

use crate::flash::Flash;
use crate::parts::Policies;
use crate::reclaim::job::Job;
use crate::reclaim::row::RowState;
use crate::reclaim::victims::Victims;
use crate::space::Space;

/// A cause of cleaning.
pub(in crate::reclaim) trait Source {
    /// The job that a row needs now for this cause; `None` if it needs none.
    fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job>;
}

/// The optional work of the collector, beside the required work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// Whether it has to wait for commands of the host while that can go on without it.
    pub waits: bool,
    /// Free blocks that it may clean the row for, since the host is idle; 0 while the host is at work.
    pub idle_goal: usize,
    /// Blocks in SLC mode that may stay in the row: the oldest of more are folded.
    pub keep_cached: u32,
    /// Whether that is so because the host is idle.
    pub is_idle: bool,
}

impl Leave {
    /// As much as must be done, and no block is folded.
    pub const MUST: Self = Self { waits: false, idle_goal: 0, keep_cached: u32::MAX, is_idle: false };
}

/// The view of a row for a source of jobs.
pub(in crate::reclaim) struct View<'a> {
    pub(in crate::reclaim) space: &'a mut Space,
    pub(in crate::reclaim) state: &'a mut RowState,
    /// Pages of the row that go to another pool and are not there.
    pub(in crate::reclaim) away: usize,
    pub(in crate::reclaim) victims: &'a mut Victims,
    pub(in crate::reclaim) flash: &'a Flash,
    pub(in crate::reclaim) policies: &'a mut Policies,
    pub(in crate::reclaim) leave: &'a Leave,
    /// The numbers of free blocks below which cleaning starts, and at which it stops.
    pub(in crate::reclaim) marks: [usize; 2],
    /// Whether a victim was found of which the pages have nowhere to go.
    pub(in crate::reclaim) lacks_room: bool,
}

impl View<'_> {
    /// Free blocks that the row is cleaned for.
    pub(in crate::reclaim) fn goal(&self) -> usize {
        self.marks[1].max(self.leave.idle_goal)
    }

    /// Whether cleaning all closed blocks of a row would take fewer program units than it gives back. The unit of the last
    /// victim is padded, and padding is invalid like anything else: a collector that took it for a gain would copy the same pages
    /// for ever. Each pass from here to the next padding gains a unit at least, so that cleaning comes to an end whatever
    /// mark it is for.
    #[inline]
    pub(in crate::reclaim) fn gains_unit(&self, row: RowId) -> bool {
        let unit = self.space.pools().per_program(row);
        // The pages that wait to fill a unit take room in the one that is to be padded.
        let begun = self.state.staged() as u32 % unit;
        self.space.invalid_in_closed(row) >= if begun > 0 { begun } else { unit }
    }

    /// Whether what is valid of a block has somewhere to go, with what waits to fill a program unit, and what is put aside.
    pub(in crate::reclaim) fn has_room_for(&self, row: RowId, block: BlockSetId) -> bool {
        let unit = self.space.pools().per_program(row) as usize;
        let moving = self.moving_with(block);
        moving.next_multiple_of(unit) <= self.space.collector_room(row)
    }

    /// Whether the first pages of a block fill the unit that is begun, so that the victims which that waits for are erased, and all
    /// others of the block then have somewhere to go.
    fn fills_unit(&self, row: RowId, block: BlockSetId) -> bool {
        let pools = self.space.pools();
        let (unit, room) = (pools.per_program(row) as usize, self.space.collector_room(row));
        let erased = self.state.read.len() * pools.per_block_of(row) as usize;
        let is_begun = (1..unit).contains(&self.state.staged());
        // Victims wait for pages that leave, too.
        is_begun
            && self.away == 0
            && room >= unit
            && self.moving_with(block).next_multiple_of(unit) <= room + erased
    }

    /// Pages that are to be moved before a victim is erased.
    fn moving_with(&self, block: BlockSetId) -> usize {
        let waiting = self.state.job.iter().chain(&self.state.paused).filter(|job| job.only_while_idle);
        let put_aside: usize = waiting.map(|job| job.valid_left(self.space)).sum();
        self.space.valid(block) as usize + self.state.staged() + self.away + put_aside
    }

    /// A job that empties `block`, or the block with the fewest valid pages where those of `block` have nowhere to go: after a
    /// power cut, blocks that were victims before it may be all that there is room to clean.
    pub(in crate::reclaim) fn empty_what_fits(&mut self, row: RowId, block: BlockSetId) -> Option<Job> {
        let fits = |block: &BlockSetId| self.has_room_for(row, *block) || self.fills_unit(row, *block);
        let victim = Some(block).filter(fits).or_else(|| self.space.emptiest(row).filter(fits));
        self.lacks_room = victim.is_none();
        victim.map(Job::empty)
    }
}
