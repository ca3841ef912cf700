//! Each expected value beside what the runs gave.

use serde_json::Value as Json;

use super::axes::lies_at;
use super::column;
use super::expect::{Band, Expect, Mean, Trend, Wanted, place};
use super::outcome::{Measured, Row, Value, Verdict};
use super::sweep::Point;
use crate::error::{Error, Result};

/// What a point of a sweep gave.
pub(super) struct Found<'a> {
    /// The varied keys with their values.
    pub settings: toml::Table,
    /// What was measured, as JSON.
    pub values: Json,
    /// The run of a device that it comes from, where there is one.
    pub point: Option<&'a Point>,
}

impl Found<'_> {
    /// The same for the outcome.
    pub(super) fn measured(&self) -> Measured {
        Measured { at: settings(&self.settings), values: self.values.clone() }
    }

    /// Some columns for the outcome, by their whole names; those without a value are left out.
    pub(super) fn measured_of(&self, columns: &[&String]) -> Measured {
        let value =
            |column: &&String| Some(((*column).clone(), column::follow(&self.values, column)?.clone()));
        let values: serde_json::Map<String, Json> = columns.iter().filter_map(value).collect();
        Measured { at: settings(&self.settings), values: values.into() }
    }

    /// The number of the name `path`.
    fn number(&self, path: &str) -> Result<f64> {
        column::number(&self.values, path).map_err(|error| match error {
            Error::Argument { what, found, wanted } if !self.settings.is_empty() => {
                Error::Argument { what: format!("{what} at {}", place(&self.settings)), found, wanted }
            }
            other => other,
        })
    }
}

/// The rows of a sweep in the order of the expected values, then of the points. Points that were not run give none.
pub(super) fn rows(expects: &[Expect], found: &[Found]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for expect in expects {
        let mut ours = Vec::new();
        for point in found.iter().filter(|point| lies_at(&point.settings, &expect.at)) {
            if let Wanted::Text(paper) = &expect.wanted {
                rows.push(text_row(expect, point, paper)?);
            } else if let Some(value) = value(expect, point, found)? {
                ours.push((point, value));
            }
        }
        for (group, ours) in groups(expect, ours) {
            rows.extend(judge(expect, &ours, found, group.as_ref())?);
        }
    }
    Ok(rows)
}

/// A point of a sweep and our value there.
type Ours<'a, 'b> = (&'a Found<'b>, f64);

/// The values that are compared together: all, or those with the same value of the key of `each`, and which one that is.
fn groups<'a, 'b>(expect: &Expect, ours: Vec<Ours<'a, 'b>>) -> Vec<(Option<toml::Table>, Vec<Ours<'a, 'b>>)> {
    let Some(key) = &expect.each else { return vec![(None, ours)] };
    let mut groups: Vec<(Option<toml::Table>, Vec<Ours>)> = Vec::new();
    for (point, value) in ours {
        let group = Some(toml::Table::from_iter([(key.clone(), point.settings[key].clone())]));
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, members)) => members.push((point, value)),
            None => groups.push((group, vec![(point, value)])),
        }
    }
    groups
}

/// The value of a point: a column, or how it stands to another point's. None where there is no such point, or it is the
/// same one.
fn value(expect: &Expect, point: &Found, all: &[Found]) -> Result<Option<f64>> {
    let own = point.number(&expect.column)?;
    if expect.over.is_empty() && expect.per.is_empty() {
        return Ok(Some(own));
    }
    let Some(other) = other(expect, point, all) else { return Ok(None) };
    Ok(Some(relative(expect, own, other.number(&expect.column)?)))
}

/// The point that another one is compared with.
fn other<'a, 'b>(expect: &Expect, point: &Found, all: &'a [Found<'b>]) -> Option<&'a Found<'b>> {
    let other = expect.other(&point.settings)?;
    all.iter().find(|found| found.settings == other)
}

/// How many times `other` `own` is, or by how many percent it lies over it.
fn relative(expect: &Expect, own: f64, other: f64) -> f64 {
    if expect.over.is_empty() { own / other } else { 100.0 * (own / other - 1.0) }
}

/// The mean that is compared; none without points.
fn mean(expect: &Expect, kind: Mean, ours: &[(&Found, f64)], all: &[Found]) -> Result<Option<f64>> {
    let of = |sum: f64| (!ours.is_empty()).then(|| sum / ours.len() as f64);
    if kind == Mean::Values {
        return Ok(of(ours.iter().map(|(_, ours)| *ours).sum()));
    }
    let (mut own, mut others) = (0.0, 0.0);
    for (point, _) in ours {
        own += point.number(&expect.column)?;
        if let Some(other) = other(expect, point, all) {
            others += other.number(&expect.column)?;
        }
    }
    Ok(of(own).zip(of(others)).map(|(own, others)| relative(expect, own, others)))
}

/// The rows of values that are compared together, which are those of `group` if they are not all.
fn judge(
    expect: &Expect,
    ours: &[(&Found, f64)],
    all: &[Found],
    group: Option<&toml::Table>,
) -> Result<Vec<Row>> {
    let numbers = |paper, band| match expect.mean {
        Some(kind) => {
            let mean = mean(expect, kind, ours, all)?;
            Ok(mean.map(|mean| number_row(expect, group, paper, mean, band)).into_iter().collect())
        }
        None => {
            let row =
                |(point, ours): &(&Found, f64)| number_row(expect, Some(&point.settings), paper, *ours, band);
            Ok(ours.iter().map(row).collect())
        }
    };
    let model = match &expect.wanted {
        Wanted::Text(_) => return Ok(Vec::new()),
        Wanted::Trend(trend) => {
            let values = match expect.mean {
                Some(kind) => mean(expect, kind, ours, all)?.into_iter().collect(),
                None => ours.iter().map(|(_, ours)| *ours).collect::<Vec<f64>>(),
            };
            let row = trend_row(expect, trend, &values, &others(expect, trend, all)?, group);
            return Ok(row.map(|row| naming_those_off(row, expect, trend, ours)).into_iter().collect());
        }
        Wanted::Number(paper, band) => return numbers(Some(*paper), Some(*band)),
        Wanted::Shown(paper) => return numbers(*paper, None),
        Wanted::Model(model, band) => (model, band),
    };
    let (model, band) = model;
    let row = |(point, ours): &(&Found, f64)| {
        let run = point.point.ok_or_else(|| Error::Argument {
            what: "model of an experiment".into(),
            found: "a run without a device".into(),
            wanted: "a sweep over devices".into(),
        })?;
        Ok(number_row(expect, Some(&point.settings), Some(model.of(run, &point.values)?), *ours, Some(*band)))
    };
    ours.iter().map(row).collect()
}

fn number_row(
    expect: &Expect,
    at: Option<&toml::Table>,
    paper: Option<f64>,
    ours: f64,
    band: Option<Band>,
) -> Row {
    let verdict = match (paper, band) {
        (Some(paper), Some(band)) if band.holds(paper, ours) => Verdict::Within,
        (Some(_), Some(_)) => Verdict::Outside,
        _ => Verdict::Shown,
    };
    Row {
        paper: paper.map_or_else(|| Value::Text(String::new()), Value::Number),
        ours: Value::Number(ours),
        band: band.map(|band| band.to_string()).unwrap_or_default(),
        ..expect_row(expect, at, verdict)
    }
}

/// A row with what the expected value says of itself.
fn expect_row(expect: &Expect, at: Option<&toml::Table>, verdict: Verdict) -> Row {
    let what = match at.map(|at| place(&left_open(expect, at))).unwrap_or_default() {
        place if place.is_empty() => expect.what.clone(),
        place => format!("{}, {place}", expect.what),
    };
    let outside = verdict == Verdict::Outside;
    let contradiction = expect.contradiction.as_ref().filter(|_| outside);
    let notes = [Some(&expect.deviation).filter(|_| outside || verdict == Verdict::Shown), contradiction];
    let notes: Vec<&str> =
        notes.into_iter().flatten().filter(|note| !note.is_empty()).map(String::as_str).collect();
    Row {
        claim: expect.claim.clone(),
        what,
        paper: Value::Text(String::new()),
        ours: Value::Text(String::new()),
        unit: expect.unit.clone(),
        band: String::new(),
        verdict,
        source: expect.source.clone(),
        note: notes.join(" "),
        contradicted: contradiction.is_some(),
        explained: outside && !expect.deviation.is_empty(),
        at: at.map(settings).unwrap_or_default(),
    }
}

/// The values of a point that the expected value leaves open: those that it picks stand in its words.
fn left_open(expect: &Expect, at: &toml::Table) -> toml::Table {
    let picked = |key: &String| expect.at.get(key).is_some_and(|value| !value.is_array());
    at.iter().filter(|(key, _)| !picked(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn text_row(expect: &Expect, point: &Found, paper: &str) -> Result<Row> {
    let ours = column::text(&point.values, &expect.column)?;
    let verdict = if ours == paper { Verdict::Within } else { Verdict::Outside };
    Ok(Row {
        paper: Value::Text(paper.to_owned()),
        ours: Value::Text(ours.to_owned()),
        band: "the same".into(),
        ..expect_row(expect, Some(&point.settings), verdict)
    })
}

/// The values that a trend compares with.
fn others(expect: &Expect, trend: &Trend, all: &[Found]) -> Result<Vec<f64>> {
    let Trend::Above { at } = trend else { return Ok(Vec::new()) };
    let points = all.iter().filter(|point| lies_at(&point.settings, at));
    let values = points.map(|point| value(expect, point, all));
    values.filter_map(Result::transpose).collect()
}

/// The row of a direction; none when fewer values are there than a direction needs.
fn trend_row(
    expect: &Expect,
    trend: &Trend,
    ours: &[f64],
    others: &[f64],
    group: Option<&toml::Table>,
) -> Option<Row> {
    let pairs = |holds: fn(f64, f64) -> bool| ours.windows(2).all(|pair| holds(pair[0], pair[1]));
    let enough = match trend {
        Trend::Above { .. } => !ours.is_empty() && !others.is_empty(),
        Trend::Rising { .. } | Trend::Falling { .. } => ours.len() > 1,
        Trend::Greater { .. } | Trend::Less { .. } => !ours.is_empty(),
    };
    let holds = match trend {
        Trend::Rising { .. } => pairs(|first, second| first < second),
        Trend::Falling { .. } => pairs(|first, second| first > second),
        Trend::Above { .. } => ours.iter().all(|value| others.iter().all(|other| value > other)),
        Trend::Greater { than } => ours.iter().all(|value| value > than),
        Trend::Less { than } => ours.iter().all(|value| value < than),
    };
    let list = |values: &[f64]| {
        let texts: Vec<String> = values.iter().map(|value| Value::Number(*value).to_string()).collect();
        texts.join(", ")
    };
    let shown =
        if others.is_empty() { list(ours) } else { format!("{} against {}", list(ours), list(others)) };
    enough.then(|| Row {
        paper: Value::Text(trend.to_string()),
        ours: Value::Text(shown),
        ..expect_row(expect, group, if holds { Verdict::Trend } else { Verdict::Outside })
    })
}

/// The row of a direction that each value has by itself: values that have it not are named with their points.
fn naming_those_off(row: Row, expect: &Expect, trend: &Trend, ours: &[(&Found, f64)]) -> Row {
    let is_off = |value: &f64| match trend {
        Trend::Greater { than } => value <= than,
        Trend::Less { than } => value >= than,
        Trend::Rising { .. } | Trend::Falling { .. } | Trend::Above { .. } => false,
    };
    let off = ours.iter().filter(|(_, value)| expect.mean.is_none() && is_off(value));
    let named = |(point, value): &(&Found, f64)| {
        format!("{} at {}", Value::Number(*value), place(&left_open(expect, &point.settings)))
    };
    let off: Vec<String> = off.map(named).collect();
    match (&row.ours, off.is_empty()) {
        (Value::Text(all), false) => Row { ours: Value::Text(format!("{all}; {}", off.join("; "))), ..row },
        _ => row,
    }
}

/// Varied keys with their values, as charts take them.
pub(super) fn settings(at: &toml::Table) -> Vec<(String, Value)> {
    at.iter().map(|(key, value)| (key.clone(), chart_value(value))).collect()
}

fn chart_value(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(number) => Value::Number(*number as f64),
        toml::Value::Float(number) => Value::Number(*number),
        toml::Value::String(text) => Value::Text(text.clone()),
        other => Value::Text(other.to_string()),
    }
}
