//! Reads: raw errors against what the error correction takes, and the table of read levels that is tried when they are too many.

use wordline_kernel::{Duration, Stream};

use super::levels::Levels;
use super::math::{count, more_than};

/// The capability and the times of the error correction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecc {
    /// Errors that are corrected in a frame.
    pub bits: u32,
    /// Bits of a frame.
    pub frame: u32,
    /// The time to decode a page by hard decisions.
    pub hard: Duration,
    /// The time to decode it by soft decisions, after the last step of the table.
    pub soft: Duration,
    /// How many times as many errors soft decisions correct.
    pub soft_gain: f64,
}

impl Ecc {
    /// The share of pages of so many bits in which a frame has more errors than are corrected, at an error rate.
    pub fn failure(&self, rate: f64, page_bits: u64) -> f64 {
        Self::failure_beyond(self.bits, self.frame, rate, page_bits)
    }

    /// The same with soft decisions.
    pub fn soft_failure(&self, rate: f64, page_bits: u64) -> f64 {
        Self::failure_beyond((f64::from(self.bits) * self.soft_gain) as u32, self.frame, rate, page_bits)
    }

    fn failure_beyond(bits: u32, frame: u32, rate: f64, page_bits: u64) -> f64 {
        let one = more_than(bits, rate * f64::from(frame));
        let frames = page_bits.div_ceil(u64::from(frame)) as f64;
        -libm::expm1(frames * libm::log1p(-one.min(1.0 - 1e-16)))
    }
}

/// The read levels that are tried one after the other: some for other causes, then those for cells that lost charge, each a step
/// further.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// By how much a step moves each reference.
    pub pattern: Vec<f64>,
    /// Steps for cells that lost charge.
    pub steps: u32,
    /// Steps before them, for other causes: each moves the references the other way.
    pub before: u32,
}

/// How a part is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The voltage of one step of a read level.
    pub level_step: f64,
    /// The error correction.
    pub ecc: Ecc,
    /// The read levels that are tried.
    pub retry: Option<Retry>,
}

/// How often a page is read again, on average over what chance decides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Retries {
    /// The share of reads that are tried again at least once.
    pub share: f64,
    /// Retries of those.
    pub mean: f64,
    /// The share of reads that no step corrects, before soft decisions.
    pub uncorrectable: f64,
}

/// How one read went.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOutcome {
    /// Retries.
    pub steps: u32,
    /// By how much each reference was moved in the read that counts.
    pub offsets: Vec<f64>,
    /// Bit errors of the page in that read.
    pub errors: u32,
    /// Whether nothing corrected them.
    pub uncorrectable: bool,
    /// The share of the read's time that decoding took.
    pub decoding: Duration,
}

impl Reading {
    /// Entries of the table, that of the data sheet among them.
    pub fn entries(&self) -> u32 {
        self.retry.as_ref().map_or(1, |retry| 1 + retry.before + retry.steps)
    }

    /// By how much entry `entry` of the table moves each of `boundaries` references; entry 0 moves none.
    pub fn offsets(&self, entry: u32, boundaries: usize) -> Vec<f64> {
        let Some(retry) = self.retry.as_ref().filter(|_| entry > 0) else { return vec![0.0; boundaries] };
        let times = if entry <= retry.before { -f64::from(entry) } else { f64::from(entry - retry.before) };
        retry.pattern.iter().map(|step| times * step).collect()
    }

    /// The error rate of a page with each entry of the table.
    pub fn rates(&self, levels: &Levels, page: u32, references: &[f64]) -> Vec<f64> {
        let at = |entry| {
            let offsets = self.offsets(entry, references.len());
            let moved: Vec<f64> = references.iter().zip(offsets).map(|(at, offset)| at + offset).collect();
            levels.page_error(page, &moved)
        };
        (0..self.entries()).map(at).collect()
    }

    /// How often a page is tried again that is first read with entry `first` and then with those that follow.
    pub fn retries(&self, rates: &[f64], first: u32, page_bits: u64) -> Retries {
        let (mut left, mut sum, mut share) = (1.0, 0.0, 0.0);
        for (step, rate) in rates[first as usize..].iter().enumerate() {
            let fails = self.ecc.failure(*rate, page_bits);
            if step == 0 {
                share = fails;
            }
            sum += left * (1.0 - fails) * step as f64;
            left *= fails;
        }
        sum += left * (rates.len() - 1 - first as usize) as f64;
        Retries { share, mean: if share > 0.0 { sum / share } else { 0.0 }, uncorrectable: left }
    }

    /// One read of a page whose error rates with each entry are `rates`, beginning with entry `first`.
    pub fn read(
        &self,
        rates: &[f64],
        first: u32,
        boundaries: usize,
        page_bits: u64,
        random: &mut Stream,
    ) -> ReadOutcome {
        let frames = page_bits.div_ceil(u64::from(self.ecc.frame));
        let last = rates.len() - 1 - first as usize;
        for (step, rate) in rates[first as usize..].iter().enumerate() {
            let mean = rate * f64::from(self.ecc.frame);
            let found: Vec<u32> = (0..frames).map(|_| count(mean, random)).collect();
            let most = found.iter().copied().max().unwrap_or_default();
            if most <= self.ecc.bits || step == last {
                let soft = most > self.ecc.bits;
                return ReadOutcome {
                    steps: step as u32,
                    offsets: self.offsets(first + step as u32, boundaries),
                    errors: found.iter().sum(),
                    uncorrectable: f64::from(most) > f64::from(self.ecc.bits) * self.ecc.soft_gain,
                    decoding: self.ecc.hard * (step as u64 + 1)
                        + if soft { self.ecc.soft } else { Duration::ZERO },
                };
            }
        }
        unreachable!("the last entry ends the read")
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Seed;

    use super::*;

    fn reading() -> Reading {
        let ecc = Ecc {
            bits: 72,
            frame: 8_192,
            hard: Duration::from_us(10),
            soft: Duration::from_us(50),
            soft_gain: 1.5,
        };
        let retry = Retry { pattern: vec![1.0, 0.0, -1.0], steps: 3, before: 2 };
        Reading { level_step: 1.0, ecc, retry: Some(retry) }
    }

    #[test]
    fn the_table_tries_what_it_says_in_its_order() {
        let reading = reading();
        let first = |entry| reading.offsets(entry, 3)[0];
        assert_eq!((0..reading.entries()).map(first).collect::<Vec<_>>(), [0.0, -1.0, -2.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn retries_that_are_drawn_are_those_that_are_calculated() {
        let (reading, bits) = (reading(), 16 * 8_192);
        // Means of 80, 75, 65, 60 errors a frame: the last two are mostly corrected.
        let rates: Vec<f64> = [80.0, 75.0, 65.0, 60.0, 60.0, 60.0].map(|mean| mean / 8_192.0).to_vec();
        let expected = reading.retries(&rates, 0, bits);
        let mut random = Seed(6).stream("reads", 0);
        let drawn: Vec<ReadOutcome> =
            (0..4_000).map(|_| reading.read(&rates, 0, 3, bits, &mut random)).collect();
        let again = drawn.iter().filter(|read| read.steps > 0).count() as f64;
        let mean = drawn.iter().map(|read| f64::from(read.steps)).sum::<f64>() / again;
        assert!((again / 4e3 - expected.share).abs() < 0.01, "{again} {expected:?}");
        assert!((mean / expected.mean - 1.0).abs() < 0.03, "{mean} {expected:?}");
    }

    #[test]
    fn what_the_code_corrects_is_no_failure() {
        let ecc = reading().ecc;
        assert!(ecc.failure(20.0 / 8_192.0, 131_072) < 1e-9);
        assert!(ecc.failure(120.0 / 8_192.0, 131_072) > 0.999);
        assert!(ecc.soft_failure(80.0 / 8_192.0, 131_072) < ecc.failure(80.0 / 8_192.0, 131_072));
    }
}
