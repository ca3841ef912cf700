//! Background GC: when GC may do optional work, and when it must wait for the host.

use serde::{Deserialize, Serialize};
use wordline_flash::Flash;
use wordline_kernel::Instant;
use wordline_nand::PlaneGroupId;

use crate::blocks::BlockManager;
use crate::design::DesignContext;
use crate::gc::collector::GcLimits;
use crate::gc::sources::Fold;
use crate::gc::{Gc, StepLimit};
use crate::map::block_map::BlockMap;
use crate::policies::ActivePolicies;
use crate::policy::background::IdleGroup;

/// Whether and since when the host is idle.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct HostIdle {
    /// Completion time of the last command. Meaningless while a command is outstanding.
    since: Instant,
    /// Whether a command is outstanding.
    host_works: bool,
    /// Whether a timer event is pending.
    timer_set: bool,
}

impl Gc {
    /// Resets the idle state, as in a new device.
    pub fn clear_timer(&mut self) {
        self.rest = HostIdle::default();
    }

    /// Records that the host has a command outstanding.
    #[inline]
    pub fn note_command(&mut self) {
        self.rest.host_works = true;
    }

    /// Records that the host has no command outstanding. Returns the time for which to schedule the idle
    /// timer, if it is needed.
    pub fn note_idle(&mut self, now: Instant, policies: &ActivePolicies) -> Option<Instant> {
        if !policies.has_background() {
            return None;
        }
        (self.rest.since, self.rest.host_works) = (now, false);
        let idle = policies.idle_delay()?;
        (!std::mem::replace(&mut self.rest.timer_set, true)).then(|| now + idle)
    }

    /// Completion time of the last command.
    pub fn idle_since(&self) -> Instant {
        self.rest.since
    }

    /// Handles the idle timer. If the host is idle, returns the time when it will have been idle for long
    /// enough. If that is later than `now`, the caller schedules the timer again.
    pub fn handle_idle_timer(&mut self, now: Instant, policies: &ActivePolicies) -> Option<Instant> {
        self.rest.timer_set = false;
        let idle = policies.idle_delay()?;
        if self.rest.host_works {
            return None;
        }
        let due = self.rest.since + idle;
        self.rest.timer_set = due > now;
        Some(due)
    }

    /// Whether the host has been idle for long enough for background GC.
    pub(crate) fn is_host_idle(&self, now: Instant, policies: &ActivePolicies) -> bool {
        let HostIdle { since, host_works, .. } = self.rest;
        policies.idle_delay().is_some_and(|idle| !host_works && now >= since + idle)
    }

    /// Goals of background GC in a plane group: the number of free blocks, and the number of blocks that may
    /// stay in SLC mode. `gains` is true if GC can gain a block.
    fn idle_goals(
        &self,
        row: PlaneGroupId,
        gains: bool,
        blocks: &BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> (usize, u32) {
        let resting = IdleGroup {
            row,
            free_blocks: blocks.space().free(row) as u32,
            good_blocks: blocks.space().good(row),
            full_blocks: blocks.space().valid_in(row).div_ceil(blocks.pools().per_block_of(row)),
            cached_blocks: Fold::cached(row, blocks),
        };
        let (free, cached) = policies.idle_goals(&resting, gains, DesignContext { flash, blocks });
        (free as usize, cached)
    }

    /// Optional work of GC in a plane group. There may be more while the host `rests`; the background policy
    /// decides. A plane group that can gain less than a block of pages is not collected for free blocks.
    pub(crate) fn limits(
        &self,
        row: PlaneGroupId,
        waits: bool,
        rests: bool,
        blocks: &BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> GcLimits {
        let leave = GcLimits {
            waits,
            keep_cached: self.keep_cached[blocks.pools().number_of_group(row)],
            ..GcLimits::REQUIRED
        };
        if !rests {
            return leave;
        }
        let gains = blocks.gain(row) >= blocks.pools().per_block_of(row);
        let (idle_goal, cached) = self.idle_goals(row, gains, blocks, flash, policies);
        let is_idle = idle_goal > 0 || cached.min(leave.keep_cached) < Fold::cached(row, blocks);
        GcLimits { idle_goal, keep_cached: cached.min(leave.keep_cached), is_idle, ..leave }
    }

    /// Does optional work in a plane group with block-level mapping and without pending work. It relocates a
    /// cold logical block. While the host `rests` it may also merge a logical block; this stops at the next
    /// host command.
    pub(crate) fn do_block_upkeep(
        &mut self,
        row: PlaneGroupId,
        rests: bool,
        block_map: &mut BlockMap,
        blocks: &mut BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) {
        if self.begins != StepLimit::All {
            return;
        }
        let still = self.collector.next_cold(row, (flash, blocks), |block| block_map.may_move(block, blocks));
        if let Some(block) = still {
            block_map.relocate_cold(row, block, blocks, flash.chips());
        } else if rests {
            let gains = block_map.gains(row, blocks, flash.chips());
            let (goal, _) = self.idle_goals(row, gains, blocks, flash, policies);
            if blocks.space().free(row) < goal {
                block_map.merge_while_idle(row, blocks, flash.chips());
            }
        }
    }
}
