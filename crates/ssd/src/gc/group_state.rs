//! GC state of a plane group.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_nand::{BlockSetId, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::gc::job::Job;
use crate::map::Relocation;

/// GC state of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PlaneGroupState {
    /// Whether blocks are being gained for the host.
    pub(super) active: bool,
    /// Whether too few good blocks are left to collect any.
    pub(super) stuck: bool,
    /// Whether the plane group is out of service.
    pub(super) lost: bool,
    /// Commands of the current step that are queued or in progress.
    pub(super) commands: u32,
    /// Whether that step erases a victim.
    pub(super) erases: bool,
    /// Invalid pages processed since GC started, minus those that the host has written in return.
    pub(super) regained: u32,
    /// Steps left until the host writes again.
    pub(super) steps_left: u32,
    /// Current job.
    pub(super) job: Option<Job>,
    /// Background job that was interrupted by one that cannot wait.
    pub(super) paused: Option<Job>,
    /// Victims whose valid pages have all been read.
    pub(super) read: VecDeque<BlockSetId>,
    /// Pages that were read, by the GC stream that they will be written to.
    pub(super) staged: Vec<VecDeque<Relocation>>,
    /// Pages of the program unit in progress.
    pub(super) unit: Vec<Relocation>,
}

impl PlaneGroupState {
    /// Number of pages read that wait for a full program unit.
    pub(super) fn staged(&self) -> usize {
        self.staged.iter().map(VecDeque::len).sum()
    }

    /// Whether blocks are being gained, or some job is unfinished.
    #[inline]
    pub(super) fn is_at_work(&self) -> bool {
        self.active || self.job.is_some() || !self.read.is_empty()
    }

    /// Whether the plane group has as many programmable pages as paced GC aims for: one block beyond the
    /// start watermark, which counts only whole free blocks, while on average one more is open.
    pub(super) fn is_ahead(&self, row: PlaneGroupId, space: &BlockManager) -> bool {
        self.has_room_but(0, row, space)
    }

    /// Whether the host must wait for paced GC, because GC is more than a program unit behind.
    pub(super) fn throttles_host(&self, row: PlaneGroupId, space: &BlockManager) -> bool {
        self.active && !self.stuck && !self.has_room_but(space.pools().per_program(row), row, space)
    }

    fn has_room_but(&self, pages: u32, row: PlaneGroupId, space: &BlockManager) -> bool {
        let wanted = (space.marks(row)[0] + 1) * space.pools().per_block_of(row) as usize;
        (space.room_to_collector(row) + u64::from(pages)) as usize + self.processed_pages(row, space)
            >= wanted
    }

    /// Pages of victims that were processed and are not erased, minus the staged ones.
    pub(super) fn processed_pages(&self, row: PlaneGroupId, space: &BlockManager) -> usize {
        let jobs = self.job.iter().chain(&self.paused);
        let here: u32 = jobs.filter(|job| job.victim().is_some()).map(|job| job.reached().1).sum();
        let whole = self.read.len() + usize::from(self.erases && self.commands > 0);
        let all = whole * space.pools().per_block_of(row) as usize + here as usize;
        all.saturating_sub(self.staged())
    }

    /// Whether the current work continues; background work does so only while it `is_wanted`.
    pub(super) fn goes_on(&self, is_wanted: bool) -> bool {
        let may_wait = |job: &Job| job.only_while_idle;
        is_wanted || self.active || !self.read.is_empty() || !self.job.as_ref().is_some_and(may_wait)
    }

    /// Whether the staged pages must fill the last unit that GC has room for, so that the victims that they
    /// came from can be erased: pages of different streams then share it.
    pub(super) fn must_fill_last_unit(&self, row: PlaneGroupId, space: &BlockManager) -> bool {
        let unit = space.pools().per_program(row) as usize;
        !self.read.is_empty() && self.staged() >= unit && space.gc_room(row) < 2 * unit
    }

    /// Puts staged pages of all streams into one unit, pages of victims that wait for their erase first.
    pub(super) fn share_unit(&mut self, unit: usize, space: &BlockManager) {
        let Self { staged, unit: shared, read, .. } = self;
        let holds_back = |moved: &Relocation| read.contains(&space.pools().block_of(moved.from));
        for first in [true, false] {
            for staged in staged.iter_mut() {
                let mut room = unit - shared.len();
                staged.retain(|moved| {
                    let is_taken = room > 0 && holds_back(moved) == first;
                    if is_taken {
                        shared.push(*moved);
                        room -= 1;
                    }
                    !is_taken
                });
            }
        }
    }

    /// Begins a job; interrupts a background job, which continues afterwards.
    pub(super) fn begin(&mut self, job: Job) {
        if let Some(waits) = self.job.replace(job) {
            assert!(
                self.paused.replace(waits).is_none(),
                "a job that goes on only while the host is idle waits for one"
            );
        }
    }

    /// Ends the current job.
    pub(super) fn end(&mut self) {
        self.job = self.paused.take();
    }
}
