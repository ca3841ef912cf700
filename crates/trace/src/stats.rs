//! Statistics that the trace tables of papers print, in one pass over the requests and in bounded memory.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use wordline_kernel::{Duration, Histogram, Instant};

use super::footprint::Footprint;
pub use super::footprint::GRANULE;
use super::input::PROGRESS_INTERVAL;
use super::input::Progress;
use super::{Op, Request, Stream};
use crate::error::Result;

/// The statistics of a trace. Sizes are in bytes, shares are fractions of 1.
#[derive(Clone, Debug, Serialize)]
pub struct Statistics {
    /// Requests of any kind.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them, zone appends included.
    pub writes: u64,
    /// Discards among them.
    pub discards: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// Write zeroes commands among them.
    pub write_zeroes: u64,
    /// Compares among them.
    pub compares: u64,
    /// Zone appends among the writes.
    #[serde(skip_serializing_if = "is_zero")]
    pub zone_appends: u64,
    /// Resets, finishes, opens and closes of zones among the requests.
    #[serde(skip_serializing_if = "is_zero")]
    pub zone_management: u64,
    /// Reads as a share of reads and writes, as the papers count.
    pub read_share: f64,
    /// Writes as a share of reads and writes.
    pub write_share: f64,
    /// Discards as a share of all requests.
    pub discard_share: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// Mean bytes per read.
    pub mean_read_size: f64,
    /// Mean bytes per write.
    pub mean_write_size: f64,
    /// Unit of footprints and updates, in bytes: a request touches every granule in which it has a byte.
    pub granule: u64,
    /// Bytes of the granules read or written at least once. Zone appends are left out of all footprints, of updates
    /// and of sequential requests: the recorded address of an append is the start of its zone.
    pub footprint: u64,
    /// Bytes of the granules read at least once.
    pub footprint_read: u64,
    /// Bytes of the granules written at least once.
    pub footprint_written: u64,
    /// Sampling interval: 1 if footprints and updates are exact. A trace that touches more than 1.5 TiB of addresses
    /// is sampled. Footprints and updates are then extrapolated from one in this many 2 MiB chunks, footprints with an
    /// error below 1%. The error of updates is not bounded: a few hot chunks may have most of them.
    pub sampled_one_in: u64,
    /// Sampling interval of update intervals and of the hottest fifths: 1 if they are of all chunks of 2 MiB. A trace
    /// that writes more addresses than the map holds histories of (320 MiB, for 120 GiB) is sampled.
    pub histories_one_in: u64,
    /// Byte after the last that any request touches.
    pub highest_byte: u64,
    /// Writes that touch at least one granule that an earlier write of the trace touched.
    pub update_requests: u64,
    /// Update requests as a share of all writes without zone appends: the interpretation of "U Pct" in ReSSD table 5.
    pub update_share: f64,
    /// Granules rewritten as a share of granules written. A granule counts as often as it is written.
    pub update_volume_share: f64,
    /// Share of all granule rewrites in the most rewritten fifth of the *written* granules: the axis of ReSSD
    /// figure 10. Ties at the boundary of the fifth count in proportion.
    pub hottest_fifth: f64,
    /// Share of all granule rewrites in the most rewritten fifth of the granules that were *rewritten* at
    /// least once.
    pub hottest_fifth_of_updated: f64,
    /// Time since the previous write of a rewritten granule.
    pub update_interval: Intervals,
    /// Sizes of reads and writes together.
    pub sizes: Sizes,
    /// Sizes of reads.
    pub read_sizes: Sizes,
    /// Sizes of writes.
    pub write_sizes: Sizes,
    /// Share of reads and writes, without zone appends, that start at the byte where the previous one on the same
    /// device ended.
    pub sequential_share: f64,
    /// Seconds from the first arrival to the last.
    pub duration_seconds: f64,
    /// Requests per second over this duration; `None` for a trace without times.
    pub requests_per_second: Option<f64>,
}

/// Distribution of update intervals, one per rewritten granule, in seconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Intervals {
    /// The mean.
    pub mean_seconds: f64,
    /// Half of the intervals are at most this long.
    pub p50_seconds: f64,
    /// 90% of the intervals are at most this long.
    pub p90_seconds: f64,
    /// 99% of the intervals are at most this long.
    pub p99_seconds: f64,
    /// Shares of intervals up to 30, 60 and 120 minutes, the bounds of ReSSD's hotness levels (section 4.1).
    pub within_30_60_120_minutes: [f64; 3],
}

/// A distribution of request sizes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sizes {
    /// Shares of requests up to 4, over 4 to 8, over 8 to 16, over 16 to 32, and over 32 KiB. These are the
    /// columns of FT-PASSD table 5.
    pub classes: [f64; 5],
    /// Requests by size, in bins at powers of two from 512 bytes on. A bin counts sizes up to its own and
    /// above the previous one.
    pub powers: BTreeMap<u64, u64>,
}

#[derive(Default)]
struct SizeCounts {
    powers: BTreeMap<u64, u64>,
}

/// Upper bound on devices whose last requests are kept to detect sequential requests. Chosen: above any
/// recorded system.
const MAX_DEVICES: usize = 1 << 16;

/// Collects the statistics request by request.
#[derive(Default)]
pub struct Collector {
    counts: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
    footprint: Footprint,
    highest: u64,
    update_requests: u64,
    written_granules: u64,
    rewritten_granules: u64,
    intervals: Histogram,
    read_sizes: SizeCounts,
    write_sizes: SizeCounts,
    ends: BTreeMap<u32, u64>,
    sequential: u64,
    times: Option<(Instant, Instant)>,
}

impl Statistics {
    /// Computes the statistics of `requests` in one pass.
    pub fn of<R: Borrow<Request>>(requests: impl IntoIterator<Item = R>) -> Self {
        let mut collector = Collector::default();
        requests.into_iter().for_each(|request| collector.add(request.borrow()));
        collector.finish()
    }

    /// Computes the statistics of the rest of a stream, with its devices in their final layout. Calls `told`
    /// at intervals with the read progress.
    ///
    /// # Errors
    /// The errors of the stream.
    pub fn of_stream(stream: &mut Stream<'_>, told: &mut dyn FnMut(Progress)) -> Result<Self> {
        let mut collector = Collector::default();
        for number in 1_u64.. {
            let Some(request) = stream.next().transpose()? else { break };
            collector.add(&request);
            if number.is_multiple_of(PROGRESS_INTERVAL) {
                told(stream.progress());
            }
        }
        Ok(Self { highest_byte: stream.extent()?.0, ..collector.finish() })
    }
}

impl Collector {
    /// Adds the next request.
    pub fn add(&mut self, request: &Request) {
        let (op, offset, size) = (request.op as usize, request.offset.0, request.size.0);
        self.counts[op] += 1;
        self.bytes[op] += size;
        let (first, last) = self.times.get_or_insert((request.arrival, request.arrival));
        *first = (*first).min(request.arrival);
        *last = (*last).max(request.arrival);
        let end = offset.saturating_add(size);
        self.highest = self.highest.max(end);
        match request.op {
            Op::Read => {
                self.footprint.read(request.device, offset, size);
                self.read_sizes.add(size);
            }
            Op::Write => {
                let (device, intervals) = (request.device, &mut self.intervals);
                let outcome =
                    self.footprint.write(device, offset, size, request.arrival, |i| intervals.record(i));
                self.written_granules += outcome.granules;
                self.rewritten_granules += outcome.rewritten;
                self.update_requests += outcome.updates;
                self.write_sizes.add(size);
            }
            Op::ZoneAppend => {
                // Its recorded address is the start of its zone, not where its data are.
                self.write_sizes.add(size);
                return;
            }
            _ => return,
        }
        if let Some(last) = self.ends.get_mut(&request.device) {
            self.sequential += u64::from(std::mem::replace(last, end) == offset);
        } else if self.ends.len() < MAX_DEVICES {
            self.ends.insert(request.device, end);
        }
    }

    /// Returns the statistics of the requests added.
    pub fn finish(self) -> Statistics {
        let [reads, writes, discards, flushes, write_zeroes, compares, zone_appends, ref managed @ ..] =
            self.counts;
        let (placed, writes) = (writes, writes + zone_appends);
        let [read_bytes, written_bytes, discarded_bytes, ..] = self.bytes;
        let written_bytes = written_bytes + self.bytes[Op::ZoneAppend as usize];
        let requests = self.counts.iter().sum();
        let (footprint_read, footprint_written, footprint) = self.footprint.bytes();
        let (sampled_one_in, histories_one_in) =
            (self.footprint.sampling_interval(), self.footprint.history_interval());
        // A sampled update counts for as many, which may be more than there were writes.
        let update_requests = self.update_requests.min(placed);
        let updates = self.footprint.updates();
        let written: u64 = updates.iter().map(|(_, granules)| granules).sum();
        let updated: u64 = updates.iter().filter(|(count, _)| *count > 0).map(|(_, granules)| granules).sum();
        let (first, last) = self.times.unwrap_or_default();
        let duration = last.since(first).seconds();
        Statistics {
            requests,
            reads,
            writes,
            discards,
            flushes,
            write_zeroes,
            compares,
            zone_appends,
            zone_management: managed.iter().sum(),
            read_share: ratio(reads, reads + writes),
            write_share: ratio(writes, reads + writes),
            discard_share: ratio(discards, requests),
            read_bytes,
            written_bytes,
            discarded_bytes,
            mean_read_size: ratio(read_bytes, reads),
            mean_write_size: ratio(written_bytes, writes),
            granule: GRANULE,
            footprint,
            footprint_read,
            footprint_written,
            sampled_one_in,
            histories_one_in,
            highest_byte: self.highest,
            update_requests,
            update_share: ratio(update_requests, placed),
            update_volume_share: ratio(self.rewritten_granules, self.written_granules),
            hottest_fifth: hottest(&updates, written as f64 / 5.0),
            hottest_fifth_of_updated: hottest(&updates, updated as f64 / 5.0),
            update_interval: Intervals::of(&self.intervals),
            sizes: SizeCounts::sum(&self.read_sizes, &self.write_sizes).finish(),
            read_sizes: self.read_sizes.finish(),
            write_sizes: self.write_sizes.finish(),
            sequential_share: ratio(self.sequential, reads + placed),
            duration_seconds: duration,
            requests_per_second: (duration > 0.0).then(|| requests as f64 / duration),
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Returns `part / whole`, zero if `whole` is zero.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the share of all updates in the `take` most updated granules.
fn hottest(updates: &[(u32, u64)], take: f64) -> f64 {
    let (mut left, mut taken, mut all) = (take, 0.0, 0.0);
    for (count, granules) in updates {
        let here = left.min(*granules as f64);
        taken += here * f64::from(*count);
        left -= here;
        all += *granules as f64 * f64::from(*count);
    }
    if all == 0.0 { 0.0 } else { taken / all }
}

impl Intervals {
    fn of(histogram: &Histogram) -> Self {
        let quantile = |fraction| histogram.quantile(fraction).seconds();
        let cumulative = histogram.cumulative();
        let within = |minutes: u64| {
            let bound = Duration::from_ms(minutes * 60_000);
            let below = cumulative.partition_point(|(length, _)| *length <= bound);
            if below == 0 { 0.0 } else { cumulative[below - 1].1 }
        };
        Self {
            mean_seconds: histogram.mean().seconds(),
            p50_seconds: quantile(0.5),
            p90_seconds: quantile(0.9),
            p99_seconds: quantile(0.99),
            within_30_60_120_minutes: [30, 60, 120].map(within),
        }
    }
}

impl SizeCounts {
    fn add(&mut self, size: u64) {
        *self.powers.entry(size.max(512).checked_next_power_of_two().unwrap_or(1 << 63)).or_insert(0) += 1;
    }

    fn sum(one: &Self, other: &Self) -> Self {
        let mut powers = one.powers.clone();
        for (size, count) in &other.powers {
            *powers.entry(*size).or_insert(0) += count;
        }
        Self { powers }
    }

    /// Sums the classes from the finer bins: the bounds of the five classes are powers of two.
    fn finish(self) -> Sizes {
        let all = self.powers.values().sum();
        let bounds = [0, 4 << 10, 8 << 10, 16 << 10, 32 << 10, u64::MAX];
        let class = |n: usize| self.powers.range(bounds[n] + 1..=bounds[n + 1]).map(|(_, count)| count).sum();
        let classes = [0, 1, 2, 3, 4].map(|n| ratio(class(n), all));
        Sizes { classes, powers: self.powers }
    }
}

/// Table for people.
impl fmt::Display for Statistics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kib, gib, percent) = (1024.0, (1u64 << 30) as f64, 100.0);
        let mut line = |name: &str, value: String| writeln!(out, "{name:<34} {value}");
        line("requests", self.requests.to_string())?;
        line("reads / writes", format!("{} / {}", self.reads, self.writes))?;
        line("discards / flushes", format!("{} / {}", self.discards, self.flushes))?;
        line("write share", format!("{:.1} %", self.write_share * percent))?;
        line(
            "mean size, read / write",
            format!("{:.1} / {:.1} KiB", self.mean_read_size / kib, self.mean_write_size / kib),
        )?;
        line(
            "volume, read / written",
            format!("{:.3} / {:.3} GiB", self.read_bytes as f64 / gib, self.written_bytes as f64 / gib),
        )?;
        line(
            "footprint, read / written / either",
            format!(
                "{:.3} / {:.3} / {:.3} GiB",
                self.footprint_read as f64 / gib,
                self.footprint_written as f64 / gib,
                self.footprint as f64 / gib
            ),
        )?;
        for (name, one_in) in
            [("footprint and updates", self.sampled_one_in), ("update intervals", self.histories_one_in)]
        {
            if one_in > 1 {
                line(name, format!("a sample, one in {one_in} ranges of 2 MiB"))?;
            }
        }
        line(
            "updates, of writes / of volume",
            format!("{:.1} / {:.1} %", self.update_share * percent, self.update_volume_share * percent),
        )?;
        line("updates in the hottest 20%", format!("{:.1} %", self.hottest_fifth * percent))?;
        let interval = &self.update_interval;
        line(
            "update interval, p50 / p90 / p99",
            format!(
                "{:.3} / {:.3} / {:.3} s",
                interval.p50_seconds, interval.p90_seconds, interval.p99_seconds
            ),
        )?;
        for (name, sizes) in [("reads", &self.read_sizes), ("writes", &self.write_sizes)] {
            let shares = sizes.classes.map(|share| format!("{:.1}", share * percent)).join(" / ");
            line(&format!("{name}, <=4/8/16/32/>32 KiB"), format!("{shares} %"))?;
        }
        line("sequential", format!("{:.1} %", self.sequential_share * percent))?;
        line("duration", format!("{:.3} s", self.duration_seconds))?;
        let rate = self.requests_per_second.map_or("no time stamps".into(), |r| format!("{r:.1} requests/s"));
        line("rate", rate)
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Bytes;

    use super::*;

    #[test]
    fn appends_are_counted_without_the_figures_that_need_their_address() {
        let request = |op, offset| Request::new(op, Bytes(offset), Bytes(8192));
        let appends = [request(Op::ZoneAppend, 0); 4];
        let of_appends = Statistics::of(appends);
        assert_eq!((of_appends.writes, of_appends.zone_appends, of_appends.written_bytes), (4, 4, 4 * 8192));
        assert_eq!(
            (of_appends.footprint, of_appends.footprint_written, of_appends.update_requests),
            (0, 0, 0)
        );
        assert_eq!((of_appends.update_share, of_appends.update_volume_share), (0.0, 0.0));
        assert_eq!(of_appends.write_sizes.powers, BTreeMap::from([(8192, 4)]));
        // One of two writes is an update, and one of three reads and writes begins where the one before it ended.
        let others = [request(Op::Write, 0), request(Op::Write, 0), request(Op::Read, 8192)];
        let mixed = Statistics::of(others[..2].iter().chain(&appends).chain(&others[2..]));
        assert_eq!((mixed.writes, mixed.update_requests, mixed.update_share), (6, 1, 0.5));
        assert_eq!((mixed.footprint_written, mixed.sequential_share), (8192, 1.0 / 3.0));
    }
}
