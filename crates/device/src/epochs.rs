//! Flush epochs: which writes a flush covers.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Number of entries of each flush epoch that are not in flash yet. A flush ends the current epoch, and
/// completes when no entry of this or an older epoch is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Epochs {
    first: u64,
    pending: VecDeque<u32>,
}

impl Default for Epochs {
    fn default() -> Self {
        Self { first: 0, pending: VecDeque::from([0]) }
    }
}

impl Epochs {
    /// The current epoch.
    #[inline]
    pub fn current(&self) -> u64 {
        self.first + self.pending.len() as u64 - 1
    }

    /// Adds an entry to the current epoch, and returns the epoch.
    #[inline]
    pub fn enter(&mut self) -> u64 {
        let current = self.current();
        self.pending[(current - self.first) as usize] += 1;
        current
    }

    /// Removes an entry of `epoch`, because it is in flash or invalid. Drops the oldest epochs that have
    /// ended and have no entries.
    #[inline]
    pub fn leave(&mut self, epoch: u64) {
        self.pending[(epoch - self.first) as usize] -= 1;
        self.trim();
    }

    fn trim(&mut self) {
        while self.pending.len() > 1 && self.pending[0] == 0 {
            self.pending.pop_front();
            self.first += 1;
        }
    }

    /// Begins the next epoch. Returns the ended one if entries of this or an older epoch are not in flash
    /// yet.
    #[inline]
    pub fn end(&mut self) -> Option<u64> {
        let ended = self.current();
        self.pending.push_back(0);
        self.trim();
        (self.first <= ended).then_some(ended)
    }

    /// Whether the loaded counts match the epochs of these entries.
    pub fn match_entries(&self, entries: impl Iterator<Item = u64>) -> bool {
        let mut counts = vec![0; self.pending.len()];
        for epoch in entries {
            let place = epoch.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
            let Some(count) = place.and_then(|place| counts.get_mut(place)) else { return false };
            *count += 1;
        }
        // The epoch number grows for as long as the device runs.
        let goes_on = self.first < u64::MAX / 2
            && (counts.len() == 1 || counts.first().is_some_and(|count| *count > 0));
        goes_on && self.pending.iter().eq(&counts)
    }

    /// Whether all entries up to `epoch` are in flash.
    #[inline]
    pub fn is_over(&self, epoch: u64) -> bool {
        self.first > epoch
    }
}
