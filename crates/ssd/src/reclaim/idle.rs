//! When the collector may do more than it must, and when it has to wait for the host.

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

    /// Whether the host has rested for long enough for what is done meanwhile.
    pub(super) fn rests(&self, now: Instant, base: &Base) -> bool {
        let Rest { since, host_works, .. } = self.rest;
        let rested = base.policies.rests_after().is_some_and(|idle| !host_works && now >= since + idle);
        rested && !base.life.read_only
    }

    /// How many blocks of a row are to be free while the host rests, where a block can be gained (`gains`), and how many may stay in SLC mode.
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

    /// The optional work of the collector in a row; more, if the background policy says so, while the host rests. A
    /// row in which less than a block's worth of pages can be gained is not cleaned for free blocks.
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

    /// Lets a row of a block map that has nothing to do but what the host asks for move a logical block whose data lie still, or, while
    /// the host is idle, merge one. Such a merge ends with the host's next command.
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
