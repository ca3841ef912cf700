//! An expected value as the file has it, and its validation into an [`Expect`].

use serde::Deserialize;
use toml::Spanned;

use crate::file::errors::ErrorCollector;
use crate::judge::expect::{Band, Direction, Expect, ExpectedValue, Mean, Reason};
use crate::kind::Kind;
use crate::models::Model;
use crate::sweep::axes::{self, Axis, check_along};

/// An expected value as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectFile {
    what: String,
    claim: Option<String>,
    #[serde(default)]
    at: toml::Table,
    #[serde(default)]
    over: toml::Table,
    #[serde(default)]
    per: toml::Table,
    #[serde(default)]
    beyond: toml::Table,
    mean: Option<Mean>,
    each: Option<String>,
    weight: Option<String>,
    column: String,
    part_of: Option<String>,
    unit: String,
    value: Option<f64>,
    model: Option<Model>,
    direction: Option<Direction>,
    text: Option<String>,
    #[serde(default)]
    shown: bool,
    within: Option<String>,
    between: Option<[f64; 2]>,
    #[serde(default)]
    derivation: String,
    source: String,
    second_reading: Option<String>,
    #[serde(default)]
    own_input: bool,
    #[serde(default)]
    identity: bool,
    #[serde(default)]
    own_expectation: bool,
    #[serde(default)]
    in_words: bool,
    fails_with: Option<String>,
    explained_until: Option<String>,
    #[serde(default)]
    note: String,
    #[serde(default)]
    explained: Vec<Reason>,
    #[serde(default)]
    contradicted: Vec<Reason>,
}

const ONE_OF: &str =
    "exactly one of `value`, `model`, `direction`, `text`, `shown` (a `value` may stand beside `shown`)";

/// Checks the keys of the baseline point. At most one of them may be given. One must be given if the mean is
/// over columns.
fn check_compared(file: &ExpectFile, at: usize, wrong: &mut ErrorCollector<'_>) {
    let compared = [("over", &file.over), ("per", &file.per), ("beyond", &file.beyond)];
    let given: Vec<&str> = compared.iter().filter(|(_, at)| !at.is_empty()).map(|(name, _)| *name).collect();
    if let [first, second, ..] = given[..] {
        wrong.add(at, &format!("expect.{second}"), format!("`{first}` and `{second}`"), "one of them");
    }
    if file.mean == Some(Mean::Columns) && given.is_empty() {
        wrong.add(at, "expect.mean", "columns without `over` or `per`", "`values`, or one of them beside it");
    }
}

/// Rejects keys of the class of a row that do not fit its value.
fn check_class(file: &ExpectFile, at: usize, wrong: &mut ErrorCollector<'_>) {
    if file.own_expectation && file.value.is_none() {
        wrong.add(
            at,
            "expect.own_expectation",
            "`true` without a `value`",
            "a `value` that was derived here",
        );
    }
    if file.in_words && (file.value.is_none() || file.own_expectation) {
        let wanted = "a `value` that encodes a word of the source, without `own_expectation`";
        wrong.add(at, "expect.in_words", "`true` without a value of the source", wanted);
    }
}

/// Returns the expected value, or `None` if it is invalid.
pub(crate) fn check_expect(
    entry: Spanned<ExpectFile>,
    kind: &Kind,
    claims: &[String],
    wrong: &mut ErrorCollector<'_>,
) -> Option<Expect> {
    let (at, file, axes) = (entry.span().start, entry.into_inner(), &*kind.axes());
    check_claim(file.claim.as_deref(), at, "expect.claim", claims, wrong);
    check_columns(&file, kind, at, wrong);
    check_other_columns(&file, kind, at, wrong);
    check_place(&file.at, "expect.at", at, axes, wrong);
    check_place(&file.over, "expect.over", at, axes, wrong);
    check_place(&file.per, "expect.per", at, axes, wrong);
    check_place(&file.beyond, "expect.beyond", at, axes, wrong);
    check_compared(&file, at, wrong);
    if matches!(kind, Kind::Nand(_) | Kind::Cells(_)) && file.model.is_some() {
        wrong.add(at, "expect.model", "a model of garbage collection", "none: there is no FTL");
    }
    if file.second_reading.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
        wrong.add(at, "expect.second_reading", "nothing", "the reason for a second reading of the source");
    }
    check_class(&file, at, wrong);
    check_reasons(&file, at, axes, wrong);
    if let Some(key) = &file.each {
        if let Some((found, wanted)) = check_along(key, axes) {
            wrong.add(at, "expect.each", found, wanted);
        }
        if file.mean.is_none() {
            wrong.add(at, "expect.each", format!("`{key}` without a mean"), "a `mean` beside it");
        }
    }
    let wanted = check_wanted(&file, at, axes, wrong)?;
    Some(Expect {
        wanted,
        what: file.what,
        claim: file.claim,
        at: file.at,
        over: file.over,
        per: file.per,
        beyond: file.beyond,
        mean: file.mean,
        each: file.each,
        weight: file.weight,
        column: file.column,
        part_of: file.part_of,
        unit: file.unit,
        source: file.source,
        derivation: file.derivation,
        second_reading: file.second_reading,
        own_input: file.own_input,
        identity: file.identity,
        own_expectation: file.own_expectation,
        in_words: file.in_words,
        fails_with: file.fails_with,
        explained_until: file.explained_until,
        note: file.note,
        explained: file.explained,
        contradicted: file.contradicted,
    })
}

/// Rejects columns that a run does not have.
fn check_columns(file: &ExpectFile, kind: &Kind, at: usize, wrong: &mut ErrorCollector<'_>) {
    if let Some(wanted) = kind.unknown_column(&file.column, file.text.is_some()) {
        wrong.add(at, "expect.column", format!("`{}`", file.column), wanted);
    }
    if let Some((other, wanted)) =
        file.part_of.as_ref().and_then(|other| Some((other, kind.unknown_column(other, false)?)))
    {
        wrong.add(at, "expect.part_of", format!("`{other}`"), wanted);
    }
    if file.part_of.is_some() && file.text.is_some() {
        wrong.add(at, "expect.part_of", "a part beside a text", "one of them");
    }
}

/// Rejects weights and correlations whose columns a run does not have, or that have no effect.
fn check_other_columns(file: &ExpectFile, kind: &Kind, at: usize, wrong: &mut ErrorCollector<'_>) {
    if let Some(column) = &file.weight {
        if let Some(wanted) = kind.unknown_column(column, false) {
            wrong.add(at, "expect.weight", format!("`{column}`"), wanted);
        }
        if file.mean != Some(Mean::Values) {
            wrong.add(
                at,
                "expect.weight",
                "a weight without a mean of values",
                "`mean = \"values\"` beside it",
            );
        }
    }
    if let Some(Direction::Correlated { with, above }) = &file.direction {
        if let Some(wanted) = kind.unknown_column(with, false) {
            wrong.add(at, "expect.direction.correlated.with", format!("`{with}`"), wanted);
        }
        if !(-1.0..1.0).contains(above) {
            wrong.add(at, "expect.direction.correlated.above", above, "a number from -1 to below 1");
        }
        if file.mean.is_some() {
            wrong.add(at, "expect.mean", "a mean beside a correlation of points", "one of them");
        }
    }
}

/// Rejects reasons that do not select their points.
fn check_reasons(file: &ExpectFile, at: usize, axes: &[Axis], wrong: &mut ErrorCollector<'_>) {
    let all = [("explained", &file.explained), ("contradicted", &file.contradicted)];
    for (key, reason) in all.iter().flat_map(|(key, all)| all.iter().map(move |reason| (key, reason))) {
        let key = format!("expect.{key}");
        if file.shown || file.text.is_some() {
            wrong.add(at, &key, "a reason for a row that is not compared by numbers", "none, or a `note`");
        }
        if reason.because.trim().is_empty() {
            wrong.add(at, &format!("{key}.because"), "nothing", "the reason");
        }
        check_place(&reason.at, &format!("{key}.at"), at, axes, wrong);
        check_points(reason, &key, file, at, axes, wrong);
    }
    for (key, reasons) in all {
        let is_again = |(at, reason): (usize, &Reason)| {
            let is_of_it = |other: &Reason| {
                let sizes = other.quick.is_none() || reason.quick.is_none() || other.quick == reason.quick;
                other.at == reason.at && sizes
            };
            reasons[..at].iter().any(is_of_it)
        };
        if reasons.iter().enumerate().any(is_again) {
            let wanted = "one for each point and size: two may say the opposite of each other";
            wrong.add(at, &format!("expect.{key}"), "two reasons for the same points", wanted);
        }
    }
}

/// Checks that a reason selects its points: it must give values for every varied key that the expected value
/// leaves open.
fn check_points(
    reason: &Reason,
    key: &str,
    file: &ExpectFile,
    at: usize,
    axes: &[Axis],
    wrong: &mut ErrorCollector<'_>,
) {
    for axis in axes.iter().filter(|axis| axis.values.len() > 1) {
        let picked = file.at.get(&axis.key);
        match (reason.at.get(&axis.key), picked) {
            (None, Some(value)) if !value.is_array() => {}
            (None, _) => {
                let found = format!("none of `{}`", axis.key);
                wrong.add(
                    at,
                    &format!("{key}.at"),
                    found,
                    "values of every varied key that `at` leaves open",
                );
            }
            (Some(named), Some(picked)) => {
                let (named, picked) = (any_of(named), any_of(picked));
                if let Some(value) = named.iter().find(|value| !picked.contains(value)) {
                    let label = format!("{key}.at.{}", axis.key);
                    wrong.add(at, &label, value, "a value that `at` of the expected value has");
                }
            }
            (Some(_), None) => {}
        }
    }
}

/// The values that a selection gives for a key.
fn any_of(value: &toml::Value) -> &[toml::Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn check_wanted(
    file: &ExpectFile,
    at: usize,
    axes: &[Axis],
    wrong: &mut ErrorCollector<'_>,
) -> Option<ExpectedValue> {
    let band = check_band(file, at, wrong);
    let ExpectFile { value, model, direction, text, shown, .. } = file;
    match (value, model, direction, text, shown, band) {
        (Some(value), None, None, None, false, Some(band)) => Some(ExpectedValue::Number(*value, band)),
        (None, Some(model), None, None, false, Some(band)) => Some(ExpectedValue::Model(model.clone(), band)),
        (None, None, Some(direction), None, false, None) => {
            check_direction(direction, file, at, axes, wrong);
            Some(ExpectedValue::Direction(direction.clone()))
        }
        (None, None, None, Some(text), false, None) => Some(ExpectedValue::Text(text.clone())),
        (value, None, None, None, true, None) => Some(ExpectedValue::Shown(*value)),
        (None, None, Some(_), None, false, Some(_)) => {
            wrong.add(at, "expect.direction", "a direction with a band", "a direction alone: it has no band");
            None
        }
        (None, None, None, _, _, Some(_)) => {
            wrong.add(at, "expect.within", "a band without a number", "a band beside a `value` or `model`");
            None
        }
        _ => {
            let given = [value.is_some(), model.is_some(), direction.is_some(), text.is_some(), *shown];
            let count = given.iter().filter(|given| **given).count();
            if count != 1 {
                let found = format!("{count} of `value`, `model`, `direction`, `text`, `shown`");
                wrong.add(at, "expect", found, ONE_OF);
            }
            None
        }
    }
}

/// Checks that the experiment lists this claim.
pub(crate) fn check_claim(
    claim: Option<&str>,
    at: usize,
    key: &str,
    claims: &[String],
    wrong: &mut ErrorCollector<'_>,
) {
    if let Some(claim) = claim.filter(|claim| !claims.iter().any(|known| known == claim)) {
        wrong.add(
            at,
            key,
            format!("`{claim}`"),
            format!("one of the experiment's claims: {}", claims.join(", ")),
        );
    }
}

fn check_place(place: &toml::Table, label: &str, at: usize, axes: &[Axis], wrong: &mut ErrorCollector<'_>) {
    for (key, value) in place {
        let label = format!("{label}.{key}");
        let Some(axis) = axes.iter().find(|axis| axis.key == *key) else {
            wrong.add(at, &label, format!("`{key}`"), axes::named(axes));
            continue;
        };
        for value in any_of(value).iter().filter(|value| !axis.values.contains(value)) {
            let values: Vec<String> = axis.values.iter().map(ToString::to_string).collect();
            let wanted = format!("a value that the key is varied over: {}", values.join(", "));
            wrong.add(at, &label, value, wanted);
        }
    }
}

/// Returns the band. Checks that it has a derivation, and that it contains the value of the source.
fn check_band(file: &ExpectFile, at: usize, wrong: &mut ErrorCollector<'_>) -> Option<Band> {
    let band = read_band(file, at, wrong);
    match (band, file.derivation.trim().is_empty()) {
        (Some(_), true) => {
            let wanted = "in words, how the band follows from what the source leaves open";
            wrong.add(at, "expect.derivation", "nothing beside a band", wanted);
        }
        (None, false) => {
            wrong.add(at, "expect.derivation", "a derivation without a band", "a `derivation` beside a band");
        }
        _ => {}
    }
    if let (Some(band), Some(value)) = (band, file.value)
        && !band.holds(value, value)
    {
        let key = if file.between.is_some() { "expect.between" } else { "expect.within" };
        let wanted = format!("a band that holds the source's own value, {value}");
        wrong.add(at, key, format!("`{band}`"), wanted);
    }
    band
}

fn read_band(file: &ExpectFile, at: usize, wrong: &mut ErrorCollector<'_>) -> Option<Band> {
    let wants_band = (file.value.is_some() && !file.shown) || file.model.is_some();
    match (&file.within, file.between) {
        (Some(within), None) => match within.parse() {
            Ok(band) => return Some(band),
            Err(wanted) => wrong.add(at, "expect.within", format!("`{within}`"), wanted),
        },
        (None, Some([least, greatest])) if least < greatest => return Some(Band::Between(least, greatest)),
        (None, Some([least, greatest])) => {
            let found = format!("[{least}, {greatest}]");
            wrong.add(at, "expect.between", found, "a least number and a greater one");
        }
        (None, None) if wants_band => {
            wrong.add(at, "expect.within", "no band", "`within` or `between` beside a `value` or `model`");
        }
        (Some(_), Some(_)) => wrong.add(at, "expect.between", "two bands", "`within` or `between`"),
        (None, None) => {}
    }
    None
}

fn check_direction(
    direction: &Direction,
    file: &ExpectFile,
    at: usize,
    axes: &[Axis],
    wrong: &mut ErrorCollector<'_>,
) {
    match direction {
        Direction::Rising { along } | Direction::Falling { along } => {
            if let Some((found, wanted)) = check_along(along, axes) {
                wrong.add(at, "expect.direction.along", found, wanted);
            }
            for axis in axes.iter().filter(|axis| axis.key != *along && !file.at.contains_key(&axis.key)) {
                let wanted = "a value of every varied key except the one of the direction";
                wrong.add(at, "expect.at", format!("none of `{}`", axis.key), wanted);
            }
        }
        Direction::Above { at: other } => check_place(other, "expect.direction.above.at", at, axes, wrong),
        Direction::Greater { .. } | Direction::Less { .. } | Direction::Correlated { .. } => {}
    }
}
