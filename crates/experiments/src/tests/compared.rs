//! Tests of differences to another point, weighted means over points, and correlations of two columns.

use crate::judge::class::Class;
use wordline_lab::summary::Simulator;

use super::*;

/// A bench whose results have two columns: `write_amplification` and `simulator.wall_seconds`.
struct Pairs<F>(F);

impl<F: Fn(&Point) -> [f64; 2] + Sync> Bench for Pairs<F> {
    fn simulate(&self, point: &Point, _: &AtomicBool) -> Result<Summary> {
        let [own, other] = (self.0)(point);
        Ok(Summary {
            write_amplification: Some(own),
            simulator: Simulator { wall_seconds: other, ..Simulator::default() },
            ..measured()
        })
    }

    fn volumes(&self, paper: &str) -> Result<Vec<String>> {
        MadeUp(spare).volumes(paper)
    }

    fn write_sizes(&self, volume: &str, options: &Options) -> Result<WriteSizes> {
        MadeUp(spare).write_sizes(volume, options)
    }

    fn statistics(&self, volume: &str, options: &Options) -> Result<Vec<Finding>> {
        MadeUp(spare).statistics(volume, options)
    }
}

const FIRST: &str = "at = { ssd = \"3D\" }\nper = { ssd = \"2D\" }\nmean = \"values\"";
const GREATER: &str = "direction = { greater = { than = 2.5 } }";

/// The first row of the experiment with two presets, with other points and another statement.
fn row(points: &str, statement: &str, of: fn(&Point) -> [f64; 2]) -> (Verdict, String) {
    let text = TWO_PRESETS.replace(FIRST, points).replace(GREATER, statement);
    let row = outcome(&text, 1, &Pairs(of), false).expect("nothing fails").rows[0].clone();
    (row.verdict, row.ours.to_string())
}

/// The 3D points have 6 and 4.8 with weights 1 and 3, the 2D points 2 and 4.
fn pairs(point: &Point) -> [f64; 2] {
    match (spare(point) < 0.3, volume(point).0 == "centaur/hm_1") {
        (true, true) => [6.0, 1.0],
        (true, false) => [4.8, 3.0],
        (false, true) => [2.0, 2.0],
        (false, false) => [4.0, 9.0],
    }
}

#[test]
fn a_value_beyond_that_of_another_point_is_a_difference() {
    let beyond = "at = { ssd = \"3D\" }\nbeyond = { ssd = \"2D\" }";
    let less = "direction = { less = { than = 4.5 } }";
    assert_eq!(row(beyond, less, pairs), (Verdict::Direction, "4.00, 0.800".into()));
    let than = "direction = { less = { than = 4.0 } }";
    assert_eq!(row(beyond, than, pairs), (Verdict::Outside, "4.00, 0.800; 4.00 at volume = a".into()));
    let mean = format!("{beyond}\nmean = \"columns\"");
    assert_eq!(row(&mean, less, pairs), (Verdict::Direction, "2.40".into()));
}

#[test]
fn points_weigh_in_a_mean_as_a_column_says() {
    let weighed = format!("{FIRST}\nweight = \"simulator.wall_seconds\"");
    // With weights (1 x 6 / 2 + 3 x 4.8 / 4) / 4, without weights (3 + 1.2) / 2.
    assert_eq!(row(&weighed, GREATER, pairs), (Verdict::Outside, "1.65".into()));
    assert_eq!(row(FIRST, GREATER, pairs), (Verdict::Outside, "2.10".into()));
}

#[test]
fn a_correlation_is_of_two_columns_of_the_same_points() {
    let with = |above: f64| {
        format!("direction = {{ correlated = {{ with = \"simulator.wall_seconds\", above = {above} }} }}")
    };
    // Ranks 4, 3, 1, 2 against 1, 3, 2, 4: 1 - 6 (9 + 0 + 1 + 4) / 60.
    assert_eq!(row("", &with(0.5), pairs), (Verdict::Outside, "-0.400 over 4 points".into()));
    assert_eq!(row("", &with(-0.5), pairs), (Verdict::Direction, "-0.400 over 4 points".into()));
    // A point without the other column is ignored.
    let lacks = |point: &Point| match pairs(point) {
        [own, 1.0] => [own, f64::NAN],
        pair => pair,
    };
    let (verdict, ours) = row("", &with(0.5), lacks);
    assert_eq!(
        (verdict, ours.as_str()),
        (Verdict::Outside, "0.500 over 3 points; no value at ssd = 3D, volume = a")
    );
    // A column of equal values has no order.
    let equal = |point: &Point| [pairs(point)[0], 7.0];
    assert_eq!(row("", &with(0.5), equal), (Verdict::Shown, "no value".into()));
}

#[test]
fn a_number_that_encodes_a_word_of_the_source_is_no_printed_number() {
    let class = |words: &str| {
        let value = format!("value = 2.0\nwithin = \"20 %\"\nderivation = \"D\"\n{words}");
        let outcome = outcome(&TWO_PRESETS.replace(GREATER, &value), 1, &Pairs(pairs), false);
        let row = outcome.expect("nothing fails").rows[0].clone();
        (row.class, row.verdict)
    };
    assert_eq!(class(""), (Class::Printed, Verdict::Within));
    assert_eq!(class("in_words = true"), (Class::Direction, Verdict::Within));
}

#[test]
fn weights_differences_and_correlations_that_say_nothing_are_refused() {
    for (old, new, wanted) in [
        (
            "per = {",
            "beyond = { ssd = \"2D\" }\nper = {",
            "expect.beyond: found `per` and `beyond`, wanted one of them",
        ),
        (FIRST, "beyond = { ssd = \"1D\" }", "expect.beyond.ssd: found \"1D\""),
        (
            "mean = \"values\"",
            "mean = \"columns\"\nweight = \"simulator.wall_seconds\"",
            "expect.weight: found a weight without",
        ),
        ("mean = \"values\"", "mean = \"values\"\nweight = \"kilos\"", "expect.weight: found `kilos`"),
        (GREATER, "in_words = true\nshown = true", "expect.in_words: found `true` without a value"),
        (
            GREATER,
            "direction = { correlated = { with = \"kilos\", above = 0.5 } }",
            "correlated.with: found `kilos`",
        ),
        (
            GREATER,
            "direction = { correlated = { with = \"simulator.wall_seconds\", above = 1.0 } }",
            "correlated.above: found 1, wanted a number from -1 to below 1",
        ),
        (
            GREATER,
            "direction = { correlated = { with = \"simulator.wall_seconds\", above = 0.5 } }",
            "expect.mean: found a mean beside a correlation of points",
        ),
    ] {
        assert!(TWO_PRESETS.contains(old), "{old}");
        let error = parse(&TWO_PRESETS.replacen(old, new, 1)).expect_err(new).to_string();
        assert!(error.contains(wanted), "{error}");
    }
}
