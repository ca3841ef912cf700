//! The name of a run: a digest of everything on which its result depends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wordline_experiments::{Point, Workload};
use wordline_lab::error::{Error, Result};
use wordline_lab::provenance::Fingerprint;
use wordline_lab::trace::workload::profile::{RealOrProfile, resolve};

/// A file that a run reads: a recorded trace or a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// The file.
    pub path: PathBuf,
    /// SHA-256 of the first gibibyte of the file.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Size and modification time of a file when it was hashed.
type FileState = String;

/// Computes names of runs. Each file is hashed once, and again if it changes.
#[derive(Default)]
pub struct RunNames {
    known: BTreeMap<PathBuf, (FileState, InputFile)>,
}

impl RunNames {
    /// Returns the name of a run, which has 32 digits, and the files that the run reads. `program` is the
    /// version and commit. `design` is the source of a design that no configuration names.
    pub(crate) fn of(
        &mut self,
        point: &Point,
        design: Option<&str>,
        program: &str,
    ) -> Result<(String, Vec<InputFile>)> {
        let Point {
            config_text,
            workload,
            precondition,
            from_snapshot,
            covers_volume,
            power_cut_after,
            warm_up,
            until,
            traces,
            seed,
            ..
        } = point;
        let workload_text = serde_json::to_string(workload).expect("a workload that was read can be written");
        let before = match from_snapshot {
            Some(_) => "snapshot".to_owned(),
            None => format!("{precondition:?}"),
        };
        let read = recorded(workload, traces.as_deref())?;
        let files = read.iter().chain(from_snapshot);
        let inputs: Vec<InputFile> = files.map(|path| self.input(path)).collect::<Result<_>>()?;
        // The digest is that of the first GiB.
        let of_files: Vec<String> =
            inputs.iter().map(|input| format!("{} {}", input.sha256, input.bytes)).collect();
        let parts = [
            program,
            config_text,
            &workload_text,
            &format!("{before} {covers_volume} {power_cut_after:?} {warm_up:?} {seed}"),
            &of_files.join(" "),
        ];
        let mut hash = Sha256::new();
        // A run without this condition has the name that it had before there were any.
        let until = until.as_ref().map(|until| format!("until {until}"));
        for part in parts.into_iter().chain(design).chain(until.as_deref()) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Ok((hex(&hash.finalize()[..16]), inputs))
    }

    fn input(&mut self, path: &Path) -> Result<InputFile> {
        let refused = |found: &str| Error::Argument {
            what: format!("file {}", path.display()),
            found: found.to_owned(),
            wanted: "a file that exists and does not change".into(),
        };
        let about = std::fs::metadata(path).map_err(|reason| refused(&reason.to_string()))?;
        let standing = format!("{} {:?}", about.len(), about.modified().ok());
        if let Some((before, known)) = self.known.get(path)
            && *before == standing
        {
            return Ok(known.clone());
        }
        let found = Fingerprint::of(path).and_then(Fingerprint::finish);
        let found = found.ok_or_else(|| refused("one that changes or cannot be read again"))?;
        let input = InputFile { path: path.to_owned(), sha256: found.sha256, bytes: found.bytes };
        self.known.insert(path.to_owned(), (standing, input.clone()));
        Ok(input)
    }
}

/// Paths of the recorded trace that a workload replays, or of the files that it consists of.
fn recorded(workload: &Workload, traces: Option<&Path>) -> Result<Vec<PathBuf>> {
    match workload {
        Workload::Replayed { trace, .. } => Ok(vec![traces.unwrap_or(Path::new("")).join(trace)]),
        Workload::Volume(volume) => match resolve(&volume.profile, traces)? {
            RealOrProfile::Real(path) => Ok(vec![path]),
            RealOrProfile::Profile(_) => Ok(Vec::new()),
        },
        Workload::File(file) => file.files(),
        _ => Ok(Vec::new()),
    }
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
