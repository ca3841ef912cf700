//! The end of the initial transient of a load: by MSER-5, or as the user says.
//!
//! The marginal standard error rule (White, "An effective truncation heuristic for bias reduction in
//! simulation output", SIMULATION 69(6), 1997; in batches of five: White, Cobb and Spratt, "A comparison of
//! five steady-state truncation heuristics for simulation", Winter Simulation Conference 2000) truncates the
//! beginning of a series so that the standard error of the mean of the rest is minimal. A truncation point in
//! the second half means that the series is too short. Here the rule is applied repeatedly during the load:
//! the transient has ended when the truncation points of all watched series lie in their first halves.
//! Everything before that is left out, which is at least twice the transient.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

/// Completions of an observation. Chosen: a few milliseconds of a fast drive, so that the shortest warm-up of
/// 20 batches has 6,400.
const OBSERVATION: u64 = 64;

/// Observations of a batch, as in the name of the rule.
const BATCH_OBSERVATIONS: u64 = 5;

/// Batches before the rule is applied. Chosen: with half as many, chance decides.
const LEAST_BATCHES: usize = 20;

/// The most batches: beyond that, pairs are merged. Chosen: keeps the check after each batch cheap.
const MOST_BATCHES: usize = 256;

/// The last batches, where the rule never truncates, since the error of few values is small by chance. As in
/// White.
const UNTRUNCATED_BATCHES: usize = 5;

/// The limit on the warm-up by rule where fewer requests are measured: 2^17. Chosen: some hundred
/// milliseconds of wall time.
const LEAST_LIMIT: u64 = 1 << 17;

/// The warm-up of a load, which is left out of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WarmUp {
    /// Nothing.
    None,
    /// This many completions.
    Requests(u64),
    /// This much simulated time.
    Time(Duration),
    /// Until the transient has ended by MSER-5.
    Rule,
}

impl FromStr for WarmUp {
    type Err = String;

    /// Reads `none`, `rule`, a number of requests or a time.
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u64>(), text.parse::<Duration>()) {
            ("none", ..) => Ok(Self::None),
            ("rule", ..) => Ok(Self::Rule),
            (_, Ok(0), _) => Ok(Self::None),
            (_, Ok(requests), _) => Ok(Self::Requests(requests)),
            (_, _, Ok(Duration::ZERO)) => Ok(Self::None),
            (_, _, Ok(time)) => Ok(Self::Time(time)),
            _ => Err(format!(
                "found \"{text}\", wanted none, rule, a number of requests, or a time such as 20ms"
            )),
        }
    }
}

impl TryFrom<String> for WarmUp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<WarmUp> for String {
    fn from(warm_up: WarmUp) -> Self {
        match warm_up {
            WarmUp::None => "none".into(),
            WarmUp::Rule => "rule".into(),
            WarmUp::Requests(requests) => requests.to_string(),
            WarmUp::Time(time) => time.to_string(),
        }
    }
}

impl WarmUp {
    /// The default: generated loads warm up until they are steady, except on an empty device, which is meant
    /// to be seen filling up. Recorded requests, and jobs with a given amount of work, are measured
    /// completely.
    pub fn usual(is_generated: bool, is_empty: bool) -> Self {
        if is_generated && !is_empty { Self::Rule } else { Self::None }
    }

    /// The number of requests that a generator provides for the warm-up in addition to the measured ones:
    /// more than it takes, since the generator is limited once the warm-up has ended.
    pub fn beside(self) -> u64 {
        if self == Self::None { 0 } else { u64::MAX / 2 }
    }

    /// The greatest number of requests of the warm-up before this many are measured; none where it is not
    /// known in advance.
    pub fn limit(self, measured: Option<u64>) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Requests(requests) => Some(requests),
            Self::Time(_) => None,
            Self::Rule => measured.map(|measured| measured.max(LEAST_LIMIT)),
        }
    }
}

/// A reading after a batch; counters since the beginning, and occupancies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub at: Instant,
    pub completed: u64,
    /// Bytes that the host wrote, and bytes programmed.
    pub written: u64,
    pub programmed: u64,
    /// The occupancy of the write buffer in logical pages, and the number of free block sets.
    pub buffered: u64,
    pub free: u64,
}

/// The beginning of a load, under observation.
pub(crate) struct Transient {
    readings: Vec<Reading>,
    batch: u64,
}

impl Transient {
    /// An observation that begins with this reading.
    pub fn begin(reading: Reading) -> Self {
        Self { readings: vec![reading], batch: OBSERVATION * BATCH_OBSERVATIONS }
    }

    /// The number of completions at which the next reading is due.
    pub fn next(&self) -> u64 {
        self.last().completed + self.batch
    }

    fn last(&self) -> &Reading {
        self.readings.last().expect("it begins with one")
    }

    /// Adds a reading.
    pub fn add(&mut self, reading: Reading) {
        self.readings.push(reading);
        if self.readings.len() > MOST_BATCHES {
            self.batch *= 2;
            let last = self.readings.len() - 1;
            // The last one stays, so that the next batch is whole.
            let kept = self.readings.iter().enumerate().filter(|(n, _)| (last - n).is_multiple_of(2));
            self.readings = kept.map(|(_, reading)| *reading).collect();
        }
    }

    /// The names of watched series that are not steady: empty when the transient has ended.
    pub fn unsteady(&self) -> Vec<&'static str> {
        let pairs = || self.readings.windows(2).map(|pair| (&pair[0], &pair[1]));
        let rate = pairs()
            .map(|(from, to)| (to.completed - from.completed) as f64 / (to.at - from.at).ps().max(1) as f64);
        // A batch without writes has no write amplification.
        let amplification = pairs().filter(|(from, to)| to.written > from.written).map(|(from, to)| {
            to.programmed.saturating_sub(from.programmed) as f64 / (to.written - from.written) as f64
        });
        let levels = |level: fn(&Reading) -> u64| self.readings.iter().skip(1).map(level).map(|n| n as f64);
        let series: [(&str, Vec<f64>); 4] = [
            ("host throughput", rate.collect()),
            ("write amplification", amplification.collect()),
            ("the level of the write buffer", levels(|reading| reading.buffered).collect()),
            ("the number of free blocks", levels(|reading| reading.free).collect()),
        ];
        let too_short = self.readings.len() <= LEAST_BATCHES;
        let is_unsteady = |series: &[f64]| too_short || truncation(series) > series.len() / 2;
        series.iter().filter(|(_, series)| is_unsteady(series)).map(|(name, _)| *name).collect()
    }
}

/// The truncation point of a series: the rest has the least standard error of its mean.
fn truncation(series: &[f64]) -> usize {
    let (count, Some(last)) = (series.len(), series.last()) else { return 0 };
    let (mut sum, mut squares, mut least) = (0.0, 0.0, (f64::INFINITY, 0));
    for (cut, value) in series.iter().enumerate().rev() {
        // Relative to the last value, so that sums of large numbers keep the digits of their differences.
        let value = value - last;
        sum += value;
        squares += value * value;
        let kept = (count - cut) as f64;
        let error = (squares - sum * sum / kept).max(0.0) / (kept * kept);
        // Of equal errors the earliest truncation.
        if count - cut >= UNTRUNCATED_BATCHES.min(count) && error <= least.0 {
            least = (error, cut);
        }
    }
    least.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(n: usize) -> f64 {
        // A sequence without a period, from -0.5 to 0.5.
        (n as f64 * 0.618_033_988_75).fract() - 0.5
    }

    #[test]
    fn the_rule_cuts_where_a_series_begins_to_stand() {
        let series = |begin: usize, count: usize| -> Vec<f64> {
            (0..count).map(|n| noisy(n) + if n < begin { 50.0 - n as f64 } else { 10.0 }).collect()
        };
        assert_eq!(truncation(&series(20, 200)), 20);
        assert!(truncation(&series(0, 200)) < 50);
        assert_eq!(truncation(&vec![3.0; 40]), 0, "a constant has no transient");
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(truncation(&rising), 95, "what only rises is cut to the end");
        assert_eq!((truncation(&[]), truncation(&[1.0])), (0, 0));
    }

    /// A load of a thousand requests a millisecond, whose buffer is full after this many batches.
    fn load(full_after: u64, batches: u64) -> Transient {
        let reading = |n: u64| Reading {
            at: Instant::ZERO + Duration::from_us(320 * n),
            completed: 320 * n,
            written: 320 * n * 4_096,
            programmed: 320 * 2 * n * 4_096,
            buffered: n.min(full_after) * 10,
            free: 100,
        };
        let mut transient = Transient::begin(reading(0));
        for n in 1..=batches {
            assert!(n > 256 || transient.next() == 320 * n);
            transient.add(reading(n));
        }
        transient
    }

    #[test]
    fn a_load_is_steady_when_as_much_again_has_come_as_filled_the_buffer() {
        assert_eq!(load(30, 50).unsteady(), ["the level of the write buffer"]);
        assert!(load(30, 62).unsteady().is_empty());
        assert_eq!(load(0, 19).unsteady().len(), 4, "too few to tell");
        assert!(load(0, 20).unsteady().is_empty());
    }

    #[test]
    fn a_long_warm_up_has_longer_batches() {
        let transient = load(1_000, 256);
        assert_eq!((transient.batch, transient.readings.len()), (640, 129));
        assert_eq!(transient.next(), 320 * 258);
    }

    #[test]
    fn a_warm_up_is_read_as_it_is_written() {
        for text in ["none", "rule", "1000", "20ms"] {
            let warm_up: WarmUp = text.parse().expect(text);
            assert_eq!(String::from(warm_up), text);
        }
        assert_eq!("0".parse(), Ok(WarmUp::None));
        let error = "twice".parse::<WarmUp>().expect_err("no warm-up");
        assert!(
            error.contains("found \"twice\", wanted none, rule, a number of requests, or a time"),
            "{error}"
        );
        assert_eq!(
            (WarmUp::Rule.limit(Some(1_000_000)), WarmUp::Rule.limit(Some(10))),
            (Some(1_000_000), Some(1 << 17))
        );
    }
}
