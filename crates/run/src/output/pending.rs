//! A temporary file in the folder of its final name.
//!
//! If the system supports it, the file has no name until the end (`O_TMPFILE`). Nothing is left then if the
//! program is killed. A link cannot replace an existing file, so for a replacement the file first gets a
//! temporary name, which is then renamed.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use super::names::{TEMPORARY, directory_of};
use super::unfinished::CleanupGuard;

/// A file that is not complete yet.
#[derive(Debug)]
pub(super) enum PendingFile {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    /// A file with a temporary name, which is removed unless it gets its final name.
    Named(NamedTempFile, CleanupGuard),
}

impl PendingFile {
    /// Creates a file in the folder of `path`, with the permissions of a new file.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::in_directory(directory_of(path)) {
            return Ok(Self::Unnamed(file));
        }
        Self::named(path)
    }

    /// Creates a file with a temporary name. This works on any system.
    pub(super) fn named(path: &Path) -> io::Result<Self> {
        let file = builder().tempfile_in(directory_of(path))?;
        let unfinished = CleanupGuard::new(file.path());
        Ok(Self::Named(file, unfinished))
    }

    pub(super) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            // The plain file's errors do not contain the temporary name.
            Self::Named(file, _) => file.as_file(),
        }
    }

    /// Gives the complete file its final name, and replaces an existing file.
    pub(super) fn take_name(self, name: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => nameless::link(&file, name),
            Self::Named(file, _unfinished) => file.persist(name).map(drop).map_err(|failure| failure.error),
        }
    }
}

/// A builder of temporary files with the permissions of a new file; the default of the crate is private
/// files.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

#[cfg(target_os = "linux")]
mod nameless {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    use super::*;

    /// The file descriptors of the process.
    const OPEN: &str = "/proc/self/fd";

    /// Creates a file without a name. Returns `None` if the file system does not support it, or if there is
    /// no `/proc`.
    pub(super) fn in_directory(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(open(directory, flags, Mode::from_raw_mode(0o666)).ok()?);
        fs::metadata(path_of(&file)).ok()?;
        Some(file)
    }

    fn path_of(file: &File) -> String {
        format!("{OPEN}/{}", file.as_raw_fd())
    }

    /// Links the file to a temporary name, and renames this to the final name.
    pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
        let link = |path: &Path| {
            linkat(CWD, path_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
        };
        let linked = builder().make_in(directory_of(name), link)?;
        let _unfinished = CleanupGuard::new(linked.path());
        linked.persist(name).map(drop).map_err(|failure| failure.error)
    }
}
