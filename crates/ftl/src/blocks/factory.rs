//! Factory bad blocks.

use wordline_kernel::Seed;
use wordline_nand::BlockSetId;

use crate::Config;

/// Draws the factory bad blocks from the seed. Each plane group has the same number.
pub fn bad_from_factory(config: &Config, seed: Seed) -> Vec<bool> {
    let mut all = vec![false; config.pools.block_sets() as usize];
    for row in config.pools.all_groups() {
        let mut blocks: Vec<BlockSetId> = config.pools.of_group(row).geometry.blocks_of(row).collect();
        let bad = (blocks.len() as f64 * config.file.ftl.factory_bad_blocks) as usize;
        if bad > 0 {
            seed.stream("ssd.factory-bad-blocks", row.0.into()).shuffle(&mut blocks);
            blocks[..bad].iter().for_each(|block| all[block.0 as usize] = true);
        }
    }
    all
}
