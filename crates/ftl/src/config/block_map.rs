//! Checks of block-level mapping, and the features that do not work with it.

use wordline_kernel::Complaints;
use wordline_nand::Locations;

use super::file::{BackEndFile, FtlFile};
use crate::gc::config::GcFile;
use crate::policy::balancer::BalancerKind;
use crate::policy::frontier::FrontierKind;
use crate::policy::name_of;
use crate::policy::placement::PlacementKind;

/// Upper limit of `replacements`. Chosen, because the list of replacement blocks is searched linearly.
const MOST_REPLACEMENTS: u32 = 64;

/// Checks that the device has a single pool. Called first, because the mapping unit need not fit the
/// parts of other pools.
pub(super) fn check_pools(file: &BackEndFile, wrong: &mut Complaints) {
    let several = file.ftl.mapping.block.is_some() && !file.pools.is_empty();
    let wanted = "none: a logical block has as many pages as a block of any row (ftl.mapping.block)";
    wrong.require(!several, "pools", format!("{} beside the first", file.pools.len()), wanted);
}

/// Adds complaints about the settings, and about features of the device that do not work with block-level
/// mapping.
pub(super) fn check(file: &BackEndFile, locations: &Locations, wrong: &mut Complaints) {
    let Some(block) = &file.ftl.mapping.block else { return };
    let fits = (1..=MOST_REPLACEMENTS).contains(&block.replacements);
    let key = "ftl.mapping.block.replacements";
    wrong.require(fits, key, block.replacements, format!("from 1 to {MOST_REPLACEMENTS}"));
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
        "fixed: with ftl.mapping.block each logical block has one plane group",
    );
    check_mechanisms(file, wrong);
    check_collector(&file.ftl, wrong);
}

/// Rejects mechanisms that put pages at other offsets than their own.
fn check_mechanisms(file: &BackEndFile, wrong: &mut Complaints) {
    let ftl = &file.ftl;
    let streams = file.routed_streams();
    for (is_wrong, key, found, wanted) in [
        (
            ftl.mapping.cache.is_some(),
            "ftl.mapping.cache",
            "a cache".into(),
            "nothing: a block map is in memory",
        ),
        (
            streams != 1,
            "ftl.router.streams",
            streams.to_string(),
            "1: the offset of a page follows from its number",
        ),
        (ftl.slc_cache.is_some(), "ftl.slc_cache", "a cache".into(), "nothing: no page changes its mode"),
        (ftl.two_bit.is_some(), "ftl.two_bit", "blocks".into(), "nothing: no page changes its mode"),
        (
            ftl.frontier != FrontierKind::InOrder {},
            "ftl.frontier.policy",
            name_of(&ftl.frontier),
            "in-order: the offset of a page follows from its number",
        ),
        (
            ftl.balancer != BalancerKind::None {},
            "ftl.balancer.policy",
            name_of(&ftl.balancer),
            "none: a logical block stays in its plane group",
        ),
    ] {
        wrong.require(!is_wrong, key, found, format!("{wanted} (ftl.mapping.block)"));
    }
}

/// Rejects GC settings that have no effect, because a merge does not select a victim. The watermarks are
/// allowed, because they only set a minimum of spare blocks.
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
