//! Pools of other parts beside the first one, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;
use wordline_nand::{Pool, Pools, Slots};

use crate::config::{BufferMode, DeviceFile, Protection, Scope};
use crate::ftl::checkpoint::DiscardsAtCut;
use crate::lifetime::{Fullness, Worn};
use crate::policy::balancer::BalancerKind;
use crate::policy::frontier::FrontierKind;
use crate::policy::placement::PlacementKind;
use crate::policy::relocator::RelocatorKind;
use crate::policy::router::RouterKind;

/// A pool of dies beside the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolFile {
    /// The NAND part.
    pub part: PartFile,
    /// How many dies there are, and on how many channels.
    pub layout: Layout,
    /// Which channels these are.
    #[serde(default)]
    pub channels: ChannelsFile,
    /// A row of the pool is cleaned when it has fewer free blocks than this. Left out: as in the first pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_below_free_blocks: Option<u32>,
    /// Cleaning goes on until a row has this many free blocks. Left out: as in the first pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_at_free_blocks: Option<u32>,
}

/// What a policy may know of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolState {
    /// How worn it is.
    pub worn: Worn,
    /// How full it is, in logical pages.
    pub fullness: Fullness,
}

impl PoolState {
    /// The part of its lifetime that is spent (Centaur, equation 1).
    pub fn spent(&self) -> f64 {
        self.worn.spent()
    }

    /// The part of its pages that is valid (Centaur, equation 2).
    pub fn valid_share(&self) -> f64 {
        self.fullness.share()
    }
}

/// The channels of a pool beside the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelsFile {
    /// Those of the first pool, from the first one on.
    #[default]
    Shared,
    /// Channels of its own.
    Dedicated,
}

/// The pools with those of `files`; none if something is wrong with one of them.
pub fn add(files: &[PoolFile], mut pools: Pools, unit: Bytes, wrong: &mut Complaints) -> Option<Pools> {
    let mut sound = true;
    for (n, file) in files.iter().enumerate() {
        match one(file, &pools, unit) {
            Ok(pool) => {
                let channel = if file.channels == ChannelsFile::Dedicated { pools.channels() } else { 0 };
                pools.add(pool, channel);
            }
            Err(inner) => {
                wrong.nest(&format!("pools[{n}]"), inner);
                sound = false;
            }
        }
    }
    let slots: u64 = pools.iter().map(|pool| u64::from(pool.slots.count())).sum();
    wrong.require(
        slots < 1 << 31,
        "pools",
        format!("{slots} mapping units in all"),
        "fewer than 2^31 mapping units: take fewer dies or a larger ftl.mapping.unit",
    );
    (sound && slots < 1 << 31).then_some(pools)
}

/// A pool that is not numbered yet, beside those that are there.
fn one(file: &PoolFile, pools: &Pools, unit: Bytes) -> Result<Pool, Complaints> {
    let mut wrong = Complaints::default();
    let part = file.part.clone().check().map_err(|inner| wrong.nest("part", inner)).ok();
    let geometry = part
        .as_ref()
        .and_then(|part| file.layout.check(part).map_err(|inner| wrong.nest("layout", inner)).ok());
    let (Some(part), Some(geometry)) = (part, geometry) else { return Err(wrong) };
    let of_first = pools.first().geometry.channels;
    wrong.require(
        file.channels == ChannelsFile::Dedicated || geometry.channels <= of_first,
        "layout.channels",
        geometry.channels,
        format!("at most the {of_first} channels of the first pool, which it shares"),
    );
    let slots = Slots::of_size(&geometry, unit);
    wrong.require(
        slots.is_some(),
        "part",
        format!("pages of {}", geometry.page_size),
        format!(
            "pages that divide into mapping units of {unit}, or program units that are a multiple of one"
        ),
    );
    let Some(slots) = slots else { return Err(wrong) };
    wrong.or_ok(Pool { part, geometry, slots })
}

/// What does not go together with several pools, or wants them.
pub fn check(file: &DeviceFile, pools: &Pools, unit: Bytes, wrong: &mut Complaints) {
    let ftl = &file.ftl;
    let several = pools.count() > 1;
    for (key, wants, found) in [
        ("ftl.mapping.whole_units", ftl.mapping.whole_units, "true"),
        ("ftl.mapping.sub_request", ftl.mapping.sub_request.is_some(), "it beside a single pool"),
        ("ftl.router.policy", matches!(ftl.router, RouterKind::BySize { .. }), "by-size"),
        ("ftl.balancer.policy", ftl.balancer == BalancerKind::ValidShare {}, "valid-share"),
        ("ftl.gc.relocator.policy", ftl.gc.relocator == RelocatorKind::ValidShare {}, "valid-share"),
    ] {
        wrong.require(several || !wants, key, found, "what a single pool has: this wants [[pools]]");
    }
    if !several {
        return;
    }
    wrong.require(
        ftl.mapping.whole_units || ftl.gc.relocator != RelocatorKind::ValidShare {},
        "ftl.gc.relocator.policy",
        "valid-share",
        "another: it moves whole units, which wants ftl.mapping.whole_units",
    );
    let kept = file.ftl.recovery.discards == DiscardsAtCut::Kept
        || file.buffer.power_loss_protection != Protection::None;
    for (key, is_wrong, found, wanted) in [
        ("ftl.placement.policy", ftl.placement != PlacementKind::Dynamic {}, "fixed", "dynamic"),
        ("ftl.slc_cache", ftl.slc_cache.is_some(), "it", "none"),
        ("ftl.gc.scope", ftl.gc.scope == Scope::SuperBlock, "super-block", "row"),
        ("ftl.mapping.cache", ftl.mapping.cache.is_some(), "it", "none: the whole map in memory"),
        ("ftl.frontier.policy", ftl.frontier != FrontierKind::InOrder {}, "another order", "in-order"),
        ("ftl.recovery.discards", kept, "discards that are kept", "forgotten, and no power loss protection"),
        ("buffer.mode", file.buffer.mode == BufferMode::Off, "off", "write-back or write-through"),
    ] {
        wrong.require(!is_wrong, key, found, format!("{wanted}, beside [[pools]]"));
    }
    let Pool { slots, .. } = pools.first();
    let per_program = unit * u64::from(slots.per_program);
    let piece = ftl.mapping.sub_request.unwrap_or(per_program);
    let fits = match ftl.mapping.whole_units {
        true => piece == per_program,
        false => piece >= unit && piece.0.is_multiple_of(unit.0) && piece <= Bytes::mib(16),
    };
    let wanted = match ftl.mapping.whole_units {
        true => format!("what a program of the first pool writes ({per_program}), which whole units are"),
        false => format!("a multiple of ftl.mapping.unit ({unit}), up to 16MiB"),
    };
    wrong.require(fits, "ftl.mapping.sub_request", piece, wanted);
    let of_pages = |pool: &Pool| pool.slots.pages() == 1;
    wrong.require(pools.iter().all(of_pages), "ftl.mapping.unit", unit, "at most a page of each pool");
}
