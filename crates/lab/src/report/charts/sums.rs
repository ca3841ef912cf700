//! Sums of charts. Each chart declares which counters of a run equal which sums over its data. A test checks
//! that they are equal.

use serde_json::Value;

/// A sum over the data of a chart, and the counter of a run that it must equal.
#[derive(Clone, Debug)]
pub struct Sum {
    /// Index of the run.
    pub run: usize,
    /// The rows to add: those with these values in these fields. Empty adds all rows of a chart whose data
    /// are plain numbers.
    pub rows: Vec<(&'static str, String)>,
    /// The field whose values are added; `None` if the data are plain numbers.
    pub field: Option<&'static str>,
    /// Weights of the values.
    pub weights: Weights,
    /// The counter that the sum must equal.
    pub counted: Counter,
    /// Greatest relative difference. Numbers in charts have four digits.
    pub within: f64,
}

/// Weights of the values of a sum.
#[derive(Clone, Debug)]
pub enum Weights {
    /// The same weight for all rows.
    Each(f64),
    /// A weight for each row. Rows without a value do not count.
    Rows(Vec<f64>),
    /// The increase of this other field since the previous row, divided by its total increase.
    Increase(&'static str),
    /// The greatest value instead of a sum.
    Greatest,
}

/// A value in the summary of a run; texts are JSON pointers.
#[derive(Clone, Debug)]
pub enum Counter {
    /// The product of these values. A list counts as the sum of its numbers.
    Product(Vec<String>),
    /// The greatest of these values.
    Greatest(Vec<String>),
    /// A fixed number, for the parts of a whole.
    Exactly(f64),
}

/// Relative error of rounding to four digits.
pub(super) const DIGITS: f64 = 1e-3;

impl Sum {
    /// A sum of a field over the rows with these values.
    pub(super) fn of(run: usize, field: &'static str, rows: &[(&'static str, &str)]) -> Self {
        let rows = rows.iter().map(|(field, value)| (*field, (*value).to_owned())).collect();
        let (weights, counted) = (Weights::Each(1.0), Counter::Exactly(f64::NAN));
        Self { run, rows, field: Some(field), weights, counted, within: DIGITS }
    }

    /// Sets the weights.
    pub(super) fn with_weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// Sets the counter to the product of these values.
    pub(super) fn equal_to<const N: usize>(self, pointers: [impl Into<String>; N]) -> Self {
        Self { counted: Counter::Product(pointers.map(Into::into).into()), ..self }
    }

    /// The sum over the data of a chart.
    pub fn sum_of_data(&self, data: &[Value]) -> f64 {
        let is_of = |row: &&Value| self.rows.iter().all(|(field, value)| row[*field] == **value);
        let rows: Vec<&Value> = data.iter().filter(is_of).collect();
        let of = |row: &Value, field: Option<&str>| field.map_or(row.as_f64(), |field| row[field].as_f64());
        let values = rows.iter().map(|row| of(row, self.field));
        match &self.weights {
            Weights::Each(weight) => values.flatten().map(|value| value * weight).sum(),
            Weights::Rows(weights) => {
                assert_eq!(weights.len(), rows.len(), "a weight for each row");
                values.zip(weights).filter_map(|(value, weight)| Some(value? * weight)).sum()
            }
            Weights::Greatest => values.flatten().fold(0.0, f64::max),
            Weights::Increase(field) => {
                let steps: Vec<f64> = rows.iter().filter_map(|row| of(row, Some(field))).collect();
                let all = steps.last().zip(steps.first()).map_or(f64::NAN, |(last, first)| last - first);
                let parts = steps.windows(2).map(|pair| (pair[1] - pair[0]) / all);
                values.skip(1).zip(parts).filter_map(|(value, part)| Some(value? * part)).sum()
            }
        }
    }

    /// The value of the counter, from the summary of the run as JSON.
    pub fn counted(&self, summary: &Value) -> f64 {
        let at = |pointer: &String| summary.pointer(pointer).map_or(f64::NAN, amount);
        match &self.counted {
            Counter::Product(pointers) => pointers.iter().map(at).product(),
            Counter::Greatest(pointers) => pointers.iter().map(at).fold(0.0, f64::max),
            Counter::Exactly(number) => *number,
        }
    }
}

/// A number, or the sum of a list. The items of a list are numbers, or points whose values are added.
fn amount(value: &Value) -> f64 {
    match value {
        Value::Array(all) => all.iter().map(|one| one.get(1).map_or_else(|| amount(one), amount)).sum(),
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}
