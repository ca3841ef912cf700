//! Converts messages of serde and of the TOML reader to the form of all other messages: the value found, and
//! the value wanted.

use wordline_kernel::one_of;

/// The value found and the value wanted in `message`. If the message has another form, the value wanted is
/// `otherwise`.
pub fn found_and_wanted(message: &str, otherwise: &str) -> (String, String) {
    let message = message.trim().replace('\n', " ");
    let known = unknown_name(&message)
        .or_else(|| unexpected_keys(&message))
        .or_else(|| missing_or_duplicate(&message))
        .or_else(|| wrong_type(&message))
        .or_else(|| own_message(&message));
    known.unwrap_or_else(|| (message.clone(), otherwise.to_owned()))
}

/// The key at a byte of a TOML text, or the key whose value begins there.
pub fn key_at(text: &str, at: usize) -> &str {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let ends = [' ', '\t', '\n', ',', '=', '{', '}', '[', ']'];
    let key = match before.trim_end().strip_suffix('=') {
        Some(before) => before.trim_end().rsplit(ends).next(),
        None => after.trim_start_matches('[').split(ends).next(),
    };
    key.unwrap_or_default()
}

/// The text between the first two backticks of `text`.
fn quoted(text: &str) -> Option<&str> {
    text.split('`').nth(1)
}

/// The message about an unknown name.
fn unknown_name(message: &str) -> Option<(String, String)> {
    let is_key = message.starts_with("unknown field ");
    if !is_key && !message.starts_with("unknown variant ") {
        return None;
    }
    let (found, names) = message.split_once(", ")?;
    let found = quoted(found)?;
    let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let wanted = if names.is_empty() { "none: there are none".to_owned() } else { one_of(found, &names) };
    Some((if is_key { format!("an unknown key `{found}`") } else { format!("`{found}`") }, wanted))
}

/// The TOML reader's message about unknown keys.
fn unexpected_keys(message: &str) -> Option<(String, String)> {
    let (found, names) =
        message.strip_prefix("unexpected keys in table: ")?.split_once(", available keys: ")?;
    let names: Vec<&str> = names.split(", ").collect();
    Some((format!("an unknown key `{found}`"), one_of(found, &names)))
}

/// The message about a missing or duplicate key.
fn missing_or_duplicate(message: &str) -> Option<(String, String)> {
    if message.starts_with("missing field ") {
        return Some(("nothing".into(), format!("a value for `{}`: it has no default", quoted(message)?)));
    }
    if message.starts_with("duplicate field ") {
        return Some((format!("the key `{}` twice", quoted(message)?), "each key once in its table".into()));
    }
    let of = message.strip_prefix("data did not match any variant of untagged enum ")?;
    Some(("another value".into(), format!("one of the forms of {of}")))
}

/// The message about a value of the wrong type or out of range.
fn wrong_type(message: &str) -> Option<(String, String)> {
    let rest = ["invalid type: ", "invalid value: ", "invalid length "]
        .into_iter()
        .find_map(|start| message.strip_prefix(start))?;
    let (found, wanted) = rest.rsplit_once(", expected ")?;
    let is_length = message.starts_with("invalid length ");
    Some((if is_length { format!("{found} values") } else { value(found) }, type_of(wanted)))
}

/// Converts a value from serde's notation to TOML.
fn value(shown: &str) -> String {
    for start in ["string ", "integer ", "floating point ", "boolean ", "character "] {
        if let Some(rest) = shown.strip_prefix(start) {
            return rest.trim_matches('`').to_owned();
        }
    }
    match shown {
        "map" => "a table".into(),
        "sequence" => "a list".into(),
        "null" | "unit value" | "Option value" => "nothing".into(),
        other => other.to_owned(),
    }
}

/// Converts the name of a type from serde's term to the term of Wordline's messages.
fn type_of(wanted: &str) -> String {
    match wanted {
        "u8" => "a whole number from 0 to 255".into(),
        "u16" => "a whole number from 0 to 65535".into(),
        "u32" => "a whole number from 0 to 4294967295".into(),
        "u64" | "usize" | "u128" => "a whole number from 0".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" | "i128" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a string" | "string" => "text in quotes".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list in brackets".into(),
        "a map" | "map with a single key" => "a table of settings".into(),
        other if other.starts_with("struct ") || other.contains("tagged enum ") => {
            "a table of settings".into()
        }
        other if other.starts_with("enum ") => "a name".into(),
        other => other.to_owned(),
    }
}

/// A message of Wordline that passed through serde, or a message of the TOML reader.
fn own_message(message: &str) -> Option<(String, String)> {
    let of_ours = message.strip_prefix("found ").and_then(|rest| rest.split_once(", wanted "));
    let (found, wanted) = of_ours.or_else(|| message.split_once(", expected "))?;
    Some((found.to_owned(), wanted.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        #[allow(dead_code)]
        count: u32,
        #[allow(dead_code)]
        colour: Option<Colour>,
        #[allow(dead_code)]
        size: Option<wordline_kernel::Bytes>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        Red,
        Green,
    }

    #[test]
    fn what_serde_says_is_said_in_our_words() {
        for (text, found, wanted) in [
            ("count = 'two'", "\"two\"", "a whole number from 0 to 4294967295"),
            ("count = -1", "-1", "a whole number from 0 to 4294967295"),
            ("count = 1.5", "1.5", "a whole number from 0 to 4294967295"),
            ("count = []", "a list", "a whole number from 0 to 4294967295"),
            ("", "nothing", "a value for `count`: it has no default"),
            ("count = 1\ncolour = 'gren'", "`gren`", "green, or another of red"),
            ("count = 1\ncuont = 2", "an unknown key `cuont`", "count, or another of colour, size"),
            (
                "count = 1\nsize = '4'",
                "\"4\"",
                "a size with a unit, such as \"16KiB\" (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)",
            ),
            (
                "count = 1\nsize = true",
                "true",
                "a size with a unit, such as \"16KiB\" (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)",
            ),
        ] {
            let error = toml::from_str::<Table>(text).map(|table| format!("{table:?}")).expect_err(text);
            assert_eq!(found_and_wanted(error.message(), "x"), (found.into(), wanted.into()), "{text}");
        }
    }

    #[test]
    fn a_value_is_told_by_its_key() {
        let text = "count = 1\nuntil = { column = \"a\", half_width = 1, at_most = 2 }\n[[vary]]\nsize='4'";
        for (place, key) in [("count", "count"), ("1,", "half_width"), ("[[vary", "vary"), ("'4'", "size")] {
            assert_eq!(key_at(text, text.find(place).expect(place)), key, "{place}");
        }
        assert_eq!(key_at(text, text.len() + 1), "");
    }

    #[test]
    fn the_toml_readers_own_messages_keep_their_words() {
        let error =
            toml::from_str::<Table>("count = ").map(|table| format!("{table:?}")).expect_err("no value");
        let (found, wanted) = found_and_wanted(error.message(), "valid TOML");
        assert!(!found.contains("expected") && !wanted.is_empty(), "{found}, {wanted}");
    }
}
