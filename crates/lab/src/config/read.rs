//! Reads typed values from a tree. The error lists every fault with its origin.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use wordline_kernel::{Complaint, Complaints};

use super::schema::{self, FILE_KEYS};
use super::tree::{self, Node, Origin, Value};
use crate::error::{Error, Result};
use crate::words::found_and_wanted;

/// The keys of a device during validation.
pub struct Keys<'a>(pub(crate) &'a Node);

/// The error for a value that the schema accepts and serde refuses.
pub(crate) fn fallback_error(message: &str) -> Error {
    let mut wrong = Complaints::default();
    let (found, wanted) = found_and_wanted(message, "values that fit their keys");
    wrong.add("the configuration", found, wanted);
    Error::Config(wrong)
}

/// Reads a `T` from TOML text, and validates it by its schema, then by `check`. `name` is the source in
/// messages.
///
/// # Errors
/// Every fault, with source, line and key, the value found and the value wanted.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(
    name: &str,
    text: &str,
    check: impl Fn(&T) -> std::result::Result<(), Complaints>,
) -> std::result::Result<T, Complaints> {
    let tree = tree::parse(name, text)?;
    schema::complaints_of::<T>(&tree).into_result(())?;
    let value = T::deserialize(tree.value.to_toml()).map_err(|error| {
        let mut wrong = Complaints::default();
        let (found, wanted) = found_and_wanted(error.message(), "values that fit their keys");
        wrong.add(name, found, wanted);
        wrong
    })?;
    check(&value).map_err(|wrong| with_origins(wrong, &tree))?;
    Ok(value)
}

/// Adds to each complaint the origin of its value, or a remark that the value is a default.
pub(crate) fn with_origins(wrong: Complaints, tree: &Node) -> Complaints {
    let label = |complaint: Complaint| {
        let key = match tree.origin_of(&complaint.key) {
            (origin, true) => origin.label(&complaint.key),
            (_, false) => format!("{} (default)", complaint.key),
        };
        Complaint { key, ..complaint }
    };
    Complaints(wrong.0.into_iter().map(label).collect())
}

/// Removes the keys that describe the file from its tree, and returns them.
pub(crate) fn file_keys(tree: &mut Node) -> Result<[Option<(Origin, String)>; 4]> {
    let mut wrong = Complaints::default();
    let members = tree.members_mut().expect("a document is a table");
    let taken = FILE_KEYS.map(|(key, _)| {
        let node = members.remove(key)?;
        if let Value::Text(text) = node.value {
            return Some((node.origin, text));
        }
        wrong.add(node.origin.label(key), &node.value, "text in quotes");
        None
    });
    wrong.into_result(taken).map_err(Error::Config)
}
