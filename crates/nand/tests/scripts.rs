//! Every script of `tests/scripts` passes, and none passes when one of its expectations is changed.

use std::fs;
use std::path::{Path, PathBuf};

use wordline_kernel::Duration;
use wordline_nand::Part;
use wordline_nand::onfi::Status;
use wordline_nand::onfi::script::{Action, Data, Script, Statement, StatusWanted, Wanted};
use wordline_nand::part::PartFile;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// Scripts by name.
fn scripts() -> Vec<(String, String)> {
    let mut scripts: Vec<(String, String)> = fs::read_dir(folder())
        .expect("the folder stands beside this file")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "onfi"))
        .map(|path| {
            let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a script is text"))
        })
        .collect();
    scripts.sort();
    scripts
}

/// The part of a script: a file beside the scripts, or one of the embedded parts.
fn part(script: &Script) -> Part {
    let name = script.setup.part.as_deref().expect("a script of the tests names its part");
    let path = match name.strip_suffix(".toml") {
        Some(_) => folder().join(name),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/parts").join(format!("{name}.toml")),
    };
    let text = fs::read_to_string(&path).unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
    let file: PartFile = toml::from_str(&text).unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
    file.check().unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()))
}

/// The failed expectations, with file and line, and the transcript.
fn wrong(name: &str, script: &Script) -> (Vec<String>, String) {
    let mut bus = script.bus(name, &part(script)).unwrap_or_else(|wrong| panic!("{wrong}"));
    let transcript = script.run(&mut bus);
    let lines = |(entry, mismatch): (&wordline_nand::onfi::script::Entry, _)| {
        format!("{name}:{}: {}: {mismatch}", entry.line, entry.text)
    };
    (transcript.mismatches().map(lines).collect(), transcript.to_string())
}

fn parsed(name: &str, text: &str) -> Script {
    Script::parse(name, text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn every_script_holds() {
    let scripts = scripts();
    let mut all = Vec::new();
    for (name, text) in &scripts {
        let (wrong, transcript) = wrong(name, &parsed(name, text));
        if !wrong.is_empty() {
            all.push(format!("{}\n{transcript}", wrong.join("\n")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(scripts.len() >= 60, "found {} scripts", scripts.len());
}

#[test]
fn no_script_holds_with_another_expectation() {
    for (name, text) in &scripts() {
        let script = parsed(name, text);
        let mut tried = 0;
        loop {
            let mut changed = script.clone();
            let Some(line) = change(&mut changed.statements, &mut { tried }) else { break };
            let (wrong, transcript) = wrong(name, &changed);
            assert!(!wrong.is_empty(), "{name}:{line} expects something else and holds\n{transcript}");
            tried += 1;
        }
        assert!(tried > 0, "{name} expects nothing");
    }
}

#[test]
fn the_examples_of_the_documentation_hold() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nand-scripts.md");
    let page = fs::read_to_string(page).expect("the page is part of the sources");
    // The word after `onfi` is the name of the file that the commands on the page use.
    let after_name = |block: &'_ str| block.find('\n').map(|end| end + 1);
    let blocks: Vec<&str> = page
        .split("```onfi ")
        .skip(1)
        .filter_map(|rest| rest[after_name(rest)?..].split("```").next())
        .collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let (wrong, transcript) = wrong("example", &parsed("example", block));
        assert!(wrong.is_empty(), "{wrong:#?}\n{transcript}");
    }
}

#[test]
fn every_reason_that_scripts_expect_is_in_the_documentation() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nand-scripts.md");
    let page = fs::read_to_string(page).expect("the page is part of the sources");
    let mut seen = 0;
    for (name, text) in &scripts() {
        for Statement { line, action, .. } in parsed(name, text).statements {
            let Action::ExpectFailure(reason) = action else { continue };
            assert!(page.contains(&format!("`{reason}`")), "{name}:{line}: {reason} is not on the page");
            seen += 1;
        }
    }
    assert!(seen > 0, "no script expects a refusal");
}

/// Changes the expectation with number `which`. Returns its line, or `None` if there are not as many
/// expectations.
fn change(statements: &mut [Statement], which: &mut u32) -> Option<u32> {
    for statement in statements {
        if let Action::Repeat(_, body) = &mut statement.action {
            let line = change(body, which);
            if line.is_some() {
                return line;
            }
            continue;
        }
        if !expects(&statement.action) {
            continue;
        }
        if *which == 0 {
            turn(&mut statement.action);
            return Some(statement.line);
        }
        *which -= 1;
    }
    None
}

fn expects(action: &Action) -> bool {
    match action {
        Action::Out(_, wanted) => matches!(wanted, Some(Wanted::Data(_))),
        Action::Status(_, wanted) => wanted.is_some(),
        Action::WaitReady { expect, .. } => expect.is_some(),
        Action::ExpectReady(_) | Action::ExpectFailure(_) => true,
        _ => false,
    }
}

/// Changes the expectation: flips one bit of it, or expects another time or rule.
fn turn(action: &mut Action) {
    match action {
        Action::Out(_, Some(Wanted::Data(data))) => {
            let mut bytes = data.bytes();
            *bytes.last_mut().expect("at least one byte comes out") ^= 0x10;
            *data = Data::Bytes(bytes);
        }
        Action::Status(_, Some(StatusWanted::Byte(byte))) => *byte ^= Status::READY.0,
        Action::Status(_, Some(wanted)) => *wanted = StatusWanted::Byte(0x1C),
        Action::WaitReady { expect: Some(time), .. } => *time += Duration::from_ps(1),
        Action::ExpectReady(ready) => *ready = !*ready,
        Action::ExpectFailure(rule) => rule.push('?'),
        _ => unreachable!("only expectations are turned"),
    }
}
