//! The counters of ReSSD.

use serde::{Deserialize, Serialize};
use wordline_kernel::Metric;
use wordline_kernel::metrics::{Unit, Value};

use super::config::LEVELS;
use super::overhead::Overhead;

static NORMAL: Metric =
    Metric::new("ressd.normal", Unit::LogicalPages, "Host pages written to normal blocks.");
static HOT: [Metric; LEVELS] = [
    Metric::new("ressd.hot_1", Unit::LogicalPages, "Host pages of the hottest level."),
    Metric::new("ressd.hot_2", Unit::LogicalPages, "Host pages of the second level."),
    Metric::new("ressd.hot_3", Unit::LogicalPages, "Host pages of the third level."),
];
static UPDATES: Metric =
    Metric::new("ressd.updates", Unit::LogicalPages, "Host pages with an older version in flash.");
static SUPER_LAYERS: Metric =
    Metric::new("ressd.super_layers", Unit::Count, "Super layers begun in hot blocks.");
static SUSPENDED: Metric = Metric::new("ressd.suspended", Unit::Count, "Hot blocks suspended as candidates.");
static RESUMED: Metric =
    Metric::new("ressd.resumed", Unit::Count, "Candidates resumed for their next super layer.");
static VACATED: Metric = Metric::new(
    "ressd.reclaimed",
    Unit::Count,
    "Candidates reclaimed: their valid pages were relocated together with host writes.",
);
static STAMPS: Metric = Metric::new("ressd.stamp_bytes", Unit::Bytes, "Memory of the time stamps of blocks.");
static TAGS: Metric =
    Metric::new("ressd.tag_bytes", Unit::Bytes, "Memory of the levels and candidate flags of blocks.");
static POINTERS: Metric = Metric::new(
    "ressd.pointer_bytes",
    Unit::Bytes,
    "Memory of the open hot blocks and word lines of each plane.",
);
static WORD_LINES: Metric =
    Metric::new("ressd.word_line_bytes", Unit::Bytes, "Memory of the status of word lines.");
static TOTAL: Metric = Metric::new("ressd.overhead_bytes", Unit::Bytes, "Sum of these four.");
static SAVED: Metric = Metric::new(
    "ressd.saved_bytes_per_block",
    Unit::Bytes,
    "Map memory saved by a block with two pages on a word line.",
);

/// All metrics.
pub static ALL: &[&Metric] = &[
    &NORMAL,
    &HOT[0],
    &HOT[1],
    &HOT[2],
    &UPDATES,
    &SUPER_LAYERS,
    &SUSPENDED,
    &RESUMED,
    &VACATED,
    &STAMPS,
    &TAGS,
    &POINTERS,
    &WORD_LINES,
    &TOTAL,
    &SAVED,
];

/// The counters of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Host pages by level: normal pages first, then the levels from the hottest on.
    pub pages: [u64; LEVELS + 1],
    /// Host pages with an older version in flash.
    pub updates: u64,
    /// Super layers begun.
    pub super_layers: u64,
    /// Suspended blocks.
    pub suspended: u64,
    /// Resumed blocks.
    pub resumed: u64,
    /// Blocks whose valid pages were reclaimed.
    pub vacated: u64,
}

impl Counts {
    /// The value of each metric.
    pub fn measure(&self, overhead: &Overhead) -> Vec<(&'static Metric, Value)> {
        let Self { pages: [normal, one, two, three], updates, super_layers, suspended, resumed, vacated } =
            *self;
        let values = [normal, one, two, three, updates, super_layers, suspended, resumed, vacated];
        let Overhead { stamps, tags, pointers, word_lines, saved_per_block } = *overhead;
        let bytes = [stamps, tags, pointers, word_lines, overhead.total(), saved_per_block];
        let bytes = bytes.map(|bytes| Value::Number(bytes as f64));
        ALL.iter().copied().zip(values.map(Value::Count).into_iter().chain(bytes)).collect()
    }
}
