//! `make nightly`: runs all tests as `make long` does, and writes their result as a page of the book,
//! `docs/nightly.md`.
//!
//! ```text
//! cargo run -p wordline-tests --bin nightly                          all tests
//! cargo run -p wordline-tests --bin nightly -- -p wordline-kernel    a part of them, by arguments of cargo
//! test
//! ```
//!
//! The output of the tests goes to `target/nightly.log`. Exit code 1: a test failed.

mod page;

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitCode};

use page::{ALL, Nightly, PATH};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments = if arguments.is_empty() { ALL.to_owned() } else { arguments.join(" ") };
    match run(arguments) {
        Ok(nightly) => {
            println!("{PATH}: {} passed, {} failed", nightly.passed, nightly.failed);
            ExitCode::from(u8::from(nightly.failed > 0))
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(tests: String) -> Result<Nightly, String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository");
    let log = root.join("target/nightly.log");
    let wrong = |error: std::io::Error| format!("{}: {error}", log.display());
    let changes = output(root, "git", &["status", "--porcelain", "--", ".", &format!(":!{PATH}")])?;
    let commit = output(root, "git", &["rev-parse", "HEAD"])?;
    let commit = if changes.is_empty() { commit } else { format!("{commit} and changes") };
    let to = File::create(&log).map_err(wrong)?;
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--locked", "--no-fail-fast"])
        .args(tests.split_whitespace())
        // Selects as many cases of each property as `make long`.
        .env("WORDLINE_LONG", "1")
        .env("PROPTEST_CASES", "4096")
        .current_dir(root)
        .stderr(to.try_clone().map_err(wrong)?)
        .stdout(to)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    let text = std::fs::read_to_string(&log).map_err(wrong)?;
    let (passed, mut failing) = results(&text, |executable| crate_of(root, executable));
    if failing.is_empty() && !status.success() {
        failing.push("a program that did not compile, or ended in the middle of its tests".to_owned());
    }
    let date = output(root, "date", &["-u", "+%F"])?;
    let failed = failing.len() as u64;
    let nightly = Nightly { date, commit, tests, passed, failed, failing };
    std::fs::write(root.join(PATH), nightly.page()).map_err(|error| format!("{PATH}: {error}"))?;
    Ok(nightly)
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
    let folder = own.and_then(|source| source.split(['/', '\\']).skip_while(|part| *part != "crates").nth(1));
    folder.unwrap_or("tests").to_owned()
}

/// The number of passed tests, and the failed tests, from the output of the test programs.
fn results(text: &str, crate_of: impl Fn(&str) -> String) -> (u64, Vec<String>) {
    let (mut passed, mut failing, mut program) = (0, Vec::new(), String::new());
    for line in text.lines() {
        if let Some((_, executable)) =
            line.trim().strip_prefix("Running ").and_then(|line| line.split_once(" ("))
        {
            program = crate_of(executable.trim_end_matches(')'));
        } else if let Some(name) = line.trim().strip_prefix("Doc-tests ") {
            program = format!("examples of {name}");
        } else if let Some((test, outcome)) =
            line.strip_prefix("test ").and_then(|line| line.split_once(" ... "))
        {
            if outcome.starts_with("FAILED") {
                failing.push(format!("{program}: {test}"));
            } else {
                passed += u64::from(outcome.starts_with("ok"));
            }
        }
    }
    (passed, failing)
}
