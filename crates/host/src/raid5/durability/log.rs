//! The partial parity log of an array (md: PPL). Each member has an area for the rows whose parity is on that
//! member.
//!
//! Before a row is written, the exclusive or of its untouched blocks is logged. After a power cut this value
//! and the written blocks give the parity, whichever of the writes reached the members. An entry is needed
//! until a covering flush makes its row non-volatile.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wordline_kernel::state;

use super::super::layout::Striping;
use super::super::write_method::MemberSet;
use super::stamp::Stamp;

/// Sectors of the header of an entry: 4 KiB, as in md.
pub const HEADER: u64 = 8;

/// A logged row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The member whose area has the entry.
    member: u16,
    /// Members whose blocks were written since the row was last non-volatile.
    modified: MemberSet,
    stamp: Stamp,
}

/// Space of an entry in an area. A row that was logged repeatedly has several extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LogExtent {
    row: u64,
    /// Its first sector within the area.
    at: u64,
    sectors: u64,
    stamp: Stamp,
}

/// The area of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Area {
    taken: Vec<LogExtent>,
    /// Offset of the next entry.
    next: u64,
}

/// The log.
#[derive(Clone, Debug, Default)]
pub struct PartialParityLog {
    /// Sectors of each area; 0 for no log.
    size: u64,
    entries: BTreeMap<u64, Entry>,
    areas: Vec<Area>,
    /// Rows that were written without an entry, because their parity member is missing, and that are not yet
    /// non-volatile. A later entry does not cover those writes.
    bare: BTreeMap<u64, Stamp>,
    /// Rows whose parity has to be recovered from the log before the array accepts commands.
    replay: BTreeSet<u64>,
}

state!(PartialParityLog {
    values { entries, areas, bare, replay }
    fixed { size }
});

impl PartialParityLog {
    /// A log with `members` areas of `size` sectors.
    pub(super) fn new(size: u64, members: u64) -> Self {
        Self { size, areas: vec![Area::default(); members as usize], ..Self::default() }
    }

    /// Whether the log is enabled.
    pub fn is_enabled(&self) -> bool {
        self.size > 0
    }

    /// Number of areas.
    pub fn areas(&self) -> usize {
        self.areas.len()
    }

    /// Adds or extends the entry of a row before these blocks are written. If the row had an entry, returns
    /// the members written since the row was last non-volatile.
    pub(super) fn write(
        &mut self,
        row: u64,
        member: u16,
        written: MemberSet,
        stamp: Stamp,
    ) -> Option<MemberSet> {
        let before = self.modified(row);
        self.entries.insert(row, Entry { member, modified: before.unwrap_or(0) | written, stamp });
        before
    }

    /// Allocates space for the entry of a row: the next in the ring of the area. An entry that does not fit
    /// before the end of the area begins at its start. Returns the first sector of the space within the area,
    /// or `None` if it is taken.
    pub(super) fn take(&mut self, row: u64, sectors: u64, stamp: Stamp) -> Option<u64> {
        let area = &mut self.areas[usize::from(self.entries.get(&row)?.member)];
        let at = if area.next + sectors > self.size { 0 } else { area.next };
        let is_taken = |room: &LogExtent| room.at < at + sectors && at < room.at + room.sectors;
        if at + sectors > self.size || area.taken.iter().any(is_taken) {
            return None;
        }
        area.next = at + sectors;
        area.taken.push(LogExtent { row, at, sectors, stamp });
        Some(at)
    }

    /// The members of a logged row whose blocks were written since the row was last non-volatile; `None`
    /// without an entry.
    pub fn modified(&self, row: u64) -> Option<MemberSet> {
        self.entries.get(&row).map(|entry| entry.modified)
    }

    /// Whether a row has an entry.
    pub fn has(&self, row: u64) -> bool {
        self.entries.contains_key(&row)
    }

    /// Notes a write of a row without an entry, because the parity member of the row is missing.
    pub(super) fn note_unlogged_write(&mut self, row: u64, stamp: Stamp) {
        self.forget(row);
        self.bare.insert(row, stamp);
    }

    /// Drops the entry of a row whose blocks no longer match it, after a loss in the row or a discard of the
    /// row.
    pub fn forget(&mut self, row: u64) {
        if let Some(entry) = self.entries.remove(&row) {
            self.areas[usize::from(entry.member)].taken.retain(|room| room.row != row);
        }
    }

    /// Notes that all writes of a row are non-volatile.
    pub(super) fn note_durable(&mut self, row: u64) {
        self.forget(row);
        self.bare.remove(&row);
    }

    /// Whether a covering flush would free log space. It frees the entries of rows that are not being
    /// written. `open`: rows that are being written. `wait`: rows among them that wait for log space; their
    /// existing entries are of earlier writes, which a flush covers.
    pub fn can_free_space(&self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>) -> bool {
        let mut taken = self.areas.iter().flat_map(|area| &area.taken);
        taken.any(|LogExtent { row, .. }| !open.contains(row) || wait.contains(row))
    }

    /// Notes the start of a covering flush. Stamps of `open` rows become `after`. For rows that `wait` for
    /// log space the flush covers their earlier entries.
    pub(super) fn start_flush(&mut self, open: &BTreeSet<u64>, wait: &BTreeSet<u64>, after: Stamp) {
        let entries = self.entries.iter_mut().map(|(row, entry)| (row, &mut entry.stamp));
        let of_rows = entries.chain(&mut self.bare).filter(|(row, _)| open.contains(row));
        of_rows.for_each(|(_, stamp)| *stamp = after);
        let taken = self.areas.iter_mut().flat_map(|area| &mut area.taken);
        let open = taken.filter(|room| open.contains(&room.row) && !wait.contains(&room.row));
        open.for_each(|room| room.stamp = after);
    }

    /// Notes the end of flush `done`. Drops the entries that it covers.
    pub(super) fn end_flush(&mut self, done: Stamp) {
        self.bare.retain(|_, stamp| *stamp > done);
        self.entries.retain(|_, entry| entry.stamp > done);
        self.areas.iter_mut().for_each(|area| area.taken.retain(|room| room.stamp > done));
    }

    /// Applies a power cut. Drops the entries of rows for which `needs` is false, and entries that do not
    /// cover every write of their row.
    pub(super) fn cut(&mut self, needs: impl Fn(u64) -> bool) {
        let bare = std::mem::take(&mut self.bare);
        let keeps = |row: &u64| needs(*row) && !bare.contains_key(row);
        self.entries.retain(|row, _| keeps(row));
        self.areas.iter_mut().for_each(|area| area.taken.retain(|room| keeps(&room.row)));
    }

    /// Selects the rows for replay after a power cut. `is_replayed` decides from the row and the members
    /// written.
    pub(super) fn plan_replay(&mut self, mut is_replayed: impl FnMut(u64, MemberSet) -> bool) {
        let rows = self.entries.iter().filter(|(row, entry)| is_replayed(**row, entry.modified));
        self.replay = rows.map(|(row, _)| *row).collect();
    }

    /// Notes the replay of a row.
    pub(super) fn replayed(&mut self, row: u64) {
        self.replay.remove(&row);
    }

    /// Whether rows wait for replay.
    pub fn has_pending_replay(&self) -> bool {
        !self.replay.is_empty()
    }

    /// The first row from `row` on that waits for replay.
    pub(super) fn next_replay(&self, row: u64) -> Option<u64> {
        self.replay.range(row..).next().copied()
    }

    /// The members whose blocks give the parity of a row that waits for replay; empty for other rows.
    pub fn replays(&self, row: u64) -> MemberSet {
        if self.replay.contains(&row) { self.modified(row).unwrap_or(0) } else { 0 }
    }

    /// Checks a restored log against the geometry of the array.
    pub(super) fn is_sound(&self, striping: &Striping) -> bool {
        let is_place = |row: u64, member: u16| row < striping.rows() && striping.parity(row) == member;
        let is_area = |(member, area): (u16, &Area)| {
            let is_there = |room: &LogExtent| {
                let fits = room.at.checked_add(room.sectors).is_some_and(|end| end <= self.size);
                fits && self.has(room.row) && is_place(room.row, member)
            };
            area.next <= self.size && area.taken.iter().all(is_there)
        };
        (0..).zip(&self.areas).all(is_area)
            && self.entries.iter().all(|(row, entry)| is_place(*row, entry.member))
            && self.replay.last().is_none_or(|row| *row < striping.rows())
    }
}
