//! Read-ahead: detects sequential reads, and selects the pages to fetch before they are requested.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Number of sequential streams that are tracked at a time. Chosen: more than the few files that a host reads
/// sequentially at a time, and few enough to compare one by one.
const SEQUENCES: usize = 8;

/// Number of reads of a sequence after which pages are read ahead. Chosen: a read that begins where another
/// ended is sufficient.
const READS: u32 = 2;

/// A sequence of reads, each of which begins where the previous one ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sequence {
    /// Sector at which the sequence continues.
    next: u64,
    reads: u32,
    /// One past the last page that was fetched for the sequence.
    fetched: u32,
    /// When the sequence last continued, counted in reads.
    at: u64,
}

/// Detects sequential reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadAhead {
    pages: u32,
    sequences: [Sequence; SEQUENCES],
    reads: u64,
}

impl ReadAhead {
    /// Reads up to `pages` pages ahead; 0 turns read-ahead off.
    pub fn new(pages: u32) -> Self {
        let nothing = Sequence { next: u64::MAX, reads: 0, fetched: 0, at: 0 };
        Self { pages, sequences: [nothing; SEQUENCES], reads: 0 }
    }

    /// Whether read-ahead is on.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.pages > 0
    }

    /// Records a read of the sectors from `sector` to `end` (exclusive). A page has `per_page` sectors.
    /// Returns the pages to fetch now.
    pub fn note(&mut self, sector: u64, end: u64, per_page: u64) -> Range<u32> {
        self.reads += 1;
        let at = self.reads;
        let Some(found) = self.sequences.iter_mut().find(|sequence| sequence.next == sector) else {
            let oldest = self.sequences.iter_mut().min_by_key(|sequence| sequence.at);
            *oldest.expect("there are some") = Sequence { next: end, reads: 1, fetched: 0, at };
            return 0..0;
        };
        (found.next, found.reads, found.at) = (end, found.reads.saturating_add(1), at);
        if found.reads < READS {
            return 0..0;
        }
        // If the read ends in the middle of a page, this page is needed next.
        let first = (end / per_page) as u32;
        let from = first.max(found.fetched);
        found.fetched = first.saturating_add(self.pages).max(from);
        from..found.fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_read_in_a_row_fetches_and_later_ones_keep_the_distance() {
        let mut ahead = ReadAhead::new(4);
        assert_eq!(ahead.note(0, 8, 8), 0..0);
        assert_eq!(ahead.note(8, 16, 8), 2..6);
        assert_eq!(ahead.note(16, 24, 8), 6..7);
        assert_eq!(ahead.note(24, 48, 8), 7..10);
    }

    #[test]
    fn a_read_that_ends_in_a_page_wants_all_of_it() {
        let mut ahead = ReadAhead::new(2);
        ahead.note(0, 1, 8);
        assert_eq!(ahead.note(1, 2, 8), 0..2);
        assert_eq!(ahead.note(2, 3, 8), 2..2);
    }

    #[test]
    fn eight_sequences_are_followed_side_by_side_and_random_reads_fetch_nothing() {
        let mut ahead = ReadAhead::new(1);
        for round in 0..3u64 {
            for sequence in 0..8u64 {
                let sector = sequence * 8_000 + round * 8;
                assert_eq!(ahead.note(sector, sector + 8, 8).is_empty(), round == 0);
            }
        }
        for n in 0..100u64 {
            let sector = 1_000_000 + n * 7_919 * 8;
            assert!(ahead.note(sector, sector + 8, 8).is_empty());
        }
    }
}
