//! The first words of a comment: they must be a noun or a verb, so that a reader understands the comment at
//! once.

use crate::source::Source;
use crate::{File, Offence, assert_none, files, subjects};

/// Words that begin a clause. A comment should name the thing instead.
const CLAUSES: [&str; 5] = ["What", "That which", "Whatever", "Who", "Whoever"];

/// The text of a comment line without its slashes; `None` for a line without a comment.
fn text(line: &str) -> Option<&str> {
    let line = line.trim().strip_prefix("//")?;
    Some(line.trim_start_matches(['/', '!']).trim())
}

/// The clause word at the start of `text`, if there is one.
fn clause(text: &str) -> Option<&'static str> {
    let begins = |clause: &&str| text.strip_prefix(*clause).is_some_and(|rest| rest.starts_with(' '));
    CLAUSES.into_iter().find(begins)
}

/// Whether the first sentence of these lines is a question.
fn is_question<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let ends = lines.flat_map(|line| {
        line.char_indices().filter_map(|(at, c)| {
            let is_end = line[at + c.len_utf8()..].starts_with(' ') || line.len() == at + c.len_utf8();
            (is_end && matches!(c, '.' | '!' | '?')).then_some(c)
        })
    });
    ends.take(1).any(|end| end == '?')
}

/// The comment lines of a file that begin with a clause word.
fn clauses(file: &File) -> Vec<Offence> {
    let comments = Source::split(&file.text).comments;
    let lines: Vec<Option<&str>> = comments.lines().map(text).collect();
    let offence = |(n, line): (usize, &Option<&str>)| {
        let found = clause((*line)?)?;
        let rest = lines[n..].iter().map_while(|line| line.filter(|text| !text.is_empty()));
        let complaint =
            format!("a comment begins with `{found}`: begin with the noun or verb that it paraphrases");
        (!is_question(rest)).then(|| Offence::new(format!("{}:{}", file.path, n + 1), complaint))
    };
    lines.iter().enumerate().filter_map(offence).collect()
}

#[test]
fn comments_begin_with_a_noun_or_a_verb() {
    let files = files();
    let sources = subjects(&files, 500, File::is_rust);
    assert_none(&sources.into_iter().flat_map(clauses).collect::<Vec<_>>());
}

#[test]
fn a_clause_is_caught_and_a_question_is_not() {
    let places = |text: &str| {
        let found = clauses(&File { path: "a.rs".into(), text: text.into() });
        found.into_iter().map(|offence| offence.place).collect::<Vec<_>>()
    };
    for clause in CLAUSES {
        assert_eq!(
            places(&format!("/// The counts.\nfn f() {{}} // x\n    // {clause} is counted.\n")),
            ["a.rs:3"]
        );
    }
    assert_eq!(places("//! What a file\n//! holds, in bytes. Is it whole?\n"), ["a.rs:1"]);
    assert_eq!(places("//! What does a read of a torn\n//! page find? Noise.\n"), [""; 0]);
    assert_eq!(places("/// Whole pages.\n/// Somewhat more.\nlet a = \"// What is it\";\n"), [""; 0]);
}
