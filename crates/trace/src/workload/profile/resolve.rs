//! Recorded traces take precedence over profiles.

use std::path::{Path, PathBuf};

use super::Profile;
use crate::Error;

/// Source of the requests of a published trace.
#[derive(Clone, Debug)]
pub enum RealOrProfile {
    /// A recorded trace in the user's folder.
    Real(PathBuf),
    /// The generator.
    Profile(Box<Profile>),
}

/// Returns the recorded trace of the profile called `name` in the folder `traces`, or else the profile.
///
/// A file is the trace if its name is the volume's name followed by a dot: `hm_0.csv`, `hm_0.csv.gz`. Case
/// does not matter. Of several such files, the first in alphabetical order is used.
///
/// # Errors
/// An unknown profile, or a folder that cannot be read.
pub fn resolve(name: &str, traces: Option<&Path>) -> Result<RealOrProfile, Error> {
    let profile = Profile::named(name)?;
    let Some(folder) = traces else { return Ok(RealOrProfile::Profile(Box::new(profile))) };
    let fail = |reason| Error::File { path: folder.to_owned(), action: "read", reason };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let is = |file: &str| is_trace_of(&file.to_lowercase(), profile.volume());
        if path.is_file() && path.file_name().and_then(|file| file.to_str()).is_some_and(is) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found
        .into_iter()
        .next()
        .map_or_else(|| RealOrProfile::Profile(Box::new(profile)), RealOrProfile::Real))
}

/// Whether a file is a trace of the volume: `hm_0.csv` belongs to `hm_0`, `hm_01.csv` does not. An excerpt,
/// marked after the first dot, is not the trace.
fn is_trace_of(file: &str, volume: &str) -> bool {
    let rest = file.strip_prefix(volume).and_then(|rest| rest.strip_prefix('.'));
    rest.is_some_and(|rest| !rest.starts_with("first") && !rest.starts_with("window"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_trace_goes_before_its_profile() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let name = "ressd/hm_0";
        let resolved = || resolve(name, Some(folder.path())).expect("the folder can be read");
        for file in ["hm_01.csv", "hm_0.first20000.csv"] {
            std::fs::write(folder.path().join(file), "").expect("the folder can be written");
        }
        assert!(matches!(resolved(), RealOrProfile::Profile(_)));
        std::fs::write(folder.path().join("HM_0.csv.gz"), "").expect("the folder can be written");
        assert!(matches!(resolved(), RealOrProfile::Real(path) if path.ends_with("HM_0.csv.gz")));
        assert!(matches!(resolve(name, None), Ok(RealOrProfile::Profile(_))));
    }

    #[test]
    fn an_unknown_profile_or_folder_is_an_error() {
        let unknown = resolve("centaur/hm_7", None).expect_err("there is no such volume").to_string();
        assert!(unknown.contains("`centaur/hm_7`") && unknown.contains("centaur/hm_1"), "{unknown}");
        assert!(resolve("centaur/hm_1", Some(Path::new("/no/such/folder"))).is_err());
    }
}
