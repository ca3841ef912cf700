//! Configurations of SSDs with designs, and of devices of other types.

use crate::{Device, Precondition, Registry, RunOptions, Selection, Summary, Unobserved, Workload};

/// The preset `centaur` with few blocks, to save memory and time.
const SMALL: &str = r#"
    preset = "centaur"
    part = { base = "centaur-tlc-3d", geometry.blocks_per_plane = 24 }
    [buffer]
    size = "1MiB"
    [ftl.gc]
    start_below_free_blocks = 3
    stop_at_free_blocks = 3
    [ftl]
    over_provisioning = 0.4
    [[pools]]
    part = { base = "centaur-slc-2d", geometry.blocks_per_plane = 32 }
    layout = { channels = 4, packages_per_channel = 2, dies_per_package = 1, planes_per_row = 1 }
    start_below_free_blocks = 3
    stop_at_free_blocks = 3
"#;

fn device(set: &[&str]) -> crate::error::Result<Device> {
    let set: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
    Device::of_text(&Registry::default(), ("small", "small"), SMALL, &set)
}

fn refused(set: &[&str]) -> String {
    device(set).expect_err("it is wrong").to_string()
}

fn options() -> RunOptions {
    RunOptions { precondition: Some(Precondition::Filled(0.5)), ..RunOptions::default() }
}

fn run(device: &Device, options: &RunOptions) -> crate::error::Result<Summary> {
    let load = Workload { requests: Some(2_000), ..Workload::named("mixed-sizes") };
    crate::run(device, &load, options, &mut Unobserved)
}

#[test]
fn the_presets_run_with_either_design() {
    let digest = |set: &[&str]| {
        let device = device(set).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(device.ssd().expect("an SSD").config.ftl.geometry().dies(), 7);
        run(&device, &options()).unwrap_or_else(|error| panic!("{error}")).digest
    };
    let centaur = digest(&[]);
    assert_eq!(digest(&["design.condition=72KiB"]), centaur, "it is the default");
    assert_ne!(digest(&["design.condition=32KiB"]), centaur, "64 KiB are large");
    assert_ne!(digest(&["design.name=slc-mlc-hybrid"]), centaur);
}

#[test]
fn the_table_of_a_run_shows_what_its_pools_did() {
    let empty = RunOptions { precondition: Some(Precondition::Empty), ..options() };
    let device = device(&["design.condition=40KiB", "design.adjust_every=100"]).expect("a device");
    let run = run(&device, &empty).expect("it runs");
    assert_eq!(run.metrics.count("flash.programs"), run.pools.iter().map(|pool| pool.programs).sum::<u64>());
    let condition = run.metrics.count("sub_requests.condition_bytes");
    assert!((1..40 << 10).contains(&condition), "{condition}");
    assert!(run.metrics.count("sub_requests.to_first") > 0);
    let table = crate::report::table(&run, 100);
    let of_pools = table.lines().skip_while(|line| !line.starts_with(" Pools"));
    let of_pools: Vec<&str> = of_pools.take_while(|line| !line.is_empty()).collect();
    insta::assert_snapshot!(of_pools.join("\n"));
}

#[test]
fn a_design_comes_back_from_the_text_of_its_device_and_from_a_snapshot() {
    let device = device(&["design.adjust_every=10"]).expect("a device");
    let again =
        Device::of_text(&Registry::default(), ("again", "small"), &device.text, &[]).expect("its text");
    assert_eq!(again.configured.table(), device.configured.table());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("centaur.snap");
    let saving = RunOptions { save_snapshot: Some(path.clone()), ..options() };
    run(&device, &saving).expect("it runs and is saved");
    let from = RunOptions { from_snapshot: Some(path), ..RunOptions::default() };
    let restored = |device: &Device| run(device, &from);
    restored(&device).expect("it is the same device");
    let other = self::device(&["design.adjust_every=11"]).expect("a device");
    let error = restored(&other).expect_err("the condition moves at another pace").to_string();
    assert!(error.contains("a device with design.adjust_every = 10"), "{error}");
}

#[test]
fn what_does_not_fit_a_design_is_named_with_its_key() {
    for (set, key) in [
        (&["design.name=centaurr"][..], "design.name: found \"centaurr\", wanted centaur, or another of"),
        (&["design.epoch=5"], "design.epoch: found a key of another design"),
        (&["design.condition=96KiB"], "design.condition: found 96KiB, wanted from design.least"),
        (&["design.name=slc-mlc-hybrid", "design.epoch=0"], "design.epoch: found 0, wanted 1 or more"),
        (&["ftl.router={policy='by-size',least='64KiB'}"], "found by-size beside the design centaur"),
    ] {
        let error = refused(set);
        assert!(error.contains(key), "{error}");
    }
    let alone = Device::load(&Selection {
        preset: Some("tiny".into()),
        set: vec!["design.name=centaur".into()],
        ..Default::default()
    });
    let error = alone.expect_err("one pool").to_string();
    assert!(error.contains("design.name: found centaur beside 1 pool, wanted a device with two"), "{error}");
}

#[test]
fn a_part_of_a_pool_that_is_not_there_is_named() {
    for (part, key) in [("\"no-such\"", "pools[0].part"), ("{ base = \"no-such\" }", "pools[0].part.base")] {
        let text = format!("preset = \"centaur\"\n[[pools]]\npart = {part}\n");
        let device = Device::of_text(&Registry::default(), ("text", "text"), &text, &[]);
        let error = device.expect_err("no part").to_string();
        assert!(error.contains(&format!("text:3: {key}: found \"no-such\", wanted a part")), "{error}");
    }
}
