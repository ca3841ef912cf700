//! Each expected value beside what the runs gave.

use serde_json::Value as Json;

use super::analytic::Space;
use super::bench::Point;
use super::expect::{Band, Expect, Trend, Wanted, place};
use super::file::Experiment;
use super::outcome::{Row, Value, Verdict};
use crate::error::{Error, Result};
use crate::summary::Summary;

/// The rows of a sweep in the order of the expected values, then of the points. Points that were not run give none.
pub(super) fn rows(
    experiment: &Experiment,
    points: &[Point],
    results: &[Option<Summary>],
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for expect in &experiment.expect {
        let mut found = Vec::new();
        for (point, summary) in points.iter().zip(results).filter(|(point, _)| point.lies_at(&expect.at)) {
            if let Some(summary) = summary {
                found.push((point, column(summary, &expect.column)?));
            }
        }
        match &expect.wanted {
            Wanted::Number(paper, band) => {
                rows.extend(
                    found.iter().map(|(point, ours)| number_row(expect, point, *paper, *ours, *band)),
                );
            }
            Wanted::Model(model, band) => {
                for (point, ours) in found {
                    let paper = model.value(&space(point))?;
                    rows.push(number_row(expect, point, paper, ours, *band));
                }
            }
            Wanted::Trend(trend) => {
                let other = match trend {
                    Trend::Above { at } => Some(at),
                    Trend::Rising { .. } | Trend::Falling { .. } => None,
                };
                let mut others = Vec::new();
                for (point, summary) in points.iter().zip(results) {
                    if let (true, Some(summary)) = (other.is_some_and(|at| point.lies_at(at)), summary) {
                        others.push(column(summary, &expect.column)?);
                    }
                }
                let ours: Vec<f64> = found.iter().map(|(_, ours)| *ours).collect();
                rows.extend(trend_row(expect, trend, &ours, &others));
            }
        }
    }
    Ok(rows)
}

fn number_row(expect: &Expect, point: &Point, paper: f64, ours: f64, band: Band) -> Row {
    let holds = band.holds(paper, ours);
    let at = point.settings.iter();
    let at: Vec<(String, Value)> = at.map(|(key, value)| (key.clone(), chart_value(value))).collect();
    let what = match place(&point.settings) {
        place if place.is_empty() => expect.what.clone(),
        place => format!("{}, {place}", expect.what),
    };
    Row {
        claim: expect.claim.clone(),
        what,
        paper: Value::Number(paper),
        ours: Value::Number(ours),
        unit: expect.unit.clone(),
        band: band.to_string(),
        verdict: if holds { Verdict::Within } else { Verdict::Outside },
        source: expect.source.clone(),
        note: String::new(),
        contradicted: false,
        at,
    }
}

/// The row of a direction; none when fewer values are there than a direction needs.
fn trend_row(expect: &Expect, trend: &Trend, ours: &[f64], others: &[f64]) -> Option<Row> {
    let pairs = |holds: fn(f64, f64) -> bool| ours.windows(2).all(|pair| holds(pair[0], pair[1]));
    let enough = match trend {
        Trend::Above { .. } => !ours.is_empty() && !others.is_empty(),
        Trend::Rising { .. } | Trend::Falling { .. } => ours.len() > 1,
    };
    let holds = match trend {
        Trend::Rising { .. } => pairs(|first, second| first < second),
        Trend::Falling { .. } => pairs(|first, second| first > second),
        Trend::Above { .. } => ours.iter().all(|value| others.iter().all(|other| value > other)),
    };
    let list = |values: &[f64]| {
        let texts: Vec<String> = values.iter().map(|value| Value::Number(*value).to_string()).collect();
        texts.join(", ")
    };
    let shown =
        if others.is_empty() { list(ours) } else { format!("{} against {}", list(ours), list(others)) };
    enough.then(|| Row {
        claim: expect.claim.clone(),
        what: expect.what.clone(),
        paper: Value::Text(trend.to_string()),
        ours: Value::Text(shown),
        unit: expect.unit.clone(),
        band: String::new(),
        verdict: if holds { Verdict::Trend } else { Verdict::Outside },
        source: expect.source.clone(),
        note: String::new(),
        contradicted: false,
        at: Vec::new(),
    })
}

fn chart_value(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(number) => Value::Number(*number as f64),
        toml::Value::Float(number) => Value::Number(*number),
        toml::Value::String(text) => Value::Text(text.clone()),
        other => Value::Text(other.to_string()),
    }
}

/// The space in which the collector of a point's device works: it keeps `ftl.gc.stop_at_free_blocks` blocks of each
/// row free.
fn space(point: &Point) -> Space {
    let geometry = &point.config.geometry;
    let pages_per_block = geometry.pages_per_row_block();
    let blocks = geometry.blocks_per_plane.saturating_sub(point.config.file.ftl.gc.stop_at_free_blocks);
    Space {
        pages_per_block,
        logical_pages: f64::from(point.config.logical_pages),
        physical_pages: f64::from(blocks) * f64::from(geometry.rows()) * f64::from(pages_per_block),
    }
}

/// The number that `path` (with dots) leads to in a summary.
fn column(summary: &Summary, path: &str) -> Result<f64> {
    let all = serde_json::to_value(summary).expect("a summary's keys are text");
    let found = path.split('.').try_fold(&all, |inside, key| inside.get(key));
    found.and_then(Json::as_f64).ok_or_else(|| Error::Argument {
        what: format!("column {path} of the summary"),
        found: found.map_or_else(|| "no such key".to_owned(), Json::to_string),
        wanted: "a number".into(),
    })
}
