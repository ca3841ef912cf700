//! A logical unit: dies on one bus, driven by page accesses, without an FTL (NANDFlashSim, sections 6 and 8).
//!
//! The host keeps a number of accesses outstanding. Each access is split into pages, and a [`Scheduler`] maps
//! the pages to dies and planes. The queued pages of a die are combined into multi-plane commands and cache
//! sequences as far as the options of the unit and the plane addressing rule allow. The commands of the dies
//! interleave as the bus allows.

mod placement;
mod queue;
mod report;
pub mod scheduler;
#[cfg(test)]
mod tests;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Calendar, Complaints, Duration, Histogram, Instant, Schedule, Seed};

use crate::chips::{Event, Violations, Wiring};
use crate::clock::ClockPeriods;
use crate::geometry::{DieId, Geometry, Layout, PageId, PlaneGroupId};
use crate::{Chips, Command, CommandCompletion, LatencyModel, Operation, Part, Span};

pub use placement::{Scheduler, Shape, UnitLocation};
use queue::{Queues, Work};
pub use report::UnitReport;
pub use scheduler::SchedulerKind;

/// The configuration of a logical unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitFile {
    /// Dies on the bus.
    pub dies: u32,
    /// Queue depth: accesses that the host keeps outstanding.
    #[serde(default = "native_command_queue")]
    pub queue_depth: u32,
    /// Placement and order of pages.
    #[serde(default)]
    pub scheduler: SchedulerKind,
    /// Whether pages that satisfy the plane addressing rule are combined into multi-plane commands.
    #[serde(default)]
    pub multi_plane: bool,
    /// Whether consecutive reads and programs of a die use the cache register.
    #[serde(default)]
    pub cache: bool,
    /// Whether the dies share one chip enable.
    #[serde(default = "yes")]
    pub shared_enable: bool,
    /// Whether the status is read after every program and erase.
    #[serde(default = "yes")]
    pub read_status: bool,
    /// The clock domains.
    #[serde(default)]
    pub clocks: ClockPeriods,
    /// The model of array times.
    #[serde(default)]
    pub latency: LatencyModel,
    /// Whether an exceeded limit of the part ends the run; otherwise it is counted.
    #[serde(default)]
    pub fatal_limits: bool,
}

/// 32, as in the paper's I/O queue (section 8.1).
fn native_command_queue() -> u32 {
    32
}

fn yes() -> bool {
    true
}

impl UnitFile {
    /// A logical unit of this many dies with only legacy operations.
    pub fn legacy(dies: u32) -> Self {
        Self {
            dies,
            queue_depth: native_command_queue(),
            scheduler: SchedulerKind::default(),
            multi_plane: false,
            cache: false,
            shared_enable: true,
            read_status: true,
            clocks: ClockPeriods::default(),
            latency: LatencyModel::default(),
            fatal_limits: false,
        }
    }

    /// The geometry of a unit of `part`, or all complaints.
    pub fn check(&self, part: &Part) -> Result<Geometry, Complaints> {
        let mut wrong = Complaints::default();
        wrong.require((1..=64).contains(&self.dies), "dies", self.dies, "from 1 to 64");
        let depth = self.queue_depth;
        wrong.require((1..=65_536).contains(&depth), "queue_depth", depth, "from 1 to 65536");
        let registers = part.geometry.registers;
        wrong.require(
            !self.cache || registers > 1,
            "cache",
            "true",
            format!("false: the part has {registers} register a plane"),
        );
        for (key, period) in [("clocks.host", self.clocks.host), ("clocks.nand", self.clocks.nand)] {
            let fits = period.is_none_or(|p| (Duration::from_ps(1)..=Duration::from_us(1)).contains(&p));
            wrong.require(fits, key, period.unwrap_or_default(), "a period from 1ps to 1us");
        }
        wrong.into_result(())?;
        Layout::on_one_channel(self.dies, Some(part.geometry.planes)).check(part)
    }
}

/// An access of the host. Pages are counted through the unit in program units. A program unit is a page, or
/// for a one-shot part the pages of a word line in one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads `count` pages from `page` on.
    Read {
        /// The first page.
        page: u32,
        /// Number of pages.
        count: u32,
    },
    /// Writes `count` pages from `page` on.
    Write {
        /// The first page.
        page: u32,
        /// Number of pages.
        count: u32,
    },
    /// Copies within the die, page by page; source and destination are in the same planes. A one-shot part
    /// has no copyback of a word line: its pages are read and written over the bus.
    Copy {
        /// The first page.
        page: u32,
        /// The first destination page.
        to: u32,
        /// Number of pages.
        count: u32,
    },
    /// Erases the blocks of `count` pages from `page` on, one block for each page.
    Erase {
        /// The first page.
        page: u32,
        /// Number of pages.
        count: u32,
    },
}

impl Access {
    /// The first page and the number of pages.
    fn pages(self) -> (u32, u32) {
        match self {
            Self::Read { page, count }
            | Self::Write { page, count }
            | Self::Copy { page, count, .. }
            | Self::Erase { page, count } => (page, count),
        }
    }

    /// Whether data are transferred between host and unit.
    fn moves_data(self) -> bool {
        matches!(self, Self::Read { .. } | Self::Write { .. })
    }
}

/// The end of a run because a limit of the part was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Time of the end.
    pub at: Instant,
    /// The first access of the command, counted from 0.
    pub access: u64,
    /// The first physical page of the command.
    pub page: PageId,
    /// Counts of all exceeded limits since the beginning.
    pub limits: Violations,
}

impl std::fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Violations { order, programs, endurance, copyback } = self.limits;
        write!(
            f,
            "access {} exceeded a limit of the part at {}: page {} (out of order {order}, too many programs {programs}, \
             beyond endurance {endurance}, copyback across planes {copyback})",
            self.access,
            self.at - Instant::ZERO,
            self.page.0
        )
    }
}

impl std::error::Error for LimitExceeded {}

/// The reason why a unit did not execute all accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// A limit of the part was exceeded, and limits are fatal.
    Limit(LimitExceeded),
    /// An access extends beyond the last page. It was not started, and the accesses before it are complete.
    OutOfRange {
        /// The access, counted from 0.
        access: u64,
        /// First page of the access, or its first destination page.
        page: u32,
        /// Number of its pages.
        count: u32,
        /// Pages of the unit.
        pages: u32,
    },
}

impl std::fmt::Display for UnitError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit(broken) => broken.fmt(out),
            Self::OutOfRange { access, page, count, pages } => {
                write!(out, "access {access}: found {count} pages from {page} on, wanted them below {pages}")
            }
        }
    }
}

impl std::error::Error for UnitError {}

/// An outstanding access.
#[derive(Clone, Copy, Debug)]
struct Slot {
    number: u64,
    /// Pages and blocks of the access that are not complete.
    left: u32,
    since: Instant,
    /// Bytes that the access transfers between host and unit.
    bytes: Bytes,
}

/// A logical unit.
pub struct LogicalUnit {
    chips: Chips,
    calendar: Calendar<Event>,
    scheduler: Box<dyn Scheduler>,
    shape: Shape,
    /// Maximum planes of a command.
    most: u32,
    cache: bool,
    fatal_limits: bool,
    /// Data bytes of a program unit in one plane.
    unit: Bytes,
    queues: Queues,
    slots: Vec<Slot>,
    free: Vec<u32>,
    arrived: u64,
    parts: u64,
    ended: u64,
    bytes: u64,
    die_waited: u128,
    latency: Histogram,
    broken: Option<LimitExceeded>,
}

impl LogicalUnit {
    /// The unit of `part`, or all complaints.
    ///
    /// Ranges of the part's times are drawn from `seed`.
    pub fn new(part: &Part, file: &UnitFile, seed: Seed) -> Result<Self, Complaints> {
        let geometry = file.check(part)?;
        let wiring = Wiring {
            clocks: file.clocks.clocks(),
            shared_enable: file.shared_enable && file.dies > 1,
            read_status: file.read_status,
            latency: file.latency,
            seed,
        };
        Ok(Self::of(Chips::counting(part.clone(), geometry, wiring), file))
    }

    fn of(chips: Chips, file: &UnitFile) -> Self {
        let (part, geometry) = (chips.part(), chips.geometry());
        let scheduler = file.scheduler.build();
        let rows = geometry.blocks_per_plane * (geometry.pages_per_block / part.pages_per_program());
        let empty = Slot { number: 0, left: 0, since: Instant::ZERO, bytes: Bytes(0) };
        Self {
            shape: Shape { dies: file.dies, planes: geometry.planes_per_row, rows },
            most: if file.multi_plane { geometry.planes_per_row } else { 1 },
            cache: file.cache,
            fatal_limits: file.fatal_limits,
            unit: geometry.page_size * u64::from(part.pages_per_program()),
            queues: Queues::new(file.dies, scheduler.allows_overtaking()),
            slots: vec![empty; file.queue_depth as usize],
            free: (0..file.queue_depth).rev().collect(),
            scheduler,
            calendar: Calendar::new(),
            arrived: 0,
            parts: 0,
            ended: 0,
            bytes: 0,
            die_waited: 0,
            latency: Histogram::default(),
            broken: None,
            chips,
        }
    }

    /// Program units of the whole logical unit.
    pub fn pages(&self) -> u32 {
        self.shape.dies * self.shape.planes * self.shape.rows
    }

    /// Data bytes of a program unit in one plane.
    pub fn page_size(&self) -> Bytes {
        self.unit
    }

    /// The shape of the unit, for schedulers.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Records every stage from now on; see [`LogicalUnit::take_spans`].
    pub fn record(&mut self) {
        self.chips.record();
    }

    /// The stages recorded so far.
    pub fn take_spans(&mut self) -> Vec<Span> {
        self.chips.take_spans()
    }

    /// Runs `accesses` in a closed loop: the next one is submitted when an outstanding one completes.
    ///
    /// # Errors
    /// If limits are fatal, the first exceeded limit, which ends the run. Otherwise the first access beyond
    /// the unit, after all accesses before it are complete.
    pub fn run(&mut self, accesses: impl IntoIterator<Item = Access>) -> Result<(), UnitError> {
        let mut accesses = accesses.into_iter();
        let mut beyond = self.submit(&mut accesses).err();
        while let Some(event) = self.calendar.advance() {
            let done = self.chips.handle(event, &mut self.calendar);
            if let Some(done) = done {
                self.done(&done);
                if let Some(broken) = self.broken {
                    return Err(UnitError::Limit(broken));
                }
                if beyond.is_none() {
                    beyond = self.submit(&mut accesses).err();
                }
            }
            if let Some(die) = die_of(event) {
                self.issue(1 << die.0);
            }
        }
        beyond.map_or(Ok(()), Err)
    }

    /// Checks that the unit has the pages of an access.
    fn check(&self, access: Access) -> Result<(), UnitError> {
        let (page, count) = access.pages();
        let to = if let Access::Copy { to, .. } = access { to } else { page };
        let pages = self.pages();
        let fits = |page: u32| u64::from(page) + u64::from(count) <= u64::from(pages);
        match [page, to].into_iter().find(|page| !fits(*page)) {
            Some(page) => Err(UnitError::OutOfRange { access: self.arrived, page, count, pages }),
            None => Ok(()),
        }
    }

    /// Submits accesses while the queue has free slots, up to the first that is beyond the unit.
    fn submit(&mut self, accesses: &mut impl Iterator<Item = Access>) -> Result<(), UnitError> {
        let (mut dies, mut checked) = (0, Ok(()));
        while let Some(slot) = self.free.last().copied() {
            let Some(access) = accesses.next() else { break };
            let (from, count) = access.pages();
            checked = self.check(access);
            if checked.is_err() {
                break;
            }
            if count == 0 {
                continue;
            }
            self.free.pop();
            let (number, since) = (self.arrived, self.calendar.now());
            let bytes = if access.moves_data() { self.unit * u64::from(count) } else { Bytes(0) };
            self.slots[slot as usize] = Slot { number, left: 0, since, bytes };
            self.arrived += 1;
            // Stripe by stripe, so that the pages of a word line written by one program are read one after
            // the other.
            let (stripe, mut n) = (self.shape.dies * self.shape.planes, 0);
            while n < count {
                let to = n + (count - n).min(stripe - (from + n) % stripe);
                dies |= self.enqueue_stripe(access, n..to, slot);
                n = to;
            }
        }
        self.issue(dies);
        checked
    }

    /// Queues the program units of an access within one stripe. Returns their dies (bit n for die n).
    #[inline]
    fn enqueue_stripe(&mut self, access: Access, units: Range<u32>, slot: u32) -> u64 {
        let pages = self.chips.part().pages_per_program();
        let (from, _) = access.pages();
        let mut dies = 0;
        let reads = match access {
            Access::Read { .. } => pages,
            // A copyback of a whole word line does not exist: its pages are transferred out and in again.
            Access::Copy { .. } if pages > 1 => pages,
            _ => 0,
        };
        for bit in 0..reads {
            for n in units.clone() {
                dies |= self.push(from + n, bit, Work::Read, slot);
            }
        }
        for n in units {
            let (page, work) = match access {
                Access::Read { .. } => break,
                Access::Copy { to, .. } if pages > 1 => (to, Work::Write),
                Access::Copy { page, to, .. } => (page, Work::Copy(self.page_of(to + n, 0).1)),
                Access::Write { page, .. } => (page, Work::Write),
                Access::Erase { page, .. } => (page, Work::Erase),
            };
            dies |= self.push(page + n, 0, work, slot);
        }
        dies
    }

    /// Queues the page that stores `bit` of program unit `n` for its die. Returns the bit of this die.
    #[inline]
    fn push(&mut self, n: u32, bit: u32, work: Work, slot: u32) -> u64 {
        let (die, page) = self.page_of(n, bit);
        self.slots[slot as usize].left += 1;
        let number = self.parts;
        self.parts += 1;
        self.queues.push(die, queue::Part { work, page, slot, number });
        1 << die.0
    }

    /// The address of the page that stores `bit` of a program unit; parts that program page by page have only
    /// bit 0.
    #[inline]
    fn page_of(&self, n: u32, bit: u32) -> (DieId, PageId) {
        let geometry = self.chips.geometry();
        let UnitLocation { die, plane, row } = self.scheduler.place(n, &self.shape);
        let units = geometry.pages_per_block / self.chips.part().pages_per_program();
        let block = geometry.first_block(PlaneGroupId(die)).0 + row / units;
        let offset = row % units * geometry.pages_per_program + bit * geometry.planes_per_row + plane;
        (DieId(die), geometry.page(crate::BlockSetId(block), offset))
    }

    /// Issues the next commands of idle dies. `dies` marks the dies whose state has changed (bit n for die
    /// n).
    #[inline]
    fn issue(&mut self, mut dies: u64) {
        if self.queues.is_in_order() {
            while let Some(die) = self.queues.earliest() {
                if !self.issue_to(die) {
                    return;
                }
            }
            return;
        }
        while dies != 0 {
            self.issue_to(DieId(dies.trailing_zeros()));
            dies &= dies - 1;
        }
    }

    /// Issues the next command of `die`, if it accepts one.
    #[inline]
    fn issue_to(&mut self, die: DieId) -> bool {
        if !self.chips.is_idle(die) {
            return false;
        }
        let Some(group) = self.queues.next(die, self.chips.geometry(), self.most) else { return false };
        let (planes, first) = (group.planes, group.first);
        let behind = group.behind.filter(|_| self.cache);
        let continues = self.queues.is_committed(die);
        let mut committed = None;
        let operation = match first.work {
            Work::Read => {
                let next = behind.filter(|(next, count)| next.work == Work::Read && *count == planes);
                committed = next.map(|(_, count)| count);
                match next {
                    None if !continues => Operation::Read,
                    next => Operation::ReadCache { first: !continues, next: next.map(|(part, _)| part.page) },
                }
            }
            Work::Write if behind.is_some_and(|(next, _)| next.work == Work::Write) => {
                Operation::ProgramCache
            }
            Work::Write => Operation::Program,
            Work::Copy(to) => Operation::Copyback { to },
            Work::Erase => Operation::Erase,
        };
        if !self.chips.takes(die, operation, self.calendar.now()) {
            // During a cache program only programs are legal; the command is retried when the array is idle.
            return false;
        }
        self.queues.issue(die, planes, committed);
        let bytes = self.chips.geometry().page_size * u64::from(planes);
        let command = Command::new(operation, first.page, planes, bytes);
        self.chips.begin(die, command, &mut self.calendar);
        true
    }

    /// Handles the completion of a command, which may complete accesses.
    fn done(&mut self, done: &CommandCompletion) {
        let now = self.calendar.now();
        for _ in 0..self.queues.finished(done.die) {
            let part = self.queues.take(done.die);
            let slot = &mut self.slots[part.slot as usize];
            if done.failed && self.fatal_limits {
                let limits = self.chips.violations();
                let (access, page) = (slot.number, part.page);
                self.broken.get_or_insert(LimitExceeded { at: now, access, page, limits });
            }
            slot.left -= 1;
            if slot.left == 0 {
                self.ended += 1;
                self.bytes += slot.bytes.0;
                self.latency.record(now - slot.since);
                self.free.push(part.slot);
            }
            let served = done.bus + done.bus_wait + done.array;
            self.die_waited += u128::from((now - slot.since).saturating_sub(served).ps());
        }
    }

    /// The report so far.
    pub fn report(&self) -> UnitReport {
        let now = self.calendar.now();
        let elapsed = now - Instant::ZERO;
        let stages = self.chips.stages(elapsed);
        UnitReport {
            accesses: self.ended,
            bytes: Bytes(self.bytes),
            elapsed,
            latency: self.latency.clone(),
            energy: stages.price(&self.chips.part().power),
            stages,
            stages_by_kind: std::array::from_fn(|kind| self.chips.stages_of_kind(kind, elapsed)),
            bus_busy: Duration::from_ps(self.chips.bus_busy(now).sum()),
            bus_waited: Duration::from_ps(self.chips.bus_waited().sum()),
            die_waited: self.die_waited,
            array_busy: self.chips.array_busy(now).map(Duration::from_ps).collect(),
            counts: self.chips.counts(),
            violations: self.chips.violations(),
        }
    }
}

/// The die that may accept a command after `event`.
#[inline]
fn die_of(event: Event) -> Option<DieId> {
    match event {
        Event::ArrayDone(die)
        | Event::RegisterTransferred(die)
        | Event::GrantEnded(die)
        | Event::CacheProgramDone(die) => Some(die),
        Event::BusFree(_) | Event::Suspend(_) | Event::ArraySuspended(_) => None,
    }
}
