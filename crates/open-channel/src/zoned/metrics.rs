//! Counts of zone events, and their metrics.

use wordline_kernel::metrics::Unit;
use wordline_kernel::{Metric, Metrics, counters};

use super::zones::Zones;
use wordline_device::ZoneState;

counters! {
    /// Counts of zone events since the device was created.
    pub struct Counts {
        reads: "zones.reads", Count, "Reads of zones.";
        writes: "zones.writes", Count, "Writes to zones, including appends; one for each zone.";
        appends: "zones.appends", Count, "Appends.";
        blocks_written: "zones.blocks_written", Count, "Logical blocks of these writes.";
        writes_failed: "zones.writes_failed", Count, "Writes among them that failed.";
        flushes: "zones.flushes", Count, "Flushes.";
        padding: "zones.padding", Count, "Logical blocks of padding, by flushes and after power cuts.";
        resets: "zones.resets", Count, "Resets of zones.";
        zones_filled_by_device: "zones.filled_by_device", Count, "Zones that the device made full.";
        zones_lost: "zones.lost", Count, "Zones that went read only or offline.";
        blocks_unprogrammed: "zones.blocks_unprogrammed", Count, "Logical blocks that waited for a program and stay in memory, because their zone accepts no more writes.";
        blocks_lost: "zones.blocks_lost", Count, "Logical blocks that waited for a program when the power was cut, and are lost.";
    }
}

const CLOSED_BY_DEVICE: Metric =
    Metric::new("zones.closed_by_device", Unit::Count, "Zones that the device closed to open another one.");

/// Number of zones in each state, in the order of the states.
const IN_STATE: [Metric; 7] = [
    Metric::new("zones.empty", Unit::Count, "Zones that are empty at the end."),
    Metric::new(
        "zones.implicitly_open",
        Unit::Count,
        "Zones that a write opened and that are open at the end.",
    ),
    Metric::new(
        "zones.explicitly_open",
        Unit::Count,
        "Zones that the host opened and that are open at the end.",
    ),
    Metric::new("zones.closed", Unit::Count, "Zones that are written in part and not open at the end."),
    Metric::new("zones.full", Unit::Count, "Zones that are full at the end."),
    Metric::new("zones.read_only", Unit::Count, "Zones that are read only at the end."),
    Metric::new("zones.offline", Unit::Count, "Zones that are offline at the end."),
];

/// Metrics of zones. Metrics of the device below are not included.
pub fn own() -> impl Iterator<Item = &'static Metric> {
    Counts::METRICS.iter().chain([&CLOSED_BY_DEVICE]).chain(&IN_STATE)
}

/// Counts at a point in time.
#[derive(Clone, Debug)]
pub struct Mark<M> {
    counts: Counts,
    closed_by_device: u64,
    pub(super) device: M,
}

impl<M> Mark<M> {
    pub(super) fn new(zones: &Zones, device: M) -> Self {
        Self { counts: zones.counts.clone(), closed_by_device: zones.table.closed_by_device(), device }
    }

    /// Adds the metrics of zones since the mark.
    pub(super) fn add_metrics(&self, zones: &Zones, metrics: &mut Metrics) {
        zones.counts.since(&self.counts).add_to(metrics);
        metrics.add(CLOSED_BY_DEVICE, zones.table.closed_by_device() - self.closed_by_device);
        for (metric, state) in IN_STATE.iter().zip(ZoneState::ALL) {
            let zones = zones.table.ids().filter(|zone| zones.table.get(*zone).state == state);
            metrics.add(*metric, zones.count() as u64);
        }
    }
}
