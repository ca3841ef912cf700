//! The log of a long run: what it is of, and the results in it.

use std::collections::BTreeMap;

use crate::page::Run;

/// Path of the log from the root of the repository.
pub const PATH: &str = "target/nightly.log";

const NAME: &str = "nightly: ";

/// The arguments of cargo for all tests.
pub const ALL: &str = "--workspace --profile long";

/// The first line of a log.
pub struct Begin {
    pub date: String,
    pub commit: String,
    /// The arguments of `cargo test`.
    pub arguments: String,
}

impl Begin {
    pub fn line(&self) -> String {
        let Self { date, commit, arguments } = self;
        format!("{NAME}{date}, {commit}, {arguments}")
    }

    fn read(line: &str) -> Option<Self> {
        let mut fields = line.strip_prefix(NAME)?.splitn(3, ", ").map(str::to_owned);
        Some(Self { date: fields.next()?, commit: fields.next()?, arguments: fields.next()? })
    }

    /// The arguments that differ from those for all tests.
    fn selection(&self) -> &str {
        self.arguments.strip_prefix(ALL).unwrap_or(&self.arguments).trim_start()
    }
}

/// A program of tests in a log.
struct Program<'a> {
    of: String,
    results: Vec<(&'a str, &'a str)>,
    /// Whether the program has said how many tests failed.
    is_complete: bool,
}

/// The run of each crate that is complete: all of its programs came to their ends, or the whole run did. The
/// examples in documentation, which run last, count as one crate.
///
/// # Errors
/// The found text, and the expected text.
pub fn completed(
    text: &str,
    has_ended: bool,
    crate_of: impl Fn(&str) -> String,
) -> Result<BTreeMap<String, Run>, String> {
    let begin = text.lines().next().and_then(Begin::read);
    let begin =
        begin.ok_or_else(|| format!("{PATH}: found another first line, wanted `{NAME}` and the commit"))?;
    let mut programs = programs(text, crate_of);
    if !has_ended {
        // The last crate may have further programs.
        let last = programs.last().map(|program| program.of.clone());
        programs.retain(|program| Some(&program.of) != last.as_ref());
    }
    let mut runs = BTreeMap::new();
    for Program { of, results, is_complete } in programs {
        let run: &mut Run = runs.entry(of).or_insert_with(|| Run {
            date: begin.date.clone(),
            commit: begin.commit.clone(),
            selection: begin.selection().to_owned(),
            ..Run::default()
        });
        for (test, outcome) in results {
            if outcome.starts_with("FAILED") {
                run.failing.push(test.to_owned());
            }
            run.passed += u64::from(outcome.starts_with("ok"));
        }
        if !is_complete {
            run.failing.push("a program that ended in the middle of its tests".to_owned());
        }
    }
    Ok(runs)
}

/// The programs of a log, in order.
fn programs(text: &str, crate_of: impl Fn(&str) -> String) -> Vec<Program<'_>> {
    let mut programs: Vec<Program<'_>> = Vec::new();
    let program = |of| Program { of, results: Vec::new(), is_complete: false };
    for line in text.lines() {
        let trimmed = line.trim_start();
        let running = trimmed.strip_prefix("Running ").and_then(|line| line.split_once(" ("));
        if let Some((_, executable)) = running {
            programs.push(program(crate_of(executable.trim_end_matches(')'))));
        } else if trimmed.starts_with("Doc-tests ") {
            programs.push(program("documentation".to_owned()));
        }
        let Some(last) = programs.last_mut() else { continue };
        if line.starts_with("test result: ") {
            last.is_complete = true;
        } else if let Some(result) = line.strip_prefix("test ").and_then(|line| line.split_once(" ... ")) {
            last.results.push(result);
        }
    }
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "nightly: 2026-11-30, d73bd531, --workspace --profile long -- --skip records
     Running unittests src/lib.rs (target/a-1)

running 2 tests
test time::one ... ok
test time::other ... FAILED

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
     Running tests/all.rs (target/a-2)
test a_pool ... ok
     Running unittests src/lib.rs (target/b-1)
test one ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
     Running tests/all.rs (target/b-2)
test two ... ok
";

    #[test]
    fn a_run_has_the_results_of_all_programs_of_a_crate() {
        let runs = |has_ended| completed(LOG, has_ended, |program| program[7..8].to_owned()).expect("a log");
        let now = runs(false);
        assert_eq!(now.keys().collect::<Vec<_>>(), ["a"], "b has perhaps more to come");
        let a = &now["a"];
        assert_eq!((a.date.as_str(), a.commit.as_str(), a.passed), ("2026-11-30", "d73bd531", 2));
        assert_eq!(a.selection, "-- --skip records");
        assert_eq!(a.failing, ["time::other", "a program that ended in the middle of its tests"]);
        let ended = runs(true);
        assert_eq!((ended["a"].clone(), ended["b"].passed, ended["b"].failing.len()), (a.clone(), 2, 1));
        assert!(completed("", true, str::to_owned).is_err());
    }
}
