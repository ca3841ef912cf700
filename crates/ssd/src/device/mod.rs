//! A conventional SSD: the engines of the controller put together, and the loop that carries events to them.
//!
//! `service` gives what the dies finish, or could not do, to the engine that asked for it; `recovery` cuts
//! the power and gives it back. What must hold, what waits for what, and whether a state that was read can be one of the device, each
//! engine says of itself; `block_device` asks them.

mod block_device;
mod recovery;
mod service;

use wordline_kernel::metrics::Value;
use wordline_kernel::{Bytes, Metric, Schedule, Seed, state};
use wordline_nand::{BlockSetId, Chips, Pool};

use crate::base::Base;
use crate::cache::Cache;
use crate::command::Answer;
use crate::config::Config;
use crate::design::{Observes, Seen};
use crate::engines::Core;
use crate::flash::{self, Flash};
use crate::front::{Front, Link};
use crate::lifetime::{Fullness, Worn};
use crate::map::{LogicalPage, Map};
use crate::parts::{Parts, Policies};
use crate::policy::frontier::WordLines;
use crate::policy::victim::Indexes;
use crate::pools::{EVERYTHING_IN, PoolState};
use crate::reclaim::Reclaim;
use crate::reclaim::config::Scope;
use crate::recovery::Recovery;
use crate::sectors::Sectors;
use crate::space::{SlcShare, Space, State, Streams, SuperBlockCounts, bad_from_factory};
use crate::writer::Writer;

pub use crate::contents::{Content, Contents, FILLED, Mutant, NOTHING, ZEROES};
pub use crate::event::Event;
pub use crate::precondition::{Look, Steady, Written};
pub use crate::recovery::Recovered;
pub use crate::times::{CommandTimes, Component, Spent, Times, WriteBack};
pub use crate::totals::Totals;
pub use crate::writer::units::Counts as SubRequestCounts;
pub use recovery::PowerCut;

pub use crate::watchdog::Watchdog;

/// An SSD.
pub struct Device {
    pub(crate) core: Core,
    pub(crate) writer: Writer,
    recovery: Recovery,
    pub(crate) front: Front,
}

state!(Device { parts { core, writer, recovery, front } });

impl Device {
    /// A new device, with nothing written and the policies that its configuration names.
    pub fn new(config: Config, seed: Seed) -> Self {
        let parts = Parts::of(&config);
        Self::with(config, parts, seed)
    }

    /// A new device, with nothing written and these policies.
    pub fn with(config: Config, parts: Parts, seed: Seed) -> Self {
        let (policies, parts) = parts.with_homes(&config).split(&config, seed);
        let streams = config.file.streams_beside(policies.host_streams(), policies.collector_streams());
        let slc = config.slc_share(policies.slc_streams());
        let mut flash = Flash::new(&config, seed);
        let mut space = new_blocks(&config, streams, slc, &mut flash, seed);
        keep_for(policies.indexes(parts.victim.needs()), &config, &mut space);
        order_word_lines(&policies, &config, &mut flash, &mut space);
        space.watch(policies.designs.observed());
        flash.tune_programs(policies.tunes_programs());
        let map = Map::new(&config, parts.mapper, &*policies.placement);
        let cache = Cache::new(&config, [parts.eviction, parts.read_eviction], parts.destage);
        let reclaim = Reclaim::new(&config, streams, parts.victim, parts.wear, seed);
        let front = Front::new(&config);
        let base = Base::new(config, flash, space, policies);
        let writer = Writer::new(&base, slc.as_ref().filter(|slc| slc.streams.host.is_some()));
        let core = Core { base, map, cache, reclaim };
        Self { core, writer, recovery: Recovery::default(), front }.begun()
    }

    /// Works out what follows from its parts before the first command.
    fn begun(mut self) -> Self {
        self.core.map.check_life(&mut self.core.base);
        self.writer.note_all_rows(&self.core);
        self
    }

    /// At the end of an event designs hear of what is left to be told.
    #[inline(always)]
    fn tell_designs(&mut self) {
        if !self.core.base.policies.designs.is_empty() {
            self.tell_what_is_left();
        }
    }

    #[inline(never)]
    fn tell_what_is_left(&mut self) {
        let level = self.core.cache.level();
        self.core.base.tell_news();
        if self.core.base.policies.designs.note_level(level) {
            self.core.base.observe(Observes::BUFFER, |_| Seen::Buffer { level });
        }
    }

    /// The metrics of the designs, and what they say now.
    pub(crate) fn measure_designs(&self) -> Vec<(&'static Metric, Value)> {
        self.core.base.policies.designs.measure().collect()
    }

    /// An event that is none of the chips.
    #[inline(never)]
    fn handle_own(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        match event {
            Event::Flash(flash::Event::Retry(id)) => {
                self.core.base.flash.retry(id, &self.core.base.policies, &mut calendar.within(Event::Flash));
            }
            Event::Flash(event) => unreachable!("{event:?} is handled by the flash"),
            Event::Begin(id) => self.front.begin(id, &mut self.core, &mut self.writer, calendar),
            Event::Answer(id) => self.front.answer(id, &mut self.core, &mut self.writer, calendar),
            Event::Link(id) => self.front.link_free(id, &mut self.core, &mut self.writer, calendar),
            Event::FlushTimer => self.front.write_out_on_time(&mut self.core, &mut self.writer, calendar),
            Event::Idle => self.front.host_rests(&mut self.core, &mut self.writer, calendar),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.core.base.config
    }

    /// The chips.
    pub fn chips(&self) -> &Chips {
        self.core.base.flash.chips()
    }

    /// The flash.
    pub fn flash(&self) -> &Flash {
        &self.core.base.flash
    }

    /// What was counted.
    pub fn totals(&self) -> &Totals {
        &self.core.base.totals
    }

    /// What wrote the buffer out, for each pool.
    pub fn written_back(&self) -> &[WriteBack] {
        &self.core.base.written_back
    }

    /// Block sets out of use.
    pub fn bad_blocks(&self) -> u64 {
        self.core.base.space.bad()
    }

    /// The size from which on what was written of a unit goes to the first of several pools, if sizes decide: as it is now.
    pub fn least_of_first_pool(&self) -> Option<Bytes> {
        let policies = &self.core.base.policies;
        policies.designs.least_of_first().or_else(|| policies.router.least_of_first())
    }

    /// Whether anything is written to an SLC cache.
    pub fn has_slc_cache(&self) -> bool {
        self.core.base.space.has_slc_cache()
    }

    /// How often super blocks were cleaned; none where blocks are cleaned one by one.
    pub fn super_blocks(&self) -> Option<SuperBlockCounts> {
        self.core.base.space.super_block_counts()
    }

    /// Whether a block set is out of use.
    pub fn is_bad(&self, block: BlockSetId) -> bool {
        self.core.base.space.state(block) == State::Bad
    }

    /// How often each block set was erased, in the order of rows and blocks.
    pub fn erases(&self) -> impl Iterator<Item = (BlockSetId, u32)> + '_ {
        self.core.base.flash.chips().erases().entries().map(|(block, erases)| (block, *erases))
    }

    /// The link to the host, if the interface has one.
    pub fn link(&self) -> Option<&Link> {
        self.front.link()
    }

    /// What each sector of a page holds, where none is lost: what a read would find.
    pub fn contents_of(&self, page: LogicalPage) -> Vec<Content> {
        self.core.cache.contents_of(page, &self.core.base, &self.core.map)
    }

    /// Part of the capacity in good blocks that holds nothing valid: what is spare in effect. It is more than the
    /// over-provisioning by what the host never wrote or discarded. It takes time in proportion to the number of blocks.
    pub fn effective_spare(&self) -> f64 {
        self.core.base.effective_spare()
    }

    /// How full the flash is, blocks out of use included. It takes time in proportion to the number of blocks.
    pub fn fullness(&self) -> Fullness {
        self.core.base.fullness()
    }

    /// Whether some of a logical page is lost: a read of that fails until it is written again.
    pub fn is_lost(&self, page: LogicalPage) -> bool {
        self.core.map.is_lost(page)
    }

    /// The sectors of a page that are lost: a read of one of them fails until it is written again.
    pub fn lost_sectors(&self, page: LogicalPage) -> Sectors {
        self.core.map.lost_sectors(page)
    }

    /// What a policy may know of the pools.
    pub fn pool_states(&self) -> Vec<PoolState> {
        self.core.base.pool_states()
    }

    /// Written pages in the buffer that still come to flash when the power fails; no more than these are ever in it if
    /// there are any.
    pub fn protected_pages(&self) -> u32 {
        self.core.base.protected_pages()
    }

    /// What became of sub-requests; none in a device with one pool.
    pub fn sub_requests(&self) -> Option<SubRequestCounts> {
        self.writer.sub_requests()
    }

    /// The answers that were neither taken nor forgotten, moved to the end of `into`.
    #[inline]
    pub fn take_answers(&mut self, into: &mut Vec<Answer>) {
        self.front.take_answers(into);
    }

    /// The version of a logical page that a read would find now, counted from 1 with each write of the host; `None`
    /// if there is nothing to be found.
    pub fn version(&self, page: LogicalPage) -> Option<u32> {
        self.core.cache.version(page, &self.core.base, &self.core.map)
    }

    /// The version of a logical page that is in flash.
    pub fn version_in_flash(&self, page: LogicalPage) -> Option<u32> {
        self.core.map.version_in_flash(page, &self.core.base)
    }

    /// How many versions of a logical page there were: the next write makes one more.
    pub fn versions(&self, page: LogicalPage) -> u32 {
        self.core.map.versions(page)
    }

    /// How worn each pool is, in their order. It takes time in proportion to the number of blocks.
    pub fn worn(&self) -> Vec<Worn> {
        self.core.base.worn()
    }

    /// Blocks in SLC mode that are not being folded.
    pub fn cached_blocks(&self) -> u32 {
        self.core.base.config.pools.all_rows().map(|row| self.core.base.space.cached(row)).sum()
    }

    /// From now on the device knows what its sectors hold.
    pub fn keep_contents(&mut self, mut contents: Contents) {
        contents.per_page = self.core.base.sectors_per_page();
        self.core.base.contents = Some(Box::new(contents));
    }

    /// What its sectors hold, if the device knows that.
    pub fn contents(&mut self) -> Option<&mut Contents> {
        self.core.base.contents.as_deref_mut()
    }
}

/// The table of the blocks, of which some are bad from the factory.
fn new_blocks(
    config: &Config,
    streams: Streams,
    cache: Option<SlcShare>,
    flash: &mut Flash,
    seed: Seed,
) -> Space {
    let mut bad = bad_from_factory(config, seed);
    flash.chips().factory_bad().into_iter().for_each(|block| bad[block.0 as usize] = true);
    let mut blocks = Space::new(&config.pools, streams, |block| bad[block.0 as usize]);
    blocks.allocate(config.file.ftl.wear.allocation);
    if let Some(share) = cache {
        assert!(flash.offer_slc_mode(), "the part of a device with an SLC cache has the mode");
        blocks.cache(EVERYTHING_IN, share);
    }
    for pool in 0..config.pools.count() {
        blocks.clean_between(pool, config.cleaning_marks(pool));
    }
    if let Some(pool) = config.pool_of_whole_units() {
        blocks.map_whole_units(pool);
    }
    blocks
}

/// Lets a frontier say which word line is programmed next, unless that is always the one after the last.
fn order_word_lines(policies: &Policies, config: &Config, flash: &mut Flash, space: &mut Space) {
    for (n, Pool { part, geometry, .. }) in config.pools.iter().enumerate() {
        if policies.orders_word_lines(n) {
            flash.program_in_any_order();
            space.order(n, WordLines::of(part, geometry), policies.open_blocks(n));
        }
    }
}

/// Keeps what the choice of victims needs.
fn keep_for(indexes: Indexes, config: &Config, space: &mut Space) {
    space.keep(indexes);
    if config.file.ftl.gc.scope == Scope::SuperBlock {
        (0..config.pools.count()).for_each(|pool| space.form_super_blocks(pool));
    }
}
