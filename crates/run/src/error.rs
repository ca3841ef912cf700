//! Errors of this crate. An error in the user's input names the file, the line or the key, the value found
//! and the value wanted. The command line then exits with code 2. An error of the simulation itself has a
//! reproducer, and exit code 1.

use std::path::Path;

use wordline_device::{BlockDevice, InvalidDecision};
use wordline_kernel::{Complaint, Complaints};

wordline_trace::input_errors! {
    /// An input that cannot be used, or an output that cannot be written.
    #[non_exhaustive]
    pub enum Error {
        /// Faults in a configuration, each with its origin (`file:line: key` or `--set key`).
        #[error("{0}")]
        Config(Complaints),
        /// The simulation is stuck, by a bug in Wordline. The text lists the waiting commands and includes
        /// the reproducer.
        #[error("the simulation makes no progress: {0}")]
        Stuck(String),
        /// The user stopped the run before there was a result.
        #[error("stopped before the first request")]
        Stopped,
        /// A change that the device or the host does not support. The text is the reason.
        #[error("it cannot be changed: {0}")]
        CannotChange(&'static str),
        /// A design or a policy took an invalid decision. The text includes the reproducer.
        #[error("{0}")]
        InvalidDecision(String),
        /// A check of the simulation itself failed, by a bug in Wordline. The text includes the reproducer.
        #[error("{0}")]
        Invariant(String),
    }
}

impl From<wordline_trace::Error> for Error {
    fn from(error: wordline_trace::Error) -> Self {
        use wordline_trace::Error as Of;
        match error {
            Of::File { path, action, reason } => Self::File { path, action, reason },
            Of::Line { path, line, found, wanted } => Self::Line { path, line, found, wanted },
            Of::Content { path, found, wanted } => Self::Content { path, found, wanted },
            Of::Argument { what, found, wanted } => Self::Argument { what, found, wanted },
        }
    }
}

impl Error {
    /// Whether the fault lies in the simulation or in a design, not in the input.
    pub fn is_simulation_error(&self) -> bool {
        matches!(self, Self::Stuck(_) | Self::InvalidDecision(_) | Self::Invariant(_))
    }

    /// The faults of the input; empty if the input is not the cause.
    pub fn findings(&self) -> Vec<Finding> {
        let path = |path: &Path| Some(path.display().to_string());
        let one = |file, line, key, found: &str, wanted: &str| {
            vec![Finding { file, line, key, found: found.into(), wanted: wanted.into() }]
        };
        match self {
            Self::Config(complaints) => complaints.0.iter().map(Finding::of).collect(),
            Self::File { path: file, action, reason } => {
                one(path(file), None, None, &reason.to_string(), &format!("a file to {action}"))
            }
            Self::Line { path: file, line, found, wanted } => {
                one(path(file), Some(*line), None, found, wanted)
            }
            Self::Content { path: file, found, wanted } => one(path(file), None, None, found, wanted),
            Self::Argument { what, found, wanted } => one(None, None, Some(what.clone()), found, wanted),
            Self::Stuck(_)
            | Self::Stopped
            | Self::CannotChange(_)
            | Self::InvalidDecision(_)
            | Self::Invariant(_) => Vec::new(),
        }
    }
}

/// A fault of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, preset or argument (`--set key`) that contains the fault, if known.
    pub file: Option<String>,
    /// The line of the file, counted from 1.
    pub line: Option<u64>,
    /// The key of a configuration, or the name of an argument.
    pub key: Option<String>,
    /// The value found.
    pub found: String,
    /// The value wanted.
    pub wanted: String,
}

impl Finding {
    /// The finding of a complaint, whose text begins with the origin, then the key.
    fn of(complaint: &Complaint) -> Self {
        let Complaint { key, found, wanted } = complaint;
        let argument = key.strip_prefix("--set ").filter(|key| !key.contains(": "));
        let (file, line, key) = match (key.rsplit_once(": "), argument) {
            (_, Some(argument)) => (Some(key.clone()), None, argument.to_owned()),
            (Some((place, key)), _) => {
                let numbered =
                    place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
                let (file, line) = numbered.map_or((place, None), |(file, line)| (file, Some(line)));
                (Some(file.to_owned()), line, key.to_owned())
            }
            (None, None) => match position(key) {
                Some((file, line)) => (Some(file.to_owned()), Some(line), String::new()),
                None => (None, None, key.clone()),
            },
        };
        let key = key.trim_end_matches(" (default)").to_owned();
        Self {
            file,
            line,
            key: Some(key).filter(|key| !key.is_empty()),
            found: found.clone(),
            wanted: wanted.clone(),
        }
    }
}

/// File and line of a place `file:line` or `file:line:column`.
fn position(place: &str) -> Option<(&str, u64)> {
    let (before, last) = place.rsplit_once(':')?;
    let last = last.parse().ok()?;
    let line = before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    Some(line.unwrap_or((before, last)))
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The error for an invalid decision of a design or a policy, if one was taken.
#[inline]
pub(crate) fn check_decisions(device: &impl BlockDevice) -> Result<()> {
    match device.invalid_decision() {
        None => Ok(()),
        Some(wrong) => Err(invalid_decision(wrong)),
    }
}

#[cold]
fn invalid_decision(wrong: &InvalidDecision) -> Error {
    Error::InvalidDecision(wrong.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_told_by_file_line_and_key() {
        let finding = |key: &str| {
            let mut wrong = Complaints::default();
            wrong.add(key, 1, "2");
            let Finding { file, line, key, .. } = Error::Config(wrong).findings().remove(0);
            (file, line, key.unwrap_or_default())
        };
        let at = |file: &str, line, key: &str| (Some(file.to_owned()), line, key.to_owned());
        assert_eq!(
            finding("my: drive.toml:7: ftl.gc.policy"),
            at("my: drive.toml", Some(7), "ftl.gc.policy")
        );
        assert_eq!(finding("--set ftl.gc.policy"), at("--set ftl.gc.policy", None, "ftl.gc.policy"));
        assert_eq!(finding("--set ftl.gc: ftl.gc.policy"), at("--set ftl.gc", None, "ftl.gc.policy"));
        assert_eq!(finding("drive: part.endurance"), at("drive", None, "part.endurance"));
        for place in ["a:b.toml:1:15", "a:b.toml:1"] {
            assert_eq!(finding(place), at("a:b.toml", Some(1), ""));
        }
        assert_eq!(finding("ftl.gc.policy (default)"), (None, None, "ftl.gc.policy".into()));
    }
}
