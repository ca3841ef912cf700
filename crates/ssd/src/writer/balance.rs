//! Program units outside their assigned plane group. Idle plane groups steal units (work stealing), and units
//! that a full plane group cannot take go to any other.

use wordline_ftl::base::Base;
use wordline_ftl::design::DesignContext;
use wordline_ftl::policy::balancer::WaitingUnits;
use wordline_kernel::{Column, Id, state};
use wordline_nand::PlaneGroupId;

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
