//! GC before free blocks are needed, while the host is idle.

use wordline_nand::PlaneGroupId;

use super::super_block::choose;
use super::view::{Source, View};
use crate::gc::job::Job;

/// Collects victims until the number of free blocks reaches the goal of the background policy.
pub(super) struct Idle;

impl Source for Idle {
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        if view.blocks.space().free(row) >= view.leave.idle_goal || !view.can_gain_unit(row) {
            return None;
        }
        let block = choose(row, view)?;
        let job = view.collect_fitting(row, block)?;
        Some(Job { only_while_idle: true, ..job })
    }
}
