//! All chips of a device: dies, shared buses, and pages with the tags of the data written.
//!
//! A die executes one [`Command`] at a time. It is granted the channel's bus for the cycles of its chain (see
//! [`chain`](crate::chain)), and its array works in between (TON, TIN or BER). Only cache operations overlap:
//! while the array works on the data register, the bus uses the cache register (see
//! [`Pipeline`](crate::Pipeline)).

mod bus;
mod cell_queries;
mod cells;
mod changed;
mod check;
mod command;
mod counts;
mod cut;
mod die;
mod die_times;
mod event;
mod grant;
mod injected;
mod loaded;
mod modes;
mod pages;
mod partial;
mod record;
mod refusal;
mod report;
mod reprogram;
mod sequence;
mod sequencer;
mod state;
mod step;
mod suspend;
mod suspended;
mod tables;
#[cfg(test)]
mod tests;
mod time_factors;
mod times;
mod wiring;

use wordline_kernel::{Duration, Instant, Schedule, Seed};

use crate::faults::{Fault, Faults};
use crate::geometry::{BlockSetId, DieId, Geometry};
use crate::physics::{Parameters, Physics};
use crate::{CellMode, LatencyModel, Part, Pools, Span};

pub(crate) use bus::MAX_CONSECUTIVE_LATCHES;
use cells::Cells;
pub(crate) use check::fits;
pub use command::{Command, CommandCompletion, Operation};
pub use counts::Counts;
pub use cut::{CutLosses, InFlightFate};
pub use die_times::DieTimes;
pub use event::Event;
use pages::Pages;
pub use pages::{DataTag, Violations};
use partial::PartialPrograms;
pub use refusal::Refusal;
use sequencer::Sequencer;
use tables::Tables;
pub use time_factors::TimeFactors;
pub use wiring::Wiring;

/// All chips of a device: what their cells store, and how their dies and buses spend time.
#[derive(Clone, Debug)]
pub struct Chips {
    cells: Cells,
    sequencer: Sequencer,
}

impl Chips {
    /// Erased chips of a device. Every location holds a data tag, and programming out of order panics.
    pub fn new(pools: Pools) -> Self {
        let pages = Pages::with_data_tags(&pools);
        Self::with(pools, Wiring::default(), pages)
    }

    /// Chips without contents: commands that exceed a limit of the part are executed, fail and are counted.
    pub fn counting(part: Part, geometry: Geometry, wiring: Wiring) -> Self {
        let pools = Pools::of_pages(part, geometry);
        let pages = Pages::counted(&pools);
        Self::with(pools, wiring, pages)
    }

    fn with(pools: Pools, wiring: Wiring, pages: Pages) -> Self {
        let sequencer = Sequencer::new(&pools, Tables::new(&pools, wiring));
        Self { cells: Cells::new(pools, pages), sequencer }
    }

    /// Changes the model of array times. By default, times vary as in the part file, and ranges are drawn
    /// from seed 0.
    pub fn set_latency(&mut self, model: LatencyModel, seed: Seed) {
        self.sequencer.tables.set_latency(model, seed, &self.cells.pools);
        self.update_times();
    }

    /// Computes the timing tables of the enabled modes.
    fn update_times(&mut self) {
        self.sequencer.tables.update(&self.cells.pools, self.cells.modes.as_deref());
    }

    /// Enables `mode` for blocks from now on. Returns false if no pool's part supports it.
    pub fn enable_mode(&mut self, mode: CellMode) -> bool {
        let mode = mode.of_block();
        if mode == CellMode::Native {
            return true;
        }
        if !self.cells.enable_mode(mode) {
            return false;
        }
        self.update_times();
        true
    }

    /// Sets the mode of an erased block for its programs, reads and next erase; the mode must be enabled.
    pub fn set_mode(&mut self, block: BlockSetId, mode: CellMode) {
        self.cells.set_mode(block, mode);
    }

    /// Enables partial page programs from now on, each page as often as its part allows. A program skips
    /// locations that are [erased](DataTag::ERASED) in the registers. Returns false if no part allows
    /// more than one program of a page.
    pub fn enable_partial_programs(&mut self) -> bool {
        let stands = self.cells.pools.iter().any(|pool| pool.part.programs_per_page() > 1);
        if stands && !self.cells.has_partial_programs() {
            let partly = PartialPrograms::of(&self.cells.pools);
            self.cells.with_modes().partly = Some(partly);
        }
        stands
    }

    /// Enables backups of lower pages. Before a page is programmed into cells that already store another
    /// page, that other page is copied to an SLC backup block. The copy takes its time; a power cut then
    /// destroys only the interrupted page. The backup blocks and their wear are not part of the geometry. A
    /// reprogram reads the word line in any case, so its backup takes no time.
    pub fn back_up_lower_pages(&mut self) {
        self.cells.backs_up |= self.sequencer.tables.back_up_lower_pages(&self.cells.pools)
            || self.cells.pools.iter().any(|pool| pool.part.has_mode(CellMode::Mlc));
    }

    /// Uses `physics` as the cell model for the times and outcomes of array operations from now on.
    pub fn set_physics(&mut self, physics: Box<dyn Physics>) {
        self.cells.asks().set_physics(physics);
        self.update_times();
        if self.cells.cells_determine_uncorrectable() && self.cells.faults.is_none() {
            // The ends of reads are checked only if there is a set of fault rules.
            self.cells.faults = Some(Box::new(Faults::new(&[], &self.cells.pools, Seed(0))));
        }
    }

    /// Stores `parameters` as set `number`, from 1 on, for commands that begin from now on.
    pub fn set_parameters(&mut self, number: u16, parameters: Parameters) {
        assert!(number > 0, "set 0 is that of the data sheet");
        let is_first = self.cells.asked().is_none();
        self.cells.asks().asked.set(number, parameters);
        if is_first {
            self.update_times();
        }
    }

    /// Injects faults by `rules` from now on. Without rules no checks are made.
    pub fn inject(&mut self, rules: &[Fault], seed: Seed) {
        self.cells.faults = (!rules.is_empty() || self.cells.cells_determine_uncorrectable())
            .then(|| Box::new(Faults::new(rules, &self.cells.pools, seed)));
    }

    /// Scales the times of all dies by these factors, from the next command of each die on.
    pub fn change_times(&mut self, factors: &TimeFactors) {
        self.sequencer.tables.change(factors, self.sequencer.dies.len());
    }

    /// Marks or unmarks a die, from its next command on.
    pub fn mark(&mut self, die: DieId, marked: bool) {
        self.sequencer.tables.mark(die, marked);
    }

    /// Whether times were [changed](Self::change_times), so that marks have an effect.
    #[inline]
    pub fn has_marks(&self) -> bool {
        self.sequencer.tables.are_changed()
    }

    /// Records every stage from now on.
    pub fn record(&mut self) {
        self.sequencer.recorder = Some(Box::default());
    }

    /// Stops recording and drops the recorded spans.
    pub fn stop_recording(&mut self) {
        self.sequencer.recorder = None;
    }

    /// Takes the recorded stages, ordered by their begin, each with its whole length. A sense ahead is included
    /// once the command that transfers its page has started.
    pub fn take_spans(&mut self) -> Vec<Span> {
        self.take_ended_spans(Instant::MAX)
    }

    /// Takes the recorded stages that have ended at `now`, ordered by their begin. Other stages are kept until
    /// they end, because a suspend can still shorten them.
    pub fn take_ended_spans(&mut self, now: Instant) -> Vec<Span> {
        self.sequencer.recorder.as_mut().map_or_else(Vec::new, |recorder| recorder.take_spans(now))
    }

    /// Ends all recorded stages at `now`.
    pub fn cut_spans(&mut self, now: Instant) {
        self.sequencer.recorder.iter_mut().for_each(|recorder| recorder.cut(now));
    }

    /// Whether `die` accepts a command (RDY in ONFI).
    #[inline]
    pub fn is_idle(&self, die: DieId) -> bool {
        self.sequencer.is_idle(die)
    }

    /// Whether the array of `die` works on a cache program or a cache read (not ARDY). Then the die accepts
    /// only commands that continue the sequence.
    #[inline]
    pub fn is_array_busy(&self, die: DieId, now: Instant) -> bool {
        self.sequencer.is_array_busy(die, now)
    }

    /// The data registers of `die`, to be filled before a program.
    #[inline]
    pub fn registers(&mut self, die: DieId) -> &mut [DataTag] {
        self.cells.pages.registers(die)
    }

    /// Whether `die` accepts `operation` at `now`. While an operation is suspended the die accepts reads, and
    /// programs if the suspended operation is an erase. Otherwise the die must be ready (RDY) and its array
    /// idle (ARDY). There are two exceptions: a program, because the cache register takes its data meanwhile,
    /// and the continuation of a sequence of cache reads.
    #[inline]
    pub fn takes(&self, die: DieId, operation: Operation, now: Instant) -> bool {
        self.sequencer.takes(die, operation, now, &self.cells)
    }

    /// Sets the read reference voltages of `die` to set `level` (0: the data sheet) from its next command on.
    /// Each sense takes `setting` longer, the time to set the voltages.
    pub fn set_read_level(&mut self, die: DieId, level: u8, setting: Duration) {
        let work = &mut self.sequencer.dies[die];
        (work.level, work.setting) = (level, setting);
    }

    /// Begins a command that the die accepts, for a controller that tracks the state of its dies itself.
    /// Other controllers use [`Self::start`], which checks the command; builds with debug assertions check
    /// here too.
    #[inline(always)]
    pub fn begin(&mut self, die: DieId, command: Command, calendar: &mut impl Schedule<Event>) {
        // Several reads of one page share its sensing, and each transfers its own bytes.
        let checked = || match self.check(die, &command, calendar.now()) {
            Err(Refusal::Bytes { .. }) => Ok(()),
            checked => checked,
        };
        debug_assert_eq!(checked(), Ok(()));
        self.sequencer.begin(die, command, &mut self.cells, calendar);
    }

    /// Handles `event`; returns the completion if it ends a command.
    #[inline]
    pub fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) -> Option<CommandCompletion> {
        self.sequencer.handle(event, &mut self.cells, calendar)
    }

    /// Whether `die` executes a program, a copyback or an erase that can be suspended. A cache program cannot be
    /// suspended, and only one operation at a time can. The operation must not end before the suspend would
    /// take effect.
    pub fn can_suspend(&self, die: DieId, now: Instant) -> bool {
        self.sequencer.can_suspend(die, now)
    }

    /// Suspends the program or erase of `die` as soon as its array works and the bus is free for the command. A
    /// copyback is suspended in its program. [`Event::ArraySuspended`] reports that the die accepts reads. If the suspend is too late, this event
    /// does not occur, and the command completes normally.
    ///
    /// Panics unless [`can_suspend`](Self::can_suspend).
    pub fn suspend(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.sequencer.suspend(die, &mut self.cells, calendar);
    }

    /// Whether a program or erase of `die` is suspended. Until it is resumed, the die accepts only reads and,
    /// during a suspended erase, programs.
    #[inline]
    pub fn is_suspended(&self, die: DieId) -> bool {
        self.sequencer.is_suspended(die)
    }

    /// Number of suspends of the current or suspended program or erase of `die`.
    pub fn suspends(&self, die: DieId) -> u32 {
        self.sequencer.suspends(die)
    }

    /// Requests the bus to resume the suspended operation. Panics unless `die` is idle and
    /// [`is_suspended`](Self::is_suspended).
    pub fn resume(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.sequencer.resume(die, &mut self.cells, calendar);
    }

    /// Cuts the power at `now`: every die becomes idle. The caller must drop the events that the chips have
    /// scheduled.
    ///
    /// * A command whose data or addresses are still on the bus has no effect.
    /// * An interrupted program makes its program unit and the earlier pages of the same word line
    ///   [unreadable](DataTag::UNREADABLE).
    /// * An interrupted erase makes all pages of the block unreadable, and counts as an erase for wear.
    pub fn cut_power(&mut self, now: Instant, at_cut: InFlightFate) -> CutLosses {
        self.cut_spans(now);
        self.sequencer.cut(now, at_cut, &mut self.cells)
    }
}
