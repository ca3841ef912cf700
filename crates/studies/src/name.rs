//! The name of a run: a digest of everything that its result is a function of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wordline_experiments::{Point, Workload};
use wordline_lab::error::{Error, Result};
use wordline_lab::provenance::Fingerprint;
use wordline_lab::trace::workload::profile::{RealOrProfile, resolve};

/// The bytes of recorded traces, each hashed once.
#[derive(Default)]
pub(crate) struct Names {
    hashes: BTreeMap<PathBuf, String>,
}

impl Names {
    /// The name of a run by `program`, its version and commit: 32 digits.
    pub(crate) fn of(&mut self, point: &Point, program: &str) -> Result<String> {
        let Point {
            config_text, workload, precondition, covers_volume, power_cut_after, traces, seed, ..
        } = point;
        let workload_text = serde_json::to_string(workload).expect("a workload that was read can be written");
        let trace = match recorded(workload, traces.as_deref())? {
            Some(path) => self.hash(&path)?,
            None => String::new(),
        };
        let parts = [
            program,
            config_text,
            &workload_text,
            &format!("{precondition:?} {covers_volume} {power_cut_after:?} {seed}"),
            &trace,
        ];
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Ok(hex(&hash.finalize()[..16]))
    }

    fn hash(&mut self, path: &Path) -> Result<String> {
        if let Some(known) = self.hashes.get(path) {
            return Ok(known.clone());
        }
        let found = Fingerprint::of(path).and_then(Fingerprint::finish).ok_or_else(|| Error::Argument {
            what: format!("trace {}", path.display()),
            found: "a file that changes or cannot be read again".into(),
            wanted: "a file that stays as it is".into(),
        })?;
        self.hashes.insert(path.to_owned(), found.sha256.clone());
        Ok(found.sha256)
    }
}

/// The file of a recorded trace that a workload replays.
fn recorded(workload: &Workload, traces: Option<&Path>) -> Result<Option<PathBuf>> {
    match workload {
        Workload::Replayed { trace, .. } => Ok(Some(traces.unwrap_or(Path::new("")).join(trace))),
        Workload::Volume(volume) => match resolve(&volume.profile, traces)? {
            RealOrProfile::Real(path) => Ok(Some(path)),
            RealOrProfile::Profile(_) => Ok(None),
        },
        _ => Ok(None),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
