//! Classes of expected values. Rows are counted by class, and classes are never added up: agreement with a
//! closed form derived here proves nothing about the numbers that a paper prints.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of value that a row is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A number that the source prints, in interpretation A.
    #[default]
    Printed,
    /// A sign, an order or a word that the source states, in interpretation A.
    Direction,
    /// A value that the source does not print: of a closed form, or derived here.
    ClosedForm,
    /// A value of the source in another interpretation (B).
    SecondReading,
    /// A value that is reached by construction, whatever the model does.
    Identity,
    /// An input that is returned unchanged: a statistic to which a generator was fitted.
    Fitted,
}

impl Class {
    /// All classes, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Printed, Self::Direction, Self::ClosedForm, Self::SecondReading, Self::Identity, Self::Fitted];

    /// Whether rows of this class test the model.
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
