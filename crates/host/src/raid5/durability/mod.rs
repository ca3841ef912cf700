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
//! | the position of a rebuild ([`member_state`]) | it continues from the last non-volatile position |

pub mod log;
pub mod lost;
pub mod member_state;
pub mod rows;

use std::collections::BTreeSet;

use wordline_kernel::state;

use super::layout::Striping;
use super::stripe_cache::{SectorSet, sectors};
use super::sync::Task;
use super::write_method::{MemberSet, each};
use log::PartialParityLog;
use lost::LostSectors;
use member_state::MemberState;
use rows::DirtyRows;

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
    pub rows: DirtyRows,
    /// The state of the members.
    pub held: MemberState,
    /// The lost sectors.
    pub lost: LostSectors,
    /// The partial parity log.
    pub log: PartialParityLog,
}

state!(Durability {
    values { begun, done, is_flushing }
    parts { rows, held, lost, log }
    fixed { striping }
});

/// Outcome of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutOutcome {
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
            rows: DirtyRows::new(striping.rows()),
            held: MemberState::new(striping.members),
            lost: LostSectors::default(),
            log: PartialParityLog::new(log_sectors, striping.members),
        }
    }

    /// Whether a covering flush is in progress.
    pub fn is_flushing(&self) -> bool {
        self.is_flushing
    }

    /// Notes the start of a write to a row.
    pub fn note_write_start(&mut self, row: u64) {
        self.rows.write(row, self.begun + 1);
    }

    /// Logs a row before these blocks are written. Returns the members written since the row was
    /// non-volatile, if it had an entry.
    pub fn write_in_log(&mut self, row: u64, written: MemberSet) -> Option<MemberSet> {
        self.log.write(row, self.striping.parity(row), written, self.begun + 1)
    }

    /// Notes a write of a row without a log entry, as the member of its parity is missing.
    pub fn note_unlogged_write(&mut self, row: u64) {
        self.log.note_unlogged_write(row, self.begun + 1);
    }

    /// Allocates log space for the entry of a row. Returns its first sector within the area, or `None` if the
    /// area is full.
    pub fn allocate_log(&mut self, row: u64, sectors: u64) -> Option<u64> {
        self.log.take(row, sectors, self.begun + 1)
    }

    /// Notes a write to sectors of a block.
    pub fn written(&mut self, row: u64, member: u16, which: SectorSet) {
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
    pub fn start_flush(&mut self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>) {
        assert!(!self.is_flushing, "a covering flush begins when the one before is over");
        self.is_flushing = true;
        self.rows.start_flush(open, self.begun, self.done);
        self.begun += 1;
        self.log.start_flush(open, wait, self.begun + 1);
        self.held.start_flush();
    }

    /// Ends the covering flush.
    pub fn end_flush(&mut self, failed: bool) {
        self.is_flushing = false;
        if failed {
            return;
        }
        self.done = self.begun;
        self.log.end_flush(self.done);
        self.lost.end_flush(self.done);
        self.held.end_flush();
    }

    /// Applies a power cut, at which parity of the rows `behind` was deferred.
    pub fn cut(&mut self, behind: impl Iterator<Item = u64>) -> CutOutcome {
        behind.for_each(|row| self.note_write_start(row));
        self.is_flushing = false;
        self.held.cut();
        self.lost.cut();
        let Self { rows, log, done, .. } = self;
        log.cut(|row| rows.needs_log(row, *done));
        let in_doubt = rows.cut(*done);
        self.plan_replay();
        CutOutcome { in_doubt, lost: self.mark_lost_in_doubt() }
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
    fn mark_lost_in_doubt(&mut self) -> u64 {
        let mut lost = 0;
        if self.held.incomplete() == 0 {
            return lost;
        }
        let block = sectors(&(0..self.striping.block));
        let mut next = self.rows.next_dirty(0);
        while let Some(row) = next {
            let missing = self.held.missing(row);
            if missing.count_ones() == 1 && self.log.replays(row) == 0 {
                for member in each(missing & !(1 << self.striping.parity(row))) {
                    lost += self.lost.add(row, member, block);
                }
                // From now on the other blocks and the parity define the content of the block.
                self.rows.is_right(row);
            }
            next = self.rows.next_dirty(row + 1);
        }
        lost
    }

    /// The next synchronisation needed, and its first row: log replay, then the rebuild of a replaced member,
    /// then the resync of parity.
    pub fn next_sync(&self) -> Option<(Task, u64)> {
        if self.log.has_pending_replay() {
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
            Task::Resync => self.rows.next_dirty(row),
            Task::Replay => self.log.next_replay(row),
            Task::Rebuild { .. } | Task::Scrub => (row < self.striping.rows()).then_some(row),
        }
    }

    /// Notes a row processed by a synchronisation. A row with two missing members could not be processed.
    pub fn note_row_synced(&mut self, task: Task, row: u64) {
        let missing = self.held.missing(row).count_ones();
        match task {
            Task::Replay => {
                self.log.replayed(row);
                if missing < 2 {
                    self.rows.is_right(row);
                }
            }
            _ if missing > 1 => {}
            Task::Rebuild { member } => self.held.note_row_rebuilt(member, row),
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
        if holds { Ok(()) } else { Err("an inconsistent durability state of rows or members".into()) }
    }
}

#[cfg(test)]
mod tests;
