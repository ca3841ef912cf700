use crate::load::PowerCutPoint;
use crate::observer::Observer;
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
