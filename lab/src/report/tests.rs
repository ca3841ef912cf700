//! Tests of what reports show.

use super::sample;
use super::{comparison, table};

#[test]
fn the_table_shows_the_key_results_first() {
    insta::assert_snapshot!(table(&sample::mixed()));
}

#[test]
fn a_run_without_writes_has_no_latency_of_writes_in_its_table() {
    insta::assert_snapshot!(table(&sample::only_reads()));
}

#[test]
fn an_empty_run_has_a_table_without_numbers_that_do_not_exist() {
    let text = table(&sample::empty());
    for word in ["NaN", "inf"] {
        assert!(!text.contains(word), "{text}");
    }
}

#[test]
fn a_comparison_has_a_column_for_each_run_and_ratios_to_the_first() {
    insta::assert_snapshot!(comparison(&[sample::mixed(), sample::faster()]));
}

#[test]
fn a_comparison_of_nothing_is_empty() {
    assert_eq!(comparison(&[]), "");
}

#[test]
fn a_table_fits_a_terminal_of_100_columns() {
    for run in [sample::mixed(), sample::only_reads(), sample::only_writes(), sample::empty()] {
        let text = table(&run);
        let widest = text.lines().map(|line| line.chars().count()).max().expect("a table has lines");
        assert!(widest <= 100, "{widest} columns:\n{text}");
    }
}
