//! Sentences that several runs have, such as notes.

use std::collections::BTreeMap;

use serde::Serialize;

/// A sentence, and the number of runs that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// Text of the sentence. A number that is not the same in all runs stands as the least and the greatest,
    /// such as `1.97 to 7.24`.
    pub text: String,
    /// Number of runs that have the sentence.
    pub runs: usize,
}

/// The words of a sentence: the text before, between and behind its numbers.
type Words<'a> = Vec<&'a str>;

/// The least and the greatest value of each number of a sentence.
type Numbers<'a> = Vec<[&'a str; 2]>;

/// The different sentences of several runs, in the order of their first runs. Sentences that differ only in
/// numbers count as one.
pub(super) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<Statement> {
    let mut places: BTreeMap<Words<'a>, usize> = BTreeMap::new();
    let mut found: Vec<(Words<'a>, Numbers<'a>, usize)> = Vec::new();
    for text in all {
        let (words, numbers) = pieces(text);
        let place = *places.entry(words.clone()).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, ranges, runs)) => {
                *runs += 1;
                for ([least, greatest], number) in ranges.iter_mut().zip(numbers) {
                    if value(number) < value(least) {
                        *least = number;
                    }
                    if value(number) > value(greatest) {
                        *greatest = number;
                    }
                }
            }
            None => found.push((words, numbers.into_iter().map(|number| [number; 2]).collect(), 1)),
        }
    }
    found.iter().map(|(words, ranges, runs)| Statement { text: joined(words, ranges), runs: *runs }).collect()
}

/// The words and the numbers of a sentence. A number has digits, and points and commas between them.
fn pieces(text: &str) -> (Words<'_>, Vec<&str>) {
    let (mut words, mut numbers, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some(begin) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let bytes = rest.as_bytes();
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let is_within = |at: &usize| is_digit(*at) || matches!(bytes[*at], b'.' | b',') && is_digit(at + 1);
        let end = (begin..rest.len()).take_while(is_within).last().map_or(begin, |last| last + 1);
        words.push(&rest[..begin]);
        numbers.push(&rest[begin..end]);
        rest = &rest[end..];
    }
    words.push(rest);
    (words, numbers)
}

fn value(number: &str) -> f64 {
    number.replace(',', "").parse().unwrap_or(f64::NAN)
}

fn joined(words: &[&str], ranges: &[[&str; 2]]) -> String {
    let ranges = ranges.iter().map(|[least, greatest]| match least == greatest {
        true => (*least).to_owned(),
        false => format!("{least} to {greatest}"),
    });
    words
        .iter()
        .map(|words| (*words).to_owned())
        .zip(ranges.chain([String::new()]))
        .map(|(a, b)| a + &b)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_are_a_range() {
        let all = [
            "3,166,038 pages overwritten, WAF 7.241, MSER-5",
            "no number",
            "966,038 pages overwritten, WAF 1.97, MSER-5",
            "1,000 pages overwritten, WAF 10.2, MSER-5",
        ];
        let found = distinct(all.into_iter());
        let found: Vec<(&str, usize)> = found.iter().map(|one| (one.text.as_str(), one.runs)).collect();
        assert_eq!(
            found,
            [("1,000 to 3,166,038 pages overwritten, WAF 1.97 to 10.2, MSER-5", 3), ("no number", 1)]
        );
        assert_eq!(pieces("1.2.3 of 4. 5,"), (vec!["", " of ", ". ", ","], vec!["1.2.3", "4", "5"]));
    }
}
