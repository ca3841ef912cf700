//! The page of the last long run, `docs/nightly.md`: how it is written and read.

use std::fmt::Write;

/// Path of the page from the root of the repository.
pub const PATH: &str = "docs/nightly.md";

/// The result of a long run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nightly {
    /// The day on which the run ended, such as `2026-11-27`.
    pub date: String,
    /// The tested commit. `and changes` is added if files had changed since the commit.
    pub commit: String,
    /// The arguments of `cargo test`: `--workspace --profile long` for a complete run.
    pub tests: String,
    pub passed: u64,
    pub failed: u64,
    /// The failed tests, each with its crate.
    pub failing: Vec<String>,
}

/// All tests, as in `make nightly`.
pub const ALL: &str = "--workspace --profile long";

const HEAD: &str = "# The last long run

`make nightly` writes this page: all tests with `WORDLINE_LONG` and 4,096 cases a property, and every experiment, scaled down. It runs for hours, so that no build waits for it; its
last result is here so that nobody can miss it. Run it after a change of a model, and commit the page with the change or behind it.
";

impl Nightly {
    /// The page.
    pub fn page(&self) -> String {
        let Self { date, commit, tests, passed, failed, failing } = self;
        let part = if tests == ALL { "" } else { " (a part of all tests)" };
        let mut out = format!(
            "{HEAD}\n| | |\n|---|---|\n| Date | {date} |\n| Commit | {commit} |\n| Tests | `{tests}`{part} |\n| Passed | {passed} |\n\
             | Failed | {failed} |\n\n## Tests that failed\n\n"
        );
        if failing.is_empty() {
            out += "None.\n";
        }
        for test in failing {
            writeln!(out, "* `{test}`").expect("a string takes everything");
        }
        out
    }

    /// Reads the result from a page.
    ///
    /// # Errors
    /// The found text, and the expected text.
    #[allow(dead_code, reason = "the program writes pages, and the test reads them")]
    pub fn read(page: &str) -> Result<Self, String> {
        let row = |name: &str| {
            let found = page.lines().find_map(|line| line.strip_prefix(&format!("| {name} | ")));
            let found = found.and_then(|rest| rest.strip_suffix(" |"));
            found.map(str::to_owned).ok_or_else(|| format!("found no row `{name}`, wanted one"))
        };
        let number = |name: &str| {
            row(name)?.parse().map_err(|_| format!("found a row `{name}` without a number, wanted one"))
        };
        let tests = row("Tests")?;
        let tests = tests.split('`').nth(1).ok_or("found no tests in backquotes, wanted the arguments")?;
        let failing = page.lines().filter_map(|line| line.strip_prefix("* `")?.strip_suffix('`'));
        let read = Self {
            date: row("Date")?,
            commit: row("Commit")?,
            tests: tests.to_owned(),
            passed: number("Passed")?,
            failed: number("Failed")?,
            failing: failing.map(str::to_owned).collect(),
        };
        read.check()?;
        match read.page() == page {
            true => Ok(read),
            false => Err("found a page that was edited, wanted that of `make nightly`".to_owned()),
        }
    }

    fn check(&self) -> Result<(), String> {
        let Self { date, commit, failed, failing, .. } = self;
        let is_date = date.len() == 10
            && date
                .char_indices()
                .all(|(at, c)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() });
        let commit = commit.trim_end_matches(" and changes");
        let is_commit = commit.len() >= 8 && commit.chars().all(|c| c.is_ascii_hexdigit());
        if !is_date {
            return Err(format!("found the date {date}, wanted one such as 2026-11-27"));
        }
        if !is_commit {
            return Err(format!("found the commit {commit}, wanted its number"));
        }
        match failing.len() as u64 == *failed {
            true => Ok(()),
            false => Err(format!("found {failed} failed tests and {} named ones", failing.len())),
        }
    }
}
