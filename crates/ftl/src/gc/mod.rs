//! Garbage collection: its steps as flash commands, and background GC while the host is idle.

mod collector;
pub mod config;
mod failing;
mod group_state;
mod idle;
mod job;
pub(crate) mod migrating;
mod reclaimed;
mod selected;
mod sources;
mod step;
mod steps;
mod victims;

use wordline_kernel::{Seed, state};
use wordline_nand::{BlockSetId, DataTag, Location, PlaneGroupId};

use crate::blocks::{BlockManager, Streams};
use crate::config::Config;
use crate::map::{LogicalPage, Relocation};
use crate::policy::pool_state::PoolStates;
use crate::policy::victim::{Preference, VictimPolicy};
use crate::policy::wear::WearLeveller;
use collector::Collector;
use idle::HostIdle;
use migrating::MigratingPages;

pub(crate) use collector::GcLimits;
pub(crate) use sources::Fold;
pub(crate) use step::Step;

/// Garbage collection: relocates the valid pages of blocks and erases the blocks.
pub struct Gc {
    collector: Collector,
    /// Whether GC yields to host commands for the die.
    preemptible: bool,
    /// Blocks of each pool's plane groups that may stay in SLC mode while the host is active.
    keep_cached: Vec<u32>,
    /// Whether preconditioning left victims that are collected in part. GC continues with them at the first
    /// host write.
    left_at_work: bool,
    /// Steps that GC may start.
    begins: StepLimit,
    rest: HostIdle,
    /// Pages read from victims that migrate to another pool as a whole. The writer takes them.
    leaving: Vec<DataTag>,
    /// Logical pages of the host. Those with higher numbers are table pages.
    host_pages: u32,
    /// States of the pools, for queries of the relocator.
    pool_states: PoolStates,
}

/// Steps that GC may start. They are restricted while preconditioning ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepLimit {
    All,
    /// Only steps that the host cannot continue without.
    Required,
    None,
}

state!(Gc {
    values { left_at_work, rest }
    parts { collector }
    fixed { preemptible, keep_cached, begins, leaving, host_pages, pool_states }
});

impl Gc {
    /// Garbage collection without work, with this victim policy and wear leveller.
    pub(crate) fn new(
        config: &Config,
        streams: Streams,
        victim: Box<dyn VictimPolicy>,
        wear: Box<dyn WearLeveller>,
        seed: Seed,
    ) -> Self {
        let (rows, gc) = (config.pools.rows(), &config.file.ftl.gc);
        let mut collector = Collector::new(rows, streams.gc, victim, seed.stream("ssd.victim", 0), gc);
        collector.level(wear, seed.stream("ssd.wear", 0));
        Self {
            collector,
            preemptible: gc.preemptible,
            keep_cached: (0..config.pools.count()).map(|pool| Fold::kept_in(config, pool)).collect(),
            left_at_work: false,
            begins: StepLimit::All,
            rest: HostIdle::default(),
            leaving: Vec::new(),
            host_pages: config.logical_pages,
            pool_states: PoolStates::default(),
        }
    }

    /// Resets everything that a power cut loses.
    pub(crate) fn forget(&mut self) {
        self.collector.forget();
        self.rest = HostIdle::default();
    }

    /// Records that a command of the plane group's step is done. Returns true if it was the last one.
    #[inline]
    pub fn command_done(&mut self, row: PlaneGroupId) -> bool {
        self.collector.command_done(row)
    }

    /// Charges a host write of this many pages to a plane group.
    #[inline]
    pub fn spend(&mut self, row: PlaneGroupId, pages: u32) {
        self.collector.spend(row, pages);
    }

    /// Whether the host may write this many pages to a plane group whose only free blocks are reserved for
    /// GC.
    #[inline]
    pub fn can_afford(&self, row: PlaneGroupId, pages: u32) -> bool {
        self.collector.can_afford(row, pages)
    }

    /// Whether the host must wait for paced GC in a plane group.
    #[inline]
    pub fn throttles_host(&self, row: PlaneGroupId, blocks: &BlockManager) -> bool {
        self.collector.throttles_host(row, blocks)
    }

    /// Whether GC is gaining blocks in a plane group.
    #[inline]
    pub fn gains(&self, row: PlaneGroupId) -> bool {
        self.collector.gains(row)
    }

    /// Pages of victims that were processed but not erased, minus the staged pages.
    pub fn processed_pages(&self, blocks: &BlockManager) -> u64 {
        self.collector.processed_pages(blocks)
    }

    /// Whether no step is in progress in any plane group.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.collector.is_idle()
    }

    /// Pages of victims that migrate to another pool one by one.
    #[inline]
    pub fn departures(&self) -> &MigratingPages {
        &self.collector.departures
    }

    /// Whether pages read from blocks being reclaimed wait for program units of the host.
    #[inline]
    pub fn has_reclaimed_pages(&self) -> bool {
        self.collector.vacating.has_any()
    }

    /// Number of pages read from a block being reclaimed that still wait for a program, in a plane group.
    pub fn vacated(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> u32 {
        self.collector.vacating.waiting(row, blocks)
    }

    /// Takes the next `pages` reclaimed pages of a plane group for programming, and passes each to `to`.
    pub fn take_reclaimed(&mut self, row: PlaneGroupId, pages: u32, to: impl FnMut(DataTag)) {
        self.collector.vacating.take(row, pages, to);
    }

    /// Drops the reclaimed pages of a plane group that are invalid. Called before their locations can have
    /// other pages.
    pub fn drop_invalid_reclaimed(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        self.collector.vacating.drop_invalid(row, blocks);
    }

    /// Number of migrating pages that wait for a host stream. Also returns whether some plane group cannot
    /// continue GC before some of them are programmed.
    pub fn migrating_to(&mut self, stream: u8, blocks: &BlockManager) -> (u32, bool) {
        self.collector.departures.to(stream, blocks)
    }

    /// Takes the next `pages` of the migrating pages for programming, and passes each to `to`.
    pub fn take_migrating(&mut self, stream: u8, pages: u32, to: impl FnMut(DataTag)) {
        self.collector.departures.take(stream, pages, to);
    }

    /// Puts a page read from `from` back in its queue, after its program elsewhere failed.
    pub fn requeue(&mut self, row: PlaneGroupId, from: Location) {
        self.collector.departures.requeue(row, from);
        self.collector.vacating.requeue(row, from);
    }

    /// Cancels the migration of the pages that wait for a stream in another pool. The pages are relocated
    /// within their plane groups. Returns these plane groups.
    pub fn keep(&mut self, stream: u8) -> Vec<PlaneGroupId> {
        self.collector.keep(stream)
    }

    /// Whether pages of the plane group are migrating to another pool.
    #[inline]
    pub fn is_migrating(&self, row: PlaneGroupId) -> bool {
        self.collector.is_migrating(row)
    }

    /// Pages of the program unit that the plane group programs.
    pub(crate) fn unit(&self, row: PlaneGroupId) -> &[Relocation] {
        &self.collector.rows[row].unit
    }

    /// Queues a block that a design requests to be collected.
    pub fn request_block(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.collector.request_block(row, block);
    }

    /// Queues a page that a design requests to be relocated.
    pub fn request_page(&mut self, row: PlaneGroupId, page: LogicalPage, at: Location) {
        self.collector.request_page(row, page, at);
    }

    /// State of GC in a plane group, as text.
    pub fn describe(&self, row: PlaneGroupId) -> String {
        self.collector.describe(row)
    }

    /// Lengths of the lists that follow from the configuration.
    pub fn shape(&self) -> impl Iterator<Item = usize> {
        self.collector.shape()
    }

    /// Checks the loaded state, with the data tags of all locations.
    pub(crate) fn check_loaded(
        &self,
        blocks: &BlockManager,
        stamp: impl Fn(Location) -> DataTag,
    ) -> Result<(), String> {
        self.collector.check_loaded(blocks, stamp)
    }

    /// Whether GC yields to host commands.
    #[inline]
    pub fn yields_to_host(&self) -> bool {
        self.preemptible
    }

    /// Lets GC start only steps that the host cannot continue without.
    pub fn limit_to_required(&mut self) {
        self.begins = StepLimit::Required;
    }

    /// Lets GC start no steps.
    pub fn pause(&mut self) {
        self.begins = StepLimit::None;
    }

    /// Lets GC start all steps again. If GC was paused, it continues with the current victims when the host
    /// writes.
    pub fn go_on(&mut self) {
        let begun = std::mem::replace(&mut self.begins, StepLimit::All);
        self.left_at_work = begun == StepLimit::None;
    }

    /// Preference of the victim policy, if theory predicts its write amplification.
    pub fn preference(&self) -> Option<Preference> {
        self.collector.preference()
    }

    /// Whether preconditioning left victims that are collected in part. Returns true only once.
    #[inline]
    pub fn take_unfinished(&mut self) -> bool {
        std::mem::take(&mut self.left_at_work)
    }

    /// Takes the pages read from victims that migrate to another pool. The caller
    /// [returns](Self::return_migrated) the list, so that its memory is reused.
    #[inline]
    pub fn take_migrated(&mut self) -> Option<Vec<DataTag>> {
        (!self.leaving.is_empty()).then(|| std::mem::take(&mut self.leaving))
    }

    /// Returns the list of migrated pages for reuse.
    pub fn return_migrated(&mut self, leaving: Vec<DataTag>) {
        self.leaving = leaving;
    }
}
