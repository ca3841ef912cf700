//! Standard output, where a reader that goes away is no error.

use std::io::{ErrorKind, Write};

use serde::Serialize;
use serde_json::Value;
use wordline_lab::Error;
use wordline_lab::report::three_digits;

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

/// A table of objects, one a line, with `keys` as its header, folded to the width of the terminal.
pub fn rows(objects: &[Value], keys: &[&str]) -> String {
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Number(number) if number.is_f64() => three_digits(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    };
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(keys);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    table.add_rows(objects.iter().map(|object| keys.iter().map(|key| cell(&object[key]))));
    table.trim_fmt()
}

/// Columns of the terminal; 100 where there is none, chosen as what reports are made for.
pub fn width() -> u16 {
    comfy_table::Table::new().width().unwrap_or(100)
}
