//! Tests of files, library and runs, with a mock bench in place of the simulator.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::models::greedy_mean_field;
use super::*;
use wordline_lab::error::{Error, Result};
use wordline_lab::output::ReportFolder;
use wordline_lab::summary::{Outcome as Ended, Summary};
use wordline_lab::sweep::SweepOptions;

mod bands;
mod compared;
mod docs;
mod layers;
mod library;
mod seeds;
mod settling;

const WAF: &str = include_str!("../../../data/experiments/validation/waf-uniform/experiment.toml");

fn parse(text: &str) -> Result<Experiment> {
    Experiment::parse("paper/name", Path::new("dir/experiment.toml"), text, None)
}

/// The complaint about the embedded experiment, after `old` was replaced by `new`.
fn complaint(old: &str, new: &str) -> String {
    assert!(WAF.contains(old), "the test changes {old}");
    parse(&WAF.replacen(old, new, 1)).expect_err(new).to_string()
}

fn line_of(needle: &str) -> usize {
    WAF[..WAF.find(needle).expect(needle)].matches('\n').count() + 1
}

#[test]
fn an_unknown_key_is_an_error_with_file_line_and_key() {
    let text = complaint("queue_depth = 32\n", "queue_depth = 32\nque_depth = 1\n");
    let line = line_of("queue_depth = 32\n") + 1;
    let start = format!(
        "dir/experiment.toml:{line}: que_depth: found an unknown key `que_depth`, wanted queue_depth, or another of drive_writes"
    );
    assert!(text.starts_with(&start), "{text}");
    let text = complaint("title = ", "claim = 1\ntitle = ");
    assert!(text.starts_with("dir/experiment.toml:1: claim: found an unknown key"), "{text}");
}

#[test]
fn bands_trends_claims_and_columns_that_do_not_hold_together_are_refused() {
    let line = line_of("[[expect]]");
    for (old, new, wanted) in [
        ("within = \"3 %\"", "within = \"3\"", "expect.within: found `3`, wanted a share above 0"),
        ("within = \"3 %\"\n", "", "expect.within: found no band, wanted `within` or `between`"),
        ("within = \"3 %\"", "between = [2.0, 1.0]", "expect.between: found [2, 1], wanted a least number"),
        ("within = \"3 %\"", "within = \"3 %\"\nbetween = [1.0, 2.0]", "expect.between: found two bands"),
        ("derivation = ", "note = ", "expect.derivation: found nothing beside a band, wanted in words"),
        (
            "model = \"greedy-mean-field\"\nwithin = \"3 %\"",
            "value = 855.0\nbetween = [1400.0, 1415.0]",
            "expect.between: found `from 1400 to 1415 (a factor of 1.01)`, wanted a band that holds the source's own value, 855",
        ),
        ("unit = ", "second_reading = \" \"\nunit = ", "expect.second_reading: found nothing"),
        ("model = ", "value = 1.0\nmodel = ", "expect: found 2 of `value`, `model`, `direction`"),
        ("column = \"write_amp", "column = \"waf", "expect.column: found `waflification`"),
        ("unit = ", "claim = \"CEN-N1\"\nunit = ", "expect.claim: found `CEN-N1`, wanted one of"),
        (
            "unit = ",
            "at = { \"ftl.gc\" = 1 }\nunit = ",
            "expect.at.ftl.gc: found `ftl.gc`, wanted a varied key",
        ),
        (
            "unit = ",
            "at = { \"ftl.over_provisioning\" = 1.0 }\nunit = ",
            "wanted a value that the key is varied over",
        ),
    ] {
        let text = complaint(old, new);
        assert!(text.contains(wanted) && text.contains(&format!("experiment.toml:{line}: ")), "{text}");
    }
    let text = complaint("along = \"ftl.over_provisioning\" } }\nsource", "along = \"ftl\" } }\nsource");
    assert!(
        text.contains("expect.direction.along: found `ftl`, wanted a varied key: `ftl.over_provisioning`")
    );
    let text = complaint("line = { along = \"ftl.over_provisioning\"", "line = { along = \"ftl\"");
    assert!(text.contains("chart.shape: found `ftl`"), "{text}");
    let chart = |shape: &str| complaint("line = { along = \"ftl.over_provisioning\" }", shape);
    let text = chart("trace = {}");
    assert!(text.contains("chart.shape: found a chart of stages"), "{text}");
    let text = chart("curves = { column = \"waf\", unit = \"\", along = \"ftl.over_provisioning\" }");
    assert!(text.contains("chart.shape: found `waf`"), "{text}");
}

#[test]
fn a_claim_has_the_form_of_the_ledger() {
    for wrong in ["CEN", "CEN-N", "cen-N1", "CEN-X1", "CENT-N1", "CEN-N1a", "CEN-N1-2", ""] {
        let text = complaint("claims = []", &format!("claims = [\"{wrong}\"]"));
        assert!(text.contains(&format!("claims: found `{wrong}`, wanted the id of a claim")), "{text}");
    }
    let right = WAF.replacen("claims = []", "claims = [\"CEN-N1\", \"NFS-F12\"]", 1);
    assert_eq!(parse(&right).expect("claims are well formed").claims, ["CEN-N1", "NFS-F12"]);
}

#[test]
fn a_device_that_does_not_hold_together_is_found_before_anything_runs() {
    let text = complaint("values = [0.065,", "values = [1.5,");
    assert!(text.contains("kind.sweep.vary ftl.over_provisioning: found 1.5"), "{text}");
    let text = complaint("key = \"ftl.over_provisioning\"", "key = \"ftl.over_provision\"");
    assert!(text.contains("over_provision"), "{text}");
}

const SMALL: &str = "title = \"T\"\nsource = \"S\"\nclaims = []\n\
    [kind.sweep]\npreset = \"tiny\"\n\
    [kind.sweep.workload.uniform-writes]\ndrive_writes = 0.01\nqueue_depth = 1\n\
    [kind.sweep.precondition.empty]\n";

/// Summary of a small run. Mock benches change single numbers of it.
fn measured() -> Summary {
    static RUN: OnceLock<Summary> = OnceLock::new();
    let run = || {
        let experiment = parse(SMALL).expect("well formed");
        let Kind::Sweep(sweep) = &experiment.kind else { panic!("a sweep") };
        let points = sweep.points(&experiment.path, &Options::default()).expect("sound");
        Lab::default().simulate(&points[0], &AtomicBool::new(false)).expect("it runs")
    };
    RUN.get_or_init(run).clone()
}

/// A bench whose write amplification is a function of the point.
struct MadeUp<F>(F);

impl<F: Fn(&Point) -> f64 + Sync> Bench for MadeUp<F> {
    fn simulate(&self, point: &Point, _: &AtomicBool) -> Result<Summary> {
        Ok(Summary { write_amplification: Some((self.0)(point)), ..measured() })
    }

    fn volumes(&self, _: &str) -> Result<Vec<String>> {
        Ok(vec!["first".into(), "second".into()])
    }

    fn write_sizes(&self, volume: &str, _: &Options) -> Result<WriteSizes> {
        let up_to_4k = if volume == "centaur/prn_1" { 0.6 } else { 0.4 };
        Ok(WriteSizes { up_to_4k, ..WriteSizes::default() })
    }

    fn statistics(&self, volume: &str, _: &Options) -> Result<Vec<Finding>> {
        let finding = |statistic: &str, ours| Finding {
            volume: volume.into(),
            statistic: statistic.into(),
            paper: 10.0,
            ours,
            unit: "KiB".into(),
            source: "centaur, table 1".into(),
            origin: "profile".into(),
            own_input: true,
            contradiction: None,
        };
        Ok(vec![
            finding("write size", 10.1),
            finding("read size", if volume == "first" { 9.9 } else { 11.0 }),
        ])
    }
}

fn outcome(text: &str, threads: usize, bench: &dyn Bench, stop: bool) -> Result<Outcome> {
    let stop = AtomicBool::new(stop);
    let conduct = SweepOptions { threads, stop: &stop, progress: &|_, _| () };
    run(&parse(text).expect("well formed"), &Options::default(), bench, &conduct)
}

fn spare(point: &Point) -> f64 {
    point.config().file.ftl.over_provisioning
}

/// The value of the closed form for a point: 1,024 blocks of 128 pages, of which three are kept free.
fn model(point: &Point) -> f64 {
    greedy_mean_field(f64::from(point.config().ftl.logical_pages) / f64::from(2 * 1021 * 128), 128)
}

#[test]
fn a_value_on_the_model_is_within_and_a_value_off_it_is_outside() {
    let bench = MadeUp(|point: &Point| model(point) * if spare(point) < 0.1 { 1.029 } else { 1.031 });
    let outcome = outcome(WAF, 2, &bench, false).expect("nothing fails");
    let verdicts: Vec<Verdict> = outcome.rows.iter().map(|row| row.verdict).collect();
    use Verdict::{Direction, Outside, Within};
    assert_eq!(verdicts, [Within, Outside, Outside, Outside, Outside, Direction]);
    let Counts { closed_forms, directions, .. } = outcome.counts;
    assert_eq!(
        (closed_forms.outside, closed_forms.without_demonstrated_cause(), directions.direction),
        (4, 4, 1)
    );
    assert_eq!(outcome.rows[0].what, "write amplification, ftl.over_provisioning = 0.065");
    assert_eq!(outcome.rows[0].band, "within 3 %");
}

#[test]
fn a_trend_the_other_way_is_outside() {
    let outcome = outcome(WAF, 1, &MadeUp(spare), false).expect("nothing fails");
    assert_eq!(outcome.rows[5].verdict, Verdict::Outside);
    assert_eq!(outcome.rows[5].paper, Value::Text("falls with ftl.over_provisioning".into()));
    assert_eq!(outcome.rows[5].ours, Value::Text("0.0650, 0.107, 0.153, 0.219, 0.286".into()));
}

#[test]
fn a_point_is_compared_with_another_one() {
    let above = "at = { \"ftl.over_provisioning\" = 0.065 }\ndirection = { above = { at = { \"ftl.over_provisioning\" = 0.286 } } }";
    let text = WAF.replacen("direction = { falling = { along = \"ftl.over_provisioning\" } }", above, 1);
    let with = |bench: &dyn Bench| outcome(&text, 1, bench, false).expect("nothing fails").rows[5].verdict;
    assert_eq!(with(&MadeUp(spare)), Verdict::Outside);
    assert_eq!(with(&MadeUp(|point: &Point| -spare(point))), Verdict::Direction);
}

const TWO_PRESETS: &str = "title = \"T\"\nsource = \"S\"\nclaims = []\n\
    [kind.sweep.workload.volume]\nprofile = \"centaur/hm_1\"\nqueue_depth = 32\n\
    [kind.sweep.precondition.steady]\nfraction = 0.5\ncovers_volume = true\n\
    [[kind.sweep.vary]]\nkey = \"ssd\"\nvalues = [\"3D\", \"2D\"]\n\
    sets.3D = { preset = \"centaur-3d\" }\nsets.2D = { preset = \"centaur-2d\", \"ftl.over_provisioning\" = 0.5 }\n\
    [[kind.sweep.vary]]\nkey = \"volume\"\nvalues = [\"a\", \"b\"]\n\
    sets.a = { \"workload.volume.profile\" = \"centaur/hm_1\" }\n\
    sets.b = { \"workload.volume.profile\" = \"centaur/usr_1\" }\n\
    [kind.sweep.quick]\nsays = \"less\"\nset = { \"workload.volume.scale\" = 0.5 }\n\
    [[kind.sweep.quick.vary]]\nkey = \"volume\"\nvalues = [\"b\"]\n\
    sets.b = { \"workload.volume.profile\" = \"centaur/usr_2\" }\n\
    [[expect]]\nwhat = \"W\"\nat = { ssd = \"3D\" }\nper = { ssd = \"2D\" }\nmean = \"values\"\n\
    column = \"write_amplification\"\nunit = \"times\"\ndirection = { greater = { than = 2.5 } }\nsource = \"S\"\n\
    [[expect]]\nwhat = \"bus\"\nat = { ssd = \"3D\", volume = \"a\" }\ncolumn = \"time.bus.read_us\"\n\
    unit = \"us\"\nshown = true\nsource = \"S\"\n";

/// Profile and scale of a point of volumes.
fn volume(point: &Point) -> (&str, f64) {
    match &point.workload {
        Workload::Volume(volume) => (&volume.profile, volume.scale),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_varied_preset_makes_another_device_and_the_scaled_down_sweep_has_some_of_the_values() {
    let experiment = parse(TWO_PRESETS).expect("well formed");
    let Kind::Sweep(sweep) = &experiment.kind else { panic!("a sweep") };
    let points = |quick| {
        let options = Options { quick, ..Options::default() };
        sweep.points(&experiment.path, &options).expect("sound")
    };
    let whole = points(false);
    let parts: Vec<&str> = whole.iter().map(|point| point.config().ftl.part().name.as_str()).collect();
    assert_eq!(parts, ["centaur-tlc-3d", "centaur-tlc-3d", "centaur-slc-2d", "centaur-slc-2d"]);
    // The settings of a value take precedence over its preset.
    assert_eq!(whole.iter().map(spare).collect::<Vec<f64>>(), [0.25, 0.25, 0.5, 0.5]);
    assert!(whole.iter().all(|point| point.covers_volume));
    let volumes: Vec<(&str, f64)> = whole.iter().map(volume).collect();
    assert_eq!(volumes[..2], [("centaur/hm_1", 1.0), ("centaur/usr_1", 1.0)]);
    let quick = points(true);
    assert_eq!(quick.iter().map(volume).collect::<Vec<_>>(), [("centaur/usr_2", 0.5); 2]);
}

#[test]
fn a_value_per_that_of_another_point_is_a_ratio_and_its_mean_has_a_direction() {
    // The 3D points have 6 and 5.2, the 2D points 2 and 4.
    let bench = MadeUp(|point: &Point| match (spare(point) < 0.3, volume(point).0) {
        (true, "centaur/hm_1") => 6.0,
        (true, _) => 5.2,
        (false, "centaur/hm_1") => 2.0,
        (false, _) => 4.0,
    });
    let rows = |text: &str| outcome(text, 1, &bench, false).expect("nothing fails").rows;
    let found = &rows(TWO_PRESETS)[0];
    assert_eq!((found.verdict, found.paper.to_string()), (Verdict::Outside, "greater than 2.5".into()));
    assert_eq!(found.ours, Value::Text("2.15".into()), "(6 / 2 + 5.2 / 4) / 2");
    let single = rows(&TWO_PRESETS.replace("mean = \"values\"\n", "").replace("than = 2.5", "than = 1.0"));
    assert_eq!(
        (single[0].verdict, single[0].ours.clone()),
        (Verdict::Direction, Value::Text("3.00, 1.30".into()))
    );
    let off = rows(&TWO_PRESETS.replace("mean = \"values\"\n", ""));
    assert_eq!(
        (off[0].verdict, off[0].ours.clone()),
        (Verdict::Outside, Value::Text("3.00, 1.30; 1.30 at volume = b".into()))
    );
    let only = TWO_PRESETS.replace(
        "at = { ssd = \"3D\" }\nper = { ssd = \"2D\" }\nmean = \"values\"",
        "at = { ssd = \"3D\", volume = \"b\" }\nper = { ssd = \"2D\" }",
    );
    let only = rows(&only)[0].clone();
    assert_eq!((only.verdict, only.ours), (Verdict::Outside, Value::Text("1.30".into())), "no place to name");
    let columns = rows(&TWO_PRESETS.replace("\"values\"\n", "\"columns\"\n").replace("greater", "less"));
    assert_eq!(
        (columns[0].verdict, columns[0].ours.clone()),
        (Verdict::Direction, Value::Text("1.87".into()))
    );
    let median = rows(&TWO_PRESETS.replace("\"values\"\n", "\"median\"\n"));
    assert_eq!(
        (median[0].verdict, median[0].ours.clone()),
        (Verdict::Direction, Value::Text("3.00".into())),
        "half of the points, 3.00 and 1.30, reach it"
    );
}

#[test]
fn a_ratio_to_nothing_is_no_value_and_no_part_of_a_direction() {
    let each = TWO_PRESETS.replace("mean = \"values\"\n", "").replace("than = 2.5", "than = 1.0");
    let row = |text: &str, of_2d: [f64; 2]| {
        let bench = MadeUp(|point: &Point| match (spare(point) < 0.3, volume(point).0) {
            (true, _) => 3.0,
            (false, "centaur/hm_1") => of_2d[0],
            (false, _) => of_2d[1],
        });
        outcome(text, 1, &bench, false).expect("nothing fails").rows[0].clone()
    };
    let text = |row: Row| (row.verdict, row.ours.to_string());
    assert_eq!(text(row(&each, [0.0, 2.0])), (Verdict::Direction, "1.50; no value at volume = a".into()));
    assert_eq!(text(row(&each, [0.0, 0.0])), (Verdict::Shown, "no value".into()));
    let mean = TWO_PRESETS.replace("than = 2.5", "than = 1.0");
    assert_eq!(text(row(&mean, [0.0, 2.0])), (Verdict::Direction, "1.50; no value at volume = a".into()));
    let number = "value = 1.5\nwithin = \"1 %\"\nderivation = \"D\"";
    let number = each.replace("direction = { greater = { than = 1.0 } }", number);
    assert_eq!(text(row(&number, [0.0, 2.0])), (Verdict::Shown, "no value".into()));
    assert_eq!(row(&number, [2.0, 2.0]).verdict, Verdict::Within);
}

#[test]
fn a_mean_for_each_value_of_a_key_has_a_row_of_its_own() {
    let bench = MadeUp(|point: &Point| if volume(point).0 == "centaur/hm_1" { 2.0 } else { 3.0 });
    let each = TWO_PRESETS.replace(
        "at = { ssd = \"3D\" }\nper = { ssd = \"2D\" }\nmean = \"values\"",
        "mean = \"values\"\neach = \"volume\"",
    );
    let rows = outcome(&each, 1, &bench, false).expect("nothing fails").rows;
    let found: Vec<_> =
        rows[..2].iter().map(|row| (row.what.as_str(), row.verdict, row.ours.to_string())).collect();
    assert_eq!(
        found,
        [
            ("W, volume = a", Verdict::Outside, "2.00".into()),
            ("W, volume = b", Verdict::Direction, "3.00".into())
        ]
    );
    for (old, new, wanted) in [
        ("each = \"volume\"", "each = \"vol\"", "expect.each: found `vol`"),
        ("mean = \"values\"\n", "", "expect.each: found `volume` without a mean"),
    ] {
        let error = parse(&each.replacen(old, new, 1)).expect_err(new).to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

const LIKE: &str = "title = \"T\"\nsource = \"S\"\nclaims = []\n\
    [kind.like]\nexperiment = \"centaur/fig12\"\n\
    [[kind.like.vary]]\nkey = \"ssd\"\nvalues = [\"mine\"]\n\
    sets.mine = { like = \"2D-only\", \"ftl.over_provisioning\" = 0.5 }\n\
    [[kind.like.quick]]\nkey = \"volume\"\nvalues = [\"hm_1\"]\n";

#[test]
fn an_experiment_may_run_what_another_one_runs_with_other_values() {
    let experiment = parse(LIKE).expect("well formed");
    let Kind::Sweep(sweep) = &experiment.kind else { panic!("a sweep") };
    let points = |quick| {
        let options = Options { quick, ..Options::default() };
        sweep.points(&experiment.path, &options).expect("sound")
    };
    let (whole, quick) = (points(false), points(true));
    assert_eq!(
        (whole.len(), quick.len()),
        (24, 2),
        "the volumes of centaur/fig11 at two paces, and one of them"
    );
    let sizes = [&whole[0], &quick[0]].map(|point| point.config().ftl.geometry().blocks_per_plane);
    assert_eq!((sizes, spare(&quick[0])), ([2048, 512], 0.5), "scaled down as 2D-only is there");
    for (old, new, wanted) in [
        ("centaur/fig12", "centaur/fig99", "kind.like.experiment: found `centaur/fig99`"),
        ("centaur/fig12", "centaur/table1", "kind.like.experiment: found `centaur/table1`"),
        ("\"2D-only\"", "\"4D-only\"", "kind.like.vary.sets.like: found `4D-only`"),
        ("sets.mine", "sets.others", "kind.like.vary.sets: found `others`"),
    ] {
        let error = parse(&LIKE.replacen(old, new, 1)).expect_err(new).to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_name_leads_into_a_list_of_named_items() {
    let outcome = outcome(TWO_PRESETS, 1, &MadeUp(|_: &Point| 1.0), false).expect("nothing fails");
    let bus = measured().time.into_iter().find(|share| share.name == "bus").expect("a component");
    assert_eq!(outcome.rows[1].ours, Value::Number(bus.read_us));
    let unknown = TWO_PRESETS.replace("time.bus.", "time.");
    assert!(
        parse(&unknown)
            .expect_err("no such column")
            .to_string()
            .contains("expect.column: found `time.read_us`")
    );
}

#[test]
fn a_column_of_a_pool_that_a_device_does_not_have_is_refused_before_anything_runs() {
    let with = |column: &str, preset: &str| {
        let text = TWO_PRESETS.replace("time.bus.read_us", column);
        parse(&text.replace("preset = \"centaur-3d\"", &format!("preset = \"{preset}\"")))
    };
    for column in ["pools.1.endurance_used", "sub_requests.stolen"] {
        assert!(with(column, "centaur").is_ok(), "{column}");
        let error = with(column, "centaur-3d").expect_err("one pool").to_string();
        let wanted = format!(
            "expect.column: found `{column}` of `bus` at ssd = 3D, volume = a, wanted a column of a device with one pool"
        );
        assert!(error.contains(&wanted), "{error}");
    }
    let error = with("pools.2.endurance_used", "centaur").expect_err("two pools").to_string();
    assert!(error.contains("wanted a column of a device with 2 pools, counted from 0"), "{error}");
}

#[test]
fn volumes_presets_and_scaled_down_keys_that_there_are_not_are_refused() {
    for (old, new, wanted) in [
        ("centaur/hm_1\"\nqueue", "centaur/hm_7\"\nqueue", "workload.volume.profile: found `centaur/hm_7`"),
        ("queue_depth = 32", "scale = 1.5", "workload.volume.scale: found 1.5, wanted a fraction above 0"),
        ("preset = \"centaur-3d\"", "preset = \"centaur-4d\"", "centaur-4d"),
        (
            "[[kind.sweep.quick.vary]]\nkey = \"volume\"",
            "[[kind.sweep.quick.vary]]\nkey = \"vol\"",
            "quick.vary.key: found `vol`",
        ),
        ("fraction = 0.5", "fraction = 0.0", "precondition.steady.fraction: found 0"),
        (
            "per = {",
            "over = { ssd = \"2D\" }\nper = {",
            "expect.per: found `over` and `per`, wanted one of them",
        ),
    ] {
        assert!(TWO_PRESETS.contains(old), "{old}");
        let error = parse(&TWO_PRESETS.replacen(old, new, 1)).expect_err(new).to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn the_outcome_does_not_depend_on_the_number_of_threads() {
    let alone = outcome(WAF, 1, &MadeUp(model), false).expect("nothing fails");
    assert_eq!(alone, outcome(WAF, 4, &MadeUp(model), false).expect("nothing fails"));
}

#[test]
fn what_a_stop_leaves_out_has_no_rows_and_is_said() {
    let outcome = outcome(WAF, 1, &MadeUp(model), true).expect("nothing fails");
    assert!(outcome.rows.is_empty());
    assert_eq!(outcome.notes, ["interrupted: 5 parts were not finished"]);
}

/// A bench that stops every run half-way.
struct HalfWay;

impl Bench for HalfWay {
    fn simulate(&self, _: &Point, _: &AtomicBool) -> Result<Summary> {
        Ok(Summary { outcome: Ended::Interrupted, ..measured() })
    }

    fn volumes(&self, _: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn statistics(&self, _: &str, _: &Options) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    fn write_sizes(&self, _: &str, _: &Options) -> Result<WriteSizes> {
        Ok(WriteSizes::default())
    }
}

#[test]
fn a_point_that_was_stopped_half_way_is_no_result() {
    let outcome = outcome(WAF, 1, &HalfWay, false).expect("nothing fails");
    assert!(outcome.rows.is_empty());
    assert_eq!(outcome.notes, ["interrupted: 5 parts were not finished"]);
}

const STATISTICS: &str = "title = \"T\"\nsource = \"S\"\nclaims = [\"CEN-N6\"]\n\
    [kind.trace-statistics]\npaper = \"centaur\"\nclaim = \"CEN-N6\"\nwithin = \"2 %\"\n\
    derivation = \"D\"\n[[chart]]\nname = \"ratio\"\ntitle = \"R\"\ncaption = \"C\"\nshape = { ratio = {} }\n";

#[test]
fn trace_statistics_stand_beside_the_papers() {
    let outcome = outcome(STATISTICS, 2, &MadeUp(spare), false).expect("nothing fails");
    let json = serde_json::to_value(&outcome).expect("an outcome is JSON");
    assert_eq!(outcome.rows.len(), 4);
    assert_eq!(
        json["rows"][3],
        serde_json::json!({
            "claim": "CEN-N6", "what": "second: read size", "paper": 10.0, "ours": 11.0, "unit": "KiB",
            "band": "within 2 %", "derivation": "D", "verdict": "outside", "source": "centaur, table 1",
            "second_reading": null, "class": "fitted", "note": "profile", "contradicted": false,
            "explained": false, "interval": null, "by_seed": [11.0, 11.0], "equal": true, "changes": false,
            "sure": true, "under": null, "own_expectation": false
        })
    );
    assert_eq!(json["experiment"], "paper/name");
    assert_eq!(
        outcome.counts,
        Counts {
            fitted: VerdictCounts { judged: 4, within: 3, outside: 1, ..VerdictCounts::default() },
            ..Counts::default()
        },
        "what comes back from a profile is not judged"
    );
}

#[test]
fn sizes_of_writes_are_expected_by_volume() {
    let text = "title = \"T\"\nsource = \"S\"\nclaims = []\n\
        [kind.write-sizes]\nvolumes = [\"centaur/hm_1\", \"centaur/prn_1\"]\n\
        [[expect]]\nwhat = \"small\"\nat = { volume = \"prn_1\" }\ncolumn = \"up_to_4k\"\nunit = \"of all\"\n\
        direction = { greater = { than = 0.5 } }\nsource = \"S\"\n";
    let rows = |text: &str| outcome(text, 2, &MadeUp(spare), false).expect("nothing fails").rows;
    assert_eq!(rows(text)[0].verdict, Verdict::Direction);
    assert_eq!(rows(&text.replace("at = { volume = \"prn_1\" }\n", ""))[0].verdict, Verdict::Outside);
    for (old, new) in [("hm_1", "hm_9"), ("up_to_4k", "up_to_5k"), ("\"prn_1\"", "\"prn_3\"")] {
        assert!(parse(&text.replace(old, new)).is_err(), "{new}");
    }
}

#[test]
fn a_report_holds_the_rows_and_charts_with_both_values() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let experiment = parse(WAF).expect("well formed");
    let outcome = outcome(WAF, 1, &MadeUp(model), false).expect("nothing fails");
    let target = ReportFolder::claim(folder.path()).expect("an empty folder");
    write_report(target, &experiment, &outcome).expect("room for a report");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    let chart: serde_json::Value =
        serde_json::from_str(&read("charts/write-amplification.vl.json")).expect("JSON");
    assert_eq!(chart["data"]["values"].as_array().map(Vec::len), Some(10));
    assert!(read("report.html").contains("write amplification, ftl.over_provisioning = 0.065"));
    assert!(read("outcome.json").contains("\"verdict\": \"within\""));
}

#[test]
fn a_line_chart_over_one_of_two_keys_tells_the_values_of_the_other_apart() {
    let text = WAF
        .replacen("[[kind.sweep.vary]]", "[[kind.sweep.vary]]\nkey = \"ftl.gc.victim\"\nvalues = [{ policy = \"fifo\" }, { policy = \"random\" }]\n[[kind.sweep.vary]]", 1)
        .replacen("direction = {", "at = { \"ftl.gc.victim\" = { policy = \"fifo\" } }\ndirection = {", 1);
    let experiment = parse(&text).expect("well formed");
    let outcome = outcome(&text, 1, &MadeUp(model), false).expect("nothing fails");
    let chart = &charts(&experiment, &outcome)[0].spec;
    assert_eq!(chart["encoding"]["color"]["field"], "at");
    assert_eq!(chart["data"]["values"][0]["at"], "fifo", "words, not TOML");
    assert_eq!(chart["data"]["values"].as_array().map(Vec::len), Some(20));
}

#[test]
fn the_table_ends_with_a_count() {
    let text = table(&outcome(STATISTICS, 1, &MadeUp(spare), false).expect("nothing fails"), 120);
    assert!(
        text.contains("OUTSIDE")
            && text.ends_with(
                "\nfitted: 4 judged, 3 within, 0 direction, 1 outside (1 no reason shown); 0 shown\n"
            ),
        "{text}"
    );
}

/// Uses the simulator itself for the scaled-down experiment. With the greatest over-provisioning, few blocks
/// have the least effect.
#[test]
fn the_simulated_device_meets_the_model() {
    let values = WAF.find("values = [").expect("values");
    let end = values + WAF[values..].find('\n').expect("a line ends");
    let text = format!("{}values = [0.286]{}", &WAF[..values], &WAF[end..]);
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
    let options = Options { quick: true, ..Options::default() };
    let outcome =
        run(&parse(&text).expect("well formed"), &options, &Lab::default(), &conduct).expect("it runs");
    assert_eq!(outcome.rows.len(), 1, "a single point has no direction");
    assert_eq!(outcome.rows[0].verdict, Verdict::Within, "{outcome:?}");
}

#[test]
fn what_two_experiments_ask_for_is_simulated_once() {
    let experiment = parse(WAF).expect("well formed");
    let Kind::Sweep(sweep) = &experiment.kind else { panic!("a sweep") };
    let options = Options { quick: true, ..Options::default() };
    let points = sweep.points(&experiment.path, &options).expect("sound");
    let (lab, stop) = (Lab::default(), AtomicBool::new(false));
    let run = |point: &Point| lab.simulate(point, &stop).expect("it runs");
    let first = run(&points[4]);
    // Wall-clock times of two runs differ, so the equal value shows that the run was shared.
    assert_eq!(run(&points[4]).simulator.wall_seconds.to_bits(), first.simulator.wall_seconds.to_bits());
    assert_ne!(run(&Point { seed: 1, ..points[4].clone() }).digest, first.digest);
}
