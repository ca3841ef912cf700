//! Validation errors of an input. An error has the full key, the value found and the values allowed. All
//! errors are reported at once.

use std::fmt;

/// One invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The key in full, such as `ftl.gc.start_below_free_blocks`.
    pub key: String,
    /// The value found.
    pub found: String,
    /// The values that are allowed.
    pub wanted: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: found {}, wanted {}", self.key, self.found, self.wanted)
    }
}

/// All complaints about one input, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaints(pub Vec<Complaint>);

impl Complaints {
    /// Adds a complaint about `key`.
    pub fn add(&mut self, key: impl Into<String>, found: impl fmt::Display, wanted: impl Into<String>) {
        self.0.push(Complaint { key: key.into(), found: found.to_string(), wanted: wanted.into() });
    }

    /// Adds a complaint unless `holds`.
    pub fn require(&mut self, holds: bool, key: &str, found: impl fmt::Display, wanted: impl Into<String>) {
        if !holds {
            self.add(key, found, wanted);
        }
    }

    /// Adds the complaints about a part of the input, with `prefix` before their keys. A complaint without a
    /// key is about the whole part. A complaint with a key such as `[2]` is about an item of it.
    pub fn nest(&mut self, prefix: &str, inner: Complaints) {
        let key = |key: &str| match key.chars().next() {
            None | Some('[') => format!("{prefix}{key}"),
            Some(_) => format!("{prefix}.{key}"),
        };
        self.0.extend(inner.0.into_iter().map(|c| Complaint { key: key(&c.key), ..c }));
    }

    /// `value` if there are no complaints.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Complaints {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, complaint) in self.0.iter().enumerate() {
            write!(out, "{}{complaint}", if n == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Complaints {}

/// `one of a, b`. If `found` is probably a misspelling of one of the names, or a part of some of them, these
/// come first.
pub fn one_of(found: &str, names: &[&str]) -> String {
    if let [only] = names {
        return (*only).to_owned();
    }
    // Up to a third of the letters may be wrong, and in short names up to two. Chosen so that `gredy` finds
    // `greedy`.
    let is_near = |name: &&str| !found.is_empty() && distance(found, name) <= (name.len() / 3).max(2);
    let contains_it = |name: &&str| found.len() >= SHORTEST_PART && name.contains(found);
    let meant: Vec<&str> = match nearest(found, names).filter(is_near) {
        Some(nearest) => vec![nearest],
        None => names.iter().filter(|name| contains_it(name)).copied().collect(),
    };
    let others: Vec<&str> = names.iter().filter(|name| !meant.contains(name)).copied().collect();
    if meant.is_empty() || others.is_empty() {
        return format!("one of {}", names.join(", "));
    }
    format!("{}, or another of {}", meant.join(", "), others.join(", "))
}

/// Letters of a part by which names are proposed. Chosen: fewer are in too many names.
const SHORTEST_PART: usize = 3;

/// The name at the smallest edit distance from `found`. Of several such names, the first in alphabetical
/// order.
pub fn nearest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    names.iter().min_by_key(|name| (distance(found, name), **name)).copied()
}

/// Damerau-Levenshtein distance: letters to add, drop or change, and neighbours to swap, to turn `a` into
/// `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(100).collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            next[j] = change.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && (a[i - 1], a[i - 2]) == (b[j - 2], b[j - 1]) {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_complaint_names_its_key_in_full() {
        let mut inner = Complaints::default();
        inner.require(false, "spare_fraction", 1.7, "a fraction from 0 to below 1");
        let mut all = Complaints::default();
        all.nest("ftl", inner);
        assert_eq!(all.to_string(), "ftl.spare_fraction: found 1.7, wanted a fraction from 0 to below 1");
        assert!(all.into_result(()).is_err());
    }

    #[test]
    fn two_letters_that_changed_places_are_one_slip() {
        let names = ["decides", "design", "designs", "device"];
        for (found, meant) in [("desings", "designs"), ("desgin", "design"), ("dceides", "decides")] {
            let text = one_of(found, &names);
            assert!(text.starts_with(&format!("{meant}, or another of ")), "{found}: {text}");
        }
        assert!(one_of("parts", &names).starts_with("one of decides, "));
    }

    #[test]
    fn names_that_contain_what_was_found_come_first() {
        let names = ["mail", "mixed-70-30", "mixed-sizes", "zipf-read-write"];
        assert_eq!(one_of("mixed", &names), "mixed-70-30, mixed-sizes, or another of mail, zipf-read-write");
        assert!(one_of("i", &names).starts_with("one of mail, "));
        assert_eq!(one_of("mixed", &names[1..3]), "one of mixed-70-30, mixed-sizes");
    }

    #[test]
    fn a_nested_complaint_about_an_item_has_its_number_in_brackets() {
        let (mut inner, mut all) = (Complaints::default(), Complaints::default());
        inner.add("[2].size", 0, "1 or more");
        all.nest("threads[1].loop", inner);
        assert_eq!(all.to_string(), "threads[1].loop[2].size: found 0, wanted 1 or more");
    }
}
