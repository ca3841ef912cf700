//! Outcome of an experiment: rows with the paper's value and ours.

use std::fmt;

use serde::Serialize;

use crate::judge::class::Class;
use crate::judge::counts::Counts;
use crate::judge::map::Map;
use wordline_lab::provenance::Provenance;

/// Outcome of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Experiment, `PAPER/NAME`.
    pub experiment: String,
    /// Program that reproduced it.
    pub provenance: Provenance,
    /// Seed of all random streams; the first one of several.
    pub seed: u64,
    /// Number of consecutive seeds that were run. If the first two give the same events, no further ones are
    /// run.
    pub seeds: u32,
    /// Counts of its rows by verdict, once all are there.
    pub counts: Counts,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Rows of the first seed alone.
    #[serde(skip)]
    pub first: Vec<Row>,
    /// Rows that are outside and not listed as such, and listed ones that are inside: the exit code is 1 if
    /// there are any.
    pub surprises: Vec<String>,
    /// Capacity and geometry of the distinct devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Measured values of each point of a sweep, for the user's own charts and tables: all columns of logical
    /// units, or the columns of the experiment's charts for devices, by dotted names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Measured>,
    /// Its maps, for the first seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<Map>,
    /// Stages of each point in order of their start, if recorded.
    #[serde(skip)]
    pub traces: Vec<Trace>,
    /// Notes for the reader: what was scaled down, or that it was interrupted.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Creates an outcome without rows.
    pub fn new(experiment: &str) -> Self {
        Self {
            experiment: experiment.to_owned(),
            provenance: Provenance::default(),
            seed: 0,
            seeds: 1,
            counts: Counts::default(),
            rows: Vec::new(),
            first: Vec::new(),
            devices: Vec::new(),
            surprises: Vec::new(),
            points: Vec::new(),
            maps: Vec::new(),
            traces: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Replaces the rows.
    pub(crate) fn set_rows(&mut self, rows: Vec<Row>) {
        self.counts = Counts::of(&rows);
        self.rows = rows;
    }

    /// Paper, or group of checks, that it belongs to.
    pub fn paper(&self) -> &str {
        self.experiment.split('/').next().unwrap_or_default()
    }
}

/// Measured values of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Values of the varied keys.
    #[serde(serialize_with = "as_map")]
    pub at: Vec<(String, Value)>,
    /// Columns.
    pub values: serde_json::Value,
}

fn as_map<S: serde::Serializer>(at: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(at.iter().map(|(key, value)| (key, value)))
}

/// Stages of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Values of the varied keys.
    pub at: Vec<(String, Value)>,
    /// Stages.
    pub spans: Vec<wordline_nand::Span>,
}

/// The paper's value and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Claim of the ledger; null for a check of our own.
    pub claim: Option<String>,
    /// Description.
    pub what: String,
    /// Published value, or the published direction as text.
    pub paper: Value,
    /// Our value, or our values along the direction.
    pub ours: Value,
    /// Unit of both.
    pub unit: String,
    /// Largest deviation of ours from the paper's; empty for a direction.
    pub band: String,
    /// Ends of the 95 % interval of ours by Student's t, if ours is a mean over seeds that differ.
    pub interval: Option<[f64; 2]>,
    /// Our number for each seed, if it is one; null without a value.
    pub by_seed: Vec<Option<f64>>,
    /// Whether it is equal for all seeds, of which there are at least two.
    pub equal: bool,
    /// Whether the verdict for one seed alone differs between seeds.
    pub changes: bool,
    /// Least and greatest value in the band, if it is numeric.
    #[serde(skip)]
    pub limits: Option<[f64; 2]>,
    /// Derivation of the band from what the source does not give; empty without a band.
    pub derivation: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Whether the verdict holds over the whole interval; otherwise it is written with a question mark.
    pub sure: bool,
    /// Source of the paper's value.
    pub source: String,
    /// For interpretation B of the source: why it is compared; null otherwise.
    pub second_reading: Option<String>,
    /// Kind of value that it is compared with.
    pub class: Class,
    /// An explanation, if needed; otherwise empty.
    pub note: String,
    /// Whether it is outside, and other numbers of the same paper contradict it there.
    pub contradicted: bool,
    /// Whether it is outside with a demonstrated cause: the experiment gives a reason for its points, which
    /// the note states, and a change of the model that keeps what the source prints and removes the reason
    /// brings it inside.
    pub explained: bool,
    /// Change of the model under which the row was repeated; null for all others. It is not counted.
    pub under: Option<String>,
    /// Whether the expected value is derived here: the source does not print it.
    pub own_expectation: bool,
    /// Whether ours depends on the machine and its load.
    #[serde(skip)]
    pub of_the_machine: bool,
    /// Position of the row in its charts: names and values.
    #[serde(skip)]
    pub at: Vec<(String, Value)>,
}

impl Row {
    /// Creates a row with a description only.
    pub(crate) fn named(what: String) -> Self {
        Self {
            claim: None,
            what,
            paper: Value::Text(String::new()),
            ours: Value::Text(String::new()),
            unit: String::new(),
            band: String::new(),
            interval: None,
            by_seed: Vec::new(),
            equal: false,
            changes: false,
            limits: None,
            derivation: String::new(),
            verdict: Verdict::Shown,
            sure: true,
            source: String::new(),
            second_reading: None,
            class: Class::Printed,
            note: String::new(),
            contradicted: false,
            explained: false,
            under: None,
            own_expectation: false,
            of_the_machine: false,
            at: Vec::new(),
        }
    }

    /// Whether it is shown after the rows of interpretation A.
    pub(crate) fn is_folded(&self) -> bool {
        self.second_reading.is_some() || self.under.is_some()
    }

    /// Marks the cause as not demonstrated.
    #[must_use]
    pub(crate) fn into_suspected(self) -> Self {
        Self { explained: false, note: format!("Suspected, and not shown: {}", self.note), ..self }
    }

    /// Verdict as shown in a table.
    pub fn shown_verdict(&self) -> String {
        let mark = if self.sure { "" } else { "?" };
        let verdict = self.verdict;
        match verdict {
            Verdict::Outside if self.under.is_some() => format!("outside{mark}, not counted"),
            Verdict::Within | Verdict::Direction if self.under.is_some() => {
                format!("{verdict}{mark}, not counted")
            }
            Verdict::Outside if self.contradicted => format!("outside{mark}, contradicted"),
            Verdict::Outside if self.explained => format!("outside{mark}, explained"),
            Verdict::Outside => format!("{verdict}{mark}, no reason"),
            Verdict::Within | Verdict::Direction if !self.class.is_judged() => self.class.to_string(),
            verdict => format!("{verdict}{mark}"),
        }
    }

    /// Description, marked if this is interpretation B of the source.
    pub fn shown_what(&self) -> String {
        let reading = if self.second_reading.is_some() { " (second reading)" } else { "" };
        let under = self.under.as_ref().map(|change| format!(" (under: {change})")).unwrap_or_default();
        format!("{}{reading}{under}", self.what)
    }

    /// Remarks below a table: why the value is outside, why there is another interpretation, how the band is
    /// derived.
    pub fn remarks(&self) -> String {
        let parts = [
            (!self.note.is_empty()).then(|| self.note.clone()),
            self.second_reading.as_ref().map(|reason| format!("Second reading: {reason}")),
            (!self.derivation.is_empty()).then(|| format!("Band: {}", self.derivation)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Both values as text, ours with its half interval: three digits, or as many as the paper prints if
    /// more.
    pub fn shown(&self) -> [String; 2] {
        let [paper, ours] = self.values();
        let half = self.interval.map(|[least, greatest]| Value::Number((greatest - least) / 2.0));
        [paper, half.map_or(ours.clone(), |half| format!("{ours} ± {half}"))]
    }

    /// Both values as text.
    fn values(&self) -> [String; 2] {
        if let (Value::Number(paper), Value::Number(ours)) = (&self.paper, &self.ours) {
            let text = paper.to_string();
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            if let Some((whole, decimals)) = text.split_once('.').filter(|_| digits > 3) {
                // The value of a formula has unlimited digits: five suffice.
                let digits = decimals.len().min(5_usize.saturating_sub(whole.len()));
                return [format!("{paper:.digits$}"), format!("{ours:.digits$}")];
            }
        }
        [self.paper.to_string(), self.ours.to_string()]
    }
}

/// A number, or text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => out.write_str(&wordline_lab::report::three_digits(*number)),
            Self::Text(text) => out.write_str(text),
        }
    }
}

/// Text in place of a value that does not exist: a ratio to zero, a mean over nothing.
pub(crate) const NO_VALUE: &str = "no value";

/// Relation of our value to the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// In the stated band.
    Within,
    /// Outside of the stated band, or against the stated direction.
    Outside,
    /// The source states a sign or an order, and ours agrees.
    Direction,
    /// Nothing is expected: ours is shown, with the paper's for information.
    Shown,
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Within => "within",
            Self::Outside => "OUTSIDE",
            Self::Direction => "direction",
            Self::Shown => "shown",
        })
    }
}
