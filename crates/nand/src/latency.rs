//! Array times by page: the sources of tR and tPROG.
//!
//! The pages of a word line take different times to program, and so do pages of one type in different blocks
//! (NANDFlashSim, sections 4 and 7.2). A part file gives a time as a [`TimeRange`], for all pages or for each
//! page type: one value, or a minimum and a maximum. With a range, the time of a page is drawn from the seed
//! and the page's address alone. It does not depend on the order of operations, so a page takes equally long
//! each time. Chosen: a uniform distribution, as no source gives the distribution within a page type.
//!
//! [`LatencyModel`] can replace program times (TIN) by constants, like simulators that do not model page
//! types.
//!
//! [`Latency`] hides its source behind [`Latency::program`] and [`Latency::read`], which take the whole
//! address. To add another source, add a variant of the private `Source` and a constructor beside
//! [`Latency::new`]; callers do not change.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::{Serialize, Serializer};
use wordline_kernel::{Duration, Seed};

use crate::Part;
use crate::geometry::PlaneBlock;
use crate::part::MAX_BITS_PER_CELL;

/// Array times of a word line in MLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoBitTiming {
    /// Sensing either page (tR).
    pub read: Duration,
    /// Programming both pages at once (tPROG).
    pub program: Duration,
}

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

/// The model of program times. Reads and erases take the times of the part in every model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyModel {
    /// The time of each page.
    #[default]
    VariationAware,
    /// The typical time of the data sheet for every page.
    Typical,
    /// The longest time of any page for every page.
    Worst,
}

/// The times of one kind of operation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// One time for each page type.
    Table(ByType<Duration>),
    /// A time within the range of the page type, drawn from key and address.
    Random { key: Seed, ranges: ByType<TimeRange> },
}

/// One value for each page type. Page types beyond the types of the part have the value of its last type.
pub(crate) type ByType<T> = [T; MAX_BITS_PER_CELL as usize];

/// Values by page type. A part file gives one value, or one value for each bit of a cell.
pub(crate) fn by_type<T: Copy>(values: &[T]) -> ByType<T> {
    std::array::from_fn(|page_type| values[page_type.min(values.len() - 1)])
}

impl Source {
    fn of(values: &[TimeRange], seed: Seed, stream: &str) -> Self {
        if values.iter().any(|value| value.is_range()) {
            Self::Random { key: Seed(seed.stream(stream, 0).bits()), ranges: by_type(values) }
        } else {
            Self::Table(by_type(values).map(TimeRange::middle))
        }
    }

    /// The time, if it is the same for all pages.
    fn uniform(&self) -> Option<Duration> {
        match self {
            Self::Table(times) if times.iter().all(|time| *time == times[0]) => Some(times[0]),
            Self::Table(_) | Self::Random { .. } => None,
        }
    }

    #[inline]
    fn time(&self, page_type: u8, page: u32, blocks: impl IntoIterator<Item = PlaneBlock>) -> Duration {
        match self {
            Self::Table(times) => times[usize::from(page_type)],
            Self::Random { key, ranges } => {
                let range = ranges[usize::from(page_type)];
                let times = blocks.into_iter().map(|block| draw(*key, range, block, page));
                times.max().unwrap_or(range.least)
            }
        }
    }
}

/// The time of a page within `range`. The fields of the address do not overlap: at most 14 bits are needed
/// for the page, 24 for the block and 19 for the die.
fn draw(key: Seed, range: TimeRange, at: PlaneBlock, page: u32) -> Duration {
    let address = u64::from(at.die.0) << 40 | u64::from(at.block) << 16 | u64::from(page);
    let steps = (range.most - range.least).ps() + 1;
    range.least + Duration::from_ps(key.stream("", address).below(steps))
}

/// The time that the array takes to sense and to program each page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    types: Vec<u8>,
    read: Source,
    program: Source,
}

impl Latency {
    /// The times of `part` under `model`. Equal seeds give equal times.
    pub fn new(part: &Part, model: LatencyModel, seed: Seed) -> Self {
        let always = |time: Duration| Source::Table([time; MAX_BITS_PER_CELL as usize]);
        let program = match model {
            LatencyModel::VariationAware => Source::of(&part.timing.program, seed, "nand.program-time"),
            LatencyModel::Typical => always(part.typical_program_time()),
            LatencyModel::Worst => always(part.worst_program_time()),
        };
        let read = Source::of(&part.timing.read, seed, "nand.read-time");
        Self { types: part.pages().types().to_vec(), read, program }
    }

    /// Sensing time, if it is the same for all pages.
    pub fn uniform_read_time(&self) -> Option<Duration> {
        self.read.uniform()
    }

    /// Programming time, if it is the same for all pages.
    pub fn uniform_program_time(&self) -> Option<Duration> {
        self.program.uniform()
    }

    /// Time to sense page number `page` of `blocks` in planes that sense together: the time of the slowest
    /// plane. `blocks` is evaluated only if the part gives a range.
    #[inline]
    pub fn read(&self, page: u32, blocks: impl IntoIterator<Item = PlaneBlock>) -> Duration {
        self.read.time(self.types[page as usize], page, blocks)
    }

    /// Time to program page number `page` of `blocks` in planes that are programmed together: the time of the
    /// slowest plane. For a one-shot part this is the time of a word line, and `page` is its first page.
    #[inline]
    pub fn program(&self, page: u32, blocks: impl IntoIterator<Item = PlaneBlock>) -> Duration {
        self.program.time(self.types[page as usize], page, blocks)
    }
}

#[cfg(test)]
mod tests;
