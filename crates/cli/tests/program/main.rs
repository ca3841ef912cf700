//! Tests of the built program as a user calls it: exit codes, output streams, and messages about bad input.

mod bad_configurations;
mod bad_traces;
mod browser;
mod cells;
mod combinations;
mod devices;
mod docs;
mod doctor;
mod experiments;
mod face;
mod fences;
mod fit;
mod imports;
mod inputs;
mod jobs;
mod nand;
mod outputs;
mod policies;
mod raid5;
mod reports;
mod runs;
mod scripts;
#[cfg(unix)]
mod signals;
mod snapshots;
mod store;
mod sweep;
mod traces;
mod why;
mod zones;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Exit code and output of a call of the program.
struct Finished {
    code: Option<i32>,
    out: String,
    err: String,
}

/// The program with `arguments`, ready to be started.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wordline"));
    command.args(arguments).stdin(Stdio::null());
    // Tests set the width of the terminal and the colours themselves.
    for variable in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

/// Calls the program with `input` on its standard input, and waits for its end.
#[track_caller]
fn fed(arguments: &[&str], input: &[u8]) -> Finished {
    let mut command = program(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program was built with this test");
    let (mut pipe, input) = (child.stdin.take().expect("it was asked for"), input.to_vec());
    // The program may leave a part of the input unread.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer ends");
    Finished::of(output)
}

/// Calls the program and waits for its end.
#[track_caller]
fn wordline(arguments: &[&str]) -> Finished {
    Finished::of(program(arguments).output().expect("the program was built with this test"))
}

impl Finished {
    #[track_caller]
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The standard output of a call that must succeed.
    #[track_caller]
    fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    /// The standard output, parsed as JSON, of a call that must succeed.
    #[track_caller]
    fn json(self) -> Value {
        serde_json::from_str(&self.success()).expect("standard output is JSON")
    }

    /// The complaints of a call that must fail on bad input.
    #[track_caller]
    fn refusal(self) -> String {
        assert_eq!(self.code, Some(2), "{}{}", self.out, self.err);
        assert_eq!(self.out, "", "a refusal goes to standard error alone");
        assert!(!self.err.contains("a bug in Wordline"), "{}", self.err);
        self.err
    }
}

/// A temporary folder of a test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Creates a file in the folder, with the folders in its name. Returns its path.
    fn with(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        std::fs::write(path, content).expect("a temporary folder can be written");
        self.path(name)
    }

    /// Names of the files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("a temporary folder can be listed");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry can be read").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// A recorded trace from the folder beside the repository. If it is missing, returns `None` and prints a
/// message.
fn recorded(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: no recorded trace {}", path.display());
    None
}
