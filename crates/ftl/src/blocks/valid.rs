//! Bitmap of valid locations. A location is valid if a logical page is mapped to it.

use std::ops::Range;

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Id, prefetch};
use wordline_nand::Location;

/// Bitmap with a bit for each location of a device.
pub(super) struct ValidLocations {
    bits: Vec<u64>,
}

/// Index of the word that has a location's bit, and index of the bit in the word.
#[inline]
fn place_of(location: Location) -> (usize, usize) {
    (location.index() / 64, location.index() % 64)
}

impl ValidLocations {
    /// Bitmap of `locations` locations, none of them valid.
    pub fn none_of(locations: usize) -> Self {
        Self { bits: vec![0; locations.div_ceil(64)] }
    }

    /// Whether a location is valid.
    #[inline]
    pub fn has(&self, location: Location) -> bool {
        let (word, bit) = place_of(location);
        self.bits[word] >> bit & 1 != 0
    }

    /// Marks a location valid.
    #[inline]
    pub fn add(&mut self, location: Location) {
        let (word, bit) = place_of(location);
        self.bits[word] |= 1 << bit;
    }

    /// Marks a location invalid.
    #[inline]
    pub fn remove(&mut self, location: Location) {
        let (word, bit) = place_of(location);
        self.bits[word] &= !(1 << bit);
    }

    /// Marks all locations invalid.
    pub fn clear(&mut self) {
        self.bits.fill(0);
    }

    /// First valid location in a range of indices.
    pub fn first_in(&self, indices: Range<usize>) -> Option<usize> {
        let Range { start: mut at, end } = indices;
        while at < end {
            let word = self.bits[at / 64] >> (at % 64);
            if word != 0 {
                at += word.trailing_zeros() as usize;
                return (at < end).then_some(at);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Prefetches the bit of a location; see [`wordline_kernel::prefetch`].
    #[inline]
    pub fn prefetch(&self, location: Location) {
        prefetch(&self.bits[place_of(location).0]);
    }
}

impl State for ValidLocations {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        self.bits.save_state(to)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.bits.load_state(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_valid_location_of_a_range_is_found_across_words() {
        let mut valid = ValidLocations::none_of(200);
        [3, 63, 64, 190].map(Location).iter().for_each(|location| valid.add(*location));
        valid.remove(Location(63));
        assert!(valid.has(Location(64)) && !valid.has(Location(63)));
        let first = |range| valid.first_in(range);
        assert_eq!(
            [first(0..200), first(4..200), first(65..190), first(65..191)],
            [Some(3), Some(64), None, Some(190)]
        );
    }
}
