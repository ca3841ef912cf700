//! The statistics of a trace for a terminal: the numbers that papers print in their tables of traces.

use wordline_run::quantity::Quantity;

use super::terminal::{list, pairs};
use crate::trace::Statistics;

type Rows = Vec<(String, Quantity)>;

/// The statistics of a trace as tables for a terminal with this many `columns`.
pub fn statistics(trace: &Statistics, columns: u16) -> String {
    let lists = |title: &str, rows: Rows| list(title, rows.iter());
    let tables = [
        [lists("Requests", requests(trace)), lists("Volumes", volumes(trace))],
        [lists("Mean sizes", mean_sizes(trace)), lists("Updates", updates(trace))],
        [lists("Sizes", size_classes(trace)), lists("Time", time(trace))],
    ];
    pairs(&tables, columns)
}

fn row(name: impl Into<String>, value: Quantity) -> (String, Quantity) {
    (name.into(), value)
}

fn bytes(count: u64) -> Quantity {
    Quantity::Bytes(count as f64)
}

fn requests(trace: &Statistics) -> Rows {
    let counts = vec![
        row("Requests", Quantity::Count(trace.requests)),
        row("Reads", Quantity::Count(trace.reads)),
        row("Writes", Quantity::Count(trace.writes)),
        row("Discards", Quantity::Count(trace.discards)),
        row("Flushes", Quantity::Count(trace.flushes)),
    ];
    // Rare operations have a row only if the trace has them.
    let rare = [
        ("Write zeroes", trace.write_zeroes),
        ("Compares", trace.compares),
        ("Zone appends, of the writes", trace.zone_appends),
        ("Zone resets, finishes, opens, closes", trace.zone_management),
    ];
    let rare = rare
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| row(name, Quantity::Count(count)));
    let shares = [
        row("Read share", Quantity::Fraction(trace.read_share)),
        row("Write share", Quantity::Fraction(trace.write_share)),
        row("Sequential share", Quantity::Fraction(trace.sequential_share)),
    ];
    counts.into_iter().chain(rare).chain(shares).collect()
}

fn volumes(trace: &Statistics) -> Rows {
    let sampled = [
        ("Footprint of one in", trace.sampled_one_in),
        ("Update intervals of one in", trace.histories_one_in),
    ];
    let sampled = sampled.into_iter().filter(|(_, one_in)| *one_in > 1);
    let sampled = sampled.map(|(name, one_in)| row(name, Quantity::Count(one_in)));
    let rows = vec![
        row("Read", bytes(trace.read_bytes)),
        row("Written", bytes(trace.written_bytes)),
        row("Discarded", bytes(trace.discarded_bytes)),
        row("Footprint", bytes(trace.footprint)),
        row("Footprint read", bytes(trace.footprint_read)),
        row("Footprint written", bytes(trace.footprint_written)),
        row("Highest byte", bytes(trace.highest_byte)),
        row("Counted in units of", bytes(trace.granule)),
    ];
    rows.into_iter().chain(sampled).collect()
}

fn mean_sizes(trace: &Statistics) -> Rows {
    let mean = |count: u64, size: f64| if count == 0 { Quantity::Absent } else { Quantity::Bytes(size) };
    vec![
        row("Read", mean(trace.reads, trace.mean_read_size)),
        row("Write", mean(trace.writes, trace.mean_write_size)),
    ]
}

fn updates(trace: &Statistics) -> Rows {
    let interval = &trace.update_interval;
    let [half_hour, hour, two_hours] = interval.within_30_60_120_minutes;
    vec![
        row("Writes that update", Quantity::Fraction(trace.update_share)),
        row("Written volume that updates", Quantity::Fraction(trace.update_volume_share)),
        row("Updates in the hottest fifth", Quantity::Fraction(trace.hottest_fifth)),
        row("Interval, mean", Quantity::Seconds(interval.mean_seconds)),
        row("Interval, p50", Quantity::Seconds(interval.p50_seconds)),
        row("Interval, p99", Quantity::Seconds(interval.p99_seconds)),
        row("Within 30 min", Quantity::Fraction(half_hour)),
        row("Within 1 h", Quantity::Fraction(hour)),
        row("Within 2 h", Quantity::Fraction(two_hours)),
    ]
}

fn size_classes(trace: &Statistics) -> Rows {
    let names = ["Up to 4 KiB", "4 to 8 KiB", "8 to 16 KiB", "16 to 32 KiB", "Over 32 KiB"];
    let shares = names.iter().zip(trace.sizes.classes);
    shares.map(|(name, share)| row(*name, Quantity::Fraction(share))).collect()
}

fn time(trace: &Statistics) -> Rows {
    vec![
        row("Duration", Quantity::Seconds(trace.duration_seconds)),
        row("Requests", trace.requests_per_second.map_or(Quantity::Absent, Quantity::PerSecond)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::embedded;

    #[test]
    fn every_part_of_the_statistics_has_its_lines() {
        let text = statistics(&Statistics::of(&embedded().requests), 80);
        for name in ["Write share", "Footprint written", "Writes that update", "Over 32 KiB", "Duration"] {
            assert!(text.contains(name), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
