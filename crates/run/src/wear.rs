//! Wear of the blocks in a run.

use wordline_device::block_device::Shape;
use wordline_device::detail::{DieDetail, PoolDetail};
use wordline_device::lifetime;

use crate::summary::{DieWear, Wear};

/// Greatest number of values in a wear map: a chart of 256 by 256 cells.
const MOST_VALUES: usize = 65_536;

/// Bytes of a terabyte, the unit of drive endurance.
pub const TERABYTE: f64 = 1e12;

/// The wear after a run. The host wrote `written` bytes to a device of this shape, and `programmed` of them
/// left the write buffer.
pub fn of(pools: &[PoolDetail], [written, programmed]: [u64; 2], shape: &Shape) -> Wear {
    let spent = lifetime::spent(pools.iter().map(|pool| pool.worn));
    let erased: u64 = pools.iter().map(|pool| pool.worn.erases).sum();
    let blocks = || pools.iter().flat_map(|pool| &pool.dies).flat_map(|die| &die.blocks);
    let erases: Vec<u32> = blocks().map(|(erases, _)| *erases).collect();
    let group = blocks_a_value(pools);
    // A value never covers blocks of two pools.
    let values = pools.iter().flat_map(|pool| {
        let erases: Vec<u32> = self::erases(pool).collect();
        erases.chunks(group).map(mean).collect::<Vec<_>>()
    });
    let (mut bad_blocks, mut good) = (0, 0.0);
    for pool in pools {
        let bad: u64 = pool.dies.iter().map(bad).sum();
        let all: usize = pool.dies.iter().map(|die| die.blocks.len()).sum();
        bad_blocks += bad * u64::from(pool.planes);
        good += pool.bytes as f64 * (1.0 - bad as f64 / all.max(1) as f64);
    }
    let capacity = shape.capacity.0 as f64;
    Wear {
        min: erases.iter().copied().min().unwrap_or(0),
        max: erases.iter().copied().max().unwrap_or(0),
        mean: mean(&erases),
        variation: variation(blocks().copied()),
        bad_blocks,
        spare: if good > 0.0 { 1.0 - capacity / good } else { -1.0 },
        terabytes_written: written as f64 / TERABYTE,
        drive_writes: written as f64 / capacity,
        terabytes_expected: (spent > 0.0 && programmed > 0).then(|| programmed as f64 / TERABYTE / spent),
        years_expected: None,
        drive_writes_per_day: None,
        endurance_used: spent,
        run_erases: erased as f64 / erases.len().max(1) as f64,
        dies: pools.iter().flat_map(|pool| pool.dies.iter().map(|die| of_die(die, pool.planes))).collect(),
        erases: values.collect(),
    }
}

/// Seconds of a day, and days of a year, as endurance ratings count them (JESD218).
const DAY: f64 = 86_400.0;
const YEAR: f64 = 365.0;

impl Wear {
    /// Adds the life expectancy, at the write rate of a run with this many seconds in service.
    pub(crate) fn with_rates(self, seconds: f64) -> Self {
        if seconds <= 0.0 {
            return self;
        }
        let per_day = self.terabytes_written / seconds * DAY;
        let days = self.terabytes_expected.filter(|_| per_day > 0.0).map(|expected| expected / per_day);
        Self {
            years_expected: days.map(|days| days / YEAR),
            drive_writes_per_day: Some(self.drive_writes / seconds * DAY),
            ..self
        }
    }
}

/// The erases of each block of a pool.
pub fn erases(pool: &PoolDetail) -> impl Iterator<Item = u32> + '_ {
    pool.dies.iter().flat_map(|die| &die.blocks).map(|(erases, _)| *erases)
}

/// Number of blocks per value of a wear map; a value is their mean.
pub fn blocks_a_value(pools: &[PoolDetail]) -> usize {
    let blocks: usize = pools.iter().flat_map(|pool| &pool.dies).map(|die| die.blocks.len()).sum();
    blocks.div_ceil(MOST_VALUES).max(1)
}

/// Number of a die's blocks that are out of service. Blocks that are erased together count as one.
pub fn bad(die: &DieDetail) -> u64 {
    die.blocks.iter().filter(|(_, is_bad)| *is_bad).count() as u64
}

fn of_die(die: &DieDetail, planes: u32) -> DieWear {
    let erases: Vec<u32> = die.blocks.iter().map(|(erases, _)| *erases).collect();
    DieWear { erases: mean(&erases), bad_blocks: bad(die) * u64::from(planes) }
}

fn mean(values: &[u32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len().max(1) as f64
}

/// Coefficient of variation of the erases of all blocks that were ever in service.
fn variation(blocks: impl Iterator<Item = (u32, bool)>) -> Option<f64> {
    let used = blocks.filter(|(erases, is_bad)| *erases > 0 || !is_bad);
    let used: Vec<u32> = used.map(|(erases, _)| erases).collect();
    let mean = mean(&used);
    let squares: f64 =
        used.iter().map(|erases| (f64::from(*erases) - mean) * (f64::from(*erases) - mean)).sum();
    (mean > 0.0).then(|| libm::sqrt(squares / used.len() as f64) / mean)
}
