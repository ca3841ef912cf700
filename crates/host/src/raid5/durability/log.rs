//! The partial parity log of an array: what md calls PPL. Each member has an area for the rows whose parity it holds.
//!
//! Before a row is written, the exclusive or of the blocks that the write leaves alone is written there. After a power cut that and the blocks that were
//! being written give the parity, whichever of them came to their members. An entry is of use until a flush of all members covers its row.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wordline_kernel::state;

use super::super::layout::Striping;
use super::super::way::Set;
use super::Stamp;

/// Sectors of the header of an entry: 4 KiB, as md has it.
pub const HEADER: u64 = 8;

/// A row in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The member in whose area it is.
    member: u16,
    /// Members whose blocks were written since the row was durable.
    modified: Set,
    stamp: Stamp,
}

/// Sectors of an area that the entry of a row takes. One that was written again has more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Room {
    row: u64,
    sectors: u64,
    stamp: Stamp,
}

/// The area of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Area {
    taken: Vec<Room>,
    /// Where the next entry goes.
    next: u64,
}

/// The log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Sectors of the area of a member; 0 for no log.
    size: u64,
    entries: BTreeMap<u64, Entry>,
    areas: Vec<Area>,
    /// Rows that were written without an entry, for want of their parity, and are not durable. An entry that comes after does not tell of those writes.
    bare: BTreeMap<u64, Stamp>,
    /// Rows whose parity is to be had from the log before the array takes commands.
    replay: BTreeSet<u64>,
}

state!(Log {
    values { entries, areas, bare, replay }
    fixed { size }
});

impl Log {
    /// Of areas of so many sectors, one a member.
    pub(super) fn new(size: u64, members: u64) -> Self {
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

    /// Blocks of a row are about to be written. Those that were since it was durable, if its entry is there.
    pub(super) fn write(&mut self, row: u64, member: u16, written: Set, stamp: Stamp) -> Option<Set> {
        let before = self.modified(row);
        self.entries.insert(row, Entry { member, modified: before.unwrap_or(0) | written, stamp });
        before
    }

    /// Room for the entry of a row; its first sector within the area, or none if there is no room.
    pub(super) fn take(&mut self, row: u64, sectors: u64, stamp: Stamp) -> Option<u64> {
        let area = &mut self.areas[usize::from(self.entries.get(&row)?.member)];
        let used: u64 = area.taken.iter().map(|room| room.sectors).sum();
        if used + sectors > self.size {
            return None;
        }
        if area.next + sectors > self.size {
            area.next = 0;
        }
        let at = area.next;
        area.next += sectors;
        area.taken.push(Room { row, sectors, stamp });
        Some(at)
    }

    /// The members of a row whose blocks were written since it was durable, if it has an entry.
    pub fn modified(&self, row: u64) -> Option<Set> {
        self.entries.get(&row).map(|entry| entry.modified)
    }

    /// Whether a row has an entry.
    pub fn has(&self, row: u64) -> bool {
        self.entries.contains_key(&row)
    }

    /// A row is written without an entry, since the member of its parity is missing.
    pub(super) fn write_bare(&mut self, row: u64, stamp: Stamp) {
        self.forget(row);
        self.bare.insert(row, stamp);
    }

    /// The blocks of a row are not what its entry says any more: something of it was lost, or all of it discarded.
    pub fn forget(&mut self, row: u64) {
        if let Some(entry) = self.entries.remove(&row) {
            self.areas[usize::from(entry.member)].taken.retain(|room| room.row != row);
        }
    }

    /// Whether a flush that begins now would make room: what was written of a row is on its members. `open` rows are being written, but
    /// for those that `wait` for room.
    pub fn has_closed(&self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>) -> bool {
        let mut taken = self.areas.iter().flat_map(|area| &area.taken);
        taken.any(|Room { row, .. }| !open.contains(row) || wait.contains(row))
    }

    /// A covering flush begins: rows that are `open` carry the number after it. Of those that `wait` for room it covers what was written before.
    pub(super) fn flush_begins(&mut self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>, after: Stamp) {
        let entries = self.entries.iter_mut().map(|(row, entry)| (row, &mut entry.stamp));
        let of_rows = entries.chain(&mut self.bare).filter(|(row, _)| open.contains(row));
        of_rows.for_each(|(_, stamp)| *stamp = after);
        let taken = self.areas.iter_mut().flat_map(|area| &mut area.taken);
        let open = taken.filter(|room| open.contains(&room.row) && !wait.contains(&room.row));
        open.for_each(|room| room.stamp = after);
    }

    /// Flush `done` is over: the entries that it covers are of no more use.
    pub(super) fn flush_over(&mut self, done: Stamp) {
        self.bare.retain(|_, stamp| *stamp > done);
        self.entries.retain(|_, entry| entry.stamp > done);
        self.areas.iter_mut().for_each(|area| area.taken.retain(|room| room.stamp > done));
    }

    /// The power is cut: rows that do not `need` an entry lose it, and those of which it does not tell every write.
    pub(super) fn cut(&mut self, needs: impl Fn(u64) -> bool) {
        let bare = std::mem::take(&mut self.bare);
        let keeps = |row: &u64| needs(*row) && !bare.contains_key(row);
        self.entries.retain(|row, _| keeps(row));
        self.areas.iter_mut().for_each(|area| area.taken.retain(|room| keeps(&room.row)));
    }

    /// After a power cut: the parity of those rows is to be had from the log of which `is_replayed` says so, from the members whose blocks were written.
    pub(super) fn plan_replay(&mut self, mut is_replayed: impl FnMut(u64, Set) -> bool) {
        let rows = self.entries.iter().filter(|(row, entry)| is_replayed(**row, entry.modified));
        self.replay = rows.map(|(row, _)| *row).collect();
    }

    /// The parity of a row was had from it.
    pub(super) fn replayed(&mut self, row: u64) {
        self.replay.remove(&row);
    }

    /// Whether parity is to be had from it.
    pub fn has_replay(&self) -> bool {
        !self.replay.is_empty()
    }

    /// The first row from `row` on whose parity is to be had from it.
    pub(super) fn next_replay(&self, row: u64) -> Option<u64> {
        self.replay.range(row..).next().copied()
    }

    /// The members whose blocks give the parity of a row from the log, while that is to be done.
    pub fn replays(&self, row: u64) -> Set {
        if self.replay.contains(&row) { self.modified(row).unwrap_or(0) } else { 0 }
    }

    /// Whether what was loaded can be a log of such an array.
    pub(super) fn is_sound(&self, striping: &Striping) -> bool {
        let is_place = |row: u64, member: u16| row < striping.rows() && striping.parity(row) == member;
        let is_area = |(member, area): (u16, &Area)| {
            let used = area.taken.iter().try_fold(0u64, |sum, room| sum.checked_add(room.sectors));
            let mut rooms = area.taken.iter();
            let is_there = |room: &Room| self.has(room.row) && is_place(room.row, member);
            area.next <= self.size && used.is_some_and(|used| used <= self.size) && rooms.all(is_there)
        };
        (0..).zip(&self.areas).all(is_area)
            && self.entries.iter().all(|(row, entry)| is_place(*row, entry.member))
            && self.replay.last().is_none_or(|row| *row < striping.rows())
    }
}
