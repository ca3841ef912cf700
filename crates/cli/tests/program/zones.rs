//! Tests zoned namespaces in the program. Each key must have an effect, and an invalid key must be an error.

use super::{Folder, wordline};

/// Preset `bench-zns`, scaled down.
const SMALL: [&str; 6] = [
    "open_channel.part.geometry.blocks_per_plane=40",
    "open_channel.part.geometry.pages_per_block=48",
    "open_channel.part.geometry.layers=4",
    "open_channel.failures.reserve=0.2",
    "zones.capacity=9MiB",
    "over_provisioning=0.5",
];

fn settings<'a>(set: &[&'a str]) -> Vec<&'a str> {
    let all = ["--preset", "bench-zns"].into_iter();
    all.chain(SMALL.iter().chain(set).flat_map(|set| ["--set", *set])).collect()
}

/// The results of a run with these settings that a key may change.
fn run(set: &[&str]) -> serde_json::Value {
    let work = ["--workload", "randwrite-4k", "--requests", "6000", "--precondition", "filled"];
    let mut run = wordline(&[&["run", "--json"][..], &work, &settings(set)].concat()).json();
    let members = run.as_object_mut().expect("a table");
    for key in ["configuration", "provenance", "simulator"] {
        members.remove(key);
    }
    run
}

#[test]
fn every_key_of_zones_changes_a_run_or_what_is_said_of_the_device() {
    let base = run(&[]);
    assert!(base["zones"]["appends"].as_u64() > Some(100), "{}", base["zones"]);
    assert!(base["zones"]["writes_failed"].as_u64() == Some(0), "{}", base["zones"]);
    for set in [
        &["zones.width=4", "zones.capacity=4608KiB"][..],
        &["zones.stripe=48", "zones.append_limit=256KiB"],
        &["zones.capacity=6MiB"],
        &["zones.max_open=1"],
        &["zones.append_limit=256KiB"],
        &["over_provisioning=0.6"],
        &["write_buffer=4MiB"],
        &["command_time=20us"],
        &["open_channel.buffer.size=96KiB"],
    ] {
        assert_ne!(run(set), base, "{set:?}");
    }
    let explain = |set: &[&str]| wordline(&[&["config", "explain"][..], &settings(set)].concat()).success();
    for set in [&["zones.size=32MiB"][..], &["zones.max_active=8", "zones.max_open=8"]] {
        assert_ne!(explain(set), explain(&[]), "{set:?}");
    }
}

#[test]
fn what_is_wrong_with_zones_is_named_by_its_key() {
    for (set, wanted) in [
        ("zones.max_open=0", "zones.max_open: found 0, wanted from 1 to `max_active`"),
        ("zones.max_open=15", "zones.max_open: found 15, wanted from 1 to `max_active`"),
        ("zones.max_active=5;zones.max_open=5", "zones.max_active: found 5, wanted at least 6"),
        ("zones.capacity=13MiB", "zones.capacity: found 13MiB, wanted a multiple of 96KiB"),
        ("zones.capacity=100KiB", "zones.capacity: found 100KiB, wanted a multiple of 96KiB"),
        ("zones.size=8MiB", "zones.size: found 8MiB, wanted at least 9MiB"),
        ("zones.stripe=36", "zones.stripe: found 36, wanted a multiple of 24"),
        ("zones.width=3", "zones.width: found 3, wanted a divisor of the 8 parallel units"),
        ("zones.append_limit=100KiB", "zones.append_limit: found 100KiB, wanted 4KiB times a power of two"),
        ("open_channel.mw_cunits=24", "open_channel.mw_cunits: found 24, wanted 0"),
        ("open_channel.max_open=9", "open_channel.max_open: found 9, wanted none"),
        ("open_channel.early_resets=false", "open_channel.early_resets: found false, wanted true"),
        ("zones.colour=1", "zones.colour: found an unknown key"),
    ] {
        let refusal =
            wordline(&[&["config", "check"][..], &settings(&Vec::from_iter(set.split(';')))].concat())
                .refusal();
        assert!(refusal.contains(wanted), "{set:?}: {refusal}");
    }
}

#[test]
fn latencies_of_zone_operations_stand_beside_those_of_reads() {
    let folder = Folder::new();
    let text = "t_us,op,offset,size\n0,ZA,0,4096\n900,R,0,4096\n9000,ZR,0,0\n";
    let trace = folder.with("zones.csv", text);
    let raw = wordline(&["run", "--preset", "zns-tlc-raw", "--trace", &trace]).success();
    let head = raw.lines().find(|line| line.contains("Latency")).expect("a table of latencies");
    assert!(head.contains("appends") && head.contains("resets") && !head.contains("closes"), "{raw}");
    let mapped = wordline(&["run", "--preset", "tiny", "--trace", &trace, "--json"]).json();
    assert_eq!((&mapped["host"]["reads"], &mapped["host"]["writes"]), (&1.into(), &1.into()), "{mapped}");
}
