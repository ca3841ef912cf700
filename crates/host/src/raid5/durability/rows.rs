//! The rows whose parity a power cut may leave wrong, and those where it has: a write-intent bitmap that survives power cuts and takes no time.

use std::collections::BTreeSet;

use wordline_kernel::state;

use super::Stamp;

/// The stamp of a row that was discarded since the last power cut, which no flush makes durable.
const DISCARDED: u8 = u8::MAX;

/// The rows of an array that are not known to be in order.
#[derive(Clone, Debug)]
pub struct Rows {
    /// By row: the stamp of its last write, counted from `base`, so that it fits into a byte; 0 of a row without one.
    stamps: Vec<u8>,
    base: Stamp,
    /// Parity may be wrong: a bit a row.
    untrusted: Vec<u64>,
    /// How many of those bits are set.
    wrong: u64,
}

state!(Rows {
    values { base, wrong }
    parts { stamps, untrusted }
});

impl Rows {
    /// So many rows, all in order.
    pub(super) fn new(rows: u64) -> Self {
        let untrusted = vec![0; rows.div_ceil(64) as usize];
        Self { stamps: vec![0; rows as usize], base: 0, untrusted, wrong: 0 }
    }

    /// A row is written.
    pub(super) fn write(&mut self, row: u64, stamp: Stamp) {
        let of_row = &mut self.stamps[row as usize];
        *of_row = (*of_row).max((stamp - self.base) as u8);
    }

    /// A row is discarded on all members.
    pub(super) fn discard(&mut self, row: u64) {
        self.stamps[row as usize] = DISCARDED;
    }

    /// The largest stamp, as rows have it, of what is durable when flush `done` is over.
    fn durable(&self, done: Stamp) -> u8 {
        done.saturating_sub(self.base) as u8
    }

    /// The flush after `begun` begins, when the last that was over is `done`: rows that are `open` and not durable carry the number after it.
    pub(super) fn flush_begins(&mut self, open: &BTreeSet<u64>, begun: Stamp, done: Stamp) {
        if begun + 2 - self.base >= Stamp::from(DISCARDED) {
            // Numbers count from here on: with no flush under way, all that is not durable waits for this one.
            let durable = self.durable(done);
            let written = self.stamps.iter_mut().filter(|stamp| **stamp != DISCARDED);
            written.for_each(|stamp| *stamp = u8::from(*stamp > durable));
            self.base = begun;
        }
        let durable = self.durable(done);
        for row in open {
            if self.stamps[*row as usize] > durable {
                self.write(*row, begun + 2);
            }
        }
    }

    /// Whether a power cut puts a row in doubt whose entry in the log tells what became of it. After a discard each member may have either, so that an
    /// entry does not say what the blocks hold that it left alone.
    pub(super) fn needs_log(&self, row: u64, done: Stamp) -> bool {
        let stamp = self.stamps[row as usize];
        stamp != DISCARDED && (stamp > self.durable(done) || self.is_untrusted(row))
    }

    /// The power is cut: the parity of all rows that are not durable may be wrong. How many there are now.
    pub(super) fn cut(&mut self, done: Stamp) -> u64 {
        let durable = self.durable(done);
        for (word, stamps) in self.untrusted.iter_mut().zip(self.stamps.chunks_mut(64)) {
            for (bit, stamp) in stamps.iter_mut().enumerate() {
                *word |= u64::from(std::mem::take(stamp) > durable) << bit;
            }
        }
        self.wrong = self.untrusted.iter().map(|word| u64::from(word.count_ones())).sum();
        self.wrong
    }

    /// Whether the parity of a row may be wrong.
    pub fn is_untrusted(&self, row: u64) -> bool {
        self.wrong > 0 && self.untrusted[(row / 64) as usize] >> (row % 64) & 1 == 1
    }

    /// The parity of a row was computed from all its data and written.
    pub fn is_right(&mut self, row: u64) {
        if self.is_untrusted(row) {
            self.untrusted[(row / 64) as usize] &= !(1 << (row % 64));
            self.wrong -= 1;
        }
    }

    /// How many rows may have wrong parity.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// The first row from `row` on whose parity may be wrong.
    pub fn next_untrusted(&self, row: u64) -> Option<u64> {
        let mut at = (row / 64) as usize;
        let mut word = self.untrusted.get(at)? & (u64::MAX << (row % 64));
        while word == 0 {
            at += 1;
            word = *self.untrusted.get(at)?;
        }
        Some(at as u64 * 64 + u64::from(word.trailing_zeros()))
    }

    /// Whether what was loaded can be rows of an array of which so many flushes have begun.
    pub(super) fn is_sound(&self, begun: Stamp) -> bool {
        let wrong: u64 = self.untrusted.iter().map(|word| u64::from(word.count_ones())).sum();
        let rows = self.stamps.len() as u64;
        // The last word has bits beyond the last row.
        self.base <= begun
            && begun - self.base < Stamp::from(DISCARDED) - 1
            && wrong == self.wrong
            && self.next_untrusted(rows).is_none()
            && self
                .stamps
                .iter()
                .all(|stamp| *stamp == DISCARDED || Stamp::from(*stamp) <= begun + 1 - self.base)
    }
}
