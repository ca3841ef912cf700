//! Statistics of traces beside those that a paper prints of them.

use crate::judge::expect::Band;
use crate::judge::outcome::{Row, Value, Verdict};

/// A published statistic of a volume and the same of what stands in for it here.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The volume, `PAPER/VOLUME`.
    pub volume: String,
    /// The statistic.
    pub statistic: String,
    /// The published value.
    pub paper: f64,
    /// Our value.
    pub ours: f64,
    /// The unit of both.
    pub unit: String,
    /// Paper and table.
    pub source: String,
    /// Whether a real trace or a profile was measured.
    pub origin: String,
    /// Whether it was a profile, which is made to have what the paper prints.
    pub own_input: bool,
    /// Why no trace can have the published value beside the paper's other ones, where that is so.
    pub contradiction: Option<String>,
}

/// The row of a finding, whose band is the fraction `within`.
pub(crate) fn row(finding: Finding, claim: Option<&str>, within: f64, derivation: &str) -> Row {
    let Finding { volume, statistic, paper, ours, unit, source, origin, own_input, contradiction } = finding;
    let band = Band::Relative(within);
    let holds = band.holds(paper, ours);
    let contradicted = contradiction.is_some() && !holds;
    let note = contradiction
        .map_or(origin.clone(), |why| format!("{origin}; the paper's values contradict each other: {why}"));
    Row {
        claim: claim.map(str::to_owned),
        what: format!("{volume}: {statistic}"),
        paper: Value::Number(paper),
        ours: Value::Number(ours),
        unit,
        band: band.to_string(),
        limits: Some(band.limits(paper)),
        derivation: derivation.to_owned(),
        verdict: if holds { Verdict::Within } else { Verdict::Outside },
        source,
        second_reading: None,
        own_input,
        note,
        contradicted,
        explained: false,
        of_the_machine: false,
        at: vec![("volume".into(), Value::Text(volume)), ("statistic".into(), Value::Text(statistic))],
    }
}
