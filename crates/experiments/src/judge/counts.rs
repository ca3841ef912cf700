//! Counts of rows by verdict and class.

use std::fmt;
use std::ops::AddAssign;

use serde::Serialize;

use crate::judge::class::Class;
use crate::judge::outcome::{Row, Verdict};

/// Lists counts with their words, without zeros.
pub(crate) fn list_counts(counts: &[(usize, &str)]) -> String {
    let there = counts.iter().filter(|(count, _)| *count > 0);
    there.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
}

/// Verdict counts of the rows of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerdictCounts {
    /// Rows that are compared with an expected value.
    pub judged: usize,
    /// In a band that spans a factor of at most [`WIDEST`](crate::judge::expect::Band::WIDEST).
    pub within: usize,
    /// In a wider band, or with the sign or order that the source states.
    pub direction: usize,
    /// Outside, whatever the reason.
    pub outside: usize,
    /// Outside, cause demonstrated: a change that keeps what the source prints brings them inside.
    pub explained: usize,
    /// Outside, contradicted: no result could meet them and other numbers of the same source.
    pub contradicted: usize,
    /// Of all rows: the verdict does not hold over the whole 95 % interval over seeds.
    pub unsure: usize,
}

impl VerdictCounts {
    /// Rows outside whose cause is not demonstrated.
    pub fn without_demonstrated_cause(&self) -> usize {
        self.outside - self.explained - self.contradicted
    }

    fn add(&mut self, row: &Row) {
        self.judged += 1;
        match row.verdict {
            Verdict::Within => self.within += 1,
            Verdict::Direction => self.direction += 1,
            _ => self.outside += 1,
        }
        let missed = row.verdict == Verdict::Outside;
        self.explained += usize::from(missed && row.explained);
        self.contradicted += usize::from(missed && row.contradicted);
        self.unsure += usize::from(!row.sure);
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

/// Counts of rows by verdict and class. Rows under a change of the model are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Rows that are not compared.
    pub shown: usize,
}

impl Counts {
    /// Counts rows.
    pub(crate) fn of(rows: &[Row]) -> Self {
        let mut counts = Self::default();
        for row in rows.iter().filter(|row| row.under.is_none()) {
            match row.verdict {
                Verdict::Shown => counts.shown += 1,
                _ => counts.class_mut(row.class).add(row),
            }
        }
        counts
    }

    /// Counts of a class.
    pub fn class(&self, class: Class) -> VerdictCounts {
        let mut counts = *self;
        *counts.class_mut(class)
    }

    fn class_mut(&mut self, class: Class) -> &mut VerdictCounts {
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

    /// Whether any row tests the model.
    pub fn has_judged(&self) -> bool {
        self.by_class().any(|(class, _)| class.is_judged())
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        Class::ALL.into_iter().for_each(|class| *self.class_mut(class) += other.class(class));
        self.shown += other.shown;
    }
}

impl fmt::Display for Counts {
    /// Formats the last line of a table.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, stand) in self.by_class() {
            write!(out, "{class}: {stand}; ")?;
        }
        write!(out, "{} shown", self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_what_they_are_compared_with() {
        let row = |class, verdict| Row { class, verdict, ..Row::named("R".into()) };
        let missed = row(Class::Printed, Verdict::Outside);
        let rows = [
            row(Class::Printed, Verdict::Within),
            row(Class::Printed, Verdict::Direction),
            Row { explained: true, ..missed.clone() },
            Row { contradicted: true, sure: false, ..missed.clone() },
            Row { under: Some("a change".into()), ..missed.clone() },
            missed,
            row(Class::Identity, Verdict::Within),
            row(Class::Printed, Verdict::Shown),
        ];
        let mut counts = Counts::of(&rows);
        assert_eq!(
            counts.to_string(),
            "printed numbers: 5 judged, 1 within, 1 direction, 3 outside (1 explained, 1 contradicted, 1 no reason shown, 1 with a question mark); \
             identities: 1 judged, 1 within, 0 direction, 0 outside; 1 shown"
        );
        assert!(counts.has_judged() && !Counts::of(&rows[6..]).has_judged());
        counts += counts;
        assert_eq!((counts.printed.judged, counts.identities.within, counts.shown), (10, 2, 2));
    }
}
