//! Reads: raw bit errors against the ECC capability, and the read retry table.

use wordline_kernel::{Duration, Stream};

use super::levels::Levels;
use super::math::{count, inverse_upper_tail, normal, poisson_tail, upper_tail};

/// The share of the variance of a page's errors that recurs in each read: most cells that fail in one read
/// fail in the next. Chosen: the remaining share is sensing noise, for which no source gives a number.
pub const RECURRING_SHARE: f64 = 0.9;
/// Integration steps over the recurring part, to either side of the mean, and their width in deviations.
/// Together they cover six deviations to each side.
const STEPS: i32 = 32;
const WIDTH: f64 = 0.1875;

/// The deviation of the errors of a read, from the recurring part of the page and the random part of this
/// read.
#[inline]
pub fn deviation_of(page: f64, read: f64) -> f64 {
    RECURRING_SHARE.sqrt() * page + (1.0 - RECURRING_SHARE).sqrt() * read
}

/// The capability and the times of the error correction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecc {
    /// Errors that the ECC corrects in a frame.
    pub bits: u32,
    /// Bits of a frame.
    pub frame: u32,
    /// The time of hard-decision decoding of a page.
    pub hard: Duration,
    /// The time of soft-decision decoding, after the last step of the retry table.
    pub soft: Duration,
    /// The factor by which soft decisions correct more errors.
    pub soft_gain: f64,
}

impl Ecc {
    /// Whether decoding takes time.
    pub fn has_decode_time(&self) -> bool {
        self.hard + self.soft > Duration::ZERO
    }

    /// Frames in `bits` bits, at least one.
    pub fn frames(&self, bits: u64) -> u64 {
        bits.div_ceil(u64::from(self.frame)).max(1)
    }

    /// The share of pages of `page_bits` bits with an uncorrectable frame, at an error rate.
    pub fn failure(&self, rate: f64, page_bits: u64) -> f64 {
        self.failure_beyond(self.bits, rate, page_bits)
    }

    /// The share of pages of `page_bits` bits with a frame that soft-decision decoding cannot correct, at an
    /// error rate.
    pub fn soft_failure(&self, rate: f64, page_bits: u64) -> f64 {
        self.failure_beyond((f64::from(self.bits) * self.soft_gain) as u32, rate, page_bits)
    }

    fn failure_beyond(&self, bits: u32, rate: f64, page_bits: u64) -> f64 {
        let one = poisson_tail(bits, rate * f64::from(self.frame));
        -libm::expm1(self.frames(page_bits) as f64 * libm::log1p(-one.min(1.0 - 1e-16)))
    }
}

/// The read retry table: entries for other causes first, then entries for cells that lost charge. Each entry
/// is one step further.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// The shift of each read reference voltage by one step.
    pub pattern: Vec<f64>,
    /// Number of steps for cells that lost charge.
    pub steps: u32,
    /// Number of steps before the steps for lost charge, for other causes. They shift in the opposite
    /// direction.
    pub before: u32,
}

/// Parameters of reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The voltage of one step of a read offset.
    pub level_step: f64,
    /// The error correction.
    pub ecc: Ecc,
    /// The read retry table, if any.
    pub retry: Option<Retry>,
}

/// Expected read retries of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Retries {
    /// The share of reads with at least one retry.
    pub share: f64,
    /// Mean retries of the reads with a retry.
    pub mean: f64,
    /// The share of reads that no step corrects, before soft decisions.
    pub uncorrectable: f64,
}

/// The outcome of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOutcome {
    /// Number of retries.
    pub steps: u32,
    /// The shift of each reference in the final read.
    pub offsets: Vec<f64>,
    /// Raw bit errors of the page in the final read.
    pub errors: u32,
    /// Whether these errors were uncorrectable.
    pub uncorrectable: bool,
    /// Total decoding time.
    pub decoding: Duration,
}

/// The entries of the retry table for a page.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryLimits {
    /// The error rate with each entry.
    rates: Vec<f64>,
    /// The failure limit of each entry, in deviations.
    limits: Vec<f64>,
    page_bits: u64,
}

impl Reading {
    /// Number of table entries, including the data sheet.
    pub fn entries(&self) -> u32 {
        self.retry.as_ref().map_or(1, |retry| 1 + retry.before + retry.steps)
    }

    /// The shift of each of `boundaries` references by table entry `entry`; entry 0 shifts none of them.
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

    /// The failure limit of each entry of the table. `rates`: the error rate of the page with each entry.
    pub fn tries(&self, rates: Vec<f64>, page_bits: u64) -> RetryLimits {
        let limits =
            rates.iter().map(|rate| inverse_upper_tail(self.ecc.failure(*rate, page_bits))).collect();
        RetryLimits { rates, limits, page_bits }
    }

    /// Expected retries of a page that is first read with entry `first` and then with the following entries.
    /// The mean is over the random parts of pages and reads.
    pub fn retries(&self, tries: &RetryLimits, first: u32) -> Retries {
        let limits = &tries.limits[first as usize..];
        let share = self.ecc.failure(tries.rates[first as usize], tries.page_bits);
        let (mut sum, mut uncorrectable) = (0.0, 0.0);
        let scale = (1.0 - RECURRING_SHARE).sqrt();
        for step in -STEPS..=STEPS {
            let page = f64::from(step) * WIDTH;
            // The share of pages in this step.
            let mut left = WIDTH * libm::exp(-0.5 * page * page) / (2.0 * std::f64::consts::PI).sqrt();
            for (step, limit) in limits.iter().enumerate() {
                // A step is taken by the reads that the steps before it have not corrected. Step 0 is the
                // first read. Step 1 is taken by all reads that fail in step 0, which is `share`.
                sum += if step > 1 { left } else { 0.0 };
                left *= upper_tail((limit - deviation_of(page, 0.0)) / scale);
            }
            uncorrectable += left;
        }
        let sum = if limits.len() > 1 { share + sum } else { 0.0 };
        let mean = if share > 0.0 { sum / share } else { 0.0 };
        Retries { share, mean, uncorrectable }
    }

    /// Simulates one read of a page with the recurring deviation `page`, beginning with entry `first`.
    pub fn read(
        &self,
        (tries, page): (&RetryLimits, f64),
        first: u32,
        boundaries: usize,
        random: &mut Stream,
    ) -> ReadOutcome {
        let RetryLimits { rates, limits, page_bits } = tries;
        let mut entry = first as usize;
        loop {
            let deviation = deviation_of(page, normal(random));
            let fails = deviation > limits[entry];
            if fails && entry + 1 < rates.len() {
                entry += 1;
                continue;
            }
            let steps = entry as u32 - first;
            let by_soft = || inverse_upper_tail(self.ecc.soft_failure(rates[entry], *page_bits));
            return ReadOutcome {
                steps,
                offsets: self.offsets(entry as u32, boundaries),
                errors: count(rates[entry] * *page_bits as f64, random),
                uncorrectable: fails && deviation > by_soft(),
                decoding: self.ecc.hard * (u64::from(steps) + 1)
                    + if fails { self.ecc.soft } else { Duration::ZERO },
            };
        }
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
        // Means of 80, 75, 65, 60 errors a frame. With the last two most pages are corrected.
        let rates: Vec<f64> = [80.0, 75.0, 65.0, 60.0, 60.0, 60.0].map(|mean| mean / 8_192.0).to_vec();
        let tries = reading.tries(rates, bits);
        let expected = reading.retries(&tries, 0);
        let mut random = Seed(6).stream("reads", 0);
        let mut read = |_| {
            let page = normal(&mut random);
            reading.read((&tries, page), 0, 3, &mut random)
        };
        let drawn: Vec<ReadOutcome> = (0..4_000).map(&mut read).collect();
        let again = drawn.iter().filter(|read| read.steps > 0).count() as f64;
        let mean = drawn.iter().map(|read| f64::from(read.steps)).sum::<f64>() / again;
        assert!((again / 4e3 - expected.share).abs() < 0.01, "{again} {expected:?}");
        assert!((mean / expected.mean - 1.0).abs() < 0.03, "{mean} {expected:?}");
    }

    #[test]
    fn a_page_takes_about_as_many_retries_each_time_that_it_is_read() {
        let (reading, bits) = (reading(), 16 * 8_192);
        // Each entry corrects some more of the pages than the entry before it.
        let rates: Vec<f64> = [62.0, 57.0, 52.0, 47.0, 43.0, 40.0].map(|mean| mean / 8_192.0).to_vec();
        let tries = reading.tries(rates, bits);
        let mut random = Seed(7).stream("reads", 0);
        let mut pairs = |_| {
            let page = normal(&mut random);
            let mut steps = || f64::from(reading.read((&tries, page), 0, 3, &mut random).steps);
            (steps(), steps())
        };
        let pairs: Vec<(f64, f64)> = (0..4_000).map(&mut pairs).collect();
        let mean = |value: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>() / 4e3;
        let (first, second) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        let variance = mean(&|pair| (pair.0 - first).powi(2));
        let common = mean(&|pair| (pair.0 - first) * (pair.1 - second)) / variance;
        assert!(variance > 0.3 && (0.6..0.95).contains(&common), "{variance} {common}");
    }

    #[test]
    fn what_the_code_corrects_is_no_failure() {
        let ecc = reading().ecc;
        assert!(ecc.failure(20.0 / 8_192.0, 131_072) < 1e-9);
        assert!(ecc.failure(120.0 / 8_192.0, 131_072) > 0.999);
        assert!(ecc.soft_failure(80.0 / 8_192.0, 131_072) < ecc.failure(80.0 / 8_192.0, 131_072));
    }
}
