//! Column map: an option that says what the columns of a text file hold, for files in no other format.
//!
//! The fields are listed in the order of the columns and separated by commas, such as
//! `ts:s,_,off:512,len:512,op:0=R|1=W`:
//!
//! | field | content of the column | after the colon |
//! |---|---|---|
//! | `ts` | arrival time | unit: `ps`, `ns`, `100ns`, `us`, `ms` or `s` |
//! | `off`, `len` | address and size | bytes of the unit, as a number or a size such as `4KiB`; bytes if not given |
//! | `op` | operation | texts and their operations, `TEXT=OP`, separated by bars; the texts of our CSV if not given |
//! | `dev` | device: a number, or a name | |
//! | `resp` | response time | unit, as for `ts` |
//! | `cpu` | processor | |
//! | `_` | anything: the column is ignored | |
//!
//! `NAME@N` is column N, counted from 1, and later fields follow it. `NAME@TEXT` is the column with this name in the
//! header of a text, or in a Parquet file; then every field has the name of its column. `op=R` and `op=W` are for files
//! without a column for the operation. An operation has the letters of our CSV, or is `-` for requests that are left
//! out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, one_of};

use super::Op;
use super::formats::TimeUnit;
use crate::{Error, error::Result};

/// Map of the columns of a text file, such as `ts:s,off:512,len:512,op:0=R|1=W`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Columns {
    text: String,
    pub(super) time: (usize, TimeUnit),
    pub(super) offset: (usize, Bytes),
    pub(super) size: (usize, Bytes),
    pub(super) op: OpColumn,
    pub(super) device: Option<usize>,
    pub(super) response: Option<(usize, TimeUnit)>,
    pub(super) cpu: Option<usize>,
    /// Columns that a line must have.
    pub(super) count: usize,
    /// Names of the columns, if the map gives names: column N of the map is the one with the Nth name.
    pub(super) names: Vec<String>,
}

/// Source of the operation of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OpColumn {
    /// All requests have this operation.
    Always(Op),
    /// A column, and the meaning of its texts, `None` for requests that are left out. Without texts, those of our CSV.
    At(usize, Vec<(String, Option<Op>)>),
}

/// Example for messages.
const EXAMPLE: &str = "ts:s,off:512,len:512,op:0=R|1=W";

/// Upper bound on the number of a column. Chosen: ten times the columns of the widest trace known.
const MAX_COLUMN: usize = 256;

/// Names of fields.
const FIELDS: [&str; 8] = ["ts", "off", "len", "op", "dev", "resp", "cpu", "_"];

/// A field with its column, the name of the column if that is given, and the text after the colon.
struct Field<'a> {
    name: &'a str,
    column: usize,
    title: Option<&'a str>,
    detail: Option<&'a str>,
}

impl Columns {
    /// Parses a map.
    ///
    /// # Errors
    /// [`Error::Argument`] for an unknown or missing field, and for a unit or operation that is none.
    pub fn parse(text: &str) -> Result<Self> {
        let (op, fields) = fields(text)?;
        let find = |name: &str| fields.iter().find(|field| field.name == name);
        let need = |name: &str| {
            find(name).ok_or_else(|| {
                wrong(format!("no {name} in \"{text}\""), format!("ts, off and len, as in {EXAMPLE}"))
            })
        };
        check_once(&fields)?;
        let titles: Vec<String> = fields.iter().filter_map(|field| field.title.map(str::to_string)).collect();
        if !titles.is_empty() && titles.len() < fields.len() {
            let bare = fields.iter().find(|field| field.title.is_none()).map_or("", |field| field.name);
            return Err(wrong(
                format!("{bare} without the name of a column"),
                "names for all columns, or for none",
            ));
        }
        let op = match (op, find("op")) {
            (Some(op), None) => OpColumn::Always(op),
            (None, Some(field)) => OpColumn::At(field.column, operations(field.detail.unwrap_or_default())?),
            (None, None) => return Err(wrong("no op", "op, or op=R or op=W for all requests")),
            (Some(_), Some(_)) => {
                return Err(wrong("op twice", "a column op, or op=R or op=W for all requests"));
            }
        };
        let (time, offset, size) = (need("ts")?, need("off")?, need("len")?);
        for name in ["dev", "cpu"] {
            if let Some(detail) = find(name).and_then(|field| field.detail) {
                return Err(wrong(format!("\"{name}:{detail}\""), format!("{name} without a unit")));
            }
        }
        Ok(Self {
            text: text.into(),
            time: (time.column, time_unit(time)?),
            offset: (offset.column, byte_unit(offset)?),
            size: (size.column, byte_unit(size)?),
            op,
            device: find("dev").map(|field| field.column),
            response: find("resp")
                .map(|field| Ok::<_, Error>((field.column, time_unit(field)?)))
                .transpose()?,
            cpu: find("cpu").map(|field| field.column),
            count: fields.iter().map(|field| field.column + 1).max().unwrap_or(0),
            names: titles,
        })
    }

    /// Returns the map with the numbers of its columns in a file with this header, or the name of a column that the
    /// header does not have. A map without names stays as it is.
    pub(super) fn within<'a>(&'a self, header: &[&str]) -> std::result::Result<Self, &'a str> {
        let mut numbers = Vec::new();
        for name in &self.names {
            numbers.push(header.iter().position(|other| other == name).ok_or(name.as_str())?);
        }
        if numbers.is_empty() {
            return Ok(self.clone());
        }
        let op = match &self.op {
            OpColumn::Always(op) => OpColumn::Always(*op),
            OpColumn::At(column, texts) => OpColumn::At(numbers[*column], texts.clone()),
        };
        Ok(Self {
            text: self.text.clone(),
            time: (numbers[self.time.0], self.time.1),
            offset: (numbers[self.offset.0], self.offset.1),
            size: (numbers[self.size.0], self.size.1),
            op,
            device: self.device.map(|column| numbers[column]),
            response: self.response.map(|(column, unit)| (numbers[column], unit)),
            cpu: self.cpu.map(|column| numbers[column]),
            count: numbers.iter().max().map_or(0, |last| last + 1),
            names: Vec::new(),
        })
    }

    /// Numbers of the columns that the map uses.
    pub(super) fn used(&self) -> Vec<usize> {
        let op = match &self.op {
            OpColumn::Always(_) => None,
            OpColumn::At(column, _) => Some(*column),
        };
        let optional = [op, self.device, self.response.map(|(column, _)| column), self.cpu];
        [self.time.0, self.offset.0, self.size.0].into_iter().chain(optional.into_iter().flatten()).collect()
    }
}

/// Refuses a map with two columns for a field, or with two fields in a column.
fn check_once(fields: &[Field<'_>]) -> Result<()> {
    for (at, field) in fields.iter().enumerate() {
        let is_again = |other: &Field<'_>| {
            other.name == field.name
                || other.column == field.column
                || (other.title.is_some() && other.title == field.title)
        };
        if fields[..at].iter().any(is_again) {
            let column =
                field.title.map_or_else(|| (field.column + 1).to_string(), |name| format!("\"{name}\""));
            return Err(wrong(
                format!("{} in column {column} twice", field.name),
                "each field and each column once",
            ));
        }
    }
    Ok(())
}

impl TryFrom<String> for Columns {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Columns> for String {
    fn from(columns: Columns) -> Self {
        columns.text
    }
}

fn wrong(found: impl Into<String>, wanted: impl Into<String>) -> Error {
    Error::Argument { what: "trace option columns".into(), found: found.into(), wanted: wanted.into() }
}

/// Returns the operation of all requests, if the map gives it, and the fields except ignored columns.
fn fields(text: &str) -> Result<(Option<Op>, Vec<Field<'_>>)> {
    let (mut always, mut fields, mut next) = (None, Vec::new(), 0);
    for item in text.split(',').map(str::trim) {
        let (head, detail) = item.split_once(':').map_or((item, None), |(head, detail)| (head, Some(detail)));
        if let (Some(letter), None) = (head.strip_prefix("op="), detail) {
            always = Some(
                operation(letter)?
                    .ok_or_else(|| wrong(format!("\"{item}\""), "an operation such as op=R"))?,
            );
            continue;
        }
        let (name, place) = head.split_once('@').map_or((head, None), |(name, place)| (name, Some(place)));
        if !FIELDS.contains(&name) {
            return Err(wrong(format!("\"{item}\""), format!("{}, as in {EXAMPLE}", one_of(name, &FIELDS))));
        }
        let (column, title) = match place {
            None => (next, None),
            Some(place) => match place.parse::<usize>() {
                Ok(number @ 1..) => (number - 1, None),
                Err(_) if !place.is_empty() && name != "_" => (fields.len(), Some(place)),
                _ => {
                    let wanted = "the number of a column, from 1, or its name, after @";
                    return Err(wrong(format!("\"{item}\""), wanted));
                }
            },
        };
        if column >= MAX_COLUMN {
            return Err(wrong(format!("column {}", column + 1), format!("at most {MAX_COLUMN} columns")));
        }
        next = column + 1;
        match (name, detail) {
            ("_", None) => {}
            ("_", Some(_)) => {
                return Err(wrong(format!("\"{item}\""), "_ alone for a column that is ignored"));
            }
            _ => fields.push(Field { name, column, title, detail }),
        }
    }
    Ok((always, fields))
}

fn time_unit(field: &Field<'_>) -> Result<TimeUnit> {
    let text = field.detail.unwrap_or_default();
    TimeUnit::ALL.into_iter().find(|unit| unit.name() == text).ok_or_else(|| {
        let found = if text.is_empty() {
            format!("{} without a unit", field.name)
        } else {
            format!("unit \"{text}\"")
        };
        wrong(
            found,
            format!("{} with a unit, {}", field.name, one_of(text, &TimeUnit::ALL.map(TimeUnit::name))),
        )
    })
}

fn byte_unit(field: &Field<'_>) -> Result<Bytes> {
    let Some(text) = field.detail else { return Ok(Bytes(1)) };
    let unit = text.parse().map(Bytes).ok().or_else(|| text.parse().ok());
    // Chosen: 1 GiB is far above any unit in which a trace counts.
    unit.filter(|unit| (1..=1 << 30).contains(&unit.0)).ok_or_else(|| {
        wrong(format!("unit \"{text}\" of {}", field.name), "its bytes, such as 512 or 4KiB, at most 1GiB")
    })
}

/// Parses an operation; the inner `None` for requests that are left out.
fn operation(letter: &str) -> Result<Option<Op>> {
    if letter == "-" {
        return Ok(None);
    }
    let found = Op::ALL.into_iter().find(|op| op.letters().eq_ignore_ascii_case(letter));
    found.map(Some).ok_or_else(|| {
        wrong(
            format!("operation \"{letter}\""),
            "R, W, D, F, Z, C, ZA, ZR, ZF, ZO, ZC, or - for requests that are left out",
        )
    })
}

/// Parses texts and their operations: `0=R|1=W`.
fn operations(text: &str) -> Result<Vec<(String, Option<Op>)>> {
    let mut known: Vec<(String, Option<Op>)> = Vec::new();
    for pair in text.split('|').filter(|_| !text.is_empty()) {
        let (value, letter) =
            pair.split_once('=').ok_or_else(|| wrong(format!("\"{pair}\""), "TEXT=OP, as in op:0=R|1=W"))?;
        if known.iter().any(|(other, _)| other == value) {
            return Err(wrong(format!("operation text \"{value}\" twice"), "each text once"));
        }
        known.push((value.into(), operation(letter)?));
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_columns_and_units() {
        let map = Columns::parse("ts:100ns, _, off:4KiB,len@6,op:rd=R|wr=W|x=-,resp:us,dev@1")
            .expect_err("a column twice");
        assert!(map.to_string().contains("found dev in column 1 twice"), "{map}");
        let map =
            Columns::parse("ts:100ns, _, off:4KiB,len@6,op:rd=R|wr=W|x=-,resp:us,dev@9,cpu").expect("valid");
        assert_eq!(
            (map.time, map.offset, map.size),
            ((0, TimeUnit::HundredNs), (2, Bytes::kib(4)), (5, Bytes(1)))
        );
        let texts = [("rd", Some(Op::Read)), ("wr", Some(Op::Write)), ("x", None)];
        let texts = texts.map(|(text, op)| (text.to_string(), op)).to_vec();
        assert_eq!(map.op, OpColumn::At(6, texts));
        assert_eq!(
            (map.response, map.device, map.cpu, map.count),
            (Some((7, TimeUnit::Us)), Some(8), Some(9), 10)
        );
        let map = Columns::parse("off,len:512,ts:s,op=W").expect("valid");
        assert_eq!((map.op, map.size, map.count), (OpColumn::Always(Op::Write), (1, Bytes(512)), 3));
    }

    #[test]
    fn names_of_columns_become_their_numbers_in_a_header() {
        let map =
            Columns::parse("op@type:0=R|1=W,ts@when:us,off@lba:512,len@blocks:512,cpu@cpu").expect("valid");
        let within = map.within(&["when", "cpu", "type", "x", "blocks", "lba"]).expect("all are there");
        assert_eq!((within.time.0, within.offset.0, within.size.0, within.cpu), (0, 5, 4, Some(1)));
        assert_eq!((within.used(), within.count), (vec![0, 5, 4, 2, 1], 6));
        assert_eq!(map.within(&["when", "type", "blocks", "cpu"]), Err("lba"));
        let map = Columns::parse("ts:s,off,len,op").expect("valid");
        assert_eq!(map.within(&[]), Ok(map.clone()));
    }

    #[test]
    fn a_wrong_map_names_the_field() {
        for (text, message) in [
            ("", "found \"\", wanted one of ts, off"),
            ("ts,off,len,op", "found ts without a unit, wanted ts with a unit, one of ps, ns"),
            ("ts:sec,off,len,op", "found unit \"sec\""),
            ("ts:s,off:0,len,op", "found unit \"0\" of off, wanted its bytes"),
            ("ts:s,off,len", "found no op, wanted op, or op=R or op=W"),
            ("ts:s,off,op", "found no len in \"ts:s,off,op\", wanted ts, off and len"),
            ("ts:s,off,len,op:0=R|1", "found \"1\", wanted TEXT=OP"),
            ("ts:s,off,len,op:0=R|0=W", "found operation text \"0\" twice"),
            (
                "ts:s,off,len,op:0=X",
                "found operation \"X\", wanted R, W, D, F, Z, C, ZA, ZR, ZF, ZO, ZC, or -",
            ),
            ("ts:s,off,len,op=-", "found \"op=-\", wanted an operation such as op=R"),
            ("ts:s,off,len,op,op=R", "found op twice"),
            ("ts:s,offset,len,op", "found \"offset\", wanted one of ts, off"),
            ("ts@0:s,off,len,op", "found \"ts@0:s\", wanted the number of a column, from 1, or its name"),
            ("ts@:s,off,len,op", "found \"ts@:s\", wanted the number of a column, from 1, or its name"),
            ("ts@when:s,off,len@much,op=R", "found off without the name of a column, wanted names for all"),
            ("ts@when:s,off@when,len@much,op=R", "found off in column \"when\" twice"),
            ("ts@when:s,_@x,off@where,len@much,op=R", "found \"_@x\", wanted the number of a column"),
            ("ts@999:s,off,len,op", "found column 999, wanted at most 256 columns"),
            ("ts:s,off,len,op,dev:s", "found \"dev:s\", wanted dev without a unit"),
            ("ts:s,_:2,off,len,op", "found \"_:2\", wanted _ alone"),
        ] {
            let error = Columns::parse(text).expect_err(text).to_string();
            assert!(
                error.starts_with("trace option columns: ") && error.contains(message),
                "{text}: {error}"
            );
        }
    }
}
