//! Program units outside the home of their pages: idle plane groups take units that wait for others (work
//! stealing), and units that a full plane group cannot take go anywhere.

use wordline_kernel::{Column, Id, state};
use wordline_nand::PlaneGroupId;

use crate::base::Base;
use crate::design::DesignContext;
use crate::engines::Core;
use crate::policy::balancer::WaitingUnits;
use crate::writer::Writer;
use crate::writer::plane_groups::PlaneGroups;
use crate::writer::queue::Lists;

/// Program units that wait for a plane group and may go to another.
pub(super) struct Balance {
    /// Program units that wait for each plane group; maintained only for a balancer that looks at it.
    waiting: Column<PlaneGroupId, u32>,
}

state!(Balance { values { waiting } });

impl Balance {
    /// No program units wait.
    pub fn new(rows: u32) -> Self {
        Self { waiting: Column::filled(rows as usize, 0) }
    }

    /// Number of plane groups.
    pub fn rows(&self) -> usize {
        self.waiting.len()
    }

    /// Counts the complete program units that wait for each plane group; false if there are none.
    pub fn count(&mut self, lists: &Lists, base: &Base) -> bool {
        let unit = base.config.pools.first().locations.per_program;
        let mut any = false;
        for (row, waiting) in self.waiting.iter_mut().enumerate() {
            *waiting = lists
                .of_group(PlaneGroupId::from_index(row))
                .map(|list| lists[list].pages.len() as u32 / unit)
                .sum();
            any |= *waiting > 0;
        }
        any
    }

    /// The list from which an idle plane group steals a program unit: none, unless it accepts programs,
    /// nothing waits for it, and its die is idle.
    pub fn list_to_steal(
        &self,
        row: PlaneGroupId,
        lists: &Lists,
        rows: &PlaneGroups,
        base: &mut Base,
    ) -> Option<usize> {
        let die = base.config.pools.of_group(row).geometry.die_of_group(row);
        if self.waiting[row] > 0 || rows.accepted_of(row) == 0 || !base.flash.chips().is_idle(die) {
            return None;
        }
        let Base { policies, config, flash, space, .. } = base;
        let waiting = WaitingUnits { units: &self.waiting, geometry: &config.pools.first().geometry };
        let from = policies.take(row, &waiting, DesignContext { flash, space })?;
        let unit = base.config.pools.per_program(row) as usize;
        let takes =
            |list: &usize| lists[*list].pages.len() >= unit && rows.of(lists.stream(*list)).contains(row);
        lists.of_group(from).find(takes)
    }
}

impl Writer {
    /// The next plane group that takes a unit of a list whose home is full of valid pages. Also if the home
    /// does not accept the unit while the pools are idle: GC of a plane group may wait for pages of units to
    /// which these pages belong.
    pub(super) fn overflow_group(&self, list: usize, core: &Core) -> Option<PlaneGroupId> {
        let pools = &core.base.config.pools;
        let (rows, lists) = (pools.rows(), self.queue.lists());
        let home = lists.home(list)?;
        let (unit, waiting) = (pools.per_program(home), lists[list].pages.len() as u32);
        if waiting == 0 {
            return None;
        }
        let accepting = self.rows.of(lists.stream(list));
        let is_stuck = || self.has_units() && !accepting.contains(home) && self.is_idle(core);
        if !core.base.space.is_full(home, unit) && !is_stuck() {
            return None;
        }
        if waiting < unit && !self.must_pad(list, core) {
            return None;
        }
        (1..rows).map(|n| PlaneGroupId((home.0 + n) % rows)).find(|row| accepting.contains(*row))
    }
}
