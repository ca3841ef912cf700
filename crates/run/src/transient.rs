//! The end of a load's initial transient, by the rule MSER-5, or as the user sets it.
//!
//! The marginal standard error rule (MSER) cuts off the beginning of a series at the point where the standard
//! error of the mean of the rest is least. If this point lies in the second half, the series is too short.
//! Sources: White, "An effective truncation heuristic for bias reduction in simulation output", SIMULATION
//! 69(6), 1997; with batches of five values (MSER-5): White, Cobb and Spratt, "A comparison of five
//! steady-state truncation heuristics for simulation", Winter Simulation Conference 2000.
//!
//! Here the rule is applied after every batch of the running load. The transient has ended when the
//! truncation points of all watched series lie in their first halves. The warm-up is everything up to that
//! time, so it is at least twice as long as the transient.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use crate::until::Until;

/// Completions in an observation. Chosen: a few milliseconds of a fast drive. The shortest warm-up, 20
/// batches, then has 6,400 requests.
const OBSERVATION: u64 = 64;

/// Observations in a batch; the 5 in the name of the rule.
const BATCH_OBSERVATIONS: u64 = 5;

/// Batches before the rule is first applied. Chosen: with half as many batches, the result depends on chance.
const LEAST_BATCHES: usize = 20;

/// Greatest number of batches. Above it, pairs are merged. Chosen: the check after each batch stays cheap.
const MOST_BATCHES: usize = 256;

/// Number of last batches that are never cut off, because the error of few values is small by chance. White's
/// value.
const UNTRUNCATED_BATCHES: usize = 5;

/// Limit of a warm-up by rule, if fewer requests than this are measured: 2^17. Chosen: a few hundred
/// milliseconds of wall time.
const LEAST_LIMIT: u64 = 1 << 17;

/// The warm-up of a load, whose requests are not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WarmUp {
    /// No warm-up.
    None,
    /// This many completions.
    Requests(u64),
    /// This much simulated time.
    Time(Duration),
    /// Until the transient has ended by MSER-5.
    Rule,
    /// Until a member of an array fails.
    Failure,
}

impl FromStr for WarmUp {
    type Err = String;

    /// Reads `none`, `rule`, `failure`, a number of requests or a time.
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u64>(), text.parse::<Duration>()) {
            ("none", ..) => Ok(Self::None),
            ("rule", ..) => Ok(Self::Rule),
            ("failure", ..) => Ok(Self::Failure),
            (_, Ok(0), _) => Ok(Self::None),
            (_, Ok(requests), _) => Ok(Self::Requests(requests)),
            (_, _, Ok(Duration::ZERO)) => Ok(Self::None),
            (_, _, Ok(time)) => Ok(Self::Time(time)),
            _ => Err(format!(
                "found \"{text}\", wanted none, rule, failure, a number of requests, or a time such as 20ms"
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
            WarmUp::Failure => "failure".into(),
            WarmUp::Requests(requests) => requests.to_string(),
            WarmUp::Time(time) => time.to_string(),
        }
    }
}

impl WarmUp {
    /// The default warm-up. A run until an array is rebuilt begins with the failure. A generated load warms up
    /// until it is steady, except on an empty device, which users want to see filling up. Traces, and jobs with
    /// a given amount of work, are measured from their first request.
    pub fn usual(until: Option<&Until>, is_generated: bool, is_empty: bool) -> Self {
        match until {
            Some(Until::Rebuilt) => Self::Failure,
            _ if is_generated && !is_empty => Self::Rule,
            _ => Self::None,
        }
    }

    /// Number of requests that a generator provides for the warm-up, in addition to the measured ones. A
    /// warm-up by rule may use fewer; the rest is then dropped. The requests before a failure are of the load.
    pub fn beside(self) -> u64 {
        if matches!(self, Self::None | Self::Failure) { 0 } else { Self::ENDLESS }
    }

    /// Number of additional requests of a load without end.
    pub const ENDLESS: u64 = u64::MAX / 2;

    /// Greatest number of requests of the warm-up, if `measured` requests follow. `None` if the number is not
    /// limited.
    pub fn limit(self, measured: Option<u64>) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Requests(requests) => Some(requests),
            Self::Time(_) | Self::Failure => None,
            Self::Rule => measured.map(|measured| measured.max(LEAST_LIMIT)),
        }
    }
}

/// Device counters since the beginning, and occupancies, after a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub at: Instant,
    pub completed: u64,
    /// Bytes that the host wrote, and bytes programmed.
    pub written: u64,
    pub programmed: u64,
    /// Occupancy of the write buffer in logical pages, and number of free multi-plane blocks.
    pub buffered: u64,
    pub free: u64,
}

/// The readings since the beginning of a load.
pub(crate) struct Transient {
    readings: Vec<Reading>,
    batch: u64,
}

impl Transient {
    /// Begins with this reading.
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
            // Every second reading is dropped, but the last one stays, so that the next batch is whole.
            let kept = self.readings.iter().enumerate().filter(|(n, _)| (last - n).is_multiple_of(2));
            self.readings = kept.map(|(_, reading)| *reading).collect();
        }
    }

    /// Names of the watched series that are not steady. Empty if the transient has ended.
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

/// The truncation point of a series: the number of values to cut off, so that the rest has the least standard
/// error of its mean.
fn truncation(series: &[f64]) -> usize {
    let (count, Some(last)) = (series.len(), series.last()) else { return 0 };
    let (mut sum, mut squares, mut least) = (0.0, 0.0, (f64::INFINITY, 0));
    for (cut, value) in series.iter().enumerate().rev() {
        // Values are taken relative to the last one, so that sums of large numbers keep the digits of their
        // differences.
        let value = value - last;
        sum += value;
        squares += value * value;
        let kept = (count - cut) as f64;
        let error = (squares - sum * sum / kept).max(0.0) / (kept * kept);
        // Among equal errors, the earliest truncation point wins.
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
        // A sequence from -0.5 to 0.5 without a period.
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

    /// A load of a thousand requests per millisecond. The write buffer is full after `full_after` batches.
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
            error.contains("found \"twice\", wanted none, rule, failure, a number of requests, or a time"),
            "{error}"
        );
        assert_eq!(
            (WarmUp::Rule.limit(Some(1_000_000)), WarmUp::Rule.limit(Some(10))),
            (Some(1_000_000), Some(1 << 17))
        );
    }
}
