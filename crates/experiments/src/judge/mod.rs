//! Each expected value beside what the runs gave.

pub(crate) mod column;
pub(crate) mod counts;
pub(crate) mod expect;
pub(crate) mod outcome;

use serde_json::Value as Json;

use crate::judge::expect::{Band, Direction, Expect, Mean, Reason, Wanted, place};
use crate::judge::outcome::{Measured, NO_VALUE, Row, Value, Verdict};
use crate::sweep::Point;
use crate::sweep::axes::lies_at;
use wordline_lab::error::{Error, Result};

/// The results at a point of a sweep.
pub(crate) struct Found<'a> {
    /// The varied keys with their values.
    pub settings: toml::Table,
    /// The measured values, as JSON.
    pub values: Json,
    /// The run of a device that it comes from, where there is one.
    pub point: Option<&'a Point>,
}

impl Found<'_> {
    /// The same for the outcome.
    pub(crate) fn measured(&self) -> Measured {
        Measured { at: settings(&self.settings), values: self.values.clone() }
    }

    /// Some columns for the outcome, by their whole names; those without a value are left out.
    pub(crate) fn measured_of(&self, columns: &[&String]) -> Measured {
        let value =
            |column: &&String| Some(((*column).clone(), column::follow(&self.values, column)?.clone()));
        let values: serde_json::Map<String, Json> = columns.iter().filter_map(value).collect();
        Measured { at: settings(&self.settings), values: values.into() }
    }

    /// The number of the name `path`; not a number where the run has none, as the mean of no reads.
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

/// The rows of a sweep in the order of the expected values, then of the points. Points that were not run give none.
pub(crate) fn rows(expects: &[Expect], found: &[Found], quick: bool) -> Result<Vec<Row>> {
    let rows = expects.iter().map(|expect| Judge { expect, all: found, quick }.rows());
    rows.collect::<Result<Vec<Vec<Row>>>>().map(|rows| rows.concat())
}

/// A point of a sweep and our value there, not a number where it has none.
type Ours<'a, 'b> = (&'a Found<'b>, f64);

/// An expected value beside the points of a run.
struct Judge<'a, 'b> {
    expect: &'a Expect,
    all: &'a [Found<'b>],
    /// Whether the run is the scaled-down one.
    quick: bool,
}

impl<'a, 'b> Judge<'a, 'b> {
    fn rows(&self) -> Result<Vec<Row>> {
        let (mut rows, mut ours) = (Vec::new(), Vec::new());
        for point in self.all.iter().filter(|point| lies_at(&point.settings, &self.expect.at)) {
            if let Wanted::Text(paper) = &self.expect.wanted {
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

    /// The values that are compared together: all, or those with the same value of the key of `each`, and which one that is.
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

    /// The value of a point: a column, or how it stands to another point's. None where there is no such point, or it is the
    /// same one.
    fn value(&self, point: &Found) -> Result<Option<f64>> {
        let own = point.number(&self.expect.column)?;
        if self.expect.over.is_empty() && self.expect.per.is_empty() {
            return Ok(Some(own));
        }
        let Some(other) = self.other(point) else { return Ok(None) };
        Ok(Some(self.relative(own, other.number(&self.expect.column)?)))
    }

    /// The point that another one is compared with.
    fn other(&self, point: &Found) -> Option<&'a Found<'b>> {
        let other = self.expect.other(&point.settings)?;
        self.all.iter().find(|found| found.settings == other)
    }

    /// How many times `other` `own` is, or by how many percent it lies over it; over nothing, not a number.
    fn relative(&self, own: f64, other: f64) -> f64 {
        let times = if other == 0.0 { f64::NAN } else { own / other };
        if self.expect.over.is_empty() { times } else { 100.0 * (times - 1.0) }
    }

    /// The mean of the points that have a value; none without points.
    fn mean(&self, kind: Mean, ours: &[Ours]) -> Result<Option<f64>> {
        if ours.is_empty() {
            return Ok(None);
        }
        let valued = ours.iter().filter(|(_, value)| value.is_finite());
        let count = valued.clone().count() as f64;
        if kind == Mean::Values {
            return Ok(Some(valued.map(|(_, ours)| *ours).sum::<f64>() / count));
        }
        let (mut own, mut others) = (0.0, 0.0);
        for (point, _) in valued {
            own += point.number(&self.expect.column)?;
            if let Some(other) = self.other(point) {
                others += other.number(&self.expect.column)?;
            }
        }
        Ok(Some(self.relative(own / count, others / count)))
    }

    /// The rows of values that are compared together, which are those of `group` if they are not all.
    fn judge(&self, ours: &[Ours], group: Option<&toml::Table>) -> Result<Vec<Row>> {
        match &self.expect.wanted {
            Wanted::Text(_) => Ok(Vec::new()),
            Wanted::Direction(direction) => {
                Ok(self.direction_row(direction, ours, group)?.into_iter().collect())
            }
            Wanted::Number(paper, band) => self.numbers(ours, group, Some(*paper), Some(*band)),
            Wanted::Shown(paper) => self.numbers(ours, group, *paper, None),
            Wanted::Model(model, band) => {
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

    /// The rows of numbers: one of the mean, or one a point.
    fn numbers(
        &self,
        ours: &[Ours],
        group: Option<&toml::Table>,
        paper: Option<f64>,
        band: Option<Band>,
    ) -> Result<Vec<Row>> {
        let Some(kind) = self.expect.mean else {
            let row =
                |(point, value): &Ours| self.number_row(Some(&point.settings), &[point], paper, *value, band);
            return Ok(ours.iter().map(row).collect());
        };
        let points: Vec<&Found> = ours.iter().map(|(point, _)| *point).collect();
        let mean = self.mean(kind, ours)?;
        Ok(mean.map(|mean| self.number_row(group, &points, paper, mean, band)).into_iter().collect())
    }

    /// The row of a number that comes from `points`.
    fn number_row(
        &self,
        at: Option<&toml::Table>,
        points: &[&Found],
        paper: Option<f64>,
        ours: f64,
        band: Option<Band>,
    ) -> Row {
        let verdict = match (paper, band) {
            _ if !ours.is_finite() => Verdict::Shown,
            (Some(paper), Some(band)) if band.holds(paper, ours) => Verdict::Within,
            (Some(_), Some(_)) => Verdict::Outside,
            _ => Verdict::Shown,
        };
        let missed = points.iter().map(|point| (*point, ours)).collect::<Vec<Ours>>();
        Row {
            paper: paper.map_or_else(|| Value::Text(String::new()), Value::Number),
            ours: if ours.is_finite() { Value::Number(ours) } else { Value::Text(NO_VALUE.into()) },
            band: band.map(|band| band.to_string()).unwrap_or_default(),
            limits: paper.zip(band).map(|(paper, band)| band.limits(paper)),
            ..self.row(at, verdict, &missed)
        }
    }

    /// A row with what the expected value says of itself, and of the values that missed it.
    fn row(&self, at: Option<&toml::Table>, verdict: Verdict, missed: &[Ours]) -> Row {
        let expect = self.expect;
        let what = match at.map(|at| place(&left_open(expect, at))).unwrap_or_default() {
            place if place.is_empty() => expect.what.clone(),
            place => format!("{}, {place}", expect.what),
        };
        let outside = verdict == Verdict::Outside;
        let contradicted = self.covering(&[&expect.contradicted], missed).filter(|_| outside);
        let explained = self.covering(&[&expect.explained, &expect.contradicted], missed);
        let explained = explained.filter(|_| outside && contradicted.is_none());
        let reasons = contradicted.iter().chain(&explained).flatten().copied();
        let notes: Vec<&str> =
            reasons.chain([expect.note.as_str()]).filter(|note| !note.is_empty()).collect();
        Row {
            claim: expect.claim.clone(),
            what,
            paper: Value::Text(String::new()),
            ours: Value::Text(String::new()),
            unit: expect.unit.clone(),
            band: String::new(),
            limits: None,
            derivation: expect.derivation.clone(),
            verdict,
            source: expect.source.clone(),
            second_reading: expect.second_reading.clone(),
            own_input: expect.own_input,
            note: notes.join(" "),
            contradicted: contradicted.is_some(),
            explained: explained.is_some(),
            of_the_machine: matches!(expect.column.as_str(), "requests_per_second" | "wall_seconds"),
            at: at.map(settings).unwrap_or_default(),
        }
    }

    /// Why each of the values missed; none if one of them is not covered, or there are none.
    fn covering(&self, reasons: &[&'a Vec<Reason>], missed: &[Ours]) -> Option<Vec<&'a str>> {
        let mut why: Vec<&str> = Vec::new();
        for (point, value) in missed {
            let mut all = reasons.iter().flat_map(|reasons| reasons.iter());
            let reason = all.find(|reason| reason.covers(&point.settings, *value, self.quick))?;
            if !why.contains(&reason.because.as_str()) {
                why.push(&reason.because);
            }
        }
        (!missed.is_empty()).then_some(why)
    }

    fn text_row(&self, point: &Found, paper: &str) -> Result<Row> {
        let ours = column::text(&point.values, &self.expect.column)?;
        let verdict = if ours == paper { Verdict::Within } else { Verdict::Outside };
        Ok(Row {
            paper: Value::Text(paper.to_owned()),
            ours: Value::Text(ours.to_owned()),
            band: "the same".into(),
            ..self.row(Some(&point.settings), verdict, &[])
        })
    }

    /// The values that a direction compares with.
    fn others(&self, direction: &Direction) -> Result<Vec<f64>> {
        let Direction::Above { at } = direction else { return Ok(Vec::new()) };
        let points = self.all.iter().filter(|point| lies_at(&point.settings, at));
        let values = points.map(|point| self.value(point)).filter_map(Result::transpose);
        Ok(values.collect::<Result<Vec<f64>>>()?.into_iter().filter(|value| value.is_finite()).collect())
    }

    /// The row of a direction; none when fewer points are there than a direction needs. Points without a value are named
    /// and have no part in it.
    fn direction_row(
        &self,
        direction: &Direction,
        ours: &[Ours],
        group: Option<&toml::Table>,
    ) -> Result<Option<Row>> {
        let (valued, without): (Vec<Ours>, Vec<Ours>) =
            ours.iter().copied().partition(|(_, value)| value.is_finite());
        let values = match self.expect.mean {
            Some(kind) => {
                self.mean(kind, ours)?.into_iter().filter(|mean| mean.is_finite()).collect::<Vec<f64>>()
            }
            None => valued.iter().map(|(_, value)| *value).collect(),
        };
        let others = self.others(direction)?;
        let list = |values: &[f64]| {
            values.iter().map(|value| Value::Number(*value).to_string()).collect::<Vec<_>>().join(", ")
        };
        let row = |ours: String, verdict, missed: &[Ours]| Row {
            paper: Value::Text(direction.to_string()),
            ours: Value::Text(ours),
            ..self.row(group, verdict, missed)
        };
        if !direction.is_decided_by(values.len(), others.len()) {
            let nothing = !without.is_empty() && direction.is_decided_by(ours.len(), 1);
            return Ok(nothing.then(|| row(NO_VALUE.into(), Verdict::Shown, &[])));
        }
        // Values that miss by themselves are named, and explained by themselves; else all of them are.
        let off = |value: f64| !direction.holds(&[value], &[]);
        let alone = matches!(direction, Direction::Greater { .. } | Direction::Less { .. });
        let missed: Vec<Ours> = match self.expect.mean {
            Some(_) => valued.iter().map(|(point, _)| (*point, values[0])).collect(),
            None if alone => valued.iter().copied().filter(|(_, value)| off(*value)).collect(),
            None => valued.clone(),
        };
        let at = |(point, _): &Ours| place(&left_open(self.expect, &point.settings));
        let mut shown = list(&values);
        if !others.is_empty() {
            shown += &format!(" against {}", list(&others));
        }
        if alone && self.expect.mean.is_none() {
            // A row of a single point leaves nothing open that would name it.
            let named = missed.iter().filter(|miss| !at(miss).is_empty());
            let named = named.map(|miss| format!("; {} at {}", Value::Number(miss.1), at(miss)));
            shown.extend(named);
        }
        shown.extend(without.iter().map(|point| format!("; {NO_VALUE} at {}", at(point))));
        let verdict = if direction.holds(&values, &others) { Verdict::Direction } else { Verdict::Outside };
        Ok(Some(row(shown, verdict, &missed)))
    }
}

/// The values of a point that the expected value leaves open: those that it picks stand in its words.
fn left_open(expect: &Expect, at: &toml::Table) -> toml::Table {
    let picked = |key: &String| expect.at.get(key).is_some_and(|value| !value.is_array());
    at.iter().filter(|(key, _)| !picked(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Varied keys with their values, as charts take them.
pub(crate) fn settings(at: &toml::Table) -> Vec<(String, Value)> {
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
