//! What a device is made of: its policies, which a research design replaces.

use wordline_nand::Layers;

use crate::Config;
use crate::policy::background::Background;
use crate::policy::balancer::Balancer;
use crate::policy::destage::Destage;
use crate::policy::eviction::Eviction;
use crate::policy::failure::FailurePolicy;
use crate::policy::frontier::Frontier;
use crate::policy::mapper::{self, Mapper};
use crate::policy::placement::Placement;
use crate::policy::relocator::Relocator;
use crate::policy::router::Router;
use crate::policy::tuner::Tuner;
use crate::policy::victim::VictimPolicy;
use crate::policy::wear::WearLeveller;

/// The policies of a device. A design takes those that the configuration names and changes some of them:
/// `Parts { victim: Box::new(MyVictim), ..base }`.
pub struct Parts {
    /// Which pages leave the write buffer as soon as they are written.
    pub destage: Box<dyn Destage>,
    /// Which page leaves the write buffer.
    pub eviction: Box<dyn Eviction>,
    /// Which page leaves the read cache.
    pub read_eviction: Box<dyn Eviction>,
    /// Which of the host's streams a page goes to.
    pub router: Box<dyn Router>,
    /// Where a page goes.
    pub placement: Box<dyn Placement>,
    /// Which word line of an open block is programmed next.
    pub frontier: Box<dyn Frontier>,
    /// What an idle row takes of what waits for others; asked only where pages have homes.
    pub balancer: Box<dyn Balancer>,
    /// Which block is cleaned.
    pub victim: Box<dyn VictimPolicy>,
    /// What of the map is in memory; asked only where `ftl.mapping.cache` is set.
    pub mapper: Box<dyn Mapper>,
    /// Where the valid pages of a victim go.
    pub relocator: Box<dyn Relocator>,
    /// What happens to a block in which something failed.
    pub failure: Box<dyn FailurePolicy>,
    /// What pages are sensed with; asked only where a rule of `faults` makes pages need read levels.
    pub tuner: Box<dyn Tuner>,
    /// What is done while the host rests.
    pub background: Box<dyn Background>,
    /// Which blocks are cleaned because their data lie still.
    pub wear: Box<dyn WearLeveller>,
}

impl Parts {
    /// The policies that the configuration names.
    pub fn of(config: &Config) -> Self {
        let ftl = &config.file.ftl;
        let blocks = |row| config.pools.of_row(row).geometry.blocks_per_plane;
        let blocks: Vec<u32> = (0..config.pools.rows()).map(blocks).collect();
        Self {
            destage: config.file.buffer.destage.build(),
            eviction: config.file.buffer.eviction.build(),
            read_eviction: config.file.buffer.read_eviction.build(),
            router: ftl.router.build(config.logical_pages),
            placement: ftl.placement.build(&config.pools, config.file.layout.packages_per_channel),
            frontier: ftl.frontier.build(),
            balancer: ftl.balancer.build(),
            mapper: mapper::build(config),
            victim: ftl.gc.victim.build(),
            relocator: ftl.gc.relocator.build(),
            failure: ftl.failure.build(),
            tuner: ftl.tuner.build(|| Layers::of(&config.pools)),
            background: ftl.gc.background.build(),
            wear: ftl.wear.levelling.build(&blocks),
        }
    }
}
