//! The frame of every report: verdict, charts, tables, and how to reproduce the result.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::charts::Chart;
use super::figures;
use super::markup::{Section, add, escaped};
use super::style::STYLE;
use crate::provenance::Provenance;

const SCRIPT: &str = include_str!("../../assets/report.js");
const TABLES: &str = include_str!("../../assets/tables.js");
const NOTICE: &str = include_str!("../../assets/NOTICE.txt");
/// The libraries that draw the charts, in the order in which they depend on each other.
pub(super) const PROGRAMS: [(&str, &str); 3] = [
    ("vega", include_str!("../../assets/vega.min.js")),
    ("vega-lite", include_str!("../../assets/vega-lite.min.js")),
    ("vega-embed", include_str!("../../assets/vega-embed.min.js")),
];
/// The content security policy forbids loading anything. Vega compiles its expressions, which needs
/// `unsafe-eval`.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:";

/// A report. Texts are plain unless a field says HTML.
#[derive(Default)]
pub struct Report<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// Subject of the report, in HTML.
    pub about: String,
    /// The verdict, one sentence each.
    pub verdict: Vec<String>,
    /// Notes to read before using the numbers.
    pub notes: Vec<String>,
    /// Further content in HTML, folded, below the notes.
    pub more: String,
    /// The key numbers, before the charts.
    pub key: Option<Section>,
    /// The charts.
    pub charts: &'a [Chart],
    /// The tables.
    pub tables: Vec<Section>,
    /// The data needed to reproduce the result.
    pub again: Reproduction<'a>,
    /// Style sheet for this kind of report only.
    pub style: &'a str,
}

/// The data needed to reproduce a report.
#[derive(Default)]
pub struct Reproduction<'a> {
    /// Sentences about the program, the seeds, and the files that were read. Repeated sentences are shown
    /// once.
    pub sentences: Vec<String>,
    /// The command line, or the function call.
    pub command: &'a str,
    /// The configuration.
    pub configuration: &'a str,
}

impl Reproduction<'_> {
    fn section(&self) -> Section {
        let mut seen = BTreeSet::new();
        let mut out = String::new();
        for sentence in self.sentences.iter().filter(|sentence| seen.insert(*sentence)) {
            add(&mut out, format_args!("<p>{}</p>\n", escaped(sentence)));
        }
        for (name, text, open) in
            [("Command", self.command, " open"), ("Configuration", self.configuration, "")]
        {
            if !text.is_empty() {
                add(
                    &mut out,
                    format_args!(
                        "<details{open}><summary>{name}</summary><pre><code>{}</code></pre></details>\n",
                        escaped(text)
                    ),
                );
            }
        }
        Section::new("again", "To reproduce it", out)
    }
}

/// A sentence that names the program that made a result.
pub fn made_by(provenance: &Provenance) -> String {
    format!("Made by {}; schema {}.", provenance.program(), provenance.schema)
}

impl Report<'_> {
    /// The report as one HTML page, which contains all it needs and loads nothing.
    pub fn html(self) -> String {
        let verdict: String = self.verdict.iter().map(|one| format!("<p>{}</p>\n", escaped(one))).collect();
        let mut introduction = self.about;
        if !verdict.is_empty() {
            introduction += &format!(
                "<section id=\"verdict\" class=\"told\" aria-label=\"Verdict\">{verdict}</section>\n"
            );
        }
        if !self.notes.is_empty() {
            introduction +=
                &format!("<section class=\"notes\" aria-label=\"Notes\">{}</section>\n", list(&self.notes));
        }
        introduction += &self.more;
        let charts = (!self.charts.is_empty()).then(|| figures::section(self.charts));
        let sections = self.key.into_iter().chain(charts).chain(self.tables).chain([self.again.section()]);
        document(self.title, &introduction, &sections.collect::<Vec<_>>(), self.charts, self.style)
    }
}

/// A list in HTML.
pub fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<li>{}</li>", escaped(item))).collect();
    format!("<ul>{items}</ul>")
}

/// A page with a title, an introduction in HTML, its sections, and their charts.
fn document(title: &str, introduction: &str, sections: &[Section], charts: &[Chart], style: &str) -> String {
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

fn scripts(charts: &[Chart]) -> String {
    let specs: Vec<Value> =
        charts.iter().map(|chart| json!({ "name": chart.name, "spec": chart.spec })).collect();
    let mut out = format!(
        "<script type=\"application/json\" id=\"charts-data\">{}</script>\n",
        harmless(&Value::from(specs).to_string())
    );
    let programs = if charts.is_empty() { &[][..] } else { &PROGRAMS[..] };
    for (_, program) in programs {
        // The reference to a source map is removed, because the page has no second file.
        let program = program.split("//# sourceMappingURL").next().unwrap_or(program).trim_end();
        add(&mut out, format_args!("<script>{program}</script>\n"));
    }
    for script in [SCRIPT, TABLES] {
        add(&mut out, format_args!("<script>\n{script}</script>\n"));
    }
    out
}

/// Escapes JSON so that it cannot end its element or open a comment.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
