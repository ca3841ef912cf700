//! The length of a measurement that ends when a metric has the wanted precision, by the method of batch
//! means.
//!
//! The measured requests are divided into batches of equal size. A metric has one value for each batch, and
//! a weight: a rate counts by the time of its batch, a mean latency by its requests. The weighted mean of
//! these values, which is the value of all batches together, has a confidence interval by Student's
//! distribution (Law and Kelton, "Simulation Modeling and Analysis", section 9.5.3). Batches must be long
//! enough to be independent. When there are twice the least number of batches, pairs are merged, so batches
//! grow with the run. A percentile of a merged batch is computed from its distribution, because percentiles of
//! short batches are biased, and their mean keeps the bias.

use std::str::FromStr;

use serde_json::Value as Json;

use crate::measured::Attained;
use crate::percentiles::PERCENTILES;
use crate::student::Mean;
use crate::summary::Summary;

/// Completions in the first batches. Chosen: with fewer completions, few metrics have a value.
const FIRST: u64 = 1_000;

/// Least number of batches. More batches hardly narrow the interval (Schmeiser, "Batch size effects in the
/// analysis of simulation output", Operations Research 30(3), 1982: 10 to 30).
const LEAST: usize = 20;

/// The wanted precision of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// Dotted name of the metric. `mean` and percentiles such as `p99` refer to reads, or to writes if there
    /// are no reads.
    pub column: String,
    /// The greatest half-width of the 95 % confidence interval, relative to the mean.
    pub fraction: f64,
}

impl FromStr for Precision {
    type Err = String;

    /// Reads a metric and a fraction, such as `p99:2%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once(':').and_then(|(column, share)| {
            let percent: f64 = share.trim().strip_suffix('%')?.trim().parse().ok()?;
            let holds = percent > 0.0 && percent.is_finite() && !column.trim().is_empty();
            holds.then(|| Self { column: column.trim().to_owned(), fraction: percent / 100.0 })
        });
        parts.ok_or_else(|| format!("found \"{text}\", wanted a metric and a share above 0, such as p99:2%"))
    }
}

/// A cumulative distribution: latency in microseconds, and fraction of the requests at or below it.
type Distribution = Vec<(f64, f64)>;

/// The batches of a run.
pub(crate) struct Batches {
    wanted: Precision,
    /// The full name of the metric, once it is known.
    column: Option<String>,
    batches: Vec<Batch>,
    /// The latency distribution of each batch; empty unless the metric is a percentile.
    distributions: Vec<Distribution>,
    /// Completions of a full batch, and of the current batch.
    length: u64,
    present: u64,
}

impl Batches {
    /// The state before the first batch.
    pub fn new(wanted: Precision) -> Self {
        let (batches, distributions) = (Vec::new(), Vec::new());
        Self { wanted, column: None, batches, distributions, length: FIRST, present: 0 }
    }

    /// Name of the metric, as it was given.
    pub fn column(&self) -> &str {
        &self.wanted.column
    }

    /// Number of completions after which the metric is evaluated next.
    pub fn next(&self) -> u64 {
        self.length - self.present
    }

    /// Checks that results have the metric.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub fn check(&self, batch: &Summary) -> Result<(), String> {
        let values = serde_json::to_value(batch).expect("a summary's keys are text");
        let column = self.column.clone().unwrap_or_else(|| full_name(&self.wanted.column, batch));
        value_of(&values, &column).map(|_| ())
    }

    /// Ends a batch whose results are `batch`. Returns whether the batch is complete; if the metric has no
    /// value in it, the batch continues.
    ///
    /// # Errors
    /// The names of the available metrics, if the name is unknown.
    pub fn take(&mut self, batch: &Summary) -> Result<bool, String> {
        self.present = self.length;
        let values = serde_json::to_value(batch).expect("a summary's keys are text");
        let column = self.column.get_or_insert_with(|| full_name(&self.wanted.column, batch));
        match value_of(&values, column)? {
            Some(value) => {
                self.batches.push(Batch::of(column, value, batch));
                self.distributions.extend(distribution(&values, column));
                self.present = 0;
                self.merge_pairs();
                Ok(true)
            }
            None if self.batches.is_empty() => {
                self.length *= 2;
                Ok(false)
            }
            // A later batch without a value becomes part of the next one.
            None => {
                self.present = 0;
                Ok(false)
            }
        }
    }

    /// Merges pairs of batches once there are twice the least number.
    fn merge_pairs(&mut self) {
        if self.batches.len() < 2 * LEAST {
            return;
        }
        let column = self.column.as_deref().unwrap_or_default();
        self.batches = match fraction_of(column) {
            Some(fraction) if self.distributions.len() == self.batches.len() => {
                self.distributions = self.distributions.chunks(2).map(merged).collect();
                self.distributions
                    .iter()
                    .map(|of| Batch { sum: quantile(of, fraction), weight: 1.0 })
                    .collect()
            }
            _ if column.ends_with(".max") => self.batches.chunks(2).map(Batch::greatest).collect(),
            _ => self.batches.chunks(2).map(Batch::together).collect(),
        };
        self.length *= 2;
    }

    /// The precision reached so far.
    pub fn attained(&self) -> Attained {
        let pairs: Vec<(f64, f64)> = self.batches.iter().map(|batch| (batch.sum, batch.weight)).collect();
        let Mean { mean, half } = match pairs[..] {
            [] => Mean { mean: f64::NAN, half: None },
            _ => Mean::of_ratio(&pairs),
        };
        let is_narrow = half.is_some_and(|half| half <= self.wanted.fraction * mean.abs());
        Attained {
            column: self.column.clone().unwrap_or_else(|| self.wanted.column.clone()),
            mean: mean.is_finite().then_some(mean),
            half_width: half,
            wanted: self.wanted.fraction,
            batches: self.batches.len() as u64,
            requests_a_batch: self.length,
            is_reached: is_narrow && self.batches.len() >= LEAST,
        }
    }
}

/// The value of a metric in a batch: a sum and what it is divided by.
#[derive(Clone, Copy, Debug)]
struct Batch {
    sum: f64,
    weight: f64,
}

impl Batch {
    /// The value of a metric in the results of a batch.
    fn of(column: &str, value: f64, run: &Summary) -> Self {
        let (host, seconds) = (&run.host, run.simulated_seconds);
        // A batch may take no time.
        if column == "host.iops" {
            return Self { sum: host.requests as f64, weight: seconds };
        }
        let is_of_time = ["utilisation", "verdict.", "wear.drive_writes_per_day"];
        let weight = match column.rsplit_once('.') {
            Some(("host.read_latency_us", _)) => host.reads as f64,
            Some(("host.write_latency_us", _)) => host.writes as f64,
            // The reciprocal of a rate.
            Some(("wear", "years_expected")) => seconds / value,
            _ if column == "write_amplification" => host.written_bytes as f64,
            _ if is_of_time.iter().any(|part| column.contains(part)) => seconds,
            _ => 1.0,
        };
        Self { sum: value * weight, weight }
    }

    /// Batches as one.
    fn together(all: &[Self]) -> Self {
        let add = |one: Self, next: &Self| Self { sum: one.sum + next.sum, weight: one.weight + next.weight };
        all.iter().fold(Self { sum: 0.0, weight: 0.0 }, add)
    }

    /// The batch with the greatest value.
    fn greatest(all: &[Self]) -> Self {
        *all.iter().max_by(|a, b| (a.sum / a.weight).total_cmp(&(b.sum / b.weight))).expect("a batch")
    }
}

/// The value of a metric in the results of a batch; `None` if the batch does not tell it.
///
/// # Errors
/// The metrics that can have a precision, if this one cannot.
fn value_of(values: &Json, column: &str) -> Result<Option<f64>, String> {
    let grows = ["amount", "joules", "seconds", "drive_writes", "terabytes_written", "run_erases"];
    let is_sum = grows.iter().any(|end| column.ends_with(end));
    match follow(values, column).ok_or_else(metrics)? {
        Json::Number(number) if number.is_f64() && !is_sum => Ok(number.as_f64()),
        Json::Number(_) => Err(format!("{}, and not a count or a sum, which grows with the run", metrics())),
        Json::Null => Ok(None),
        _ => Err("a number, which that is not".into()),
    }
}

/// The metrics that can have a precision, in words.
fn metrics() -> String {
    "iops, mean, max or p50 to p99999 (of reads, or of writes if nothing is read), or a rate, mean or ratio of `wordline metrics`"
        .to_owned()
}

/// The fraction of the percentile that a metric is; `None` if it is none.
fn fraction_of(column: &str) -> Option<f64> {
    let (_, key) = column.rsplit_once('.')?;
    PERCENTILES.iter().find(|percentile| percentile.key == key).map(|percentile| percentile.fraction)
}

/// The distribution that a metric is a percentile of, in a result.
fn distribution(values: &Json, column: &str) -> Option<Distribution> {
    fraction_of(column)?;
    let (of, _) = column.rsplit_once('.')?;
    serde_json::from_value(follow(values, of)?.get("cumulative")?.clone()).ok()
}

/// The distribution of two batches together, which weigh alike.
fn merged(pair: &[Distribution]) -> Distribution {
    let mut values: Vec<f64> = pair.iter().flatten().map(|(value, _)| *value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let below = |of: &Distribution, value: f64| {
        let at = of.partition_point(|(known, _)| *known <= value);
        at.checked_sub(1).map_or(0.0, |at| of[at].1)
    };
    let fraction = |value| pair.iter().map(|of| below(of, value)).sum::<f64>() / pair.len() as f64;
    values.into_iter().map(|value| (value, fraction(value))).collect()
}

/// The least latency at or below which this fraction of the requests lies.
fn quantile(of: &Distribution, fraction: f64) -> f64 {
    // Fractions are rounded, so the last one may be slightly below 1.
    let at = of.partition_point(|(_, below)| *below < fraction - 1e-12);
    of.get(at).or(of.last()).map_or(f64::NAN, |(value, _)| *value)
}

/// The full name of a metric, as in a result.
fn full_name(column: &str, run: &Summary) -> String {
    let is_percentile = column.strip_prefix('p').is_some_and(|digits| digits.parse::<u64>().is_ok());
    match column {
        "iops" => "host.iops".into(),
        "mean" | "max" => format!("{}.{column}", latencies(run)),
        _ if is_percentile => format!("{}.{column}", latencies(run)),
        _ => column.to_owned(),
    }
}

fn latencies(run: &Summary) -> &'static str {
    if run.host.reads > 0 { "host.read_latency_us" } else { "host.write_latency_us" }
}

/// The value at a dotted name. A part of the name is the key of a table, or the number or name of a list
/// item.
pub(crate) fn follow<'a>(values: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(values, |inside, key| match inside {
        Json::Array(items) => {
            let named = items.iter().find(|item| item["name"] == key);
            named.or_else(|| items.get(key.parse::<usize>().ok()?))
        }
        inside => inside.get(key),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn batches(values: impl IntoIterator<Item = f64>) -> Batches {
        let mut batches = Batches::new("iops:1%".parse().expect("a precision"));
        for iops in values {
            let mut run = sample::mixed();
            (run.host.iops, run.host.requests, run.simulated_seconds) = (iops, 1_000, 1_000.0 / iops);
            assert_eq!(batches.take(&run), Ok(true));
        }
        batches
    }

    #[test]
    fn twenty_batches_are_asked_for_and_forty_are_made_twenty() {
        let alternating = |count: usize| (0..count).map(|n| 100.0 + (n % 2) as f64);
        // Requests by time: of pairs with 100 and 101 a second.
        let of_pairs = 2_000.0 / (1_000.0 / 100.0 + 1_000.0 / 101.0);
        let few = batches(alternating(19)).attained();
        assert!(!few.is_reached && few.half_width.is_some_and(|half| half < 1.0), "{few:?}");
        assert!(batches(alternating(20)).attained().is_reached);
        let joined = batches(alternating(40)).attained();
        assert_eq!((joined.batches, joined.requests_a_batch), (20, 2_000));
        assert!(joined.mean.is_some_and(|mean| (mean - of_pairs).abs() < 1e-9), "{joined:?}");
        assert!(joined.half_width.is_some_and(|half| half < 1e-9), "{joined:?}");
    }

    #[test]
    fn a_rate_is_all_requests_by_all_time() {
        // Nine bursts of 10 s and a pause of 990 s: 10,000 requests in 1,080 s.
        let rates = |tens: usize| (0..tens).flat_map(|_| [100.0; 9].into_iter().chain([1_000.0 / 990.0]));
        for tens in [2, 4] {
            let attained = batches(rates(tens)).attained();
            assert!(
                attained.mean.is_some_and(|mean| (mean - 10_000.0 / 1_080.0).abs() < 1e-9),
                "{attained:?}"
            );
            assert!(!attained.is_reached, "{attained:?}");
        }
    }

    #[test]
    fn the_maximum_of_merged_batches_is_the_greater_one() {
        let mut batches = Batches::new("max:1%".parse().expect("a precision"));
        for n in 0..40 {
            let mut run = sample::mixed();
            run.host.read_latency_us.max = if n % 2 == 0 { 100.0 } else { 900.0 };
            assert_eq!(batches.take(&run), Ok(true));
        }
        assert_eq!((batches.attained().batches, batches.attained().mean), (20, Some(900.0)));
    }

    #[test]
    fn a_sum_that_grows_with_the_run_is_refused() {
        for column in ["flash.gc_programs", "host.requests", "wear.drive_writes", "simulated_seconds"] {
            let mut batches = Batches::new(format!("{column}:1%").parse().expect("a precision"));
            let error = batches.take(&sample::mixed()).expect_err(column);
            assert!(error.ends_with("which grows with the run"), "{column}: {error}");
        }
    }

    /// A batch whose reads take these microseconds, with a p99.
    fn batch_of(latencies: &[f64]) -> Summary {
        let mut run = sample::mixed();
        let count = latencies.len() as f64;
        let reads = &mut run.host.read_latency_us;
        reads.cumulative = latencies.iter().zip(1..).map(|(us, n)| (*us, f64::from(n) / count)).collect();
        reads.p99 = Some(quantile(&reads.cumulative, 0.99));
        run
    }

    #[test]
    fn a_percentile_of_merged_batches_is_that_of_their_requests() {
        // Every second batch has five slow requests of a hundred, the others none.
        let fast: Vec<f64> = (1..=100).map(f64::from).collect();
        let slow: Vec<f64> = (1..=95).map(f64::from).chain((1..=5).map(|n| 1_000.0 * f64::from(n))).collect();
        let mut batches = Batches::new("p99:1%".parse().expect("a precision"));
        for n in 0..40 {
            assert_eq!(batches.take(&batch_of(if n % 2 == 0 { &fast } else { &slow })), Ok(true));
        }
        let joined = batches.attained();
        // Of 200 requests, 197 are at most 2,000 us; the p99 of the batches themselves are 99 and 4,000 us.
        assert_eq!((joined.batches, joined.mean, joined.half_width), (20, Some(3_000.0), Some(0.0)));
    }

    #[test]
    fn a_batch_that_cannot_answer_goes_on() {
        let mut batches = Batches::new("write_amplification:5%".parse().expect("a precision"));
        let unknown = Summary { write_amplification: None, ..sample::mixed() };
        assert_eq!((batches.next(), batches.take(&unknown)), (1_000, Ok(false)));
        assert_eq!((batches.next(), batches.take(&sample::mixed())), (1_000, Ok(true)));
        assert_eq!(batches.next(), 2_000);
    }

    #[test]
    fn a_short_name_is_of_reads_where_there_are_any() {
        let run = sample::mixed();
        assert_eq!(full_name("p99", &run), "host.read_latency_us.p99");
        let mut writes = sample::mixed();
        writes.host.reads = 0;
        assert_eq!(full_name("p999", &writes), "host.write_latency_us.p999");
        assert_eq!(full_name("programs_per_host_program", &run), "programs_per_host_program");
    }

    #[test]
    fn what_is_no_precision_and_what_is_no_column_is_refused() {
        for text in ["p99", "p99:2", "p99:0%", ":2%", "p99:nan%"] {
            let error = text.parse::<Precision>().expect_err(text);
            assert!(error.contains("such as p99:2%"), "{error}");
        }
        let mut batches = Batches::new("waf:5%".parse().expect("a precision"));
        assert!(batches.take(&sample::mixed()).is_err_and(|wanted| wanted.contains("`wordline metrics`")));
    }
}
