//! Syntax of operations on the command line: `[DIES:]OPERATION[@PLANES][*TIMES]`.

use serde::Serialize;
use wordline_nand::Part;

use crate::error::{Error, Result};

/// Greatest number of operations in one call. Chosen: viewers load larger time lines slowly.
const MOST_OPERATIONS: u64 = 100_000;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Read pages and transfer data out.
    Read,
    /// A sequence of cache reads. Data are transferred out while the next pages are read.
    ReadCache,
    /// Transfer data in and program.
    Program,
    /// A sequence of cache programs. Data are transferred in while the previous pages are programmed.
    ProgramCache,
    /// Read pages, and program them elsewhere in the same planes.
    Copyback,
    /// Erase blocks.
    Erase,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::ReadCache, Self::Program, Self::ProgramCache, Self::Copyback, Self::Erase];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        ["read", "read-cache", "program", "program-cache", "copyback", "erase"][self as usize]
    }

    /// The reason why `part` does not support this operation; `None` if it does.
    pub fn unsupported_reason(self, part: &Part) -> Option<&'static str> {
        let geometry = &part.geometry;
        match self {
            Self::ReadCache | Self::ProgramCache if geometry.registers < 2 && !geometry.one_shot => {
                Some("the part has one page register: no cache operations")
            }
            Self::Copyback if geometry.one_shot => {
                Some("the part programs whole word lines: no copyback of a page")
            }
            _ => None,
        }
    }
}

/// A number of operations of one kind, in sequence on each of some dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Numbers of the dies, without repetition.
    pub dies: Vec<u32>,
    /// Kind of these operations.
    pub kind: Kind,
    /// Number of planes, from plane 0 on.
    pub planes: u32,
    /// Number of operations on each die. Cache operations form one sequence.
    pub times: u32,
}

impl Item {
    /// Name in tables and time lines: `read`, or `read@2` for two planes.
    pub fn name(&self) -> String {
        let name = self.kind.name();
        if self.planes == 1 { name.to_owned() } else { format!("{name}@{}", self.planes) }
    }
}

/// Parses the operations in `arguments`, for `dies` dies of `part`.
pub fn parse(arguments: &[String], part: &Part, dies: u32) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let mut sum = 0;
    for argument in arguments {
        let mut spelled = OperationParser { text: argument, at: 0 };
        loop {
            spelled.at += spelled.rest().len() - spelled.rest().trim_start().len();
            if spelled.rest().is_empty() {
                break;
            }
            let begin = spelled.at;
            let item = spelled.item(part, dies)?;
            sum += item.dies.len() as u64 * u64::from(item.times);
            if sum > MOST_OPERATIONS {
                let wanted = format!("at most {MOST_OPERATIONS} operations in all");
                return Err(spelled.error(begin, format!("{sum} operations up to here"), wanted));
            }
            items.push(item);
        }
    }
    if items.is_empty() {
        let (found, wanted) = ("none".into(), "at least one, such as `program*4` or `0-1:read@2`".into());
        return Err(Error::Argument { what: "operations".into(), found, wanted });
    }
    Ok(items)
}

/// An argument, and a position in it.
struct OperationParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> OperationParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// An error at byte `at`.
    fn error(&self, at: usize, found: String, wanted: String) -> Error {
        let place = self.text[..at].chars().count() + 1;
        Error::Argument { what: format!("operation `{}`, character {place}", self.text), found, wanted }
    }

    /// The text from `at` to the next separator, for messages.
    fn word_at(&self, at: usize) -> String {
        let text = &self.text[at..];
        let end = text.find(|c: char| c.is_whitespace() || ":@*,".contains(c)).unwrap_or(text.len());
        match (&text[..end], text.chars().next()) {
            ("", None) => "nothing".into(),
            ("", Some(sign)) => format!("`{sign}`"),
            (word, _) => format!("`{word}`"),
        }
    }

    fn consume(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    /// An integer from `least` to `most`.
    fn number(&mut self, what: &str, least: u32, most: u32) -> Result<u32> {
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        match rest[..digits].parse() {
            Ok(number) if (least..=most).contains(&number) => {
                self.at += digits;
                Ok(number)
            }
            _ => {
                let wanted = format!("{what} from {least} to {most}");
                Err(self.error(self.at, self.word_at(self.at), wanted))
            }
        }
    }

    fn item(&mut self, part: &Part, dies: u32) -> Result<Item> {
        let end = self.rest().find(char::is_whitespace).unwrap_or(self.rest().len());
        let named = if self.rest()[..end].contains(':') { self.dies(dies)? } else { vec![0] };
        let kind = self.kind(part)?;
        let planes = if self.consume("@") { self.planes(part)? } else { 1 };
        let times =
            if self.consume("*") { self.number("how many times", 1, MOST_OPERATIONS as u32)? } else { 1 };
        if !self.rest().is_empty() && !self.rest().starts_with(char::is_whitespace) {
            let wanted = "@PLANES, then *TIMES, or the end of the operation";
            return Err(self.error(self.at, self.word_at(self.at), wanted.into()));
        }
        Ok(Item { dies: named, kind, planes, times })
    }

    fn planes(&mut self, part: &Part) -> Result<u32> {
        let planes = self.number("a number of planes", 1, part.geometry.planes)?;
        let _ = self.consume("planes") || self.consume("plane");
        Ok(planes)
    }

    /// Parses the dies before the colon: `all`, or numbers and ranges separated by commas.
    fn dies(&mut self, dies: u32) -> Result<Vec<u32>> {
        let mut named = Vec::new();
        if self.consume("all") {
            named = (0..dies).collect();
        } else {
            loop {
                let begin = self.at;
                let first = self.number("`all`, or a die", 0, dies - 1)?;
                let last = if self.consume("-") { self.number("a die", first, dies - 1)? } else { first };
                if let Some(twice) = (first..=last).find(|die| named.contains(die)) {
                    return Err(self.error(begin, format!("die {twice} again"), "each die once".into()));
                }
                named.extend(first..=last);
                if !self.consume(",") {
                    break;
                }
            }
        }
        if self.consume(":") {
            return Ok(named);
        }
        Err(self.error(self.at, self.word_at(self.at), "a colon after the dies".into()))
    }

    fn kind(&mut self, part: &Part) -> Result<Kind> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == &rest[..end]) else {
            let names = Kind::ALL.map(Kind::name).join(", ");
            return Err(self.error(self.at, self.word_at(self.at), format!("one of {names}")));
        };
        if let Some(why) = kind.unsupported_reason(part) {
            let found = format!("`{}`", kind.name());
            return Err(self.error(self.at, found, format!("another operation: {why}")));
        }
        self.at += end;
        Ok(kind)
    }
}
