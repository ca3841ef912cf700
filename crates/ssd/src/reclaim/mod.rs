//! Garbage collection: GC steps as commands, and background GC while the host is idle.

mod collector;
pub mod config;
pub(crate) mod departures;
mod failing;
mod idle;
mod job;
mod row;
mod selected;
mod sources;
mod steps;
mod vacating;
mod victims;

use wordline_kernel::{Seed, state};
use wordline_nand::{Location, RowId, Stamp};

use crate::base::Base;
use crate::config::Config;
use crate::map::Moved;
use crate::policy::victim::{Preference, VictimPolicy};
use crate::policy::wear::WearLeveller;
use crate::space::{Space, Streams};
use collector::Collector;
use departures::Departures;
use idle::Rest;
use sources::Fold;

/// Garbage collection: relocates the valid pages of blocks and erases the blocks.
pub(crate) struct Reclaim {
    collector: Collector,
    /// Whether GC yields to host commands for the die.
    preemptible: bool,
    /// Blocks of each pool's plane groups that may stay in SLC mode while the host is active.
    keep_cached: Vec<u32>,
    /// Whether preconditioning left partly collected victims; GC continues with them at the first host write.
    left_at_work: bool,
    /// Steps that GC may start.
    begins: Begins,
    rest: Rest,
    /// Pages read from victims that are migrated to another pool as a whole; the writer takes them.
    leaving: Vec<Stamp>,
}

/// Steps that GC may start: restricted while preconditioning ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    All,
    /// Only steps that the host cannot continue without.
    Musts,
    None,
}

state!(Reclaim {
    values { left_at_work, rest }
    parts { collector }
    fixed { preemptible, keep_cached, begins, leaving }
});

impl Reclaim {
    /// Garbage collector without work, with the victim policy and the wear leveller.
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
            begins: Begins::All,
            rest: Rest::default(),
            leaving: Vec::new(),
        }
    }

    /// Resets everything that a power cut loses.
    pub(crate) fn forget(&mut self) {
        self.collector.forget();
        self.rest = Rest::default();
    }

    /// Records that a command of the plane group's step is done; true if it was the last one.
    #[inline]
    pub(crate) fn command_done(&mut self, row: RowId) -> bool {
        self.collector.command_done(row)
    }

    /// Charges a host write of this many pages to a plane group.
    #[inline]
    pub(crate) fn spend(&mut self, row: RowId, pages: u32) {
        self.collector.spend(row, pages);
    }

    /// Whether the host may write this many pages to a plane group in which only blocks reserved for GC are
    /// free.
    #[inline]
    pub(crate) fn affords(&self, row: RowId, pages: u32) -> bool {
        self.collector.affords(row, pages)
    }

    /// Whether the host must wait in a plane group for GC, which keeps its pace.
    #[inline]
    pub(crate) fn holds_host(&self, row: RowId, space: &Space) -> bool {
        self.collector.holds_host(row, space)
    }

    /// Whether GC is gaining blocks in a plane group.
    #[inline]
    pub(crate) fn gains(&self, row: RowId) -> bool {
        self.collector.gains(row)
    }

    /// Pages of victims that were processed and are not erased, minus the staged ones.
    pub(crate) fn gone_through(&self, space: &Space) -> u64 {
        self.collector.gone_through(space)
    }

    /// Whether no step is in progress in any plane group.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.collector.is_idle()
    }

    /// Pages of victims that are migrated to another pool individually.
    #[inline]
    pub(crate) fn departures(&self) -> &Departures {
        &self.collector.departures
    }

    /// Whether pages read from blocks being reclaimed wait for program units of the host.
    #[inline]
    pub(crate) fn vacates_any(&self) -> bool {
        self.collector.vacating.has_any()
    }

    /// Number of such pages waiting in a plane group that are still to be relocated.
    pub(crate) fn vacated(&mut self, row: RowId, space: &Space) -> u32 {
        self.collector.vacating.waiting(row, space)
    }

    /// Takes the next `pages` of them for programming and passes each to `to`.
    pub(crate) fn take_vacated(&mut self, row: RowId, pages: u32, to: impl FnMut(Stamp)) {
        self.collector.vacating.take(row, pages, to);
    }

    /// Drops invalid ones of a plane group; called before their locations can hold other pages.
    pub(crate) fn forget_void_vacated(&mut self, row: RowId, space: &Space) {
        self.collector.vacating.forget_void(row, space);
    }

    /// Number of individually migrating pages waiting for a host stream, and whether some plane group cannot
    /// continue GC before some of them are programmed.
    pub(crate) fn departures_to(&mut self, stream: u8, space: &Space) -> (u32, bool) {
        self.collector.departures.to(stream, space)
    }

    /// Takes the next `pages` of them for programming and passes each to `to`.
    pub(crate) fn take_departures(&mut self, stream: u8, pages: u32, to: impl FnMut(Stamp)) {
        self.collector.departures.take(stream, pages, to);
    }

    /// Puts a page read from `from` back in its queue after its program elsewhere failed.
    pub(crate) fn come_back(&mut self, row: RowId, from: Location) {
        self.collector.departures.come_back(row, from);
        self.collector.vacating.come_back(row, from);
    }

    /// Relocates the pages waiting for a stream in another pool within their plane groups. Returns these
    /// plane groups.
    pub(crate) fn keep(&mut self, stream: u8) -> Vec<RowId> {
        self.collector.keep(stream)
    }

    /// Whether pages of the plane group are being migrated to another pool.
    #[inline]
    pub(crate) fn migrates(&self, row: RowId) -> bool {
        self.collector.migrates(row)
    }

    /// Pages of the plane group's program unit in progress.
    pub(crate) fn unit(&self, row: RowId) -> &[Moved] {
        self.collector.unit(row)
    }

    /// State of GC in a plane group, as text.
    pub(crate) fn tell(&self, row: RowId) -> String {
        self.collector.tell(row)
    }

    /// Lengths of the lists that follow from the configuration.
    pub(crate) fn shape(&self) -> impl Iterator<Item = usize> {
        self.collector.shape()
    }

    /// Checks the loaded state.
    pub(crate) fn check_loaded(&self, base: &Base) -> Result<(), String> {
        self.collector.check_loaded(&base.space)
    }

    /// Whether GC yields to the host.
    #[inline]
    pub(crate) fn yields_to_host(&self) -> bool {
        self.preemptible
    }

    /// Starts only steps that the host cannot continue without.
    pub(crate) fn hold_back(&mut self) {
        self.begins = Begins::Musts;
    }

    /// Starts no steps.
    pub(crate) fn pause(&mut self) {
        self.begins = Begins::None;
    }

    /// Starts steps again. If GC was paused, it continues with the current victims when the host writes.
    pub(crate) fn go_on(&mut self) {
        let begun = std::mem::replace(&mut self.begins, Begins::All);
        self.left_at_work = begun == Begins::None;
    }

    /// Preference of the victim policy, where theory predicts the outcome.
    pub(crate) fn preference(&self) -> Option<Preference> {
        self.collector.preference()
    }

    /// Whether victims were left partly collected; true only once.
    #[inline]
    pub(crate) fn take_work_left(&mut self) -> bool {
        std::mem::take(&mut self.left_at_work)
    }

    /// Pages read from victims that are migrated to another pool; the list is [returned](Self::take_back) so
    /// that its memory is reused.
    #[inline]
    pub(crate) fn take_leaving(&mut self) -> Option<Vec<Stamp>> {
        (!self.leaving.is_empty()).then(|| std::mem::take(&mut self.leaving))
    }

    /// Returns the list of migrated pages, emptied.
    pub(crate) fn take_back(&mut self, leaving: Vec<Stamp>) {
        self.leaving = leaving;
    }
}
