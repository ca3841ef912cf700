//! The table of a study for a terminal, and as a page with charts.

use serde_json::Value as Json;
use wordline_experiments::{
    ChartFile, Experiment, Kind, Known, Measured, Outcome, Shape, charts, grid, settings,
};
use wordline_lab::error::Result;
use wordline_lab::output::ReportFolder;
use wordline_lab::provenance::Provenance;
use wordline_lab::report::{Section, document, escaped, figures};

use crate::file::Study;
use crate::table::{Cell, Row, Table, plain};

/// A number with as many digits as its interval leaves room for, or four.
fn digits(value: f64, half: Option<f64>) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let size = |value: f64| libm::log10(value.abs()).floor() as i32;
    let last = match half.filter(|half| *half > 0.0) {
        Some(half) => (size(half) - 1).max(size(value) - 5),
        None => size(value) - 3,
    };
    let places = usize::try_from(-last).unwrap_or(0).min(12);
    format!("{value:.places$}")
}

fn shown(cell: &Cell) -> String {
    match (cell.mean, cell.half) {
        (None, _) => "-".to_owned(),
        (Some(mean), Some(half)) if half > 0.0 => {
            format!("{} ± {}", digits(mean, Some(half)), digits(half, Some(half)))
        }
        (Some(mean), _) => digits(mean, None),
    }
}

/// The heads of the columns.
fn heads(table: &Table) -> Vec<String> {
    let columns = table.columns.iter().flat_map(|column| [Some(column.clone()), table.less()]);
    table.axes.iter().cloned().chain(columns.flatten()).collect()
}

/// The cells of a row.
fn cells(table: &Table, row: &Row) -> Vec<String> {
    let keys = table.axes.iter().map(|axis| row.at.get(axis).map_or_else(String::new, plain));
    let columns = table.columns.iter().flat_map(|column| {
        let less =
            table.less().map(|_| table.difference(row, column).map_or_else(String::new, |cell| shown(&cell)));
        [Some(shown(&row.cell(column))), less]
    });
    keys.chain(columns.flatten()).collect()
}

/// The table for a terminal of `width` columns, and what is to be said of its runs.
pub fn text(table: &Table, width: u16) -> String {
    let heads = heads(table);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows = table.rows.iter().map(|row| cells(table, row)).collect();
    let mut text = grid(width, &heads, rows, table.axes.len()..heads.len()) + "\n";
    let failed = table.failed();
    text += &format!("{} runs", table.runs());
    if failed > 0 {
        text += &format!(", {failed} failed");
    }
    if table.missing > 0 {
        text += &format!(", {} not done", table.missing);
    }
    text += "\n";
    let seeds = table.rows.iter().map(|row| row.seeds()).max().unwrap_or(0);
    if seeds > 1 {
        text += &format!("up to {seeds} seeds: ± is half of the 95 % interval of the mean\n");
    }
    if let Some(less) = table.less() {
        text += &format!("{less}: the difference to that row, seed by seed\n");
    }
    for row in &table.rows {
        for error in row.errors() {
            text += &format!("{}: {error}\n", row.at.to_string().trim().replace('\n', ", "));
        }
    }
    text
}

/// Writes a report into a folder: `report.html` with a chart of each column over the first varied key, and the table;
/// `table.json`; `charts/NAME.vl.json`.
///
/// # Errors
/// [`wordline_lab::error::Error::File`] if it cannot be written.
pub fn chart_report(
    folder: ReportFolder,
    study: &Study,
    table: &Table,
    provenance: &Provenance,
) -> Result<()> {
    let charts = charts(&experiment(study, table), &outcome(study, table));
    let mut files: Vec<(String, Vec<u8>)> =
        charts.iter().map(|chart| (format!("charts/{}.vl.json", chart.name), pretty(&chart.spec))).collect();
    files.push(("table.json".into(), pretty(&table.json())));
    let mut sections = Vec::new();
    if !charts.is_empty() {
        sections.push(figures(&charts));
    }
    sections.push(Section::new("rows", "All combinations", rows(table)));
    let again = format!(
        "<p>Made by {}.</p>\n<pre><code>{}</code></pre>\n",
        escaped(&provenance.program()),
        escaped(&provenance.command_line())
    );
    sections.push(Section::new("again", "To run it again", again));
    let introduction = format!("<p>{} runs over {}</p>\n", table.runs(), escaped(&table.axes.join(", ")));
    let page = document(&table.title, &introduction, &sections, &charts, "");
    files.push(("report.html".into(), page.into_bytes()));
    folder.write(&files)
}

fn pretty(value: &Json) -> Vec<u8> {
    (serde_json::to_string_pretty(value).expect("keys are text") + "\n").into_bytes()
}

fn rows(table: &Table) -> String {
    let cell = |kind: &str, text: &str| format!("<{kind}>{}</{kind}>", escaped(text));
    let heads: String = heads(table).iter().map(|head| cell("th", head)).collect();
    let row = |row: &Row| {
        let cells: String = cells(table, row).iter().map(|text| cell("td", text)).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let body: String = table.rows.iter().map(row).collect();
    format!("<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n")
}

/// The charts of a study are those of an experiment without expected values.
fn experiment(study: &Study, table: &Table) -> Experiment {
    let chart = |column: &String| ChartFile {
        name: column.replace('.', "-"),
        title: column.clone(),
        caption: "Means over the seeds.".into(),
        shape: Shape::Curves {
            column: column.clone(),
            unit: column.clone(),
            along: table.axes[0].clone(),
            by: table.axes.get(1).cloned(),
            panel: table.axes.get(2).cloned(),
            per: toml::Table::new(),
        },
        at: toml::Table::new(),
    };
    // More than three varied keys do not fit into a chart.
    let drawn = if (1..=3).contains(&table.axes.len()) { &table.columns[..] } else { &[] };
    Experiment {
        id: study.title.clone(),
        path: study.path.clone(),
        title: study.title.clone(),
        source: String::new(),
        claims: Vec::new(),
        left_open: Vec::new(),
        kind: Kind::Sweep(Box::new(study.sweep.clone())),
        changes: Default::default(),
        expect: Vec::new(),
        charts: drawn.iter().map(chart).collect(),
        known: Known::default(),
    }
}

fn outcome(study: &Study, table: &Table) -> Outcome {
    let mut outcome = Outcome::new(&study.title);
    for row in &table.rows {
        let mut values = Json::Object(Default::default());
        for column in &table.columns {
            if let Some(mean) = row.cell(column).mean {
                put(&mut values, column, mean);
            }
        }
        outcome.points.push(Measured { at: settings(&row.at), values });
    }
    outcome
}

/// Puts a number where a name with dots leads to.
fn put(values: &mut Json, path: &str, number: f64) {
    let mut inside = values;
    for key in path.split('.') {
        inside = &mut inside[key];
    }
    *inside = number.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_are_known() {
        assert_eq!(digits(1234.5678, None), "1235");
        assert_eq!(digits(0.0123456, None), "0.01235");
        assert_eq!(digits(2.34567, Some(0.012)), "2.346");
        assert_eq!(digits(0.0, None), "0");
    }
}
