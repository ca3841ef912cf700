//! The tables for a terminal.

use std::collections::BTreeMap;
use std::slice::from_ref;

use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};

use super::quantity::Quantity;
use super::results::{self, Group, results};
use crate::summary::Summary;

/// Columns of a terminal that the tables keep to: what is left of 100 beside a margin.
const WIDTH: u16 = 96;

/// Where the right one of two tables begins at the least, so that columns line up.
const HALF: usize = WIDTH as usize / 2;

/// The result of one run in a table for a terminal of 100 columns, the key results first.
pub fn table(run: &Summary) -> String {
    let groups = results(from_ref(run)).into_iter().flatten().map(|group| (group.title.clone(), group));
    let groups: BTreeMap<String, Group> = groups.collect();
    let side_by_side = |title, columns: &[(&str, &str)]| {
        let columns: Vec<_> = columns.iter().map(|(group, name)| (&groups[*group], *name)).collect();
        matrix(title, &columns)
    };
    let parts = [
        heading(run),
        beside(
            &list("Host", groups["Host"].rows.iter()),
            &side_by_side("Latency", &[("Read latency", "reads"), ("Write latency", "writes")]),
        ),
        beside(
            &list("Flash", groups["Flash"].rows.iter().filter(|row| !is_idle(row))),
            &side_by_side(
                "Mean time in",
                &[("Mean time of a read", "reads"), ("Mean time of a write", "writes")],
            ),
        ),
        beside(
            &list("Wear", groups["Wear"].rows.iter()),
            &[
                side_by_side("Busy", &[("Channels busy", "channels"), ("Dies busy", "dies")]),
                faults(&groups["Faults"]),
            ]
            .concat(),
        ),
        pools(run, &groups),
        energy(run),
        notes(run),
    ];
    let shown: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    shown.join("\n\n") + "\n"
}

/// A column for each of several pools, and what was sent to which.
fn pools(run: &Summary, groups: &BTreeMap<String, Group>) -> String {
    let Some(sent) = groups.get("Sub-requests") else { return String::new() };
    let column = |n: usize| {
        let Group { title, rows } = &groups[&format!("Pool {n}")];
        let part = &run.pools[n - 1].part;
        let rows = rows.iter().filter(|(name, _)| name != results::PART).cloned().collect();
        // Chosen: two of them fit on half a line.
        (Group { title: title.clone(), rows }, format!("{n}: {}", results::shortened(part, 17)))
    };
    let columns: Vec<(Group, String)> = (1..=run.pools.len()).map(column).collect();
    let columns: Vec<_> = columns.iter().map(|(group, name)| (group, name.as_str())).collect();
    let (pools, sent) = (matrix("Pools", &columns), list("Sub-requests", sent.rows.iter()));
    let width = |lines: &[String]| lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let fit = width(&pools).max(HALF) + 2 + width(&sent) <= usize::from(WIDTH);
    if fit { beside(&pools, &sent) } else { format!("{}\n\n{}", pools.join("\n"), sent.join("\n")) }
}

/// Whether a row is of a mechanism that the device does not have: a map in flash, an SLC cache.
fn is_idle((name, result): &(String, Quantity)) -> bool {
    let optional = results::OPTIONAL.contains(&name.as_str());
    optional && matches!(result, Quantity::Absent | Quantity::Count(0))
}

/// An empty line and what failed, where anything did.
fn faults(group: &Group) -> Vec<String> {
    let some: Vec<_> = group.rows.iter().filter(|(_, count)| *count != Quantity::Count(0)).collect();
    if some.is_empty() {
        return Vec::new();
    }
    [vec![String::new()], list("Faults", some.into_iter())].concat()
}

/// Several runs in columns, with how many times the first run's result each is.
pub fn comparison(runs: &[Summary]) -> String {
    let all = results(runs);
    let Some(first) = all.first() else { return String::new() };
    let mut table = plain_table(presets::UTF8_HORIZONTAL_ONLY);
    table.style_mut().row_separator = presets::NOTHING.row_separator;
    table.set_header([String::new()].into_iter().chain(results::labels(runs)));
    for (position, group) in first.iter().enumerate() {
        table.add_row([group.title.to_uppercase()]);
        for (name, base) in &group.rows {
            let cells = all.iter().enumerate().map(|(index, groups)| {
                let result = groups[position].get(name).unwrap_or(&Quantity::Absent);
                compared(result, (index > 0).then_some(base))
            });
            table.add_row([format!("  {name}")].into_iter().chain(cells));
        }
    }
    align_numbers(&mut table);
    let mut text = lines_of(&table).join("\n") + "\n";
    for (label, run) in results::labels(runs).iter().zip(runs) {
        run.notes.iter().for_each(|note| text += &format!("Note on {label}: {note}\n"));
    }
    text
}

/// A result, and behind it how many times `first` it is.
fn compared(result: &Quantity, first: Option<&Quantity>) -> String {
    let text = results::shortened(&result.to_string(), 30); // chosen: three runs fit on a wide terminal
    match first {
        Some(first) if result.number().is_some() => format!("{text}  {:<6}", result.ratio_text(first)),
        _ => text,
    }
}

fn heading(run: &Summary) -> String {
    let mut table = plain_table(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.add_row(["Device", &run.device]);
    table.add_row(["Workload", &format!("{} ({})", run.workload.name, results::kind(run))]);
    table.add_row([
        "Outcome",
        &format!("{}, seed {}, digest {}", results::outcome(run), run.seed, run.digest),
    ]);
    table.add_row([
        "Time",
        &format!(
            "{} simulated in {} after {} of preparation, {} requests",
            Quantity::Seconds(run.simulated_seconds),
            Quantity::Seconds(run.wall_seconds),
            Quantity::Seconds(run.precondition_seconds),
            Quantity::PerSecond(run.requests_per_second),
        ),
    ]);
    lines_of(&table).join("\n")
}

fn energy(run: &Summary) -> String {
    let stages: Vec<String> = run
        .energy_by_stage
        .iter()
        .filter(|share| share.amount > 0.0)
        .map(|share| format!("{} {}", share.name, Quantity::Joules(share.amount)))
        .collect();
    if stages.is_empty() { String::new() } else { wrapped("Energy", &[stages.join(", ")]) }
}

fn notes(run: &Summary) -> String {
    if run.notes.is_empty() { String::new() } else { wrapped("Notes", &run.notes) }
}

fn wrapped(name: &str, lines: &[String]) -> String {
    let mut table = plain_table(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    for (index, line) in lines.iter().enumerate() {
        table.add_row([if index == 0 { name } else { "" }, line]);
    }
    lines_of(&table).join("\n")
}

/// Names and results below each other.
pub(super) fn list<'a>(title: &str, rows: impl Iterator<Item = &'a (String, Quantity)>) -> Vec<String> {
    let mut table = plain_table(underlined());
    table.set_header([title, ""]);
    rows.for_each(|(name, result)| {
        table.add_row([name.clone(), result.to_string()]);
    });
    align_numbers(&mut table);
    lines_of(&table)
}

/// Groups with the same names as columns of one table.
fn matrix(title: &str, columns: &[(&Group, &str)]) -> Vec<String> {
    let mut table = plain_table(underlined());
    table.set_header([title].into_iter().chain(columns.iter().map(|(_, name)| *name)));
    for (name, _) in &columns[0].0.rows {
        let cells = columns.iter().map(|(group, _)| group.get(name).unwrap_or(&Quantity::Absent).to_string());
        table.add_row([name.clone()].into_iter().chain(cells));
    }
    align_numbers(&mut table);
    lines_of(&table)
}

fn underlined() -> TableStyle {
    let mut style = presets::NOTHING;
    style.header_separator = presets::UTF8_HORIZONTAL_ONLY.row_separator;
    style
}

fn plain_table(style: TableStyle) -> Table {
    let mut table = Table::new();
    table.force_no_tty().load_style(style).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn align_numbers(table: &mut Table) {
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
}

fn lines_of(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Two tables next to each other.
pub(super) fn beside(left: &[String], right: &[String]) -> String {
    let width = |line: &String| line.chars().count();
    let indent = left.iter().map(width).max().unwrap_or(0).max(HALF);
    let lines = (0..left.len().max(right.len())).map(|row| {
        let empty = String::new();
        let (left, right) = (left.get(row).unwrap_or(&empty), right.get(row).unwrap_or(&empty));
        format!("{left}{}  {right}", " ".repeat(indent - width(left))).trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
