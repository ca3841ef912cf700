//! Names of temporary files, and their folders.

use std::path::Path;

/// Prefix of the names of temporary files.
pub(super) const TEMPORARY: &str = ".wordline-";

/// Whether the name of a file is that of a temporary file.
pub(super) fn is_temporary(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(TEMPORARY))
}

/// The directory of the file `path`.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
