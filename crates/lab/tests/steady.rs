//! Tests that a run measures the steady state from its first request on. The result must not depend on the
//! number of requests, on pauses, on closed or open loop, or on the fraction of the device in use.

use wordline_lab::{Device, Precondition, RunOptions, Selection, Summary, Unobserved, Workload, run};

/// A job of reads and writes of 4 KiB, two thirds of them writes. Requests arrive at random times, for as
/// long as the run needs requests.
const PACED: &str = "[global]\nfilename=x\nrw=randrw\nrwmixread=34\nbs=4k\niodepth=1024\nioengine=libaio\ndirect=1\n\
    rate_process=poisson\nnorandommap\ntime_based\nruntime=100000s\n[a]\n";

/// Read and write rates of a job at which each device has idle time.
const RATES: [(&str, &[&str], &str); 7] = [
    // The short test has this one alone: the others write hundreds of thousands of pages before they are steady.
    ("tiny", &["ftl.gc.paced=true", "part.geometry.blocks_per_plane=128"], "1700,3300"),
    ("bench-tlc", &["ftl.mapping.unit=4KiB", "part.geometry.blocks_per_plane=171"], "5100,9900"),
    ("bench-tlc", &["ftl.mapping.unit=4KiB"], "5100,9900"),
    ("bench-tlc", &[], "1700,3300"),
    ("bench-tlc-1t", &["ftl.mapping.unit=4KiB"], "5100,9900"),
    ("bench-qlc", &["ftl.mapping.unit=4KiB"], "170,330"),
    ("bench-z-nand", &["ftl.mapping.unit=4KiB"], "17000,33000"),
];

fn device(preset: &str, set: &[&str]) -> Device {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    Device::load(&Selection { preset: Some(preset.into()), file: None, set }).expect("a device")
}

fn is_long() -> bool {
    std::env::var_os("WORDLINE_LONG").is_some()
}

fn steady(device: &Device, workload: &Workload) -> Summary {
    let options = RunOptions { precondition: Some(Precondition::Steady), ..RunOptions::default() };
    run(device, workload, &options, &mut Unobserved).expect("a run")
}

fn amplification(run: &Summary) -> f64 {
    run.write_amplification.unwrap_or_else(|| panic!("{:?}", run.why_unknown("write_amplification")))
}

fn assert_within(part: f64, [here, there]: [f64; 2], what: &str) {
    assert!((here / there - 1.0).abs() <= part, "{what}: {here:.3} and {there:.3}");
}

/// A closed loop of reads and writes, without pauses.
fn closed(requests: u64) -> Workload {
    Workload { requests: Some(requests), ..Workload::named("mixed-70-30") }
}

#[test]
fn few_requests_amplify_as_many_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("paced.fio");
    let (many, devices) = if is_long() { (1_000_000, RATES.len()) } else { (60_000, 1) };
    for (preset, set, rates) in &RATES[..devices] {
        let device = device(preset, set);
        std::fs::write(&path, format!("{PACED}rate_iops={rates}\n")).expect("a job file");
        let paced =
            |requests| Workload { requests: Some(requests), ..Workload::named(&path.display().to_string()) };
        let load: [(&str, &dyn Fn(u64) -> Workload); 2] = [("paced", &paced), ("closed", &closed)];
        for (name, load) in load {
            let both = [20_000, many].map(|requests| amplification(&steady(&device, &load(requests))));
            assert_within(0.05, both, &format!("{preset} {set:?}, {name}"));
        }
    }
}

/// The test runs only with `WORDLINE_LONG`: with fewer than 100,000 requests chance decides, and these take
/// 25 s.
#[test]
fn a_part_of_the_blocks_amplifies_as_all_of_them() {
    if !is_long() {
        return;
    }
    let scaled = |blocks: u32| {
        let blocks = format!("part.geometry.blocks_per_plane={blocks}");
        amplification(&steady(&device("bench-tlc", &["ftl.mapping.unit=4KiB", &blocks]), &closed(1_000_000)))
    };
    let whole = scaled(683);
    for blocks in [171, 342] {
        assert_within(0.03, [scaled(blocks), whole], &format!("{blocks} of 683 blocks"));
    }
}
