//! The hybrid of SLC and MLC (Chang, IEEE Transactions on Computers 2010, as Centaur describes it in section 6.2.5).
//!
//! The description leaves three things open, which are chosen here. An epoch is as many requests of the host as there are pieces between two
//! adjustments of Centaur. Of how many hot pieces go to MLC it says only that the difference of the lifetimes decides: chosen is the share
//! `1 - l_MLC / l_SLC`, evenly spread. Pages of a unit leave the buffer together, and several requests may have written them: the largest of these
//! decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, state};
use wordline_ssd::design::{Needs, Observes, Seam, Seen, View};
use wordline_ssd::policy::router::Outgoing;
use wordline_ssd::{Config, Design, SECTOR};

use super::{LARGE, SMALL, Sizes, check_device, spent};
use crate::DesignType;

/// Settings of the hybrid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HybridFile {
    /// Writes of the host in an epoch, from whose sizes the threshold of the next one follows (k-means, k = 2).
    pub epoch: u32,
    /// The largest write of the host that goes to the second pool in the first epoch.
    pub threshold: Bytes,
    /// Whether the threshold follows the sizes of the last epoch; else it stays.
    pub clustering: bool,
    /// Whether some of the small pieces go to the first pool while the second has spent more of its lifetime.
    pub level_lifetimes: bool,
}

impl Default for HybridFile {
    /// Centaur, section 6.2.5: thresholds are typically 4 or 8 KB, and lifetimes are levelled. Chosen: the larger of them at the
    /// start, and an epoch as long as between two adjustments of Centaur (table 2).
    fn default() -> Self {
        Self { epoch: 1_000, threshold: Bytes::kib(8), clustering: true, level_lifetimes: true }
    }
}

/// The largest write that is told from larger ones, in sectors: 1 MiB. Chosen: the most that Linux sends to an NVMe drive at once with its defaults.
const LARGEST: u32 = 2048;

/// Sends what small writes of the host brought to the second pool, small among those of the last epoch, and the rest to the first.
pub struct Hybrid {
    /// Sectors of the largest small write.
    threshold: u32,
    sizes: Sizes,
    /// Writes of the host in this epoch so far.
    seen: u32,
    /// Small pieces that are due to the first pool, of which a whole one is sent there.
    due: f64,
    epoch: u32,
    /// Sectors of a logical page.
    page: u64,
    clustering: bool,
    level_lifetimes: bool,
}

state!(Hybrid { values { threshold, sizes, seen, due } fixed { epoch, page, clustering, level_lifetimes } });

impl Hybrid {
    /// At its start, in a device of `config`. `file` is checked.
    pub fn new(file: &HybridFile, config: &Config) -> Self {
        Self {
            threshold: (file.threshold.0 / SECTOR.0) as u32,
            sizes: Sizes::new(LARGEST),
            seen: 0,
            due: 0.0,
            epoch: file.epoch,
            page: config.unit.0 / SECTOR.0,
            clustering: file.clustering,
            level_lifetimes: file.level_lifetimes,
        }
    }

    /// The largest write of the host that counts as small.
    pub fn threshold(&self) -> Bytes {
        SECTOR * u64::from(self.threshold)
    }

    /// The pool that a piece goes to.
    pub fn pool_of(&mut self, piece: &Outgoing<'_>) -> u8 {
        let small = piece.request.sectors <= self.threshold;
        if small && !self.is_diverted(spent(piece.pools)) { SMALL } else { LARGE }
    }

    /// Takes the size of a write of the host into account. An epoch of one size leaves the threshold as it is.
    pub fn learn(&mut self, sectors: u32) {
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
        let observes = if self.clustering { Observes::WRITTEN } else { Observes::NOTHING };
        Needs { observes, ..Needs::of(&[Seam::Pool]) }
    }

    fn pool(&mut self, piece: &Outgoing<'_>, _: &mut View<'_>) -> u8 {
        self.pool_of(piece)
    }

    /// Each write is counted once, with its first page.
    fn observe(&mut self, seen: &Seen<'_>, _: &mut View<'_>) {
        if let Seen::Written { page, request, .. } = *seen
            && request.sector / self.page == u64::from(page.0)
        {
            self.learn(request.sectors);
        }
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
    const DESCRIPTION: &'static str = "The hybrid of SLC and MLC that Centaur compares itself with: small writes of the host go to the second of two pools, \
        what is small following from the sizes of the last epoch. Wants two `pools`.";
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
