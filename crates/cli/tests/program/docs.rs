//! Tests the commands and outputs of README.md and docs. Every command must work with the files of a clone,
//! and every output must be what the program prints. Commands are scaled down. Blocks marked as long
//! (`sh,long`, `text,long`) run as written if `WORDLINE_LONG` is set; otherwise they are scaled down too, and
//! their outputs are not compared.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;

use crate::fences::{Block, blocks, root};
use crate::{Folder, program};

impl Block {
    /// Whether the block is in this language, even if it is marked as long.
    fn is(&self, language: &str) -> bool {
        self.info.strip_suffix(",long").unwrap_or(&self.info) == language
    }

    /// Whether the block is marked as long.
    fn is_long(&self) -> bool {
        self.info.ends_with(",long")
    }
}

/// README.md and all pages below docs.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("docs can be listed") {
            let path = entry.expect("an entry can be read").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|end| end == "md") => pages.push(path),
                false => {}
            }
        }
    }
    pages.sort();
    pages
}

/// Complete commands. Continued lines are joined, and comments are removed.
fn commands(lines: &[String]) -> Vec<String> {
    let joined = lines.join("\n").replace("\\\n", " ");
    let cut = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    joined.lines().map(cut).filter(|line| !line.is_empty()).collect()
}

/// The words of a command as a shell parses them, and the file to which its output is redirected.
pub fn words(command: &str) -> (Vec<String>, Option<String>) {
    let (command, to) = match command.split_once(" > ") {
        Some((command, to)) => (command, Some(to.trim().to_owned())),
        None => (command, None),
    };
    let mut words = Vec::new();
    for (n, piece) in command.split('\'').enumerate() {
        match n % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    (words, to)
}

/// Commands that take too long for this test, and the test that covers each of them.
const LONG: [(&str, &str); 4] = [
    (
        "fit data/measurements/skhynix-pe8110.toml data/measurements/skhynix-pe8110.csv",
        "fit: the twins of drives, if long",
    ),
    ("fit drive.csv --out mine.toml", "fit: its tests fit synthetic drives"),
    (
        "repro centaur --quick --seeds 1",
        "experiments: every experiment is well formed; `make long` runs them",
    ),
    ("repro --all --quick --seeds 1", "the same"),
];

/// Whether long blocks run as written.
fn is_long_run() -> bool {
    std::env::var_os("WORDLINE_LONG").is_some()
}

/// Words that make commands of several runs take seconds, and shorter ones. Other tests run these presets.
const SHORTER: [(&str, &str); 4] =
    [("nvme-tlc", "tiny-tlc"), ("nvme-qlc", "tiny"), ("z-nand", "tiny"), ("chips=20", "chips=2")];

/// Drives that take seconds to precondition.
const DRIVES: [&str; 3] = ["bench-tlc", "nvme-tlc", "sata-tlc"];

/// Scales a command down to a small device and few requests.
fn small(words: &[String]) -> Vec<String> {
    let is_study = words[0] == "sweep";
    let has_several_runs = matches!(words[0].as_str(), "why" | "compare" | "cells");
    let has_queues = words.iter().any(|word| word == "--queues");
    let shorter = |word: &String| match SHORTER.iter().find(|(long, _)| long == word) {
        _ if word == "bench-512g" || is_study && word == "nvme-tlc" => "tiny".to_owned(),
        // A small device of the same kind, which starts at once, but has one queue.
        _ if words[0] == "run" && !has_queues && DRIVES.contains(&word.as_str()) => "tiny-tlc".to_owned(),
        Some((_, short)) if has_several_runs => (*short).to_owned(),
        _ => word.clone(),
    };
    let mut words: Vec<String> = words.iter().map(shorter).collect();
    for n in 1..words.len() {
        if words[n - 1] == "--requests" && words[n].parse().is_ok_and(|requests: u64| requests > 20_000) {
            words[n] = "300".into();
        }
    }
    let is_run = matches!(words[0].as_str(), "run" | "compare" | "sweep");
    let names = |name: &str| words.iter().any(|word| word == name);
    let is_gen = words.starts_with(&["trace".into(), "gen".into()]);
    let few = (is_run || is_gen) && !names("--requests");
    let unnamed = words[0] == "run" && !names("--preset") && !names("--config") && !names("--from-snapshot");
    let is_small_study = is_study && names("tiny");
    // If the workload asks for a steady state, the small device reaches it with few writes.
    if few {
        words.extend(["--requests", "300"].map(String::from));
    }
    if unnamed {
        words.extend(["--preset", "tiny"].map(String::from));
    }
    // With more blocks the small device can have as little over-provisioning as a large one.
    if is_small_study {
        words.extend(["--set", "part.geometry.blocks_per_plane=128"].map(String::from));
    }
    words
}

/// Calls the program in `folder`, which has the files of a clone.
pub fn call(folder: &Folder, words: &[String], input: Option<&str>) -> Output {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = program(&words);
    command.current_dir(folder.path("")).env("COLUMNS", "100");
    if let Some(input) = input {
        let path = folder.with("standard-input", input);
        command.stdin(std::fs::File::open(path).expect("it was just written"));
    }
    command.output().expect("the program was built with this test")
}

/// Creates a folder with those files of a clone that pages name.
pub fn clone() -> Folder {
    let folder = Folder::new();
    for file in [
        "data/traces/rocksdb-ext4.csv.zst",
        "data/workloads/database.fio",
        "crates/nand/tests/scripts/sequence-read.onfi",
        "crates/nand/tests/scripts/parts/slc.toml",
    ] {
        let to = PathBuf::from(folder.path(file));
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder can be made");
        std::fs::copy(root().join(file), to).expect("a clone has the file");
    }
    folder
}

/// Runs a command of a page, scaled down unless `as_written`. Returns its fault, if it has one.
fn wrong(folder: &Folder, command: &str, as_written: bool) -> Option<String> {
    let (input, command) = match command.split_once(" | ") {
        Some((echo, command)) => (Some(echo.trim_start_matches("echo ").trim_matches('\'')), command),
        None => (None, command),
    };
    let (words, to) = words(command.strip_prefix("wordline ")?);
    if LONG.iter().any(|(long, _)| words.join(" ") == *long) {
        return None;
    }
    let words = if as_written { words } else { small(&words) };
    let output = call(folder, &words, input);
    if let Some(to) = to {
        folder.with(&to, &output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{command}: {said}"))
}

/// The results of a test of each page, on as many threads as there are cores: most of the time goes to the
/// programs that are run.
fn of_each_page<T: Send>(of: impl Fn(&Path) -> T + Sync) -> Vec<T> {
    let (waiting, results) = (Mutex::new(pages()), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let next = || waiting.lock().expect("no thread panicked").pop();
                while let Some(page) = next() {
                    let result = of(&page);
                    results.lock().expect("no thread panicked").push(result);
                }
            });
        }
    });
    results.into_inner().expect("no thread panicked")
}

/// The number of commands of a page, and the faults of those that fail on a clone.
fn faults(page: &Path) -> (usize, Vec<String>) {
    let (folder, blocks) = (clone(), blocks(page));
    let (mut count, mut found) = (0, Vec::new());
    for block in &blocks {
        if let Some((_, name)) = block.info.split_once(' ') {
            folder.with(name, block.lines.join("\n") + "\n");
        }
    }
    for block in blocks.iter().filter(|block| block.is("sh")) {
        let as_written = block.is_long() && is_long_run();
        // The scaled-down experiment is already the smallest one.
        let is_run = |line: &&String| {
            line.contains("wordline ")
                && (as_written || !block.is_long() || !line.contains("wordline repro "))
        };
        for command in commands(&block.lines).iter().filter(is_run) {
            count += 1;
            let fault = wrong(&folder, command, as_written);
            found.extend(fault.map(|what| format!("{}: {what}", page.display())));
        }
    }
    (count, found)
}

#[test]
fn every_command_of_the_pages_works_on_a_clone() {
    let (counts, found): (Vec<usize>, Vec<Vec<String>>) = of_each_page(faults).into_iter().unzip();
    let count: usize = counts.iter().sum();
    assert!(count > 25, "{count} commands");
    assert!(found.concat().is_empty(), "{}", found.concat().join("\n"));
}

/// First words of commands that are not the program, and the test that covers them.
const OTHERS: [(&str, &str); 7] = [
    ("cargo install --path crates/cli", "the build of these tests"),
    ("cargo run --release", "the tests of the examples, and those of the program without a command"),
    ("cargo build --release -p wordline-trace --example statistics", "clippy of all targets"),
    ("--set 'design.margins=", "nothing: arguments, of no command"),
    ("valgrind ", "nothing: measurements are made by hand"),
    ("pip install ./bindings/python", "`make python`"),
    ("pip install './bindings/python", "`make python`"),
];

/// Whether a command is `make` with targets that exist.
fn is_make(command: &str, makefile: &str) -> bool {
    let is_target = |word: &str| makefile.lines().any(|line| line.starts_with(&format!("{word}: ")));
    command.strip_prefix("make ").is_some_and(|targets| targets.split_whitespace().all(is_target))
}

#[test]
fn every_other_command_of_the_pages_is_tried_elsewhere() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("there is a Makefile");
    let is_tried = |command: &str| {
        let of_program = command.starts_with("wordline ") || command.contains(" | wordline ");
        of_program
            || is_make(command, &makefile)
            || OTHERS.iter().any(|(start, _)| command.starts_with(start))
    };
    let mut found = Vec::new();
    for page in pages() {
        for block in blocks(&page).iter().filter(|block| block.is("sh")) {
            let untried = commands(&block.lines).into_iter().filter(|command| !is_tried(command));
            found.extend(untried.map(|command| format!("{}: {command}", page.display())));
        }
    }
    assert!(found.is_empty(), "no test runs these: name in `OTHERS` what does\n{}", found.join("\n"));
    assert!(is_make("make test book", &makefile) && !is_make("make nothing", &makefile));
}

/// Scripts in the pages are files, too.
#[test]
fn every_script_of_the_pages_does_what_it_expects() {
    for page in pages() {
        for block in blocks(&page).iter().filter(|block| block.info.starts_with("onfi ")) {
            let folder = clone();
            folder.with("a.onfi", block.lines.join("\n") + "\n");
            let output = call(&folder, &["nand", "exec", "a.onfi"].map(String::from), None);
            assert!(
                output.status.success(),
                "{}: {}",
                page.display(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

/// A line without trailing spaces and without wall-clock times, which differ between runs.
fn without_wall_clock(line: &str) -> String {
    match line.split_once(" simulated in ") {
        Some((before, _)) => format!("{before} simulated"),
        None => line.trim_end().to_owned(),
    }
}

/// Whether an output has the shown lines, where `...` stands for any lines.
fn is_shown(shown: &[String], printed: &[String]) -> bool {
    let mut rest = printed;
    for (n, part) in shown.split(|line| line == "...").enumerate() {
        let begins = |at: &usize| rest[*at..].starts_with(part);
        let Some(at) = (0..=rest.len()).take(if n == 0 { 1 } else { usize::MAX }).find(begins) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || shown.last().is_some_and(|line| line == "...")
}

#[test]
fn every_output_of_the_pages_is_what_the_program_prints() {
    let (mut found, mut count) = (Vec::new(), 0);
    for page in pages() {
        let is_looked_at = |block: &&Block| block.is("text") && (!block.is_long() || is_long_run());
        for block in blocks(&page).iter().filter(is_looked_at) {
            let Some(first) = block.lines.first().and_then(|line| line.strip_prefix("$ wordline ")) else {
                continue;
            };
            let continued = block.lines.iter().take_while(|line| line.ends_with('\\')).count();
            let whole = [first.to_owned()].into_iter().chain(block.lines[1..=continued].iter().cloned());
            let command = commands(&whole.collect::<Vec<_>>());
            let shown: Vec<String> =
                block.lines[continued + 1..].iter().map(|line| without_wall_clock(line)).collect();
            let output = call(&clone(), &words(&command[0]).0, None);
            let printed = String::from_utf8_lossy(&output.stdout);
            let printed: Vec<String> = printed.lines().map(without_wall_clock).collect();
            count += 1;
            if !is_shown(&shown, &printed) {
                found.push(format!("{}: {command:?} prints now\n{}", page.display(), printed.join("\n")));
            }
        }
    }
    assert!(count >= 3, "{count} outputs");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
