//! The policies and designs of an FTL: as a user hands them in, and as a device queries them.

use wordline_flash::policy::failure::FailurePolicy;
use wordline_flash::policy::tuner::Tuner;
use wordline_kernel::{Bytes, Column, Complaints, Seed, state};
use wordline_nand::{CellMode, Layers, PlaneGroupId, Pool};

use crate::Config;
use crate::design::{Combination, Demands, Designs, ExtensionPoint};
use crate::gc::config::Scope;
use crate::map::block_map::LogicalBlockPlacement;
use crate::policy::background::Background;
use crate::policy::balancer::Balancer;
use crate::policy::frontier::{Frontier, WordLines};
use crate::policy::mapper::Mapper;
use crate::policy::placement::Placement;
use crate::policy::relocator::Relocator;
use crate::policy::router::Router;
use crate::policy::victim::VictimPolicy;
use crate::policy::wear::WearLeveller;
use crate::policy::{mapper, name_of};

/// Policies and designs of an FTL. Custom policies replace those of the configuration: `Policies { victim:
/// Box::new(MyVictim), ..Policies::of(&config) }`.
pub struct Policies {
    /// Selects the host stream of a page.
    pub router: Box<dyn Router>,
    /// Selects the plane group of a page.
    pub placement: Box<dyn Placement>,
    /// Selects the word line of an open block that is programmed next.
    pub frontier: Box<dyn Frontier>,
    /// Selects waiting pages for an idle plane group to steal. Queried only under static allocation.
    pub balancer: Box<dyn Balancer>,
    /// Selects the block that GC collects.
    pub victim: Box<dyn VictimPolicy>,
    /// Decides which part of the map is in memory. Queried only if `ftl.mapping.cache` is set.
    pub mapper: Box<dyn Mapper>,
    /// Selects the GC stream of a victim's valid pages.
    pub relocator: Box<dyn Relocator>,
    /// Decides what happens to a block after a failure in it.
    pub failure: Box<dyn FailurePolicy>,
    /// Selects the read reference voltages of a read. Queried only if a rule of `faults` has read levels.
    pub tuner: Box<dyn Tuner>,
    /// Sets the goals of background GC.
    pub background: Box<dyn Background>,
    /// Selects the blocks that are collected because their data are cold.
    pub wear: Box<dyn WearLeveller>,
    /// Designs, which decide instead of the policies above.
    pub designs: Combination,
}

impl Policies {
    /// The policies of a configuration, without designs.
    pub fn of(config: &Config) -> Self {
        let ftl = &config.file.ftl;
        let blocks = |row| config.pools.of_group(row).geometry.blocks_per_plane;
        let blocks = Column::from_fn(config.pools.rows() as usize, blocks);
        Self {
            router: ftl.router.build(config.logical_pages),
            placement: ftl.placement.build(&config.pools, &config.file.packages()),
            frontier: ftl.frontier.build(),
            balancer: ftl.balancer.build(),
            mapper: mapper::build(config.map_cache()),
            victim: ftl.gc.victim.build(),
            relocator: ftl.gc.relocator.build(),
            failure: ftl.failure.build(),
            tuner: ftl.tuner.build(|| Layers::of(&config.pools)),
            background: ftl.gc.background.build(),
            wear: ftl.wear.levelling.build(blocks),
            designs: Combination::default(),
        }
    }

    /// These policies with designs, which decide instead of them.
    #[must_use]
    pub fn with_designs(self, designs: Combination) -> Self {
        Self { designs, ..self }
    }

    /// Streams that these policies need with this many pools.
    ///
    /// # Errors
    /// Conflicts between designs, by key.
    pub fn demands(&self, pools: usize) -> Result<Demands, Complaints> {
        let own = Demands {
            host: self.router.streams(),
            gc: self.relocator.streams(),
            open_blocks: 1,
            suspended: 0,
            in_modes: CellMode::OF_BLOCKS.map(|mode| match mode {
                CellMode::Slc => u16::from(self.router.cached().is_some()),
                _ => 0,
            }),
            by_gc: 0,
            again: 0,
        };
        self.designs.demands(own, pools)
    }

    /// Checks a configuration against the demands of these policies. The demands themselves are in
    /// [`BackEndFile::demands`](crate::BackEndFile::demands).
    pub fn check(&self, config: &Config, wrong: &mut Complaints) {
        self.check_homes(wrong);
        self.check_router(config, wrong);
        self.check_frontier(config, wrong);
        self.check_map(config, wrong);
        self.check_maintenance(config, wrong);
    }

    /// Checks the router of a device whose design selects pools. The router may then distinguish streams of
    /// the first pool only.
    fn check_router(&self, config: &Config, wrong: &mut Complaints) {
        let routing = self.designs.answering(ExtensionPoint::Pool);
        let in_first = (0..self.router.streams()).all(|stream| self.router.pool(stream) == 0);
        wrong.require(
            routing.is_empty() || in_first,
            "ftl.router.policy",
            format!("{} beside the design {}", name_of(&config.file.ftl.router), routing.join(" and ")),
            "one that distinguishes no pools: the design selects the pool of a page",
        );
    }

    /// Checks the chips for a design that selects word lines. Their part must program a word line in one shot.
    /// Several open blocks or suspended blocks require that GC collects plane groups one by one, not
    /// superblocks.
    fn check_frontier(&self, config: &Config, wrong: &mut Complaints) {
        for pool in 0..config.pools.count() {
            let Some((name, needs)) = self.designs.asked(ExtensionPoint::Frontier, pool) else { continue };
            let Pool { part, geometry, .. } = config.pools.get(pool);
            let shape = WordLines::of(part, geometry);
            let in_one_shot = geometry.bits_per_cell() == 1 || part.geometry.one_shot;
            wrong.require(
                in_one_shot && shape.count() * geometry.bits_per_cell() == geometry.pages_per_block,
                "designs",
                format!("{name}, which decides `frontier`, with the part {} in pool {pool}", part.name),
                "a part that programs a word line in one shot, with as many word lines in each layer",
            );
            let suspends = needs.streams.iter().chain(&needs.gc_streams).any(|stream| stream.suspended > 0);
            wrong.require(
                !suspends || config.file.ftl.gc.scope == Scope::Row,
                "ftl.gc.scope",
                format!("super blocks beside the design {name}, which suspends blocks"),
                "row: the blocks of a super block are written together",
            );
            wrong.require(
                needs.open_blocks == 1 || config.file.ftl.gc.scope == Scope::Row,
                "ftl.gc.scope",
                format!("super blocks beside the design {name}, which has several open blocks a stream"),
                "row: the blocks of a super block are opened together",
            );
        }
    }

    /// Checks that there is a map cache if a design decides what is in it.
    fn check_map(&self, config: &Config, wrong: &mut Complaints) {
        let deciding = self.designs.answering(ExtensionPoint::Map);
        wrong.require(
            config.map_cache().is_some() || deciding.is_empty(),
            "ftl.mapping.cache",
            format!("no cache beside the design {}", deciding.join(" and ")),
            "a size: the design decides `map`, and without a cache the whole map is in memory",
        );
    }

    /// Checks that pages are mapped one by one if a design requests that they are relocated.
    fn check_maintenance(&self, config: &Config, wrong: &mut Complaints) {
        let deciding = self.designs.answering(ExtensionPoint::Maintain);
        wrong.require(
            config.file.ftl.mapping.block.is_none() || deciding.is_empty(),
            "ftl.mapping.block",
            format!("block-level mapping beside the design {}", deciding.join(" and ")),
            "the key left out: the design decides `maintain`, and blocks and pages are relocated by GC",
        );
    }

    /// Checks that no design selects plane groups under static allocation.
    fn check_homes(&self, wrong: &mut Complaints) {
        let placing = self.designs.answering(ExtensionPoint::Place);
        wrong.require(
            !self.placement.has_homes() || placing.is_empty(),
            "ftl.placement.policy",
            format!("a fixed placement beside the design {}", placing.join(" and ")),
            "dynamic: the design decides `place`, which static allocation never asks for",
        );
    }
}

/// The policies that several engines query, and the designs that decide instead of them. It queries the one that
/// decides, and checks the decision. A [policy](Policies) that only one engine queries belongs to that engine.
pub struct ActivePolicies {
    /// The designs.
    pub designs: Designs,
    /// Selects the host stream of a page.
    pub router: Box<dyn Router>,
    /// Selects the plane group of a page.
    pub placement: Box<dyn Placement>,
    /// `None` if no work is stolen.
    pub balancer: Option<Box<dyn Balancer>>,
    /// Selects the GC stream of a victim's valid pages.
    pub relocator: Box<dyn Relocator>,
    pub(crate) failure: Box<dyn FailurePolicy>,
    pub(crate) tuner: Box<dyn Tuner>,
    /// Frontier policy of each pool.
    pub(crate) frontiers: Vec<Box<dyn Frontier>>,
    /// `None` without background work.
    pub(crate) background: Option<Box<dyn Background>>,
    /// Plane group for which a design last selected no victim although there were candidates.
    pub(crate) declined: Option<PlaneGroupId>,
}

/// Policies that one engine queries: GC, or the cached map.
pub(crate) struct OwnPolicies {
    pub victim: Box<dyn VictimPolicy>,
    pub mapper: Box<dyn Mapper>,
    pub wear: Box<dyn WearLeveller>,
}

impl Policies {
    /// Wraps the placement for block-level mapping, so that all pages of a logical block go to the same plane
    /// group.
    pub(crate) fn with_block_placement(self, config: &Config) -> Self {
        match config.file.ftl.mapping.block {
            Some(_) => {
                Self { placement: Box::new(LogicalBlockPlacement::new(self.placement, config)), ..self }
            }
            None => self,
        }
    }

    /// Splits the policies into those that several engines query, and those that one engine queries.
    /// The balancer is dropped under dynamic allocation in a single pool, where it has nothing to balance.
    pub(crate) fn split(self, config: &Config, seed: Seed) -> (ActivePolicies, OwnPolicies) {
        let pools = config.pools.count();
        let others = config.file.pools.iter().map(|file| file.frontier.build());
        let balances = (self.placement.has_homes() || pools > 1) && self.balancer.is_on();
        let rests = self.background.idle_delay().is_some();
        let mapper = self.designs.mapper(config).unwrap_or(self.mapper);
        let policies = ActivePolicies {
            designs: Designs::new(self.designs, &*self.router, &*self.relocator, config, seed),
            router: self.router,
            placement: self.placement,
            balancer: balances.then_some(self.balancer),
            relocator: self.relocator,
            failure: self.failure,
            tuner: self.tuner,
            declined: None,
            frontiers: std::iter::once(self.frontier).chain(others).collect(),
            background: rests.then_some(self.background),
        };
        (policies, OwnPolicies { victim: self.victim, mapper, wear: self.wear })
    }
}

impl ActivePolicies {
    /// Forgets what a power cut loses: the tuner's knowledge of the cells.
    pub(crate) fn forget(&mut self) {
        self.tuner.forget();
    }

    /// Smallest written unit that currently goes to the first of several pools; `None` if sizes do not
    /// decide.
    pub fn min_size_for_first_pool(&self) -> Option<Bytes> {
        self.designs.min_size_for_first_pool().or_else(|| self.router.min_size_for_first_pool())
    }
}

state!(ActivePolicies { parts { router, placement, balancer, relocator, failure, tuner, background, designs } lists { frontiers } fixed { declined } });
