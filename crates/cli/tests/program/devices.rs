//! Tests `wordline devices`, and devices other than SSDs.

use super::{Folder, wordline};

const WORK: [&str; 4] = ["--workload", "mixed-70-30", "--requests", "500"];

#[test]
fn the_types_of_devices_are_listed_and_one_shows_its_keys() {
    let list = wordline(&["devices"]).success();
    assert!(list.contains("ssd*") && list.contains("capacity latency"), "{list}");
    let types = wordline(&["devices", "--json"]).json();
    assert_eq!((&types[1]["name"], &types[1]["default"]), (&"fixed-latency".into(), &false.into()));
    assert!(types[0]["metrics"].as_array().is_some_and(|names| names.contains(&"flash.programs".into())));
    let page = wordline(&["devices", "fixed-latency"]).success();
    assert!(page.starts_with("# Device: fixed-latency") && page.contains("`latency` | time"), "{page}");
    let refusal = wordline(&["devices", "fixd-latency"]).refusal();
    assert!(refusal.contains(
        "found `fixd-latency`, wanted fixed-latency, or another of ssd, pblk, open-channel, raid5, zoned"
    ));
}

#[test]
fn a_device_of_another_type_runs_and_answers_as_it_says() {
    let run = |more: &[&str]| wordline(&[&["run", "--json"][..], &WORK, more].concat()).json();
    let named = run(&["--preset", "fixed-latency"]);
    assert_eq!(
        (&named["device"], &named["host"]["read_latency_us"]["max"]),
        (&"fixed-latency".into(), &10.0.into())
    );
    let set = run(&["--set", "device=fixed-latency", "--set", "latency=25us"]);
    assert_eq!(
        (&set["device"], &set["host"]["write_latency_us"]["min"]),
        (&"fixed-latency".into(), &25.0.into())
    );
    let folder = Folder::new();
    let file = folder.with("null.toml", "preset = \"tiny\"\ndevice = \"fixed-latency\"\nlatency = \"1us\"\n");
    let out = folder.path("out");
    let table = wordline(&[&["run", "--config", &file, "--report", &out][..], &WORK].concat()).success();
    assert!(table.contains("1.00 µs") && !table.contains("-100"), "{table}");
    assert_eq!(run(&["--config", &file])["device"], "null", "the preset below is of another type");
    let compared = wordline(&[&["compare", "tiny", &file][..], &WORK].concat()).success();
    assert!(compared.contains("tiny") && compared.contains("null"), "{compared}");
}

#[test]
fn what_is_wrong_with_a_device_of_another_type_is_named_by_its_key() {
    for (set, wanted) in [
        (
            &["device=fixed-latncy"][..],
            "--set device: found \"fixed-latncy\", wanted fixed-latency, or another of ssd, pblk, open-channel, raid5, zoned",
        ),
        (
            &["device=fixed-latency", "latancy=1us"],
            "--set latancy: found an unknown key, wanted latency, or another of capacity",
        ),
        (&["device=fixed-latency", "latency=0"], "--set latency: found 0s, wanted above 0 and at most 1h"),
        (&["device=fixed-latency", "capacity=700B"], "--set capacity: found 700B, wanted a multiple of 512B"),
        (
            &["device=fixed-latency", "ftl.over_provisioning=0.2"],
            "--set ftl.over_provisioning: ftl: found an unknown key",
        ),
        (&["latency=1us"], "--set latency: found an unknown key"),
        (
            &["device=3"],
            "--set device: found 3, wanted one of ssd, fixed-latency, pblk, open-channel, raid5, zoned",
        ),
    ] {
        let set: Vec<&str> = set.iter().flat_map(|set| ["--set", *set]).collect();
        let refusal = wordline(&[&["config", "check", "--preset", "tiny"][..], &set].concat()).refusal();
        assert!(refusal.contains(wanted), "{set:?}: {refusal}");
    }
}

#[test]
fn a_snapshot_is_restored_under_the_type_that_it_was_made_with_alone() {
    let folder = Folder::new();
    let saved = folder.path("null.snap");
    let made = wordline(&["snapshot", "make", &saved, "--preset", "fixed-latency", "--json"]).json();
    assert_eq!(made["device_type"], "fixed-latency");
    let run = [&["run", "--from-snapshot", &saved][..], &WORK].concat();
    wordline(&run).success();
    let refusal = wordline(&[&run[..], &["--preset", "tiny"]].concat()).refusal();
    let wanted = "found a device of the type fixed-latency, wanted the type ssd as the device to run";
    assert!(refusal.contains(wanted), "{refusal}");
}
