//! The page: one file with all that it needs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::slice::from_ref;

use serde_json::{Value, json};

use super::charts::charts;
use super::quantity::Quantity;
use super::results::{self, Group, results};
use super::{Chart, Origin};
use crate::provenance::{Provenance, TraceFile};
use crate::summary::{Outcome, Summary};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const NOTICE: &str = include_str!("../../assets/NOTICE.txt");
/// The programs that draw the charts, in the order in which they need each other.
pub(super) const PROGRAMS: [(&str, &str); 3] = [
    ("vega", include_str!("../../assets/vega.min.js")),
    ("vega-lite", include_str!("../../assets/vega-lite.min.js")),
    ("vega-embed", include_str!("../../assets/vega-embed.min.js")),
];
/// Browsers that keep to it load nothing from anywhere. Vega compiles its expressions, hence `unsafe-eval`.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:";

/// One self-contained HTML page about one run, or about several side by side, that needs no network.
pub fn html(runs: &[Summary], origin: Origin<'_>) -> String {
    let charts = charts(runs);
    let title = match runs {
        [run] => format!("{} on {}", run.workload.name, run.device),
        runs => format!("{} runs compared", runs.len()),
    };
    let header: String = runs.iter().map(|run| introduction(run, runs.len() > 1)).collect();
    let mut body = notes(runs);
    match runs {
        [run] => body += &(key_results(run) + &figures(&charts) + &tables(run)),
        runs => {
            body += &side_by_side("Key results, and how many times the first run's", runs, true);
            body += &(figures(&charts) + &side_by_side("All results", runs, false));
        }
    }
    body += &reproduction(runs, origin);
    assemble(&title, &header, &body, &charts)
}

/// One self-contained HTML page: a title, a header and a body (both HTML), and then the charts.
pub(crate) fn document(title: &str, header: &str, body: &str, charts: &[Chart]) -> String {
    assemble(title, header, &format!("{body}{}", figures(charts)), charts)
}

/// The page around `body`, in which the figures already stand.
fn assemble(title: &str, header: &str, body: &str, charts: &[Chart]) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – Wordline</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         {header}</header>\n{body}{scripts}</body>\n</html>\n",
        title = escaped(title),
        scripts = scripts(charts),
    )
}

/// How real, how it ended, and what it can be repeated by. `named` says which run it is, where there are several.
fn introduction(run: &Summary, named: bool) -> String {
    let warn = if run.outcome == Outcome::Complete { "" } else { " warn" };
    let name = if named { format!("{} on {} ", run.workload.name, run.device) } else { String::new() };
    format!(
        "<p>{}<span class=\"tag\">{}</span> <span class=\"tag{warn}\">{}</span> \
         <span class=\"soft\">{} simulated, seed {}, digest <code>{}</code></span></p>\n",
        escaped(&name),
        results::kind(run),
        results::outcome(run),
        Quantity::Seconds(run.simulated_seconds),
        run.seed,
        escaped(&run.digest),
    )
}

fn notes(runs: &[Summary]) -> String {
    let labels = results::labels(runs);
    let mut items = String::new();
    for (run, label) in runs.iter().zip(&labels) {
        let before = if runs.len() > 1 { format!("{label}: ") } else { String::new() };
        run.notes
            .iter()
            .for_each(|note| add(&mut items, format_args!("<li>{}</li>", escaped(&(before.clone() + note)))));
    }
    if items.is_empty() {
        return items;
    }
    format!("<section class=\"notes\" aria-label=\"Notes\"><ul>{items}</ul></section>\n")
}

/// The results that a reader looks for first, by group and name.
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

/// All results of a run, a small table a group.
fn tables(run: &Summary) -> String {
    let mut out = "<h2>All results</h2>\n<div class=\"tables\">\n".to_owned();
    let by_stage =
        run.energy_by_stage.iter().map(|share| (share.name.clone(), Quantity::Joules(share.amount)));
    let energy = Group { title: "Energy by stage".into(), rows: by_stage.collect() };
    let all = results(from_ref(run)).into_iter().flatten().chain([energy]);
    for group in all.filter(|group| !group.rows.is_empty()) {
        add(
            &mut out,
            format_args!("<table><thead><tr><th colspan=\"2\">{}</th></tr></thead><tbody>", group.title),
        );
        for (name, result) in &group.rows {
            let (name, result) = (escaped(name), escaped(&result.to_string()));
            add(&mut out, format_args!("<tr><th scope=\"row\">{name}</th><td>{result}</td></tr>"));
        }
        out += "</tbody></table>\n";
    }
    out + "</div>\n"
}

/// Results of several runs in columns, with ratios to the first: the key results, or all.
fn side_by_side(title: &str, runs: &[Summary], only_key: bool) -> String {
    let all = results(runs);
    let Some(first) = all.first() else { return String::new() };
    let mut out = format!("<h2>{title}</h2>\n<div class=\"wide\"><table><thead><tr><th></th>");
    for label in results::labels(runs) {
        add(&mut out, format_args!("<th scope=\"col\">{}</th>", escaped(&label)));
    }
    out += "</tr></thead><tbody>\n";
    let is_key = |group: &str, name: &str| KEY_RESULTS.iter().any(|key| (key.0, key.1) == (group, name));
    for (position, group) in first.iter().enumerate() {
        let shown = |name: &str| !only_key || is_key(&group.title, name);
        let rows: Vec<_> = group.rows.iter().filter(|(name, _)| shown(name)).collect();
        if !rows.is_empty() {
            let columns = runs.len() + 1;
            add(
                &mut out,
                format_args!("<tr><th class=\"group\" colspan=\"{columns}\">{}</th></tr>\n", group.title),
            );
        }
        for (name, base) in rows {
            let of_each = all.iter().map(|groups| groups[position].get(name).unwrap_or(&Quantity::Absent));
            out += &compared(name, base, of_each);
        }
    }
    out + "</tbody></table></div>\n"
}

/// A row of the comparison.
fn compared<'a>(name: &str, first: &Quantity, of_each: impl Iterator<Item = &'a Quantity>) -> String {
    let mut out = format!("<tr><th scope=\"row\">{}</th>", escaped(name));
    for (index, result) in of_each.enumerate() {
        add(&mut out, format_args!("<td>{}", escaped(&result.to_string())));
        if index > 0 && first.number().is_some() {
            add(
                &mut out,
                format_args!(" <span class=\"ratio\">{}</span>", escaped(&result.ratio_text(first))),
            );
        }
        out += "</td>";
    }
    out + "</tr>\n"
}

fn figures(charts: &[Chart]) -> String {
    let mut out =
        "<h2>Charts</h2>\n<noscript><p>The charts need JavaScript; the numbers do not.</p></noscript>\n\
                   <div class=\"charts\">\n"
            .to_owned();
    for chart in charts {
        add(
            &mut out,
            format_args!(
                "<figure><figcaption><h3>{}</h3><p>{}</p></figcaption><div class=\"chart\" id=\"chart-{}\"></div></figure>\n",
                escaped(&chart.title),
                escaped(&chart.caption),
                escaped(&chart.name),
            ),
        );
    }
    out + "</div>\n"
}

fn reproduction(runs: &[Summary], origin: Origin<'_>) -> String {
    let digests: Vec<&str> = runs.iter().map(|run| run.digest.as_str()).collect();
    format!(
        "<h2>To run it again</h2>\n<p>The same configuration, seed and trace give the same digest ({}).</p>\n{}\
         <pre><code>{}</code></pre>\n<details><summary>Configuration</summary><pre><code>{}</code></pre></details>\n\
         <details><summary>Licences of the software that draws the charts</summary><pre>{}</pre></details>\n",
        escaped(&digests.join(", ")),
        sources(runs),
        escaped(origin.command),
        escaped(origin.config),
        escaped(NOTICE),
    )
}

/// The program that made the runs, and the trace files that they read.
fn sources(runs: &[Summary]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for run in runs {
        let Provenance { schema, .. } = run.provenance;
        lines.push(format!("Made by {}; schema {schema}.", run.provenance.program()));
        let of = |file: &TraceFile| format!("{}: {} bytes, SHA-256 {}.", file.path, file.bytes, file.sha256);
        lines.extend(run.trace_file.iter().map(of));
    }
    // Most are the same for all runs.
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines.iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect()
}

fn scripts(charts: &[Chart]) -> String {
    let specs: Vec<Value> =
        charts.iter().map(|chart| json!({ "name": chart.name, "spec": chart.spec })).collect();
    let mut out = format!(
        "<script type=\"application/json\" id=\"charts\">{}</script>\n",
        harmless(&Value::from(specs).to_string())
    );
    for (_, program) in PROGRAMS {
        // A source map is another file, which the page does not have.
        let program = program.split("//# sourceMappingURL").next().unwrap_or(program).trim_end();
        add(&mut out, format_args!("<script>{program}</script>\n"));
    }
    add(&mut out, format_args!("<script>\n{SCRIPT}</script>\n"));
    out
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}

/// Text as HTML shows it, in an element or an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

/// JSON that cannot end the element it stands in, nor open a comment.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
