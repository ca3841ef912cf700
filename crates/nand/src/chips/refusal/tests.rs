use wordline_kernel::{Calendar, Duration, Schedule};

use super::*;
use crate::Pools;
use crate::chips::{Chips, Command, CommandCompletion, Event, Operation, Wiring};
use crate::geometry::Layout;
use crate::part::tests::{mqsim, mqsim_file};
use crate::part::{PartFile, SlcTiming};

/// Chips with contents: two dies of MQSim's part with `change` applied, each with one group of two planes.
fn chips(change: impl Fn(&mut PartFile)) -> Chips {
    let mut file = mqsim_file();
    change(&mut file);
    let part = file.check().expect("the part is sound");
    let geometry = Layout::on_one_channel(2, Some(2)).check(&part).expect("the layout is sound");
    Chips::new(Pools::of_pages(part, geometry))
}

fn one_shot(file: &mut PartFile) {
    let us = Duration::from_us;
    (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 12);
    file.timing.slc = Some(SlcTiming { read: us(20), program: us(200), erase: us(2_000) });
}

fn command(operation: Operation, page: u32, planes: u32) -> Command {
    Command::new(operation, PageId(page), planes, Bytes::kib(8) * u64::from(planes))
}

fn refused(chips: &mut Chips, die: u32, command: Command) -> Refusal {
    let mut calendar = Calendar::new();
    let refusal = chips.start(DieId(die), command, &mut calendar).expect_err("the die cannot do that");
    assert_eq!(calendar.advance(), None, "nothing was begun: {refusal}");
    refusal
}

/// Runs one command after the other.
fn run(chips: &mut Chips, commands: &[Command]) -> Vec<CommandCompletion> {
    run_on(chips, &mut Calendar::new(), commands)
}

fn run_on(chips: &mut Chips, calendar: &mut Calendar<Event>, commands: &[Command]) -> Vec<CommandCompletion> {
    let mut done = Vec::new();
    for command in commands {
        chips.start(DieId(0), *command, calendar).expect("the die takes it");
        while let Some(event) = calendar.advance() {
            done.extend(chips.handle(event, calendar));
        }
    }
    done
}

#[test]
fn what_a_command_names_must_be_there() {
    use Operation::{Copyback, Erase, Program, Read, ReadCache};
    // 16 blocks of 8 pages in each of two planes: 256 pages a die, plane 1 at odd numbers.
    let mut chips = chips(|_| ());
    let page = PageId;
    for (die, operation, first, planes, wanted) in [
        (2, Read, 0, 1, Refusal::NoSuchDie { die: DieId(2), dies: 2 }),
        (1, Read, 512, 1, Refusal::NoSuchPage { page: page(512) }),
        (1, Erase, u32::MAX, 2, Refusal::NoSuchPage { page: page(u32::MAX) }),
        (0, Read, 256, 1, Refusal::OtherDie { page: page(256), die: DieId(0), of: DieId(1) }),
        (0, Read, 0, 0, Refusal::Planes { found: 0, most: 2 }),
        (0, Read, 1, 2, Refusal::Planes { found: 2, most: 1 }),
        (0, Erase, 0, 3, Refusal::Planes { found: 3, most: 2 }),
        (1, Read, 510, u32::MAX, Refusal::Planes { found: u32::MAX, most: 2 }),
        (0, Program, 0, 1, Refusal::NotAllPlanes { found: 1, wanted: 2 }),
        (0, Copyback { to: page(17) }, 0, 2, Refusal::Planes { found: 2, most: 1 }),
        (0, Copyback { to: page(512) }, 0, 2, Refusal::NoSuchPage { page: page(512) }),
        (0, Copyback { to: page(256) }, 0, 2, {
            Refusal::OtherDie { page: page(256), die: DieId(0), of: DieId(1) }
        }),
        (0, ReadCache { first: true, next: Some(page(1)) }, 0, 2, Refusal::Planes { found: 2, most: 1 }),
        (0, ReadCache { first: false, next: None }, 0, 2, Refusal::Sequence { sensed: None }),
    ] {
        let refusal =
            refused(&mut chips, die, Command { bytes: Bytes(1), ..command(operation, first, planes) });
        assert_eq!(refusal, wanted, "die {die}, {operation:?} of {first} in {planes} planes");
    }
    let long = Command { bytes: Bytes(16_385), ..command(Read, 0, 2) };
    let most = Bytes::kib(16);
    assert_eq!(refused(&mut chips, 0, long), Refusal::Bytes { found: Bytes(16_385), most });
    let done = run(&mut chips, &[command(Program, 0, 2), command(Read, 1, 1), command(Erase, 0, 2)]);
    assert_eq!(done.len(), 3, "what is there is taken");
}

#[test]
fn a_one_shot_part_programs_whole_word_lines() {
    let mut chips = chips(one_shot);
    let program = |page| command(Operation::Program, page, 2);
    assert_eq!(refused(&mut chips, 0, program(2)), Refusal::WithinWordLine { page: PageId(2) });
    let copy = command(Operation::Copyback { to: PageId(24) }, 0, 2);
    let what = "a copyback of a word line";
    assert_eq!(refused(&mut chips, 0, copy), Refusal::Unsupported { what });
    let mut calendar = Calendar::new();
    run_on(&mut chips, &mut calendar, &[program(0), program(6)]);
    // A block in SLC mode has one page per word line.
    assert!(chips.enable_mode(crate::CellMode::Slc));
    chips.set_mode(crate::BlockSetId(1), crate::CellMode::Slc);
    run_on(&mut chips, &mut calendar, &[24, 26, 28, 30].map(program));
    assert_eq!(refused(&mut chips, 0, program(32)), Refusal::NoSuchPage { page: PageId(32) });
}

#[test]
fn a_part_with_one_register_has_no_cache_operations() {
    let mut chips = chips(|file| file.geometry.registers = 1);
    let read = Operation::ReadCache { first: true, next: None };
    for (operation, what) in [(read, "read cache"), (Operation::ProgramCache, "program cache")] {
        assert_eq!(refused(&mut chips, 0, command(operation, 0, 2)), Refusal::Unsupported { what });
    }
}

#[test]
fn a_die_at_work_takes_only_what_goes_on() {
    let mut chips = chips(|_| ());
    let mut calendar = Calendar::new();
    let (die, read) = (DieId(0), command(Operation::Read, 0, 2));
    let cached = |first, page: u32, next: Option<u32>| {
        command(Operation::ReadCache { first, next: next.map(PageId) }, page, 2)
    };
    chips.start(die, cached(true, 0, Some(2)), &mut calendar).expect("the die is idle");
    let busy = chips.check(die, &cached(false, 2, None), calendar.now());
    assert!(matches!(busy, Err(Refusal::Busy { .. })), "{busy:?}");
    while let Some(event) = calendar.advance() {
        chips.handle(event, &mut calendar);
    }
    for other in [read, cached(true, 2, None), cached(false, 4, None)] {
        let sensed = Some(PageId(2));
        assert_eq!(refused(&mut chips, 0, other), Refusal::Sequence { sensed }, "{other:?}");
    }
    run_on(&mut chips, &mut calendar, &[cached(false, 2, None), read]);
}

#[test]
fn chips_that_count_limits_take_parts_of_a_row_and_copies_to_other_planes() {
    let part = mqsim();
    let geometry = Layout::on_one_channel(2, Some(2)).check(&part).expect("the layout is sound");
    let mut chips = Chips::counting(part, geometry, Wiring::default());
    let copy = command(Operation::Copyback { to: PageId(257) }, 0, 1);
    assert_eq!(run(&mut chips, &[command(Operation::Program, 0, 1), copy]).len(), 2);
    assert_eq!(chips.violations().copyback, 1);
}

#[test]
fn a_refusal_says_what_was_found_and_what_was_wanted() {
    let mut chips = chips(|_| ());
    let crossing = refused(&mut chips, 0, command(Operation::Read, 1, 2)).to_string();
    assert_eq!(crossing, "planes: found 2, wanted from 1 to 1, from the plane of the page on");
    let beyond = refused(&mut chips, 0, command(Operation::Read, 256, 1)).to_string();
    assert_eq!(beyond, "page: found 256 of die 1, wanted one of die 0");
}
