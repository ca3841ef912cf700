//! The outcome of an experiment: rows with the paper's value and ours.

use std::fmt;

use serde::Serialize;

use crate::judge::class::Class;
use crate::judge::counts::Counts;
use crate::judge::map::Map;
use wordline_lab::provenance::Provenance;

/// The outcome of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Experiment, `PAPER/NAME`.
    pub experiment: String,
    /// The program that reproduced the experiment, and its command line.
    pub provenance: Provenance,
    /// Seed of all random streams. Of several seeds, the first.
    pub seed: u64,
    /// Number of consecutive seeds that were run. If the first two seeds give the same events, no further
    /// seed is run.
    pub seeds: u32,
    /// Counts of the rows by class and verdict.
    pub counts: Counts,
    /// The rows.
    pub rows: Vec<Row>,
    /// The rows of the first seed alone.
    #[serde(skip)]
    pub first: Vec<Row>,
    /// Differences from the list of known rows: rows outside that are not listed, and listed rows that are
    /// inside. If there are any, the exit code is 1.
    pub surprises: Vec<String>,
    /// Capacity and geometry of each different device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Measured values of each point of a sweep, by dotted names, for charts and tables of the user. For
    /// logical units they are all columns, for devices the columns of the experiment's charts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Measured>,
    /// Maps for the first seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<Map>,
    /// Stages of each point in order of their beginnings, if recorded.
    #[serde(skip)]
    pub traces: Vec<Trace>,
    /// Notes for the reader, for example on scaling, or on an interruption.
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

    /// The paper of the experiment, or its group of checks.
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
    /// Values of the columns.
    pub values: serde_json::Value,
}

fn as_map<S: serde::Serializer>(at: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(at.iter().map(|(key, value)| (key, value)))
}

/// The stages of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Values of the varied keys.
    pub at: Vec<(String, Value)>,
    /// Stages.
    pub spans: Vec<wordline_nand::Span>,
}

/// A row: the paper's value and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// ID of the claim in the validation ledger; null for checks that belong to no claim.
    pub claim: Option<String>,
    /// Description.
    pub what: String,
    /// Published value, or the published direction as text.
    pub paper: Value,
    /// Our value, or our values in the order of the direction.
    pub ours: Value,
    /// Unit of both values.
    pub unit: String,
    /// Greatest deviation of our value from the paper's; empty for a direction.
    pub band: String,
    /// Ends of the 95 % confidence interval of our value, by Student's t, if it is a mean over seeds that
    /// differ.
    pub interval: Option<[f64; 2]>,
    /// Our number for each seed, null if the seed has no value; empty for other rows.
    pub by_seed: Vec<Option<f64>>,
    /// Whether all seeds give the same value. False for a single seed.
    pub equal: bool,
    /// Whether single seeds give different verdicts.
    pub changes: bool,
    /// Least and greatest value in the band, if the band is numeric.
    #[serde(skip)]
    pub limits: Option<[f64; 2]>,
    /// Derivation of the band from the parameters that the source does not give; empty without a band.
    pub derivation: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Whether the whole confidence interval gives the same verdict. Otherwise the verdict is written with a
    /// question mark.
    pub sure: bool,
    /// Source of the paper's value: table, figure or section.
    pub source: String,
    /// For interpretation B of the source: the reason why it is compared; otherwise null.
    pub second_reading: Option<String>,
    /// Kind of value that it is compared with.
    pub class: Class,
    /// Explanation for the reader; may be empty.
    pub note: String,
    /// Whether the row is outside and other numbers of the same paper contradict it.
    pub contradicted: bool,
    /// Whether the row is outside with a demonstrated cause. The experiment gives a reason, which is in the
    /// note. A change of the model that removes the reason, and keeps everything that the source prints,
    /// brings the row inside.
    pub explained: bool,
    /// Name of the change of the model under which the row was repeated; null for ordinary rows. Repeated
    /// rows are not counted.
    pub under: Option<String>,
    /// Whether the expected value was derived here, because the source does not print it.
    pub own_expectation: bool,
    /// Whether our value depends on the machine and its load.
    #[serde(skip)]
    pub of_the_machine: bool,
    /// Position of the row in charts: names and values of the varied keys.
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

    /// Whether the row is shown after the rows of interpretation A.
    pub(crate) fn is_folded(&self) -> bool {
        self.second_reading.is_some() || self.under.is_some()
    }

    /// Marks the cause as not demonstrated.
    #[must_use]
    pub(crate) fn into_suspected(self) -> Self {
        Self { explained: false, note: format!("Suspected, and not shown: {}", self.note), ..self }
    }

    /// Verdict in the form of tables.
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

    /// Description; interpretation B of the source is marked.
    pub fn shown_what(&self) -> String {
        let reading = if self.second_reading.is_some() { " (second reading)" } else { "" };
        let under = self.under.as_ref().map(|change| format!(" (under: {change})")).unwrap_or_default();
        format!("{}{reading}{under}", self.what)
    }

    /// Remarks below a table: why the value is outside, why it is compared in interpretation B, and how the
    /// band is derived.
    pub fn remarks(&self) -> String {
        let parts = [
            (!self.note.is_empty()).then(|| self.note.clone()),
            self.second_reading.as_ref().map(|reason| format!("Second reading: {reason}")),
            (!self.derivation.is_empty()).then(|| format!("Band: {}", self.derivation)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Both values as text, ours with the half-width of its interval. Numbers have three digits, or as many
    /// as the paper prints if these are more.
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
                // The value of a closed form has any number of digits. Five suffice.
                let digits = decimals.len().min(5_usize.saturating_sub(whole.len()));
                return [format!("{paper:.digits$}"), format!("{ours:.digits$}")];
            }
        }
        [self.paper.to_string(), self.ours.to_string()]
    }
}

/// A number or a text.
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

/// Text for a value that does not exist, such as a ratio to zero or a mean over nothing.
pub(crate) const NO_VALUE: &str = "no value";

/// Verdict: the relation of our value to the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Ours is within the band.
    Within,
    /// Ours is outside of the band, or contradicts the direction.
    Outside,
    /// Ours agrees with the sign or order that the source states.
    Direction,
    /// Nothing is compared: ours is shown. The paper's value is shown for information.
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
