//! A conventional SSD: the parts of the controller put together, and the loop that carries events to them.
//!
//! `front` takes and answers commands, `link` brings them over a link; `read` and `write` carry them out over buffer and
//! mapping; `cached` keeps and fetches ahead what is read; `flush` takes pages out of the buffer and `form` puts them into
//! program units, which `balance` gives to other rows than their homes, or `block_map` writes at their places; `service` takes in what
//! the dies finish; `write_out` writes the buffer out from time to time; `gc` carries out what the collector wants, and `idle` what is done while the host rests; `discarded` writes what
//! was discarded to flash; `failures` deals with commands that failed; `translate` finds out where pages are when the map is
//! not in memory as a whole; `waited_for` says which reads of the controller's own somebody waits for by now; `precondition` fills a device in no time; `recovery` cuts the power and puts the tables
//! together again; `audit` checks the books; `progress` says what waits for what,
//! `loaded` whether a state that was read can be one of the device, and `contents` follows what sectors hold where somebody
//! wants to know.

mod ageing;
mod audit;
mod balance;
mod block_device;
mod block_map;
mod cached;
mod contents;
mod discarded;
mod failures;
mod flush;
mod form;
mod front;
mod gc;
mod idle;
mod link;
mod lists;
pub(crate) mod loaded;
mod precondition;
mod progress;
mod read;
mod recovery;
mod scan;
mod service;
mod slc;
mod sub_requests;
mod totals;
mod translate;
mod waited_for;
mod write;
mod write_out;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Digest, Schedule, Seed, state};
use wordline_nand::{BlockSetId, Chips, Pool, Stamp};

use crate::buffer::read_ahead::ReadAhead;
use crate::buffer::read_cache::ReadCache;
use crate::buffer::{Buffer, EntryId};
use crate::command::{Answer, Command, RequestId};
use crate::config::{BufferMode, Config, Protection};
use crate::flash::{self, Flash};
use crate::front::{Front, Link};
use crate::ftl::blocks::{SlcShare, State, Streams, SuperBlockCounts};
use crate::ftl::checkpoint::{Checkpoints, DiscardsAtCut};
use crate::ftl::gc_config::Scope;
use crate::ftl::{BlockMap, Blocks, Collector, Discards, Lost, Mapping, Translation, UnitWrites};
use crate::parts::{Parts, Policies};
use crate::policy::eviction::Eviction;
use crate::policy::frontier::{Frontier, WordLines};
use crate::policy::placement::{Placement, Row, RowSet};
use crate::policy::router::Router;
use crate::policy::victim::VictimPolicy;
use crate::policy::wear::WearLeveller;
use crate::pools::PoolState;

pub use contents::{Content, Contents, FILLED, Mutant, NOTHING, ZEROES};
use lists::Lists;
pub use precondition::{Look, Steady, Written};
pub use progress::Watchdog;
pub use recovery::{PowerCut, Recovered};
pub use sub_requests::Counts as SubRequestCounts;
use sub_requests::SubRequests;

pub use crate::times::{CommandTimes, Component, Spent, Times, WriteBack};
pub use totals::Totals;

/// What happens in a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Something in flash.
    Flash(flash::Event),
    /// The front end has dealt with a command: its work begins.
    Begin(RequestId),
    /// The work on a command is done.
    Answer(RequestId),
    /// A step of a command on the link is over.
    Link(RequestId),
    /// The buffer is to be written out.
    FlushTimer,
    /// The host may have rested for long enough.
    Idle,
}

const _: () = assert!(size_of::<Event>() <= 8, "an event is copied on every push and pop");

/// The host's program unit of a row: the buffer entries in it and what is written of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Unit {
    entries: Vec<EntryId>,
    stamps: Vec<Stamp>,
    busy: bool,
}

impl Unit {
    /// Its program is over: the row may have another one.
    fn clear(&mut self) {
        self.entries.clear();
        self.stamps.clear();
        self.busy = false;
    }
}

/// An SSD.
pub struct Device {
    config: Config,
    flash: Flash,
    blocks: Blocks,
    mapping: Mapping,
    /// What the host wrote and cannot be read any more.
    lost: Lost,
    /// None if discards do not outlive the power.
    discards: Option<Discards>,
    /// None if none are made.
    checkpoints: Option<Box<Checkpoints>>,
    /// None while the whole map is in memory.
    translation: Option<Translation>,
    /// None where a page may be anywhere.
    block_map: Option<Box<BlockMap>>,
    buffer: Buffer,
    marks: flush::Marks,
    /// None if no page leaves the buffer as soon as it is written.
    destage: Option<Box<write_out::AtOnce>>,
    cache: ReadCache,
    ahead: ReadAhead,
    collector: Collector,
    policies: Policies,
    /// Program units that wait for each row; kept up only while there is a balancer that looks at it.
    waiting: Vec<u32>,
    /// Failed programs, failed erases and lost reads of each block.
    failures: Column<BlockSetId, [u8; 3]>,
    rest: idle::Rest,
    preemptible: bool,
    /// Blocks in SLC mode that stay in a row while the host is at work.
    keep_cached: u32,
    /// Pages that were read of victims that leave their pool.
    leaving: Vec<Stamp>,
    /// What a policy may know of the pools; worked out when one is asked.
    states: Vec<PoolState>,
    /// None unless the first of several pools is mapped by whole units.
    unit_writes: Option<Box<UnitWrites>>,
    /// Pages of the host that each pool has room for; kept up where there are several.
    room: Vec<u64>,
    streams: Streams,
    front: Front,
    /// A list for each stream of the host, and where pages have homes for each row.
    ready: Lists,
    filling: u32,
    programming: u32,
    units: Vec<Unit>,
    /// Rows that take a program unit of the host now, for each of its streams.
    accepting: Vec<RowSet>,
    /// None in a device with a single pool.
    subs: Option<Box<sub_requests::SubRequests>>,
    /// None unless a stream of the host goes to blocks in SLC mode.
    slc: Option<Box<slc::Cached>>,
    /// Whether a row was passed over because it holds as many valid pages as it may.
    some_row_full: bool,
    /// Whether a row takes something that it did not take before, or is lost, since pages were last moved on.
    row_opened: bool,
    /// Whether preconditioning has left victims half cleaned: the collector goes on with them when the host writes.
    left_at_work: bool,
    /// Whether the collector begins no step, because preconditioning is over.
    is_paused: bool,
    /// Writes that wait for room in the buffer.
    stalled: VecDeque<RequestId>,
    /// Flush commands that wait for the entries of an epoch.
    flushes: VecDeque<(u64, RequestId)>,
    /// Entries of this epoch and older ones do not stay in the buffer.
    drain: Option<u64>,
    timer_set: bool,
    /// What is being written out by the timer.
    round: Option<write_out::Round>,
    read_only: bool,
    /// After a power cut, until the pages are scanned.
    scan: Option<scan::Scan>,
    recovery: Option<Recovered>,
    /// What of the buffer outlived the last power cut.
    saved: Vec<recovery::Saved>,
    /// Whether the placement fixes the row of each page by its number.
    has_homes: bool,
    page_size: front::PageSize,
    /// Pages that each row must hold where pages have homes, else none.
    home_pages: Vec<u32>,
    /// Requests of which a part is done, and whether they are being ended; between events there are none.
    wake: Vec<RequestId>,
    waking: bool,
    answers: Vec<Answer>,
    digest: Digest,
    totals: Totals,
    /// What wrote the buffer out, for each pool.
    written_back: Vec<WriteBack>,
    /// What the sectors hold, where somebody wants to know.
    contents: Option<Box<Contents>>,
}

state!(Device {
    values {
        lost, room, waiting, ahead, failures, rest, filling, programming, units, accepting, some_row_full, row_opened,
        left_at_work, stalled, flushes, drain, timer_set, round, read_only, scan, recovery, saved, wake, answers, digest, totals,
        written_back,
    }
    parts {
        flash, ready, blocks, mapping, translation, buffer, marks, destage, cache, collector, policies, front, discards,
        checkpoints, slc, subs, block_map, unit_writes,
    }
    fixed { config, is_paused, preemptible, keep_cached, leaving, states, streams, has_homes, page_size, home_pages, waking, contents }
});

impl Device {
    /// A new device, with nothing written and the policies that its configuration names.
    pub fn new(config: Config, seed: Seed) -> Self {
        let parts = Parts::of(&config);
        Self::with(config, parts, seed)
    }

    /// A new device, with nothing written and these policies.
    pub fn with(config: Config, parts: Parts, seed: Seed) -> Self {
        let (policies, parts) = block_map::with_homes(parts, &config).split(config.pools.count());
        let streams = config.file.streams_beside(policies.router.streams(), policies.relocator.streams());
        let slc = config.slc_share(policies.router.cached());
        let mut flash = Flash::new(&config, seed);
        let mut blocks = new_blocks(&config, streams, slc, &mut flash, seed);
        keep_for(&*parts.victim, &config, &mut blocks);
        order_word_lines(parts.frontier, &config, &mut flash, &mut blocks);
        let (has_homes, rows) = (policies.placement.home(0).is_some(), config.pools.rows());
        Self {
            flash,
            mapping: Mapping::new(config.mapped_pages()),
            lost: Lost::default(),
            discards: new_discards(&config),
            checkpoints: Checkpoints::of(&config),
            failures: Column::filled(config.pools.block_sets() as usize, [0; 3]),
            block_map: BlockMap::of(&config, |page| policies.placement.home(page)).map(Box::new),
            translation: config.map_cache().map(|size| Translation::of(&config, parts.mapper, size)),
            buffer: new_buffer(&config, parts.eviction),
            marks: flush::Marks::new(&config),
            destage: write_out::AtOnce::of(&config, parts.destage),
            cache: ReadCache::new(config.cache_pages.min(config.logical_pages), parts.read_eviction),
            ahead: ReadAhead::new(config.file.buffer.read_ahead),
            front: Front::new(&config),
            ready: Lists::new(new_units(&config, streams, slc.as_ref(), has_homes)),
            filling: 0,
            programming: 0,
            units: vec![Unit::default(); rows as usize],
            accepting: vec![RowSet::new(rows); usize::from(streams.host)],
            subs: new_sub_requests(&config, &*policies.router, &mut blocks),
            slc: slc.map(|share| Box::new(slc::Cached::new(&share, &config))),
            some_row_full: false,
            row_opened: false,
            left_at_work: false,
            is_paused: false,
            stalled: VecDeque::new(),
            flushes: VecDeque::new(),
            drain: None,
            timer_set: false,
            round: None,
            read_only: false,
            scan: None,
            recovery: None,
            saved: Vec::new(),
            has_homes,
            page_size: front::PageSize::new(&config),
            home_pages: home_pages(&config, &*policies.placement),
            waiting: vec![0; rows as usize],
            wake: Vec::new(),
            waking: false,
            answers: Vec::new(),
            digest: Digest::default(),
            totals: Totals::default(),
            written_back: vec![WriteBack::default(); config.pools.count()],
            contents: None,
            collector: new_collector(&config, streams, parts.victim, parts.wear, seed),
            policies,
            rest: idle::Rest::default(),
            preemptible: config.file.ftl.gc.preemptible,
            keep_cached: config.file.ftl.slc_cache.and_then(|cache| cache.fold_above).unwrap_or(u32::MAX),
            leaving: Vec::new(),
            states: Vec::new(),
            room: vec![0; config.pools.count()],
            unit_writes: UnitWrites::of(&config).filter(|_| config.pools.count() > 1),
            streams,
            blocks,
            config,
        }
        .begun()
    }

    /// Works out what follows from its parts before the first command.
    fn begun(mut self) -> Self {
        self.check_life();
        self.note_all_rows();
        self
    }

    /// Lets time go on to `event`.
    #[inline(always)]
    pub fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        if let Event::Flash(flash::Event::Chips(event)) = event {
            if let Some(done) = &self.flash.handle(event, &mut calendar.within(Event::Flash)) {
                self.command_done(done, calendar);
            } else if let wordline_nand::Event::Rested(die) = event {
                self.flash.rested(die, &*self.policies.tuner, &mut calendar.within(Event::Flash));
            }
        } else {
            self.handle_own(event, calendar);
        }
        self.write_tables(calendar);
    }

    /// An event that is none of the chips.
    #[inline(never)]
    fn handle_own(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        match event {
            Event::Flash(flash::Event::Retry(id)) => {
                self.flash.retry(id, &*self.policies.tuner, &mut calendar.within(Event::Flash));
            }
            Event::Flash(event) => unreachable!("{event:?} is handled by the flash"),
            Event::Begin(id) => self.begin(id, calendar),
            Event::Answer(id) => self.answer(id, calendar),
            Event::Link(id) => self.link_free(id, calendar),
            Event::FlushTimer => self.write_out_on_time(calendar),
            Event::Idle => self.host_rests(calendar),
        }
    }

    /// Whether the device refuses writes because it is at the end of its life.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The chips.
    pub fn chips(&self) -> &Chips {
        self.flash.chips()
    }

    /// The flash.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// What was counted.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// What wrote the buffer out, for each pool.
    pub fn written_back(&self) -> &[WriteBack] {
        &self.written_back
    }

    /// The digest of everything that happened.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Block sets out of use.
    pub fn bad_blocks(&self) -> u64 {
        self.blocks.bad()
    }

    /// Whether anything is written to an SLC cache.
    pub fn has_slc_cache(&self) -> bool {
        self.slc.is_some()
    }

    /// How often super blocks were cleaned; none where blocks are cleaned one by one.
    pub fn super_blocks(&self) -> Option<SuperBlockCounts> {
        self.blocks.super_block_counts()
    }

    /// Whether a block set is out of use.
    pub fn is_bad(&self, block: BlockSetId) -> bool {
        self.blocks.state(block) == State::Bad
    }

    /// How often each block set was erased, in the order of rows and blocks.
    pub fn erases(&self) -> impl Iterator<Item = (BlockSetId, u32)> + '_ {
        self.flash.chips().erases().entries().map(|(block, erases)| (block, *erases))
    }

    /// The link to the host, if the interface has one.
    pub fn link(&self) -> Option<&Link> {
        self.front.port.as_deref().map(|port| port.link())
    }

    /// Written pages in the buffer that still come to flash when the power fails; no more than these are ever in it if
    /// there are any.
    pub fn protected_pages(&self) -> u32 {
        if self.is_protected() { self.config.buffer_pages } else { 0 }
    }

    /// Commands that are not answered yet.
    pub fn outstanding(&self) -> usize {
        self.front.outstanding()
    }

    /// Whether a write is answered only once it is in flash.
    fn is_durable(&self, command: &Command) -> bool {
        (command.fua && !self.is_protected() && !self.has(Mutant::FuaIgnored))
            || self.config.file.buffer.mode != BufferMode::WriteBack
    }

    /// Whether what is in the buffer outlives the power.
    fn is_protected(&self) -> bool {
        self.config.file.buffer.power_loss_protection != Protection::None
    }

    /// Goes read-only when the good blocks cannot hold the logical capacity any more. Where pages have homes, each
    /// row has its own share to hold; else the rows hold it together, with a program unit under way in each.
    fn check_life(&mut self) {
        self.note_room();
        self.read_only |= if self.block_map.is_some() {
            !self.holds_logical_blocks()
        } else if self.has_homes && self.policies.balancer.is_none() {
            !self.holds_homes()
        } else {
            let pools = &self.config.pools;
            !self.config.shares().fit(self.room_of(pools.first()), self.room_of(pools.last()))
        };
    }

    /// Pages that the good blocks of a pool can hold with a program unit under way in each row.
    fn room_of(&self, pool: &Pool) -> u64 {
        let of_row = |row| u64::from(self.blocks.limit(row).saturating_sub(pool.slots.per_program));
        pool.geometry.all_rows().map(of_row).sum()
    }

    /// Whether each row can hold the pages that have their home there and the tables that it was given, and one of them
    /// always takes another unit of those.
    fn holds_homes(&self) -> bool {
        let mut spare = 0;
        for row in 0..self.config.pools.rows() {
            match self.spare_beside_homes(row) {
                Some(here) if here >= self.tables_in(row) => spare += u64::from(here),
                _ => return false,
            }
        }
        let tables = u64::from(self.config.table_pages());
        let units =
            u64::from(self.config.pools.rows()) * u64::from(self.config.pools.first().slots.per_program);
        tables == 0 || spare >= tables + units
    }

    /// Pages that a row can hold beside those that have their home there, with a program unit of them under way.
    fn spare_beside_homes(&self, row: Row) -> Option<u32> {
        let homes = self.home_pages[row as usize] + self.config.pools.per_program(row);
        self.blocks.limit(row).checked_sub(homes)
    }
}

/// The sub-requests of a device with several pools, of which the block table then keeps the books apart.
fn new_sub_requests(config: &Config, router: &dyn Router, blocks: &mut Blocks) -> Option<Box<SubRequests>> {
    if config.pools.count() == 1 {
        return None;
    }
    blocks.share(config.file.ftl.mapping.whole_units);
    let pools = (0..router.streams()).map(|stream| router.pool(stream)).collect();
    Some(Box::new(SubRequests::new(config, pools)))
}

/// The table of the blocks, of which some are bad from the factory.
fn new_blocks(
    config: &Config,
    streams: Streams,
    cache: Option<SlcShare>,
    flash: &mut Flash,
    seed: Seed,
) -> Blocks {
    let mut bad = factory_bad_blocks(config, seed);
    flash.chips().factory_bad().into_iter().for_each(|block| bad[block.0 as usize] = true);
    let mut blocks = Blocks::new(&config.pools, streams, |block| bad[block.0 as usize]);
    blocks.allocate(config.file.ftl.wear.allocation);
    if let Some(share) = cache {
        assert!(flash.offer_slc_mode(), "the part of a device with an SLC cache has the mode");
        blocks.cache(share);
    }
    blocks
}

/// Lets a frontier say which word line is programmed next, unless that is always the one after the last.
fn order_word_lines(frontier: Box<dyn Frontier>, config: &Config, flash: &mut Flash, blocks: &mut Blocks) {
    if !frontier.is_in_order() {
        flash.program_in_any_order();
        let Pool { part, geometry, .. } = config.pools.first();
        blocks.order(frontier, WordLines::of(part, geometry));
    }
}

/// Keeps what the choice of victims needs.
fn keep_for(victim: &dyn VictimPolicy, config: &Config, blocks: &mut Blocks) {
    blocks.keep(victim.needs());
    if config.file.ftl.gc.scope == Scope::SuperBlock {
        blocks.form_super_blocks();
    }
}

/// The buffer. No more pages than there are wait at once, however large it is.
fn new_buffer(config: &Config, eviction: Box<dyn Eviction>) -> Buffer {
    Buffer::with_room(config.buffer_pages.min(config.logical_pages), config.file.buffer.room(), eviction)
}

/// The table of discards, if the configuration wants one.
fn new_discards(config: &Config) -> Option<Discards> {
    let kept = config.file.buffer.power_loss_protection != Protection::None;
    let in_flash = config.file.ftl.recovery.discards == DiscardsAtCut::Kept;
    (in_flash || kept).then(|| Discards::new(config, kept))
}

/// The collector, and what levels the wear if anything does.
fn new_collector(
    config: &Config,
    streams: Streams,
    victim: Box<dyn VictimPolicy>,
    wear: Box<dyn WearLeveller>,
    seed: Seed,
) -> Collector {
    let (rows, gc) = (config.pools.rows(), &config.file.ftl.gc);
    let mut collector = Collector::new(rows, streams.gc, victim, seed.stream("ssd.victim", 0), gc);
    for pool in &config.file.pools {
        let start_below = pool.start_below_free_blocks.unwrap_or(gc.start_below_free_blocks);
        collector.add_pool(
            start_below,
            pool.stop_at_free_blocks.unwrap_or(gc.stop_at_free_blocks).max(start_below),
        );
    }
    if wear.is_on() {
        collector.level(wear, seed.stream("ssd.wear", 0));
    }
    collector
}

/// The pages that make a program unit at least, of each list of complete pages.
fn new_units(config: &Config, streams: Streams, slc: Option<&SlcShare>, has_homes: bool) -> Vec<u32> {
    let lists = usize::from(streams.host) as u32;
    let unit = |row| config.pools.per_program(row).min(slc.map_or(u32::MAX, |slc| slc.unit));
    let least = |rows: std::ops::Range<u32>| rows.map(unit).min().unwrap_or(1);
    match has_homes {
        true => (0..config.pools.rows() * lists).map(|list| unit(list / lists)).collect(),
        false => vec![least(0..config.pools.rows()); lists as usize],
    }
}

/// How many pages have their home in each row.
fn home_pages(config: &Config, placement: &dyn Placement) -> Vec<u32> {
    let mut pages = vec![0; config.pools.rows() as usize];
    let has_homes = placement.home(0).is_some();
    for page in 0..if has_homes { config.logical_pages } else { 0 } {
        pages[placement.home(page).expect("all pages have homes or none") as usize] += 1;
    }
    pages
}

/// Draws the blocks that are bad from the factory: the same number in each row, which ones by the seed.
fn factory_bad_blocks(config: &Config, seed: Seed) -> Vec<bool> {
    let mut all = vec![false; config.pools.block_sets() as usize];
    for row in 0..config.pools.rows() {
        let mut blocks: Vec<BlockSetId> = config.pools.of_row(row).geometry.blocks_of(row).collect();
        let bad = (blocks.len() as f64 * config.file.ftl.factory_bad_blocks) as usize;
        if bad > 0 {
            seed.stream("ssd.factory-bad-blocks", row.into()).shuffle(&mut blocks);
            blocks[..bad].iter().for_each(|block| all[block.0 as usize] = true);
        }
    }
    all
}
