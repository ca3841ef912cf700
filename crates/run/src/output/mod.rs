//! Output files. A file is complete or absent. Output to standard output, pipes and devices is supported too.

mod names;
mod pending;
mod place;
mod report;
#[cfg(test)]
mod tests;
mod trace;
mod unfinished;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use names::directory_of;
use pending::PendingFile;
use place::ResolvedPath;

pub use place::is_standard;
pub use report::ReportFolder;
pub use trace::TraceFile;
pub use unfinished::remove_unfinished;

/// A destination for bytes.
///
/// A regular file is written as a temporary file, which gets its name in [`finish`](Self::finish). Readers
/// find either the complete file or the previous one. Links are followed, and the permissions of a replaced
/// file are kept. Devices, pipes and terminals are written directly. `-` is standard output.
#[derive(Debug)]
pub struct Output {
    /// The path as the user wrote it.
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A temporary file that gets this name when it is complete.
    Beside {
        file: PendingFile,
        name: PathBuf,
    },
    /// A special file, written in place.
    Direct(File),
    Stdout(io::Stdout),
}

impl Output {
    /// Opens a path that a user named. A path that cannot be written is an error now and not after the run.
    /// The folder of the path must exist. Opening a pipe waits for its reader.
    ///
    /// # Errors
    /// [`Error::File`] if the path cannot be written, which includes a regular file without write permission.
    pub fn open(path: &Path) -> Result<Self> {
        let target = Target::open(path).map_err(|reason| failed(path, reason))?;
        Ok(Self { path: path.to_owned(), target })
    }

    /// Whether the output goes to standard output.
    pub fn is_standard(&self) -> bool {
        matches!(self.target, Target::Stdout(_))
    }

    /// The path as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `bytes` and finishes the output.
    ///
    /// # Errors
    /// [`Error::File`]; the previous file is then unchanged.
    pub fn give(mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|reason| failed(&self.path, reason))?;
        self.finish()
    }

    /// Finishes the output. A regular file is synced and gets its name.
    ///
    /// # Errors
    /// [`Error::File`]; the previous file is then unchanged.
    pub fn finish(self) -> Result<()> {
        self.target.finish().map_err(|reason| failed(&self.path, reason))
    }
}

fn failed(path: &Path, reason: io::Error) -> Error {
    let path = if is_standard(path) { Path::new("standard output") } else { path };
    Error::File { path: path.to_owned(), action: "write", reason }
}

impl Target {
    fn open(path: &Path) -> io::Result<Self> {
        match place::of(path)? {
            ResolvedPath::Stdout => Ok(Self::Stdout(io::stdout())),
            ResolvedPath::Special(path) => Ok(Self::Direct(OpenOptions::new().append(true).open(path)?)),
            ResolvedPath::Regular(path) => {
                let before = fs::metadata(&path).ok();
                if let Some(before) = &before {
                    check_writable(&path, before)?;
                }
                check_folder(directory_of(&path))?;
                let file = PendingFile::new(&path)?;
                if let Some(before) = before {
                    keep_owner_and_permissions(file.file(), &before);
                }
                Ok(Self::Beside { file, name: path })
            }
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Beside { file, name } => {
                file.file().sync_all()?;
                file.take_name(&name)
            }
            Self::Direct(mut file) => file.flush(),
            Self::Stdout(mut out) => out.flush(),
        }
    }
}

/// Fails if the folder does not exist. A misspelt name must not create a folder.
fn check_folder(folder: &Path) -> io::Result<()> {
    match fs::metadata(folder) {
        Err(reason) if reason.kind() == ErrorKind::NotFound => {
            let absent = format!("there is no folder {}", folder.display());
            Err(io::Error::new(ErrorKind::NotFound, absent))
        }
        other => other.map(|_| ()),
    }
}

/// Fails if the permissions of the file forbid writing, even for the superuser.
fn check_writable(path: &Path, about: &fs::Metadata) -> io::Result<()> {
    if about.permissions().readonly() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "the file is read-only"));
    }
    OpenOptions::new().append(true).open(path).map(|_| ())
}

/// Gives the new file the permissions of the file that it replaces, and its owner if that is allowed.
fn keep_owner_and_permissions(file: &File, before: &fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only the superuser can change the owner. For other users the file belongs to them afterwards.
        let _ = fchown(file, Some(before.uid()), Some(before.gid()));
    }
    // If the permissions cannot be set, the file keeps the permissions of a new file.
    let _ = file.set_permissions(before.permissions());
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Beside { file, .. } => file.file().write(bytes),
            Target::Direct(file) => file.write(bytes),
            Target::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Beside { file, .. } => file.file().flush(),
            Target::Direct(file) => file.flush(),
            Target::Stdout(out) => out.flush(),
        }
    }
}

/// Writes `bytes` to a path that a user named.
///
/// # Errors
/// As for [`Output::open`] and [`Output::give`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    Output::open(path)?.give(bytes)
}
