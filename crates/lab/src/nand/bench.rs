//! Operations on otherwise idle chips, with every stage recorded.

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

/// Blocks of a plane that are modelled, where the part has more: the rest would behave the same. Chosen:
/// enough for a long run of programs before the first block is used again.
const KEPT_BLOCKS: u32 = 64;
/// The most dies. Chosen: what a time line can show at a glance.
const MOST_DIES: u32 = 64;

/// Number and wiring of the chips.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Channels, packages and dies; all planes of a die are one plane group.
    pub layout: Layout,
    /// Whether dies share a chip enable, and whether the status is read.
    pub wiring: Wiring,
}

impl Setup {
    /// A number of dies on one channel, each with its own chip enable.
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
    /// Its name, by [`Item::name`].
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its die.
    pub die: u32,
    /// The time at which the die accepted it.
    pub begin: Instant,
    /// The end of its data output, or of its array operation.
    pub end: Instant,
    /// Time in its stages.
    pub stages: StageTimes,
    /// Data bytes that it read, programmed or copied; none for an erase.
    pub bytes: Bytes,
    /// Pages, over planes and the bits of a one-shot word line, or blocks of an erase.
    pub units: u32,
}

/// The completed operations and their stages.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Every stage, in order of its beginning.
    pub spans: Vec<Span>,
    /// Every operation, by its serial number in the spans.
    pub operations: Vec<CompletedOperation>,
}

impl Bench {
    /// Chips of `part`; the error says what does not fit.
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

    /// Dies in all.
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

    /// Runs `items`: each die runs those that name it in order, all dies in parallel.
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

    /// The commands of each die.
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
            // A program with a normal confirm cycle ends a sequence of cache programs.
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

/// Chips during a run.
struct Running {
    chips: Chips,
    calendar: Calendar<Event>,
    /// The commands that each die has still to run.
    queues: Vec<VecDeque<(Command, CompletedOperation)>>,
    /// The operations of each die in progress: at most two, one queued behind the other.
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

    /// Starts the next operation of a die if the die accepts it.
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

/// Addresses of the next operations of a die: reads and programs from block 0 upwards, erases from the last
/// block downwards.
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

    /// The `n`-th page of plane 0, wrapping around all blocks.
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
    /// The name of every operation, by serial number.
    pub fn names(&self) -> Vec<String> {
        self.operations.iter().map(|operation| operation.name.clone()).collect()
    }

    /// From the beginning to the end of the last stage or operation.
    pub fn elapsed(&self) -> Duration {
        let ends = self.operations.iter().map(|operation| operation.end);
        ends.chain(self.spans.iter().map(Span::end)).max().unwrap_or_default() - Instant::ZERO
    }
}

/// The stages that an operation can have, in the order of tables.
pub(super) const STAGES: [Stage; 7] =
    [Stage::Cle, Stage::Ale, Stage::Tir, Stage::Tor, Stage::Tin, Stage::Ton, Stage::Ber];
