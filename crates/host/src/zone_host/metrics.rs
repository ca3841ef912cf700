//! The counters of the host, and its metrics.

use wordline_device::PhysicalDevice;
use wordline_device::lifetime::write_amplification;
use wordline_kernel::{Instant, Metric, Metrics, counters};
use wordline_open_channel::zoned::{self, Status, Zoned};

use crate::programs::Programs;

counters! {
    /// The counters of the host since it was made.
    pub struct Counts {
        blocks_written: "zone_host.blocks_written", LogicalPages, "Logical blocks that the host wrote, by writes and appends that succeeded.";
        blocks_read: "zone_host.blocks_read", LogicalPages, "Logical blocks that the host read.";
        gap_blocks_read: "zone_host.gap_blocks_read", LogicalPages, "Logical blocks of these between the capacity and the end of a zone, where nothing can be written.";
        plugged: "zone_host.plugged", Count, "Writes that waited for an earlier write of their zone.";
        invalid_writes: "zone_host.invalid_writes", Count, "Writes that did not begin at the write pointer of their zone (Zone Invalid Write, 1BCh).";
        full: "zone_host.full", Count, "Writes to full zones (Zone Is Full, 1B9h).";
        boundary: "zone_host.boundary", Count, "Writes beyond the capacity of their zone (Zone Boundary Error, 1B8h).";
        too_many_zones: "zone_host.too_many_zones", Count, "Commands that needed an active or open zone more than the limits allow (1BDh, 1BEh).";
        transitions: "zone_host.transitions", Count, "Zone commands that the state of the zone does not allow (Invalid Zone State Transition, 1BFh).";
        other_failures: "zone_host.other_failures", Count, "Commands that failed for another reason, such as a zone that went read only or a failed program.";
    }
}

impl Counts {
    /// Counts a rejection or failure.
    pub(super) fn note(&mut self, status: Status) {
        *match status {
            Status::InvalidWrite => &mut self.invalid_writes,
            Status::Full => &mut self.full,
            Status::Boundary => &mut self.boundary,
            Status::TooManyActive | Status::TooManyOpen => &mut self.too_many_zones,
            Status::InvalidTransition => &mut self.transitions,
            _ => &mut self.other_failures,
        } += 1;
    }
}

/// All metrics of the host.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    Counts::METRICS.iter()
}

/// The counters at a point in time.
#[derive(Clone, Debug)]
pub struct Mark<M> {
    counts: Counts,
    pub(super) zones: M,
}

impl<M> Mark<zoned::Mark<M>> {
    /// The counters of a host and its zoned device at `now`.
    pub(super) fn new<D: PhysicalDevice<Mark = M>>(counts: &Counts, zoned: &Zoned<D>, now: Instant) -> Self {
        Self { counts: counts.clone(), zones: zoned.mark(now) }
    }

    /// The metrics of a host and its zoned device since the mark.
    pub(super) fn metrics<D: PhysicalDevice<Mark = M>>(
        &self,
        counts: &Counts,
        zoned: &Zoned<D>,
        now: Instant,
    ) -> Metrics {
        let counts = counts.since(&self.counts);
        let mut metrics = zoned.metrics(&self.zones, now);
        counts.add_to(&mut metrics);
        let padding = metrics.count("zones.padding");
        let programs = Programs { host: counts.blocks_written, padding, ..Programs::default() };
        programs.add_to(zoned.geometry().block_size, &mut metrics);
        // The device relocates nothing; the host would count its own relocations among its writes.
        let programs = write_amplification(counts.blocks_written, counts.blocks_written);
        metrics.add(wordline_ssd::metrics::of_name("programs_per_host_program"), programs);
        metrics
    }
}
