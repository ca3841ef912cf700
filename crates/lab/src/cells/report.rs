//! HTML report on the cells for several values of a key: states and bit errors.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Evaluation;
use super::table::{CURVE, curve_numbers};
use crate::error::Result;
use crate::output::ReportFolder;
use crate::provenance::Provenance;
use crate::report::{
    Chart, Report, Reproduction, SCHEMA, Section, Sheet, SheetCell, chart_files, escaped, made_by, pretty,
};

/// Points on the curve of a state. Chosen: enough for a smooth bell.
const POINTS: usize = 60;
/// Standard deviations drawn on each side of the mean of a state.
const REACH: f64 = 5.0;

/// A point of a curve: a value of the key, and its evaluation.
#[derive(Serialize)]
struct Point<'a> {
    value: &'a str,
    answer: &'a Evaluation,
}

/// Writes a report to a folder, and replaces the report there: `report.html`, which needs no network,
/// `answers.json` and `charts/NAME.vl.json`. `command` is the command line that made the report.
///
/// # Errors
/// If it cannot be written.
pub fn write_report(
    folder: ReportFolder,
    key: &str,
    answers: &[(String, Evaluation)],
    command: &str,
) -> Result<()> {
    let charts = charts(key, answers);
    let points: Vec<Point<'_>> = answers.iter().map(|(value, answer)| Point { value, answer }).collect();
    let mut files = chart_files(&charts);
    files.push(("answers.json".into(), pretty(&points).into_bytes()));
    files.push(("report.html".into(), html(key, answers, &charts, command).into_bytes()));
    folder.write(&files)
}

fn html(key: &str, answers: &[(String, Evaluation)], charts: &[Chart], command: &str) -> String {
    let title = format!("Cells along {key}");
    let set = answers.first().map_or("", |(_, answer)| &answer.set);
    let report = Report {
        title: &title,
        about: format!("<p>The cells of <code>{}</code>.</p>\n", escaped(set)),
        verdict: verdict(key, answers).into_iter().collect(),
        charts,
        tables: vec![Section::new("rows", format!("Along {key}"), sheet(key, answers).html())],
        again: Reproduction {
            sentences: vec![made_by(&Provenance::of(None, Vec::new()))],
            command,
            configuration: "",
        },
        ..Report::default()
    };
    report.html()
}

/// A sentence that names the values of the key with the fewest and the most bit errors.
fn verdict(key: &str, answers: &[(String, Evaluation)]) -> Option<String> {
    let by_rate =
        |a: &&(String, Evaluation), b: &&(String, Evaluation)| a.1.error_rate.total_cmp(&b.1.error_rate);
    let (least, most) = (answers.iter().min_by(by_rate)?, answers.iter().max_by(by_rate)?);
    Some(format!(
        "The fewest bits are wrong at {key} = {}, {:.2e} of all, and the most at {}, {:.2e}.",
        least.0, least.1.error_rate, most.0, most.1.error_rate
    ))
}

/// The table as on the terminal, with the number behind each text.
fn sheet(key: &str, answers: &[(String, Evaluation)]) -> Sheet {
    let text = |value: &String| SheetCell::of_text(value.clone());
    let cells = |(value, answer): &(String, Evaluation)| {
        let numbers = curve_numbers(answer);
        let numbers = numbers.into_iter().map(|(text, value)| SheetCell::of_number(text, value));
        std::iter::once(text(value)).chain(numbers).collect()
    };
    let heads = std::iter::once(key).chain(CURVE).map(str::to_owned).collect();
    Sheet { name: format!("Along {key}"), heads, rows: answers.iter().map(cells).collect() }
}

/// The charts of the evaluations along a key.
pub(crate) fn charts(key: &str, answers: &[(String, Evaluation)]) -> Vec<Chart> {
    vec![states(key, answers), errors(key, answers)]
}

/// Density, at `voltage`, of a normal distribution with this mean and standard deviation.
fn density(mean: f64, deviation: f64, voltage: f64) -> f64 {
    let x = (voltage - mean) / deviation;
    libm::exp(-x * x / 2.0) / (deviation * (2.0 * std::f64::consts::PI).sqrt())
}

/// Chart of threshold voltages, with a panel for each value of the key.
fn states(key: &str, answers: &[(String, Evaluation)]) -> Chart {
    let mut data = Vec::new();
    for (value, answer) in answers {
        for state in &answer.states {
            for n in 0..=POINTS {
                let at = state.mean + state.deviation * REACH * (2.0 * n as f64 / POINTS as f64 - 1.0);
                let cells = density(state.mean, state.deviation, at);
                data.push(json!({ "value": value, "state": state.name, "voltage": at, "cells": cells }));
            }
        }
    }
    let caption = "The share of the cells of a state for each step of the threshold voltage, all states alike often, at the first place. \
                   Cells that were left behind are too few to be seen.";
    let spec = json!({
        "mark": { "type": "line", "tooltip": true },
        "height": 90,
        "encoding": {
            "x": { "field": "voltage", "type": "quantitative", "title": "threshold voltage, steps of the set" },
            "y": { "field": "cells", "type": "quantitative", "title": "cells" },
            "color": { "field": "state", "type": "nominal", "title": null, "sort": null },
        }
    });
    // Without an order, rows of panels are sorted as texts.
    let order: Vec<&str> = answers.iter().map(|(value, _)| value.as_str()).collect();
    let spec = json!({
        "$schema": SCHEMA,
        "data": { "values": data },
        "facet": { "row": { "field": "value", "type": "nominal", "title": key, "sort": order } },
        "spec": spec,
    });
    chart("states", "Threshold voltages", caption, spec)
}

/// Chart of bit errors at the default and at the best references.
fn errors(key: &str, answers: &[(String, Evaluation)]) -> Chart {
    let mut data = Vec::new();
    for (value, answer) in answers {
        let rates =
            [("references of the part", answer.error_rate), ("best references", answer.best_error_rate)];
        // A logarithmic axis has no zero.
        for (references, rate) in rates.into_iter().filter(|(_, rate)| *rate > 0.0) {
            data.push(json!({ "value": value, "references": references, "rate": rate }));
        }
    }
    let spec = json!({
        "$schema": SCHEMA,
        "data": { "values": data },
        "width": "container",
        "mark": { "type": "line", "point": true, "tooltip": true },
        "encoding": {
            "x": { "field": "value", "type": "ordinal", "title": key, "sort": null },
            "y": { "field": "rate", "type": "quantitative", "title": "share of wrong bits", "scale": { "type": "log" } },
            "color": { "field": "references", "type": "nominal", "title": null, "sort": null },
        }
    });
    chart(
        "errors",
        "Bit errors",
        "The share of bits of a page that are read wrong, mean of all pages and places.",
        spec,
    )
}

fn chart(name: &str, title: &str, caption: &str, mut spec: Value) -> Chart {
    spec["title"] = title.into();
    spec["description"] = caption.into();
    Chart { name: name.into(), title: title.into(), caption: caption.into(), spec, sums: Vec::new() }
}
