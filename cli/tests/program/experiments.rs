//! `wordline repro`.

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
    let finished = wordline(&["repro", WAF, "--quick", "--json", "--report", &report]);
    let outcome: serde_json::Value = serde_json::from_str(&finished.out).expect("standard output is JSON");
    assert_eq!(outcome["experiment"], WAF);
    let rows = outcome["rows"].as_array().expect("a list");
    assert!(!rows.is_empty());
    let mut outside = false;
    for row in rows {
        for key in ["claim", "what", "paper", "ours", "unit", "band", "verdict"] {
            assert!(row.get(key).is_some(), "{key}: {row}");
        }
        outside |= row["verdict"] == "outside";
    }
    assert_eq!(finished.code, Some(i32::from(outside)), "1 if a row lies outside its band: {}", finished.err);
    let page = std::fs::read_to_string(folder.path(&format!("report/{WAF}/report.html")));
    assert!(page.is_ok_and(|page| page.contains("</html>")));
}

#[test]
fn an_unknown_experiment_is_answered_with_the_known_ones() {
    let refusal = wordline(&["repro", "validation/waf"]).refusal();
    assert!(refusal.contains("`validation/waf`") && refusal.contains(WAF), "{refusal}");
    assert_eq!(wordline(&["repro", WAF, "--all"]).code, Some(2));
    assert_eq!(wordline(&["repro", "--quick"]).code, Some(2));
}

/// The exit code and the last line for the table of NANDFlashSim, held to `within`.
fn nandflashsim(within: &str) -> (Option<i32>, String) {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("mine/strict")).expect("a temporary folder can be written");
    let experiment = format!(
        "title = \"T\"\nsource = \"S\"\nclaims = []\n[kind.trace-statistics]\npaper = \"nandflashsim\"\n\
         within = \"{within}\"\n"
    );
    folder.with("mine/strict/experiment.toml", experiment);
    let finished = wordline(&["repro", "mine/strict", "--quick", "--experiments", &folder.path("")]);
    (finished.code, finished.out.lines().last().unwrap_or(&finished.err).to_owned())
}

#[test]
fn only_a_number_that_its_paper_does_not_contradict_fails_an_experiment() {
    let (code, last) = nandflashsim("2 %");
    assert_eq!(code, Some(0), "{last}");
    assert!(last.ends_with("1 do not, 1 of them where the paper contradicts itself"), "{last}");
    let (code, last) = nandflashsim("0.000001 %");
    assert_eq!(code, Some(1), "{last}");
    assert!(last.ends_with(" do not, 1 of them where the paper contradicts itself"), "{last}");
}

/// The exit code and the text for a read that is expected to take a microsecond, with `more` keys beside that.
fn expected_of_a_read(more: &str) -> (Option<i32>, String) {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("mine/read")).expect("a temporary folder can be written");
    let experiment = format!(
        "title = \"T\"\nsource = \"S\"\nclaims = []\n[kind.sweep]\npreset = \"tiny\"\n\
         [kind.sweep.workload.generated]\ndescription = \"reads\"\nrequests = 100\nread_share = 1.0\n\
         sizes = [{{ size = \"4KiB\", weight = 1 }}]\npattern = {{ kind = \"uniform\" }}\n\
         arrival = {{ kind = \"closed\", queue_depth = 1 }}\nprecondition = \"filled\"\n\
         [[expect]]\nwhat = \"a read\"\ncolumn = \"host.read_latency_us.mean\"\nunit = \"us\"\nvalue = 1.0\n\
         within = \"1 %\"\nsource = \"S\"\n{more}\n"
    );
    folder.with("mine/read/experiment.toml", experiment);
    let finished = wordline(&["repro", "mine/read", "--experiments", &folder.path("")]);
    (finished.code, finished.out)
}

#[test]
fn a_row_with_a_stated_reason_is_explained_and_fails_nothing() {
    let (code, text) = expected_of_a_read("deviation = \"Flash is slower.\"");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(" explained") && text.contains("a read: Flash is slower."), "{text}");
    let (code, text) = expected_of_a_read("");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("OUTSIDE"), "{text}");
}
