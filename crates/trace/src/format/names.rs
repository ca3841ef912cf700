//! Devices or hosts that a trace names with text: they are numbered in order of appearance.

use std::collections::BTreeMap;

use super::super::input::{ParseError, quoted};

/// Upper bound on host or file names in a trace. The names are kept to number the devices.
pub(super) const MAX_NAMES: usize = 1 << 16;

/// Upper bound on the length of a name, in bytes. Chosen: the length of a file name in Linux (NAME_MAX,
/// limits.h); the name of a host has at most 253 (RFC 1035, section 3.1).
const MAX_NAME_BYTES: usize = 255;

/// Numbers of the names so far.
pub(super) struct Names {
    /// Noun for what is named, in messages.
    noun: &'static str,
    /// Number of the first name.
    first: u32,
    numbers: BTreeMap<String, u32>,
    /// The previous name. Most traces have only one.
    last: (String, u32),
}

impl Names {
    /// No names yet, of things that `noun` names.
    pub(super) const fn of(noun: &'static str) -> Self {
        Self { noun, first: 0, numbers: BTreeMap::new(), last: (String::new(), 0) }
    }

    /// Sets the number of the first name, before there are any.
    pub(super) fn start_at(&mut self, first: u32) {
        self.first = first;
    }

    /// Returns the number of a name.
    pub(super) fn number(&mut self, name: &str) -> Result<u32, ParseError> {
        if !self.numbers.is_empty() && self.last.0 == name {
            return Ok(self.last.1);
        }
        let next = self.numbers.len();
        let known = self.numbers.get(name).copied();
        if known.is_none() && (next >= MAX_NAMES || name.len() > MAX_NAME_BYTES) {
            return Err(ParseError {
                found: format!("{} {} after {next} others", self.noun, quoted(name)),
                wanted: format!(
                    "at most {MAX_NAMES} {}s, with names of at most {MAX_NAME_BYTES} bytes",
                    self.noun
                ),
            });
        }
        let number = known.unwrap_or(self.first + next as u32);
        self.numbers.entry(name.into()).or_insert(number);
        self.last = (name.into(), number);
        Ok(number)
    }

    /// Returns the number of names.
    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Note that lists the first names with their numbers; `None` without names.
    pub(super) fn note(&self) -> Option<String> {
        // Chosen: as many as fit in a line.
        const SHOWN: usize = 8;
        let mut names: Vec<_> = self.numbers.iter().map(|(name, number)| (*number, name.as_str())).collect();
        names.sort_unstable();
        let shown = names.iter().take(SHOWN);
        let list: Vec<String> = shown.map(|(number, name)| format!("{number} {}", quoted(name))).collect();
        let more = if names.len() > SHOWN { ", ..." } else { "" };
        (!names.is_empty())
            .then(|| format!("{}s are numbered in order of appearance: {}{more}", self.noun, list.join(", ")))
    }
}
