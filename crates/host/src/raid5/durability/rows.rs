//! A write-intent bitmap of two kinds of rows: rows whose parity a power cut now may make inconsistent, and
//! rows whose parity may be inconsistent since an earlier cut. The bitmap survives power cuts, and its
//! updates take no time.

use std::collections::{BTreeMap, BTreeSet};

use wordline_kernel::state;

use super::stamp::Stamp;

/// Stamp of a row that was discarded since the last power cut. No flush makes a discard non-volatile.
const DISCARDED: u8 = u8::MAX;

/// The rows of an array that may be inconsistent.
#[derive(Clone, Debug)]
pub struct DirtyRows {
    /// By row: the stamp of its last write, relative to `base` so that it fits into a byte; 0 for no write.
    stamps: Vec<u8>,
    base: Stamp,
    /// By row with a write in progress that is non-volatile when it ends: the stamp of the row before it.
    before: BTreeMap<u64, u8>,
    /// Bitmap of rows whose parity may be wrong.
    untrusted: Vec<u64>,
    /// Number of set bits in `untrusted`.
    wrong: u64,
}

state!(DirtyRows {
    values { base, before, wrong }
    parts { stamps, untrusted }
});

impl DirtyRows {
    /// The bitmap of `rows` consistent rows.
    pub(super) fn new(rows: u64) -> Self {
        let untrusted = vec![0; rows.div_ceil(64) as usize];
        Self { stamps: vec![0; rows as usize], base: 0, untrusted, before: BTreeMap::new(), wrong: 0 }
    }

    /// Notes the start of a write to a row. `forced`: it is non-volatile when it ends.
    pub(super) fn write(&mut self, row: u64, stamp: Stamp, forced: bool) {
        if forced {
            self.before.entry(row).or_insert(self.stamps[row as usize]);
        } else {
            self.before.remove(&row);
        }
        self.raise(row, stamp);
    }

    /// Notes the end of a write to a row. If the write is non-volatile, the row is as volatile as before it.
    /// Returns whether a power cut now would leave the parity of the row as it is.
    pub(super) fn end_write(&mut self, row: u64, done: Stamp) -> bool {
        let Some(before) = self.before.remove(&row) else { return false };
        self.stamps[row as usize] = before;
        before <= self.durable(done) && !self.is_dirty(row)
    }

    fn raise(&mut self, row: u64, stamp: Stamp) {
        let of_row = &mut self.stamps[row as usize];
        *of_row = (*of_row).max((stamp - self.base) as u8);
    }

    /// Notes the discard of a row on all members.
    pub(super) fn discard(&mut self, row: u64) {
        self.stamps[row as usize] = DISCARDED;
    }

    /// The largest relative stamp that is non-volatile once flush `done` has completed.
    fn durable(&self, done: Stamp) -> u8 {
        done.saturating_sub(self.base) as u8
    }

    /// Notes the start of flush `begun + 1`. `done`: the last flush that completed. `open` rows that are
    /// still volatile get the stamp `begun + 2`.
    pub(super) fn start_flush(&mut self, open: &BTreeSet<u64>, begun: Stamp, done: Stamp) {
        if begun + 2 - self.base >= Stamp::from(DISCARDED) {
            // Rebases the stamps. No other flush is in progress, so everything that is still volatile waits
            // for this flush.
            let durable = self.durable(done);
            let stamps = self.stamps.iter_mut().chain(self.before.values_mut());
            let written = stamps.filter(|stamp| **stamp != DISCARDED);
            written.for_each(|stamp| *stamp = u8::from(*stamp > durable));
            self.base = begun;
        }
        let durable = self.durable(done);
        for row in open {
            if self.stamps[*row as usize] > durable {
                self.raise(*row, begun + 2);
            }
        }
    }

    /// Whether a power cut now would leave the parity of a row in doubt, and a log entry can resolve the
    /// doubt. After a discard of the row a log entry cannot: every member may have its old or its new
    /// content, even members that the entry assumes to be untouched.
    pub(super) fn needs_log(&self, row: u64, done: Stamp) -> bool {
        let stamp = self.stamps[row as usize];
        stamp != DISCARDED && (stamp > self.durable(done) || self.is_dirty(row))
    }

    /// Applies a power cut: the parity of all rows that are still volatile may be wrong. Returns how many
    /// rows were not in doubt before.
    pub(super) fn cut(&mut self, done: Stamp) -> u64 {
        let known = self.wrong;
        self.before.clear();
        let durable = self.durable(done);
        for (word, stamps) in self.untrusted.iter_mut().zip(self.stamps.chunks_mut(64)) {
            for (bit, stamp) in stamps.iter_mut().enumerate() {
                *word |= u64::from(std::mem::take(stamp) > durable) << bit;
            }
        }
        self.wrong = self.untrusted.iter().map(|word| u64::from(word.count_ones())).sum();
        self.wrong - known
    }

    /// Whether the parity of a row may be wrong.
    pub fn is_dirty(&self, row: u64) -> bool {
        self.wrong > 0 && self.untrusted[(row / 64) as usize] >> (row % 64) & 1 == 1
    }

    /// Clears a row: its parity was computed from all its data and written.
    pub fn is_right(&mut self, row: u64) {
        if self.is_dirty(row) {
            self.untrusted[(row / 64) as usize] &= !(1 << (row % 64));
            self.wrong -= 1;
        }
    }

    /// Number of rows whose parity may be wrong.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// The first row from `row` on whose parity may be wrong.
    pub fn next_dirty(&self, row: u64) -> Option<u64> {
        let mut at = (row / 64) as usize;
        let mut word = self.untrusted.get(at)? & (u64::MAX << (row % 64));
        while word == 0 {
            at += 1;
            word = *self.untrusted.get(at)?;
        }
        Some(at as u64 * 64 + u64::from(word.trailing_zeros()))
    }

    /// Checks a restored state, given the number of covering flushes started.
    pub(super) fn is_sound(&self, begun: Stamp) -> bool {
        let wrong: u64 = self.untrusted.iter().map(|word| u64::from(word.count_ones())).sum();
        let rows = self.stamps.len() as u64;
        let mut stamps = self.stamps.iter().chain(self.before.values());
        // The last word has bits beyond the last row.
        self.base <= begun
            && begun - self.base < Stamp::from(DISCARDED) - 1
            && wrong == self.wrong
            && self.next_dirty(rows).is_none()
            && self.before.keys().all(|row| *row < rows)
            && stamps.all(|stamp| *stamp == DISCARDED || Stamp::from(*stamp) <= begun + 1 - self.base)
    }
}
