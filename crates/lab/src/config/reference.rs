//! The page `docs/configuration.md`: how layers work, and every key of the schema.

use std::fmt::Write;

use serde_json::Value as Json;

use super::schema::{
    FILE_KEYS, SETTINGS_OF_DESIGNS, alternatives, device, follow, join, kind, names, tag, variants,
};
use super::schema_file::MEANING_OF_TYPE;
use super::tree::TAG;
use crate::devices::{DEVICE, DeviceType, Registry, SSD_FILE, Ssd};
use crate::error::{Error, Result};

const INTRODUCTION: &str = include_str!("introduction.md");

/// The page: an introduction, then a line for every key, with the texts of the structs that the keys
/// configure.
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
    for entry in registry.entries().filter(|entry| entry.name() != Ssd::NAME) {
        let name = entry.name();
        let _ = writeln!(out, "\n## Keys of `{DEVICE} = \"{name}\"`\n\n{}\n\n{HEADS}", entry.description());
        let root = entry.schema(registry.designs());
        members(&mut out, &root, &root, "");
    }
    let _ = writeln!(out, "\n## Keys of a device\n\n{HEADS}");
    let root = device(registry.designs());
    members(&mut out, &root, &root, "");
    out
}

const HEADS: &str = "| key | type | default | meaning |\n|---|---|---|---|";

/// The page of a type of device: description, keys and metrics.
///
/// # Errors
/// [`Error::Argument`] with the known names.
pub fn page_of_device(registry: &Registry, name: &str) -> Result<String> {
    let entry = registry.find(name).ok_or_else(|| Error::Argument {
        what: "type of device".into(),
        found: format!("`{name}`"),
        wanted: registry.wanted(name),
    })?;
    let mut out = format!("# Device: {name}\n\n{}\n\n## Keys\n\n{HEADS}\n", entry.description());
    let root = entry.schema(registry.designs());
    members(&mut out, &root, &root, "");
    let metrics = entry.metrics();
    if !metrics.is_empty() {
        out += "\n## Metrics\n\n| name | unit | meaning |\n|---|---|---|\n";
    }
    for metric in metrics {
        let _ = writeln!(out, "| `{}` | {} | {} |", metric.name, metric.unit.name(), cell(metric.meaning));
    }
    Ok(out)
}

fn members(out: &mut String, root: &Json, schema: &Json, path: &str) {
    for (key, member) in schema["properties"].as_object().into_iter().flatten() {
        let at = join(path, key);
        let (target, definition) = follow(root, member);
        // An optional table has two alternatives: itself, or null.
        let (target, definition) = match alternatives(target)[..] {
            [only] if kind(follow(root, only).0) == "object" && variants(target).is_empty() => {
                follow(root, only)
            }
            _ => (target, definition),
        };
        let target = if definition == SETTINGS_OF_DESIGNS { &target["anyOf"][0] } else { target };
        let meaning = member["description"].as_str().or(target["description"].as_str()).unwrap_or("");
        let items = follow(root, &target["items"]).0;
        if definition == SSD_FILE {
            let meaning = format!("{meaning} Its keys are those of an SSD, `preset` among them.");
            let _ = writeln!(out, "| `[{at}]` | table | | {} |", cell(meaning.trim_start()));
            continue;
        }
        if kind(target) == "array" && kind(items) == "object" {
            let _ = writeln!(out, "| `[[{at}]]` | tables | none | {} |", cell(meaning));
            members(out, root, items, &at);
            continue;
        }
        if kind(target) == "object" {
            let _ = writeln!(out, "| `[{at}]` | table | | {} |", cell(meaning));
            members(out, root, target, &at);
            continue;
        }
        let (item, _) = follow(root, &target["items"]);
        if kind(item) == "object" {
            let _ = writeln!(out, "| `[[{at}]]` | tables | none | {} |", cell(meaning));
            members(out, root, item, &at);
            continue;
        }
        let default = default_of(schema, key, member);
        let _ = writeln!(out, "| `{at}` | {} | {default} | {} |", type_of(target, definition), cell(meaning));
        for (name, variant) in variants(target) {
            let what = variant["description"].as_str().unwrap_or("");
            let tag = tag(variant).unwrap_or_default();
            let _ = writeln!(out, "| `{at}.{tag} = \"{name}\"` | | | {} |", cell(what));
            let properties = variant["properties"].as_object().into_iter().flatten();
            for (key, inner) in properties.filter(|(_, inner)| inner.get("const").is_none()) {
                let (target, definition) = follow(root, inner);
                let meaning = cell(inner["description"].as_str().unwrap_or(""));
                let default = default_of(variant, key, inner);
                let _ = writeln!(
                    out,
                    "| `{at}.{key}` | {} | {default} | {meaning} |",
                    type_of(target, definition)
                );
            }
        }
    }
}

/// The default of a member of `schema`, as text.
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

/// The plural of the type of a list's items.
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

/// Text for a cell of a table: one line, bars escaped.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
