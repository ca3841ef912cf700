//! The report of a logical unit.

use wordline_kernel::{Bytes, Duration, Histogram};

use crate::chips::{Counts, Violations};
use crate::{EnergyReport, Operation, energy::StageTimes};

/// Counts, times and energy of a run of a logical unit.
#[derive(Clone, Debug)]
pub struct UnitReport {
    /// Completed accesses.
    pub accesses: u64,
    /// Data of completed reads and writes, in whole pages.
    pub bytes: Bytes,
    /// Time from the beginning to the end of the last access.
    pub elapsed: Duration,
    /// Latency of each access, from submission to completion.
    pub latency: Histogram,
    /// Time in each stage, summed over dies, idle included.
    pub stages: StageTimes,
    /// Time in each stage by kind of operation.
    pub stages_by_kind: [StageTimes; Operation::KINDS],
    /// Energy of each stage.
    pub energy: EnergyReport,
    /// Busy time of the bus.
    pub bus_busy: Duration,
    /// Time that dies waited for the bus, summed over dies.
    pub bus_waited: Duration,
    /// Time that pages waited for their die, summed over the pages and blocks of all accesses, in
    /// picoseconds.
    pub die_waited: u128,
    /// Array time of each die.
    pub array_busy: Vec<Duration>,
    /// Operation counters.
    pub counts: Counts,
    /// Counts of exceeded limits of the part.
    pub violations: Violations,
}

impl UnitReport {
    /// Throughput in megabytes (10^6 bytes) per second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes.0 as f64 / self.elapsed.us()
    }

    /// Accesses per second.
    pub fn accesses_per_second(&self) -> f64 {
        self.accesses as f64 / self.elapsed.seconds()
    }

    /// The share of the time of all commands spent waiting for the bus: waiting time over the sum of waiting
    /// and active time.
    pub fn bus_contention(&self) -> f64 {
        let waited = self.bus_waited.ps() as f64;
        waited / (waited + self.stages.active_ps() as f64)
    }
}
