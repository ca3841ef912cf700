//! Kinds of expected values. Rows are counted by class, and classes are never summed: agreement with a closed
//! form of our own proves nothing about the numbers that a paper prints.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kind of value that a row is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A number or a text that the source prints, in interpretation A.
    #[default]
    Printed,
    /// A sign or an order that the source states, in interpretation A.
    Direction,
    /// The value of a closed form, or one that was derived here: the source does not print it.
    ClosedForm,
    /// The source's value in another interpretation (B).
    SecondReading,
    /// A value that holds by construction, whatever the model gives.
    Identity,
    /// The input itself, returned unchanged: a statistic to which a generator was fitted.
    Fitted,
}

impl Class {
    /// All classes, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Printed, Self::Direction, Self::ClosedForm, Self::SecondReading, Self::Identity, Self::Fitted];

    /// Whether its rows test the model.
    pub fn is_judged(self) -> bool {
        !matches!(self, Self::Identity | Self::Fitted)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Printed => "printed numbers",
            Self::Direction => "directions",
            Self::ClosedForm => "closed forms",
            Self::SecondReading => "second readings",
            Self::Identity => "identities",
            Self::Fitted => "fitted",
        })
    }
}
