//! Tests `wordline nand exec`.

use std::io::Write;
use std::process::Stdio;

use crate::{Folder, program, wordline};

/// A script with a program and a read. The read must return the data that follow.
fn script(byte: &str) -> String {
    format!("part mqsim-mlc\nprogram block=5 fill 4 A5\nread block=5\nout 4 expect fill {byte}\n")
}

#[test]
fn a_script_that_holds_prints_its_transcript() {
    let folder = Folder::new();
    let path = folder.with("good.onfi", script("A5"));
    let table = wordline(&["nand", "exec", &path]).success();
    assert!(table.contains("out 4 expect fill A5       A5 A5 A5 A5"), "{table}");
    assert!(table.contains("3 statements in") && table.contains(": all as expected"), "{table}");
    let json = wordline(&["nand", "exec", &path, "--json"]).json();
    assert_eq!((json["holds"].as_bool(), json["part"].as_str()), (Some(true), Some("mqsim-mlc")));
    assert_eq!(json["entries"][2]["data"], "A5A5A5A5");
    assert_eq!(json["entries"][1]["cycles"], 7);
}

#[test]
fn an_expectation_that_fails_is_named_with_its_line_and_ends_with_1() {
    let folder = Folder::new();
    let path = folder.with("wrong.onfi", script("5A"));
    let finished = wordline(&["nand", "exec", &path]);
    assert_eq!(finished.code, Some(1), "{}", finished.err);
    let wanted = format!(
        "error: {path}:4: out 4 expect fill 5A: expected 5A 5A 5A 5A at byte 0, found A5 A5 A5 A5 at byte 0\n"
    );
    assert_eq!(finished.err, wanted);
    assert!(finished.out.contains("1 not as expected"), "{}", finished.out);
}

#[test]
fn a_script_that_cannot_be_read_is_refused() {
    let folder = Folder::new();
    let path = folder.with("bad.onfi", "part mqsim-mlc\ncdm 80\nout many\n");
    let refusal = wordline(&["nand", "exec", &path]).refusal();
    assert!(refusal.contains("bad.onfi:2: found `cdm`, wanted `select`"), "{refusal}");
    assert!(refusal.contains("bad.onfi:3: found `many`, wanted a number"), "{refusal}");
    let rows = folder.with("rows.onfi", "part mqsim-mlc\nread block=4096\n");
    let refusal = wordline(&["nand", "exec", &rows]).refusal();
    assert!(refusal.contains("rows.onfi:2: block: found 4096, wanted at most 4095"), "{refusal}");
    let none = folder.with("none.onfi", "cmd FF\n");
    let refusal = wordline(&["nand", "exec", &none]).refusal();
    assert!(refusal.contains("--part: found none"), "{refusal}");
    let missing = wordline(&["nand", "exec", &folder.path("missing.onfi")]).refusal();
    assert!(missing.contains("missing.onfi: cannot read"), "{missing}");
    let unknown = folder.with("unknown.onfi", "part no-such\ncmd FF\n");
    assert!(wordline(&["nand", "exec", &unknown]).refusal().contains("no-such"));
}

#[test]
fn a_script_comes_from_standard_input_and_its_time_line_goes_to_files() {
    let folder = Folder::new();
    let (json, svg) = (folder.path("a.json"), folder.path("a.svg"));
    let mut child =
        program(&["nand", "exec", "-", "--part", "mqsim-mlc", "--timeline", &json, "--svg", &svg])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built with this test");
    let mut stdin = child.stdin.take().expect("it was asked for");
    stdin.write_all(b"erase block=1\nread block=3\n").expect("the program reads it");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("standard input: mqsim-mlc\n"));
    let text = std::fs::read_to_string(&json).expect("it was just written");
    let events: serde_json::Value = serde_json::from_str(&text).expect("a trace-event document is JSON");
    assert!(events["traceEvents"].as_array().is_some_and(|events| events.len() > 10));
    assert!(text.contains("1: erase block=1") && text.contains("2: read block=3"), "{text}");
    assert!(std::fs::read_to_string(&svg).expect("it was just written").starts_with("<svg"));
}
