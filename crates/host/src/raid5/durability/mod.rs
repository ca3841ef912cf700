//! Durability: which data of an array survive a power cut, and what the array knows about it.
//!
//! A *covering flush* is a flush of all members. Covering flushes are numbered and run one at a time. Each
//! write carries a [`Stamp`]: the number of the flush that makes it non-volatile, which is the next flush to
//! start. If a row is being written when a flush starts, the flush does not cover it, and the row gets the
//! stamp of the flush after that. When flush n has completed, everything with a stamp of n or less is
//! non-volatile. A failed flush changes nothing, and the next flush covers the same writes.
//!
//! A *forced* write needs no flush: data and parity were written with FUA, or completed writes of the members
//! are non-volatile anyway. When it ends, its row has the stamp again that it had before the write.
//!
//! | stamped item | effect of a power cut before it is non-volatile |
//! |---|---|
//! | written row ([`rows`]) | its parity is in doubt |
//! | discarded row ([`rows`]) | its parity is in doubt, even after a flush: devices may restore the data |
//! | log entry and its space ([`log`]) | the entry gives the parity of a row in doubt |
//! | rewritten lost sector ([`lost`]) | the sector is lost again |
//! | position of a rebuild ([`member_state`]) | the rebuild continues from the last non-volatile position |

pub mod log;
pub mod lost;
pub mod member_state;
pub mod rows;
mod stamp;

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
pub use stamp::Stamp;

/// The durability of the data of an array.
#[derive(Clone, Debug)]
pub struct Durability {
    striping: Striping,
    /// Whether completed writes of the members may be volatile.
    is_volatile: bool,
    /// Covering flushes started. The next one covers a write that starts now.
    begun: Stamp,
    /// The last covering flush that completed without failure.
    done: Stamp,
    /// Whether a covering flush is in progress.
    is_flushing: bool,
    /// The rows whose parity a power cut now may make inconsistent, or an earlier cut may have made
    /// inconsistent.
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
    fixed { striping, is_volatile }
});

/// Outcome of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutOutcome {
    /// Rows whose parity may be inconsistent since this cut.
    pub in_doubt: u64,
    /// Sectors lost because a member is missing in a row in doubt.
    pub lost: u64,
}

impl Durability {
    /// The durability of an array with `log_sectors` of log area on each member; 0 for no log. `is_volatile`:
    /// whether completed writes of the members may be volatile.
    pub fn new(striping: Striping, log_sectors: u64, is_volatile: bool) -> Self {
        Self {
            striping,
            is_volatile,
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
    pub fn note_write_start(&mut self, row: u64, fua: bool) {
        self.rows.write(row, self.begun + 1, fua || !self.is_volatile);
    }

    /// Notes the end of a write to a row. A row that is non-volatile then needs no log entry.
    pub fn note_write_end(&mut self, row: u64) {
        if self.rows.end_write(row, self.done) && self.log.is_enabled() {
            self.log.note_durable(row);
        }
    }

    /// Logs a row before these blocks are written. If the row had an entry, returns the members written since
    /// the row was last non-volatile.
    pub fn write_in_log(&mut self, row: u64, written: MemberSet) -> Option<MemberSet> {
        self.log.write(row, self.striping.parity(row), written, self.begun + 1)
    }

    /// Notes a write of a row without a log entry, because the parity member of the row is missing.
    pub fn note_unlogged_write(&mut self, row: u64) {
        self.log.note_unlogged_write(row, self.begun + 1);
    }

    /// Allocates log space for the entry of a row. Returns the first sector of the space within the area, or
    /// `None` if the area is full.
    pub fn allocate_log(&mut self, row: u64, sectors: u64) -> Option<u64> {
        self.log.take(row, sectors, self.begun + 1)
    }

    /// Notes a write to sectors of a block.
    pub fn written(&mut self, row: u64, member: u16, which: SectorSet, fua: bool) {
        self.lost.written(row, member, which, (self.begun + 1, fua || !self.is_volatile));
    }

    /// Notes the discard of a row on all members.
    pub fn discard(&mut self, row: u64) {
        self.rows.discard(row);
        self.log.forget(row);
        (0..self.striping.members as u16).for_each(|member| self.lost.discarded(row, member));
    }

    /// Starts a covering flush. `open` rows are being written. For those that `wait` for log space the flush
    /// covers the log entries of earlier writes.
    ///
    /// # Panics
    /// If another covering flush is in progress.
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

    /// Applies a power cut. `behind`: rows with deferred parity.
    pub fn cut(&mut self, behind: impl Iterator<Item = u64>) -> CutOutcome {
        behind.for_each(|row| self.rows.write(row, self.begun + 1, false));
        self.is_flushing = false;
        self.held.cut();
        self.lost.cut();
        let Self { rows, log, done, .. } = self;
        log.cut(|row| rows.needs_log(row, *done));
        let in_doubt = rows.cut(*done);
        self.plan_replay();
        CutOutcome { in_doubt, lost: self.mark_lost_in_doubt() }
    }

    /// Selects the rows for log replay. Clears rows whose missing block is the only one that the interrupted
    /// write modified.
    fn plan_replay(&mut self) {
        let Self { striping, rows, held, log, .. } = self;
        log.plan_replay(|row, modified| {
            let (parity, missing) = (1 << striping.parity(row), held.missing(row));
            if missing == modified && missing.count_ones() == 1 {
                // Only parity was written. It gives the missing block in its old or its new state.
                rows.is_right(row);
                return false;
            }
            missing & (parity | modified) == 0 && missing.count_ones() < 2
        });
    }

    /// Marks the blocks of missing members as lost in rows with inconsistent parity. Returns the number of
    /// sectors.
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
                // From now on the other blocks and the parity define the content of the missing block.
                self.rows.is_right(row);
            }
            next = self.rows.next_dirty(row + 1);
        }
        lost
    }

    /// The next synchronisation that is needed, and its first row. Log replay is first, then the rebuild of a
    /// replaced member, then the resync of parity.
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

    /// Notes a row that a synchronisation has processed. A row with two missing members stays unprocessed.
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
            Task::Rebuild { member } => self.held.note_row_rebuilt(member, row, !self.is_volatile),
            Task::Resync | Task::Scrub if missing == 0 => self.rows.is_right(row),
            Task::Resync | Task::Scrub => {}
        }
    }

    /// Checks a restored state.
    ///
    /// # Errors
    /// A description of the contradiction.
    pub fn check_loaded(&self) -> Result<(), String> {
        let Self { striping, begun, done, is_flushing, rows, held, lost, log, is_volatile: _ } = self;
        let (all, members) = (striping.rows(), striping.members as u16);
        let is_place = |row: u64, member: u16| row < all && member < members;
        // The number of flushes in an array never reaches half of the range of stamps.
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
