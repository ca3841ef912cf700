//! Converts a summary to columns: its numbers, with dotted names.

use serde_json::{Map, Value as Json};
use wordline_experiments::follow;

/// Maximum number of list items that become columns. Chosen: pools, links and buses have fewer items, dies
/// and histograms have more.
const MAX_ITEMS: usize = 8;

/// Returns the number at a dotted name. `None` for a latency of requests that did not occur.
pub(crate) fn number(values: &Json, path: &str) -> Option<f64> {
    let is_of_none = path.match_indices('.').any(|(end, _)| {
        let (parent, key) = path[..end].rsplit_once('.').unwrap_or(("", &path[..end]));
        let members = if parent.is_empty() { Some(values) } else { follow(values, parent) };
        members.and_then(Json::as_object).is_some_and(|members| has_no_samples(members, key))
    });
    if is_of_none { None } else { follow(values, path)?.as_f64() }
}

/// Whether these are latencies of a kind of request that did not occur.
fn has_no_samples(members: &Map<String, Json>, key: &str) -> bool {
    let counts = [
        ("read_latency_us", "reads"),
        ("write_latency_us", "writes"),
        ("discard_latency_us", "discards"),
        ("flush_latency_us", "flushes"),
        ("write_zeroes_latency_us", "write_zeroes"),
        ("compare_latency_us", "compares"),
        ("append_latency_us", "appends"),
        ("reset_latency_us", "resets"),
        ("finish_latency_us", "finishes"),
        ("open_latency_us", "opens"),
        ("close_latency_us", "closes"),
    ];
    let count = counts.into_iter().find(|(latencies, _)| key == *latencies).map(|(_, count)| count);
    count.and_then(|count| members.get(count)).is_some_and(|count| *count == 0)
}

/// Calls `to` with the name and value of every number of a summary. Long lists are skipped.
pub(crate) fn numbers(values: &Json, to: &mut impl FnMut(String, f64)) {
    walk(values, String::new(), to);
}

fn walk(value: &Json, path: String, to: &mut impl FnMut(String, f64)) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Json::Number(number) => to(path, number.as_f64().unwrap_or(f64::NAN)),
        Json::Object(members) => {
            let known = members.iter().filter(|(key, _)| !has_no_samples(members, key));
            known.for_each(|(key, value)| walk(value, below(key), to));
        }
        Json::Array(items) if items.len() <= MAX_ITEMS => {
            for (at, item) in items.iter().enumerate() {
                let name =
                    item.get("name").and_then(Json::as_str).map_or_else(|| at.to_string(), str::to_owned);
                walk(item, below(&name), to);
            }
        }
        Json::Array(_) | Json::Bool(_) | Json::String(_) | Json::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_that_lead_to_them() {
        let values = serde_json::json!({
            "a": 1, "b": { "c": 2.5, "d": "text", "e": null },
            "f": [{ "name": "x", "g": 3 }, { "name": "y", "g": 4 }], "h": [5, 6], "i": vec![0; 20],
        });
        let mut all = Vec::new();
        numbers(&values, &mut |name, value| all.push((name, value)));
        all.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [("a", 1.0), ("b.c", 2.5), ("f.x.g", 3.0), ("f.y.g", 4.0), ("h.0", 5.0), ("h.1", 6.0)];
        assert_eq!(all, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(all.iter().all(|(name, value)| number(&values, name) == Some(*value)));
        assert_eq!(
            (number(&values, "b.d"), number(&values, "z"), number(&values, "f.1.g")),
            (None, None, Some(4.0))
        );
    }

    #[test]
    fn latencies_of_requests_that_did_not_come_are_no_numbers() {
        let latency = serde_json::json!({ "mean": 0.0, "p99": 0.0 });
        let values = serde_json::json!({
            "host": { "reads": 0, "writes": 2, "read_latency_us": latency, "write_latency_us": latency },
        });
        let names = ["host.read_latency_us.p99", "host.write_latency_us.p99", "host.reads"];
        assert_eq!(names.map(|name| number(&values, name)), [None, Some(0.0), Some(0.0)]);
        let mut all = Vec::new();
        numbers(&values, &mut |name, _| all.push(name));
        assert!(!all.iter().any(|name| name.contains("read_latency")) && all.len() == 4, "{all:?}");
    }
}
