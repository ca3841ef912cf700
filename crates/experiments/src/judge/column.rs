//! Columns of the results of a run: numbers, and some texts, by dotted names.
//!
//! Each part of a name is the key of an object. In a list, a part selects an item. It is either the index of
//! the item, from 0 as in `pools.1.endurance_used`, or the `name` of the item as in `time.bus.read_us`.

use serde::Serialize;
use serde_json::Value as Json;

use wordline_lab::columns::{columns, summary_schema};
use wordline_lab::config::follow_schema;
use wordline_lab::devices::Registry;
use wordline_lab::error::{Error, Result};

/// Most columns that the message about an unknown one proposes. Chosen: what fits on two lines.
const CLOSEST_COLUMNS: usize = 4;

/// The fault of a name that does not lead to a value of the wanted kind.
struct UnknownColumn {
    /// The name or the value found, and the part of the name at which it was found.
    found: String,
    /// The names or values that are valid instead.
    wanted: String,
}

impl UnknownColumn {
    fn of(self, path: &str) -> Error {
        let Self { found, wanted } = self;
        Error::Argument { what: format!("column {path} of the summary"), found, wanted }
    }
}

type Step<'a> = std::result::Result<&'a Json, String>;
type Walk<'a> = std::result::Result<&'a Json, UnknownColumn>;

/// Follows a name. `step` takes one part of it, or returns the valid parts.
fn walk<'a>(whole: &'a Json, path: &str, step: impl Fn(&'a Json, &str) -> Step<'a>) -> Walk<'a> {
    let (mut inside, mut end) = (whole, 0);
    for key in path.split('.') {
        inside = step(inside, key).map_err(|there_is| UnknownColumn {
            found: format!("nothing at `{}`", &path[..end + key.len()]),
            wanted: if end == 0 { there_is } else { format!("after `{}` {there_is}", &path[..end]) },
        })?;
        end += key.len() + 1;
    }
    Ok(inside)
}

/// Lists names for a message. The name closest to `found` comes first. The others are sorted, because the
/// order of keys depends on how `serde_json` was built.
fn one_of<'a>(found: &str, names: impl Iterator<Item = &'a String>) -> String {
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    match names.len() {
        0 => "nothing".into(),
        1 => format!("one of {}", names[0]),
        // No name is suggested for fewer than four letters. A suggestion may differ in two letters, and `waf`
        // is not `wear`.
        _ if found.len() < 4 => format!("one of {}", names.join(", ")),
        _ => wordline_kernel::one_of(found, &names),
    }
}

/// Lists the names that can follow a value. `found` is the name that cannot.
fn parts(value: &Json, found: &str) -> String {
    match value {
        Json::Array(items) if items.is_empty() => "nothing: the list is empty".to_owned(),
        Json::Array(items) => format!("a number from 0 to {}, or the name of an item", items.len() - 1),
        Json::Object(members) => one_of(found, members.keys()),
        _ => "nothing".to_owned(),
    }
}

fn value<'a>(values: &'a Json, path: &str) -> Walk<'a> {
    walk(values, path, |inside, key| {
        let found = match inside {
            Json::Array(items) => {
                let named = items.iter().find(|item| item["name"] == key);
                named.or_else(|| items.get(key.parse::<usize>().ok()?))
            }
            inside => inside.get(key),
        };
        found.ok_or_else(|| parts(inside, key))
    })
}

/// The fault of a value of the wrong kind.
fn other(path: &str, found: &Json, wanted: &str) -> UnknownColumn {
    let (found, wanted) = match found {
        Json::Array(_) | Json::Object(_) => {
            (format!("several values at `{path}`"), format!("{wanted}: after `{path}.` {}", parts(found, "")))
        }
        single => (single.to_string(), wanted.to_owned()),
    };
    UnknownColumn { found, wanted }
}

/// Returns the value at this name; `None` if there is none.
pub fn follow<'a>(values: &'a Json, path: &str) -> Option<&'a Json> {
    value(values, path).ok()
}

/// Returns the number at this name.
pub(crate) fn number(values: &Json, path: &str) -> Result<f64> {
    let found = value(values, path).map_err(|astray| astray.of(path))?;
    found.as_f64().ok_or_else(|| other(path, found, "a number").of(path))
}

/// Returns the text at this name.
pub(crate) fn text<'a>(values: &'a Json, path: &str) -> Result<&'a str> {
    let found = value(values, path).map_err(|astray| astray.of(path))?;
    found.as_str().ok_or_else(|| other(path, found, "a text").of(path))
}

/// Returns the valid names, if `path` is not a number in `measured` (not a text if `is_text`). Returns `None`
/// if it is.
pub(crate) fn unknown_column(measured: &impl Serialize, path: &str, is_text: bool) -> Option<String> {
    let measured = serde_json::to_value(measured).expect("its keys are text");
    let wanted = if is_text { "a text" } else { "a number" };
    match value(&measured, path) {
        Err(astray) => Some(astray.wanted),
        Ok(Json::String(_)) if is_text => None,
        Ok(Json::Number(_)) if !is_text => None,
        Ok(found) => Some(other(path, found, wanted).wanted),
    }
}

/// Returns the valid names, if `path` cannot be a number in the summary of a device. Any index or name can
/// lead into a list, because only the run determines its items.
pub(crate) fn unknown_summary_column(registry: &Registry, path: &str) -> Option<String> {
    if registry.metrics().any(|metric| metric.name == path) {
        return None;
    }
    let root = summary_schema();
    let found = walk(root, path, |inside, key| {
        let inside = follow_schema(root, inside).0;
        let found = match inside.get("items") {
            Some(items) => (is_named(root, items) || key.parse::<usize>().is_ok()).then_some(items),
            None => inside.get("properties").and_then(|members| members.get(key)),
        };
        found.ok_or_else(|| schema_parts(root, inside, key))
    });
    let found = match found {
        Err(astray) => return Some(columns_like(registry, path).unwrap_or(astray.wanted)),
        Ok(found) => follow_schema(root, found).0,
    };
    let kinds = found["type"].to_string();
    if kinds.contains("number") || kinds.contains("integer") {
        return None;
    }
    Some(match found["type"].as_str() {
        Some("object" | "array") => format!("a number: after `{path}.` {}", schema_parts(root, found, "")),
        _ => "a number".to_owned(),
    })
}

/// Columns whose last part is, contains or abbreviates `text`, such as `wear.drive_writes_per_day` for `dwpd`.
fn columns_like(registry: &Registry, text: &str) -> Option<String> {
    let initials = |part: &str| part.split('_').filter_map(|word| word.chars().next()).collect::<String>();
    let rank = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or(name);
        let ranks = [last == text, initials(last) == text, text.len() > 2 && last.contains(text)];
        ranks.iter().position(|holds| *holds)
    };
    let all = columns(registry, None).ok()?.into_iter().map(|column| column.name);
    let mut found: Vec<(usize, String)> = all.filter_map(|name| Some((rank(&name)?, name))).collect();
    found.sort_by_key(|(rank, name)| (*rank, name.split('.').count()));
    let best: Vec<String> = found.into_iter().take(CLOSEST_COLUMNS).map(|(_, name)| name).collect();
    (!best.is_empty()).then(|| format!("{}, or another of `wordline metrics`", best.join(", ")))
}

/// Whether the items of a list have names.
fn is_named(root: &Json, items: &Json) -> bool {
    follow_schema(root, items).0.pointer("/properties/name").is_some()
}

/// Whether the summary of a device with this many pools can have the column.
pub(crate) fn is_of(path: &str, pools: usize) -> bool {
    let mut keys = path.split('.');
    match keys.next() {
        Some(list @ ("pools" | "write_back")) => {
            let is_there = keys.next().and_then(|n| n.parse().ok()).is_none_or(|n: usize| n < pools);
            (pools > 1 || list == "write_back") && is_there
        }
        Some("sub_requests") => pools > 1,
        _ => true,
    }
}

/// Lists the names that can follow a value with this schema. `found` is the name that cannot.
fn schema_parts(root: &Json, schema: &Json, found: &str) -> String {
    if let Some(items) = schema.get("items") {
        let or_name = if is_named(root, items) { ", or its name" } else { "" };
        return format!("the number of an item, from 0{or_name}");
    }
    schema["properties"].as_object().map_or("nothing".to_owned(), |members| one_of(found, members.keys()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn measured() -> Json {
        let pools = [json!({ "part": "a", "valid_share": 0.5 }), json!({ "part": "b", "valid_share": 0.25 })];
        let time = [json!({ "name": "bus", "read_us": 3 }), json!({ "name": "array", "read_us": 40 })];
        json!({ "pools": pools, "time": time, "channel_utilisation": [0.1, 0.2], "waf": null, "windows": [] })
    }

    #[test]
    fn a_number_or_a_name_leads_into_a_list() {
        for (path, wanted) in [
            ("pools.0.valid_share", 0.5),
            ("pools.1.valid_share", 0.25),
            ("time.array.read_us", 40.0),
            ("time.0.read_us", 3.0),
            ("channel_utilisation.1", 0.2),
        ] {
            assert_eq!(number(&measured(), path).expect(path), wanted, "{path}");
            assert_eq!(unknown_column(&measured(), path, false), None, "{path}");
        }
        assert_eq!(text(&measured(), "pools.1.part").expect("a text"), "b");
    }

    #[test]
    fn columns_are_proposed_for_a_part_of_a_name() {
        let proposed =
            |text: &str| unknown_summary_column(&Registry::default(), text).expect("it is unknown");
        assert!(proposed("dwpd").starts_with("wear.drive_writes_per_day, or"), "{}", proposed("dwpd"));
        assert!(proposed("p99").starts_with("host."), "{}", proposed("p99"));
        assert!(proposed("zzz").contains("write_amplification"), "{}", proposed("zzz"));
    }

    #[test]
    fn a_name_that_leads_astray_says_where_and_what_there_is() {
        for (path, wanted) in [
            ("pools.2.valid_share", "found nothing at `pools.2`, wanted after `pools.` a number from 0 to 1"),
            (
                "pools.first.part",
                "found nothing at `pools.first`, wanted after `pools.` a number from 0 to 1",
            ),
            (
                "pools.0.share",
                "found nothing at `pools.0.share`, wanted after `pools.0.` valid_share, or another of part",
            ),
            (
                "pool",
                "found nothing at `pool`, wanted pools, or another of channel_utilisation, time, waf, windows",
            ),
            ("pools.1", "found several values at `pools.1`, wanted a number: after `pools.1.` one of part"),
            ("pools.1.part", "found \"b\", wanted a number"),
            ("waf", "found null, wanted a number"),
            ("waf.mean", "found nothing at `waf.mean`, wanted after `waf.` nothing"),
            ("windows.0", "wanted after `windows.` nothing: the list is empty"),
        ] {
            let error = number(&measured(), path).expect_err(path).to_string();
            assert!(error.starts_with(&format!("column {path} of the summary: ")), "{error}");
            assert!(error.contains(wanted), "{error}");
            assert!(unknown_column(&measured(), path, false).is_some(), "{path}");
        }
    }

    #[test]
    fn the_columns_of_a_summary_are_known_before_anything_runs() {
        for path in [
            "write_amplification",
            "wear.endurance_used",
            "pools.0.endurance_used",
            "pools.1.erases_per_block",
            "sub_requests.stolen",
            "time.bus.read_us",
            "time.3.read_us",
            "wear.dies.5.bad_blocks",
            "die_utilisation.5",
        ] {
            assert_eq!(unknown_summary_column(&Registry::default(), path), None, "{path}");
        }
        for (path, wanted) in [
            (
                "pools.0.spent",
                "after `pools.0.` one of bad_blocks, bytes, dies, dies_busy, endurance_used, energy_joules, erases, erases_per_block, faults",
            ),
            ("pools.endurance_used", "after `pools.` the number of an item, from 0"),
            ("pools.0", "a number: after `pools.0.` one of bad_blocks, bytes"),
            ("pools", "a number: after `pools.` the number of an item, from 0"),
            ("pools.0.part", "a number"),
            ("time.bus", "a number: after `time.bus.` one of name, read_us, write_us"),
            ("sub_requests.sent", "after `sub_requests.` one of condition_bytes"),
            ("die_utilisation.mean", "after `die_utilisation.` the number of an item, from 0"),
            ("waf", "one of buffer, channel_utilisation"),
        ] {
            let found = unknown_summary_column(&Registry::default(), path).expect(path);
            assert!(found.starts_with(wanted), "{found}");
        }
    }
}
