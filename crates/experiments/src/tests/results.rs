//! The page that says paper by paper how the rows stand: the sum of the tables of results in the other documents.

use std::collections::BTreeMap;
use std::fs;

use super::bands::is_update;
use super::docs::{Part, asked, documents, parts, root};

const PAGE: &str = "docs/results.md";
const BEGIN: &str = "<!-- results -->\n";
const END: &str = "<!-- /results -->\n";

/// The columns, each with the word after its number in the last line of a table.
pub(super) const COLUMNS: [(&str, &str); 8] = [
    ("judged", "judged"),
    ("within", "within"),
    ("direction", "direction"),
    ("outside", "outside"),
    ("of these explained", "explained"),
    ("contradicted", "contradicted"),
    ("without a reason", "without a reason"),
    ("with a question mark", "of them with an interval"),
];

/// The number before `word` in the last line of a table; 0 where it is not said.
pub(super) fn number(line: &str, word: &str) -> usize {
    let before = |(at, _): (usize, &str)| line[..at].trim_end().rsplit([' ', '(']).next()?.parse().ok();
    line.match_indices(word).find_map(before).unwrap_or(0)
}

/// Size and seeds of a table in words.
pub(super) fn how(words: &str) -> String {
    let (_, options) = asked(words);
    let size = if options.quick { "scaled down" } else { "full size" };
    match options.seeds {
        1 => format!("{size}, seed {}", options.seed),
        seeds => format!("{size}, {seeds} seeds"),
    }
}

/// The sum of all tables, a line for each paper, size and seeds.
fn sums() -> String {
    let mut all: BTreeMap<(String, String), (usize, [usize; 8])> = BTreeMap::new();
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document is text");
        for part in parts(&text).expect("marks are paired") {
            let Part::Table { words, text } = part else { continue };
            let line = text.lines().find(|line| line.contains(" judged: ")).unwrap_or_default();
            let paper = asked(words).0.split('/').next().unwrap_or_default().to_owned();
            let (tables, numbers) = all.entry((paper, how(words))).or_default();
            *tables += 1;
            COLUMNS.iter().zip(numbers).for_each(|((_, word), sum)| *sum += number(line, word));
        }
    }
    let heads: Vec<&str> = COLUMNS.iter().map(|(head, _)| *head).collect();
    let mut out = format!("| paper | size and seeds | tables | {} |\n", heads.join(" | "));
    out += &format!("|{}\n", "---|".repeat(COLUMNS.len() + 3));
    for ((paper, how), (tables, numbers)) in all {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        out += &format!("| {paper} | {how} | {tables} | {} |\n", numbers.join(" | "));
    }
    out
}

#[test]
fn the_page_of_results_is_the_sum_of_the_tables_in_the_documents() {
    let path = root().join(PAGE);
    let text = fs::read_to_string(&path).expect("the page can be read");
    let (before, rest) = text.split_once(BEGIN).expect("a mark");
    let (said, after) = rest.split_once(END).expect("a mark at the end");
    let sums = format!("\n{}\n", sums());
    if is_update() {
        fs::write(&path, format!("{before}{BEGIN}{sums}{END}{after}")).expect("the page can be written");
        return;
    }
    assert_eq!(said, sums, "{PAGE}: UPDATE_DOCS=1 writes it anew");
}

#[test]
fn a_number_is_read_from_the_last_line_of_a_table() {
    let line = "12 judged: 7 within, 2 direction, 3 outside (2 explained, 1 without a reason); 4 of them with an interval that \
                reaches over the edge; 9 shown";
    let found = COLUMNS.map(|(_, word)| number(line, word));
    assert_eq!(found, [12, 7, 2, 3, 2, 0, 1, 4]);
}
