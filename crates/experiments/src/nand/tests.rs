use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::{Experiment, Lab, Options, Outcome, Row, Value, Verdict, charts, run, run_changed};
use wordline_lab::error::Result;
use wordline_lab::sweep::SweepOptions;

/// Reads of one page of a part with round times: 25 ns per byte, and negligible waits.
const READS: &str = r#"
title = "T"
source = "S"
claims = ["NFS-N3"]

[kind.nand]
base = "nandflashsim-mlc1"

[kind.nand.unit]
dies = 1
queue_depth = 1

[kind.nand.workload]
pattern = "sequential"
operation = "read"
pages = 2
data = "64KiB"

[[kind.nand.vary]]
key = "mode"
values = ["legacy", "2x"]
sets.legacy = { "unit.multi_plane" = false }
sets.2x = { "unit.multi_plane" = true }

[[kind.nand.vary]]
key = "part.timing.read"
values = [["50us"], ["100us"]]
"#;

const GAIN: &str = r#"
[[expect]]
what = "gain"
at = { mode = "2x" }
over = { mode = "legacy" }
column = "megabytes_per_second"
unit = "%"
value = 50.0
between = [20.0, 60.0]
derivation = "D"
source = "S"
"#;

fn parse(text: &str) -> Result<Experiment> {
    Experiment::parse("paper/name", Path::new("dir/experiment.toml"), text, None)
}

fn outcome_of(text: &str) -> (Experiment, Outcome) {
    let experiment = parse(text).expect("well formed");
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
    let outcome = run(&experiment, &Options::default(), &Lab::default(), &conduct).expect("it runs");
    (experiment, outcome)
}

fn rows(text: &str) -> Vec<Row> {
    outcome_of(text).1.rows
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Text(text) => panic!("{text} is no number"),
    }
}

/// The complaint about `READS` and `GAIN` with `old` replaced by `new`.
fn complaint(old: &str, new: &str) -> String {
    let text = READS.to_owned() + GAIN;
    assert!(text.contains(old), "the test changes {old}");
    parse(&text.replacen(old, new, 1)).expect_err(new).to_string()
}

#[test]
fn a_gain_is_that_over_the_point_with_other_values() {
    let rows = rows(&(READS.to_owned() + GAIN));
    assert_eq!(rows.len(), 2, "legacy is not compared with itself");
    // Two pages take 2 (tR + t_io) in series and tR + 2 t_io interleaved. tR is 50 us, then 100 us; t_io is
    // 51.2 us.
    for (row, wanted) in rows.iter().zip([202.4 / 152.4, 302.4 / 202.4]) {
        assert!((number(&row.ours) - 100.0 * (wanted - 1.0)).abs() < 3.0, "{row:?}");
        assert_eq!(row.verdict, Verdict::Direction, "a band of a factor of three says no more");
    }
    let narrow = GAIN.replace("[20.0, 60.0]", "[45.0, 55.0]");
    let rows = self::rows(&(READS.to_owned() + &narrow));
    assert_eq!(rows[1].verdict, Verdict::Within);
    assert_eq!(rows[0].what, "gain, part.timing.read = 50us");
}

#[test]
fn a_band_over_zero_tells_no_more_than_the_sign() {
    let wide = GAIN.replace("[20.0, 60.0]", "[-60.0, 60.0]");
    let verdict = |text: &str| rows(&(READS.to_owned() + text))[0].verdict;
    assert_eq!(verdict(&wide), Verdict::Direction);
    assert_eq!(
        verdict(&wide.replace("value = 50.0", "value = -50.0")),
        Verdict::Outside,
        "of the other sign"
    );
}

#[test]
fn a_mean_is_one_row() {
    let gains: Vec<f64> = rows(&(READS.to_owned() + GAIN)).iter().map(|row| number(&row.ours)).collect();
    let of = |kind: &str| {
        let all =
            rows(&(READS.to_owned() + &GAIN.replace("unit = ", &format!("mean = \"{kind}\"\nunit = "))));
        assert_eq!(all.len(), 1);
        number(&all[0].ours)
    };
    let mean = (gains[0] + gains[1]) / 2.0;
    assert!((of("values") - mean).abs() < 1e-9);
    // The faster pair has a greater weight and a smaller gain.
    assert!(gains[0] < of("columns") && of("columns") < mean);
}

/// `GAIN` with a band that it misses: 32.8 % at 50 us and 49.4 % at 100 us.
fn missed(more: &str) -> Vec<Row> {
    let narrow = GAIN.replace("value = 50.0\nbetween = [20.0, 60.0]", "value = 0.0\nbetween = [-1.0, 1.0]");
    rows(&(READS.to_owned() + &narrow + more))
}

#[test]
fn a_reason_explains_the_points_that_it_names_and_no_others() {
    let plain = missed("");
    assert!(plain.iter().all(|row| row.verdict == Verdict::Outside && !row.explained && !row.contradicted));
    let known = |key: &str, at: &str, note: &str| -> Vec<bool> {
        let rows = missed(&format!("[[expect.{key}]]\nat = {{ {at} }}\nbecause = \"Why.\"\n"));
        assert!(rows.iter().all(|row| row.verdict == Verdict::Outside && !row.explained));
        assert!(rows.iter().all(|row| row.contradicted == (key == "contradicted" && row.note == note)));
        rows.iter().map(|row| row.note == note).collect()
    };
    let both = "\"part.timing.read\" = [[\"50us\"], [\"100us\"]]";
    let one = "\"part.timing.read\" = [[\"50us\"]]";
    for (key, note) in [("explained", "Suspected, and not shown: Why."), ("contradicted", "Why.")] {
        assert_eq!(known(key, both, note), [true, true]);
        assert_eq!(known(key, one, note), [true, false], "another point");
    }
}

#[test]
fn a_reason_is_shown_by_a_change_that_brings_the_row_inside_and_by_no_other() {
    let both = "[[expect.explained]]\nat = { \"part.timing.read\" = [[\"50us\"], [\"100us\"]] }\nbecause = \"Why.\"\n";
    let shown = |change: &str| -> Vec<(bool, String)> {
        let narrow =
            GAIN.replace("value = 50.0\nbetween = [20.0, 60.0]", "value = 0.0\nbetween = [-1.0, 1.0]");
        let named = narrow.replace("unit = ", "explained_until = \"another\"\nunit = ");
        let changes = format!("\n[changes]\nanother = {{ {change} }}\n");
        let rows = rows(&(READS.to_owned() + &changes + &named + both));
        assert_eq!(rows.len(), 4, "each row stands once more under the change");
        let counted = rows.into_iter().filter(|row| row.under.is_none());
        counted.map(|row| (row.explained, row.note)).collect()
    };
    let explained = (true, "Why.".to_owned());
    assert_eq!(shown("\"unit.multi_plane\" = false"), [explained.clone(), explained]);
    let suspected = (false, "Suspected, and not shown: Why.".to_owned());
    assert_eq!(shown("\"unit.queue_depth\" = 2"), [suspected.clone(), suspected]);
}

#[test]
fn a_reason_that_leaves_points_open_or_is_there_twice_is_refused() {
    let reason = |old: &str, new: &str| {
        let text = READS.to_owned()
            + GAIN
            + "[[expect.explained]]\nat = { \"part.timing.read\" = [[\"50us\"]] }\nbecause = \"W\"\n";
        parse(&text).expect("well formed");
        assert!(text.contains(old), "the test changes {old}");
        parse(&text.replace(old, new)).expect_err(new).to_string()
    };
    for (old, new, wanted) in [
        (
            "at = { \"part.timing.read\" = [[\"50us\"]] }\n",
            "",
            "expect.explained.at: found none of `part.timing.read`",
        ),
        ("= [[\"50us\"]] }", "= [[\"60us\"]] }", "expect.explained.at.part.timing.read: found [\"60us\"]"),
        ("because = \"W\"\n", "", "expect.explained: found nothing, wanted a value for `because`"),
        ("because = \"W\"", "because = \"\"", "expect.explained.because: found nothing"),
        (
            "because = \"W\"\n",
            "because = \"W\"\n[[expect.explained]]\nat = { \"part.timing.read\" = [[\"50us\"]] }\nbecause = \"V\"\n",
            "expect.explained: found two reasons for the same points",
        ),
    ] {
        let text = reason(old, new);
        assert!(text.contains(wanted), "{new}: {text}");
    }
}

const CHANGES: &str = "\n[changes]\n\"pairs off\" = { \"unit.multi_plane\" = false }\n";

#[test]
fn a_change_of_the_model_lies_over_whatever_else_sets_its_keys() {
    let named = GAIN.replace("unit = ", "fails_with = \"pairs off\"\nunit = ");
    let experiment = parse(&(READS.to_owned() + CHANGES + &named)).expect("well formed");
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
    let expect = &experiment.expect[0];
    let outcome = run_changed(&experiment, expect, &Options::default(), &Lab::default(), &conduct);
    let rows = outcome.expect("it runs").rows;
    assert!(rows.iter().all(|row| row.verdict == Verdict::Outside && number(&row.ours) == 0.0), "{rows:?}");
    assert_eq!(rows.len(), 2);
}

#[test]
fn changes_that_are_not_there_named_by_no_row_or_of_no_key_are_refused() {
    let named = GAIN.replace("unit = ", "fails_with = \"pairs off\"\nunit = ");
    let text = READS.to_owned() + CHANGES + &named;
    for (old, new, wanted) in [
        (
            "fails_with = \"pairs off\"",
            "fails_with = \"pairs\"",
            "expect.fails_with: found `pairs`, wanted one of",
        ),
        (
            "\"pairs off\" = {",
            "\"slow\" = { \"part.bus.mode\" = 1 }\n\"pairs off\" = {",
            "changes.slow: found a change that no row",
        ),
        (
            "\"pairs off\" = { \"unit.multi_plane\"",
            "\"pairs off\" = { \"unit.multi\"",
            "an unknown key `multi`",
        ),
        (
            "\"pairs off\" = { \"unit.multi_plane\" = false }",
            "\"pairs off\" = {}",
            "changes.pairs off: found a change of nothing",
        ),
        (
            "between = [20.0, 60.0]\nderivation = \"D\"",
            "shown = true",
            "expect.fails_with: found a change for `gain`",
        ),
    ] {
        assert!(text.contains(old), "the test changes {old}");
        let error = parse(&text.replacen(old, new, 1)).expect_err(new).to_string();
        assert!(error.contains(wanted), "{new}: {error}");
    }
}

#[test]
fn a_second_reading_is_marked_and_a_band_says_how_it_follows() {
    let second = GAIN.replace("unit = ", "second_reading = \"R\"\nunit = ");
    for row in rows(&(READS.to_owned() + &second)) {
        assert!(row.shown_what().ends_with(" (second reading)"), "{row:?}");
        assert_eq!(row.remarks(), "Second reading: R Band: D");
    }
    let own = GAIN.replace("unit = ", "own_input = true\nunit = ");
    let (_, outcome) = outcome_of(&(READS.to_owned() + &own));
    assert!(!outcome.counts.has_judged() && outcome.counts.fitted.judged == 2, "it is no agreement");
}

#[test]
fn what_is_shown_is_not_judged() {
    let shown = GAIN.replace("between = [20.0, 60.0]\nderivation = \"D\"", "shown = true");
    let (_, outcome) = outcome_of(&(READS.to_owned() + &shown));
    assert!(outcome.rows.iter().all(|row| row.verdict == Verdict::Shown && row.paper == Value::Number(50.0)));
    assert!(!outcome.counts.has_judged() && outcome.counts.shown == 2);
}

#[test]
fn a_unit_that_does_not_hold_together_is_found_before_anything_runs() {
    for (old, new, wanted) in [
        (
            "base = \"nandflashsim-mlc1\"",
            "base = \"mlc1\"",
            "kind.nand.base: found `mlc1`, wanted nandflashsim-mlc1, or another of",
        ),
        ("dies = 1", "dies = 0", "kind.nand.unit.dies: found 0, wanted from 1 to 64"),
        ("dies = 1", "dice = 1", "an unknown key `dice`"),
        ("pages = 2", "pages = 2\nsize = \"2KiB\"", "kind.nand.workload: found 2 of size and pages"),
        ("[\"100us\"]", "[]", "kind.nand.part.timing.read"),
        ("sets.2x = ", "sets.3x = ", "kind.nand.vary.sets: found nothing for \"2x\""),
        ("over = { mode = \"legacy\" }", "over = { mode = \"x\" }", "expect.over.mode: found \"x\""),
        (
            "megabytes_per_second",
            "megabytes",
            "expect.column: found `megabytes`, wanted megabytes_per_second, or another of",
        ),
        ("value = 50.0", "model = \"oldest-first\"", "expect.model: found a model of garbage collection"),
        ("value = 50.0", "text = \"CLE\"", "expect.within: found a band without a number"),
    ] {
        let text = complaint(old, new);
        assert!(text.contains(wanted), "{new}: {text}");
    }
    let text = complaint("pages = 2\ndata", "pages = 2\ntrace = true\ndata");
    assert!(text.contains("an unknown key `trace`"), "{text}");
}

#[test]
fn charts_of_units_hold_every_point_and_every_stage() {
    let chart = |shape: &str, at: &str| {
        format!(
            "[[chart]]\nname = \"n\"\ntitle = \"t\"\ncaption = \"c\"\nshape = {{ {shape} }}\nat = {{ {at} }}\n"
        )
    };
    let curves = "curves = { column = \"elapsed_us\", unit = \"us\", along = \"mode\" }";
    let text = READS.replace("[kind.nand.unit]", "[kind.nand.unit]\nread_status = true")
        + &chart(curves, "mode = \"2x\"")
        + &chart("trace = { panel = \"mode\" }", "");
    assert!(parse(&text).expect_err("no stages are recorded").to_string().contains("kind.nand.trace = true"));
    let (experiment, outcome) = outcome_of(&text.replace("[kind.nand]", "[kind.nand]\ntrace = true"));
    let drawn = charts(&experiment, &outcome);
    let count = |n: usize| drawn[n].spec["data"]["values"].as_array().map_or(0, Vec::len);
    assert_eq!(count(0), 2, "the points of 2x");
    let spans: usize = outcome.traces.iter().map(|trace| trace.spans.len()).sum();
    assert!(count(1) == spans && spans > 4 * 16, "{spans} stages");
}

const MIGRATION: &str = r#"
title = "T"
source = "S"
claims = []

[kind.nand]
base = "nandflashsim-mlc1"
trace = true

[kind.nand.unit]
dies = 1

[kind.nand.workload]
pattern = "migration"
blocks = 2
buffer = "64KiB"

[[kind.nand.vary]]
key = "workload.internal"
values = [false, true]

[[expect]]
what = "pages brought in"
column = "cycles.tir.count"
unit = "stages"
shown = true
source = "S"
"#;

#[test]
fn a_migration_writes_each_page_once_and_stays_inside_if_told_so() {
    let counts: Vec<f64> = rows(MIGRATION).iter().map(|row| number(&row.ours)).collect();
    assert_eq!(counts, [256.0, 0.0]);
    let odd = MIGRATION.replace("blocks = 2", "blocks = 3");
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
    let error = run(&parse(&odd).expect("well formed"), &Options::default(), &Lab::default(), &conduct)
        .expect_err("three blocks do not fill two planes");
    assert!(error.to_string().starts_with("blocks of a migration: found 3, wanted a multiple of"), "{error}");
}

#[test]
fn limits_that_end_a_run_are_errors_with_their_key() {
    let twice = READS
        .replace("\"read\"", "\"write\"")
        .replace("queue_depth = 1", "queue_depth = 1\nfatal_limits = true")
        .replace("data = \"64KiB\"", "data = \"2MiB\"")
        .replace("[kind.nand.unit]", "[kind.nand.part.geometry]\nblocks_per_plane = 2\n[kind.nand.unit]");
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
    let error = run(&parse(&twice).expect("well formed"), &Options::default(), &Lab::default(), &conduct)
        .expect_err("pages are written twice");
    assert!(error.to_string().starts_with("kind.nand.unit.fatal_limits: found access "), "{error}");
}
