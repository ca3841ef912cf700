//! Options of a device of QEMU in a shell script or a command line. Assignments of variables are carried out
//! in order; conditions and loops are not.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The options of `-device KIND,option=value,...` in a text, with their lines from 1 and their values.
///
/// # Errors
/// [`Error::Content`] for a text without such a device, [`Error::Line`] for an option without a value and for a
/// value with a variable that has none.
pub fn device_options(file: &str, text: &str, kind: &str) -> Result<Vec<(String, u32, String)>> {
    let options = options(text, kind).ok_or_else(|| Error::Content {
        path: file.into(),
        found: format!("no `-device {kind}`"),
        wanted: format!("a command line or a script with `-device {kind},...`"),
    })?;
    let mut all = Vec::new();
    for option in options.split(',').filter(|option| !option.is_empty()) {
        let wrong = |line: u32, found: String, wanted: &str| Error::Line {
            path: file.into(),
            line: line.into(),
            found,
            wanted: wanted.into(),
        };
        let Some((key, value)) = option.split_once('=') else {
            return Err(wrong(
                line_of(text, option),
                format!("`{option}`"),
                "an option with a value, name=value",
            ));
        };
        let line = line_of(text, key);
        if value.contains(['$', '`', '(']) || value.is_empty() {
            let wanted = "a value, or a variable that the script sets to a number or a word";
            return Err(wrong(line, format!("{key}={value}"), wanted));
        }
        all.push((key.to_owned(), line, value.to_owned()));
    }
    Ok(all)
}

/// Whether a text has a device of this kind.
pub fn has_device(text: &str, kind: &str) -> bool {
    options(text, kind).is_some()
}

/// The options of the last device of this kind, joined by commas.
fn options(text: &str, kind: &str) -> Option<String> {
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let mut found = None;
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").lines() {
        let line = without_comment(line.trim());
        let whole = match assignment(line) {
            Some((name, value)) => {
                let value = expand(&value.replace(['"', '\''], ""), &variables);
                variables.insert(name.to_owned(), value.clone());
                value
            }
            None => expand(line, &variables),
        };
        found = device(&whole, kind).or(found);
    }
    found
}

/// The options of a device in a command line.
fn device(line: &str, kind: &str) -> Option<String> {
    let mut words = line.split_whitespace().map(unquoted);
    while let Some(word) = words.next() {
        if word.trim_start_matches('-') == "device" && word.starts_with('-') {
            let argument = words.next()?;
            let mut parts = argument.splitn(2, ',');
            if parts.next() == Some(kind) {
                return Some(parts.next().unwrap_or_default().replace(['"', '\''], ""));
            }
        }
    }
    None
}

/// The name and the value of an assignment.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let is_name =
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let is_one_word = value.starts_with(['"', '\'']) || !value.trim().contains(char::is_whitespace);
    (is_name && is_one_word).then_some((name, value.trim()))
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

/// A line without a comment at its end.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    line.find(" #").or_else(|| line.find("\t#")).map_or(line, |at| line[..at].trim_end())
}

/// A text with the values of variables, or with their defaults (`${NAME:-default}`). A variable without either
/// is left as it is.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, end) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, _)) => (name, name.len() + 2),
            None => {
                let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let length = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
                (&after[..length], length)
            }
        };
        let (name, usual) = name.split_once(":-").map_or((name, None), |(name, usual)| (name, Some(usual)));
        match variables.get(name).map(String::as_str).or(usual) {
            Some(value) => out.push_str(value),
            None => out.push_str(&rest[at..=at + end]),
        }
        rest = &after[end..];
    }
    out + rest
}

/// The line that sets an option: one that gives it a value of its own, else the first one with its name.
fn line_of(text: &str, key: &str) -> u32 {
    let mut named = None;
    for (number, line) in (1_u32..).zip(text.lines()) {
        let mut from = 0;
        while let Some(at) = line[from..].find(key).map(|at| at + from) {
            let end = at + key.len();
            let before = line[..at].chars().next_back();
            let is_whole = before.is_none_or(|letter| !letter.is_ascii_alphanumeric() && letter != '_');
            let after = line[end..].strip_prefix('=');
            if is_whole && let Some(value) = after {
                if !value.starts_with('$') {
                    return number;
                }
                named = named.or(Some(number));
            }
            from = end;
        }
    }
    named.unwrap_or(1)
}
