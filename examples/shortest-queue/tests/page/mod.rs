//! The commands and outputs of docs/EXTENDING.md for the program of an example. Every command works in a
//! clone, and every output is equal to that of the program.

use std::process::{Command, Output};

#[path = "../../../../crates/cli/tests/program/fences.rs"]
mod fences;

use fences::{Block, root};

fn blocks() -> Vec<Block> {
    fences::blocks(&root().join("docs/EXTENDING.md"))
}

/// The words of a command, split as by a shell.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, piece) in command.split('"').enumerate() {
        match n % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}

/// Calls the program in a folder with the examples of a clone.
fn call(program: &str, words: &[String]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples")).expect("a link");
    let mut command = Command::new(program);
    command.args(words).current_dir(folder.path()).env("COLUMNS", "100");
    command.output().expect("the program was built with this test")
}

/// Limits a run to a few requests, unless the command sets their number.
fn small(mut words: Vec<String>) -> Vec<String> {
    let is_run = matches!(words.first().map(String::as_str), Some("run" | "compare"));
    if is_run && !words.iter().any(|word| word == "--requests") {
        words.extend(["--requests", "300"].map(String::from));
    }
    words
}

/// Checks the commands and outputs of an example's program on the page. The page must have at least
/// `least_commands` commands and `least_outputs` outputs.
pub fn check(package: &str, program: &str, [least_commands, least_outputs]: [usize; 2]) {
    let call_of = format!("cargo run --release -p {package} -- ");
    let (mut commands, mut outputs) = (0, 0);
    for Block { info, lines } in blocks() {
        let (shell, text) = (info == "sh", info == "text");
        for command in lines.iter().filter(|_| shell).filter_map(|line| line.strip_prefix(&call_of)) {
            commands += 1;
            let output = call(program, &small(words(command)));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command}: {said}");
        }
        let first = lines.first().filter(|_| text).and_then(|line| line.strip_prefix("$ "));
        if let Some(command) = first.and_then(|line| line.strip_prefix(&call_of)) {
            outputs += 1;
            let output = call(program, &words(command));
            let printed = [output.stdout, output.stderr].concat();
            let printed = String::from_utf8(printed).expect("the program writes UTF-8");
            assert_eq!(lines[1..].join("\n"), printed.trim_end(), "{command}");
        }
    }
    assert!(commands >= least_commands && outputs >= least_outputs, "{commands} commands, {outputs} outputs");
}
