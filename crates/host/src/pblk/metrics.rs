//! The counters of the FTL, and its metrics.

use wordline_device::PhysicalDevice;
use wordline_device::lifetime::write_amplification;
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Instant, Metric, Metrics, counters};

use super::Pblk;
use super::lines::LineState;

counters! {
    /// The counters of the FTL since it was made.
    pub struct Counts {
        host_pages: "pblk.host_pages", LogicalPages, "Pages written for the host, including rewrites after failures.";
        moved_pages: "pblk.moved_pages", LogicalPages, "Pages relocated by GC.";
        padding: "pblk.padding", LogicalPages, "Logical blocks of padding, for flushes, failed writes and after power cuts.";
        smeta_blocks: "pblk.smeta_blocks", LogicalPages, "Logical blocks of metadata at the beginning of lines.";
        emeta_blocks: "pblk.emeta_blocks", LogicalPages, "Logical blocks of metadata at the end of lines.";
        resubmitted: "pblk.resubmitted", LogicalPages, "Entries of the ring whose write failed.";
        lines_collected: "pblk.lines_collected", Count, "Lines collected by GC.";
        victim_valid_pages: "pblk.victim_valid_pages", LogicalPages, "Valid pages of these lines when they were selected.";
        lines_freed: "pblk.lines_freed", Count, "Lines freed after their last page became invalid.";
        pages_collected: "pblk.pages_collected", LogicalPages, "Pages read by GC for relocation.";
        emeta_blocks_read: "pblk.emeta_blocks_read", LogicalPages, "Logical blocks of emeta read by GC.";
        emeta_read_failures: "pblk.emeta_read_failures", Count, "Reads among those that failed.";
        lost_pages: "pblk.lost_pages", LogicalPages, "Pages that GC could not read.";
        read_from_ring: "pblk.read_from_ring", LogicalPages, "Pages that the host read from the ring.";
        read_from_flash: "pblk.read_from_flash", LogicalPages, "Pages that the host read from the device.";
        trimmed_pages: "pblk.trimmed_pages", LogicalPages, "Pages that the host trimmed.";
        flushes: "pblk.flushes", Count, "Flushes sent to a device with a volatile write cache.";
        rejected: "pblk.rejected", LogicalPages, "Logical blocks of commands that the device rejected, because their chunks had closed early or gone offline.";
        rate_limited: "pblk.rate_limited", Count, "Writes that the rate limiter delayed.";
        chunks_lost: "pblk.chunks_lost", Count, "Chunks that went offline when they were reset.";
    }
}

const LINES: [Metric; 5] = [
    Metric::new("lines.free", Unit::Count, "Lines that are free at the end."),
    Metric::new("lines.open", Unit::Count, "Lines that are open or under preparation at the end."),
    Metric::new("lines.closed", Unit::Count, "Lines that are closed at the end."),
    Metric::new("lines.collected", Unit::Count, "Lines that are being collected at the end."),
    Metric::new("lines.bad", Unit::Count, "Lines with too few usable chunks at the end."),
];

/// All metrics of the FTL.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    Counts::METRICS.iter().chain(&LINES)
}

/// The counters at a point in time.
#[derive(Clone, Debug)]
pub struct Mark<M> {
    counts: Counts,
    pub(super) device: M,
}

impl<D: PhysicalDevice> Pblk<D> {
    pub(super) fn mark_now(&self, now: Instant) -> Mark<D::Mark> {
        Mark { counts: self.counts.clone(), device: self.port.device.mark(now) }
    }

    pub(super) fn metrics_since(&self, mark: &Mark<D::Mark>, now: Instant) -> Metrics {
        let counts = self.counts.since(&mark.counts);
        let mut metrics = self.port.device.metrics(&mark.device, now);
        counts.add_to(&mut metrics);
        for (metric, state) in LINES.iter().zip(LineState::ALL) {
            metrics.add(*metric, self.lines.count_in_state(state));
        }
        let page = self.port.device.geometry().block_size;
        let of_ssds = wordline_ssd::metrics::of_name;
        let bytes = |pages: u64| Value::Count((page * pages).0);
        let of_pages = counts.host_pages + counts.moved_pages;
        let metadata = counts.smeta_blocks + counts.emeta_blocks;
        metrics.add(of_ssds("flash.programmed_bytes"), bytes(of_pages + counts.padding + metadata));
        metrics.add(of_ssds("flash.host_bytes"), bytes(counts.host_pages));
        metrics.add(of_ssds("flash.gc_bytes"), bytes(counts.moved_pages));
        metrics.add(of_ssds("flash.padding_bytes"), bytes(counts.padding));
        metrics.add(of_ssds("flash.translation_bytes"), bytes(metadata));
        metrics.add(of_ssds("programs_per_host_program"), write_amplification(of_pages, counts.host_pages));
        metrics
    }
}
