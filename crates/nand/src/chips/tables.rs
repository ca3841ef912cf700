//! The timing tables of all dies: one for each pool, then one for each view of a cell mode.
//!
//! Changed times are stored beside them: the same tables for unmarked and then for marked dies. A die uses
//! them from its next command on, so that a command in progress ends with the old times. Commands of a
//! [marked](Tables::mark) die have an additional factor.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Column, Seed};

use super::die::Die;
use super::modes::{Modes, View};
use super::time_factors::TimeFactors;
use super::times::Times;
use super::wiring::Wiring;
use crate::geometry::DieId;
use crate::{CellMode, LatencyModel, Part, Pool, Pools};

/// The timing tables, and the wiring that they follow from.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) wiring: Wiring,
    all: Vec<Times>,
    /// Number of tables with unchanged times.
    unchanged: usize,
    /// The marked dies; `None` until times are changed.
    marked: Option<Column<DieId, bool>>,
    /// Whether lower pages are backed up before their cells store another page.
    backs_up: bool,
}

impl State for Tables {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        if self.are_drawn() { to.value("seed", &self.wiring.seed) } else { Ok(()) }
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        if self.are_drawn() {
            let seed = from.value("seed")?;
            self.wiring.seed = seed;
            self.all.iter_mut().for_each(|times| times.latency.set_seed(seed));
        }
        Ok(())
    }
}

impl Tables {
    /// The tables of the pools.
    pub(super) fn new(pools: &Pools, wiring: Wiring) -> Self {
        let all = of_pools(pools, &wiring);
        Self { wiring, unchanged: all.len(), all, marked: None, backs_up: false }
    }

    /// Whether the seed determines any time.
    fn are_drawn(&self) -> bool {
        self.all.iter().any(|times| times.latency.is_drawn())
    }

    /// The table of the current command of a die.
    #[inline(always)]
    pub(super) fn of(&self, work: &Die) -> &Times {
        &self.all[usize::from(work.times)]
    }

    /// The table of the current command of a die, whose cache of the last transfer may change.
    #[inline(always)]
    pub(super) fn of_mut(&mut self, work: &Die) -> &mut Times {
        &mut self.all[usize::from(work.times)]
    }

    /// Whether a die of a loaded state has a table.
    pub(super) fn has(&self, work: &Die) -> bool {
        usize::from(work.times) < self.all.len()
    }

    /// The part of the current command of a die: that of its pool, or its view in a cell mode.
    pub(super) fn part_of<'a>(&self, work: &Die, pools: &'a Pools, modes: Option<&'a Modes>) -> &'a Part {
        let view = self.view_of(work, pools).and_then(|view| modes?.views.get(view));
        view.map_or(&pools.get(usize::from(work.pool)).part, |view| &view.part)
    }

    /// Number of the view of the current command of a die, if it is in a cell mode.
    pub(super) fn view_of(&self, work: &Die, pools: &Pools) -> Option<usize> {
        (usize::from(work.times) % self.unchanged).checked_sub(pools.count())
    }

    /// Index of the table for the next command of a die: of its pool, or of a view.
    pub(super) fn index(&self, die: DieId, pool: u8, view: Option<usize>, pools: &Pools) -> u8 {
        let kind = view.map_or(usize::from(pool), |view| pools.count() + view);
        let factors = self.marked.as_ref().map(|marked| 1 + usize::from(marked[die]));
        (kind + factors.unwrap_or(0) * self.unchanged) as u8
    }

    /// Changes the model of array times.
    pub(super) fn set_latency(&mut self, model: LatencyModel, seed: Seed, pools: &Pools) {
        self.wiring = Wiring { latency: model, seed, ..self.wiring };
        self.all = of_pools(pools, &self.wiring);
        if self.backs_up {
            self.back_up_lower_pages(pools);
        }
    }

    /// Computes the tables of the enabled modes anew.
    pub(super) fn update(&mut self, pools: &Pools, modes: Option<&Modes>) {
        assert!(self.marked.is_none(), "times are changed when all of them are known");
        self.all.truncate(pools.count());
        for View { pool, mode, spelled, part } in modes.iter().flat_map(|modes| &modes.views) {
            let spelled = if *spelled { *mode } else { CellMode::Native };
            self.all.push(Times::of(part, &pools.get(usize::from(*pool)).geometry, &self.wiring, spelled));
        }
        assert!(self.all.len() <= usize::from(u8::MAX), "a die names its times with a byte");
        self.unchanged = self.all.len();
        if let Some(asks) = modes.and_then(|modes| modes.asks.as_ref()) {
            self.all.iter_mut().for_each(|times| times.query(asks.queries_sensing()));
        }
    }

    /// Adds the time of lower-page backups to the programs of parts that program pages one after another into
    /// the same cells. Returns whether any part does.
    pub(super) fn back_up_lower_pages(&mut self, pools: &Pools) -> bool {
        for (pool, times) in pools.iter().zip(&mut self.all) {
            if shares_cells(pool) {
                self.backs_up = true;
                times.back_up_lower_pages(&pool.part);
            }
        }
        self.backs_up
    }

    /// Scales the times of all `dies` dies by these factors, from the next command of each die on.
    pub(super) fn change(&mut self, factors: &TimeFactors, dies: usize) {
        self.all.truncate(self.unchanged);
        let changed = |marked| self.all.iter().map(move |times| times.changed(factors, marked));
        let both: Vec<Times> = changed(false).chain(changed(true)).collect();
        self.all.extend(both);
        assert!(self.all.len() <= usize::from(u8::MAX), "a die names its times with a byte");
        self.marked = Some(Column::filled(dies, false));
    }

    /// Whether times were changed, so that marks have an effect.
    #[inline]
    pub(super) fn are_changed(&self) -> bool {
        self.marked.is_some()
    }

    /// Marks or unmarks a die, from its next command on.
    pub(super) fn mark(&mut self, die: DieId, marked: bool) {
        if let Some(all) = &mut self.marked {
            all[die] = marked;
        }
    }
}

/// Whether the part of a pool programs pages one after another into the same cells.
pub(super) fn shares_cells(pool: &Pool) -> bool {
    !pool.part.geometry.one_shot && pool.part.geometry.bits_per_cell > 1
}

/// The timing table of each pool.
pub(super) fn of_pools(pools: &Pools, wiring: &Wiring) -> Vec<Times> {
    let native = |pool: &Pool| Times::of(&pool.part, &pool.geometry, wiring, CellMode::Native);
    pools.iter().map(native).collect()
}
