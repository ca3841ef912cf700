//! The HTML page of one run, or of several runs side by side.

use std::collections::BTreeSet;
use std::slice::from_ref;

use wordline_run::quantity::Quantity;

use super::charts::charts;
use super::frame::{Report, Reproduction, made_by};
use super::group::Group;
use super::hardware::hardware;
use super::markup::{Section, add, breakable, escaped, scrolled};
use super::results::{self, results};
use super::{sheet, told, words};
use crate::provenance::TraceFile;
use crate::summary::{Bound, Outcome, Summary};

/// Style sheet of the results: the row of a part of the result above it is indented.
const STYLE: &str = "th.part { padding-left: 1.4rem; }\n";

/// The data needed to reproduce the runs of a report.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The configuration of the runs, as TOML.
    pub config: &'a str,
    /// The command line.
    pub command: &'a str,
}

/// An HTML page on one run, or on several runs side by side. It contains all it needs and loads nothing.
pub fn html(runs: &[Summary], origin: Origin<'_>) -> String {
    let charts = charts(runs);
    let title = match runs {
        [run] => format!("{} on {}", run.workload.name, run.device),
        runs => format!("{} runs compared", runs.len()),
    };
    let (key, all) = match runs {
        [run] => (Section::new("key", "Key results", key_results(run)), tables(run)),
        runs => {
            let key = side_by_side("Key results", runs, true);
            (Section::new("key", key_title(runs), key), side_by_side("All results", runs, false))
        }
    };
    let report = Report {
        title: &title,
        about: runs.iter().map(|run| about(run, runs.len() > 1)).collect(),
        verdict: verdict(runs),
        notes: notes(runs),
        key: Some(key),
        charts: &charts,
        tables: vec![Section::new("all", "All results", all)],
        again: again(runs, origin),
        style: STYLE,
        ..Report::default()
    };
    report.html()
}

/// The key results of one run, or of several runs side by side, as HTML without style, for another page.
pub fn embedded(runs: &[Summary]) -> String {
    let mut out: String = runs.iter().map(|run| about(run, true)).collect();
    for sentence in verdict(runs) {
        add(&mut out, format_args!("<p>{}</p>\n", escaped(&sentence)));
    }
    out + &side_by_side(&key_title(runs), runs, true)
}

/// Title of the key results. It names the run to which the others have ratios.
fn key_title(runs: &[Summary]) -> String {
    match &results::labels(runs)[..] {
        [first, _, ..] => format!("Key results, with ratios to {first}"),
        _ => "Key results".to_owned(),
    }
}

/// The sentences that compare the runs, and the bottleneck of each run.
fn verdict(runs: &[Summary]) -> Vec<String> {
    let labels = results::labels(runs);
    let compared = if runs.len() > 1 { words::compared(runs) } else { Vec::new() };
    let bound = runs.iter().zip(&labels).filter_map(|(run, label)| {
        let verdict = run.verdict.as_ref()?;
        let is_known = verdict.bound != Bound::Unknown;
        let (text, bound) = (&verdict.text, if is_known { "bound by" } else { "what bound it is" });
        let single = if is_known { "Bound by" } else { "What bound it is" };
        Some(if runs.len() > 1 { format!("{label}: {bound} {text}.") } else { format!("{single} {text}.") })
    });
    compared.into_iter().chain(bound).collect()
}

/// The kind of workload, the outcome, and the data that identify the run. `named` adds the name of the run,
/// for pages with several runs.
fn about(run: &Summary, named: bool) -> String {
    let warn = if run.outcome == Outcome::Complete { "" } else { " warn" };
    let name = if named { format!("{} on {} ", run.workload.name, run.device) } else { String::new() };
    let hardware = hardware(run).map_or_else(String::new, |text| {
        format!(" <span class=\"soft hardware\">{}: {}.</span>", escaped(&run.device), escaped(&text))
    });
    let warm_up = run.warm_up.as_ref().map_or_else(String::new, |left_out| {
        format!(" <span class=\"soft\">Warm-up: {}.</span>", told::left_out(left_out))
    });
    format!(
        "<p>{}<span class=\"tag\">{}</span> <span class=\"tag{warn}\">{}</span> \
         <span class=\"soft\">{} simulated, seed {}, digest <code>{}</code>.</span>{warm_up}{hardware}</p>\n",
        escaped(&name),
        results::kind(run),
        results::outcome(run),
        Quantity::Seconds(run.simulated_seconds),
        run.seed,
        escaped(&run.digest),
    )
}

fn notes(runs: &[Summary]) -> Vec<String> {
    let labels = results::labels(runs);
    let of_run = |(run, label): (&Summary, &String)| {
        let before = if runs.len() > 1 { format!("{label}: ") } else { String::new() };
        let unknown = told::unknown(&run.unknown).into_iter().map(|one| format!("unknown: {one}"));
        unknown.chain(run.notes.iter().cloned()).map(|note| before.clone() + &note).collect::<Vec<_>>()
    };
    runs.iter().zip(&labels).flat_map(of_run).collect()
}

/// The key results: group, name of the result, and title on the page.
const KEY_RESULTS: [(&str, &str, &str); 8] = [
    ("Host", "requests", "Requests"),
    ("Host", "IOPS", "IOPS"),
    ("Host", "read throughput", "Read throughput"),
    ("Host", "write throughput", "Write throughput"),
    ("Read latency", "p99", "Read latency, p99"),
    ("Write latency", "p99", "Write latency, p99"),
    ("Flash", "write amplification", "Write amplification"),
    ("Flash", "energy", "Energy of the flash"),
];

fn key_results(run: &Summary) -> String {
    let groups: Vec<Group> = results(from_ref(run)).into_iter().flatten().collect();
    let mut out = "<dl class=\"keys\">".to_owned();
    for (group, name, shown) in KEY_RESULTS {
        let found =
            groups.iter().find(|candidate| candidate.title == group).and_then(|group| group.get(name));
        let result = found.unwrap_or(&Quantity::Absent).to_string();
        add(&mut out, format_args!("<div><dt>{shown}</dt><dd>{}</dd></div>", escaped(&result)));
    }
    out + "</dl>\n"
}

/// All results of a run, in a small table for each group.
fn tables(run: &Summary) -> String {
    let mut out = "<div class=\"tables\">\n".to_owned();
    let by_stage =
        run.energy_by_stage.iter().map(|share| (share.name.clone(), Quantity::Joules(share.amount)));
    let energy = Group { title: "Energy by stage".into(), rows: by_stage.collect() };
    let all = results(from_ref(run)).into_iter().flatten().chain([energy]);
    for group in all.filter(|group| !group.rows.is_empty()) {
        let title = escaped(&group.title);
        add(
            &mut out,
            format_args!(
                "<table data-group=\"{title}\"><thead><tr><th scope=\"col\" data-csv=\"result\">{title}</th>\
                 <th scope=\"col\" data-csv=\"value\"><span class=\"unseen\">value</span></th></tr></thead><tbody>"
            ),
        );
        for (name, result) in &group.rows {
            add(&mut out, format_args!("<tr>{}{}</tr>", named(name, result.unit()), shown(result, "")));
        }
        out += "</tbody></table>\n";
    }
    sheet::of_tables("All results", &(out + "</div>\n"))
}

/// The head of a result's row. A name that begins with two spaces is a part of the result above it.
fn named(name: &str, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" data-unit=\"{unit}\"") };
    let class = if name.starts_with("  ") { " class=\"part\"" } else { "" };
    format!("<th scope=\"row\"{class}{unit}>{}</th>", breakable(name))
}

/// The cell of a result; `behind` is further text after it.
fn shown(result: &Quantity, behind: &str) -> String {
    let class = if matches!(result, Quantity::Text(_)) { " class=\"words\"" } else { "" };
    format!("<td{class}{}>{}{behind}</td>", sheet::number(result.number()), escaped(&result.to_string()))
}

/// Results of several runs in columns, with ratios to the first run. `only_key` selects the key results.
fn side_by_side(title: &str, runs: &[Summary], only_key: bool) -> String {
    let all = results(runs);
    let Some(first) = all.first() else { return String::new() };
    let mut out = scrolled(&format!("Table: {title}"))
        + "<table><thead><tr><th scope=\"col\" data-csv=\"result\"><span class=\"unseen\">result</span></th>";
    for label in results::labels(runs) {
        add(&mut out, format_args!("<th scope=\"col\">{}</th>", escaped(&label)));
    }
    out += "</tr></thead>\n";
    let is_key = |group: &str, name: &str| KEY_RESULTS.iter().any(|key| (key.0, key.1) == (group, name));
    for (position, group) in first.iter().enumerate() {
        let shown = |name: &str| !only_key || is_key(&group.title, name);
        let rows: Vec<_> = group.rows.iter().filter(|(name, _)| shown(name)).collect();
        if rows.is_empty() {
            continue;
        }
        let (columns, title) = (runs.len() + 1, escaped(&group.title));
        add(
            &mut out,
            format_args!(
                "<tbody><tr><th class=\"group\" scope=\"rowgroup\" colspan=\"{columns}\">{title}</th></tr>\n"
            ),
        );
        for (name, base) in rows {
            let of_each = all.iter().map(|groups| groups[position].get(name).unwrap_or(&Quantity::Absent));
            out += &compared(name, base, &of_each.collect::<Vec<_>>());
        }
        out += "</tbody>\n";
    }
    sheet::of_tables(title, &(out + "</table></div>\n"))
}

/// A row of the comparison.
fn compared(name: &str, first: &Quantity, of_each: &[&Quantity]) -> String {
    let unit = of_each.iter().map(|result| result.unit()).find(|unit| !unit.is_empty());
    let mut out = format!("<tr>{}", named(name, unit.unwrap_or_default()));
    for (index, result) in of_each.iter().enumerate() {
        let has_ratio = index > 0 && first.number().is_some();
        let ratio = has_ratio
            .then(|| format!(" <span class=\"ratio\">{}</span>", escaped(&result.ratio_text(first))));
        out += &shown(result, &ratio.unwrap_or_default());
    }
    out + "</tr>\n"
}

/// The data needed to reproduce the runs, for the page.
fn again<'a>(runs: &[Summary], origin: Origin<'a>) -> Reproduction<'a> {
    let digests: Vec<&str> = runs.iter().map(|run| run.digest.as_str()).collect();
    let seeds: BTreeSet<u64> = runs.iter().map(|run| run.seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let word = if seeds.len() == 1 { "Seed" } else { "Seeds" };
    let mut sentences = vec![
        format!("The same configuration, seed and trace give the same digest ({}).", digests.join(", ")),
        format!("{word} {}.", seeds.join(", ")),
    ];
    for run in runs {
        sentences.push(made_by(&run.provenance));
        let of = |file: &TraceFile| format!("{}: {} bytes, SHA-256 {}.", file.path, file.bytes, file.sha256);
        sentences.extend(run.trace_file.iter().map(of));
    }
    Reproduction { sentences, command: origin.command, configuration: origin.config }
}
