//! Tests that the JSON Schema of device files and the program refuse the same files.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value as Json;

use super::*;

/// Whether `value` is valid by `schema`. Supports the JSON Schema keywords that Wordline uses.
fn holds(root: &Json, schema: &Json, value: &Json) -> bool {
    let referred = schema["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
    let all = [
        referred.is_none_or(|inner| holds(root, inner, value)),
        is_of_type(schema, value),
        fits(schema, value),
    ];
    let any = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let names = schema["enum"].as_array();
    all.into_iter().all(|one| one)
        && any.is_none_or(|any| any.iter().any(|inner| holds(root, inner, value)))
        && names.is_none_or(|names| names.contains(value))
        && schema.get("const").is_none_or(|only| only == value)
        && members_hold(root, schema, value)
}

fn is_of_type(schema: &Json, value: &Json) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        other => panic!("the schema has the type {other}"),
    };
    match &schema["type"] {
        Json::String(name) => is(name),
        Json::Array(names) => names.iter().filter_map(Json::as_str).any(is),
        _ => true,
    }
}

fn fits(schema: &Json, value: &Json) -> bool {
    let bound = |key: &str| schema[key].as_f64();
    let number = value.as_f64().is_none_or(|number| {
        bound("minimum").is_none_or(|least| number >= least)
            && bound("maximum").is_none_or(|most| number <= most)
            && bound("exclusiveMinimum").is_none_or(|least| number > least)
            && bound("exclusiveMaximum").is_none_or(|most| number < most)
    });
    let matches = |(pattern, text): (&str, &str)| Regex::new(pattern).expect("a pattern").is_match(text);
    number && schema["pattern"].as_str().zip(value.as_str()).is_none_or(matches)
}

fn members_hold(root: &Json, schema: &Json, value: &Json) -> bool {
    let is_known =
        |key: &String| !schema["properties"][key].is_null() || schema["additionalProperties"] != false;
    let members = value.as_object().is_none_or(|members| {
        let holds = |(key, inner): (&String, &Json)| {
            let known = schema["properties"].get(key);
            is_known(key) && known.is_none_or(|schema| holds(root, schema, inner))
        };
        members.iter().all(holds)
            && schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
                .all(|key| members.contains_key(key))
    });
    let items = schema.get("items").zip(value.as_array());
    members && items.is_none_or(|(schema, items)| items.iter().all(|item| holds(root, schema, item)))
}

/// Whether the schema accepts the TOML `text`.
fn is_taken(root: &Json, text: &str) -> bool {
    let table: toml::Table = toml::from_str(text).expect("it is TOML");
    holds(root, root, &serde_json::to_value(table).expect("TOML without dates is JSON"))
}

/// One table of the file schema has the definitions of all device types.
#[test]
fn a_name_of_a_definition_means_the_same_in_all_types_of_devices() {
    let registry = Registry::default();
    let mut known = BTreeMap::new();
    for entry in registry.entries() {
        let schema = entry.schema(registry.designs());
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            let first = known.entry(name.clone()).or_insert_with(|| definition.clone());
            assert_eq!(first, definition, "{name} of {}", entry.name());
        }
    }
    assert!(known.contains_key("WearFile") && known.contains_key("FaultWearFile"));
}

#[test]
fn the_schema_takes_every_preset_and_part() {
    let registry = Registry::default();
    let root = schema_file::file(&registry);
    for (name, text) in registry.presets() {
        assert!(is_taken(&root, text), "{name}");
        let device = resolve(&registry, load::preset(&registry, name).expect(name)).expect(name);
        assert!(is_taken(&root, &device.text), "{name}, resolved");
    }
    for (name, text) in embedded::PARTS {
        let table: toml::Table = toml::from_str(text).expect("a part is TOML");
        let value = serde_json::to_value(table).expect("TOML without dates is JSON");
        assert!(holds(&root, &root["$defs"]["PartFile"], &value), "{name}");
    }
}

/// Valid and invalid files on preset `tiny`.
#[test]
fn the_schema_refuses_what_the_program_refuses() {
    let registry = Registry::default();
    let root = schema_file::file(&registry);
    let program = |line: &str| {
        Device::of_text(&registry, ("a", "a"), &format!("preset = \"tiny\"\n{line}"), &[]).map(|_| ())
    };
    for line in [
        "buffer.size = \"64 KiB\"",
        "buffer.size = \"0.5MiB\"",
        "buffer.access_time = \"1_000ns\"",
        "buffer.access_time = 0",
        "part.endurance = 100",
        "ftl.over_provisioning = 0.3",
        "faults = [{ fails = \"program\", nth = 3, die = \"0..1\" }]",
        "part.timing.program = [\"250us..2200us\"]",
    ] {
        assert!(
            program(line).is_ok() && is_taken(&root, line),
            "{line}: {:?}",
            program(line).map_err(|e| e.to_string())
        );
    }
    for line in [
        "buffer.size = \"64\"",
        "buffer.size = 64",
        "buffer.size = \"64 cows\"",
        "buffer.size = \"KiB\"",
        "buffer.size = \"-1KiB\"",
        "buffer.size = \"0.5B\"",
        "buffer.size = true",
        "buffer.access_time = \"1KiB\"",
        "buffer.access_time = \"1e3us\"",
        "buffer.access_time = \"0.5ps\"",
        "part.timing.program = [\"700\"]",
        "part.timing.program = [\"1us..2\"]",
        "part.power.interface = \"66\"",
        "part.bus.rate = \"0MT/s\"",
        "ftl.over_provisioning = 1.7",
        "ftl.over_provisioning = -0.1",
        "ftl.over_provisioning = \"0.2\"",
        "ftl.factory_bad_blocks = 0.5",
        "ftl.placement = { policy = \"fixt\" }",
        "ftl.placement = { policy = \"dynamic\", order = \"CWDP\" }",
        "ftl.router = { policy = \"host\", streams = 17 }",
        "ftl.router = { policy = \"host\", streams = 0 }",
        "ftl.gc.steps_per_write = 0",
        "ftl.gc.scope = \"rows\"",
        "ftl.gc.preemptible = 1",
        "layout.channels = 0",
        "layout.channels = -1",
        "layout.channels = 4294967296",
        "layout.channels = 1.5",
        "layout.channels = \"two\"",
        "layout = 3",
        "faults = [{ fails = \"programm\" }]",
        "faults = [{ fails = \"program\", probability = 1.5 }]",
        "faults = [{ fails = \"program\", nth = 0 }]",
        "faults = [{ fails = \"program\", nth = 3, die = \"2..\" }]",
        "faults = { fails = \"program\" }",
        "colour = \"red\"",
        "buffer.sise = \"64KiB\"",
    ] {
        assert!(program(line).is_err(), "the program takes {line}");
        assert!(!is_taken(&root, line), "the schema takes {line}");
    }
}
