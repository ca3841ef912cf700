//! Metrics that a run cannot answer because their value would mislead, each with the reason.
//!
//! This file declares each such metric, with the rules that make it unknown. The value of an unknown metric
//! is removed from the summary: it is `null` in JSON and "unknown" in tables. The list `unknown` of the
//! summary has the metric and the reason.

use wordline_kernel::metrics::Value;

use crate::measured::Unknown;
use crate::percentiles::PERCENTILES;
use crate::quantity::Quantity;
use crate::summary::{Latency, Summary};

/// Least number of requests beyond a percentile. Chosen: this number then has a relative standard deviation
/// of a third, 1/sqrt(10).
const BEYOND: f64 = 10.0;

/// Greatest change of free space that a metric of GC tolerates, as a fraction of the bytes programmed for the
/// host. Applies to runs of less than one turnover of the free space. A change means that GC reclaimed less,
/// or more, than the host consumed. Chosen: write amplification is then wrong by at most a tenth.
const UNBALANCED: f64 = 0.1;

/// Flash activity of the measured interval, as far as the device reports it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlashActivity {
    /// Multi-plane blocks erased; `None` for a device without flash.
    pub erased: Option<u64>,
    /// Bytes that can be programmed without another victim, at the beginning and at the end; `None` if the
    /// device does not report it.
    pub room: Option<[u64; 2]>,
    /// Bytes programmed for the host.
    pub host: u64,
    /// Bytes programmed.
    pub programmed: u64,
}

/// A metric of the whole run that may be unknown: its name, and a function that removes its value from a
/// summary. The function returns whether there was a value.
type UnknownMetric = (&'static str, fn(&mut Summary) -> bool);

/// The metrics that depend on GC victims.
const VICTIM_METRICS: [UnknownMetric; 4] = [
    ("write_amplification", |run| {
        run.drift = None;
        run.write_amplification.take().is_some()
    }),
    ("programs_per_host_program", |run| {
        let has_value = run.metrics.number("programs_per_host_program").is_some();
        if has_value {
            run.metrics.set("programs_per_host_program", Value::Absent);
        }
        has_value
    }),
    // This value is computed later from `wear.terabytes_expected`, when the time of recoveries is known, so
    // it is not removed here.
    ("wear.years_expected", |run| run.wear.terabytes_expected.is_some()),
    ("wear.terabytes_expected", |run| run.wear.terabytes_expected.take().is_some()),
];

/// Removes the values that the run cannot answer, and lists them in the summary.
pub(crate) fn remove_unknown(run: &mut Summary, flash: FlashActivity) {
    let mut unknown = Vec::new();
    if let Some(reason) = unsteady_gc_reason(flash) {
        let taken = VICTIM_METRICS.iter().filter(|(_, take)| take(run));
        unknown.extend(taken.map(|(metric, _)| Unknown { metric: (*metric).into(), reason: reason.clone() }));
    }
    let host = &mut run.host;
    let of_host = [
        ("host.read_latency_us".to_owned(), host.reads, "reads", &mut host.read_latency_us),
        ("host.write_latency_us".to_owned(), host.writes, "writes", &mut host.write_latency_us),
        ("host.discard_latency_us".to_owned(), host.discards, "discards", &mut host.discard_latency_us),
        ("host.flush_latency_us".to_owned(), host.flushes, "flushes", &mut host.flush_latency_us),
        (
            "host.write_zeroes_latency_us".to_owned(),
            host.write_zeroes,
            "write zeroes commands",
            &mut host.write_zeroes_latency_us,
        ),
        ("host.compare_latency_us".to_owned(), host.compares, "comparisons", &mut host.compare_latency_us),
    ];
    let of_zones = host.zones.iter_mut().flat_map(|zones| {
        zones.kinds().map(|(kind, words, requests, latency)| {
            (format!("host.zones.{kind}_latency_us"), requests, words, latency)
        })
    });
    let of_jobs = run.jobs.iter_mut().flat_map(|job| {
        let of = |kind: &str| format!("jobs.{}.{kind}_latency_us", job.name);
        [
            (of("read"), job.reads, "reads", &mut job.read_latency_us),
            (of("write"), job.writes, "writes", &mut job.write_latency_us),
        ]
    });
    for (name, requests, kind, latency) in of_host.into_iter().chain(of_zones).chain(of_jobs) {
        unknown.extend(too_few_beyond(&name, requests, kind, latency));
    }
    run.unknown = unknown;
}

/// The reason why GC was not in its steady state; `None` if it was.
fn unsteady_gc_reason(flash: FlashActivity) -> Option<String> {
    let FlashActivity { erased: Some(erased), room, host, programmed } = flash else { return None };
    let [before, after] = room.unwrap_or_default();
    let change = before.abs_diff(after);
    let is_balanced = room.is_some() && change as f64 <= UNBALANCED * host as f64;
    if programmed == 0 || is_balanced {
        return None;
    }
    if erased == 0 {
        return Some("no victim was collected: GC had no part in the programs, or was not complete".into());
    }
    let into = if after < before { "taken from free space" } else { "reclaimed for later" };
    (programmed < before).then(|| {
        format!(
            "less than one turnover of the free space: {} were programmed, {} of them for the host, and {} were {into}, of {}",
            Quantity::Bytes(programmed as f64),
            Quantity::Bytes(host as f64),
            Quantity::Bytes(change as f64),
            Quantity::Bytes(before as f64)
        )
    })
}

/// Removes percentiles with too few requests beyond them.
fn too_few_beyond(name: &str, requests: u64, kind: &str, latency: &mut Latency) -> Vec<Unknown> {
    let mut unknown = Vec::new();
    for percentile in &PERCENTILES {
        // A margin, so that rounding of the fraction does not matter.
        let beyond = requests as f64 * (1.0 - percentile.fraction) + 1e-6;
        if beyond < BEYOND && (percentile.of_mut)(latency).take().is_some() {
            let reason = format!("fewer than ten of {requests} {kind} lie beyond it");
            unknown.push(Unknown { metric: format!("{name}.{}", percentile.key), reason });
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const FLASH: FlashActivity =
        FlashActivity { erased: Some(10), room: Some([100 << 20; 2]), host: 10 << 20, programmed: 20 << 20 };

    fn unknown_with(flash: FlashActivity) -> Summary {
        let mut run = sample::mixed();
        remove_unknown(&mut run, flash);
        run
    }

    #[test]
    fn without_a_victim_amplification_and_lifetime_are_unknown() {
        let run = unknown_with(FlashActivity { erased: Some(0), room: None, ..FLASH });
        assert_eq!((run.write_amplification, run.wear.terabytes_expected, run.drift), (None, None, None));
        assert_eq!(run.metrics.number("programs_per_host_program"), None);
        let reason = run.why_unknown("write_amplification").expect("it is listed");
        assert!(reason.starts_with("no victim was collected"), "{reason}");
        assert_eq!(unknown_with(FLASH).write_amplification, sample::mixed().write_amplification);
    }

    #[test]
    fn a_run_that_takes_or_wins_more_room_than_its_programs_need_has_not_turned_it_over() {
        let room = |after: u64| FlashActivity { room: Some([100 << 20, after << 20]), ..FLASH };
        for (flash, why) in
            [(room(98), "2.00 MiB were taken from free space"), (room(102), "reclaimed for later")]
        {
            let run = unknown_with(flash);
            let reason = run.why_unknown("write_amplification").expect("it is listed");
            assert!(reason.starts_with("less than one turnover of the free space: 20.0 MiB"), "{reason}");
            assert!(reason.contains(why), "{reason}");
        }
        // The metric is known after one turnover, or if GC reclaims as much as the host consumes, even if no
        // victim was erased yet.
        for known in [
            room(99),
            FlashActivity { erased: Some(0), ..room(101) },
            FlashActivity { programmed: 101 << 20, ..room(0) },
            FlashActivity { room: None, ..FLASH },
        ] {
            assert!(unknown_with(known).write_amplification.is_some(), "{known:?}");
        }
    }

    #[test]
    fn a_device_without_flash_and_a_run_without_programs_lack_nothing() {
        for flash in [FlashActivity::default(), FlashActivity { programmed: 0, erased: Some(0), ..FLASH }] {
            assert!(unknown_with(flash).write_amplification.is_some());
        }
    }

    #[test]
    fn ten_requests_lie_beyond_a_known_percentile() {
        for (requests, known) in
            [(10_000, ["p50", "p99", "p999"].as_slice()), (9_999, &["p50", "p99"]), (19, &[])]
        {
            let mut run = sample::mixed();
            run.host.reads = requests;
            remove_unknown(&mut run, FLASH);
            for percentile in ["p50", "p99", "p999"] {
                let name = format!("host.read_latency_us.{percentile}");
                let is_known = run.why_unknown(&name).is_none();
                assert_eq!(is_known, known.contains(&percentile), "{requests}: {percentile}");
            }
        }
    }
}
