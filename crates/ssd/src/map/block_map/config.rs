//! The configuration of a block map, and what does not go with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::Locations;

use crate::config::{DeviceFile, FtlFile, GcFile};
use crate::policy::balancer::BalancerKind;
use crate::policy::frontier::FrontierKind;
use crate::policy::name_of;
use crate::policy::placement::PlacementKind;

/// A map by whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BlockMapFile {
    /// Replacement blocks of a row of planes, each of one logical block. For one more, that which was written least
    /// recently is merged with its data block. While few blocks are free there are fewer.
    pub replacements: u32,
}

/// Replacement blocks of a row at most. Chosen: they are a list that is looked through.
const MOST_REPLACEMENTS: u32 = 64;

impl Default for BlockMapFile {
    /// Chosen: as many as the spare blocks that the least over-provisioning leaves to a row, but one that is kept free.
    fn default() -> Self {
        Self { replacements: 4 }
    }
}

/// Bytes of an entry for a replacement block: which logical block it is of, and the block set. Chosen: numbers of 32 bits.
const REPLACEMENT_ENTRY: Bytes = Bytes(8);

impl BlockMapFile {
    /// Whether the pools of the device go with it. Looked at first, for the mapping unit need not suit their parts.
    pub fn check_pools(file: &DeviceFile, wrong: &mut Complaints) {
        let several = file.ftl.mapping.block.is_some() && !file.pools.is_empty();
        let wanted = "none: a logical block has as many pages as a block of any row (ftl.mapping.block)";
        wrong.require(!several, "pools", format!("{} beside the first", file.pools.len()), wanted);
    }

    /// Complaints about the settings, and about features of the device that do not go with them.
    pub fn check(&self, file: &DeviceFile, locations: &Locations, wrong: &mut Complaints) {
        let fits = (1..=MOST_REPLACEMENTS).contains(&self.replacements);
        let key = "ftl.mapping.block.replacements";
        wrong.require(fits, key, self.replacements, format!("from 1 to {MOST_REPLACEMENTS}"));
        let unit = locations.size * u64::from(locations.per_program);
        wrong.require(
            locations.per_program == 1,
            "ftl.mapping.unit",
            locations.size,
            format!(
                "{unit}, a program unit: with ftl.mapping.block each page has its place in its block, and a program writes all of \
                 its pages there at once"
            ),
        );
        let placement = &file.ftl.placement;
        wrong.require(
            *placement != PlacementKind::Dynamic {},
            "ftl.placement.policy",
            "dynamic",
            "fixed: with ftl.mapping.block each logical block has one home",
        );
        check_mechanisms(file, wrong);
        check_collector(&file.ftl, wrong);
    }

    /// DRAM for the map of `logical_blocks` logical blocks on `rows` rows, where the place of a block takes `entry`.
    pub fn memory(&self, entry: Bytes, logical_blocks: u32, rows: u32) -> Bytes {
        let replacements = u64::from(self.replacements) * u64::from(rows);
        entry * u64::from(logical_blocks) + REPLACEMENT_ENTRY * replacements
    }
}

/// Mechanisms that put pages elsewhere than at their places.
fn check_mechanisms(file: &DeviceFile, wrong: &mut Complaints) {
    let ftl = &file.ftl;
    let streams = file.routed_streams();
    for (is_wrong, key, found, wanted) in [
        (
            ftl.mapping.cache.is_some(),
            "ftl.mapping.cache",
            "a cache".into(),
            "nothing: a block map is in memory",
        ),
        (streams != 1, "ftl.router.streams", streams.to_string(), "1: a page has its place by its number"),
        (ftl.slc_cache.is_some(), "ftl.slc_cache", "a cache".into(), "nothing: no page moves between modes"),
        (ftl.two_bit.is_some(), "ftl.two_bit", "blocks".into(), "nothing: no page moves between modes"),
        (
            ftl.frontier != FrontierKind::InOrder {},
            "ftl.frontier.policy",
            name_of(&ftl.frontier),
            "in-order: a page has its place by its number",
        ),
        (
            ftl.balancer != BalancerKind::None {},
            "ftl.balancer.policy",
            name_of(&ftl.balancer),
            "none: a logical block stays in its row",
        ),
    ] {
        wrong.require(!is_wrong, key, found, format!("{wanted} (ftl.mapping.block)"));
    }
}

/// Settings of a collector that there is nothing to do for: a merge has no choice. When it starts and stops is left alone, for
/// that only says what is spare at least.
fn check_collector(ftl: &FtlFile, wrong: &mut Complaints) {
    let (gc, usual) = (&ftl.gc, GcFile::default());
    for (is_usual, key) in [
        (gc.victim == usual.victim, "ftl.gc.victim"),
        (gc.scope == usual.scope, "ftl.gc.scope"),
        (gc.relocator == usual.relocator, "ftl.gc.relocator"),
        (gc.preemptible == usual.preemptible, "ftl.gc.preemptible"),
        (gc.steps_per_write == usual.steps_per_write, "ftl.gc.steps_per_write"),
        (gc.paced == usual.paced, "ftl.gc.paced"),
    ] {
        let wanted = "nothing: with ftl.mapping.block blocks are merged, not collected";
        wrong.require(is_usual, key, "another setting than the usual one", wanted);
    }
}
