//! The page with counts of rows by paper: the sum of the tables of results in the other documents.
//! Comparisons with printed numbers, with closed forms and the like are never summed.

use std::collections::BTreeMap;
use std::fs;

use super::bands::is_update;
use super::docs::{Part, asked, documents, parts, root};
use crate::judge::class::Class;
use crate::judge::counts::VerdictCounts;

/// Number before `word` in a part of the last line of a table; 0 if absent.
fn number(part: &str, word: &str) -> usize {
    let before = |(at, _): (usize, &str)| part[..at].trim_end().rsplit([' ', '(']).next()?.parse().ok();
    part.match_indices(word).find_map(before).unwrap_or(0)
}

/// Counts of a class from the last line of a table.
pub(super) fn stand(line: &str, class: Class) -> VerdictCounts {
    let part = line.split("; ").find_map(|part| part.strip_prefix(&format!("{class}: "))).unwrap_or_default();
    let of = |word: &str| number(part, word);
    VerdictCounts {
        judged: of("judged"),
        within: of("within"),
        direction: of("direction"),
        outside: of("outside"),
        explained: of("explained"),
        contradicted: of("contradicted"),
        unsure: of("with a question mark"),
    }
}

/// A table of results in the documents.
pub(super) struct Table {
    /// Document, by name.
    pub document: String,
    /// Experiment.
    pub id: String,
    /// Scale and seeds as text.
    pub how: String,
    /// Whether it is of the full experiment.
    pub full: bool,
    /// Its last line.
    line: String,
    /// Each judged row by name, with its verdict.
    pub verdicts: Vec<(String, String)>,
}

impl Table {
    /// Counts of its rows of a class.
    pub fn stand(&self, class: Class) -> VerdictCounts {
        stand(&self.line, class)
    }

    /// Paper, or group of checks.
    pub fn paper(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }
}

/// All tables of results in the documents.
pub(super) fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    for path in documents() {
        let document = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a document is text");
        for part in parts(&text).expect("marks are paired") {
            let Part::Table { words, text } = part else { continue };
            let line = text.lines().find(|line| line.ends_with(" shown")).unwrap_or_default().to_owned();
            tables.push(Table {
                document: document.clone(),
                id: asked(words).0.to_owned(),
                how: how(words),
                full: !asked(words).1.quick,
                line,
                verdicts: verdicts(text),
            });
        }
    }
    tables
}

/// Names and verdicts of the counted rows of a table.
fn verdicts(text: &str) -> Vec<(String, String)> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim_start_matches("| ").trim_end_matches(" |").replace("\\|", "\u{0}");
        inner.split(" | ").map(|cell| cell.replace('\u{0}', "|")).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| claim |"));
    rows.map(cells)
        .filter_map(|cells| Some((cells.get(1)?.clone(), cells.last()?.clone())))
        .filter(|(_, verdict)| verdict != "shown" && !verdict.ends_with("not counted"))
        .collect()
}

/// Scale and seeds of a table as text.
fn how(words: &str) -> String {
    let (_, options) = asked(words);
    let size = if options.quick { "scaled down" } else { "full size" };
    match options.seeds {
        1 => format!("{size}, seed {}", options.seed),
        seeds => format!("{size}, {seeds} seeds"),
    }
}

/// Sum of all tables, a line for each paper, scale, seeds, and class.
fn sums() -> String {
    let mut all: BTreeMap<(String, Class, String), VerdictCounts> = BTreeMap::new();
    for table in tables() {
        for class in Class::ALL {
            let stand = table.stand(class);
            if stand.judged > 0 {
                *all.entry((table.paper().to_owned(), class, table.how.clone())).or_default() += stand;
            }
        }
    }
    let mut out = String::from(
        "| paper | compared with | size and seeds | judged | within | direction | outside | explained | contradicted | no reason shown | with a question mark |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for ((paper, class, how), stand) in all {
        let VerdictCounts { judged, within, direction, outside, explained, contradicted, unsure } = stand;
        out += &format!(
            "| {paper} | {class} | {how} | {judged} | {within} | {direction} | {outside} | {explained} | {contradicted} | {} | {unsure} |\n",
            stand.without_demonstrated_cause()
        );
    }
    out
}

/// Replaces the text between two marks of a document by `new`, or compares it.
pub(super) fn hold(path: &str, begin: &str, end: &str, new: &str) {
    let place = root().join(path);
    let text = fs::read_to_string(&place).expect("the page can be read");
    let (before, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{path}: no mark {begin}"));
    let (said, after) = rest.split_once(end).expect("a mark at the end");
    let new = format!("\n{new}\n");
    if is_update() {
        fs::write(&place, format!("{before}{begin}{new}{end}{after}")).expect("the page can be written");
        return;
    }
    assert_eq!(said, new, "{path}: UPDATE_DOCS=1 writes it anew");
}

#[test]
fn the_page_of_results_is_the_sum_of_the_tables_in_the_documents() {
    hold("docs/results.md", "<!-- results -->\n", "<!-- /results -->\n", &sums());
}

#[test]
fn rows_of_a_table_are_read_by_name_and_verdict() {
    let text = "| claim | what | paper | ours | band | verdict |\n|---|---|---|---|---|---|\n\
                | A-N1 | a \\| b | 1 | 2 |  | OUTSIDE?, no reason |\n|  | c |  | 3 |  | shown |\n\
                |  | d (under: e) | 1 | 2 |  | outside, not counted |\n";
    assert_eq!(verdicts(text), [("a | b".to_owned(), "OUTSIDE?, no reason".to_owned())]);
}

#[test]
fn numbers_are_read_from_the_last_line_of_a_table() {
    let line = "printed numbers: 12 judged, 7 within, 2 direction, 3 outside (2 explained, 1 no reason shown, 4 with a question mark); \
                closed forms: 5 judged, 5 within, 0 direction, 0 outside; 9 shown";
    let printed = stand(line, Class::Printed);
    assert_eq!((printed.judged, printed.within, printed.direction, printed.outside), (12, 7, 2, 3));
    assert_eq!(
        (printed.explained, printed.contradicted, printed.without_demonstrated_cause(), printed.unsure),
        (2, 0, 1, 4)
    );
    assert_eq!(stand(line, Class::ClosedForm).within, 5);
    assert_eq!(stand(line, Class::Direction), VerdictCounts::default());
    assert!(line.contains(&printed.to_string()), "it reads what is written");
}
