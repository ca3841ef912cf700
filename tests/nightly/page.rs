//! The page of the last long runs, `docs/nightly.md`: how it is written and read.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Path of the page from the root of the repository.
pub const PATH: &str = "docs/nightly.md";

/// The last long run of the tests of a crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The day on which the tests began, such as `2026-11-27`.
    pub date: String,
    /// The tested commit. `and changes` is added if files had changed since the commit.
    pub commit: String,
    pub passed: u64,
    /// The failed tests.
    pub failing: Vec<String>,
    /// The arguments that selected tests, such as `-- --skip every_record`; empty for all.
    pub selection: String,
}

/// The last long runs, by crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nightly(pub BTreeMap<String, Run>);

const HEAD: &str = "# The last long run

`make nightly` writes this page: all tests with `WORDLINE_LONG` and 1,024 cases a property, and every record of an experiment again, those of full size too. It runs for hours, so that no build waits for it; its
last result is here so that nobody can miss it. Run it after a change of a model, and commit the page with the change or behind it.

| crate | date | commit | passed | failed | selected tests |
|---|---|---|---|---|---|
";

const FAILED: &str = "\n## Tests that failed\n\n";

impl Nightly {
    /// The page.
    pub fn page(&self) -> String {
        let (mut out, mut failed) = (HEAD.to_owned(), String::new());
        for (name, Run { date, commit, passed, failing, selection }) in &self.0 {
            let selection = if selection.is_empty() { "all".to_owned() } else { format!("`{selection}`") };
            let count = failing.len();
            writeln!(out, "| {name} | {date} | {commit} | {passed} | {count} | {selection} |")
                .expect("a string takes everything");
            failed.extend(failing.iter().map(|test| format!("* {name}: `{test}`\n")));
        }
        let failed = if failed.is_empty() { "None.\n" } else { &failed };
        out + FAILED + failed
    }

    /// Reads the runs from a page.
    ///
    /// # Errors
    /// The found text, and the expected text.
    pub fn read(page: &str) -> Result<Self, String> {
        let mut runs = BTreeMap::new();
        let (_, table) = page.split_once(HEAD).ok_or("found another head, wanted that of `make nightly`")?;
        for line in table.lines().take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [name, date, commit, passed, _, selection] = cells[..] else {
                return Err(format!("found `{line}`, wanted six cells"));
            };
            let selection = if selection == "all" { "" } else { selection.trim_matches('`') };
            let passed =
                passed.parse().map_err(|_| format!("found {passed} passed tests, wanted a number"))?;
            let failing = page.lines().filter_map(|line| {
                line.strip_prefix("* ")?.strip_prefix(name)?.strip_prefix(": `")?.strip_suffix('`')
            });
            let run = Run {
                date: date.to_owned(),
                commit: commit.to_owned(),
                passed,
                failing: failing.map(str::to_owned).collect(),
                selection: selection.to_owned(),
            };
            run.check()?;
            runs.insert(name.to_owned(), run);
        }
        let read = Self(runs);
        match read.page() == page {
            true => Ok(read),
            false => Err("found a page that was edited, wanted that of `make nightly`".to_owned()),
        }
    }
}

impl Run {
    fn check(&self) -> Result<(), String> {
        let Self { date, commit, .. } = self;
        let is_date = date.len() == 10
            && date
                .char_indices()
                .all(|(at, c)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() });
        let number = commit.trim_end_matches(" and changes");
        let is_commit = number.len() >= 8 && number.chars().all(|c| c.is_ascii_hexdigit());
        match (is_date, is_commit) {
            (false, _) => Err(format!("found the date {date}, wanted one such as 2026-11-27")),
            (_, false) => Err(format!("found the commit {commit}, wanted its number")),
            (true, true) => Ok(()),
        }
    }
}
