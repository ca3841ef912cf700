//! Statistics of traces, compared with the statistics that a paper prints.

use crate::judge::class::Class;
use crate::judge::expect::{Band, Reason};
use crate::judge::judged::{Sample, SeedRow};
use crate::judge::outcome::{Row, Value};

/// A published statistic of a volume, and our value for the trace or profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Volume, `PAPER/VOLUME`.
    pub volume: String,
    /// Statistic.
    pub statistic: String,
    /// Published value.
    pub paper: f64,
    /// Our value.
    pub ours: f64,
    /// Unit of both values.
    pub unit: String,
    /// Paper and table.
    pub source: String,
    /// Text that says whether a recorded trace or a profile was measured.
    pub origin: String,
    /// Whether a profile was measured, which is fitted to the printed values.
    pub own_input: bool,
    /// The reason why no trace can have the published value together with the paper's other values, if so.
    pub contradiction: Option<String>,
}

/// The row of a finding. Its band is the fraction `within`.
pub(crate) fn row(finding: Finding, claim: Option<&str>, within: f64, derivation: &str) -> SeedRow {
    let Finding { volume, statistic, paper, ours, unit, source, origin, own_input, contradiction } = finding;
    let note = contradiction
        .as_ref()
        .map_or(origin.clone(), |why| format!("{origin}; the paper's values contradict each other: {why}"));
    let because = "No trace has all of the paper's values.".to_owned();
    let contradicted = contradiction.map(|_| Reason { at: toml::Table::new(), quick: None, because });
    SeedRow {
        base: Row {
            claim: claim.map(str::to_owned),
            unit,
            derivation: derivation.to_owned(),
            source,
            class: if own_input { Class::Fitted } else { Class::Printed },
            note,
            at: vec![
                ("volume".into(), Value::Text(volume.clone())),
                ("statistic".into(), Value::Text(statistic.clone())),
            ],
            ..Row::named(format!("{volume}: {statistic}"))
        },
        sample: Sample::Number { paper: Some(paper), band: Some(Band::Relative(within)), ours },
        points: vec![toml::Table::new()],
        explained: Vec::new(),
        is_tried: false,
        contradicted: contradicted.into_iter().collect(),
    }
}
