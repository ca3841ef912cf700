//! The files of a run: their text, and the digests that detect changed or moved files.
//!
//! The file of a run is a JSON object. Its first member is the SHA-256 of the rest of the file. The rest
//! begins with the name of the run, which is a digest of all inputs, and with the SHA-256 of the file of its
//! windows. These digests detect a changed digit or key, a truncated file, and a file under the name of
//! another run.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::{Record, WINDOWS};
use crate::name::hex;

/// First bytes of the file of a run. The digest follows.
const RECORD_PREFIX: &str = "{\"digest\":\"";

/// Hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// The files of a run in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The record, with digests.
    pub run: String,
    /// The time series (windows), if the run has any.
    pub windows: Option<String>,
}

/// Members of a run's file in addition to the record.
#[derive(Deserialize)]
struct FileHeader {
    name: String,
    windows: Option<String>,
}

/// A record, and the digest of its windows.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    /// The record.
    pub record: Record,
    /// SHA-256 of the file of the windows, if the run has any.
    pub windows: Option<String>,
}

impl Record {
    /// Returns the files of the run `name`, and the record without its windows.
    pub(crate) fn files(mut self, name: &str) -> (Files, Self) {
        let windows =
            self.summary.as_mut().and_then(Json::as_object_mut).and_then(|members| members.remove(WINDOWS));
        let windows = windows.map(|windows| json(&windows));
        let mut head = Map::from_iter([("name".to_owned(), name.into())]);
        head.extend(windows.as_ref().map(|text| (WINDOWS.to_owned(), digest(text.as_bytes()).into())));
        // Merges the members of both objects. The members of the header come first.
        let (head, record) = (json(&head), json(&self));
        let rest = format!("\",{},{}", &head[1..head.len() - 1], &record[1..]);
        let run = format!("{RECORD_PREFIX}{}{rest}", digest(rest.as_bytes()));
        (Files { run, windows }, self)
    }
}

/// Parses the record of the run `name` from the bytes of its file. The error is a text with what was found
/// instead.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<StoredRecord, String> {
    let parts = bytes.strip_prefix(RECORD_PREFIX.as_bytes()).and_then(|rest| rest.split_at_checked(DIGITS));
    let (told, rest) = parts.ok_or("no record with a digest")?;
    if told != digest(rest).as_bytes() {
        return Err("content that its digest does not fit: it was changed or cut off".into());
    }
    let no_record = |error: serde_json::Error| format!("not a record of a run: {error}");
    let head: FileHeader = serde_json::from_slice(bytes).map_err(no_record)?;
    if head.name != name {
        return Err(format!("the record of run {}", head.name));
    }
    let record = serde_json::from_slice(bytes).map_err(no_record)?;
    Ok(StoredRecord { record, windows: head.windows })
}

/// SHA-256 of bytes, as hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("keys are text")
}
