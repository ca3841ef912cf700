//! The outcome of an experiment: rows with the paper's value beside ours.

use std::fmt;

use serde::Serialize;

use crate::judge::class::Class;
use crate::judge::counts::Counts;
use crate::judge::map::Map;
use wordline_lab::provenance::Provenance;

/// The outcome of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The experiment, `PAPER/NAME`.
    pub experiment: String,
    /// The program that repeated it.
    pub provenance: Provenance,
    /// The seed of all random streams; the first one where there are several.
    pub seed: u64,
    /// How many seeds were run, one after the other from the first one on. Where the first two give the same events, no more are.
    pub seeds: u32,
    /// How its rows stand, once all of them are there.
    pub counts: Counts,
    /// Its rows.
    pub rows: Vec<Row>,
    /// The rows of the first seed alone.
    #[serde(skip)]
    pub first: Vec<Row>,
    /// The rows that lie outside and are not named in the list of those that do, and those that it names and that do not: the exit code
    /// is 1 where there are some.
    pub surprises: Vec<String>,
    /// The capacity and geometry of the devices that were run, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// The measured values of each point of a sweep, for charts and tables of the user's own: over logical units all
    /// columns, over devices those of the experiment's charts, by their names with dots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Measured>,
    /// Its maps, by the first seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<Map>,
    /// The stages of each point in the order of their beginning, where they were recorded.
    #[serde(skip)]
    pub traces: Vec<Trace>,
    /// Things that the reader should know: what was scaled down, that it was interrupted.
    pub notes: Vec<String>,
}

impl Outcome {
    /// An outcome without rows yet.
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

    /// The same with other rows.
    pub(crate) fn set_rows(&mut self, rows: Vec<Row>) {
        self.counts = Counts::of(&rows);
        self.rows = rows;
    }

    /// The paper, or the group of checks, that it belongs to.
    pub fn paper(&self) -> &str {
        self.experiment.split('/').next().unwrap_or_default()
    }
}

/// The measured values of a point.
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
    /// Its description.
    pub what: String,
    /// The published value, or the published direction in words.
    pub paper: Value,
    /// Our value, or our values along the direction.
    pub ours: Value,
    /// The unit of both.
    pub unit: String,
    /// How far ours may lie from the paper's; empty for a direction.
    pub band: String,
    /// The least and the greatest value of the 95 % interval of ours by Student's t, where ours is a mean over seeds that differ.
    pub interval: Option<[f64; 2]>,
    /// Our number with each seed, where it is one; null where there is no value.
    pub by_seed: Vec<Option<f64>>,
    /// Whether it is the same with all seeds, of which there are at least two.
    pub equal: bool,
    /// Whether the verdict by one seed alone is not the same for all of them.
    pub changes: bool,
    /// The least and the greatest value in the band, where it is one of numbers.
    #[serde(skip)]
    pub limits: Option<[f64; 2]>,
    /// How the band follows from what the source leaves open; empty where there is none.
    pub derivation: String,
    /// Whether it does.
    pub verdict: Verdict,
    /// Whether the whole interval has that verdict; a verdict of which this is not so is written with a question mark.
    pub sure: bool,
    /// Where the paper's value comes from.
    pub source: String,
    /// Why this is a second reading of the source, where it is one; null else.
    pub second_reading: Option<String>,
    /// The kind of value that it is compared with.
    pub class: Class,
    /// An explanation, where one is needed; else empty.
    pub note: String,
    /// Whether it lies outside, and other numbers of the same paper contradict it there.
    pub contradicted: bool,
    /// Whether it lies outside at points for which the experiment has a reason, which the note says, and a change of the model that keeps what the
    /// source prints and takes the reason away brings it inside.
    pub explained: bool,
    /// The change of the model under which this is the row once more, beside that without it; null for all others. It is not counted.
    pub under: Option<String>,
    /// Whether the value in the place of the paper's is derived here: the source does not print it.
    pub own_expectation: bool,
    /// Whether ours depends on the machine and what else runs on it.
    #[serde(skip)]
    pub of_the_machine: bool,
    /// Where the row lies in its charts: names and values.
    #[serde(skip)]
    pub at: Vec<(String, Value)>,
}

impl Row {
    /// A row that nothing is known of but its description.
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

    /// Whether it stands behind the first readings of claims.
    pub(crate) fn is_folded(&self) -> bool {
        self.second_reading.is_some() || self.under.is_some()
    }

    /// The same where no change of the model has shown its reason.
    #[must_use]
    pub(crate) fn suspected(self) -> Self {
        Self { explained: false, note: format!("Suspected, and not shown: {}", self.note), ..self }
    }

    /// The verdict in a table.
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

    /// Its description, which tells whether this is a second reading of the source.
    pub fn shown_what(&self) -> String {
        let reading = if self.second_reading.is_some() { " (second reading)" } else { "" };
        let under = self.under.as_ref().map(|change| format!(" (under: {change})")).unwrap_or_default();
        format!("{}{reading}{under}", self.what)
    }

    /// The remarks below a table: why the value lies outside, why the source is read again, how the band follows.
    pub fn remarks(&self) -> String {
        let parts = [
            (!self.note.is_empty()).then(|| self.note.clone()),
            self.second_reading.as_ref().map(|reason| format!("Second reading: {reason}")),
            (!self.derivation.is_empty()).then(|| format!("Band: {}", self.derivation)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Both values as text, ours with half of its interval: three digits, or as many as the paper prints where those are more.
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
            Self::Number(number) => out.write_str(&wordline_lab::report::three_digits(*number)),
            Self::Text(text) => out.write_str(text),
        }
    }
}

/// The text in place of a value that does not exist: a ratio to nothing, a mean of nothing.
pub(crate) const NO_VALUE: &str = "no value";

/// How our value stands to the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// In the stated band.
    Within,
    /// Outside of the stated band, or against the stated direction.
    Outside,
    /// The source states a sign or an order, and ours is the same.
    Direction,
    /// Nothing is expected: ours is shown, beside the paper's for information.
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
