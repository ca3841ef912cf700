//! Lost sectors of an array. Reads of a lost sector fail until it is rewritten.

use std::collections::BTreeMap;
use std::ops::Range;

use wordline_kernel::state;

use super::super::stripe_cache::{SectorSet, sectors};
use super::stamp::Stamp;

/// A block: its row and its member.
type Place = (u64, u16);

/// The lost sectors of an array. They are stored on the members, like md's bad block log, so that they
/// survive a power cut.
#[derive(Clone, Debug, Default)]
pub struct LostSectors {
    lost: BTreeMap<Place, SectorSet>,
    /// Lost sectors that were discarded. A flush does not make a discard non-volatile, so a power cut may
    /// undo the discard until the sectors are written.
    discarded: BTreeMap<Place, SectorSet>,
    /// Lost sectors that were rewritten, in order. A power cut may undo these writes until a flush covers
    /// them.
    written: Vec<(Stamp, Place, SectorSet)>,
}

state!(LostSectors { values { lost, discarded, written } });

impl LostSectors {
    /// Records sectors of a block as lost. Returns how many are new.
    pub fn add(&mut self, row: u64, member: u16, which: SectorSet) -> u64 {
        let held = self.lost.entry((row, member)).or_default();
        let new = which & !*held;
        *held |= which;
        u64::from(new.count_ones())
    }

    /// Notes a write to sectors of a block. `forced`: the write is non-volatile.
    pub(super) fn written(
        &mut self,
        row: u64,
        member: u16,
        which: SectorSet,
        (stamp, forced): (Stamp, bool),
    ) {
        let place = (row, member);
        let written = take(&mut self.lost, place, which) | take(&mut self.discarded, place, which);
        if forced {
            let of_place = self.written.iter_mut().filter(|(_, of, _)| *of == place);
            of_place.for_each(|(_, _, volatile)| *volatile &= !which);
        } else if written != 0 {
            self.written.push((stamp, place, written));
        }
    }

    /// Notes the discard of a block.
    pub(super) fn discarded(&mut self, row: u64, member: u16) {
        let discarded = take(&mut self.lost, (row, member), SectorSet::MAX);
        if discarded != 0 {
            *self.discarded.entry((row, member)).or_default() |= discarded;
        }
    }

    /// The lost sectors of a block.
    pub fn of(&self, row: u64, member: u16) -> SectorSet {
        if self.lost.is_empty() { 0 } else { self.lost.get(&(row, member)).copied().unwrap_or(0) }
    }

    /// Whether a range of sectors of a member contains a lost sector. `block`: sectors of a block.
    pub fn touches(&self, member: u16, part: &Range<u64>, block: u64) -> bool {
        if self.lost.is_empty() {
            return false;
        }
        (part.start / block..part.end.div_ceil(block)).any(|row| {
            let (from, to) = (part.start.max(row * block), part.end.min((row + 1) * block));
            self.of(row, member) & sectors(&(from - row * block..to - row * block)) != 0
        })
    }

    /// How many sectors are lost.
    pub fn count(&self) -> u64 {
        self.lost.values().map(|lost| u64::from(lost.count_ones())).sum()
    }

    /// Notes the end of flush `done`.
    pub(super) fn end_flush(&mut self, done: Stamp) {
        let covered = self.written.partition_point(|(stamp, ..)| *stamp <= done);
        self.written.drain(..covered);
    }

    /// Applies a power cut. Sectors that were rewritten without a later flush, or discarded, are lost again.
    pub(super) fn cut(&mut self) {
        let written = self.written.drain(..).map(|(_, place, which)| (place, which));
        for (place, which) in written.chain(std::mem::take(&mut self.discarded)) {
            *self.lost.entry(place).or_default() |= which;
        }
    }

    /// All blocks with an entry. A block may occur repeatedly.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let written = self.written.iter().map(|(_, place, _)| place);
        self.lost.keys().chain(self.discarded.keys()).chain(written).copied()
    }
}

/// Removes sectors of a block from a map. Returns those that were in the map.
fn take(held: &mut BTreeMap<Place, SectorSet>, place: Place, which: SectorSet) -> SectorSet {
    let Some(of_block) = held.get_mut(&place) else { return 0 };
    let taken = *of_block & which;
    *of_block &= !which;
    if *of_block == 0 {
        held.remove(&place);
    }
    taken
}
