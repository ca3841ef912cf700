use std::io::Write as _;

use super::*;
use crate::workload::Origin;
use crate::{Device, Precondition, RunOptions, Selection, Summary, Unobserved, Workload, run};

/// A device with a mapping unit of 4 KiB and 256 blocks per plane.
fn device() -> Device {
    let set = ["part.geometry.blocks_per_plane=256", "part.geometry.pages_per_block=64"];
    let set = set.map(str::to_owned).to_vec();
    Device::load(&Selection { preset: Some("tiny".into()), set, ..Selection::default() }).expect("a device")
}

fn summary(origin: Origin, precondition: Precondition, requests: Option<u64>) -> Result<Summary> {
    let options = RunOptions { precondition: Some(precondition), ..RunOptions::default() };
    run(&device(), &Workload { requests, ..origin.into() }, &options, &mut Unobserved)
}

fn amplification(summary: &Summary) -> f64 {
    summary.metrics.number("programs_per_host_program").expect("it wrote")
}

fn workload(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("it is written");
    file
}

fn named(file: &tempfile::NamedTempFile) -> Origin {
    Origin::Named(file.path().to_str().expect("text").into())
}

const HOT: &str = r#"
description = "Most writes to a tenth of the addresses"
requests = 40000
read_share = 0.0
pattern = { kind = "hot-cold", hot_accesses = 0.95, hot_addresses = 0.1 }
arrival = { kind = "closed", queue_depth = 16 }
sizes = [{ size = "4KiB", weight = 1 }]
precondition = "workload"
"#;

#[test]
fn a_skewed_workload_is_measured_in_its_own_steady_state() {
    let file = workload(HOT);
    let aged = summary(named(&file), Precondition::Workload(None), None).expect("a run");
    let longer = summary(named(&file), Precondition::Workload(Some(25.0)), None).expect("a run");
    let uniform = summary(named(&file), Precondition::Steady, None).expect("a run");
    let [aged, longer, uniform] = [aged, longer, uniform].map(|summary| amplification(&summary));
    assert!(
        (aged / longer - 1.0).abs() < 0.03,
        "{aged} after it stood still, {longer} after 25 drive writes"
    );
    assert!((uniform / longer - 1.0).abs() > 0.05, "{uniform} from uniform writes, {longer}");
}

#[test]
fn a_trace_ages_a_device_by_its_own_times() {
    let mut file = tempfile::Builder::new().suffix(".trace").tempfile().expect("a file");
    for n in 0..2_000u64 {
        // Columns: time in nanoseconds, device, first sector, sectors, and 0 for a write.
        writeln!(file, "{} 0 {} 8 0", n * 300_000, n * 7919 % 1_000 * 8).expect("it is written");
    }
    let origin = || Origin::Trace(file.path().into(), wordline_trace::Options::default());
    let found = summary(origin(), Precondition::Workload(Some(0.5)), None).expect("a run");
    let note = found.notes.iter().find(|note| note.starts_with("aged with")).expect("it says so");
    assert!(note.starts_with("aged with the workload itself: 0.50 drive writes"), "{note}");
}

#[test]
fn a_workload_that_writes_nothing_leaves_the_device_filled() {
    let origin = Origin::Named("randread-4k".into());
    let found = summary(origin, Precondition::Workload(None), Some(100)).expect("a run");
    assert!(found.notes.iter().any(|note| note.contains("does not write")), "{:?}", found.notes);
}

#[test]
fn ageing_is_a_function_of_the_seed() {
    let file = workload(HOT);
    let once =
        || summary(named(&file), Precondition::Workload(Some(1.0)), Some(1_000)).expect("a run").digest;
    assert_eq!(once(), once());
}

#[test]
fn what_the_buffer_takes_ages_nothing_and_ends() {
    let few = HOT.replace("hot_addresses = 0.1", "hot_addresses = 0.0001").replace("0.95", "1.0");
    let file = workload(&few);
    let found = summary(named(&file), Precondition::Workload(Some(0.2)), Some(100)).expect("a run");
    assert!(found.notes.iter().any(|note| note.contains("absorbed by the buffer")), "{:?}", found.notes);
}

#[test]
fn a_device_without_flash_is_not_aged_and_named() {
    let selection = Selection { preset: Some("fixed-latency".into()), ..Selection::default() };
    let device = Device::load(&selection).expect("a device");
    let precondition = Some(Precondition::Workload(Some(1.0)));
    let (load, options) =
        (Workload::named("randwrite-4k"), RunOptions { precondition, ..RunOptions::default() });
    let refused = run(&device, &load, &options, &mut Unobserved).expect_err("nothing of it ages");
    let told = "precondition: found workload, on a device of type fixed-latency, which does not age, wanted empty or filled";
    assert!(refused.to_string().contains(told), "{refused}");
}
