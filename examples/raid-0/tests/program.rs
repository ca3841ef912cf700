//! The program of a crate outside the workspace: the complete `wordline`, with an additional device type.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// Exit code and output of a call of the program.
fn call(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_raid-0")).args(arguments).output().expect("it was built");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn success(arguments: &[&str]) -> String {
    let (code, out, err) = call(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {err}");
    out
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&success(arguments)).expect("it is JSON")
}

fn refusal(arguments: &[&str]) -> String {
    let (code, out, err) = call(arguments);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
    err
}

/// A folder for a test with a configuration of an array of three SSDs.
fn folder() -> (TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().to_owned();
    let path = move |name: &str| root.join(name).to_string_lossy().into_owned();
    let array = "device = \"raid-0\"\nmembers = 3\n\n[member]\npreset = \"tiny\"\npart.endurance = 77\n";
    std::fs::write(path("array.toml"), array).expect("the folder can be written");
    (folder, path)
}

const WORK: [&str; 6] = ["--workload", "mixed-70-30", "--requests", "3000", "--warm-up", "none"];

#[path = "../../shortest-queue/tests/page/mod.rs"]
mod page;

#[test]
fn what_the_page_says_of_it_is_so() {
    page::check("raid-0", env!("CARGO_BIN_EXE_raid-0"), [2, 0]);
}

#[test]
fn a_configuration_that_names_the_array_runs_with_its_metrics_and_a_report() {
    let (_folder, path) = folder();
    let (config, out) = (path("array.toml"), path("out"));
    let run =
        json(&[&["run", "--config", &config, "--json", "--report", &out, "--seed", "3"][..], &WORK].concat());
    assert_eq!((&run["device"], &run["raid"]["commands"]), (&"array".into(), &3000.into()));
    assert_eq!(run["die_utilisation"].as_array().map(Vec::len), Some(3 * 2));
    assert!(run["configuration"].as_str().is_some_and(|text| text.contains("device = \"raid-0\"")));
    let page = std::fs::read_to_string(Path::new(&out).join("report.html")).expect("it was written");
    assert!(page.replace("<wbr>", "").contains("raid.pieces"), "the report has the metrics of the array");
    let compared =
        json(&[&["compare", "raid-0", &config, "tiny", "fixed-latency", "--json"][..], &WORK].concat());
    let pieces: Vec<&Value> =
        compared.as_array().expect("a list").iter().map(|run| &run["raid"]["pieces"]).collect();
    assert!(pieces[0].as_u64() >= Some(3000) && pieces[1].as_u64() >= Some(3000), "{pieces:?}");
    assert!(pieces[2].is_null() && pieces[3].is_null(), "an SSD is no array: {pieces:?}");
}

#[test]
fn the_members_are_checked_key_by_key() {
    let (_folder, path) = folder();
    let config = path("array.toml");
    let check = |set: &[&str]| {
        let set: Vec<&str> = set.iter().flat_map(|set| ["--set", *set]).collect();
        refusal(&[&["config", "check", "--config", &config][..], &set].concat())
    };
    for (set, wanted) in [
        (
            &["mebers=2"][..],
            "--set mebers: found an unknown key, wanted members, or another of member, stripe_unit",
        ),
        (&["members=0"], "--set members: found 0, wanted from 1 to 1024"),
        (&["stripe_unit=6KiB"], "--set stripe_unit: found 6KiB, wanted a multiple of 4KiB"),
        (&["member.ftl.over_provisoning=0.3"], "over_provisioning, or another of"),
        (
            &["member.ftl.over_provisioning=1.7"],
            "--set member.ftl.over_provisioning: found 1.7, wanted a fraction",
        ),
        (&["member.preset=tniy"], "--set member.preset: found \"tniy\", wanted a preset: "),
        (
            &["member.preset=raid-0"],
            "found \"raid-0\", a device of the type raid-0, wanted the preset of an SSD",
        ),
        (&["member.part=no-such"], "--set member.part: found \"no-such\", wanted a part"),
        (
            &["device=raid-1"],
            "--set device: found \"raid-1\", wanted raid-0, or another of ssd, fixed-latency, pblk, open-channel, raid5, zoned",
        ),
    ] {
        let found = check(set);
        assert!(found.contains(wanted), "{set:?}: {found}");
    }
    let lines = check(&["member.ftl.over_provisioning=1.7", "members=0"]);
    assert_eq!(lines.lines().count(), 2, "all at once: {lines}");
    let changed = ["--set", "member.part=z-nand", "--set", "member.part.geometry.blocks_per_plane=32"];
    let shown = success(&[&["config", "show", "--config", &config][..], &changed].concat());
    assert!(shown.contains("blocks_per_plane = 32") && shown.contains("z-nand"), "{shown}");
    std::fs::write(path("again.toml"), &shown).expect("the folder can be written");
    assert_eq!(
        success(&["config", "show", "--config", &path("again.toml")]).replace("again", "array"),
        shown
    );
    let explained = success(&["config", "explain", "--config", &config]);
    assert!(explained.contains("members") && explained.contains("member: geometry"), "{explained}");
}

#[test]
fn a_snapshot_of_an_array_is_restored_as_one_and_as_nothing_else() {
    let (_folder, path) = folder();
    let (config, saved) = (path("array.toml"), path("array.snap"));
    success(&["snapshot", "make", &saved, "--config", &config, "--precondition", "filled"]);
    let shown = json(&["snapshot", "show", &saved, "--json"]);
    assert_eq!(shown["device_type"], "raid-0", "{shown}");
    let from = [&["run", "--from-snapshot", &saved, "--json"][..], &WORK].concat();
    let restored = json(&from);
    let anew =
        json(&[&["run", "--config", &config, "--precondition", "filled", "--json"][..], &WORK].concat());
    assert_eq!(restored["digest"], anew["digest"], "it goes on as the one that was saved");
    let refused = refusal(&[&from[..], &["--preset", "tiny"]].concat());
    assert!(
        refused.contains("found a device of the type raid-0, wanted the type ssd as the device to run"),
        "{refused}"
    );
    let other = refusal(&[&from[..], &["--set", "members=2"]].concat());
    assert!(other.contains("found a device with members = 3, wanted 2 as in the device to run"), "{other}");
}

#[test]
fn the_type_is_among_all_that_the_program_lists() {
    let devices = success(&["devices"]);
    assert!(devices.contains("ssd*") && devices.contains("raid-0"), "{devices}");
    let page = success(&["devices", "raid-0"]);
    for text in ["# Device: raid-0", "`stripe_unit`", "`[member]`", "`raid.split`"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(success(&["metrics", "raid"]).contains("Commands of the host that went to several members."));
    let presets = json(&["presets", "list", "--json"]);
    let own = presets
        .as_array()
        .expect("a list")
        .iter()
        .find(|preset| preset["name"] == "raid-0")
        .expect("it is there");
    assert_eq!((&own["device"], &own["chips"][1]["part"]), (&"raid-0".into(), &"tiny-mlc".into()));
    let schema = json(&["config", "schema"]);
    let types = schema["anyOf"].as_array().expect("a list");
    assert_eq!(types.last().expect("one")["properties"]["device"]["const"], "raid-0");
    assert!(schema["$defs"]["SsdFile"]["properties"]["preset"].is_object());
}

#[test]
fn an_experiment_sweeps_over_arrays() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let folder = folder.to_str().expect("a path of text");
    let outcome = json(&["repro", "raid-0/members", "--seeds", "1", "--experiments", folder, "--json"]);
    let rows = outcome["rows"].as_array().expect("rows");
    let verdicts: Vec<&Value> = rows.iter().map(|row| &row["verdict"]).collect();
    // The band of the first row, 25 % to either side, spans more than a factor of 1.5. So its verdict is
    // `direction`.
    assert_eq!(verdicts, ["direction", "within", "within", "within"], "{outcome}");
}
