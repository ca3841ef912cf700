//! Random parts, layouts, wirings and lists of commands.

use proptest::prelude::*;
use wordline_kernel::{Bytes, Duration, Power, Seed};
use wordline_nand::chain::{BusPhase, Shape};
use wordline_nand::chips::Wiring;
use wordline_nand::clock::{Clock, Clocks};
use wordline_nand::drive::List;
use wordline_nand::geometry::Layout;
use wordline_nand::latency::LatencyModel;
use wordline_nand::pairing::Pairing;
use wordline_nand::part::{ArrayTiming, BusFile, DieGeometry, PartFile, PowerDraw, SlcTiming};
use wordline_nand::time_range::TimeRange;
use wordline_nand::{CellMode, Command, DieId, Geometry, Interface, Operation, PageId, Part, PlaneGroupId};

/// The kind of cells and their use.
#[derive(Clone, Copy, Debug)]
pub enum Cells {
    Slc,
    Mlc,
    OneShotTlc,
}

/// The raw form of a part and its wiring.
#[derive(Clone, Debug)]
pub struct Raw {
    cells: Cells,
    interface: Interface,
    mode: u8,
    planes: u32,
    /// Nanoseconds: sensing, programming, erasing, transfer between registers, short busy time between
    /// planes.
    times: [u64; 5],
    /// Difference between blocks, in nanoseconds.
    spread: u64,
    model: LatencyModel,
    tie_planes: bool,
    channels: u32,
    dies: u32,
    /// Clock periods in nanoseconds.
    host: u64,
    nand: u64,
    shared_enable: bool,
    read_status: bool,
    commands: Vec<Vec<RawCommand>>,
}

/// Random numbers from which a command is made.
#[derive(Clone, Debug)]
struct RawCommand {
    kind: u8,
    plane: u32,
    planes: u32,
    places: [u32; 4],
    bytes: u64,
    /// The cell mode of the command.
    mode: u8,
}

impl RawCommand {
    /// The mode, if `part` has it. Only reads and programs can have the mode of a reprogrammed word line.
    fn mode(&self, part: &Part) -> Option<CellMode> {
        let mode = match self.mode {
            0 => CellMode::Native,
            1 => CellMode::Slc,
            2 => CellMode::Mlc,
            3 if self.kind < 2 => CellMode::Reprogrammed(1),
            _ => return None,
        };
        part.has_mode(mode).then_some(mode)
    }
}

const BLOCKS: u32 = 3;
const PAGES: u32 = 12;
const PAGE: Bytes = Bytes(512);

/// Steps of all dies that a case may take in the reference mode. Chosen: they take milliseconds.
const BUDGET: u64 = 1_000_000;

impl Raw {
    /// Two planes of MLC on one die.
    pub fn mlc(interface: Interface, mode: u8) -> Self {
        Self {
            cells: Cells::Mlc,
            interface,
            mode,
            planes: 2,
            times: [20_000, 90_000, 300_000, 3_000, 500],
            spread: 0,
            model: LatencyModel::VariationAware,
            tie_planes: true,
            channels: 1,
            dies: 1,
            host: 1,
            nand: 1,
            shared_enable: false,
            read_status: false,
            commands: Vec::new(),
        }
    }

    /// The same part with other array times, in nanoseconds.
    pub fn with_times(self, times: [u64; 5]) -> Self {
        Self { times, ..self }
    }
}

fn command() -> impl Strategy<Value = RawCommand> {
    (0u8..8, any::<u32>(), any::<u32>(), any::<[u32; 4]>(), 0u64..6, 0u8..6).prop_map(
        |(kind, plane, planes, places, bytes, mode)| RawCommand { kind, plane, planes, places, bytes, mode },
    )
}

pub fn raw() -> impl Strategy<Value = Raw> {
    let cells = prop_oneof![Just(Cells::Slc), Just(Cells::Mlc), Just(Cells::OneShotTlc)];
    let interface = prop::sample::select(Interface::ALL.to_vec());
    let part = (cells, interface, any::<u8>(), 1u32..=4, any::<bool>());
    let models = [LatencyModel::VariationAware, LatencyModel::Typical, LatencyModel::Worst];
    let latency = (prop_oneof![Just(0), 0u64..500], prop::sample::select(models.to_vec()));
    let times = (100u64..4_000, 300u64..9_000, 500u64..20_000, 0u64..400, 0u64..300);
    // In half of the cases both domains have the same period, so that dies often request the bus at the same
    // instant.
    let clocks = (5u64..=50).prop_flat_map(|host| (Just(host), prop_oneof![Just(host), 1u64..=100]));
    let wiring = (1u32..=2, 1u32..=4, clocks, any::<bool>(), any::<bool>());
    let commands = prop::collection::vec(prop::collection::vec(command(), 1..=6), 8);
    (part, times, latency, wiring, commands).prop_map(|(part, times, (spread, model), wiring, commands)| {
        let (cells, interface, mode, planes, tie_planes) = part;
        let (channels, dies, (host, nand), shared_enable, read_status) = wiring;
        Raw {
            cells,
            interface,
            mode: mode % interface.modes(),
            planes,
            times: [times.0, times.1, times.2, times.3, times.4],
            spread,
            model,
            tie_planes,
            channels,
            dies: if channels == 1 { dies * 2 } else { dies },
            host,
            nand,
            shared_enable,
            read_status,
            commands,
        }
    })
}

/// A part with the smallest pages that a part may have, so that clock steps are few.
pub fn part(raw: &Raw) -> Part {
    let [read, program, erase, turn, plane_busy] = raw.times.map(Duration::from_ns);
    let (bits, one_shot) = match raw.cells {
        Cells::Slc => (1, false),
        Cells::Mlc => (2, false),
        Cells::OneShotTlc => (3, true),
    };
    let mut timing = ArrayTiming::new(read, program, erase, plane_busy);
    timing.cache_busy = turn;
    timing.slc = Some(SlcTiming { read: read / 2, program: program / 3, erase: erase / 2 });
    timing.reprogram = Some(program * 3 / 2);
    let range = |least: Duration| TimeRange { least, most: least + Duration::from_ns(raw.spread) };
    timing.read = (0..bits).map(|n| range(read * (2 + n) / 2)).collect();
    let programs = if one_shot { 1 } else { bits };
    timing.program = (0..programs).map(|n| range(program * (1 + 2 * n))).collect();
    let file = PartFile {
        name: "small".into(),
        source: "chosen: small and quick".into(),
        nominal: None,
        cells: None,
        geometry: DieGeometry {
            planes: raw.planes,
            blocks_per_plane: BLOCKS,
            pages_per_block: PAGES,
            page_size: PAGE,
            spare_size: Bytes(16),
            bits_per_cell: bits as u32,
            one_shot,
            pairing: Pairing::default(),
            layers: 1,
            registers: 2,
            independent_reads: false,
        },
        timing,
        bus: BusFile::new(raw.interface, raw.mode),
        power: PowerDraw::even(Power(1)),
        endurance: 1_000,
        programs_per_page: None,
        super_layers: Default::default(),
    };
    file.check().expect("the part is sound")
}

/// A layout of dies on channels, with plane groups of all planes or of one.
pub fn layout(channels: u32, dies: u32, planes_per_row: u32) -> Layout {
    Layout {
        channels,
        packages_per_channel: dies,
        dies_per_package: 1,
        short_channels: 0,
        planes_per_row: Some(planes_per_row),
    }
}

/// A case that both modes can run.
#[derive(Clone, Debug)]
pub struct Case {
    pub part: Part,
    pub geometry: Geometry,
    pub wiring: Wiring,
    pub lists: Vec<List>,
}

impl Case {
    pub fn of(raw: &Raw) -> Self {
        let part = part(raw);
        let per_row = if raw.tie_planes { raw.planes } else { 1 };
        let geometry = layout(raw.channels, raw.dies, per_row).check(&part).expect("the layout is sound");
        let clock = |ns| Clock::new(Duration::from_ns(ns));
        let wiring = Wiring {
            clocks: Clocks { host: clock(raw.host), nand: clock(raw.nand) },
            shared_enable: raw.shared_enable,
            read_status: raw.read_status,
            latency: raw.model,
            seed: Seed(raw.spread),
        };
        let mut case = Self { part, geometry, wiring, lists: Vec::new() };
        let mut left = BUDGET / u64::from(geometry.dies()) * raw.host.min(raw.nand) * 1_000;
        case.lists = (0..geometry.dies()).map(|die| (DieId(die), Vec::new())).collect();
        let most = raw.commands.iter().map(Vec::len).max().unwrap_or(0);
        // Round by round, so that the first dies do not use up the budget.
        for round in 0..most {
            for die in 0..geometry.dies() {
                let Some(raw) = raw.commands[die as usize].get(round) else { continue };
                let commands = case.expand(die, raw);
                let cost = commands.iter().map(|command| case.cost(command).ps()).sum();
                if let Some(rest) = left.checked_sub(cost) {
                    left = rest;
                    case.lists[die as usize].1.extend(commands);
                }
            }
        }
        case
    }

    /// The approximate time of a command.
    fn cost(&self, command: &Command) -> Duration {
        let shape = Shape::of(&self.part, command.planes, true);
        let hold = match command.operation {
            Operation::Program | Operation::ProgramCache => BusPhase::Program,
            _ => BusPhase::DataOut,
        };
        hold.times(&self.part, &shape).total()
    }

    /// The page of `die` at a place: plane group `row`, first plane `plane`, in blocks of `pages` pages. It
    /// is the first page of a program unit of `unit` pages.
    fn page(&self, die: u32, (row, plane): (u32, u32), place: u32, pages: u32, unit: u32) -> PageId {
        let g = &self.geometry;
        let block = g.first_block(PlaneGroupId(die * g.groups_per_die + row)).0 + place / PAGES % BLOCKS;
        g.page(wordline_nand::BlockSetId(block), place % pages / unit * unit * g.planes_per_row + plane)
    }

    fn expand(&self, die: u32, raw: &RawCommand) -> Vec<Command> {
        let g = &self.geometry;
        let (plane, row) = (raw.plane % g.planes_per_row, raw.plane / 64 % g.groups_per_die);
        let planes = 1 + raw.planes % (g.planes_per_row - plane);
        let all = PAGE.0 * u64::from(planes);
        // Whole pages in half of the cases, otherwise a part of them.
        let bytes = Bytes(if raw.bytes < 3 { all } else { (raw.bytes * 123).min(all) });
        let mode = raw.mode(&self.part);
        let view = self.part.in_mode(mode.unwrap_or_default()).expect("the part has the mode");
        let (pages, unit) = (view.geometry.pages_per_block, view.pages_per_program());
        let at = |place, whole| self.page(die, (row, plane), place, pages, if whole { unit } else { 1 });
        let page = |n: usize, whole| at(raw.places[n], whole);
        let one = |operation, page| vec![Command { mode, ..Command::new(operation, page, planes, bytes) }];
        match raw.kind {
            0 => one(Operation::Read, page(0, false)),
            1 => one(Operation::Program, page(0, true)),
            2 | 3 => one(Operation::ProgramCache, page(0, true)),
            // A one-shot part has no copyback of a word line.
            4 if unit == 1 => one(Operation::Copyback { to: page(1, true) }, page(0, true)),
            4 => one(Operation::Program, page(1, true)),
            5 => one(Operation::Erase, page(0, false)),
            _ => {
                // Half of the sequences go through the block, the others jump.
                let follow = |n: u32| at(raw.places[0] / 4 * 4 + n, false);
                let pages: Vec<PageId> = (0..1 + raw.places[3] % 4)
                    .map(|n| if raw.kind == 6 { follow(n) } else { page(n as usize, false) })
                    .collect();
                let operation =
                    |n: usize| Operation::ReadCache { first: n == 0, next: pages.get(n + 1).copied() };
                (0..pages.len()).flat_map(|n| one(operation(n), pages[n])).collect()
            }
        }
    }
}
