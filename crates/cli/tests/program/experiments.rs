//! Tests `wordline repro`.

use crate::{Folder, wordline};

const WAF: &str = "validation/waf-uniform";

#[test]
fn every_experiment_is_listed_with_its_claims_and_title() {
    let list = wordline(&["repro", "list", "--json"]).json();
    let rows = list.as_array().expect("a list");
    assert!(rows.iter().any(|row| row["id"] == WAF), "{list}");
    for row in rows {
        assert!(row["title"].as_str().is_some_and(|title| !title.is_empty()), "{row}");
        assert!(row["claims"].is_array(), "{row}");
    }
    assert!(wordline(&["repro", "list"]).success().contains(WAF));
}

#[test]
fn the_rows_of_an_experiment_set_the_papers_numbers_beside_ours() {
    let folder = Folder::new();
    let report = folder.path("report");
    let finished = wordline(&["repro", WAF, "--quick", "--seeds", "1", "--json", "--report", &report]);
    let outcome: serde_json::Value = serde_json::from_str(&finished.out).expect("standard output is JSON");
    assert_eq!(outcome["experiment"], WAF);
    let rows = outcome["rows"].as_array().expect("a list");
    assert!(!rows.is_empty());
    let judged = |class: &str| outcome["counts"][class]["judged"].as_u64().expect("a count") as usize;
    assert_eq!(judged("closed_forms") + judged("directions"), rows.len());
    for row in rows {
        for key in ["claim", "what", "paper", "ours", "unit", "band", "verdict"] {
            assert!(row.get(key).is_some(), "{key}: {row}");
        }
        assert!(row.get("interval").is_some() && row["by_seed"].is_array(), "{row}");
    }
    let surprises = outcome["surprises"].as_array().map(Vec::len);
    assert_eq!(surprises, Some(0), "{outcome}");
    assert_eq!(finished.code, Some(0), "no row but those of the list lies outside: {}", finished.err);
    let page = std::fs::read_to_string(folder.path(&format!("report/{WAF}/report.html")));
    assert!(page.is_ok_and(|page| page.contains("</html>")));
}

#[test]
fn rows_come_as_a_markdown_table_and_several_experiments_end_with_a_sum_by_paper() {
    let one = wordline(&["repro", "nandflashsim/fig12", "--markdown"]).success();
    let command = "**nandflashsim/fig12**: `wordline repro nandflashsim/fig12 --markdown`, rows `";
    let heads = "`\n\n| claim | what | paper | ours | band | verdict |\n|---|";
    assert!(one.starts_with(command) && one.contains(heads), "{one}");
    assert!(one.contains("nothing depends on chance: the seeds 0 and 1 have the same events"), "{one}");
    assert!(
        one.contains("| NFS-F11 | programs (TIN), mode = legacy | 16.0 stages | 16.0 stages | "),
        "{one}"
    );
    let two = wordline(&["repro", "nandflashsim/fig12", "nandflashsim/fig13"]).success();
    let last: Vec<&str> = two.lines().rev().take(8).collect();
    let lines = ["printed numbers", "directions"].map(|class| {
        let of_it = |line: &&&str| line.trim_start().starts_with("nandflashsim") && line.contains(class);
        last.iter().filter(of_it).count()
    });
    assert_eq!(lines, [1, 1], "a line for each class: {two}");
    // On a narrow terminal the titles take more than one line.
    assert!(last.iter().any(|line| line.trim_start().starts_with("paper")), "{two}");
}

#[test]
fn an_unknown_experiment_is_answered_with_the_known_ones() {
    let refusal = wordline(&["repro", "validation/waf"]).refusal();
    assert!(refusal.contains("`validation/waf`") && refusal.contains(WAF), "{refusal}");
    assert_eq!(wordline(&["repro", WAF, "--all"]).code, Some(2));
    assert_eq!(wordline(&["repro", "--quick"]).code, Some(2));
}

/// Exit code and last line for the table of NANDFlashSim with this band.
fn nandflashsim(within: &str) -> (Option<i32>, String) {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("mine/strict")).expect("a temporary folder can be written");
    let experiment = format!(
        "title = \"T\"\nsource = \"S\"\nclaims = []\n[kind.trace-statistics]\npaper = \"nandflashsim\"\n\
         within = \"{within}\"\nderivation = \"D\"\n"
    );
    folder.with("mine/strict/experiment.toml", experiment);
    let finished = wordline(&["repro", "mine/strict", "--quick", "--experiments", &folder.path("")]);
    (finished.code, finished.out.lines().last().unwrap_or(&finished.err).to_owned())
}

#[test]
fn only_a_number_that_its_paper_does_not_contradict_fails_an_experiment() {
    let (code, last) = nandflashsim("2 %");
    assert_eq!(code, Some(0), "{last}");
    assert!(last.starts_with("fitted: ") && last.ends_with("; 0 shown"), "{last}");
    assert!(!last.contains("no reason"), "{last}");
    let (code, last) = nandflashsim("0.000001 %");
    assert_eq!(code, Some(1), "{last}");
    assert!(last.contains(" no reason shown)"), "{last}");
}

/// Exit code and text for a read that takes 10 us and is expected to take 20 us. `more` are further keys,
/// `list` is a list of rows outside.
fn expected_of_a_read(more: &str, list: Option<&str>) -> (Option<i32>, String) {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("mine/read")).expect("a temporary folder can be written");
    let experiment = format!(
        "title = \"T\"\nsource = \"S\"\nclaims = []\n[kind.sweep]\npreset = \"fixed-latency\"\n\
         [kind.sweep.workload.generated]\ndescription = \"reads\"\nrequests = 100\nread_share = 1.0\n\
         sizes = [{{ size = \"4KiB\", weight = 1 }}]\npattern = {{ kind = \"uniform\" }}\n\
         arrival = {{ kind = \"closed\", queue_depth = 1 }}\nprecondition = \"empty\"\n\
         [[expect]]\nwhat = \"a read\"\ncolumn = \"host.read_latency_us.mean\"\nunit = \"us\"\nvalue = 20.0\n\
         within = \"1 %\"\nderivation = \"D\"\nsource = \"S\"\n{more}\n"
    );
    folder.with("mine/read/experiment.toml", experiment);
    if let Some(list) = list {
        folder.with("outside.toml", format!("[\"mine/read\"]\n{list}\n"));
    }
    let finished = wordline(&["repro", "mine/read", "--experiments", &folder.path("")]);
    (finished.code, finished.out)
}

#[test]
fn a_row_outside_fails_unless_there_is_a_reason_or_it_is_in_the_list() {
    let why = "[[expect.explained]]\nbecause = \"It is fast.\"";
    let changed = |latency: &str| {
        format!("explained_until = \"slow\"\n{why}\n[changes]\nslow = {{ latency = \"{latency}\" }}")
    };
    let reason = &changed("20us");
    let (code, text) = expected_of_a_read(reason, None);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("outside, explained") && text.contains("a read: It is fast."), "{text}");
    let end = "printed numbers: 1 judged, 0 within, 0 direction, 1 outside (1 explained); 0 shown\n";
    assert!(text.ends_with(end), "{text}");
    for (more, suspected) in [("", false), (why, true), (&changed("30us"), true)] {
        let (code, text) = expected_of_a_read(more, None);
        assert_eq!(code, Some(1), "{text}");
        let is_said = text.contains("a read: Suspected, and not shown: It is fast.");
        assert!(text.contains("OUTSIDE, no reason") && is_said == suspected, "{text}");
        assert!(text.contains("  outside, and without a reason: a read\n"), "{text}");
        assert!(text.ends_with("1 outside (1 no reason shown); 0 shown\n"), "{text}");
    }
    let (code, text) = expected_of_a_read("", Some("full = { outside = [\"a read\"] }"));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = expected_of_a_read(reason, Some("full = {}"));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("  outside, and not named in outside.toml: a read\n"), "{text}");
}
