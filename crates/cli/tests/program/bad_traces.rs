//! Tests malformed traces. Each must give one error with file and line, value found and value wanted.

use crate::{Folder, wordline};

/// A header and valid rows in the format of MSR Cambridge.
const MSR: &str = "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,1317441536,8192,1963\n";

/// An invalid trace, the line that the message must name, and text that it must contain.
struct Case {
    what: &'static str,
    name: &'static str,
    content: Vec<u8>,
    format: Option<&'static str>,
    line: Option<u64>,
    says: &'static [&'static str],
}

fn case(
    what: &'static str,
    name: &'static str,
    content: impl Into<Vec<u8>>,
    format: Option<&'static str>,
    line: Option<u64>,
    says: &'static [&'static str],
) -> Case {
    Case { what, name, content: content.into(), format, line, says }
}

fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(text.as_bytes()).and_then(|()| out.finish()).expect("memory can be written")
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 0).expect("memory can be written")
}

fn cut(mut content: Vec<u8>, keep: usize) -> Vec<u8> {
    content.truncate(keep);
    content
}

/// Valid rows, so many that half of their compressed form contains some of them.
fn many_rows() -> String {
    let row = |n: u64| {
        format!(
            "{},usr,0,Read,{},4096,{}\n",
            128166372003061629 + n * 7919,
            n * n % 8191 * 4096,
            n * 31 % 977
        )
    };
    (0..20_000).map(row).collect()
}

fn cases() -> Vec<Case> {
    let msr = |bad: &str| format!("{MSR}{bad}\n");
    let half = |content: Vec<u8>| {
        let keep = content.len() / 2;
        cut(content, keep)
    };
    vec![
        case("an empty file", "a.csv", "", None, None, &["an empty file"]),
        case("prose", "a.txt", "Dear reader,\nthis is no trace.\n", None, None, &["found", "wanted"]),
        case("bytes of no format", "a.bin", vec![0xff; 4096], None, None, &["found", "wanted"]),
        case(
            "a word for an offset",
            "a.csv",
            msr("128166372016382200,usr,0,Read,here,4096,7"),
            None,
            Some(3),
            &["here"],
        ),
        case(
            "a missing column",
            "a.csv",
            msr("128166372016382200,usr,0,Read,4096"),
            None,
            Some(3),
            &["wanted"],
        ),
        case(
            "an unknown op",
            "a.csv",
            msr("128166372016382200,usr,0,Erase,4096,4096,7"),
            None,
            Some(3),
            &["Erase"],
        ),
        case(
            "a negative size",
            "a.csv",
            msr("128166372016382200,usr,0,Read,4096,-1,7"),
            None,
            Some(3),
            &["-1"],
        ),
        case(
            "an offset beyond 64 bits",
            "a.csv",
            msr("128166372016382200,usr,0,Read,99999999999999999999,4096,7"),
            None,
            Some(3),
            &["99999999999999999999"],
        ),
        case("a line cut in the middle", "a.csv", format!("{MSR}1281663720163"), None, Some(3), &["wanted"]),
        case("a cut gzip file", "a.csv.gz", half(gzip(&many_rows())), None, Some(0), &["cut off"]),
        case("a cut zstd file", "a.csv.zst", half(zstd(&many_rows())), None, Some(0), &["cut off"]),
        case("gzip with nothing inside", "a.csv.gz", gzip(""), None, None, &["an empty file"]),
        case("an xz file", "a.xz", *b"\xfd7zXZ\0\0\0", None, None, &["an xz file", "gzip or zstd"]),
        case("MSR rows called SPC", "a.csv", MSR, Some("spc"), Some(1), &["wanted"]),
        case("an SPC row without time", "a.spc", "0,20941264,8192,W\n", Some("spc"), Some(1), &["wanted"]),
        case("a DiskSim row with letters", "a.trace", "0.5 0 abc 8 1\n", Some("disksim"), Some(1), &["abc"]),
        case("an I/O log of version 9", "a.log", "fio version 9 iolog\n", Some("fio-iolog"), Some(1), &["9"]),
        case(
            "a CSV without a column for op",
            "a.csv",
            "t_ns,offset_bytes,size_bytes\n1,2,3\n",
            Some("csv"),
            Some(1),
            &["wanted"],
        ),
        case("VSCSI records cut off", "a.vscsi", vec![1; 45], Some("vscsi"), None, &["found", "wanted"]),
    ]
}

#[test]
fn each_malformed_trace_gives_one_error_that_names_file_and_line() {
    for case in cases() {
        let folder = Folder::new();
        let path = folder.with(case.name, &case.content);
        let mut arguments = vec!["trace", "info", &path];
        arguments.extend(case.format.iter().flat_map(|format| ["--format", format]));
        let refusal = wordline(&arguments).refusal();
        let about = format!("{}: {refusal}", case.what);
        assert_eq!(refusal.lines().count(), 1, "{about}");
        assert!(refusal.starts_with(&format!("error: {path}:")), "{about}");
        match case.line {
            Some(0) => assert!(names_a_line(&refusal, &path), "{about}"),
            Some(line) => assert!(refusal.contains(&format!("{path}:{line}: ")), "{about}"),
            None => {}
        }
        assert!(refusal.contains("found ") && refusal.contains(", wanted "), "{about}");
        assert!(case.says.iter().all(|word| refusal.contains(word)), "{about}");
    }
}

/// Whether the message names a line after the first.
fn names_a_line(refusal: &str, path: &str) -> bool {
    let rest = refusal.trim_start_matches("error: ").trim_start_matches(path);
    let number = rest.trim_start_matches(':').split(':').next().unwrap_or_default();
    number.parse::<u64>().is_ok_and(|line| line > 1)
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
