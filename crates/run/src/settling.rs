//! A warm-up of whole passes over the workload. It ends when the results of a pass are close to those of the
//! previous pass.

use serde_json::Value as Json;

use crate::precision::follow;
use crate::summary::Summary;

/// A warm-up by the workload itself, pass by pass, in simulated time.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    /// Number of requests in a pass.
    pub pass: u64,
    /// Greatest number of passes. The measurement then begins even if the device has not settled.
    pub most: u32,
    /// Dotted names of the results of a pass that must settle.
    pub columns: Vec<String>,
    /// Greatest relative change of a column, from one pass to the next, at which the device counts as
    /// settled.
    pub within: f64,
}

/// Changes of the columns from pass to pass.
pub(crate) struct PassChanges<'a> {
    wanted: &'a Settling,
    last: Option<Vec<f64>>,
    count: u32,
    /// The column with the greatest change in the last pass, and this change. `None` before the second pass.
    largest_change: Option<(&'a str, f64)>,
}

impl<'a> PassChanges<'a> {
    pub fn new(wanted: &'a Settling) -> Self {
        Self { wanted, last: None, count: 0, largest_change: None }
    }

    /// Total number of completed requests at the end of the next pass.
    pub fn next(&self) -> u64 {
        u64::from(self.count + 1) * self.wanted.pass
    }

    /// Adds the result of a pass.
    ///
    /// # Errors
    /// The name of a column that the result does not have, or that is not a number.
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

    /// Whether every column changed by at most the allowed amount in the last pass.
    pub fn is_settled(&self) -> bool {
        self.largest_change.is_some_and(|(_, change)| change <= self.wanted.within)
    }

    /// Whether the greatest number of passes is reached.
    pub fn is_last(&self) -> bool {
        self.count >= self.wanted.most
    }

    /// The note for a device that did not settle.
    pub fn note(&self) -> String {
        let (count, change) = (self.count, self.largest_change);
        let change = change.map_or_else(
            || "one is too few to compare".to_owned(),
            |(column, change)| format!("`{column}` still changed by {:.1} % in the last one", 100.0 * change),
        );
        format!("the device had not settled after {count} passes over the workload: {change}")
    }
}

/// The change between two values as a fraction of the larger one; 0 if both are zero.
fn change(last: f64, now: f64) -> f64 {
    let largest = last.abs().max(now.abs());
    if largest == 0.0 { 0.0 } else { (now - last).abs() / largest }
}
