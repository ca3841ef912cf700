//! Request sizes of an epoch, and their division into small and large sizes.

use serde::{Deserialize, Serialize};

/// Histogram of request sizes in sectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeHistogram {
    /// By size: the first entry counts requests of one sector. The last entry includes all larger requests.
    counts: Vec<u32>,
}

impl SizeHistogram {
    /// An empty histogram for sizes up to `most` sectors.
    pub fn new(most: u32) -> Self {
        Self { counts: vec![0; most.max(1) as usize] }
    }

    /// Counts a request of this many sectors.
    pub fn count(&mut self, sectors: u32) {
        let at = (sectors.max(1) as usize).min(self.counts.len()) - 1;
        self.counts[at] += 1;
    }

    /// Clears the histogram.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// The largest of the small sizes in sectors, from two clusters by k-means. `None` if all sizes are
    /// equal. In one dimension the clusters with the least sum of squares around their means are intervals.
    /// So all splits into two intervals are tried. The lowest split wins a tie.
    pub fn largest_small(&self) -> Option<u32> {
        let sums = |(count, total): (f64, f64), (sectors, counted): (usize, &u32)| {
            let counted = f64::from(*counted);
            (count + counted, total + counted * (sectors + 1) as f64)
        };
        let all = self.counts.iter().enumerate().fold((0.0, 0.0), sums);
        let (mut small, mut best) = ((0.0, 0.0), None);
        for (at, counted) in self.counts.iter().enumerate() {
            if *counted == 0 {
                continue;
            }
            small = sums(small, (at, counted));
            let large = (all.0 - small.0, all.1 - small.1);
            if large.0 == 0.0 {
                break;
            }
            // The sum of the squares of all sizes does not depend on the split. So the sum of squares around
            // the means is least where this term is largest.
            let between = small.1 * small.1 / small.0 + large.1 * large.1 / large.0;
            if best.is_none_or(|(most, _)| between > most) {
                best = Some((between, at as u32 + 1));
            }
        }
        best.map(|(_, sectors)| sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(sizes: &[u32]) -> SizeHistogram {
        let mut all = SizeHistogram::new(64);
        sizes.iter().for_each(|sectors| all.count(*sectors));
        all
    }

    /// The sum of squares around the mean.
    fn scatter(sizes: &[u32]) -> f64 {
        let mean = sizes.iter().map(|size| f64::from(*size)).sum::<f64>() / sizes.len() as f64;
        sizes.iter().map(|size| (f64::from(*size) - mean).powi(2)).sum()
    }

    #[test]
    fn two_heaps_are_told_apart() {
        assert_eq!(of(&[8, 8, 16, 8, 64, 60, 64]).largest_small(), Some(16));
    }

    #[test]
    fn one_size_is_not_divided() {
        assert_eq!(of(&[8; 20]).largest_small(), None);
        assert_eq!(of(&[]).largest_small(), None);
    }

    proptest! {
        #[test]
        fn no_other_two_clusters_are_tighter(sizes in prop::collection::vec(1u32..=64, 2..9)) {
            let Some(most) = of(&sizes).largest_small() else { return Ok(()) };
            let (small, large): (Vec<u32>, Vec<u32>) = sizes.iter().partition(|size| **size <= most);
            let ours = scatter(&small) + scatter(&large);
            for chosen in 1u32..(1 << sizes.len()) - 1 {
                let side = |n: usize| chosen >> n & 1 == 1;
                let of = |wanted: bool| -> Vec<u32> {
                    sizes.iter().enumerate().filter(|(n, _)| side(*n) == wanted).map(|(_, size)| *size).collect()
                };
                prop_assert!(ours <= scatter(&of(true)) + scatter(&of(false)) + 1e-6);
            }
        }
    }
}
