//! The text of an imported configuration: TOML with a comment beside each key.

use std::fmt::Display;

use wordline_kernel::{Bytes, Duration};

use super::parameters::Written;

/// Most letters of a piece of a file in a message. Chosen.
const LONGEST: usize = 60;

/// A piece of a file for a message: in one line, without control characters, and not too long.
pub fn shown(text: &str) -> String {
    let mut letters = text.trim().chars();
    let start: String = letters.by_ref().take(LONGEST).flat_map(printable).collect();
    if letters.next().is_some() { start + "..." } else { start }
}

/// A letter, or the escape of a control character.
fn printable(letter: char) -> impl Iterator<Item = char> {
    let escaped = letter.is_control().then(|| letter.escape_debug());
    let plain = (!letter.is_control()).then_some(letter);
    escaped.into_iter().flatten().chain(plain)
}

/// The lines of a configuration.
#[derive(Clone, Default)]
pub struct Toml {
    pub lines: Vec<String>,
    /// Parameters that the values come from, as they are written in the file.
    pub written: Written,
}

impl Toml {
    /// The head of the device that a file of a simulator describes. `what` is the file in words; the
    /// description has a comment that says where it comes from.
    pub fn of_device((name, simulator): (&str, &str), what: &str, (description, from): (&str, &str)) -> Self {
        let lines = vec![format!("# Imported from {name}, {what}.")];
        let mut out = Self { lines, ..Self::default() };
        out.line("description", format!("{description:?}"), from);
        out.line("source", format!("{:?}", format!("{simulator}, {name}")), "");
        out
    }

    /// The whole text.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The order of the placement, in quotes.
    pub fn order(&self) -> String {
        let line = self.lines.iter().find_map(|line| line.split_once("order = "));
        let (order, _) =
            line.and_then(|(_, rest)| rest.split_once([' ', ','])).expect("a placement was written");
        order.to_owned()
    }

    /// Replaces the value of a key that was written before, with a comment in place of the former one.
    pub fn replace(&mut self, key: &str, value: impl Display, why: &str) {
        let start = format!("{key} = ");
        let line = self.lines.iter_mut().find(|line| line.starts_with(&start));
        *line.expect("the key was written") = format!("{start}{value} # {why}");
    }

    /// Begins a table.
    pub fn table(&mut self, name: &str) {
        self.lines.extend([String::new(), format!("[{name}]")]);
    }

    /// Writes a key, with a comment that says where its value comes from.
    pub fn line(&mut self, key: &str, value: impl Display, from: &str) {
        let comment = if from.is_empty() { String::new() } else { format!(" # {from}") };
        self.lines.push(format!("{key} = {value}{comment}"));
    }

    /// Writes a time in nanoseconds.
    pub fn time(&mut self, key: &str, ns: u64, from: &str) {
        self.line(key, format!("\"{}\"", Duration::from_ns(ns)), from);
    }

    /// Writes a size in bytes.
    pub fn size(&mut self, key: &str, bytes: u64, from: &str) {
        self.line(key, format!("\"{}\"", Bytes(bytes)), from);
    }

    /// The line of a key, or of the table inside a line that contains it.
    pub fn position(&self, key: &str) -> Option<usize> {
        let mut table = String::new();
        self.lines.iter().position(|line| {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                table = format!("{name}.");
            }
            let Some((own, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) else {
                return false;
            };
            let rest = key.strip_prefix(&format!("{table}{own}"));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// The parameter that a line comes from, with its place in the file `name`, its value there and the key.
    pub fn origin(&self, name: &str, at: usize, key: &str) -> String {
        let from = self.lines[at].rsplit_once(" # ").map_or("", |(_, from)| from);
        let parameter = from.split([',', ':', ' ', ';']).next().unwrap_or("");
        match self.written.get(parameter) {
            Some((line, value)) => format!("{name}:{line}: {parameter} = {value} ({key})"),
            None if parameter.contains('_') => format!("{name}: {parameter} ({key})"),
            None => format!("{name}: {key}"),
        }
    }

    /// The value of a key, if it is a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        let start = format!("{key} = ");
        let line = self.lines.iter().find_map(|line| line.strip_prefix(&start))?;
        line.split(' ').next()?.parse().ok()
    }
}
