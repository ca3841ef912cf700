//! Counts of rows by class and verdict.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::judge::class::Class;

/// Lists counts with their words. Zero counts are left out.
pub(crate) fn list_counts(counts: &[(usize, &str)]) -> String {
    let there = counts.iter().filter(|(count, _)| *count > 0);
    there.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
}

/// Counts of the rows of a class by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictCounts {
    /// Rows that are compared with an expected value.
    pub judged: usize,
    /// Rows within a band whose ends differ by a factor of at most `Band::WIDEST`.
    pub within: usize,
    /// Rows within a wider band, or with the sign or order that the source states.
    pub direction: usize,
    /// Rows outside, for whatever reason.
    pub outside: usize,
    /// Rows outside whose cause is demonstrated: a change that keeps everything that the source prints brings
    /// them inside.
    pub explained: usize,
    /// Rows outside that contradict other numbers of the same source, so that no result could meet both.
    pub contradicted: usize,
    /// Rows of any verdict whose 95 % confidence interval over the seeds does not agree with the verdict.
    pub unsure: usize,
}

impl VerdictCounts {
    /// Rows outside without a demonstrated cause or contradiction.
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

/// Counts of rows by class and verdict. Rows under a change of the model are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counts {
    /// Rows of [`Class::Printed`].
    pub printed: VerdictCounts,
    /// Rows of [`Class::Direction`].
    pub directions: VerdictCounts,
    /// Rows of [`Class::ClosedForm`].
    pub closed_forms: VerdictCounts,
    /// Rows of [`Class::SecondReading`].
    pub second_readings: VerdictCounts,
    /// Rows of [`Class::Identity`].
    pub identities: VerdictCounts,
    /// Rows of [`Class::Fitted`].
    pub fitted: VerdictCounts,
    /// Rows that are not compared with anything.
    pub shown: usize,
}

impl Counts {
    /// The counts of a class.
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

    /// The classes that have rows, with their counts.
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
    /// Formats the counts as the last line of a table.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, stand) in self.by_class() {
            write!(out, "{class}: {stand}; ")?;
        }
        write!(out, "{} shown", self.shown)
    }
}
