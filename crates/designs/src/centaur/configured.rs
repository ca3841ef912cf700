//! Configuration of Centaur.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_ftl::Config;
use wordline_kernel::{Bytes, Complaints};

/// Settings of Centaur.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CentaurFile {
    /// Initial dispatch condition: a piece of at least this size goes to the first pool. A piece is the host
    /// data of a mapping unit that are destaged together.
    pub condition: Bytes,
    /// Lower bound of the dispatch condition.
    pub least: Bytes,
    /// Upper bound of the dispatch condition.
    pub most: Bytes,
    /// Change of the dispatch condition at an adjustment. 0 keeps it constant.
    pub step: Bytes,
    /// Number of pieces between adjustments. The condition rises if the second pool has used less of its
    /// endurance than the first, else it falls.
    pub adjust_every: u32,
    /// Whether all buffered pages of a unit are destaged together, as one piece, when one of them is
    /// destaged. Otherwise each page is a piece.
    pub combining: bool,
    /// Whether an idle chip of the second pool takes the oldest piece that waits for the first pool
    /// (algorithm 2). It does so while the share of valid pages is larger in the first pool.
    pub stealing: bool,
    /// Whether the valid pages of a victim in the second pool move to the first pool (algorithm 3). They do
    /// so while the share of valid pages is larger in the second pool. Needs `ftl.mapping.whole_units`.
    pub migration: bool,
}

impl Default for CentaurFile {
    /// The values of Centaur: table 2, figure 9, and algorithms 1 to 3.
    fn default() -> Self {
        Self {
            condition: Bytes::kib(72),
            least: Bytes::kib(32),
            most: Bytes::kib(88),
            step: Bytes(512),
            adjust_every: 1_000,
            combining: true,
            stealing: true,
            migration: true,
        }
    }
}

impl CentaurFile {
    pub(super) fn check(&self, config: &Config, wrong: &mut Complaints) {
        let unit = config.unit * u64::from(config.pages_per_sub_request());
        let sectors = |size: Bytes| size.0.is_multiple_of(SECTOR.0);
        for (key, size) in
            [("condition", self.condition), ("least", self.least), ("most", self.most), ("step", self.step)]
        {
            wrong.require(sectors(size), key, size, format!("a multiple of {SECTOR}"));
        }
        wrong.require(
            self.least <= self.condition && self.condition <= self.most,
            "condition",
            self.condition,
            format!("from design.least ({}) to design.most ({})", self.least, self.most),
        );
        wrong.require(
            config.pools.count() < 2 || self.least <= unit,
            "least",
            self.least,
            format!("at most a unit ({unit}): no sub-request is larger"),
        );
        wrong.require(self.adjust_every > 0, "adjust_every", self.adjust_every, "1 or more");
        wrong.require(
            config.pools.count() < 2 || config.file.ftl.mapping.whole_units || !self.migration,
            "migration",
            true,
            "false: it relocates whole units, which requires ftl.mapping.whole_units",
        );
    }
}
