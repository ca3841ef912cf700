//! The copy of the checkout that contains every mutant, each behind its switch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::list::{Mutant, mutants, with_faults};

/// Source of the switch. In the copy it becomes a module of the kernel.
const SWITCH: &str = include_str!("switch.rs");
const KERNEL: &str = "crates/kernel/src/";

/// The mutants of all lists, in the order of the crate names.
///
/// # Errors
/// A list that cannot be read.
pub fn all_mutants(root: &Path) -> Result<Vec<Mutant>, String> {
    let folder = root.join("tests/mutations");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut lists = BTreeMap::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if let (Some(name), true) = (path.file_stem(), path.extension().is_some_and(|end| end == "toml")) {
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            lists.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    mutants(lists.iter().map(|(name, text)| (name.as_str(), text.as_str())))
}

/// Creates or updates the copy at `copy`. Unchanged files keep their times, so that cargo does not recompile
/// them.
///
/// # Errors
/// A file that cannot be read or written, or a mutant that cannot be made.
pub fn make(root: &Path, copy: &Path, mutants: &[Mutant]) -> Result<(), String> {
    let mut by_file: BTreeMap<PathBuf, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        by_file.entry(mutant.path().into()).or_default().push(mutant);
    }
    let files = files_of(root)?;
    let head_of = |path: &PathBuf| path.iter().take(2).collect::<PathBuf>().join("src/lib.rs");
    let heads: BTreeSet<PathBuf> = by_file.keys().map(head_of).collect();
    for path in &files {
        let text = std::fs::read(root.join(path)).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = match by_file.remove(path) {
            Some(mutants) => {
                let text = String::from_utf8(text).map_err(|error| format!("{}: {error}", path.display()))?;
                with_faults(&text, &mutants)?.into_bytes()
            }
            None => text,
        };
        let text = match heads.contains(path) {
            // Deliberate faults cause warnings.
            true => [b"#![allow(warnings)]\n", &*text].concat(),
            false => text,
        };
        let text = match *path == Path::new(KERNEL).join("lib.rs") {
            true => [&*text, b"\npub mod mutants;\n"].concat(),
            false => text,
        };
        put(&copy.join(path), &text)?;
    }
    put(&copy.join(KERNEL).join("mutants.rs"), SWITCH.as_bytes())?;
    match by_file.into_iter().next() {
        Some((path, mutants)) => Err(format!("mutant {}: found no file {}", mutants[0].name, path.display())),
        None => remove_others(copy, copy, &files),
    }
}

/// The files of the checkout in its present state, relative to its root.
fn files_of(root: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let out = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git: {error}"))?;
    let text = String::from_utf8(out.stdout).map_err(|error| format!("git: {error}"))?;
    let files: BTreeSet<PathBuf> =
        text.split('\0').map(PathBuf::from).filter(|path| root.join(path).is_file()).collect();
    if files.is_empty() { Err(format!("found no files of {} in git", root.display())) } else { Ok(files) }
}

fn put(path: &Path, text: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let written =
        path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes files that are not in the checkout.
fn remove_others(copy: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let within = path.strip_prefix(copy).expect("it is within the copy");
        if path.is_dir() {
            remove_others(copy, &path, files)?;
        } else if !files.contains(within) && within != Path::new(KERNEL).join("mutants.rs") {
            std::fs::remove_file(&path).map_err(wrong)?;
        }
    }
    Ok(())
}
