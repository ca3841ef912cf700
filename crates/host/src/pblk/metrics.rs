//! The metrics of the FTL.

use wordline_device::PhysicalDevice;
use wordline_device::lifetime::write_amplification;
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Instant, Metric, Metrics};

use super::counts::Counts;
use super::flash::Flash;
use super::lines::LineState;

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

impl<M> Mark<M> {
    /// The counters at `now`.
    pub(super) fn at<D: PhysicalDevice<Mark = M>>(flash: &Flash<D>, now: Instant) -> Self {
        Self { counts: flash.counts.clone(), device: flash.device().mark(now) }
    }

    /// The metrics from this mark until `now`.
    pub(super) fn metrics<D: PhysicalDevice<Mark = M>>(&self, flash: &Flash<D>, now: Instant) -> Metrics {
        let counts = flash.counts.since(&self.counts);
        let mut metrics = flash.device().metrics(&self.device, now);
        counts.add_to(&mut metrics);
        for (metric, state) in LINES.iter().zip(LineState::ALL) {
            metrics.add(*metric, flash.lines.count_in_state(state));
        }
        let page = flash.device().geometry().block_size;
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
