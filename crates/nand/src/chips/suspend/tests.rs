use wordline_kernel::{Bytes, Calendar, Duration, Instant, Schedule};

use crate::chain::BusPhase;
use crate::chips::tests::{chips, program, read};
use crate::chips::{Chips, DataTag, Event, InFlightFate, Operation, Refusal};
use crate::geometry::{BlockSetId, ChannelId, DieId};
use crate::{Command, CommandCompletion, Part, Stage};

const DIE: DieId = DieId(0);

/// A read that arrives during an erase or program: the completions of both.
struct Meeting {
    read: Instant,
    other: Instant,
    done: CommandCompletion,
    suspends: u32,
}

/// The array time until `now`. From `before`, an instant and the array time until then, it grows by at most
/// the time.
fn works_on(chips: &Chips, before: (Instant, u64), now: Instant) -> (Instant, u64) {
    let worked = chips.array_busy(now).next().expect("a die");
    assert!((before.1..=before.1 + (now - before.0).ps()).contains(&worked), "{worked} at {now:?}");
    (now, worked)
}

/// Starts `command` at time zero. A read arrives at each of `reads`, with a suspend if it is possible and
/// requested. The counts are checked at every event.
fn meet(chips: &mut Chips, command: Command, reads: &[Duration], suspends: bool) -> Meeting {
    let (_, read) = read(chips, 0, Bytes::kib(8));
    let mut calendar = Calendar::new();
    chips.begin(DIE, command, &mut calendar);
    // Events without an effect on the chips.
    reads.iter().for_each(|at| calendar.at(Instant::ZERO + *at, Event::BusFree(ChannelId(0))));
    let (mut waiting, mut served, mut asked, mut ends) = (0, 0u128, 0, Vec::new());
    let mut worked = (Instant::ZERO, 0);
    while let Some(event) = calendar.advance() {
        let now = calendar.now();
        worked = works_on(chips, worked, now);
        if let Some(done) = chips.handle(event, &mut calendar) {
            served += u128::from((done.bus + done.array).ps());
            ends.push((now, done));
        }
        let comes = reads.get(asked).is_some_and(|at| Instant::ZERO + *at == now);
        (waiting, asked) = (waiting + u32::from(comes), asked + usize::from(comes));
        if comes && suspends && chips.can_suspend(DIE, now) {
            chips.suspend(DIE, &mut calendar);
        } else if chips.is_idle(DIE) && waiting > 0 {
            assert!(chips.takes(DIE, Operation::Read, now));
            waiting -= 1;
            chips.begin(DIE, read, &mut calendar);
        } else if chips.is_idle(DIE) && chips.is_suspended(DIE) {
            assert!(!chips.takes(DIE, Operation::Erase, now), "it takes reads alone");
            chips.resume(DIE, &mut calendar);
        }
        worked = works_on(chips, worked, now);
        let elapsed = now - Instant::ZERO;
        let stages = chips.stages(elapsed);
        assert_eq!(stages.active_ps(), served + chips.unfinished_ps(elapsed), "at {elapsed}");
        let once = stages.active_ps() + stages.ps(Stage::Idle) - chips.overlap_ps(elapsed);
        assert_eq!(once, u128::from(elapsed.ps()), "at {elapsed}");
    }
    let is_read = |done: &CommandCompletion| done.command.operation == Operation::Read;
    let (other, done) = *ends.iter().find(|(_, done)| !is_read(done)).expect("it ends");
    let read = ends.iter().rev().find(|(_, done)| is_read(done)).map_or(Instant::ZERO, |(at, _)| *at);
    let array: u64 = ends.iter().map(|(_, done)| done.array.ps()).sum();
    let busy: Vec<u64> = chips.array_busy(calendar.now()).collect();
    assert_eq!(busy, [array], "the array is busy for the commands");
    assert_eq!(worked.1, array, "and so is the sum of what it worked from event to event");
    assert_eq!(chips.unfinished_ps(calendar.now() - Instant::ZERO), 0);
    Meeting { read, other, done, suspends: chips.sequencer.dies[DIE].suspends }
}

fn erase(chips: &Chips) -> Command {
    let (_, read) = read(chips, 0, Bytes::kib(8));
    Command { operation: Operation::Erase, ..read }
}

/// Latch, sensing and data out of the read.
fn read_time(part: &Part) -> Duration {
    BusPhase::Read.total(part, 1) + part.read_time(0) + BusPhase::DataOut.total(part, 1)
}

#[test]
fn a_read_that_meets_an_erase_waits_for_its_end_or_for_the_array_to_rest() {
    let ms = Duration::from_ms(1);
    let mut waits = chips(1);
    let part = waits.part().clone();
    let command = erase(&waits);
    let whole = BusPhase::Erase.total(&part, 1) + part.timing.erase;
    let without = meet(&mut waits, command, &[ms], false);
    assert_eq!(without.read, Instant::ZERO + whole + read_time(&part));
    assert_eq!(without.other, Instant::ZERO + whole);

    let [_, rest] = part.timing.suspend;
    let with = meet(&mut chips(1), command, &[ms], true);
    let rests = ms + BusPhase::SuspendErase.total(&part, 1) + rest;
    assert_eq!(with.read, Instant::ZERO + rests + read_time(&part));
    // After the resume the array works for the time that remained at the latch of the suspend.
    let left = whole - ms - BusPhase::SuspendErase.total(&part, 1);
    let turn = part.bus.t_rhw - part.bus.t_cs;
    assert_eq!(with.other, with.read + turn + BusPhase::ResumeErase.total(&part, 1) + left);
    assert_eq!(
        with.done.array,
        part.timing.erase + rest,
        "the array works for nothing while it comes to rest"
    );
    let holds =
        [BusPhase::Erase, BusPhase::SuspendErase, BusPhase::ResumeErase].map(|hold| hold.total(&part, 1));
    assert_eq!(with.done.bus, holds.into_iter().sum::<Duration>() + turn);
}

#[test]
fn a_program_is_suspended_twice_and_writes_its_page_once() {
    let mut chips = chips(1);
    let (_, command) = program(&chips, 0);
    let part = chips.part().clone();
    let load = BusPhase::Program.total(&part, 1);
    let reads = [load + Duration::from_us(50), load + Duration::from_us(500)];
    let met = meet(&mut chips, command, &reads, true);
    let [rest, _] = part.timing.suspend;
    assert_eq!(met.suspends, 2);
    assert_eq!(met.done.array, part.program_time(0) + rest * 2);
    assert_eq!(chips.counts().pages_programmed, 1);
    assert_eq!(chips.counts().pages_read, 2);
}

#[test]
fn a_copyback_is_suspended_in_its_program() {
    let stamp = DataTag { logical: 3, version: 1 };
    let part = chips(1).part().clone();
    let sensed = BusPhase::CopybackRead.total(&part, 1) + part.read_time(0);
    let programs = sensed + BusPhase::CopybackProgram.total(&part, 1);
    let [rest, _] = part.timing.suspend;
    let us = Duration::from_us;
    for (comes, suspended) in
        [(us(1), programs), (sensed - us(1), programs), (programs + us(300), programs + us(300))]
    {
        let mut chips = chips(1);
        chips.put(crate::Location(0), stamp);
        let (_, read) = read(&chips, 0, Bytes::kib(8));
        let to = chips.geometry().page(BlockSetId(1), 0);
        let command = Command { operation: Operation::Copyback { to }, bytes: Bytes(0), ..read };
        let met = meet(&mut chips, command, &[comes], true);
        assert_eq!(met.suspends, 1, "a read at {comes}");
        let rests = suspended + BusPhase::SuspendProgram.total(&part, 1) + rest;
        assert_eq!(met.read, Instant::ZERO + rests + read_time(&part), "a read at {comes}");
        assert_eq!(met.done.array, part.read_time(0) + part.program_time(0) + rest);
        assert_eq!(chips.stamp(chips.pools().at(BlockSetId(1), 0)), stamp);
    }
}

#[test]
fn what_ends_before_it_could_rest_is_not_suspended() {
    let mut chips = chips(1);
    let part = chips.part().clone();
    let (_, command) = program(&chips, 0);
    let [rest, _] = part.timing.suspend;
    let end = BusPhase::Program.total(&part, 1) + part.program_time(0);
    let met = meet(&mut chips, command, &[end - rest], true);
    assert_eq!((met.suspends, met.other), (0, Instant::ZERO + end));
    // A picosecond earlier the suspend is still allowed, but is latched too late: it costs only the latch.
    let met = meet(&mut self::chips(1), command, &[end - rest - Duration::from_ps(1)], true);
    assert_eq!((met.suspends, met.other), (0, Instant::ZERO + end));
    assert_eq!(met.done.bus, BusPhase::Program.total(&part, 1) + BusPhase::SuspendProgram.total(&part, 1));
}

#[test]
fn who_waits_for_the_bus_to_suspend_gives_up_when_the_array_has_finished() {
    // The other die transfers a page in during the whole erase of the first die, whose part has no suspend
    // time.
    let mut file = crate::part::tests::mqsim_file();
    file.timing.suspend = [Duration::ZERO; 2];
    file.timing.erase = Duration::from_us(20);
    let part = file.check().expect("the part is sound");
    let geometry =
        crate::geometry::Layout::on_one_channel(2, Some(1)).check(&part).expect("the layout is sound");
    let mut chips = Chips::new(crate::Pools::of_pages(part, geometry));
    let (erase, (other, load)) = (erase(&chips), program(&chips, 1));
    let mut calendar = Calendar::new();
    chips.begin(DIE, erase, &mut calendar);
    chips.begin(other, load, &mut calendar);
    calendar.at(Instant::ZERO + Duration::from_us(2), Event::BusFree(ChannelId(0)));
    let (mut ends, mut asked) = (Vec::new(), false);
    while let Some(event) = calendar.advance() {
        ends.extend(chips.handle(event, &mut calendar).map(|done| (done.die, done.command.operation)));
        if !asked && calendar.now() >= Instant::ZERO + Duration::from_us(2) {
            asked = true;
            chips.suspend(DIE, &mut calendar);
        }
        if ends.len() == 1 && chips.is_idle(DIE) {
            // The next command of the die requests the bus once, and is granted it once.
            let (_, read) = read(&chips, 0, Bytes::kib(8));
            chips.begin(DIE, read, &mut calendar);
            ends.push((DIE, Operation::Copyback { to: read.page }));
        }
    }
    ends.retain(|(_, operation)| !matches!(operation, Operation::Copyback { .. }));
    assert_eq!(ends, [(DIE, Operation::Erase), (DIE, Operation::Read), (other, Operation::Program)]);
}

#[test]
fn the_time_line_shows_the_array_as_long_as_it_worked() {
    let mut chips = chips(1);
    chips.record();
    let command = erase(&chips);
    let part = chips.part().clone();
    meet(&mut chips, command, &[Duration::from_ms(1)], true);
    let spans = chips.take_spans();
    let erasing: Vec<_> = spans.iter().filter(|span| span.stage == Stage::Ber).collect();
    assert_eq!(erasing.len(), 2);
    let total: Duration = erasing.iter().map(|span| span.length).sum();
    assert_eq!(total, part.timing.erase + part.timing.suspend[1]);
    assert!(erasing.iter().all(|span| span.command == 0), "both are of the erase");
    let sensing = spans.iter().find(|span| span.stage == Stage::Ton).expect("the read senses");
    assert!(erasing[0].begin + erasing[0].length <= sensing.begin);
    assert!(sensing.begin + sensing.length <= erasing[1].begin);
}

#[test]
fn an_operation_in_progress_appears_in_the_time_line_once_it_has_ended_or_is_suspended() {
    let mut chips = chips(1);
    chips.record();
    let (command, ms) = (erase(&chips), Duration::from_ms);
    let mut calendar = Calendar::new();
    chips.begin(DIE, command, &mut calendar);
    calendar.at(Instant::ZERO + ms(1), Event::BusFree(ChannelId(0)));
    let erases = |chips: &mut Chips, now| {
        let spans = chips.take_ended_spans(now).into_iter();
        spans.filter(|span| span.stage == Stage::Ber).map(|span| span.end()).collect::<Vec<_>>()
    };
    while !(chips.is_suspended(DIE) && chips.is_idle(DIE)) {
        let event = calendar.advance().expect("the erase is suspended");
        assert!(chips.handle(event, &mut calendar).is_none(), "the erase is not over");
        if event == Event::BusFree(ChannelId(0)) && chips.can_suspend(DIE, calendar.now()) {
            assert_eq!(erases(&mut chips, calendar.now()), [], "it can still be suspended");
            chips.suspend(DIE, &mut calendar);
        }
    }
    assert_eq!(erases(&mut chips, calendar.now()), [calendar.now()]);
    chips.resume(DIE, &mut calendar);
    calendar.at(calendar.now() + ms(1), Event::BusFree(ChannelId(0)));
    let cut = calendar.now() + ms(1);
    while calendar.now() < cut {
        let event = calendar.advance().expect("the erase continues");
        chips.handle(event, &mut calendar);
    }
    chips.cut_power(cut, InFlightFate::Interrupted);
    assert_eq!(erases(&mut chips, cut), [cut], "it ends when the power is cut");
}

/// Two blocks of a die: an erase of the first is suspended, and a program of the second begins.
fn program_amid_an_erase(chips: &mut Chips, calendar: &mut Calendar<Event>) -> Command {
    let (_, read) = read(chips, 0, Bytes::kib(8));
    chips.begin(DIE, Command { operation: Operation::Erase, ..read }, calendar);
    calendar.at(Instant::ZERO + Duration::from_ms(1), Event::BusFree(ChannelId(0)));
    while !chips.is_suspended(DIE) || !chips.is_idle(DIE) {
        let event = calendar.advance().expect("it comes to rest");
        assert!(chips.handle(event, calendar).is_none(), "the erase is not over");
        if event == Event::BusFree(ChannelId(0)) && chips.can_suspend(DIE, calendar.now()) {
            chips.suspend(DIE, calendar);
        }
    }
    let now = calendar.now();
    let in_block = Command { operation: Operation::Program, ..read };
    let page = chips.geometry().page(BlockSetId(1), 0);
    let program = Command { page, ..in_block };
    assert!(chips.takes(DIE, Operation::Program, now) && !chips.takes(DIE, Operation::ProgramCache, now));
    assert_eq!(chips.check(DIE, &in_block, now), Err(Refusal::Suspended), "the block that is erased");
    chips.start(DIE, program, calendar).expect("another block");
    assert!(!chips.can_suspend(DIE, now), "one thing at a time is suspended");
    program
}

#[test]
fn a_program_of_another_block_goes_amid_a_suspended_erase() {
    let mut chips = chips(1);
    let part = chips.part().clone();
    let mut calendar = Calendar::new();
    chips.put(crate::Location(0), DataTag::PADDING);
    let program = program_amid_an_erase(&mut chips, &mut calendar);
    let stamp = DataTag { logical: 3, version: 1 };
    chips.registers(DIE)[0] = stamp;
    let begun = calendar.now();
    let mut ends = Vec::new();
    while let Some(event) = calendar.advance() {
        if let Some(done) = chips.handle(event, &mut calendar) {
            ends.push((calendar.now(), done));
            if chips.is_suspended(DIE) {
                chips.resume(DIE, &mut calendar);
            }
        }
        let elapsed = calendar.now() - Instant::ZERO;
        let once = chips.stages(elapsed).active_ps() + chips.stages(elapsed).ps(Stage::Idle);
        assert_eq!(once - chips.overlap_ps(elapsed), u128::from(elapsed.ps()), "at {elapsed}");
    }
    let [(programmed, first), (erased, second)] = ends[..] else { panic!("two commands end: {ends:?}") };
    assert_eq!((first.command, second.command.operation), (program, Operation::Erase));
    assert_eq!(programmed, begun + BusPhase::Program.total(&part, 1) + part.program_time(0));
    let [_, rest] = part.timing.suspend;
    assert_eq!(second.array, part.timing.erase + rest);
    assert!(erased > programmed);
    assert_eq!(chips.stamp(chips.pools().at(BlockSetId(1), 0)), stamp);
    assert_eq!((chips.programmed(BlockSetId(0)), chips.erases()[BlockSetId(0)]), (0, 1));
}

#[test]
fn a_power_cut_tears_the_suspended_erase_and_the_program_amid_it() {
    let mut chips = chips(1);
    let mut calendar = Calendar::new();
    chips.put(crate::Location(0), DataTag::PADDING);
    program_amid_an_erase(&mut chips, &mut calendar);
    let torn = chips.cut_power(calendar.now() + Duration::from_us(500), InFlightFate::Interrupted);
    assert_eq!((torn.erases, torn.programs, torn.pages), (1, 1, 1));
    assert_eq!(chips.erases()[BlockSetId(0)], 1, "an erase that was torn wears the block");
    assert_eq!(chips.stamp(chips.pools().at(BlockSetId(1), 0)), DataTag::UNREADABLE);
}
