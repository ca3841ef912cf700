//! Durability: which data of an array survive a power cut, and what the array knows about it.
//!
//! A *covering flush* is a flush of all members; covering flushes are numbered and run one at a time. A write
//! carries a [`Stamp`]: the number of the flush that makes it non-volatile, which is the next one to start. A
//! row that is being written when a flush starts is not covered by it and gets the number after it. When
//! flush n has completed, everything stamped n or less is non-volatile; a failed flush changes nothing, and
//! the next one covers the same writes.
//!
//! | stamped item | effect of a power cut until it is non-volatile |
//! |---|---|
//! | written rows ([`rows`]) | their parity is in doubt |
//! | discarded rows ([`rows`]) | the same, whatever is flushed: a device may restore discarded data |
//! | entries of the partial parity log, and their space ([`log`]) | they give the parity of rows in doubt |
//! | rewritten lost sectors ([`lost`]) | they are lost again |
//! | the position of a rebuild ([`held`]) | it continues from the last non-volatile position |

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

/// Number of the covering flush that makes something non-volatile.
pub type Stamp = u64;

/// The durability of the data of an array.
#[derive(Clone, Debug)]
pub struct Durability {
    striping: Striping,
    /// Covering flushes started (a write now is covered by the next one), and the last that completed without
    /// failure.
    begun: Stamp,
    done: Stamp,
    /// Whether a covering flush is in progress.
    is_flushing: bool,
    /// Rows whose parity a power cut may leave inconsistent, and rows where it has.
    pub rows: Rows,
    /// The state of the members.
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

/// Outcome of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Rows whose parity may be inconsistent.
    pub in_doubt: u64,
    /// Sectors lost because a member lacks them in such a row.
    pub lost: u64,
}

impl Durability {
    /// For an array with log areas of so many sectors for each member; 0 for no log.
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

    /// Whether a covering flush is in progress.
    pub fn is_flushing(&self) -> bool {
        self.is_flushing
    }

    /// Notes the start of a write to a row.
    pub fn write_begins(&mut self, row: u64) {
        self.rows.write(row, self.begun + 1);
    }

    /// Logs a row before these blocks are written. Returns the members written since the row was
    /// non-volatile, if it had an entry.
    pub fn write_in_log(&mut self, row: u64, written: Set) -> Option<Set> {
        self.log.write(row, self.striping.parity(row), written, self.begun + 1)
    }

    /// Notes a write of a row without a log entry, as the member of its parity is missing.
    pub fn write_bare(&mut self, row: u64) {
        self.log.write_bare(row, self.begun + 1);
    }

    /// Allocates log space for the entry of a row. Returns its first sector within the area, or `None` if the
    /// area is full.
    pub fn take_room(&mut self, row: u64, sectors: u64) -> Option<u64> {
        self.log.take(row, sectors, self.begun + 1)
    }

    /// Notes a write to sectors of a block.
    pub fn written(&mut self, row: u64, member: u16, which: Sectors) {
        self.lost.written(row, member, which, self.begun + 1);
    }

    /// Notes the discard of a row on all members.
    pub fn discard(&mut self, row: u64) {
        self.rows.discard(row);
        self.log.forget(row);
        (0..self.striping.members as u16).for_each(|member| self.lost.discarded(row, member));
    }

    /// Starts a covering flush. `open` rows are being written; for those that `wait` for log space, entries
    /// of earlier writes are covered.
    ///
    /// # Panics
    /// If another is in progress.
    pub fn flush_begins(&mut self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>) {
        assert!(!self.is_flushing, "a covering flush begins when the one before is over");
        self.is_flushing = true;
        self.rows.flush_begins(open, self.begun, self.done);
        self.begun += 1;
        self.log.flush_begins(open, wait, self.begun + 1);
        self.held.flush_begins();
    }

    /// Ends the covering flush.
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

    /// Applies a power cut, at which parity of the rows `behind` was deferred.
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

    /// Selects the rows for log replay, and clears rows whose missing block the interrupted write did not
    /// touch.
    fn plan_replay(&mut self) {
        let Self { striping, rows, held, log, .. } = self;
        log.plan_replay(|row, modified| {
            let (parity, missing) = (1 << striping.parity(row), held.missing(row));
            if missing == modified && missing.count_ones() == 1 {
                // Only parity was written, and it gives the missing block in its old or new state.
                rows.is_right(row);
                return false;
            }
            missing & (parity | modified) == 0 && missing.count_ones() < 2
        });
    }

    /// In degraded rows with inconsistent parity, marks the blocks of missing members as lost. Returns how
    /// many sectors.
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
                // From now on the other blocks and the parity define the content of the block.
                self.rows.is_right(row);
            }
            next = self.rows.next_untrusted(row + 1);
        }
        lost
    }

    /// The next synchronisation needed, and its first row: log replay, then the rebuild of a replaced member,
    /// then the resync of parity.
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

    /// The first row from `row` on that a synchronisation has to process.
    pub fn next_to_sync(&self, task: Task, row: u64) -> Option<u64> {
        match task {
            Task::Resync => self.rows.next_untrusted(row),
            Task::Replay => self.log.next_replay(row),
            Task::Rebuild { .. } | Task::Scrub => (row < self.striping.rows()).then_some(row),
        }
    }

    /// Notes a row processed by a synchronisation. A row with two missing members could not be processed.
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

    /// Checks a restored state.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check_loaded(&self) -> Result<(), String> {
        let Self { striping, begun, done, is_flushing, rows, held, lost, log } = self;
        let (all, members) = (striping.rows(), striping.members as u16);
        let is_place = |row: u64, member: u16| row < all && member < members;
        // No array reaches half of all flush numbers.
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
