//! Tests `wordline why`: the table, the JSON, and errors.

use crate::wordline;

const FEW: [&str; 7] = ["why", "--preset", "tiny", "--workload", "randread-4k", "--requests", "300"];

#[test]
fn it_names_the_bound_of_a_run_and_what_each_change_brings() {
    let one_at_a_time = [&FEW[..], &["--queue-depth", "1", "--set", "layout.channels=16"]].concat();
    let table = wordline(&one_at_a_time).success();
    for wanted in ["sensing (tR)", "host, twice", "Bound by", "The run alone says", "1 request outstanding"] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
    let answer = wordline(&[&one_at_a_time[..], &["--json"]].concat()).json();
    assert_eq!((answer["bound"].as_str(), answer["queue_depth"].as_u64()), (Some("host"), Some(1)));
    let effects = answer["effects"].as_array().expect("a list");
    let link = effects.iter().find(|effect| effect["cause"] == "link").expect("one of the causes");
    assert!(link["elasticity"].is_null(), "{link}");
    assert_eq!(link["unknown"], "the device has no host link");
    let tr = effects.iter().find(|effect| effect["cause"] == "read_time").expect("one of the causes");
    assert!(tr["elasticity"]["value"].as_f64().is_some_and(|value| value > 0.1 && value < 1.0), "{tr}");
}

#[test]
fn its_report_draws_every_change_and_holds_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let report = ["--requests", "3000", "--report", &out.display().to_string()];
    wordline(&[&FEW[..5], &report].concat()).success();
    wordline(&[&FEW[..5], &report].concat()).success(); // The second report replaces the first.
    let read = |name: &str| {
        std::fs::read_to_string(out.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let (page, chart) = (read("report.html"), read("charts/elasticities.vl.json"));
    let answer: serde_json::Value = serde_json::from_str(&read("why.json")).expect("JSON");
    let effects = answer["effects"].as_array().expect("a list");
    for effect in effects.iter().filter(|effect| effect["elasticity"].is_object()) {
        let value = effect["elasticity"]["value"].to_string();
        assert!(chart.contains(&value), "{effect} in {chart}");
    }
    assert!(
        page.contains(answer["text"].as_str().expect("a sentence")) && page.contains("2 channels"),
        "{page}"
    );
    let both = ["--report", &out.display().to_string(), "--json", &out.display().to_string()];
    assert!(wordline(&[&FEW[..], &both].concat()).refusal().contains("--json"), "one place for two outputs");
}

#[test]
fn its_runs_have_as_many_requests_as_it_says_and_no_end_of_their_own() {
    let refusal = wordline(&[&FEW[..], &["--until", "iops:5%"]].concat()).refusal();
    assert!(refusal.contains("--until: found iops:5%, wanted none"), "{refusal}");
    let refusal = wordline(&["why", "--preset", "tiny", "--trace", "-"]).refusal();
    assert!(refusal.contains("read once"), "{refusal}");
}
