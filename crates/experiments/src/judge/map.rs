//! A map of expected values over two varied keys, with its numbers.

use serde::{Deserialize, Serialize};

/// A map with its numbers: our values at each position, and the positions at which most of them are inside
/// their bands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Title, as text.
    pub title: String,
    /// Column headings.
    pub heads: Vec<String>,
    /// Cells of the lines. A number inside the band of its expected value is enclosed in asterisks.
    pub lines: Vec<Vec<String>>,
    /// Number of positions at which all expected values have a number.
    pub places: usize,
    /// Greatest number of expected values that are inside their bands at one position, and the positions
    /// where this happens.
    pub most: (usize, Vec<String>),
    /// Number of expected values.
    pub of: usize,
}

impl Map {
    /// Sentence that names these positions.
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
