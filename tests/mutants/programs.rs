//! The test programs of the copy: their tests, the mutants that each test reaches, and their verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::Deserialize;

/// A line of cargo's output about a compiled program.
#[derive(Deserialize)]
struct Built {
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    executable: Option<PathBuf>,
}

/// A test program.
pub struct Program {
    executable: PathBuf,
    /// The folder of its package. cargo would use it as the working directory.
    folder: PathBuf,
    /// The crate, without `wordline-`.
    pub of: String,
    /// Run time of each test in seconds.
    pub seconds: BTreeMap<String, f64>,
    /// By mutant: the tests that reach its code. An empty name stands for a thread that is not named after a
    /// test.
    pub reach: BTreeMap<u32, Vec<String>>,
}

/// The verdict of the tests on a mutant.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// This test fails.
    Found(String),
    /// The tests hang, or the program ends prematurely.
    Ended(String),
    Survived,
}

/// Compiles the tests of crates in the copy.
///
/// # Errors
/// The copy does not compile.
pub fn build(copy: &Path, target: &Path, crates: &BTreeSet<&str>) -> Result<Vec<Program>, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "test",
        "--no-run",
        "--locked",
        "--lib",
        "--tests",
        "--message-format=json-render-diagnostics",
    ]);
    cargo.args(crates.iter().map(|name| format!("--package=wordline-{name}")));
    // The copy is in a folder of the checkout, but git must not treat it as a part of the checkout.
    cargo
        .env("CARGO_TARGET_DIR", target)
        .env("GIT_CEILING_DIRECTORIES", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    let out = cargo
        .current_dir(copy)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !out.status.success() {
        return Err("the copy with all mutants does not compile".to_owned());
    }
    let text = String::from_utf8_lossy(&out.stdout);
    let built = text.lines().filter_map(|line| serde_json::from_str::<Built>(line).ok());
    let programs = built.filter_map(|Built { manifest_path, executable }| {
        let folder = manifest_path.parent()?.to_path_buf();
        let of = folder.file_name()?.to_string_lossy().into_owned();
        let executable = executable.filter(|_| crates.contains(of.as_str()))?;
        Some(Program { executable, folder, of, seconds: BTreeMap::new(), reach: BTreeMap::new() })
    });
    Ok(programs.collect())
}

/// Bounds of the parts of a program's tests: the total run time of a part in seconds. Chosen: a fifth of a
/// second, two seconds, a minute, and no bound.
const PARTS: [f64; 4] = [0.2, 2.0, 60.0, f64::INFINITY];

/// Runs the tests of these programs that reach a mutant until one fails. The short tests of all programs run
/// before the long tests of any program.
pub fn judge<'a>(programs: impl Iterator<Item = &'a Program>, number: u32) -> Verdict {
    let each: Vec<_> = programs.map(|program| (program, program.parts(number))).collect();
    let parts =
        (0..PARTS.len()).flat_map(|part| each.iter().map(move |(program, parts)| (program, &parts[part])));
    let mut verdicts =
        parts.filter(|(_, tests)| !tests.is_empty()).map(|(program, tests)| program.run(number, tests));
    verdicts.find(|verdict| *verdict != Verdict::Survived).unwrap_or(Verdict::Survived)
}

impl Program {
    /// Name of the program among the programs of its crate.
    pub fn name(&self) -> String {
        self.executable.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).env("PROPTEST_RNG_SEED", "3").env_remove("WORDLINE_LONG");
        // The test harness accepts unstable options, such as `--report-time`, if this variable is set.
        command.env("RUSTC_BOOTSTRAP", "1").args(["--test-threads=2", "-Zunstable-options", "--report-time"]);
        command.stderr(Stdio::null()).stdin(Stdio::null());
        command
    }

    /// Runs all tests without a fault. Records the run time of each test and the mutants that it reaches.
    ///
    /// # Errors
    /// A test that fails without any fault.
    pub fn record(&mut self, notes: &Path) -> Result<(), String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", notes.display());
        std::fs::write(notes, "").map_err(wrong)?;
        let mut command = self.command();
        let out = command.env("WORDLINE_MUTANTS_REACHED", notes).output().map_err(wrong)?;
        let text = String::from_utf8_lossy(&out.stdout);
        for (test, outcome) in text.lines().filter_map(outcome) {
            if outcome.starts_with("FAILED") {
                return Err(format!("{}: {test} fails without a mutant", self.name()));
            }
            self.seconds.insert(test.to_owned(), seconds(outcome));
        }
        if !out.status.success() {
            return Err(format!("{}: its tests do not end without a mutant", self.name()));
        }
        for line in std::fs::read_to_string(notes).map_err(wrong)?.lines() {
            let (number, test) = line.split_once(' ').unwrap_or((line, ""));
            let Ok(number) = number.parse() else { continue };
            let test = if self.seconds.contains_key(test) { test } else { "" };
            let tests = self.reach.entry(number).or_default();
            if !tests.iter().any(|known| known == test) {
                tests.push(test.to_owned());
            }
        }
        Ok(())
    }

    /// The tests that reach a mutant, shortest first, in parts that run one after another.
    fn parts(&self, number: u32) -> [Vec<&str>; PARTS.len()] {
        let reach = self.reach.get(&number).map_or(&[][..], Vec::as_slice);
        let mut tests: Vec<&str> = match reach.iter().any(String::is_empty) {
            // A thread without a name may belong to any test.
            true => self.seconds.keys().map(String::as_str).collect(),
            false => reach.iter().map(String::as_str).collect(),
        };
        tests.sort_by(|a, b| self.seconds[*a].total_cmp(&self.seconds[*b]));
        PARTS.map(|most| {
            let mut sum = 0.0;
            let is_within = |test: &&&str| {
                sum += self.seconds[**test];
                sum <= most
            };
            let count = tests.iter().take_while(is_within).count();
            tests.drain(..count).collect()
        })
    }

    /// Runs these tests with a mutant until one fails.
    fn run(&self, number: u32, tests: &[&str]) -> Verdict {
        let usual: f64 = tests.iter().map(|test| self.seconds[*test]).sum();
        // A mutant may loop. Chosen: ten times the usual run time, but at most two minutes more than it, plus
        // a margin for a loaded machine. Two tests run concurrently, so that even long tests get twice their
        // time.
        let limit = Duration::from_secs_f64(usual + (9.0 * usual).min(120.0) + 20.0);
        let mut command = self.command();
        command.env("WORDLINE_MUTANT", number.to_string()).arg("--exact").args(tests);
        let mut child = match command.stdout(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => return Verdict::Ended(error.to_string()),
        };
        let verdict = follow(&mut child, limit);
        drop(child.kill());
        let status = child.wait();
        match verdict {
            Some(verdict) => verdict,
            None if status.as_ref().is_ok_and(std::process::ExitStatus::success) => Verdict::Survived,
            None => Verdict::Ended(format!("{status:?}")),
        }
    }
}

/// Follows a running program for a time. Returns the first failing test, or that the program hangs. Returns
/// `None` if the program ends.
fn follow(child: &mut Child, limit: Duration) -> Option<Verdict> {
    let out = child.stdout.take()?;
    let (lines, read) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| lines.send(line)).ok()
    });
    let end = Instant::now() + limit;
    loop {
        match read.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => match outcome(&line) {
                Some((test, outcome)) if outcome.starts_with("FAILED") => {
                    return Some(Verdict::Found(test.to_owned()));
                }
                _ => {}
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Some(Verdict::Ended(format!("not over after {} s", limit.as_secs())));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                // The program closed its output, so it ends on its own.
                drop(child.wait());
                return None;
            }
        }
    }
}

/// The test and its outcome in a line of the harness.
fn outcome(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?
        .split_once(" ... ")
        .map(|(test, went)| (test.trim_end_matches(" - should panic"), went))
}

/// The seconds in `ok <0.123s>`.
fn seconds(outcome: &str) -> f64 {
    let inner = outcome.split_once('<').and_then(|(_, rest)| rest.split_once("s>"));
    inner.and_then(|(seconds, _)| seconds.parse().ok()).unwrap_or(0.0)
}
