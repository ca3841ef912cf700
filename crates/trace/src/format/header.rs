//! The line of a text trace that names its columns or the version of its format.

use super::super::input::Lines;
use crate::error::Result;

/// First word of the header line of hfplayer, which begins like a comment.
pub(super) const HFPLAYER: &str = "#DUMP_OFFSET";

/// Returns the header, the first line that is neither blank nor a comment; "" if there is none.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<String> {
    while let Some(line) = lines.next()? {
        let line = line.trim();
        if !line.is_empty() && !is_comment_above(line) {
            return Ok(line.to_owned());
        }
    }
    Ok(String::new())
}

/// Whether a line above the header is a comment. The header of one format begins like one.
pub(super) fn is_comment_above(line: &str) -> bool {
    let begin = line.get(..HFPLAYER.len()).unwrap_or_default();
    line.starts_with('#') && !begin.eq_ignore_ascii_case(HFPLAYER)
}
