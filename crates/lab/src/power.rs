//! Power cuts during a run, and their results.

use wordline_device::BlockDevice;
use wordline_host::{HostQueue, Source};
use wordline_kernel::{Calendar, Instant, Schedule, counted};

use crate::event::Event;
use crate::load::PowerCutPoint;
use crate::observer::Observer;
use crate::report::Quantity;
use crate::summary::PowerCut;

/// Number of recovery events between two calls of the observer. Chosen: less than 10 ms of wall time.
const CHECK_INTERVAL: u64 = 1 << 14;

/// The power supply of a run.
#[derive(Debug, Default)]
pub(crate) struct Power {
    /// Time of the beginning of the run.
    begin: Instant,
    /// The power cut that is still to come, if any.
    cut: Option<PowerCutPoint>,
    /// Whether the device is in recovery, so that the host waits.
    recovering: bool,
    /// Number of recovery events so far.
    events: u64,
    done: Vec<PowerCut>,
}

impl Power {
    /// A power supply that cuts at `cut`, if given.
    pub(crate) fn new<E: Copy + PartialEq>(
        cut: Option<PowerCutPoint>,
        calendar: &mut Calendar<Event<E>>,
    ) -> Self {
        if let Some(PowerCutPoint::Time(time)) = cut {
            calendar.after(time, Event::PowerCut);
        }
        Self { begin: calendar.now(), cut, ..Self::default() }
    }

    /// Whether to cut the power after `completed` completions.
    #[inline]
    pub(crate) fn is_due(&self, completed: u64) -> bool {
        matches!(self.cut, Some(PowerCutPoint::Requests(requests)) if completed >= requests)
    }

    /// Marks the power cut as done.
    pub(crate) fn trigger(&mut self) {
        self.cut = None;
    }

    /// Cuts the power and restores it.
    pub(crate) fn cut<D: BlockDevice, S: Source>(
        &mut self,
        device: &mut D,
        queue: &mut HostQueue<S>,
        calendar: &mut Calendar<Event<D::Event>>,
        observer: &mut dyn Observer,
    ) {
        let now = calendar.now();
        let cut = device.power_cut(now);
        calendar.clear();
        // Of the events outside the device, only a power cut that is still to come remains.
        if let Some(PowerCutPoint::Time(time)) = self.cut {
            calendar.at((self.begin + time).max(now), Event::PowerCut);
        }
        cut.incomplete.iter().for_each(|command| queue.lost(now, command));
        self.recovering = true;
        self.done.push(PowerCut {
            at_seconds: (now - self.begin).seconds(),
            lost_requests: cut.incomplete.len() as u64,
            torn_pages: cut.torn.pages + cut.torn.partners,
            torn_erases: cut.torn.erases,
            ..PowerCut::default()
        });
        device.recover(&mut calendar.within(Event::Device));
        observer.recovery_began(device.pages_recovered() + device.pages_to_recover());
    }

    /// Whether the device has just ended its recovery.
    #[inline]
    pub(crate) fn has_recovered(&mut self, device: &impl BlockDevice) -> bool {
        if !self.recovering || !device.is_ready() {
            return false;
        }
        self.recovering = false;
        if let (Some(done), Some(recovery)) = (self.done.last_mut(), device.recovery()) {
            done.recovery_seconds = recovery.time.seconds();
            done.pages_read = recovery.pages_read;
            done.lost_pages = recovery.lost;
            done.returned_pages = recovery.returned;
        }
        true
    }

    /// Counts a recovery event. Returns whether to call the observer now.
    pub(crate) fn is_observer_due(&mut self) -> bool {
        self.events += 1;
        self.events.is_multiple_of(CHECK_INTERVAL)
    }

    /// Whether the host must wait for the device.
    pub(crate) fn is_off(&self) -> bool {
        self.recovering
    }

    /// The result of each power cut.
    pub(crate) fn results(&self) -> &[PowerCut] {
        &self.done
    }

    /// The notes about the power cuts of a run, and about a cut that did not take place.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let missed = self.cut.map(|_| "the run was over before the power was to be cut".to_owned());
        self.done.iter().map(PowerCut::note).chain(missed)
    }
}

impl PowerCut {
    /// A sentence about this power cut.
    pub(crate) fn note(&self) -> String {
        format!(
            "the power was cut after {}: {} incomplete, {} and {} interrupted, the last writes of {} lost, {} returned; recovery read {} \
             in {}",
            Quantity::Seconds(self.at_seconds),
            counted(self.lost_requests, "request"),
            counted(self.torn_pages, "page"),
            counted(self.torn_erases, "erase"),
            counted(self.lost_pages, "logical page"),
            counted(self.returned_pages, "discarded page"),
            counted(self.pages_read, "page"),
            Quantity::Seconds(self.recovery_seconds)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Outcome, Summary};
    use crate::{Device, RunOptions, Selection, Unobserved, Workload, run};

    /// A run of `requests` requests, with a power cut after `completed` completions.
    fn cut_after(completed: u64, requests: u64, options: RunOptions) -> Summary {
        let device = Device::preset("tiny").expect("the preset is embedded");
        let load = Workload { requests: Some(requests), ..Workload::named("mixed-70-30") };
        let options = RunOptions { power_cut: Some(PowerCutPoint::Requests(completed)), ..options };
        run(&device, &load, &options, &mut Unobserved).expect("a run")
    }

    #[test]
    fn programs_that_a_cut_takes_back_are_in_no_window() {
        for requests in [100, 300, 700, 2_000] {
            let run = cut_after(requests, 5_000, RunOptions::default());
            let sum: u64 = run.windows.windows.iter().map(|window| window.host_programs).sum();
            let all = run.metrics.count("flash.host_bytes") / 4_096;
            assert!(sum <= all && sum > all / 2, "cut after {requests}: {sum} of {all}");
        }
    }

    #[test]
    fn a_device_whose_recovery_takes_no_events_goes_on() {
        let device = Device::preset("fixed-latency").expect("the preset is embedded");
        for completed in [1, 99, 100] {
            let load = Workload { requests: Some(200), ..Workload::named("mixed-70-30") };
            let options =
                RunOptions { power_cut: Some(PowerCutPoint::Requests(completed)), ..RunOptions::default() };
            let run = run(&device, &load, &options, &mut Unobserved).expect("a run");
            assert_eq!((run.outcome, run.power_cuts.len()), (Outcome::Complete, 1));
            assert_eq!(run.host.requests + run.power_cuts[0].lost_requests, 200);
        }
    }

    /// An observer that stops the run at its first call during a recovery, or never.
    #[derive(Default)]
    struct Watching {
        stops: bool,
        /// Pages that the recovery will read, and the pages read at each call.
        pages: Option<u64>,
        read: Vec<u64>,
        completed: Option<u64>,
    }

    impl Observer for Watching {
        fn recovery_began(&mut self, pages: u64) {
            self.pages = Some(pages);
        }

        fn phase_progress(&mut self, done: u64) -> bool {
            if self.pages.is_none() {
                return true;
            }
            self.read.push(done);
            !self.stops
        }

        fn recovery_ended(&mut self, completed: u64) {
            self.completed = Some(completed);
        }
    }

    /// The result of ten requests and a power cut, on a device with many pages.
    fn recovered_before(observer: &mut Watching) -> Summary {
        let set = ["part.geometry.blocks_per_plane=16".to_owned(), "ftl.over_provisioning=0.5".to_owned()];
        let preset = Some("bench-512g".to_owned());
        let device = Device::load(&Selection { preset, set: set.into(), ..Selection::default() });
        let load = Workload { queue_depth: Some(1), requests: Some(100), ..Workload::named("randread-4k") };
        let options = RunOptions { power_cut: Some(PowerCutPoint::Requests(10)), ..RunOptions::default() };
        run(&device.expect("a device"), &load, &options, observer).expect("a result")
    }

    #[test]
    fn a_recovery_reads_as_many_pages_as_it_says_before() {
        let mut observer = Watching::default();
        let summary = recovered_before(&mut observer);
        assert_eq!(observer.pages, Some(summary.power_cuts[0].pages_read));
        assert!(observer.read.len() > 1 && observer.read.is_sorted(), "{:?}", observer.read);
        assert!(observer.read.last().copied() < observer.pages && observer.completed == Some(10));
    }

    #[test]
    fn a_recovery_is_stopped_half_way() {
        let mut observer = Watching { stops: true, ..Watching::default() };
        let stopped = recovered_before(&mut observer);
        assert_eq!((stopped.outcome, observer.read.len()), (Outcome::Interrupted, 1));
        assert_eq!((stopped.host.requests, stopped.power_cuts[0].pages_read), (10, 0), "it is not over");
    }

    #[test]
    fn a_cut_may_take_back_what_an_earlier_run_had_counted() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("busy.snap");
        let first = RunOptions { save_snapshot: Some(path.clone()), ..RunOptions::default() };
        assert!(cut_after(1_000, 3_000, first).metrics.count("flash.host_bytes") > 0);
        for requests in 1..20 {
            let next = RunOptions { from_snapshot: Some(path.clone()), ..RunOptions::default() };
            let run = cut_after(requests, 20, next);
            let programs = run.metrics.count("flash.programs");
            assert!(programs < 1_000, "cut after {requests}: {programs}");
        }
    }
}
