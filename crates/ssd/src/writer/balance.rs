//! Pages that do not go to their home: idle rows take what waits for others, and what a full row cannot take goes anywhere.

use wordline_kernel::{Id, Schedule};
use wordline_nand::RowId;

use crate::base::Base;
use crate::design::Sight;
use crate::engines::Core;
use crate::event::Event;
use crate::policy::balancer::Waiting;
use crate::writer::Writer;

impl Writer {
    /// Forms program units in other rows than their pages' homes; false if there are none.
    #[inline(never)]
    pub(super) fn balance(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = self.leave_full_rows(core, calendar);
        if !self.count_waiting(core) {
            return formed;
        }
        for row in core.base.config.pools.all_rows() {
            if self.may_take(row, core)
                && let Some(list) = self.list_to_take(row, core)
            {
                self.form_away(row, list, core, calendar);
                formed = true;
                if !self.count_waiting(core) {
                    break;
                }
            }
        }
        formed
    }

    /// Forms a program unit of a list in a row that is not the home of its pages.
    fn form_away(&mut self, row: RowId, list: usize, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.form(row, list, core, calendar);
        core.base.totals.programs_away += u64::from(self.groups[row].brought());
    }

    /// Whether a row takes program units, none waits for it, and its die does nothing.
    fn may_take(&self, row: RowId, core: &Core) -> bool {
        let die = core.base.config.pools.of_row(row).geometry.die_of_row(row);
        self.waiting[row] == 0 && self.rows.accepted_of(row) != 0 && core.base.flash.chips().is_idle(die)
    }

    /// Counts the complete program units that wait for each row; false if there are none.
    fn count_waiting(&mut self, core: &Core) -> bool {
        let unit = core.base.config.pools.first().locations.per_program;
        let streams = usize::from(core.base.space.streams().host);
        let mut any = false;
        for (row, waiting) in self.waiting.iter_mut().enumerate() {
            let lists = row * streams..(row + 1) * streams;
            *waiting = lists.map(|list| self.ready[list].pages.len() as u32 / unit).sum();
            any |= *waiting > 0;
        }
        any
    }

    /// The list of which an idle row takes a program unit.
    fn list_to_take(&mut self, row: RowId, core: &mut Core) -> Option<usize> {
        let Base { policies, config, flash, space, .. } = &mut core.base;
        let waiting = Waiting { units: &self.waiting, geometry: &config.pools.first().geometry };
        let from = policies.take(row, &waiting, Sight { flash, space })?;
        let unit = core.base.config.pools.per_program(row) as usize;
        let streams = usize::from(core.base.space.streams().host);
        let takes = |stream: &usize| {
            let list = &self.ready[from.index() * streams + stream];
            list.pages.len() >= unit && self.rows.of(*stream).contains(row)
        };
        (0..streams).find(takes).map(|stream| from.index() * streams + stream)
    }

    /// What waits for a row that holds as many valid pages as it may goes to the next row that takes it.
    fn leave_full_rows(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let (unit, rows) =
            (core.base.config.pools.first().locations.per_program, core.base.config.pools.rows());
        let streams = usize::from(core.base.space.streams().host);
        let mut formed = false;
        for list in 0..self.ready.len() {
            let home = RowId((list / streams) as u32);
            while core.base.space.is_full(home, unit)
                && !self.ready[list].pages.is_empty()
                && (self.ready[list].pages.len() as u32 >= unit || self.must_pad(list, core))
            {
                let mut next = (1..rows).map(|n| RowId((home.0 + n) % rows));
                let takes = |row: &RowId| self.rows.of(list % streams).contains(*row);
                let Some(row) = next.find(takes) else { break };
                self.form_away(row, list, core, calendar);
                formed = true;
            }
        }
        formed
    }
}
