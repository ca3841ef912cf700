//! The kinds of values that rows compare ours with. Rows are counted by class, and classes are never added up: agreement with a closed form of our own says
//! nothing of the numbers that a paper prints.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of value that a row compares ours with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A number or a word that the source prints, in the reading of it that was compared first.
    #[default]
    Printed,
    /// A sign or an order that the source states, likewise.
    Direction,
    /// The value of a closed form, or one that was derived here: the source does not print it.
    ClosedForm,
    /// The source's value in a reading that was not compared first.
    SecondReading,
    /// A value that holds by construction, whatever the model gives.
    Identity,
    /// The input itself, which comes out again: a statistic that a generator was fitted to.
    Fitted,
}

impl Class {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Printed, Self::Direction, Self::ClosedForm, Self::SecondReading, Self::Identity, Self::Fitted];

    /// Whether a row of it says something of the model.
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
