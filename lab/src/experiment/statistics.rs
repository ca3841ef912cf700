//! Statistics of traces beside those that a paper prints of them.

use super::expect::Band;
use super::outcome::{Row, Value, Verdict};

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
    /// Why no trace can have the published value beside the paper's other ones, where that is so.
    pub contradiction: Option<String>,
}

/// The row of a finding, whose band is the fraction `within`.
pub(super) fn row(finding: Finding, claim: Option<&str>, within: f64) -> Row {
    let Finding { volume, statistic, paper, ours, unit, source, origin, contradiction } = finding;
    let contradicted = contradiction.is_some();
    let note = contradiction
        .map_or(origin.clone(), |why| format!("{origin}; the paper's values contradict each other: {why}"));
    let band = Band::Relative(within);
    let holds = band.holds(paper, ours);
    Row {
        claim: claim.map(str::to_owned),
        what: format!("{volume}: {statistic}"),
        paper: Value::Number(paper),
        ours: Value::Number(ours),
        unit,
        band: band.to_string(),
        verdict: if holds { Verdict::Within } else { Verdict::Outside },
        source,
        note,
        contradicted,
        explained: false,
        at: vec![("volume".into(), Value::Text(volume)), ("statistic".into(), Value::Text(statistic))],
    }
}
