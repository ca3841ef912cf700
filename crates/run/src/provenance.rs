//! The origin of a result: program, command line and trace.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wordline_kernel::quoted;

use crate::output::is_standard;

/// Version of the result layout in JSON, reports and logs. It grows with each change that breaks readers of
/// the previous layout.
pub const SCHEMA: u32 = 2;

/// The program that made a result, and its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Provenance {
    /// Version of the layout of this result.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Commit that the program was built from; null if unknown.
    pub commit: Option<String>,
    /// The arguments of the command line; empty if there was none.
    pub command: Vec<String>,
}

impl Provenance {
    /// The origin of a result of this library, made by a program that was built from `commit` and called with
    /// `command`.
    pub fn of(commit: Option<&str>, command: Vec<String>) -> Self {
        let version = env!("CARGO_PKG_VERSION").into();
        Self { schema: SCHEMA, version, commit: commit.map(Into::into), command }
    }

    /// Name and version of the program.
    pub fn program(&self) -> String {
        let commit = self.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        format!("wordline {}{commit}", self.version)
    }

    /// The command line, quoted for a shell.
    pub fn command_line(&self) -> String {
        self.command.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ")
    }
}

/// A trace file and its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TraceFile {
    /// The path as the user wrote it.
    pub path: String,
    /// Size on disk in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes, or of the first gibibyte (`head -c 1073741824 FILE | sha256sum`). For a
    /// directory, SHA-256 of its files in order of their names.
    pub sha256: String,
}

/// Greatest number of bytes that are hashed. Chosen: hashing takes a second or two, and the run reads all
/// bytes anyway.
const MOST_HASHED: u64 = 1 << 30;

/// The digest of a trace file, computed in the background.
#[derive(Debug)]
pub struct Fingerprint {
    hashing: JoinHandle<io::Result<TraceFile>>,
    path: PathBuf,
    before: Metadata,
}

impl Fingerprint {
    /// Begins to compute the digest of a file, or of the files of a directory. Returns `None` if the input
    /// cannot be read twice.
    pub fn of(path: &Path) -> Option<Self> {
        let before = std::fs::metadata(path).ok().filter(|_| !is_standard(path))?;
        let path = path.to_owned();
        (before.is_file() || before.is_dir()).then(|| {
            let hashed = path.clone();
            Self { hashing: std::thread::spawn(move || hash(&hashed)), path, before }
        })
    }

    /// Whether the digest is ready.
    pub fn is_finished(&self) -> bool {
        self.hashing.is_finished()
    }

    /// Waits for the digest. Returns `None` if the file could not be read again, or has changed since the
    /// beginning, because the run may have read other bytes.
    pub fn finish(self) -> Option<TraceFile> {
        let found = self.hashing.join().ok()?.ok()?;
        let now = std::fs::metadata(&self.path).ok()?;
        let state = |about: &Metadata| (about.len(), about.modified().ok());
        (state(&now) == state(&self.before)).then_some(found)
    }
}

fn hash(path: &Path) -> io::Result<TraceFile> {
    let mut files: Vec<PathBuf> = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
        files = entries.collect::<io::Result<Vec<_>>>()?;
        files.retain(|file| file.is_file());
        files.sort_unstable();
    }
    let (mut hash, mut bytes, mut left) = (Sha256::new(), 0, MOST_HASHED);
    let mut buffer = vec![0; 1 << 16];
    for file in files {
        let mut file = File::open(file)?;
        bytes += file.metadata()?.len();
        let mut part = (&mut file).take(left);
        loop {
            let count = part.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            left -= count as u64;
            hash.update(&buffer[..count]);
        }
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(TraceFile { path: path.display().to_string(), bytes, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_known_by_the_hash_that_other_tools_give() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").expect("the directory can be written");
        let found = Fingerprint::of(&path).expect("a file").finish().expect("it can be read");
        // FIPS 180-4, example of one block.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((found.bytes, found.sha256.as_str()), (3, known));
        let all = Fingerprint::of(folder.path()).expect("a folder").finish().expect("it can be read");
        assert_eq!((all.bytes, all.sha256.as_str()), (3, known));
        assert!(
            Fingerprint::of(Path::new("-")).is_none() && Fingerprint::of(&folder.path().join("b")).is_none()
        );
    }

    #[test]
    fn a_trace_that_changes_while_it_is_read_is_known_by_no_hash() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").expect("the directory can be written");
        let fingerprint = Fingerprint::of(&path).expect("a file");
        std::fs::write(&path, "abcd").expect("the file can be written");
        assert_eq!(fingerprint.finish(), None);
    }

    #[test]
    fn a_command_line_can_be_given_to_a_shell() {
        let command = ["wordline", "run", "--set", "a=[{b = \"c\"}]", "it's", ""].map(String::from).to_vec();
        let line = Provenance::of(Some("0123abc"), command).command_line();
        assert_eq!(line, r#"wordline run --set 'a=[{b = "c"}]' 'it'\''s' ''"#);
    }
}
