//! Converts published statistics to the counts from which a generator draws.

use wordline_kernel::{Bytes, Duration};

use super::Profile;
use crate::Statistic;

/// Counts and rates for generating requests.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub reads: OperationPlan,
    pub writes: OperationPlan,
    /// Mean time between two requests; zero in a closed loop.
    pub interval: Duration,
    /// Share of updates that go to the hot fifth.
    pub hot_updates: f64,
}

/// Reads or writes.
#[derive(Clone, Debug)]
pub(super) struct OperationPlan {
    /// Number of requests of each size, in bytes.
    pub sizes: Vec<(u64, u64)>,
    /// Part of the requests that touches an address for the first time.
    pub fresh: FirstTouch,
}

/// Part of the requests that touches an address for the first time.
#[derive(Clone, Copy, Debug)]
pub(super) enum FirstTouch {
    /// Share of the bytes.
    Bytes(f64),
    /// Share of the requests.
    Requests(f64),
}

impl OperationPlan {
    pub fn requests(&self) -> u64 {
        self.sizes.iter().map(|(_, count)| count).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.sizes.iter().map(|(size, count)| size * count).sum()
    }
}

/// Sizes and the shares of their classes, largest size last; one class if no distribution is published.
type Classes = Vec<(f64, Vec<u64>)>;

impl Profile {
    pub(super) fn fit(&self, scale: f64) -> Plan {
        use Statistic as S;
        let (reads, writes) = self.counts();
        let shrunk = |count: f64| if count > 0.0 { (count * scale).round().max(1.0) as u64 } else { 0 };
        let mean = |size, volume, count: f64| match (self.value(volume), self.value(size)) {
            (Some(volume), None) if count > 0.0 => volume / count,
            (_, size) => size.unwrap_or(0.0),
        };
        let read_mean = mean(S::MeanReadSize, S::ReadVolume, reads);
        let write_mean = mean(S::MeanWriteSize, S::WrittenVolume, writes);
        let unique = |unique, volume, chosen: Option<f64>| match (self.value(unique), self.value(volume)) {
            (Some(unique), Some(volume)) => FirstTouch::Bytes((unique / volume).min(1.0)),
            _ => FirstTouch::Bytes(chosen.unwrap_or(1.0)),
        };
        let fresh_writes = match self.value(S::UpdateShare) {
            Some(updates) => FirstTouch::Requests(1.0 - updates),
            None => unique(S::UniqueWritten, S::WrittenVolume, self.chosen.fresh_writes),
        };
        let interval = self.chosen.duration.map_or(0.0, |all| all.ps() as f64 / (reads + writes));
        Plan {
            reads: OperationPlan {
                sizes: distribute(shrunk(reads), read_mean, &self.candidate_sizes(read_mean)),
                fresh: unique(S::UniqueRead, S::ReadVolume, self.chosen.fresh_reads),
            },
            writes: OperationPlan {
                sizes: distribute(shrunk(writes), write_mean, &self.classes(write_mean)),
                fresh: fresh_writes,
            },
            interval: Duration::from_ps(interval as u64),
            hot_updates: self.chosen.hot_updates.unwrap_or(0.2),
        }
    }

    /// Number of reads and writes: the published numbers, or volume / mean size, or the share of a chosen
    /// number.
    pub(super) fn counts(&self) -> (f64, f64) {
        use Statistic as S;
        let count = |count, volume, size| {
            let divided = || Some(self.value(volume)? / self.value(size)?);
            self.value(count).or_else(divided)
        };
        let reads = count(S::ReadRequests, S::ReadVolume, S::MeanReadSize);
        let writes = count(S::WriteRequests, S::WrittenVolume, S::MeanWriteSize);
        if let (Some(reads), Some(writes)) = (reads, writes) {
            return (reads, writes);
        }
        let requests = self.chosen.requests.map_or(1e6, |requests| requests as f64);
        let share = self.value(S::WriteShare).or(self.chosen.write_share).unwrap_or(0.5);
        let writes = (requests * share).round();
        (requests - writes, writes)
    }

    /// Candidate sizes, powers of two. The smallest is 4 KiB, the page of the file system, if the mean allows
    /// it, otherwise a sector. The largest is 64 KiB, the largest request of most recorded volumes, or more
    /// if the mean requires it.
    fn candidate_sizes(&self, mean: f64) -> Classes {
        let sizes = match &self.chosen.sizes {
            Some(sizes) => sizes.iter().map(|Bytes(size)| *size).collect(),
            None => {
                let least: u64 = if mean >= 4096.0 { 4096 } else { 512 };
                let most = if mean <= 56.0 * 1024.0 { 65_536 } else { (2 * mean as u64).next_power_of_two() };
                (0..30).map(|power| least << power).take_while(|size| *size <= most).collect()
            }
        };
        vec![(1.0, sizes)]
    }

    /// Published classes of write sizes, or else the candidate sizes.
    fn classes(&self, mean: f64) -> Classes {
        use Statistic as S;
        const KIB: u64 = 1024;
        let classes = [
            (S::WriteSizesTo4, vec![512, KIB, 2 * KIB, 4 * KIB]),
            (S::WriteSizesTo8, vec![6 * KIB, 8 * KIB]),
            (S::WriteSizesTo16, vec![12 * KIB, 16 * KIB]),
            (S::WriteSizesTo32, vec![24 * KIB, 32 * KIB]),
            (S::WriteSizesOver32, vec![40 * KIB, 48 * KIB, 64 * KIB, 96 * KIB, 128 * KIB]),
        ];
        let class = |(statistic, sizes)| Some((self.value(statistic)?, sizes));
        let classes: Option<Classes> = classes.into_iter().map(class).collect();
        classes.unwrap_or_else(|| self.candidate_sizes(mean))
    }
}

/// Distributes `count` requests so that their mean size is as near to `mean` as the sizes allow, with the
/// given class shares.
///
/// Within its class a size has a probability proportional to `exp(-tilt * size)`. Of all distributions with
/// the given mean this one has the greatest entropy, so that it assumes nothing else.
fn distribute(count: u64, mean: f64, classes: &Classes) -> Vec<(u64, u64)> {
    // At these bounds a step of 512 bytes changes a weight by e^50: only the smallest or the largest size is
    // left.
    let (mut low, mut high) = (-50.0, 50.0);
    for _ in 0..100 {
        let tilt = (low + high) / 2.0;
        let sum: f64 = weighted_sizes(classes, tilt).iter().map(|(size, share)| *size as f64 * share).sum();
        if sum > mean { low = tilt } else { high = tilt }
    }
    rounded(count, weighted_sizes(classes, (low + high) / 2.0))
}

/// Returns the sizes and their shares at a tilt.
fn weighted_sizes(classes: &Classes, tilt: f64) -> Vec<(u64, f64)> {
    let all: f64 = classes.iter().map(|(share, _)| share).sum();
    let mut shares = Vec::new();
    for (share, sizes) in classes {
        // Weights are relative to the end with the greatest weight, so that no weight overflows.
        let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
        let origin = if tilt >= 0.0 { first } else { last };
        let weight = |size: u64| libm::exp(-tilt * (size as f64 - origin) / 512.0);
        let sum: f64 = sizes.iter().map(|size| weight(*size)).sum();
        shares.extend(sizes.iter().map(|size| (*size, share / all * weight(*size) / sum)));
    }
    shares
}

/// Rounds to integer counts that sum to `count`, by the largest remainder. On a tie the smaller size is
/// rounded up.
fn rounded(count: u64, shares: Vec<(u64, f64)>) -> Vec<(u64, u64)> {
    let exact: Vec<f64> = shares.iter().map(|(_, share)| share * count as f64).collect();
    let mut counts: Vec<u64> = exact.iter().map(|exact| exact.floor() as u64).collect();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    let remainder = |n: &usize| exact[*n] - exact[*n].floor();
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let missing = count.saturating_sub(counts.iter().sum()) as usize;
    for place in order.into_iter().cycle().take(missing) {
        counts[place] += 1;
    }
    shares.iter().map(|(size, _)| *size).zip(counts).filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dealt_sizes_have_the_mean_and_the_class_shares() {
        let classes = vec![(0.75, vec![2048, 4096]), (0.25, vec![40_960, 65_536])];
        let sizes = distribute(10_000, 16_000.0, &classes);
        let small: u64 = sizes.iter().filter(|(size, _)| *size <= 4096).map(|(_, count)| count).sum();
        let bytes: u64 = sizes.iter().map(|(size, count)| size * count).sum();
        assert_eq!((small, sizes.iter().map(|(_, count)| count).sum::<u64>()), (7500, 10_000));
        assert!((bytes as f64 / 1.6e8 - 1.0).abs() < 1e-3, "{bytes}");
    }

    #[test]
    fn a_mean_out_of_reach_gives_the_nearest_size() {
        assert_eq!(distribute(10, 100.0, &vec![(1.0, vec![512, 1024])]), [(512, 10)]);
        assert_eq!(distribute(10, 9e9, &vec![(1.0, vec![512, 1024])]), [(1024, 10)]);
    }
}
