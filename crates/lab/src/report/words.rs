//! Sentences that compare runs.

use wordline_run::quantity::Quantity;

use super::group::Group;
use super::results::{self, results};
use crate::summary::Summary;

/// A sentence with a capital letter first.
pub fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The results that a comparison mentions: group, name, title, and whether more is better.
const COMPARED: [(&str, &str, &str, bool); 4] = [
    ("Host", "IOPS", "IOPS", true),
    ("Read latency", "p99", "Read latency, p99", false),
    ("Write latency", "p99", "Write latency, p99", false),
    ("Flash", "write amplification", "Write amplification", false),
];

/// Relative difference up to which results are called equal. Chosen: less than the effect of another seed on
/// most results.
const EQUAL: f64 = 0.01;

/// A sentence for each of the most important results. It names the best and the worst run.
pub(super) fn compared(runs: &[Summary]) -> Vec<String> {
    let (all, labels) = (results(runs), results::labels(runs));
    let sentence = |(group, name, title, more_is_better): (&str, &str, &str, bool)| {
        let of_run = |groups: &Vec<Group>| {
            groups.iter().find(|one| one.title == group).and_then(|one| one.get(name)).cloned()
        };
        let found: Vec<(Quantity, f64, &String)> = all
            .iter()
            .zip(&labels)
            .filter_map(|(groups, label)| {
                of_run(groups).and_then(|one| Some((one.clone(), one.number()?, label)))
            })
            .collect();
        let least = found.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let most = found.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let absent = match labels.len() - found.len() {
            0 => String::new(),
            absent => format!("; {absent} without a value"),
        };
        let ([first, last], what) =
            if more_is_better { ([most, least], "the most") } else { ([least, most], "the least") };
        if found.len() < 2 {
            return None;
        }
        if most.1 - least.1 <= EQUAL * most.1.abs() {
            return Some(format!("{title}: equal within 1 %, {}{absent}.", first.0));
        }
        let ratio = last.0.ratio_text(&first.0);
        let ratio = if ratio.is_empty() { String::new() } else { format!(" ({ratio})") };
        let with = |one: &(Quantity, f64, &String), verbs: [&str; 2]| {
            let equal = found.iter().filter(|other| other.0.to_string() == one.0.to_string());
            let labels: Vec<&str> = equal.map(|other| other.2.as_str()).collect();
            format!("{} {}", labels.join(" and "), verbs[usize::from(labels.len() > 1)])
        };
        let (best, worst) = (with(first, ["has", "have"]), with(last, ["comes", "come"]));
        Some(format!("{title}: {best} {what}, {}; {worst} last with {}{ratio}{absent}.", first.0, last.0))
    };
    COMPARED.into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_comparison_names_the_best_and_the_last() {
        let (mut a, mut b) = (sample::mixed(), sample::mixed());
        (a.device, b.device) = ("old".into(), "new".into());
        (a.host.iops, b.host.iops) = (1_000.0, 4_000.0);
        (a.host.read_latency_us.p99, b.host.read_latency_us.p99) = (Some(200.0), Some(100.0));
        let told = compared(&[a, b]);
        assert!(told[0].starts_with("IOPS: new has the most, "), "{told:?}");
        assert!(told[0].ends_with("(×0.250)."), "{told:?}");
        assert!(
            told[1].starts_with("Read latency, p99: new has the least, 100 µs; old comes last with 200 µs"),
            "{told:?}"
        );
        assert!(told[2].starts_with("Write latency, p99: equal within 1 %"), "{told:?}");
    }

    #[test]
    fn runs_that_come_last_together_are_both_named() {
        let runs = [(1_000.0, "a"), (4_000.0, "b"), (1_000.0, "c")].map(|(iops, device)| {
            let mut run = sample::mixed();
            (run.device, run.host.iops) = (device.into(), iops);
            run
        });
        let told = compared(&runs);
        assert!(told[0].contains("b has the most") && told[0].contains("a and c come last with"), "{told:?}");
    }

    #[test]
    fn nothing_is_said_of_what_one_run_has_alone() {
        let told = compared(&[sample::only_reads(), sample::only_writes()]);
        assert!(told.iter().all(|sentence| !sentence.contains("latency")), "{told:?}");
    }
}
