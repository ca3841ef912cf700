//! The data files: every number of a part or a preset has its source.

use toml::Value;

use crate::{File, Offence, assert_none, files, subjects};

/// The folders whose numbers are facts about devices.
const FACTS: [&str; 2] = ["data/parts/", "data/presets/"];

/// Tables of `file` with a number but without a `source` in the table or in an enclosing table.
fn without_source(file: &File) -> Vec<Offence> {
    let table: toml::Table = match file.text.parse() {
        Ok(table) => table,
        Err(error) => return vec![Offence::new(&file.path, error.to_string())],
    };
    let mut offences = Vec::new();
    walk(&table, &file.path, false, &mut offences);
    offences
}

fn walk(table: &toml::Table, place: &str, sourced: bool, offences: &mut Vec<Offence>) {
    let own = table.get("source").and_then(Value::as_str).is_some_and(|source| !source.trim().is_empty());
    let sourced = sourced || own;
    for (key, value) in table {
        let place = format!("{place}: {key}");
        match value {
            Value::Table(inner) => walk(inner, &place, sourced, offences),
            Value::Array(items) => {
                for inner in items.iter().filter_map(Value::as_table) {
                    walk(inner, &place, sourced, offences);
                }
                if !sourced && items.iter().any(is_number) {
                    offences.push(Offence::new(place, "numbers without a `source` in this table or above"));
                }
            }
            value if !sourced && is_number(value) => {
                offences.push(Offence::new(place, "a number without a `source` in its table or above"));
            }
            _ => {}
        }
    }
}

/// A number, or text that is a quantity ("16KiB", "700us").
fn is_number(value: &Value) -> bool {
    match value {
        Value::Integer(_) | Value::Float(_) => true,
        Value::String(text) => text.starts_with(|c: char| c.is_ascii_digit()),
        _ => false,
    }
}

#[test]
fn every_number_of_a_part_or_preset_has_a_source() {
    let files = files();
    let facts = subjects(&files, 80, |file| {
        FACTS.iter().any(|folder| file.path.starts_with(folder)) && file.path.ends_with(".toml")
    });
    assert_none(&facts.into_iter().flat_map(without_source).collect::<Vec<_>>());
}

#[test]
fn a_number_without_source_is_caught() {
    let offences =
        |text: &str| without_source(&File { path: "data/parts/a.toml".into(), text: text.into() }).len();
    assert_eq!(offences("[timing]\nread = \"75us\"\n"), 1);
    assert_eq!(offences("[timing]\nsource = \" \"\nsteps = [1, 2]\n"), 1);
    assert_eq!(offences("[timing]\nsource = \"data sheet, table 5\"\n[timing.slc]\nread = 25\n"), 0);
    assert_eq!(offences("name = \"a part\"\n"), 0);
    assert_eq!(offences("a = \n"), 1);
}
