//! Tests of volumes that warm up their device by whole passes.

use super::*;

/// A small volume on a small device.
const SMALL_VOLUME: &str = "title = \"T\"\nsource = \"S\"\nclaims = []\n\
    [kind.sweep]\npreset = \"tiny\"\n\
    [kind.sweep.precondition.filled]\nfraction = 1.0\n\
    [kind.sweep.workload.volume]\nprofile = \"ressd/hm_0\"\nqueue_depth = 4\nscale = 0.001\n";

/// The points of a sweep of this volume, with a warm-up by passes.
fn points(settle: &str) -> Result<Vec<Point>> {
    let experiment = parse(&format!("{SMALL_VOLUME}settle = {{ {settle} }}\n"))?;
    let Kind::Sweep(sweep) = &experiment.kind else { panic!("a sweep") };
    sweep.points(&experiment.path, &Options::default())
}

/// A run of this volume. Its warm-up ends when `flash.programs` changes by at most `within` from pass to
/// pass, or after `most` passes.
fn warmed_up(within: f64, most: u32) -> Summary {
    let settle = format!("columns = [\"flash.programs\"], within = {within:?}, most = {most}");
    let points = points(&settle).expect("sound");
    Lab::default().simulate(&points[0], &AtomicBool::new(false)).expect("it runs")
}

#[test]
fn a_device_is_warmed_up_by_whole_passes_until_its_counters_stand_still() {
    let run = warmed_up(0.5, 6);
    let left_out = run.warm_up.as_ref().expect("passes are left out");
    assert_eq!(left_out.requests, 2 * run.host.requests, "two passes are alike within a half");
    assert!(!run.notes.iter().any(|note| note.contains("settled")), "{:?}", run.notes);
    let three = warmed_up(1e-9, 3);
    let left_out = three.warm_up.as_ref().expect("passes are left out");
    assert_eq!((left_out.requests, three.host.requests), (3 * run.host.requests, run.host.requests));
    let said =
        |note: &String| note.contains("not settled after 3 passes over the workload: `flash.programs`");
    assert!(three.notes.iter().any(said), "{:?}", three.notes);
}

#[test]
fn a_warm_up_by_passes_that_cannot_settle_is_refused() {
    let refused = |settle: &str| points(settle).expect_err(settle).to_string();
    assert!(refused("columns = [], within = 0.02, most = 5").contains("volume.settle.columns"));
    assert!(refused("columns = [\"digest\"], within = 0.0, most = 5").contains("volume.settle.within"));
    assert!(refused("columns = [\"digest\"], within = 0.02, most = 1").contains("volume.settle.most"));
}
