//! Every operation mode of NANDFlashSim, as transactions and as cycles on the pins. Both have the same stages
//! to the picosecond, on the bus and in the arrays, for one die and for dies that interleave.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant};
use wordline_nand::chain::{BusPhase, Cycle, PrecedingStep, Shape};
use wordline_nand::chips::Wiring as Transactions;
use wordline_nand::drive::{self, Cells, List};
use wordline_nand::geometry::Layout;
use wordline_nand::interface::{BusFile, Interface};
use wordline_nand::onfi::{Bus, BusOptions, Wiring};
use wordline_nand::{CellMode, Command, DieId, Geometry, Operation, PageId, Part, PlaneGroupId, Span};

use super::host::part_file;
use crate::cells::{Odd, parameters};

/// The operation modes, in the words of NANDFlashSim.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Read,
    ReadCache,
    Program,
    ProgramCache,
    InternalDataMove,
    Erase,
}

const MODES: [Mode; 6] =
    [Mode::Read, Mode::ReadCache, Mode::Program, Mode::ProgramCache, Mode::InternalDataMove, Mode::Erase];

/// Four pages of every die, in order.
fn list(mode: Mode, geometry: &Geometry, die: u32, planes: u32) -> List {
    let page = |n: u32| {
        let block = geometry.first_block(PlaneGroupId(die));
        geometry.page(block, n * geometry.planes_per_row)
    };
    // Block 1 of each plane, the destination of copies.
    let to = |n: u32| PageId(page(n).0 + geometry.pages_per_block_set());
    let command = |n: u32| {
        let last = n == 3;
        let operation = match mode {
            Mode::Read => Operation::Read,
            Mode::ReadCache => Operation::ReadCache { first: n == 0, next: (!last).then(|| page(n + 1)) },
            Mode::Program => Operation::Program,
            Mode::ProgramCache if last => Operation::Program,
            Mode::ProgramCache => Operation::ProgramCache,
            Mode::InternalDataMove => Operation::Copyback { to: to(n) },
            Mode::Erase => Operation::Erase,
        };
        Command::new(operation, page(n), planes, geometry.page_size * u64::from(planes))
    };
    (DieId(die), (0..4).map(command).collect())
}

/// The bus phases of a transaction, each with the page that it addresses.
fn holds(command: &Command) -> Vec<(BusPhase, PageId)> {
    let page = command.page;
    match command.operation {
        Operation::Read => vec![(BusPhase::Read, page), (BusPhase::DataOut, page)],
        Operation::ReadCache { first, next } => {
            let turn = if next.is_some() { BusPhase::CacheReadSequential } else { BusPhase::CacheReadEnd };
            let opening = first.then_some((BusPhase::Read, page));
            opening.into_iter().chain([(turn, page), (BusPhase::DataOut, page)]).collect()
        }
        Operation::Program => vec![(BusPhase::Program, page), (BusPhase::Status, page)],
        Operation::ProgramCache => vec![(BusPhase::ProgramCache, page), (BusPhase::Status, page)],
        Operation::Copyback { to } => {
            vec![(BusPhase::CopybackRead, page), (BusPhase::CopybackProgram, to), (BusPhase::Status, page)]
        }
        Operation::Erase => vec![(BusPhase::Erase, page), (BusPhase::Status, page)],
    }
}

/// Spans without the numbers of their operations, which transactions and pins count differently. Neighbouring
/// spans of one stage are joined, because the pins record one for each cycle.
fn stages(mut spans: Vec<Span>) -> Vec<Span> {
    spans.iter_mut().for_each(|span| span.command = 0);
    spans.sort_by_key(|span| (span.die, span.planes, span.begin));
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last)
                if (last.die, last.stage, last.planes) == (span.die, span.stage, span.planes)
                    && last.end() == span.begin =>
            {
                last.length += span.length;
            }
            _ => joined.push(span),
        }
    }
    joined
}

/// The dies on the pins, driven by a host that begins each bus phase when the controller of the transactions
/// does.
struct Host<'a> {
    bus: Bus,
    part: &'a Part,
    geometry: &'a Geometry,
    shared_enable: bool,
}

impl Host<'_> {
    /// The shape of a command: the shape of the part in its cell mode.
    fn shape(&self, command: &Command) -> Shape {
        let mode = command.mode.unwrap_or_default();
        let part = self.part.in_mode(mode).expect("the part has the mode");
        Shape { mode, ..Shape::of(&part, command.planes, self.shared_enable) }
    }

    fn spell(&mut self, die: DieId, hold: BusPhase, page: PageId, command: &Command) {
        let target = if self.shared_enable { 0 } else { die.0 };
        let shape = self.shape(command);
        let mut addressed = 0;
        for cycle in hold.cycles(&shape) {
            match cycle {
                Cycle::Select => self.bus.select(target),
                Cycle::Command(code) | Cycle::Confirm(code) => self.bus.command(code),
                Cycle::Address { plane, bytes, .. } => {
                    // The pages of a word line are loaded one after the other, each in all planes.
                    let loads = matches!(hold, BusPhase::Program | BusPhase::ProgramCache);
                    let nth = if loads { addressed / command.planes } else { 0 };
                    addressed += 1;
                    let page = PageId(page.0 + nth * self.geometry.planes_per_row);
                    let row = self.row(die, page, plane);
                    let address: Vec<u8> = [0, 0].into_iter().chain(row).collect();
                    self.bus.address(&address[5 - usize::from(bytes)..])
                }
                Cycle::DataIn(size) => self.bus.data_in(&vec![0xA5; size.0 as usize]),
                Cycle::DataOut { size, after } => {
                    if after == PrecedingStep::Ready {
                        self.bus.select(target).expect("the target is there");
                    }
                    self.bus.data_out(size.0 as u32).map(|_| ())
                }
                Cycle::Turnaround => Ok(()),
                Cycle::PlaneBusy => {
                    let ready = self.bus.lun(die).pipeline().ready_at;
                    self.bus.wait_until(ready);
                    Ok(())
                }
            }
            .unwrap_or_else(|failure| panic!("{hold:?} of {die:?}: {failure}"));
        }
    }

    /// The row address of `page` in the n-th plane.
    fn row(&self, die: DieId, page: PageId, plane: u32) -> Vec<u8> {
        let (block, offset) = self.geometry.split(page);
        let block = block.0 % self.geometry.blocks_per_plane * self.geometry.planes_per_row + plane;
        let lun = if self.shared_enable { die.0 } else { 0 };
        self.bus.row(lun, block, self.geometry.page_in_block(offset)).expect("the row is there")
    }
}

/// The stages of `lists`, executed on the pins in the order and at the instants of `spans`.
fn spelled(
    part: &Part,
    geometry: &Geometry,
    (shared, cells): (bool, &Cells),
    lists: &[List],
    spans: &[Span],
) -> Vec<Span> {
    let dies = geometry.dies();
    let (targets, luns) = if shared { (1, dies) } else { (dies, 1) };
    let mut bus = Bus::new(part, Wiring { targets, luns, ..Wiring::default() }, BusOptions::default())
        .expect("the wiring is sound");
    for (number, parameters) in (1..).zip(&cells.sets) {
        bus.set_parameters(number, parameters);
        bus.select_parameters(number);
    }
    if let Some(physics) = &cells.physics {
        bus.set_physics(&**physics);
    }
    let mut host = Host { bus, part, geometry, shared_enable: shared };
    let of_command = |command: &Command| {
        let command = *command;
        holds(&command).into_iter().map(move |(hold, page)| (hold, page, command))
    };
    let mut left: Vec<(DieId, VecDeque<_>)> =
        lists.iter().map(|(die, commands)| (*die, commands.iter().flat_map(of_command).collect())).collect();
    let mut free = Instant::ZERO;
    for span in spans.iter().filter(|span| span.planes == 0) {
        if span.begin < free {
            continue; // a later stage of the bus phase that was executed
        }
        let (_, holds) = left.iter_mut().find(|(die, _)| *die == span.die).expect("the die has a list");
        let (hold, page, command) = holds.pop_front().expect("the die does nothing else");
        host.bus.wait_until(span.begin);
        host.spell(span.die, hold, page, &command);
        free = spans_end(spans, span, &host.bus);
    }
    assert!(left.iter().all(|(_, holds)| holds.is_empty()), "every hold is spelled out");
    host.bus.wait(Duration::from_ms(10));
    host.bus.spans()
}

/// The end of the bus phase that begins with `first`: the end of the adjacent spans of one die, up to the
/// current time of the pins.
fn spans_end(spans: &[Span], first: &Span, bus: &Bus) -> Instant {
    let mut end = first.end();
    for span in
        spans.iter().filter(|span| span.planes == 0 && span.die == first.die && span.begin > first.begin)
    {
        if span.begin != end || span.begin >= bus.now() {
            break;
        }
        end = span.end();
    }
    end
}

fn compare(interface: Interface, mode: u8, dies: u32, planes: u32, shared: bool) {
    let mut file = part_file();
    file.bus = BusFile::new(interface, mode);
    let part = file.check().expect("the part is sound");
    let geometry =
        Layout::on_one_channel(dies, Some(part.geometry.planes)).check(&part).expect("the layout is sound");
    let wiring = Transactions { shared_enable: shared, read_status: true, ..Transactions::default() };
    for operation in MODES {
        let lists: Vec<List> = (0..dies).map(|die| list(operation, &geometry, die, planes)).collect();
        let what =
            format!("{interface} {mode}, {operation:?}, {dies} dies, {planes} planes, shared: {shared}");
        assert_alike(&part, geometry, wiring, &Cells::default(), &lists, &what);
    }
}

/// The list, with parameter set 1 for its commands.
fn with_parameters((die, commands): List) -> List {
    (die, commands.into_iter().map(|command| command.with(1)).collect())
}

/// Checks that lists have the same stages as transactions and on the pins.
fn assert_alike(
    part: &Part,
    geometry: Geometry,
    wiring: Transactions,
    cells: &Cells,
    lists: &[List],
    what: &str,
) {
    let transactions = drive::Mode::Fast.run_with_cells(cells, part, geometry, wiring, lists);
    let transactions = transactions.expect("the dies have the pages");
    let pins = spelled(part, &geometry, (wiring.shared_enable, cells), lists, &transactions);
    let (pins, transactions) = (stages(pins), stages(transactions));
    for (pins, transaction) in pins.iter().zip(&transactions) {
        assert_eq!(pins, transaction, "{what}");
    }
    assert_eq!(pins.len(), transactions.len(), "{what}");
}

/// Commands for four word lines of a block in a cell mode: program, read, copy or reprogram if supported, and
/// erase.
fn list_in_mode(mode: CellMode, geometry: &Geometry, die: u32, planes: u32) -> List {
    let bits = mode.bits(geometry.bits_per_cell());
    let block = geometry.first_block(PlaneGroupId(die));
    let page = |n: u32| geometry.page(block, n * geometry.planes_per_row);
    let read = |first, n: u32, last: u32| {
        (Operation::ReadCache { first, next: (n < last).then(|| page(n + 1)) }, page(n), mode)
    };
    let mut all = vec![
        (Operation::Program, page(0), mode),
        (Operation::ProgramCache, page(bits), mode),
        (Operation::ProgramCache, page(2 * bits), mode),
        (Operation::Program, page(3 * bits), mode),
        (Operation::Read, page(1), mode),
        read(true, 1, 3),
        read(false, 2, 3),
        read(false, 3, 3),
    ];
    match mode {
        CellMode::Slc => {
            let to = PageId(page(0).0 + geometry.pages_per_block_set());
            all.push((Operation::Copyback { to }, page(2), mode));
        }
        CellMode::Mlc => {
            all.push((Operation::Program, page(1), CellMode::Reprogrammed(1)));
            all.push((Operation::Program, page(0), CellMode::Reprogrammed(2)));
            all.push((Operation::Read, page(0), CellMode::Reprogrammed(2)));
        }
        _ => {}
    }
    all.push((Operation::Erase, page(0), mode));
    let bytes = geometry.page_size * u64::from(planes);
    let command = |(operation, page, mode)| Command::new(operation, page, planes, bytes).spelled(mode);
    (DieId(die), all.into_iter().map(command).collect())
}

#[test]
fn transactions_in_every_cell_mode_and_over_any_cells_take_the_stages_of_their_sequences() {
    let us = Duration::from_us;
    let mut file = part_file();
    (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 12);
    file.timing.read = [25, 30, 35].map(|time| us(time).into()).to_vec();
    file.timing.reprogram = Some(us(270));
    file.bus = BusFile::new(Interface::NvDdr2, 6);
    let part = file.check().expect("the part is sound");
    for (dies, planes, shared) in [(1, 1, false), (1, 2, false), (3, 2, false), (2, 1, true), (2, 2, true)] {
        let geometry = Layout::on_one_channel(dies, Some(2)).check(&part).expect("the layout is sound");
        let wiring = Transactions { shared_enable: shared, read_status: true, ..Transactions::default() };
        for mode in CellMode::OF_BLOCKS {
            let lists: Vec<List> = (0..dies).map(|die| list_in_mode(mode, &geometry, die, planes)).collect();
            let what = format!("{mode}, {dies} dies, {planes} planes, shared: {shared}");
            assert_alike(&part, geometry, wiring, &Cells::default(), &lists, &what);
            let cells = Cells { physics: Some(Box::new(Odd::default())), sets: vec![parameters()] };
            let lists: Vec<List> = lists.into_iter().map(with_parameters).collect();
            assert_alike(&part, geometry, wiring, &cells, &lists, &format!("{what}, over odd cells"));
        }
    }
}

#[test]
fn a_transaction_of_one_die_takes_the_stages_of_its_sequence() {
    for (interface, mode) in
        [(Interface::Sdr, 4), (Interface::NvDdr, 5), (Interface::NvDdr2, 6), (Interface::NvDdr3, 12)]
    {
        for planes in [1, 2] {
            compare(interface, mode, 1, planes, false);
        }
    }
}

#[test]
fn transactions_of_interleaved_dies_take_the_stages_of_their_sequences() {
    for planes in [1, 2] {
        compare(Interface::NvDdr2, 6, 3, planes, false);
    }
}

#[test]
fn transactions_of_dies_that_share_a_chip_enable_take_the_stages_of_their_sequences() {
    for planes in [1, 2] {
        compare(Interface::NvDdr2, 6, 2, planes, true);
    }
}
