//! Labels of values of varied keys.

use toml::Value;

/// Label of a value. A table is written as its words and numbers, without TOML syntax.
pub fn label(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(label).collect::<Vec<_>>().join(", "),
        Value::Table(table) => {
            table.iter().map(|(key, value)| entry(key, value)).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// An entry of a table. A policy is written as its name, with its own entries in brackets.
fn entry(key: &str, value: &Value) -> String {
    match value {
        Value::Table(inner) if inner.is_empty() => key.to_owned(),
        Value::Table(_) => format!("{key} ({})", label(value)),
        Value::String(text) if ["policy", "kind", "name"].contains(&key) => text.clone(),
        other => format!("{key} {}", label(other)),
    }
}

/// Label of a value stored as TOML text.
pub(super) fn of_text(text: &str) -> String {
    let is_written = text.starts_with(['{', '[']);
    let parsed = || format!("value = {text}").parse::<toml::Table>().ok()?.remove("value");
    is_written.then(parsed).flatten().map_or_else(|| text.to_owned(), |value| label(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_called_by_their_words() {
        for (text, called) in [
            ("greedy", "greedy"),
            ("{ greedy = {} }", "greedy"),
            ("{ d-choices = { d = 10 } }", "d-choices (d 10)"),
            ("{ policy = \"cost-benefit\", blocks = 4 }", "cost-benefit, blocks 4"),
            ("[{ name = \"centaur\", pools = 2 }, 3]", "centaur, pools 2, 3"),
            ("{ not TOML", "{ not TOML"),
        ] {
            assert_eq!(of_text(text).split(", ").count(), called.split(", ").count(), "{text}");
            for word in called.split(", ") {
                assert!(of_text(text).split(", ").any(|found| found == word), "{text}: {}", of_text(text));
            }
        }
    }
}
