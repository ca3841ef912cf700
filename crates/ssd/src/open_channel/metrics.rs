//! The metrics of the device since some time.

use wordline_kernel::metrics::Unit;
use wordline_kernel::{Duration, Instant, Metric, Metrics, counters};
use wordline_nand::{EnergyReport, Pool};

use super::OpenChannel;
use crate::faults::Faults;
use crate::flash;
use crate::lifetime::Worn;
use crate::metrics::{Detail, DieDetail, PoolDetail};
use crate::physical_device::ChunkState;

counters! {
    /// The counts of the device since it was made.
    pub struct Counts {
        reads: "vector.reads", Count, "Vector reads taken.";
        writes: "vector.writes", Count, "Vector writes taken.";
        resets: "vector.resets", Count, "Vector resets taken.";
        blocks_read: "vector.blocks_read", Count, "Logical blocks that reads asked for.";
        blocks_unread: "vector.blocks_unread", Count, "Logical blocks among those that could not be read.";
        programs: "vector.programs", Count, "Program commands that ended, failed ones among them.";
        blocks_written: "vector.blocks_written", Count, "Logical blocks that were programmed.";
        early_closes: "vector.early_closes", Count, "Chunks that were closed because a program failed.";
        chunks_reset: "vector.chunks_reset", Count, "Chunks that were erased.";
        reset_failures: "vector.reset_failures", Count, "Chunks that went offline when they were reset.";
    }
}

const SENSED: Metric = Metric::new("vector.pages_sensed", Unit::Pages, "Pages of flash that were sensed.");
const PROGRAMS: Metric = Metric::new("flash.programs", Unit::Pages, "Pages programmed, padding included.");
const ERASES: Metric = Metric::new("flash.erases", Unit::Blocks, "Blocks erased.");
const ENERGY: Metric =
    Metric::new("energy_joules", Unit::Joules, "Energy of all flash operations and idle time.");
const IN_STATE: [Metric; 4] = [
    Metric::new("chunks.free", Unit::Count, "Chunks that are free at the end."),
    Metric::new("chunks.open", Unit::Count, "Chunks that are open at the end."),
    Metric::new("chunks.closed", Unit::Count, "Chunks that are closed at the end."),
    Metric::new("chunks.offline", Unit::Count, "Chunks that are out of use at the end."),
];

/// All metrics that the device has.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    let of_flash = [&SENSED, &PROGRAMS, &ERASES, &ENERGY];
    Counts::METRICS.iter().chain(flash::Counts::METRICS).chain(of_flash).chain(&IN_STATE)
}

/// The counts of the device at some time.
#[derive(Clone, Debug)]
pub struct Mark {
    counts: Counts,
    flash: flash::Counts,
    chips: wordline_nand::chips::Counts,
    energy: EnergyReport,
    worn: Worn,
    buses: Vec<Duration>,
    arrays: Vec<Duration>,
}

impl OpenChannel {
    pub(super) fn mark_now(&self, now: Instant) -> Mark {
        Mark {
            counts: self.counts.clone(),
            flash: self.flash.counts().clone(),
            chips: self.chips().counts(),
            energy: self.chips().energy(now - Instant::ZERO),
            worn: self.worn(),
            buses: self.chips().bus_busy(now).map(Duration::from_ps).collect(),
            arrays: self.chips().array_busy(now).map(Duration::from_ps).collect(),
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
        metrics
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
            buses: since(now.buses, &mark.buses),
            arrays: since(now.arrays, &mark.arrays),
            ..Detail::default()
        }
    }

    fn pool_detail(&self, mark: &Mark, now: &Mark, energy: &EnergyReport) -> PoolDetail {
        let Pool { part, geometry, .. } = self.config.pools.first();
        let counts = now.counts.since(&mark.counts);
        let faults = Faults {
            program_failures: counts.early_closes,
            erase_failures: counts.reset_failures,
            read_retries: now.flash.since(&mark.flash).read_retries,
            ..Faults::default()
        };
        let mut metrics = Metrics::default();
        faults.add_to(&mut metrics);
        metrics.add(crate::metrics::ENERGY_OF_POOL, energy.total().joules());
        let written = self.chunks.iter().map(|(_, entry)| u64::from(entry.programmed)).sum::<u64>();
        PoolDetail {
            part: part.name.clone(),
            bytes: geometry.capacity().0,
            page_size: geometry.page_size.0,
            planes: geometry.planes_per_row,
            programs: now.chips.pages_programmed - mark.chips.pages_programmed,
            worn: now.worn.since(mark.worn),
            // The device does not know what its host has no use for any more.
            valid_share: written as f64 / f64::from(self.config.pools.locations()),
            metrics,
            dies: geometry.all_dies().map(|die| self.die_detail(die)).collect(),
        }
    }

    fn die_detail(&self, die: wordline_nand::DieId) -> DieDetail {
        let geometry = &self.config.pools.first().geometry;
        let blocks = geometry.rows_of(die).flat_map(|row| geometry.blocks_of(row));
        let erases = self.chips().erases();
        let is_out = |block| self.chunks.get(block).state == ChunkState::Offline;
        DieDetail { blocks: blocks.map(|block| (erases[block], is_out(block))).collect() }
    }

    /// The wear of its chunks.
    pub fn worn(&self) -> Worn {
        let Pool { part, geometry, .. } = self.config.pools.first();
        let erases = self.chips().erases().iter().map(|erases| u64::from(*erases)).sum();
        Worn { erases, blocks: u64::from(geometry.block_sets()), endurance: part.endurance }
    }
}
