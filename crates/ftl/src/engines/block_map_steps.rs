//! Steps of block-level mapping: the command of the next step of a plane group, for which the map, blocks, flash
//! and policies work together.

use wordline_flash::Event;
use wordline_kernel::{Instant, Schedule};
use wordline_nand::PlaneGroupId;

use super::Ftl;
use crate::map::LogicalPage;
use crate::map::block_map::Step;

impl Ftl {
    /// Does optional work in a plane group with block-level mapping: wear levelling, and merges while the host
    /// is idle.
    pub fn do_block_upkeep(&mut self, row: PlaneGroupId, now: Instant) {
        let Self { gc, block_map, health, blocks, flash, policies, .. } = self;
        let Some(map) = block_map else { return };
        let rests = policies.has_background() && !health.read_only && gc.is_host_idle(now, policies);
        if !rests {
            map.stop_merge(row);
        }
        if !health.read_only && map.is_at_rest(row) {
            gc.do_block_upkeep(row, rests, map, blocks, flash, policies);
        }
    }

    /// Queues the next command of block-level mapping in a plane group. `waiting` is the page that waits to
    /// be written, if any. Returns true if the next step is to write that page; nothing is queued then.
    pub fn queue_block_map_step(
        &mut self,
        row: PlaneGroupId,
        waiting: Option<LogicalPage>,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Self { block_map, health, totals, blocks, flash, policies, .. } = self;
        let Some(map) = block_map else { return false };
        while let Some(step) = map.next_step(row, waiting, blocks, flash.chips(), health) {
            match step {
                Step::Write { .. } => return true,
                Step::Retire { block } => blocks.retire(block),
                _ => {
                    map.count(row, step, totals);
                    let die = map.queue(row, step, blocks, flash, calendar.now());
                    flash.start(die, policies, calendar);
                    return false;
                }
            }
        }
        false
    }
}
