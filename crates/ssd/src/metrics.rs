//! Metrics of a device since a mark: its counters, values derived from the counters, and values derived from
//! the state of its flash.

mod detail;

use wordline_device::detail::bus_waits;
use wordline_device::lifetime::{PoolWear, write_amplification};
use wordline_device::times::WriteBack;
use wordline_flash::Counts;
use wordline_ftl::Ftl;
use wordline_ftl::map::translation::GuessCounts;
use wordline_ftl::totals::Totals;
use wordline_kernel::chart::ChartData;
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Duration, Instant, Metric, Metrics};
use wordline_nand::{DieTimes, EnergyReport};

use crate::device::SubRequestCounts;
use crate::engines::Core;
use crate::front::Front;
use crate::writer::Writer;
pub(crate) use detail::detail_since;

/// Counts of a device at a point in time.
#[derive(Clone, Debug)]
pub struct Mark {
    totals: Totals,
    flash: Counts,
    /// Flash energy of each pool.
    energy: Vec<EnergyReport>,
    worn: Vec<PoolWear>,
    /// Pages programmed in each pool.
    programs: Vec<u64>,
    sub_requests: SubRequestCounts,
    /// `None` if the mapper does not guess.
    guesses: Option<GuessCounts>,
    written_back: Vec<WriteBack>,
    links: Vec<Duration>,
    buses: Vec<Duration>,
    arrays: Vec<Duration>,
    dies: Vec<DieTimes>,
    bus_waits: Duration,
    /// Metrics of designs.
    designs: Vec<(&'static Metric, Value)>,
    /// Charts of designs, each with its design's name.
    charts: Vec<(&'static str, ChartData)>,
    at: Instant,
}

impl Mark {
    /// The counts of a device with these engines at `now`.
    pub(crate) fn of(core: &Core, writer: &Writer, front: &Front, now: Instant) -> Self {
        let ftl = &core.ftl;
        let chips = ftl.flash.chips();
        Self {
            totals: ftl.totals.clone(),
            flash: ftl.flash.counts().clone(),
            energy: chips.energy_of_pools(now - Instant::ZERO).collect(),
            worn: ftl.worn(),
            programs: programs(ftl),
            sub_requests: writer.sub_requests().unwrap_or_default(),
            guesses: core.ftl.map_cache.guesses().cloned(),
            written_back: core.written_back.to_vec(),
            links: detail::link_busy(front, now),
            buses: chips.bus_busy(now).map(Duration::from_ps).collect(),
            designs: ftl.policies.designs.measure().collect(),
            charts: ftl.policies.designs.charts().collect(),
            at: now,
            arrays: chips.array_busy(now).map(Duration::from_ps).collect(),
            dies: chips.die_times(now).collect(),
            bus_waits: bus_waits(chips),
        }
    }
}

/// Pages that the chips of each pool have programmed.
fn programs(ftl: &Ftl) -> Vec<u64> {
    ftl.flash.chips().counts_of_pools().iter().map(|counts| counts.pages_programmed).collect()
}

/// Flash energy of each pool from a mark to `now`.
fn energy(ftl: &Ftl, mark: &Mark, now: Instant) -> Vec<EnergyReport> {
    let pools = ftl.flash.chips().energy_of_pools(now - Instant::ZERO).zip(&mark.energy);
    pools.map(|(now, before)| now.since(before)).collect()
}

/// Counts of a device between a mark and another time.
struct Since<'a> {
    ftl: &'a Ftl,
    totals: Totals,
    flash: Counts,
    joules: f64,
    worn: Vec<PoolWear>,
    programs: u64,
    sent: SubRequestCounts,
    /// `None` if the mapper does not guess.
    guesses: Option<GuessCounts>,
}

impl<'a> Since<'a> {
    fn new(core: &'a Core, writer: &Writer, mark: &Mark, now: Instant) -> Self {
        let ftl = &core.ftl;
        let worn = ftl.worn().into_iter().zip(&mark.worn);
        Self {
            ftl,
            totals: ftl.totals.since(&mark.totals),
            flash: ftl.flash.counts().since(&mark.flash),
            joules: energy(ftl, mark, now).into_iter().sum::<EnergyReport>().total().joules(),
            worn: worn.map(|(now, before)| now.since(*before)).collect(),
            programs: programs(ftl).iter().zip(&mark.programs).map(|(now, before)| now - before).sum(),
            sent: writer.sub_requests().unwrap_or_default().since(&mark.sub_requests),
            guesses: core
                .ftl
                .map_cache
                .guesses()
                .zip(mark.guesses.as_ref())
                .map(|(now, before)| now.since(before)),
        }
    }

    /// Flash pages read at locations that were guessed wrong.
    fn guess_reads(&self) -> u64 {
        self.guesses.as_ref().map_or(0, |guesses| guesses.reads)
    }

    /// Bytes of this many logical pages.
    fn bytes(&self, pages: u64) -> Value {
        Value::Count(pages * self.ftl.config.unit.0)
    }

    /// Logical pages programmed for any purpose.
    fn programmed(&self) -> u64 {
        let t = &self.totals;
        t.host_programs + t.unit_programs + t.gc_programs + t.translation_programs + t.padding
    }

    /// Flash pages programmed. With several pools the chips count them, because the page size differs by
    /// pool.
    fn pages_programmed(&self) -> u64 {
        let config = &self.ftl.config;
        match config.pools.count() {
            1 => self.programmed() * config.unit.0 / config.geometry().page_size.0,
            _ => self.programs,
        }
    }

    /// Blocks erased. Each plane of a multi-plane block counts.
    fn blocks_erased(&self) -> u64 {
        let config = &self.ftl.config;
        let planes = || config.pools.iter().map(|pool| u64::from(pool.geometry.planes_per_row));
        match config.pools.count() {
            1 => self.totals.erases * planes().sum::<u64>(),
            _ => self.worn.iter().zip(planes()).map(|(worn, planes)| worn.erases * planes).sum(),
        }
    }

    /// Retired blocks. Each plane of a multi-plane block counts.
    fn grown_bad_blocks(&self) -> u64 {
        let pools = self.ftl.config.pools.iter().enumerate();
        let blocks = pools.map(|(pool, of)| {
            self.totals.faults.get(pool).grown_bad_blocks * u64::from(of.geometry.planes_per_row)
        });
        blocks.sum()
    }

    /// A count per lookup of the map; unknown without lookups.
    fn per_lookup(&self, count: u64) -> Value {
        let look_ups = self.totals.map_hits + self.totals.map_misses;
        (look_ups > 0).then(|| count as f64 / look_ups as f64).into()
    }

    /// Mean size of the sub-requests sent to the first pool, or to the other pools; unknown without any.
    fn mean_sent(&self, pool: usize) -> Value {
        let (count, bytes) = (self.sent.sent[pool], self.sent.sent_bytes[pool]);
        (count > 0).then(|| bytes as f64 / count as f64).into()
    }
}

/// A metric and the function that computes it.
type Derived = (Metric, fn(&Since) -> Value);

/// A derived metric.
const fn derived(name: &'static str, unit: Unit, meaning: &'static str, of: fn(&Since) -> Value) -> Derived {
    (Metric::new(name, unit, meaning), of)
}

/// The metrics of every device that are not counters.
const DERIVED: &[Derived] = &[
    derived("flash.reads", Unit::Pages, "Flash pages read, for whatever reason.", |d| {
        let t = &d.totals;
        let of_host = t.host_reads + t.rmw_reads + t.read_ahead_reads;
        (of_host + t.gc_reads + t.translation_reads + d.guess_reads()).into()
    }),
    derived("flash.programs", Unit::Pages, "Flash pages programmed, padding included.", |d| {
        d.pages_programmed().into()
    }),
    derived(
        "flash.pages_consumed",
        Unit::LogicalPages,
        "Room that programs took: all logical pages programmed and padding, without those that replaced a page of a word line that \
         was programmed again. ReSSD's physical page consumption.",
        |d| (d.programmed() - d.totals.reprogrammed).into(),
    ),
    derived(
        "flash.pages_consumed_by_host",
        Unit::LogicalPages,
        "Of these, by host pages and padding.",
        |d| (d.totals.host_programs + d.totals.padding - d.totals.reprogrammed).into(),
    ),
    derived(
        "flash.pages_consumed_by_relocation",
        Unit::LogicalPages,
        "Of these, by relocated pages: of garbage collection, and programmed together with host pages.",
        |d| (d.totals.gc_programs + d.totals.unit_programs).into(),
    ),
    derived(
        "flash.free_pages",
        Unit::LogicalPages,
        "Logical pages that could be programmed at the end without an erase, in free and in open blocks.",
        |d| d.ftl.blocks.free_pages().into(),
    ),
    derived(
        "flash.gc_moving_victims",
        Unit::BlockSets,
        "Blocks erased after relocation of valid pages.",
        |d| d.totals.erases.saturating_sub(d.totals.gc_empty_victims).into(),
    ),
    derived("flash.erases", Unit::Blocks, "Blocks erased.", |d| d.blocks_erased().into()),
    derived(
        "flash.programmed_bytes",
        Unit::Bytes,
        "Bytes of logical pages programmed, for whatever reason.",
        |d| d.bytes(d.programmed()),
    ),
    derived("flash.host_bytes", Unit::Bytes, "Bytes of pages programmed for the host.", |d| {
        d.bytes(d.totals.host_programs)
    }),
    derived(
        "flash.unit_bytes",
        Unit::Bytes,
        "Bytes of pages programmed because others of their unit were written, in a pool that is mapped by whole units, or because a design sent them there alone from another pool.",
        |d| d.bytes(d.totals.unit_programs),
    ),
    derived("flash.gc_bytes", Unit::Bytes, "Bytes of pages programmed by garbage collection.", |d| {
        d.bytes(d.totals.gc_programs)
    }),
    derived("flash.padding_bytes", Unit::Bytes, "Bytes of padding pages.", |d| d.bytes(d.totals.padding)),
    derived(
        "flash.translation_bytes",
        Unit::Bytes,
        "Bytes of translation pages programmed because they changed.",
        |d| d.bytes(d.totals.translation_programs),
    ),
    derived("flash.map_hit_ratio", Unit::Fraction, "Hits of all lookups; null without any.", |d| {
        d.per_lookup(d.totals.map_hits)
    }),
    derived(
        "flash.translation_reads_per_lookup",
        Unit::Ratio,
        "Pages read for translation pages, for each lookup of the map; null without any.",
        |d| d.per_lookup(d.totals.translation_reads),
    ),
    derived(
        "flash.effective_spare",
        Unit::Fraction,
        "Part of the capacity in good blocks that holds nothing valid at the end: the over-provisioning, and what the host \
         never wrote or discarded.",
        |d| d.ftl.effective_spare().into(),
    ),
    derived(
        "flash.valid_share",
        Unit::Fraction,
        "Valid data at the end as a part of all flash, bad blocks included. Centaur's equation 2.",
        |d| d.ftl.fullness().share().into(),
    ),
    derived("faults.grown_bad_blocks", Unit::Blocks, "Blocks retired during the run.", |d| {
        d.grown_bad_blocks().into()
    }),
    derived(
        "programs_per_host_program",
        Unit::Ratio,
        "Pages programmed for the host and by the collector for each page programmed for the host: what garbage collection \
         costs. Where the host writes whole pages, one at a time, it is the write amplification of analytic models; null \
         if nothing was programmed.",
        |d| write_amplification(d.totals.host_programs + d.totals.gc_programs, d.totals.host_programs).into(),
    ),
    derived("energy_joules", Unit::Joules, "Energy of all flash operations and idle time.", |d| {
        d.joules.into()
    }),
];

/// Metrics of devices with several pools. A sub-request is the pages of a unit of consecutive logical pages
/// that left the buffer together.
const OF_POOLS: &[Derived] = &[
    derived("sub_requests.to_first", Unit::Count, "Sent to the first pool by the router.", |d| {
        d.sent.sent[0].into()
    }),
    derived("sub_requests.to_first_bytes", Unit::Bytes, "Bytes of these that the host wrote.", |d| {
        d.sent.sent_bytes[0].into()
    }),
    derived(
        "sub_requests.to_first_mean_bytes",
        Unit::Bytes,
        "The mean of these bytes; null without any.",
        |d| d.mean_sent(0),
    ),
    derived("sub_requests.to_others", Unit::Count, "Sent to another pool by the router.", |d| {
        d.sent.sent[1].into()
    }),
    derived("sub_requests.to_others_bytes", Unit::Bytes, "Bytes of these that the host wrote.", |d| {
        d.sent.sent_bytes[1].into()
    }),
    derived(
        "sub_requests.to_others_mean_bytes",
        Unit::Bytes,
        "The mean of these bytes; null without any.",
        |d| d.mean_sent(1),
    ),
    derived(
        "sub_requests.redirected",
        Unit::Count,
        "Sub-requests that the first pool took because their own pool was full.",
        |d| d.sent.redirected.into(),
    ),
    derived("sub_requests.stolen", Unit::Count, "Stolen from the first pool's queue by another pool.", |d| {
        d.sent.stolen.into()
    }),
    derived(
        "sub_requests.migrated_units",
        Unit::Count,
        "Units migrated to the first pool because a victim of another pool held some of their pages.",
        |d| d.sent.migrated.into(),
    ),
    derived(
        "sub_requests.migrated_pages",
        Unit::LogicalPages,
        "Pages of these that left the other pool.",
        |d| d.sent.migrated_pages.into(),
    ),
    derived(
        "sub_requests.condition_bytes",
        Unit::Bytes,
        "The smallest size of sub-requests to the first pool, at the end; null where sizes do not decide.",
        |d| d.ftl.policies.min_size_for_first_pool().map(|size| size.0).into(),
    ),
];

/// Metrics of devices whose mapper guesses, in addition to the counters.
const OF_GUESSES: &[Derived] = &[derived(
    "map_guesses.accuracy",
    Unit::Fraction,
    "Right guesses of all guesses of the map; null without any.",
    |d| {
        let guesses = d.guesses.as_ref().filter(|guesses| guesses.made > 0);
        guesses.map(|guesses| guesses.right as f64 / guesses.made as f64).into()
    },
)];

/// All metrics that devices may have.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    let derived = DERIVED.iter().chain(OF_POOLS).chain(OF_GUESSES).map(|(metric, _)| metric);
    Totals::METRICS.iter().chain(Counts::METRICS).chain(GuessCounts::METRICS).chain(derived)
}

/// The metric with this name.
///
/// # Panics
/// If there is none.
pub fn of_name(name: &str) -> Metric {
    *all().find(|metric| metric.name == name).expect("a metric of this name")
}

/// Metrics of a device with these engines, from `mark` to `now`.
pub(crate) fn since(core: &Core, writer: &Writer, mark: &Mark, now: Instant) -> Metrics {
    let (ftl, since) = (&core.ftl, Since::new(core, writer, mark, now));
    let mut metrics = Metrics::default();
    since.totals.add_to(&mut metrics);
    since.flash.add_to(&mut metrics);
    let of_pools = if ftl.config.pools.count() > 1 { OF_POOLS } else { &[] };
    let of_guesses = if since.guesses.is_some() { OF_GUESSES } else { &[] };
    if let Some(guesses) = &since.guesses {
        guesses.add_to(&mut metrics);
    }
    DERIVED
        .iter()
        .chain(of_pools)
        .chain(of_guesses)
        .for_each(|(metric, of)| metrics.add(*metric, of(&since)));
    for (n, (metric, value)) in ftl.policies.designs.measure().enumerate() {
        let before = mark.designs.get(n).map_or(Value::Absent, |(_, value)| *value);
        metrics.add(*metric, value.since(before));
    }
    metrics
}

/// The charts of designs for the time since `mark`.
pub(crate) fn charts_since(ftl: &Ftl, mark: &Mark) -> Vec<(&'static str, ChartData)> {
    let before = |design: &str, drawn: &ChartData| {
        let of_before =
            |(other, before): &&(&str, ChartData)| *other == design && before.chart == drawn.chart;
        mark.charts.iter().find(of_before).map(|(_, before)| before)
    };
    let since = |(design, drawn): (&'static str, ChartData)| {
        let before = before(design, &drawn);
        (design, drawn.since(mark.at, before))
    };
    ftl.policies.designs.charts().map(since).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own_and_a_sentence() {
        let names: BTreeSet<&str> = all().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all().count());
        for metric in all() {
            assert!(metric.meaning.ends_with('.'), "{}: {}", metric.name, metric.meaning);
        }
    }
}
