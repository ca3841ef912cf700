//! The sums of charts. Each chart declares the counters of a run that equal sums over its data, and a test
//! checks them.

use serde_json::Value;

/// A sum over the data of a chart, and the counters of the run that equal it.
#[derive(Clone, Debug)]
pub struct Sum {
    /// The run, by index.
    pub run: usize,
    /// The rows that are added: those with these values in these fields; all rows of a chart whose data are
    /// bare numbers.
    pub rows: Vec<(&'static str, String)>,
    /// The field whose values are added; none where the data are bare numbers.
    pub field: Option<&'static str>,
    /// The weight of each value.
    pub weights: Weights,
    /// The counter that it equals.
    pub counted: Counter,
    /// The greatest relative difference. Charts have four digits of each number.
    pub within: f64,
}

/// The weight of each value of a sum.
#[derive(Clone, Debug)]
pub enum Weights {
    /// One weight for all rows.
    Each(f64),
    /// Row by row; rows without a value count nothing.
    Rows(Vec<f64>),
    /// The increase of another field since the previous row, relative to its total.
    Increase(&'static str),
    /// Not a sum, but the greatest value.
    Greatest,
}

/// A value in the summary of a run, by JSON pointers.
#[derive(Clone, Debug)]
pub enum Counter {
    /// The product of these; a list counts as the sum of its numbers.
    Product(Vec<String>),
    /// The greatest of these.
    Greatest(Vec<String>),
    /// This number, for parts of a whole.
    Exactly(f64),
}

/// The error of rounding to four digits.
pub(super) const DIGITS: f64 = 1e-3;

impl Sum {
    /// A sum of a field over all rows with these values.
    pub(super) fn of(run: usize, field: &'static str, rows: &[(&'static str, &str)]) -> Self {
        let rows = rows.iter().map(|(field, value)| (*field, (*value).to_owned())).collect();
        let (weights, counted) = (Weights::Each(1.0), Counter::Exactly(f64::NAN));
        Self { run, rows, field: Some(field), weights, counted, within: DIGITS }
    }

    /// The sum with these weights.
    pub(super) fn with_weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// The sum that equals the product of these counters.
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

    /// The value counted by the run, from its summary as JSON.
    pub fn counted(&self, summary: &Value) -> f64 {
        let at = |pointer: &String| summary.pointer(pointer).map_or(f64::NAN, amount);
        match &self.counted {
            Counter::Product(pointers) => pointers.iter().map(at).product(),
            Counter::Greatest(pointers) => pointers.iter().map(at).fold(0.0, f64::max),
            Counter::Exactly(number) => *number,
        }
    }
}

/// A number, or the sum of the numbers of a list; for a list of points, of their values.
fn amount(value: &Value) -> f64 {
    match value {
        Value::Array(all) => all.iter().map(|one| one.get(1).map_or_else(|| amount(one), amount)).sum(),
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}
