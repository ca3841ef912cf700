//! Garbage collection: the steps of the collector as commands, and what it may do while the host is idle.

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

/// Garbage collection: it moves valid pages out of blocks and erases these.
pub(crate) struct Reclaim {
    collector: Collector,
    /// Whether the collector waits while the host wants the die.
    preemptible: bool,
    /// Blocks in SLC mode that stay in a row while the host is at work.
    keep_cached: Vec<u32>,
    /// Whether ageing left victims half cleaned; the collector goes on with them at the first write of the host.
    left_at_work: bool,
    /// Which steps the collector begins.
    begins: Begins,
    rest: Rest,
    /// Pages that were read from victims whose pages go to another pool; the writer takes them.
    leaving: Vec<Stamp>,
}

/// Which steps the collector begins: fewer than it wants while ageing comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    All,
    /// Those without which the host cannot go on.
    Musts,
    None,
}

state!(Reclaim {
    values { left_at_work, rest }
    parts { collector }
    fixed { preemptible, keep_cached, begins, leaving }
});

impl Reclaim {
    /// Nothing is being cleaned; `victim` and `wear` say what will be.
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

    /// Forgets what it was doing, as when the power is cut.
    pub(crate) fn forget(&mut self) {
        self.collector.forget();
        self.rest = Rest::default();
    }

    /// A command of the row's step is done; true if that ends the step.
    #[inline]
    pub(crate) fn command_done(&mut self, row: RowId) -> bool {
        self.collector.command_done(row)
    }

    /// The host writes this many pages to a row.
    #[inline]
    pub(crate) fn spend(&mut self, row: RowId, pages: u32) {
        self.collector.spend(row, pages);
    }

    /// Whether the host may write this many pages to a row of which only the collector's blocks are free.
    #[inline]
    pub(crate) fn affords(&self, row: RowId, pages: u32) -> bool {
        self.collector.affords(row, pages)
    }

    /// Whether the host has to wait in a row for the collector, which keeps its pace.
    #[inline]
    pub(crate) fn holds_host(&self, row: RowId, space: &Space) -> bool {
        self.collector.holds_host(row, space)
    }

    /// Whether blocks are being gained in a row.
    #[inline]
    pub(crate) fn gains(&self, row: RowId) -> bool {
        self.collector.gains(row)
    }

    /// Pages of victims that were gone through and are not erased, less those that wait to be programmed.
    pub(crate) fn gone_through(&self, space: &Space) -> u64 {
        self.collector.gone_through(space)
    }

    /// Whether no step is under way in any row.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.collector.is_idle()
    }

    /// The pages of victims that go to another pool alone.
    #[inline]
    pub(crate) fn departures(&self) -> &Departures {
        &self.collector.departures
    }

    /// Whether pages that were read of blocks that are vacated wait for program units of the host.
    #[inline]
    pub(crate) fn vacates_any(&self) -> bool {
        self.collector.vacating.has_any()
    }

    /// How many of them wait in a row, of those that are still to be moved.
    pub(crate) fn vacated(&mut self, row: RowId, space: &Space) -> u32 {
        self.collector.vacating.waiting(row, space)
    }

    /// The next `pages` of them are programmed from now on: each is handed to `to`.
    pub(crate) fn take_vacated(&mut self, row: RowId, pages: u32, to: impl FnMut(Stamp)) {
        self.collector.vacating.take(row, pages, to);
    }

    /// Drops those of a row that are not to be moved any more; before another page can be in their places.
    pub(crate) fn forget_void_vacated(&mut self, row: RowId, space: &Space) {
        self.collector.vacating.forget_void(row, space);
    }

    /// How many of them wait for a stream of the host, and whether a row cannot go on cleaning before some of these are moved.
    pub(crate) fn departures_to(&mut self, stream: u8, space: &Space) -> (u32, bool) {
        self.collector.departures.to(stream, space)
    }

    /// The next `pages` of them are programmed from now on: each is handed to `to`.
    pub(crate) fn take_departures(&mut self, stream: u8, pages: u32, to: impl FnMut(Stamp)) {
        self.collector.departures.take(stream, pages, to);
    }

    /// The program of a page failed that was read from `from` to be elsewhere: it waits again.
    pub(crate) fn come_back(&mut self, row: RowId, from: Location) {
        self.collector.departures.come_back(row, from);
        self.collector.vacating.come_back(row, from);
    }

    /// The pages that wait for a stream in another pool are moved in their rows. These rows.
    pub(crate) fn keep(&mut self, stream: u8) -> Vec<RowId> {
        self.collector.keep(stream)
    }

    /// Whether pages are leaving the row's pool.
    #[inline]
    pub(crate) fn migrates(&self, row: RowId) -> bool {
        self.collector.migrates(row)
    }

    /// The pages of the row's program unit that is being programmed.
    pub(crate) fn unit(&self, row: RowId) -> &[Moved] {
        self.collector.unit(row)
    }

    /// The state of cleaning in a row, as text.
    pub(crate) fn tell(&self, row: RowId) -> String {
        self.collector.tell(row)
    }

    /// The lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> impl Iterator<Item = usize> {
        self.collector.shape()
    }

    /// Checks what was loaded.
    pub(crate) fn check_loaded(&self, base: &Base) -> Result<(), String> {
        self.collector.check_loaded(&base.space)
    }

    /// Whether the collector steps aside for the host.
    #[inline]
    pub(crate) fn yields_to_host(&self) -> bool {
        self.preemptible
    }

    /// Begins no step from now on but for a host that cannot go on without it.
    pub(crate) fn hold_back(&mut self) {
        self.begins = Begins::Musts;
    }

    /// Begins no step from now on.
    pub(crate) fn pause(&mut self) {
        self.begins = Begins::None;
    }

    /// Begins steps again. The rest of the present victims, if it was paused, is for when the host writes.
    pub(crate) fn go_on(&mut self) {
        let begun = std::mem::replace(&mut self.begins, Begins::All);
        self.left_at_work = begun == Begins::None;
    }

    /// Which block the victim policy prefers, where theory knows what that leaves.
    pub(crate) fn preference(&self) -> Option<Preference> {
        self.collector.preference()
    }

    /// Whether victims were left half cleaned; told once.
    #[inline]
    pub(crate) fn take_work_left(&mut self) -> bool {
        std::mem::take(&mut self.left_at_work)
    }

    /// The pages that were read of victims that leave their pool; the list comes [back](Self::take_back) for its room.
    #[inline]
    pub(crate) fn take_leaving(&mut self) -> Option<Vec<Stamp>> {
        (!self.leaving.is_empty()).then(|| std::mem::take(&mut self.leaving))
    }

    /// The list of pages that left their pool comes back, empty.
    pub(crate) fn take_back(&mut self, leaving: Vec<Stamp>) {
        self.leaving = leaving;
    }
}
