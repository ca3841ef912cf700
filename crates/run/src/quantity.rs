//! Numbers with units, formatted for readers.

use std::fmt;

use wordline_kernel::grouped;
use wordline_kernel::metrics::{Unit, Value};

/// A result with its unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Text.
    Text(String),
    /// A count.
    Count(u64),
    /// A number without unit: a mean count or a ratio.
    Number(f64),
    /// A latency in microseconds.
    Latency(f64),
    /// A time in seconds.
    Seconds(f64),
    /// An amount of data in bytes.
    Bytes(f64),
    /// An amount of data in terabytes (10^12 B), the unit of drive endurance.
    Terabytes(f64),
    /// Bytes per second.
    Throughput(f64),
    /// Events per second.
    PerSecond(f64),
    /// Energy in joules.
    Joules(f64),
    /// A fraction of a whole.
    Fraction(f64),
    /// A result that the run does not have, such as a write latency without writes.
    Absent,
    /// A result that the run cannot answer, such as a percentile with too few requests beyond it.
    Unknown,
}

impl Quantity {
    /// The value of a metric as a quantity in its `unit`.
    pub fn of(unit: Unit, value: Value) -> Self {
        match (value, value.number(), unit) {
            (_, None, _) => Self::Absent,
            (_, Some(bytes), Unit::Bytes) => Self::Bytes(bytes),
            (Value::Count(count), ..) => Self::Count(count),
            (_, Some(number), Unit::Fraction) => Self::Fraction(number),
            (_, Some(number), Unit::Joules) => Self::Joules(number),
            (_, Some(number), Unit::Microseconds) => Self::Latency(number),
            (_, Some(number), _) => Self::Number(number),
        }
    }

    /// A latency; `Absent` if there are no requests of the kind.
    pub fn latency_of(requests: u64, microseconds: f64) -> Self {
        if requests == 0 { Self::Absent } else { Self::Latency(microseconds) }
    }

    /// A latency percentile of this many requests.
    pub fn percentile_of(requests: u64, microseconds: Option<f64>) -> Self {
        match (requests, microseconds) {
            (0, _) => Self::Absent,
            (_, None) => Self::Unknown,
            (_, Some(microseconds)) => Self::Latency(microseconds),
        }
    }

    /// The number in its unit; `None` for text, and for values that are absent, unknown or not finite.
    pub fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Text(_) | Self::Absent | Self::Unknown => return None,
            Self::Count(count) => *count as f64,
            Self::Number(number)
            | Self::Latency(number)
            | Self::Seconds(number)
            | Self::Bytes(number)
            | Self::Terabytes(number)
            | Self::Throughput(number)
            | Self::PerSecond(number)
            | Self::Joules(number)
            | Self::Fraction(number) => *number,
        };
        number.is_finite().then_some(number)
    }

    /// The unit of the number; empty for counts, ratios and text.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Text(_)
            | Self::Absent
            | Self::Unknown
            | Self::Count(_)
            | Self::Number(_)
            | Self::Fraction(_) => "",
            Self::Latency(_) => "µs",
            Self::Seconds(_) => "s",
            Self::Bytes(_) => "B",
            Self::Terabytes(_) => "TB",
            Self::Throughput(_) => "B/s",
            Self::PerSecond(_) => "1/s",
            Self::Joules(_) => "J",
        }
    }

    /// The ratio to `first`; `None` if either has no number, or if `first` is zero.
    pub fn ratio_to(&self, first: &Self) -> Option<f64> {
        let (number, first) = (self.number()?, first.number()?);
        (first != 0.0).then(|| number / first)
    }

    /// The ratio to `first` as text, such as `×1.41`; empty if there is none.
    pub fn ratio_text(&self, first: &Self) -> String {
        match self.ratio_to(first) {
            None => String::new(),
            // Chosen: ratios below a thousandth need no digits.
            Some(ratio) if ratio > 0.0 && ratio < 0.001 => "< ×0.001".to_owned(),
            Some(ratio) => format!("×{}", three_digits(ratio)),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(number) = self.number() else {
            return match self {
                Self::Text(text) => out.write_str(text),
                Self::Unknown => out.write_str("unknown"),
                _ => out.write_str("–"),
            };
        };
        let text = match self {
            Self::Count(count) => grouped(&count.to_string()),
            Self::Latency(_) => scaled(number * 1e-6, &TIMES),
            Self::Seconds(_) => time(number),
            Self::Bytes(_) => scaled(number, &SIZES),
            Self::Terabytes(_) => scaled(number * 1e12, &DECIMAL_SIZES),
            Self::Throughput(_) if number > 0.0 && number < 1e5 => {
                format!("{} kB/s", three_digits(number / 1e3))
            }
            Self::Throughput(_) => format!("{} MB/s", three_digits(number / 1e6)),
            Self::PerSecond(_) => format!("{}/s", three_digits(number)),
            Self::Joules(_) => scaled(number, &ENERGIES),
            Self::Fraction(_) => format!("{} %", three_digits(number * 100.0)),
            Self::Number(_) | Self::Text(_) | Self::Absent | Self::Unknown => three_digits(number),
        };
        out.write_str(&text)
    }
}

const SIZES: [(f64, &str); 5] = [
    ((1_u64 << 40) as f64, "TiB"),
    ((1 << 30) as f64, "GiB"),
    ((1 << 20) as f64, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];
const DECIMAL_SIZES: [(f64, &str); 6] =
    [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
const TIMES: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
const ENERGIES: [(f64, &str); 5] = [(1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ")];

/// The number in the largest unit in which it is at least 1.
fn scaled(number: f64, units: &[(f64, &str)]) -> String {
    let mut shown = units[units.len() - 1];
    if number == 0.0 {
        shown = units.iter().copied().find(|(size, _)| *size <= 1e-6).unwrap_or(shown);
    } else if let Some(unit) = units.iter().find(|(size, _)| number.abs() >= *size * 0.9995) {
        shown = *unit;
    }
    format!("{} {}", three_digits(number / shown.0), shown.1)
}

/// A time: up to two minutes in seconds, then in minutes, hours or days.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 && s > 0.0 => scaled(s, &TIMES),
        s if s < 120.0 => format!("{} s", three_digits(s)),
        s if s < 7_200.0 => format!("{} min", three_digits(s / 60.0)),
        s if s < 172_800.0 => format!("{} h", three_digits(s / 3_600.0)),
        s => format!("{} days", three_digits(s / 86_400.0)),
    }
}

/// A number with at least three digits and without an exponent: 0.00123, 1.23, 12.3, 1,235.
pub fn three_digits(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let before_point = libm::log10(number.abs() * 1.0005).floor() as i32 + 1;
    let text = format!("{number:.*}", (3 - before_point).clamp(0, 9) as usize);
    grouped(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_has_the_unit_that_suits_it() {
        let shown = [0.0, 0.05, 0.9999, 85.34, 999.9, 1_234.5, 2_500_000.0, 1.2e10]
            .map(|us| Quantity::Latency(us).to_string());
        assert_eq!(
            shown,
            ["0 µs", "50.0 ns", "1.00 µs", "85.3 µs", "1.00 ms", "1.23 ms", "2.50 s", "12,000 s"]
        );
    }

    #[test]
    fn a_long_time_is_in_minutes_hours_or_days() {
        let shown = [0.0, 0.0025, 61.0, 600.0, 10_000.0, 604_800.0].map(|s| Quantity::Seconds(s).to_string());
        assert_eq!(shown, ["0 s", "2.50 ms", "61.0 s", "10.0 min", "2.78 h", "7.00 days"]);
    }

    #[test]
    fn thousands_are_parted_by_commas() {
        let shown = [0, 12, 999, 1_000, 1_234_567].map(|count| Quantity::Count(count).to_string());
        assert_eq!(shown, ["0", "12", "999", "1,000", "1,234,567"]);
        assert_eq!(three_digits(-123_456.0), "-123,456");
    }

    #[test]
    fn what_is_not_finite_is_shown_as_absent() {
        assert_eq!(Quantity::Number(f64::NAN).to_string(), "–");
        assert_eq!(Quantity::Latency(f64::INFINITY).to_string(), "–");
    }

    #[test]
    fn a_ratio_to_zero_is_none() {
        assert_eq!(Quantity::Count(3).ratio_to(&Quantity::Count(0)), None);
        assert_eq!(Quantity::Count(3).ratio_to(&Quantity::Count(2)), Some(1.5));
        assert_eq!(Quantity::Absent.ratio_to(&Quantity::Count(2)), None);
        assert_eq!(Quantity::Count(3).ratio_text(&Quantity::Count(2)), "×1.50");
        assert_eq!(Quantity::Count(3).ratio_text(&Quantity::Count(2_000_000)), "< ×0.001");
        assert_eq!(Quantity::Count(0).ratio_text(&Quantity::Count(2)), "×0");
    }
}
