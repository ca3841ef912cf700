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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Seed};

use crate::Part;
use crate::geometry::PlaneBlock;
use crate::page_type::{ByType, MAX_BITS_PER_CELL, by_type};
use crate::time_range::TimeRange;

/// The model of program times. Reads and erases take the times of the part in every model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl Source {
    fn of(values: &[TimeRange], seed: Seed, stream: &str) -> Self {
        if values.iter().any(|value| value.is_range()) {
            Self::Random { key: key_of(seed, stream), ranges: by_type(values) }
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

/// Names of the streams of sense and of program times.
const STREAMS: [&str; 2] = ["nand.read-time", "nand.program-time"];

fn key_of(seed: Seed, stream: &str) -> Seed {
    Seed(seed.stream(stream, 0).bits())
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
            LatencyModel::VariationAware => Source::of(&part.timing.program, seed, STREAMS[1]),
            LatencyModel::Typical => always(part.typical_program_time()),
            LatencyModel::Worst => always(part.worst_program_time()),
        };
        let read = Source::of(&part.timing.read, seed, STREAMS[0]);
        Self { types: part.pages().types().to_vec(), read, program }
    }

    /// Whether the seed determines any time.
    pub(crate) fn is_drawn(&self) -> bool {
        [&self.read, &self.program].iter().any(|source| matches!(source, Source::Random { .. }))
    }

    /// Draws the times anew from another seed.
    pub(crate) fn set_seed(&mut self, seed: Seed) {
        for (source, stream) in [&mut self.read, &mut self.program].into_iter().zip(STREAMS) {
            if let Source::Random { key, .. } = source {
                *key = key_of(seed, stream);
            }
        }
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
