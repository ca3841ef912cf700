//! The commands and outputs of README.md and docs: every command works on what a clone has, every output is what the program
//! prints.

use std::path::PathBuf;
use std::process::Output;

use crate::fences::{blocks, root};
use crate::{Folder, program};

/// README.md and the pages of docs, and of its folders.
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

/// Whole commands of some lines: continued lines joined, comments cut.
fn commands(lines: &[String]) -> Vec<String> {
    let joined = lines.join("\n").replace("\\\n", " ");
    let cut = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    joined.lines().map(cut).filter(|line| !line.is_empty()).collect()
}

/// The words of a command as a shell reads them, and where its output goes.
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

/// Commands that take too long for a test, and the test that runs what they do.
const LONG: [(&str, &str); 1] = [(
    "repro centaur --quick --seeds 1",
    "experiments: every experiment is well formed; `make long` runs them",
)];

/// The command with a small device and few requests in place of large ones.
fn small(words: &[String]) -> Vec<String> {
    let mut words: Vec<String> =
        words.iter().map(|word| if word == "bench-512g" { "tiny".into() } else { word.clone() }).collect();
    let is_run = matches!(words[0].as_str(), "run" | "compare");
    let names = |name: &str| words.iter().any(|word| word == name);
    let few = is_run && !names("--requests") || words.starts_with(&["trace".into(), "gen".into()]);
    let unnamed = words[0] == "run" && !names("--preset") && !names("--from-snapshot");
    // Where the workload asks for a steady state, few writes bring the small device there.
    if few {
        words.extend(["--requests", "300"].map(String::from));
    }
    if unnamed {
        words.extend(["--preset", "tiny"].map(String::from));
    }
    words
}

/// Calls the program in `folder`, which has what a clone has.
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

/// A folder with the files of a clone that pages name.
pub fn clone() -> Folder {
    let folder = Folder::new();
    for file in [
        "data/traces/rocksdb-ext4.csv.zst",
        "crates/nand/tests/scripts/sequence-read.onfi",
        "crates/nand/tests/scripts/parts/slc.toml",
    ] {
        let to = PathBuf::from(folder.path(file));
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder can be made");
        std::fs::copy(root().join(file), to).expect("a clone has the file");
    }
    folder
}

/// Runs a command of a page; what is wrong with it.
fn wrong(folder: &Folder, command: &str) -> Option<String> {
    let (input, command) = match command.split_once(" | ") {
        Some((echo, command)) => (Some(echo.trim_start_matches("echo ").trim_matches('\'')), command),
        None => (None, command),
    };
    let (words, to) = words(command.strip_prefix("wordline ")?);
    if LONG.iter().any(|(long, _)| words.join(" ") == *long) {
        return None;
    }
    let output = call(folder, &small(&words), input);
    if let Some(to) = to {
        folder.with(&to, &output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{command}: {said}"))
}

#[test]
fn every_command_of_the_pages_works_on_a_clone() {
    let mut found = Vec::new();
    let mut count = 0;
    for page in pages() {
        let (folder, blocks) = (clone(), blocks(&page));
        for block in &blocks {
            if let Some((_, name)) = block.info.split_once(' ') {
                folder.with(name, block.lines.join("\n") + "\n");
            }
        }
        for block in blocks.iter().filter(|block| block.info == "sh") {
            for command in commands(&block.lines).iter().filter(|line| line.contains("wordline ")) {
                count += 1;
                found.extend(wrong(&folder, command).map(|what| format!("{}: {what}", page.display())));
            }
        }
    }
    assert!(count > 25, "{count} commands");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Scripts are files of the pages as well.
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

/// Times of a clock on the wall, which differ from run to run.
fn without_wall_clock(line: &str) -> String {
    match line.split_once(" simulated in ") {
        Some((before, _)) => format!("{before} simulated"),
        None => line.to_owned(),
    }
}

#[test]
fn every_output_of_the_pages_is_what_the_program_prints() {
    let (mut found, mut count) = (Vec::new(), 0);
    for page in pages() {
        for block in blocks(&page).iter().filter(|block| block.info == "text") {
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
            let whole = shown.last().is_none_or(|line| line != "...");
            let shown = if whole { &shown[..] } else { &shown[..shown.len() - 1] };
            let printed = if whole { &printed[..] } else { &printed[..shown.len().min(printed.len())] };
            count += 1;
            if shown != printed {
                found.push(format!("{}: {command:?} prints now\n{}", page.display(), printed.join("\n")));
            }
        }
    }
    assert!(count >= 3, "{count} outputs");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
