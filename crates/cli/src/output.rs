//! Standard output and output files. A closed pipe is not an error.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use wordline_lab::Error;
use wordline_lab::output::{Output, is_standard};
use wordline_lab::provenance::Provenance;
use wordline_lab::report::{self, three_digits};

use crate::failure::Failure;
use crate::provenance::provenance;
use crate::screen::{self, Stream};

/// Argument for the destination of JSON.
#[derive(Args, Clone)]
pub struct JsonArgument {
    /// Writes the result as JSON to FILE; `-`, or no FILE, for standard output in place of the table.
    #[arg(id = "json", long = "json", value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub file: Option<PathBuf>,
}

impl JsonArgument {
    /// Opens the file that the user named, before the result exists.
    pub fn open(&self) -> Result<Json, Failure> {
        Ok(Json(self.file.as_deref().map(Output::open).transpose()?))
    }
}

const JSON: &str = "results have string keys, so they are JSON";

/// A result together with the program that made it.
#[derive(Serialize)]
struct WithProvenance<'a, T> {
    provenance: Provenance,
    #[serde(flatten)]
    value: &'a T,
}

/// Formats `value` as JSON. An object also gets the program that made it.
pub fn with_provenance(value: &impl Serialize) -> String {
    let plain = serde_json::to_value(value).expect(JSON);
    let unsigned = plain.as_object().is_some_and(|object| !object.contains_key("provenance"));
    let text = match unsigned {
        true => serde_json::to_string_pretty(&WithProvenance { provenance: provenance(), value }),
        false => serde_json::to_string_pretty(value),
    };
    text.expect(JSON) + "\n"
}

/// Destination of a result: JSON goes to an open file or to standard output. A table goes to standard output,
/// unless the JSON does.
pub struct Json(Option<Output>);

impl Json {
    /// Whether the JSON goes to standard output.
    pub fn is_standard(&self) -> bool {
        self.0.as_ref().is_some_and(Output::is_standard)
    }

    /// Writes `value` as JSON, if the user asked for it. An object also gets the program that made it.
    pub fn give(self, value: &impl Serialize) -> Result<(), Failure> {
        self.emit_text(|| with_provenance(value))
    }

    /// Writes the JSON that `text` returns, if the user asked for it.
    pub fn emit_text(self, text: impl FnOnce() -> String) -> Result<(), Failure> {
        self.0.map_or(Ok(()), |output| Ok(output.give(text().as_bytes())?))
    }

    /// Writes `value` as JSON if the user asked for it. Prints the text of `table`, unless the JSON goes to
    /// standard output.
    pub fn or_table(self, value: &impl Serialize, table: impl FnOnce() -> String) -> Result<(), Failure> {
        let printed = if self.is_standard() { Ok(()) } else { self::table(&table()) };
        self.give(value).and(printed)
    }
}

/// Opens the destination and writes `value` as JSON if the user asked for it. Prints the text of `table`,
/// unless the JSON goes to standard output.
pub fn json_or(
    to: &JsonArgument,
    value: &impl Serialize,
    table: impl FnOnce() -> String,
) -> Result<(), Failure> {
    to.open()?.or_table(value, table)
}

/// Returns an error if two of the named outputs are both standard output or are the same file, or if one of them
/// is a file that is read, so that no input is replaced.
pub fn check_distinct(outputs: &[(&str, Option<&Path>)], inputs: &[&Path]) -> Result<(), Failure> {
    let is_file = |output: &Path, input: &Path| match (output.canonicalize(), input.canonicalize()) {
        (Ok(output), Ok(input)) => output == input && input.is_file(),
        _ => false,
    };
    let refused = |name: &str, found, wanted: &str| {
        let (what, wanted) = (name.into(), wanted.into());
        Err(Failure::Error(Error::Argument { what, found, wanted }))
    };
    let named: Vec<_> = outputs.iter().filter_map(|(name, path)| path.map(|path| (*name, path))).collect();
    for (n, (name, path)) in named.iter().enumerate() {
        if let Some((first, _)) = named[..n].iter().find(|(_, other)| other == path) {
            let place = if is_standard(path) { "standard output".into() } else { path.display().to_string() };
            return refused(name, format!("{place}, which {first} is for"), "a destination of its own");
        }
        if inputs.iter().any(|input| is_file(path, input)) {
            return refused(name, format!("{}, which is read", path.display()), "another file");
        }
    }
    Ok(())
}

/// Prints `text`, and a line end if it has none.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let text = screen::visible(text);
    written(write!(out, "{text}{end}").and_then(|()| out.flush()))
}

/// Prints a table, or several tables with text between them, in colour if wanted.
pub fn table(text: &str) -> Result<(), Failure> {
    let text = screen::visible(text);
    let text = match screen::columns() {
        Some(columns) => screen::folded(&text, columns).into(),
        None => text,
    };
    if !screen::is_coloured(Stream::Out) {
        return self::text(&text);
    }
    let mut out = std::io::stdout().lock();
    written(out.write_all(screen::colour_table(&text).as_bytes()).and_then(|()| out.flush()))
}

/// Converts the result of a write to standard output.
pub fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    Ok(result.map_err(|reason| Error::File { path: "standard output".into(), action: "write", reason })?)
}

/// Like [`json_or`], for a text whose lines are not folded.
pub fn json_or_text(
    to: &JsonArgument,
    value: &impl Serialize,
    document: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let json = to.open()?;
    let printed = if json.is_standard() { Ok(()) } else { text(&document()) };
    json.give(value).and(printed)
}

/// Formats objects as a table with a row for each. `keys` are the columns. On a terminal, lines are folded to
/// its width. Elsewhere they are not, so that `grep` finds whole rows.
pub fn rows(objects: &[Value], keys: &[&str]) -> String {
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Number(number) if number.is_f64() => three_digits(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    };
    let mut table = report::underlined();
    table.set_header(keys);
    if let Some(columns) = screen::columns() {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(columns);
    }
    table.add_rows(objects.iter().map(|object| keys.iter().map(|key| cell(&object[key]))));
    table.trim_fmt()
}
