//! GC in a plane group: its job, the pages that were read, and the program unit in progress.

mod job_steps;
mod whole_units;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_flash::{Class, Purpose};
use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::gc::job::Job;
use crate::map::Relocation;

/// Error: no block has space for a victim's valid pages, because too many programs failed.
pub(super) struct NoRoom;

/// GC state of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PlaneGroupState {
    /// Whether GC is gaining blocks for the host.
    pub(super) active: bool,
    /// Whether too few good blocks are left for GC.
    pub(super) stuck: bool,
    /// Whether the plane group is out of service.
    pub(super) lost: bool,
    /// Commands of the current step that are queued or in progress.
    pub(super) commands: u32,
    /// Whether the current step erases a victim.
    pub(super) erases: bool,
    /// Invalid pages processed since GC started, minus the pages that the host has written since.
    pub(super) regained: u32,
    /// Steps that GC may do before the next host write.
    pub(super) steps_left: u32,
    /// Whether the last job was requested by a design and is not finished.
    pub(super) finishes: bool,
    /// Current job.
    pub(super) job: Option<Job>,
    /// Background job that is interrupted by a more urgent job.
    pub(super) paused: Option<Job>,
    /// Victims whose valid pages have all been read.
    pub(super) read: VecDeque<BlockSetId>,
    /// Pages that were read, for each GC stream that will write them.
    pub(super) staged: Vec<VecDeque<Relocation>>,
    /// Pages of the program unit in progress.
    pub(super) unit: Vec<Relocation>,
}

impl PlaneGroupState {
    /// Number of pages that were read and wait for a full program unit.
    pub(super) fn staged(&self) -> usize {
        self.staged.iter().map(VecDeque::len).sum()
    }

    /// Whether GC is gaining blocks, or a job is unfinished.
    #[inline]
    pub(super) fn is_at_work(&self) -> bool {
        self.active || self.job.is_some() || !self.read.is_empty()
    }

    /// Whether the plane group has as many programmable pages as paced GC aims for: one block more than the
    /// start watermark. The additional block stands for open blocks, which the watermark does not count.
    pub(super) fn is_ahead(&self, row: PlaneGroupId, blocks: &BlockManager) -> bool {
        self.has_room_but(0, row, blocks)
    }

    /// Whether the host must wait for paced GC, because GC is more than a program unit behind its goal.
    pub(super) fn throttles_host(&self, row: PlaneGroupId, blocks: &BlockManager) -> bool {
        self.active && !self.stuck && !self.has_room_but(blocks.pools().per_program(row), row, blocks)
    }

    fn has_room_but(&self, pages: u32, row: PlaneGroupId, blocks: &BlockManager) -> bool {
        let wanted = (blocks.space().marks(row)[0] + 1) * blocks.pools().per_block_of(row) as usize;
        (blocks.room_to_collector(row) + u64::from(pages)) as usize + self.processed_pages(row, blocks)
            >= wanted
    }

    /// Pages of victims that were processed but not erased, minus the staged pages.
    pub(super) fn processed_pages(&self, row: PlaneGroupId, blocks: &BlockManager) -> usize {
        let jobs = self.job.iter().chain(&self.paused);
        let here: u32 = jobs.filter(|job| job.victim().is_some()).map(|job| job.reached().1).sum();
        let whole = self.read.len() + usize::from(self.erases && self.commands > 0);
        let all = whole * blocks.pools().per_block_of(row) as usize + here as usize;
        all.saturating_sub(self.staged())
    }

    /// Whether the current work continues. Background work continues only while it `is_wanted`.
    pub(super) fn goes_on(&self, is_wanted: bool) -> bool {
        let may_wait = |job: &Job| job.only_while_idle;
        is_wanted || self.active || !self.read.is_empty() || !self.job.as_ref().is_some_and(may_wait)
    }

    /// Whether the staged pages must fill the last unit for which GC has space, so that their victims can be
    /// erased. Pages of different streams then share the unit.
    pub(super) fn must_fill_last_unit(&self, row: PlaneGroupId, blocks: &BlockManager) -> bool {
        let unit = blocks.pools().per_program(row) as usize;
        !self.read.is_empty() && self.staged() >= unit && blocks.gc_room(row) < 2 * unit
    }

    /// Puts staged pages of all streams into one unit. Pages of victims that wait for their erase come first.
    pub(super) fn share_unit(&mut self, unit: usize, blocks: &BlockManager) {
        let Self { staged, unit: shared, read, .. } = self;
        let holds_back = |moved: &Relocation| read.contains(&blocks.pools().block_of(moved.from));
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

    /// Begins a job. A background job in progress is interrupted and continues afterwards.
    pub(super) fn begin(&mut self, job: Job) {
        self.finishes = job.is_requested;
        if let Some(waits) = self.job.replace(job) {
            assert!(
                self.paused.replace(waits).is_none(),
                "a job that goes on only while the host is idle waits for one"
            );
        }
    }

    /// Interrupts a job that relocates requested pages, because the free blocks are needed by GC. Returns the
    /// pages that are not relocated.
    pub(super) fn interrupt_request(&mut self, blocks: &BlockManager) -> Vec<Location> {
        let Some(job) = self.job.as_ref().filter(|job| job.relocates_requested_pages()) else {
            return Vec::new();
        };
        let left = job.requested_pages(blocks);
        for staged in &mut self.staged {
            staged.retain(|moved| !job.lists(moved.from));
        }
        self.finishes = false;
        self.end();
        left
    }

    /// Ends the current job.
    pub(super) fn end(&mut self) {
        self.job = self.paused.take();
    }

    /// Block being collected in a plane group.
    pub(super) fn victim(&self) -> Option<BlockSetId> {
        self.job.as_ref().and_then(Job::victim)
    }

    /// Whether the pages of the plane group's job are programmed together with host pages.
    #[inline]
    pub(super) fn is_programmed_with_host(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.with_host)
    }

    /// Whether the pages of the plane group's job migrate to another pool.
    #[inline]
    pub(super) fn leaves(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.leaves)
    }

    /// Stages a page that was read, for a GC stream.
    pub(super) fn stage(&mut self, stream: u8, moved: Relocation) {
        self.staged[usize::from(stream)].push_back(moved);
    }

    /// Adds a page relocated by copyback to the plane group's unit.
    pub(super) fn copy(&mut self, moved: Relocation) {
        self.unit.push(moved);
    }

    /// Scheduling class of the commands of the plane group's job.
    #[inline]
    pub(super) fn class(&self) -> Class {
        self.job.as_ref().map_or(Class::Gc, |job| job.class)
    }

    /// Purpose of the plane group's job.
    #[inline]
    pub(super) fn purpose(&self) -> Purpose {
        self.job.as_ref().map_or(Purpose::Collecting, |job| job.purpose)
    }

    /// Sets the number of commands of the plane group's step. The default is one.
    pub(super) fn split_step(&mut self, commands: u32) {
        self.commands = commands;
    }

    /// Stages the pages of a failed program again. They are still valid in their victims.
    pub(super) fn program_failed(&mut self, stream: u8) {
        let Self { unit, staged, lost, .. } = self;
        let pages = unit.drain(..).rev();
        if !*lost {
            pages.for_each(|moved| staged[usize::from(stream)].push_front(moved));
        }
    }

    /// Repeats the relocation of pages after a failed copyback.
    pub(super) fn copyback_failed(&mut self, pages: u32) {
        self.unit.clear();
        if let Some(job) = &mut self.job {
            job.step_back(pages);
        }
    }

    /// Clears the work of a plane group that is out of service.
    pub(super) fn lose(&mut self) {
        let Self { active, job, paused, read, staged, unit, lost, .. } = self;
        (*active, *job, *paused, *lost) = (false, None, None, true);
        self.finishes = false;
        read.clear();
        staged.iter_mut().for_each(VecDeque::clear);
        unit.clear();
    }

    /// Victims that can be erased as soon as the reads in them are done.
    pub(super) fn victims_awaiting_reads(&self, blocks: &BlockManager) -> impl Iterator<Item = BlockSetId> {
        let waits =
            |block: &BlockSetId| blocks.table().valid(*block) == 0 && !blocks.table().can_erase(*block);
        self.read.iter().copied().filter(waits)
    }
}
