//! The times of all holds of the bus and of the array, worked out once.

use wordline_kernel::{Bytes, Duration, Factor, Instant};

use super::bus::Bus;
use super::changed::TimeFactors;
use super::command::Command;
use super::{Operation, Step, Wiring, hold_of};
use crate::chain::{self, BusTimes, Cycle, Hold, Shape};
use crate::clock::Clocks;
use crate::geometry::{Geometry, PageId, PlaneBlock};
use crate::onfi::LunTimes;
use crate::part::BusTiming;
use crate::{CellMode, Latency, Part, Stage};

/// The time of one hold of the bus.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HoldTimes {
    /// Picoseconds of CLE, ALE, TIR and TOR: the first four of [`Stage`](crate::Stage).
    pub(super) by_stage: [u64; 4],
    /// All of it.
    pub(super) total: Duration,
}

impl HoldTimes {
    /// The same with a longer wait before its first latch.
    #[inline]
    pub(super) fn later(mut self, late: Duration) -> Self {
        self.by_stage[0] += late.ps();
        self.total += late;
        self
    }
}

impl From<BusTimes> for HoldTimes {
    fn from(times: BusTimes) -> Self {
        let BusTimes { cle, ale, tir, tor } = times;
        Self { by_stage: [cle, ale, tir, tor].map(Duration::ps), total: times.total() }
    }
}

/// The start of a command: its first hold of the bus, and the array work after it where only data out follow and the
/// time is the same for all pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) hold: HoldTimes,
    pub(super) array: Option<(Stage, Duration)>,
}

/// Times that do not depend on where a page is, by hold and number of planes, and the array's by page type.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) clocks: Clocks,
    /// The factors with which they are those of the part, and that of commands of marked dies; none where they are.
    pub(super) factors: Option<(TimeFactors, Factor)>,
    bus: BusTiming,
    pub(super) holds: Vec<[HoldTimes; Hold::ALL.len()]>,
    /// By number of planes and kind of operation; worked out of the others.
    openings: Vec<[Opening; Operation::KINDS]>,
    /// Data out without the last cycle, which brings the burst, and the wait of that one, by number of planes.
    pub(super) data_out_base: Vec<(HoldTimes, Duration)>,
    /// Bytes of full pages, by number of planes.
    full: Vec<Bytes>,
    pub(super) shared_enable: bool,
    latency: Latency,
    /// The time to sense, and to program, if all pages take the same.
    same_sense: Option<Duration>,
    same_write: Option<Duration>,
    /// Whether the cells say how long the array works.
    asks: bool,
    /// For each page of a block the page of its word line that is copied first, where that is done, and what it takes to
    /// program the copy.
    lower: (Vec<Option<u32>>, Duration),
    /// The last data out that were not of full pages, their planes and bytes: they mostly are of one length.
    partial: (u32, Bytes, HoldTimes),
    erase: Duration,
    /// Chip enable to the first latch, and data out to the next one.
    pub(super) select: Duration,
    pub(super) turnaround: Duration,
    pub(super) turn: Duration,
    /// From a suspend until the array rests, of a program and of an erase; and what a resume takes longer than the time
    /// that was left.
    pub(super) rest: [Duration; 2],
    pub(super) resume: Duration,
}

impl Times {
    /// The times of a part, with the prefix of the mode that its commands are spelled in.
    pub(super) fn of(part: &Part, geometry: &Geometry, wiring: &Wiring, spelled: CellMode) -> Self {
        let Wiring { clocks, shared_enable, .. } = *wiring;
        let shapes = (1..=geometry.planes_per_row)
            .map(|planes| Shape { mode: spelled, ..Shape::of(part, planes, shared_enable) });
        let nand = |time: Duration| clocks.nand.whole(time);
        let times = |hold: Hold, shape: &Shape| sum(part, clocks, &hold.cycles(shape));
        let latency = Latency::new(part, wiring.latency, wiring.seed);
        let mut times = Self {
            openings: Vec::new(),
            bus: part.bus,
            holds: shapes.clone().map(|shape| Hold::ALL.map(|hold| times(hold, &shape))).collect(),
            data_out_base: shapes.clone().map(|shape| before_burst(part, clocks, &shape)).collect(),
            full: shapes.map(|shape| shape.page * u64::from(shape.planes)).collect(),
            shared_enable,
            same_sense: latency.same_read().map(nand),
            same_write: latency.same_program().map(nand),
            asks: false,
            latency,
            lower: Default::default(),
            partial: (0, Bytes(0), HoldTimes::default()),
            erase: nand(part.timing.erase),
            select: clocks.host.whole(part.bus.t_cs),
            turnaround: part.bus.t_rhw,
            turn: nand(part.timing.cache_busy),
            rest: part.timing.suspend.map(nand),
            resume: nand(LunTimes::of(part).resume),
            clocks,
            factors: None,
        };
        times.note_openings();
        times
    }

    /// Works out the openings again.
    pub(super) fn note_openings(&mut self) {
        let known = |stage, time| (stage, self.in_array(stage, time));
        let sense = self.same_sense.map(|time| known(Stage::Ton, time));
        let write = self.same_write.map(|time| known(Stage::Tin, time));
        let erase = (!self.asks).then(|| known(Stage::Ber, self.erase));
        let arrays = [sense, None, write, None, None, erase];
        let of_planes = |holds: &[HoldTimes; Hold::ALL.len()]| {
            let opening =
                |kind| Opening { hold: holds[Operation::OPENINGS[kind] as usize], array: arrays[kind] };
            std::array::from_fn(opening)
        };
        self.openings = self.holds.iter().map(of_planes).collect();
    }

    /// The cells are asked from now on: no time is known beforehand but that of sensing, where it is that of the data sheet.
    pub(super) fn ask(&mut self, sense: bool) {
        if sense {
            self.same_sense = None;
        }
        (self.same_write, self.asks) = (None, true);
        self.note_openings();
    }

    /// Erasing by the data sheet.
    pub(super) fn erase(&self) -> Duration {
        self.erase
    }

    /// The start of a command of this kind.
    #[inline]
    pub(super) fn opening(&self, kind: u8, planes: u32) -> &Opening {
        &self.openings[planes as usize - 1][usize::from(kind)]
    }

    /// The time of the hold of the bus that a step of a command takes.
    pub(super) fn of_step(&self, geometry: &Geometry, step: Step, command: &Command) -> HoldTimes {
        match step {
            Step::DataOut => self.data_out(command),
            step => *self.hold(hold_of(geometry, step, command), command.planes),
        }
    }

    /// Data out of a command; what the last one of a part of a page took is not worked out again.
    #[inline(always)]
    pub(super) fn data_out_soon(&mut self, command: &Command) -> &HoldTimes {
        if command.bytes == self.full[command.planes as usize - 1] {
            return self.hold(Hold::DataOut, command.planes);
        }
        if (self.partial.0, self.partial.1) != (command.planes, command.bytes) {
            self.note_partial(command);
        }
        &self.partial.2
    }

    /// Forgets the last data out of a part of a page.
    pub(super) fn forget_partial(&mut self) {
        self.partial = (0, Bytes(0), HoldTimes::default());
    }

    #[inline(never)]
    fn note_partial(&mut self, command: &Command) {
        self.partial = (command.planes, command.bytes, self.data_out(command));
    }

    /// The time of a hold of the bus with full pages.
    #[inline]
    fn hold(&self, hold: Hold, planes: u32) -> &HoldTimes {
        &self.holds[planes as usize - 1][hold as usize]
    }

    /// Data out: full pages from the table, parts of pages as one burst.
    fn data_out(&self, command: &Command) -> HoldTimes {
        let at = command.planes as usize - 1;
        if command.bytes == self.full[at] {
            return *self.hold(Hold::DataOut, command.planes);
        }
        let (mut times, wait) = self.data_out_base[at];
        let last = self.clocks.host.whole(self.in_burst(wait + self.bus.burst_out(command.bytes)));
        times.by_stage[3] += last.ps();
        times.total += last;
        times
    }

    /// Sensing of the pages of `planes` planes from `page` on.
    #[inline]
    pub(super) fn sense(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        self.same_sense.unwrap_or_else(|| self.sense_of(geometry, page, planes))
    }

    /// The same, where not all pages take the same.
    #[inline(never)]
    fn sense_of(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        let (number, blocks) = address(geometry, page, planes);
        self.clocks.nand.whole(self.latency.read(number, blocks))
    }

    /// Programming of the pages of `planes` planes from `page` on.
    #[inline]
    pub(super) fn write(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        self.same_write.unwrap_or_else(|| self.write_of(geometry, page, planes))
    }

    /// The same, where not all pages take the same.
    #[inline(never)]
    fn write_of(&self, geometry: &Geometry, page: PageId, planes: u32) -> Duration {
        let (number, blocks) = address(geometry, page, planes);
        let time = self.clocks.nand.whole(self.latency.program(number, blocks));
        let Some(lower) = self.lower.0.get(number as usize).copied().flatten() else { return time };
        let (_, blocks) = address(geometry, page, planes);
        time + self.clocks.nand.whole(self.latency.read(lower, blocks)) + self.lower.1
    }

    /// From now on, programs of pages that share their cells take as much longer as a copy takes of the page of the same
    /// word line that was programmed last: it is sensed, and programmed with one bit a cell.
    pub(super) fn back_up_lower_pages(&mut self, part: &Part) {
        let pages = part.pages();
        let before = |page: u32| pages.partners(page).filter(|other| *other < page).max();
        let lower = (0..part.geometry.pages_per_block).map(before).collect();
        let slc = part.timing.slc.as_ref().map_or(part.timing.program[0].least, |slc| slc.program);
        self.lower = (lower, self.clocks.nand.whole(slc));
        self.same_write = None;
        self.note_openings();
    }

    /// The delay of a hold that begins at `now` by the turnaround of the bus after data out: its latches wait,
    /// with chip enable low.
    #[inline(always)]
    pub(super) fn late(&self, bus: &Bus, now: Instant) -> Duration {
        self.clocks.host.whole(bus.turnaround(now + self.select))
    }

    /// The time of one cycle, in whole periods of the controller's clock.
    pub(super) fn cycle(&self, part: &Part, cycle: Cycle) -> (crate::Stage, Duration) {
        let (stage, time) = timed(part, self.clocks, cycle);
        (stage, self.in_burst(time))
    }
}

/// The number of a page in its block, and the blocks of the planes that take part.
#[inline]
fn address(geometry: &Geometry, page: PageId, planes: u32) -> (u32, impl Iterator<Item = PlaneBlock> + '_) {
    let (block, offset) = geometry.split(page);
    let number = geometry.page_in_block(offset);
    let first = offset - number * geometry.planes_per_row;
    (number, geometry.plane_blocks(block, first..first + planes))
}

/// Data out up to the last cycle, and the wait of that one.
fn before_burst(part: &Part, clocks: Clocks, shape: &Shape) -> (HoldTimes, Duration) {
    let cycles = chain::part_of_data_out(shape, Bytes(0));
    let (last, others) = cycles.split_last().expect("data out have a cycle");
    (sum(part, clocks, others), last.time(&part.bus, part.timing.plane_busy).1)
}

fn timed(part: &Part, clocks: Clocks, cycle: Cycle) -> (crate::Stage, Duration) {
    let (stage, time) = cycle.time(&part.bus, part.timing.plane_busy);
    (stage, clocks.host.whole(time))
}

fn sum(part: &Part, clocks: Clocks, cycles: &[Cycle]) -> HoldTimes {
    let mut times = BusTimes::default();
    for cycle in cycles {
        let (stage, time) = timed(part, clocks, *cycle);
        times.add(stage, time);
    }
    times.into()
}
