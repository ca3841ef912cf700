//! Our own CSV: columns named by a header line, in any order.
//!
//! A time column says its unit in its name (`t_ns`), or is named `t` or `time` and counts what the options say.

use wordline_kernel::Bytes;

use super::super::field::{bytes_field, decimal, device};
use super::super::input::{Bad, Lines, quoted};
use super::super::options::{Options, TimeUnit, Units};
use super::super::row::{Found, Row, op};
use super::super::{Generated, Op};
use crate::error::Result;

/// The columns that [`write`](fn@crate::trace::write) puts down, in its order, and those that it adds for requests with
/// a processor or a stream.
pub(in crate::trace) const COLUMNS: &str = "t_ps,op,offset,size,dev,resp_ps,fua";
pub(in crate::trace) const MORE_COLUMNS: &str = ",cpu,stream";

const WANTED: &str =
    "a header with a time column (t_ps, t_ns, t_us, t_ms, t_s or t), op, offset (or lba) and size";

/// Which column holds what.
struct Header {
    columns: usize,
    time: (usize, TimeUnit),
    op: usize,
    offset: (usize, Bytes),
    size: (usize, Bytes),
    device: Option<usize>,
    response: Option<(usize, TimeUnit)>,
    fua: Option<usize>,
    cpu: Option<usize>,
    stream: Option<usize>,
}

/// Reads the header and all lines.
pub(super) fn read(lines: &mut Lines<'_>, options: &Options, units: Units) -> Result<Found> {
    let mut line = String::new();
    let mut found = Found::default();
    while line.is_empty() {
        match lines.next()? {
            Some(text) if text.starts_with('#') => {
                found.generated = found.generated.or_else(|| Generated::from_comment(&text));
            }
            Some(text) => line = text.trim().trim_start_matches('\u{feff}').to_string(),
            None => break,
        }
    }
    let header = Header::parse(&line, options, units).map_err(|bad| lines.wrong(bad))?;
    let unknown = unknown(&line);
    if !unknown.is_empty() {
        found.notes.push(format!("columns passed over: {}", unknown.join(", ")));
    }
    lines.each(|line| {
        found.rows.push(header.row(line)?);
        Ok(())
    })?;
    Ok(found)
}

/// Whether a line is a header that names the columns of a trace.
pub(super) fn is_header(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}');
    let has = |known: fn(&str) -> bool| names(line).any(|name| known(&name));
    has(|name| time_unit(name).is_some()) && has(is_other_column)
}

fn names(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split(',').map(|name| name.trim().trim_matches('"').to_ascii_lowercase())
}

/// The unit that a time column's name says, the inner `None` where it says none.
fn time_unit(name: &str) -> Option<Option<TimeUnit>> {
    match name {
        "t" | "time" => Some(None),
        _ => unit_suffix(name.strip_prefix("t_").or_else(|| name.strip_prefix("time_"))?).map(Some),
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

fn is_other_column(name: &str) -> bool {
    matches!(
        name,
        "op" | "offset"
            | "offset_bytes"
            | "lba"
            | "size"
            | "size_bytes"
            | "sectors"
            | "dev"
            | "device"
            | "fua"
            | "cpu"
            | "stream"
    )
}

fn unknown(header: &str) -> Vec<String> {
    names(header)
        .filter(|name| time_unit(name).is_none() && response_unit(name).is_none() && !is_other_column(name))
        .map(|name| quoted(&name))
        .collect()
}

impl Header {
    fn parse(line: &str, options: &Options, units: Units) -> std::result::Result<Self, Bad> {
        let names: Vec<String> = names(line).collect();
        let place = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        let missing = |what: &str| Bad {
            found: format!("no column {what} in {}", quoted(line)),
            wanted: WANTED.into(),
        };
        // A column in bytes keeps them unless the options give a unit; one in sectors counts 512 B or what they say.
        let sector = options.sector.unwrap_or(Bytes(512));
        let counted = |bytes: &[&str], sectors: &str, said: Option<Bytes>| {
            let in_bytes = place(bytes).map(|at| (at, said.unwrap_or(Bytes(1))));
            in_bytes
                .or_else(|| place(&[sectors]).map(|at| (at, said.unwrap_or(sector))))
                .ok_or_else(|| missing(bytes[0]))
        };
        let time = names.iter().enumerate().find_map(|(at, name)| Some((at, time_unit(name)?)));
        let (at, named) = time.ok_or_else(|| missing("t_ns"))?;
        Ok(Self {
            columns: names.len(),
            time: (at, named.unwrap_or(units.time)),
            op: place(&["op"]).ok_or_else(|| missing("op"))?,
            offset: counted(&["offset", "offset_bytes"], "lba", options.address_unit)?,
            size: counted(&["size", "size_bytes"], "sectors", options.size_unit)?,
            device: place(&["dev", "device"]),
            response: names.iter().enumerate().find_map(|(at, name)| Some((at, response_unit(name)?))),
            fua: place(&["fua"]),
            cpu: place(&["cpu"]),
            stream: place(&["stream"]),
        })
    }

    fn row(&self, line: &str) -> std::result::Result<Row, Bad> {
        let fields: Vec<&str> = line.split(',').map(|field| field.trim().trim_matches('"')).collect();
        if fields.len() != self.columns {
            let found = format!("{} fields in {}", fields.len(), quoted(line));
            return Err(Bad { found, wanted: format!("{} fields, as in the header", self.columns) });
        }
        let filled = |place: Option<usize>| place.map(|at| fields[at]).filter(|text| !text.is_empty());
        let op = op(fields[self.op])?;
        let count = |(place, unit): (usize, Bytes), what| match (op, fields[place]) {
            (Op::Flush, "") => Ok(0),
            (_, text) => bytes_field(text, unit, what),
        };
        let mut row = Row::new(
            decimal(fields[self.time.0], self.time.1.ps(), "time")?,
            op,
            filled(self.device).map_or(Ok(0), device)?,
            count(self.offset, "offset")?,
            count(self.size, "size")?,
        )?;
        if let Some((place, unit)) = self.response
            && let Some(text) = filled(Some(place))
        {
            row.answered_after(decimal(text, unit.ps(), "response time")?);
        }
        row.fua = match filled(self.fua) {
            None | Some("0" | "false") => false,
            Some("1" | "true") => true,
            Some(text) => {
                return Err(Bad { found: format!("fua {}", quoted(text)), wanted: "0 or 1".into() });
            }
        };
        row.cpu = filled(self.cpu).map(|text| small(text, "cpu")).transpose()?;
        row.stream = filled(self.stream).map_or(Ok(0), |text| small(text, "stream"))?;
        Ok(row)
    }
}

/// A small number in a column of its own.
fn small<N: std::str::FromStr>(text: &str, what: &str) -> std::result::Result<N, Bad> {
    let most = (1_u64 << (8 * size_of::<N>())) - 1;
    text.parse().map_err(|_| Bad {
        found: format!("{what} {}", quoted(text)),
        wanted: format!("a whole number from 0 to {most}"),
    })
}
