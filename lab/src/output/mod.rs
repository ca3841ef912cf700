//! Files that are either whole or not there.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Writes a file so that a reader finds the whole of it or what stood there before, and never a part.
///
/// The bytes go to a temporary file in the same directory, reach the disk, and take the name in one step. When the
/// disk is full the temporary file is removed. Directories on the way are made.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |reason| Error::File { path: path.to_owned(), action: "write", reason };
    fs::create_dir_all(directory_of(path)).map_err(failed)?;
    write_beside(path, bytes).map_err(failed)
}

fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = temporary_beside(path)?;
    // Through the plain file, whose errors do not name the temporary one.
    file.as_file_mut().write_all(bytes)?;
    take_name(file, path)
}

/// The directory of the file `path`.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file in the directory of `path`, with the permissions of any new file, where the system would make it
/// private otherwise. It is removed unless it takes a name.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wordline-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory_of(path))
}

/// Lets a temporary file that is whole reach the disk and take the name `path` in one step.
pub(crate) fn take_name(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("the directory was just made");
        entries
            .map(|entry| entry.expect("a listed entry").file_name().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_file_is_written_with_its_directories_and_replaces_what_stood_there() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a/b/result.json");
        write_atomically(&path, b"first, and longer").expect("the directory can be written");
        write_atomically(&path, b"second").expect("the directory can be written");
        assert_eq!(fs::read(&path).expect("it was written"), b"second");
        assert_eq!(names_in(path.parent().expect("it has one")), ["result.json"]);
    }

    #[test]
    fn a_directory_that_is_a_file_is_an_error_naming_the_path() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("file");
        fs::write(&file, b"here").expect("the directory can be written");
        let path = file.join("result.json");
        let error = write_atomically(&path, b"x").expect_err("a file holds no files");
        let text = error.to_string();
        assert!(text.starts_with(&format!("{}: cannot write: ", path.display())), "{text}");
    }

    #[test]
    fn a_failed_replacement_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("taken");
        fs::create_dir(&path).expect("the directory can be written");
        fs::write(path.join("inside"), b"x").expect("the directory can be written");
        write_atomically(&path, b"x").expect_err("a directory cannot be replaced by a file");
        assert_eq!(names_in(directory.path()), ["taken"]);
    }
}
