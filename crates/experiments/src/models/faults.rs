//! Expected failures of a fault rule, and the writes that a device endures.

use serde_json::Value as Json;

use crate::judge::column;
use crate::sweep::Point;
use wordline_lab::error::{Error, Result};

/// Expected failures of the run's only fault rule: mean of the binomial distribution. It is the number of
/// trials (the count `of`), times the probability, times the weight `times` of a failure.
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

/// Drive writes of the host until every block was erased as often as the part endures, at the write
/// amplification of the run.
pub(crate) fn lifetime(point: &Point, values: &Json) -> Result<f64> {
    let flash = point.config().ftl.geometry().capacity().0 as f64;
    Ok(flash * f64::from(point.config().ftl.part().endurance)
        / column::number(values, "write_amplification")?
        / point.config().ftl.capacity().0 as f64)
}
