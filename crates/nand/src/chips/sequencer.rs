//! The state machine of dies and buses: the steps of commands, and when each ends. What a command does to the
//! cells is [theirs](Cells).

use wordline_kernel::{Column, Duration, Instant, Schedule};

use super::bus::Bus;
use super::cells::Cells;
use super::command::{Command, CommandCompletion, Operation};
use super::cut::{CutLosses, InFlightFate};
use super::die::{BackgroundProgram, Die, Picoseconds};
use super::event::Event;
use super::record::Recorder;
use super::step::Step;
use super::suspended::Suspended;
use super::tables::Tables;
use super::times::{Opening, PhaseTimes};
use crate::Pools;
use crate::energy::Stage;
use crate::geometry::{ChannelId, DieId, PageId};

/// The dies and buses of all chips, and their times.
#[derive(Clone, Debug)]
pub(super) struct Sequencer {
    pub(super) tables: Tables,
    pub(super) buses: Column<ChannelId, Bus>,
    pub(super) dies: Column<DieId, Die>,
    pub(super) behind: Column<DieId, Option<BackgroundProgram>>,
    pub(super) suspended: Column<DieId, Option<Suspended>>,
    pub(super) serial: u32,
    pub(super) recorder: Option<Box<Recorder>>,
}

impl Sequencer {
    /// Idle dies and buses.
    pub(super) fn new(pools: &Pools, tables: Tables) -> Self {
        let dies = pools.dies() as usize;
        let on = |die| Die::on(pools.of_die(die).geometry.channel_of(die), pools.number_of(die) as u8);
        Self {
            tables,
            buses: Column::filled(pools.channels() as usize, Bus::new(dies_on_channel(pools))),
            dies: Column::from_fn(dies, on),
            behind: Column::filled(dies, None),
            suspended: Column::filled(dies, None),
            serial: 0,
            recorder: None,
        }
    }

    #[inline]
    pub(super) fn is_idle(&self, die: DieId) -> bool {
        self.dies[die].step == Step::Idle
    }

    #[inline]
    pub(super) fn is_array_busy(&self, die: DieId, now: Instant) -> bool {
        self.dies[die].pipeline.array_ready_at > now
    }

    /// Whether `die` accepts `operation` at `now`.
    #[inline]
    pub(super) fn takes(&self, die: DieId, operation: Operation, now: Instant, cells: &Cells) -> bool {
        let one_shot = || cells.pool_of(&self.dies[die]).part.geometry.one_shot;
        self.is_idle(die)
            && (operation == Operation::Read || self.accepts_while_suspended(die, operation))
            && (operation.can_follow_cache_operation(one_shot()) || !self.is_array_busy(die, now))
    }

    /// Begins a command that the die accepts.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        die: DieId,
        command: Command,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let goes_on = matches!(command.operation, Operation::ReadCache { first: false, .. });
        let one_shot = || cells.pool_of(&self.dies[die]).part.geometry.one_shot;
        let goes_behind = || command.operation.can_follow_cache_operation(one_shot());
        let may = !self.is_array_busy(die, calendar.now()) || goes_behind();
        assert!(may, "die {die:?} takes only what goes on with a cache operation while its array works");
        let work = &mut self.dies[die];
        assert!(work.step == Step::Idle, "die {die:?} takes one command at a time");
        let may = !work.suspended || self.accepts_while_suspended(die, command.operation);
        assert!(may, "die {die:?} takes reads, and programs amid an erase, while something is suspended");
        let work = &mut self.dies[die];
        work.begin(command, Step::Opening, self.serial, calendar.now());
        self.serial = self.serial.wrapping_add(1);
        if cells.modes.is_some() || self.tables.are_changed() {
            self.choose_times(die, cells);
        }
        if goes_on {
            self.start_sensed(die, cells, calendar);
        } else if self.can_take_bus(die, calendar) {
            self.open(die, cells, calendar);
        } else {
            self.queue_for_bus(die, calendar);
        }
    }

    /// Handles `event`; returns the completion if it ends a command.
    #[inline]
    pub(super) fn handle(
        &mut self,
        event: Event,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<CommandCompletion> {
        match event {
            Event::BusFree(channel) => {
                self.grant_next(channel, cells, calendar);
                None
            }
            Event::ArrayDone(die) => self.array_done(die, cells, calendar),
            Event::RegisterTransferred(die) => {
                self.register_transferred(die, cells, calendar);
                None
            }
            Event::GrantEnded(die) => self.grant_ended(die, cells, calendar),
            Event::CacheProgramDone(die) => self.cache_program_done(die, cells),
            Event::Suspend(die) => {
                self.suspend_now(die, cells, calendar);
                None
            }
            Event::ArraySuspended(die) => {
                self.park_suspended(die);
                None
            }
        }
    }

    /// Selects the timing table for the command that `die` has begun, and opens an erased block in the mode
    /// of a program.
    #[inline(never)]
    pub(super) fn choose_times(&mut self, die: DieId, cells: &mut Cells) {
        let Die { pool, command, .. } = self.dies[die];
        let has_views = |cells: &Cells| cells.modes.as_ref().is_some_and(|modes| !modes.views.is_empty());
        // Without views only the native mode is enabled.
        let view = if has_views(cells) {
            let mode = cells.mode_of(&command);
            cells.open_in_mode(&command, mode);
            cells.modes.as_ref().and_then(|modes| modes.find(pool, mode, command.mode.is_some()))
        } else {
            None
        };
        self.dies[die].times = self.tables.index(die, pool, view, &cells.pools);
    }

    #[inline]
    fn array_done(
        &mut self,
        die: DieId,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<CommandCompletion> {
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
                self.sensed(die, cells, calendar);
                return None;
            }
            Operation::ReadCache { .. } => Step::Turn,
            Operation::Copyback { .. } if step == Step::Opening => Step::Copy,
            // The command completes once its status is known.
            _ if self.tables.wiring.read_status => Step::Status,
            _ => return Some(self.finish(die, cells)),
        };
        self.request_step(die, next, cells, calendar);
        None
    }

    #[inline]
    fn grant_ended(
        &mut self,
        die: DieId,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<CommandCompletion> {
        let channel = self.dies[die].channel;
        if self.buses[channel].hands_on() {
            calendar.next(Event::BusFree(channel));
        }
        if self.dies[die].command.operation != Operation::ProgramCache {
            return Some(self.finish(die, cells));
        }
        let work = &mut self.dies[die];
        work.step = Step::Idle;
        let behind = self.behind[die].as_mut().expect("a cache program works behind its status");
        *behind = BackgroundProgram { over: behind.over, ..BackgroundProgram::of(work) };
        if behind.over { Some(self.finish_cache_program(die, cells)) } else { None }
    }

    /// Requests the bus to transfer data out.
    #[inline(never)]
    fn sensed(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        let work = &mut self.dies[die];
        (work.step, work.asked) = (Step::DataOut, calendar.now());
        if self.can_take_bus(die, calendar) {
            self.move_out(die, cells, calendar);
        } else {
            self.queue_for_bus(die, calendar);
        }
    }

    /// Requests the bus for the next step.
    #[inline]
    pub(super) fn request_step(
        &mut self,
        die: DieId,
        step: Step,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let work = &mut self.dies[die];
        work.step = step;
        work.asked = calendar.now();
        self.request_bus(die, cells, calendar);
    }

    /// Grants the bus to the die for its next stages.
    #[inline(always)]
    pub(super) fn grant_bus(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        match self.dies[die].step {
            Step::Opening => self.open(die, cells, calendar),
            Step::DataOut => self.move_out(die, cells, calendar),
            _ => self.grant_step(die, cells, calendar),
        }
    }

    /// Latches a command, with the data of a program; then the array works.
    #[inline(always)]
    fn open(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let Self { buses, dies, tables, .. } = self;
        let work = &mut dies[die];
        let bus = &mut buses[work.channel];
        let times = tables.of(work);
        let late = times.late(bus, now);
        let Opening { hold, array } = times.opening(work.kind, work.command.planes);
        // Precomputed times apply to the parameters of the data sheet.
        let known = array.filter(|_| work.command.parameters == 0);
        let end = work.hold(bus, now, hold, late);
        self.record_phase(die, now, cells);
        match known {
            Some((stage, time)) => {
                let work = &self.dies[die];
                let time = if stage == Stage::Ton { time + work.setting } else { time };
                self.run_array(die, (self.tables.wiring.clocks.nand.edge(end), time), stage, cells, calendar);
            }
            None => self.work_array(die, end, cells, calendar),
        }
    }

    /// Transfers data out, which completes the command.
    #[inline(always)]
    fn move_out(&mut self, die: DieId, cells: &Cells, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let Self { buses, dies, tables, .. } = self;
        let work = &mut dies[die];
        let bus = &mut buses[work.channel];
        let times = tables.of_mut(work);
        // The command addresses the die if several share a chip enable, and each plane if there are several:
        // it latches like any other command.
        let latches = times.shared_enable || work.command.planes > 1;
        let late = if latches { times.late(bus, now) } else { Duration::ZERO };
        let turnaround = times.turnaround;
        let end = work.hold(bus, now, times.cached_data_out(&work.command), late);
        bus.end_data_out(die, end, turnaround);
        self.record_phase(die, now, cells);
        calendar.at(end, Event::GrantEnded(die));
    }

    /// Starts the array operation that follows the grant ending at `end`, if its time is not precomputed.
    #[inline(never)]
    pub(super) fn work_array(
        &mut self,
        die: DieId,
        end: Instant,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let begin = self.tables.wiring.clocks.nand.edge(end);
        let work = &self.dies[die];
        let Command { operation, page, planes, .. } = work.command;
        let geometry = &cells.pool_of(work).geometry;
        let times = self.tables.of(work);
        let (time, stage) = match (work.step, operation) {
            (Step::Opening, Operation::Read) => (times.sense(geometry, page, planes), Stage::Ton),
            (Step::Opening, Operation::Program) => (times.write(geometry, page, planes), Stage::Tin),
            (Step::Opening, Operation::Erase) => (times.erase(), Stage::Ber),
            _ => return self.start_array_step(die, begin, cells, calendar),
        };
        let setting = if stage == Stage::Ton { work.setting } else { Duration::ZERO };
        let time = self.query_time(die, (stage, page), time, begin, cells);
        self.run_array(die, (begin, time + setting), stage, cells, calendar);
    }

    /// Runs the array for `time` from `begin` on, while the die waits for it.
    #[inline(always)]
    pub(super) fn run_array(
        &mut self,
        die: DieId,
        (begin, time): (Instant, Duration),
        stage: Stage,
        cells: &Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let work = &mut self.dies[die];
        let working = work.pipeline.run(begin, time);
        work.array += time;
        work.works(working.end, stage, time);
        let suspend_soon = work.suspend_soon;
        self.record_array(die, stage, (working.begin, time), cells);
        calendar.at(working.end, Event::ArrayDone(die));
        // A copyback is suspended in its program, not in its sense.
        if suspend_soon && stage != Stage::Ton {
            calendar.at(working.begin, Event::Suspend(die));
        }
    }

    #[inline]
    fn finish(&mut self, die: DieId, cells: &mut Cells) -> CommandCompletion {
        let work = &mut self.dies[die];
        work.step = Step::Idle;
        let Die { command, bus, bus_wait, array, pool, level, .. } = *work;
        let failed_planes = match command.operation {
            Operation::Read if cells.faults.is_none() => {
                cells.counts[usize::from(pool)].read(command.planes);
                0
            }
            _ => cells.effect(die, work, &command),
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

    /// The time of an array operation of a die for `page`, with `time` as the time of the part. The operation
    /// begins at `begin`, or when the array becomes idle.
    pub(super) fn query_time(
        &self,
        die: DieId,
        (stage, page): (Stage, PageId),
        time: Duration,
        begin: Instant,
        cells: &mut Cells,
    ) -> Duration {
        let time =
            if cells.modes.is_some() { self.query(die, (stage, page), time, begin, cells) } else { time };
        self.tables.of(&self.dies[die]).array_time(stage, time)
    }

    /// The time of an array operation by the cell model, or the time of the data sheet.
    #[inline(never)]
    fn query(
        &self,
        die: DieId,
        operation: (Stage, PageId),
        data_sheet: Duration,
        begin: Instant,
        cells: &mut Cells,
    ) -> Duration {
        let work = &self.dies[die];
        let begin = begin.max(work.pipeline.array_ready_at);
        let suspended = self.suspended[die].as_ref().map(Suspended::page);
        let view = self.tables.view_of(work, &cells.pools);
        match cells.query((die, work), operation, (data_sheet, begin), (view, suspended)) {
            Some(time) => self.tables.wiring.clocks.nand.whole(time),
            None => data_sheet,
        }
    }

    /// Records the stages of the bus grant of a die, if spans are recorded.
    #[inline(always)]
    pub(super) fn record_phase(&mut self, die: DieId, begin: Instant, cells: &Cells) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record_phase((die, &self.dies[die]), begin, &self.tables, cells);
        }
    }

    /// Records an array stage of a die, if spans are recorded.
    #[inline(always)]
    pub(super) fn record_array(
        &mut self,
        die: DieId,
        stage: Stage,
        span: (Instant, Duration),
        cells: &Cells,
    ) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record_array((die, &self.dies[die]), stage, span, cells);
        }
    }

    /// The times of the current bus grant of a die.
    pub(super) fn current_phase(&self, die: DieId, now: Instant, cells: &Cells) -> PhaseTimes {
        let work = &self.dies[die];
        let Die { step, command, hold_until, late, .. } = work;
        if *hold_until <= now {
            return PhaseTimes::default();
        }
        self.tables.of(work).of_step(&cells.pool_of(work).geometry, *step, command).later(*late)
    }

    /// The stages of a die that are over.
    pub(super) fn over(&self, die: DieId, now: Instant, cells: &Cells) -> Picoseconds {
        self.dies[die].over(&self.behind[die], &self.current_phase(die, now, cells), now)
    }

    /// Cuts the power: every die becomes idle, and its commands end or are interrupted.
    pub(super) fn cut(&mut self, now: Instant, at_cut: InFlightFate, cells: &mut Cells) -> CutLosses {
        let mut torn = CutLosses::default();
        let is_complete = |over: bool| over || at_cut == InFlightFate::Completed;
        for die in self.dies.ids() {
            let stages = self.over(die, now, cells);
            let work = &self.dies[die];
            let over = work.is_array_done(now);
            if let Some(BackgroundProgram { command, over: behind_over, .. }) = self.behind[die] {
                cells.stop((die, work), command, is_complete(behind_over || over), &mut torn);
            }
            let suspended = self.suspended[die].take();
            // While the suspended operation is parked, the die may execute another command.
            let has_own = suspended.as_ref().is_none_or(Suspended::is_parked);
            if let Some(suspended) = suspended {
                cells.stop((die, work), suspended.command, is_complete(false), &mut torn);
            }
            if has_own && work.step != Step::Idle && work.changes_array(now) {
                let over = over || work.step == Step::Status;
                cells.stop((die, work), work.command, is_complete(over), &mut torn);
            }
            self.dies[die] = work.cut(stages, &self.behind[die], now);
            self.behind[die] = None;
        }
        let dies = dies_on_channel(&cells.pools);
        for channel in self.buses.ids() {
            self.buses[channel] = self.buses[channel].cut(dies, now);
        }
        torn
    }
}

/// Number of dies on a channel, over all pools.
fn dies_on_channel(pools: &Pools) -> usize {
    pools.iter().map(|pool| pool.geometry.dies_per_channel as usize).sum()
}
