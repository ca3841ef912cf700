//! Expected failures of a rule, and the writes that a device takes until it is worn out.

use serde_json::Value as Json;

use crate::judge::column;
use crate::sweep::Point;
use wordline_lab::error::{Error, Result};

/// The mean of the binomial distribution for the run's one rule: how often it was asked (the count named `of`), multiplied by its
/// probability, and by `times` for each failure.
pub(crate) fn expected(point: &Point, values: &Json, of: &str, times: f64) -> Result<f64> {
    match &point.config().file.faults[..] {
        [rule] if rule.wear.is_none() && rule.nth.is_none() && rule.every.is_none() => {
            Ok(column::number(values, of)? * rule.probability.unwrap_or(1.0) * times)
        }
        rules => Err(Error::Argument {
            what: "model failures".into(),
            found: format!("{} rules", rules.len()),
            wanted: "one rule with a probability that wear does not change".into(),
        }),
    }
}

/// Logical capacities that the host can write until every block was erased as often as the part endures, at the write
/// amplification of the run.
pub(crate) fn lifetime(point: &Point, values: &Json) -> Result<f64> {
    let flash = point.config().geometry().capacity().0 as f64;
    Ok(flash * f64::from(point.config().part().endurance)
        / column::number(values, "write_amplification")?
        / point.config().capacity().0 as f64)
}
