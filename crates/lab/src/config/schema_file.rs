//! The JSON Schema of device files as users write them: the keys of a device, and the keys that describe the
//! file.

use serde_json::{Map, Value as Json, json};

use super::schema::{DEVICE, FILE_KEYS, SSD_FILE, max_of_format, remove};
use crate::devices::Registry;

/// The schema of a device file of any type, as users write it. It includes the keys of files. Keys that a
/// preset or a named part can supply are optional.
pub fn file(registry: &Registry) -> Json {
    let (mut types, mut definitions) = (Vec::new(), Map::new());
    for entry in registry.entries() {
        let mut schema = entry.schema(registry.designs());
        for (key, meaning) in FILE_KEYS {
            schema["properties"][key] = json!({ "type": "string", "description": meaning });
        }
        schema["properties"][DEVICE] = json!({ "const": entry.name(), "description": MEANING_OF_TYPE });
        schema["title"] = entry.name().into();
        schema["description"] = entry.description().into();
        for key in ["$schema", "required"] {
            remove(&mut schema, key);
        }
        if let Some(Json::Object(own)) = remove(&mut schema, "$defs") {
            definitions.extend(own);
        }
        with_named_part(&mut schema);
        types.push(schema);
    }
    let base =
        json!({ "type": "string", "description": "The part that the table changes, by name or path." });
    for (name, definition) in &mut definitions {
        remove(definition, "required");
        match name.as_str() {
            "PartFile" => definition["properties"]["base"] = base.clone(),
            "AgedCellsFile" => {
                let set = &mut definition["properties"]["set"];
                let meaning = set["description"].clone();
                *set = json!({ "description": meaning, "type": ["string", "object"] });
            }
            SSD_FILE => {
                let (key, meaning) = FILE_KEYS[FILE_KEYS.len() - 1];
                definition["properties"][key] = json!({ "type": "string", "description": meaning });
                with_named_part(definition);
            }
            _ => with_named_part(definition),
        }
    }
    let draft = "https://json-schema.org/draft/2020-12/schema";
    let mut schema =
        json!({ "$schema": draft, "title": "A Wordline device", "anyOf": types, "$defs": definitions });
    bound(&mut schema);
    schema
}

/// The description of the key that selects the device type.
pub const MEANING_OF_TYPE: &str = "The type of device, as `wordline devices` lists them. Default: `ssd`.";

/// Lets the key `part` of a table also be a name.
fn with_named_part(schema: &mut Json) {
    if schema["properties"]["part"].is_object() {
        schema["properties"]["part"] = named_part();
    }
}

/// Limits each integer to the program's maximum, unless its struct has a lower limit.
fn bound(schema: &mut Json) {
    match schema {
        Json::Object(members) => {
            let most = members.get("format").and_then(Json::as_str).and_then(max_of_format);
            if let Some(most) = most {
                members.entry("maximum").or_insert(most.into());
            }
            members.values_mut().for_each(bound);
        }
        Json::Array(items) => items.iter_mut().for_each(bound),
        _ => {}
    }
}

/// A part as users write it: a table, or a name.
fn named_part() -> Json {
    json!({
        "description": "The NAND part: a name, a path, or a table of changes to the part `base`.",
        "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/PartFile" }]
    })
}
