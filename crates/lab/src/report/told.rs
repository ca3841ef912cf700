//! Sentences about the warm-up, the precision of a metric, and metrics that the run cannot answer.

use std::collections::BTreeMap;

use wordline_kernel::counted;
use wordline_run::measured::{Attained, LeftOut, RebuildTime, Unknown, WarmUpEnd};
use wordline_run::quantity::{Quantity, three_digits};

use crate::percentiles::PERCENTILES;

/// A sentence on the warm-up.
pub(crate) fn left_out(left_out: &LeftOut) -> String {
    let requests = counted(left_out.requests, "request");
    let time = Quantity::Seconds(left_out.seconds);
    let end = match left_out.end {
        WarmUpEnd::Rule => "until the load was steady by MSER-5",
        WarmUpEnd::Asked => "as requested",
        WarmUpEnd::Failure => "until a member failed",
        WarmUpEnd::Limit => "up to the limit: the load was not steady by MSER-5",
    };
    format!("{requests} in {time} left out, {end}")
}

/// The rebuild of an array as a sentence.
pub(crate) fn rebuilt(rebuild: &RebuildTime) -> String {
    let time = Quantity::Seconds(rebuild.seconds);
    match rebuild.share {
        share if share < 1.0 => format!("{} % in {time}: the run was stopped", three_digits(100.0 * share)),
        _ => format!("in {time}, from the failure on"),
    }
}

/// The half-width of the confidence interval of a metric, in per cent of the mean.
fn share_of(attained: &Attained) -> Option<String> {
    let (mean, half) = attained.mean.zip(attained.half_width)?;
    Some(three_digits(100.0 * half / mean.abs().max(f64::MIN_POSITIVE)))
}

/// The precision of a metric in a few words.
pub(crate) fn precision(attained: &Attained) -> String {
    format!("{} ± {} %", attained.column, share_of(attained).unwrap_or_else(|| "?".to_owned()))
}

/// The precision of a metric as a sentence.
pub(crate) fn attained(attained: &Attained) -> String {
    let Attained { column, wanted, batches, requests_a_batch, .. } = attained;
    let wanted = format!("{} %", three_digits(100.0 * wanted));
    let (Some(mean), Some(share)) = (attained.mean, share_of(attained)) else {
        return format!("{column}: too few requests for two batches with a value; wanted within {wanted}");
    };
    let end = if attained.is_reached { "reached" } else { "not reached when the requests ended" };
    let of_each = counted(*requests_a_batch, "request");
    format!(
        "{column} of {batches} batches of {of_each}: {} ± {share} % in the mean (95 %); wanted {wanted}, {end}",
        three_digits(mean)
    )
}

/// A sentence for each reason, with the unknown metrics that have it.
pub(crate) fn unknown(unknown: &[Unknown]) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Unknown { metric, reason } in unknown {
        by_reason.entry(reason).or_default().push(metric);
    }
    by_reason.into_iter().map(|(reason, metrics)| format!("{}: {reason}", named(&metrics))).collect()
}

/// The names of metrics in a list. Several percentiles of one latency are named by the lowest of them.
fn named(metrics: &[&str]) -> String {
    let rarest = PERCENTILES.last().map_or("", |percentile| percentile.key);
    let latency = |metric: &str| {
        let (latency, key) = metric.rsplit_once('.')?;
        PERCENTILES.iter().any(|percentile| percentile.key == key).then(|| latency.to_owned())
    };
    match metrics {
        [first, .., last] if last.ends_with(rarest) => {
            let of = latency(first);
            if of.is_some() && metrics.iter().all(|metric| latency(metric) == of) {
                return format!("{first} and beyond");
            }
        }
        _ => {}
    }
    metrics.join(", ")
}

#[test]
fn metrics_of_one_reason_stand_in_one_sentence() {
    let of = |metric: &str, reason: &str| Unknown { metric: metric.into(), reason: reason.into() };
    let all = [of("a", "no victim"), of("b", "few"), of("c", "no victim")];
    assert_eq!(unknown(&all), ["b: few", "a, c: no victim"]);
    let tail = ["p999", "p9999", "p99999"].map(|key| of(&format!("host.read_latency_us.{key}"), "few"));
    assert_eq!(unknown(&tail), ["host.read_latency_us.p999 and beyond: few"]);
}

#[test]
fn a_precision_is_reached_or_not() {
    let attained = Attained {
        column: "host.iops".into(),
        mean: Some(1_000.0),
        half_width: Some(15.0),
        wanted: 0.02,
        batches: 20,
        requests_a_batch: 1_000,
        is_reached: true,
    };
    let told =
        "host.iops of 20 batches of 1,000 requests: 1,000 ± 1.50 % in the mean (95 %); wanted 2.00 %, ";
    assert_eq!(self::attained(&attained), format!("{told}reached"));
    let missed = Attained { is_reached: false, ..attained };
    assert_eq!(self::attained(&missed), format!("{told}not reached when the requests ended"));
}
