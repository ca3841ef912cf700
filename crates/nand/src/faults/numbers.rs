//! Numbers in a rule: `7`, or the inclusive range `"3..9"`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// One number, or an inclusive range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberRange {
    /// Lower end.
    pub least: u32,
    /// Upper end, not below `least`.
    pub most: u32,
}

impl NumberRange {
    const WANTED: &'static str = "a whole number, or a range with both ends, such as \"3..9\"";

    /// Whether the range contains `number`.
    pub fn contains(&self, number: u32) -> bool {
        (self.least..=self.most).contains(&number)
    }

    /// Whether the range contains one of `count` numbers from `first` on.
    pub fn overlaps(&self, first: u32, count: u32) -> bool {
        first <= self.most && self.least < first + count
    }
}

impl From<u32> for NumberRange {
    fn from(number: u32) -> Self {
        Self { least: number, most: number }
    }
}

impl FromStr for NumberRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let complain = || format!("found \"{text}\", wanted {}", Self::WANTED);
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| complain());
        let Some((least, most)) = text.split_once("..") else { return number(text).map(Self::from) };
        let numbers = Self { least: number(least)?, most: number(most)? };
        if numbers.least <= numbers.most { Ok(numbers) } else { Err(complain()) }
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.least)?;
        if self.least < self.most { write!(out, "..{}", self.most) } else { Ok(()) }
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = NumberRange;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(NumberRange::WANTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<NumberRange, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<NumberRange, E> {
        number.to_string().parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<NumberRange, E> {
        number.to_string().parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for NumberRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Text)
    }
}

impl Serialize for NumberRange {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.least == self.most { to.serialize_u32(self.least) } else { to.collect_str(self) }
    }
}

impl JsonSchema for NumberRange {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Numbers".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "integer"],
            "description": Self::WANTED,
            "pattern": "^\\s*\\+?[0-9]+\\s*(\\.\\.\\s*\\+?[0-9]+\\s*)?$",
            "minimum": 0,
            "maximum": u32::MAX,
            "examples": [7, "3..9"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_they_are_written() {
        for text in ["7", "3..9"] {
            assert_eq!(text.parse::<NumberRange>().expect(text).to_string(), text);
        }
        for text in ["", "9..3", "-1", "1..", "a", "4294967296"] {
            assert!(text.parse::<NumberRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_meet_where_they_share_a_number() {
        let numbers = NumberRange { least: 3, most: 9 };
        assert!(
            numbers.overlaps(9, 1)
                && numbers.overlaps(0, 4)
                && numbers.overlaps(0, 100)
                && numbers.contains(3)
        );
        assert!(!numbers.overlaps(0, 3) && !numbers.overlaps(10, 5) && !numbers.contains(10));
    }
}
