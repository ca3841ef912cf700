//! Metrics of the device since a point in time.

use std::collections::BTreeSet;

use wordline_device::detail::{Detail, DieDetail, PoolDetail, bus_waits};
use wordline_device::lifetime::PoolWear;
use wordline_device::physical_device::ChunkState;
use wordline_flash as flash;
use wordline_flash::faults::Faults;
use wordline_kernel::metrics::Unit;
use wordline_kernel::{Duration, Instant, Metric, Metrics};
use wordline_nand::{BlockSetId, DieTimes, EnergyReport, Pool};

use super::chunks::{ChunkId, Chunks};
use super::config::OpenChannelConfig;
use super::counts::Counts;
use super::die_work::Repairs;
use super::failures::{Manager, memory, table};
use super::host::Host;
use super::latency::{RetryTotals, SpanTotals};
use super::media::Media;

const SENSED: Metric = Metric::new("vector.pages_sensed", Unit::Pages, "Pages of flash that were sensed.");
const PROGRAMS: Metric =
    Metric::new("flash.programs", Unit::Pages, "Flash pages programmed, padding included.");
const OWN_BYTES: Metric = Metric::new(
    "flash.device_bytes",
    Unit::Bytes,
    "Bytes that the device programmed beside the data of its host: copies and padding of the failure manager, its journals, and repetitions of failed programs.",
);
const ERASES: Metric = Metric::new("flash.erases", Unit::Blocks, "Blocks erased.");
const ENERGY: Metric =
    Metric::new("energy_joules", Unit::Joules, "Energy of all flash operations and idle time.");
const RESERVE: Metric = Metric::new(
    "failures.reserve_blocks",
    Unit::Blocks,
    "Block sets in reserve at the end, over all parallel units.",
);
/// Memory of the tables, computed as in FT-PASSD.
const TABLES: [Metric; 3] = [
    Metric::new(
        "failures.map_bytes",
        Unit::Bytes,
        "Memory of the block map, in the bits that distinguish its blocks; 0 without a manager.",
    ),
    Metric::new(
        "failures.shift_bytes",
        Unit::Bytes,
        "Memory of the shift table, in the bits that distinguish the pages of a block; 0 without shifts.",
    ),
    Metric::new(
        "failures.page_map_bytes",
        Unit::Bytes,
        "Memory of a page map computed in the same way, for comparison.",
    ),
];
const LISTS: Metric =
    Metric::new("failures.open_lists", Unit::Count, "Chunks whose pages are in several blocks at the end.");
const WRITE_ANSWERS: [Metric; 2] = [
    Metric::new(
        "vector.write_mean",
        Unit::Microseconds,
        "Mean latency of vector writes; null without writes.",
    ),
    Metric::new(
        "vector.write_max",
        Unit::Microseconds,
        "Maximum latency of vector writes; null without writes.",
    ),
];
const RETRIES: [Metric; 2] = [
    Metric::new(
        "failures.retry_mean",
        Unit::Microseconds,
        "Mean time from a failed program until its data were in flash; null without one.",
    ),
    Metric::new(
        "failures.retry_max",
        Unit::Microseconds,
        "Longest time from a failed program until its data were in flash; null without one.",
    ),
];
const BUFFER_USE: Metric = Metric::new(
    "failures.buffer_use",
    Unit::Fraction,
    "Mean occupancy of the parallel unit's buffer at program failures; null without a failure.",
);
const IN_STATE: [Metric; 4] = [
    Metric::new("chunks.free", Unit::Count, "Chunks that are free at the end."),
    Metric::new("chunks.open", Unit::Count, "Chunks that are open at the end."),
    Metric::new("chunks.closed", Unit::Count, "Chunks that are closed at the end."),
    Metric::new("chunks.offline", Unit::Count, "Chunks that are out of use at the end."),
];

/// All metrics of the device.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    let of_flash = [&SENSED, &PROGRAMS, &OWN_BYTES, &ERASES, &ENERGY, &RESERVE, &LISTS, &BUFFER_USE];
    let spans = WRITE_ANSWERS.iter().chain(&RETRIES).chain(&TABLES);
    Counts::METRICS.iter().chain(flash::Counts::METRICS).chain(of_flash).chain(spans).chain(&IN_STATE)
}

/// Counts at a point in time.
#[derive(Clone, Debug)]
pub struct Mark {
    write_answers: SpanTotals,
    retries: RetryTotals,
    links: Vec<Duration>,
    media: MediaMark,
}

/// Counts of the flash at a point in time.
#[derive(Clone, Debug)]
struct MediaMark {
    counts: Counts,
    flash: flash::Counts,
    chips: wordline_nand::chips::Counts,
    energy: EnergyReport,
    worn: PoolWear,
    buses: Vec<Duration>,
    arrays: Vec<Duration>,
    dies: Vec<DieTimes>,
    bus_waits: Duration,
}

impl Mark {
    pub(super) fn new(host: &Host, repairs: Option<&Repairs>, media: &Media, now: Instant) -> Self {
        Self {
            write_answers: host.commands.write_answers.now(),
            retries: repairs.map(|repairs| repairs.retries.now()).unwrap_or_default(),
            links: host.link.as_ref().map_or_else(Vec::new, |link| link.busy(now)),
            media: media.mark(now),
        }
    }

    /// Metrics of a device with these parts since the mark.
    pub(super) fn metrics(
        &self,
        host: &Host,
        chunks: &Chunks,
        repairs: Option<&Repairs>,
        media: &Media,
        now: Instant,
    ) -> Metrics {
        let mut metrics = Metrics::default();
        media.add_metrics(&self.media, now, &mut metrics);
        for (metric, state) in IN_STATE.iter().zip(ChunkState::ALL) {
            let count = chunks.iter().filter(|(_, entry)| entry.state == state).count();
            metrics.add(*metric, count as u64);
        }
        let retries = repairs.map(|repairs| repairs.retries.since(self.retries));
        let (retries, buffer_use) = retries.unwrap_or_default();
        let completions = host.commands.write_answers.since(self.write_answers);
        for (of, spans) in [(WRITE_ANSWERS, completions), (RETRIES, retries)] {
            of.into_iter().zip(spans).for_each(|(metric, span)| metrics.add(metric, span));
        }
        metrics.add(BUFFER_USE, buffer_use);
        let manager = repairs.map(Repairs::manager);
        for (metric, bytes) in TABLES.iter().zip(table_bytes(manager, &media.config)) {
            metrics.add(*metric, bytes);
        }
        metrics.add(RESERVE, manager.map_or(0, |manager| manager.reserve_blocks()) as u64);
        metrics.add(LISTS, manager.map_or(0, |manager| manager.lists().count()) as u64);
        metrics
    }

    /// Detail of a device since the mark, which is at `now`. `pool`: the detail of its chips.
    pub(super) fn detail(
        &self,
        now: Self,
        media: &Media,
        chunks: &Chunks,
        block_of: impl Fn(ChunkId) -> BlockSetId,
    ) -> Detail {
        let (mark, links) = (&self.media, now.links);
        let now = now.media;
        let since = |now: Vec<Duration>, before: &[Duration]| -> Vec<Duration> {
            now.into_iter().zip(before).map(|(now, before)| now - *before).collect()
        };
        let energy = now.energy.since(&mark.energy);
        let programmed = chunks.iter().map(|(_, entry)| u64::from(entry.programmed)).sum();
        let offline = chunks.iter().filter(|(_, entry)| entry.state == ChunkState::Offline);
        let offline: BTreeSet<BlockSetId> = offline.map(|(chunk, _)| block_of(chunk)).collect();
        Detail {
            pools: vec![media.pool_detail(mark, &now, programmed, &offline)],
            energy,
            dies: now.dies.iter().zip(&mark.dies).map(|(now, before)| now.since(before)).collect(),
            bus_waits: now.bus_waits.saturating_sub(mark.bus_waits),
            links: since(links, &self.links),
            buses: since(now.buses, &mark.buses),
            arrays: since(now.arrays, &mark.arrays),
            ..Detail::default()
        }
    }
}

/// Memory of the block map, of the shift table, and of a page map.
fn table_bytes(manager: Option<&Manager>, config: &OpenChannelConfig) -> [u64; 3] {
    let blocks = u64::from(config.pools.first().geometry.block_sets());
    let pages = config.geometry.blocks_per_chunk / config.geometry.ws_min;
    let [map, shift] = memory(blocks, pages).map(|bytes| bytes.0);
    let all_pages = blocks * u64::from(pages);
    let (has_map, shifts) = (manager.is_some(), manager.is_some_and(Manager::shifts));
    [map * u64::from(has_map), shift * u64::from(shifts), table(all_pages, all_pages).0]
}

impl Media {
    fn mark(&self, now: Instant) -> MediaMark {
        MediaMark {
            counts: self.counts.clone(),
            flash: self.flash.counts().clone(),
            chips: self.chips().counts(),
            energy: self.chips().energy(now - Instant::ZERO),
            worn: self.worn(),
            buses: self.chips().bus_busy(now).map(Duration::from_ps).collect(),
            arrays: self.chips().array_busy(now).map(Duration::from_ps).collect(),
            dies: self.chips().die_times(now).collect(),
            bus_waits: bus_waits(self.chips()),
        }
    }

    fn add_metrics(&self, mark: &MediaMark, now: Instant, metrics: &mut Metrics) {
        let (chips, before) = (self.chips().counts(), &mark.chips);
        let planes = u64::from(self.config.pools.first().geometry.planes_per_row);
        let counts = self.counts.since(&mark.counts);
        counts.add_to(metrics);
        let bytes = self.config.geometry.block_size * self.own_blocks(&counts);
        metrics.add(OWN_BYTES, bytes.0);
        self.flash.counts().since(&mark.flash).add_to(metrics);
        metrics.add(SENSED, chips.pages_read - before.pages_read);
        metrics.add(PROGRAMS, chips.pages_programmed - before.pages_programmed);
        metrics.add(ERASES, (chips.block_sets_erased - before.block_sets_erased) * planes);
        metrics.add(ENERGY, self.chips().energy(now - Instant::ZERO).since(&mark.energy).total().joules());
    }

    /// Logical blocks of these counts that the device programmed beside the data of its host.
    pub(super) fn own_blocks(&self, counts: &Counts) -> u64 {
        counts.own_programs() * u64::from(self.unit())
    }

    /// Detail of the chips. `programmed`: programmed logical blocks of all chunks. `offline`: blocks of
    /// offline chunks.
    fn pool_detail(
        &self,
        mark: &MediaMark,
        now: &MediaMark,
        programmed: u64,
        offline: &BTreeSet<BlockSetId>,
    ) -> PoolDetail {
        let Pool { part, geometry, .. } = self.config.pools.first();
        let counts = now.counts.since(&mark.counts);
        let faults = Faults {
            program_failures: counts.program_failures,
            erase_failures: counts.erase_failures,
            read_retries: now.flash.since(&mark.flash).read_retries,
            ..Faults::default()
        };
        let mut metrics = Metrics::default();
        faults.add_to(&mut metrics);
        let energy = now.energy.since(&mark.energy);
        metrics.add(wordline_device::detail::ENERGY_OF_POOL, energy.total().joules());
        let erases = self.chips().erases();
        let die_detail = |die| {
            let blocks = geometry.groups_of(die).flat_map(|row| geometry.blocks_of(row));
            DieDetail { blocks: blocks.map(|block| (erases[block], offline.contains(&block))).collect() }
        };
        PoolDetail {
            part: part.name.clone(),
            bytes: geometry.capacity().0,
            page_size: geometry.page_size.0,
            planes: geometry.planes_per_row,
            programs: now.chips.pages_programmed - mark.chips.pages_programmed,
            worn: now.worn.since(mark.worn),
            // The device does not know which data its host has invalidated.
            valid_share: programmed as f64 / f64::from(self.config.pools.locations()),
            metrics,
            dies: geometry.all_dies().map(die_detail).collect(),
        }
    }

    /// Wear of the blocks.
    pub(super) fn worn(&self) -> PoolWear {
        let Pool { part, geometry, .. } = self.config.pools.first();
        let erases = self.chips().erases().iter().map(|erases| u64::from(*erases)).sum();
        PoolWear { erases, blocks: u64::from(geometry.block_sets()), endurance: part.endurance }
    }
}
