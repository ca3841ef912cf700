//! Tests malformed traces. Each must give one error with file and line, value found and value wanted. Further
//! ones are in `crates/trace/tests/malformed.rs`.

use crate::{Folder, wordline};

/// A header and valid rows in the format of MSR Cambridge.
const MSR: &str = "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,1317441536,8192,1963\n";

/// Rows behind [`MSR`] and a format; the place in the file that the message must name, and text that it must
/// contain.
const CASES: [(&str, Option<&str>, &str, &str); 3] = [
    ("128166372016382200,usr,0,Read,here,4096,7\n", None, ":3: ", "here"),
    ("1281663720163", None, ":3: ", "(a file cut off?)"),
    ("", Some("spc"), ":1: ", "wanted"),
];

#[test]
fn a_malformed_trace_gives_one_error_that_names_file_and_line() {
    let folder = Folder::new();
    let refused = |content: &str, format: Option<&str>, place: &str, says: &str| {
        let path = folder.with("a.csv", content);
        let format = format.iter().flat_map(|format| ["--format", format]);
        let refusal =
            wordline(&["trace", "info", &path].into_iter().chain(format).collect::<Vec<_>>()).refusal();
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
        assert!(refusal.starts_with(&format!("error: {path}{place}found ")), "{refusal}");
        assert!(refusal.contains(", wanted ") && refusal.contains(says), "{refusal}");
    };
    refused("Dear reader,\nthis is no trace.\n", None, ": ", "wanted");
    for (rows, format, place, says) in CASES {
        refused(&format!("{MSR}{rows}"), format, place, says);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_an_end_is_refused_as_any_input() {
    let refusal = wordline(&["run", "--config", "/dev/zero"]).refusal();
    assert!(refusal.contains("wanted a configuration in TOML of at most 1 MiB"), "{refusal}");
    let refusal = wordline(&["trace", "info", "/dev/zero", "--format", "csv"]).refusal();
    assert!(refusal.contains("more than 1048576 bytes without a line end"), "{refusal}");
}

#[test]
fn what_is_no_file_is_refused_with_its_name() {
    let folder = Folder::new();
    let missing = folder.path("missing.csv");
    assert_eq!(
        wordline(&["trace", "info", &missing]).refusal(),
        format!("error: {missing}: cannot open: No such file or directory (os error 2)\n")
    );
    let refusal = wordline(&["trace", "info", &folder.path("")]).refusal();
    assert!(refusal.contains("a directory without files of the block tracer"), "{refusal}");
}

#[test]
fn an_unknown_format_or_option_is_refused_with_the_list_of_known_ones() {
    let folder = Folder::new();
    let path = folder.with("a.csv", MSR);
    let refusal = wordline(&["trace", "info", &path, "--format", "msrr"]).refusal();
    assert!(
        refusal.contains("\"msrr\"") && refusal.contains("wanted msr, or another of csv, spc"),
        "{refusal}"
    );
    let refusal = wordline(&["trace", "info", &path, "--trace-option", "tiem_unit=s"]).refusal();
    assert!(refusal.contains("tiem_unit") && refusal.contains("time_unit"), "{refusal}");
    let refusal = wordline(&["run", "--trace-option", "time_unit=s"]).refusal();
    assert!(refusal.contains("--trace FILE"), "{refusal}");
}
