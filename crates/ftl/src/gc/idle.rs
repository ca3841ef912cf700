//! Background GC: when GC may do optional work, and when it must wait for the host.

use serde::{Deserialize, Serialize};
use wordline_kernel::Instant;
use wordline_nand::PlaneGroupId;

use crate::base::Base;
use crate::design::DesignContext;
use crate::gc::collector::GcLimits;
use crate::gc::sources::Fold;
use crate::gc::{Gc, StepLimit};
use crate::map::block_map::BlockMap;
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
    pub fn note_idle(&mut self, now: Instant, base: &Base) -> Option<Instant> {
        if !base.policies.has_background() {
            return None;
        }
        (self.rest.since, self.rest.host_works) = (now, false);
        let idle = base.policies.idle_delay()?;
        (!std::mem::replace(&mut self.rest.timer_set, true)).then(|| now + idle)
    }

    /// Completion time of the last command.
    pub fn idle_since(&self) -> Instant {
        self.rest.since
    }

    /// Handles the idle timer. If the host is idle, returns the time when it will have been idle for long
    /// enough. If that is later than `now`, the caller schedules the timer again.
    pub fn handle_idle_timer(&mut self, now: Instant, base: &Base) -> Option<Instant> {
        self.rest.timer_set = false;
        let idle = base.policies.idle_delay()?;
        if self.rest.host_works {
            return None;
        }
        let due = self.rest.since + idle;
        self.rest.timer_set = due > now;
        Some(due)
    }

    /// Whether the host has been idle for long enough for background GC.
    pub(super) fn is_host_idle(&self, now: Instant, base: &Base) -> bool {
        let HostIdle { since, host_works, .. } = self.rest;
        let rested = base.policies.idle_delay().is_some_and(|idle| !host_works && now >= since + idle);
        rested && !base.life.read_only
    }

    /// Goals of background GC in a plane group: the number of free blocks, and the number of blocks that may
    /// stay in SLC mode. `gains` is true if GC can gain a block.
    pub(super) fn idle_goals(&self, row: PlaneGroupId, gains: bool, base: &mut Base) -> (usize, u32) {
        let Base { blocks, flash, policies, .. } = base;
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

    /// Optional work of GC in a plane group. There may be more while the host is idle; the background policy
    /// decides. A plane group that can gain less than a block of pages is not collected for free blocks.
    pub(super) fn gc_limits(
        &self,
        waits: bool,
        row: PlaneGroupId,
        now: Instant,
        base: &mut Base,
    ) -> GcLimits {
        let leave = GcLimits {
            waits,
            keep_cached: self.keep_cached[base.config.pools.number_of_group(row)],
            ..GcLimits::REQUIRED
        };
        if !self.is_host_idle(now, base) {
            return leave;
        }
        let gains = base.blocks.gain(row) >= base.blocks.pools().per_block_of(row);
        let (idle_goal, cached) = self.idle_goals(row, gains, base);
        let is_idle = idle_goal > 0 || cached.min(leave.keep_cached) < Fold::cached(row, &base.blocks);
        GcLimits { idle_goal, keep_cached: cached.min(leave.keep_cached), is_idle, ..leave }
    }

    /// Does optional work in a plane group with block-level mapping and without pending work. It relocates a
    /// cold logical block. While the host is idle it may also merge a logical block; this stops at the next
    /// host command.
    pub fn do_block_upkeep(
        &mut self,
        row: PlaneGroupId,
        now: Instant,
        base: &mut Base,
        block_map: &mut BlockMap,
    ) {
        let rests = base.policies.has_background() && self.is_host_idle(now, base);
        if !rests {
            block_map.stop_merge(row);
        }
        if self.begins != StepLimit::All || base.life.read_only || !block_map.is_at_rest(row) {
            return;
        }
        let still = {
            let of = (&base.flash, &base.blocks);
            self.collector.next_cold(row, of, |block| block_map.may_move(block, &base.blocks))
        };
        if let Some(block) = still {
            block_map.relocate_cold(row, block, &base.blocks, base.flash.chips());
        } else if rests {
            let gains = block_map.gains(row, &base.blocks, base.flash.chips());
            let (goal, _) = self.idle_goals(row, gains, base);
            if base.blocks.space().free(row) < goal {
                block_map.merge_while_idle(row, &mut base.blocks, base.flash.chips());
            }
        }
    }
}
