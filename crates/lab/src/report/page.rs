//! The page: one file with all that it needs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::slice::from_ref;

use serde_json::{Value, json};

use super::charts::charts;
use super::quantity::Quantity;
use super::results::{self, Group, results};
use super::{Chart, figures};
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

/// The data by which a reader can repeat the runs of a report.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The configuration of the runs, as TOML.
    pub config: &'a str,
    /// The command line.
    pub command: &'a str,
}

/// A part of a page, named in its contents.
pub struct Section {
    /// The name by which links find it.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// Its content, as HTML.
    pub html: String,
}

impl Section {
    /// A section with its heading in plain text.
    pub fn new(id: &'static str, title: impl Into<String>, html: String) -> Self {
        Self { id, title: title.into(), html }
    }
}

/// One self-contained HTML page about one run, or about several side by side, that needs no network.
pub fn html(runs: &[Summary], origin: Origin<'_>) -> String {
    let charts = charts(runs);
    let title = match runs {
        [run] => format!("{} on {}", run.workload.name, run.device),
        runs => format!("{} runs compared", runs.len()),
    };
    let introductions: String = runs.iter().map(|run| introduction(run, runs.len() > 1)).collect();
    let [key, all] = match runs {
        [run] => [
            Section::new("key", "Key results", key_results(run)),
            Section::new("all", "All results", tables(run)),
        ],
        runs => {
            let key = "Key results, and how many times the first run's";
            let [few, all] = [(key, true), ("All results", false)]
                .map(|(title, only_key)| side_by_side(title, runs, only_key));
            [Section::new("key", key, few), Section::new("all", "All results", all)]
        }
    };
    let again = Section::new("again", "To run it again", reproduction(runs, origin));
    let sections = [key, figures::section(&charts), all, again];
    document(&title, &(introductions + &notes(runs)), &sections, &charts, "")
}

/// One self-contained HTML page: a title, what stands below it (as HTML), its sections, and the charts that these hold.
/// `style` is the style sheet of what it has alone.
pub fn document(
    title: &str,
    introduction: &str,
    sections: &[Section],
    charts: &[Chart],
    style: &str,
) -> String {
    let mut contents = String::new();
    let mut body = String::new();
    for Section { id, title, html } in sections {
        let title = escaped(title);
        add(&mut contents, format_args!("<li><a href=\"#{id}\">{title}</a></li>"));
        add(
            &mut body,
            format_args!(
                "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{html}</section>\n"
            ),
        );
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – Wordline</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <nav aria-label=\"Contents\"><ul>{contents}</ul></nav>\n</header>\n<main>\n{introduction}{body}</main>\n\
         <footer><details><summary>Licences of the software that draws the charts</summary><pre>{notice}</pre></details></footer>\n\
         {scripts}</body>\n</html>\n",
        title = escaped(title),
        notice = escaped(NOTICE),
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
    ) + &run
        .verdict
        .as_ref()
        .map_or_else(String::new, |verdict| format!("<p>Bound by {}.</p>\n", escaped(&verdict.text)))
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
    let mut out = "<div class=\"tables\">\n".to_owned();
    let by_stage =
        run.energy_by_stage.iter().map(|share| (share.name.clone(), Quantity::Joules(share.amount)));
    let energy = Group { title: "Energy by stage".into(), rows: by_stage.collect() };
    let all = results(from_ref(run)).into_iter().flatten().chain([energy]);
    for group in all.filter(|group| !group.rows.is_empty()) {
        add(&mut out, format_args!("<table><caption>{}</caption><tbody>", escaped(&group.title)));
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
    let mut out = scrolled(&format!("Table: {title}")) + "<table><thead><tr><td></td>";
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
            out += &compared(name, base, of_each);
        }
        out += "</tbody>\n";
    }
    out + "</table></div>\n"
}

/// The beginning of what may be wider than the page and is then moved sideways, by keys as well.
pub(crate) fn scrolled(name: &str) -> String {
    format!("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">", escaped(name))
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

fn reproduction(runs: &[Summary], origin: Origin<'_>) -> String {
    let digests: Vec<&str> = runs.iter().map(|run| run.digest.as_str()).collect();
    format!(
        "<p>The same configuration, seed and trace give the same digest ({}).</p>\n{}\
         <pre><code>{}</code></pre>\n<details><summary>Configuration</summary><pre><code>{}</code></pre></details>\n",
        escaped(&digests.join(", ")),
        sources(runs),
        escaped(origin.command),
        escaped(origin.config),
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
        "<script type=\"application/json\" id=\"charts-data\">{}</script>\n",
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

/// Adds text to text.
pub fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}

/// Text as HTML shows it, in an element or an attribute.
pub fn escaped(text: &str) -> String {
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
