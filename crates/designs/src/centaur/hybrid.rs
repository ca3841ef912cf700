//! The SLC/MLC hybrid (Chang, IEEE Transactions on Computers 2010, as Centaur describes it in section 6.2.5).
//!
//! Host writes are small or large, by a threshold that follows their sizes. Small writes go to the SLC chips
//! (second pool), large writes go to the MLC chips (first pool).
//!
//! The description leaves three points open. Chosen:
//! - An epoch has as many host writes as Centaur has pieces between two adjustments.
//! - If the SLC chips have used more of their endurance than the MLC chips, a share of the small pieces goes
//!   to MLC, evenly spread. The share is `1 - u_MLC / u_SLC`, where `u` is the endurance used.
//! - Several host writes may have written the pages of a piece. The largest of them decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_ftl::design::{DeviceEvent, EventMask, ExtensionPoint, Needs, View};
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::{Config, Design};
use wordline_kernel::{Bytes, Complaints, state};

use super::pools::{LARGE, SMALL, check_device, spent};
use super::sizes::SizeHistogram;
use crate::design_type::DesignType;

/// Settings of the hybrid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HybridFile {
    /// Host writes in an epoch. Their sizes determine the threshold of the next epoch (k-means, k = 2).
    pub epoch: u32,
    /// The largest host write that goes to the second pool in the first epoch.
    pub threshold: Bytes,
    /// Whether the threshold follows the sizes of the last epoch. Otherwise it is constant.
    pub clustering: bool,
    /// Whether some small pieces go to the first pool while the second pool has used more of its endurance.
    pub level_lifetimes: bool,
}

impl Default for HybridFile {
    /// Centaur, section 6.2.5: thresholds are typically 4 or 8 KB, and lifetimes are levelled. Chosen: an
    /// initial threshold of 8 KB, and an epoch as long as Centaur's adjustment interval (table 2).
    fn default() -> Self {
        Self { epoch: 1_000, threshold: Bytes::kib(8), clustering: true, level_lifetimes: true }
    }
}

/// Largest size that is distinguished, in sectors: 1 MiB. Chosen: the largest request that Linux sends to an
/// NVMe drive with its defaults.
const LARGEST: u32 = 2048;

/// Sends the data of small host writes to the second pool, and other data to the first pool. The sizes of the
/// last epoch determine which writes are small.
pub struct Hybrid {
    /// Size of the largest small write, in sectors.
    threshold: u32,
    sizes: SizeHistogram,
    /// Host writes in this epoch so far.
    seen: u32,
    /// Accumulated share of small pieces that are due to the first pool. At one, a piece is sent there.
    due: f64,
    epoch: u32,
    /// Sectors of a logical page.
    page: u64,
    clustering: bool,
    level_lifetimes: bool,
}

state!(Hybrid { values { threshold, sizes, seen, due } fixed { epoch, page, clustering, level_lifetimes } });

impl Hybrid {
    /// A hybrid in its initial state, in a device of `config`. Expects a checked `file`.
    pub fn new(file: &HybridFile, config: &Config) -> Self {
        Self {
            threshold: (file.threshold.0 / SECTOR.0) as u32,
            sizes: SizeHistogram::new(LARGEST),
            seen: 0,
            due: 0.0,
            epoch: file.epoch,
            page: config.unit.0 / SECTOR.0,
            clustering: file.clustering,
            level_lifetimes: file.level_lifetimes,
        }
    }

    /// The largest host write that counts as small.
    pub fn threshold(&self) -> Bytes {
        SECTOR * u64::from(self.threshold)
    }

    /// The pool for a piece.
    pub fn pool_of(&mut self, piece: &HostPage<'_>) -> u8 {
        let small = piece.request.sectors <= self.threshold;
        if small && !self.is_diverted(spent(piece.pools)) { SMALL } else { LARGE }
    }

    /// Learns from the size of a host write. An epoch with only one size leaves the threshold unchanged.
    pub fn learn(&mut self, sectors: u32) {
        self.sizes.count(sectors);
        self.seen += 1;
        if self.seen >= self.epoch {
            self.threshold = self.sizes.largest_small().unwrap_or(self.threshold);
            self.sizes.clear();
            self.seen = 0;
        }
    }

    /// Whether this small piece goes to the first pool, to level lifetimes.
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
        let observes = if self.clustering { EventMask::WRITTEN } else { EventMask::NOTHING };
        Needs { observes, ..Needs::of(&[ExtensionPoint::Pool]) }
    }

    fn pool(&mut self, piece: &HostPage<'_>, _: &mut View<'_>) -> u8 {
        self.pool_of(piece)
    }

    /// Counts each host write once, at its first page.
    fn observe(&mut self, seen: &DeviceEvent<'_>, _: &mut View<'_>) {
        if let DeviceEvent::Written { page, request, .. } = *seen
            && request.sector / self.page == u64::from(page.0)
        {
            self.learn(request.sectors);
        }
    }

    fn min_size_for_first_pool(&self) -> Option<Bytes> {
        Some(self.threshold() + SECTOR)
    }
}

/// The hybrid as a named design.
#[derive(Debug)]
pub struct SlcMlcHybrid;

impl DesignType for SlcMlcHybrid {
    const NAME: &'static str = "slc-mlc-hybrid";
    const DESCRIPTION: &'static str = "The hybrid of SLC and MLC that the paper of Centaur compares with: small host writes go to the second of two pools. \
        Which writes are small follows from the sizes of the last epoch. Needs two `pools`.";
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
        wrong.into_result(())
    }

    fn build(file: &HybridFile, config: &Config) -> Box<dyn Design> {
        Box::new(Hybrid::new(file, config))
    }
}
