//! All chips of a device: dies that work, buses that are shared, pages that remember what was written.
//!
//! A die carries out one [`Command`] at a time: it holds the channel's bus for the cycles of its chain (see
//! [`chain`](crate::chain)) and its array works in between (TON, TIN or BER). Only cache operations overlap: while the array works
//! from the data register, the bus has the cache register (see [`Pipeline`]).

mod bus;
mod command;
mod pages;
mod record;
mod report;
#[cfg(test)]
mod tests;
mod times;

use wordline_kernel::{Bytes, Column, Duration, Instant, Schedule, Seed};

use crate::chain::{BusTimes, Hold};
use crate::clock::Clocks;
use crate::energy::{Stage, StageTimes};
use crate::geometry::{ChannelId, DieId, Geometry, PageId};
use crate::{LatencyModel, Part, Pipeline, Span};

use bus::Bus;
pub use command::{Command, Done, Operation};
use pages::Pages;
pub use pages::{Stamp, Violations};
use record::Recorder;
use times::Times;

/// What happens in chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The bus is free and somebody waits for it.
    BusFree(ChannelId),
    /// The array has finished, and the die had nothing else to do.
    ArrayDone(DieId),
    /// A page moved between the registers of a die: the bus has its cache register again.
    Turned(DieId),
    /// A die let go of the bus, and its array has nothing to do with it.
    HoldOver(DieId),
    /// The array has finished a cache program, whatever the die does by now.
    Behind(DieId),
}

const _: () = assert!(size_of::<Event>() <= 8, "an event is copied on every push and pop");

/// What a die wants the bus for, or holds it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing: it takes a command.
    Idle,
    /// Command, addresses, and data of a program.
    Opening,
    /// The page goes to the cache register (31, 3F).
    Turn,
    /// Data out.
    DataOut,
    /// The second half of a copyback.
    Copy,
    /// The status register.
    Status,
}

/// What a die is doing.
#[derive(Clone, Copy, Debug)]
struct Work {
    command: Command,
    step: Step,
    serial: u32,
    asked: Instant,
    /// What the present hold of the bus takes.
    hold: BusTimes,
    bus: Duration,
    bus_wait: Duration,
    array: Duration,
    /// The array's part that is not counted yet.
    working: Duration,
    /// Time that the stage counters have of this command.
    counted: Duration,
}

/// A cache program whose array work goes on while the die takes the next command.
#[derive(Clone, Copy, Debug)]
struct Behind {
    work: Work,
    /// The array has finished while the status was read.
    over: bool,
}

/// How the dies of a controller are driven, and where their times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// The clock domains.
    pub clocks: Clocks,
    /// Whether the dies of a channel share a chip enable, so that data out and status have to name the die.
    pub shared_enable: bool,
    /// Whether the status register is read after every program and erase (NANDFlashSim, equations 2 and 3); else
    /// the ready/busy pin tells the end, and the outcome with it.
    pub read_status: bool,
    /// Where the array's times come from.
    pub latency: LatencyModel,
    /// What ranges of the part are drawn from.
    pub seed: Seed,
}

impl Default for Wiring {
    /// No rounding, a chip enable for every die, the ready/busy pin: what controllers of whole devices do.
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

/// Stage times by kind of operation.
type ByKind = [StageTimes; Operation::KINDS];

/// All chips of a device.
#[derive(Clone, Debug)]
pub struct Chips {
    part: Part,
    geometry: Geometry,
    wiring: Wiring,
    times: Times,
    buses: Column<ChannelId, Bus>,
    work: Column<DieId, Work>,
    pipelines: Column<DieId, Pipeline>,
    behind: Column<DieId, Option<Behind>>,
    array_busy: Column<DieId, u64>,
    pages: Pages,
    stages: Column<DieId, ByKind>,
    /// Time in which a die was on the bus while its array worked, in picoseconds.
    overlap: Column<DieId, u64>,
    counts: Counts,
    serial: u32,
    recorder: Option<Box<Recorder>>,
}

/// What the chips did, in pages and row blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Read commands.
    pub read_commands: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Program commands.
    pub program_commands: u64,
    /// Pages programmed.
    pub pages_programmed: u64,
    /// Blocks erased, those of a row together counted once.
    pub row_blocks_erased: u64,
}

impl Chips {
    /// Chips of a device with nothing written. Every page carries a stamp, and programming out of order is a bug.
    pub fn new(part: Part, geometry: Geometry) -> Self {
        let pages = Pages::stamped(&part, geometry);
        Self::with(part, geometry, Wiring::default(), pages)
    }

    /// Chips without contents: commands that break a limit of the part are carried out, fail and are counted.
    pub fn counting(part: Part, geometry: Geometry, wiring: Wiring) -> Self {
        let pages = Pages::counted(&part, geometry);
        Self::with(part, geometry, wiring, pages)
    }

    /// Changes where array times come from. Without it, times vary as the part says, and its ranges are drawn from
    /// seed 0.
    pub fn set_latency(&mut self, model: LatencyModel, seed: Seed) {
        self.wiring = Wiring { latency: model, seed, ..self.wiring };
        self.times = Times::of(&self.part, &self.geometry, &self.wiring);
    }

    fn with(part: Part, geometry: Geometry, wiring: Wiring, pages: Pages) -> Self {
        let dies = geometry.dies() as usize;
        let nothing = Command { operation: Operation::Erase, page: PageId(0), planes: 1, bytes: Bytes(0) };
        Self {
            times: Times::of(&part, &geometry, &wiring),
            buses: Column::filled(geometry.channels as usize, Bus::new(geometry.dies_per_channel as usize)),
            work: Column::filled(dies, Work::new(nothing, Step::Idle, 0, Instant::ZERO)),
            pipelines: Column::filled(dies, Pipeline::default()),
            behind: Column::filled(dies, None),
            array_busy: Column::filled(dies, 0),
            stages: Column::filled(dies, ByKind::default()),
            overlap: Column::filled(dies, 0),
            counts: Counts::default(),
            serial: 0,
            recorder: None,
            pages,
            part,
            geometry,
            wiring,
        }
    }

    /// Whether `die` can take a command: RDY in ONFI's words.
    #[inline]
    pub fn is_idle(&self, die: DieId) -> bool {
        self.work[die].step == Step::Idle
    }

    /// Whether the array of `die` works behind a cache program or a cache read: not ARDY. Then it takes only
    /// what goes on with the sequence.
    #[inline]
    pub fn works_behind(&self, die: DieId, now: Instant) -> bool {
        self.pipelines[die].array_ready_at > now
    }

    /// The data registers of `die`, to be filled before a program.
    #[inline]
    pub fn registers(&mut self, die: DieId) -> &mut [Stamp] {
        self.pages.registers(die)
    }

    /// Whether `die` takes `operation` now: it has to be ready (RDY), and its array has to rest (ARDY) but for a
    /// program, whose data the cache register takes meanwhile, and for what goes on with a sequence of cache reads.
    #[inline]
    pub fn takes(&self, die: DieId, operation: Operation, now: Instant) -> bool {
        self.is_idle(die) && (operation.goes_behind() || !self.works_behind(die, now))
    }

    /// Starts a command on an idle die.
    pub fn start(&mut self, die: DieId, command: Command, calendar: &mut impl Schedule<Event>) {
        let work = &mut self.work[die];
        assert!(work.step == Step::Idle, "die {die:?} takes one command at a time");
        let step = match command.operation {
            Operation::ReadCache { first: false, .. } => Step::Turn,
            _ => Step::Opening,
        };
        let working = work.working;
        *work = Work::new(command, step, self.serial, calendar.now());
        if step == Step::Turn {
            // Its pages are sensed already, or being sensed, since the command before.
            work.working = working;
            self.claim_ahead(die);
        } else {
            let may = command.operation.goes_behind() || !self.works_behind(die, calendar.now());
            assert!(may, "die {die:?} takes only programs behind a cache program");
        }
        self.serial = self.serial.wrapping_add(1);
        self.ask_for_bus(die, calendar);
    }

    /// Lets time go on to `event`; `Some` when that ends a command.
    #[inline]
    pub fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) -> Option<Done> {
        match event {
            Event::BusFree(channel) => {
                let next = self.buses[channel].next().expect("the bus was woken for somebody");
                self.hold_bus(next, channel, calendar);
                let bus = &self.buses[channel];
                if bus.is_wanted() {
                    calendar.at(bus.busy_until, Event::BusFree(channel));
                }
                None
            }
            Event::ArrayDone(die) => self.array_done(die, calendar),
            Event::Turned(die) => self.turned(die, calendar),
            Event::HoldOver(die) => self.hold_over(die),
            Event::Behind(die) => self.behind_done(die),
        }
    }

    fn array_done(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) -> Option<Done> {
        self.count_hold(die);
        let Work { command, step, .. } = self.work[die];
        match (command.operation, step) {
            (Operation::Copyback { .. }, Step::Copy) => {
                self.count_array(die, Stage::Tin);
                self.after_status(die, calendar)
            }
            (Operation::Program | Operation::ProgramCache | Operation::Erase, _) => {
                self.count_array(die, command.operation.stage());
                self.after_status(die, calendar)
            }
            (Operation::Read | Operation::ReadCache { .. } | Operation::Copyback { .. }, _) => {
                let next = match command.operation {
                    Operation::Read => Step::DataOut,
                    Operation::ReadCache { .. } => Step::Turn,
                    _ => Step::Copy,
                };
                if next != Step::Turn {
                    self.count_array(die, Stage::Ton);
                }
                self.go_on(die, next, calendar);
                None
            }
        }
    }

    /// The end of what changed the array, once its status is known.
    #[inline]
    fn after_status(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) -> Option<Done> {
        if self.wiring.read_status {
            self.go_on(die, Step::Status, calendar);
            return None;
        }
        Some(self.finish(die))
    }

    /// The cache register is the bus's again.
    fn turned(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) -> Option<Done> {
        self.count_hold(die);
        let Work { command, .. } = self.work[die];
        if let Operation::ReadCache { next, .. } = command.operation {
            self.count_array(die, Stage::Ton);
            if let Some(next) = next {
                // The array senses for the next command of the sequence by now.
                self.work[die].working = self.times.sense(&self.geometry, next, command.planes);
            }
            self.go_on(die, Step::DataOut, calendar);
            return None;
        }
        self.behind[die] = Some(Behind { work: self.work[die], over: false });
        self.work[die].counted = Duration::ZERO;
        if self.wiring.read_status {
            self.go_on(die, Step::Status, calendar);
        } else {
            self.rest(die);
        }
        None
    }

    fn hold_over(&mut self, die: DieId) -> Option<Done> {
        self.count_hold(die);
        let work = self.work[die];
        if work.command.operation != Operation::ProgramCache {
            return Some(self.finish(die));
        }
        self.rest(die);
        let behind = self.behind[die].as_mut().expect("a cache program works behind its status");
        let counted = behind.work.counted + work.counted;
        behind.work = Work { working: behind.work.working, counted, ..work };
        if behind.over { Some(self.finish_behind(die)) } else { None }
    }

    fn behind_done(&mut self, die: DieId) -> Option<Done> {
        let reads_status = self.work[die].step == Step::Status
            && self.behind[die].as_ref().is_some_and(|behind| behind.work.serial == self.work[die].serial);
        let behind = self.behind[die].as_mut().expect("a cache program was behind");
        if reads_status {
            behind.over = true;
            return None;
        }
        Some(self.finish_behind(die))
    }

    fn finish_behind(&mut self, die: DieId) -> Done {
        let Behind { work, .. } = self.behind[die].take().expect("a cache program was behind");
        self.add_array(die, work.command.operation.kind(), Stage::Tin, work.working);
        let array = work.array + work.working;
        self.effect(die, &Work { array, ..work })
    }

    /// Wants the bus for the next step.
    #[inline]
    fn go_on(&mut self, die: DieId, step: Step, calendar: &mut impl Schedule<Event>) {
        let work = &mut self.work[die];
        work.step = step;
        work.asked = calendar.now();
        self.ask_for_bus(die, calendar);
    }

    /// The die takes the next command.
    #[inline]
    fn rest(&mut self, die: DieId) {
        let work = &mut self.work[die];
        work.step = Step::Idle;
        work.counted = Duration::ZERO;
    }

    #[inline]
    fn ask_for_bus(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let channel = self.geometry.channel_of(die);
        let free = self.wiring.clocks.host.edge(calendar.now());
        let bus = &mut self.buses[channel];
        let wanted = bus.is_wanted();
        let is_free = bus.busy_until <= calendar.now() && free == calendar.now();
        if is_free && !wanted && calendar.is_settled() {
            self.hold_bus(die, channel, calendar);
            return;
        }
        let Work { step, command, .. } = self.work[die];
        let moves_data = matches!(command.operation, Operation::Program | Operation::ProgramCache)
            && step == Step::Opening;
        bus.want(die, !moves_data && step != Step::DataOut, calendar.now());
        if !wanted {
            calendar.at(bus.busy_until.max(free), Event::BusFree(channel));
        }
    }

    /// The die gets the bus for its next stages.
    #[inline]
    fn hold_bus(&mut self, die: DieId, channel: ChannelId, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let Work { command, step, asked, .. } = self.work[die];
        let hold = match step {
            Step::DataOut => self.times.data_out(&self.part, &command),
            _ => *self.times.hold(self.hold_of(step, &command), command.planes),
        };
        let time = hold.total();
        self.buses[channel].hold(now, time, now - asked);
        let behind = self.pipelines[die].array_ready_at;
        if behind > now {
            self.overlap[die] += (behind.min(now + time) - now).ps();
        }
        if self.recorder.is_some() {
            self.record_hold(die, step, now);
        }
        let work = &mut self.work[die];
        work.bus += time;
        work.bus_wait += now - asked;
        work.hold = hold;
        self.after_hold(die, now + time, calendar);
    }

    /// Which cycles a step consists of.
    #[inline]
    fn hold_of(&self, step: Step, command: &Command) -> Hold {
        match step {
            Step::Opening => command.operation.opening(),
            Step::Turn => self.turn_of(command),
            Step::Copy => Hold::CopybackProgram,
            Step::Status => Hold::Status,
            Step::DataOut => Hold::DataOut,
            Step::Idle => unreachable!("an idle die does not want the bus"),
        }
    }

    /// 31 names no page, so that the next one has to follow in the block; else 00-31 names it.
    fn turn_of(&self, command: &Command) -> Hold {
        let Operation::ReadCache { next, .. } = command.operation else {
            unreachable!("only cache reads turn pages over")
        };
        match next {
            None => Hold::End,
            Some(next) if self.geometry.follows(command.page, next) => Hold::NextSequential,
            Some(_) => Hold::NextRandom,
        }
    }

    /// What follows the hold that ends at `end`.
    #[inline]
    fn after_hold(&mut self, die: DieId, end: Instant, calendar: &mut impl Schedule<Event>) {
        let Work { command, step, .. } = self.work[die];
        let time = match (step, command.operation) {
            (Step::DataOut | Step::Status | Step::Idle, _) => {
                calendar.at(end, Event::HoldOver(die));
                return;
            }
            (Step::Turn, Operation::ReadCache { next, .. }) => {
                next.map(|next| self.times.sense(&self.geometry, next, command.planes))
            }
            (Step::Copy, Operation::Copyback { to }) => {
                Some(self.times.write(&self.geometry, to, command.planes))
            }
            _ => Some(self.array_time(&command)),
        };
        let begin = self.wiring.clocks.nand.edge(end);
        let pipeline = &mut self.pipelines[die];
        let turn = self.times.turn;
        match (step, command.operation, time) {
            (Step::Turn, _, None) => {
                let ready = pipeline.turn(begin, turn);
                calendar.at(ready, Event::Turned(die));
            }
            (Step::Turn, _, Some(time)) => {
                let working = pipeline.turn_and_run(begin, turn, time);
                calendar.at(working.begin, Event::Turned(die));
                let Operation::ReadCache { next: Some(next), .. } = command.operation else {
                    unreachable!("a page is sensed ahead where one follows")
                };
                self.record_ahead(die, next, working.begin, time);
            }
            (_, Operation::ProgramCache, Some(time)) => {
                let working = pipeline.turn_and_run(begin, turn, time);
                self.work[die].working = time;
                calendar.at(working.begin, Event::Turned(die));
                calendar.at(working.end, Event::Behind(die));
                self.record_array(die, Stage::Tin, working.begin, time);
            }
            (_, operation, Some(time)) => {
                let working = pipeline.run(begin, time);
                self.work[die].working = time;
                calendar.at(working.end, Event::ArrayDone(die));
                let stage = if step == Step::Copy { Stage::Tin } else { operation.stage() };
                self.record_array(die, stage, working.begin, time);
            }
            (_, _, None) => unreachable!("only the end of a cache read leaves the array at rest"),
        }
    }

    #[inline]
    fn array_time(&self, command: &Command) -> Duration {
        match command.operation {
            Operation::Read | Operation::ReadCache { .. } | Operation::Copyback { .. } => {
                self.times.sense(&self.geometry, command.page, command.planes)
            }
            Operation::Program | Operation::ProgramCache => {
                self.times.write(&self.geometry, command.page, command.planes)
            }
            Operation::Erase => self.times.erase(),
        }
    }

    /// Counts the hold of the bus that is over.
    #[inline]
    fn count_hold(&mut self, die: DieId) {
        let work = &mut self.work[die];
        let hold = std::mem::take(&mut work.hold);
        work.counted += hold.total();
        self.stages[die][work.command.operation.kind()].add_bus(&hold);
    }

    /// Counts the array's work that is over.
    #[inline]
    fn count_array(&mut self, die: DieId, stage: Stage) {
        let work = &mut self.work[die];
        let time = std::mem::take(&mut work.working);
        work.array += time;
        work.counted += time;
        let kind = work.command.operation.kind();
        self.add_array(die, kind, stage, time);
    }

    #[inline]
    fn add_array(&mut self, die: DieId, kind: usize, stage: Stage, time: Duration) {
        self.stages[die][kind].add(stage, time);
        self.array_busy[die] += time.ps();
    }

    #[inline]
    fn finish(&mut self, die: DieId) -> Done {
        self.rest(die);
        let work = self.work[die];
        self.effect(die, &work)
    }

    /// What a command has done to the pages.
    #[inline]
    fn effect(&mut self, die: DieId, work: &Work) -> Done {
        let Work { command, bus, bus_wait, array, .. } = *work;
        let planes = u64::from(command.planes);
        match command.operation {
            Operation::Read | Operation::ReadCache { .. } => {
                self.counts.read_commands += 1;
                self.counts.pages_read += planes;
            }
            Operation::Program | Operation::ProgramCache | Operation::Copyback { .. } => {
                self.counts.program_commands += 1;
                self.counts.pages_programmed += planes * u64::from(self.part.pages_per_program());
            }
            Operation::Erase => self.counts.row_blocks_erased += 1,
        }
        let failed = !self.pages.apply(die, &command);
        Done { die, command, bus, bus_wait, array, failed }
    }
}

impl Work {
    fn new(command: Command, step: Step, serial: u32, asked: Instant) -> Self {
        let none = Duration::ZERO;
        Self {
            command,
            step,
            serial,
            asked,
            hold: BusTimes::default(),
            bus: none,
            bus_wait: none,
            array: none,
            working: none,
            counted: none,
        }
    }
}
