//! Pages that do not go to their home: idle rows take what waits for others, and what a full row cannot take goes anywhere.

use wordline_kernel::{Column, Id, state};
use wordline_nand::RowId;

use crate::base::Base;
use crate::design::Sight;
use crate::engines::Core;
use crate::policy::balancer::Waiting;
use crate::writer::Writer;
use crate::writer::queue::Lists;
use crate::writer::rows::Rows;

/// Program units that wait for a row and may go to another.
pub(super) struct Balance {
    /// Program units that wait for each row; kept up only while there is a balancer that looks at it.
    waiting: Column<RowId, u32>,
}

state!(Balance { values { waiting } });

impl Balance {
    /// Nothing waits for any of the rows.
    pub fn new(rows: u32) -> Self {
        Self { waiting: Column::filled(rows as usize, 0) }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.waiting.len()
    }

    /// Counts the complete program units that wait for each row; false if there are none.
    pub fn count(&mut self, lists: &Lists, base: &Base) -> bool {
        let unit = base.config.pools.first().locations.per_program;
        let mut any = false;
        for (row, waiting) in self.waiting.iter_mut().enumerate() {
            *waiting =
                lists.of_row(RowId::from_index(row)).map(|list| lists[list].pages.len() as u32 / unit).sum();
            any |= *waiting > 0;
        }
        any
    }

    /// The list of which a row takes a program unit: none, unless it takes any, nothing waits for it, and its die does nothing.
    pub fn list_for(&self, row: RowId, lists: &Lists, rows: &Rows, base: &mut Base) -> Option<usize> {
        let die = base.config.pools.of_row(row).geometry.die_of_row(row);
        if self.waiting[row] > 0 || rows.accepted_of(row) == 0 || !base.flash.chips().is_idle(die) {
            return None;
        }
        let Base { policies, config, flash, space, .. } = base;
        let waiting = Waiting { units: &self.waiting, geometry: &config.pools.first().geometry };
        let from = policies.take(row, &waiting, Sight { flash, space })?;
        let unit = base.config.pools.per_program(row) as usize;
        let takes =
            |list: &usize| lists[*list].pages.len() >= unit && rows.of(lists.stream(*list)).contains(row);
        lists.of_row(from).find(takes)
    }
}

impl Writer {
    /// The next row that takes a unit of a list, if there is one to form and its home holds as many valid pages as it may; or does not take
    /// the unit, and nothing goes on in the pools: a row that is cleaned may wait for pages of units of which these pages are.
    pub(super) fn row_beside(&self, list: usize, core: &Core) -> Option<RowId> {
        let pools = &core.base.config.pools;
        let (rows, lists) = (pools.rows(), self.queue.lists());
        let home = lists.home(list)?;
        let (unit, waiting) = (pools.per_program(home), lists[list].pages.len() as u32);
        if waiting == 0 {
            return None;
        }
        let accepting = self.rows.of(lists.stream(list));
        let is_stuck = || self.has_units() && !accepting.contains(home) && self.nothing_goes_on(core);
        if !core.base.space.is_full(home, unit) && !is_stuck() {
            return None;
        }
        if waiting < unit && !self.must_pad(list, core) {
            return None;
        }
        (1..rows).map(|n| RowId((home.0 + n) % rows)).find(|row| accepting.contains(*row))
    }
}
