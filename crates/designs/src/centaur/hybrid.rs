//! The hybrid of SLC and MLC (Chang, IEEE Transactions on Computers 2010, as Centaur describes it in section 6.2.5).
//!
//! The description leaves two things open, which are chosen here. The epoch is as long as the time between two adjustments of
//! Centaur. Of how many hot pieces go to MLC it says only that the difference of the lifetimes decides: chosen is the share
//! `1 - l_MLC / l_SLC`, evenly spread. The paper counts requests; a design sees what of a unit leaves the buffer together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, state};
use wordline_ssd::design::{Needs, Seam, View};
use wordline_ssd::policy::router::Outgoing;
use wordline_ssd::{Config, Design, SECTOR};

use super::{LARGE, SMALL, Sizes, check_device, spent};
use crate::DesignType;

/// Settings of the hybrid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HybridFile {
    /// Pieces of an epoch, from whose sizes the threshold of the next one follows (k-means, k = 2).
    pub epoch: u32,
    /// The largest piece that goes to the second pool in the first epoch.
    pub threshold: Bytes,
    /// Whether some of the small pieces go to the first pool while the second has spent more of its lifetime.
    pub level_lifetimes: bool,
}

impl Default for HybridFile {
    /// Centaur, section 6.2.5: thresholds are typically 4 or 8 KB, and lifetimes are levelled. Chosen: the larger of them at the
    /// start, and an epoch as long as between two adjustments of Centaur (table 2).
    fn default() -> Self {
        Self { epoch: 1_000, threshold: Bytes::kib(8), level_lifetimes: true }
    }
}

/// Sends pieces of a unit that are small among those of the last epoch to the second pool, the others to the first.
pub struct Hybrid {
    /// Sectors of the largest small piece.
    threshold: u32,
    sizes: Sizes,
    /// Pieces of this epoch so far.
    seen: u32,
    /// Small pieces that are due to the first pool, of which a whole one is sent there.
    due: f64,
    epoch: u32,
    level_lifetimes: bool,
}

state!(Hybrid { values { threshold, sizes, seen, due } fixed { epoch, level_lifetimes } });

impl Hybrid {
    /// At its start, in a device of `config`. `file` is checked.
    pub fn new(file: &HybridFile, config: &Config) -> Self {
        let unit = config.unit * u64::from(config.pages_of_a_sub_request());
        Self {
            threshold: (file.threshold.0 / SECTOR.0) as u32,
            sizes: Sizes::new((unit.0 / SECTOR.0) as u32),
            seen: 0,
            due: 0.0,
            epoch: file.epoch,
            level_lifetimes: file.level_lifetimes,
        }
    }

    /// The largest piece that counts as small.
    pub fn threshold(&self) -> Bytes {
        SECTOR * u64::from(self.threshold)
    }

    /// The pool that a piece goes to.
    pub fn pool_of(&mut self, piece: &Outgoing<'_>) -> u8 {
        let small = piece.sectors <= self.threshold;
        self.learn(piece.sectors);
        if small && !self.is_diverted(spent(piece.pools)) { SMALL } else { LARGE }
    }

    /// Takes the size of a piece into account. An epoch of one size leaves the threshold as it is.
    fn learn(&mut self, sectors: u32) {
        self.sizes.count(sectors);
        self.seen += 1;
        if self.seen >= self.epoch {
            self.threshold = self.sizes.largest_small().unwrap_or(self.threshold);
            self.sizes.clear();
            self.seen = 0;
        }
    }

    /// Whether this small piece goes to the first pool, so that both wear alike.
    fn is_diverted(&mut self, [of_slc, of_mlc]: [f64; 2]) -> bool {
        if !self.level_lifetimes || of_slc <= of_mlc {
            return false;
        }
        self.due += 1.0 - of_mlc / of_slc;
        let whole = self.due >= 1.0;
        if whole {
            self.due -= 1.0;
        }
        whole
    }
}

impl Design for Hybrid {
    fn name(&self) -> &'static str {
        SlcMlcHybrid::NAME
    }

    fn needs(&self) -> Needs {
        Needs::of(&[Seam::Pool])
    }

    fn pool(&mut self, piece: &Outgoing<'_>, _: &mut View<'_>) -> u8 {
        self.pool_of(piece)
    }

    fn least_of_first(&self) -> Option<Bytes> {
        Some(self.threshold() + SECTOR)
    }
}

/// The hybrid as a configuration names it.
#[derive(Debug)]
pub struct SlcMlcHybrid;

impl DesignType for SlcMlcHybrid {
    const NAME: &'static str = "slc-mlc-hybrid";
    const DESCRIPTION: &'static str = "The hybrid of SLC and MLC that Centaur compares itself with: small writes go to the second of two pools, what \
        is small following from the sizes of the last epoch. Wants two `pools`.";
    const PAGE: &'static str = include_str!("../../../../docs/designs/slc_mlc_hybrid.md");

    type File = HybridFile;

    fn check(file: &HybridFile, config: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        wrong.require(file.epoch > 0, "epoch", file.epoch, "1 or more");
        let whole = file.threshold.0.is_multiple_of(SECTOR.0) && file.threshold >= SECTOR;
        wrong.require(
            whole && file.threshold <= Bytes::gib(1),
            "threshold",
            file.threshold,
            format!("a multiple of {SECTOR}, up to 1GiB"),
        );
        check_device(Self::NAME, config, &mut wrong);
        wrong.or_ok(())
    }

    fn build(file: &HybridFile, config: &Config) -> Box<dyn Design> {
        Box::new(Hybrid::new(file, config))
    }
}
