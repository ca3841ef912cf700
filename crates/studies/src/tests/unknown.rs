//! Tests of unknown cells, and of notes of runs.

use super::*;
use crate::show;

/// Writes to an empty device. In two of three combinations all writes fit without GC.
const FEW: &str = "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\", requests = 300 }\nprecondition = \"empty\"\n\
     columns = [\"write_amplification\", \"host.write_latency_us.mean\"]\nrepeat = { seeds = 2 }\n\
     [[vary]]\nkey = \"workload.named.requests\"\nvalues = [300, 400, 20000]\n";

#[test]
fn a_cell_that_no_run_can_answer_is_unknown_with_its_reason_and_never_named() {
    let study = study(FEW);
    let table = done(&study, &Store::in_memory());
    let [few, more, known] = &table.rows[..] else { panic!("three rows") };
    for row in [few, more] {
        let cell = row.cell("write_amplification");
        assert_eq!((cell.mean, cell.half, cell.is_unknown()), (None, None, true), "{cell:?}");
        assert!(row.cell("host.write_latency_us.mean").mean.is_some(), "the mean of 300 requests is known");
    }
    assert!(known.cell("write_amplification").mean.is_some());
    let text = show::text(&table, 200);
    assert!(text.contains("unknown write_amplification: no victim was collected"), "{text}");
    assert!(text.contains("(4 of 6 runs)"), "{text}");
    assert_eq!(
        text.lines().filter(|line| line.split_whitespace().any(|word| word == "unknown")).count(),
        3,
        "{text}"
    );
    let json = table.json();
    assert!(json["rows"][0]["columns"]["write_amplification"]["mean"].is_null());
    assert_eq!(json["rows"][0]["unknown"][0]["metric"], "write_amplification");
    assert_eq!(json["rows"][2]["unknown"].as_array().map(Vec::len), Some(0));
    let provenance = Provenance::of(None, Vec::new());
    let page = show::page(&study, &table, &provenance, &charts(&study, &table));
    assert!(page.contains("wherever it is known; 2 of 3 unknown"), "the only known one is no best");
}

#[test]
fn notes_that_differ_in_numbers_alone_are_told_once() {
    // Each pair of writes that cover a part of a mapping unit needs a read-modify-write read.
    let text = "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\", requests = 500 }\nprecondition = \"filled\"\nwarm_up = \"none\"\n\
         device = { part = { geometry = { page_size = \"16KiB\" } } }\ncolumns = [\"host.iops\"]\nrepeat = { seeds = 3 }\n\
         [[vary]]\nkey = \"workload.named.queue_depth\"\nvalues = [1, 8]\n";
    let table = done(&study(text), &Store::in_memory());
    let told = table.notes();
    let rmw: Vec<_> = told.iter().filter(|told| told.text.contains("read-modify-writes (RMW)")).collect();
    assert_eq!(rmw.iter().map(|told| told.runs).collect::<Vec<_>>(), [6], "{told:?}");
    let shown = show::text(&table, 120);
    assert!(shown.contains("note: ") && shown.contains("(6 of 6 runs)"), "{shown}");
    assert_eq!(table.json()["notes"][0]["runs"], 6);
}

#[test]
fn a_study_says_how_much_of_each_run_is_left_out() {
    let text = |warm_up: &str| {
        format!(
            "preset = \"tiny\"\nworkload = {{ name = \"mixed-70-30\", requests = 500 }}\n{warm_up}\
             columns = [\"warm_up.requests\", \"host.requests\"]\n[[vary]]\nkey = \"ftl.over_provisioning\"\nvalues = [0.3]\n"
        )
    };
    for (key, left_out) in [("warm_up = 100\n", Some(100.0)), ("warm_up = \"none\"\n", None)] {
        let table = done(&study(&text(key)), &Store::in_memory());
        assert_eq!(table.rows[0].cell("warm_up.requests").mean, left_out, "{key}");
        assert_eq!(table.rows[0].cell("host.requests").mean, Some(500.0));
    }
    let by_rule = done(&study(&text("")), &Store::in_memory());
    assert!(by_rule.rows[0].cell("warm_up.requests").mean.is_some_and(|count| count >= 6_400.0));
    let wrong = Study::parse(&Registry::default(), Path::new("study.toml"), &text("warm_up = \"twice\"\n"));
    let error = wrong.expect_err("no warm-up").to_string();
    assert!(error.contains("warm_up") && error.contains("wanted none, rule"), "{error}");
}
