//! The purpose of the design: fewer pages are relocated, and no page is disturbed more.

use wordline_lab::devices::DesignType;
use wordline_lab::{Device, RunOptions, Summary, Unobserved, WarmUp, Workload, run};
use wordline_ssd::contract;

use read_reclaim::{File, ReadReclaim};

fn device(settings: &[&str]) -> Result<Device, String> {
    read_reclaim::registry().device("read-reclaim", settings).map_err(|error| error.to_string())
}

#[test]
fn it_keeps_the_contract_of_designs() {
    let small = device(&["part.geometry.blocks_per_plane=24"]).expect("it is sound");
    let file = &small.ssd().expect("an SSD").config.file;
    for whole_blocks in [false, true] {
        let design = File { limit: 300, adjacent: 4, whole_blocks };
        contract::check(file, |config| ReadReclaim::build(&design, config));
    }
}

/// Random reads of Zipf popularity.
fn reads(settings: &[&str]) -> Summary {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/reads.toml");
    let whole = RunOptions { warm_up: Some(WarmUp::None), ..RunOptions::default() };
    let device = device(settings).expect("it is sound");
    run(&device, &Workload::named(workload), &whole, &mut Unobserved).expect("it runs")
}

fn number(summary: &Summary, name: &str) -> f64 {
    summary.metrics.number(name).expect("it counts")
}

#[test]
fn fewer_pages_are_relocated_at_the_same_limit() {
    let [lines, blocks] = [reads(&[]), reads(&["design.read-reclaim.whole_blocks=true"])];
    let [of_lines, of_blocks] = [&lines, &blocks].map(|summary| number(summary, "flash.gc_programs"));
    assert!(of_blocks > 10_000.0 && of_lines < 0.4 * of_blocks, "{of_lines} pages, {of_blocks}");
    let [of_lines, of_blocks] = [&lines, &blocks].map(|summary| number(summary, "flash.erases"));
    assert!(of_lines < 0.4 * of_blocks, "{of_lines} erases, {of_blocks}");
    for summary in [&lines, &blocks] {
        let most = number(summary, "read_reclaim.most");
        assert!(most > 400.0 && most <= 4_000.0, "a page was disturbed by {most} reads");
    }
    let [of_lines, of_blocks] = [&lines, &blocks].map(|summary| summary.host.read_latency_us.mean);
    assert!(of_lines < of_blocks, "{of_lines} us, {of_blocks} us");
}

#[test]
fn without_reclaim_pages_are_disturbed_beyond_the_limit() {
    let never = reads(&["design.read-reclaim.limit=1000000000"]);
    assert_eq!(number(&never, "flash.gc_programs"), 0.0);
    assert!(number(&never, "read_reclaim.most") > 8_000.0);
}

#[test]
fn settings_that_are_not_possible_are_refused() {
    let wrong = device(&["design.read-reclaim.limit=512"]).expect_err("the checks are too rare for it");
    assert!(wrong.contains("design.read-reclaim.limit: found 512, wanted from 513 to 2^30"), "{wrong}");
    let wrong = device(&["design.read-reclaim.adjacent=0"]).expect_err("a read disturbs");
    assert!(wrong.contains("design.read-reclaim.adjacent: found 0, wanted from 1 to 1000"), "{wrong}");
}
