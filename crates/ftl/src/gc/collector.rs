//! Garbage collection in single commands, separately for each plane group, so that host commands can be
//! served in between.
//!
//! A page that was read and waits for a program unit is *staged*. Staged pages that do not fill a program
//! unit are carried over to the next victim, instead of padding the unit. So even a block with a single
//! invalid page gains a page when it is collected.
//!
//! The [sources](super::sources) of jobs decide why a plane group is collected. This module executes jobs
//! step by step.

mod audit;

use std::collections::VecDeque;

use wordline_flash::Flash;
use wordline_kernel::{Column, Stream, state};
use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use super::config::GcFile;
use super::group_state::{NoRoom, PlaneGroupState};
use super::job::Job;
use super::migrating::MigratingPages;
use super::reclaimed::ReclaimedPages;
use super::selected::SelectedVictims;
use super::sources::view::View;
use super::sources::{Source, Sources};
use super::step::Step;
use super::victims::Victims;
use crate::blocks::{BlockManager, State};
use crate::map::LogicalPage;
use crate::policies::ActivePolicies;
use crate::policy::victim::{Preference, VictimPolicy};
use crate::policy::wear::WearLeveller;

pub use super::sources::view::GcLimits;

/// The garbage collector of a device.
pub struct Collector {
    pub(super) rows: Column<PlaneGroupId, PlaneGroupState>,
    sources: Sources,
    victims: Victims,
    copyback: bool,
    /// GC steps of a plane group for each program unit of the host.
    steps_per_write: u32,
    /// Whether GC keeps pace with host writes instead of following watermarks.
    paced: bool,
    /// Plane groups with a step in progress.
    steps: u32,
    /// Victims that had no valid pages when they were selected, and are not counted yet.
    empty_victims: u64,
    /// Valid pages at selection, for each victim that is not erased yet.
    pub(super) selected: SelectedVictims,
    /// Pages that migrate to another pool one by one.
    pub(super) departures: MigratingPages,
    /// Pages of blocks being reclaimed.
    pub(super) vacating: ReclaimedPages,
}

state!(Collector {
    values { rows, steps, empty_victims, selected }
    parts { sources, victims, departures, vacating }
    fixed { copyback, steps_per_write, paced }
});

impl Collector {
    /// A collector for `rows` plane groups, each with `streams` GC streams.
    pub fn new(rows: u32, streams: u8, policy: Box<dyn VictimPolicy>, random: Stream, gc: &GcFile) -> Self {
        let steps_per_write = gc.steps_per_write.unwrap_or(u32::MAX);
        let row = PlaneGroupState {
            staged: vec![VecDeque::new(); streams.into()],
            steps_left: steps_per_write,
            ..PlaneGroupState::default()
        };
        Self {
            rows: Column::filled(rows as usize, row),
            sources: Sources::new(rows),
            victims: Victims::new(policy, random),
            copyback: gc.copyback,
            steps_per_write,
            paced: gc.paced,
            steps: 0,
            empty_victims: 0,
            selected: SelectedVictims::default(),
            departures: MigratingPages::new(rows),
            vacating: ReclaimedPages::new(rows),
        }
    }

    /// Enables static wear levelling, if `wear` does any.
    pub fn level(&mut self, wear: Box<dyn WearLeveller>, random: Stream) {
        self.sources.level(wear, random, self.rows.len() as u32);
    }

    /// Next cold block of a plane group that is `wanted`, if wear is levelled and uneven enough.
    pub fn next_cold(
        &mut self,
        row: PlaneGroupId,
        of: (&Flash, &BlockManager),
        wanted: impl Fn(BlockSetId) -> bool,
    ) -> Option<BlockSetId> {
        self.sources.next_cold(row, of, wanted)
    }

    /// Preference of the victim policy, if theory predicts its write amplification.
    pub fn preference(&self) -> Option<Preference> {
        self.victims.preference()
    }

    /// Resets everything that a power cut loses.
    pub fn forget(&mut self) {
        for (n, row) in (0..).map(PlaneGroupId).zip(self.rows.iter_mut()) {
            let staged = vec![VecDeque::new(); row.staged.len()];
            *row = PlaneGroupState { staged, steps_left: self.steps_per_write, ..PlaneGroupState::default() };
            self.sources.forget(n);
        }
        (self.steps, self.empty_victims) = (0, 0);
        self.selected = SelectedVictims::default();
        self.departures.forget();
        self.vacating.forget();
    }

    /// Next job of a plane group, from the first source that has one. Also returns whether there was no space
    /// for a victim's pages.
    fn next_job(
        &mut self,
        row: PlaneGroupId,
        leave: &GcLimits,
        blocks: &mut BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> (Option<Job>, bool) {
        let (sources, mut view) = self.view(row, leave, blocks, flash, policies);
        let job = sources.next(row, &mut view);
        (job, view.lacks_room)
    }

    /// The job sources, and the state of a plane group that they select from.
    fn view<'a>(
        &'a mut self,
        row: PlaneGroupId,
        leave: &'a GcLimits,
        blocks: &'a mut BlockManager,
        flash: &'a Flash,
        policies: &'a mut ActivePolicies,
    ) -> (&'a mut Sources, View<'a>) {
        let marks = self.marks(row, blocks);
        let Self { rows, sources, victims, departures, .. } = self;
        let (state, away) = (&mut rows[row], departures.left_in(row, blocks));
        (sources, View { blocks, state, away, victims, flash, policies, leave, marks, lacks_room: false })
    }

    /// GC watermarks of a plane group, in free blocks: start and stop. Paced GC that is behind its goal
    /// continues.
    fn marks(&self, row: PlaneGroupId, blocks: &BlockManager) -> [usize; 2] {
        let [start, stop] = blocks.space().marks(row);
        let is_behind = self.paced && !self.rows[row].is_ahead(row, blocks);
        [start, if is_behind { stop.max(blocks.free_to_collector(row) + 1) } else { stop }]
    }

    /// Whether a block pending retirement can be collected now.
    fn can_collect_retiring(
        &mut self,
        row: PlaneGroupId,
        leave: &GcLimits,
        blocks: &mut BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> bool {
        if !self.sources.pending_retirement.has_any(row) {
            return false;
        }
        let (sources, mut view) = self.view(row, leave, blocks, flash, policies);
        sources.pending_retirement.next(row, &mut view).is_some()
    }

    /// Next step in `row`; `None` if there is nothing to do or a step is in progress.
    #[inline]
    pub(crate) fn next(
        &mut self,
        row: PlaneGroupId,
        blocks: &mut BlockManager,
        leave: GcLimits,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> Option<Step> {
        let state = &self.rows[row];
        if state.lost {
            return None;
        }
        let (is_active, free) = (state.active, blocks.space().free(row));
        let is_ahead = self.paced && state.is_ahead(row, blocks);
        let is_short =
            blocks.free_to_collector(row) < blocks.space().marks(row)[0] || (self.paced && !is_ahead);
        if !is_active && (is_short || self.can_collect_retiring(row, &leave, blocks, flash, policies)) {
            let state = &mut self.rows[row];
            (state.active, state.regained) = (true, 0);
        }
        let state = &self.rows[row];
        if state.commands > 0
            || !(state.is_at_work()
                || free < leave.idle_goal
                || self.sources.may_have_job(row, blocks, &leave))
        {
            return None;
        }
        // A full plane group gets no steps from host writes, because it accepts no host writes.
        let unit = blocks.pools().per_program(row);
        let is_requested = state.finishes || self.sources.requested.has_any(row);
        let is_spent = (state.steps_left == 0 || is_ahead)
            && !(leave.is_idle || is_requested || blocks.space().is_full(row, unit));
        let must_wait = leave.waits || is_spent;
        if must_wait && free > blocks.space().kept(row) && !self.throttles_host(row, blocks) {
            return None;
        }
        let step = self.step(row, blocks, &leave, flash, policies)?;
        let state = &mut self.rows[row];
        (state.commands, state.erases) = (1, matches!(step, Step::Erase { .. }));
        state.steps_left = state.steps_left.saturating_sub(u32::from(step != Step::QueryRelocator));
        self.steps += 1;
        Some(step)
    }

    /// Determines the next step of a plane group.
    #[inline(never)]
    fn step(
        &mut self,
        row: PlaneGroupId,
        blocks: &mut BlockManager,
        leave: &GcLimits,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> Option<Step> {
        loop {
            if let Some(step) = self.finish_victim(row, blocks) {
                return Some(step);
            }
            self.keep_reserve(row, blocks, flash);
            if self.rows[row].goes_on(blocks.space().free(row) < leave.idle_goal) {
                let state = &mut self.rows[row];
                let step = match state.form_unit(row, blocks) {
                    Ok(None) => state.go_through(row, self.copyback, blocks),
                    formed => formed,
                };
                match step {
                    Ok(None) => {}
                    Ok(step) => return step,
                    Err(NoRoom) => return state.mark_stuck(blocks),
                }
                if state.job.is_some() {
                    if !state.is_over(blocks) {
                        return state.finish_list(row, blocks);
                    }
                    continue;
                }
            }
            let (job, lacks_room) = self.next_job(row, leave, blocks, flash, policies);
            let Some(job) = job else {
                let finished = self.finish_request(row, blocks);
                return finished.or_else(|| self.make_room(row, lacks_room, blocks));
            };
            if let Some(block) = job.victim().filter(|block| blocks.table().state(*block) != State::Victim) {
                blocks.make_victim(block);
                self.selected.note(block, blocks.table().valid(block));
                let is_erased = !blocks.table().is_pending_retirement(block);
                self.empty_victims += u64::from(is_erased && blocks.table().valid(block) == 0);
            }
            if blocks.pool_of(row).is_coarsely_mapped() {
                self.rows[row].forget_part_of_unit(row, blocks);
            }
            self.rows[row].begin(job);
            self.departures.go_on(row);
        }
    }

    /// Interrupts the relocation of requested pages while only the blocks reserved for GC are free, because it
    /// gains none. The pages are requested again.
    fn keep_reserve(&mut self, row: PlaneGroupId, blocks: &BlockManager, flash: &Flash) {
        let Self { rows, sources, .. } = self;
        let gains_none = |job: &Job| job.relocates_requested_pages();
        if rows[row].job.as_ref().is_some_and(gains_none)
            && blocks.space().free(row) <= blocks.space().kept(row)
        {
            for at in rows[row].interrupt_request(blocks) {
                sources.requested.add_page(row, LogicalPage(flash.stamp(at).logical), at);
            }
        }
    }

    /// Programs the staged pages of a block that a design requested, with padding, if no source has a job.
    fn finish_request(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> Option<Step> {
        if !self.rows[row].finishes || self.departures.force(row, blocks) {
            return None;
        }
        let state = &mut self.rows[row];
        if state.staged() == 0 || blocks.space().free(row) <= blocks.space().kept(row) {
            state.finishes &= state.staged() > 0;
            return None;
        }
        state.finish_padded(row, blocks)
    }

    /// Queues a block that a design requests to be collected.
    pub fn request_block(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.sources.requested.add_block(row, block);
    }

    /// Queues a page that a design requests to be relocated.
    pub fn request_page(&mut self, row: PlaneGroupId, page: LogicalPage, at: Location) {
        self.sources.requested.add_page(row, page, at);
    }

    /// Programs staged pages if no source has a job but the plane group needs blocks. Only a padded unit can
    /// gain space then. This happens, for example, when so many blocks have failed that there is no space for
    /// the pages of the next victim.
    #[inline(never)]
    fn make_room(&mut self, row: PlaneGroupId, lacks_room: bool, blocks: &BlockManager) -> Option<Step> {
        let state = &mut self.rows[row];
        if !state.active {
            return None;
        }
        // The writer programs the migrating pages, or they are relocated within the plane group.
        if self.departures.force(row, blocks) {
            return None;
        }
        let state = &mut self.rows[row];
        // Pages of different streams share a unit if nothing else gains space.
        if lacks_room && state.staged() < blocks.pools().per_program(row) as usize {
            return state.mark_stuck(blocks);
        }
        state.finish_padded(row, blocks)
    }

    /// Erases or retires a victim without valid pages.
    fn finish_victim(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> Option<Step> {
        let state = &mut self.rows[row];
        if state.read.is_empty() {
            return None;
        }
        let at = state.read.iter().position(|block| blocks.table().can_erase(*block))?;
        let block = state.read.remove(at).expect("it was just found");
        self.departures.drop_invalid(row, blocks);
        // Staged pages of the victim are invalid by now, and their locations will soon have other data.
        for staged in &mut state.staged {
            staged.retain(|moved| blocks.pools().block_of(moved.from) != block);
        }
        Some(if blocks.table().is_pending_retirement(block) {
            Step::Retire { block }
        } else {
            Step::Erase { block }
        })
    }

    /// Takes the number of victims without valid pages that were selected since the last call.
    pub fn take_empty_victims(&mut self) -> u64 {
        std::mem::take(&mut self.empty_victims)
    }

    /// Records that a block was erased.
    pub fn erased(&mut self, block: BlockSetId, blocks: &BlockManager) {
        self.sources.erased(block, blocks);
    }

    /// Cancels the migration of the pages that wait for a stream in another pool. The pages are relocated
    /// within their plane groups, in the first GC stream. Returns these plane groups.
    pub fn keep(&mut self, stream: u8) -> Vec<PlaneGroupId> {
        let Self { rows, departures, .. } = self;
        let all = rows.len() as u32;
        let mut keeps = |row: &PlaneGroupId| {
            let stay = departures.cancel(*row, stream);
            rows[*row].staged[0].extend(&stay);
            !stay.is_empty()
        };
        (0..all).map(PlaneGroupId).filter(|row| keeps(row)).collect()
    }

    /// Records that a command of the plane group's step is done. Returns true if it was the last one.
    pub fn command_done(&mut self, row: PlaneGroupId) -> bool {
        let commands = &mut self.rows[row].commands;
        *commands -= 1;
        if *commands > 0 {
            return false;
        }
        self.steps -= 1;
        true
    }

    /// Pages of victims that were processed but not erased, minus the staged pages.
    pub fn processed_pages(&self, blocks: &BlockManager) -> u64 {
        self.rows.entries().map(|(row, state)| state.processed_pages(row, blocks) as u64).sum()
    }

    /// Whether no step is in progress in any plane group.
    pub fn is_idle(&self) -> bool {
        self.steps == 0
    }

    /// Whether the host may write `pages` to a plane group whose only free blocks are reserved for GC.
    #[inline]
    pub fn can_afford(&self, row: PlaneGroupId, pages: u32) -> bool {
        let state = &self.rows[row];
        !state.active || state.regained >= pages
    }

    /// Whether the host must wait for paced GC.
    #[inline]
    pub fn throttles_host(&self, row: PlaneGroupId, blocks: &BlockManager) -> bool {
        self.paced && self.rows[row].throttles_host(row, blocks)
    }

    /// Whether GC is gaining blocks in the plane group.
    #[inline]
    pub fn gains(&self, row: PlaneGroupId) -> bool {
        let state = &self.rows[row];
        state.active && !state.stuck
    }

    /// Charges a host write of `pages` against the pages regained.
    pub fn spend(&mut self, row: PlaneGroupId, pages: u32) {
        let state = &mut self.rows[row];
        state.regained = state.regained.saturating_sub(pages);
        state.steps_left = self.steps_per_write;
    }

    /// Migrates the pages of the plane group's victim to another pool. The pages are listed, and each is sent
    /// there after its read.
    pub fn migrate(&mut self, row: PlaneGroupId) {
        let state = &mut self.rows[row];
        if let Some((block, place)) = state.job.as_ref().map(Job::reached) {
            state.end();
            self.sources.migration.migrate(row, block, place);
        }
    }

    /// Migrates the pages of a block that became a victim to another pool.
    pub fn give_up(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.sources.migration.migrate(row, block, 0);
    }

    /// Whether pages of the plane group are migrating to another pool.
    #[inline]
    pub fn is_migrating(&self, row: PlaneGroupId) -> bool {
        self.sources.migration.is_at(row)
    }

    /// Queues a block for collection and retirement.
    pub fn mark_for_retirement(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.sources.pending_retirement.add(row, block);
    }

    /// Clears the work of a plane group that is out of service.
    pub fn lose(&mut self, row: PlaneGroupId) {
        self.departures.lose(row);
        self.vacating.lose(row);
        self.rows[row].lose();
        self.sources.forget(row);
    }
}

#[cfg(test)]
mod tests;
