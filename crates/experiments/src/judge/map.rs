//! Maps with their numbers.

use serde::Serialize;

/// A map with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    /// Its title, in words.
    pub title: String,
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// Its lines. A number inside the band of its expected value stands between asterisks.
    pub lines: Vec<Vec<String>>,
    /// At how many places all values are known.
    pub places: usize,
    /// The most expected values that are inside their bands together, and at which places.
    pub most: (usize, Vec<String>),
    /// How many expected values there are.
    pub of: usize,
}

impl Map {
    /// Where the expected values are inside their bands together, as a sentence.
    pub fn sentence(&self) -> String {
        let Self { places, of, most: (count, at), .. } = self;
        match count {
            0 => format!("At none of {places} places is any of the {of} values in its band."),
            count if count == of => {
                format!(
                    "All {of} values are in their bands at {} of {places} places: {}.",
                    at.len(),
                    at.join("; ")
                )
            }
            count => format!(
                "At none of {places} places are all {of} values in their bands; {count} are at {}: {}.",
                at.len(),
                at.join("; ")
            ),
        }
    }
}
