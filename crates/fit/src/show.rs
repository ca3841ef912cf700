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
    rows: Vec<Vec<String>>,
    /// Columns of numbers.
    numbers: Range<usize>,
}

/// The tables of the outcome.
fn parts(fit: &Fit) -> [Part; 3] {
    let missing = |one: &NotIdentified| vec![one.parameter.clone(), one.wanted.to_owned()];
    [
        Part {
            id: "identified",
            title: "Identified",
            heads: &["identified", "value", "95 % interval", "from"],
            rows: fit.identified.iter().map(cells_of).collect(),
            numbers: 1..3,
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
    let tables = parts(fit).map(|part| aligned(part.heads, part.rows, part.numbers));
    let mut head = format!("{}: twin of {}, {} simulated loads", fit.name, fit.model, fit.runs);
    if let Some(searches) = fit.fastest_page {
        head += &format!("\n{}", searches.sentence());
    }
    format!("{head}\n\n{}\n", tables.join("\n\n"))
}

fn cells_of(one: &Identified) -> Vec<String> {
    let unit = if one.unit.is_empty() { String::new() } else { format!(" {}", one.unit) };
    let interval = one
        .interval
        .map_or_else(String::new, |[low, high]| format!("{} to {}", three_digits(low), three_digits(high)));
    vec![one.parameter.clone(), three_digits(one.value) + &unit, interval, one.from.clone()]
}

fn cells_of_row(row: &Row) -> Vec<String> {
    vec![
        row.load.clone(),
        row.quantity.clone(),
        three_digits(row.measured),
        three_digits(row.twin),
        format!("{:+.1} %", row.difference),
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
        let cells = |row: Vec<String>| row.into_iter().map(SheetCell::of_text).collect();
        let sheet = Sheet {
            name: part.title.into(),
            heads: part.heads.iter().map(ToString::to_string).collect(),
            rows: part.rows.into_iter().map(cells).collect(),
        };
        Section::new(part.id, part.title, sheet.html())
    };
    let far = |row: &Row| row.deviations.unwrap_or(0.0).abs();
    let worst = fit.rows.iter().max_by(|a, b| far(a).total_cmp(&far(b)));
    let verdict = worst.map(|row| {
        format!(
            "The twin is farthest from the drive in {} under {}: {} for {} ({:+.1} %).",
            row.quantity,
            row.load,
            three_digits(row.twin),
            three_digits(row.measured),
            row.difference
        )
    });
    Report {
        title: &format!("Twin of {}", fit.model),
        verdict: verdict.into_iter().chain(fit.fastest_page.map(FastestPage::sentence)).collect(),
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
