//! Where the cleaning of a row is.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_nand::{BlockSetId, RowId};

use crate::map::Moved;
use crate::reclaim::job::Job;
use crate::space::Space;

/// Where the cleaning of a row is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RowState {
    /// Whether blocks are being gained for the host.
    pub(super) active: bool,
    /// Whether too few good blocks are left to clean any.
    pub(super) stuck: bool,
    /// Whether the row is out of use as a whole.
    pub(super) lost: bool,
    /// Commands of the present step that are queued or under way.
    pub(super) commands: u32,
    /// Whether that step erases a victim.
    pub(super) erases: bool,
    /// Invalid pages that were passed since cleaning began, less what the host has written for them.
    pub(super) regained: u32,
    /// Steps that may be taken until the host writes again.
    pub(super) steps_left: u32,
    /// The present job.
    pub(super) job: Option<Job>,
    /// A job of the idle time, put aside for one that cannot wait.
    pub(super) paused: Option<Job>,
    /// Victims of which every valid page was read.
    pub(super) read: VecDeque<BlockSetId>,
    /// Pages that were read, by the collector's stream that they will be written to.
    pub(super) staged: Vec<VecDeque<Moved>>,
    /// The pages of the program unit that is being programmed.
    pub(super) unit: Vec<Moved>,
}

impl RowState {
    /// Pages that were read and wait to fill a program unit.
    pub(super) fn staged(&self) -> usize {
        self.staged.iter().map(VecDeque::len).sum()
    }

    /// Whether blocks are being gained, or something is begun.
    #[inline]
    pub(super) fn is_at_work(&self) -> bool {
        self.active || self.job.is_some() || !self.read.is_empty()
    }

    /// Whether as much can be programmed in the row without an erase as a collector that keeps the host's pace goes for: a block
    /// beyond the mark below which cleaning starts, for free blocks are counted whole there, and one more is open on the average.
    pub(super) fn is_ahead(&self, row: RowId, space: &Space) -> bool {
        self.has_room_but(0, row, space)
    }

    /// Whether a host that the collector keeps pace with has to wait for it: it is more than a program unit behind.
    pub(super) fn holds_host(&self, row: RowId, space: &Space) -> bool {
        self.active && !self.stuck && !self.has_room_but(space.pools().per_program(row), row, space)
    }

    fn has_room_but(&self, pages: u32, row: RowId, space: &Space) -> bool {
        let wanted = (space.marks(row)[0] + 1) * space.pools().per_block_of(row) as usize;
        (space.room_to_collector(row) + u64::from(pages)) as usize + self.gone_through(row, space) >= wanted
    }

    /// Pages of victims that were gone through and are not erased, less those that wait to be programmed.
    pub(super) fn gone_through(&self, row: RowId, space: &Space) -> usize {
        let jobs = self.job.iter().chain(&self.paused);
        let here: u32 = jobs.filter(|job| job.victim().is_some()).map(|job| job.reached().1).sum();
        let whole = self.read.len() + usize::from(self.erases && self.commands > 0);
        let all = whole * space.pools().per_block_of(row) as usize + here as usize;
        all.saturating_sub(self.staged())
    }

    /// Whether what was begun goes on; what was begun because the host was idle does if that `is_wanted` still.
    pub(super) fn goes_on(&self, is_wanted: bool) -> bool {
        let may_wait = |job: &Job| job.only_while_idle;
        is_wanted || self.active || !self.read.is_empty() || !self.job.as_ref().is_some_and(may_wait)
    }

    /// Whether the pages that wait are to fill the last unit that the collector has room for, so that the victims that they came
    /// from can be erased: pages of different streams then share it.
    pub(super) fn fills_last_unit(&self, row: RowId, space: &Space) -> bool {
        let unit = space.pools().per_program(row) as usize;
        !self.read.is_empty() && self.staged() >= unit && space.collector_room(row) < 2 * unit
    }

    /// Puts what waits of all streams into one unit, the pages of victims that wait for their erase first.
    pub(super) fn share_unit(&mut self, unit: usize, space: &Space) {
        let Self { staged, unit: shared, read, .. } = self;
        let holds_back = |moved: &Moved| read.contains(&space.pools().block_of(moved.from));
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

    /// Begins a job; one that the host does not leave time for goes on after it.
    pub(super) fn begin(&mut self, job: Job) {
        if let Some(waits) = self.job.replace(job) {
            assert!(
                self.paused.replace(waits).is_none(),
                "a job that goes on only while the host is idle waits for one"
            );
        }
    }

    /// The present job is over.
    pub(super) fn end(&mut self) {
        self.job = self.paused.take();
    }
}
