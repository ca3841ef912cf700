use super::*;
use crate::config::embedded::CELLS;

#[test]
fn every_number_of_an_embedded_set_says_why_it_is_what_it_is() {
    for (name, text) in CELLS {
        set(name).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        let table: toml::Table = toml::from_str(text).expect("it is TOML");
        let because = table["because"].as_table().expect("it says why");
        let kinds = ["source: ", "chosen: ", "fitted on "];
        for (key, why) in because {
            let why = why.as_str().expect("it is text");
            assert!(kinds.iter().any(|kind| why.starts_with(kind)), "{name}: {key}: {why}");
            assert!(leads_to(&toml::Value::from(table.clone()), key), "{name}: {key} names nothing");
        }
        let mut keys = Vec::new();
        numbers(&toml::Value::from(table.clone()), "", &mut keys);
        for key in keys.iter().filter(|key| !key.starts_with("because")) {
            let says = |known: &String| key == known || key.starts_with(&format!("{known}."));
            assert!(because.keys().any(says), "{name}: nothing says why of {key}");
        }
    }
}

fn leads_to(value: &toml::Value, key: &str) -> bool {
    key.split('.').try_fold(value, |inside, key| inside.get(key)).is_some()
}

/// Collects the dotted keys of all numbers and times of a table.
fn numbers(value: &toml::Value, key: &str, all: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (name, inside) in table {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                numbers(inside, &key, all);
            }
        }
        toml::Value::String(_) if ["name", "source"].contains(&key) => {}
        _ => all.push(key.to_owned()),
    }
}

fn ask(text: &str) -> Result<Evaluation> {
    let question: Question = toml::from_str(text).expect("well formed");
    Evaluation::of(&set("cubeftl-tlc")?, &question, 1)
}

#[test]
fn questions_that_make_no_sense_name_their_key() {
    for (text, key) in [
        ("cycles = -1.0", "cycles"),
        ("hours = -1.0", "hours"),
        ("celsius = -274.0", "celsius"),
        ("layer = \"gamma\"", "layer"),
        ("layer = \"48\"", "layer"),
        ("reads = 5.0", "reads"),
        ("offsets = [1.0]", "offsets"),
        ("skip_state = 8", "skip_state"),
        ("final_margin = 1620.0", "final_margin"),
        ("without = [\"cycle\"]", "without"),
        ("chips = 0", "chips"),
    ] {
        let Err(Error::Config(wrong)) = ask(text) else { panic!("{text} was answered") };
        assert!(wrong.0.iter().any(|complaint| complaint.key == key), "{text}: {wrong}");
    }
}

#[test]
fn skipping_what_may_be_skipped_saves_time_and_costs_no_error() {
    let (plain, skipped) = (ask("").expect("answered"), ask("skip = true").expect("answered"));
    assert_eq!(plain.program.time_us.round(), 700.0);
    assert_eq!(
        (plain.program.verifies, skipped.program.verifies, skipped.program.skipped),
        (49.0, 21.0, 28.0)
    );
    assert_eq!(plain.error_rate.to_bits(), skipped.error_rate.to_bits());
    let beyond = ask("skip_state = 3\nskip_more = 1").expect("answered");
    assert!(beyond.error_rate > plain.error_rate && beyond.program.over_programmed > 0.0);
}

#[test]
fn an_error_in_a_file_names_its_line() {
    let folder = tempfile::tempdir().expect("there is a place for files");
    let path = folder.path().join("mine.toml");
    let text = CELLS.iter().find(|(name, _)| *name == "cubeftl-tlc").expect("it is there").1;
    std::fs::write(&path, text.replacen("window = 1620.0", "window = -1.0", 1)).expect("written");
    let wrong = set(&path.display().to_string()).expect_err("the window is negative").to_string();
    let line = text.lines().position(|line| line == "window = 1620.0").expect("it is there") + 1;
    assert!(wrong.contains(&format!("mine.toml:{line}: ispp.window")), "{wrong}");
    std::fs::write(&path, text.replacen("layers = 48", "layrs = 48", 1)).expect("written");
    assert!(set(&path.display().to_string()).expect_err("a key is misspelled").to_string().contains("layrs"));
}

/// Table 2 of ReSSD: every history of rewrites has its own coding. An impossible history is refused by key.
#[test]
fn cells_that_are_programmed_again_have_codings_and_more_errors() {
    let ask = |text: &str| {
        let question: Question = toml::from_str(text).expect("well formed");
        Evaluation::of(&set("ressd-b17a-a")?, &question, 1)
    };
    let of = |text: &str| ask(text).expect("answered");
    let (first, last) = (of("history = \"-\""), of("history = \"LH\""));
    assert_eq!((&first.rewrite.codes[..], &last.rewrite.states[..]), ("11 01 00 10", "P3 to P6"));
    assert_eq!(first.pages.len(), 2);
    let (one, two) = (of("history = \"++++\""), of("history = \"++++\"\nsuper_layer = 2"));
    assert!(two.best_page_errors > one.best_page_errors, "some cells are left behind");
    assert!(two.best_most_page_errors > 3 * one.best_most_page_errors);
    assert_eq!(of("history = \"++++\"\nall_states = true").states.len(), 8);
    for (text, key) in [
        ("history = \"LLL\"", "history"),
        ("history = \"+L\"", "history"),
        ("super_layer = 2", "super_layer"),
        ("super_layer = 0", "super_layer"),
        ("all_states = true", "all_states"),
    ] {
        let Err(Error::Config(wrong)) = ask(text) else { panic!("{text} was answered") };
        assert!(wrong.0.iter().any(|complaint| complaint.key == key), "{text}: {wrong}");
    }
}

#[test]
fn followers_have_the_margin_that_their_leader_leaves_over() {
    let narrow = |text: &str| ask(text).expect("answered").program.margin_mv;
    assert_eq!(narrow(""), 0.0);
    let (new, old) = (narrow("follow = true"), narrow("follow = true\ncycles = 2000.0"));
    assert!((0.0..new).contains(&old) && new <= 320.0, "{new} {old}");
    assert_eq!(narrow("follow = true\nfollow_limit = 0.0"), 0.0);
}

#[test]
fn each_retry_is_decoded_and_a_page_that_nothing_corrects_softly_as_well() {
    let new = ask("layer = 'kappa'").expect("it is one");
    assert!((new.retries.decoding_us - 10.0).abs() < 1e-6, "a read of new cells is decoded once");
    let old = ask("layer = 'kappa'\ncycles = 2000.0\nhours = 8760.0").expect("it is one").retries;
    let wanted = 10.0 * (1.0 + old.mean_of_all) + 50.0 * old.uncorrectable;
    assert!(old.mean_of_all > 10.0 && old.uncorrectable > 0.01, "{old:?}");
    assert!((old.decoding_us - wanted).abs() < 1e-9, "{old:?}");
}

#[test]
fn a_curve_is_in_the_order_of_its_values_and_counts_retries_over_all_reads() {
    let of = |hours: &str| {
        (hours.to_owned(), ask(&format!("cycles = 2000.0\nhours = {hours}.0")).expect("answered"))
    };
    let answers = [of("24"), of("168"), of("2190")];
    let charts = super::report::charts("hours", &answers);
    assert_eq!(charts[0].spec["facet"]["row"]["sort"], serde_json::json!(["24", "168", "2190"]));
    let retries = &answers[1].1.retries;
    let (text, number) = &super::table::curve_numbers(&answers[1].1)[4];
    assert_eq!((text.clone(), *number), (format!("{:.2}", retries.mean_of_all), retries.mean_of_all));
}
