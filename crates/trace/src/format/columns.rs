//! Text in no other format, with one request per line: a column map says what its columns hold.
//!
//! Columns are separated by commas, semicolons or tabs, else by spaces, whichever the first line has. The first line
//! is a header if the map names columns, or if its columns of numbers have no digits.

use wordline_kernel::counted;

use super::super::Op;
use super::super::columns::{Columns, OpColumn};
use super::super::field::{parse_bytes, parse_decimal, parse_small, unquoted};
use super::super::input::{ParseError, quoted};
use super::super::recorded::RecordedOp;
use super::super::row::{LineReader, Row, op};
use super::names::Names;

/// Map of the columns of Wordline's own log of requests (docs/report.md). Operations are their numbers, or their names in
/// the log of Python.
const LOG: &str = "ts@submitted_ps:ps,resp@latency_ps:ps,off@sector:512,len@sectors:512,\
                   op@operation:0=R|1=W|2=D|3=F|4=Z|5=C|6=ZA|7=ZR|8=ZF|9=ZO|10=ZC|\
                   read=R|write=W|discard=D|flush=F|write_zeroes=Z|compare=C|zone_append=ZA|\
                   zone_reset=ZR|zone_finish=ZF|zone_open=ZO|zone_close=ZC";

/// Note on a file with the columns of the log.
pub(super) const LOG_NOTE: &str = "columns are those of Wordline's log of requests";

/// Whether a header names the columns of the log.
pub(super) fn is_log(header: &str) -> bool {
    let names = || header.split(',').map(|name| unquoted(name, '"'));
    ["submitted_ps", "operation", "sector", "sectors"].iter().all(|name| names().any(|other| other == *name))
}

/// Returns the map of the log.
pub(super) fn log_map() -> Columns {
    Columns::parse(LOG).expect("it is valid")
}

/// Returns the map of a text with the columns of the log.
pub(super) fn log_of(prefix: &[u8]) -> Option<Box<Columns>> {
    let text = String::from_utf8_lossy(prefix);
    let mut rows = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.next().is_some_and(is_log).then(|| Box::new(log_map()))
}

/// Separator of columns.
#[derive(Clone, Copy)]
pub(super) enum Separator {
    Character(char),
    Spaces,
}

impl Separator {
    /// Returns the separator of a line.
    pub(super) fn of(line: &str) -> Self {
        [',', ';', '\t'].into_iter().find(|mark| line.contains(*mark)).map_or(Self::Spaces, Self::Character)
    }

    /// Splits a line into fields, without quotes.
    pub(super) fn split(self, line: &str) -> Vec<&str> {
        match self {
            Self::Character(mark) => line.split(mark).map(|field| unquoted(field, '"')).collect(),
            Self::Spaces => line.split_ascii_whitespace().map(|field| unquoted(field, '"')).collect(),
        }
    }
}

/// Number of the first name of a device in a file that also has numbers. Chosen: above the numbers of the disks of Linux,
/// whose largest majors are a few hundred.
const FIRST_NAME: u32 = 1 << 31;

/// Reads the lines.
pub(super) struct Mapped {
    columns: Box<Columns>,
    separator: Option<Separator>,
    names: Names,
    /// Whether numbers of devices are their numbers, as the first device decides. Else they are names, too.
    has_numbers: Option<bool>,
    header: Option<String>,
}

impl Mapped {
    pub(super) fn new(columns: Box<Columns>) -> Self {
        Self { columns, separator: None, names: Names::of("device"), has_numbers: None, header: None }
    }

    /// Reads lines without a header, separated by `mark`. The map has numbers of columns.
    pub(super) fn separated_by(columns: Columns, mark: char) -> Self {
        Self { separator: Some(Separator::Character(mark)), ..Self::new(Box::new(columns)) }
    }

    /// Takes the header that a map with names of columns needs.
    fn set_header(&mut self, line: &str, fields: &[&str]) -> Result<(), ParseError> {
        let within = self.columns.within(fields).map_err(|name| ParseError {
            found: format!("no column {} in {}", quoted(name), quoted(line)),
            wanted: "a first line with the names that the option columns has".into(),
        })?;
        *self.columns = within;
        self.header = Some(line.into());
        Ok(())
    }

    /// Returns the operation of a line; `None` if it is left out.
    fn op(&self, fields: &[&str]) -> Result<Option<Op>, ParseError> {
        match &self.columns.op {
            OpColumn::Always(op) => Ok(Some(*op)),
            OpColumn::At(column, texts) if texts.is_empty() => op(fields[*column]).map(Some),
            OpColumn::At(column, texts) => {
                let text = fields[*column];
                let known = || texts.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(", ");
                texts.iter().find(|(known, _)| known == text).map(|(_, op)| *op).ok_or_else(|| ParseError {
                    found: format!("op {}", quoted(text)),
                    wanted: format!("one of {}, as in the option columns", known()),
                })
            }
        }
    }

    /// Returns the number of the device: the text itself, or its place among the names. The names behind a number are
    /// numbered from [`FIRST_NAME`] on, so that no name gets the number of another device.
    fn device(&mut self, text: Option<&str>) -> Result<u32, ParseError> {
        let Some(text) = text else { return Ok(0) };
        let number = text.parse().ok().filter(|number| *number < FIRST_NAME);
        if self.has_numbers.is_none() {
            self.has_numbers = Some(number.is_some());
            self.names.start_at(if number.is_some() { FIRST_NAME } else { 0 });
        }
        match number {
            Some(number) if self.has_numbers == Some(true) => Ok(number),
            _ => self.names.number(text),
        }
    }

    /// Whether a line names its columns.
    fn is_header(&self, fields: &[&str]) -> bool {
        let Columns { time, offset, size, .. } = &*self.columns;
        [time.0, offset.0, size.0]
            .iter()
            .all(|column| !fields[*column].bytes().any(|byte| byte.is_ascii_digit()))
    }
}

impl LineReader for Mapped {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        let is_first = self.separator.is_none();
        let separator = *self.separator.get_or_insert_with(|| Separator::of(line));
        let fields = separator.split(line);
        if is_first && !self.columns.names.is_empty() {
            return self.set_header(line, &fields).map(|()| None);
        }
        if fields.len() < self.columns.count {
            return Err(ParseError {
                found: format!("{} in {}", counted(fields.len() as u64, "column"), quoted(line)),
                wanted: format!("{} columns or more, as the option columns has", self.columns.count),
            });
        }
        if is_first && self.is_header(&fields) {
            self.header = Some(line.into());
            return Ok(None);
        }
        let Columns { time, offset, size, device, response, cpu, .. } = *self.columns;
        let time = parse_decimal(fields[time.0], time.1.ps(), "ts")?;
        let op = self.op(&fields)?;
        let device = self.device(device.map(|column| fields[column]))?;
        let Some(op) = op else { return Ok(Some(Row::left_out(time, RecordedOp::Unwanted, device, None))) };
        let count = |(column, unit): (usize, _), what| match (op, fields[column]) {
            (Op::Flush, "" | "-") => Ok(0),
            (_, text) => parse_bytes(text, unit, what),
        };
        let mut row = Row::new(time, op, device, count(offset, "off")?, count(size, "len")?)?;
        let response = response.map(|(column, unit)| (fields[column], unit));
        if let Some((text, unit)) = response.filter(|(text, _)| !text.is_empty()) {
            row.set_response(parse_decimal(text, unit.ps(), "resp")?);
        }
        row.cpu = match cpu.map(|column| fields[column]) {
            None | Some("") => None,
            Some(text) => Some(parse_small(text, "cpu")?),
        };
        Ok(Some(row))
    }

    fn notes(&self) -> Vec<String> {
        let header =
            self.header.as_ref().map(|line| format!("the first line names the columns: {}", quoted(line)));
        header.into_iter().chain(self.names.note()).collect()
    }
}
