//! The partial parity log of an array: what md calls PPL. Each member has an area for the rows whose parity it holds.
//!
//! Before a row is written, the exclusive or of the blocks that the write leaves alone is written there. After a power cut that and the blocks that were
//! being written give the parity, whichever of them came to their members. An entry is of use until a flush of all members covers its row.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wordline_kernel::state;

use super::heads::HeadId;
use super::way::Set;

/// Sectors of the header of an entry: 4 KiB, as md has it.
pub const HEADER: u64 = 8;

/// A row in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The member in whose area it is.
    member: u16,
    /// Sectors that it takes there.
    sectors: u64,
    /// Members whose blocks were written since the last flush.
    modified: Set,
    /// Whether the flush under way covers the row, and sectors of which it does.
    covered: bool,
    /// See there.
    freed: u64,
}

/// The area of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Area {
    /// Sectors that entries take.
    used: u64,
    /// Where the next one goes.
    next: u64,
}

/// The log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Sectors of the area of a member; 0 for no log.
    size: u64,
    entries: BTreeMap<u64, Entry>,
    areas: Vec<Area>,
    /// Rows that wait for room.
    pub waiting: Vec<HeadId>,
    /// Rows that were written without an entry since the last flush that covers them, for want of their parity, and those of them that the flush
    /// under way covers. An entry that comes after does not tell of those writes.
    bare: BTreeSet<u64>,
    bare_covered: BTreeSet<u64>,
    /// Rows whose parity is to be had from the log before the array takes commands.
    replay: BTreeSet<u64>,
}

state!(Log {
    values { entries, areas, waiting, bare, bare_covered, replay }
    fixed { size }
});

impl Log {
    /// Of areas of so many sectors, one a member.
    pub fn new(size: u64, members: u64) -> Self {
        Self { size, areas: vec![Area::default(); members as usize], ..Self::default() }
    }

    /// Whether there is one.
    pub fn is_on(&self) -> bool {
        self.size > 0
    }

    /// How many areas it has.
    pub fn areas(&self) -> usize {
        self.areas.len()
    }

    /// Blocks of a row are about to be written. Those that were since the last flush, if its entry is there.
    pub fn note(&mut self, row: u64, member: u16, written: Set) -> Option<Set> {
        let before = self.entries.get(&row).map(|entry| entry.modified);
        let entry = self.entries.entry(row).or_insert(Entry { member, ..Entry::default() });
        entry.modified |= written;
        entry.covered = false;
        before
    }

    /// Room for the entry of a row; its first sector within the area, or none if there is no room.
    pub fn take(&mut self, row: u64, sectors: u64) -> Option<u64> {
        let entry = self.entries.get_mut(&row)?;
        let area = &mut self.areas[usize::from(entry.member)];
        if area.used + sectors > self.size {
            return None;
        }
        if area.next + sectors > self.size {
            area.next = 0;
        }
        let at = area.next;
        area.next += sectors;
        area.used += sectors;
        entry.sectors += sectors;
        Some(at)
    }

    /// The members of a row whose blocks were written since the last flush, if it has an entry.
    pub fn modified(&self, row: u64) -> Option<Set> {
        self.entries.get(&row).map(|entry| entry.modified)
    }

    /// Whether a row has an entry.
    pub fn has(&self, row: u64) -> bool {
        self.entries.contains_key(&row)
    }

    /// A row is written without an entry, since the member of its parity is missing.
    pub fn write_bare(&mut self, row: u64) {
        self.forget(row);
        self.bare.insert(row);
        self.bare_covered.remove(&row);
    }

    /// The blocks of a row are not what its entry says any more: something of it was lost, or all of it discarded.
    pub fn forget(&mut self, row: u64) {
        if let Some(entry) = self.entries.remove(&row) {
            self.areas[usize::from(entry.member)].used -= entry.sectors;
        }
    }

    /// Whether a flush that begins now would make room: what was written of a row is on its members. `open` rows are being written, but
    /// for those that `wait` for room.
    pub fn has_closed(&self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>) -> bool {
        let is_closed = |row: &u64| !open.contains(row) || wait.contains(row);
        self.entries.iter().any(|(row, entry)| entry.sectors > 0 && is_closed(row))
    }

    /// A flush of all members begins, which covers all rows but those that are `open`. Of those that `wait` for room it covers what was written before.
    pub fn flush_begins(&mut self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>) {
        self.bare_covered = self.bare.difference(open).copied().collect();
        for (row, entry) in &mut self.entries {
            entry.covered = !open.contains(row);
            entry.freed = if entry.covered || wait.contains(row) { entry.sectors } else { 0 };
        }
    }

    /// It is over: the entries that it covers are of no more use.
    pub fn flush_over(&mut self) {
        let Self { entries, areas, bare, bare_covered, .. } = self;
        bare.retain(|row| !bare_covered.contains(row));
        bare_covered.clear();
        entries.retain(|_, entry| {
            areas[usize::from(entry.member)].used -= entry.freed;
            entry.sectors -= std::mem::take(&mut entry.freed);
            !entry.covered
        });
    }

    /// It failed.
    pub fn flush_failed(&mut self) {
        self.bare_covered.clear();
        self.entries.values_mut().for_each(|entry| (entry.covered, entry.freed) = (false, 0));
    }

    /// The power is cut: rows that are not in doubt need no entry.
    pub fn cut(&mut self, is_in_doubt: impl Fn(u64) -> bool) {
        self.waiting.clear();
        self.bare_covered.clear();
        for row in std::mem::take(&mut self.bare) {
            self.forget(row);
        }
        self.replay.clear();
        for (row, entry) in &mut self.entries {
            entry.covered = !is_in_doubt(*row);
            entry.freed = if entry.covered { entry.sectors } else { 0 };
        }
        self.flush_over();
    }

    /// The rows with an entry.
    pub fn rows(&self) -> impl Iterator<Item = u64> + use<'_> {
        self.entries.keys().copied()
    }

    /// The parity of a row is to be had from the log.
    pub fn replay(&mut self, row: u64) {
        self.replay.insert(row);
    }

    /// It was.
    pub fn replayed(&mut self, row: u64) {
        self.replay.remove(&row);
    }

    /// Whether parity is to be had from it.
    pub fn has_replay(&self) -> bool {
        !self.replay.is_empty()
    }

    /// The first row from `row` on whose parity is to be had from it.
    pub fn next_replay(&self, row: u64) -> Option<u64> {
        self.replay.range(row..).next().copied()
    }

    /// The members whose blocks give the parity of a row from the log, while that is to be done.
    pub fn replays(&self, row: u64) -> Set {
        if self.replay.contains(&row) { self.modified(row).unwrap_or(0) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_full_until_a_flush_covers_its_rows() {
        let mut log = Log::new(32, 3);
        assert_eq!((log.note(7, 1, 0b001), log.take(7, 16)), (None, Some(0)));
        assert_eq!((log.note(8, 2, 0b001), log.take(8, 16)), (None, Some(0)), "another area");
        assert_eq!((log.note(7, 1, 0b100), log.take(7, 16)), (Some(0b001), Some(16)));
        assert_eq!((log.note(9, 1, 0b001), log.take(9, 16)), (None, None));
        let open = BTreeSet::from([8, 9]);
        let none = BTreeSet::new();
        assert!(log.has_closed(&open, &none));
        log.flush_begins(&open, &none);
        log.flush_over();
        assert_eq!((log.modified(7), log.modified(8), log.take(9, 16)), (None, Some(0b001), Some(0)));
        let all = BTreeSet::from([8, 9]);
        assert!(!log.has_closed(&all, &none) && log.has_closed(&all, &all));
        log.flush_begins(&all, &all);
        log.flush_over();
        assert_eq!(log.areas, [Area::default(), Area { used: 0, next: 16 }, Area { used: 0, next: 16 }]);
    }

    #[test]
    fn a_row_that_is_written_beside_a_flush_keeps_its_entry() {
        let mut log = Log::new(64, 3);
        log.note(7, 1, 0b001);
        log.take(7, 16);
        log.flush_begins(&BTreeSet::new(), &BTreeSet::new());
        assert_eq!(log.note(7, 1, 0b100), Some(0b001));
        log.flush_over();
        assert_eq!(log.modified(7), Some(0b101));
        log.cut(|row| row != 7);
        assert!(!log.has(7));
    }
}
