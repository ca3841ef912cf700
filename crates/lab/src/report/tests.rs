//! Tests of the content of reports.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Chart, Origin, charts, comparison, html, json, json_list, sample, schema, table};
use crate::error::Result;
use crate::output::ReportFolder;
use crate::summary::{DesignChart, LeftOut, PoolUse, Summary, TimeShare, WarmUpEnd};

const ORIGIN: Origin<'_> = Origin {
    config: "[device]\nname = \"</code></script><b>\"\n",
    command: "wordline run --preset nvme-tlc-512g --workload mixed-70-30 --seed 1",
};

fn write(directory: &Path, runs: &[Summary]) -> Result<()> {
    let summary = if let [run] = runs { json(run) } else { json_list(runs) };
    super::write(ReportFolder::claim(directory)?, runs, &summary, ORIGIN)
}

/// Every kind of report: typical runs, several runs, and extreme runs.
fn reports() -> Vec<(&'static str, Vec<Summary>)> {
    vec![
        ("mixed", vec![sample::mixed()]),
        ("several", vec![sample::mixed(), sample::faster(), sample::only_writes()]),
        ("only-reads", vec![sample::only_reads()]),
        ("only-writes", vec![sample::only_writes()]),
        ("empty", vec![sample::empty()]),
    ]
}

#[test]
fn the_table_shows_the_key_results_first() {
    insta::assert_snapshot!(table(&sample::mixed(), 100));
}

#[test]
fn a_run_without_writes_has_no_latency_of_writes_in_its_table() {
    insta::assert_snapshot!(table(&sample::only_reads(), 100));
}

#[test]
fn an_empty_run_has_a_table_without_numbers_that_do_not_exist() {
    let text = table(&sample::empty(), 100);
    for word in ["NaN", "inf"] {
        assert!(!text.contains(word), "{text}");
    }
}

#[test]
fn a_comparison_has_a_column_for_each_run_and_ratios_to_the_first() {
    insta::assert_snapshot!(comparison(&[sample::mixed(), sample::faster()], 100));
}

/// The rows of a page: the name of each, and its cells.
fn cells_of<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let row = page.split("<tr>").find(|row| row.contains(&format!(">{name}</th>"))).unwrap_or_default();
    row.split("<td").skip(1).filter_map(|cell| cell.split_once('>')?.1.split('<').next()).collect()
}

#[test]
fn a_comparison_has_the_rows_that_only_a_later_run_has() {
    let mut array = sample::faster();
    let wait = TimeShare { name: "raid_wait".into(), read_us: 5.0, write_us: 7.0 };
    array.time.insert(1, wait);
    let runs = [sample::mixed(), array];
    let text = comparison(&runs, 100);
    let row = |name: &str| text.lines().position(|line| line.trim_start().starts_with(name)).expect(name);
    assert!(
        row("queue") < row("wait in the array") && row("wait in the array") < row("write buffer"),
        "{text}"
    );
    let wait = text.lines().nth(row("wait in the array")).expect("it was found");
    assert!(wait.contains("– ") && wait.trim_end().ends_with("5.00 µs"), "{wait}");
    let page = html(&runs, ORIGIN);
    assert_eq!(cells_of(&page, "wait in the array"), ["–", "5.00 µs"]);
    assert!(
        page.contains("data-unit=\"µs\">wait in the array</th>"),
        "the row has the unit of the later run"
    );
}

#[test]
fn neither_a_comparison_nor_a_table_has_headings_without_results() {
    let (mut reads, mut host) = (sample::only_reads(), sample::mixed());
    (reads.host.flushes, reads.host.discards) = (0, 0);
    let text = comparison(&[reads.clone(), reads], 100);
    for heading in ["FLUSH LATENCY", "DISCARD LATENCY", "COMPARE LATENCY"] {
        assert!(!text.contains(heading), "{heading}: {text}");
    }
    for (metric, _) in host.metrics.clone().iter().filter(|(metric, _)| metric.section() == Some("faults")) {
        host.metrics.set(metric.name, wordline_kernel::metrics::Value::Absent);
    }
    assert!(!table(&host, 100).contains("Faults"), "no count of failures");
}

#[test]
fn a_page_indents_parts_and_tells_the_warm_up_in_a_sentence_of_its_own() {
    let left_out = LeftOut { requests: 1_000, seconds: 0.003, end: WarmUpEnd::Rule };
    let run = Summary { warm_up: Some(left_out), ..sample::mixed() };
    let page = html(std::slice::from_ref(&run), ORIGIN);
    assert!(page.contains("<th scope=\"row\" class=\"part\">  of it recovering</th>"));
    let told = "</code>.</span> <span class=\"soft\">Warm-up: 1,000 requests in 3.00 ms left out, until the load was steady \
                by MSER-5.</span>";
    assert!(page.contains(told), "{}", &page[page.find("Warm-up").unwrap_or(0)..][..200]);
    let compared = html(&[run, sample::faster()], ORIGIN);
    assert!(compared.contains(">Key results, with ratios to nvme-tlc-512g</h2>"));
}

#[test]
fn the_wear_of_a_run_whose_blocks_are_equal_is_a_step_with_a_width() {
    let mut even = sample::mixed();
    even.wear.erases.fill(16.0);
    let all = charts(&[even, sample::faster()]);
    let (_, rows) = rows_of(&all, "wear-distribution");
    let first: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row["run"] == rows[0]["run"])
        .filter_map(|row| row["from"].as_f64().zip(row["share"].as_f64()))
        .collect();
    assert_eq!(first[first.len() - 2..], [(16.0, 1.0), (17.0, 0.0)]);
}

#[test]
fn a_device_with_pools_has_a_column_for_each_and_what_was_sent_to_which() {
    insta::assert_snapshot!(table(&sample::pooled(), 100));
}

#[test]
fn three_pools_stand_above_what_was_sent_to_them() {
    let mut run = sample::pooled();
    run.pools.push(PoolUse { part: "a/file/with/a/long/path/of-a-part.toml".into(), ..run.pools[0].clone() });
    let text = table(&run, 100);
    let line = |words: &str| text.lines().position(|line| line.starts_with(words)).expect(words);
    assert!(line(" Pools") < line(" Sub-requests"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn pools_that_only_some_of_the_compared_devices_have_are_absent_in_the_others() {
    let of_pools = |runs: &[Summary]| {
        let text = comparison(runs, 100);
        let lines: Vec<String> =
            text.lines().skip_while(|line| *line != " POOL 1").map(str::to_owned).collect();
        lines.join("\n")
    };
    insta::assert_snapshot!(of_pools(&[sample::mixed(), sample::pooled()]));
    assert_eq!(of_pools(&[sample::mixed(), sample::faster()]), "");
    assert!(html(&[sample::mixed(), sample::pooled()], ORIGIN).contains(">Pool 2</th>"));
    assert!(html(&[sample::pooled()], ORIGIN).contains(">units moved to pool 1</th>"));
}

/// The dies of the two pools have different numbers of blocks, and the pools share channels.
#[test]
fn pools_have_dies_and_maps_of_wear_of_their_own() {
    let all = charts(&[sample::pooled()]);
    let values = |name: &str| {
        let chart = all.iter().find(|chart| chart.name == name).unwrap_or_else(|| panic!("{name}"));
        chart.spec["data"]["values"].as_array().expect("a chart carries its data").clone()
    };
    assert_eq!([values("wear-map-pool-1").len(), values("wear-map-pool-2").len()], [800, 320]);
    assert!(all.iter().all(|chart| chart.name != "wear-map"));
    let dies = values("dies");
    for (row, first) in [("pool 1", 0), ("pool 2", 8)] {
        let of_pool: Vec<_> = dies.iter().filter(|die| die["row"] == row).map(|die| &die["die"]).collect();
        assert_eq!((of_pool.len(), of_pool[0].as_u64()), (8, Some(first)), "{row}");
    }
}

#[test]
fn an_array_has_a_column_for_each_device_and_says_how_it_wrote() {
    let text = table(&sample::array(4), 100);
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with(" Members"))
        .take_while(|line| !line.starts_with(" Notes"))
        .collect();
    insta::assert_snapshot!(lines.join("\n").trim_end());
    assert!(!text.contains("Pools") && !text.contains("Sub-requests"), "{text}");
    let many = table(&sample::array(20), 100);
    assert!(many.lines().filter(|line| line.starts_with(" Members")).count() > 2, "{many}");
    assert!(widest(&many) <= 100, "{many}");
    assert!(html(&[sample::array(4)], ORIGIN).contains(">Device 3 of the array</th>"));
}

#[test]
fn the_devices_of_an_array_stand_side_by_side_in_charts() {
    let all = charts(&[sample::array(4)]);
    let values = |name: &str| {
        let chart = all.iter().find(|chart| chart.name == name).unwrap_or_else(|| panic!("{name}"));
        chart.spec["data"]["values"].as_array().expect("a chart carries its data").clone()
    };
    assert_eq!((values("members-written").len(), values("members-worn").len()), (8, 4));
    let worn = &values("members-worn")[1];
    assert_eq!((&worn["bar"], &worn["role"]), (&"device 1".into(), &"member 1, failed".into()));
    let parity: Vec<Value> =
        values("members-written").into_iter().filter(|row| row["kind"] == "parity").collect();
    assert_eq!(parity[0]["size"].as_f64(), Some(20_480.0), "{parity:?}");
    assert_eq!(values("wear-map-device-3").len(), 320);
    assert!(charts(&[sample::mixed()]).iter().all(|chart| !chart.name.starts_with("members")));
}

#[test]
fn a_comparison_of_nothing_is_empty() {
    assert_eq!(comparison(&[], 100), "");
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().expect("a table has lines")
}

#[test]
fn a_table_fits_its_terminal_and_uses_a_wide_one() {
    for run in
        [sample::mixed(), sample::only_reads(), sample::only_writes(), sample::empty(), sample::pooled()]
    {
        let lines = [80, 100, 120, 160].map(|columns| {
            let text = table(&run, columns);
            assert!(widest(&text) <= usize::from(columns), "{columns} columns:\n{text}");
            text.lines().count()
        });
        assert!(lines[2] < lines[1] && lines[1] <= lines[0], "{lines:?}");
    }
}

#[test]
fn a_comparison_that_is_too_wide_goes_on_in_a_table_of_its_own() {
    let runs: Vec<Summary> = (0..7).map(|_| sample::mixed()).collect();
    for columns in [80, 120, 200] {
        let text = comparison(&runs, columns);
        assert!(widest(&text) <= usize::from(columns), "{columns} columns:\n{text}");
    }
    let heads = |columns| comparison(&runs, columns).matches("HOST\n").count();
    assert!(heads(80) > heads(120) && heads(120) > heads(200), "{}", heads(80));
}

#[test]
fn every_chart_is_a_vega_lite_specification_with_data() {
    for (name, runs) in reports() {
        for chart in charts(&runs) {
            let schema = chart.spec["$schema"].as_str().expect("a chart names its schema");
            assert!(schema.ends_with("/vega-lite/v6.json"), "{name}: {}", chart.name);
            let data = chart.spec["data"]["values"].as_array().expect("a chart carries its data");
            assert!(!data.is_empty(), "{name}: {}", chart.name);
            assert_eq!(chart.spec["title"], chart.title.as_str());
            assert!(chart.spec["encoding"].is_object(), "{name}: {}", chart.name);
        }
    }
}

#[test]
fn a_full_report_has_each_of_the_promised_charts() {
    let names: Vec<String> = charts(&[sample::mixed()]).into_iter().map(|chart| chart.name).collect();
    let wanted = [
        "latency-distribution",
        "latency-tail",
        "throughput",
        "requests",
        "latency-mean",
        "latency-max",
        "write-amplification",
        "free-blocks",
        "victims-valid",
        "time",
        "tail-parts",
        "channels",
        "dies",
        "wear-distribution",
        "die-map",
        "wear-map",
    ];
    assert_eq!(names, wanted);
    assert!(charts(&[]).is_empty());
}

/// The run with two charts of a design: a time series, and a distribution over sizes.
fn with_charts_of_a_design(mut run: Summary) -> Summary {
    let chart = |name: &str, over: Option<&str>, points: &[[f64; 2]]| DesignChart {
        name: name.to_owned(),
        title: format!("The chart {name}"),
        caption: "What a design drew.".to_owned(),
        over: over.map(str::to_owned),
        value: "Pages".to_owned(),
        points: points.to_vec(),
    };
    let times = chart("mine-over-time", None, &[[0.5, 3.0], [2.5, 4.0]]);
    run.charts = vec![times, chart("mine-sizes", Some("Size"), &[[0.0, 7.0], [1.0, 9.0], [2.0, 1.0]])];
    run
}

#[test]
fn a_report_has_the_charts_that_designs_draw_behind_its_own() {
    let run = with_charts_of_a_design(sample::mixed());
    let all = charts(&[sample::mixed(), run.clone()]);
    let [times, sizes] = &all[all.len() - 2..] else { panic!("two charts") };
    assert_eq!([times.name.as_str(), &sizes.name], ["mine-over-time", "mine-sizes"]);
    let values = |chart: &Chart| chart.spec["data"]["values"].as_array().expect("a chart has data").clone();
    assert_eq!((values(times).len(), values(sizes).len()), (2, 3), "only the one run has them");
    assert_eq!(values(times)[1]["value"], 4.0);
    assert_eq!(
        values(sizes)[1],
        serde_json::json!({ "run": values(times)[0]["run"], "size": 1.0, "value": 9.0 })
    );
    let page = html(std::slice::from_ref(&run), ORIGIN);
    assert!(
        page.contains("The chart mine-sizes") && page.contains("<th scope=\"col\">Size</th>"),
        "its numbers"
    );
    let json: Value = serde_json::from_str(&json(&run)).expect("it is JSON");
    assert_eq!(json["charts"][0]["points"][1], serde_json::json!([2.5, 4.0]));
}

#[test]
fn a_chart_without_anything_to_show_is_left_out() {
    let has = |run: Summary, name: &str| charts(&[run]).iter().any(|chart| chart.name == name);
    assert!(!has(sample::only_reads(), "write-amplification"));
    assert!(!has(sample::empty(), "latency-distribution"));
    assert!(!has(sample::empty(), "throughput"));
    assert!(has(sample::empty(), "dies"));
}

#[test]
fn the_wear_map_keeps_the_mean_of_all_blocks() {
    for run in [sample::mixed(), sample::faster(), sample::only_reads()] {
        let mean = run.wear.mean;
        let all = charts(&[run]);
        let map = all.iter().find(|chart| chart.name == "wear-map").expect("a device has blocks");
        let cells = map.spec["data"]["values"].as_array().expect("a chart carries its data");
        assert!(cells.len() <= 64 * 192, "{} cells", cells.len());
        let sum: f64 = cells.iter().map(|cell| cell.as_f64().expect("a number")).sum();
        assert!(
            (sum / cells.len() as f64 - mean).abs() < 0.02 * mean,
            "{} against {mean}",
            sum / cells.len() as f64
        );
    }
}

#[test]
fn a_page_loads_nothing_from_anywhere() {
    for (name, runs) in reports() {
        let page = html(&runs, ORIGIN);
        for load in ["<link", "<script src", " src=", "@import", "url(h", "<iframe", "sourceMappingURL"] {
            let own = page.split("<script>").next().expect("a split has a first part");
            assert!(!own.contains(load), "{name}: {load}");
        }
        assert!(!page.contains("sourceMappingURL"), "{name}");
        assert!(page.contains("default-src 'none'"), "{name}");
    }
}

#[test]
fn a_page_escapes_names_configuration_and_data() {
    let page = html(&[sample::mixed(), sample::faster()], ORIGIN);
    assert!(!page.contains("<script>alert"), "a device's name ran as a script");
    assert!(page.contains("&lt;script&gt;alert(&#39;&amp;&#39;)"));
    assert!(page.contains("\\u003cscript>alert"), "the charts name the device");
    assert!(!page.contains("</code></script><b>"));
    // The chart data, the three libraries and the two scripts of the page are one element each.
    assert_eq!(page.matches("</script>").count(), 6);
}

#[test]
fn no_report_has_a_number_that_is_not_one() {
    for (name, runs) in reports() {
        let page = html(&runs, ORIGIN);
        let own = page.split("<script>").next().expect("a split has a first part");
        for word in ["NaN", "inf ", "inf<", ":inf"] {
            assert!(!own.contains(word), "{name}: {word}");
        }
    }
}

#[test]
fn json_has_the_numbers_and_null_for_what_is_not_finite() {
    let mut run = sample::empty();
    run.host.iops = f64::NAN;
    let value: Value = serde_json::from_str(&json(&run)).expect("it is JSON");
    assert_eq!(value["host"]["iops"], Value::Null);
    assert_eq!(value["write_amplification"], Value::Null);
    let value: Value = serde_json::from_str(&json(&sample::mixed())).expect("it is JSON");
    assert_eq!(value["host"]["requests"], 1_200_000);
    assert_eq!(value["workload"]["kind"], "synthetic");
}

#[test]
fn a_report_is_a_page_a_summary_and_its_charts() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write(directory.path(), &[sample::mixed()]).expect("the directory can be written");
    let text = fs::read_to_string(directory.path().join("summary.json")).expect("it was written");
    assert_eq!(text, json(&sample::mixed()));
    assert!(directory.path().join("report.html").is_file());
    let chart = fs::read(directory.path().join("charts/throughput.vl.json")).expect("it was written");
    serde_json::from_slice::<Value>(&chart).expect("it is JSON");
}

#[test]
fn a_report_of_several_runs_has_a_list_of_summaries() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write(directory.path(), &[sample::mixed(), sample::faster()]).expect("the directory can be written");
    let text = fs::read(directory.path().join("summary.json")).expect("it was written");
    let list: Value = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_report_into_a_file_is_an_error_that_names_it() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let error = write(file.path(), &[sample::mixed()]).expect_err("a file is no directory");
    assert!(error.to_string().contains(&file.path().display().to_string()), "{error}");
}

#[test]
fn the_vendored_programs_are_what_the_readme_says() {
    let readme = include_str!("../../assets/README.md");
    for (name, program) in super::frame::PROGRAMS {
        let row =
            readme.lines().find(|line| line.contains(&format!("`{name}.min.js`"))).expect("a row for each");
        let size = super::Quantity::Count(program.len() as u64).to_string();
        assert!(row.contains(&size), "{name} has {size} bytes: {row}");
    }
}

/// Writes reports of all kinds to the folder `WORDLINE_SAMPLE_REPORTS`, to be viewed in a browser. Does
/// nothing if the variable is not set.
#[test]
fn reports_can_be_written_to_be_looked_at() {
    let Some(directory) = std::env::var_os("WORDLINE_SAMPLE_REPORTS") else { return };
    for (name, runs) in reports() {
        write(&Path::new(&directory).join(name), &runs).expect("the directory can be written");
    }
}

/// The fields of the JSON as a Markdown table, made from the schema.
fn documented_fields() -> String {
    let schema: Value = serde_json::from_str(&schema()).expect("a schema is JSON");
    let mut out = String::from("| field | type | meaning |\n|---|---|---|\n");
    describe(&schema, &schema, "", &mut out);
    out
}

fn describe(root: &Value, object: &Value, path: &str, out: &mut String) {
    let properties = object["properties"].as_object().expect("an object has properties");
    // Sorted, because the order depends on the features of serde_json.
    for (name, property) in properties.iter().collect::<BTreeMap<_, _>>() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let text = property["description"].as_str().unwrap_or_else(|| panic!("{path} has no description"));
        let item = if property["type"] == "array" { &property["items"] } else { property };
        let referred = item["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
        let target = referred.unwrap_or(item);
        let list = if property["type"] == "array" { "list of " } else { "" };
        let text = text.replace('\n', " ").replace('|', "\\|");
        out.push_str(&format!("| `{path}` | {list}{} | {text} |\n", kind_of(target)));
        if target["properties"].is_object() {
            let path = if list.is_empty() { path } else { path + "[]" };
            describe(root, target, &path, out);
        }
    }
}

fn kind_of(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(kind) if kind == "array" => "pairs of numbers".to_owned(),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => {
            let variants = schema["oneOf"].as_array().expect("what has no type is one of some words");
            let words =
                variants.iter().map(|variant| format!("`{}`", variant["const"].as_str().unwrap_or("?")));
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

#[test]
fn every_field_of_the_json_is_documented() {
    const START: &str = "<!-- fields: from the schema -->\n";
    const END: &str = "<!-- end of fields -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.md");
    let text = fs::read_to_string(&path).expect("docs/report.md is part of the repository");
    let (before, rest) = text.split_once(START).expect("the page marks where the fields start");
    let (fields, after) = rest.split_once(END).expect("the page marks where the fields end");
    let wanted = documented_fields();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{before}{START}{wanted}{END}{after}")).expect("the page can be written");
        return;
    }
    assert_eq!(fields, wanted, "docs/report.md is behind the schema; UPDATE_GOLDEN=1 brings it up");
}

/// The rows of a chart.
fn rows_of<'a>(all: &'a [Chart], name: &str) -> (&'a Value, &'a Vec<Value>) {
    let chart = all.iter().find(|chart| chart.name == name).unwrap_or_else(|| panic!("no chart {name}"));
    (&chart.spec, chart.spec["data"]["values"].as_array().expect("a chart has data"))
}

#[test]
fn a_latency_that_is_always_the_same_is_a_line() {
    let mut run = sample::only_writes();
    run.host.write_latency_us.cumulative = vec![(1.0, 1.0)];
    let all = charts(&[run]);
    for (name, field) in [("latency-distribution", "percent"), ("latency-tail", "slower")] {
        let (spec, rows) = rows_of(&all, name);
        assert!(rows.len() == 2 && rows[0][field] != rows[1][field], "{name}: {rows:?}");
        assert!(rows.iter().all(|row| row[field].as_f64().is_some_and(|share| share >= 0.0)), "{name}");
        let least = spec["encoding"]["x"]["scale"]["domain"][0].as_f64();
        assert!(least.is_some_and(|least| least < 1.0), "{name}: it would lie on the edge");
    }
}

#[test]
fn runs_of_different_length_are_drawn_over_their_own() {
    let title = |all: &[Chart], name: &str| rows_of(all, name).0["encoding"]["x"]["title"].clone();
    let (short, mut long) = (sample::mixed(), sample::mixed());
    assert_eq!(title(&charts(&[short.clone(), long.clone()]), "throughput"), "Simulated time (s)");
    long.simulated_seconds *= 100.0;
    long.windows.width_seconds *= 100.0;
    let all = charts(&[short, long]);
    for name in ["throughput", "latency-mean", "free-blocks"] {
        let (spec, rows) = rows_of(&all, name);
        assert_eq!(spec["encoding"]["x"]["title"], "Part of the run (%)", "{name}");
        let most = |run: &Value| {
            let times = rows.iter().filter(|row| row["run"] == *run).filter_map(|row| row["time"].as_f64());
            times.fold(0.0, f64::max)
        };
        let [first, last] = [&rows[0]["run"], &rows[rows.len() - 1]["run"]];
        assert!(first != last && most(first) > 95.0 && (most(first) - most(last)).abs() < 0.01, "{name}");
    }
    let caption = all.iter().find(|chart| chart.name == "throughput").map(|chart| &chart.caption);
    assert!(
        caption.is_some_and(|text| text.contains("its own length: ") && text.contains("9.63 s")),
        "{caption:?}"
    );
    assert_ne!(title(&all, "die-map-1"), title(&all, "die-map-2"), "each in a unit of its own");
}

#[test]
fn no_chart_has_more_classes_than_there_are_colours() {
    for (name, runs) in reports() {
        for chart in charts(&runs) {
            let domain = chart.spec["encoding"]["color"]["scale"]["domain"].as_array().map_or(0, Vec::len);
            assert!(domain <= 20, "{name}, {}: {domain} classes", chart.name);
        }
    }
}

#[test]
fn a_run_is_read_from_its_json_and_reported_as_before() {
    let registry = crate::devices::Registry::default();
    let all = [sample::mixed(), sample::empty(), sample::only_reads(), sample::pooled(), sample::array(4)];
    for run in all {
        let text = json(&run);
        let read = super::read(&registry, "run.json", &text).expect("its own JSON");
        assert_eq!((json(&read), table(&read, 100)), (text, table(&run, 100)));
        assert_eq!(html(&[read], ORIGIN), html(&[run], ORIGIN));
    }
}

#[test]
fn other_json_is_refused_by_what_it_is() {
    let registry = crate::devices::Registry::default();
    let told = |text: &str| super::read(&registry, "run.json", text).expect_err(text).to_string();
    let text = json(&sample::mixed());
    for (text, found) in [
        ("3", "invalid type"),
        ("{}", "missing field `provenance`"),
        (&text.replacen("\"schema\": 2", "\"schema\": 1", 1), "found layout 1"),
        (&text.replacen("\"seed\"", "\"sead\"", 1), "missing field `seed`"),
        (
            &text.replacen("\"flash\": {", "\"flash\": \"none\", \"more\": {", 1),
            "`flash`, which has no numbers",
        ),
    ] {
        let told = told(text);
        assert!(told.starts_with("run.json: found ") && told.contains(found), "{told}");
        assert!(told.contains("wanted the JSON of one run, as `wordline run --json` writes it"), "{told}");
    }
}
