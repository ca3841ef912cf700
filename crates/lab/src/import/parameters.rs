//! Reads the parameters of an MQSim XML file: the elements that have text and no child elements.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use roxmltree::{Document, Node};
use wordline_kernel::{Complaints, one_of};

use crate::error::{Error, Result};

/// Parses the XML document `name`. Its outermost element must be `root`.
pub fn document<'t>(name: &str, text: &'t str, root: &str) -> Result<Document<'t>> {
    let wrong = |line: u32, found: String, wanted: String| Error::Line {
        path: name.into(),
        line: line.into(),
        found,
        wanted,
    };
    let document = Document::parse(text)
        .map_err(|error| wrong(error.pos().row, error.to_string(), "an XML document".into()))?;
    let found = document.root_element();
    if found.tag_name().name() == root {
        return Ok(document);
    }
    let line = document.text_pos_at(found.range().start).row;
    Err(wrong(line, format!("<{}>", found.tag_name().name()), format!("<{root}>, a file of MQSim")))
}

/// Parameters by name. Each must be read exactly once; [`end`](Self::end) complains about the rest.
pub struct Parameters {
    /// Name of the file, for messages.
    file: String,
    values: BTreeMap<String, (u32, String)>,
    /// All names that were read or skipped.
    known: Vec<&'static str>,
    pub wrong: Complaints,
}

impl Parameters {
    /// Collects the parameters in `element` and its descendants.
    pub fn of(file: &str, document: &Document<'_>, element: Node<'_, '_>) -> Self {
        let mut all = Self {
            file: file.into(),
            values: BTreeMap::new(),
            known: Vec::new(),
            wrong: Complaints::default(),
        };
        let leaves = element.descendants().filter(|node| node.is_element() && !node.has_children_elements());
        for leaf in leaves.filter(|leaf| *leaf != element) {
            let line = document.text_pos_at(leaf.range().start).row;
            let name = leaf.tag_name().name().to_owned();
            let value = leaf.text().unwrap_or("").trim().to_owned();
            if all.values.insert(name.clone(), (line, value)).is_some() {
                all.wrong.add(all.place(line, &name), "the parameter twice", "each once");
            }
        }
        all
    }

    fn place(&self, line: u32, key: &str) -> String {
        format!("{}:{line}: {key}", self.file)
    }

    /// Removes a parameter and returns its line and text. A missing parameter is an error unless it
    /// `may_miss`.
    fn take(&mut self, key: &'static str, may_miss: bool) -> Option<(u32, String)> {
        self.known.push(key);
        let found = self.values.remove(key);
        if found.is_none() && !may_miss {
            self.wrong.add(format!("{}: {key}", self.file), "none", "a value: the device follows from it");
        }
        found
    }

    /// Parses a parameter with `read`. Returns `otherwise` if the parameter is missing or cannot be parsed.
    fn read<T>(
        &mut self,
        key: &'static str,
        otherwise: T,
        wanted: &dyn Display,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some((line, text)) = self.take(key, false) else { return otherwise };
        read(&text).unwrap_or_else(|| {
            let (place, found) = (self.place(line, key), format!("`{text}`"));
            self.wrong.add(place, found, wanted.to_string());
            otherwise
        })
    }

    /// An integer within `range`.
    pub fn whole(&mut self, key: &'static str, range: RangeInclusive<u64>) -> u64 {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        self.read(key, *range.start(), &wanted, |text| text.parse().ok().filter(|n| range.contains(n)))
    }

    /// A fraction of at least 0 and less than 1.
    pub fn fraction(&mut self, key: &'static str) -> f64 {
        let wanted = "a fraction from 0 to below 1";
        self.read(key, 0.0, &wanted, |text| text.parse().ok().filter(|n| (0.0..1.0).contains(n)))
    }

    /// A number above 0.
    pub fn number(&mut self, key: &'static str) -> f64 {
        let above = |n: &f64| *n > 0.0 && n.is_finite();
        self.read(key, 1.0, &"a number above 0", |text| text.parse().ok().filter(above))
    }

    /// True or false. Any other text is an error; MQSim reads it as true.
    pub fn flag(&mut self, key: &'static str) -> bool {
        self.read(key, false, &"true or false", |text| match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        })
    }

    /// One of `words`, which are capitals. Case is ignored, as in MQSim.
    pub fn word(&mut self, key: &'static str, words: &[&'static str]) -> &'static str {
        let Some((line, text)) = self.take(key, false) else { return words[0] };
        let capitals = text.to_ascii_uppercase();
        words.iter().find(|word| **word == capitals).copied().unwrap_or_else(|| {
            let place = self.place(line, key);
            self.wrong.add(place, format!("`{text}`"), one_of(&capitals, words));
            words[0]
        })
    }

    /// One of `words`. Returns the first of them if the parameter is missing, as in older files.
    pub fn word_or(&mut self, key: &'static str, words: &[&'static str]) -> &'static str {
        if self.values.contains_key(key) { self.word(key, words) } else { words[0] }
    }

    /// Removes a parameter that is not mapped, and returns its value if it exists.
    pub fn skip(&mut self, key: &'static str) -> Option<String> {
        self.take(key, true).map(|(_, text)| text)
    }

    /// Adds a complaint for each parameter that was not read, and returns all complaints.
    pub fn end(mut self) -> Complaints {
        for (name, (line, _)) in std::mem::take(&mut self.values) {
            let place = self.place(line, &name);
            self.wrong.add(place, "a parameter that is not known", one_of(&name, &self.known));
        }
        self.wrong
    }
}

/// Whether a node has child elements.
trait HasElements {
    fn has_children_elements(&self) -> bool;
}

impl HasElements for Node<'_, '_> {
    fn has_children_elements(&self) -> bool {
        self.children().any(|child| child.is_element())
    }
}
