//! How many rows stand how.

use std::fmt;
use std::ops::AddAssign;

use serde::Serialize;

use crate::judge::outcome::{Row, Verdict};

/// How many rows stand how. Rows that only return what was put in are counted apart from those that are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Compared with a band or a direction: `within`, `direction` and `outside` together.
    pub judged: usize,
    /// In a band that follows from what the source leaves open.
    pub within: usize,
    /// Of the sign or order that the source states.
    pub direction: usize,
    /// Neither, whatever the reason.
    pub outside: usize,
    /// Of all judged: the 95 % interval over seeds does not agree with the mean.
    pub unsure: usize,
    /// Of those outside: with a reason at these points.
    pub explained: usize,
    /// Of those outside: no result could meet them and other numbers of the same source.
    pub contradicted: usize,
    /// Of those outside, and of those that return their own input: missed without a reason.
    pub unexplained: usize,
    /// Compared with nothing.
    pub shown: usize,
    /// Only returning what was put in, such as the statistics of a profile.
    pub own_input: usize,
}

impl Counts {
    /// The counts of rows.
    pub(crate) fn of(rows: &[Row]) -> Self {
        let mut counts = Self::default();
        rows.iter().for_each(|row| counts.add(row));
        counts
    }

    fn add(&mut self, row: &Row) {
        if row.under.is_some() {
            return;
        }
        let missed = row.verdict == Verdict::Outside;
        self.unexplained += usize::from(missed && !row.explained && !row.contradicted);
        if row.own_input {
            self.own_input += 1;
            return;
        }
        self.judged += usize::from(row.verdict != Verdict::Shown);
        self.unsure += usize::from(row.verdict != Verdict::Shown && !row.sure);
        self.contradicted += usize::from(missed && row.contradicted);
        self.explained += usize::from(missed && row.explained);
        match row.verdict {
            Verdict::Within => self.within += 1,
            Verdict::Direction => self.direction += 1,
            Verdict::Outside => self.outside += 1,
            Verdict::Shown => self.shown += 1,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.judged += other.judged;
        self.within += other.within;
        self.direction += other.direction;
        self.outside += other.outside;
        self.unsure += other.unsure;
        self.explained += other.explained;
        self.contradicted += other.contradicted;
        self.unexplained += other.unexplained;
        self.shown += other.shown;
        self.own_input += other.own_input;
    }
}

impl fmt::Display for Counts {
    /// As the last line of a table.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { judged, within, direction, outside, .. } = self;
        write!(out, "{judged} judged: {within} within, {direction} direction, {outside} outside")?;
        let reasons = [
            (self.explained, "explained"),
            (self.contradicted, "contradicted"),
            (self.unexplained, "without a reason"),
        ];
        let reasons: Vec<String> = reasons
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} {why}"))
            .collect();
        if !reasons.is_empty() {
            write!(out, " ({})", reasons.join(", "))?;
        }
        if self.unsure > 0 {
            write!(out, "; {} of them with an interval that reaches over the edge", self.unsure)?;
        }
        write!(out, "; {} shown", self.shown)?;
        if self.own_input > 0 {
            write!(out, "; {} that only return their own input", self.own_input)?;
        }
        Ok(())
    }
}
