//! Length limits of functions and files. Functions and files that were longer when the rule was introduced
//! are recorded in `exceptions.toml` with their length. The length may only shrink.

use std::collections::BTreeMap;

use crate::source::{Source, is_word};
use crate::{File, Offence, assert_none, files, root, subjects};

/// Most lines of a function, from `fn` to its closing brace (house style, rule 9).
const LONGEST_FUNCTION: usize = 70;
/// Most lines of a source file (house style, rule 9).
const LONGEST_FILE: usize = 600;

/// Recorded lengths. Keys are `path` for a file and `path::name` for a function.
type Exceptions = BTreeMap<String, usize>;

/// A function and its length in lines.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    lines: usize,
}

/// Every function with a body in `code`, including nested functions. `code` has no comments and strings.
fn functions(code: &str) -> Vec<Function> {
    let chars: Vec<char> = code.chars().collect();
    let starts = (0..chars.len())
        .filter(|&at| chars[at..].starts_with(&['f', 'n', ' ']) && (at == 0 || !is_word(chars[at - 1])));
    starts.filter_map(|at| function(&chars[at..])).collect()
}

/// The function whose `fn` starts `chars`; `None` for a declaration without a body.
fn function(chars: &[char]) -> Option<Function> {
    let name: String = chars[3..].iter().take_while(|c| is_word(**c)).collect();
    if name.is_empty() {
        return None;
    }
    let (mut brackets, mut braces) = (0, 0);
    for (at, c) in chars.iter().enumerate() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        if *c == '}' && braces == 0 {
            let lines = 1 + chars[..at].iter().filter(|c| **c == '\n').count();
            return Some(Function { name, lines });
        }
    }
    None
}

/// The overlong functions of `file`, and `file` itself if it is too long. Adds the exceptions that they use
/// to `used`.
fn too_long(file: &File, exceptions: &Exceptions, used: &mut Vec<String>) -> Vec<Offence> {
    let mut measured = vec![(file.path.clone(), file.text.lines().count(), LONGEST_FILE)];
    let code = Source::split(&file.text).code;
    measured.extend(
        functions(&code)
            .into_iter()
            .map(|function| (format!("{}::{}", file.path, function.name), function.lines, LONGEST_FUNCTION)),
    );
    let mut offences = Vec::new();
    for (place, lines, limit) in measured.into_iter().filter(|(_, lines, limit)| lines > limit) {
        let recorded = exceptions.get(&place).copied();
        if recorded.is_some() {
            used.push(place.clone());
        }
        let complaint = match recorded {
            None => format!("found {lines} lines, wanted at most {limit}: give its parts names of their own"),
            Some(record) if lines > record => format!("found {lines} lines, recorded are {record}: it grew"),
            Some(record) if lines < record => {
                format!("found {lines} lines, recorded are {record}: lower the record in exceptions.toml")
            }
            Some(_) => continue,
        };
        offences.push(Offence::new(place, complaint));
    }
    offences
}

/// Every overlong function and file in `files`, and every exception that is not needed.
fn check(files: &[File], exceptions: &Exceptions) -> Vec<Offence> {
    let mut used = Vec::new();
    let mut offences: Vec<Offence> = files
        .iter()
        .filter(|file| file.is_rust())
        .flat_map(|file| too_long(file, exceptions, &mut used))
        .collect();
    let unused = exceptions.keys().filter(|place| !used.contains(place));
    offences.extend(unused.map(|place| Offence::new(place, "is short now: take it out of exceptions.toml")));
    offences
}

#[test]
fn functions_and_files_stay_short() {
    let path = root().join("tests/tidy/exceptions.toml");
    let text = std::fs::read_to_string(path).expect("the list of exceptions stands beside this file");
    let exceptions: Exceptions = toml::from_str(&text).expect("exceptions.toml is a table of lengths");
    let files = files();
    subjects(&files, 500, File::is_rust);
    assert_none(&check(&files, &exceptions));
}

#[test]
fn a_long_function_is_caught_and_its_record_may_only_shrink() {
    let body = "    x();\n".repeat(LONGEST_FUNCTION);
    let file = File { path: "a.rs".into(), text: format!("fn long() {{\n{body}}}\nfn short() {{}}\n") };
    let files = [file];
    let complaints = |record: Option<usize>| {
        let exceptions = record.map(|lines| ("a.rs::long".to_string(), lines)).into_iter().collect();
        check(&files, &exceptions).iter().map(Offence::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(complaints(None).starts_with("a.rs::long: found 72 lines, wanted at most 70"));
    assert!(complaints(Some(71)).ends_with("it grew"));
    assert_eq!(complaints(Some(72)), "");
    assert!(complaints(Some(73)).contains("lower the record"));
}

#[test]
fn a_long_file_is_caught_and_a_needless_record_too() {
    let file = File { path: "a.rs".into(), text: "//\n".repeat(LONGEST_FILE + 1) };
    assert_eq!(check(&[file], &Exceptions::new()).len(), 1);
    assert_eq!(check(&[], &Exceptions::from([("a.rs".to_string(), 700)])).len(), 1);
}

#[test]
fn a_signature_with_brackets_and_a_declaration_are_read_right() {
    let code = "trait T { fn a(x: [u8; 4]); }\nfn b(x: [u8; 4]) -> fn (u8)\nwhere u8: Copy {\n if x { y }\n}";
    assert_eq!(functions(code), [Function { name: "b".into(), lines: 4 }]);
}
