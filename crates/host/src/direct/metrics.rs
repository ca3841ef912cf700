//! The counters of the host, and its metrics.

use wordline_device::PhysicalDevice;
use wordline_device::lifetime::write_amplification;
use wordline_kernel::{Instant, Metric, Metrics, counters};

use crate::programs::Programs;

counters! {
    /// The counters of the host since it was made.
    pub struct Counts {
        pages_written: "direct.pages_written", LogicalPages, "Pages submitted to the device by writes, including resubmissions after failures.";
        padding: "direct.padding", LogicalPages, "Logical blocks of padding, for writes that are not a multiple of the program unit.";
        pages_read: "direct.pages_read", LogicalPages, "Pages read from the device.";
        pages_lost: "direct.pages_lost", LogicalPages, "Pages requested by reads that the device lost after it had completed their writes.";
        resubmitted: "direct.resubmitted", LogicalPages, "Pages whose write failed and was resubmitted.";
        resets: "direct.resets", Count, "Chunks reset because no data in them were valid.";
        out_of_chunks: "direct.out_of_chunks", Count, "Parts of writes that failed because no chunk was free or became free.";
        rejected: "direct.rejected", Count, "Commands that the device rejected, because their chunks had closed early or gone offline.";
        trimmed_pages: "direct.trimmed_pages", LogicalPages, "Pages that the host trimmed.";
    }
}

impl Counts {
    /// Pages programmed by the host.
    pub(super) fn programs(&self) -> Programs {
        Programs { host: self.pages_written, padding: self.padding, ..Programs::default() }
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
    pub(super) device: M,
}

impl<M> Mark<M> {
    /// The counters now, those of the device included.
    pub(super) fn new<D: PhysicalDevice<Mark = M>>(counts: &Counts, device: &D, now: Instant) -> Self {
        Self { counts: counts.clone(), device: device.mark(now) }
    }

    /// The metrics from this mark until now.
    pub(super) fn metrics<D: PhysicalDevice<Mark = M>>(
        &self,
        counts: &Counts,
        device: &D,
        now: Instant,
    ) -> Metrics {
        let counts = counts.since(&self.counts);
        let mut metrics = device.metrics(&self.device, now);
        counts.add_to(&mut metrics);
        counts.programs().add_to(device.geometry().block_size, &mut metrics);
        // The host relocates nothing, so all programs are host programs.
        let programs = write_amplification(counts.pages_written, counts.pages_written);
        metrics.add(wordline_ssd::metrics::of_name("programs_per_host_program"), programs);
        metrics
    }
}
