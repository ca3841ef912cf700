//! When the collector may do more than it must, and when it has to wait for the host.

use serde::{Deserialize, Serialize};
use wordline_kernel::Instant;
use wordline_nand::RowId;

use crate::base::Base;
use crate::design::Sight;
use crate::policy::background::Resting;
use crate::reclaim::Reclaim;
use crate::reclaim::collector::Leave;

/// Since when the host has been idle.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rest {
    /// When the last command was answered; meaningless while one is outstanding.
    since: Instant,
    /// Whether a command is outstanding.
    host_works: bool,
    /// Whether an event is on its way.
    timer_set: bool,
}

impl Reclaim {
    /// Nothing is known of when the host was idle, as in a new device.
    pub(crate) fn forget_timer(&mut self) {
        self.rest = Rest::default();
    }

    /// The host has a command outstanding.
    #[inline]
    pub(crate) fn note_command(&mut self) {
        self.rest.host_works = true;
    }

    /// The host has no command outstanding from now on. When it may have rested for long enough, if an event is to say so.
    pub(crate) fn note_rest(&mut self, now: Instant, base: &Base) -> Option<Instant> {
        if !base.policies.has_background() {
            return None;
        }
        (self.rest.since, self.rest.host_works) = (now, false);
        let idle = base.policies.rests_after()?;
        (!std::mem::replace(&mut self.rest.timer_set, true)).then(|| now + idle)
    }

    /// When the last command was answered.
    pub(crate) fn idle_since(&self) -> Instant {
        self.rest.since
    }

    /// The event is there: when the host will have rested for long enough, if it rests; an event is to say so if that is later
    /// than `now`.
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

    /// The optional work of the collector in a row; more, if the background policy says so, while the host rests. A
    /// row in which less than a block's worth of pages can be gained is not cleaned for free blocks.
    pub(super) fn leave_to_collect(&self, waits: bool, row: RowId, now: Instant, base: &mut Base) -> Leave {
        let leave = Leave {
            waits,
            keep_cached: self.keep_cached[base.config.pools.number_of_row(row)],
            ..Leave::MUST
        };
        let rest = self.rest;
        let Base { space: blocks, flash, policies, life, .. } = base;
        let rested = policies.rests_after().is_some_and(|idle| !rest.host_works && now >= rest.since + idle);
        if !rested || life.read_only {
            return leave;
        }
        let per_block = blocks.pools().per_block_of(row);
        let resting = Resting {
            row,
            free_blocks: blocks.free(row) as u32,
            good_blocks: blocks.good(row),
            full_blocks: blocks.valid_in(row).div_ceil(per_block),
            cached_blocks: blocks.cached(row),
        };
        let gains = blocks.gain(row) >= per_block;
        let (free, cached) = policies.idle_goals(&resting, gains, Sight { flash, space: blocks });
        let (idle_goal, keep_cached) = (free as usize, cached.min(leave.keep_cached));
        Leave {
            idle_goal,
            keep_cached,
            is_idle: idle_goal > 0 || keep_cached < resting.cached_blocks,
            ..leave
        }
    }
}
