//! The files of a run: their text, and the digests by which one that was changed or moved is known.
//!
//! The file of a run is a JSON object whose first member is the SHA-256 of all that follows it in the file. What follows begins with the run's
//! name, which is itself a digest of all inputs of the run, and with the SHA-256 of the file of its windows. So a file that was changed in a
//! digit or a key, one that is cut off, and one under another run's name are each told from the file that was written.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::{Record, WINDOWS};
use crate::name::hex;

/// The beginning of the file of a run, before its digest.
const BEGINNING: &str = "{\"digest\":\"";

/// Hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// The files of a run, as a store has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Its record, with digests.
    pub run: String,
    /// The windows of it over simulated time, if it has any.
    pub windows: Option<String>,
}

/// The parts of the file of a run beside its record.
#[derive(Deserialize)]
struct Head {
    name: String,
    windows: Option<String>,
}

/// A record as its file has it.
#[derive(Debug)]
pub(crate) struct Filed {
    /// The record.
    pub record: Record,
    /// The SHA-256 of the file of its windows, if it has one.
    pub windows: Option<String>,
}

impl Record {
    /// The files of the run called `name`, and what is left of the record without its windows.
    pub(crate) fn files(mut self, name: &str) -> (Files, Self) {
        let windows =
            self.summary.as_mut().and_then(Json::as_object_mut).and_then(|members| members.remove(WINDOWS));
        let windows = windows.map(|windows| json(&windows));
        let mut head = Map::from_iter([("name".to_owned(), name.into())]);
        head.extend(windows.as_ref().map(|text| (WINDOWS.to_owned(), digest(text.as_bytes()).into())));
        // The members of both objects in one, those of the head first.
        let (head, record) = (json(&head), json(&self));
        let rest = format!("\",{},{}", &head[1..head.len() - 1], &record[1..]);
        let run = format!("{BEGINNING}{}{rest}", digest(rest.as_bytes()));
        (Files { run, windows }, self)
    }
}

/// The record of the run called `name` from the bytes of its file; else what was found in place of it.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Filed, String> {
    let parts = bytes.strip_prefix(BEGINNING.as_bytes()).and_then(|rest| rest.split_at_checked(DIGITS));
    let (told, rest) = parts.ok_or("no record with a digest")?;
    if told != digest(rest).as_bytes() {
        return Err("content that its digest does not fit: it was changed or cut off".into());
    }
    let no_record = |error: serde_json::Error| format!("no record of a run: {error}");
    let head: Head = serde_json::from_slice(bytes).map_err(no_record)?;
    if head.name != name {
        return Err(format!("the record of run {}", head.name));
    }
    let record = serde_json::from_slice(bytes).map_err(no_record)?;
    Ok(Filed { record, windows: head.windows })
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("keys are text")
}
