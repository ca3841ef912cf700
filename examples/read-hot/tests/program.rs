//! The program of the crate behaves as docs/EXTENDING.md describes, and runs its experiment.

#[path = "../../shortest-queue/tests/page/mod.rs"]
mod page;

use std::process::Command;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_read-hot");

#[test]
fn what_the_page_says_of_it_is_so() {
    page::check("read-hot", PROGRAM, [2, 2]);
}

#[test]
fn an_experiment_compares_drives_with_the_design_and_without() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments");
    let arguments = ["repro", "read-hot/reads", "--seeds", "1", "--experiments", folder, "--json"];
    let output = Command::new(PROGRAM).args(arguments).output().expect("it was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let rows = outcome["rows"].as_array().expect("rows");
    let verdicts: Vec<&Value> = rows.iter().map(|row| &row["verdict"]).collect();
    // The band of the second row spans more than a factor of 1.5. So its verdict is `direction`.
    assert_eq!(verdicts, ["within", "direction"], "{outcome}");
}
