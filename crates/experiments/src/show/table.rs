//! Outcomes as text: a table for a terminal, a summary of several outcomes by paper, and Markdown.

use comfy_table::ColumnConstraint;
use wordline_kernel::grouped;
use wordline_lab::report::{align_right, folded};

use crate::judge::class::Class;
use crate::judge::counts::{Counts, VerdictCounts};
use crate::judge::outcome::{Outcome, Row, Value, Verdict};
use crate::options::Options;
use crate::show::record::{FOLDED, Record, markdown_table};

/// Formats a table for a terminal with `width` columns. The columns in `right` are right-aligned.
pub fn grid(width: u16, heads: &[&str], rows: Vec<Vec<String>>, right: std::ops::Range<usize>) -> String {
    let mut table = folded(width);
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let in_lines = |most: usize| -> Vec<String> {
        heads.iter().enumerate().map(|(n, head)| break_heading(head, most.max(widest(n)))).collect()
    };
    let length = |head: &str| head.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let fits = |heads: &[String]| {
        let columns = heads.iter().enumerate().map(|(n, head)| length(head).max(widest(n)) + 1);
        columns.sum::<usize>() <= usize::from(width)
    };
    // As few titles as possible are broken.
    let longest = heads.iter().map(|head| length(head)).max().unwrap_or(0);
    table.set_header(
        (0..=longest).rev().map(in_lines).find(|heads| fits(heads)).unwrap_or_else(|| in_lines(0)),
    );
    table.add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if number == 0 {
            // The first column has names of claims or papers, for which readers search. It is not broken.
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    align_right(&mut table, right);
    table.to_string()
}

/// Breaks a title into lines of at most `columns` characters, unless a word is longer. Dots and underscores
/// end a word.
fn break_heading(head: &str, columns: usize) -> String {
    let words = || head.split_inclusive(['.', '_', ' ']);
    let most = words().map(|word| word.chars().count()).max().unwrap_or(0).max(columns);
    let (mut text, mut length) = (String::new(), 0);
    for word in words() {
        if length > 0 && length + word.chars().count() > most {
            text.push('\n');
            length = 0;
        }
        text += word;
        length += word.chars().count();
    }
    text
}

/// Formats the rows as a table for a terminal with `width` columns, followed by the remarks and the counts by
/// verdict.
pub fn table(outcome: &Outcome, width: u16) -> String {
    let derived = has_derived(&outcome.rows);
    let cells = |row: &Row| {
        let [paper, ours] = shown(row);
        let mut cells = vec![row.claim.clone().unwrap_or_default(), row.shown_what()];
        cells.extend(expected(row, paper, derived));
        cells.extend([ours, row.unit.clone(), row.band.clone(), row.shown_verdict()]);
        cells
    };
    let mut heads = vec!["claim", "what", "paper"];
    heads.extend(derived.then_some(DERIVED));
    let numbers = 2..heads.len() + 1;
    heads.extend(["ours", "unit", "band", "verdict"]);
    let grid = |rows: &[&Row]| {
        grid(width, &heads, rows.iter().map(|row| cells(row)).collect(), numbers.clone()) + "\n"
    };
    let (first, folded): (Vec<&Row>, Vec<&Row>) = outcome.rows.iter().partition(|row| !row.is_folded());
    let mut text = format!("{}\n{}", outcome.experiment, grid(&first));
    if !folded.is_empty() {
        text += &format!("{}:\n{}", FOLDED, grid(&folded));
    }
    for map in &outcome.maps {
        let lines = self::grid(width, &as_text(&map.heads), map.lines.clone(), 0..0);
        text += &format!("{}:\n{lines}\n{}\n", map.title, map.sentence());
    }
    for remark in remarks(outcome) {
        text += &format!("  {remark}\n");
    }
    for surprise in &outcome.surprises {
        text += &format!("  {surprise}\n");
    }
    text += &format!("{}\n", outcome.counts);
    text
}

/// Both values as text, on a terminal and on pages. The half-width of ours has the decimals of the value. One that
/// rounds to zero is left out.
pub(crate) fn shown(row: &Row) -> [String; 2] {
    let [paper, ours] = row.shown();
    let Some(([least, greatest], (value, _))) = row.interval.zip(ours.split_once(" ± ")) else {
        return [paper, ours];
    };
    let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = grouped(&format!("{:.decimals$}", (greatest - least) / 2.0));
    let is_zero = half.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    [paper, if is_zero { value.to_owned() } else { format!("{value} ± {half}") }]
}

/// Title of the column for values that were derived here, beside the paper's column.
const DERIVED: &str = "expected here";

/// Whether there are expected values that the source does not print.
fn has_derived(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.own_expectation)
}

/// Cells of the expected value. If there is a column for derived values (`derived`), such a value is in that
/// column.
fn expected(row: &Row, value: String, derived: bool) -> Vec<String> {
    match (derived, row.own_expectation) {
        (false, _) => vec![value],
        (true, false) => vec![value, String::new()],
        (true, true) => vec![String::new(), value],
    }
}

/// Remarks below a table. Consecutive rows with the same remark share a line. The note of a value that agrees
/// or is only shown is left out here, but the derivation of its band is printed.
fn remarks(outcome: &Outcome) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for row in &outcome.rows {
        let row = match row.verdict {
            Verdict::Outside => row.clone(),
            _ => Row { note: String::new(), ..row.clone() },
        };
        let remark = row.remarks();
        if !remark.is_empty() && !said.iter().any(|line| line.ends_with(&format!(": {remark}"))) {
            said.push(format!("{}: {remark}", row.what));
        }
    }
    said.extend(outcome.notes.iter().cloned());
    said
}

const HEADS: [&str; 10] = [
    "paper",
    "compared with",
    "judged",
    "within",
    "direction",
    "outside",
    "explained",
    "contradicted",
    "no reason shown",
    "with ?",
];

/// Counts by verdict of several experiments, with a line for each paper and class. The lines are not added
/// up, because their classes differ.
fn by_paper(outcomes: &[Outcome]) -> Vec<Vec<String>> {
    let mut papers: Vec<(&str, Counts)> = Vec::new();
    for outcome in outcomes {
        match papers.iter_mut().find(|(paper, _)| *paper == outcome.paper()) {
            Some((_, counts)) => *counts += outcome.counts,
            None => papers.push((outcome.paper(), outcome.counts)),
        }
    }
    let line = |paper: &str, class: Class, stand: VerdictCounts| {
        let VerdictCounts { judged, within, direction, outside, explained, contradicted, unsure } = stand;
        let numbers = [
            judged,
            within,
            direction,
            outside,
            explained,
            contradicted,
            stand.without_demonstrated_cause(),
            unsure,
        ];
        [paper.to_owned(), class.to_string()].into_iter().chain(numbers.map(|n| n.to_string())).collect()
    };
    let lines = |(paper, counts): &(&str, Counts)| -> Vec<Vec<String>> {
        counts.by_class().map(|(class, stand)| line(paper, class, stand)).collect()
    };
    papers.iter().flat_map(lines).collect()
}

/// The counts by verdict of several experiments, as a table for a terminal with `width` columns.
pub fn summary(outcomes: &[Outcome], width: u16) -> String {
    grid(width, &HEADS, by_paper(outcomes), 2..HEADS.len()) + "\n"
}

/// The counts by verdict of several experiments, as a Markdown table.
pub fn markdown_summary(outcomes: &[Outcome]) -> String {
    markdown_table(&HEADS.join(" | "), &by_paper(outcomes))
}

/// The rows as a Markdown table, for documents.
pub fn markdown(outcome: &Outcome, options: &Options) -> String {
    record(outcome, options).markdown(&outcome.experiment)
}

/// The record of an outcome.
pub(crate) fn record(outcome: &Outcome, options: &Options) -> Record {
    let record = Record {
        key: options.key(),
        first_digest: sheet(&outcome.first).rows_digest(),
        maps: outcome.maps.clone(),
        counts: outcome.counts,
        notes: outcome.notes.clone(),
        ..sheet(&outcome.rows)
    };
    Record { digest: record.rows_digest(), ..record }
}

/// The cells of rows, as a record.
fn sheet(rows: &[Row]) -> Record {
    let derived = has_derived(rows);
    let cells = |row: &Row| {
        let [paper, ours] = row.shown();
        let unit_of_paper = if matches!(row.paper, Value::Number(_)) { row.unit.as_str() } else { "" };
        let ours = if row.of_the_machine { "of the machine".to_owned() } else { with_unit(&ours, &row.unit) };
        let mut cells = vec![row.claim.clone().unwrap_or_default(), row.shown_what()];
        cells.extend(expected(row, with_unit(&paper, unit_of_paper), derived));
        cells.extend([ours, row.band.clone(), row.shown_verdict()]);
        cells
    };
    let mut heads = vec!["claim", "what", "paper"];
    heads.extend(derived.then_some(DERIVED));
    heads.extend(["ours", "band", "verdict"]);
    let (first, folded): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| !row.is_folded());
    let cells = |rows: Vec<&Row>| rows.into_iter().map(cells).collect();
    let heads = heads.into_iter().map(str::to_owned).collect();
    Record { heads, rows: cells(first), folded: cells(folded), ..Record::default() }
}

fn as_text(heads: &[String]) -> Vec<&str> {
    heads.iter().map(String::as_str).collect()
}

fn with_unit(value: &str, unit: &str) -> String {
    if value.is_empty() || unit.is_empty() { value.to_owned() } else { format!("{value} {unit}") }
}

#[test]
fn heads_that_do_not_fit_are_broken_between_their_words() {
    let heads =
        ["ftl.over_provisioning", "ftl.gc.victim.policy", "write_amplification", "host.write_latency_us.p99"];
    let rows = || vec![["0.2", "greedy", "2.613 ± 0.012", "813.2 ± 1.4"].map(str::to_owned).to_vec()];
    let narrow = grid(70, &heads, rows(), 2..4);
    assert!(narrow.lines().all(|line| line.chars().count() <= 70), "{narrow}");
    let is_begun = |part: &str| {
        let after = |mark: char, head: &str| head.contains(&format!("{mark}{part}"));
        heads.iter().any(|head| head.starts_with(part) || after('.', head) || after('_', head))
    };
    let is_ended = |part: &str| part.ends_with(['.', '_']) || heads.iter().any(|head| head.ends_with(part));
    let parts: Vec<&str> =
        narrow.lines().filter(|line| !line.contains("greedy")).flat_map(str::split_whitespace).collect();
    assert!(
        parts.len() > heads.len() && parts.iter().all(|part| is_begun(part) && is_ended(part)),
        "{narrow}"
    );
    assert_eq!(grid(100, &heads, rows(), 2..4).lines().count(), 2);
}

#[test]
fn a_half_width_has_the_decimals_of_its_value() {
    let of = |ours: f64, half: f64| {
        let interval = Some([ours - half, ours + half]);
        shown(&Row { ours: Value::Number(ours), interval, ..Row::named("a".into()) })[1].clone()
    };
    assert_eq!(of(49.23, 0.000_034_8), "49.2");
    assert_eq!((of(1_071.4, 13.1), of(0.136, 0.0216)), ("1,071 ± 13".into(), "0.136 ± 0.022".into()));
}
