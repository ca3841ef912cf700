//! Terminal output. Escapes control characters in text from files, adds colours if wanted, and folds lines to
//! the width of the terminal.

use std::borrow::Cow;
use std::io::{stderr, stdout};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use anstream::{AutoStream, ColorChoice};
use clap::ColorChoice as Wanted;
use comfy_table::Table;

/// Whether standard output and standard error have colours. This is a property of the program, not of a
/// result.
static COLOURED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// One of the two output streams.
#[derive(Clone, Copy)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Amount of output on standard error, in addition to errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Notes, and progress on a terminal.
    Normal,
    /// Notes, progress, and the phases with their times.
    Verbose,
}

/// Verbosity that the user asked for.
static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

/// Sets the verbosity.
pub fn set_verbosity(loudness: Verbosity) {
    VERBOSITY.store(loudness as u8, Ordering::Relaxed);
}

/// Whether the verbosity is at least `loudness`.
pub fn is_at_least(loudness: Verbosity) -> bool {
    VERBOSITY.load(Ordering::Relaxed) >= loudness as u8
}

/// Escape sequences, as cargo and clap use them.
const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const RED: &str = "\u{1b}[1;31m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const CYAN: &str = "\u{1b}[36m";
const RESET: &str = "\u{1b}[0m";

/// Value of `--color`. It is parsed before the other arguments, because their error messages have colours
/// too.
pub fn wanted(arguments: impl IntoIterator<Item = String>) -> Wanted {
    let mut arguments = arguments.into_iter();
    let mut found = None;
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--color") {
            Some("") => found = arguments.next(),
            Some(value) => found = value.strip_prefix('=').map(str::to_owned).or(found),
            None => {}
        }
    }
    match found.as_deref() {
        Some("always") => Wanted::Always,
        Some("never") => Wanted::Never,
        _ => Wanted::Auto,
    }
}

/// Chooses colours: as `wanted`, or else by `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, and by whether there is
/// a terminal.
pub fn choose(wanted: Wanted) {
    match wanted {
        Wanted::Auto => ColorChoice::Auto,
        Wanted::Always => ColorChoice::Always,
        Wanted::Never => ColorChoice::Never,
    }
    .write_global();
    let choices = [AutoStream::choice(&stdout()), AutoStream::choice(&stderr())];
    for (coloured, choice) in COLOURED.iter().zip(choices) {
        coloured.store(choice != ColorChoice::Never, Ordering::Relaxed);
    }
}

/// Whether `stream` has colours.
pub fn is_coloured(stream: Stream) -> bool {
    COLOURED[stream as usize].load(Ordering::Relaxed)
}

/// Columns of the terminal. Without a terminal, the variable `COLUMNS`; `None` for no limit.
pub fn columns() -> Option<u16> {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    Table::new().width().or_else(said)
}

/// Columns of help texts without a terminal: the columns of an ordinary terminal.
pub const PIPED_WIDTH: u16 = 80;

/// Columns of results, which are always limited. Chosen: 100 without a terminal.
pub fn width() -> u16 {
    columns().unwrap_or(100)
}

/// Escapes characters of `text` that move the cursor, change colours, or reverse the writing direction, as
/// TOML and JSON do. File names, traces and configurations may contain such characters.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return text.into();
    }
    let spelled = text.chars().fold(String::with_capacity(text.len()), |mut all, letter| {
        match is_hidden(letter) {
            true => all += &format!("\\u{:04x}", u32::from(letter)),
            false => all.push(letter),
        }
        all
    });
    spelled.into()
}

fn is_hidden(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || letter.is_control() && !matches!(letter, '\n' | '\t')
}

/// Folds `text` to lines of at most `columns` characters. Continuation lines are indented.
pub fn folded(text: &str, columns: u16) -> String {
    let columns = usize::from(columns);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        match line.chars().count() <= columns {
            true => out += line,
            false => fold(line, columns, &mut out),
        }
        out.push('\n');
    }
    out
}

fn fold(line: &str, columns: usize, out: &mut String) {
    let indent = line.chars().take_while(|letter| *letter == ' ').count() + 2;
    let mut at = 0;
    for (n, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if n > 0 && at + 1 + length > columns && at > indent {
            while out.ends_with(' ') {
                out.pop();
            }
            *out += "\n";
            *out += &" ".repeat(indent);
            at = indent;
        } else if n > 0 {
            out.push(' ');
            at += 1;
        }
        *out += word;
        at += length;
    }
}

/// Formats a message for standard error. Text is escaped, and its kind (`error:`) has a colour.
pub fn message(line: &str) -> String {
    let line = visible(line);
    for (kind, colour) in [("error:", RED), ("warning:", "\u{1b}[1;33m"), ("note:", "\u{1b}[1;36m")] {
        if let Some(rest) = line.strip_prefix(kind).filter(|_| is_coloured(Stream::Err)) {
            return format!("{colour}{kind}{RESET}{rest}");
        }
    }
    line.into_owned()
}

/// Colours an escaped table: titles above rules are bold, rules are dim, and verdicts have a colour for each
/// value.
pub fn colour_table(table: &str) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let mut out = String::with_capacity(table.len() + table.len() / 4);
    for (n, line) in lines.iter().enumerate() {
        let next = lines.get(n + 1).copied().unwrap_or_default();
        match line {
            line if has_rule(line) => out += &dim_rules(line),
            line if has_rule(next) => out += &head(line, next),
            line if is_group(line) => out += &format!("{BOLD}{line}{RESET}"),
            line => out += &cells(line),
        }
        out.push('\n');
    }
    out
}

fn is_rule(letter: char) -> bool {
    matches!(letter, '─' | '═')
}

fn has_rule(line: &str) -> bool {
    line.contains("────") || line.contains("════")
}

/// Whether a line is the name of a group of rows, which has capitals only.
fn is_group(line: &str) -> bool {
    line.chars().any(char::is_alphabetic)
        && !line.contains("  ")
        && line.chars().all(|letter| !letter.is_lowercase())
}

/// Makes the rules of a line dim.
fn dim_rules(line: &str) -> String {
    runs(line, is_rule)
        .into_iter()
        .map(|(is_rule, run)| if is_rule { format!("{DIM}{run}{RESET}") } else { run })
        .collect()
}

/// Formats a line. It is bold if the `next` line has rules below it.
fn head(line: &str, next: &str) -> String {
    let below: Vec<bool> = next.chars().map(is_rule).collect();
    let mut at = 0;
    let above = |_: char| {
        at += 1;
        below.get(at - 1).copied().unwrap_or(false)
    };
    let bold = |(is_head, run): (bool, String)| match is_head && !run.trim().is_empty() {
        true => format!("{BOLD}{run}{RESET}"),
        false => run,
    };
    runs(line, above).into_iter().map(bold).collect()
}

/// Splits a line into sequences of characters for which `is` has the same value.
fn runs(line: &str, mut is: impl FnMut(char) -> bool) -> Vec<(bool, String)> {
    let mut all: Vec<(bool, String)> = Vec::new();
    for letter in line.chars() {
        let this = is(letter);
        match all.last_mut() {
            Some((last, run)) if *last == this => run.push(letter),
            _ => all.push((this, letter.to_string())),
        }
    }
    all
}

/// Colours the verdicts of a line whose cells are separated by two spaces.
fn cells(line: &str) -> String {
    let mut out = String::new();
    for (n, cell) in line.split("  ").enumerate() {
        if n > 0 {
            out += "  ";
        }
        let word = cell.trim();
        match colour_of(word) {
            Some(colour) => out += &cell.replacen(word, &format!("{colour}{word}{RESET}"), 1),
            None => out += cell,
        }
    }
    out
}

/// Colour of a verdict; `None` for other words.
fn colour_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "within" | "direction" | "holds" => GREEN,
        "outside" | "fails" => RED,
        "explained" | "contradicted" | "Note" | "Notes" => YELLOW,
        "shown" => CYAN,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_spelled_out() {
        let text = "a\u{1b}[31mb\tc\nd\re\u{9b}f\u{202e}g";
        assert_eq!(visible(text), "a\\u001b[31mb\tc\nd\\u000de\\u009bf\\u202eg");
        assert_eq!(visible("µs × 3 – ─"), "µs × 3 – ─");
    }

    #[test]
    fn colours_change_no_letter() {
        let table = " Host            Busy\n────────        ──────\n reads  3        a  b\n\nFLASH\n x  within  outside\n";
        let plain = colour_table(table);
        for mark in [BOLD, DIM, GREEN, RED] {
            assert!(plain.contains(mark), "{plain:?}");
        }
        let stripped = anstream::adapter::strip_str(&plain).to_string();
        assert_eq!(stripped, table);
    }

    #[test]
    fn a_long_line_goes_on_below() {
        let text = "  one two three four\nshort\n";
        assert_eq!(folded(text, 12), "  one two\n    three\n    four\nshort\n");
        assert_eq!(folded(text, 40), text);
        assert_eq!(folded("  averyveryverylongword", 10), "  averyveryverylongword\n");
    }

    #[test]
    fn the_last_word_on_colours_wins() {
        let of = |arguments: &[&str]| wanted(arguments.iter().map(|text| (*text).to_owned()));
        assert_eq!(of(&["run", "--color", "always"]), Wanted::Always);
        assert_eq!(of(&["--color=always", "--color=never"]), Wanted::Never);
        assert_eq!(of(&["run"]), Wanted::Auto);
    }
}
