//! `make results`: full-scale result tables over five seeds, in the pages of `docs/validation`, which record
//! the latest results.
//!
//! ```text
//! cargo run -p wordline-tests --bin results                          the tables at full size
//! cargo run -p wordline-tests --bin results -- cubeftl/fig18 ressd   those of an experiment and of a paper, at whatever size
//! ```
//!
//! A table is written as soon as its experiment ends, so that an interrupted run keeps its results. Then the
//! lists and sums that follow from the tables are written. Exit code 1: an experiment has unknown rows
//! outside of their bands, or known ones inside.

mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use tables::{Part, parts, with_tables};

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    match run(&wanted) {
        Ok(surprises) if surprises.is_empty() => ExitCode::SUCCESS,
        Ok(surprises) => {
            println!("rows that were not known: {}", surprises.join(", "));
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Rewrites the tables. Returns the experiments with unexpected rows.
fn run(wanted: &[String]) -> Result<Vec<String>, String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository");
    let pages = pages(root)?;
    let mut all: Vec<(PathBuf, String)> = Vec::new();
    for page in pages {
        let text = read(&page)?;
        for part in parts(&text).map_err(|wrong| format!("{}: {wrong}", page.display()))? {
            let Part::Table { words, .. } = part else { continue };
            if is_wanted(words, wanted) {
                all.push((page.clone(), words.to_owned()));
            }
        }
    }
    if all.is_empty() {
        return Err(format!("{}: found no such table, wanted PAPER or PAPER/NAME", wanted.join(" ")));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    ends(
        Command::new(&cargo).args(["build", "--release", "--locked", "-p", "wordline-cli"]).current_dir(root),
    )?;
    let mut surprises = Vec::new();
    for (n, (page, words)) in all.iter().enumerate() {
        println!("{} of {}: {words}", n + 1, all.len());
        let (table, is_known) = table(root, words)?;
        let text =
            with_tables(&read(page)?, |of, text| if of == words { table.clone() } else { text.to_owned() });
        fs::write(page, text?).map_err(|error| format!("{}: {error}", page.display()))?;
        if !is_known {
            surprises.push(words.clone());
        }
    }
    for follows in ["the_list_names_the_rows_outside_of_the_tables", "tests::results", "tests::papers"] {
        let update = ["test", "--locked", "-p", "wordline-experiments", "--lib", follows];
        ends(Command::new(&cargo).args(update).env("UPDATE_DOCS", "1").current_dir(root))?;
    }
    Ok(surprises)
}

/// Whether a table is wanted: all full-scale ones if none is named.
fn is_wanted(words: &str, wanted: &[String]) -> bool {
    let id = words.split(' ').next().unwrap_or_default();
    let paper = id.split('/').next().unwrap_or_default();
    if wanted.is_empty() {
        !words.contains("--quick")
    } else {
        wanted.iter().any(|one| *one == id || *one == paper)
    }
}

/// The table that `wordline repro` prints for a marker, and whether its rows are as expected.
fn table(root: &Path, words: &str) -> Result<(String, bool), String> {
    let out = Command::new(root.join("target/release/wordline"))
        .arg("repro")
        .args(words.split(' '))
        .args(["--markdown", "--no-progress", "--experiments", "data/experiments"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("wordline: {error}"))?;
    match out.status.code() {
        Some(code @ (0 | 1)) => Ok((String::from_utf8_lossy(&out.stdout).into_owned(), code == 0)),
        _ => Err(format!("wordline repro {words}: {}", out.status)),
    }
}

fn ends(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

fn pages(root: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = root.join("docs/validation");
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder).map_err(wrong)? {
        pages.push(entry.map_err(wrong)?.path());
    }
    pages.sort_unstable();
    Ok(pages)
}

fn read(page: &Path) -> Result<String, String> {
    fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "A\n<!-- repro: a/b --quick -->\n\n1\n<!-- /repro -->\nB\n<!-- repro: a/c -->\n\n2\n<!-- /repro -->\nC\n";

    fn with_table(page: &str, words: &str) -> Result<String, String> {
        with_tables(page, |of, text| if of == words { "3\n".into() } else { text.to_owned() })
    }

    #[test]
    fn a_table_takes_the_place_of_the_one_at_its_mark() {
        let is_mark = |part: &Part| matches!(part, Part::Table { words: "a/b --quick" | "a/c", .. });
        assert_eq!(parts(PAGE).expect("marks are paired").iter().filter(|part| is_mark(part)).count(), 2);
        assert_eq!(with_table(PAGE, "a/c"), Ok(PAGE.replace("\n2\n", "\n3\n")));
        assert_eq!(with_table(PAGE, "a/b --quick"), Ok(PAGE.replace("\n1\n", "\n3\n")));
    }

    #[test]
    fn a_mark_without_an_end_is_refused() {
        let open = PAGE.replace("2\n<!-- /repro -->\n", "2\n");
        assert!(with_table(&open, "a/c").is_err_and(|error| error.contains("no <!-- /repro")));
    }

    #[test]
    fn tables_are_asked_for_by_paper_by_experiment_or_by_their_size() {
        let wanted = |words: &str, all: &[&str]| {
            is_wanted(words, &all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
        };
        assert!(wanted("a/c", &[]) && !wanted("a/b --quick", &[]));
        assert!(wanted("a/b --quick", &["a"]) && wanted("a/b --quick", &["a/b"]) && !wanted("a/c", &["a/b"]));
    }
}
