//! Parsing the fields of a line: field counts, integers, decimal times, and sizes in units.

use wordline_kernel::Bytes;

use super::input::{ParseError, quoted};

type Parsed<T> = std::result::Result<T, ParseError>;

/// Largest address or size accepted: 8 EiB. Chosen so that a sum of two fits a `u64`.
const MAX_ADDRESS: u64 = i64::MAX as u64;

/// Returns the fields of a line that has exactly `N`. `layout` describes the fields in the error message.
pub(super) fn exact_fields<'a, const N: usize>(
    line: &'a str,
    fields: impl Iterator<Item = &'a str>,
    layout: &str,
) -> Parsed<[&'a str; N]> {
    let (values, count) = collect(fields);
    if count == N { Ok(values) } else { Err(wrong_count(line, count, N, layout)) }
}

/// Returns the first `N` fields of a line that may have more.
pub(super) fn leading_fields<'a, const N: usize>(
    line: &'a str,
    fields: impl Iterator<Item = &'a str>,
    layout: &str,
) -> Parsed<[&'a str; N]> {
    let (values, count) = collect(fields);
    if count >= N { Ok(values) } else { Err(wrong_count(line, count, N, layout)) }
}

/// Splits a line at commas. Fields are short, so a byte loop is faster than setting up a search.
pub(super) fn split_commas(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let comma = text.bytes().position(|byte| byte == b',');
        rest = comma.map(|at| &text[at + 1..]);
        Some(&text[..comma.unwrap_or(text.len())])
    })
}

/// Strips spaces around a field, then the character `quote`.
#[inline]
pub(super) fn unquoted(field: &str, quote: char) -> &str {
    let is_inside = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let is_bare = is_inside(field.as_bytes().first()) && is_inside(field.as_bytes().last());
    if is_bare { field } else { field.trim().trim_matches(quote) }
}

fn collect<'a, const N: usize>(fields: impl Iterator<Item = &'a str>) -> ([&'a str; N], usize) {
    let mut values = [""; N];
    let mut count = 0;
    for field in fields {
        if let Some(value) = values.get_mut(count) {
            *value = field.trim();
        }
        count += 1;
    }
    (values, count)
}

fn wrong_count(line: &str, count: usize, wanted: usize, layout: &str) -> ParseError {
    let noun = if count == 1 { "field" } else { "fields" };
    ParseError {
        found: format!("{count} {noun} in {}", quoted(line)),
        wanted: format!("{wanted} fields: {layout}"),
    }
}

/// Parses an unsigned integer. `what` describes it in the error message.
pub(super) fn parse_integer(text: &str, what: &str) -> Parsed<u64> {
    text.parse().map_err(|_| ParseError {
        found: format!("{what} {}", quoted(text)),
        wanted: "a whole number from 0 that fits 64 bits".into(),
    })
}

/// Parses a number of one or two bytes. `what` describes it in the error message.
pub(super) fn parse_small<N: std::str::FromStr>(text: &str, what: &str) -> Parsed<N> {
    let most = (1_u64 << (8 * size_of::<N>())) - 1;
    text.parse().map_err(|_| ParseError {
        found: format!("{what} {}", quoted(text)),
        wanted: format!("a whole number from 0 to {most}"),
    })
}

/// Parses the number of a device, disk or ASU.
pub(super) fn device(text: &str) -> Parsed<u32> {
    text.parse().map_err(|_| ParseError {
        found: format!("device {}", quoted(text)),
        wanted: "a whole number from 0 that fits 32 bits".into(),
    })
}

/// Parses a decimal number and converts it to picoseconds: 1 is `unit` picoseconds. Rounds to nearest.
pub(super) fn parse_decimal(text: &str, unit: i128, what: &str) -> Parsed<i128> {
    scaled(text, unit).ok_or_else(|| ParseError {
        found: format!("{what} {}", quoted(text)),
        wanted: "a decimal number, such as 12.5".into(),
    })
}

/// Accepts eighteen digits on each side of the point. Such a number fits an `i128` in picoseconds.
fn scaled(text: &str, unit: i128) -> Option<i128> {
    // Most numbers are integers: a value of nineteen digits fits.
    let digits = text.as_bytes();
    if (1..=19).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
        let whole = digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        return Some(i128::from(whole) * unit);
    }
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 20 {
        return None;
    }
    if !whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(15)];
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let tens = 10_i128.pow(fraction.len() as u32);
    Some(sign * (whole * unit + (part * unit + tens / 2) / tens))
}

/// Converts a count of `unit`s to bytes.
pub(super) fn bytes(count: u64, unit: Bytes, what: &str) -> Parsed<u64> {
    count.checked_mul(unit.0).filter(|bytes| *bytes <= MAX_ADDRESS).ok_or_else(|| ParseError {
        found: format!("{what} {count} in units of {unit}"),
        wanted: "less than 8 EiB".into(),
    })
}

/// Parses a field that is an integer count of `unit`s, as bytes.
pub(super) fn parse_bytes(text: &str, unit: Bytes, what: &str) -> Parsed<u64> {
    bytes(parse_integer(text, what)?, unit, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_to_the_picosecond() {
        for (text, unit, ps) in [
            ("1398396860.158634645", 1_000_000_000_000, 1_398_396_860_158_634_645_000),
            ("15849.28847", 1_000_000_000, 15_849_288_470_000),
            ("0", 1, 0),
            (".5", 1_000, 500),
            ("2.", 1_000, 2_000),
            ("-0.25", 1_000, -250),
            ("0.0005", 1_000, 1),
            ("9999999999999999999", 1_000, 9_999_999_999_999_999_999_000),
            ("12345678901234567890", 1, 12_345_678_901_234_567_890),
        ] {
            assert_eq!(parse_decimal(text, unit, "time").expect(text), ps, "{text}");
        }
    }

    #[test]
    fn fields_stand_between_commas_and_within_quotes_and_spaces() {
        let fields: Vec<&str> =
            split_commas("7, \"R\",, é ,\" x").map(|field| unquoted(field, '"')).collect();
        assert_eq!(fields, ["7", "R", "", "é", " x"]);
        assert_eq!(split_commas("").collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", ".", "-", "1e5", "1.2.3", "--1", "nan", "1 2", "123456789012345678901", "0x10", "+1"]
        {
            assert!(parse_decimal(text, 1, "time").is_err(), "{text}");
        }
        assert!(bytes(u64::MAX / 4, Bytes(512), "size").is_err());
        assert!(bytes(1 << 63, Bytes(1), "size").is_err());
    }
}
