//! Program units outside their assigned plane group. Idle plane groups steal units (work stealing), and units
//! that a full plane group cannot take go to any other.

use wordline_kernel::{Column, Id, state};
use wordline_nand::PlaneGroupId;

use crate::base::Base;
use crate::design::DesignContext;
use crate::engines::Core;
use crate::policy::balancer::WaitingUnits;
use crate::writer::Writer;
use crate::writer::plane_groups::PlaneGroups;
use crate::writer::queue::Lists;

/// Program units that may be programmed outside their assigned plane group.
pub(super) struct Balance {
    /// Program units that wait for each plane group. Updated only for a balancer that uses it.
    waiting: Column<PlaneGroupId, u32>,
}

state!(Balance { values { waiting } });

impl Balance {
    /// Counts of zero.
    pub fn new(rows: u32) -> Self {
        Self { waiting: Column::filled(rows as usize, 0) }
    }

    /// Number of plane groups.
    pub fn rows(&self) -> usize {
        self.waiting.len()
    }

    /// Counts the complete program units that wait for each plane group. Returns false if there are none.
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

    /// List from which an idle plane group steals a program unit. `None` unless the plane group accepts
    /// programs, nothing waits for it, and its die is idle.
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
        let Base { policies, config, flash, blocks, .. } = base;
        let waiting = WaitingUnits { units: &self.waiting, geometry: &config.pools.first().geometry };
        let from = policies.take(row, &waiting, DesignContext { flash, blocks })?;
        let unit = base.config.pools.per_program(row) as usize;
        let takes =
            |list: &usize| lists[*list].pages.len() >= unit && rows.of(lists.stream(*list)).contains(row);
        lists.of_group(from).find(takes)
    }
}

impl Writer {
    /// Next plane group for a unit of a list whose assigned plane group is full of valid pages.
    ///
    /// Also used if the assigned plane group does not accept the unit while all pools are idle. GC there may
    /// be waiting for pages of the same units, which would be a deadlock.
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
        if !core.base.blocks.space().is_full(home, unit) && !is_stuck() {
            return None;
        }
        if waiting < unit && !self.must_pad(list, core) {
            return None;
        }
        (1..rows).map(|n| PlaneGroupId((home.0 + n) % rows)).find(|row| accepting.contains(*row))
    }
}
