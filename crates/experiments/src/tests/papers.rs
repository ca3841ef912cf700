//! The pages of papers: each has a table of its experiments, how their rows stand, and the document that has them.

use std::fmt::Write;
use std::fs;

use super::bands::is_update;
use super::docs::{Part, asked, documents, parts, root};
use super::results::{COLUMNS, how, number};
use super::*;

const BEGIN: &str = "<!-- verdict: ";
const END: &str = "<!-- /verdict -->\n";

/// The papers that have a page.
const PAPERS: [&str; 5] = ["nandflashsim", "centaur", "ressd", "ft-passd", "cubeftl"];

/// The rows outside with what is said of them.
fn outside(line: &str) -> String {
    let of = |word: &str| number(line, word);
    let reasons = ["explained", "contradicted", "without a reason"].map(|word| (of(word), word));
    let said: Vec<String> =
        reasons.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    match (of("outside"), said.is_empty()) {
        (all, true) => all.to_string(),
        (all, false) => format!("{all} ({})", said.join(", ")),
    }
}

/// The table of a paper: a line for each of its tables of results.
fn verdict(paper: &str, library: &Library) -> String {
    let mut out = String::from(
        "| figure | what | size, seeds | judged | within | direction | outside | unsure |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut rows = Vec::new();
    let mut sums = [0; COLUMNS.len()];
    for path in documents() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a document is text");
        for part in parts(&text).expect("marks are paired") {
            let Part::Table { words, text } = part else { continue };
            let (id, _) = asked(words);
            let Some(figure) = id.strip_prefix(paper).and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            let line = text.lines().find(|line| line.contains(" judged: ")).unwrap_or_default();
            let title = library.iter().find(|one| one.id == id).map_or("", |one| one.title.as_str());
            COLUMNS.iter().zip(&mut sums).for_each(|((_, word), sum)| *sum += number(line, word));
            let [judged, within, direction] =
                ["judged", "within", "direction"].map(|word| number(line, word));
            let unsure = number(line, "of them with an interval");
            rows.push((
                id.to_owned(),
                format!(
                    "| [{figure}](../validation/{name}) | {title} | {} | {judged} | {within} | {direction} | {} | {unsure} |",
                    how(words),
                    outside(line)
                ),
            ));
        }
    }
    rows.sort();
    for (_, row) in rows {
        out += &format!("{row}\n");
    }
    let [judged, within, direction, missed, explained, contradicted, without, unsure] = sums;
    let _ = writeln!(
        out,
        "\nIn all {judged} judged: {within} within, {direction} direction, {missed} outside, of these {explained} explained, {contradicted} contradicted and {without} without a \
         reason; {unsure} unsure: with a question mark."
    );
    out
}

#[test]
fn the_pages_of_papers_have_the_sums_of_their_tables() {
    let library = Library::open(None).expect("well formed");
    for paper in PAPERS {
        let path = root().join(format!("docs/papers/{paper}.md"));
        let text = fs::read_to_string(&path).expect("the page can be read");
        let (before, rest) = text.split_once(&format!("{BEGIN}{paper} -->\n")).expect("a mark");
        let (said, after) = rest.split_once(END).expect("a mark at the end");
        let wanted = format!("\n{}\n", verdict(paper, &library));
        if is_update() {
            fs::write(&path, format!("{before}{BEGIN}{paper} -->\n{wanted}{END}{after}"))
                .expect("the page can be written");
            continue;
        }
        assert_eq!(said, wanted, "docs/papers/{paper}.md: UPDATE_DOCS=1 writes it anew");
    }
}

/// A paper whose experiments have no page would be missing from the book.
#[test]
fn every_paper_of_the_experiments_has_a_page() {
    let library = Library::open(None).expect("well formed");
    let other = ["peers", "validation"];
    for experiment in library.iter() {
        let paper = experiment.id.split('/').next().unwrap_or_default();
        assert!(PAPERS.contains(&paper) || other.contains(&paper), "{paper} has no page in docs/papers");
    }
}

#[test]
fn rows_outside_are_told_with_their_reasons() {
    assert_eq!(
        outside("9 judged: 4 within, 2 direction, 3 outside (2 explained, 1 without a reason); 0 shown"),
        "3 (2 explained, 1 without a reason)"
    );
    assert_eq!(outside("9 judged: 7 within, 2 direction, 0 outside; 0 shown"), "0");
}
