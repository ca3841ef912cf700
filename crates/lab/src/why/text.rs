//! The answer as a table for a terminal.

use wordline_kernel::{counted, grouped};
use wordline_run::quantity::Quantity;

use super::answer::percent;
use super::{Effect, Elasticity, Why};
use crate::report::{aligned, folded, lines_of};

/// Least columns to which text is wrapped. Chosen.
const LEAST: u16 = 40;

/// Column titles of the table of changes.
pub(super) const HEADS: [&str; 6] =
    ["changed", "to", "IOPS", "elasticity", "of p99, reads", "of p99, writes"];

/// The answer for a terminal with this many columns.
pub fn table(why: &Why, columns: u16) -> String {
    let outstanding = |depth: u32| format!(", {} outstanding", counted(depth.into(), "request"));
    let depth = why.queue_depth.map_or_else(String::new, outstanding);
    let mut text = format!(
        "{} on {}{depth}: {}\n{}, seed {}\n\n",
        why.workload.name,
        why.device,
        unchanged(why),
        measured(why),
        why.seed,
    );
    text += &rows(why);
    text + "\n\n" + &sentences(why, columns) + "\n"
}

/// The IOPS without a change, and the percentiles that are known.
pub(super) fn unchanged(why: &Why) -> String {
    let p99 = |name: &str, us: Option<f64>| us.map(|us| format!("p99 of {name} {}", Quantity::Latency(us)));
    let known: Vec<String> =
        [p99("reads", why.read_p99_us), p99("writes", why.write_p99_us)].into_iter().flatten().collect();
    let between = if known.is_empty() { "" } else { "; " };
    format!("{} IOPS{between}{}", Quantity::Number(why.iops), known.join(", "))
}

/// The numbers of measured requests, and of requests in the warm-up.
pub(super) fn measured(why: &Why) -> String {
    let requests = counted(why.requests, "request");
    format!("{requests} measured after {} that are left out", grouped(&why.left_out.to_string()))
}

fn rows(why: &Why) -> String {
    let row = |effect: &Effect| {
        let elasticities = [effect.elasticity, effect.read_p99, effect.write_p99].map(shown);
        let first = [effect.cause.name().to_owned(), factor(effect), gain(effect)];
        first.into_iter().chain(elasticities).collect()
    };
    aligned(&HEADS, why.effects.iter().map(row), 1..HEADS.len())
}

/// Sentences about the bottleneck, the verdict of the run alone, and the reasons for unknown effects.
fn sentences(why: &Why, columns: u16) -> String {
    let mut table = folded(columns.max(LEAST));
    let bound = if why.bound.is_some() { "Bound by" } else { "What bounds it" };
    table.add_row([bound, &why.text]);
    if let Some(verdict) = &why.verdict {
        table.add_row(["The run alone says", &verdict.text]);
    }
    for effect in &why.effects {
        if let Some(reason) = &effect.unknown {
            table.add_row(["Not known", &format!("{}: {reason}", effect.cause.name())]);
        }
    }
    lines_of(&table).join("\n")
}

/// The factor of the change.
pub(super) fn factor(effect: &Effect) -> String {
    format!("{:.0} %", effect.factor * 100.0)
}

/// The gain in IOPS.
pub(super) fn gain(effect: &Effect) -> String {
    effect.iops.map_or_else(|| "not known".to_owned(), percent)
}

/// An elasticity with its interval.
pub(super) fn shown(elasticity: Option<Elasticity>) -> String {
    match elasticity {
        None => "–".into(),
        Some(Elasticity { value, half: None }) => format!("{value:.2}"),
        Some(Elasticity { value, half: Some(half) }) => format!("{value:.2} ± {half:.2}"),
    }
}
