//! Proposes a column map for a text file in no known format, from its first lines. The user checks it: texts, digits
//! and ranges suggest a field, they do not prove it.

use std::collections::BTreeSet;

use super::super::Op;
use super::super::row::op;
use super::columns::Separator;

/// Lines that are examined. Chosen: enough to tell a flag of two values from a number.
const LINES: usize = 50;

/// Names in headers of public traces, in lower case, and their fields. The first field whose names contain a word of a
/// column's name is proposed for it.
const NAMES: [(&str, &[&str]); 6] = [
    ("resp", &["resp", "lat", "elapsed", "duration"]),
    ("ts", &["ts", "t", "time", "timestamp", "arrival", "start"]),
    ("op", &["op", "opcode", "type", "iotype", "rw", "io", "cmd", "command", "operation", "kind"]),
    ("off", &["off", "offset", "lba", "lbn", "sector", "addr", "address", "block", "blkno", "slba"]),
    ("len", &["len", "length", "size", "bytes", "nblks", "blocks", "sectors", "count", "nlb"]),
    ("dev", &["dev", "device", "disk", "lun", "volume", "vol", "asu", "dsk"]),
];

/// Ends the error for a file in no known format, with the map that may fit these lines.
pub(super) fn in_words<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let Some(map) = propose(lines) else { return " (option columns)".into() };
    let open = if map.contains('?') {
        " (a ? stands for the letter of an operation, or - to leave it out)"
    } else {
        ""
    };
    format!(", which may be --trace-option 'columns={map}'{open}")
}

/// Returns a column map for these lines; `None` if time, address or size cannot be found.
fn propose<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let lines: Vec<&str> = lines.take(LINES).collect();
    let separator = Separator::of(lines.first()?);
    let mut rows: Vec<Vec<&str>> = lines.iter().map(|line| separator.split(line)).collect();
    let width = rows[0].len();
    // The last line may be cut by the end of the part that is examined.
    rows.retain(|row| row.len() == width);
    let has_header = !rows[0].iter().any(|field| number(field).is_some());
    let header = has_header.then(|| rows.remove(0));
    let columns: Vec<Vec<&str>> = (0..width).map(|at| rows.iter().map(|row| row[at]).collect()).collect();
    if rows.is_empty() {
        return None;
    }
    let mut fields: Vec<Option<String>> = match header {
        Some(names) => names.iter().zip(&columns).map(|(name, column)| by_name(name, column)).collect(),
        None => vec![None; width],
    };
    complete(&mut fields, &columns);
    let is_whole = ["ts", "off", "len"].iter().all(|name| has(&fields, name));
    let last = fields.iter().rposition(Option::is_some)?;
    let mut items: Vec<String> =
        fields[..=last].iter().map(|field| field.clone().unwrap_or("_".into())).collect();
    if !has(&fields, "op") {
        items.push("op=R".into());
    }
    is_whole.then(|| items.join(","))
}

/// Column of a field.
fn place(fields: &[Option<String>], name: &str) -> Option<usize> {
    let is_it = |field: &String| field.split(':').next() == Some(name);
    fields.iter().position(|field| field.as_ref().is_some_and(is_it))
}

fn has(fields: &[Option<String>], name: &str) -> bool {
    place(fields, name).is_some()
}

fn number(text: &str) -> Option<f64> {
    text.bytes().any(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn are_numbers(column: &[&str]) -> bool {
    column.iter().all(|text| number(text).is_some())
}

/// Returns the field that the name of a column suggests.
fn by_name(name: &str, column: &[&str]) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let (field, _) = NAMES.iter().find(|(_, known)| words.iter().any(|word| known.contains(word)))?;
    let unit = ["ps", "ns", "us", "ms", "s"].into_iter().find(|unit| words.contains(unit));
    match *field {
        "ts" | "resp" => {
            let unit = unit.unwrap_or_else(|| if *field == "ts" { time_unit(column) } else { "us" });
            are_numbers(column).then(|| format!("{field}:{unit}"))
        }
        "op" => Some(operations(column).or_else(|| listed(column)).unwrap_or("op".into())),
        "dev" => Some("dev".into()),
        _ if words.contains(&"bytes") => Some((*field).into()),
        _ => are_numbers(column).then(|| with_unit(field, column)),
    }
}

/// Adds the fields that are missing, by the content of columns without a field.
fn complete(fields: &mut [Option<String>], columns: &[Vec<&str>]) {
    let free = |fields: &[Option<String>], fits: &dyn Fn(&[&str]) -> bool| {
        (0..fields.len()).find(|at| fields[*at].is_none() && fits(&columns[*at]))
    };
    let is_operation = |column: &[&str]| operations(column).is_some();
    if let Some(at) = free(fields, &is_operation).filter(|_| !has(fields, "op")) {
        fields[at] = operations(&columns[at]);
    }
    if !has(fields, "ts") {
        let is_clock = |column: &[&str]| {
            are_numbers(column) && (column.iter().all(|text| text.contains('.')) || is_date(column))
        };
        let rises = |column: &[&str]| {
            are_numbers(column) && column.is_sorted_by_key(|text| number(text).unwrap_or(0.0))
        };
        if let Some(at) = free(fields, &is_clock).or_else(|| free(fields, &rises)) {
            fields[at] = Some(format!("ts:{}", time_unit(&columns[at])));
        }
    }
    let [address, size] = range(fields, columns);
    for (name, at) in [("off", address), ("len", size)] {
        if let Some(at) = at {
            fields[at] = Some(with_unit(name, &columns[at]));
        }
    }
    if let Some(at) = free(fields, &|column| listed(column).is_some()).filter(|_| !has(fields, "op")) {
        fields[at] = listed(&columns[at]);
    }
}

/// Returns the columns of address and size, if they are missing. Addresses are larger than sizes, and both than numbers
/// of devices. Of two columns with equal maxima, the first is the address.
fn range(fields: &[Option<String>], columns: &[Vec<&str>]) -> [Option<usize>; 2] {
    let largest = |at: usize| columns[at].iter().filter_map(|text| number(text)).fold(0.0, f64::max);
    let first_largest = |of: &[usize], except: Option<usize>| {
        let candidates = of.iter().copied().filter(|at| Some(*at) != except);
        candidates.reduce(|one, other| if largest(other) > largest(one) { other } else { one })
    };
    let is_free = |at: &usize| fields[*at].is_none() && are_numbers(&columns[*at]) && largest(*at) > 0.0;
    let free: Vec<usize> = (0..fields.len()).filter(is_free).collect();
    let mut sizes = free.clone();
    sizes.retain(|at| may_be_sizes(&columns[*at], place(fields, "op").map(|at| &*columns[at])));
    let (needs_address, needs_size) = (!has(fields, "off"), !has(fields, "len"));
    // The only column that may be the size is not the address.
    let reserved = sizes.first().copied().filter(|_| needs_size && sizes.len() == 1);
    let address = first_largest(&free, reserved).filter(|_| needs_address);
    [address, first_largest(&sizes, address).filter(|_| needs_size)]
}

/// Whether no number of a column is 0, except of operations without a size.
fn may_be_sizes(column: &[&str], operations: Option<&[&str]>) -> bool {
    let has_no_size = |row: usize| {
        let op = operations.and_then(|texts| op(texts[row]).ok());
        op.is_some_and(|op| op == Op::Flush || op.is_zone_management())
    };
    column.iter().enumerate().all(|(row, text)| number(text) != Some(0.0) || has_no_size(row))
}

/// Whether a column has numbers with as many digits as dates have.
fn is_date(column: &[&str]) -> bool {
    column.iter().all(|text| text.len() >= 10 && number(text).is_some())
}

/// Unit of a time, by the digits of a date from 2001 on: ten count seconds, thirteen milliseconds, and so on.
fn time_unit(column: &[&str]) -> &'static str {
    let Some(first) = column.first() else { return "s" };
    match first.split('.').next().unwrap_or_default().len() {
        _ if first.contains('.') => "s",
        10 => "s",
        13 => "ms",
        16 => "us",
        18 => "100ns",
        19 => "ns",
        _ => "us",
    }
}

/// Adds a unit of sectors if the numbers are no whole sectors in bytes.
fn with_unit(name: &str, column: &[&str]) -> String {
    let in_bytes = column.iter().all(|text| text.parse::<u64>().is_ok_and(|value| value.is_multiple_of(512)));
    if in_bytes { name.into() } else { format!("{name}:512") }
}

/// Returns the field of a column of operations: texts that our CSV has, or two digits.
fn operations(column: &[&str]) -> Option<String> {
    if column.iter().all(|text| op(text).is_ok()) {
        return Some("op".into());
    }
    let is = |digit: &str| column.contains(&digit);
    let binary = column.iter().all(|text| matches!(*text, "0" | "1"));
    (binary && is("0") && is("1")).then(|| "op:0=R|1=W".into())
}

/// Most values of a column that may be operations. Chosen: as many as are simulated without zone operations, and
/// two unknown ones.
const MOST_OPERATIONS: usize = 8;

/// Returns the field of a column of few different texts or digits, which may be operations. Those that our CSV has
/// not are left to the user, as `?`.
fn listed(column: &[&str]) -> Option<String> {
    let values: BTreeSet<&str> = column.iter().copied().collect();
    let are_short = values.iter().all(|value| value.len() == 1 || number(value).is_none());
    let few = 2..=MOST_OPERATIONS.min(column.len() - 1);
    let letters = |value: &&str| format!("{value}={}", op(value).map_or("?", Op::letters));
    let listed = || values.iter().map(letters).collect::<Vec<_>>().join("|");
    (are_short && few.contains(&values.len())).then(|| format!("op:{}", listed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_proposed_from_names_and_content() {
        for (text, map) in [
            ("1.5;vm1;8;R;8\n2.5;vm1;4096;W;16\n", "ts:s,_,off:512,op,len:512"),
            ("op lat_us t_ms lba bytes\nread 5 1 99 512\nwrite 7 2 8 4096\n", "op,resp:us,ts:ms,off:512,len"),
            ("1538323200\t42\t1\t512\t1048576\n1538323201\t42\t0\t4096\t0\n", "ts:s,_,op:0=R|1=W,len,off"),
            (
                "when;kind;lba;n\n1.5;read;8;8\n2.5;write;16;8\n3.5;foo;24;8\n4.5;read;32;8\n",
                "ts:s,op:foo=?|read=R|write=W,off:512,len:512",
            ),
            ("1.5 0 8 8\n2.5 1 16 8\n3.5 2 24 8\n4.5 0 32 8\n", "ts:s,op:0=?|1=?|2=?,off:512,len:512"),
            ("Time,Volume,Address,Length\n7,a,8,8\n9,b,16,8\n", "ts:us,dev,off:512,len:512,op=R"),
        ] {
            assert_eq!(propose(text.lines()).as_deref(), Some(map), "{text}");
        }
        for text in ["once upon a time\n", "a,b\n", "1,2\n"] {
            assert_eq!(propose(text.lines()), None, "{text}");
        }
    }

    #[test]
    fn a_size_is_never_zero_and_follows_an_address_that_is_as_large() {
        for (text, map) in [
            // The file of docs/how-to/own-trace.md.
            (
                "0,vm7,1,0,32\n150,vm7,0,8,8\n151,vm7,0,0,16\n900,vm7,2,0,32\n",
                "ts:us,_,op:0=?|1=?|2=?,off:512,len:512",
            ),
            ("5,R,32,0\n6,W,8,16\n9,R,16,32\n", "ts:us,op,len:512,off:512"),
            ("5,R,8,32\n6,W,16,8\n9,R,32,16\n", "ts:us,op,off:512,len:512"),
            // A flush has no size.
            ("5,R,64,32\n6,F,0,0\n9,W,96,16\n", "ts:us,op,off:512,len:512"),
        ] {
            assert_eq!(propose(text.lines()).as_deref(), Some(map), "{text}");
        }
        assert_eq!(propose("5,R,8,0\n6,W,16,0\n9,R,0,8\n".lines()), None);
    }
}
