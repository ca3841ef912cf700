//! Steps of a die within a sequence of cache operations, within a copyback, and after a suspend. They are
//! separate from the fast path of plain reads, programs and erases.

use wordline_kernel::{Duration, Instant, Schedule};

use super::cells::Cells;
use super::command::{Command, CommandCompletion, Operation};
use super::die::{BackgroundProgram, Die};
use super::event::Event;
use super::sequencer::Sequencer;
use super::step::Step;
use crate::energy::Stage;
use crate::geometry::DieId;

impl Sequencer {
    /// Handles the end of a page transfer between registers: the cache register is available to the bus.
    #[inline(never)]
    pub(super) fn register_transferred(
        &mut self,
        die: DieId,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let work = &mut self.dies[die];
        if let Operation::ReadCache { .. } = work.command.operation {
            self.request_step(die, Step::DataOut, cells, calendar);
            return;
        }
        self.behind[die] = Some(BackgroundProgram::of(work));
        if self.tables.wiring.read_status {
            self.request_step(die, Step::Status, cells, calendar);
        } else {
            work.step = Step::Idle;
        }
    }

    /// Starts a command that continues a sequence of cache reads. Its pages have been sensed, or are being
    /// sensed, since the previous command.
    #[inline(never)]
    pub(super) fn start_sensed(
        &mut self,
        die: DieId,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let work = &mut self.dies[die];
        work.step = Step::Turn;
        work.array = std::mem::take(&mut work.ahead);
        if let Some(recorder) = &mut self.recorder {
            recorder.claim_ahead(die, work.serial);
        }
        self.request_bus(die, cells, calendar);
    }

    /// Grants the bus for a step other than the first phase of a command or its data out.
    #[inline(never)]
    pub(super) fn grant_step(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let Self { buses, dies, tables, .. } = self;
        let work = &mut dies[die];
        let geometry = &cells.pool_of(work).geometry;
        let bus = &mut buses[work.channel];
        let times = tables.of(work);
        let (step, late, waited_before) = (work.step, times.late(bus, now), work.bus_wait);
        let end = work.hold(bus, now, &times.of_step(geometry, step, &work.command), late);
        match step {
            Step::Status => bus.end_data_out(die, end, times.turnaround),
            // The bus wait of a suspend does not count, because the array works meanwhile.
            Step::Suspend => work.bus_wait = waited_before,
            _ => {}
        }
        self.record_phase(die, now, cells);
        match step {
            Step::Status => calendar.at(end, Event::GrantEnded(die)),
            Step::Suspend => self.interrupt(die, end, calendar),
            _ => self.work_array(die, end, cells, calendar),
        }
    }

    #[inline(never)]
    pub(super) fn cache_program_done(&mut self, die: DieId, cells: &mut Cells) -> Option<CommandCompletion> {
        let Die { step, serial, .. } = self.dies[die];
        let behind = self.behind[die].as_mut().expect("a cache program was behind");
        if step == Step::Status && behind.serial == serial {
            behind.over = true;
            return None;
        }
        Some(self.finish_cache_program(die, cells))
    }

    pub(super) fn finish_cache_program(&mut self, die: DieId, cells: &mut Cells) -> CommandCompletion {
        let BackgroundProgram { command, bus, bus_wait, array, .. } =
            self.behind[die].take().expect("a cache program was behind");
        let failed_planes = cells.effect(die, &self.dies[die], &command);
        let failed = failed_planes != 0;
        CommandCompletion { die, command, bus, bus_wait, array, failed, failed_planes, level: 0 }
    }

    /// Starts an array operation from `begin` on, within a sequence of cache operations, a copyback, or a
    /// resumed operation.
    #[inline(never)]
    pub(super) fn start_array_step(
        &mut self,
        die: DieId,
        begin: Instant,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Die { step, command, setting, .. } = self.dies[die];
        let Command { operation, page, planes, .. } = command;
        let work = &self.dies[die];
        let (geometry, times) = (&cells.pool_of(work).geometry, self.tables.of(work));
        let turn = times.turn;
        let (stage, page, time) = match (step, operation) {
            (Step::Turn, Operation::ReadCache { next: None, .. }) => {
                calendar.at(self.dies[die].pipeline.turn(begin, turn), Event::RegisterTransferred(die));
                return;
            }
            (Step::Turn, Operation::ReadCache { next: Some(next), .. }) => {
                (Stage::Ton, next, times.sense(geometry, next, planes))
            }
            (_, Operation::ProgramCache) => (Stage::Tin, page, times.write(geometry, page, planes)),
            (Step::Resume, _) => return self.resume_array(die, begin, cells, calendar),
            (Step::Copy, Operation::Copyback { to }) => (Stage::Tin, to, times.write(geometry, to, planes)),
            _ => (Stage::Ton, page, times.sense(geometry, page, planes)),
        };
        let turns = step == Step::Turn || operation == Operation::ProgramCache;
        let rests = begin.max(self.dies[die].pipeline.array_ready_at);
        let from = if turns { rests + turn } else { rests };
        let time = self.query_time(die, (stage, page), time, from, cells);
        let work = &mut self.dies[die];
        let working = match (step, operation) {
            (Step::Turn, Operation::ReadCache { .. }) => {
                work.ahead = time;
                work.pipeline.turn_and_run(begin, turn, time)
            }
            (_, Operation::ProgramCache) => {
                work.array += time;
                work.pipeline.turn_and_run(begin, turn, time)
            }
            _ => {
                let setting = if stage == Stage::Ton { setting } else { Duration::ZERO };
                return self.run_array(die, (begin, time + setting), stage, cells, calendar);
            }
        };
        calendar.at(working.begin, Event::RegisterTransferred(die));
        if operation == Operation::ProgramCache {
            calendar.at(working.end, Event::CacheProgramDone(die));
        }
        work.works(working.end, stage, time);
        self.record_array(die, stage, (working.begin, time), cells);
    }

    /// Resumes the suspended array operation for its remaining time.
    fn resume_array(
        &mut self,
        die: DieId,
        begin: Instant,
        cells: &Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let resume = self.tables.of(&self.dies[die]).resume;
        self.dies[die].suspended = false;
        let suspended = self.suspended[die].take().expect("what is resumed was suspended");
        self.run_array(die, (begin, suspended.left + resume), suspended.stage, cells, calendar);
    }
}
