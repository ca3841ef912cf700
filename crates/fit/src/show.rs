//! The outcome of a fit as text and as a page with charts.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;
use wordline_lab::Error;
use wordline_lab::output::ReportFolder;
use wordline_lab::provenance::Provenance;
use wordline_lab::report::{
    Chart, Report, Reproduction, SCHEMA, Section, Sheet, SheetCell, made_by, three_digits,
};

use crate::outcome::{Fit, Identified, Row};

/// The outcome for a terminal.
pub fn table(fit: &Fit) -> String {
    let mut text = format!("{}: twin of {}, {} simulated loads\n\n", fit.name, fit.model, fit.runs);
    text +=
        &lines(&["identified", "value", "95 % interval", "from"], fit.identified.iter().map(cells_of), 1..3);
    text += "\n\n";
    text += &lines(&["under", "", "drive", "twin", "difference"], fit.rows.iter().map(cells_of_row), 2..5);
    text += "\n\n";
    let missing = fit.not_identified.iter().map(|one| vec![one.parameter.clone(), one.wanted.to_owned()]);
    text + &lines(&["not identified", "what would tell it, or what was chosen"], missing, 0..0) + "\n"
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

/// Rows as a table; columns in `numbers` are aligned to the right.
fn lines(heads: &[&str], rows: impl Iterator<Item = Vec<String>>, numbers: std::ops::Range<usize>) -> String {
    let mut table = Table::new();
    table.force_no_tty().load_style(presets::NOTHING).set_header(heads);
    table.add_rows(rows);
    for (n, column) in table.column_iter_mut().enumerate() {
        if numbers.contains(&n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// A chart for each load that has several measurements: the drive and the twin.
pub fn charts(fit: &Fit) -> Vec<Chart> {
    let mut loads: Vec<&str> = fit.rows.iter().map(|row| row.load.as_str()).collect();
    loads.dedup();
    let mut charts: Vec<Chart> = loads.into_iter().map(|load| chart(fit, load)).collect();
    charts.retain(|chart| !chart.spec.is_null());
    charts
}

fn chart(fit: &Fit, load: &str) -> Chart {
    let rows: Vec<&Row> =
        fit.rows.iter().filter(|row| row.load == load && row.quantity.ends_with("_us")).collect();
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
        title: load.to_owned(),
        caption: "Latencies of the drive, as measured, and of its twin, as simulated.".into(),
        spec: if rows.len() < 2 { serde_json::Value::Null } else { spec },
        sums: Vec::new(),
    }
}

/// Writes a report to a folder, and replaces the report there: `report.html`, `fit.json`, the device, and the
/// charts. `json` is the outcome as JSON.
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
    let mut files: Vec<(String, Vec<u8>)> = charts
        .iter()
        .map(|chart| (format!("charts/{}.vl.json", chart.name), chart.spec.to_string().into_bytes()))
        .collect();
    files.push(("fit.json".into(), json.into_bytes()));
    files.push(("device.toml".into(), fit.configuration.clone().into_bytes()));
    files.push(("report.html".into(), page(fit, &charts, command, provenance).into_bytes()));
    folder.write(&files)
}

fn page(fit: &Fit, charts: &[Chart], command: &str, provenance: &Provenance) -> String {
    let sheet = |name: &str, heads: &[&str], rows: Vec<Vec<String>>| Sheet {
        name: name.into(),
        heads: heads.iter().map(ToString::to_string).collect(),
        rows: rows.into_iter().map(|row| row.into_iter().map(SheetCell::of_text).collect()).collect(),
    };
    let identified = sheet(
        "Identified",
        &["parameter", "value", "95 % interval", "from"],
        fit.identified.iter().map(cells_of).collect(),
    );
    let rows = sheet(
        "Drive and twin",
        &["under", "quantity", "drive", "twin", "difference"],
        fit.rows.iter().map(cells_of_row).collect(),
    );
    let missing = sheet(
        "Not identified",
        &["parameter", "what would tell it, or what was chosen"],
        fit.not_identified.iter().map(|one| vec![one.parameter.clone(), one.wanted.to_owned()]).collect(),
    );
    let worst = fit.rows.iter().max_by(|a, b| a.deviations.abs().total_cmp(&b.deviations.abs()));
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
        verdict: verdict.into_iter().collect(),
        charts,
        tables: vec![
            Section::new("identified", "Identified", identified.html()),
            Section::new("rows", "Drive and twin", rows.html()),
            Section::new("missing", "Not identified", missing.html()),
        ],
        again: Reproduction {
            sentences: vec![made_by(provenance)],
            command,
            configuration: &fit.configuration,
        },
        ..Report::default()
    }
    .html()
}
