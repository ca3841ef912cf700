//! Standard output, where a reader that goes away is no error.

use std::io::{ErrorKind, Write};

use serde::Serialize;
use wordline_lab::Error;

use crate::failure::Failure;

/// Prints `text`, with a line end if it has none.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    written(write!(out, "{text}{end}").and_then(|()| out.flush()))
}

/// What became of writing to standard output.
pub fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|reason| match reason.kind() {
        ErrorKind::BrokenPipe => Failure::NoReader,
        _ => Error::File { path: "standard output".into(), action: "write", reason }.into(),
    })
}

/// Prints `value` as indented JSON.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    text(&serde_json::to_string_pretty(value).expect("results have string keys, so they are JSON"))
}

/// Prints `value` as JSON where the user asked for it, else the text that `table` makes.
pub fn json_or(wanted: bool, value: &impl Serialize, table: impl FnOnce() -> String) -> Result<(), Failure> {
    if wanted { json(value) } else { text(&table()) }
}

/// A table with `header` above `rows`, without lines, folded to the width of the terminal.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(header);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).add_rows(rows);
    table.trim_fmt()
}
