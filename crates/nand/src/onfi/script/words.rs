//! The parser of a line, word by word.

use std::str::FromStr;

use wordline_kernel::Duration;

/// A parse error: the text found in a line, and the text expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParseError {
    pub found: String,
    pub wanted: String,
}

pub(super) type Read<T> = Result<T, ParseError>;

/// The rest of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub fn of(line: &'a str) -> Self {
        Self { rest: line.trim() }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next word, without taking it.
    pub fn peek(&self) -> Option<&'a str> {
        self.rest.split_whitespace().next()
    }

    /// The error that the next word is not `wanted`.
    pub fn wrong(&self, wanted: impl Into<String>) -> ParseError {
        let found = self.peek().map_or("the end of the line".into(), |word| format!("`{word}`"));
        ParseError { found, wanted: wanted.into() }
    }

    pub fn next(&mut self, wanted: &str) -> Read<&'a str> {
        let word = self.peek().ok_or_else(|| self.wrong(wanted))?;
        self.rest = self.rest[word.len()..].trim_start();
        Ok(word)
    }

    /// Takes the next word if it is `word`.
    pub fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.rest = self.rest[word.len()..].trim_start();
        }
        found
    }

    /// Takes one of `words` and returns its index.
    pub fn choice(&mut self, words: &[&str]) -> Read<usize> {
        let place = words.iter().position(|word| self.take(word));
        place.ok_or_else(|| self.wrong(one_of(words)))
    }

    pub fn read<T: FromStr>(&mut self, wanted: &str) -> Read<T> {
        let before = *self;
        self.next(wanted)?.parse().map_err(|_| before.wrong(wanted))
    }

    /// A whole number from `least` to `most`.
    pub fn number(&mut self, least: u32, most: u32) -> Read<u32> {
        let wanted = format!("a number from {least} to {most}");
        let before = *self;
        let number = self.read(&wanted)?;
        if (least..=most).contains(&number) { Ok(number) } else { Err(before.wrong(wanted)) }
    }

    /// A byte as two hexadecimal digits.
    pub fn byte(&mut self) -> Read<u8> {
        let before = *self;
        let word = self.next(A_BYTE)?;
        byte(word).ok_or_else(|| before.wrong(A_BYTE))
    }

    /// One or more bytes, up to the end of the line or a word that is not a byte.
    pub fn bytes(&mut self) -> Read<Vec<u8>> {
        let mut bytes = vec![self.byte()?];
        while self.peek().is_some_and(|word| byte(word).is_some()) {
            bytes.push(self.byte()?);
        }
        Ok(bytes)
    }

    /// A time with its unit.
    pub fn time(&mut self) -> Read<Duration> {
        self.read("a time with a unit, such as `100ns`")
    }

    /// Fields `key=number` in any order, each of `keys` at most once.
    pub fn fields<const N: usize>(&mut self, keys: [&str; N]) -> Read<[Option<u32>; N]> {
        let mut values = [None; N];
        while let Some((key, value)) = self.peek().and_then(|word| word.split_once('=')) {
            let place = keys.iter().position(|k| *k == key);
            let place = place.ok_or_else(|| self.wrong(format!("{} with `=`", one_of(&keys))))?;
            if values[place].is_some() {
                return Err(self.wrong(format!("`{key}=` once only")));
            }
            values[place] = Some(value.parse().map_err(|_| self.wrong(format!("a number after `{key}=`")))?);
            self.next("a field")?;
        }
        Ok(values)
    }

    /// Checks that the line ends here.
    pub fn end(&self) -> Read<()> {
        if self.is_empty() { Ok(()) } else { Err(self.wrong("the end of the line")) }
    }
}

const A_BYTE: &str = "a byte as two hexadecimal digits, such as `3F`";

fn byte(word: &str) -> Option<u8> {
    let digits = word.len() == 2 && word.bytes().all(|digit| digit.is_ascii_hexdigit());
    if digits { u8::from_str_radix(word, 16).ok() } else { None }
}

/// `a`, `b` or `c`, in backticks.
pub(super) fn one_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
