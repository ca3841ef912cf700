//! Program units outside their assigned plane group. Idle plane groups steal units (work stealing), and units
//! that a full plane group cannot take go to any other.

use wordline_flash::Flash;
use wordline_ftl::ActivePolicies;
use wordline_ftl::blocks::BlockManager;
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

    /// Counts the complete program units of `unit` pages that wait for each plane group. Returns false if there are
    /// none.
    pub fn count(&mut self, lists: &Lists, unit: u32) -> bool {
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
        blocks: &BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> Option<usize> {
        let pools = blocks.pools();
        let die = pools.of_group(row).geometry.die_of_group(row);
        if self.waiting[row] > 0 || rows.accepted_of(row) == 0 || !flash.chips().is_idle(die) {
            return None;
        }
        let waiting = WaitingUnits { units: &self.waiting, geometry: &pools.first().geometry };
        let from = policies.take(row, &waiting, DesignContext { flash, blocks })?;
        let unit = pools.per_program(row) as usize;
        let takes =
            |list: &usize| lists[*list].pages.len() >= unit && rows.of(lists.stream(*list)).contains(row);
        lists.of_group(from).find(takes)
    }
}
