//! How many rows stand how, by what they are compared with.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::judge::class::Class;

/// Counts with their words, those of nothing left out.
pub(crate) fn list_counts(counts: &[(usize, &str)]) -> String {
    let there = counts.iter().filter(|(count, _)| *count > 0);
    there.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
}

/// How the rows of a class stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictCounts {
    /// All of them that are compared with anything.
    pub judged: usize,
    /// In a band that spans a factor of at most `Band::WIDEST`.
    pub within: usize,
    /// In a wider band, or of the sign or order that the source states.
    pub direction: usize,
    /// Neither, whatever the reason.
    pub outside: usize,
    /// Of those outside: a change that keeps what the source prints brings them inside.
    pub explained: usize,
    /// Of those outside: no result could meet them and other numbers of the same source.
    pub contradicted: usize,
    /// Of all: the 95 % interval over seeds does not agree with the mean.
    pub unsure: usize,
}

impl VerdictCounts {
    /// Those outside without a reason that was shown.
    pub fn without_demonstrated_cause(&self) -> usize {
        self.outside - self.explained - self.contradicted
    }
}

impl AddAssign for VerdictCounts {
    fn add_assign(&mut self, other: Self) {
        self.judged += other.judged;
        self.within += other.within;
        self.direction += other.direction;
        self.outside += other.outside;
        self.explained += other.explained;
        self.contradicted += other.contradicted;
        self.unsure += other.unsure;
    }
}

impl fmt::Display for VerdictCounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { judged, within, direction, outside, explained, contradicted, unsure } = *self;
        write!(out, "{judged} judged, {within} within, {direction} direction, {outside} outside")?;
        let reasons = list_counts(&[
            (explained, "explained"),
            (contradicted, "contradicted"),
            (self.without_demonstrated_cause(), "no reason shown"),
            (unsure, "with a question mark"),
        ]);
        if reasons.is_empty() { Ok(()) } else { write!(out, " ({reasons})") }
    }
}

/// How many rows stand how. Rows under a change of the model are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counts {
    /// [`Class::Printed`].
    pub printed: VerdictCounts,
    /// [`Class::Direction`].
    pub directions: VerdictCounts,
    /// [`Class::ClosedForm`].
    pub closed_forms: VerdictCounts,
    /// [`Class::SecondReading`].
    pub second_readings: VerdictCounts,
    /// [`Class::Identity`].
    pub identities: VerdictCounts,
    /// [`Class::Fitted`].
    pub fitted: VerdictCounts,
    /// Compared with nothing.
    pub shown: usize,
}

impl Counts {
    /// How the rows of a class stand.
    pub fn class(&self, class: Class) -> VerdictCounts {
        let mut counts = *self;
        *counts.class_mut(class)
    }

    pub(crate) fn class_mut(&mut self, class: Class) -> &mut VerdictCounts {
        match class {
            Class::Printed => &mut self.printed,
            Class::Direction => &mut self.directions,
            Class::ClosedForm => &mut self.closed_forms,
            Class::SecondReading => &mut self.second_readings,
            Class::Identity => &mut self.identities,
            Class::Fitted => &mut self.fitted,
        }
    }

    /// The classes that have rows, and how these stand.
    pub fn by_class(&self) -> impl Iterator<Item = (Class, VerdictCounts)> + use<> {
        let counts = *self;
        let all = Class::ALL.into_iter().map(move |class| (class, counts.class(class)));
        all.filter(|(_, stand)| stand.judged > 0)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        Class::ALL.into_iter().for_each(|class| *self.class_mut(class) += other.class(class));
        self.shown += other.shown;
    }
}

impl fmt::Display for Counts {
    /// As the last line of a table.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, stand) in self.by_class() {
            write!(out, "{class}: {stand}; ")?;
        }
        write!(out, "{} shown", self.shown)
    }
}
