//! Precomputed times of all bus phases and array operations.

use wordline_kernel::{Bytes, Duration, Factor, Instant};

use super::bus::Bus;
use super::command::{Command, Operation};
use super::step::{Step, phase_of};
use super::time_factors::TimeFactors;
use super::wiring::Wiring;
use crate::chain::{self, BusPhase, BusTimes, Cycle, Shape};
use crate::clock::Clocks;
use crate::geometry::{Geometry, PageId, PlaneBlock};
use crate::onfi::LunTimes;
use crate::part::BusTiming;
use crate::{CellMode, Latency, Part, Stage};

/// The time of a bus phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PhaseTimes {
    /// Picoseconds of CLE, ALE, TIR and TOR: the first four of [`Stage`](crate::Stage).
    pub(super) by_stage: [u64; 4],
    /// Total time.
    pub(super) total: Duration,
}

impl PhaseTimes {
    /// The same phase with a wait of `late` before its first latch.
    #[inline]
    pub(super) fn later(mut self, late: Duration) -> Self {
        self.by_stage[0] += late.ps();
        self.total += late;
        self
    }
}

impl From<BusTimes> for PhaseTimes {
    fn from(times: BusTimes) -> Self {
        let BusTimes { cle, ale, tir, tor } = times;
        Self { by_stage: [cle, ale, tir, tor].map(Duration::ps), total: times.total() }
    }
}

/// The start of a command: its first bus phase, and the array operation after it. The array operation is
/// included only if its time is the same for all pages and nothing but data out can follow it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) hold: PhaseTimes,
    pub(super) array: Option<(Stage, Duration)>,
}

/// The timing table of a part. It has the times that do not depend on the address of a page, by bus phase and
/// number of planes, and array times by page type.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) clocks: Clocks,
    /// The factors relative to the part's times, and the additional factor of marked dies; `None` for
    /// unchanged times.
    pub(super) factors: Option<(TimeFactors, Factor)>,
    bus: BusTiming,
    pub(super) holds: Vec<[PhaseTimes; BusPhase::ALL.len()]>,
    /// Starts of commands by number of planes and kind of operation; derived from the other fields.
    openings: Vec<[Opening; Operation::KINDS]>,
    /// Data out by number of planes: the cycles before the burst, and the wait of the burst. The burst is the
    /// last cycle of data out.
    pub(super) data_out_base: Vec<(PhaseTimes, Duration)>,
    /// Bytes of full pages, by number of planes.
    full: Vec<Bytes>,
    pub(super) shared_enable: bool,
    pub(super) latency: Latency,
    /// Sense and program time, if it is the same for all pages.
    same_sense: Option<Duration>,
    same_write: Option<Duration>,
    /// Whether the cell model determines array times.
    asks: bool,
    /// Lower-page backups. For each page of a block: the page of its word line that is backed up first, if
    /// any; and the program time of the backup.
    lower: (Vec<Option<u32>>, Duration),
    /// Cache of the last partial data out with its planes and bytes: most partial transfers have the same
    /// length.
    partial: (u32, Bytes, PhaseTimes),
    erase: Duration,
    /// Time from chip enable to the first latch.
    pub(super) select: Duration,
    /// Time from data out to the next latch.
    pub(super) turnaround: Duration,
    pub(super) turn: Duration,
    /// Suspend latency of a program and of an erase.
    pub(super) rest: [Duration; 2],
    /// Time that a resume adds to the remaining time.
    pub(super) resume: Duration,
}

impl Times {
    /// The times of a part, with the prefix of the mode of its commands.
    pub(super) fn of(part: &Part, geometry: &Geometry, wiring: &Wiring, spelled: CellMode) -> Self {
        let Wiring { clocks, shared_enable, .. } = *wiring;
        let shapes = (1..=geometry.planes_per_row)
            .map(|planes| Shape { mode: spelled, ..Shape::of(part, planes, shared_enable) });
        let nand = |time: Duration| clocks.nand.whole(time);
        let times = |hold: BusPhase, shape: &Shape| sum(part, clocks, &hold.cycles(shape));
        let latency = Latency::new(part, wiring.latency, wiring.seed);
        let mut times = Self {
            openings: Vec::new(),
            bus: part.bus,
            holds: shapes.clone().map(|shape| BusPhase::ALL.map(|hold| times(hold, &shape))).collect(),
            data_out_base: shapes.clone().map(|shape| before_burst(part, clocks, &shape)).collect(),
            full: shapes.map(|shape| shape.page * u64::from(shape.planes)).collect(),
            shared_enable,
            same_sense: latency.uniform_read_time().map(nand),
            same_write: latency.uniform_program_time().map(nand),
            asks: false,
            latency,
            lower: Default::default(),
            partial: (0, Bytes(0), PhaseTimes::default()),
            erase: nand(part.timing.erase),
            select: clocks.host.whole(part.bus.t_cs),
            turnaround: part.bus.t_rhw,
            turn: nand(part.timing.cache_busy),
            rest: part.timing.suspend.map(nand),
            resume: nand(LunTimes::of(part).resume),
            clocks,
            factors: None,
        };
        times.update_openings();
        times
    }

    /// Recomputes the openings.
    pub(super) fn update_openings(&mut self) {
        let known = |stage, time| (stage, self.array_time(stage, time));
        let sense = self.same_sense.map(|time| known(Stage::Ton, time));
        let write = self.same_write.map(|time| known(Stage::Tin, time));
        let erase = (!self.asks).then(|| known(Stage::Ber, self.erase));
        let arrays = [sense, None, write, None, None, erase];
        let of_planes = |holds: &[PhaseTimes; BusPhase::ALL.len()]| {
            let opening =
                |kind| Opening { hold: holds[Operation::OPENINGS[kind] as usize], array: arrays[kind] };
            std::array::from_fn(opening)
        };
        self.openings = self.holds.iter().map(of_planes).collect();
    }

    /// Uses the cell model from now on. Array times are not precomputed, except for sensing if it takes the
    /// time of the data sheet.
    pub(super) fn query(&mut self, sense: bool) {
        if sense {
            self.same_sense = None;
        }
        (self.same_write, self.asks) = (None, true);
        self.update_openings();
    }

    /// Erase time by the data sheet.
    pub(super) fn erase(&self) -> Duration {
        self.erase
    }

    /// The start of a command of this kind.
    #[inline]
    pub(super) fn opening(&self, kind: u8, planes: u32) -> &Opening {
        &self.openings[planes as usize - 1][usize::from(kind)]
    }

    /// The time of the bus phase of a step.
    pub(super) fn of_step(&self, geometry: &Geometry, step: Step, command: &Command) -> PhaseTimes {
        match step {
            Step::DataOut => self.data_out(command),
            step => *self.hold(phase_of(geometry, step, command), command.planes),
        }
    }

    /// The time of data out of a command; caches the last partial transfer.
    #[inline(always)]
    pub(super) fn cached_data_out(&mut self, command: &Command) -> &PhaseTimes {
        if command.bytes == self.full[command.planes as usize - 1] {
            return self.hold(BusPhase::DataOut, command.planes);
        }
        if (self.partial.0, self.partial.1) != (command.planes, command.bytes) {
            self.cache_partial(command);
        }
        &self.partial.2
    }

    /// The array time of a stage that takes `time` by the part.
    #[inline]
    pub(super) fn array_time(&self, stage: Stage, time: Duration) -> Duration {
        match &self.factors {
            None => time,
            Some((factors, more)) => self.clocks.nand.whole(more.of(factors.of_array(stage).of(time))),
        }
    }

    /// The time of a data burst, including the wait before it.
    pub(super) fn burst_time(&self, time: Duration) -> Duration {
        self.factors.as_ref().map_or(time, |(factors, more)| more.of(factors.bus.of(time)))
    }

    /// Drops the cached partial transfer.
    pub(super) fn clear_partial(&mut self) {
        self.partial = (0, Bytes(0), PhaseTimes::default());
    }

    #[inline(never)]
    fn cache_partial(&mut self, command: &Command) {
        self.partial = (command.planes, command.bytes, self.data_out(command));
    }

    /// The time of a bus phase with full pages.
    #[inline]
    fn hold(&self, hold: BusPhase, planes: u32) -> &PhaseTimes {
        &self.holds[planes as usize - 1][hold as usize]
    }

    /// The time of data out: full pages from the table, partial pages as one burst.
    fn data_out(&self, command: &Command) -> PhaseTimes {
        let at = command.planes as usize - 1;
        if command.bytes == self.full[at] {
            return *self.hold(BusPhase::DataOut, command.planes);
        }
        let (mut times, wait) = self.data_out_base[at];
        let last = self.clocks.host.whole(self.burst_time(wait + self.bus.burst_out(command.bytes)));
        times.by_stage[3] += last.ps();
        times.total += last;
        times
    }

    /// Sense time of the pages of `planes` planes from `page` on.
    #[inline]
    pub(super) fn sense(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        self.same_sense.unwrap_or_else(|| self.sense_of(geometry, page, planes))
    }

    /// Sense time where pages differ.
    #[inline(never)]
    fn sense_of(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        let (number, blocks) = address(geometry, page, planes);
        self.clocks.nand.whole(self.latency.read(number, blocks))
    }

    /// Program time of the pages of `planes` planes from `page` on.
    #[inline]
    pub(super) fn write(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        self.same_write.unwrap_or_else(|| self.write_of(geometry, page, planes))
    }

    /// Program time where pages differ.
    #[inline(never)]
    fn write_of(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        let (number, blocks) = address(geometry, page, planes);
        let time = self.clocks.nand.whole(self.latency.program(number, blocks));
        let Some(lower) = self.lower.0.get(number as usize).copied().flatten() else { return time };
        let (_, blocks) = address(geometry, page, planes);
        time + self.clocks.nand.whole(self.latency.read(lower, blocks)) + self.lower.1
    }

    /// Adds the time of lower-page backups. A program of a page that shares its cells also senses the page of
    /// the same word line that was programmed last, and programs it in SLC mode.
    pub(super) fn back_up_lower_pages(&mut self, part: &Part) {
        let pages = part.pages();
        let before = |page: u32| pages.partners(page).filter(|other| *other < page).max();
        let lower = (0..part.geometry.pages_per_block).map(before).collect();
        let slc = part.timing.slc.as_ref().map_or(part.timing.program[0].least, |slc| slc.program);
        self.lower = (lower, self.clocks.nand.whole(slc));
        self.same_write = None;
        self.update_openings();
    }

    /// The delay of a grant at `now` by the turnaround of the bus after data out: the latches wait, with chip
    /// enable low.
    #[inline(always)]
    pub(super) fn late(&self, bus: &Bus, now: Instant) -> Duration {
        self.clocks.host.whole(bus.turnaround(now + self.select))
    }

    /// The time of one cycle, in whole periods of the controller's clock.
    pub(super) fn cycle(&self, part: &Part, cycle: Cycle) -> (crate::Stage, Duration) {
        let (stage, time) = timed(part, self.clocks, cycle);
        (stage, self.burst_time(time))
    }
}

/// The number of a page in its block, and the blocks of the planes of the command.
#[inline]
fn address(geometry: &Geometry, page: PageId, planes: u32) -> (u32, impl Iterator<Item = PlaneBlock> + '_) {
    let (block, offset) = geometry.split(page);
    let number = geometry.page_in_block(offset);
    let first = offset - number * geometry.planes_per_row;
    (number, geometry.plane_blocks(block, first..first + planes))
}

/// The time of data out before the burst, and the wait of the burst.
fn before_burst(part: &Part, clocks: Clocks, shape: &Shape) -> (PhaseTimes, Duration) {
    let cycles = chain::partial_data_out(shape, Bytes(0));
    let (last, others) = cycles.split_last().expect("data out have a cycle");
    (sum(part, clocks, others), last.time(&part.bus, part.timing.plane_busy).1)
}

fn timed(part: &Part, clocks: Clocks, cycle: Cycle) -> (crate::Stage, Duration) {
    let (stage, time) = cycle.time(&part.bus, part.timing.plane_busy);
    (stage, clocks.host.whole(time))
}

fn sum(part: &Part, clocks: Clocks, cycles: &[Cycle]) -> PhaseTimes {
    let mut times = BusTimes::default();
    for cycle in cycles {
        let (stage, time) = timed(part, clocks, *cycle);
        times.add(stage, time);
    }
    times.into()
}
