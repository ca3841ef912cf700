use wordline_kernel::{Bytes, Calendar, Duration, Schedule, Seed};

use crate::chips::{Chips, Command, CommandCompletion, DataTag, Event, InFlightFate, Operation, Refusal};
use crate::faults::{Fails, FaultFile, NumberRange};
use crate::geometry::{BlockSetId, DieId, Layout, PageId};
use crate::part::tests::mqsim_file;
use crate::{CellMode, Location, Locations, Pool, Pools};

const DIE: DieId = DieId(0);

/// One die with one group of two planes. It is TLC with four word lines per block on four layers, so that a
/// super layer has two word lines.
struct Rig {
    chips: Chips,
    calendar: Calendar<Event>,
}

fn us(time: u64) -> Duration {
    Duration::from_us(time)
}

impl Rig {
    fn new() -> Self {
        Self::with_locations_of(mqsim_file().geometry.page_size)
    }

    /// The rig with locations of `size` bytes.
    fn with_locations_of(size: Bytes) -> Self {
        let mut file = mqsim_file();
        (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 12);
        (file.geometry.layers, file.timing.reprogram) = (4, Some(us(800)));
        file.timing.read = [50, 60, 70].map(|time| us(time).into()).to_vec();
        let part = file.check().expect("the part is sound");
        let geometry = Layout::on_one_channel(1, Some(2)).check(&part).expect("the layout is sound");
        let locations = Locations::of_size(&geometry, size).expect("the size divides a program unit");
        let mut chips = Chips::new(Pools::one(Pool { part, geometry, locations }));
        assert!(!chips.enable_mode(CellMode::Slc) && chips.enable_mode(CellMode::Mlc));
        Self { chips, calendar: Calendar::new() }
    }

    /// A command for page `page` of block set 0 in both planes.
    fn command(&self, operation: Operation, page: u32, mode: CellMode) -> Command {
        Command::new(operation, PageId(2 * page), 2, Bytes(16 << 10)).spelled(mode)
    }

    fn run(&mut self, command: Command, version: u32) -> Result<CommandCompletion, Refusal> {
        for (n, stamp) in (0..).zip(self.chips.registers(DIE)) {
            *stamp = DataTag { logical: n, version };
        }
        self.chips.start(DIE, command, &mut self.calendar)?;
        loop {
            let event = self.calendar.advance().expect("the command ends");
            if let Some(done) = self.chips.handle(event, &mut self.calendar) {
                return Ok(done);
            }
        }
    }

    fn program(&mut self, page: u32, mode: CellMode, version: u32) -> Result<CommandCompletion, Refusal> {
        self.run(self.command(Operation::Program, page, mode), version)
    }

    /// The versions of the data in the first pages of a block, in the first plane.
    fn versions(&self, pages: u32) -> Vec<u32> {
        (0..pages).map(|page| self.chips.stamp(Location(2 * page)).version).collect()
    }
}

#[test]
fn a_word_line_is_programmed_again_page_by_page_and_keeps_the_other_page() {
    let mut rig = Rig::new();
    for line in 0..2 {
        let done = rig.program(2 * line, CellMode::Mlc, 1).expect("the block is erased");
        assert_eq!((done.array, done.failed), (us(750), false));
    }
    assert_eq!(rig.chips.mode(BlockSetId(0)), CellMode::Mlc, "the first program opens the block");
    let first = rig.program(1, CellMode::Reprogrammed(1), 2).expect("both pages are programmed");
    assert_eq!(first.array, us(800));
    assert_eq!(rig.versions(4), [1, 2, 1, 1]);
    assert_eq!(rig.chips.stamp(Location(3)), DataTag { logical: 1, version: 2 }, "the other plane's page");
    rig.program(0, CellMode::Reprogrammed(2), 3).expect("it stands two");
    assert_eq!(rig.versions(4), [3, 2, 1, 1]);
    assert_eq!((rig.chips.reprograms(PageId(0)), rig.chips.reprograms(PageId(4))), (2, 0));
    let counts = rig.chips.counts();
    assert_eq!((counts.program_commands, counts.pages_programmed), (4, 2 * 4 + 2 * 2));
    for (page, time) in [(2, 50), (3, 60)] {
        let read = rig.run(rig.command(Operation::Read, page, CellMode::Mlc), 9).expect("it can be read");
        assert_eq!(read.array, us(time), "page {page}");
    }
    rig.run(rig.command(Operation::Erase, 0, CellMode::Mlc), 9).expect("it can be erased");
    assert_eq!(rig.chips.reprograms(PageId(0)), 0);
    rig.program(0, CellMode::Native, 4).expect("an erased block takes any mode");
    assert_eq!(rig.chips.mode(BlockSetId(0)), CellMode::Native);
}

#[test]
fn what_the_mode_of_a_word_line_does_not_allow_is_refused() {
    let mut rig = Rig::new();
    let page = PageId(0);
    let again = CellMode::Reprogrammed;
    assert_eq!(rig.program(0, again(1), 1), Err(Refusal::NothingToReprogram { page }));
    rig.program(0, CellMode::Mlc, 1).expect("the block is erased");
    let (found, wanted) = (CellMode::Native, CellMode::Mlc);
    assert_eq!(rig.program(3, found, 1), Err(Refusal::Mode { page: PageId(6), found, wanted }));
    let read = rig.command(Operation::Read, 0, found);
    assert_eq!(rig.run(read, 1), Err(Refusal::Mode { page, found, wanted }));
    let beyond = PageId(16);
    assert_eq!(rig.program(8, CellMode::Mlc, 1), Err(Refusal::NoSuchPage { page: beyond }));
    assert_eq!(rig.program(1, CellMode::Mlc, 1), Err(Refusal::WithinWordLine { page: PageId(2) }));
    let counted = |found, wanted| Err(Refusal::Reprograms { page, found, wanted, most: 2 });
    assert_eq!(rig.program(0, again(2), 1), counted(2, 1));
    for times in 1..=2 {
        rig.program(0, again(times), 1).expect("it comes next");
    }
    assert_eq!(rig.program(0, again(3), 1), counted(3, 3));
    for line in 1..3 {
        rig.program(2 * line, CellMode::Mlc, 1).expect("it comes next");
    }
    let closed = Refusal::SuperLayerClosed { page: PageId(4), later: PageId(8) };
    assert_eq!(rig.program(2, again(1), 1), Err(closed), "the second super layer is begun");
    rig.program(4, again(1), 1).expect("its own super layer is open");
    let what = "SLC mode";
    assert_eq!(rig.program(24, CellMode::Slc, 1), Err(Refusal::Unsupported { what }));
    let cached = rig.command(Operation::ProgramCache, 4, again(2));
    assert!(matches!(rig.run(cached, 1), Err(Refusal::Unsupported { .. })));
}

#[test]
fn a_location_of_two_planes_is_programmed_again_until_a_later_super_layer_is() {
    let mut rig = Rig::with_locations_of(Bytes(16 << 10));
    rig.program(0, CellMode::Mlc, 1).expect("the block is erased");
    rig.program(0, CellMode::Reprogrammed(1), 2).expect("no later super layer is begun");
    let versions = [0, 1, 2].map(|at| rig.chips.stamp(Location(at)).version);
    assert_eq!(versions, [2, 1, DataTag::ERASED.version]);
    for line in 1..3 {
        rig.program(2 * line, CellMode::Mlc, 1).expect("it comes next");
    }
    let closed = Refusal::SuperLayerClosed { page: PageId(0), later: PageId(8) };
    assert_eq!(rig.program(0, CellMode::Reprogrammed(2), 1), Err(closed));
}

#[test]
fn a_command_that_is_spelled_in_a_mode_latches_its_prefix_for_each_plane() {
    let mut rig = Rig::new();
    let latch = rig.chips.part().bus.t_wc;
    rig.chips.set_mode(BlockSetId(0), CellMode::Mlc);
    let unspelled = Command { mode: None, ..rig.command(Operation::Program, 0, CellMode::Native) };
    let told = rig.run(unspelled, 1).expect("the block is in the mode");
    let spelled = rig.program(2, CellMode::Mlc, 1).expect("it comes next");
    assert_eq!((spelled.array, spelled.bus), (told.array, told.bus + latch * 4), "two pages in two planes");
    let read = |rig: &Rig, mode| Command { mode, ..rig.command(Operation::Read, 0, CellMode::Native) };
    let told = rig.run(read(&rig, None), 1).expect("it can be read");
    let spelled = rig.run(read(&rig, Some(CellMode::Reprogrammed(1))), 1).expect("it can be read");
    // The turnaround of the bus after the data out of the first read is not over.
    let bus = &rig.chips.part().bus;
    let turn = bus.t_rhw - bus.t_cs;
    assert_eq!((spelled.array, spelled.bus), (told.array, told.bus + turn + latch * 2));
}

#[test]
fn a_power_cut_amid_a_reprogram_tears_both_pages_of_the_word_line() {
    for (at_cut, wanted) in
        [(InFlightFate::Interrupted, [0, 0, 1, 1]), (InFlightFate::Completed, [1, 2, 1, 1])]
    {
        let mut rig = Rig::new();
        for line in 0..2 {
            rig.program(2 * line, CellMode::Mlc, 1).expect("the block is erased");
        }
        let again = rig.command(Operation::Program, 1, CellMode::Reprogrammed(1));
        rig.chips.registers(DIE).fill(DataTag { logical: 5, version: 2 });
        rig.chips.start(DIE, again, &mut rig.calendar).expect("it can be programmed again");
        let torn = rig.chips.cut_power(rig.calendar.now() + us(400), at_cut);
        let counts = if at_cut == InFlightFate::Interrupted { (1, 2, 2) } else { (0, 0, 0) };
        assert_eq!((torn.programs, torn.pages, torn.partners), counts);
        assert_eq!(rig.versions(4), wanted);
        assert_eq!(rig.chips.stamp(Location(0)) == DataTag::UNREADABLE, at_cut == InFlightFate::Interrupted);
    }
}

#[test]
fn a_program_fails_in_the_plane_that_the_rule_names_and_the_others_can_be_read() {
    let mut rig = Rig::new();
    let rule =
        FaultFile { plane: Some(NumberRange::from(1)), nth: Some(3), ..FaultFile::new(Fails::Program) };
    let rule = rule.check(rig.chips.geometry()).expect("the rule is sound");
    rig.chips.inject(&[rule], Seed(1));
    for line in 0..2 {
        let done = rig.program(2 * line, CellMode::Mlc, 1).expect("the block is erased");
        assert_eq!(done.failed_planes, 0);
    }
    let done = rig.program(0, CellMode::Reprogrammed(1), 2).expect("it can be programmed again");
    assert_eq!((done.failed, done.failed_planes), (true, 0b10));
    let held: Vec<DataTag> = (0..4).map(|location| rig.chips.stamp(Location(location))).collect();
    let of_first = |logical, version| DataTag { logical, version };
    assert_eq!(held, [of_first(0, 2), DataTag::UNREADABLE, of_first(2, 1), DataTag::UNREADABLE]);
    let read = rig.run(rig.command(Operation::Read, 0, CellMode::Mlc), 9).expect("it can be read");
    assert_eq!(read.failed_planes, 0b10);
}
