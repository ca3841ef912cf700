//! A warm-up by whole passes over the workload, until the counters of the device grow by as much in a pass as in the one before.

use serde_json::Value as Json;

use crate::precision::follow;
use crate::summary::Summary;

/// How a device is warmed up by its own workload, pass by pass, in the time of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    /// Requests of a pass.
    pub pass: u64,
    /// Passes after which measuring begins even if the device has not settled.
    pub most: u32,
    /// Columns of the result of a pass, by their names with dots.
    pub columns: Vec<String>,
    /// The largest relative change of a column, from one pass to the next, with which the device counts as settled.
    pub within: f64,
}

/// The changes of the columns from pass to pass.
pub(crate) struct PassChanges<'a> {
    wanted: &'a Settling,
    last: Option<Vec<f64>>,
    count: u32,
    /// The column that changed most in the last pass, and by how much; none before the second pass.
    largest_change: Option<(&'a str, f64)>,
}

impl<'a> PassChanges<'a> {
    pub fn new(wanted: &'a Settling) -> Self {
        Self { wanted, last: None, count: 0, largest_change: None }
    }

    /// Requests that have completed at the end of the next pass.
    pub fn next(&self) -> u64 {
        u64::from(self.count + 1) * self.wanted.pass
    }

    /// Takes in the result of a pass.
    ///
    /// # Errors
    /// The name of a column that is not a number of this result.
    pub fn add(&mut self, pass: &Summary) -> Result<(), &'a str> {
        let values = serde_json::to_value(pass).expect("a summary's keys are text");
        let of = |column: &'a String| follow(&values, column).and_then(Json::as_f64).ok_or(column.as_str());
        let now: Vec<f64> = self.wanted.columns.iter().map(of).collect::<Result<_, _>>()?;
        if let Some(last) = &self.last {
            let changes = last.iter().zip(&now).map(|(last, now)| change(*last, *now));
            let named = self.wanted.columns.iter().map(String::as_str).zip(changes);
            self.largest_change = named.max_by(|a, b| a.1.total_cmp(&b.1));
        }
        self.last = Some(now);
        self.count += 1;
        Ok(())
    }

    /// Whether no column changed by more than is allowed in the last pass.
    pub fn is_settled(&self) -> bool {
        self.largest_change.is_some_and(|(_, change)| change <= self.wanted.within)
    }

    /// Whether there may be no further pass.
    pub fn is_last(&self) -> bool {
        self.count >= self.wanted.most
    }

    /// The note of the result on a device that did not settle.
    pub fn note(&self) -> String {
        let (count, change) = (self.count, self.largest_change);
        let change = change.map_or_else(
            || "one is too few to compare".to_owned(),
            |(column, change)| format!("`{column}` still changed by {:.1} % in the last one", 100.0 * change),
        );
        format!("the device had not settled after {count} passes over the workload: {change}")
    }
}

/// The change between two values as a fraction of the larger one; 0 between two zeros.
fn change(last: f64, now: f64) -> f64 {
    let largest = last.abs().max(now.abs());
    if largest == 0.0 { 0.0 } else { (now - last).abs() / largest }
}
