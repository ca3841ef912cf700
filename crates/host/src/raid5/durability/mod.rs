//! The durability of what an array holds: which of it outlives a power cut, and what the array knows of that.
//!
//! A *covering flush* is a flush of all members, one after the other, each with a number. What is written carries a [`Stamp`]: the number of the flush that
//! makes it durable, which is the next one to begin. A row that is being written when a flush begins is not covered by it and carries the number after
//! it. When flush n is over, all that carries n or less is durable; one that fails moves nothing, and the next makes durable what it left.
//!
//! | what is stamped | and what a power cut makes of it until it is durable |
//! |---|---|
//! | rows that are written ([`rows`]) | their parity is in doubt |
//! | rows that are discarded ([`rows`]) | the same, whatever is flushed: a device may bring back what a discard named |
//! | entries of the partial parity log, and their room ([`log`]) | they give the parity of rows in doubt |
//! | lost sectors that are written again ([`lost`]) | they are lost again |
//! | the position of a rebuild ([`held`]) | it goes on from the last durable one |

pub mod held;
pub mod log;
pub mod lost;
pub mod rows;

use std::collections::BTreeSet;

use wordline_kernel::state;

use super::heads::{Sectors, sectors};
use super::layout::Striping;
use super::sync::Task;
use super::way::{Set, each};
use held::Held;
use log::Log;
use lost::Lost;
use rows::Rows;

/// The number of the covering flush that makes something durable.
pub type Stamp = u64;

/// The durability of what an array holds.
#[derive(Clone, Debug)]
pub struct Durability {
    striping: Striping,
    /// The covering flushes that have begun, the next of which makes durable what is written now, and the last of them that was over and did not fail.
    begun: Stamp,
    done: Stamp,
    /// Whether the last that began is under way.
    is_flushing: bool,
    /// The rows whose parity a power cut may leave wrong, and those where it has.
    pub rows: Rows,
    /// The contents of the members.
    pub held: Held,
    /// The lost sectors.
    pub lost: Lost,
    /// The partial parity log.
    pub log: Log,
}

state!(Durability {
    values { begun, done, is_flushing }
    parts { rows, held, lost, log }
    fixed { striping }
});

/// The outcome of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Rows whose parity may be wrong.
    pub in_doubt: u64,
    /// Sectors that are lost because a member lacks them in such a row.
    pub lost: u64,
}

impl Durability {
    /// Of an array with areas of so many sectors for the partial parity log of each member; 0 for no log.
    pub fn new(striping: Striping, log_sectors: u64) -> Self {
        Self {
            striping,
            begun: 0,
            done: 0,
            is_flushing: false,
            rows: Rows::new(striping.rows()),
            held: Held::new(striping.members),
            lost: Lost::default(),
            log: Log::new(log_sectors, striping.members),
        }
    }

    /// Whether a covering flush is under way.
    pub fn is_flushing(&self) -> bool {
        self.is_flushing
    }

    /// A write of blocks of a row begins.
    pub fn write_begins(&mut self, row: u64) {
        self.rows.write(row, self.begun + 1);
    }

    /// Blocks of a row are about to be written, with an entry in the log. The members whose blocks were written since the row was durable, if it has one
    /// already.
    pub fn write_in_log(&mut self, row: u64, written: Set) -> Option<Set> {
        self.log.write(row, self.striping.parity(row), written, self.begun + 1)
    }

    /// Blocks of a row are about to be written without an entry in the log, since the member of its parity is missing.
    pub fn write_bare(&mut self, row: u64) {
        self.log.write_bare(row, self.begun + 1);
    }

    /// Room for the entry of a row in the log; its first sector within the area, or none if there is no room.
    pub fn take_room(&mut self, row: u64, sectors: u64) -> Option<u64> {
        self.log.take(row, sectors, self.begun + 1)
    }

    /// Sectors of a block were written.
    pub fn written(&mut self, row: u64, member: u16, which: Sectors) {
        self.lost.written(row, member, which, self.begun + 1);
    }

    /// A row is discarded on all members.
    pub fn discard(&mut self, row: u64) {
        self.rows.discard(row);
        self.log.forget(row);
        (0..self.striping.members as u16).for_each(|member| self.lost.discarded(row, member));
    }

    /// A covering flush begins. `open` rows are being written; of those that `wait` for room in the log, the entries of earlier writes are covered.
    ///
    /// # Panics
    /// If another is under way.
    pub fn flush_begins(&mut self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>) {
        assert!(!self.is_flushing, "a covering flush begins when the one before is over");
        self.is_flushing = true;
        self.rows.flush_begins(open, self.begun, self.done);
        self.begun += 1;
        self.log.flush_begins(open, wait, self.begun + 1);
        self.held.flush_begins();
    }

    /// The covering flush is over.
    pub fn flush_over(&mut self, failed: bool) {
        self.is_flushing = false;
        if failed {
            return;
        }
        self.done = self.begun;
        self.log.flush_over(self.done);
        self.lost.flush_over(self.done);
        self.held.flush_over();
    }

    /// The power is cut, while the parity of some rows stayed `behind`.
    pub fn cut(&mut self, behind: impl Iterator<Item = u64>) -> Cut {
        behind.for_each(|row| self.write_begins(row));
        self.is_flushing = false;
        self.held.cut();
        self.lost.cut();
        let Self { rows, log, done, .. } = self;
        log.cut(|row| rows.needs_log(row, *done));
        let in_doubt = rows.cut(*done);
        self.plan_replay();
        Cut { in_doubt, lost: self.lose_in_doubt() }
    }

    /// Finds the rows whose parity is to be had from the log, and those whose missing block the cut did not touch.
    fn plan_replay(&mut self) {
        let Self { striping, rows, held, log, .. } = self;
        log.plan_replay(|row, modified| {
            let (parity, missing) = (1 << striping.parity(row), held.missing(row));
            if missing == modified && missing.count_ones() == 1 {
                // Parity alone was written, and says what the missing block was or what it is.
                rows.is_right(row);
                return false;
            }
            missing & (parity | modified) == 0 && missing.count_ones() < 2
        });
    }

    /// Where a member holds less than all, the blocks that it lacks of rows whose parity may be wrong are lost; how many sectors.
    fn lose_in_doubt(&mut self) -> u64 {
        let mut lost = 0;
        if self.held.lacking() == 0 {
            return lost;
        }
        let block = sectors(&(0..self.striping.block));
        let mut next = self.rows.next_untrusted(0);
        while let Some(row) = next {
            let missing = self.held.missing(row);
            if missing.count_ones() == 1 && self.log.replays(row) == 0 {
                for member in each(missing & !(1 << self.striping.parity(row))) {
                    lost += self.lost.add(row, member, block);
                }
                // From now on the block is what the others and the parity say.
                self.rows.is_right(row);
            }
            next = self.rows.next_untrusted(row + 1);
        }
        lost
    }

    /// The synchronisation that comes next, if one is needed, and its first row: that from the log, of a spare that took the place of a member, of parity.
    pub fn to_sync(&self) -> Option<(Task, u64)> {
        if self.log.has_replay() {
            return Some((Task::Replay, 0));
        }
        if self.held.failed() != 0 {
            return None;
        }
        let resync = || (self.rows.wrong() > 0).then_some((Task::Resync, 0));
        self.held.rebuild().map(|(member, row)| (Task::Rebuild { member }, row)).or_else(resync)
    }

    /// The first row from `row` on that a synchronisation has to handle.
    pub fn next_to_sync(&self, task: Task, row: u64) -> Option<u64> {
        match task {
            Task::Resync => self.rows.next_untrusted(row),
            Task::Replay => self.log.next_replay(row),
            Task::Rebuild { .. } | Task::Scrub => (row < self.striping.rows()).then_some(row),
        }
    }

    /// A synchronisation has handled a row. Of one without two members nothing was had.
    pub fn row_synced(&mut self, task: Task, row: u64) {
        let missing = self.held.missing(row).count_ones();
        match task {
            Task::Replay => {
                self.log.replayed(row);
                if missing < 2 {
                    self.rows.is_right(row);
                }
            }
            _ if missing > 1 => {}
            Task::Rebuild { member } => self.held.row_rebuilt(member, row),
            Task::Resync | Task::Scrub if missing == 0 => self.rows.is_right(row),
            Task::Resync | Task::Scrub => {}
        }
    }

    /// Whether a state that was loaded can be one of this array.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check_loaded(&self) -> Result<(), String> {
        let Self { striping, begun, done, is_flushing, rows, held, lost, log } = self;
        let (all, members) = (striping.rows(), striping.members as u16);
        let is_place = |row: u64, member: u16| row < all && member < members;
        // Half of all numbers are more flushes than an array lives for.
        let holds = *begun < Stamp::MAX / 2
            && done <= begun
            && (!is_flushing || done < begun)
            && rows.is_sound(*begun)
            && held.is_sound(all)
            && lost.places().all(|(row, member)| is_place(row, member))
            && log.is_sound(striping);
        if holds { Ok(()) } else { Err("rows or members of which nothing can be known".into()) }
    }
}

#[cfg(test)]
mod tests;
