//! Flash: the chips, the queues of their dies, scheduling, decoders, read retries, and injected failures.
//!
//! An engine that needs a die queues a [`Task`] with a [`Ticket`] and a [`Class`], and [starts](Flash::start)
//! the die, or leaves that to the [end of the event](Flash::start_at_end_of_event). When a command has ended, its
//! tasks are returned one by one, each with its [`Outcome`]. `Flash` knows only locations. It has no L2P map, no buffer and no garbage collection; the kinds of tickets and of die
//! work are names for what its users do.
//!
//! A value that a comment marks as *chosen* has no published source. The comment gives the reason for it.

mod decoder;
pub mod faults;
mod history;
mod levels;
mod outcome;
mod payloads;
pub mod policy;
mod power_cut;
mod queue;
pub mod read_retry;
pub mod scheduling;
mod service;
mod setup;
mod task;
mod ticket;
mod times;
mod untimed;

use serde::{Deserialize, Serialize};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Duration, Factor, Instant, Schedule, Seed, counters, state};
use wordline_nand::cell::PooledArrays;
use wordline_nand::{
    BlockSetId, CellMode, Chips, CutLosses, DataTag, DieId, InFlightFate, LatencyModel, Location, Operation,
    PageId, Parameters, Span, TimeFactors,
};

pub use decoder::DecoderId;
pub use history::{Behind, DieCommand, DieWork, Recording, TaskWait, Tracks, WORKS, WorkTimes};
pub use outcome::Outcome;
pub use power_cut::ProgramsAtCut;
pub use setup::Setup;
pub use task::{Task, TaskId};
pub use ticket::{Class, Purpose, RequestId, Ticket};
pub use times::{FLASH_COMPONENTS, FlashComponent, FlashTime};

use crate::faults::PoolFaults;
use crate::policy::tuner::Tuner;
use crate::read_retry::ReadRetryFile;
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
    /// A decoder has finished the data of a read.
    Decoded(DecoderId),
}

counters! {
    /// Counts of the flash since its creation.
    pub struct Counts {
        read_retries: "faults.read_retries", Count, "Read retries, because pages could not be read.";
        deadline_promotions: "flash.deadline_promotions", Count, "Aged commands that a die took before others, by the age limit `ftl.scheduling.age_limit`.";
    }
    beside {
        /// Failure counts of each pool.
        faults: PoolFaults;
    }
}

/// The chips of a device, and the queues of their dies.
pub struct Flash {
    chips: Chips,
    queues: Queues,
    payloads: Payloads,
    /// `None` if every page reads alike at all levels.
    levels: Option<Box<ReadLevels>>,
    retry: ReadRetryFile,
    /// `None` if decoding takes no time.
    decoders: Option<Box<Decoders>>,
    /// Most suspends of one program or erase.
    max_suspends: u32,
    counts: Counts,
    /// Time that finished commands spent on the bus and in the array, in picoseconds.
    served_ps: u128,
    /// State while the clock is stopped; `None` while it runs.
    at_once: Option<Box<Untimed>>,
    /// Locations programmed while the clock was stopped.
    laid: u64,
    /// Whether the tuner is queried for the parameters of programs and erases.
    tunes: bool,
    /// `None` without tail attribution and recording.
    history: Option<Box<History>>,
    /// Dies to start at the end of the event in progress.
    to_start: Vec<DieId>,
}

state!(Flash {
    values { payloads, counts, served_ps, laid }
    parts { chips, queues, decoders }
    fixed { levels, retry, max_suspends, at_once, tunes, history, to_start }
});

impl Flash {
    /// Empty flash.
    pub fn new(setup: &Setup<'_>, seed: Seed) -> Self {
        let Setup { pools, faults, read_retry, scheduling, backs_up_lower_pages } = *setup;
        let mut chips = Chips::new(pools.clone());
        chips.set_latency(LatencyModel::default(), seed);
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
            tunes: false,
            history: None,
            to_start: Vec::new(),
        }
    }

    /// Lets blocks be opened in a cell mode. Returns false if no part has the mode.
    pub fn enable_mode(&mut self, mode: CellMode) -> bool {
        self.chips.enable_mode(mode)
    }

    /// Sets whether the tuner is queried for the parameters of each program and erase.
    pub fn tune(&mut self, asked: bool) {
        self.tunes = asked;
        if asked {
            // The number of parameter sets is fixed from the beginning.
            self.chips.set_parameters(1, Parameters::DATA_SHEET);
        }
    }

    /// Multiplies the times of the chips and of decoding by these factors, from the next commands on.
    pub fn change_times(&mut self, chips: &TimeFactors, decoding: Factor) {
        self.chips.change_times(chips);
        self.decoders.iter_mut().for_each(|decoders| decoders.change_times(decoding));
    }

    /// Lets the word lines of a block be programmed in any order.
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
    #[inline]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Time that commands spent on the bus and in the array until `now`, in picoseconds. Commands in progress
    /// count up to `now`.
    pub fn served_ps(&self, now: Duration) -> u128 {
        self.served_ps + self.chips.unfinished_ps(now)
    }

    /// Records the recent commands of each die from now on, for tail attribution.
    pub fn keep_history(&mut self) {
        self.history = Some(Box::new(History::new(self.chips.pools().dies())));
    }

    /// Starts or stops recording all commands of the dies and their stages.
    pub fn record(&mut self, on: bool) {
        let dies = self.chips.pools().dies();
        self.history.get_or_insert_with(|| Box::new(History::new(dies))).record(on);
        if on { self.chips.record() } else { self.chips.stop_recording() }
    }

    /// Takes the recorded commands and stages that have ended at `now`, each with the channel of its die. If
    /// the recording ends, stages in progress end at `now`.
    pub fn take_recorded(&mut self, now: Instant, ends: bool) -> Recording {
        let commands = self.history.as_mut().map(|history| history.take_recorded());
        if ends {
            self.chips.cut_spans(now);
        }
        let spans = self.chips.take_ended_spans(now);
        let pools = self.chips.pools();
        let on_channel = |span: Span| (span, pools.of_die(span.die).geometry.channel_of(span.die).0);
        Recording {
            commands: commands.unwrap_or_default(),
            stages: spans.into_iter().map(on_channel).collect(),
            tracks: Tracks { channels: pools.channels(), dies: pools.dies() },
        }
    }

    /// Time of all dies at each kind of work since recent commands are recorded, for commands that have
    /// ended.
    #[inline]
    pub fn worked(&self) -> WorkTimes {
        self.history.as_ref().map_or_else(WorkTimes::default, |history| *history.done())
    }

    /// The commands for which an ended task waited; `None` if recent commands are not recorded.
    pub fn behind(&self, waited: &TaskWait) -> Option<Behind> {
        self.history.as_ref().map(|history| history.behind(waited, self.chips.pools()))
    }

    /// Whether decoding takes time, so that reads must name their [sectors](Task::sectors).
    #[inline]
    pub fn decodes(&self) -> bool {
        self.decoders.is_some()
    }

    /// Whether the tuner is queried for the read levels of pages.
    #[inline]
    pub fn needs_tuner(&self) -> bool {
        self.levels.is_some()
    }

    /// Number of sets of read reference voltages in addition to the nominal set.
    pub fn read_levels(&self) -> u8 {
        self.retry.levels
    }

    /// Queues a read of a page for its die. The caller sets its size and the data that it must find.
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

    /// Queues the program of `count` locations, beginning at `first`. The returned data tags are padding,
    /// which the caller replaces.
    #[inline]
    pub fn program(
        &mut self,
        now: Instant,
        by: (Ticket, Class),
        first: Location,
        count: u32,
    ) -> (DieId, &mut [DataTag]) {
        self.reprogram(now, by, (first, count), 0)
    }

    /// Queues the program of a page of a word line that is reprogrammed for the `times`-th time; 0 for an
    /// ordinary program. The rest is as in [`program`](Self::program).
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

    /// Queues a copyback of the program unit at `from` to the unit at `to` in the same planes.
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

    /// Queues the relocation of a location within its planes. The map determines both locations.
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
    #[inline]
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

    /// Whether GC goes before reads that may delay its erases.
    #[inline]
    pub fn gc_passes_reads(&self) -> bool {
        self.queues.gc_passes_reads()
    }

    /// Gives the reads of a block the priority of GC, because its erase waits for them.
    pub fn prioritize_readers(&mut self, block: BlockSetId) {
        let Self { queues, chips, .. } = self;
        let pools = chips.pools();
        queues.raise_to_gc(pools.die_of_block(block), |read| pools.block_of_page(read.page) == block);
    }

    /// Whether a task other than GC is in progress on a die or waits for it.
    #[inline]
    pub fn serves_host(&self, die: DieId) -> bool {
        self.queues.serves_host(die)
    }

    /// Whether a die is idle and no task waits for it.
    #[inline]
    pub fn is_idle(&self, die: DieId) -> bool {
        self.chips.is_idle(die) && !self.queues.has_work(die)
    }

    /// Waiting tasks of `die` by rank: name of the rank, number of tasks, and the first task.
    pub fn waiting(&self, die: DieId) -> Vec<(&'static str, usize, &Task)> {
        self.queues.waiting(die)
    }

    /// Number of tasks in progress on a die or waiting for it. Each call counts them.
    #[inline]
    pub fn queue_length(&self, die: DieId) -> u32 {
        self.queues.length(die)
    }

    /// Number of tasks that wait or are in progress.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.queues.outstanding()
    }

    /// Programs a page in no simulated time, before the run.
    #[inline]
    pub fn put(&mut self, location: Location, stamp: DataTag) {
        self.chips.put(location, stamp);
    }

    /// Erases a block in no simulated time and without wear, before the run.
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

    /// Leaves locations of an open block unprogrammed, because their cells share a word line with an
    /// interrupted program.
    pub fn skip(&mut self, block: BlockSetId, locations: u32) {
        self.chips.skip(block, locations);
    }

    /// Marks a programmed location as corrupted, because the data copied to it could not be read.
    pub fn corrupt(&mut self, location: Location) {
        self.chips.corrupt(location);
    }

    /// Prefetches the data tag of a location.
    #[inline]
    pub fn prefetch(&self, location: Location) {
        self.chips.prefetch(location);
    }

    /// Cuts the power at `now`. Calls `f` for each task that waits or is in progress, while the chips are in
    /// the state that a recovery will find. Then drops all tasks.
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

    /// Lengths of the lists that follow from the configuration.
    pub fn shape(&self) -> [usize; 3] {
        let decoders = self.decoders.as_ref().map_or(0, |decoders| decoders.count());
        [self.queues.shape(), self.payloads.size(), decoders]
    }

    /// Checks a loaded state. Every task must wait in at most one list and name an existing location. At
    /// `now` the chips must work where their queues have a task in progress.
    pub fn check_loaded(&self, now: Instant) -> Result<(), String> {
        self.chips.check_loaded(now)?;
        let mut decoded = Vec::new();
        self.decoders.iter().for_each(|decoders| decoders.each(|first| decoded.push(first)));
        self.queues.check_loaded(&self.chips, now, &self.payloads, &decoded)
    }

    /// First locations of the programs that have not ended, in a checked state.
    pub fn programs(&self) -> impl Iterator<Item = Location> {
        self.queues.programs()
    }

    /// Checks that the loaded pending events are those that the dies wait for.
    pub fn check_pending(&self, events: impl Iterator<Item = Event>) -> Result<(), String> {
        self.chips.check_pending(events.filter_map(|event| match event {
            Event::Chips(event) => Some(event),
            Event::Decoded(_) => None,
        }))
    }

    /// Checks that a loaded event refers to something that exists.
    pub fn check_event(&self, event: Event) -> Result<(), String> {
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
            Event::Decoded(id) => (id.0, self.shape()[2] as u32),
        };
        ensure(number < end, || format!("{event:?} of something that does not exist"))
    }

    /// Checks that the time in stages, from which energy is computed, equals the time of the commands.
    pub fn audit(&self, elapsed: Duration) {
        let stages = self.chips.stages(elapsed);
        let all = u128::from(elapsed.ps()) * u128::from(self.chips.pools().dies());
        let once =
            stages.active_ps() + stages.ps(wordline_nand::Stage::Idle) - self.chips.overlap_ps(elapsed);
        assert_eq!(once, all, "each die is in one stage at a time, but while a suspend is latched");
        assert_eq!(stages.active_ps(), self.served_ps(elapsed), "the time in stages is that of the commands");
        let mut arrays = self.chips.array_busy(Instant::ZERO + elapsed);
        assert!(arrays.all(|busy| busy <= elapsed.ps()), "an array is busy for at most the time");
    }
}
