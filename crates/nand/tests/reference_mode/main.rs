//! Do the two update modes give the same stages, and does the fast one meet the closed forms?

#[path = "../cells/mod.rs"]
mod cells;
mod random;

use cells::{Odd, parameters};
use proptest::prelude::*;
use random::{Case, Raw, layout, part};
use wordline_kernel::{Bytes, Duration, Instant};
use wordline_nand::chain::{BusPhase, Shape};
use wordline_nand::chips::Wiring;
use wordline_nand::clock::{Clock, Clocks};
use wordline_nand::drive::{Cells, List, Mode, fast};
use wordline_nand::{
    Command, DataSheet, DieId, Geometry, Interface, Operation, PageId, Part, PlaneGroupId, Reference, Stage,
};

const SOUND: &str = "the lists name what the dies have";

proptest! {
    // Chosen: some seconds on a laptop.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1_024)))]

    #[test]
    fn both_modes_give_the_same_stages(raw in random::raw()) {
        let Case { part, geometry, wiring, lists } = Case::of(&raw);
        let [stepped, jumped] =
            [Mode::Reference, Mode::Fast].map(|mode| mode.run(&part, geometry, wiring, &lists).expect(SOUND));
        for (at, (stepped, jumped)) in stepped.iter().zip(&jumped).enumerate() {
            prop_assert_eq!(stepped, jumped, "span {}", at);
        }
        prop_assert_eq!(stepped.len(), jumped.len());
    }

    #[test]
    fn both_modes_ask_the_cells_the_same(raw in random::raw()) {
        let Case { part, geometry, wiring, lists } = Case::of(&raw);
        let sheet = Cells { physics: Some(Box::new(DataSheet {})), sets: Vec::new() };
        let asked = Mode::Fast.run_with_cells(&sheet, &part, geometry, wiring, &lists).expect(SOUND);
        prop_assert_eq!(asked, fast(&part, geometry, wiring, &lists).expect(SOUND), "the data sheet is asked");
        let cells = Cells { physics: Some(Box::new(Odd::default())), sets: vec![parameters()] };
        let lists: Vec<List> = lists.into_iter().map(every_other_with_parameters).collect();
        let [stepped, jumped] = [Mode::Reference, Mode::Fast]
            .map(|mode| mode.run_with_cells(&cells, &part, geometry, wiring, &lists).expect(SOUND));
        for (at, (stepped, jumped)) in stepped.iter().zip(&jumped).enumerate() {
            prop_assert_eq!(stepped, jumped, "span {}", at);
        }
        prop_assert_eq!(stepped.len(), jumped.len());
    }
}

/// The list with parameter set 1 for every other command. A sense ahead uses the set of the command before.
fn every_other_with_parameters((die, commands): List) -> List {
    let with = |(n, command): (u16, Command)| command.with(n % 2);
    (die, (0..).zip(commands).map(with).collect())
}

/// A part, its geometry and its wiring, for which the closed forms are computed.
struct Setting {
    part: Part,
    geometry: Geometry,
    wiring: Wiring,
}

impl Setting {
    /// MLC with two planes and this interface; every picosecond is a clock edge.
    fn new(interface: Interface, mode: u8, shared_enable: bool, read_status: bool) -> Self {
        let part = part(&Raw::mlc(interface, mode));
        let geometry = layout(1, 1, 2).check(&part).expect("the layout is sound");
        Self { part, geometry, wiring: Wiring { shared_enable, read_status, ..Wiring::default() } }
    }

    /// Settings with each combination of `shared_enable` and `read_status`, for every mode of every
    /// interface.
    fn all() -> impl Iterator<Item = Self> {
        let modes = Interface::ALL.into_iter().flat_map(|i| (0..i.modes()).map(move |mode| (i, mode)));
        modes.flat_map(|(i, mode)| {
            [false, true].into_iter().flat_map(move |shared| {
                [false, true].into_iter().map(move |status| Self::new(i, mode, shared, status))
            })
        })
    }

    fn hold(&self, hold: BusPhase, planes: u32) -> Duration {
        let shape = Shape::of(&self.part, planes, self.wiring.shared_enable);
        hold.times(&self.part, &shape).total()
    }

    /// The end of all spans.
    fn end(&self, commands: Vec<Command>) -> Duration {
        let spans = fast(&self.part, self.geometry, self.wiring, &[(DieId(0), commands)]).expect(SOUND);
        spans.iter().map(|span| span.end() - Instant::ZERO).max().expect("there is a stage")
    }

    fn command(&self, operation: Operation, planes: u32) -> Command {
        let bytes = self.part.geometry.page_size * u64::from(planes);
        Command::new(operation, PageId(0), planes, bytes)
    }

    fn status(&self) -> Duration {
        if self.wiring.read_status { self.hold(BusPhase::Status, 1) } else { Duration::ZERO }
    }

    /// Wait of a latch directly after data out for the turnaround of the bus, beyond chip enable.
    fn turnaround(&self) -> Duration {
        let bus = &self.part.bus;
        Duration::from_ps(bus.t_rhw.ps().saturating_sub(bus.t_cs.ps()))
    }
}

#[test]
fn an_operation_alone_takes_the_sum_of_its_chain() {
    for setting in Setting::all() {
        for planes in 1..=2 {
            let time = |hold| setting.hold(hold, planes);
            let (read, write) = (setting.part.read_time(0), setting.part.program_time(0));
            let to = setting.geometry.page(wordline_nand::BlockSetId(1), 0);
            let turn = setting.part.timing.cache_busy;
            let end = |operation| setting.end(vec![setting.command(operation, planes)]);
            assert_eq!(end(Operation::Read), time(BusPhase::Read) + read + time(BusPhase::DataOut));
            assert_eq!(
                end(Operation::ReadCache { first: true, next: None }),
                time(BusPhase::Read) + read + time(BusPhase::CacheReadEnd) + turn + time(BusPhase::DataOut)
            );
            assert_eq!(end(Operation::Program), time(BusPhase::Program) + write + setting.status());
            assert_eq!(
                end(Operation::ProgramCache),
                time(BusPhase::ProgramCache) + turn + write.max(setting.status())
            );
            let copied = time(BusPhase::CopybackRead) + read + time(BusPhase::CopybackProgram) + write;
            assert_eq!(end(Operation::Copyback { to }), copied + setting.status());
            let erase = setting.part.timing.erase;
            assert_eq!(end(Operation::Erase), time(BusPhase::Erase) + erase + setting.status());
        }
    }
}

#[test]
fn a_cache_program_hides_the_bus_or_the_array() {
    for setting in Setting::all() {
        let commands = vec![
            setting.command(Operation::ProgramCache, 2),
            Command {
                page: PageId(setting.geometry.planes_per_row * 2),
                ..setting.command(Operation::Program, 2)
            },
        ];
        let (first, last) = (setting.hold(BusPhase::ProgramCache, 2), setting.hold(BusPhase::Program, 2));
        let write = setting.part.program_time(0);
        let turnaround = if setting.wiring.read_status { setting.turnaround() } else { Duration::ZERO };
        let hidden = write.max(setting.status() + turnaround + last);
        let whole = first + setting.part.timing.cache_busy + hidden + write + setting.status();
        assert_eq!(setting.end(commands), whole);
    }
}

#[test]
fn a_sequence_of_cache_reads_hides_the_bus_or_the_array() {
    for setting in Setting::all() {
        let (pages, planes) = (4u32, 2);
        let command = |n: u32| Command {
            page: PageId(n * setting.geometry.planes_per_row),
            ..setting.command(
                Operation::ReadCache {
                    first: n == 0,
                    next: (n + 1 < pages).then(|| PageId((n + 1) * setting.geometry.planes_per_row)),
                },
                planes,
            )
        };
        let turn = setting.part.timing.cache_busy;
        let time = |hold| setting.hold(hold, planes);
        let mut whole = time(BusPhase::Read) + setting.part.read_time(0);
        for n in 1..=pages {
            // The bus transfers a page and latches the next cache read while the array senses the page after
            // it.
            let latch =
                if n < pages { time(BusPhase::CacheReadSequential) } else { time(BusPhase::CacheReadEnd) };
            if n == 1 {
                whole += latch;
            } else {
                let bus = time(BusPhase::DataOut) + setting.turnaround() + latch;
                whole += bus.max(setting.part.read_time(n - 1));
            }
            whole += turn;
        }
        assert_eq!(setting.end((0..pages).map(command).collect()), whole + time(BusPhase::DataOut));
    }
}

#[test]
fn both_modes_agree_where_every_picosecond_is_an_edge() {
    let part = part(&Raw::mlc(Interface::NvDdr3, 15).with_times([1_000, 2_000, 2_000, 300, 50]));
    let geometry = layout(1, 2, 2).check(&part).expect("the layout is sound");
    let wiring = Wiring { shared_enable: true, read_status: true, ..Wiring::default() };
    let lists = lists(&geometry, &[Operation::ProgramCache, Operation::Erase]);
    let stepped = Reference::new(part.clone(), geometry, wiring).run(&lists);
    assert_eq!(stepped, fast(&part, geometry, wiring, &lists));
}

/// Lists of one command each, a read or a program of one page, for dies of one channel.
fn lists(geometry: &Geometry, operations: &[Operation]) -> Vec<List> {
    let command = |(die, operation): (u32, &Operation)| {
        let page = geometry.page(geometry.first_block(PlaneGroupId(die * geometry.groups_per_die)), 0);
        (DieId(die), vec![Command::new(*operation, page, 1, Bytes(512))])
    };
    (0..).zip(operations).map(command).collect()
}

#[test]
fn of_dies_that_ask_at_once_a_latch_goes_first_then_the_lowest_number() {
    let part = part(&Raw::mlc(Interface::Sdr, 4));
    let geometry = layout(1, 4, 2).check(&part).expect("the layout is sound");
    let clock = Clock::new(Duration::from_ns(25));
    let wiring = Wiring { clocks: Clocks { host: clock, nand: clock }, ..Wiring::default() };
    let (read, program) = (Operation::Read, Operation::Program);
    let lists = lists(&geometry, &[program, read, program, read]);
    for spans in [fast(&part, geometry, wiring, &lists), Reference::new(part, geometry, wiring).run(&lists)] {
        let spans = spans.expect(SOUND);
        let mut first = spans.iter().filter(|span| span.stage == Stage::Ale).map(|span| span.die.0);
        let order: Vec<u32> = first.by_ref().collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }
}

#[test]
fn data_go_after_so_many_latches_in_both_modes() {
    let part = part(&Raw::mlc(Interface::NvDdr2, 6).with_times([300, 300, 100, 50, 50]));
    let geometry = layout(1, 40, 2).check(&part).expect("the layout is sound");
    let clock = Clock::new(Duration::from_ns(5));
    let wiring = Wiring { clocks: Clocks { host: clock, nand: clock }, ..Wiring::default() };
    let page = |die: u32| geometry.page(geometry.first_block(PlaneGroupId(die * geometry.groups_per_die)), 0);
    let command = |die, operation| Command::new(operation, page(die), 1, Bytes(512));
    let lists: Vec<List> = (0..40)
        .map(|die| {
            let erases = vec![command(die, Operation::Erase); 6];
            (DieId(die), if die == 39 { vec![command(die, Operation::Program)] } else { erases })
        })
        .collect();
    let spans = fast(&part, geometry, wiring, &lists).expect(SOUND);
    assert_eq!(spans, Reference::new(part, geometry, wiring).run(&lists).expect(SOUND));
    let data = spans.iter().position(|span| span.die == DieId(39)).expect("the program is carried out");
    let latched = spans[..data].iter().filter(|span| span.stage == Stage::Ale).count();
    assert_eq!(latched, 16, "of the dies that ask at once as many latch as may go before data");
}

#[test]
fn lists_that_no_die_can_carry_out_are_refused_in_both_modes() {
    use wordline_nand::Refusal;
    use wordline_nand::drive::ListError;
    let Setting { part, geometry, wiring } = Setting::new(Interface::Sdr, 0, false, false);
    let die = DieId(0);
    let read = Command::new(Operation::Read, PageId(0), 1, Bytes(1));
    let beyond = Command { page: PageId(geometry.pages()), ..read };
    let opens = Operation::ReadCache { first: true, next: Some(PageId(2)) };
    let why = Refusal::NoSuchPage { page: beyond.page };
    let cases: [(Vec<List>, ListError); 3] = [
        (vec![(die, vec![read, beyond])], ListError::Refused { die, at: 1, why }),
        (vec![(die, vec![read]), (die, vec![])], ListError::SecondList { die }),
        (vec![(die, vec![Command { operation: opens, ..read }])], ListError::Unfinished { die }),
    ];
    for (lists, wanted) in cases {
        for mode in [Mode::Fast, Mode::Reference] {
            assert_eq!(mode.run(&part, geometry, wiring, &lists), Err(wanted), "{mode:?}");
        }
    }
}
