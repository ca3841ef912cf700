//! Reads the parameters of a file of another simulator.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use wordline_kernel::{Complaints, one_of};

use super::xml::Element;

/// Lines and values of parameters by name, as they are written in a file.
pub type Written = BTreeMap<&'static str, (u32, String)>;

/// Parameters by name. [`end`](Self::end) returns those that nobody read.
pub struct Parameters {
    /// Name of the file, for messages.
    file: String,
    /// Name of the simulator, for messages.
    simulator: &'static str,
    values: BTreeMap<String, (u32, String)>,
    /// Lines and values of the parameters that were read, as they are written in the file.
    written: Written,
    /// Line of the element that should have the parameters; 0 if it is the whole file.
    line: u32,
    /// Values of parameters that are not in the file.
    defaults: &'static [(&'static str, &'static str)],
    /// All names that were read or skipped.
    known: Vec<&'static str>,
    pub wrong: Complaints,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Parameters {
    /// Collects the parameters in `element` and its descendants, of a file of MQSim: the elements that have no
    /// child elements.
    pub fn of(file: &str, element: &Element, defaults: &'static [(&'static str, &'static str)]) -> Self {
        let leaves = element.leaves().into_iter();
        let all = leaves.map(|Element { name, line, text, .. }| (name.clone(), *line, text.clone()));
        Self::of_list((file, "MQSim"), all, defaults)
    }

    /// Collects parameters: names, lines and values, of a file of a simulator. If a parameter is given twice,
    /// the last one counts, as in the simulators.
    pub fn of_list(
        (file, simulator): (&str, &'static str),
        list: impl IntoIterator<Item = (String, u32, String)>,
        defaults: &'static [(&'static str, &'static str)],
    ) -> Self {
        let mut all = Self {
            file: file.into(),
            simulator,
            values: BTreeMap::new(),
            written: Written::new(),
            line: 0,
            defaults,
            known: Vec::new(),
            wrong: Complaints::default(),
            notes: Vec::new(),
        };
        for (name, line, text) in list {
            // A value of several lines would break messages and comments.
            let in_one_line = |text: &str| {
                let parts: Vec<&str> = text.split(char::is_control).map(str::trim).collect();
                parts.join(" ").trim().to_owned()
            };
            let (name, text) = (in_one_line(&name), in_one_line(&text));
            if all.values.insert(name.clone(), (line, text)).is_some() {
                all.notes.push(format!("{}: given twice: the last value counts", all.place(line, &name)));
            }
        }
        all
    }

    /// The same parameters, of an element in this line.
    pub fn in_line(self, line: u32) -> Self {
        Self { line, ..self }
    }

    /// The line of a parameter that was read; without one, the line of the element around it.
    pub fn line_of(&self, key: &str) -> u32 {
        self.written.get(key).map_or(self.line, |(line, _)| *line)
    }

    /// Lines and values of the parameters that were read.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// Adds a complaint about a parameter that was read, or is missing.
    pub fn complain(&mut self, key: &str, found: impl Display, wanted: impl Into<String>) {
        let place = self.place(self.line_of(key), key);
        self.wrong.add(place, found, wanted);
    }

    fn place(&self, line: u32, key: &str) -> String {
        match line {
            0 => format!("{}: {key}", self.file),
            _ => format!("{}:{line}: {key}", self.file),
        }
    }

    /// Adds a note about a parameter.
    pub fn note(&mut self, key: &str, text: impl Display) {
        self.notes.push(format!("{}: {key}: {text}", self.file));
    }

    /// Removes a parameter and returns its line and text. A missing parameter has the default of the simulator, with
    /// a note; without a default it is an error.
    fn take(&mut self, key: &'static str) -> Option<(u32, String)> {
        self.known.push(key);
        if let Some(found) = self.values.remove(key) {
            self.written.insert(key, found.clone());
            return Some(found);
        }
        match self.defaults.iter().find(|(name, _)| *name == key) {
            Some((_, value)) => {
                self.note(key, format!("none given: {}'s default, {value}", self.simulator));
                Some((0, (*value).to_owned()))
            }
            None => {
                self.complain(key, "none", format!("a value: {} has no default for it", self.simulator));
                None
            }
        }
    }

    /// Parses a parameter with `read`. Returns `otherwise` if the parameter is missing or cannot be parsed.
    pub fn read<T>(
        &mut self,
        key: &'static str,
        otherwise: T,
        wanted: &dyn Display,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some((line, text)) = self.take(key) else { return otherwise };
        read(&text).unwrap_or_else(|| {
            let (place, found) = (self.place(line, key), format!("`{text}`"));
            self.wrong.add(place, found, wanted.to_string());
            otherwise
        })
    }

    /// An integer within `range`. A number with decimals is cut off, as in MQSim.
    pub fn whole(&mut self, key: &'static str, range: RangeInclusive<u64>) -> u64 {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        self.read(key, *range.start(), &wanted, |text| whole(text).filter(|n| range.contains(n)))
    }

    /// An integer from `least` on. If it is more than `most`, it is `most`, with a note.
    pub fn at_most(&mut self, key: &'static str, least: u64, most: u64) -> u64 {
        let wanted = format!("a whole number of at least {least}");
        let found = self.read(key, least, &wanted, |text| whole(text).filter(|n| *n >= least));
        if found > most {
            self.note(key, format!("{found} is more than the {most} that there can be: {most} is used"));
        }
        found.min(most)
    }

    /// A fraction of at least 0 and less than 1.
    pub fn fraction(&mut self, key: &'static str) -> f64 {
        let wanted = "a fraction from 0 to below 1";
        self.read(key, 0.0, &wanted, |text| text.parse().ok().filter(|n| (0.0..1.0).contains(n)))
    }

    /// A fraction from 0 to 1.
    pub fn fraction_to_one(&mut self, key: &'static str) -> f64 {
        self.read(key, 0.0, &"a fraction from 0 to 1", |text| {
            text.parse().ok().filter(|n| (0.0..=1.0).contains(n))
        })
    }

    /// A number above 0 and at most `most`.
    pub fn number(&mut self, key: &'static str, most: f64) -> f64 {
        let fits = |n: &f64| *n > 0.0 && *n <= most;
        self.read(key, 1.0, &format!("a number above 0 and at most {most}"), |text| {
            text.parse().ok().filter(fits)
        })
    }

    /// True or false. Any other text is true, as in MQSim, with a note.
    pub fn flag(&mut self, key: &'static str) -> bool {
        let Some((line, text)) = self.take(key) else { return false };
        let is_known = ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
        if !is_known {
            let place = self.place(line, key);
            self.notes.push(format!("{place}: `{text}` counts as true, as in MQSim, for all but false"));
        }
        !text.eq_ignore_ascii_case("false")
    }

    /// An integer up to `most`; `usual` without a note if it is not given.
    pub fn number_or(&mut self, key: &'static str, usual: u64, most: u64) -> u64 {
        if self.has(key) {
            return self.whole(key, 0..=most);
        }
        self.known.push(key);
        usual
    }

    /// Whether the parameter is given.
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// True or false: 1, 0, true or false.
    pub fn switch(&mut self, key: &'static str) -> bool {
        self.read(key, false, &"0, 1, true or false", |text| match text.to_ascii_lowercase().as_str() {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        })
    }

    /// One of `words`, which are capitals. Case is ignored, as in MQSim.
    pub fn word(&mut self, key: &'static str, words: &[&'static str]) -> &'static str {
        let Some((line, text)) = self.take(key) else { return words[0] };
        let capitals = text.to_ascii_uppercase();
        words.iter().find(|word| **word == capitals).copied().unwrap_or_else(|| {
            let place = self.place(line, key);
            self.wrong.add(place, format!("`{text}`"), one_of(&capitals, words));
            words[0]
        })
    }

    /// Whole numbers separated by commas, sorted and each once, such as the channels of a flow. Each must be
    /// less than its bound.
    pub fn numbers(&mut self, key: &'static str, below: u64) -> Vec<u32> {
        let Some((line, text)) = self.take(key) else { return Vec::new() };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let all: Option<Vec<u64>> = parts.map(|part| whole(part).filter(|n| *n < below)).collect();
        let mut all = all.filter(|all| !all.is_empty()).unwrap_or_else(|| {
            let (place, wanted) =
                (self.place(line, key), format!("numbers below {below} with commas, such as 0,1"));
            self.wrong.add(place, format!("`{text}`"), wanted);
            vec![0]
        });
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|n| n as u32).collect()
    }

    /// The text of a parameter.
    pub fn text(&mut self, key: &'static str) -> String {
        self.read(key, String::new(), &"a text", |text| Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    /// Removes a parameter without a default, and returns its value if it exists.
    pub fn skip(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        let found = self.values.remove(key)?;
        self.written.insert(key, found.clone());
        Some(found.1)
    }

    /// Removes all other parameters whose names begin with `start`. Returns them with their values.
    pub fn skip_all(&mut self, start: &str) -> Vec<(String, String)> {
        let names: Vec<String> = self.values.keys().filter(|name| name.starts_with(start)).cloned().collect();
        let value = |name: String| self.values.remove(&name).map(|(_, value)| (name, value));
        names.into_iter().filter_map(value).collect()
    }

    /// Ends the reading. Returns the parameters that were not read, which the simulator does not know, with their
    /// values; and the complaints and notes.
    pub fn end(mut self) -> (Vec<(String, String)>, Complaints, Vec<String>) {
        let mut unknown = Vec::new();
        for (name, (line, value)) in std::mem::take(&mut self.values) {
            let known = one_of(&name, &self.known);
            let meant = known
                .split_once(", or another of ")
                .map_or(String::new(), |(meant, _)| format!(" (is it {meant}?)"));
            let place = self.place(line, &name);
            self.notes.push(format!("{place}: {} has no such parameter{meant}: left out", self.simulator));
            unknown.push((name, value));
        }
        (unknown, self.wrong, self.notes)
    }
}

/// Parses a whole number. Decimals are cut off.
fn whole(text: &str) -> Option<u64> {
    let cut = || text.parse::<f64>().ok().filter(|n| (0.0..=1e15).contains(n)).map(|n| n as u64);
    text.parse().ok().or_else(cut)
}
