//! `make nightly`: runs all tests as `make long` does, and writes their results into a page of the book,
//! `docs/nightly.md`, with a row for each crate.
//!
//! ```text
//! cargo run -p wordline-tests --bin nightly                          all tests
//! cargo run -p wordline-tests --bin nightly -- -p wordline-kernel    a part of them, by arguments of cargo
//! test
//! cargo run -p wordline-tests --bin nightly -- --log                 the crates that a run has completed
//! which was ended before its tests
//! ```
//!
//! The output of the tests goes to `target/nightly.log`. Exit code 1: a test failed.

mod log;
mod page;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use log::{ALL, Begin, completed};
use page::{Nightly, PATH};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository");
    let outcome = match arguments[..] {
        [] => run(root, ALL).and_then(|()| written(root, true)),
        [ref one] if one == "--log" => written(root, false),
        _ => run(root, &arguments.join(" ")).and_then(|()| written(root, true)),
    };
    match outcome {
        Ok([passed, failed]) => {
            println!("{PATH}: {passed} passed, {failed} failed");
            ExitCode::from(u8::from(failed > 0))
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the tests. Their output goes to the log, after a line that says of what they are.
fn run(root: &Path, arguments: &str) -> Result<(), String> {
    let path = root.join(log::PATH);
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let changes = output(root, "git", &["status", "--porcelain", "--", ".", &format!(":!{PATH}")])?;
    let commit = output(root, "git", &["rev-parse", "HEAD"])?;
    let begin = Begin {
        date: output(root, "date", &["-u", "+%F"])?,
        commit: if changes.is_empty() { commit } else { format!("{commit} and changes") },
        arguments: arguments.to_owned(),
    };
    let mut to = File::create(&path).map_err(wrong)?;
    writeln!(to, "{}", begin.line()).map_err(wrong)?;
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--locked", "--no-fail-fast"])
        .args(arguments.split_whitespace())
        // Selects as many cases of each property as `make long`.
        .env("WORDLINE_LONG", "1")
        .env("PROPTEST_CASES", "1024")
        .current_dir(root)
        .stderr(to.try_clone().map_err(wrong)?)
        .stdout(to)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    Ok(())
}

/// Writes the results of the log into the page. Returns the number of tests that passed and failed.
fn written(root: &Path, has_ended: bool) -> Result<[u64; 2], String> {
    let text =
        |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let runs = completed(&text(log::PATH)?, has_ended, |executable| crate_of(root, executable))?;
    if runs.is_empty() {
        return Err(format!("{}: found no results, wanted those of a crate", log::PATH));
    }
    let sums = runs
        .values()
        .fold([0, 0], |[passed, failed], run| [passed + run.passed, failed + run.failing.len() as u64]);
    let mut nightly = text(PATH).and_then(|page| Nightly::read(&page)).unwrap_or_default();
    nightly.0.extend(runs);
    std::fs::write(root.join(PATH), nightly.page()).map_err(|error| format!("{PATH}: {error}"))?;
    Ok(sums)
}

/// The output of a program, without the final line break.
fn output(root: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let out = Command::new(program).args(arguments).current_dir(root).output();
    let out = out.map_err(|error| format!("{program}: {error}"))?;
    Ok(String::from_utf8_lossy(&out.stdout).trim_end().to_owned())
}

/// The crate of a test program. cargo prints the source of the program beside its path.
fn crate_of(root: &Path, executable: &str) -> String {
    let sources = std::fs::read_to_string(root.join(executable).with_extension("d")).unwrap_or_default();
    let own = sources.lines().next().and_then(|line| line.split_once(": ")?.1.split_whitespace().next());
    let folders = own.unwrap_or_default().split(['/', '\\']);
    let mut within = folders.skip_while(|part| !matches!(*part, "crates" | "examples"));
    match within.next() {
        Some("crates") => within.next().unwrap_or_default().to_owned(),
        Some(examples) => examples.to_owned(),
        None => "tests".to_owned(),
    }
}
