//! Metrics of the device since a point in time.

use wordline_device::detail::{Detail, DieDetail, PoolDetail, bus_waits};
use wordline_device::lifetime::PoolWear;
use wordline_device::physical_device::{ChunkState, Operation};
use wordline_flash as flash;
use wordline_flash::faults::Faults;
use wordline_kernel::metrics::Unit;
use wordline_kernel::{Duration, Instant, Metric, Metrics, counters};
use wordline_nand::{BlockSetId, DieTimes, EnergyReport, Pool};

use super::OpenChannel;
use super::chunks::ChunkId;
use super::failures::{memory, table};
use super::in_flight::InFlight;
use super::latency::{RetryTotals, SpanTotals};

counters! {
    /// Counts of events since the device was created.
    pub struct Counts {
        reads: "vector.reads", Count, "Vector reads taken.";
        writes: "vector.writes", Count, "Vector writes taken.";
        resets: "vector.resets", Count, "Vector resets taken.";
        copies: "vector.copies", Count, "Vector copies taken.";
        flushes: "vector.flushes", Count, "Flushes taken.";
        blocks_read: "vector.blocks_read", Count, "Logical blocks requested by reads.";
        blocks_unreadable: "vector.blocks_unreadable", Count, "Logical blocks of these that could not be read.";
        programs: "vector.programs", Count, "Host program commands that ended, including failed ones.";
        blocks_written: "vector.blocks_written", Count, "Logical blocks that were programmed.";
        early_closes: "vector.early_closes", Count, "Chunks that were closed because a program failed.";
        blocks_lost: "vector.blocks_lost", Count, "Logical blocks whose write completed and that are lost: their program failed, or the power was cut.";
        program_failures: "vector.program_failures", Count, "Program commands that failed.";
        erase_failures: "vector.erase_failures", Count, "Erases for resets that failed.";
        recovered: "failures.recovered", Count, "Failed programs that the device recovered.";
        migrated: "failures.migrated", Count, "Chunks whose pages were migrated into one block.";
        copied_first: "failures.copied_first", Pages, "Copies of a die for which a failed program waited.";
        repair_programs: "failures.programs", Count, "Program commands that copied pages within the device, or padded chunks.";
        reserve_erases: "failures.erases", Count, "Erases of reserve blocks.";
        journal_programs: "failures.journal_programs", Count, "Program commands that recorded changes of the tables.";
        journal_erases: "failures.journal_erases", Count, "Erases of blocks of the journals.";
        chunks_reset: "vector.chunks_reset", Count, "Chunks that were erased.";
        reset_failures: "vector.reset_failures", Count, "Chunks that went offline when they were reset.";
    }
}

impl Counts {
    /// Counts a command that was started.
    pub(super) fn count(&mut self, command: &InFlight) {
        let blocks = command.blocks.len() as u64;
        match command.operation {
            Operation::Read => {
                self.reads += 1;
                self.blocks_read += blocks;
            }
            Operation::Write => self.writes += 1,
            Operation::Reset => self.resets += 1,
            Operation::Copy => self.copies += 1,
            Operation::Flush => self.flushes += 1,
            Operation::Close => {}
        }
    }

    /// Number of program commands that have ended.
    pub(super) fn all_programs(&self) -> u64 {
        self.programs + self.repair_programs + self.journal_programs
    }
}

const SENSED: Metric = Metric::new("vector.pages_sensed", Unit::Pages, "Pages of flash that were sensed.");
const PROGRAMS: Metric = Metric::new("flash.programs", Unit::Pages, "Pages programmed, padding included.");
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
    let of_flash = [&SENSED, &PROGRAMS, &ERASES, &ENERGY, &RESERVE, &LISTS, &BUFFER_USE];
    let spans = WRITE_ANSWERS.iter().chain(&RETRIES).chain(&TABLES);
    Counts::METRICS.iter().chain(flash::Counts::METRICS).chain(of_flash).chain(spans).chain(&IN_STATE)
}

/// Counts at a point in time.
#[derive(Clone, Debug)]
pub struct Mark {
    counts: Counts,
    write_answers: SpanTotals,
    retries: RetryTotals,
    flash: flash::Counts,
    chips: wordline_nand::chips::Counts,
    energy: EnergyReport,
    worn: PoolWear,
    links: Vec<Duration>,
    buses: Vec<Duration>,
    arrays: Vec<Duration>,
    dies: Vec<DieTimes>,
    bus_waits: Duration,
}

impl OpenChannel {
    pub(super) fn mark_now(&self, now: Instant) -> Mark {
        Mark {
            counts: self.counts.clone(),
            write_answers: self.commands.write_answers.now(),
            retries: self.repairs.as_ref().map(|repairs| repairs.retries.now()).unwrap_or_default(),
            flash: self.flash.counts().clone(),
            chips: self.chips().counts(),
            energy: self.chips().energy(now - Instant::ZERO),
            worn: self.worn(),
            links: self.link.as_ref().map_or_else(Vec::new, |link| link.busy(now)),
            buses: self.chips().bus_busy(now).map(Duration::from_ps).collect(),
            arrays: self.chips().array_busy(now).map(Duration::from_ps).collect(),
            dies: self.chips().die_times(now).collect(),
            bus_waits: bus_waits(self.chips()),
        }
    }

    pub(super) fn metrics_since(&self, mark: &Mark, now: Instant) -> Metrics {
        let (chips, before) = (self.chips().counts(), &mark.chips);
        let planes = u64::from(self.config.pools.first().geometry.planes_per_row);
        let mut metrics = Metrics::default();
        self.counts.since(&mark.counts).add_to(&mut metrics);
        self.flash.counts().since(&mark.flash).add_to(&mut metrics);
        metrics.add(SENSED, chips.pages_read - before.pages_read);
        metrics.add(PROGRAMS, chips.pages_programmed - before.pages_programmed);
        metrics.add(ERASES, (chips.block_sets_erased - before.block_sets_erased) * planes);
        metrics.add(ENERGY, self.chips().energy(now - Instant::ZERO).since(&mark.energy).total().joules());
        for (metric, state) in IN_STATE.iter().zip(ChunkState::ALL) {
            let count = self.chunks.iter().filter(|(_, entry)| entry.state == state).count();
            metrics.add(*metric, count as u64);
        }
        let retries = self.repairs.as_ref().map(|repairs| repairs.retries.since(mark.retries));
        let (retries, buffer_use) = retries.unwrap_or_default();
        let completions = self.commands.write_answers.since(mark.write_answers);
        for (of, spans) in [(WRITE_ANSWERS, completions), (RETRIES, retries)] {
            of.into_iter().zip(spans).for_each(|(metric, span)| metrics.add(metric, span));
        }
        metrics.add(BUFFER_USE, buffer_use);
        let manager = self.failures();
        for (metric, bytes) in TABLES.iter().zip(self.table_bytes()) {
            metrics.add(*metric, bytes);
        }
        metrics.add(RESERVE, manager.map_or(0, |manager| manager.reserve_blocks()) as u64);
        metrics.add(LISTS, manager.map_or(0, |manager| manager.lists().count()) as u64);
        metrics
    }

    /// Memory of the block map, of the shift table, and of a page map.
    fn table_bytes(&self) -> [u64; 3] {
        let geometry = &self.config.pools.first().geometry;
        let blocks = u64::from(geometry.block_sets());
        let pages = self.config.geometry.blocks_per_chunk / self.config.geometry.ws_min;
        let [map, shift] = memory(blocks, pages).map(|bytes| bytes.0);
        let all_pages = blocks * u64::from(pages);
        let (has_map, shifts) =
            (self.failures().is_some(), self.failures().is_some_and(|manager| manager.shifts()));
        [map * u64::from(has_map), shift * u64::from(shifts), table(all_pages, all_pages).0]
    }

    pub(super) fn detail_since(&self, mark: &Mark, now: Instant) -> Detail {
        let now = self.mark_now(now);
        let energy = now.energy.since(&mark.energy);
        let since = |now: Vec<Duration>, before: &[Duration]| -> Vec<Duration> {
            now.into_iter().zip(before).map(|(now, before)| now - *before).collect()
        };
        Detail {
            energy,
            pools: vec![self.pool_detail(mark, &now, &energy)],
            dies: now.dies.iter().zip(&mark.dies).map(|(now, before)| now.since(before)).collect(),
            bus_waits: now.bus_waits.saturating_sub(mark.bus_waits),
            links: since(now.links, &mark.links),
            buses: since(now.buses, &mark.buses),
            arrays: since(now.arrays, &mark.arrays),
            ..Detail::default()
        }
    }

    fn pool_detail(&self, mark: &Mark, now: &Mark, energy: &EnergyReport) -> PoolDetail {
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
        metrics.add(wordline_device::detail::ENERGY_OF_POOL, energy.total().joules());
        let written = self.chunks.iter().map(|(_, entry)| u64::from(entry.programmed)).sum::<u64>();
        PoolDetail {
            part: part.name.clone(),
            bytes: geometry.capacity().0,
            page_size: geometry.page_size.0,
            planes: geometry.planes_per_row,
            programs: now.chips.pages_programmed - mark.chips.pages_programmed,
            worn: now.worn.since(mark.worn),
            // The device does not know which data its host has invalidated.
            valid_share: written as f64 / f64::from(self.config.pools.locations()),
            metrics,
            dies: geometry.all_dies().map(|die| self.die_detail(die)).collect(),
        }
    }

    fn die_detail(&self, die: wordline_nand::DieId) -> DieDetail {
        let geometry = &self.config.pools.first().geometry;
        let blocks = geometry.groups_of(die).flat_map(|row| geometry.blocks_of(row));
        let erases = self.chips().erases();
        let unit = die.0 * self.config.geometry.chunks_per_unit;
        let chunks = (unit..unit + self.config.geometry.chunks_per_unit).map(ChunkId);
        let offline = chunks.filter(|chunk| self.chunks.get(*chunk).state == ChunkState::Offline);
        let offline: Vec<BlockSetId> = offline.map(|chunk| self.block_of(chunk)).collect();
        let is_out = |block| offline.contains(&block);
        DieDetail { blocks: blocks.map(|block| (erases[block], is_out(block))).collect() }
    }

    /// Wear of the chunks.
    pub fn worn(&self) -> PoolWear {
        let Pool { part, geometry, .. } = self.config.pools.first();
        let erases = self.chips().erases().iter().map(|erases| u64::from(*erases)).sum();
        PoolWear { erases, blocks: u64::from(geometry.block_sets()), endurance: part.endurance }
    }
}
