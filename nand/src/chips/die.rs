//! One die: what it is doing, and the time that it has spent in each stage.
//!
//! Stages are counted when they begin, so that the way of a command touches the counters once; what is not over at
//! an instant is taken off again when somebody asks.

use wordline_kernel::{Bytes, Duration, Instant};

use super::times::HoldTimes;
use super::{Command, Operation, Step};
use crate::Pipeline;
use crate::energy::{Stage, StageTimes};
use crate::geometry::PageId;

/// What a die is doing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Die {
    pub(super) step: Step,
    pub(super) serial: u32,
    pub(super) command: Command,
    pub(super) asked: Instant,
    pub(super) pipeline: Pipeline,
    /// What the command took so far, with what has begun.
    pub(super) bus: Duration,
    pub(super) bus_wait: Duration,
    pub(super) array: Duration,
    /// What the array takes to sense for the command that follows in a sequence of cache reads.
    pub(super) ahead: Duration,
    /// What the last hold took longer because the bus had to turn round.
    pub(super) late: Duration,
    /// The end of the last hold of the bus, and of the array's last work.
    pub(super) hold_until: Instant,
    works_until: Instant,
    /// The array's last work: stage, kind of operation and time.
    last_stage: Stage,
    last_kind: u8,
    last_planes: u8,
    last_time: Duration,
    /// Time on the bus while the array worked, in all and in the last hold, in picoseconds; and when both are over.
    overlap: u64,
    last_overlap: u64,
    overlap_until: Instant,
    array_busy: u64,
}

impl Default for Die {
    fn default() -> Self {
        let nothing = Command { operation: Operation::Erase, page: PageId(0), planes: 1, bytes: Bytes(0) };
        let (never, none) = (Instant::ZERO, Duration::ZERO);
        Self {
            step: Step::Idle,
            serial: 0,
            command: nothing,
            asked: never,
            pipeline: Pipeline::default(),
            bus: none,
            bus_wait: none,
            array: none,
            ahead: none,
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
        }
    }
}

/// A cache program whose array work goes on while the die takes the next command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    pub(super) command: Command,
    pub(super) serial: u32,
    pub(super) bus: Duration,
    pub(super) bus_wait: Duration,
    pub(super) array: Duration,
    /// The array has finished while the status was read.
    pub(super) over: bool,
}

impl Behind {
    /// The present command of `die`.
    pub(super) fn of(die: &Die) -> Self {
        let Die { command, serial, bus, bus_wait, array, .. } = *die;
        Self { command, serial, bus, bus_wait, array, over: false }
    }
}

/// What is under way at an instant.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    hold: bool,
    array: bool,
}

impl Die {
    /// A new command.
    #[inline]
    pub(super) fn begin(&mut self, command: Command, step: Step, serial: u32, now: Instant) {
        self.command = command;
        self.step = step;
        self.serial = serial;
        self.asked = now;
        self.bus = Duration::ZERO;
        self.bus_wait = Duration::ZERO;
        self.array = Duration::ZERO;
    }

    /// It holds the bus from `now` on.
    #[inline]
    pub(super) fn hold(&mut self, now: Instant, hold: &HoldTimes, waited: Duration) {
        self.hold_until = now + hold.total;
        self.bus += hold.total;
        self.bus_wait += waited;
        if self.works_until > now {
            self.last_overlap = (self.works_until.min(self.hold_until) - now).ps();
            self.overlap += self.last_overlap;
            self.overlap_until = self.works_until.max(self.hold_until);
        }
    }

    /// Its array works until `end`; for the present command, unless it senses ahead.
    #[inline]
    pub(super) fn works(&mut self, end: Instant, stage: Stage, time: Duration) {
        if self.step != Step::Turn {
            self.array += time;
        }
        self.works_until = end;
        self.last_stage = stage;
        self.last_kind = self.command.operation.kind() as u8;
        self.last_planes = self.command.planes as u8;
        self.last_time = time;
        self.array_busy += time.ps();
    }

    /// The end of what it began last.
    pub(super) fn ends(&self) -> Instant {
        self.hold_until.max(self.works_until)
    }

    fn under_way(&self, now: Instant) -> UnderWay {
        UnderWay { hold: self.hold_until > now, array: self.works_until > now }
    }

    /// The cache program behind, unless the array's last work is its own.
    fn older<'a>(&self, behind: &'a Option<Behind>) -> Option<&'a Behind> {
        let is_older =
            |behind: &&Behind| behind.serial != self.serial && self.works_for_present() && !behind.over;
        behind.as_ref().filter(is_older)
    }

    /// Whether the array's last work is that of the present command.
    fn works_for_present(&self) -> bool {
        self.array > Duration::ZERO
    }

    /// The part of `counted` that is over by `now`, where the present hold takes `hold`.
    pub(super) fn over(
        &self,
        mut counted: Picoseconds,
        behind: &Option<Behind>,
        hold: &HoldTimes,
        now: Instant,
    ) -> Picoseconds {
        let under_way = self.under_way(now);
        if under_way.hold {
            let kind = &mut counted.ps[self.command.operation.kind()];
            kind.iter_mut().zip(hold.by_stage).for_each(|(counted, ps)| *counted -= ps);
        }
        if under_way.array {
            let planes = u32::from(self.last_planes);
            counted.take_off(usize::from(self.last_kind), self.last_stage, self.last_time, planes);
        }
        if let Some(older) = self.older(behind) {
            let Command { operation, planes, .. } = older.command;
            counted.take_off(operation.kind(), Stage::Tin, older.array, planes);
        }
        counted
    }

    /// Time on the bus while the array worked, in stages that are over by `now`.
    pub(super) fn overlap(&self, now: Instant) -> u64 {
        if self.overlap_until > now { self.overlap - self.last_overlap } else { self.overlap }
    }

    /// Time that the array worked in stages that are over by `now`.
    pub(super) fn array_busy(&self, behind: &Option<Behind>, now: Instant) -> u64 {
        let last = if self.under_way(now).array { self.last_time.ps() } else { 0 };
        self.array_busy - last - self.older(behind).map_or(0, |older| older.array.ps())
    }

    /// Time in stages that are over of commands that are not, where the present hold takes `hold`.
    pub(super) fn unfinished(&self, behind: &Option<Behind>, hold: &HoldTimes, now: Instant) -> u64 {
        let UnderWay { hold: holds, array: works } = self.under_way(now);
        let present = if self.step == Step::Idle { Duration::ZERO } else { self.bus + self.array };
        let other = behind.as_ref().filter(|b| self.step == Step::Idle || b.serial != self.serial);
        let other = other.map_or(Duration::ZERO, |behind| behind.bus + behind.array);
        let older = self.older(behind).map_or(Duration::ZERO, |older| older.array);
        let hold = if holds { hold.total } else { Duration::ZERO };
        let last = if works { self.last_time } else { Duration::ZERO };
        (present + other + self.ahead - older - hold - last).ps()
    }
}

/// Time of one die in each stage, by kind of operation, in picoseconds: no stage outlives the clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Picoseconds {
    ps: [[u64; Stage::Idle as usize]; Operation::KINDS],
    /// Time of the array's stages for each plane beyond the first, which may outlive the clock.
    more_planes: [[u128; ARRAY.len()]; Operation::KINDS],
}

/// The stages of an array.
const ARRAY: [Stage; 3] = [Stage::Tin, Stage::Ton, Stage::Ber];

/// The time of the planes beyond the first, in picoseconds.
#[inline]
fn of_more_planes(time: Duration, planes: u32) -> u128 {
    u128::from(time.ps()) * u128::from(planes - 1)
}

impl Picoseconds {
    /// Adds a hold of the bus.
    #[inline]
    pub(super) fn add_hold(&mut self, kind: usize, by_stage: &[u64; 4]) {
        let counted = &mut self.ps[kind];
        for (counted, ps) in counted.iter_mut().zip(by_stage) {
            *counted += ps;
        }
    }

    /// Adds work of the array.
    #[inline]
    pub(super) fn add(&mut self, kind: usize, stage: Stage, time: Duration, planes: u32) {
        self.ps[kind][stage as usize] += time.ps();
        if planes > 1 {
            self.more_planes[kind][stage as usize - ARRAY[0] as usize] += of_more_planes(time, planes);
        }
    }

    /// Takes work of the array off again.
    fn take_off(&mut self, kind: usize, stage: Stage, time: Duration, planes: u32) {
        self.ps[kind][stage as usize] -= time.ps();
        self.more_planes[kind][stage as usize - ARRAY[0] as usize] -= of_more_planes(time, planes);
    }

    /// One kind of operation.
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
