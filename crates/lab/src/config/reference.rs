//! Generates `docs/configuration.md`: the rules of layering, and every key from the schema.

use std::fmt::Write;

use serde_json::Value as Json;

use super::schema::{
    FILE_KEYS, SETTINGS_OF_DESIGNS, alternatives, device, follow, join, kind, names, tag, variants,
};
use super::schema_file::MEANING_OF_TYPE;
use super::tree::TAG;
use crate::devices::{DEVICE, DeviceType, OpenChannelSsd, Registry, SSD_FILE, Ssd};
use crate::error::{Error, Result};

const INTRODUCTION: &str = include_str!("introduction.md");

/// The page: an introduction, then one line for every key, with the keys of an SSD first. A table that
/// several device types share is described once, and linked from the others. Descriptions come from the doc
/// comments of the structs.
pub fn reference() -> String {
    let mut out = INTRODUCTION.to_owned();
    out += "\n## Keys of a file\n\n| key | type | meaning |\n|---|---|---|\n";
    for (key, meaning) in FILE_KEYS {
        let _ = writeln!(out, "| `{key}` | text | {meaning} |");
    }
    out += "| `part` | text | Name or path of a NAND part, instead of the table `[part]`. |\n";
    out += "| `part.base` | text | The part that the table `[part]` changes, by name or path. |\n";
    let _ = writeln!(out, "| `{DEVICE}` | text | {MEANING_OF_TYPE} |");
    let registry = Registry::default();
    let mut described = Described::default();
    let _ = writeln!(out, "\n## Keys of an SSD\n\n{HEADS}");
    let root = device(registry.designs());
    Lines { out: &mut out, root: &root, described: &mut described }.members(&root, "");
    // The open-channel device comes before the types that contain one.
    let mut others: Vec<_> = registry.entries().filter(|entry| entry.name() != Ssd::NAME).collect();
    others.sort_by_key(|entry| entry.name() != OpenChannelSsd::NAME);
    for entry in others {
        let name = entry.name();
        let _ = writeln!(out, "\n## Keys of `{DEVICE} = \"{name}\"`\n\n{}\n\n{HEADS}", entry.description());
        let root = entry.schema(registry.designs());
        Lines { out: &mut out, root: &root, described: &mut described }.members(&root, "");
    }
    out
}

const HEADS: &str = "| key | type | default | meaning |\n|---|---|---|---|";

/// The page of a device type: description, keys and metrics.
///
/// # Errors
/// [`Error::Argument`] with the names that there are.
pub fn page_of_device(registry: &Registry, name: &str) -> Result<String> {
    let entry = registry.find(name).ok_or_else(|| Error::Argument {
        what: "type of device".into(),
        found: format!("`{name}`"),
        wanted: registry.wanted(name),
    })?;
    let mut out = format!("# Device: {name}\n\n{}\n\n## Keys\n\n{HEADS}\n", entry.description());
    let root = entry.schema(registry.designs());
    Lines { out: &mut out, root: &root, described: &mut Described::default() }.members(&root, "");
    let metrics = entry.metrics();
    if !metrics.is_empty() {
        out += "\n## Metrics\n\n| name | unit | meaning |\n|---|---|---|\n";
    }
    for metric in metrics {
        let _ = writeln!(out, "| `{}` | {} | {} |", metric.name, metric.unit.name(), cell(metric.meaning));
    }
    Ok(out)
}

/// The definitions described so far, each with its name, its content and the key where it is described. Two
/// schemas may use one name for different definitions.
#[derive(Default)]
struct Described(Vec<(String, Json, String)>);

impl Described {
    /// The key at which this definition is already described. Otherwise records that it is described at `at`.
    fn stands_at(&mut self, name: &str, definition: &Json, at: &str) -> Option<String> {
        if name.is_empty() {
            return None;
        }
        let known = self.0.iter().find(|(other, what, _)| other == name && what == definition);
        if let Some((_, _, key)) = known {
            return Some(key.clone());
        }
        self.0.push((name.to_owned(), definition.clone(), at.to_owned()));
        None
    }
}

/// The lines of a table of keys.
struct Lines<'a> {
    out: &'a mut String,
    root: &'a Json,
    described: &'a mut Described,
}

impl Lines<'_> {
    fn line(&mut self, key: &str, kind: &str, default: &str, meaning: &str) {
        let _ = writeln!(self.out, "| `{key}` | {kind} | {default} | {} |", cell(meaning.trim()));
    }

    /// Adds one line for each key of `schema`, which belongs to the key `path`. A table that is already
    /// described elsewhere gets one line with a link.
    fn members(&mut self, schema: &Json, path: &str) {
        let root = self.root;
        for (key, member) in schema["properties"].as_object().into_iter().flatten() {
            let at = join(path, key);
            let (target, definition) = follow(root, member);
            // The schema of an optional table has two alternatives: the table, or null.
            let (target, definition) = match alternatives(target)[..] {
                [only] if kind(follow(root, only).0) == "object" && variants(target).is_empty() => {
                    follow(root, only)
                }
                _ => (target, definition),
            };
            let target = if definition == SETTINGS_OF_DESIGNS { &target["anyOf"][0] } else { target };
            let meaning = member["description"].as_str().or(target["description"].as_str()).unwrap_or("");
            let (items, item) = follow(root, &target["items"]);
            if definition == SSD_FILE {
                self.table(&format!("[{at}]"), meaning, "an SSD, `preset` among them");
            } else if kind(items) == "object" {
                self.nested(&format!("[[{at}]]"), &at, meaning, (items, item));
            } else if kind(target) == "object" {
                self.nested(&format!("[{at}]"), &at, meaning, (target, definition));
            } else {
                let default = default_of(schema, key, member);
                self.value(&at, &default, meaning, (target, definition));
            }
        }
    }

    fn table(&mut self, key: &str, meaning: &str, keys_of: &str) {
        let kind = if key.starts_with("[[") { "tables" } else { "table" };
        self.line(key, kind, "", &format!("{meaning} Its keys are those of {keys_of}."));
    }

    fn nested(&mut self, key: &str, at: &str, meaning: &str, (table, definition): (&Json, &str)) {
        if let Some(other) = self.described.stands_at(definition, table, at) {
            return self.table(key, meaning, &format!("`{other}`"));
        }
        match key.starts_with("[[") {
            true => self.line(key, "tables", "none", meaning),
            false => self.line(key, "table", "", meaning),
        }
        self.members(table, at);
    }

    /// Adds the line of a value, then a line for each policy that the value can name, and lines for the
    /// settings of that policy.
    fn value(&mut self, at: &str, default: &str, meaning: &str, (value, definition): (&Json, &str)) {
        let kind = type_of(value, definition);
        let policies = variants(value);
        if !policies.is_empty()
            && let Some(other) = self.described.stands_at(definition, value, at)
        {
            return self.line(at, &kind, default, &format!("{meaning} Its choices are those of `{other}`."));
        }
        self.line(at, &kind, default, meaning);
        for (name, variant) in policies {
            let what = variant["description"].as_str().unwrap_or("");
            let tag = tag(variant).unwrap_or_default();
            self.line(&format!("{at}.{tag} = \"{name}\""), "", "", what);
            let properties = variant["properties"].as_object().into_iter().flatten();
            for (key, inner) in properties.filter(|(_, inner)| inner.get("const").is_none()) {
                let (target, definition) = follow(self.root, inner);
                let meaning = inner["description"].as_str().unwrap_or("");
                let default = default_of(variant, key, inner);
                self.line(&format!("{at}.{key}"), &type_of(target, definition), &default, meaning);
            }
        }
    }
}

/// The default value of a member of `schema`, as text.
fn default_of(schema: &Json, key: &str, member: &Json) -> String {
    let mut required = schema["required"].as_array().into_iter().flatten();
    match &member["default"] {
        _ if required.any(|name| name == key) => "required".to_owned(),
        Json::Null => "none".to_owned(),
        value => format!("`{value}`"),
    }
}

fn type_of(schema: &Json, definition: &str) -> String {
    match definition {
        "Duration" => return "time".into(),
        "Bytes" => return "size".into(),
        "MegaTransfers" => return "data rate".into(),
        "Power" => return "power".into(),
        "Energy" => return "energy".into(),
        "Numbers" => return "number or range".into(),
        _ => {}
    }
    let names = names(schema);
    if !names.is_empty() {
        return names.iter().map(|name| format!("`\"{name}\"`")).collect::<Vec<_>>().join(" or ");
    }
    if let Some((_, variant)) = variants(schema).first() {
        return if tag(variant) == Some(TAG) { "policy".into() } else { "table".into() };
    }
    match kind(schema) {
        "integer" => "whole number".into(),
        "number" => "number".into(),
        "string" => "text".into(),
        "boolean" => "true or false".into(),
        "array" => format!("list of {}", items_of(&schema["items"])),
        _ => alternatives(schema).first().map_or_else(
            || "value".into(),
            |one| type_of(one, one["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or("")),
        ),
    }
}

/// The type of a list's items, in words.
fn items_of(items: &Json) -> &'static str {
    let definition = items["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    match (definition, kind(items)) {
        (Some("Duration" | "TimeRange"), _) => "times",
        (Some("Bytes"), _) => "sizes",
        (Some(_), _) | (None, "object") => "tables",
        (None, _) if items["enum"].is_array() => "names",
        (None, "integer") => "whole numbers",
        (None, "number") => "numbers",
        (None, "string") => "names",
        (None, "array") => "lists of numbers",
        _ => "values",
    }
}

/// Escapes text for a cell of a Markdown table: one line, without bars.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
