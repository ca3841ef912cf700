//! The metrics of the FTL.

use wordline_device::PhysicalDevice;
use wordline_device::lifetime::write_amplification;
use wordline_kernel::metrics::Unit;
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
        let mut programs = counts.programs();
        programs.padding += metrics.count("zones.padding");
        programs.add_to(flash.device().geometry().block_size, &mut metrics);
        let ratio = write_amplification(counts.host_pages + counts.moved_pages, counts.host_pages);
        metrics.add(wordline_ssd::metrics::of_name("programs_per_host_program"), ratio);
        metrics
    }
}
