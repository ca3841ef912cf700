//! The report of a logical unit.

use wordline_kernel::{Bytes, Duration, Histogram};

use crate::chips::{Counts, Violations};
use crate::{EnergyReport, Operation, energy::StageTimes};

/// Counts, times and energy of a run of a logical unit.
#[derive(Clone, Debug)]
pub struct UnitReport {
    /// Accesses that ended.
    pub accesses: u64,
    /// Data of the host's reads and writes that ended, in whole pages.
    pub bytes: Bytes,
    /// From the beginning to the end of the last access.
    pub elapsed: Duration,
    /// From entering the queue to the end, of each access.
    pub latency: Histogram,
    /// Time in each stage, summed over dies, idle included.
    pub stages: StageTimes,
    /// Time in each stage by kind of operation.
    pub stages_by_kind: [StageTimes; Operation::KINDS],
    /// Energy of each stage.
    pub energy: EnergyReport,
    /// Time that the bus was held.
    pub bus_busy: Duration,
    /// Time that dies waited for the bus, summed over dies.
    pub bus_waited: Duration,
    /// Time that pages waited for their die, summed over the pages and blocks of all accesses, in picoseconds.
    pub die_waited: u128,
    /// Time that each die's array worked.
    pub array_busy: Vec<Duration>,
    /// Commands and pages.
    pub counts: Counts,
    /// Limits of the part that were broken.
    pub violations: Violations,
}

impl UnitReport {
    /// Data a second, in megabytes (10^6 bytes).
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes.0 as f64 / self.elapsed.us()
    }

    /// Accesses a second.
    pub fn accesses_per_second(&self) -> f64 {
        self.accesses as f64 / self.elapsed.seconds()
    }

    /// The share of the time of all commands in which they waited for the bus: waiting over waiting and working.
    pub fn bus_contention(&self) -> f64 {
        let waited = self.bus_waited.ps() as f64;
        waited / (waited + self.stages.active_ps() as f64)
    }
}
