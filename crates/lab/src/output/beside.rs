//! A file that is written beside the name that it is going to take.
//!
//! Where the system can, it has no name until then (`O_TMPFILE`), so that nothing of it stays if the program is killed. It gets one for an
//! instant to take the place of another file: a link replaces none.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use super::names::{TEMPORARY, directory_of};
use super::unfinished::Unfinished;

/// A file that is not whole yet.
#[derive(Debug)]
pub(super) enum Beside {
    #[cfg(target_os = "linux")]
    Nameless(File),
    /// Removed unless it takes its name.
    Named(NamedTempFile, Unfinished),
}

impl Beside {
    /// One in the directory of `path`, with the permissions of any new file.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::in_directory(directory_of(path)) {
            return Ok(Self::Nameless(file));
        }
        Self::named(path)
    }

    /// One with a name, as any system can make it.
    pub(super) fn named(path: &Path) -> io::Result<Self> {
        let file = builder().tempfile_in(directory_of(path))?;
        let unfinished = Unfinished::new(file.path());
        Ok(Self::Named(file, unfinished))
    }

    pub(super) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            // Through the plain file, whose errors do not name the temporary one.
            Self::Named(file, _) => file.as_file(),
        }
    }

    /// It is whole: it takes its name, in the place of a file that has it.
    pub(super) fn take_name(self, name: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => nameless::link(&file, name),
            Self::Named(file, _unfinished) => file.persist(name).map(drop).map_err(|failure| failure.error),
        }
    }
}

/// Makes names of temporary files, which the system would make private by itself.
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

    /// The open files of the program, by their numbers.
    const OPEN: &str = "/proc/self/fd";

    /// A file without a name; none where the directory's file system has no such, or nothing says which files are open.
    pub(super) fn in_directory(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(open(directory, flags, Mode::from_raw_mode(0o666)).ok()?);
        fs::metadata(path_of(&file)).ok()?;
        Some(file)
    }

    fn path_of(file: &File) -> String {
        format!("{OPEN}/{}", file.as_raw_fd())
    }

    /// Gives the file a name that replaces no other, and with that the one that it is to have.
    pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
        let link = |path: &Path| {
            linkat(CWD, path_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
        };
        let linked = builder().make_in(directory_of(name), link)?;
        let _unfinished = Unfinished::new(linked.path());
        linked.persist(name).map(drop).map_err(|failure| failure.error)
    }
}
