//! A time in a part file: one value, or a range from a minimum to a maximum.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::{Serialize, Serializer};
use wordline_kernel::Duration;

/// An array time in a part file: one value, or a range, as in `"250us..2200us"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The shortest time.
    pub least: Duration,
    /// The longest, not below `least`.
    pub most: Duration,
}

impl From<Duration> for TimeRange {
    fn from(time: Duration) -> Self {
        Self { least: time, most: time }
    }
}

impl TimeRange {
    const WANTED: &'static str = "a time with a unit, such as \"700us\" (ps, ns, us, ms, s, min, h, d), or a range \
                                  from the shortest to the longest, such as \"250us..2200us\"";

    /// The mean of all times within the range.
    pub fn middle(self) -> Duration {
        self.least + (self.most - self.least) / 2
    }

    /// Whether the range contains more than one time.
    pub fn is_range(self) -> bool {
        self.least < self.most
    }
}

impl FromStr for TimeRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let complain = || format!("found \"{text}\", wanted {}", Self::WANTED);
        let time = |text: &str| text.parse::<Duration>().map_err(|_| complain());
        let Some((least, most)) = text.split_once("..") else { return time(text).map(Self::from) };
        let range = Self { least: time(least)?, most: time(most)? };
        if range.least <= range.most { Ok(range) } else { Err(complain()) }
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.least)?;
        if self.is_range() { write!(out, "..{}", self.most) } else { Ok(()) }
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = TimeRange;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(TimeRange::WANTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TimeRange, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<TimeRange, E> {
        Duration::deserialize(number.into_deserializer()).map(TimeRange::from)
    }
}

impl<'de> Deserialize<'de> for TimeRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Text)
    }
}

impl Serialize for TimeRange {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for TimeRange {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimeRange".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let time = Duration::json_schema(generator);
        let time = time.get("pattern").and_then(|pattern| pattern.as_str()).unwrap_or_default();
        let time = time.trim_start_matches('^').trim_end_matches('$');
        schemars::json_schema!({
            "type": ["string", "integer"],
            "description": Self::WANTED,
            "pattern": format!("^{time}(\\.\\.{time})?$"),
            "minimum": 0,
            "maximum": 0,
            "examples": ["700us", "250us..2200us"]
        })
    }
}
