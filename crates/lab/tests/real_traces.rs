//! Checks that every recorded trace is read whole and runs, and that every request completes. The traces are in
//! `../shared/traces`, next to the repository. Without them this test prints a message and passes.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use wordline_lab::summary::Outcome;
use wordline_lab::trace::{Options, read};
use wordline_lab::{Device, Origin, Precondition, RunOptions, Selection, Unobserved, Workload, run};

/// Files in the folder that are not traces of requests (some have addresses only), or that are archives.
const NOT_READ: &[&str] = &["README.md", "w106.pages.u32be.zst", "opencas.sample_trace.tar.xz"];

/// This trace counts in bytes (msr/README.md).
const IN_BYTES: &str = "msr.cut.";

fn traces(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .expect("the folder of traces can be read")
            .map(|entry| entry.expect("its entries can be read").path())
            .collect();
        paths.sort();
        paths
    };
    let folders = entries(folder).into_iter().filter(|path| path.is_dir() && !path.ends_with("normalized"));
    let skipped =
        |path: &PathBuf| path.file_name().is_some_and(|name| NOT_READ.iter().any(|not| *not == name));
    folders.flat_map(|folder| entries(&folder)).filter(|path| !skipped(path)).collect()
}

/// Requests of a trace that are run, unless `WORDLINE_LONG` asks for all. Chosen: forty traces take some seconds.
const MOST: u64 = 5_000;

/// Runs a recorded trace on a full device; every request must complete. With `WORDLINE_LONG`, the device is in
/// its steady state.
fn runs(device: &Device, path: PathBuf) {
    let name = path.display().to_string();
    let in_bytes = if name.contains(IN_BYTES) { vec!["sector=1B"] } else { Vec::new() };
    let options = Options::from_pairs(in_bytes).expect("the options are right");
    let requests = read(&path, &options).unwrap_or_else(|error| panic!("{error}")).requests.len() as u64;
    let (most, precondition) = if std::env::var_os("WORDLINE_LONG").is_some() {
        (requests, None)
    } else {
        (MOST.min(requests), Some(Precondition::Filled(1.0)))
    };
    let origin = Origin::Trace(path, options);
    let load = Workload { requests: Some(most), ..origin.into() };
    let summary = run(device, &load, &RunOptions { precondition, ..RunOptions::default() }, &mut Unobserved)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(
        (summary.outcome, summary.host.requests, summary.host.failed),
        (Outcome::Complete, most, 0),
        "{name}"
    );
}

#[test]
fn every_recorded_trace_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no traces at {}", folder.display());
        return;
    }
    // To fill the usual device would take most of the time of the test. Requests beyond the capacity wrap.
    let set = vec!["capacity=16GB".to_owned()];
    let device = Device::load(&Selection { set, ..Selection::default() }).expect("a small device is sound");
    let paths = traces(&folder);
    assert!(paths.len() > 40, "{} traces", paths.len());
    paths.into_par_iter().with_max_len(1).for_each(|path| runs(&device, path));
}
