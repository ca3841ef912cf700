//! Flash and block table of a new device, from its configuration and policies.

use wordline_flash::Flash;
use wordline_kernel::Seed;
use wordline_nand::Pool;

use crate::blocks::{BlockManager, ModeShare, Streams, bad_from_factory};
use crate::config::{Config, FreeSpace, Scope};
use crate::policies::ActivePolicies;
use crate::policy::frontier::WordLines;
use crate::policy::victim::Indexes;

/// Flash and block table without written pages. `needs` lists the candidate indexes that the victim policy uses.
pub(super) fn new_flash(
    config: &Config,
    policies: &ActivePolicies,
    needs: Indexes,
    seed: Seed,
) -> (Flash, BlockManager) {
    let streams = config.file.streams_beside(policies.host_streams(), policies.gc_streams());
    let shares = config.mode_shares(|pool, mode| policies.mode_streams(pool, mode));
    let mut flash = Flash::new(&config.flash(), seed);
    let mut blocks = new_blocks(config, streams, &shares, &mut flash, seed);
    keep_indexes_for(policies.indexes(needs), config, &mut blocks);
    order_word_lines(policies, config, &mut flash, &mut blocks);
    blocks.observe_kinds(policies.designs.observed());
    flash.tune(policies.tunes());
    (flash, blocks)
}

/// Block table with the factory bad blocks.
fn new_blocks(
    config: &Config,
    streams: Streams,
    shares: &[Vec<ModeShare>],
    flash: &mut Flash,
    seed: Seed,
) -> BlockManager {
    let mut bad = bad_from_factory(config, seed);
    flash.chips().factory_bad().into_iter().for_each(|block| bad[block.0 as usize] = true);
    let mut blocks = BlockManager::new(&config.pools, streams, |block| bad[block.0 as usize]);
    blocks.set_allocation(config.file.ftl.wear.allocation);
    for (pool, shares) in shares.iter().enumerate() {
        for share in shares {
            assert!(flash.enable_mode(share.mode), "the part of a device with blocks in a mode has the mode");
            blocks.open_in_mode(pool, *share);
        }
    }
    for pool in 0..config.pools.count() {
        blocks.set_gc_watermarks(pool, config.gc_watermarks(pool));
    }
    if config.file.ftl.gc.free_space == FreeSpace::Programs {
        blocks.count_programs();
    }
    if let Some(pool) = config.pool_of_whole_units() {
        blocks.map_coarsely(pool);
    }
    blocks
}

/// Lets frontier policies select word lines, except those that always program them in order.
fn order_word_lines(
    policies: &ActivePolicies,
    config: &Config,
    flash: &mut Flash,
    blocks: &mut BlockManager,
) {
    for (n, Pool { part, geometry, .. }) in config.pools.iter().enumerate() {
        if policies.orders_word_lines(n) {
            flash.program_in_any_order();
            let suspended = policies.suspension_limits(n, blocks.streams());
            blocks.order(n, WordLines::of(part, geometry), policies.open_blocks(n), suspended);
        }
        if let Some(most) = policies.again(n) {
            blocks.allow_reprogram(n, most);
        }
    }
}

/// Maintains the candidate indexes for victim selection.
fn keep_indexes_for(indexes: Indexes, config: &Config, blocks: &mut BlockManager) {
    blocks.keep(indexes);
    if config.file.ftl.gc.scope == Scope::SuperBlock {
        (0..config.pools.count()).for_each(|pool| blocks.form_super_blocks(pool));
    }
}
