//! While the host rests, and while it waits: when the collector may do more than it must, and when it has to step
//! aside.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::DieId;

use super::{Device, Event};
use crate::ftl::collector::Leave;
use crate::policy::background::Resting;
use crate::policy::placement::Row;

/// Since when the host rests.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rest {
    /// When the last command was answered; meaningless while one is outstanding.
    since: Instant,
    /// Whether a command is outstanding.
    pub host_works: bool,
    /// Whether an event is on its way.
    timer_set: bool,
}

impl Device {
    /// A command was answered: perhaps the last one for some time.
    #[inline]
    pub(super) fn note_rest(&mut self, calendar: &mut impl Schedule<Event>) {
        let Some(background) = &self.policies.background else { return };
        if self.outstanding() > 0 {
            return;
        }
        (self.rest.since, self.rest.host_works) = (calendar.now(), false);
        if let Some(idle) = background.rests_after()
            && !std::mem::replace(&mut self.rest.timer_set, true)
        {
            calendar.after(idle, Event::Idle);
        }
    }

    /// Background work begins if the host has rested for long enough; else it is looked at again when it may have.
    #[inline(never)]
    pub(super) fn host_rests(&mut self, calendar: &mut impl Schedule<Event>) {
        self.rest.timer_set = false;
        let idle = self.policies.background.as_ref().and_then(|background| background.rests_after());
        let Some(due) = idle.map(|idle| self.rest.since + idle).filter(|_| self.outstanding() == 0) else {
            return;
        };
        if due > calendar.now() {
            self.rest.timer_set = true;
            calendar.at(due, Event::Idle);
            return;
        }
        for row in 0..self.config.pools.rows() {
            self.collect_unless(false, row, calendar);
        }
        if self.row_opened {
            self.pump(calendar);
        }
    }

    /// What the collector may do in a row beside what it must; more, if the background policy says so, while the host
    /// rests. Nothing is cleaned for free blocks where a block's worth of pages is not to be gained.
    pub(super) fn leave_to_collect(&mut self, waits: bool, row: Row, now: Instant) -> Leave {
        let leave = Leave { waits, keep_cached: self.keep_cached, ..Leave::MUST };
        let (rest, blocks) = (self.rest, &self.blocks);
        let Some(background) = &mut self.policies.background else { return leave };
        let rested =
            background.rests_after().is_some_and(|idle| !rest.host_works && now >= rest.since + idle);
        if !rested || self.read_only {
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
        let rest_goal = if gains { background.free_blocks(&resting) as usize } else { 0 };
        let keep_cached = background.cached_blocks(&resting).min(leave.keep_cached);
        Leave { rest_goal, keep_cached, rests: rest_goal > 0 || keep_cached < resting.cached_blocks, ..leave }
    }

    /// Lets the collector go on in the rows of a die where it stepped aside, unless the host wants the die: it has had its
    /// chance to do so since the die's last command ended.
    #[inline(never)]
    pub(super) fn resume_rows(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        for row in self.config.pools.of_die(die).geometry.rows_of(die) {
            let waits = self.flash.serves_host(die);
            self.collect_unless(waits, row, calendar);
        }
    }
}
