//! Time between writes of a block, for data and for parity.

use serde::{Deserialize, Serialize};
use wordline_kernel::Instant;

/// Blocks in a page of the table. Chosen: 32 KiB of memory.
const PAGE: usize = 4_096;
/// Picoseconds in a microsecond.
const US: u64 = 1_000_000;

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Data.
    Data,
    /// Parity.
    Parity,
}

/// A sum over intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalSum {
    /// Number of intervals.
    pub count: u64,
    /// Sum of the intervals in microseconds.
    pub us: u64,
}

impl IntervalSum {
    /// The intervals since an earlier sum.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { count: self.count - before.count, us: self.us - before.us }
    }

    /// The mean in microseconds; `None` without intervals.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.us as f64 / self.count as f64)
    }
}

/// The intervals of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// By block: the time of its last write in picoseconds, plus one; 0 for no write. A page of the table is
    /// allocated at the first write to one of its blocks.
    last: Vec<Vec<u64>>,
    /// Sums for data and for parity.
    sums: [IntervalSum; 2],
}

impl Intervals {
    /// Intervals for `blocks` blocks without a write.
    pub fn new(blocks: u64) -> Self {
        Self { last: vec![Vec::new(); (blocks as usize).div_ceil(PAGE)], sums: [IntervalSum::default(); 2] }
    }

    /// Notes a write to a block.
    pub fn written(&mut self, block: u64, of: Of, now: Instant) {
        let page = &mut self.last[block as usize / PAGE];
        if page.is_empty() {
            page.resize(PAGE, 0);
        }
        let now = (now - Instant::ZERO).ps() + 1;
        let last = std::mem::replace(&mut page[block as usize % PAGE], now);
        if last > 0 {
            let sum = &mut self.sums[of as usize];
            sum.count += 1;
            sum.us += (now - last) / US;
        }
    }

    /// The sums of data and of parity.
    pub fn sums(&self) -> [IntervalSum; 2] {
        self.sums
    }

    /// Pages of the table.
    pub fn pages(&self) -> usize {
        self.last.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_kernel::Duration;

    #[test]
    fn the_first_write_of_a_block_has_no_interval_and_the_others_have_that_since_the_last() {
        let mut intervals = Intervals::new(10_000);
        let at = |us| Instant::ZERO + Duration::from_us(us);
        for (block, of, us) in [
            (0, Of::Data, 0),
            (9_999, Of::Parity, 5),
            (0, Of::Data, 10),
            (9_999, Of::Parity, 7),
            (0, Of::Data, 40),
            (1, Of::Data, 50),
        ] {
            intervals.written(block, of, at(us));
        }
        let [data, parity] = intervals.sums();
        assert_eq!((data.count, data.mean(), parity.mean()), (2, Some(20.0), Some(2.0)));
        assert_eq!(data.since(&data).mean(), None);
    }
}
