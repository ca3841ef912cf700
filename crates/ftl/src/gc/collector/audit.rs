//! Pending GC work as text, and the consistency check of a loaded state.

use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, DataTag, Location, PlaneGroupId};

use super::{Collector, Job};
use crate::blocks::{BlockManager, State};
use crate::map::Relocation;

impl Collector {
    /// State of the collector in a plane group, as text.
    pub fn describe(&self, row: PlaneGroupId) -> String {
        let state = &self.rows[row];
        let (active, stuck, lost) = (state.active, state.stuck, state.lost);
        format!(
            "collector active {active}, stuck {stuck}, plane group failed {lost}, {} commands in progress, job {:?}, another interrupted {}, \
             waits to erase {:?}, holds {} pages, {} migrating to another pool, regained {}, {} steps left",
            state.commands,
            state.job.as_ref().map(|job| (job.reached(), job.leaves, job.only_while_idle)),
            state.paused.is_some(),
            state.read.iter().map(|block| block.0).collect::<Vec<_>>(),
            state.staged(),
            self.departures.count(row),
            state.regained,
            state.steps_left,
        )
    }

    /// Lengths of the lists that follow from the configuration.
    pub(crate) fn shape(&self) -> impl Iterator<Item = usize> {
        [self.rows.len(), self.departures.shape(), self.vacating.shape()]
            .into_iter()
            .chain(self.rows.iter().map(|row| row.staged.len()))
    }

    /// Checks the loaded state: blocks that are being collected must be victims of the plane group, and pages
    /// that are being relocated must have the data tags of their locations, unless the host has overwritten
    /// them.
    pub(crate) fn check_loaded(
        &self,
        blocks: &BlockManager,
        stamp: impl Fn(Location) -> DataTag,
    ) -> Result<(), String> {
        let all = blocks.pools().block_sets();
        let stepping = self.rows.iter().filter(|state| state.commands > 0).count();
        ensure(stepping == self.steps as usize, || {
            format!("{stepping} plane groups execute a GC step, not {}", self.steps)
        })?;
        for (row, state) in self.rows.entries() {
            let is_of_row = |block: BlockSetId| block.0 < all && blocks.table().group_of(block) == row;
            let is_victim =
                |block: BlockSetId| is_of_row(block) && blocks.table().state(block) == State::Victim;
            let jobs = || state.job.iter().chain(&state.paused);
            let mut collected = state.read.iter().copied().chain(jobs().filter_map(Job::victim));
            ensure(collected.all(is_victim), || {
                format!("plane group {row} collects a block that is not a victim")
            })?;
            let mut moved = state.staged.iter().flatten().chain(&state.unit);
            let locations = blocks.pools().locations();
            let is_here = |page: Location| page.0 < locations && is_of_row(blocks.pools().block_of(page));
            let is_from_row = moved.all(|moved| is_here(moved.from))
                && self.departures.is_possible(row, is_here)
                && jobs().all(|job| job.is_possible(is_here, is_of_row, blocks));
            ensure(is_from_row, || format!("plane group {row} moves pages of another"))?;
            let is_it =
                |moved: &Relocation| !blocks.table().is_valid(moved.from) || stamp(moved.from) == moved.stamp;
            ensure(state.staged.iter().flatten().chain(&state.unit).all(is_it), || {
                format!("plane group {row} moves a page that is not at its location")
            })?;
            let pending_retirement = self.sources.pending_retirement.of(row).all(is_of_row);
            ensure(pending_retirement, || format!("plane group {row} gives up blocks of another"))?;
            let requested = self.sources.requested.is_possible(row, is_here, is_of_row);
            ensure(requested, || format!("plane group {row} has requests for blocks or pages of another"))?;
            let leaves = self.sources.migration.block(row).is_none_or(is_victim);
            ensure(leaves, || format!("plane group {row} migrates pages of a block that is not its victim"))?;
        }
        let is_held = |block: BlockSetId, valid| block.0 < all && valid <= blocks.pools().per_block(block);
        ensure(self.selected.all(is_held), || {
            "a victim that does not exist, or with more valid pages than a block has".into()
        })?;
        ensure(self.sources.requested.counts_right(), || "requests of designs, of another number".into())?;
        self.sources.check_wear(blocks)?;
        let locations = blocks.pools().locations();
        let is_in = |row, page: Location| {
            page.0 < locations && blocks.table().group_of(blocks.pools().block_of(page)) == row
        };
        ensure(self.vacating.is_possible(is_in), || {
            "reclaimed pages that do not exist or belong to another plane group".into()
        })?;
        ensure(self.departures.counts_right(), || "pages that leave their pool, of another number".into())
    }
}
