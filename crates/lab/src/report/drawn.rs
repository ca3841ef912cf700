//! Layout tests of drawn charts. They list the texts of each chart with their positions, and find texts that
//! are cut off, outside of the chart, or overlapping.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Chart, for_a_page};
use serde_json::{Value, json};

/// Widths at which charts are drawn, in points: a column of a paper, a page of a paper, and a chart on a
/// screen of 400 pixels.
pub const WIDTHS: [f64; 3] = [238.0, 493.0, 368.0];

/// Prefixes of lines that report a fault of a chart.
const WRONG: [&str; 4] = ["  TAKES", "  OUTSIDE", "  OVER EACH OTHER", "  CUT OFF"];

/// The texts of charts that are drawn at this width. Returns `None` and prints a message if Python, or its
/// package for drawing charts, is missing.
pub fn layout(charts: &[Chart], width: f64) -> Option<String> {
    let mut path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let python = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command
            .args(arguments)
            .env("PATH", &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let has_package = python(&["-c", "import vl_convert"]).output().is_ok_and(|ended| ended.status.success());
    if !has_package {
        eprintln!("SKIPPED: no python3 with the package vl-convert-python: `make python` installs it");
        return None;
    }
    let one = |chart: &Chart| json!({ "name": chart.name, "width": width, "spec": for_a_page(&chart.spec, width, None) });
    let asked = charts.iter().map(one).collect::<Value>().to_string();
    let mut child = python(&["-c", include_str!("layout.py")]).spawn().expect("it was just tried");
    child.stdin.take().expect("it is piped").write_all(asked.as_bytes()).expect("it reads all");
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Some(String::from_utf8(ended.stdout).expect("Python writes text"))
}

/// The lines of a layout that report a fault.
pub fn wrong(layout: &str) -> Vec<&str> {
    layout.lines().filter(|line| WRONG.iter().any(|wrong| line.starts_with(wrong))).collect()
}
