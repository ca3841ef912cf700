//! Tests the features that all commands share: help, exit codes, streams.

use std::process::Stdio;

use crate::{program, wordline};

/// Every command that does something.
const COMMANDS: [&[&str]; 34] = [
    &["completions"],
    &["man"],
    &["doctor"],
    &["run"],
    &["sweep"],
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
    &["devices"],
    &["policies"],
    &["metrics"],
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
fn help_names_the_commands() {
    let help = wordline(&["--help"]).success();
    for command in [
        "run",
        "compare",
        "snapshot",
        "config",
        "presets",
        "devices",
        "policies",
        "metrics",
        "workloads",
        "trace",
        "nand",
        "repro",
        "sweep",
        "doctor",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    for code in
        ["130  stopped by Ctrl-C or SIGTERM", "a failed run of a sweep", "`nand exec` that is not met"]
    {
        assert!(help.contains(code), "{help}");
    }
}

#[test]
fn the_program_without_a_command_runs() {
    let small = ["--preset", "tiny", "--requests", "50", "--json"];
    let digest = |arguments: &[&str]| wordline(arguments).json()["digest"].clone();
    assert_eq!(digest(&small), digest(&[&["run"], &small[..]].concat()));
    assert_eq!(digest(&[&["--quiet"], &small[..]].concat()), digest(&small));
    assert!(wordline(&["--preste", "tiny"]).refusal().contains("--preset"));
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

/// As in `wordline config schema | head -1`, the reader closes the pipe before all output is written.
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

/// Commands that print tables.
const TABLES: [&[&str]; 14] = [
    &["run", "--preset", "tiny", "--workload", "mixed-70-30", "--requests", "300"],
    &[
        "run",
        "--preset",
        "centaur",
        "--workload",
        "seqwrite-128k",
        "--requests",
        "300",
        "--precondition",
        "empty",
    ],
    &["compare", "tiny", "tiny-tlc", "tiny", "tiny-tlc", "--workload", "mixed-70-30", "--requests", "300"],
    &["presets", "list"],
    &["devices"],
    &["policies"],
    &["metrics"],
    &["workloads", "list"],
    &["trace", "formats"],
    &["repro", "list"],
    &["config", "explain", "--preset", "centaur"],
    &["nand", "ops", "--part", "mqsim-mlc"],
    &["nand", "timeline", "--part", "mqsim-mlc", "--dies", "2", "all:program-cache*4"],
    &["workloads", "show", "centaur/usr_1"],
];

#[test]
fn tables_fit_80_columns_and_use_more() {
    for command in TABLES {
        let lines = [80, 120].map(|columns: usize| {
            let output = program(command).env("COLUMNS", columns.to_string()).output().expect("it was built");
            let text = String::from_utf8(output.stdout).expect("the program writes UTF-8");
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
            assert!((1..=columns).contains(&widest), "{widest} of {columns} columns: {command:?}\n{text}");
            text.lines().count()
        });
        assert!(lines[1] <= lines[0], "{command:?}: {lines:?}");
    }
}

#[test]
fn help_fits_80_columns_and_lists_are_whole_where_there_is_no_terminal() {
    let help = wordline(&["--help"]).success();
    let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!((60..=80).contains(&widest), "{widest}: {help}");
    for (command, key) in
        [(&["metrics"][..], "meaning"), (&["policies"], "description"), (&["repro", "list"], "title")]
    {
        let all = wordline(&[command, &["--json"]].concat()).json();
        let text = wordline(command).success();
        for object in all.as_array().expect("a list") {
            let meaning = object[key].as_str().expect(key);
            assert!(text.lines().any(|line| line.ends_with(meaning)), "{meaning}: {text}");
        }
    }
}

#[test]
fn help_fits_80_columns() {
    for command in COMMANDS {
        let output = program(command).arg("--help").env("COLUMNS", "80").output().expect("it was built");
        let text = String::from_utf8(output.stdout).expect("the program writes UTF-8");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn colours_are_there_where_they_are_wanted_alone() {
    let has_colours = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = program(arguments);
        command.envs(variables.iter().copied());
        let output = command.output().expect("the program was built with this test");
        [output.stdout, output.stderr].map(|bytes| bytes.contains(&0x1b))
    };
    let (list, refused) = (["presets", "list"], ["run", "--preset", "tniy"]);
    assert_eq!(has_colours(&list, &[]), [false, false]);
    assert_eq!(has_colours(&refused, &[]), [false, false]);
    for (variables, arguments, expected) in [
        (&[][..], &["--color", "always"][..], true),
        (&[("NO_COLOR", "1")], &["--color=always"], true),
        (&[("CLICOLOR_FORCE", "1")], &[], true),
        (&[("CLICOLOR_FORCE", "1")], &["--color", "never"], false),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[], false),
        (&[("CLICOLOR", "1")], &[], false),
    ] {
        let with = |command: &[&str]| has_colours(&[command, arguments].concat(), variables);
        assert_eq!(with(&list), [expected, false], "{variables:?} {arguments:?}");
        assert_eq!(with(&refused), [false, expected], "{variables:?} {arguments:?}");
        assert_eq!(with(&["rnu"]), [false, expected], "{variables:?} {arguments:?}");
        assert_eq!(with(&["config", "schema"]), [false, false], "documents have none");
    }
}

#[test]
fn quiet_prints_no_notes_and_verbose_tells_the_phases() {
    let folder = crate::Folder::new();
    let trace = folder.with("a.csv", "t_ns,op,offset_bytes,size_bytes\n9,W,0,4096\n0,R,0,4096\n");
    let run = |more: &[&str]| wordline(&[&["run", "--preset", "tiny", "--trace", &trace], more].concat());
    let (usual, quiet, verbose) = (run(&[]), run(&["--quiet"]), run(&["-v"]));
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
    assert_eq!(usual.code, Some(0));
    assert!(usual.out.contains("\n Notes ") && !quiet.out.contains("Notes"), "{}{}", usual.out, quiet.out);
    let notes = |finished: crate::Finished| finished.json()["notes"].clone();
    assert_eq!(notes(run(&["--quiet", "--json"])), notes(run(&["--json"])), "JSON keeps them");
    let two = |more: &[&str]| {
        wordline(&[&["compare", "tiny", "tiny-tlc", "--trace", &trace], more].concat()).success()
    };
    assert!(two(&[]).contains("Note on") && !two(&["-q"]).contains("Note on"), "{}", two(&[]));
    assert!(verbose.err.contains("tiny: running took "), "{}", verbose.err);
    let info = |more: &[&str]| wordline(&[&["trace", "info", &trace], more].concat()).err;
    assert!(info(&[]).contains("note: ") && info(&["-q"]).is_empty(), "{}", info(&[]));
}

#[test]
fn a_shell_and_man_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = wordline(&["completions", shell]).success();
        assert!(script.contains("timeline") && script.contains("trace-option"), "{script}");
    }
    let page = wordline(&["man", "trace", "convert"]).success();
    assert!(page.starts_with(".ie") && page.contains("wordline\\-trace\\-convert"), "{page}");
    let folder = crate::Folder::new();
    wordline(&["man", "--all", &folder.path("")]).success();
    let names = folder.names();
    assert!(
        ["wordline.1", "wordline-run.1", "wordline-trace-convert.1"]
            .iter()
            .all(|name| names.contains(&(*name).to_owned())),
        "{names:?}"
    );
    let refusal = wordline(&["man", "trace", "cnvert"]).refusal();
    assert!(refusal.contains("convert, or another of"), "{refusal}");
}
