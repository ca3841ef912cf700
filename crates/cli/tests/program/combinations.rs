//! Tests the tables of docs/combinations.md. Each table belongs to the comparison above it, and has a row for
//! each device. `UPDATE_DOCS=1` rewrites the tables.

use serde_json::Value;
use wordline_lab::report::Quantity;

use crate::docs::{call, clone, words};
use crate::fences::{blocks, root};

/// JSON paths of the columns in the result of a run, by column title.
const COLUMNS: [(&str, &str); 6] = [
    ("requests a second", "/host/iops"),
    ("mean read (us)", "/host/read_latency_us/mean"),
    ("mean write (us)", "/host/write_latency_us/mean"),
    ("write amplification", "/write_amplification"),
    ("stolen", "/sub_requests/stolen"),
    ("pages in SLC mode", "/flash/slc_programs"),
];

fn cell(heading: &str, run: &Value) -> String {
    let (_, pointer) = COLUMNS.iter().find(|(known, _)| *known == heading).expect(heading);
    let value = run.pointer(pointer).unwrap_or_else(|| panic!("{heading}: a run has no {pointer}"));
    if value.is_null() {
        return Quantity::Unknown.to_string();
    }
    match (value.as_u64(), value.as_f64().expect(heading)) {
        (Some(count), _) => Quantity::Count(count).to_string(),
        (None, number) if number >= 1_000.0 => Quantity::Count(number.round() as u64).to_string(),
        (None, number) if number >= 100.0 => format!("{number:.1}"),
        (None, number) => format!("{number:.2}"),
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// The runs of a comparison. The page defines the devices.
fn runs(command: &str) -> Vec<Value> {
    let folder = clone();
    for block in blocks(&root().join("docs/combinations.md")) {
        if let Some((_, name)) = block.info.split_once(' ') {
            folder.with(name, block.lines.join("\n") + "\n");
        }
    }
    let (mut words, _) = words(command);
    words.push("--json".into());
    let output = call(&folder, &words, None);
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a list of runs")
}

#[test]
fn the_numbers_of_combinations_are_those_of_the_comparisons_above_them() {
    let path = root().join("docs/combinations.md");
    let text = std::fs::read_to_string(&path).expect("a page is text");
    let (mut now, mut of, mut headings, mut tables) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("wordline ").filter(|words| words.starts_with("compare ")) {
            of = runs(command);
        }
        if line.starts_with("| device |") {
            headings = cells(line);
            tables += 1;
        } else if !line.starts_with('|') {
            headings.clear();
        } else if line.starts_with("| ") && !headings.is_empty() {
            assert!(!of.is_empty(), "a row without a run: {line}");
            let run = of.remove(0);
            let values = headings[1..].iter().map(|heading| cell(heading, &run));
            let row: Vec<String> = std::iter::once(cells(line)[0].to_owned()).chain(values).collect();
            now.push(format!("| {} |", row.join(" | ")));
            continue;
        }
        now.push(line.to_owned());
    }
    assert!(of.is_empty() && tables == 2, "{tables} tables, and {} runs without a row", of.len());
    let now = now.join("\n") + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &now).expect("a page can be written");
    }
    assert!(now == text || std::env::var_os("UPDATE_DOCS").is_some(), "UPDATE_DOCS=1 writes:\n{now}");
}
