//! Background GC: when the collector may do optional work, and when it must wait for the host.

use serde::{Deserialize, Serialize};
use wordline_kernel::Instant;
use wordline_nand::RowId;

use crate::base::Base;
use crate::design::Sight;
use crate::map::Map;
use crate::policy::background::Resting;
use crate::reclaim::collector::Leave;
use crate::reclaim::sources::Fold;
use crate::reclaim::{Begins, Reclaim};

/// Idle state of the host.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rest {
    /// Completion time of the last command; meaningless while one is outstanding.
    since: Instant,
    /// Whether a command is outstanding.
    host_works: bool,
    /// Whether a timer event is pending.
    timer_set: bool,
}

impl Reclaim {
    /// Resets the idle state, as in a new device.
    pub(crate) fn forget_timer(&mut self) {
        self.rest = Rest::default();
    }

    /// Records that the host has a command outstanding.
    #[inline]
    pub(crate) fn note_command(&mut self) {
        self.rest.host_works = true;
    }

    /// Records that the host has no command outstanding. Returns when to schedule the idle timer, if one is
    /// needed.
    pub(crate) fn note_rest(&mut self, now: Instant, base: &Base) -> Option<Instant> {
        if !base.policies.has_background() {
            return None;
        }
        (self.rest.since, self.rest.host_works) = (now, false);
        let idle = base.policies.rests_after()?;
        (!std::mem::replace(&mut self.rest.timer_set, true)).then(|| now + idle)
    }

    /// Completion time of the last command.
    pub(crate) fn idle_since(&self) -> Instant {
        self.rest.since
    }

    /// Handles the idle timer. Returns when the host will have been idle for long enough, if it is idle; the
    /// caller schedules the timer again if that is later than `now`.
    pub(crate) fn rests_from(&mut self, now: Instant, base: &Base) -> Option<Instant> {
        self.rest.timer_set = false;
        let idle = base.policies.rests_after()?;
        if self.rest.host_works {
            return None;
        }
        let due = self.rest.since + idle;
        self.rest.timer_set = due > now;
        Some(due)
    }

    /// Whether the host has been idle for long enough for background GC.
    pub(super) fn rests(&self, now: Instant, base: &Base) -> bool {
        let Rest { since, host_works, .. } = self.rest;
        let rested = base.policies.rests_after().is_some_and(|idle| !host_works && now >= since + idle);
        rested && !base.life.read_only
    }

    /// Goals of background GC in a plane group: free blocks, given whether a block can be gained (`gains`),
    /// and blocks that may stay in SLC mode.
    pub(super) fn idle_goals(&self, row: RowId, gains: bool, base: &mut Base) -> (usize, u32) {
        let Base { space, flash, policies, .. } = base;
        let resting = Resting {
            row,
            free_blocks: space.free(row) as u32,
            good_blocks: space.good(row),
            full_blocks: space.valid_in(row).div_ceil(space.pools().per_block_of(row)),
            cached_blocks: Fold::cached(row, space),
        };
        let (free, cached) = policies.idle_goals(&resting, gains, Sight { flash, space });
        (free as usize, cached)
    }

    /// Optional work of GC in a plane group; more while the host is idle, if the background policy says so. A
    /// plane group that can gain less than a block's worth of pages is not collected for free blocks.
    pub(super) fn leave_to_collect(&self, waits: bool, row: RowId, now: Instant, base: &mut Base) -> Leave {
        let leave = Leave {
            waits,
            keep_cached: self.keep_cached[base.config.pools.number_of_row(row)],
            ..Leave::MUST
        };
        if !self.rests(now, base) {
            return leave;
        }
        let gains = base.space.gain(row) >= base.space.pools().per_block_of(row);
        let (idle_goal, cached) = self.idle_goals(row, gains, base);
        let is_idle = idle_goal > 0 || cached.min(leave.keep_cached) < Fold::cached(row, &base.space);
        Leave { idle_goal, keep_cached: cached.min(leave.keep_cached), is_idle, ..leave }
    }

    /// Does optional work in a plane group with block-level mapping that has no pending work: relocates a
    /// cold logical block or, while the host is idle, merges one. Such a merge stops at the host's next
    /// command.
    pub(crate) fn look_after_blocks(&mut self, row: RowId, now: Instant, base: &mut Base, map: &mut Map) {
        let rests = base.policies.has_background() && self.rests(now, base);
        if !rests {
            map.put_merge_aside(row);
        }
        if self.begins != Begins::All || base.life.read_only || !map.is_at_rest(row) {
            return;
        }
        let still = {
            let of = (&base.flash, &base.space);
            self.collector.next_still(row, of, |block| map.may_move(block, base))
        };
        if let Some(block) = still {
            map.move_still(row, block, base);
        } else if rests {
            let (goal, _) = self.idle_goals(row, map.merge_gains(row, base), base);
            if base.space.free(row) < goal {
                map.merge_ahead(row, base);
            }
        }
    }
}
