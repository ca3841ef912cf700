//! The outcome of a fit as text and as a page with charts.

use std::ops::Range;

use serde_json::json;
use wordline_lab::Error;
use wordline_lab::output::ReportFolder;
use wordline_lab::provenance::Provenance;
use wordline_lab::report::{
    Chart, Report, Reproduction, SCHEMA, Section, Sheet, SheetCell, aligned, chart_files, made_by,
    three_digits,
};

use crate::outcome::{FastestPage, Fit, Identified, NotIdentified, Row};

/// A table of the outcome.
struct Part {
    /// Identifier and title in the page.
    id: &'static str,
    title: &'static str,
    heads: &'static [&'static str],
    rows: Vec<Vec<SheetCell>>,
    /// Columns that are aligned to the right: numbers with their units and intervals.
    numbers: Range<usize>,
}

/// The tables of the outcome.
fn parts(fit: &Fit) -> [Part; 3] {
    let text = |text: &str| SheetCell::of_text(text.to_owned());
    let missing = |one: &NotIdentified| vec![text(&one.parameter), text(one.wanted)];
    [
        Part {
            id: "identified",
            title: "Identified",
            heads: &["identified", "value", "unit", "95 % interval", "from"],
            rows: fit.identified.iter().map(cells_of).collect(),
            numbers: 1..4,
        },
        Part {
            id: "rows",
            title: "Drive and twin",
            heads: &["under", "quantity", "drive", "twin", "difference"],
            rows: fit.rows.iter().map(cells_of_row).collect(),
            numbers: 2..5,
        },
        Part {
            id: "missing",
            title: "Not identified",
            heads: &["not identified", "what would identify it, or what was chosen"],
            rows: fit.not_identified.iter().map(missing).collect(),
            numbers: 0..0,
        },
    ]
}

/// The outcome for a terminal.
pub fn table(fit: &Fit) -> String {
    let texts = |row: Vec<SheetCell>| row.into_iter().map(|cell| cell.text).collect();
    let tables = parts(fit).map(|part| aligned(part.heads, part.rows.into_iter().map(texts), part.numbers));
    let mut head = format!("{}: twin of {}, {} simulated loads", fit.name, fit.model, fit.runs);
    if let Some(searches) = fit.fastest_page {
        head += &format!("\n{}", searches.sentence());
    }
    format!("{head}\n\n{}\n", tables.join("\n\n"))
}

fn cells_of(one: &Identified) -> Vec<SheetCell> {
    let interval = one
        .interval
        .map_or_else(String::new, |[low, high]| format!("{} to {}", three_digits(low), three_digits(high)));
    let texts = [one.unit.to_owned(), interval, one.from.clone()].map(SheetCell::of_text);
    let value = SheetCell::of_number(three_digits(one.value), one.value);
    [SheetCell::of_text(one.parameter.clone()), value].into_iter().chain(texts).collect()
}

fn cells_of_row(row: &Row) -> Vec<SheetCell> {
    vec![
        SheetCell::of_text(row.load.clone()),
        SheetCell::of_text(row.quantity.clone()),
        SheetCell::of_number(three_digits(row.measured), row.measured),
        SheetCell::of_number(three_digits(row.twin), row.twin),
        SheetCell::of_number(format!("{:+.1} %", row.difference), row.difference),
    ]
}

/// A chart for each load of which several latencies were measured: the drive and the twin.
pub fn charts(fit: &Fit) -> Vec<Chart> {
    let latencies: Vec<&Row> = fit.rows.iter().filter(|row| row.quantity.ends_with("_us")).collect();
    let by_load = latencies.chunk_by(|one, next| one.load == next.load);
    by_load.filter(|rows| rows.len() > 1).map(chart).collect()
}

/// The latencies of one load.
fn chart(rows: &[&Row]) -> Chart {
    let load = &rows[0].load;
    let point =
        |row: &Row, of: &str, value: f64| json!({ "quantity": row.quantity, "of": of, "value": value });
    let values: Vec<_> = rows
        .iter()
        .flat_map(|row| [point(row, "drive", row.measured), point(row, "twin", row.twin)])
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row.quantity.as_str()).collect();
    let spec = json!({
        "$schema": SCHEMA, "title": load, "width": 420, "height": { "step": 18 },
        "description": "Latencies of the drive and of its twin, in microseconds",
        "data": { "values": values },
        "encoding": {
            "y": { "field": "quantity", "type": "nominal", "sort": names, "title": null },
            "x": { "field": "value", "type": "quantitative", "scale": { "type": "log" }, "title": "Latency in us" },
            "color": { "field": "of", "type": "nominal", "title": null },
            "shape": { "field": "of", "type": "nominal", "title": null },
            "tooltip": [{ "field": "of" }, { "field": "quantity" }, { "field": "value", "format": ".1f" }],
        },
        "mark": { "type": "point", "filled": true, "size": 60 },
    });
    Chart {
        name: load.replace([' ', '='], "-"),
        title: load.clone(),
        caption: "Latencies of the drive, as measured, and of its twin, as simulated.".into(),
        spec,
        sums: Vec::new(),
    }
}

/// Writes a report to a folder, and replaces the report there: `report.html`, `fit.json`, the device, that
/// with zones if there is one, and the charts. `json` is the outcome as JSON.
///
/// # Errors
/// The errors of [`ReportFolder::write`].
pub fn write(
    folder: ReportFolder,
    fit: &Fit,
    json: String,
    command: &str,
    provenance: &Provenance,
) -> Result<(), Error> {
    let charts = charts(fit);
    let mut files = chart_files(&charts);
    files.push(("fit.json".into(), json.into_bytes()));
    files.push(("device.toml".into(), fit.configuration.clone().into_bytes()));
    if let Some(zoned) = &fit.zoned {
        files.push(("zones.toml".into(), zoned.clone().into_bytes()));
    }
    files.push(("report.html".into(), page(fit, &charts, command, provenance).into_bytes()));
    folder.write(&files)
}

fn page(fit: &Fit, charts: &[Chart], command: &str, provenance: &Provenance) -> String {
    let section = |part: Part| {
        let sheet = Sheet {
            name: part.title.into(),
            heads: part.heads.iter().map(ToString::to_string).collect(),
            rows: part.rows,
        };
        Section::new(part.id, part.title, sheet.html())
    };
    Report {
        title: &format!("Twin of {}", fit.model),
        verdict: farthest(&fit.rows).into_iter().chain(fit.fastest_page.map(FastestPage::sentence)).collect(),
        charts,
        tables: parts(fit).map(section).into(),
        again: Reproduction {
            sentences: vec![made_by(provenance)],
            command,
            configuration: &fit.configuration,
        },
        ..Report::default()
    }
    .html()
}

/// Sentences on the measurement that counts and is farthest from the drive, and on the greatest difference of all, if
/// that is another one.
fn farthest(rows: &[Row]) -> Vec<String> {
    let place = |row: &Row| {
        let (twin, measured) = (three_digits(row.twin), three_digits(row.measured));
        format!("{} under {}: {twin} for {measured} ({:+.1} %)", row.quantity, row.load, row.difference)
    };
    let counted = rows.iter().filter_map(|row| Some((row, row.deviations?.abs())));
    let worst = counted.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row);
    let greatest = rows.iter().max_by(|a, b| a.difference.abs().total_cmp(&b.difference.abs()));
    let of_counted = worst.map(|row| {
        format!("Of the measurements that count, the twin is farthest from the drive in {}.", place(row))
    });
    let of_all = greatest.filter(|row| Some(*row) != worst).map(|row| {
        let counts = if row.deviations.is_none() { ", which does not count" } else { "" };
        format!("The greatest difference of all is in {}{counts}.", place(row))
    });
    of_counted.into_iter().chain(of_all).collect()
}

#[test]
fn the_farthest_measurement_is_one_that_counts_and_the_greatest_difference_is_named_too() {
    let row = |quantity: &str, twin: f64, deviations: Option<f64>| Row {
        load: "randread".into(),
        quantity: quantity.into(),
        measured: 100.0,
        twin,
        difference: twin - 100.0,
        deviations,
        source: String::new(),
    };
    let (near, far) = (row("iops", 95.0, Some(-2.5)), row("read_p99_us", 110.0, Some(1.0)));
    let counted = "Of the measurements that count, the twin is farthest from the drive in iops under randread: 95.0 for 100 (-5.0 %).";
    let told = farthest(&[near.clone(), far, row("write_p99_us", 350.0, None)]);
    let of_all = "The greatest difference of all is in write_p99_us under randread: 350 for 100 (+250.0 %), which does not count.";
    assert_eq!(told, [counted, of_all]);
    assert_eq!(farthest(&[near]), [counted]);
    assert!(farthest(&[]).is_empty());
}

#[test]
fn numbers_of_the_tables_have_their_values() {
    let one = Identified {
        parameter: "tPROG".into(),
        value: 612.0,
        unit: "us",
        interval: Some([600.0, 625.0]),
        from: "writes".into(),
    };
    let values: Vec<Option<f64>> = cells_of(&one).into_iter().map(|cell| cell.value).collect();
    assert_eq!(values, [None, Some(612.0), None, None, None]);
}
