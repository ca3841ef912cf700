//! What every command has in common: help, exit codes, streams.

use std::process::Stdio;

use crate::{program, wordline};

/// Every command that does something.
const COMMANDS: [&[&str]; 28] = [
    &["run"],
    &["compare"],
    &["config", "explain"],
    &["config", "check"],
    &["config", "show"],
    &["config", "schema"],
    &["snapshot", "make"],
    &["snapshot", "show"],
    &["snapshot"],
    &["presets", "list"],
    &["presets", "show"],
    &["policies"],
    &["workloads", "list"],
    &["workloads", "show"],
    &["trace", "info"],
    &["trace", "convert"],
    &["trace", "gen"],
    &["trace", "formats"],
    &["repro"],
    &["repro", "list"],
    &["config"],
    &["presets"],
    &["workloads"],
    &["trace"],
    &["nand", "ops"],
    &["nand", "timeline"],
    &["nand", "exec"],
    &["nand"],
];

#[test]
fn the_program_alone_prints_its_commands() {
    let help = wordline(&[]).success();
    for command in
        ["run", "compare", "snapshot", "config", "presets", "policies", "workloads", "trace", "nand", "repro"]
    {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    assert!(help.contains("130  stopped by Ctrl-C or SIGTERM"), "{help}");
}

#[test]
fn every_command_explains_itself() {
    for command in COMMANDS {
        let help = wordline(&[command, &["--help"]].concat()).success();
        let usage = format!("Usage: wordline {}", command.join(" "));
        assert!(help.contains(&usage), "{help}");
    }
}

#[test]
fn what_cannot_be_parsed_is_refused() {
    for arguments in [
        &["rnu"][..],
        &["run", "--queue-depth", "many"],
        &["run", "--fit", "squeeze"],
        &["run", "--preset", "nvme-tlc", "--config", "a.toml"],
        &["run", "--workload", "randread-4k", "--trace", "a.csv"],
        &["run", "--requests", "0"],
        &["run", "--seed", "-1"],
        &["run", "--queues", "65536"],
        &["run", "--think-time", "3"],
        &["run", "--precondition", "full"],
        &["compare", "nvme-tlc"],
        &["trace"],
    ] {
        let finished = wordline(arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}: {}{}", finished.out, finished.err);
        assert!(!finished.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_wrong_choice_is_answered_with_the_choices() {
    let refusal = wordline(&["run", "--fit", "squeeze"]).refusal();
    assert!(["squeeze", "wrap", "scale", "refuse"].iter().all(|word| refusal.contains(word)), "{refusal}");
}

#[test]
fn a_number_that_is_none_is_answered_with_what_was_wanted() {
    for (arguments, wanted) in [
        (["run", "--seed", "-1"], "found \"-1\", wanted a whole number from 0 to 18446744073709551615"),
        (["run", "--queues", "65536"], "found \"65536\", wanted a whole number from 1 to 65535"),
        (["run", "--cut-power-after", "soon"], "found \"soon\", wanted a whole number from 1 to"),
    ] {
        let refusal = wordline(&arguments).refusal();
        assert!(refusal.contains(wanted), "{refusal}");
    }
}

/// As in `wordline config schema | head -1`: the reader goes away while there is more to write.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = program(&["config", "schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built with this test");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
