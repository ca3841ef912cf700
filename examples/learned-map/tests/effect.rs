//! The purpose of the design: in the same memory, lines find more pages than entries do.

use wordline_lab::devices::DesignType;
use wordline_lab::{Device, RunOptions, Summary, Unobserved, WarmUp, Workload, run};
use wordline_ssd::contract;

use learned_map::LearnedMap;

fn device(settings: &[&str]) -> Device {
    learned_map::registry().device("learned-map", settings).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn it_keeps_the_contract_of_designs() {
    let small = ["layout.channels=2", "part.geometry.blocks_per_plane=32", "ftl.over_provisioning=0.3"];
    let device = device(&[&small[..], &["ftl.mapping.cache=1KiB"]].concat());
    let file = &device.ssd().expect("an SSD").config.file;
    for max_error in [0, 4] {
        let design = LearnedMap { max_error, ..LearnedMap::default() };
        contract::check(file, |config| LearnedMap::build(&design, config));
    }
}

/// A run after the drive was written sequentially.
fn after_fill(device: &Device, workload: &str) -> Summary {
    let workload = format!("{}/{workload}", env!("CARGO_MANIFEST_DIR"));
    let whole = RunOptions { warm_up: Some(WarmUp::None), ..RunOptions::default() };
    run(device, &Workload::named(&workload), &whole, &mut Unobserved).expect("it runs")
}

fn number(summary: &Summary, name: &str) -> f64 {
    summary.metrics.number(name).expect("it counts")
}

#[test]
fn lines_find_more_pages_than_entries_in_the_same_memory() {
    let [learned, entries] =
        [device(&[]), device(&["designs=[]"])].map(|device| after_fill(&device, "reads.toml"));
    let [found, looked_up] = [&learned, &entries].map(|summary| number(summary, "flash.translation_reads"));
    assert!(
        looked_up > 15_000.0 && found < looked_up / 10.0,
        "{found} reads of translation pages, {looked_up}"
    );
    let accuracy = number(&learned, "map_guesses.accuracy");
    assert!(accuracy > 0.9, "{accuracy} of the guesses are right");
    let [learned, entries] = [&learned, &entries].map(|summary| summary.host.read_latency_us.mean);
    assert!(learned < entries * 0.7, "{learned} us, {entries} us");
}

#[test]
fn overwrites_in_random_order_lower_the_accuracy() {
    let accuracy = |workload| number(&after_fill(&device(&[]), workload), "map_guesses.accuracy");
    let [before, during] = ["reads.toml", "overwrites.toml"].map(accuracy);
    assert!(during < before - 0.2, "{before} of the guesses are right, {during} between overwrites");
}
