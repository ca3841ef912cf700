//! Wordline's own CSV: columns named by a header line, in any order.
//!
//! The name of a time column gives its unit (`t_ns`), or is `t`, `time` or `timestamp`; options take
//! precedence over names.

use wordline_kernel::Bytes;

use super::super::field::{device, parse_bytes, parse_decimal, parse_small, split_commas, unquoted};
use super::super::formats::{TimeUnit, Units};
use super::super::input::{Lines, ParseError, quoted};
use super::super::options::Options;
use super::super::row::{LineReader, Row, op};
use super::super::units::AssumedUnits;
use super::super::{Generated, Op};
use crate::error::Result;

/// Columns that [`write`](fn@crate::write) writes, in order, and the columns that it adds for requests with a
/// CPU or a stream.
pub(crate) const COLUMNS: &str = "t_ps,op,offset,size,dev,resp_ps,fua";
pub(crate) const MORE_COLUMNS: &str = ",cpu,stream";

const WANTED: &str = "a header with a time (t, time or timestamp, alone or with its unit: t_ps, time_ns, timestamp_us, ..._ms, ..._s), \
    op, offset (or offset_bytes, or lba in sectors) and size (or size_bytes, or sectors); also known are dev or device, resp_ns or \
    response_us, fua, cpu and stream";

/// Field of a request that a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Time,
    Op,
    Offset,
    Size,
    Device,
    Response,
    Fua,
    Cpu,
    Stream,
}

const ROLES: usize = Role::Stream as usize + 1;

/// Reads the lines below a header.
pub(super) struct Csv {
    /// Role of each column, if known.
    roles: Vec<Option<Role>>,
    time: TimeUnit,
    response: TimeUnit,
    offset: Bytes,
    size: Bytes,
    unknown: Vec<String>,
    generated: Option<Generated>,
}

/// Reads the header.
pub(super) fn reader(
    lines: &mut Lines<'_>,
    options: &Options,
    units: Units,
    assumed: &mut AssumedUnits,
) -> Result<Csv> {
    let mut line = String::new();
    let mut generated = None;
    while line.is_empty() {
        match lines.next()? {
            Some(text) if text.starts_with('#') => {
                generated = generated.or_else(|| Generated::from_comment(&text));
            }
            Some(text) => line = text.trim().to_string(),
            None => break,
        }
    }
    let mut csv = Csv::parse(&line, options, units, assumed).map_err(|bad| lines.wrong(bad))?;
    csv.generated = generated;
    Ok(csv)
}

/// Whether a line is a header that names trace columns.
pub(super) fn is_header(line: &str) -> bool {
    let has = |known: fn(&str) -> bool| names(line).any(|name| known(&name));
    has(|name| time_unit(name).is_some()) && has(is_other_column)
}

fn names(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split(',').map(|name| name.trim().trim_matches('"').to_ascii_lowercase())
}

/// Returns the place of the time column in a header whose time column has no unit in its name.
pub(super) fn time_column(header: &str) -> Option<usize> {
    names(header).position(|name| time_unit(&name) == Some(None))
}

/// Returns the unit given by the name of a time column; the inner `None` if the name gives none.
fn time_unit(name: &str) -> Option<Option<TimeUnit>> {
    match name {
        "t" | "time" | "timestamp" => Some(None),
        _ => {
            let unit = ["t_", "time_", "timestamp_"].into_iter().find_map(|begin| name.strip_prefix(begin));
            unit_suffix(unit?).map(Some)
        }
    }
}

fn unit_suffix(suffix: &str) -> Option<TimeUnit> {
    Some(match suffix {
        "ps" => TimeUnit::Ps,
        "ns" => TimeUnit::Ns,
        "us" => TimeUnit::Us,
        "ms" => TimeUnit::Ms,
        "s" => TimeUnit::S,
        _ => return None,
    })
}

fn response_unit(name: &str) -> Option<TimeUnit> {
    unit_suffix(name.strip_prefix("resp_").or_else(|| name.strip_prefix("response_"))?)
}

/// Returns the role of a column with this name.
fn role(name: &str) -> Option<Role> {
    Some(match name {
        "op" => Role::Op,
        "offset" | "offset_bytes" | "lba" => Role::Offset,
        "size" | "size_bytes" | "sectors" => Role::Size,
        "dev" | "device" => Role::Device,
        "fua" => Role::Fua,
        "cpu" => Role::Cpu,
        "stream" => Role::Stream,
        _ if time_unit(name).is_some() => Role::Time,
        _ if response_unit(name).is_some() => Role::Response,
        _ => return None,
    })
}

fn is_other_column(name: &str) -> bool {
    role(name).is_some_and(|role| !matches!(role, Role::Time | Role::Response))
}

/// Finds the column of each field. Two columns for one field are an error, because one of them would be
/// ignored.
fn places(names: &[String]) -> std::result::Result<[Option<usize>; ROLES], ParseError> {
    let mut places: [Option<usize>; ROLES] = [None; ROLES];
    for (at, name) in names.iter().enumerate() {
        let Some(role) = role(name) else { continue };
        if let Some(first) = places[role as usize].replace(at) {
            return Err(ParseError {
                found: format!("columns {} and {}", quoted(&names[first]), quoted(name)),
                wanted:
                    "one column for each of time, op, offset, size, device, response, fua, cpu and stream"
                        .into(),
            });
        }
    }
    Ok(places)
}

impl Csv {
    /// Parses a header.
    pub(super) fn parse(
        line: &str,
        options: &Options,
        units: Units,
        assumed: &mut AssumedUnits,
    ) -> std::result::Result<Self, ParseError> {
        let names: Vec<String> = names(line).collect();
        let places = places(&names)?;
        let need = |role: Role, name: &str| {
            places[role as usize].map(|at| names[at].as_str()).ok_or_else(|| ParseError {
                found: format!("no column {name} in {}", quoted(line)),
                wanted: WANTED.into(),
            })
        };
        let (time, _) = (need(Role::Time, "t_ns")?, need(Role::Op, "op")?);
        let (offset, size) = (need(Role::Offset, "offset")?, need(Role::Size, "size")?);
        let named = time_unit(time).flatten();
        let time = options.time_unit.or(named).unwrap_or(units.time);
        assumed.set_time(time, named.is_some());
        // A column in bytes counts bytes unless the options give a unit. A column in sectors counts 512 B, or
        // the given unit.
        let sector = options.sector.unwrap_or(Bytes(512));
        let counted = |name: &str, said: Option<Bytes>| {
            said.unwrap_or(if matches!(name, "lba" | "sectors") { sector } else { Bytes(1) })
        };
        let of_offset = counted(offset, options.address_unit);
        let of_size = counted(size, options.size_unit);
        let says_bytes = |name: &str| name.ends_with("_bytes");
        assumed.set_counts([(of_offset, says_bytes(offset)), (of_size, says_bytes(size))], options.sector);
        let response = places[Role::Response as usize].and_then(|at| response_unit(&names[at]));
        let unknown = names.iter().filter(|name| role(name).is_none()).map(|name| quoted(name)).collect();
        Ok(Self {
            roles: names.iter().map(|name| role(name)).collect(),
            time,
            response: response.unwrap_or(time),
            offset: of_offset,
            size: of_size,
            unknown,
            generated: None,
        })
    }

    /// Whether each column is used.
    pub(super) fn known(&self) -> Vec<bool> {
        self.roles.iter().map(Option::is_some).collect()
    }

    /// Returns the columns of times and their units.
    pub(super) fn times(&self) -> Vec<(usize, TimeUnit)> {
        let unit = |role: Option<Role>| match role {
            Some(Role::Time) => Some(self.time),
            Some(Role::Response) => Some(self.response),
            _ => None,
        };
        self.roles.iter().enumerate().filter_map(|(at, role)| Some((at, unit(*role)?))).collect()
    }

    /// Returns the fields of a line by role.
    fn cells<'a>(&self, line: &'a str) -> std::result::Result<[&'a str; ROLES], ParseError> {
        let mut cells = [""; ROLES];
        let mut count = 0;
        for field in split_commas(line) {
            if let Some(Some(role)) = self.roles.get(count) {
                cells[*role as usize] = unquoted(field, '"');
            }
            count += 1;
        }
        if count == self.roles.len() {
            return Ok(cells);
        }
        let found = format!("{count} fields in {}", quoted(line));
        Err(ParseError { found, wanted: format!("{} fields, as in the header", self.roles.len()) })
    }
}

impl LineReader for Csv {
    fn row(&mut self, line: &str) -> std::result::Result<Option<Row>, ParseError> {
        let [time, op_name, offset, size, device_name, response, fua, cpu, stream] = self.cells(line)?;
        let op = op(op_name)?;
        let count = |text, unit, what| match (op, text) {
            (Op::Flush, "") => Ok(0),
            (op, "") if op.is_zone_management() && what == "size" => Ok(0),
            (_, text) => parse_bytes(text, unit, what),
        };
        let mut row = Row::new(
            parse_decimal(time, self.time.ps(), "time")?,
            op,
            if device_name.is_empty() { 0 } else { device(device_name)? },
            count(offset, self.offset, "offset")?,
            count(size, self.size, "size")?,
        )?;
        if !response.is_empty() {
            row.set_response(parse_decimal(response, self.response.ps(), "response time")?);
        }
        row.fua = match fua {
            "" | "0" | "false" => false,
            "1" | "true" => true,
            text => {
                return Err(ParseError { found: format!("fua {}", quoted(text)), wanted: "0 or 1".into() });
            }
        };
        row.cpu = if cpu.is_empty() { None } else { Some(parse_small(cpu, "cpu")?) };
        row.stream = if stream.is_empty() { 0 } else { parse_small(stream, "stream")? };
        Ok(Some(row))
    }

    fn notes(&self) -> Vec<String> {
        let note = || format!("ignored columns: {}", self.unknown.join(", "));
        (!self.unknown.is_empty()).then(note).into_iter().collect()
    }

    fn generated(&self) -> Option<&Generated> {
        self.generated.as_ref()
    }
}
