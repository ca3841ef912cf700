//! A Rust source, split into its code and its comments. Strings are blanked in both, so that a rule sees only
//! code or comments. Line numbers are kept.

/// The two views of a source, each as long as the source.
pub struct Source {
    /// The code, with comments and the contents of strings and characters as spaces.
    pub code: String,
    /// The comments, with everything else as spaces.
    pub comments: String,
}

/// The kind of a stretch of the source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Text,
}

impl Source {
    /// Splits `text`.
    pub fn split(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut source = Self { code: String::new(), comments: String::new() };
        let mut at = 0;
        while at < chars.len() {
            let (kind, length) = stretch(&chars, at);
            for &c in &chars[at..at + length] {
                let shown = |wanted| if c == '\n' || kind == wanted { c } else { ' ' };
                source.code.push(shown(Kind::Code));
                source.comments.push(shown(Kind::Comment));
            }
            at += length;
        }
        source
    }
}

/// The kind and the length in characters of the stretch at `at`.
fn stretch(chars: &[char], at: usize) -> (Kind, usize) {
    let rest = &chars[at..];
    let inside_a_word = at > 0 && is_word(chars[at - 1]);
    match rest {
        ['/', '/', ..] => (Kind::Comment, rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())),
        ['/', '*', ..] => (Kind::Comment, block_comment(rest)),
        ['"', ..] => (Kind::Text, string(rest)),
        ['r', '"' | '#', ..] if !inside_a_word => raw_string(rest, 1),
        ['b' | 'c', 'r', '"' | '#', ..] if !inside_a_word => raw_string(rest, 2),
        ['\'', '\\', ..] => (Kind::Text, 3 + rest[3..].iter().position(|c| *c == '\'').map_or(0, |n| n + 1)),
        ['\'', _, '\'', ..] => (Kind::Text, 3),
        _ => (Kind::Code, 1),
    }
}

/// Whether `c` can be part of a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of `text` that may be names.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

/// Length of the block comment at the start of `rest`. Block comments nest.
fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length of the string at the start of `rest`.
fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The raw string whose hashes start at `prefix`. For a raw identifier (`r#type`): one character of code.
fn raw_string(rest: &[char], prefix: usize) -> (Kind, usize) {
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    if rest.get(prefix + hashes) != Some(&'"') {
        return (Kind::Code, 1);
    }
    let mut close = vec!['"'];
    close.extend(std::iter::repeat_n('#', hashes));
    let body = prefix + hashes + 1;
    let end = rest[body..].windows(close.len()).position(|window| window == close);
    (Kind::Text, end.map_or(rest.len(), |n| body + n + close.len()))
}

#[test]
fn strings_and_comments_are_not_code() {
    let source = Source::split("a(\"b // \\\" c\"); // d\n/* e /* f */ g */ h r#\"i\"j\"# k '\\n' '\"' 'l'");
    let words = |text: &str| words(text).collect::<String>();
    assert_eq!(words(&source.code), "ahk");
    assert_eq!(words(&source.comments), "defg");
    assert_eq!(source.code.lines().count(), 2);
}

#[test]
fn a_lifetime_does_not_begin_a_character() {
    let source = Source::split("fn f<'a>(x: &'a str) { g('{') } // '\n");
    assert_eq!(source.code.matches('{').count(), 1);
    assert!(source.code.contains("'a str"));
}
