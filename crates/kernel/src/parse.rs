//! Parsing of quantities as people write them: `"16KiB"`, `"700us"`, `"400MT/s"`, `"66mW"`.
//!
//! A number needs a unit; a decimal fraction is allowed as long as the result is a whole number of base
//! units. Binary formats hold the number of base units.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use crate::{Bytes, Duration, Energy, MegaTransfers, Power};

/// A quantity with units: their names, and their sizes in base units.
trait Quantity: Sized {
    const WANTED: &'static str;
    const UNITS: &'static [(&'static str, u128)];
    /// The upper bound, in base units, and its spelling.
    const MAX: Option<(u128, &'static str)> = None;
    /// Whether zero is allowed.
    const CAN_BE_ZERO: bool = true;
    fn from_base(base: u64) -> Option<Self>;
    /// The number of base units.
    fn base(&self) -> u128;
}

impl Quantity for Duration {
    const WANTED: &'static str = "a time with a unit, such as \"700us\" (ps, ns, us, ms, s, min, h, d)";
    const UNITS: &'static [(&'static str, u128)] = &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
        ("d", 86_400_000_000_000_000),
    ];
    const MAX: Option<(u128, &'static str)> = Some((Self::LIMIT.ps() as u128, "106d"));
    fn from_base(base: u64) -> Option<Self> {
        Some(Self::from_ps(base))
    }
    fn base(&self) -> u128 {
        u128::from(self.ps())
    }
}

impl Quantity for Bytes {
    const WANTED: &'static str =
        "a size with a unit, such as \"16KiB\" (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)";
    const UNITS: &'static [(&'static str, u128)] = &[
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
    ];
    fn from_base(base: u64) -> Option<Self> {
        Some(Self(base))
    }
    fn base(&self) -> u128 {
        u128::from(self.0)
    }
}

impl Quantity for MegaTransfers {
    const WANTED: &'static str = "a data rate with a unit, such as \"400MT/s\" (MT/s, GT/s)";
    const UNITS: &'static [(&'static str, u128)] = &[("MT/s", 1), ("GT/s", 1_000)];
    const CAN_BE_ZERO: bool = false;
    fn from_base(base: u64) -> Option<Self> {
        u32::try_from(base).ok().filter(|rate| *rate > 0).map(Self)
    }
    fn base(&self) -> u128 {
        u128::from(self.0)
    }
}

impl Quantity for Power {
    const WANTED: &'static str = "a power with a unit, such as \"66mW\" (uW, mW, W)";
    const UNITS: &'static [(&'static str, u128)] = &[("uW", 1), ("mW", 1_000), ("W", 1_000_000)];
    fn from_base(base: u64) -> Option<Self> {
        Some(Self(base))
    }
    fn base(&self) -> u128 {
        u128::from(self.0)
    }
}

impl Quantity for Energy {
    const WANTED: &'static str = "an energy with a unit, such as \"20mJ\" (fJ, pJ, nJ, uJ, mJ, J)";
    const UNITS: &'static [(&'static str, u128)] = &[
        ("fJ", 1),
        ("pJ", 1_000),
        ("nJ", 1_000_000),
        ("uJ", 1_000_000_000),
        ("mJ", 1_000_000_000_000),
        ("J", 1_000_000_000_000_000),
    ];
    fn from_base(base: u64) -> Option<Self> {
        Some(Self(u128::from(base)))
    }
    fn base(&self) -> u128 {
        self.0
    }
}

/// Parses `text`, or returns a message with the allowed form.
fn read<Q: Quantity>(text: &str) -> Result<Q, String> {
    let complain = || format!("found \"{text}\", wanted {}", Q::WANTED);
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    let scale = Q::UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(complain)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || fraction.len() > 18 {
        return Err(complain());
    }
    let tens = 10u128.pow(fraction.len() as u32);
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| complain())?;
    let scaled = digits.checked_mul(scale).ok_or_else(complain)?;
    if !scaled.is_multiple_of(tens) {
        return Err(complain());
    }
    if let Some((most, name)) = Q::MAX.filter(|(most, _)| scaled / tens > *most) {
        debug_assert_eq!(read::<Q>(name).map(|named| named.base()), Ok(most), "the name says the limit");
        return Err(format!("found \"{text}\", wanted at most {name}"));
    }
    u64::try_from(scaled / tens).ok().and_then(Q::from_base).ok_or_else(complain)
}

/// The strings that [`read`] accepts, as a regular expression of JSON Schema (ECMA 262). It rejects a missing
/// number, a missing or unknown unit, a fraction of the base unit, and zero where zero is not allowed. It
/// does not reject numbers that are too large, nor fractions of the base unit that are written in a larger
/// unit.
fn pattern<Q: Quantity>() -> String {
    let units = |base: bool| {
        let names = Q::UNITS.iter().filter(|(_, size)| (*size == 1) == base).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join("|")
    };
    let (whole, zeroes) = if Q::CAN_BE_ZERO {
        ("[0-9_]*[0-9][0-9_]*(\\.[0-9_]*)?", "[0-9_]*[0-9][0-9_]*(\\.[0_]*)?")
    } else {
        (
            "([0-9_]*[1-9][0-9_]*(\\.[0-9_]*)?|[0-9_]*[0-9][0-9_]*\\.[0-9_]*[1-9][0-9_]*)",
            "[0-9_]*[1-9][0-9_]*(\\.[0_]*)?",
        )
    };
    format!("^\\s*({whole}\\s*({})|{zeroes}\\s*({}))\\s*$", units(false), units(true))
}

/// The JSON Schema of a quantity, with `example`. The only number without a unit is 0.
fn schema_of<Q: Quantity>(example: &str) -> schemars::Schema {
    let mut schema = schemars::json_schema!({
        "type": ["string", "integer"],
        "description": Q::WANTED,
        "pattern": pattern::<Q>(),
        "minimum": 0,
        "maximum": 0,
        "examples": [example]
    });
    if !Q::CAN_BE_ZERO {
        schema.insert("type".into(), "string".into());
    }
    schema
}

struct TextOf<Q>(std::marker::PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for TextOf<Q> {
    type Value = Q;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(Q::WANTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        read(text).map_err(E::custom)
    }

    /// Zero needs no unit.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Q, E> {
        if number == 0 { Q::from_base(0) } else { None }
            .ok_or_else(|| E::custom(format!("found {number} without a unit, wanted {}", Q::WANTED)))
    }
}

macro_rules! as_text {
    ($($type:ident, $example:literal;)*) => {$(
        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                read(text)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                if from.is_human_readable() {
                    return from.deserialize_any(TextOf(std::marker::PhantomData));
                }
                Self::from_base(u64::deserialize(from)?)
                    .ok_or_else(|| de::Error::custom(format!("wanted {}", Self::WANTED)))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                if to.is_human_readable() {
                    return to.collect_str(self);
                }
                u64::try_from(self.base()).map_err(serde::ser::Error::custom)?.serialize(to)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schema_of::<Self>($example)
            }
        }
    )*};
}

as_text! {
    Duration, "700us";
    Bytes, "16KiB";
    MegaTransfers, "400MT/s";
    Power, "66mW";
    Energy, "20mJ";
}

impl fmt::Display for MegaTransfers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}MT/s", self.0)
    }
}

impl fmt::Display for Power {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}uW", self.0)
    }
}

/// Formats in the largest unit in which the value is a whole number: `20mJ`. `FromStr` parses it back.
impl fmt::Display for Energy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = Self::UNITS.iter().rev().find(|(_, size)| self.0.is_multiple_of(*size));
        let (name, size) = whole.filter(|_| self.0 > 0).unwrap_or(&Self::UNITS[0]);
        write!(out, "{}{name}", self.0 / size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!("700us".parse(), Ok(Duration::from_us(700)));
        assert_eq!("0.5ms".parse(), Ok(Duration::from_us(500)));
        assert_eq!("16 KiB".parse(), Ok(Bytes::kib(16)));
        assert_eq!("1.2GT/s".parse(), Ok(MegaTransfers(1200)));
        assert_eq!("66mW".parse(), Ok(Power(66_000)));
        for (text, fj) in
            [("20mJ", 20_000_000_000_000), ("1J", 1_000_000_000_000_000), ("0fJ", 0), ("1001fJ", 1_001)]
        {
            assert_eq!((text.parse(), Energy(fj).to_string().as_str()), (Ok(Energy(fj)), text));
        }
    }

    #[test]
    fn a_wrong_unit_or_a_part_of_a_picosecond_is_refused() {
        for text in ["700", "700 parsecs", "", "us", "0.5ps", "1e3us", "-1us"] {
            let error = text.parse::<Duration>().expect_err(text);
            assert!(error.contains("wanted a time with a unit"), "{error}");
        }
        for text in ["107d", "99999999999999d", "106.00000001d"] {
            let error = text.parse::<Duration>().expect_err(text);
            assert_eq!(error, format!("found \"{text}\", wanted at most 106d"));
        }
        assert_eq!("106d".parse(), Ok(Duration::LIMIT));
        assert!("0MT/s".parse::<MegaTransfers>().is_err());
    }
}
