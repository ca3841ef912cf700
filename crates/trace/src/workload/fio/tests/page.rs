//! The page of keys, and the table behind it.

use super::super::engines::{ENGINES, Waiting};
use super::super::keys::Given;
use super::super::settings::Settings;
use super::super::table::{Treatment, keys};
use super::super::values::Units;
use super::*;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fio-keys.md");

/// Text of the page between its two marks.
fn generated() -> String {
    let mut text = String::new();
    let mut add = |head: &str, line: &dyn Fn(&str, Treatment) -> Option<String>| {
        text.push_str(head);
        for key in keys() {
            let name = match key.alias {
                Some(alias) => format!("`{}`, `{alias}`", key.name),
                None => format!("`{}`", key.name),
            };
            text.extend(line(&name, key.treatment));
        }
    };
    add("## Simulated\n\n| key | meaning here |\n|---|---|\n", &|name, treatment| match treatment {
        Treatment::Simulated(meaning) => Some(format!("| {name} | {meaning} |\n")),
        _ => None,
    });
    add("\n## Accepted with a note\n\n| key | difference to fio |\n|---|---|\n", &|name, treatment| {
        match treatment {
            Treatment::Noted(why) => Some(format!("| {name} | {why} |\n")),
            _ => None,
        }
    });
    add(
        "\n## Accepted at one value\n\n| key | values | wanted instead of another |\n|---|---|---|\n",
        &|name, treatment| match treatment {
            Treatment::HarmlessAt("", wanted) => Some(format!("| {name} | none | {wanted} |\n")),
            Treatment::HarmlessAt(values, wanted) => {
                Some(format!("| {name} | `{}` | {wanted} |\n", values.replace(' ', "`, `")))
            }
            _ => None,
        },
    );
    add(
        "\n## Without effect on the requests\n\n| key | what it affects |\n|---|---|\n",
        &|name, treatment| match treatment {
            Treatment::Harmless(what) => Some(format!("| {name} | {what} |\n")),
            _ => None,
        },
    );
    add("\n## Refused\n\n| key | wanted |\n|---|---|\n", &|name, treatment| match treatment {
        Treatment::Refused(wanted) => Some(format!("| {name} | {wanted} |\n")),
        _ => None,
    });
    text.push_str(
        "\n## Engines\n\n| engine | outstanding requests | in place of a drive fio has |\n|---|---|---|\n",
    );
    for engine in &ENGINES {
        let (depth, instead) = match engine.waiting {
            Waiting::Asynchronous => ("up to `iodepth`".to_owned(), engine.instead.unwrap_or("")),
            Waiting::Synchronous => ("one".to_owned(), engine.instead.unwrap_or("")),
            Waiting::None(why) => (format!("refused; wanted {why}"), ""),
        };
        text.push_str(&format!("| `{}` | {depth} | {instead} |\n", engine.name));
    }
    text
}

#[test]
fn the_page_of_keys_is_that_of_the_table() {
    const MARK: &str = "<!-- The tables below are those of the program. -->\n\n";
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    let (head, old) = page.split_once(MARK).expect("the page has its mark");
    let new = generated();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, format!("{head}{MARK}{new}")).expect("the page can be written");
    } else {
        assert_eq!(old, new, "UPDATE_DOCS=1 writes it anew");
    }
}

#[test]
fn each_key_of_the_table_is_known_once_and_the_simulated_ones_are_set() {
    let mut seen = BTreeSet::new();
    for key in keys() {
        assert!(std::iter::once(key.name).chain(key.alias).all(|name| seen.insert(name)), "{key:?} twice");
        let is_set =
            Settings::default().set(key.name, Given { text: Some("?"), units: Units::default() }).is_some();
        assert_eq!(is_set, matches!(key.treatment, Treatment::Simulated(_)), "{key:?}");
    }
    assert!(seen.len() > 400, "{}", seen.len());
}

#[test]
fn a_key_with_an_effect_that_is_not_simulated_leaves_a_note() {
    let notes = |keys: &str| parsed(&format!("[a]\nfilename=x\ndirect=1\n{keys}\n")).notes;
    assert_eq!(
        notes("cmdprio_percentage=10\nprio=2"),
        ["cmdprio_percentage, prio: the device gives no request priority over another"]
    );
    assert_eq!(notes("cmdprio=0"), [""; 0]);
    assert_eq!(notes("time_based"), ["a: time_based has no effect without a runtime, as in fio"]);
    assert_eq!(
        notes("zonemode=zbd\nrw=write")[1],
        "a: zonesize is not given: zones have 256 MiB, or are those of a zoned namespace"
    );
    assert_eq!(
        notes("ioengine=null"),
        ["requests go to the simulated device; with ioengine=null fio has no device"]
    );
    assert!(notes("rw=write\nverify=md5")[0].starts_with("a: verify reads what was written"));
}

#[test]
fn units_are_those_of_kb_base_wherever_it_stands() {
    let size = |keys: &str| job(&format!("number_ios=1\n{keys}"))[0].size;
    assert_eq!(size("bs=4k"), Bytes(4096));
    assert_eq!(size("bs=4ki\nkb_base=1000"), Bytes(4096));
    assert_eq!(size("bs=64k\nkb_base=1000"), Bytes(64_000));
    assert_eq!(size("bs=0x2000"), Bytes(8192));
}
