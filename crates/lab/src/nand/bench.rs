//! Runs operations on chips without other load, and records every stage.

use std::collections::{BTreeSet, VecDeque};

use wordline_kernel::{Bytes, Calendar, Complaints, Duration, Instant, Schedule};
use wordline_nand::chips::Wiring;
use wordline_nand::energy::StageTimes;
use wordline_nand::geometry::Layout;
use wordline_nand::{
    Chips, Command, DieId, Event, Geometry, Operation, PageId, Part, PlaneGroupId, Span, Stage,
};

use super::as_arguments;
use super::operations::{Item, Kind};
use crate::error::Result;

/// Greatest number of blocks per plane that are modelled. More blocks would behave the same. Chosen: a long
/// sequence of programs fits before the first block is used again.
const KEPT_BLOCKS: u32 = 64;
/// Greatest number of dies. Chosen: more are hard to see in a time line.
const MOST_DIES: u32 = 64;

/// Number and wiring of the chips.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Channels, packages and dies. All planes of a die form one plane group.
    pub layout: Layout,
    /// Whether dies share a chip enable, and whether commands read the status.
    pub wiring: Wiring,
}

impl Setup {
    /// A setup with all dies on one channel, each with its own chip enable.
    pub fn dies(dies: u32) -> Self {
        Self { layout: Layout::on_one_channel(dies, None), wiring: Wiring::default() }
    }
}

/// Chips under test.
#[derive(Clone, Debug)]
pub struct Bench {
    part: Part,
    geometry: Geometry,
    setup: Setup,
}

/// A completed operation.
#[derive(Clone, Debug)]
pub struct CompletedOperation {
    /// Name of the operation, from [`Item::name`].
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Number of its die.
    pub die: u32,
    /// Time at which the die accepted the command.
    pub begin: Instant,
    /// End of the data output, or of the array operation.
    pub end: Instant,
    /// Time in each stage.
    pub stages: StageTimes,
    /// Bytes of data that it read, programmed or copied; 0 for an erase.
    pub bytes: Bytes,
    /// Number of pages, over all planes and all bits of a one-shot word line. Number of blocks for an erase.
    pub units: u32,
}

/// The completed operations and their stages.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Every stage, in order of the beginnings.
    pub spans: Vec<Span>,
    /// Every operation. Spans refer to operations by this index.
    pub operations: Vec<CompletedOperation>,
}

impl Bench {
    /// Makes chips of `part`. The error names the limit that the setup exceeds.
    pub fn new(part: &Part, setup: Setup) -> Result<Self> {
        let mut file = (**part).clone();
        file.geometry.blocks_per_plane = file.geometry.blocks_per_plane.min(KEPT_BLOCKS);
        let part = file.check().map_err(|wrong| as_arguments(wrong, "part: "))?;
        let named = |mut wrong: Complaints| {
            let short = [("packages_per_channel", "packages"), ("dies_per_package", "dies")];
            for complaint in &mut wrong.0 {
                for (long, short) in short {
                    complaint.key = complaint.key.replace(long, short);
                }
            }
            as_arguments(wrong, "--")
        };
        let Layout { channels, packages_per_channel, dies_per_package, .. } = setup.layout;
        let all = u64::from(channels) * u64::from(packages_per_channel) * u64::from(dies_per_package);
        if all > u64::from(MOST_DIES) {
            let mut wrong = Complaints::default();
            wrong.add("dies", format!("{all} on all channels"), format!("at most {MOST_DIES}"));
            return Err(named(wrong));
        }
        let geometry = setup.layout.check(&part).map_err(named)?;
        Ok(Self { part, geometry, setup })
    }

    /// Total number of dies.
    pub fn dies(&self) -> u32 {
        self.geometry.dies()
    }

    /// Number of channels that the operations of `trace` used.
    pub(super) fn channels_of(&self, trace: &Trace) -> u32 {
        let on = |one: &CompletedOperation| self.geometry.channel_of(DieId(one.die));
        trace.operations.iter().map(on).collect::<BTreeSet<_>>().len() as u32
    }

    /// The part.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// Runs `items`. Each die runs its items in order; the dies work in parallel.
    pub fn run(&self, items: &[Item]) -> Trace {
        let mut chips = Chips::counting(self.part.clone(), self.geometry, self.setup.wiring);
        chips.record();
        let queues = self.queues(items);
        let flying = vec![VecDeque::new(); queues.len()];
        let mut running =
            Running { chips, calendar: Calendar::new(), queues, flying, operations: Vec::new() };
        (0..self.dies()).for_each(|die| running.start_next(DieId(die)));
        while let Some(event) = running.calendar.advance() {
            running.handle(event);
        }
        let Running { mut chips, mut operations, .. } = running;
        let spans = chips.take_spans();
        for span in &spans {
            let planes = span.planes.count_ones().max(1);
            operations[span.command as usize].stages.add(span.stage, span.length, planes);
        }
        Trace { spans, operations }
    }

    /// The commands of each die, in order.
    fn queues(&self, items: &[Item]) -> Vec<VecDeque<(Command, CompletedOperation)>> {
        let mut queues = vec![VecDeque::new(); self.dies() as usize];
        let mut places: Vec<PageCursor> = (0..self.dies()).map(|die| PageCursor::of(self, die)).collect();
        for item in items {
            for die in &item.dies {
                let place = &mut places[*die as usize];
                let named = (0..item.times).map(|n| (self.command(item, n, place), self.carried(item, *die)));
                queues[*die as usize].extend(named);
            }
        }
        queues
    }

    fn command(&self, item: &Item, n: u32, places: &mut PageCursor<'_>) -> Command {
        let last = n + 1 == item.times;
        let page = match item.kind {
            Kind::Read | Kind::ReadCache | Kind::Copyback => places.read(),
            Kind::Program | Kind::ProgramCache => places.program(),
            Kind::Erase => places.erase(),
        };
        let operation = match item.kind {
            Kind::Read => Operation::Read,
            Kind::ReadCache => {
                let next = if last { None } else { Some(places.next_read()) };
                Operation::ReadCache { first: n == 0, next }
            }
            // A sequence of cache programs ends with the normal confirm cycle.
            Kind::ProgramCache if !last => Operation::ProgramCache,
            Kind::Program | Kind::ProgramCache => Operation::Program,
            Kind::Copyback => Operation::Copyback { to: places.program() },
            Kind::Erase => Operation::Erase,
        };
        let bytes = match item.kind {
            Kind::Read | Kind::ReadCache => self.geometry.page_size * u64::from(item.planes),
            _ => Bytes(0),
        };
        Command::new(operation, page, item.planes, bytes)
    }

    fn carried(&self, item: &Item, die: u32) -> CompletedOperation {
        let per_plane = match item.kind {
            Kind::Program | Kind::ProgramCache => self.part.pages_per_program(),
            _ => 1,
        };
        let units = item.planes * per_plane;
        let bytes =
            if item.kind == Kind::Erase { Bytes(0) } else { self.geometry.page_size * u64::from(units) };
        let (begin, end) = (Instant::ZERO, Instant::ZERO);
        CompletedOperation {
            name: item.name(),
            kind: item.kind,
            die,
            begin,
            end,
            stages: StageTimes::default(),
            bytes,
            units,
        }
    }
}

/// Chips while they run.
struct Running {
    chips: Chips,
    calendar: Calendar<Event>,
    /// Commands that wait, by die.
    queues: Vec<VecDeque<(Command, CompletedOperation)>>,
    /// Operations in progress, by die. A die has at most two, the second one queued behind the first.
    flying: Vec<VecDeque<usize>>,
    operations: Vec<CompletedOperation>,
}

impl Running {
    fn handle(&mut self, event: Event) {
        if let Some(done) = self.chips.handle(event, &mut self.calendar) {
            let first = self.flying[done.die.0 as usize].pop_front();
            self.operations[first.expect("what is done was begun")].end = self.calendar.now();
        }
        match event {
            Event::BusFree(_) | Event::Suspend(_) | Event::ArraySuspended(_) => {}
            Event::ArrayDone(die)
            | Event::RegisterTransferred(die)
            | Event::GrantEnded(die)
            | Event::CacheProgramDone(die) => {
                self.start_next(die);
            }
        }
    }

    /// Starts the next operation of a die, if the die accepts it.
    fn start_next(&mut self, die: DieId) {
        let at = die.0 as usize;
        let now = self.calendar.now();
        let Some((next, _)) = self.queues[at].front() else { return };
        if !self.chips.takes(die, next.operation, now) {
            return;
        }
        let (command, carried) = self.queues[at].pop_front().expect("there is a next one");
        self.flying[at].push_back(self.operations.len());
        self.operations.push(CompletedOperation { begin: now, ..carried });
        let taken = self.chips.start(die, command, &mut self.calendar);
        taken.expect("what a die is to do keeps to its pages and planes");
    }
}

/// Addresses for the next operations of a die. Reads and programs use blocks from 0 upwards, erases use
/// blocks from the last one downwards.
struct PageCursor<'a> {
    bench: &'a Bench,
    die: u32,
    read: u32,
    programmed: u32,
    erased: u32,
}

impl<'a> PageCursor<'a> {
    fn of(bench: &'a Bench, die: u32) -> Self {
        Self { bench, die, read: 0, programmed: 0, erased: 0 }
    }

    /// The `n`-th page of plane 0. After the last block, pages begin again with block 0.
    fn page(&self, n: u32) -> PageId {
        let geometry = &self.bench.geometry;
        let block = n / geometry.pages_per_block % geometry.blocks_per_plane;
        let first = geometry.first_block(PlaneGroupId(self.die * geometry.groups_per_die)).0;
        let page = n % geometry.pages_per_block;
        geometry.page(wordline_nand::BlockSetId(first + block), page * geometry.planes_per_row)
    }

    fn next_read(&self) -> PageId {
        self.page(self.read)
    }

    fn read(&mut self) -> PageId {
        let page = self.next_read();
        self.read += 1;
        page
    }

    fn program(&mut self) -> PageId {
        let page = self.page(self.programmed);
        self.programmed += self.bench.part.pages_per_program();
        page
    }

    fn erase(&mut self) -> PageId {
        let geometry = &self.bench.geometry;
        let block = geometry.blocks_per_plane - 1 - self.erased % geometry.blocks_per_plane;
        self.erased += 1;
        self.page(block * geometry.pages_per_block)
    }
}

impl Trace {
    /// The name of each operation, by serial number.
    pub fn names(&self) -> Vec<String> {
        self.operations.iter().map(|operation| operation.name.clone()).collect()
    }

    /// Time from the beginning to the end of the last stage or operation.
    pub fn elapsed(&self) -> Duration {
        let ends = self.operations.iter().map(|operation| operation.end);
        ends.chain(self.spans.iter().map(Span::end)).max().unwrap_or_default() - Instant::ZERO
    }
}

/// The stages that an operation can have, in the column order of tables.
pub(super) const STAGES: [Stage; 7] =
    [Stage::Cle, Stage::Ale, Stage::Tir, Stage::Tor, Stage::Tin, Stage::Ton, Stage::Ber];
