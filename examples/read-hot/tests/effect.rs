//! The purpose of the design: frequently read pages are read faster.

use wordline_lab::devices::DesignType;
use wordline_lab::{Device, RunOptions, Summary, Unobserved, Workload, run};
use wordline_ssd::contract;

use read_hot::{File, ReadHot};

fn device(preset: &str, setting: &str) -> Device {
    read_hot::registry().device(preset, &[setting]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn it_keeps_the_contract_of_designs() {
    let device = device("read-hot", "part.geometry.blocks_per_plane=28");
    let file = &device.ssd().expect("an SSD").config.file;
    contract::check(file, |config| ReadHot::build(&File { hot_reads: 1, ..File::default() }, config));
}

/// 200,000 requests one after another, 98 % of them reads. Their addresses have Zipf popularity.
fn reads(device: &Device) -> Summary {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/reads.toml");
    let load = Workload { requests: Some(200_000), ..Workload::named(workload) };
    run(device, &load, &RunOptions::default(), &mut Unobserved).expect("it runs")
}

#[test]
fn pages_that_are_read_often_are_read_faster() {
    let plain = reads(&device("tiny-tlc", "ftl.over_provisioning=0.4"));
    let own = reads(&device("read-hot", "ftl.over_provisioning=0.4"));
    let [all, slc] = ["read_hot.reads", "read_hot.slc_reads"].map(|name| own.metrics.number(name));
    let share = slc.expect("it counts") / all.expect("it counts");
    assert!(share > 0.35, "{share} of the reads are in SLC mode");
    // In SLC mode tR is 37 us instead of 70 us, so this share of the reads saves 33 us each. GC for the SLC
    // blocks costs a part of that.
    let saved = plain.host.read_latency_us.mean - own.host.read_latency_us.mean;
    assert!(saved > 3.0 && saved < 33.0 * share, "{saved} us");
}
