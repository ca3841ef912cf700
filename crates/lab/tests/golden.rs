//! Golden digests: nearly eighty small runs, over every preset and feature, must have the digests in
//! `golden/digests.toml`. A refactoring changes none of them. A change of behaviour rewrites them with
//! `UPDATE_GOLDEN=1`, in a separate commit that names the changed runs and the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Instant};
use wordline_lab::arrivals::RequestSource;
use wordline_lab::config;
use wordline_lab::run::run_job;
use wordline_lab::trace::{Op, Request};
use wordline_lab::{Device, PowerCutPoint, Registry, RunOptions, Selection, Unobserved, WarmUp, Workload};

/// `golden/devices.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    small: BTreeMap<String, Vec<String>>,
    device: Vec<Entry>,
}

/// A device and its workload; `golden/devices.toml` explains each key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    preset: String,
    small: Option<String>,
    load: String,
    #[serde(default)]
    set: Vec<String>,
    precondition: Option<String>,
    flush_every: Option<u64>,
    cut_after: Option<u64>,
    namespace: Option<u16>,
}

/// The results of a run. The digest covers every flash command, and every completion with its time. The other
/// values show the size of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    digest: String,
    programs: u64,
    erases: u64,
    failed: u64,
    microseconds: u64,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn golden() -> Golden {
    let text = std::fs::read_to_string(folder().join("devices.toml")).expect("the devices are there");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Adds a flush after every `every` requests. Every tenth write then has FUA set.
fn with_flushes(
    requests: impl Iterator<Item = Request> + Send,
    every: u64,
) -> impl Iterator<Item = Request> + Send {
    let flush = |arrival: Instant| Request { arrival, ..Request::new(Op::Flush, Bytes(0), Bytes(0)) };
    (1u64..).zip(requests).flat_map(move |(n, mut request)| {
        request.fua = request.op == Op::Write && n.is_multiple_of(10);
        [Some(request), n.is_multiple_of(every).then(|| flush(request.arrival))].into_iter().flatten()
    })
}

fn run_of(entry: &Entry, small: &BTreeMap<String, Vec<String>>) -> Result<Run, String> {
    let small = small.get(entry.small.as_ref().unwrap_or(&entry.preset)).ok_or("nothing makes it small")?;
    let set = small.iter().chain(&entry.set).cloned().collect();
    let selection = Selection { preset: Some(entry.preset.clone()), file: None, set };
    let device = Device::load(&selection).map_err(|error| error.to_string())?;
    let load = folder().join("loads");
    let load = match entry.load.ends_with(".fio") {
        true => load.join(&entry.load),
        false => load.join(format!("{}.toml", entry.load)),
    };
    let load =
        Workload { namespace: entry.namespace, ..Workload::named(load.to_str().expect("a path of text")) };
    let options = RunOptions {
        precondition: entry.precondition.as_deref().map(str::parse).transpose()?,
        power_cut: entry.cut_after.map(PowerCutPoint::Requests),
        warm_up: Some(WarmUp::None),
        ..RunOptions::default()
    };
    let mut job = load.job(&device, &options, &mut Unobserved).map_err(|error| error.to_string())?;
    if let Some(every) = entry.flush_every {
        let requests = job.load.requests.in_order();
        let requests = requests.map(|request| request.expect("a workload has all its requests"));
        job.load.requests = RequestSource::generated(with_flushes(requests, every));
    }
    let summary = run_job(job, &mut Unobserved).map_err(|error| error.to_string())?;
    Ok(Run {
        digest: summary.digest,
        programs: summary.metrics.count("flash.programs"),
        erases: summary.metrics.count("flash.erases"),
        failed: summary.host.failed,
        microseconds: (summary.simulated_seconds * 1e6) as u64,
    })
}

/// A line for each run that changed, with the old and the new results.
fn differences(was: &BTreeMap<String, Run>, is: &BTreeMap<String, Run>) -> Vec<String> {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let all = names.into_iter().map(|name| (name, was.get(name), is.get(name)));
    let text = |run: Option<&Run>| run.map_or_else(|| "nothing".into(), inline);
    all.filter(|(_, was, is)| was != is)
        .map(|(name, was, is)| format!("{name}\n  was {}\n  is  {}", text(was), text(is)))
        .collect()
}

fn inline(run: &Run) -> String {
    let Run { digest, programs, erases, failed, microseconds } = run;
    format!(
        "{{ digest = \"{digest}\", programs = {programs}, erases = {erases}, failed = {failed}, microseconds = {microseconds} }}"
    )
}

#[test]
fn every_device_does_what_it_did() {
    let golden = golden();
    let result = |entry: &Entry| {
        let run = run_of(entry, &golden.small).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        (entry.name.clone(), run)
    };
    let runs: Vec<(String, Run)> = golden.device.par_iter().map(result).collect();
    let is: BTreeMap<String, Run> = runs.iter().cloned().collect();
    assert_eq!(is.len(), runs.len(), "two devices have the same name");
    let path = folder().join("digests.toml");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let mut text = String::from("# Written by the test `golden`, with UPDATE_GOLDEN=1.\n");
        for (name, run) in &runs {
            writeln!(text, "\"{name}\" = {}", inline(run)).expect("a string takes everything");
        }
        std::fs::write(&path, text).expect("the digests are written");
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let was: BTreeMap<String, Run> = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let changed = differences(&was, &is);
    assert!(
        changed.is_empty(),
        "{} of {} devices do not do what they did. Where that is meant, write the digests anew with UPDATE_GOLDEN=1 in a commit \
         that lists them and says why.\n{}",
        changed.len(),
        is.len(),
        changed.join("\n")
    );
}

#[test]
fn every_preset_is_among_the_devices() {
    let golden = golden();
    for preset in config::presets(&Registry::default()).expect("the embedded presets") {
        assert!(golden.device.iter().any(|entry| entry.preset == preset.name), "{} is not", preset.name);
    }
}

#[test]
fn a_device_that_differs_is_new_or_gone_is_told() {
    let run =
        |digest: &str| Run { digest: digest.into(), programs: 1, erases: 2, failed: 0, microseconds: 3 };
    let table = |runs: &[(&str, &str)]| {
        runs.iter().map(|(name, digest)| ((*name).to_owned(), run(digest))).collect::<BTreeMap<_, _>>()
    };
    let (was, is) =
        (table(&[("a", "1"), ("b", "2"), ("c", "3")]), table(&[("a", "1"), ("b", "9"), ("d", "4")]));
    let told = differences(&was, &is);
    assert_eq!(told.len(), 3);
    assert!(told[0].starts_with("b\n  was { digest = \"2\"") && told[1].ends_with("is  nothing"), "{told:?}");
}
