//! Configuration of ReSSD.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::Config;
use wordline_ftl::policy::frontier::WordLines;
use wordline_kernel::{Complaints, Duration};
use wordline_nand::CellMode;
use wordline_nand::onfi::LunTimes;

/// Levels of hot data.
pub const LEVELS: usize = 3;

/// Treatment of a block whose last super layer has only valid pages, so that no word line can be reprogrammed
/// now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenAllValid {
    /// The block is suspended as a candidate while one of its word lines has a reprogram pass left. Otherwise
    /// its next super layer begins (section 4.2).
    #[default]
    Suspend,
    /// The next super layer begins (the text of figure 8).
    NextSuperLayer,
}

/// The settings of ReSSD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReSsdFile {
    /// Age limits of the data that a write replaces, one for each level. The write belongs to the first level
    /// whose limit is above the age of the data. The first level is the hottest. From the last limit on, the
    /// write is normal data.
    pub thresholds: [Duration; LEVELS],
    /// Reprogram passes of word lines in hot blocks. 0 is the baseline, which only separates writes by level.
    pub rewrites: u8,
    /// Maximum number of candidates (suspended blocks) of a level in a plane group, not counting the open
    /// block. 0: no block is suspended.
    pub candidates: u16,
    /// Whether the valid pages of a candidate move to normal blocks, together with host writes, when the
    /// level of the candidate begins another super layer (section 4.2.2).
    pub passive_reclaim: bool,
    /// Treatment of a block with only valid pages.
    pub when_all_valid: WhenAllValid,
}

impl Default for ReSsdFile {
    /// The values of ReSSD, sections 4.1, 4.2 and 6.1. `candidates` is chosen: the paper reclaims a candidate
    /// instead of opening another block, and gives no number.
    fn default() -> Self {
        Self {
            thresholds: [30, 60, 120].map(|minutes| Duration::from_ms(minutes * 60_000)),
            rewrites: 2,
            candidates: 1,
            passive_reclaim: true,
            when_all_valid: WhenAllValid::Suspend,
        }
    }
}

impl ReSsdFile {
    pub(super) fn check(&self, config: &Config, wrong: &mut Complaints) {
        let rises = self.thresholds.windows(2).all(|pair| pair[0] < pair[1]);
        let found = self.thresholds.map(|age| age.to_string()).join(", ");
        wrong.require(
            rises && self.thresholds[0] > Duration::ZERO,
            "thresholds",
            found,
            "ages that rise, above 0",
        );
        let pool = config.pools.first();
        let limits = LunTimes::of(&pool.part);
        let (rewrites, most) = (u32::from(self.rewrites), limits.reprograms);
        let wanted = format!("at most {most}, which word lines of the part {} tolerate", pool.part.name);
        wrong.require(rewrites <= most, "rewrites", rewrites, wanted);
        if self.rewrites == 0 {
            return;
        }
        let most = pool.geometry.blocks_per_plane / 8;
        let wanted = format!("at most {most}, an eighth of the blocks of a plane group");
        wrong.require(u32::from(self.candidates) <= most, "candidates", self.candidates, wanted);
        if !pool.part.has_mode(CellMode::Mlc) {
            let wanted = "a one-shot part of three bits a cell or more with the time part.timing.reprogram, or rewrites = 0";
            wrong.add("", format!("the part {}", pool.part.name), wanted);
            return;
        }
        let layers = WordLines::of(&pool.part, &pool.geometry).layers;
        let per = limits.layers_per_super_layer;
        let wanted = format!("whole super layers of {per} layers");
        wrong.require(layers.is_multiple_of(per), "", format!("blocks of {layers} layers"), wanted);
    }
}
