//! Sections of names and values, as SimpleSSD reads them (inih): comments begin with `#` or `;` in the first
//! column, or with ` #` after a value.

use super::text::shown;
use crate::error::{Error, Result};

/// The parameters in a text as `section.name`, with their lines from 1 and their values.
///
/// # Errors
/// [`Error::Line`] for a line that is neither a section nor a name with a value.
pub fn parse(file: &str, text: &str) -> Result<Vec<(String, u32, String)>> {
    let mut section = "";
    let mut all = Vec::new();
    for (number, whole) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let wrong = |found: &str, wanted: &str| {
            Err(Error::Line {
                path: file.into(),
                line: number.into(),
                found: found.into(),
                wanted: wanted.into(),
            })
        };
        let line = without_comment(whole).trim_end();
        if line.trim().is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with(char::is_whitespace) {
            let found = format!("an indented line, `{}`", shown(line));
            return wrong(&found, "a line without spaces in front: they make it a part of the value before");
        }
        if let Some(name) = line.strip_prefix('[') {
            let Some(name) = name.strip_suffix(']') else {
                return wrong(&format!("`{}`", shown(line)), "a section, such as [pal]");
            };
            section = name;
            continue;
        }
        match line.split_once(['=', ':']) {
            Some((name, value)) if !section.is_empty() && !name.trim().is_empty() => {
                all.push((format!("{section}.{}", name.trim()), number, value.trim().to_owned()));
            }
            Some(_) if section.is_empty() => {
                return wrong(&format!("`{}`", shown(line)), "a section before it, such as [pal]");
            }
            _ => return wrong(&format!("`{}`", shown(line)), "a section, or a name = value"),
        }
    }
    Ok(all)
}

/// A line without a comment after its value.
fn without_comment(line: &str) -> &str {
    let spaces = [" #", "\t#"];
    let at = spaces.iter().filter_map(|mark| line.find(mark)).min();
    at.map_or(line, |at| &line[..at])
}
