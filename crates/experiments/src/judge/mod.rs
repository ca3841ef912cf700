//! Compares each expected value with the results of the runs.

pub mod class;
pub mod column;
pub(crate) mod counts;
pub(crate) mod expect;
pub(crate) mod judged;
pub(crate) mod map;
pub(crate) mod outcome;
mod tally;

use serde_json::Value as Json;

use crate::judge::expect::{Band, Direction, Expect, ExpectedValue, Mean, Reason, place};
use crate::judge::judged::{Order, Sample, SeedRow};
use crate::judge::outcome::{Measured, Row, Value};
use crate::sweep::Point;
use crate::sweep::axes::matches_settings;
use wordline_lab::error::{Error, Result};

/// The results at a point of a sweep.
pub(crate) struct PointResult<'a> {
    /// Values of the varied keys.
    pub settings: toml::Table,
    /// Measured values, as JSON.
    pub values: Json,
    /// The point, if a device was run.
    pub point: Option<&'a Point>,
}

impl PointResult<'_> {
    /// The results in the form of the outcome.
    pub(crate) fn measured(&self) -> Measured {
        Measured { at: settings(&self.settings), values: self.values.clone() }
    }

    /// Some columns of the results for the outcome, by full names. Columns without a value are left out.
    pub(crate) fn measured_of(&self, columns: &[&String]) -> Measured {
        let value =
            |column: &&String| Some(((*column).clone(), column::follow(&self.values, column)?.clone()));
        let values: serde_json::Map<String, Json> = columns.iter().filter_map(value).collect();
        Measured { at: settings(&self.settings), values: values.into() }
    }

    /// Returns the number at `path`. NaN if the run has none, such as a mean over no reads.
    fn number(&self, path: &str) -> Result<f64> {
        if column::follow(&self.values, path).is_some_and(Json::is_null) {
            return Ok(f64::NAN);
        }
        column::number(&self.values, path).map_err(|error| match error {
            Error::Argument { what, found, wanted } if !self.settings.is_empty() => {
                Error::Argument { what: format!("{what} at {}", place(&self.settings)), found, wanted }
            }
            other => other,
        })
    }
}

/// The rows of a sweep for one seed, by expected value, then by point. Points that were not run have no rows.
pub(crate) fn judged(expects: &[Expect], found: &[PointResult], quick: bool) -> Result<Vec<SeedRow>> {
    let rows = expects.iter().map(|expect| Judge { expect, all: found, quick }.rows());
    rows.collect::<Result<Vec<Vec<SeedRow>>>>().map(|rows| rows.concat())
}

/// A point of a sweep, and our value there; NaN if there is none.
type Ours<'a, 'b> = (&'a PointResult<'b>, f64);

/// An expected value, and the points of a run.
struct Judge<'a, 'b> {
    expect: &'a Expect,
    all: &'a [PointResult<'b>],
    /// Whether the run is scaled down.
    quick: bool,
}

impl<'a, 'b> Judge<'a, 'b> {
    fn rows(&self) -> Result<Vec<SeedRow>> {
        let (mut rows, mut ours) = (Vec::new(), Vec::new());
        for point in self.all.iter().filter(|point| matches_settings(&point.settings, &self.expect.at)) {
            if let ExpectedValue::Text(paper) = &self.expect.wanted {
                rows.push(self.text_row(point, paper)?);
            } else if let Some(value) = self.value(point)? {
                ours.push((point, value));
            }
        }
        for (group, ours) in self.groups(ours) {
            rows.extend(self.judge(&ours, group.as_ref())?);
        }
        Ok(rows)
    }

    /// Divides the values into groups that are compared together. With a key `each`, a group has the points
    /// with one of its values, and that value comes with it. Otherwise there is one group.
    fn groups(&self, ours: Vec<Ours<'a, 'b>>) -> Vec<(Option<toml::Table>, Vec<Ours<'a, 'b>>)> {
        let Some(key) = &self.expect.each else { return vec![(None, ours)] };
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

    /// The column of a point, or its ratio to the column `part_of`. NaN if the divisor is zero.
    fn measured(&self, point: &PointResult) -> Result<f64> {
        let own = point.number(&self.expect.column)?;
        let Some(whole) = &self.expect.part_of else { return Ok(own) };
        let whole = point.number(whole)?;
        Ok(if whole == 0.0 { f64::NAN } else { own / whole })
    }

    /// Our value at a point: the column, or its relation to the baseline point. `None` if there is no
    /// baseline point, or if the point is its own baseline.
    fn value(&self, point: &PointResult) -> Result<Option<f64>> {
        let own = self.measured(point)?;
        if self.expect.baseline_settings().is_empty() {
            return Ok(Some(own));
        }
        let Some(other) = self.other(point) else { return Ok(None) };
        Ok(Some(self.relative(own, self.measured(other)?)))
    }

    /// Returns the baseline of a point.
    fn other(&self, point: &PointResult) -> Option<&'a PointResult<'b>> {
        let other = self.expect.other(&point.settings)?;
        self.all.iter().find(|found| found.settings == other)
    }

    /// Ratio, excess in percent, or difference of `own` to `other`. NaN for a division by zero.
    fn relative(&self, own: f64, other: f64) -> f64 {
        if !self.expect.beyond.is_empty() {
            return own - other;
        }
        let times = if other == 0.0 { f64::NAN } else { own / other };
        if self.expect.over.is_empty() { times } else { 100.0 * (times - 1.0) }
    }

    /// Mean over the points that have a value. `None` if there are no points.
    fn mean(&self, kind: Mean, ours: &[Ours]) -> Result<Option<f64>> {
        if ours.is_empty() {
            return Ok(None);
        }
        let valued = ours.iter().filter(|(_, value)| value.is_finite());
        if kind == Mean::Greatest {
            return Ok(valued.map(|(_, value)| *value).reduce(f64::max));
        }
        if kind == Mean::Median {
            let mut values: Vec<f64> = valued.map(|(_, value)| *value).collect();
            values.sort_by(f64::total_cmp);
            return Ok(values.get(values.len() / 2).copied());
        }
        if kind == Mean::Values {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (point, value) in valued {
                let weight = self.expect.weight.as_ref().map_or(Ok(1.0), |column| point.number(column))?;
                sum += weight * value;
                weights += weight;
            }
            return Ok(Some(sum / weights));
        }
        let count = valued.clone().count() as f64;
        let (mut own, mut others) = (0.0, 0.0);
        for (point, _) in valued {
            own += self.measured(point)?;
            if let Some(other) = self.other(point) {
                others += self.measured(other)?;
            }
        }
        Ok(Some(self.relative(own / count, others / count)))
    }

    /// The rows of values that are compared together. `group` selects them, if they are not all.
    fn judge(&self, ours: &[Ours], group: Option<&toml::Table>) -> Result<Vec<SeedRow>> {
        match &self.expect.wanted {
            ExpectedValue::Text(_) => Ok(Vec::new()),
            ExpectedValue::Direction(direction) => {
                Ok(self.direction_row(direction, ours, group)?.into_iter().collect())
            }
            ExpectedValue::Number(paper, band) => self.numbers(ours, group, Some(*paper), Some(*band)),
            ExpectedValue::Shown(paper) => self.numbers(ours, group, *paper, None),
            ExpectedValue::Model(model, band) => {
                let row = |(point, value): &Ours| {
                    let run = point.point.ok_or_else(|| Error::Argument {
                        what: "model of an experiment".into(),
                        found: "a run without a device".into(),
                        wanted: "a sweep over devices".into(),
                    })?;
                    let paper = Some(model.of(run, &point.values)?);
                    Ok(self.number_row(Some(&point.settings), &[point], paper, *value, Some(*band)))
                };
                ours.iter().map(row).collect()
            }
        }
    }

    /// The rows of numbers: one for the mean, or one for each point.
    fn numbers(
        &self,
        ours: &[Ours],
        group: Option<&toml::Table>,
        paper: Option<f64>,
        band: Option<Band>,
    ) -> Result<Vec<SeedRow>> {
        let Some(kind) = self.expect.mean else {
            let row =
                |(point, value): &Ours| self.number_row(Some(&point.settings), &[point], paper, *value, band);
            return Ok(ours.iter().map(row).collect());
        };
        let points: Vec<&PointResult> = ours.iter().map(|(point, _)| *point).collect();
        let mean = self.mean(kind, ours)?;
        Ok(mean.map(|mean| self.number_row(group, &points, paper, mean, band)).into_iter().collect())
    }

    /// The row of a number that was made from `points`.
    fn number_row(
        &self,
        at: Option<&toml::Table>,
        points: &[&PointResult],
        paper: Option<f64>,
        ours: f64,
        band: Option<Band>,
    ) -> SeedRow {
        let points = points.iter().map(|point| point.settings.clone()).collect();
        self.row(at, points, Sample::Number { paper, band, ours })
    }

    /// A row with the fields of the expected value, and with the sample at `points`.
    fn row(&self, at: Option<&toml::Table>, points: Vec<toml::Table>, sample: Sample) -> SeedRow {
        let expect = self.expect;
        let what = match at.map(|at| place(&left_open(expect, at))).unwrap_or_default() {
            place if place.is_empty() => expect.what.clone(),
            place => format!("{}, {place}", expect.what),
        };
        let of_this_size = |reasons: &[Reason]| {
            reasons
                .iter()
                .filter(|reason| reason.quick.is_none_or(|only| only == self.quick))
                .cloned()
                .collect()
        };
        SeedRow {
            base: Row {
                claim: expect.claim.clone(),
                unit: expect.unit.clone(),
                derivation: expect.derivation.clone(),
                source: expect.source.clone(),
                second_reading: expect.second_reading.clone(),
                class: expect.class(),
                own_expectation: expect.own_expectation,
                note: expect.note.clone(),
                of_the_machine: matches!(
                    expect.column.as_str(),
                    "simulator.requests_per_second"
                        | "simulator.wall_seconds"
                        | "requests_per_second"
                        | "wall_seconds"
                ),
                at: at.map(settings).unwrap_or_default(),
                ..Row::named(what)
            },
            sample,
            points,
            explained: of_this_size(&expect.explained),
            is_tried: expect.explained_until.is_some(),
            contradicted: of_this_size(&expect.contradicted),
        }
    }

    fn text_row(&self, point: &PointResult, paper: &str) -> Result<SeedRow> {
        let ours = column::text(&point.values, &self.expect.column)?.to_owned();
        let sample = Sample::Text { paper: paper.to_owned(), ours };
        Ok(self.row(Some(&point.settings), vec![point.settings.clone()], sample))
    }

    /// The values that a direction compares with. For a correlation they are at the same points as `ours`.
    fn others(&self, direction: &Direction, ours: &[Ours]) -> Result<Vec<f64>> {
        if let Direction::Correlated { with, .. } = direction {
            return ours.iter().map(|(point, _)| point.number(with)).collect();
        }
        let Direction::Above { at } = direction else { return Ok(Vec::new()) };
        let points = self.all.iter().filter(|point| matches_settings(&point.settings, at));
        let values = points.map(|point| self.value(point)).filter_map(Result::transpose);
        Ok(values.collect::<Result<Vec<f64>>>()?.into_iter().filter(|value| value.is_finite()).collect())
    }

    /// The row of a direction; `None` if it has too few points. Points without a value are named, and do not
    /// count.
    fn direction_row(
        &self,
        direction: &Direction,
        ours: &[Ours],
        group: Option<&toml::Table>,
    ) -> Result<Option<SeedRow>> {
        let (valued, without): (Vec<Ours>, Vec<Ours>) =
            ours.iter().copied().partition(|ours| ours.1.is_finite() && has_other(direction, ours.0));
        let at = |(point, _): &Ours| place(&left_open(self.expect, &point.settings));
        let values: Vec<(String, f64)> = match self.expect.mean {
            Some(kind) => {
                let mean = self.mean(kind, ours)?.into_iter().filter(|mean| mean.is_finite());
                mean.map(|mean| (String::new(), mean)).collect()
            }
            None => valued.iter().map(|ours| (at(ours), ours.1)).collect(),
        };
        let order = Order {
            direction: direction.clone(),
            values,
            others: self.others(direction, &valued)?,
            without: without.iter().map(at).collect(),
            is_mean: self.expect.mean.is_some(),
        };
        let nothing = !without.is_empty() && direction.is_decided_by(ours.len(), 1);
        let is_row = order.is_decided() || nothing;
        let points = valued.iter().map(|(point, _)| point.settings.clone()).collect();
        Ok(is_row.then(|| self.row(group, points, Sample::Order(order))))
    }
}

/// Whether a point has the other column, if the direction is a correlation.
fn has_other(direction: &Direction, point: &PointResult) -> bool {
    match direction {
        Direction::Correlated { with, .. } => point.number(with).is_ok_and(f64::is_finite),
        _ => true,
    }
}

/// The values of a point for the varied keys that the expected value leaves open. The values of the other
/// keys are part of its description.
fn left_open(expect: &Expect, at: &toml::Table) -> toml::Table {
    let picked = |key: &String| expect.at.get(key).is_some_and(|value| !value.is_array());
    at.iter().filter(|(key, _)| !picked(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The values of the varied keys of a point, in the form of outcomes and charts.
pub fn settings(at: &toml::Table) -> Vec<(String, Value)> {
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
