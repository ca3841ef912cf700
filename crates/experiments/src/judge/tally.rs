//! Counts the rows of an outcome.

use crate::judge::counts::{Counts, VerdictCounts};
use crate::judge::outcome::{Row, Verdict};

impl VerdictCounts {
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

impl Counts {
    /// The counts of rows.
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

    /// Whether any row tests the model.
    pub fn has_judged(&self) -> bool {
        self.by_class().any(|(class, _)| class.is_judged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::class::Class;

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
