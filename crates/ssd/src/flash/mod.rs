//! Flash: the chips, the queues of their dies, and read retries.
//!
//! An engine that needs a die queues a [`Task`] with a [`Ticket`] and a [`Class`], and [starts](Flash::start)
//! the die. When a command has ended, its tasks are returned one by one, each with its [`Outcome`]. `Flash`
//! knows locations and not their meaning: it has no map, no buffer and no garbage collection.

mod decoder;
mod history;
mod levels;
mod outcome;
mod payloads;
mod queue;
mod service;
mod setup;
mod task;
mod ticket;
mod untimed;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, Schedule, Seed, counters, state};
use wordline_nand::cell::PooledArrays;
use wordline_nand::{
    BlockSetId, CellMode, Chips, CutLosses, DataTag, DieId, InFlightFate, Location, Operation, PageId,
    Parameters, Span,
};

pub use decoder::DecoderId;
pub(crate) use history::WORKS;
pub use history::{Behind, DieCommand, DieWork, TaskWait, WorkTimes};
pub use outcome::Outcome;
pub use setup::Setup;
pub use task::{Task, TaskId};
pub use ticket::{Class, Purpose, Ticket};

use crate::Config;
use crate::config::ReadRetryFile;
use crate::ensure::ensure;
use crate::factors::TimeFactors;
use crate::faults::PoolFaults;
use crate::policy::tuner::Tuner;
use crate::timeline::{Recorded, Tracks};
use decoder::Decoders;
use history::History;
use levels::ReadLevels;
use payloads::Payloads;
use queue::Queues;
use untimed::Untimed;

/// Events of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An event of the chips.
    Chips(wordline_nand::Event),
    /// A die is ready for a read retry.
    Retry(TaskId),
    /// A decoder has finished the data of a read.
    Decoded(DecoderId),
}

counters! {
    /// Counts of the flash since it was made.
    pub struct Counts {
        read_retries: "faults.read_retries", Count, "Read retries, because pages could not be read.";
        deadline_promotions: "flash.deadline_promotions", Count, "Aged commands that a die took before others, by the age limit `ftl.scheduling.age_limit`.";
    }
    beside {
        /// The same for each pool.
        faults: PoolFaults;
    }
}

/// The chips of a device, and the queues of their dies.
pub struct Flash {
    chips: Chips,
    queues: Queues,
    payloads: Payloads,
    /// None if every page reads alike with all read levels.
    levels: Option<Box<ReadLevels>>,
    retry: ReadRetryFile,
    /// None if decoding takes no time.
    decoders: Option<Box<Decoders>>,
    /// Most suspensions of one program or erase.
    max_suspends: u32,
    counts: Counts,
    /// Time that finished commands spent on the bus and in the array, in picoseconds.
    served_ps: u128,
    /// State while the clock is stopped; none while it runs.
    at_once: Option<Box<Untimed>>,
    /// Locations programmed while the clock was stopped.
    laid: u64,
    /// Whether the tuner is queried for the parameters of programs.
    tunes_programs: bool,
    /// None without tail attribution or recording.
    history: Option<Box<History>>,
}

state!(Flash {
    values { payloads, counts, served_ps, laid }
    parts { chips, queues, decoders }
    fixed { levels, retry, max_suspends, at_once, tunes_programs, history }
});

impl Flash {
    /// The empty flash of a device with an FTL.
    pub fn new(config: &Config, seed: Seed) -> Self {
        Self::of(&Setup::from(config), seed)
    }

    /// The empty flash of any device.
    pub fn of(setup: &Setup<'_>, seed: Seed) -> Self {
        let Setup { pools, faults, read_retry, scheduling, backs_up_lower_pages } = *setup;
        let mut chips = Chips::new(pools.clone());
        if let Some(cells) = PooledArrays::of(pools, seed) {
            chips.set_physics(Box::new(cells));
        }
        chips.inject(faults, seed);
        if backs_up_lower_pages {
            chips.back_up_lower_pages();
        }
        let unit = pools.all_groups().map(|row| pools.per_program(row)).max().unwrap_or(1);
        Self {
            chips,
            queues: Queues::new(pools.dies(), scheduling),
            payloads: Payloads::new(unit),
            levels: ReadLevels::of(setup),
            retry: ReadRetryFile { levels: setup.read_levels(), ..read_retry.clone() },
            decoders: Decoders::of(setup),
            max_suspends: scheduling.max_suspends,
            counts: Counts::default(),
            served_ps: 0,
            at_once: None,
            laid: 0,
            tunes_programs: false,
            history: None,
        }
    }

    /// Allows blocks to be opened in a cell mode; false if no part has it.
    pub fn enable_mode(&mut self, mode: CellMode) -> bool {
        self.chips.enable_mode(mode)
    }

    /// Whether the tuner is queried for the parameters of each program from now on.
    pub(crate) fn tune_programs(&mut self, asked: bool) {
        self.tunes_programs = asked;
        if asked {
            // Sets of parameters exist from the beginning, or never.
            self.chips.set_parameters(1, Parameters::DATA_SHEET);
        }
    }

    /// Scales the times of chips and decoders by these factors, from the next commands on.
    pub(crate) fn change_times(&mut self, factors: &TimeFactors) {
        self.chips.change_times(&factors.of_chips());
        self.decoders.iter_mut().for_each(|decoders| decoders.change_times(factors.controller));
    }

    /// Allows the word lines of a block to be programmed in any order.
    pub fn program_in_any_order(&mut self) {
        self.chips.program_in_any_order();
    }

    /// The chips.
    #[inline]
    pub fn chips(&self) -> &Chips {
        &self.chips
    }

    /// The data tag at a location.
    #[inline]
    pub fn stamp(&self, location: Location) -> DataTag {
        self.chips.stamp(location)
    }

    /// Counts of the flash.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Time that commands spent on the bus and in the array until `now`, in picoseconds, including the time
    /// so far of commands in progress.
    pub fn served_ps(&self, now: Duration) -> u128 {
        self.served_ps + self.chips.unfinished_ps(now)
    }

    /// Keeps the recent commands of each die from now on, for tail attribution.
    pub(crate) fn keep_history(&mut self) {
        self.history = Some(Box::new(History::new(self.chips.pools().dies())));
    }

    /// Starts or stops recording every command of the dies and its stages.
    pub(crate) fn record(&mut self, on: bool) {
        let dies = self.chips.pools().dies();
        self.history.get_or_insert_with(|| Box::new(History::new(dies))).record(on);
        if on { self.chips.record() } else { self.chips.stop_recording() }
    }

    /// The commands and stages recorded so far, each with the channel of its die.
    pub(crate) fn take_recorded(&mut self) -> Recorded {
        let commands = self.history.as_mut().map(|history| history.take_recorded());
        let spans = self.chips.take_spans();
        let pools = self.chips.pools();
        let on_channel = |span: Span| (span, pools.of_die(span.die).geometry.channel_of(span.die).0);
        Recorded {
            commands: commands.unwrap_or_default(),
            stages: spans.into_iter().map(on_channel).collect(),
            devices: vec![Tracks { channels: pools.channels(), dies: pools.dies() }],
            ..Recorded::default()
        }
    }

    /// Time of all dies by work since their commands are kept, of commands that have ended.
    pub(crate) fn worked(&self) -> WorkTimes {
        self.history.as_ref().map_or_else(WorkTimes::default, |history| *history.done())
    }

    /// The commands behind which an ended task waited.
    pub(crate) fn behind(&self, waited: &TaskWait) -> Option<Behind> {
        self.history.as_ref().map(|history| history.behind(waited, self.chips.pools()))
    }

    /// Whether the tuner is queried for the read levels of pages.
    pub fn needs_tuner(&self) -> bool {
        self.levels.is_some()
    }

    /// Queues a read of a page for its die; the caller sets its size and the data that it must find.
    #[inline]
    pub fn read(
        &mut self,
        die: DieId,
        now: Instant,
        (ticket, class): (Ticket, Class),
        page: PageId,
    ) -> &mut Task {
        let task = self.queues.push(die, now, ticket, class);
        task.page = page;
        task
    }

    /// Queues the program of a unit of `count` locations from `first` on. The returned data tags are padding,
    /// which the caller replaces.
    pub fn program(
        &mut self,
        now: Instant,
        by: (Ticket, Class),
        first: Location,
        count: u32,
    ) -> (DieId, &mut [DataTag]) {
        self.reprogram(now, by, (first, count), 0)
    }

    /// The same for a page of a word line that is reprogrammed for the `times`-th time; 0 for an ordinary
    /// program.
    #[inline]
    pub fn reprogram(
        &mut self,
        now: Instant,
        by: (Ticket, Class),
        (first, count): (Location, u32),
        times: u8,
    ) -> (DieId, &mut [DataTag]) {
        let (die, page) = self.chips.pools().die_and_page_of(first);
        let payload = self.payloads.take();
        let task = self.queues.push(die, now, by.0, by.1);
        (task.operation, task.page, task.location) = (Operation::Program, page, first);
        (task.locations, task.payload, task.again) = (count, payload, times);
        let stamps = self.payloads.get_mut(payload, count);
        stamps.fill(DataTag::PADDING);
        (die, stamps)
    }

    /// Queues a copyback of the program unit at `from` to the one at `to`, in the same planes.
    pub fn copyback(
        &mut self,
        now: Instant,
        (ticket, class): (Ticket, Class),
        from: Location,
        to: Location,
    ) -> DieId {
        let pools = self.chips.pools();
        let ((die, page), to_page) = (pools.die_and_page_of(from), pools.page_of(to));
        let task = self.queues.push(die, now, ticket, class);
        (task.operation, task.page, task.location) = (Operation::Copyback { to: to_page }, page, to);
        die
    }

    /// Queues the relocation of a location within its planes; both ends come from a map.
    #[inline]
    pub fn relocate_inside(
        &mut self,
        now: Instant,
        by: (Ticket, Class),
        from: Location,
        to: Location,
    ) -> DieId {
        self.copyback(now, by, from, to)
    }

    /// Queues the erase of a multi-plane block.
    pub fn erase(&mut self, now: Instant, (ticket, class): (Ticket, Class), block: BlockSetId) -> DieId {
        let geometry = &self.chips.pools().of_block(block).geometry;
        let (die, page) = (geometry.die_of(block), geometry.page(block, 0));
        let task = self.queues.push(die, now, ticket, class);
        (task.operation, task.page) = (Operation::Erase, page);
        die
    }

    /// Promotes background reads with these tickets to host reads.
    #[inline]
    pub fn promote(&mut self, tickets: &[Ticket], tuner: &dyn Tuner, calendar: &mut impl Schedule<Event>) {
        if self.queues.has_background() {
            self.promote_those(|read| tickets.contains(&read.ticket), tuner, calendar);
        }
    }

    /// Promotes all background reads to host reads.
    #[inline]
    pub fn promote_all(&mut self, tuner: &dyn Tuner, calendar: &mut impl Schedule<Event>) {
        if self.queues.has_background() {
            self.promote_those(|_| true, tuner, calendar);
        }
    }

    /// Whether there are background reads.
    #[inline]
    pub fn has_background(&self) -> bool {
        self.queues.has_background()
    }

    #[inline(never)]
    fn promote_those(
        &mut self,
        wanted: impl Fn(&Task) -> bool,
        tuner: &dyn Tuner,
        calendar: &mut impl Schedule<Event>,
    ) {
        let mut n = 0;
        while let Some(die) = self.queues.die_with_background(n) {
            if self.queues.promote(die, &wanted) {
                self.start(die, tuner, calendar);
            }
            n += usize::from(self.queues.die_with_background(n) == Some(die));
        }
    }

    /// Whether GC goes before reads for which its erases may wait.
    #[inline]
    pub fn gc_passes_reads(&self) -> bool {
        self.queues.gc_passes_reads()
    }

    /// The erase of a block waits for its readers: they get the priority of GC.
    pub fn prioritize_readers(&mut self, block: BlockSetId) {
        let Self { queues, chips, .. } = self;
        let pools = chips.pools();
        queues.raise_to_gc(pools.die_of_block(block), |read| pools.block_of_page(read.page) == block);
    }

    /// Whether a die works on anything but GC, or such a task waits for it.
    pub fn serves_host(&self, die: DieId) -> bool {
        self.queues.serves_host(die)
    }

    /// Whether a die is idle and no task waits for it.
    pub fn is_idle(&self, die: DieId) -> bool {
        self.chips.is_idle(die) && !self.queues.has_work(die)
    }

    /// The tasks that wait for `die`, by rank: name, number, and the first one.
    pub fn waiting(&self, die: DieId) -> Vec<(&'static str, usize, &Task)> {
        self.queues.waiting(die)
    }

    /// Tasks at a die or waiting for it, counted one by one.
    pub fn queue_length(&self, die: DieId) -> u32 {
        self.queues.length(die)
    }

    /// Tasks waiting or in progress.
    pub fn outstanding(&self) -> usize {
        self.queues.outstanding()
    }

    /// Programs a page in no time, before the run.
    #[inline]
    pub fn put(&mut self, location: Location, stamp: DataTag) {
        self.chips.put(location, stamp);
    }

    /// Erases a block in no time and without wear, before the run.
    pub fn wipe(&mut self, block: BlockSetId) {
        let erases = self.chips.erases()[block];
        self.chips.wipe(block);
        self.chips.set_erases(block, erases);
        self.chips.set_mode(block, CellMode::Native);
    }

    /// Sets the cell mode of an erased block.
    pub fn set_mode(&mut self, block: BlockSetId, mode: CellMode) {
        self.chips.set_mode(block, mode);
    }

    /// Leaves locations of an open block unprogrammed, because their cells share a word line with torn pages.
    pub fn skip(&mut self, block: BlockSetId, locations: u32) {
        self.chips.skip(block, locations);
    }

    /// Marks a programmed location as corrupted: the data copied to it could not be read.
    pub(crate) fn corrupt(&mut self, location: Location) {
        self.chips.corrupt(location);
    }

    /// Prefetches the data tag of a location.
    #[inline]
    pub fn prefetch(&self, location: Location) {
        self.chips.prefetch(location);
    }

    /// Cuts the power at `now`. Calls `f` for each task that waited or was in progress, with the chips in the
    /// state in which they will be found; then drops all tasks.
    pub fn cut_power(
        &mut self,
        now: Instant,
        at_cut: InFlightFate,
        mut f: impl FnMut(&Task, &Chips),
    ) -> CutLosses {
        self.served_ps += self.chips.unfinished_ps(now - Instant::ZERO);
        let torn = self.chips.cut_power(now, at_cut);
        let Self { queues, chips, payloads, decoders, .. } = self;
        for die in chips.pools().all_dies() {
            queues.each(die, |task| f(task, chips));
        }
        decoders
            .iter()
            .for_each(|decoders| decoders.each(|first| queues.each_of(first, |task| f(task, chips))));
        decoders.iter_mut().for_each(|decoders| decoders.forget());
        queues.forget();
        payloads.forget();
        self.history.iter_mut().for_each(|history| history.forget());
        torn
    }

    /// Lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 3] {
        let decoders = self.decoders.as_ref().map_or(0, |decoders| decoders.count());
        [self.queues.shape(), self.payloads.size(), decoders]
    }

    /// Checks a loaded state: every task waits in at most one list, and concerns an existing location. At
    /// `now` the chips work where their queues say so.
    pub(crate) fn check_loaded(&self, now: Instant) -> Result<(), String> {
        self.chips.check_loaded(now)?;
        let mut decoded = Vec::new();
        self.decoders.iter().for_each(|decoders| decoders.each(|first| decoded.push(first)));
        self.queues.check_loaded(&self.chips, now, &self.payloads, &decoded)
    }

    /// Checks that the loaded pending events are the ones that the dies wait for.
    pub(crate) fn check_pending(&self, events: impl Iterator<Item = Event>) -> Result<(), String> {
        self.chips.check_pending(events.filter_map(|event| match event {
            Event::Chips(event) => Some(event),
            Event::Retry(_) | Event::Decoded(_) => None,
        }))
    }

    /// Checks that a loaded event concerns something that exists.
    pub(crate) fn check_event(&self, event: Event) -> Result<(), String> {
        use wordline_nand::Event as Chip;
        let (number, end) = match event {
            Event::Chips(Chip::BusFree(channel)) => (channel.0, self.chips.pools().channels()),
            Event::Chips(
                Chip::ArrayDone(die)
                | Chip::RegisterTransferred(die)
                | Chip::GrantEnded(die)
                | Chip::CacheProgramDone(die)
                | Chip::Suspend(die)
                | Chip::ArraySuspended(die),
            ) => (die.0, self.chips.pools().dies()),
            Event::Retry(id) => (id.0, self.queues.places() as u32),
            Event::Decoded(id) => (id.0, self.shape()[2] as u32),
        };
        ensure(number < end, || format!("{event:?} of something that is not there"))
    }

    /// Checks that the time in stages, which is priced, equals the time of the commands.
    pub fn audit(&self, elapsed: Duration) {
        let stages = self.chips.stages(elapsed);
        let all = u128::from(elapsed.ps()) * u128::from(self.chips.pools().dies());
        let once =
            stages.active_ps() + stages.ps(wordline_nand::Stage::Idle) - self.chips.overlap_ps(elapsed);
        assert_eq!(once, all, "each die is in one stage at a time, but while a suspend is latched");
        assert_eq!(stages.active_ps(), self.served_ps(elapsed), "the time in stages is that of the commands");
    }
}
