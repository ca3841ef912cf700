//! The state of one die, and its time in each stage.
//!
//! A stage is counted when it begins, so that a command updates the counters once. Queries subtract the
//! stages that are not over yet.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Instant};

use super::bus::Bus;
use super::command::{Command, Operation};
use super::step::Step;
use super::times::PhaseTimes;
use crate::Pipeline;
use crate::energy::{Stage, StageTimes};
use crate::geometry::{ChannelId, PageId};

/// The state of a die, and the times of its last operations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Die {
    pub(super) channel: ChannelId,
    /// The number of its pool.
    pub(super) pool: u8,
    /// Index of the timing table for its command: the table of its pool, or of a cell mode.
    pub(super) times: u8,
    pub(super) step: Step,
    pub(super) serial: u32,
    pub(super) command: Command,
    pub(super) asked: Instant,
    pub(super) pipeline: Pipeline,
    /// The times of the command so far, including steps that have only begun.
    pub(super) bus: Duration,
    pub(super) bus_wait: Duration,
    pub(super) array: Duration,
    /// The sense time of the next command in a sequence of cache reads.
    pub(super) ahead: Duration,
    /// The set of read reference voltages for senses, 0 for the data sheet.
    pub(super) level: u8,
    /// Time that this set adds to a sense.
    pub(super) setting: Duration,
    /// Bus turnaround included in the last grant.
    pub(super) late: Duration,
    /// The end of the last bus grant.
    pub(super) hold_until: Instant,
    /// The end of the last array operation.
    works_until: Instant,
    /// The last array operation: stage, kind, planes and time.
    last_stage: Stage,
    last_kind: u8,
    last_planes: u8,
    last_time: Duration,
    /// Overlap of bus and array time, in picoseconds.
    overlap: u64,
    /// The part of the overlap from the last grant.
    last_overlap: u64,
    /// The later end of the last grant and its array operation.
    overlap_until: Instant,
    array_busy: u64,
    /// The kind of the current operation.
    pub(super) kind: u8,
    /// Whether the first phase of the operation transfers data in.
    brings_data: bool,
    /// Whether a program or erase is suspended.
    pub(super) suspended: bool,
    /// Number of suspends of the current command.
    pub(super) suspends: u32,
    /// Whether the operation is to be suspended once its array works.
    pub(super) suspend_soon: bool,
    /// Number of scheduled ends of array operations that a suspend has made obsolete.
    pub(super) overtaken: u32,
    stages: Picoseconds,
}

impl Die {
    /// An idle die of a pool on `channel`.
    pub(super) fn on(channel: ChannelId, pool: u8) -> Self {
        let nothing = Command::new(Operation::Erase, PageId(0), 1, Bytes(0));
        let (never, none) = (Instant::ZERO, Duration::ZERO);
        Self {
            channel,
            pool,
            times: pool,
            step: Step::Idle,
            serial: 0,
            command: nothing,
            asked: never,
            pipeline: Pipeline::default(),
            bus: none,
            bus_wait: none,
            array: none,
            ahead: none,
            level: 0,
            setting: none,
            late: none,
            hold_until: never,
            works_until: never,
            last_stage: Stage::Ber,
            last_kind: 0,
            last_planes: 1,
            last_time: none,
            overlap: 0,
            last_overlap: 0,
            overlap_until: never,
            array_busy: 0,
            kind: nothing.operation.kind() as u8,
            brings_data: false,
            suspended: false,
            suspends: 0,
            suspend_soon: false,
            overtaken: 0,
            stages: Picoseconds::default(),
        }
    }
}

/// A cache program whose array operation continues while the die accepts the next command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BackgroundProgram {
    pub(super) command: Command,
    pub(super) serial: u32,
    pub(super) bus: Duration,
    pub(super) bus_wait: Duration,
    pub(super) array: Duration,
    /// Whether the array finished while the status was read.
    pub(super) over: bool,
}

impl BackgroundProgram {
    /// The current command of `die`.
    pub(super) fn of(die: &Die) -> Self {
        let Die { command, serial, bus, bus_wait, array, .. } = *die;
        Self { command, serial, bus, bus_wait, array, over: false }
    }
}

/// Whether the bus and the array are in use at an instant.
#[derive(Clone, Copy, Debug, Default)]
struct InProgress {
    hold: bool,
    array: bool,
}

impl Die {
    /// Begins a new command.
    #[inline]
    pub(super) fn begin(&mut self, command: Command, step: Step, serial: u32, now: Instant) {
        self.command = command;
        self.kind = command.operation.kind() as u8;
        self.brings_data = matches!(command.operation, Operation::Program | Operation::ProgramCache);
        self.step = step;
        self.serial = serial;
        self.asked = now;
        self.suspends = 0;
        self.bus = Duration::ZERO;
        self.bus_wait = Duration::ZERO;
        self.array = Duration::ZERO;
    }

    /// Whether the die needs the bus for data and not only to latch a command.
    #[inline]
    pub(super) fn moves_data(&self) -> bool {
        self.step == Step::DataOut || (self.brings_data && self.step == Step::Opening)
    }

    /// Occupies the bus from `now` on for the time of `hold` plus `late`. Returns the end.
    #[inline(always)]
    pub(super) fn hold(&mut self, bus: &mut Bus, now: Instant, hold: &PhaseTimes, late: Duration) -> Instant {
        let (total, waited) = (hold.total + late, now - self.asked);
        let end = now + total;
        bus.hold(end, total, waited);
        self.late = late;
        self.hold_until = end;
        self.bus += total;
        self.bus_wait += waited;
        self.stages.add_hold(self.kind, &hold.by_stage, late);
        if self.works_until > now {
            self.last_overlap = (self.works_until.min(self.hold_until) - now).ps();
            self.overlap += self.last_overlap;
            self.overlap_until = self.works_until.max(self.hold_until);
        }
        end
    }

    /// Records an array operation until `end`. The caller decides whether it counts for the current command
    /// or for the next one (a sense ahead).
    #[inline(always)]
    pub(super) fn works(&mut self, end: Instant, stage: Stage, time: Duration) {
        self.works_until = end;
        self.last_stage = stage;
        self.last_kind = self.kind;
        self.last_planes = self.command.planes as u8;
        self.last_time = time;
        self.array_busy += time.ps();
        self.stages.add(self.kind, stage, time, self.command.planes);
    }

    /// The stage of the array operation in progress at `now`, and its remaining time.
    pub(super) fn array_work(&self, now: Instant) -> Option<(Stage, Duration)> {
        let begun = self.works_until.since(now) <= self.last_time;
        (self.works_until > now && begun).then(|| (self.last_stage, self.works_until - now))
    }

    /// Begin of the last array operation.
    pub(super) fn works_from(&self) -> Instant {
        Instant::from_ps(self.works_until.ps() - self.last_time.ps())
    }

    /// Whether the command is a copyback that has not yet read its page.
    pub(super) fn senses_for_copyback(&self) -> bool {
        self.step == Step::Opening && matches!(self.command.operation, Operation::Copyback { .. })
    }

    /// Whether the last array operation ends at `now`.
    pub(super) fn ends_at(&self, now: Instant) -> bool {
        self.works_until == now
    }

    /// Aborts the array operation at `at`; the array becomes idle after `rest`. The remaining time is
    /// subtracted from the counters. Returns the remaining time, and the total time that the array worked.
    pub(super) fn abort_array(&mut self, at: Instant, rest: Duration) -> (Duration, Duration) {
        let left = self.works_until - at;
        let planes = u32::from(self.last_planes);
        self.stages.subtract(usize::from(self.last_kind), self.last_stage, self.last_time, planes);
        let worked = self.last_time - left + rest;
        self.stages.add(self.last_kind, self.last_stage, worked, planes);
        self.array = self.array - left + rest;
        self.array_busy = self.array_busy + rest.ps() - left.ps();
        self.last_time = worked;
        self.works_until = at + rest;
        self.overlap_until = self.overlap_until.min(self.works_until.max(self.hold_until));
        self.pipeline = Pipeline { ready_at: self.works_until, array_ready_at: self.works_until };
        (left, worked)
    }

    /// Whether the recorded kind matches its command, with at most `planes` planes.
    pub(super) fn matches_command(&self, planes: u32) -> bool {
        let operation = self.command.operation;
        usize::from(self.kind) == operation.kind()
            && self.brings_data == matches!(operation, Operation::Program | Operation::ProgramCache)
            && usize::from(self.last_kind) < Operation::KINDS
            && (1..=planes).contains(&self.last_planes.into())
    }

    /// The end of its last bus grant or array operation.
    pub(super) fn ends(&self) -> Instant {
        self.hold_until.max(self.works_until)
    }

    /// Whether the last array operation is over by `now`.
    pub(super) fn is_array_done(&self, now: Instant) -> bool {
        self.works_until <= now
    }

    /// Whether the array of a die is changing cells for the current command, or has changed them.
    pub(super) fn changes_array(&self, now: Instant) -> bool {
        let latched = self.hold_until > self.asked && self.hold_until <= now;
        match (self.command.operation, self.step) {
            (Operation::Read | Operation::ReadCache { .. }, _) => false,
            (_, Step::Status | Step::Suspend | Step::Resume) => true,
            (Operation::Copyback { .. }, step) => step == Step::Copy && latched,
            (Operation::Program | Operation::ProgramCache | Operation::Erase, _) => latched,
        }
    }

    /// The die after a power cut at `now`: idle, with finished stages still counted.
    pub(super) fn cut(&self, stages: Picoseconds, behind: &Option<BackgroundProgram>, now: Instant) -> Self {
        let (overlap, array_busy) = (self.overlap(now), self.array_busy(behind, now));
        Self { serial: self.serial, overlap, array_busy, stages, ..Self::on(self.channel, self.pool) }
    }

    fn under_way(&self, now: Instant) -> InProgress {
        InProgress { hold: self.hold_until > now, array: self.works_until > now }
    }

    /// The cache program in the background, unless the last array operation is its own.
    fn earlier_program<'a>(&self, behind: &'a Option<BackgroundProgram>) -> Option<&'a BackgroundProgram> {
        let is_older = |behind: &&BackgroundProgram| {
            behind.serial != self.serial && self.works_for_current() && !behind.over
        };
        behind.as_ref().filter(is_older)
    }

    /// Whether the last array operation belongs to the current command.
    pub(super) fn works_for_current(&self) -> bool {
        self.array > Duration::ZERO
    }

    /// The stages that are over by `now`; the current grant has the times `hold`.
    pub(super) fn over(
        &self,
        behind: &Option<BackgroundProgram>,
        hold: &PhaseTimes,
        now: Instant,
    ) -> Picoseconds {
        let mut counted = self.stages;
        let under_way = self.under_way(now);
        if under_way.hold {
            let kind = &mut counted.ps[self.command.operation.kind()];
            kind.iter_mut().zip(hold.by_stage).for_each(|(counted, ps)| *counted -= ps);
        }
        if under_way.array {
            let planes = u32::from(self.last_planes);
            counted.subtract(usize::from(self.last_kind), self.last_stage, self.last_time, planes);
        }
        if let Some(older) = self.earlier_program(behind) {
            let Command { operation, planes, .. } = older.command;
            counted.subtract(operation.kind(), Stage::Tin, older.array, planes);
        }
        counted
    }

    /// Overlap of bus and array time, in stages that are over by `now`, in picoseconds.
    pub(super) fn overlap(&self, now: Instant) -> u64 {
        if self.overlap_until > now { self.overlap - self.last_overlap } else { self.overlap }
    }

    /// Array time until `now`, with the elapsed part of an operation in progress, in picoseconds.
    pub(super) fn array_busy(&self, behind: &Option<BackgroundProgram>, now: Instant) -> u64 {
        let last = self.works_until.since(now).min(self.last_time);
        // The array works for one command after another.
        let older = self.earlier_program(behind).map_or(Duration::ZERO, |older| older.array);
        let older = older.min(self.works_from().since(now));
        self.array_busy - last.ps() - older.ps()
    }

    /// Time in finished stages of unfinished commands, in picoseconds; the current grant has the times
    /// `hold`.
    pub(super) fn unfinished(
        &self,
        behind: &Option<BackgroundProgram>,
        hold: &PhaseTimes,
        now: Instant,
    ) -> u64 {
        let InProgress { hold: holds, array: works } = self.under_way(now);
        let present = if self.step == Step::Idle { Duration::ZERO } else { self.bus + self.array };
        let other = behind.as_ref().filter(|b| self.step == Step::Idle || b.serial != self.serial);
        let other = other.map_or(Duration::ZERO, |behind| behind.bus + behind.array);
        let older = self.earlier_program(behind).map_or(Duration::ZERO, |older| older.array);
        let hold = if holds { hold.total } else { Duration::ZERO };
        let last = if works { self.last_time } else { Duration::ZERO };
        (present + other + self.ahead - older - hold - last).ps()
    }
}

/// Time of one die in each stage, by kind of operation, in picoseconds: no stage exceeds the range of the
/// clock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Picoseconds {
    ps: [[u64; Stage::Idle as usize]; Operation::KINDS],
    /// Array time of each plane beyond the first, which may exceed the range of the clock.
    more_planes: [[u128; ARRAY.len()]; Operation::KINDS],
}

/// The array stages.
const ARRAY: [Stage; 3] = [Stage::Tin, Stage::Ton, Stage::Ber];

/// The array time of the planes beyond the first, in picoseconds.
#[inline]
fn of_more_planes(time: Duration, planes: u32) -> u128 {
    u128::from(time.ps()) * u128::from(planes - 1)
}

impl Picoseconds {
    /// Adds a bus grant.
    #[inline]
    fn add_hold(&mut self, kind: u8, by_stage: &[u64; 4], late: Duration) {
        let counted = &mut self.ps[usize::from(kind)];
        for (counted, ps) in counted.iter_mut().zip(by_stage) {
            *counted += ps;
        }
        counted[Stage::Cle as usize] += late.ps();
    }

    /// Adds an array operation.
    #[inline]
    fn add(&mut self, kind: u8, stage: Stage, time: Duration, planes: u32) {
        let kind = usize::from(kind);
        self.ps[kind][stage as usize] += time.ps();
        if planes > 1 {
            self.more_planes[kind][stage as usize - ARRAY[0] as usize] += of_more_planes(time, planes);
        }
    }

    /// Subtracts an array operation.
    fn subtract(&mut self, kind: usize, stage: Stage, time: Duration, planes: u32) {
        self.ps[kind][stage as usize] -= time.ps();
        self.more_planes[kind][stage as usize - ARRAY[0] as usize] -= of_more_planes(time, planes);
    }

    /// The stage times of one kind of operation.
    pub(super) fn of_kind(&self, kind: usize) -> StageTimes {
        let mut times = StageTimes::default();
        for (stage, ps) in Stage::ALL.into_iter().zip(self.ps[kind]) {
            times.add(stage, Duration::from_ps(ps), 1);
        }
        for (stage, ps) in ARRAY.into_iter().zip(self.more_planes[kind]) {
            times.add_more_planes(stage, ps);
        }
        times
    }
}

const _: () =
    assert!(ARRAY[1] as usize == ARRAY[0] as usize + 1 && ARRAY[2] as usize == ARRAY[0] as usize + 2);
