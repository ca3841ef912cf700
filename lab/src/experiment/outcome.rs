//! What came out of an experiment: rows with the paper's value beside ours.

use std::fmt;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

/// What came out of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The experiment, `PAPER/NAME`.
    pub experiment: String,
    /// Its rows.
    pub rows: Vec<Row>,
    /// What was measured at each point of a sweep, for charts and tables of one's own: over logical units all columns, over
    /// devices those of the experiment's charts, by their names with dots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Measured>,
    /// The stages of each point in the order of their beginning, where they were recorded.
    #[serde(skip)]
    pub traces: Vec<Trace>,
    /// Things that the reader should know: what was scaled down, that it was interrupted.
    pub notes: Vec<String>,
}

impl Outcome {
    /// An outcome without rows yet.
    pub fn new(experiment: &str) -> Self {
        let (rows, points, traces, notes) = Default::default();
        Self { experiment: experiment.to_owned(), rows, points, traces, notes }
    }

    /// How many rows lie outside of their band, explained or not.
    pub fn outside(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict == Verdict::Outside).count()
    }

    /// How many of these the paper's own numbers explain: no result could meet all of them.
    pub fn contradicted(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict == Verdict::Outside && row.contradicted).count()
    }

    /// How many of the others are known, and explained in the experiment.
    pub fn explained(&self) -> usize {
        let known = |row: &&Row| row.verdict == Verdict::Outside && row.explained && !row.contradicted;
        self.rows.iter().filter(known).count()
    }

    /// How many of them nothing explains: those for which the program's exit code is 1.
    pub fn unexplained(&self) -> usize {
        self.outside() - self.contradicted() - self.explained()
    }
}

/// What was measured at a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The varied keys with their values.
    #[serde(serialize_with = "as_map")]
    pub at: Vec<(String, Value)>,
    /// The columns.
    pub values: serde_json::Value,
}

fn as_map<S: serde::Serializer>(at: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(at.iter().map(|(key, value)| (key, value)))
}

/// The stages of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The varied keys with their values.
    pub at: Vec<(String, Value)>,
    /// The stages.
    pub spans: Vec<wordline_nand::Span>,
}

/// The paper's value beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The claim of the ledger; null for a check of our own.
    pub claim: Option<String>,
    /// What it is.
    pub what: String,
    /// The published value, or the published direction in words.
    pub paper: Value,
    /// Our value, or our values along the direction.
    pub ours: Value,
    /// The unit of both.
    pub unit: String,
    /// How far ours may lie from the paper's; empty for a direction.
    pub band: String,
    /// Whether it does.
    pub verdict: Verdict,
    /// Where the paper's value comes from.
    pub source: String,
    /// An explanation, where one is needed; else empty.
    pub note: String,
    /// Whether other numbers of the same paper contradict this one.
    pub contradicted: bool,
    /// Whether it is known to lie outside of its band, and the note says why.
    pub explained: bool,
    /// Where the row lies in its charts: names and values.
    #[serde(skip)]
    pub at: Vec<(String, Value)>,
}

impl Row {
    /// The verdict in a table: a row that lies outside of its band for a stated reason is `explained`.
    pub fn shown_verdict(&self) -> String {
        match self.verdict {
            Verdict::Outside if self.explained || self.contradicted => "explained".to_owned(),
            verdict => verdict.to_string(),
        }
    }

    /// Both values as text: three digits, or as many as the paper prints where those are more.
    pub fn shown(&self) -> [String; 2] {
        if let (Value::Number(paper), Value::Number(ours)) = (&self.paper, &self.ours) {
            let text = paper.to_string();
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            if let Some((whole, decimals)) = text.split_once('.').filter(|_| digits > 3) {
                // The value of a formula has no end: five digits say enough.
                let digits = decimals.len().min(5_usize.saturating_sub(whole.len()));
                return [format!("{paper:.digits$}"), format!("{ours:.digits$}")];
            }
        }
        [self.paper.to_string(), self.ours.to_string()]
    }
}

/// A number, or words.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => out.write_str(&crate::report::three_digits(*number)),
            Self::Text(text) => out.write_str(text),
        }
    }
}

/// How our value stands to the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// In the stated band.
    Within,
    /// Outside of the stated band, or against the stated direction.
    Outside,
    /// The paper states a direction, and ours is the same.
    Trend,
    /// Nothing is expected: ours is shown, beside the paper's for information.
    Shown,
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Within => "within",
            Self::Outside => "OUTSIDE",
            Self::Trend => "trend",
            Self::Shown => "shown",
        })
    }
}

/// The rows as a table for a terminal of `width` columns.
pub fn table(outcome: &Outcome, width: u16) -> String {
    let mut table = Table::new();
    let style = presets::NOTHING;
    table.force_no_tty().load_style(style).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table.set_header(["claim", "what", "paper", "ours", "unit", "band", "verdict"]);
    for row in &outcome.rows {
        let [paper, ours] = row.shown();
        table.add_row([
            row.claim.clone().unwrap_or_default(),
            row.what.clone(),
            paper,
            ours,
            row.unit.clone(),
            row.band.clone(),
            row.shown_verdict(),
        ]);
    }
    for number in [2, 3] {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = format!("{}\n{table}\n", outcome.experiment);
    // Where a value agrees, its note is for the report and the JSON.
    let explained = outcome.rows.iter().filter(|row| row.verdict == Verdict::Outside && !row.note.is_empty());
    let mut explained: Vec<&Row> = explained.collect();
    explained.dedup_by_key(|row| &row.note);
    let mut notes: Vec<String> = explained.iter().map(|row| format!("{}: {}", row.what, row.note)).collect();
    notes.extend(outcome.notes.iter().cloned());
    notes.iter().for_each(|note| text += &format!("  {note}\n"));
    let compared = outcome.rows.iter().filter(|row| row.verdict != Verdict::Shown).count();
    let (all, outside) = (compared, outcome.outside());
    text += &match all {
        0 => "nothing is compared".to_owned(),
        _ => format!("{} of {all} rows agree with the paper, {outside} do not", all - outside),
    };
    let reasons = [
        (outcome.contradicted(), "of them where the paper contradicts itself"),
        (outcome.explained(), "of them known and explained"),
    ];
    for (count, why) in reasons.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {count} {why}");
    }
    text += "\n";
    text
}
