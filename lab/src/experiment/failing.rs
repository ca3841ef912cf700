//! How often something fails that a rule makes fail with a probability: the mean of the binomial distribution.

use serde_json::Value as Json;

use super::judge::column;
use super::sweep::Point;
use crate::error::{Error, Result};

/// What is to be expected of the run's one rule: how often it was asked (the number `of` of what was counted), times its
/// probability, `times` so much for each failure.
pub(super) fn expected(point: &Point, values: &Json, of: &str, times: f64) -> Result<f64> {
    match &point.config.file.faults[..] {
        [rule] if rule.wear.is_none() && rule.nth.is_none() && rule.every.is_none() => {
            Ok(column(values, of)? * rule.probability.unwrap_or(1.0) * times)
        }
        rules => Err(Error::Argument {
            what: "model failures".into(),
            found: format!("{} rules", rules.len()),
            wanted: "one rule with a probability that wear does not change".into(),
        }),
    }
}
