//! The L2P map of the host, and reference counts of the chunks.

use std::collections::BTreeMap;

use wordline_kernel::state;

use super::layout::Layout;

/// The location of a page: a logical block of the device, numbered by parallel unit, then by chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(super) struct Ppa(pub(super) u32);

/// Earlier locations of a page, oldest first, that a power cut may bring back. `None`: the page was unmapped.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct UnflushedVersions {
    /// Flushes sent before the completion of the newest version.
    flushes: u64,
    before: Vec<(Option<Ppa>, u32)>,
}

/// The locations of all pages.
pub(super) struct L2pMap {
    /// One more than the location of each page; 0 for an unmapped page.
    map: Vec<u32>,
    /// By page: the mapped version.
    versions: Vec<u32>,
    /// By page: the last version sent to the device.
    sent: Vec<u32>,
    /// References to each chunk: from the map, from earlier locations at risk, and from commands in flight.
    held: Vec<u32>,
    at_risk: BTreeMap<u32, UnflushedVersions>,
    blocks_per_chunk: u32,
}

state!(L2pMap {
    values { at_risk }
    parts { map, versions, sent, held }
    fixed { blocks_per_chunk }
});

impl L2pMap {
    pub(super) fn new(layout: &Layout) -> Self {
        let pages = layout.pages as usize;
        Self {
            map: vec![0; pages],
            versions: vec![0; pages],
            sent: vec![0; pages],
            held: vec![0; (layout.units * layout.chunks_per_unit) as usize],
            at_risk: BTreeMap::new(),
            blocks_per_chunk: layout.blocks_per_chunk,
        }
    }

    pub(super) fn get(&self, page: u32) -> Option<Ppa> {
        self.map[page as usize].checked_sub(1).map(Ppa)
    }

    /// The mapped version of a page.
    pub(super) fn version(&self, page: u32) -> u32 {
        self.versions[page as usize]
    }

    /// The number for a new version of a page.
    pub(super) fn next_version(&mut self, page: u32) -> u32 {
        self.sent[page as usize] += 1;
        self.sent[page as usize]
    }

    fn chunk_of(&self, place: Ppa) -> usize {
        (place.0 / self.blocks_per_chunk) as usize
    }

    pub(super) fn pin(&mut self, place: Ppa) {
        let chunk = self.chunk_of(place);
        self.held[chunk] += 1;
    }

    pub(super) fn unpin(&mut self, place: Ppa) {
        let chunk = self.chunk_of(place);
        self.held[chunk] -= 1;
    }

    /// Whether a chunk has no references: its data are not needed.
    pub(super) fn is_free(&self, chunk: u32) -> bool {
        self.held[chunk as usize] == 0
    }

    /// Chunks without needed data.
    pub(super) fn free_chunks(&self) -> u64 {
        self.held.iter().filter(|held| **held == 0).count() as u64
    }

    /// Maps a page to the location of a version that was written. `flushes` is the number of flushes sent so
    /// far if a power cut may still lose the version, else `None`.
    pub(super) fn written(&mut self, page: u32, version: u32, place: Ppa, flushes: Option<u64>) {
        if version <= self.versions[page as usize] {
            return;
        }
        let (old, old_version) = (self.get(page), self.version(page));
        self.pin(place);
        match flushes {
            None => old.into_iter().for_each(|old| self.unpin(old)),
            Some(flushes) => {
                let risk =
                    self.at_risk.entry(page).or_insert(UnflushedVersions { flushes, before: Vec::new() });
                risk.flushes = flushes;
                risk.before.push((old, old_version));
            }
        }
        self.map[page as usize] = place.0 + 1;
        self.versions[page as usize] = version;
    }

    /// Unmaps a page.
    pub(super) fn trim(&mut self, page: u32) {
        // Writes of this page that are in flight are older than the discard.
        self.versions[page as usize] = self.sent[page as usize];
        if let Some(old) = self.get(page) {
            self.unpin(old);
        }
        self.map[page as usize] = 0;
        for (place, _) in self.at_risk.remove(&page).into_iter().flat_map(|risk| risk.before) {
            place.into_iter().for_each(|place| self.unpin(place));
        }
    }

    /// Completes the flush with this number. Writes that completed before the submission of the flush are
    /// non-volatile.
    pub(super) fn complete_flush(&mut self, number: u64) {
        let safe: Vec<u32> =
            self.at_risk.iter().filter(|(_, risk)| risk.flushes < number).map(|(page, _)| *page).collect();
        for page in safe {
            let risk = self.at_risk.remove(&page).expect("it was just there");
            risk.before.into_iter().filter_map(|(place, _)| place).for_each(|place| self.unpin(place));
        }
    }

    /// Whether a flush would release references.
    pub(super) fn has_unflushed(&self) -> bool {
        !self.at_risk.is_empty()
    }

    /// Maps each page, after a power cut, to its newest location that is still written. Returns how many
    /// pages lost their newest version.
    pub(super) fn resolve_unflushed(&mut self, is_written: impl Fn(Ppa) -> bool) -> u64 {
        let mut lost = 0;
        for (page, UnflushedVersions { mut before, .. }) in std::mem::take(&mut self.at_risk) {
            before.push((self.get(page), self.version(page)));
            let at = before.iter().rposition(|(place, _)| place.is_none_or(&is_written)).unwrap_or(0);
            let (place, version) = before[at];
            lost += u64::from(at + 1 < before.len());
            for (n, (other, _)) in before.into_iter().enumerate() {
                if n != at {
                    other.into_iter().for_each(|other| self.unpin(other));
                }
            }
            self.map[page as usize] = place.map_or(0, |place| place.0 + 1);
            self.versions[page as usize] = version;
        }
        // Lost version numbers are not reused, because an interrupted write may have left them in flash.
        lost
    }

    /// References to each chunk by pages, without commands in flight.
    pub(super) fn count_pins(&self) -> Vec<u32> {
        let mut holds = vec![0; self.held.len()];
        let newest = (0..self.map.len() as u32).filter_map(|page| self.get(page));
        let before = self.at_risk.values().flat_map(|risk| &risk.before).filter_map(|(place, _)| *place);
        for place in newest.chain(before) {
            holds[self.chunk_of(place)] += 1;
        }
        holds
    }

    /// Whether the reference counts equal `holds`.
    pub(super) fn has_pins(&self, holds: &[u32]) -> bool {
        self.held == holds
    }

    /// Checks that all pages have locations on the device.
    pub(super) fn check(&self, places: u32) -> Result<(), String> {
        let is_there = |place: u32| place <= places;
        let before = self.at_risk.values().flat_map(|risk| &risk.before).filter_map(|(place, _)| *place);
        let is_right = self.map.iter().copied().all(is_there)
            && before.clone().all(|place| place.0 < places)
            && self.at_risk.keys().all(|page| (*page as usize) < self.map.len());
        if is_right { Ok(()) } else { Err("pages mapped to locations that do not exist".into()) }
    }

    /// Lengths of the tables.
    pub(super) fn lengths(&self) -> [usize; 4] {
        [self.map.len(), self.versions.len(), self.sent.len(), self.held.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spread;
    use super::*;

    fn places() -> L2pMap {
        L2pMap::new(&Layout {
            groups: 1,
            units: 1,
            chunks_per_unit: 2,
            blocks_per_chunk: 8,
            ws_min: 1,
            pages: 4,
            spread: Spread::Requests,
            retry: true,
        })
    }

    #[test]
    fn a_page_that_is_trimmed_while_it_is_written_is_nowhere() {
        let mut places = places();
        let version = places.next_version(3);
        places.trim(3);
        places.written(3, version, Ppa(5), None);
        assert_eq!((places.get(3), places.is_free(0)), (None, true));
        let version = places.next_version(3);
        places.written(3, version, Ppa(6), None);
        assert_eq!((places.get(3), places.is_free(0)), (Some(Ppa(6)), false));
    }
}
