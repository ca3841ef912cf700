//! Tables of results for a terminal.

use std::collections::BTreeMap;
use std::slice::from_ref;

use comfy_table::{Table, TableStyle, presets};
use wordline_run::quantity::Quantity;

use super::aligned::{align_right, folded, lines_of, plain, underlined};
use super::group::Group;
use super::results::{self, results};
use super::{tail, told};
use crate::summary::{JobUse, MemberUse, Summary};

/// Columns that stay free at the right edge of a wide terminal. Chosen.
const MARGIN: u16 = 4;
/// Least columns of a terminal for three tables side by side. Chosen: the widest row of three tables has 115
/// columns.
const WIDE: u16 = 120;
/// Least columns to which text is wrapped. Chosen.
const LEAST: u16 = 40;

/// The layout of tables on a terminal.
#[derive(Clone, Copy)]
struct Sheet {
    /// Usable columns.
    width: usize,
    /// Least column at which the right one of two tables begins, so that tables align.
    half: usize,
    /// Whether three tables are placed side by side.
    is_wide: bool,
}

impl Sheet {
    /// The layout for a terminal with this many columns.
    fn of(columns: u16) -> Self {
        let columns = columns.max(LEAST);
        let width = usize::from(if columns > 80 { columns - MARGIN } else { columns });
        // On a narrow terminal the left tables, which are the wider ones, get the width that they need.
        let half = if columns > 80 { (width / 2).min(48) } else { 40.min(width / 2) };
        Self { width, half, is_wide: columns >= WIDE }
    }

    /// Arranges tables in rows of two, or of three on a wide terminal. Tables that do not fit are placed
    /// below each other.
    fn lay_out(&self, tables: [Vec<String>; 6]) -> Vec<String> {
        let [host, latency, flash, mean_times, wear, busy] = tables;
        let rows: Vec<Vec<Vec<String>>> = match self.is_wide {
            true => vec![vec![host, latency, busy], vec![flash, mean_times, wear]],
            false => vec![vec![host, latency], vec![flash, mean_times], vec![wear, busy]],
        };
        rows.into_iter().map(|row| self.side_by_side(&row)).collect()
    }

    /// Places tables side by side, or below each other if they do not fit.
    fn side_by_side(&self, tables: &[Vec<String>]) -> String {
        let start = if tables.len() > 2 { self.half.min(self.width / 3) } else { self.half };
        let joined = tables.iter().skip(1).fold(tables[0].clone(), |left, right| {
            let begin = if left.iter().any(|line| columns_of(line) > start) { 0 } else { start };
            beside(&left, right, begin)
        });
        match joined.iter().all(|line| columns_of(line) <= self.width) {
            true => joined.join("\n"),
            false => tables.iter().map(|table| table.join("\n")).collect::<Vec<_>>().join("\n\n"),
        }
    }
}

fn columns_of(line: &str) -> usize {
    line.chars().count()
}

/// The result of a run as tables for a terminal with this many `columns`. The key results come first.
pub fn table(run: &Summary, columns: u16) -> String {
    let sheet = Sheet::of(columns);
    let groups = results(from_ref(run)).into_iter().flatten().map(|group| (group.title.clone(), group));
    let groups: BTreeMap<String, Group> = groups.collect();
    let mut zeros = ZeroRows::default();
    let mut side_by_side = |title, columns: &[(&str, &str)]| {
        let columns: Vec<_> = columns.iter().map(|(group, name)| (&groups[*group], *name)).collect();
        let kept = zeros.of_columns(title, &columns);
        let columns: Vec<_> = kept.iter().zip(columns).map(|(group, (_, name))| (group, name)).collect();
        matrix(title, &columns)
    };
    let busy = side_by_side("Busy", &[("Channels busy", "channels"), ("Die arrays busy", "die arrays")]);
    let rare = [
        ("Flush latency", "flushes"),
        ("Discard latency", "discards"),
        ("Write zeroes latency", "zeroes"),
        ("Compare latency", "compares"),
        ("Zone appends", "appends"),
        ("Zone resets", "resets"),
        ("Zone finishes", "finishes"),
        ("Zone opens", "opens"),
        ("Zone closes", "closes"),
    ];
    let rare =
        rare.into_iter().filter(|(group, _)| groups.get(*group).is_some_and(|group| !group.rows.is_empty()));
    let latencies: Vec<_> =
        [("Read latency", "reads"), ("Write latency", "writes")].into_iter().chain(rare).collect();
    let latency = side_by_side("Latency", &latencies);
    let times =
        side_by_side("Mean time in", &[("Mean time of a read", "reads"), ("Mean time of a write", "writes")]);
    let [host, flash, wear] =
        ["Host", "Flash", "Wear"].map(|title| list(title, zeros.of(&groups[title]).iter()));
    let main = sheet.lay_out([host, latency, flash, times, wear, [busy, faults(&groups["Faults"])].concat()]);
    let own = groups.get(results::OWN).map(|own| zeros.of(own)).filter(|rows| !rows.is_empty());
    let own = own.map(|rows| list(results::OWN, rows.iter()).join("\n"));
    // In an array, the flash results are in the columns of the members.
    let parts =
        if run.members.is_empty() { pools(run, &groups, sheet) } else { members(run, &groups, sheet) };
    let jobs = jobs(run, &groups, sheet);
    let energy = energy(run, sheet);
    let last = [
        zeros.line(sheet),
        jobs,
        parts,
        own.unwrap_or_default(),
        energy,
        slowest(run, sheet),
        unknown(run, sheet),
        notes(run, sheet),
    ];
    let parts = std::iter::once(heading(run, sheet)).chain(main).chain(last);
    let shown: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    shown.join("\n\n") + "\n"
}

/// Names of the rows that are zero. Tables leave these rows out, and one line below the tables lists them.
#[derive(Default)]
struct ZeroRows(Vec<String>);

impl ZeroRows {
    /// The rows of a group without those that are zero.
    fn of(&mut self, group: &Group) -> Vec<(String, Quantity)> {
        let rows = group.rows.iter().filter(|row| !is_idle(row)).cloned();
        let (zero, kept): (Vec<_>, Vec<_>) = rows.partition(|(_, result)| result.number() == Some(0.0));
        self.note(&group.title, zero.into_iter().map(|(name, _)| name).collect());
        kept
    }

    /// Groups with the same names, without the rows that are zero, absent or unknown in all of them. The zero
    /// rows are listed below the tables.
    fn of_columns(&mut self, title: &str, columns: &[(&Group, &str)]) -> Vec<Group> {
        let results =
            |name: &str| columns.iter().filter_map(|(group, _)| group.get(name)).collect::<Vec<_>>();
        let is_zero = |name: &str| {
            let results = results(name);
            let none =
                |result: &&Quantity| matches!(result, Quantity::Absent) || result.number() == Some(0.0);
            results.iter().all(none) && results.iter().any(|result| result.number().is_some())
        };
        let names = columns[0].0.rows.iter().map(|(name, _)| name.clone());
        let zero: Vec<String> = names.filter(|name| is_zero(name)).collect();
        let kept = columns.iter().map(|(group, _)| {
            let is_unknown = |name: &str| results(name).iter().all(|one| matches!(one, Quantity::Unknown));
            let shown = |name: &String| !zero.contains(name) && !is_unknown(name);
            let rows = group.rows.iter().filter(|(name, _)| shown(name)).cloned().collect();
            Group { title: group.title.clone(), rows }
        });
        let kept = kept.collect();
        self.note(title, zero);
        kept
    }

    fn note(&mut self, title: &str, names: Vec<String>) {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(|name| name.trim()).collect();
            self.0.push(format!("{}: {}", title.to_lowercase(), names.join(", ")));
        }
    }

    /// The line below the tables that lists the zero rows.
    fn line(&self, sheet: Sheet) -> String {
        if self.0.is_empty() { String::new() } else { wrapped("Zero", from_ref(&self.0.join("; ")), sheet) }
    }
}

/// A table with a column for each pool, and a table of the sub-requests to each pool.
fn pools(run: &Summary, groups: &BTreeMap<String, Group>, sheet: Sheet) -> String {
    if run.pools.is_empty() {
        return String::new();
    }
    let column = |n: usize| {
        let Group { title, rows } = &groups[&format!("Pool {n}")];
        let part = &run.pools[n - 1].part;
        let rows = rows.iter().filter(|(name, _)| name != results::PART).cloned().collect();
        // Chosen: two such titles fit on half a line.
        (Group { title: title.clone(), rows }, format!("{n}: {}", results::shortened(part, 17)))
    };
    let mut columns: Vec<(Group, String)> = (1..=run.pools.len()).map(column).collect();
    let fails = |name: &str| columns.iter().any(|(group, _)| group.get(name) != Some(&Quantity::Count(0)));
    let idle: Vec<&str> =
        results::POOL_FAULTS.iter().map(|(name, _)| *name).filter(|name| !fails(name)).collect();
    for (group, _) in &mut columns {
        group.rows.retain(|(name, _)| !idle.contains(&name.as_str()));
    }
    let columns: Vec<_> = columns.iter().map(|(group, name)| (group, name.as_str())).collect();
    let sent = groups.get(results::SENT).map(|sent| list(results::SENT, sent.rows.iter()));
    let tables: Vec<Vec<String>> = std::iter::once(matrix("Pools", &columns)).chain(sent).collect();
    sheet.side_by_side(&tables)
}

/// Tables with a column for each device of an array, as many as needed, and the counts of the array.
fn members(run: &Summary, groups: &BTreeMap<String, Group>, sheet: Sheet) -> String {
    let of = |(n, member): (usize, &MemberUse)| (format!("Device {n} of the array"), member.role.clone());
    let columns: Vec<(String, String)> = run.members.iter().enumerate().map(of).collect();
    let mut tables = in_columns("Members", &columns, &[results::ROLE, results::PART], groups, sheet);
    let array = groups[results::ARRAY].rows.iter().filter(|row| !is_idle(row));
    tables.push(list(results::ARRAY, array).join("\n"));
    tables.join("\n\n")
}

/// A table with a column for each job of a job file, and the fairness among jobs.
fn jobs(run: &Summary, groups: &BTreeMap<String, Group>, sheet: Sheet) -> String {
    let of = |(n, job): (usize, &JobUse)| (format!("Job {}", n + 1), job.name.clone());
    let columns: Vec<(String, String)> = run.jobs.iter().enumerate().map(of).collect();
    let mut tables = in_columns("Jobs", &columns, &[results::JOB], groups, sheet);
    let fairness = run.fairness.map(|index| format!("Fairness  {index:.3}, Jain's index of the jobs' IOPS"));
    tables.extend(fairness);
    tables.join("\n\n")
}

/// Tables with a named column for each of these groups, with as many columns in a table as fit. The rows in
/// `without` are left out.
fn in_columns(
    title: &str,
    columns: &[(String, String)],
    left_out: &[&str],
    groups: &BTreeMap<String, Group>,
    sheet: Sheet,
) -> Vec<String> {
    let column = |(group, name): &(String, String)| {
        let Group { title, rows } = &groups[group];
        let rows = rows.iter().filter(|(name, _)| !left_out.contains(&name.as_str())).cloned().collect();
        (Group { title: title.clone(), rows }, name.clone())
    };
    let columns: Vec<(Group, String)> = columns.iter().map(column).collect();
    let columns: Vec<(&Group, &str)> = columns.iter().map(|(group, name)| (group, name.as_str())).collect();
    let fits = |lines: &[String]| lines.iter().all(|line| columns_of(line) <= sheet.width);
    let mut tables = Vec::new();
    let mut rest = &columns[..];
    while !rest.is_empty() {
        let table = |count: usize| matrix(title, &rest[..count]);
        let count = (1..=rest.len()).rev().find(|count| *count == 1 || fits(&table(*count))).unwrap_or(1);
        tables.push(table(count).join("\n"));
        rest = &rest[count..];
    }
    tables
}

/// Whether a row belongs to a mechanism that the device does not have, such as a map in flash or an SLC
/// cache.
fn is_idle((name, result): &(String, Quantity)) -> bool {
    let optional = results::OPTIONAL.contains(&name.as_str());
    optional && matches!(result, Quantity::Absent | Quantity::Count(0))
}

/// An empty line and the failures; nothing if there were no failures. Counts that the device does not have are left
/// out.
fn faults(group: &Group) -> Vec<String> {
    let is_none = |count: &Quantity| matches!(count, Quantity::Absent | Quantity::Count(0));
    let some: Vec<_> = group.rows.iter().filter(|(_, count)| !is_none(count)).collect();
    if some.is_empty() {
        return Vec::new();
    }
    [vec![String::new()], list("Faults", some.into_iter())].concat()
}

/// Several runs in columns, with ratios to the first run. Runs that do not fit on a terminal with this many
/// `columns` follow in further tables.
pub fn comparison(runs: &[Summary], columns: u16) -> String {
    let all = results(runs);
    let labels = results::labels(runs);
    let mut text = String::new();
    let mut begin = 0;
    while begin < runs.len() {
        let some = |count: usize| compared_table(&all, &labels, begin..begin + count);
        let fits = |lines: &[String]| lines.iter().all(|line| columns_of(line) <= usize::from(columns));
        let most = (1..=runs.len() - begin).rev().find(|count| *count == 1 || fits(&some(*count)));
        let count = most.unwrap_or(1);
        text += if begin > 0 { "\n" } else { "" };
        text += &(some(count).join("\n") + "\n");
        begin += count;
    }
    let unknown = |run: &Summary| told::unknown(&run.unknown);
    text += &grouped_sentences("Unknown of", &labels, runs.iter().map(unknown).collect(), columns);
    text +=
        &grouped_sentences("Note on", &labels, runs.iter().map(|run| run.notes.clone()).collect(), columns);
    text
}

/// Sentences about runs. Each different sentence appears once, with the labels of the runs that it is about.
fn grouped_sentences(what: &str, labels: &[String], sentences: Vec<Vec<String>>, columns: u16) -> String {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for (label, sentence) in
        labels.iter().zip(sentences).flat_map(|(label, all)| all.into_iter().map(move |one| (label, one)))
    {
        match told.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, of)) => of.push(label),
            None => told.push((sentence, vec![label])),
        }
    }
    let fits = |line: &str| columns_of(line) <= usize::from(columns);
    let mut text = String::new();
    for (sentence, of) in &told {
        let together = format!("{what} {}: {sentence}", of.join(", "));
        if fits(&together) {
            text += &(together + "\n");
            continue;
        }
        let head = format!("{what} {}:", of.join(", "));
        // Chosen: the sentence gets at least half of the line.
        if 2 * columns_of(&head) <= usize::from(columns) {
            text += &(wrapped(&head, from_ref(sentence), Sheet::of(columns)) + "\n");
            continue;
        }
        for label in of {
            let (head, line) = (format!("{what} {label}:"), format!("{what} {label}: {sentence}"));
            let line =
                if fits(&line) { line } else { wrapped(&head, from_ref(sentence), Sheet::of(columns)) };
            text += &(line + "\n");
        }
    }
    text
}

/// The table of some of the compared runs.
fn compared_table(all: &[Vec<Group>], labels: &[String], shown: std::ops::Range<usize>) -> Vec<String> {
    let mut table = plain();
    let style = TableStyle { row_separator: presets::NOTHING.row_separator, ..presets::UTF8_HORIZONTAL_ONLY };
    table.load_style(style);
    table.set_header([String::new()].into_iter().chain(labels[shown.clone()].iter().cloned()));
    let is_shown = |group: &Group| group.title != results::OTHER && !group.rows.is_empty();
    let groups = all[0].iter().enumerate().filter(|(_, group)| is_shown(group));
    for (position, group) in groups {
        table.add_row([group.title.to_uppercase()]);
        for (name, base) in &group.rows {
            let cells = shown.clone().map(|index| {
                let result = all[index][position].get(name).unwrap_or(&Quantity::Absent);
                compared(result, (index > 0).then_some(base))
            });
            table.add_row([format!("  {name}")].into_iter().chain(cells));
        }
    }
    align_numbers(&mut table);
    lines_of(&table)
}

/// A result, followed by its ratio to `first`.
fn compared(result: &Quantity, first: Option<&Quantity>) -> String {
    let text = results::shortened(&result.to_string(), 30); // chosen: three runs fit on a wide terminal
    match first {
        Some(first) if result.number().is_some() => format!("{text}  {:<6}", result.ratio_text(first)),
        _ => text,
    }
}

fn heading(run: &Summary, sheet: Sheet) -> String {
    let mut table = folded(sheet.width as u16);
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
            Quantity::Seconds(run.simulator.wall_seconds),
            Quantity::Seconds(run.simulator.precondition_seconds),
            Quantity::PerSecond(run.simulator.requests_per_second),
        ),
    ]);
    if let Some(left_out) = &run.warm_up {
        table.add_row(["Warm-up", &told::left_out(left_out)]);
    }
    if let Some(precision) = &run.precision {
        table.add_row(["Precision", &told::attained(precision)]);
    }
    if let Some(rebuild) = &run.rebuild {
        table.add_row(["Rebuilt", &told::rebuilt(rebuild)]);
    }
    if let Some(verdict) = &run.verdict {
        table.add_row(["Bound by", &verdict.text]);
    }
    lines_of(&table).join("\n")
}

fn energy(run: &Summary, sheet: Sheet) -> String {
    let stages: Vec<String> = run
        .energy_by_stage
        .iter()
        .filter(|share| share.amount > 0.0)
        .map(|share| format!("{} {}", share.name, Quantity::Joules(share.amount)))
        .collect();
    if stages.is_empty() { String::new() } else { wrapped("Energy", &[stages.join(", ")], sheet) }
}

/// The sentences about the slowest requests, wrapped.
fn slowest(run: &Summary, sheet: Sheet) -> String {
    let sentences = tail::sentences(run);
    if sentences.is_empty() { String::new() } else { wrapped("Tail", &sentences, sheet) }
}

/// The metrics that the run cannot answer, with reasons.
fn unknown(run: &Summary, sheet: Sheet) -> String {
    let sentences = told::unknown(&run.unknown);
    if sentences.is_empty() { String::new() } else { wrapped("Unknown", &sentences, sheet) }
}

fn notes(run: &Summary, sheet: Sheet) -> String {
    if run.notes.is_empty() { String::new() } else { wrapped("Notes", &run.notes, sheet) }
}

fn wrapped(name: &str, lines: &[String], sheet: Sheet) -> String {
    let mut table = folded(sheet.width as u16);
    for (index, line) in lines.iter().enumerate() {
        table.add_row([if index == 0 { name } else { "" }, line]);
    }
    lines_of(&table).join("\n")
}

/// A table of names and results.
pub(super) fn list<'a>(title: &str, rows: impl Iterator<Item = &'a (String, Quantity)>) -> Vec<String> {
    let mut table = underlined();
    table.set_header([title, ""]);
    rows.for_each(|(name, result)| {
        table.add_row([name.clone(), result.to_string()]);
    });
    align_numbers(&mut table);
    lines_of(&table)
}

/// A table with a column for each group. All groups have the same names.
fn matrix(title: &str, columns: &[(&Group, &str)]) -> Vec<String> {
    let mut table = underlined();
    table.set_header([title].into_iter().chain(columns.iter().map(|(_, name)| *name)));
    for (name, _) in &columns[0].0.rows {
        let cells = columns.iter().map(|(group, _)| group.get(name).unwrap_or(&Quantity::Absent).to_string());
        table.add_row([name.clone()].into_iter().chain(cells));
    }
    align_numbers(&mut table);
    lines_of(&table)
}

fn align_numbers(table: &mut Table) {
    let columns = 1..table.column_count();
    align_right(table, columns);
}

/// Places two tables side by side. The right one begins at column `start` or later.
fn beside(left: &[String], right: &[String], start: usize) -> Vec<String> {
    let indent = left.iter().map(|line| columns_of(line)).max().unwrap_or(0).max(start);
    let lines = (0..left.len().max(right.len())).map(|row| {
        let empty = String::new();
        let (left, right) = (left.get(row).unwrap_or(&empty), right.get(row).unwrap_or(&empty));
        format!("{left}{}  {right}", " ".repeat(indent - columns_of(left))).trim_end().to_owned()
    });
    lines.collect()
}

/// Pairs of tables for a terminal with this many `columns`. The tables of a pair are side by side if they
/// fit.
pub(super) fn pairs(tables: &[[Vec<String>; 2]], columns: u16) -> String {
    let sheet = Sheet::of(columns);
    let pairs: Vec<String> = tables.iter().map(|pair| sheet.side_by_side(pair)).collect();
    pairs.join("\n\n") + "\n"
}
