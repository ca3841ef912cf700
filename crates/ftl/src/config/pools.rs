//! Checks of devices with several pools.

use wordline_kernel::{Bytes, Complaints};
use wordline_nand::{CellMode, Locations, Pool, Pools};

use super::file::BackEndFile;
use crate::policy::balancer::BalancerKind;
use crate::policy::name_of;
use crate::policy::placement::PlacementKind;
use crate::policy::relocator::RelocatorKind;
use crate::policy::router::RouterKind;
use crate::pools::{ChannelsFile, PoolFile};

/// Adds the pools of `files`. Returns `None` if any of them is wrong.
pub(super) fn add(
    files: &[PoolFile],
    mut pools: Pools,
    unit: Bytes,
    wrong: &mut Complaints,
) -> Option<Pools> {
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
    let locations: u64 = pools.iter().map(|pool| u64::from(pool.locations.count())).sum();
    wrong.require(
        locations < 1 << 31,
        "pools",
        format!("{locations} mapping units in all"),
        "fewer than 2^31 mapping units: take fewer dies or a larger ftl.mapping.unit",
    );
    (sound && locations < 1 << 31).then_some(pools)
}

/// Checks one pool and places it after the existing ones.
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
    let locations = Locations::of_size(&geometry, unit);
    wrong.require(
        locations.is_some(),
        "part",
        format!("pages of {}", geometry.page_size),
        format!(
            "pages that divide into mapping units of {unit} (ftl.mapping.unit), or program units that are a multiple of one"
        ),
    );
    let Some(locations) = locations else { return Err(wrong) };
    wrong.into_result(Pool { part, geometry, locations })
}

/// Rejects features that do not work with several pools, or that require several.
pub(super) fn check(file: &BackEndFile, pools: &Pools, unit: Bytes, wrong: &mut Complaints) {
    let ftl = &file.ftl;
    let several = pools.count() > 1;
    let sub_request = ftl.mapping.sub_request.map_or_else(String::new, |size| size.to_string());
    for (key, wants, found) in [
        ("ftl.mapping.whole_units", ftl.mapping.whole_units, "true".to_owned()),
        ("ftl.mapping.sub_request", ftl.mapping.sub_request.is_some(), sub_request),
        ("ftl.router.policy", matches!(ftl.router, RouterKind::BySize { .. }), name_of(&ftl.router)),
        ("ftl.balancer.policy", ftl.balancer == BalancerKind::ValidShare {}, name_of(&ftl.balancer)),
        (
            "ftl.gc.relocator.policy",
            ftl.gc.relocator == RelocatorKind::ValidShare {},
            name_of(&ftl.gc.relocator),
        ),
    ] {
        wrong.require(several || !wants, key, found, "the value for a single pool: this requires [[pools]]");
    }
    if !several {
        return;
    }
    check_beside(file, wrong);
    for (n, pool) in pools.iter().skip(1).enumerate() {
        check_collection(file, n, pool, wrong);
        if let Some((key, found, wanted)) = file.pools[n].frontier.complaint(&pool.part, &pool.geometry) {
            wrong.add(format!("pools[{n}].frontier.{key}"), found, wanted);
        }
        check_modes(file, n, pool, wrong);
    }
    let Pool { locations, .. } = pools.first();
    let per_program = unit * u64::from(locations.per_program);
    let piece = ftl.mapping.sub_request.unwrap_or(per_program);
    let fits = match ftl.mapping.whole_units {
        true => piece == per_program,
        false => piece >= unit && piece.0.is_multiple_of(unit.0) && piece <= Bytes::mib(16),
    };
    let wanted = match ftl.mapping.whole_units {
        true => format!("a program of the first pool ({per_program}), the size of whole units"),
        false => format!("a multiple of ftl.mapping.unit ({unit}), up to 16MiB"),
    };
    wrong.require(fits, "ftl.mapping.sub_request", piece, wanted);
    let of_pages = |pool: &Pool| pool.locations.pages() == 1;
    wrong.require(pools.iter().all(of_pages), "ftl.mapping.unit", unit, "at most a page of each pool");
}

/// Checks the blocks of the file's pool `n` in non-native modes.
fn check_modes(file: &BackEndFile, n: usize, pool: &Pool, wrong: &mut Complaints) {
    let Pool { part, geometry, locations } = pool;
    let key = format!("pools[{n}].slc_cache");
    match &file.pools[n].slc_cache {
        Some(cache) => {
            let size = cache.size.unwrap_or_default();
            wrong.require(
                cache.size.is_none(),
                &format!("{key}.size"),
                size,
                "none: a further pool has `blocks` and `spare`",
            );
            cache.check(&key, part, locations, geometry, wrong);
        }
        None => wrong.require(
            !file.writes_in(n + 1, CellMode::Slc),
            &key,
            "nothing",
            "the number of blocks for a design's streams in SLC mode in this pool",
        ),
    }
    let key = format!("pools[{n}].two_bit");
    match &file.pools[n].two_bit {
        Some(two_bit) => two_bit.check(&key, file.again(), pool, wrong),
        None => wrong.require(
            !file.writes_in(n + 1, CellMode::Mlc),
            &key,
            "nothing",
            "the number of blocks for a design's streams in MLC mode in this pool",
        ),
    }
}

/// Rejects features that do not work with several pools.
fn check_beside(file: &BackEndFile, wrong: &mut Complaints) {
    let ftl = &file.ftl;
    wrong.require(
        ftl.mapping.whole_units || ftl.gc.relocator != RelocatorKind::ValidShare {},
        "ftl.gc.relocator.policy",
        "valid-share",
        "another: it moves whole units, which requires ftl.mapping.whole_units",
    );
    let slc = ftl.slc_cache.as_ref();
    for (key, is_wrong, found, wanted) in [
        (
            "ftl.placement.policy",
            ftl.placement != PlacementKind::Dynamic {} && ftl.mapping.whole_units,
            name_of(&ftl.placement),
            "dynamic, with ftl.mapping.whole_units: a unit is one program, and its pages would be allocated to several plane groups",
        ),
        (
            "ftl.balancer.policy",
            matches!(ftl.balancer, BalancerKind::Stealing { .. }),
            name_of(&ftl.balancer),
            "none or valid-share: work stealing among plane groups is within one pool",
        ),
        (
            "ftl.slc_cache",
            slc.is_some() && ftl.mapping.whole_units,
            slc.map_or_else(String::new, |slc| format!("a cache of {} blocks", slc.blocks)),
            "none, with ftl.mapping.whole_units: a unit is one program, and would take one for each bit of a cell in SLC mode",
        ),
        (
            "ftl.two_bit",
            ftl.two_bit.is_some() && ftl.mapping.whole_units,
            ftl.two_bit.map_or_else(String::new, |two_bit| format!("{} blocks", two_bit.blocks)),
            "none, with ftl.mapping.whole_units: a unit is one program, and would take two with two bits a cell",
        ),
    ] {
        wrong.require(!is_wrong, key, found, format!("{wanted}, beside [[pools]]"));
    }
}

/// Checks the GC watermarks of the file's pool `n`.
fn check_collection(file: &BackEndFile, n: usize, pool: &Pool, wrong: &mut Complaints) {
    let (own, gc, streams) = (&file.pools[n], &file.ftl.gc, file.streams());
    let [at_start, at_stop] = ["start_below", "stop_at"].map(|key| format!("pools[{n}].{key}_free_blocks"));
    let start = own.start_below_free_blocks.unwrap_or(gc.start_below_free_blocks);
    let kept = streams.reserved_blocks();
    wrong.require(
        start as usize > kept,
        &at_start,
        start,
        format!("at least {}: {kept} blocks are reserved for GC", kept + 1),
    );
    if let Some(stop) = own.stop_at_free_blocks {
        let wanted = format!("at least {at_start} ({start})");
        wrong.require(stop >= start, &at_stop, stop, wanted);
    }
    let stop = own.stop_at_free_blocks.unwrap_or(gc.stop_at_free_blocks).max(start);
    let least = file.min_stop_watermark(1 << (n + 1));
    wrong.require(
        stop >= least,
        &at_stop,
        stop,
        format!("at least {least}: GC opens blocks in another mode only while more are free than those kept for it"),
    );
    let blocks = pool.geometry.blocks_per_plane;
    // As in the first pool, two blocks are active in addition to the blocks that are kept free. Data need at
    // least one more block.
    let most = blocks.saturating_sub(3);
    let key = if own.stop_at_free_blocks.is_some() { at_stop } else { at_start };
    let wanted = format!("at most {most}, of the {blocks} blocks of a plane group");
    wrong.require(stop <= most, &key, stop, wanted);
}
