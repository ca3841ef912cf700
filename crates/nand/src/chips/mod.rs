//! All chips of a device: dies, shared buses, and pages with the tags of the data written.
//!
//! A die executes one [`Command`] at a time. It is granted the channel's bus for the cycles of its chain (see
//! [`chain`](crate::chain)), and its array works in between (TON, TIN or BER). Only cache operations overlap:
//! while the array works on the data register, the bus uses the cache register (see
//! [`Pipeline`](crate::Pipeline)).

mod bus;
mod cell_queries;
mod changed;
mod command;
mod counts;
mod cut;
mod die;
mod die_times;
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
mod suspend;
#[cfg(test)]
mod tests;
mod time_factors;
mod times;

use bus::Bus;
use changed::Changed;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Duration, Instant, Schedule, Seed, state};

use crate::chain::BusPhase;
use crate::clock::Clocks;
use crate::energy::Stage;
use crate::faults::Faults;
use crate::geometry::{ChannelId, DieId, Geometry};
use crate::{CellMode, LatencyModel, Part, Pool, Pools};

pub(crate) use bus::MAX_CONSECUTIVE_LATCHES;
pub use command::{Command, CommandCompletion, Operation};
pub use counts::Counts;
pub use cut::{CutLosses, InFlightFate};
use die::{BackgroundProgram, Die};
pub use die_times::DieTimes;
use modes::Modes;
use pages::Pages;
pub use pages::{DataTag, Violations};
use record::Recorder;
pub use refusal::Refusal;
pub(crate) use refusal::fits;
use suspend::Suspended;
pub use time_factors::TimeFactors;
use times::{Opening, Times};

/// Events of chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The bus is free and a die waits for it.
    BusFree(ChannelId),
    /// The array has finished the operation that the die waited for.
    ArrayDone(DieId),
    /// A page moved between the registers of a die. The cache register is available to the bus.
    RegisterTransferred(DieId),
    /// A bus grant ended, and no array operation follows (data out, or the status of a command).
    GrantEnded(DieId),
    /// The array has finished a cache program, independent of the current step of the die.
    CacheProgramDone(DieId),
    /// The array begins an operation that must be suspended.
    Suspend(DieId),
    /// The array operation is suspended: the die accepts reads.
    ArraySuspended(DieId),
}

const _: () = assert!(size_of::<Event>() <= 8, "an event is copied on every push and pop");

/// The step of the current command; the die waits for the bus for this step, or has the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    /// No command: the die accepts one.
    Idle,
    /// The first phase: command, addresses, and data of a program.
    Opening,
    /// The page moves to the cache register (31, 3F).
    Turn,
    /// Data out.
    DataOut,
    /// The program of a copyback.
    Copy,
    /// Status register read.
    Status,
    /// Suspend of the array operation.
    Suspend,
    /// Resume of the suspended operation.
    Resume,
}

/// How the controller drives its dies, and the source of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// The clock domains.
    pub clocks: Clocks,
    /// Whether the dies of a channel share a chip enable, so that data out and status must address the die.
    pub shared_enable: bool,
    /// Whether the status register is read after every program and erase (NANDFlashSim, equations 2 and 3).
    /// Otherwise the ready/busy pin signals the end, and the status is known at that time.
    pub read_status: bool,
    /// The model of array times.
    pub latency: LatencyModel,
    /// The seed for times that are drawn from ranges of the part.
    pub seed: Seed,
}

impl Default for Wiring {
    /// Times are not rounded, every die has its own chip enable, and the ready/busy pin signals the end of an
    /// operation, as in controllers of whole devices.
    fn default() -> Self {
        Self {
            clocks: Clocks::CONTINUOUS,
            shared_enable: false,
            read_status: false,
            latency: LatencyModel::default(),
            seed: Seed(0),
        }
    }
}

/// All chips of a device.
#[derive(Clone, Debug)]
pub struct Chips {
    pools: Pools,
    wiring: Wiring,
    /// The timing tables of the pools, then of the cell modes. The same tables with changed times follow,
    /// first for unmarked and then for marked dies.
    times: Vec<Times>,
    /// `None` until times are changed.
    changed: Option<Box<Changed>>,
    /// `None` until cell modes other than the native one are enabled.
    modes: Option<Box<Modes>>,
    buses: Column<ChannelId, Bus>,
    dies: Column<DieId, Die>,
    behind: Column<DieId, Option<BackgroundProgram>>,
    suspended: Column<DieId, Option<Suspended>>,
    pages: Pages,
    /// Operation counters of each pool.
    counts: Vec<Counts>,
    serial: u32,
    recorder: Option<Box<Recorder>>,
    faults: Option<Box<Faults>>,
    /// Whether lower pages are backed up before their cells store another page.
    backs_up: bool,
}

// Recorded spans belong to the caller that requested them. The cached time of a partial page is recomputed.
state!(Chips {
    values { buses, dies, behind, suspended, counts, serial }
    parts { pages, faults, modes }
    fixed { pools, wiring, times, changed, recorder, backs_up }
});

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

    /// Changes the model of array times. By default, times vary as in the part file, and ranges are drawn
    /// from seed 0.
    pub fn set_latency(&mut self, model: LatencyModel, seed: Seed) {
        self.wiring = Wiring { latency: model, seed, ..self.wiring };
        self.times = times_of(&self.pools, &self.wiring);
        if self.backs_up {
            self.back_up_lower_pages();
        }
        self.update_mode_times();
    }

    fn with(pools: Pools, wiring: Wiring, pages: Pages) -> Self {
        let dies = pools.dies() as usize;
        let on_channel = pools.iter().map(|pool| pool.geometry.dies_per_channel as usize).sum();
        let on = |die| Die::on(pools.of_die(die).geometry.channel_of(die), pools.number_of(die) as u8);
        Self {
            times: times_of(&pools, &wiring),
            changed: None,
            modes: None,
            buses: Column::filled(pools.channels() as usize, Bus::new(on_channel)),
            dies: Column::from_fn(dies, on),
            behind: Column::filled(dies, None),
            suspended: Column::filled(dies, None),
            counts: vec![Counts::default(); pools.count()],
            serial: 0,
            recorder: None,
            faults: None,
            backs_up: false,
            pages,
            pools,
            wiring,
        }
    }

    /// The pool of a die.
    #[inline]
    fn pool_of(&self, die: DieId) -> &Pool {
        self.pools.get(usize::from(self.dies[die].pool))
    }

    /// Whether `die` accepts a command (RDY in ONFI).
    #[inline]
    pub fn is_idle(&self, die: DieId) -> bool {
        self.dies[die].step == Step::Idle
    }

    /// Whether the array of `die` works on a cache program or a cache read (not ARDY). Then the die accepts
    /// only commands that continue the sequence.
    #[inline]
    pub fn is_array_busy(&self, die: DieId, now: Instant) -> bool {
        self.dies[die].pipeline.array_ready_at > now
    }

    /// The data registers of `die`, to be filled before a program.
    #[inline]
    pub fn registers(&mut self, die: DieId) -> &mut [DataTag] {
        self.pages.registers(die)
    }

    /// Whether `die` accepts `operation` at `now`. While an operation is suspended the die accepts reads, and
    /// programs if the suspended operation is an erase. Otherwise the die must be ready (RDY) and its array
    /// idle (ARDY). There are two exceptions: a program, because the cache register takes its data meanwhile,
    /// and the continuation of a sequence of cache reads.
    #[inline]
    pub fn takes(&self, die: DieId, operation: Operation, now: Instant) -> bool {
        self.is_idle(die)
            && (operation == Operation::Read || self.accepts_while_suspended(die, operation))
            && (operation.can_follow_cache_operation(self.pool_of(die).part.geometry.one_shot)
                || !self.is_array_busy(die, now))
    }

    /// Sets the read reference voltages of `die` to set `level` (0: the data sheet) from its next command on.
    /// Each sense takes `setting` longer, the time to set the voltages.
    pub fn set_read_level(&mut self, die: DieId, level: u8, setting: Duration) {
        let work = &mut self.dies[die];
        (work.level, work.setting) = (level, setting);
    }

    /// The set of read reference voltages of `die`.
    pub fn read_level(&self, die: DieId) -> u8 {
        self.dies[die].level
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
        let goes_on = matches!(command.operation, Operation::ReadCache { first: false, .. });
        let goes_behind =
            || command.operation.can_follow_cache_operation(self.pool_of(die).part.geometry.one_shot);
        let may = !self.is_array_busy(die, calendar.now()) || goes_behind();
        assert!(may, "die {die:?} takes only what goes on with a cache operation while its array works");
        let work = &mut self.dies[die];
        assert!(work.step == Step::Idle, "die {die:?} takes one command at a time");
        let may = !work.suspended || self.accepts_while_suspended(die, command.operation);
        assert!(may, "die {die:?} takes reads, and programs amid an erase, while something is suspended");
        let work = &mut self.dies[die];
        work.begin(command, Step::Opening, self.serial, calendar.now());
        self.serial = self.serial.wrapping_add(1);
        if self.modes.is_some() || self.changed.is_some() {
            self.choose_times(die);
        }
        if goes_on {
            self.start_sensed(die, calendar);
        } else if self.can_take_bus(die, calendar) {
            self.open(die, calendar);
        } else {
            self.queue_for_bus(die, calendar);
        }
    }

    /// Handles `event`; returns the completion if it ends a command.
    #[inline]
    pub fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) -> Option<CommandCompletion> {
        match event {
            Event::BusFree(channel) => {
                self.grant_next(channel, calendar);
                None
            }
            Event::ArrayDone(die) => self.array_done(die, calendar),
            Event::RegisterTransferred(die) => {
                self.register_transferred(die, calendar);
                None
            }
            Event::GrantEnded(die) => self.grant_ended(die, calendar),
            Event::CacheProgramDone(die) => self.cache_program_done(die),
            Event::Suspend(die) => {
                self.suspend_now(die, calendar);
                None
            }
            Event::ArraySuspended(die) => {
                self.park_suspended(die);
                None
            }
        }
    }

    #[inline]
    fn array_done(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) -> Option<CommandCompletion> {
        let Die { command, step, overtaken, .. } = self.dies[die];
        if overtaken > 0 && self.is_obsolete_end(die, calendar.now()) {
            return None;
        }
        if step == Step::Suspend {
            let Die { channel, hold_until, .. } = self.dies[die];
            if hold_until > calendar.now() {
                // The suspend was too late, but is still being latched.
                calendar.at(hold_until, Event::ArrayDone(die));
                return None;
            }
            self.buses[channel].forget(die);
        }
        let next = match command.operation {
            Operation::Read => {
                self.sensed(die, calendar);
                return None;
            }
            Operation::ReadCache { .. } => Step::Turn,
            Operation::Copyback { .. } if step == Step::Opening => Step::Copy,
            // The command completes once its status is known.
            _ if self.wiring.read_status => Step::Status,
            _ => return Some(self.finish(die)),
        };
        self.request_step(die, next, calendar);
        None
    }

    #[inline]
    fn grant_ended(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) -> Option<CommandCompletion> {
        let channel = self.dies[die].channel;
        if self.buses[channel].hands_on() {
            calendar.next(Event::BusFree(channel));
        }
        if self.dies[die].command.operation != Operation::ProgramCache {
            return Some(self.finish(die));
        }
        let work = &mut self.dies[die];
        work.step = Step::Idle;
        let behind = self.behind[die].as_mut().expect("a cache program works behind its status");
        *behind = BackgroundProgram { over: behind.over, ..BackgroundProgram::of(work) };
        if behind.over { Some(self.finish_cache_program(die)) } else { None }
    }

    /// Requests the bus to transfer data out.
    #[inline(never)]
    fn sensed(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let work = &mut self.dies[die];
        (work.step, work.asked) = (Step::DataOut, calendar.now());
        if self.can_take_bus(die, calendar) {
            self.move_out(die, calendar);
        } else {
            self.queue_for_bus(die, calendar);
        }
    }

    /// Requests the bus for the next step.
    #[inline]
    fn request_step(&mut self, die: DieId, step: Step, calendar: &mut impl Schedule<Event>) {
        let work = &mut self.dies[die];
        work.step = step;
        work.asked = calendar.now();
        self.request_bus(die, calendar);
    }

    /// Grants the bus to the die for its next stages.
    #[inline(always)]
    pub(super) fn grant_bus(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        match self.dies[die].step {
            Step::Opening => self.open(die, calendar),
            Step::DataOut => self.move_out(die, calendar),
            _ => self.grant_step(die, calendar),
        }
    }

    /// Latches a command, with the data of a program; then the array works.
    #[inline(always)]
    fn open(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let Self { buses, dies, times, .. } = self;
        let work = &mut dies[die];
        let bus = &mut buses[work.channel];
        let times = &times[usize::from(work.times)];
        let late = times.late(bus, now);
        let Opening { hold, array } = times.opening(work.kind, work.command.planes);
        // Precomputed times apply to the parameters of the data sheet.
        let known = array.filter(|_| work.command.parameters == 0);
        let end = work.hold(bus, now, hold, late);
        if self.recorder.is_some() {
            self.record_phase(die, now);
        }
        match known {
            Some((stage, time)) => {
                let work = &self.dies[die];
                let time = if stage == Stage::Ton { time + work.setting } else { time };
                self.run_array(die, self.wiring.clocks.nand.edge(end), time, stage, calendar);
            }
            None => self.work_array(die, end, calendar),
        }
    }

    /// Transfers data out, which completes the command.
    #[inline(always)]
    fn move_out(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let Self { buses, dies, times, .. } = self;
        let work = &mut dies[die];
        let bus = &mut buses[work.channel];
        let times = &mut times[usize::from(work.times)];
        // The command addresses the die if several share a chip enable, and each plane if there are several:
        // it latches like any other command.
        let latches = times.shared_enable || work.command.planes > 1;
        let late = if latches { times.late(bus, now) } else { Duration::ZERO };
        let turnaround = times.turnaround;
        let end = work.hold(bus, now, times.cached_data_out(&work.command), late);
        bus.end_data_out(die, end, turnaround);
        if self.recorder.is_some() {
            self.record_phase(die, now);
        }
        calendar.at(end, Event::GrantEnded(die));
    }

    /// Starts the array operation that follows the grant ending at `end`, if its time is not precomputed.
    #[inline(never)]
    fn work_array(&mut self, die: DieId, end: Instant, calendar: &mut impl Schedule<Event>) {
        let begin = self.wiring.clocks.nand.edge(end);
        let work = &self.dies[die];
        let Command { operation, page, planes, .. } = work.command;
        let geometry = &self.pool_of(die).geometry;
        let times = &self.times[usize::from(work.times)];
        let (time, stage) = match (work.step, operation) {
            (Step::Opening, Operation::Read) => (times.sense(geometry, page, planes), Stage::Ton),
            (Step::Opening, Operation::Program) => (times.write(geometry, page, planes), Stage::Tin),
            (Step::Opening, Operation::Erase) => (times.erase(), Stage::Ber),
            _ => return self.start_array_step(die, begin, calendar),
        };
        let setting = if stage == Stage::Ton { work.setting } else { Duration::ZERO };
        let time = if self.modes.is_some() { self.query(die, (stage, page), time, begin) } else { time };
        let time = self.times[usize::from(self.dies[die].times)].array_time(stage, time);
        self.run_array(die, begin, time + setting, stage, calendar);
    }

    /// Runs the array for `time` from `begin` on, while the die waits for it.
    #[inline(always)]
    fn run_array(
        &mut self,
        die: DieId,
        begin: Instant,
        time: Duration,
        stage: Stage,
        calendar: &mut impl Schedule<Event>,
    ) {
        let work = &mut self.dies[die];
        let working = work.pipeline.run(begin, time);
        work.array += time;
        work.works(working.end, stage, time);
        let suspend_soon = work.suspend_soon;
        if self.recorder.is_some() {
            self.record_array(die, stage, working.begin, time);
        }
        calendar.at(working.end, Event::ArrayDone(die));
        if suspend_soon {
            calendar.at(working.begin, Event::Suspend(die));
        }
    }

    #[inline]
    fn finish(&mut self, die: DieId) -> CommandCompletion {
        let work = &mut self.dies[die];
        work.step = Step::Idle;
        let Die { command, bus, bus_wait, array, pool, level, .. } = *work;
        let failed_planes = match command.operation {
            Operation::Read if self.faults.is_none() => {
                self.counts[usize::from(pool)].read(command.planes);
                0
            }
            _ => self.effect(die, &command),
        };
        CommandCompletion {
            die,
            command,
            bus,
            bus_wait,
            array,
            failed: failed_planes != 0,
            failed_planes,
            level,
        }
    }

    /// Applies a finished command to the pages. Returns the planes in which it failed.
    #[inline(never)]
    fn effect(&mut self, die: DieId, command: &Command) -> u16 {
        let Command { operation, planes, .. } = *command;
        let pool = usize::from(self.dies[die].pool);
        let mut word_line = 0;
        match operation {
            Operation::Read | Operation::ReadCache { .. } => {
                self.counts[pool].read(planes);
            }
            Operation::Program | Operation::ProgramCache | Operation::Copyback { .. } => {
                word_line = self.pages_per_program(die, command);
                let counts = &mut self.counts[pool];
                counts.program_commands += 1;
                counts.pages_programmed += u64::from(planes * word_line);
            }
            Operation::Erase => self.counts[pool].block_sets_erased += 1,
        }
        if self.faults.is_some()
            && let Some(failed) = self.apply_fault(die, command)
        {
            return failed;
        }
        if self.modes.is_some() {
            return self.apply_in_mode(die, command, word_line);
        }
        self.pages.apply(die, command, word_line)
    }
}

/// The timing table of each pool.
fn times_of(pools: &Pools, wiring: &Wiring) -> Vec<Times> {
    let native = |pool: &Pool| Times::of(&pool.part, &pool.geometry, wiring, CellMode::Native);
    pools.iter().map(native).collect()
}

/// The bus phase of a step of a command.
#[inline]
fn phase_of(geometry: &Geometry, step: Step, command: &Command) -> BusPhase {
    match step {
        Step::Opening => Operation::OPENINGS[command.operation.kind()],
        Step::Turn => turn_phase(geometry, command),
        Step::Copy => BusPhase::CopybackProgram,
        Step::Status => BusPhase::Status,
        Step::Suspend if command.operation == Operation::Erase => BusPhase::SuspendErase,
        Step::Suspend => BusPhase::SuspendProgram,
        Step::Resume if command.operation == Operation::Erase => BusPhase::ResumeErase,
        Step::Resume => BusPhase::ResumeProgram,
        Step::DataOut => BusPhase::DataOut,
        Step::Idle => unreachable!("an idle die does not want the bus"),
    }
}

/// The bus phase that moves the sensed page to the cache register. Command 31 has no address, so the next
/// page must follow in the block; otherwise 00-31 addresses it.
fn turn_phase(geometry: &Geometry, command: &Command) -> BusPhase {
    let Operation::ReadCache { next, .. } = command.operation else {
        unreachable!("only cache reads turn pages over")
    };
    match next {
        None => BusPhase::CacheReadEnd,
        Some(next) if geometry.follows(command.page, next) => BusPhase::CacheReadSequential,
        Some(_) => BusPhase::CacheReadRandom,
    }
}
