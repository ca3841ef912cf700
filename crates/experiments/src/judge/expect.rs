//! Expected values: a published number, a value of a closed form, or a published direction.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::judge::class::Class;
use crate::judge::outcome::Row;
use crate::models::Model;
use crate::sweep::axes::matches_settings;
use wordline_lab::report::three_digits;

/// Greatest deviation of our number from the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// At most this fraction of the paper's number.
    Relative(f64),
    /// An interval, which includes its ends.
    Between(f64, f64),
}

impl Band {
    /// Greatest ratio between the ends of a band that tests more than a direction: 20 % to either side of a
    /// number. Chosen: a band twice as wide could not distinguish a gain of a quarter from no gain.
    pub const WIDEST: f64 = 1.5;

    /// Ratio between the ends of the band around `paper`; `None` if they differ in sign.
    pub fn factor(self, paper: f64) -> Option<f64> {
        let [least, greatest] = self.limits(paper).map(f64::abs);
        let [one, other] = self.limits(paper);
        (one * other > 0.0).then(|| least.max(greatest) / least.min(greatest))
    }

    /// Whether the band tests more than a direction. It does not if the source prints 0, because there is no
    /// ratio.
    pub(crate) fn is_narrow(self, paper: f64) -> bool {
        paper == 0.0 || self.factor(paper).is_some_and(|factor| factor <= Self::WIDEST * (1.0 + 1e-9))
    }

    /// Whether `ours` is in the band around `paper`.
    pub fn holds(self, paper: f64, ours: f64) -> bool {
        match self {
            Self::Relative(fraction) => (ours - paper).abs() <= fraction * paper.abs(),
            Self::Between(least, greatest) => (least..=greatest).contains(&ours),
        }
    }

    /// Least and greatest value of the band around `paper`.
    pub(crate) fn limits(self, paper: f64) -> [f64; 2] {
        match self {
            Self::Relative(fraction) => [paper - fraction * paper.abs(), paper + fraction * paper.abs()],
            Self::Between(least, greatest) => [least, greatest],
        }
    }
}

impl FromStr for Band {
    type Err = String;

    /// Parses a relative band such as `"3 %"`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').map(str::trim).and_then(|number| number.parse::<f64>().ok());
        match number {
            Some(percent) if percent > 0.0 && percent.is_finite() => Ok(Self::Relative(percent / 100.0)),
            _ => Err("a share above 0, such as \"3 %\"".to_owned()),
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(fraction) => write!(out, "within {} %", (fraction * 1e6).round() / 1e4),
            Self::Between(least, greatest) => {
                write!(out, "from {least} to {greatest}")?;
                // The ratio of an interval does not depend on the paper's number.
                self.factor(1.0)
                    .map_or(Ok(()), |factor| write!(out, " (a factor of {})", three_digits(factor)))
            }
        }
    }
}

/// A sign or an order that the source states without a number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Direction {
    /// Each value is greater than the previous one along the varied key.
    Rising {
        /// The varied key.
        along: String,
    },
    /// Each value is less than the previous one along the varied key.
    Falling {
        /// The varied key.
        along: String,
    },
    /// The value at the point of the expected value is greater than the value at another point.
    Above {
        /// Values of varied keys that select the other point.
        at: toml::Table,
    },
    /// Each value is greater than a number. For a ratio (`per`) the number is often 1.
    Greater {
        /// The number.
        than: f64,
    },
    /// Each value is less than a number.
    Less {
        /// The number.
        than: f64,
    },
    /// The values rise with another column of the same points: their Spearman rank correlation is greater
    /// than a number.
    Correlated {
        /// The other column.
        with: String,
        /// The number, at least -1 and less than 1.
        above: f64,
    },
}

impl Direction {
    /// Whether there are enough values, and enough values to compare with, for a verdict.
    pub(crate) fn is_decided_by(&self, ours: usize, others: usize) -> bool {
        match self {
            Self::Rising { .. } | Self::Falling { .. } => ours > 1,
            Self::Correlated { .. } => ours > 2 && others == ours,
            Self::Above { .. } => ours > 0 && others > 0,
            Self::Greater { .. } | Self::Less { .. } => ours > 0,
        }
    }

    /// Margins by which the values have the direction, some relative to `others`. The direction is met if all
    /// margins are above 0.
    pub(crate) fn margins(&self, ours: &[f64], others: &[f64]) -> Vec<f64> {
        let pairs = |margin: fn(f64, f64) -> f64| {
            ours.windows(2).map(|pair| margin(pair[0], pair[1])).collect::<Vec<f64>>()
        };
        match self {
            Self::Rising { .. } => pairs(|first, second| second - first),
            Self::Falling { .. } => pairs(|first, second| first - second),
            Self::Above { .. } => {
                ours.iter().flat_map(|value| others.iter().map(move |other| value - other)).collect()
            }
            Self::Greater { than } => ours.iter().map(|value| value - than).collect(),
            Self::Less { than } => ours.iter().map(|value| than - value).collect(),
            Self::Correlated { above, .. } => vec![rank_correlation(ours, others) - above],
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rising { along } => write!(out, "rises with {along}"),
            Self::Falling { along } => write!(out, "falls with {along}"),
            Self::Above { at } => write!(out, "above that at {}", place(at)),
            Self::Greater { than } => write!(out, "greater than {than}"),
            Self::Less { than } => write!(out, "less than {than}"),
            Self::Correlated { with, above } => write!(out, "correlated by rank with {with}, above {above}"),
        }
    }
}

/// Spearman rank correlation of two columns. Ties get their mean rank. NaN if all values of a column are
/// equal.
pub(crate) fn rank_correlation(ours: &[f64], others: &[f64]) -> f64 {
    let (ours, others) = (ranks(ours), ranks(others));
    // Ties do not change the sum of the ranks.
    let mean = (ours.len() as f64 + 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| {
        one.iter().zip(other).map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>()
    };
    product(&ours, &others) / (product(&ours, &ours) * product(&others, &others)).sqrt()
}

/// Rank of each value, from 1 for the least.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Formats the values of varied keys.
pub(crate) fn place(at: &toml::Table) -> String {
    let parts: Vec<String> = at.iter().map(|(key, value)| format!("{key} = {}", bare(value))).collect();
    parts.join(", ")
}

/// Formats a value without quotes. A list is formatted as alternatives.
pub(crate) fn bare(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(any) => any.iter().map(bare).collect::<Vec<_>>().join(" or "),
        other => other.to_string(),
    }
}

/// The kind of mean over the points of an expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mean {
    /// Mean of the values of the points. If the values are gains, all points have the same weight.
    Values,
    /// Gain or ratio of the column's mean over the points to its mean over the baseline points. Points with
    /// large values weigh more.
    Columns,
    /// Greatest value of the points.
    Greatest,
    /// Greatest value that at least half of the points reach.
    Median,
}

/// The published value that our value is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedValue {
    /// A published number.
    Number(f64, Band),
    /// The value of a closed form for the device of the point.
    Model(Model, Band),
    /// A published direction.
    Direction(Direction),
    /// A published text.
    Text(String),
    /// No comparison: our value is shown. A published value is shown for information.
    Shown(Option<f64>),
}

/// An expected value for one point, or for each point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Description of the value, as text.
    pub what: String,
    /// ID of the claim in the validation ledger to which the value belongs.
    pub claim: Option<String>,
    /// Values of varied keys that select the points. Empty: all points.
    pub at: toml::Table,
    /// If not empty, our value is the excess of the column over its value at a baseline point, in percent.
    /// The baseline point has these values of the varied keys.
    pub over: toml::Table,
    /// If not empty, our value is the ratio of the column to its value at a baseline point, which has these
    /// values of the varied keys.
    pub per: toml::Table,
    /// If not empty, our value is the difference of the column to its value at a baseline point, in the unit
    /// of the column. The baseline point has these values of the varied keys.
    pub beyond: toml::Table,
    /// Mean over all points that is compared; `None` if each point is compared.
    pub mean: Option<Mean>,
    /// Varied key with a separate mean for each of its values.
    pub each: Option<String>,
    /// Column with the weight of each point in the mean; `None` for equal weights.
    pub weight: Option<String>,
    /// Column of the run's summary with our value, as a dotted name.
    pub column: String,
    /// Another column. Our value is then the column divided by this one, at each point.
    pub part_of: Option<String>,
    /// Unit.
    pub unit: String,
    /// The published value.
    pub wanted: ExpectedValue,
    /// Source of the expected value: table, figure or section.
    pub source: String,
    /// Derivation of the band from the parameters that the source does not give; empty without a band.
    pub derivation: String,
    /// For interpretation B of the source: the reason why it is compared in addition to A.
    pub second_reading: Option<String>,
    /// Whether our value only returns an input.
    pub own_input: bool,
    /// Whether our value is reached by construction, whatever the model does.
    pub identity: bool,
    /// Whether the expected value was derived here, because the source does not print it.
    pub own_expectation: bool,
    /// Whether the source states a word, such as `equal`, or draws a picture that `value` encodes.
    pub in_words: bool,
    /// Name of the change of the model under which the row must fail.
    pub fails_with: Option<String>,
    /// For a row that is outside for a known reason, in place of `fails_with`: name of the change that
    /// removes the reason. The row is repeated under this change.
    pub explained_until: Option<String>,
    /// Note for the reader. It does not explain a miss.
    pub note: String,
    /// Reasons why our values are outside, if they are.
    pub explained: Vec<Reason>,
    /// Points at which no result can be inside, because other numbers of the same source contradict the
    /// expected value.
    pub contradicted: Vec<Reason>,
}

/// A reason why our values are outside at some points.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The points: values of every varied key that the expected value leaves open.
    #[serde(default)]
    pub at: toml::Table,
    /// `true` if the reason applies only to the scaled-down experiment, `false` if only to the full one. If
    /// not given, it applies to both.
    pub quick: Option<bool>,
    /// The reason, as text.
    pub because: String,
}

impl Reason {
    /// Whether the reason applies to a point.
    pub(crate) fn covers(&self, settings: &toml::Table) -> bool {
        matches_settings(settings, &self.at)
    }
}

impl Expect {
    /// Whether the row is compared with a value that a change of the model can move.
    pub(crate) fn is_judged(&self) -> bool {
        !matches!(self.wanted, ExpectedValue::Shown(_)) && self.class().is_judged()
    }

    /// The class of the rows.
    pub(crate) fn class(&self) -> Class {
        match self.wanted {
            _ if self.own_input => Class::Fitted,
            _ if self.identity => Class::Identity,
            _ if self.second_reading.is_some() => Class::SecondReading,
            ExpectedValue::Direction(_) | ExpectedValue::Text(_) => Class::Direction,
            _ if self.in_words => Class::Direction,
            ExpectedValue::Model(..) => Class::ClosedForm,
            _ if self.own_expectation => Class::ClosedForm,
            _ => Class::Printed,
        }
    }

    /// Name of the change of the model that must move the row.
    pub(crate) fn change(&self) -> Option<&String> {
        self.fails_with.as_ref().or(self.explained_until.as_ref())
    }

    /// Whether the expected value compares the point with these `settings`.
    pub(crate) fn needs(&self, settings: &toml::Table) -> bool {
        let lies = |at: &toml::Table| {
            let mut other = at.clone();
            other.extend(self.baseline_settings());
            matches_settings(settings, at) || matches_settings(settings, &other)
        };
        let is_other = matches!(&self.wanted, ExpectedValue::Direction(Direction::Above { at }) if lies(at));
        lies(&self.at) || is_other
    }

    /// Whether a row belongs to this expected value.
    pub(crate) fn is_of(&self, row: &Row) -> bool {
        let place = row.what.strip_prefix(&self.what);
        place.is_some_and(|place| place.is_empty() || place.starts_with(", "))
            && (&row.source, &row.derivation) == (&self.source, &self.derivation)
            && row.second_reading == self.second_reading
    }

    /// The values that distinguish the baseline point from a point. Empty if the expected value has no
    /// baseline.
    pub(crate) fn baseline_settings(&self) -> toml::Table {
        [&self.over, &self.per, &self.beyond].into_iter().flat_map(Clone::clone).collect()
    }

    /// The settings of the baseline point for the point with `settings`. `None` if the point is its own
    /// baseline.
    pub(crate) fn other(&self, settings: &toml::Table) -> Option<toml::Table> {
        let mut other = settings.clone();
        other.extend(self.baseline_settings());
        (other != *settings).then_some(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_holds_at_its_ends_and_not_beyond() {
        let band: Band = "3 %".parse().expect("a band");
        assert!(band.holds(2.0, 2.06 - 1e-12) && band.holds(-2.0, -1.95));
        assert!(!band.holds(2.0, 2.0601) && !band.holds(2.0, f64::NAN));
        let between = Band::Between(1.0, 2.0);
        assert!(between.holds(9.0, 1.0) && between.holds(9.0, 2.0) && !between.holds(1.5, 2.1));
        assert_eq!(
            (band.to_string(), between.to_string()),
            ("within 3 %".into(), "from 1 to 2 (a factor of 2.00)".into())
        );
    }

    #[test]
    fn a_band_that_spans_more_than_a_factor_of_one_and_a_half_says_no_more_than_a_direction() {
        assert!(Band::Relative(0.2).is_narrow(7.0) && !Band::Relative(0.21).is_narrow(7.0));
        assert!(Band::Between(1.0, 1.5).is_narrow(1.2) && !Band::Between(1.0, 1.6).is_narrow(1.2));
        assert!(Band::Between(-3.0, -2.0).is_narrow(-2.5) && !Band::Between(-1.0, 2.0).is_narrow(1.0));
        assert!(Band::Between(-0.01, 0.01).is_narrow(0.0), "what is printed as nothing has no factor");
        assert_eq!(Band::Between(-1.0, 2.0).to_string(), "from -1 to 2");
    }

    #[test]
    fn a_reason_covers_its_points_and_no_others() {
        let reason: Reason =
            toml::from_str("at = { n = [1, 2] }\nquick = true\nbecause = \"B\"").expect("a reason");
        let covers = |n: i64| reason.covers(&toml::Table::from_iter([("n".to_owned(), n.into())]));
        assert!(covers(1) && covers(2) && !covers(3));
    }

    #[test]
    fn margins_are_above_zero_where_a_direction_holds() {
        let along = || "key".to_owned();
        assert_eq!(Direction::Rising { along: along() }.margins(&[1.0, 2.0, 1.5], &[]), [1.0, -0.5]);
        assert_eq!(Direction::Falling { along: along() }.margins(&[1.0, 2.0], &[]), [-1.0]);
        assert_eq!(Direction::Less { than: 3.0 }.margins(&[1.0, 4.0], &[]), [2.0, -1.0]);
        let above = Direction::Above { at: toml::Table::new() };
        assert_eq!(above.margins(&[3.0], &[1.0, 4.0]), [2.0, -1.0]);
    }

    #[test]
    fn a_rank_correlation_is_of_the_order_alone() {
        let of = |ours: &[f64], others: &[f64]| rank_correlation(ours, others);
        assert_eq!(of(&[1.0, 2.0, 300.0], &[-5.0, 0.1, 0.2]), 1.0);
        assert_eq!(of(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        // 1 - 6 (0 + 1 + 1 + 0) / (4 x 15).
        assert!((of(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-12);
        // Ranks 1.5, 1.5, 3 against 1, 2, 3: 1.5 / sqrt(1.5 x 2).
        assert!((of(&[7.0, 7.0, 9.0], &[1.0, 2.0, 3.0]) - 0.75_f64.sqrt()).abs() < 1e-12);
        assert!(of(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]).is_nan());
    }

    #[test]
    fn a_correlation_is_decided_by_three_points_with_both_columns() {
        let correlated: Direction =
            toml::from_str("correlated = { with = \"b\", above = 0.5 }").expect("a direction");
        assert!(correlated.is_decided_by(3, 3) && !correlated.is_decided_by(2, 2));
        assert!(!correlated.is_decided_by(3, 2));
        assert_eq!(correlated.margins(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), [0.5]);
        assert_eq!(correlated.margins(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), [-1.5]);
        assert_eq!(correlated.to_string(), "correlated by rank with b, above 0.5");
    }

    #[test]
    fn a_band_without_percent_or_below_zero_is_refused() {
        for text in ["3", "", "%", "-3 %", "0 %", "inf %", "three %"] {
            assert!(text.parse::<Band>().is_err(), "{text}");
        }
    }
}
