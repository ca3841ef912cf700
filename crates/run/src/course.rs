//! Time series of the flash over simulated time: die utilisation, free blocks, and valid pages of GC victims.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::{BlockDevice, Gauges};
use wordline_kernel::{Duration, Instant};

/// Readings of a device during a run: the first reading taken in each window.
#[derive(Debug)]
pub struct Readings {
    width: Duration,
    /// Time and values of each reading. A window without a completion repeats the previous reading.
    taken: Vec<(Instant, Gauges)>,
}

/// Time series of the flash, in the windows of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// Free multi-plane blocks as a fraction of the good ones, at the beginning of each window; empty if the
    /// device does not report them.
    pub free: Vec<f64>,
    /// Logical pages of the GC victims erased in each window.
    pub victim_pages: Vec<u64>,
    /// Pages of those victims that were valid when GC selected them.
    pub victim_valid_pages: Vec<u64>,
    /// Utilisation of the die arrays.
    pub dies: DieMap,
}

/// Utilisation of the die arrays over simulated time. With many dies or windows, neighbours share a row or
/// column.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DieMap {
    /// Dies per row.
    pub dies_a_row: u64,
    /// Windows per column.
    pub windows_a_column: u64,
    /// Array busy time in whole per cent, by row, then by column.
    pub busy_percent: Vec<Vec<u8>>,
}

/// Size limits of the die map. Chosen: the resolution of a chart as wide as the text, and about 20 KB in a
/// result.
const MOST_COLUMNS: usize = 96;
const MOST_ROWS: usize = 64;

impl Readings {
    /// Takes the first reading of a run whose windows begin with this width.
    pub fn begin(device: &impl BlockDevice, begin: Instant, width: Duration) -> Self {
        Self { width, taken: vec![(begin, device.gauges(begin))] }
    }

    /// The reading at the beginning of the run.
    pub fn first(&self) -> &Gauges {
        &self.taken[0].1
    }

    /// Whether there is a reading for each of `windows` windows of this width.
    #[inline]
    pub fn are_complete(&self, windows: usize, width: Duration) -> bool {
        self.taken.len() == windows && self.width == width
    }

    /// Reads the device for the last of `windows` windows of this width.
    #[cold]
    pub fn take(&mut self, device: &impl BlockDevice, now: Instant, windows: usize, width: Duration) {
        if width > self.width {
            let joined = (width.ps() / self.width.ps()) as usize;
            self.taken = std::mem::take(&mut self.taken).into_iter().step_by(joined).collect();
        }
        self.width = width;
        let Some(last) = windows.checked_sub(1) else { return };
        self.taken.truncate(last);
        if let Some(before) = self.taken.last().cloned() {
            self.taken.resize(last, before);
        }
        let reading = (now, device.gauges(now));
        self.taken.resize(windows, reading);
    }

    /// The time series of a run; `end` is its last reading.
    pub fn course(&self, end: (Instant, Gauges)) -> Course {
        let all: Vec<&(Instant, Gauges)> = self.taken.iter().chain([&end]).collect();
        if all.iter().any(|(_, gauges)| gauges.good_blocks == 0) {
            return Course::default();
        }
        let windows = self.taken.len();
        let free = self.taken.iter().map(|(_, gauges)| part(gauges.free_blocks, gauges.good_blocks));
        let in_each = |of: fn(&Gauges) -> u64| {
            all.windows(2).map(|pair| of(&pair[1].1).saturating_sub(of(&pair[0].1))).collect()
        };
        Course {
            free: free.collect(),
            victim_pages: in_each(|gauges| gauges.victim_pages),
            victim_valid_pages: in_each(|gauges| gauges.victim_valid_pages),
            dies: DieMap::of(&all, windows),
        }
    }
}

/// A fraction rounded to three digits, the resolution of a chart.
fn part(count: u64, all: u64) -> f64 {
    (count as f64 / all as f64 * 1e3).round() / 1e3
}

impl DieMap {
    /// The map from readings at the beginning of each window and at the end of the last one.
    fn of(readings: &[&(Instant, Gauges)], windows: usize) -> Self {
        let dies = readings.first().map_or(0, |(_, gauges)| gauges.arrays.len());
        let (dies_a_row, windows_a_column) =
            (dies.div_ceil(MOST_ROWS).max(1), windows.div_ceil(MOST_COLUMNS).max(1));
        let row = |first: usize| {
            let of_row = first..(first + dies_a_row).min(dies);
            let columns = (0..windows).step_by(windows_a_column);
            columns.map(|begin| busy(readings, begin, begin + windows_a_column, of_row.clone())).collect()
        };
        Self {
            dies_a_row: dies_a_row as u64,
            windows_a_column: windows_a_column as u64,
            busy_percent: (0..dies).step_by(dies_a_row).map(row).collect(),
        }
    }
}

/// Busy time of some dies between two readings, in per cent. A window that repeats the previous reading is
/// evaluated over the longer interval between distinct readings that contains it.
fn busy(readings: &[&(Instant, Gauges)], begin: usize, end: usize, dies: std::ops::Range<usize>) -> u8 {
    let end = end.min(readings.len() - 1);
    let last_before = || (0..begin).rev().find(|n| readings[*n].0 < readings[begin].0).unwrap_or(0);
    let (begins, ends) = match (end..readings.len()).find(|n| readings[*n].0 > readings[begin].0) {
        Some(ends) => (begin, ends),
        None => (last_before(), end),
    };
    let ((from, before), (to, after)) = (readings[begins], readings[ends]);
    let time = to.since(*from).ps() * dies.len() as u64;
    let worked: u64 = dies.map(|die| after.arrays[die].saturating_sub(before.arrays[die]).ps()).sum();
    if time == 0 { 0 } else { (worked as f64 / time as f64 * 100.0).round() as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64, busy: [u64; 2], free: u64, valid: u64, pages: u64) -> (Instant, Gauges) {
        let gauges = Gauges {
            arrays: busy.map(Duration::from_us).to_vec(),
            free_blocks: free,
            good_blocks: 10,
            buffered_pages: 0,
            victim_pages: pages,
            victim_valid_pages: valid,
        };
        (Instant::ZERO + Duration::from_us(us), gauges)
    }

    #[test]
    fn windows_have_the_parts_of_their_time() {
        let readings = Readings {
            width: Duration::from_us(10),
            taken: vec![at(0, [0, 0], 5, 0, 0), at(10, [10, 0], 4, 0, 0), at(20, [15, 2], 3, 4, 16)],
        };
        let course = readings.course(at(25, [20, 2], 2, 4, 16));
        assert_eq!(course.free, [0.5, 0.4, 0.3]);
        assert_eq!((course.victim_valid_pages, course.victim_pages), (vec![0, 4, 0], vec![0, 16, 0]));
        assert_eq!(course.dies.busy_percent, [vec![100, 50, 100], vec![0, 20, 0]]);
    }

    #[test]
    fn a_window_without_an_answer_has_what_is_around_it() {
        let begin = at(0, [0, 0], 5, 0, 0);
        let readings = Readings {
            width: Duration::from_us(10),
            taken: vec![begin.clone(), begin, at(20, [10, 20], 5, 0, 0)],
        };
        let course = readings.course(at(30, [10, 20], 5, 0, 0));
        assert_eq!(course.dies.busy_percent, [vec![50, 50, 0], vec![100, 100, 0]]);
    }

    #[test]
    fn a_gap_has_the_work_of_the_gap() {
        let worked = at(10, [10, 5], 5, 0, 0);
        let readings = Readings {
            width: Duration::from_us(10),
            taken: vec![at(0, [0, 0], 5, 0, 0), worked.clone(), worked.clone(), worked],
        };
        let course = readings.course(at(50, [14, 5], 5, 0, 0));
        assert_eq!(course.dies.busy_percent, [vec![100, 10, 10, 10], vec![50, 0, 0, 0]]);
    }

    #[test]
    fn many_dies_and_windows_are_put_together() {
        let gauges =
            |n: u64| Gauges { arrays: vec![Duration::from_us(n); 130], good_blocks: 1, ..Gauges::default() };
        let taken = (0..200).map(|n| (Instant::ZERO + Duration::from_us(2 * n), gauges(n))).collect();
        let readings = Readings { width: Duration::from_us(2), taken };
        let dies = readings.course((Instant::ZERO + Duration::from_us(400), gauges(200))).dies;
        assert_eq!((dies.dies_a_row, dies.windows_a_column), (3, 3));
        assert_eq!((dies.busy_percent.len(), dies.busy_percent[0].len()), (44, 67));
        assert!(dies.busy_percent.iter().flatten().all(|busy| *busy == 50));
    }

    #[test]
    fn a_device_that_tells_nothing_has_no_course() {
        let begin = (Instant::ZERO, Gauges::default());
        let readings = Readings { width: Duration::from_us(1), taken: vec![begin.clone()] };
        let course = readings.course(begin);
        assert!(course.free.is_empty() && course.dies.busy_percent.is_empty());
    }
}
