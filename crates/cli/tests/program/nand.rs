//! Tests `wordline nand`.

use serde_json::Value;

use crate::{Folder, wordline};

#[test]
fn the_operations_of_a_part_are_a_table_and_json() {
    let table = wordline(&["nand", "ops", "--part", "mqsim-mlc"]).success();
    for text in ["mqsim-mlc (NV-DDR2", "program-cache", "copyback", "erase", "MB/s", "TIN %"] {
        assert!(table.contains(text), "{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let ops = wordline(&["nand", "ops", "--part", "mqsim-mlc", "--dies", "4", "--json"]).json();
    let rows = ops["rows"].as_array().expect("a list");
    // Six operations, each with one plane and with two planes, on one die and on four dies.
    assert_eq!(rows.len(), 24);
    for row in rows {
        let shares = row["stage_shares"].as_object().expect("shares by stage");
        let sum: f64 = shares.values().filter_map(Value::as_f64).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{row}");
    }
}

#[test]
fn what_a_part_cannot_do_is_left_out_with_a_note() {
    let folder = Folder::new();
    let text = include_str!("../../../../data/parts/nandflashsim-mlc1.toml");
    let one = text.replace("\nplanes = 2", "\nplanes = 1\nregisters = 1");
    let path = folder.with("one.toml", one);
    let table = wordline(&["nand", "ops", "--part", &path]).success();
    assert!(table.contains("Note: the part has one plane: no multi-plane operations"), "{table}");
    assert!(table.contains("Note: the part has one page register: no cache operations"), "{table}");
    assert!(!table.contains("read-cache"), "{table}");
    let refusal = wordline(&["nand", "timeline", "--part", &path, "read-cache"]).refusal();
    assert!(refusal.contains("character 1: found `read-cache`"), "{refusal}");
}

#[test]
fn another_mode_changes_the_bus_alone() {
    let rate = |more: &[&str]| {
        let ops = wordline(&[&["nand", "ops", "--part", "mqsim-mlc", "--json"], more].concat()).json();
        (ops["bus"].clone(), ops["rows"][0]["bytes_per_second"].as_f64().expect("a read moves data"))
    };
    let (_, own) = rate(&[]);
    let (bus, fast) = rate(&["--interface", "NV-DDR3", "--mode", "15"]);
    assert!(bus.as_str().is_some_and(|bus| bus.starts_with("NV-DDR3 mode 15")), "{bus}");
    assert!(fast > own, "{fast} and {own}");
}

#[test]
fn a_time_line_is_written_for_perfetto_and_as_a_picture() {
    let folder = Folder::new();
    let (json, svg) = (folder.path("a.json"), folder.path("a.svg"));
    let arguments =
        ["nand", "timeline", "--part", "mqsim-mlc", "--dies", "2", "all:program-cache*3", "1:read@2"];
    let table = wordline(&[&arguments[..], &["--output", &json, "--svg", &svg]].concat()).success();
    assert!(table.contains("read@2") && table.contains("program-cache"), "{table}");
    assert_eq!(folder.names(), ["a.json", "a.svg"]);
    let text = std::fs::read_to_string(&json).expect("it was just written");
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    let events = document["traceEvents"].as_array().expect("a list of events");
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!(named("TON"), 3, "one array, two planes");
    for name in ["bus", "die 0 array", "die 1 plane 1", "die 0 cache register", "die 1 data register"] {
        let is = |event: &Value| event["ph"] == "M" && event["args"]["name"] == name;
        assert!(events.iter().any(is), "{name}");
    }
    assert!(named("die 1 RDY") > 2 && named("die 1 ARDY") > 2);
    let picture = std::fs::read_to_string(&svg).expect("it was just written");
    assert!(picture.starts_with("<svg ") && picture.contains(">die 1</text>"), "{picture}");
    let shown = wordline(&[&arguments[..], &["--svg", "-"]].concat()).success();
    assert_eq!(shown, picture);
}

#[test]
fn what_operations_took_is_json() {
    let line = wordline(&["nand", "timeline", "--part", "mqsim-mlc", "read*3 erase", "--json"]).json();
    let operations = line["operations"].as_array().expect("a list");
    let names: Vec<_> = operations.iter().map(|one| (&one["operation"], &one["count"])).collect();
    assert_eq!(names, [(&"erase".into(), &1.into()), (&"read".into(), &3.into())]);
    assert_eq!(line["bytes"], 3 * 8_192);
}

#[test]
fn bad_input_is_refused_with_what_was_wanted() {
    let folder = Folder::new();
    let broken = folder.with("broken.toml", "name = \"x\"\n[geometry]\nplains = 2\n");
    for (arguments, texts) in [
        (
            &["--part", "mqsim-mcl", "read"][..],
            &["--part mqsim-mcl: found no such name", "mqsim-mlc, or another of"][..],
        ),
        (
            &["--part", "mqsim-mlc", "reed"],
            &["operation `reed`, character 1: found `reed`, wanted one of read,"],
        ),
        (&["--part", "mqsim-mlc", "1:read"], &["character 1: found `1`", "from 0 to 0"]),
        (
            &["--part", "mqsim-mlc", "--dies", "65", "read"],
            &["--dies: found 65 on all channels, wanted at most 64"],
        ),
        (&["--part", "mqsim-mlc", "--channels", "0", "read"], &["--channels: found 0, wanted from 1 to 128"]),
        (&["--part", "mqsim-mlc", "--mode", "77", "read"], &["--mode: found 77, wanted from 0 to"]),
        (
            &["--part", &broken, "read"],
            &["broken.toml:3: geometry.plains: found an unknown key", "a value for timing"],
        ),
        (
            &["--part", "mqsim-mlc", "--output", "/dev/null/a.json", "read"],
            &["/dev/null/a.json: cannot write"],
        ),
    ] {
        let refusal = wordline(&[&["nand", "timeline"], arguments].concat()).refusal();
        assert!(texts.iter().all(|text| refusal.contains(text)), "{arguments:?}: {refusal}");
    }
}
