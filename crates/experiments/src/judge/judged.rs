//! A row over several seeds: the value of each seed, the mean, its confidence interval, and the verdict.

use crate::judge::expect::{Band, Direction, Reason};
use crate::judge::outcome::{NO_VALUE, Row, Value, Verdict};
use wordline_lab::student::Mean;

/// The result of one seed for a row that has no verdict yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeedRow {
    /// Fields of the row that come from the expected value.
    pub base: Row,
    /// Numbers or text of this seed.
    pub sample: Sample,
    /// Points of the row. An order without a mean has one point for each value.
    pub points: Vec<toml::Table>,
    /// Reasons why the row is outside, each with its points.
    pub explained: Vec<Reason>,
    /// Whether a change that removes the reason is run as well. Otherwise the cause is not demonstrated.
    pub is_tried: bool,
    /// Points at which other numbers of the same source contradict the row, with reasons.
    pub contradicted: Vec<Reason>,
}

/// Numbers or text of one seed for a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sample {
    /// A number; not finite if there is no value.
    Number {
        /// The number that it is compared with.
        paper: Option<f64>,
        /// Greatest deviation from that number.
        band: Option<Band>,
        /// Our number.
        ours: f64,
    },
    /// Numbers whose order or sign is compared.
    Order(Order),
    /// Text.
    Text {
        /// Text of the source.
        paper: String,
        /// Text of the simulation.
        ours: String,
    },
}

/// Numbers whose order or sign the source states.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    /// The statement.
    pub direction: Direction,
    /// The values, each with its point.
    pub values: Vec<(String, f64)>,
    /// Values that they are compared with.
    pub others: Vec<f64>,
    /// Points without a value.
    pub without: Vec<String>,
    /// Whether there is only one value, a mean over points.
    pub is_mean: bool,
}

impl Order {
    /// Whether there are enough values for a verdict.
    pub fn is_decided(&self) -> bool {
        self.direction.is_decided_by(self.values.len(), self.others.len())
    }

    /// Whether each value is compared separately, so that the values that miss can be named.
    fn is_alone(&self) -> bool {
        !self.is_mean && matches!(self.direction, Direction::Greater { .. } | Direction::Less { .. })
    }

    /// Whether `others` are another column of the same points.
    fn is_correlation(&self) -> bool {
        matches!(self.direction, Direction::Correlated { .. })
    }

    fn margins(&self) -> Vec<f64> {
        let values: Vec<f64> = self.values.iter().map(|(_, value)| *value).collect();
        self.direction.margins(&values, &self.others)
    }
}

/// A row over all seeds.
struct RowResult {
    paper: Value,
    ours: Value,
    band: String,
    limits: Option<[f64; 2]>,
    interval: Option<[f64; 2]>,
    verdict: Verdict,
    /// Whether the whole confidence interval gives the same verdict.
    sure: bool,
    /// Indices of the points that missed; `None` if all points share the verdict.
    missed: Option<Vec<usize>>,
}

/// Builds the row from the results of at least one seed. All results are for the same expected value and
/// points.
pub(crate) fn row(seeds: &[&SeedRow]) -> Row {
    let first = seeds[0];
    let found = found(seeds);
    let is_outside = found.verdict == Verdict::Outside;
    let is_missed = |at: &usize| found.missed.as_ref().is_none_or(|missed| missed.contains(at));
    let missed: Vec<&toml::Table> =
        (0..first.points.len()).filter(is_missed).map(|at| &first.points[at]).collect();
    let contradicted = covering(&[&first.contradicted], &missed).filter(|_| is_outside);
    let explained = covering(&[&first.explained, &first.contradicted], &missed);
    let explained = explained.filter(|_| is_outside && contradicted.is_none());
    let reasons = contradicted.iter().chain(&explained).flatten().copied();
    let notes: Vec<&str> =
        reasons.chain([first.base.note.as_str()]).filter(|note| !note.is_empty()).collect();
    let is_suspected = explained.is_some() && !first.is_tried;
    let alone = |seed: &&SeedRow| self::found(&[*seed]).verdict;
    let verdicts: Vec<Verdict> = seeds.iter().map(alone).collect();
    let numbers = |seed: &&SeedRow| match seed.sample {
        Sample::Number { ours, .. } if ours.is_finite() => Some(ours),
        _ => None,
    };
    let row = Row {
        note: notes.join(" "),
        contradicted: contradicted.is_some(),
        explained: explained.is_some(),
        verdict: found.verdict,
        sure: found.sure,
        changes: verdicts.iter().any(|verdict| *verdict != verdicts[0]),
        equal: seeds.len() > 1 && seeds.iter().all(|seed| is_same(&seed.sample, &first.sample)),
        interval: found.interval,
        by_seed: seeds.iter().map(numbers).collect(),
        paper: found.paper,
        ours: found.ours,
        band: found.band,
        limits: found.limits,
        ..first.base.clone()
    };
    if is_suspected { row.into_suspected() } else { row }
}

/// Whether two samples are equal. Two samples without a number are equal.
fn is_same(one: &Sample, other: &Sample) -> bool {
    one == other || format!("{one:?}") == format!("{other:?}")
}

/// The reasons that cover all missed points; `None` if a point is not covered, or if there are no reasons.
fn covering<'a>(reasons: &[&'a Vec<Reason>], missed: &[&toml::Table]) -> Option<Vec<&'a str>> {
    let mut why: Vec<&str> = Vec::new();
    for point in missed {
        let mut all = reasons.iter().flat_map(|reasons| reasons.iter());
        let reason = all.find(|reason| reason.covers(point))?;
        if !why.contains(&reason.because.as_str()) {
            why.push(&reason.because);
        }
    }
    (!missed.is_empty()).then_some(why)
}

fn found(seeds: &[&SeedRow]) -> RowResult {
    match &seeds[0].sample {
        Sample::Number { .. } => number(seeds),
        Sample::Order(order) => ordered(order, seeds),
        Sample::Text { .. } => text(seeds),
    }
}

/// The result for a number: the mean over the seeds, compared with the band. If a closed form gives a value
/// for each seed, the mean of the ratios is compared.
fn number(seeds: &[&SeedRow]) -> RowResult {
    let sample = |seed: &&SeedRow| match seed.sample {
        Sample::Number { paper, band, ours } if ours.is_finite() => Some((paper, band, ours)),
        _ => None,
    };
    let samples: Vec<(Option<f64>, Option<Band>, f64)> = seeds.iter().filter_map(sample).collect();
    let Sample::Number { paper, band, .. } = seeds[0].sample else { unreachable!("a number by its caller") };
    let papers: Vec<f64> = samples.iter().filter_map(|(paper, ..)| *paper).collect();
    let paper = if papers.is_empty() { paper } else { Some(Mean::of(&papers).mean) };
    let words = |ours: Value, interval, verdict, sure| RowResult {
        paper: paper.map_or_else(|| Value::Text(String::new()), Value::Number),
        ours,
        band: band.map(|band| band.to_string()).unwrap_or_default(),
        limits: paper.zip(band).map(|(paper, band)| band.limits(paper)),
        interval,
        verdict,
        sure,
        missed: None,
    };
    if samples.is_empty() {
        return words(Value::Text(NO_VALUE.into()), None, Verdict::Shown, true);
    }
    let ours: Vec<f64> = samples.iter().map(|(.., ours)| *ours).collect();
    let mean = Mean::of(&ours);
    let interval = mean.half.filter(|half| *half > 0.0).map(|_| mean.interval());
    let (verdict, sure) = match (paper, band) {
        (Some(paper), Some(band)) => {
            let moves = papers.iter().any(|other| *other != papers[0]);
            let quotients: Vec<f64> = ours.iter().zip(&papers).map(|(ours, paper)| ours / paper).collect();
            match band {
                Band::Relative(_) if moves => verdict_on(band, 1.0, Mean::of(&quotients)),
                band => verdict_on(band, paper, mean),
            }
        }
        _ => (Verdict::Shown, true),
    };
    words(Value::Number(mean.mean), interval, verdict, sure)
}

/// The verdict on a mean, and whether the whole confidence interval gives the same verdict.
fn verdict_on(band: Band, paper: f64, ours: Mean) -> (Verdict, bool) {
    let ends = ours.interval();
    if band.holds(paper, ours.mean) {
        let verdict = match band.is_narrow(paper) {
            true => Verdict::Within,
            // A wide band that includes zero does not test the sign, so the sign is compared here.
            false if paper * ours.mean > 0.0 => Verdict::Direction,
            false => Verdict::Outside,
        };
        return (verdict, ends.iter().all(|end| band.holds(paper, *end)));
    }
    let [least, greatest] = band.limits(paper);
    (Verdict::Outside, ends[1] < least || ends[0] > greatest || ours.half.is_none_or(|half| half == 0.0))
}

/// The result for an order. Each margin is a mean over the seeds; values of the same seed are compared.
fn ordered(order: &Order, seeds: &[&SeedRow]) -> RowResult {
    let orders = restricted_to_common_points(order, seeds);
    let order = &orders[0];
    let mean_at = |at: usize, of: fn(&Order, usize) -> f64| {
        Mean::of(&orders.iter().map(|order| of(order, at)).collect::<Vec<f64>>())
    };
    let means = |count: usize, of: fn(&Order, usize) -> f64| -> Vec<Mean> {
        (0..count).map(|at| mean_at(at, of)).collect()
    };
    let values = means(order.values.len(), |order, at| order.values[at].1);
    let others = means(order.others.len(), |order, at| order.others[at]);
    let words = |ours: String, verdict, sure, missed| RowResult {
        paper: Value::Text(order.direction.to_string()),
        ours: Value::Text(ours),
        band: String::new(),
        limits: None,
        interval: None,
        verdict,
        sure,
        missed,
    };
    if !order.is_decided() {
        return words(NO_VALUE.into(), Verdict::Shown, true, None);
    }
    let by_seed: Vec<Vec<f64>> = orders.iter().map(Order::margins).collect();
    let margins: Vec<Mean> = (0..by_seed[0].len())
        .map(|at| Mean::of(&by_seed.iter().map(|margins| margins[at]).collect::<Vec<f64>>()))
        .collect();
    if order.is_correlation() && !margins[0].mean.is_finite() {
        return words(NO_VALUE.into(), Verdict::Shown, true, None);
    }
    let holds = margins.iter().all(|margin| margin.mean > 0.0);
    let sure = match holds {
        true => margins.iter().all(|margin| margin.interval()[0] > 0.0),
        false => margins.iter().any(|margin| margin.interval()[1] <= 0.0),
    };
    // If values are compared separately, the reasons must cover those that miss. Otherwise they must cover
    // all.
    let missed: Option<Vec<usize>> =
        order.is_alone().then(|| (0..margins.len()).filter(|at| margins[*at].mean <= 0.0).collect());
    let mut shown = match order.direction {
        Direction::Correlated { above, .. } => {
            let correlation = Mean { mean: margins[0].mean + above, ..margins[0] };
            format!("{} over {} points", with_half(correlation), values.len())
        }
        _ => list(&values),
    };
    if !others.is_empty() && !order.is_correlation() {
        shown += &format!(" against {}", list(&others));
    }
    for at in missed.iter().flatten() {
        // A row for a single point has no varied key that names the point.
        let place = &order.values[*at].0;
        if !place.is_empty() {
            shown += &format!("; {} at {place}", with_half(values[*at]));
        }
    }
    shown.extend(order.without.iter().map(|place| format!("; {NO_VALUE} at {place}")));
    words(shown, if holds { Verdict::Direction } else { Verdict::Outside }, sure, missed)
}

/// The orders of all seeds, restricted to points that have a value for every seed.
fn restricted_to_common_points(first: &Order, seeds: &[&SeedRow]) -> Vec<Order> {
    let order = |seed: &&SeedRow| match &seed.sample {
        Sample::Order(order) => order.clone(),
        _ => first.clone(),
    };
    let mut orders: Vec<Order> = seeds.iter().map(order).collect();
    let has = |order: &Order, place: &str| order.values.iter().any(|(known, _)| known == place);
    let lost: Vec<String> = orders
        .iter()
        .flat_map(|order| order.values.iter().map(|(place, _)| place.clone()))
        .filter(|place| !orders.iter().all(|order| has(order, place)))
        .collect();
    let others = orders.iter().map(|order| order.others.len()).min().unwrap_or_default();
    for order in &mut orders {
        if order.is_correlation() {
            let kept = order.values.iter().zip(&order.others).filter(|((place, _), _)| !lost.contains(place));
            order.others = kept.map(|(_, other)| *other).collect();
        } else {
            order.others.truncate(others);
        }
        order.values.retain(|(place, _)| !lost.contains(place));
        order.without.extend(lost.iter().filter(|place| !first.without.contains(place)).cloned());
        order.without.dedup();
    }
    orders
}

fn list(values: &[Mean]) -> String {
    values.iter().map(|mean| with_half(*mean)).collect::<Vec<_>>().join(", ")
}

/// A mean, with the half-width of its confidence interval if it has one.
fn with_half(mean: Mean) -> String {
    let half = mean.half.filter(|half| *half > 0.0);
    let half = half.map(|half| format!(" ± {}", Value::Number(half))).unwrap_or_default();
    format!("{}{half}", Value::Number(mean.mean))
}

/// The result for a text: it must be equal for every seed.
fn text(seeds: &[&SeedRow]) -> RowResult {
    let words = |seed: &&SeedRow| match &seed.sample {
        Sample::Text { paper, ours } => (paper.clone(), ours.clone()),
        _ => unreachable!("words by their caller"),
    };
    let all: Vec<(String, String)> = seeds.iter().map(words).collect();
    let mut ours: Vec<&str> = all.iter().map(|(_, ours)| ours.as_str()).collect();
    ours.dedup();
    let holds = all.iter().all(|(paper, ours)| paper == ours);
    RowResult {
        paper: Value::Text(all[0].0.clone()),
        ours: Value::Text(ours.join(" or ")),
        band: "the same".into(),
        limits: None,
        interval: None,
        verdict: if holds { Verdict::Within } else { Verdict::Outside },
        sure: true,
        missed: Some(Vec::new()),
    }
}
