//! The table of a study, for a terminal and as a page with charts.

use wordline_experiments::{grid, label};
use wordline_kernel::grouped;
use wordline_lab::error::Result;
use wordline_lab::output::ReportFolder;
use wordline_lab::provenance::Provenance;
use wordline_lab::report::{
    Chart, Report, Reproduction, Section, Sheet, SheetCell, chart_files, hardware_of, list_of_hardware,
    made_by, pretty,
};

use crate::charts::charts;
use crate::file::Study;
use crate::table::{Cell, Row, Statement, Table};
use crate::values::plain;

/// Titles of the columns.
fn heads(table: &Table) -> Vec<String> {
    let columns = table.columns.iter().flat_map(|column| [Some(column.clone()), table.difference_heading()]);
    table.axes.iter().cloned().chain(columns.flatten()).collect()
}

/// Cells of a row.
fn cells(table: &Table, row: &Row) -> Vec<String> {
    let keys = table.axes.iter().map(|axis| row.at.get(axis).map_or_else(String::new, plain));
    let columns = table.columns.iter().flat_map(|column| {
        let less = table
            .difference_heading()
            .map(|_| table.difference(row, column).map_or_else(String::new, |cell| cell.text()));
        [Some(row.cell(column).text()), less]
    });
    keys.chain(columns.flatten()).collect()
}

/// Formats the table for a terminal with `width` columns, with notes about the runs.
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
    if let Some(difference) = table.difference_heading() {
        text += &format!("{difference}: the value minus the value of that row, seed by seed\n");
    }
    for row in &table.rows {
        for error in row.errors() {
            text += &format!("{}: {error}\n", row.at.to_string().trim().replace('\n', ", "));
        }
    }
    for line in told(table) {
        text += &(line + "\n");
    }
    text
}

/// Reasons for unknown cells, and notes of runs, each with the number of runs that have it.
fn told(table: &Table) -> Vec<String> {
    let all = table.runs() - table.failed();
    let line =
        |what: &str, Statement { text, runs }: Statement| format!("{what}{text} ({runs} of {all} runs)");
    let unknown = table.unknown().into_iter().map(|told| line("unknown ", told));
    unknown.chain(table.notes().into_iter().map(|told| line("note: ", told))).collect()
}

/// Writes a report to a folder: `report.html` with charts and table, `table.json` and `charts/NAME.vl.json`.
///
/// # Errors
/// [`wordline_lab::error::Error::File`] if the report cannot be written.
pub fn write_report(
    folder: ReportFolder,
    study: &Study,
    table: &Table,
    provenance: &Provenance,
) -> Result<()> {
    let charts = charts(study, table);
    let mut files = chart_files(&charts);
    let mut json = table.json();
    json["provenance"] = serde_json::to_value(provenance).expect("its keys are text");
    files.push(("table.json".into(), pretty(&json).into_bytes()));
    let page = page(study, table, provenance, &charts);
    files.push(("report.html".into(), page.into_bytes()));
    folder.write(&files)
}

/// The report page of a study.
pub(crate) fn page(study: &Study, table: &Table, provenance: &Provenance, charts: &[Chart]) -> String {
    let seeds = table.rows.iter().map(Row::seeds).max().unwrap_or(0) as u64;
    let first = study.repeat.first;
    let seeds = match seeds {
        0 | 1 => format!("Seed {first}."),
        seeds => format!("Seeds {first} to {}.", first.saturating_add(seeds - 1)),
    };
    let command = provenance.command_line();
    let report = Report {
        title: &table.title,
        about: hardware(table),
        verdict: verdict(table),
        notes: errors(table).into_iter().chain(told(table)).collect(),
        charts,
        tables: vec![Section::new("rows", "All combinations", sheet(table).html())],
        again: Reproduction {
            sentences: vec![made_by(provenance), seeds],
            command: &command,
            configuration: &study.text,
        },
        ..Report::default()
    };
    report.html()
}

/// Capacity and geometry of each different device, in HTML.
fn hardware(table: &Table) -> String {
    let of = |(name, configuration): (&str, &str)| {
        hardware_of(name, configuration).map_or_else(|| name.to_owned(), |text| format!("{name}: {text}"))
    };
    list_of_hardware(table.devices().map(of))
}

/// Sentences with the number of runs, and with the least and greatest value of each column.
fn verdict(table: &Table) -> Vec<String> {
    let mut first =
        format!("{} runs of {} combinations of {}", table.runs(), table.rows.len(), table.axes.join(", "));
    if table.failed() > 0 {
        first += &format!("; {} failed", table.failed());
    }
    if table.missing > 0 {
        first += &format!("; {} were not done", table.missing);
    }
    std::iter::once(first + ".").chain(table.columns.iter().map(|column| extremes(table, column))).collect()
}

fn extremes(table: &Table, column: &str) -> String {
    let means = table.rows.iter().filter_map(|row| Some((row, row.cell(column).mean?)));
    let means: Vec<(&Row, f64)> = means.collect();
    let least = means.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let most = means.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let unknown = match table.rows.iter().filter(|row| row.cell(column).is_unknown()).count() {
        0 => String::new(),
        unknown => format!("; {unknown} of {} unknown", table.rows.len()),
    };
    let (Some(least), Some(most)) = (least, most) else {
        return format!("{column}: no combination has a value{unknown}.");
    };
    let shown = |row: &Row| row.cell(column).text().split(' ').map(grouped).collect::<Vec<_>>().join(" ");
    if least.1 == most.1 {
        return match unknown.is_empty() {
            true => format!("{column}: {} everywhere.", shown(least.0)),
            false => format!("{column}: {} wherever it is known{unknown}.", shown(least.0)),
        };
    }
    let at = |row: &Row| {
        let keys =
            table.axes.iter().filter_map(|axis| Some(format!("{axis} = {}", label(row.at.get(axis)?))));
        keys.collect::<Vec<_>>().join(", ")
    };
    format!(
        "{column}: least {}, with {}; greatest {}, with {}{unknown}.",
        shown(least.0),
        at(least.0),
        shown(most.0),
        at(most.0),
    )
}

/// The different errors of failed runs.
fn errors(table: &Table) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for error in table.rows.iter().flat_map(Row::errors) {
        if all.iter().all(|known| known != error) {
            all.push(error.to_owned());
        }
    }
    all
}

/// The rows of a table as a sheet of a page.
pub fn sheet(table: &Table) -> Sheet {
    let of_cell = |cell: &Cell| SheetCell { text: cell.text(), value: cell.mean, half: cell.half };
    let row = |row: &Row| {
        let keys = table
            .axes
            .iter()
            .map(|axis| SheetCell::of_text(row.at.get(axis).map_or_else(String::new, label)));
        let columns = table.columns.iter().flat_map(|column| {
            let difference = table.difference(row, column);
            let less = table
                .difference_heading()
                .map(|_| difference.map_or_else(SheetCell::default, |cell| of_cell(&cell)));
            [Some(of_cell(&row.cell(column))), less]
        });
        keys.chain(columns.flatten()).collect()
    };
    let rows = table.rows.iter().map(row).collect();
    Sheet { name: "All combinations".into(), heads: heads(table), rows }
}
