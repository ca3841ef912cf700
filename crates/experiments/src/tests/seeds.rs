//! Tests of verdicts over several seeds.

use super::*;

/// A bench with the write amplification of the closed form times a factor. The factor grows by `spread` per
/// seed, and begins two spreads below `around`.
fn by_seed(spread: f64, around: f64) -> MadeUp<impl Fn(&Point) -> f64 + Sync> {
    MadeUp(move |point: &Point| model(point) * (around + spread * (point.seed as f64 - 2.0)))
}

#[test]
fn a_row_is_judged_on_the_mean_over_seeds_and_its_interval() {
    let rows = |bench: &dyn Bench| outcome(WAF, 1, bench, false).expect("nothing fails").rows;
    let shown = |spread, around| rows(&by_seed(spread, around))[0].shown_verdict();
    // The five seeds lie from two spreads below to two spreads above. The half-width of the interval is 1.96
    // spreads; the band is 3 %.
    assert_eq!(shown(0.001, 1.0), "within");
    assert_eq!(shown(0.01, 1.02), "within?");
    assert_eq!(shown(0.01, 1.04), "OUTSIDE?, no reason");
    assert_eq!(shown(0.001, 1.04), "OUTSIDE, no reason");
    let row = &rows(&by_seed(0.02, 1.0))[0];
    assert_eq!((row.by_seed.len(), row.equal, row.changes), (5, false, true));
    let [least, greatest] = row.interval.expect("seeds that differ");
    let Value::Number(mean) = row.ours else { panic!("a number") };
    assert!(((greatest - least) / 2.0 / mean - 0.0392).abs() < 1e-3, "{row:?}");
    assert!(row.shown()[1].contains(" ± "), "{row:?}");
    let equal = &rows(&MadeUp(model))[0];
    assert_eq!((equal.by_seed.len(), equal.equal, equal.interval), (2, true, None), "two seeds are enough");
}

#[test]
fn a_direction_is_judged_on_its_margins_paired_by_seed() {
    // Each device varies much more with the seed than it differs from its neighbour, but all devices vary
    // together.
    let together = MadeUp(|point: &Point| 10.0 * (1 + point.seed) as f64 - spare(point));
    let apart = MadeUp(|point: &Point| {
        let sign = if point.seed.is_multiple_of(2) { 1.0 } else { -1.2 };
        1.0 - sign * spare(point)
    });
    let falls = |bench: &dyn Bench| outcome(WAF, 1, bench, false).expect("nothing fails").rows[5].clone();
    assert_eq!(falls(&together).shown_verdict(), "direction");
    let row = falls(&apart);
    assert!(!row.sure && row.changes, "{row:?}");
}

#[test]
fn a_change_that_brings_a_row_inside_with_some_seeds_only_does_not_explain_it() {
    let text = TWO_PRESETS
        .replacen("[[expect]]", "[changes]\nsmall = { \"workload.volume.scale\" = 0.25 }\n[[expect]]", 1)
        .replacen(
            "column = ",
            "explained_until = \"small\"\n\
             explained = [{ at = { volume = [\"a\", \"b\"] }, because = \"B\" }]\ncolumn = ",
            1,
        );
    let explained = |spread: f64| {
        let bench = MadeUp(move |point: &Point| match (spare(point) < 0.3, volume(point).1 < 1.0) {
            (true, true) => 2.6 + spread * (point.seed as f64 - 2.0),
            (true, false) => 2.0,
            (false, _) => 1.0,
        });
        let rows = outcome(&text, 1, &bench, false).expect("nothing fails").rows;
        (rows[0].verdict, rows[0].explained, rows[1].shown_verdict())
    };
    assert_eq!(explained(0.01), (Verdict::Outside, true, "direction, not counted".into()));
    assert_eq!(explained(0.1), (Verdict::Outside, false, "direction?, not counted".into()));
}
