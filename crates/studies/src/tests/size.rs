//! Tests of studies that exceed the size limits.

use super::*;

/// Varied keys with `steps` values each.
fn wide(keys: &[&str], steps: u32) -> String {
    let axis = |key: &&str| {
        format!("[[vary]]\nkey = \"{key}\"\nvalues = {{ from = 1, to = 100000, steps = {steps} }}\n")
    };
    let head = "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\" }\n";
    format!("{head}{}", keys.iter().map(axis).collect::<String>())
}

fn refused(text: &str) -> String {
    let study = Study::parse(&Registry::default(), Path::new("study.toml"), text);
    study.map(drop).expect_err("it is too large").to_string()
}

#[test]
fn a_hundred_million_combinations_are_refused_by_key_and_count() {
    let told = refused(&wide(&["part.endurance", "workload.named.requests"], 10_000));
    assert_eq!(
        told,
        "study.toml:8: vary.values: found 10,000 values of `workload.named.requests`, with the other keys \
         100,000,000 combinations, wanted at most 100,000 combinations"
    );
}

#[test]
fn a_thousand_million_seeds_are_refused_before_any_run_is_made() {
    let seeds = STUDY.replace("seeds = 2", "seeds = 1_000_000_000");
    let told = "study.toml:3: repeat.seeds: found 1,000,000,000 seeds, 6,000,000,000 runs, wanted at most 166,666 seeds, \
        1,000,000 runs";
    assert_eq!(refused(&seeds), told);
    let until =
        "seeds = 2, until = { column = \"host.iops\", half_width = \"1 %\", at_most = 1_000_000_000 }";
    let until = refused(&STUDY.replace("seeds = 2", until));
    assert!(until.contains("repeat.until.at_most: found 1,000,000,000 seeds"), "{until}");
    // Seeds that arguments set after parsing are checked when runs are counted.
    let mut late = study(STUDY);
    late.repeat.seeds = 1_000_000_000;
    let store = Store::in_memory();
    let planned = plan(&late, &store, "program").map(drop).expect_err("too many");
    assert_eq!(planned.to_string(), told);
    let tried = crate::run_at(&late, &[], &store, "program", &progress(&AtomicBool::new(false)));
    assert_eq!(tried.map(drop).expect_err("too many").to_string(), told);
}
