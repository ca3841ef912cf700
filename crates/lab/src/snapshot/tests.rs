mod forged;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use wordline_device::snapshot::LAYOUT;

use super::*;
use crate::output::Output;
use crate::run::make_snapshot;
use crate::summary::Simulator;
use crate::{Device, Precondition, RunOptions, Selection, Summary, Unobserved, WarmUp, Workload};

fn device(set: &[&str]) -> Device {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    Device::load(&Selection { preset: Some("tiny".into()), file: None, set }).expect("a device")
}

/// A run of some requests on the smallest preset.
fn run(options: RunOptions) -> Result<Summary> {
    run_on(&device(&[]), &options)
}

fn run_on(device: &Device, options: &RunOptions) -> Result<Summary> {
    let load = Workload { requests: Some(3_000), ..Workload::named("mixed-70-30") };
    crate::run(device, &load, options, &mut Unobserved)
}

/// The summary of a run without wall times and notes.
fn measured(summary: Summary) -> String {
    let plain = Summary { simulator: Simulator::default(), notes: Vec::new(), ..summary };
    serde_json::to_string(&plain).expect("a summary is JSON")
}

/// A folder that contains a snapshot.
fn made() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("steady.snap");
    let to = Output::open(&path).expect("a free name");
    make_snapshot(&device(&[]), Precondition::Steady, 0, to, &mut Unobserved)
        .expect("the directory can be written");
    (folder, path)
}

fn verified(path: &Path) -> std::result::Result<Size, String> {
    Snapshot::open(path).and_then(Snapshot::verify).map_err(|error| error.to_string())
}

#[test]
fn a_run_from_a_snapshot_is_the_run_after_the_same_preconditioning() {
    let (_folder, path) = made();
    let restored =
        run(RunOptions { from_snapshot: Some(path), ..RunOptions::default() }).expect("it was just made");
    assert!(restored.notes[0].contains("preconditioned to the steady state"), "{:?}", restored.notes);
    let anew =
        run(RunOptions { precondition: Some(Precondition::Steady), ..RunOptions::default() }).expect("a run");
    assert_eq!(measured(restored), measured(anew));
}

#[test]
fn runs_that_follow_each_other_count_from_their_own_beginnings() {
    let (folder, steady) = made();
    let later = folder.path().join("later.snap");
    let first = RunOptions {
        from_snapshot: Some(steady),
        save_snapshot: Some(later.clone()),
        warm_up: Some(WarmUp::None),
        ..RunOptions::default()
    };
    let first = run(first).expect("it was just made");
    let snapshot = Snapshot::open(&later).expect("it was just saved");
    assert_eq!((snapshot.head().digest.as_str(), snapshot.head().history.len()), (first.digest.as_str(), 2));
    assert!((snapshot.head().simulated_seconds - first.simulated_seconds).abs() < 1e-9);
    let warm_up = Some(WarmUp::None);
    let plan =
        || RunOptions { from_snapshot: Some(later.clone()), seed: 7, warm_up, ..RunOptions::default() };
    let [one, two] = [run(plan()), run(plan())].map(|summary| summary.expect("it was just saved"));
    assert_ne!(one.digest, first.digest);
    for (what, later, earlier) in [
        ("seconds", one.simulated_seconds, first.simulated_seconds),
        ("energy", joules(&one), joules(&first)),
        ("die", one.die_utilisation[0], first.die_utilisation[0]),
        ("channel", one.channel_utilisation[0], first.channel_utilisation[0]),
        ("bytes", host_bytes(&one) as f64, host_bytes(&first) as f64),
        (
            "life",
            one.wear.terabytes_expected.expect("erases"),
            first.wear.terabytes_expected.expect("erases"),
        ),
        ("requests", one.host.requests as f64, first.host.requests as f64),
    ] {
        assert!((0.7..1.4).contains(&(later / earlier)), "{what}: {later} after {earlier}");
    }
    let windows: u64 = one.windows.windows.iter().map(|window| window.host_programs).sum();
    assert!(windows > 0 && windows * 4096 <= host_bytes(&one) * 2, "{windows}");
    assert_eq!(measured(one), measured(two));
}

#[test]
fn a_device_of_another_configuration_is_refused_by_the_first_key_that_differs() {
    let (_folder, path) = made();
    let plan = RunOptions { from_snapshot: Some(path.clone()), ..RunOptions::default() };
    let other = device(&[
        "ftl.over_provisioning=0.3",
        "ftl.gc.start_below_free_blocks=5",
        "ftl.gc.stop_at_free_blocks=5",
    ]);
    let error = run_on(&other, &plan).expect_err("they differ").to_string();
    let wanted = format!("{}: found a device with ftl.gc.start_below_free_blocks = ", path.display());
    assert!(error.starts_with(&wanted) && error.contains(", wanted 5 as in the device"), "{error}");
}

#[test]
fn a_snapshot_of_another_version_and_other_files_are_refused() {
    let (folder, path) = made();
    let bytes = std::fs::read(&path).expect("it was just made");
    let refused = |bytes: &[u8]| {
        let path = folder.path().join("other.snap");
        std::fs::write(&path, bytes).expect("the directory can be written");
        let error = verified(&path).expect_err("it is another file");
        error.strip_prefix(&format!("{}: ", path.display())).expect("the file is named").to_owned()
    };
    for (at, what, known) in [(16, "format", 1), (20, "layout", LAYOUT)] {
        let mut other = bytes.clone();
        other[at] += 6;
        let error = refused(&other);
        let wanted = format!("found a snapshot of {what} {}, wanted {known}, which", known + 6);
        assert!(error.starts_with(&wanted), "{error}");
    }
    assert!(refused(b"time,op,offset\n").starts_with("found a file of another kind"));
    assert!(refused(b"").starts_with("found a file of another kind"));
    assert!(refused(&[&bytes[..], b"x"].concat()).starts_with("found more after the snapshot"));
    let error = verified(folder.path()).expect_err("a folder");
    assert!(error.contains("cannot"), "{error}");
    assert!(verified(&path).expect("it is whole").state_bytes > 10_000);
}

#[test]
fn a_snapshot_that_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("taken");
    std::fs::create_dir(&path).expect("the directory can be written");
    let error = Output::open(&path).expect_err("a folder stands there");
    assert!(error.to_string().contains("taken: cannot write: "), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it can be listed").count(), 1);
}

#[test]
fn any_byte_that_was_changed_and_any_end_is_found() {
    let (folder, path) = made();
    let bytes = std::fs::read(&path).expect("it was just made");
    let other = folder.path().join("other.snap");
    let check = |bytes: &[u8], what: &str| {
        std::fs::write(&other, bytes).expect("the directory can be written");
        let error = verified(&other).expect_err(what);
        assert!(error.contains("other.snap: found ") && error.contains(", wanted "), "{what}: {error}");
        let restored = Snapshot::open(&other).and_then(|s| restore(s, device(&[]).ssd().expect("an SSD")));
        assert!(restored.is_err(), "{what}");
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(96)
    });
    let place = (any::<prop::sample::Index>(), 1u8.., any::<bool>(), any::<bool>());
    let test = |(at, flip, early, cut): (prop::sample::Index, u8, bool, bool)| {
        let at = at.index(if early { 200 } else { bytes.len() });
        if cut {
            check(&bytes[..at], &format!("cut at {at}"));
        } else {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            check(&changed, &format!("byte {at} changed by {flip}"));
        }
        Ok(())
    };
    runner.run(&place, test).expect("each is found");
}

/// Bytes programmed for the host in a run.
fn host_bytes(run: &Summary) -> u64 {
    run.metrics.count("flash.host_bytes")
}

/// The energy of a run.
fn joules(run: &Summary) -> f64 {
    run.metrics.number("energy_joules").expect("every device takes energy")
}
