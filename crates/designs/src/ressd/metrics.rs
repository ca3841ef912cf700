//! The counts of ReSSD.

use serde::{Deserialize, Serialize};
use wordline_kernel::Metric;
use wordline_kernel::metrics::{Unit, Value};

use super::LEVELS;

static NORMAL: Metric =
    Metric::new("ressd.normal", Unit::LogicalPages, "Pages of the host that went to normal blocks.");
static HOT: [Metric; LEVELS] = [
    Metric::new("ressd.hot_1", Unit::LogicalPages, "Pages of the host of the hottest level."),
    Metric::new("ressd.hot_2", Unit::LogicalPages, "Pages of the host of the second level."),
    Metric::new("ressd.hot_3", Unit::LogicalPages, "Pages of the host of the third level."),
];
static UPDATES: Metric = Metric::new(
    "ressd.updates",
    Unit::LogicalPages,
    "Pages of the host of which flash held an older version.",
);
static SUPER_LAYERS: Metric =
    Metric::new("ressd.super_layers", Unit::Count, "Super layers of hot blocks that were begun.");
static SUSPENDED: Metric =
    Metric::new("ressd.suspended", Unit::Count, "Hot blocks that were suspended as candidates.");
static RESUMED: Metric = Metric::new(
    "ressd.resumed",
    Unit::Count,
    "Candidates that were opened again for their next super layer.",
);

/// All of them.
pub static ALL: &[&Metric] =
    &[&NORMAL, &HOT[0], &HOT[1], &HOT[2], &UPDATES, &SUPER_LAYERS, &SUSPENDED, &RESUMED];

/// The numbers of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Pages of the host by level: normal ones, then the hottest first.
    pub pages: [u64; LEVELS + 1],
    /// Pages of which flash held an older version.
    pub updates: u64,
    /// Super layers begun.
    pub super_layers: u64,
    /// Blocks suspended.
    pub suspended: u64,
    /// Blocks opened again.
    pub resumed: u64,
}

impl Counts {
    /// The value of each metric.
    pub fn measure(&self) -> Vec<(&'static Metric, Value)> {
        let Self { pages: [normal, one, two, three], updates, super_layers, suspended, resumed } = *self;
        let values = [normal, one, two, three, updates, super_layers, suspended, resumed];
        ALL.iter().copied().zip(values.map(Value::Count)).collect()
    }
}
