//! Pages of papers: each has a table of its experiments with the counts of their rows and the document that
//! has them; one table states how many of the numbers that each paper prints are met.

use super::results::{hold, tables};
use super::*;
use crate::judge::class::Class;
use crate::judge::counts::{VerdictCounts, list_counts};
use crate::printed;

const BEGIN: &str = "<!-- verdict: ";
const END: &str = "<!-- /verdict -->\n";

/// Papers that have a page, with their names.
const PAPERS: [(&str, &str); 5] = [
    ("nandflashsim", "NANDFlashSim"),
    ("centaur", "Centaur"),
    ("ressd", "ReSSD"),
    ("ft-passd", "FT-PASSD"),
    ("cubeftl", "cubeFTL"),
];

/// Classes on a paper's page.
const SHOWN: [Class; 4] = [Class::Printed, Class::Direction, Class::ClosedForm, Class::SecondReading];

/// Counts of rows, in a cell.
fn cell(stand: VerdictCounts) -> String {
    let VerdictCounts { judged, within, direction, outside, explained, contradicted, unsure } = stand;
    let how = list_counts(&[
        (within, "within"),
        (direction, "direction"),
        (outside, "outside"),
        (explained, "explained"),
        (contradicted, "contradicted"),
        (unsure, "with ?"),
    ]);
    if judged == 0 { String::new() } else { format!("{judged}: {how}") }
}

/// Table of a paper: a line for each of its tables of results, and the sums of each class.
fn verdict(paper: &str, library: &Library) -> String {
    let heads: Vec<String> = SHOWN.iter().map(Class::to_string).collect();
    let mut out =
        format!("| figure | what | size, seeds | {} |\n|---|---|---|---|---|---|---|\n", heads.join(" | "));
    let mut sums = SHOWN.map(|_| VerdictCounts::default());
    let mut rows = Vec::new();
    for table in tables().into_iter().filter(|table| table.paper() == paper) {
        let title = library.iter().find(|one| one.id == table.id).map_or("", |one| one.title.as_str());
        let figure = table.id.split('/').next_back().unwrap_or_default();
        let cells = SHOWN.map(|class| cell(table.stand(class)));
        SHOWN.iter().zip(&mut sums).for_each(|(class, sum)| *sum += table.stand(*class));
        let (document, how) = (&table.document, &table.how);
        rows.push(format!(
            "| [{figure}](../validation/{document}) | {title} | {how} | {} |\n",
            cells.join(" | ")
        ));
    }
    rows.sort();
    rows.iter().for_each(|row| out += row);
    let sums = SHOWN.iter().zip(sums).filter(|(_, sum)| sum.judged > 0);
    let sums: Vec<String> = sums.map(|(class, sum)| format!("* {class}: {}", cell(sum))).collect();
    out + "\nIn all:\n\n" + &sums.join("\n") + "\n"
}

/// Number of printed values of each paper that are met, in interpretation A.
fn headline() -> String {
    let mut out = String::from(
        "| paper | printed numbers judged | within | direction only | outside, shown why | contradicted by the paper | outside |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (paper, name) in PAPERS {
        let mut sum = VerdictCounts::default();
        let of_paper = tables().into_iter().filter(|table| table.paper() == paper);
        of_paper.for_each(|table| sum += table.stand(Class::Printed));
        let VerdictCounts { judged, within, direction, explained, contradicted, .. } = sum;
        out += &format!(
            "| {name} | {judged} | {within} | {direction} | {explained} | {contradicted} | {} |\n",
            sum.without_demonstrated_cause()
        );
    }
    out
}

/// Parameters that a paper prints, and where each is set.
fn parameters(paper: &str) -> String {
    let mut out = String::from("| parameter | printed | where | here |\n|---|---|---|---|\n");
    for parameter in printed::all().get(paper).into_iter().flatten() {
        let printed::Parameter { what, source, printed, .. } = parameter;
        out += &format!("| {what} | {printed} | {source} | {} |\n", parameter.place());
    }
    out
}

/// Interpretations B of all experiments, by their reason, with the number of expected values each.
fn readings(library: &Library) -> String {
    let mut out =
        String::from("| experiment | expected values | why they are read a second time |\n|---|---|---|\n");
    for experiment in library.iter() {
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for reason in experiment.expect.iter().filter_map(|expect| expect.second_reading.as_deref()) {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((reason, 1)),
            }
        }
        for (reason, count) in reasons {
            out += &format!("| {} | {count} | {} |\n", experiment.id, reason.replace('|', "\\|"));
        }
    }
    out
}

#[test]
fn every_second_reading_stands_in_one_list() {
    let library = Library::open(None).expect("well formed");
    let (begin, end) = ("<!-- readings -->\n", "<!-- /readings -->\n");
    hold("docs/validation/readings.md", begin, end, &readings(&library));
}

#[test]
fn the_pages_of_papers_have_the_sums_of_their_tables() {
    let library = Library::open(None).expect("well formed");
    for (paper, _) in PAPERS {
        let path = format!("docs/papers/{paper}.md");
        hold(&path, &format!("{BEGIN}{paper} -->\n"), END, &verdict(paper, &library));
        hold(&path, "<!-- printed -->\n", "<!-- /printed -->\n", &parameters(paper));
    }
}

#[test]
fn the_numbers_that_papers_print_stand_in_one_table() {
    for path in ["docs/papers/index.md", "README.md"] {
        hold(path, "<!-- printed numbers -->\n", "<!-- /printed numbers -->\n", &headline());
    }
}

/// A paper whose experiments have no page would be missing from the book.
#[test]
fn every_paper_of_the_experiments_has_a_page() {
    let library = Library::open(None).expect("well formed");
    let other = ["peers", "validation"];
    for experiment in library.iter() {
        let paper = experiment.id.split('/').next().unwrap_or_default();
        let is_paper = PAPERS.iter().any(|(known, _)| *known == paper);
        assert!(is_paper || other.contains(&paper), "{paper} has no page in docs/papers");
    }
}

#[test]
fn a_cell_says_how_rows_stand_and_nothing_of_what_there_is_none() {
    let stand = VerdictCounts {
        judged: 9,
        within: 4,
        direction: 2,
        outside: 3,
        explained: 2,
        ..VerdictCounts::default()
    };
    assert_eq!(cell(stand), "9: 4 within, 2 direction, 3 outside, 2 explained");
    assert_eq!(cell(VerdictCounts::default()), "");
}
