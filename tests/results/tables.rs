//! Pages with result tables, each between `<!-- repro: PAPER/NAME OPTIONS -->` and `<!-- /repro -->`. The
//! tests of the experiments also read them with this file.

pub const BEGIN: &str = "<!-- repro: ";
const MARK_END: &str = " -->\n\n";
const END: &str = "<!-- /repro -->\n";

/// A page in parts: the text between tables, and the tables, each with the words of its marker.
#[derive(Debug, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    Table { words: &'a str, text: &'a str },
}

/// The parts of a page, or the fault of its markers.
pub fn parts(mut text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    while let Some(start) = text.find(BEGIN) {
        let (before, rest) = text.split_at(start);
        let mark = rest[BEGIN.len()..].split_once(MARK_END);
        let (words, rest) = mark.ok_or("a mark ends with ` -->` and an empty line")?;
        let (table, rest) = rest.split_once(END).ok_or(format!("{words}: no {}", END.trim()))?;
        if words.contains('\n') || table.contains(BEGIN) {
            return Err(format!("{words}: a table within a table"));
        }
        parts.extend([Part::Text(before), Part::Table { words, text: table }]);
        text = rest;
    }
    parts.push(Part::Text(text));
    Ok(parts)
}

/// The page with every table replaced by the result of `table`, given the words and the text of the table.
///
/// # Errors
/// Those of [`parts`].
pub fn with_tables<'a>(
    page: &'a str,
    mut table: impl FnMut(&'a str, &'a str) -> String,
) -> Result<String, String> {
    let written = |part| match part {
        Part::Text(text) => text.to_owned(),
        Part::Table { words, text } => format!("{BEGIN}{words}{MARK_END}{}{END}", table(words, text)),
    };
    Ok(parts(page)?.into_iter().map(written).collect())
}
