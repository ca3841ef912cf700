//! Sectors that an array has lost: a read of one fails until it is written again.

use std::collections::BTreeMap;
use std::ops::Range;

use wordline_kernel::state;

use super::heads::{Sectors, sectors};

/// The lost sectors of an array, as md keeps bad blocks: on the members, so that they survive a power cut.
#[derive(Clone, Debug, Default)]
pub struct Lost {
    /// By row and member.
    lost: BTreeMap<(u64, u16), Sectors>,
    /// Those discarded since. A flush does not make a discard durable, so that a power cut may take it back until they are written.
    discarded: BTreeMap<(u64, u16), Sectors>,
    /// Those written since the last flush: a power cut may take the writes back.
    written: Vec<((u64, u16), Sectors)>,
    /// How many of those were written before the flush under way began.
    flushing: usize,
}

state!(Lost { values { lost, discarded, written, flushing } });

impl Lost {
    /// Notes sectors of a block as lost; how many are new.
    pub fn add(&mut self, row: u64, member: u16, which: Sectors) -> u64 {
        let held = self.lost.entry((row, member)).or_default();
        let new = which & !*held;
        *held |= which;
        u64::from(new.count_ones())
    }

    /// Sectors of a block were written.
    pub fn written(&mut self, row: u64, member: u16, which: Sectors) {
        let written =
            take(&mut self.lost, (row, member), which) | take(&mut self.discarded, (row, member), which);
        if written != 0 {
            self.written.push(((row, member), written));
        }
    }

    /// A block was discarded.
    pub fn discarded(&mut self, row: u64, member: u16) {
        let discarded = take(&mut self.lost, (row, member), Sectors::MAX);
        if discarded != 0 {
            *self.discarded.entry((row, member)).or_default() |= discarded;
        }
    }

    /// The lost sectors of a block.
    pub fn of(&self, row: u64, member: u16) -> Sectors {
        if self.lost.is_empty() { 0 } else { self.lost.get(&(row, member)).copied().unwrap_or(0) }
    }

    /// Whether one of the sectors of a member is lost, where a block has so many.
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

    /// The flush that covers what was written begins.
    pub fn flush_begins(&mut self) {
        self.flushing = self.written.len();
    }

    /// It is over.
    pub fn flush_over(&mut self) {
        self.written.drain(..std::mem::take(&mut self.flushing));
    }

    /// The power is cut: what was written and not flushed, or discarded, counts as lost again.
    pub fn cut(&mut self) {
        self.flushing = 0;
        let discarded = std::mem::take(&mut self.discarded);
        for (place, which) in std::mem::take(&mut self.written).into_iter().chain(discarded) {
            *self.lost.entry(place).or_default() |= which;
        }
    }
}

/// Takes some sectors of a block out of those that are held; which of them were.
fn take(held: &mut BTreeMap<(u64, u16), Sectors>, place: (u64, u16), which: Sectors) -> Sectors {
    let Some(of_block) = held.get_mut(&place) else { return 0 };
    let taken = *of_block & which;
    *of_block &= !which;
    if *of_block == 0 {
        held.remove(&place);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discard_is_taken_back_by_a_power_cut_until_its_sectors_are_written_and_flushed() {
        let mut lost = Lost::default();
        lost.add(7, 1, 0b1111);
        lost.discarded(7, 1);
        assert_eq!(lost.count(), 0);
        lost.written(7, 1, 0b0011);
        lost.flush_begins();
        lost.flush_over();
        lost.cut();
        assert_eq!(lost.of(7, 1), 0b1100);
    }

    #[test]
    fn lost_sectors_are_lost_until_they_are_written_and_flushed() {
        let mut lost = Lost::default();
        assert_eq!((lost.add(7, 1, 0b1100), lost.add(7, 1, 0b0110)), (2, 1));
        assert!(lost.touches(1, &(7 * 8 + 3..7 * 8 + 4), 8) && !lost.touches(1, &(7 * 8 + 4..8 * 8 + 8), 8));
        assert!(!lost.touches(0, &(0..1000), 8));
        lost.written(7, 1, 0b0110);
        lost.flush_begins();
        lost.written(7, 1, 0b1000);
        assert_eq!(lost.count(), 0);
        lost.flush_over();
        lost.cut();
        assert_eq!(lost.of(7, 1), 0b1000, "its write was not flushed");
    }
}
