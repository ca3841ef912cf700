//! The rules of the house, as tests over the files of the repository. Examples are the crates that a crate
//! may use, the calls that model crates may not make, the length of functions and files, and the sources in
//! data files. Each rule is a function from text to offences, with a test that it catches an offender.

mod book;
mod comments;
mod cycles;
mod data;
mod engines;
mod features;
mod length;
mod mutations;
mod names;
mod nightly;
mod pages;
mod programs;
mod source;
mod tree;
mod types;
mod words;

use std::fmt;
use std::path::Path;

/// The folder of the crates.
const CRATES: &str = "crates/";

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Offence {
    /// The file, with the line if there is one.
    place: String,
    /// The found text, and the remedy.
    complaint: String,
}

impl Offence {
    fn new(place: impl fmt::Display, complaint: impl Into<String>) -> Self {
        Self { place: place.to_string(), complaint: complaint.into() }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.complaint)
    }
}

/// A text file of the repository.
struct File {
    /// Path from the root of the repository, with forward slashes.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn crate_name(&self) -> &str {
        let path = self.path.strip_prefix(CRATES).unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository")
}

/// Every text file of the repository, except those that `.gitignore` excludes.
fn files() -> Vec<File> {
    let ignored = std::fs::read_to_string(root().join(".gitignore")).unwrap_or_default();
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let mut found = Vec::new();
    collect(root(), &ignored, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.iter().any(File::is_rust), "no source file under {}", root().display());
    found
}

fn collect(folder: &Path, ignored: &[&str], found: &mut Vec<File>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the repository can be listed");
    for entry in entries {
        let path = entry.expect("an entry of a listed folder can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == ".git" || ignored.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, ignored, found);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).expect("the walk starts at the root");
            found.push(File { path: path.to_string_lossy().replace('\\', "/"), text });
        }
    }
}

/// The files that a rule checks. Fails if there are fewer than `least`: such a rule would look in the wrong
/// place, and pass.
#[track_caller]
fn subjects(files: &[File], least: usize, is_one: impl Fn(&File) -> bool) -> Vec<&File> {
    let found: Vec<&File> = files.iter().filter(|file| is_one(file)).collect();
    assert!(found.len() >= least, "the rule looks at {} files, wanted at least {least}", found.len());
    found
}

/// Fails with one line for each offence.
#[track_caller]
fn assert_none(offences: &[Offence]) {
    let lines: Vec<String> = offences.iter().map(Offence::to_string).collect();
    assert!(lines.is_empty(), "{} offences:\n{}", lines.len(), lines.join("\n"));
}
