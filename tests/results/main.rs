//! `make results`: the tables of results at full size, over five seeds, in the pages of `docs/validation`, which are the record of what was
//! found last.
//!
//! ```text
//! cargo run -p wordline-tests --bin results                          the tables at full size
//! cargo run -p wordline-tests --bin results -- cubeftl/fig18 ressd   those of an experiment and of a paper, at whatever size
//! ```
//!
//! A table is written as soon as its experiment ends, so that what was found is kept if the rest is stopped. Then the lists and sums that follow
//! from the tables are written. Exit code 1: an experiment has rows outside that were not known, or known ones inside.

mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use tables::{marks, with_table};

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

/// Writes the tables anew; the experiments with rows that were not known.
fn run(wanted: &[String]) -> Result<Vec<String>, String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository");
    let pages = pages(root)?;
    let mut all: Vec<(PathBuf, String)> = Vec::new();
    for page in pages {
        let text = read(&page)?;
        let of_page = marks(&text).into_iter().filter(|words| is_wanted(words, wanted));
        all.extend(of_page.map(|words| (page.clone(), words.to_owned())));
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
        let text = with_table(&read(page)?, words, &table)?;
        fs::write(page, text).map_err(|error| format!("{}: {error}", page.display()))?;
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

/// Whether a table is asked for: one at full size where nothing is named.
fn is_wanted(words: &str, wanted: &[String]) -> bool {
    let id = words.split(' ').next().unwrap_or_default();
    let paper = id.split('/').next().unwrap_or_default();
    if wanted.is_empty() {
        !words.contains("--quick")
    } else {
        wanted.iter().any(|one| *one == id || *one == paper)
    }
}

/// The table that `wordline repro` prints for the words of a mark, and whether its rows stand as they are known to.
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
