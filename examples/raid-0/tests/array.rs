//! An array of devices is a device: it runs, loses power, is saved and is measured like its members.

use raid_0::{Array, MemberEvent, Raid0};
use wordline_device::content::{Content, ZEROES};
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Command, FixedLatency, Operation};
use wordline_kernel::{Bytes, Calendar, Duration, Instant, Schedule, Seed};
use wordline_lab::summary::Outcome;
use wordline_lab::{
    Device, PowerCutPoint, Precondition, Registry, RunOptions, Selection, Summary, Unobserved, WarmUp,
    Workload, run,
};

/// The result of a workload at queue depth 64 on an array of `members` small SSDs, with 10,000 requests for
/// each SSD.
fn run_small(workload: &str, members: u64, options: &RunOptions) -> Summary {
    let set = vec![format!("members={members}")];
    let selection = Selection { preset: Some("raid-0".into()), file: None, set };
    let device = Device::load_of(&Registry::default().with::<Array>(), &selection).expect("it is sound");
    let requests = Some(10_000 * members);
    let load = Workload { queue_depth: Some(64), requests, ..Workload::named(workload) };
    // Member commands are counted at submission, so their number includes those outstanding at the end.
    let options = RunOptions { warm_up: Some(WarmUp::None), ..options.clone() };
    run(&device, &load, &options, &mut Unobserved).expect("it runs")
}

#[test]
fn two_members_answer_random_reads_nearly_twice_as_fast() {
    let [one, two] = [1, 2].map(|members| run_small("randread-4k", members, &RunOptions::default()));
    let ratio = two.host.iops / one.host.iops;
    // At a queue depth of 64 the dies are not always busy: a member has half of the commands on average.
    assert!((1.5..2.05).contains(&ratio), "{ratio}");
    assert_eq!(two.metrics.count("raid.commands"), 20_000);
    assert_eq!(two.metrics.count("raid.split"), 0, "reads of 4 KiB lie within a unit");
    assert_eq!(two.die_utilisation.len(), 2 * one.die_utilisation.len());
}

#[test]
fn a_run_of_an_array_can_be_repeated() {
    let run = || run_small("mixed-70-30", 2, &RunOptions::default());
    let (first, second) = (run(), run());
    assert_eq!((&first.digest, first.outcome), (&second.digest, Outcome::Complete));
    assert!(first.metrics.count("flash.host_bytes") > 0);
}

#[test]
fn an_array_loses_its_power_and_recovers() {
    let cut = RunOptions { power_cut: Some(PowerCutPoint::Requests(5_000)), ..RunOptions::default() };
    let run = run_small("randwrite-4k", 2, &cut);
    let [cut] = run.power_cuts[..] else { panic!("{:?}", run.power_cuts) };
    assert!(cut.pages_read > 0 && cut.recovery_seconds > 0.0, "{cut:?}");
    assert_eq!(run.outcome, Outcome::Complete);
}

#[test]
fn an_array_is_aged_with_the_workload_as_its_members_are() {
    let aged = RunOptions { precondition: Some(Precondition::Workload(Some(2.0))), ..RunOptions::default() };
    let [one, two] = [1, 2].map(|members| run_small("randwrite-4k", members, &aged));
    let amplification = |run: &Summary| {
        let [moved, written] = ["flash.gc_bytes", "flash.host_bytes"].map(|name| run.metrics.count(name));
        1.0 + moved as f64 / written as f64
    };
    for run in [&one, &two] {
        let told = "aged with the workload itself: 2.00 drive writes, with ";
        assert!(run.notes.iter().any(|note| note.starts_with(told)), "{:?}", run.notes);
    }
    assert!(amplification(&one) > 1.5, "a device that is full cleans: {}", amplification(&one));
    let ratio = amplification(&two) / amplification(&one);
    assert!((0.95..1.05).contains(&ratio), "each member is as a device alone: {ratio}");
}

#[test]
fn an_array_without_flash_does_not_age() {
    let fixed = || FixedLatency::new(Bytes(1 << 20), Duration::from_us(70));
    let mut array = Raid0::new(vec![fixed(), fixed()], Bytes(64 << 10));
    assert!(array.age(&mut |_| unreachable!("nothing is asked for"), Some(1)).is_none());
}

type Event = MemberEvent<wordline_ssd::Event>;

fn small() -> Raid0<wordline_ssd::Device> {
    let selection = Selection { preset: Some("tiny".into()), ..Selection::default() };
    let device = Device::load(&selection).expect("a preset");
    let config = &device.ssd().expect("it is of an SSD").config;
    let member = |number| wordline_ssd::Device::new(config.clone(), Seed(number));
    let mut array = Raid0::new((0..2).map(member).collect(), Bytes(16 << 10));
    assert!(array.fill_while(1.0, &mut |_| true));
    array
}

/// Makes `array` handle at most `events` events.
fn go_on(array: &mut Raid0<wordline_ssd::Device>, calendar: &mut Calendar<Event>, events: usize) {
    for _ in 0..events {
        let Some(event) = calendar.advance() else { break };
        array.handle(event, calendar);
        array.clear_completions();
    }
}

#[test]
fn an_array_that_was_saved_in_mid_flight_goes_on_as_the_one_that_was_not() {
    let (mut array, mut calendar) = (small(), Calendar::new());
    for tag in 0..200 {
        let operation = [Operation::Write, Operation::Read][tag as usize % 2];
        let sector = u64::from(tag) * 88 % (array.shape().namespaces[0] - 80);
        let sector = sector / 8 * 8;
        let command = Command { operation, sector, sectors: 80, tag, ..Command::default() };
        array.submit(command, &mut calendar);
    }
    go_on(&mut array, &mut calendar, 500);
    assert!(array.outstanding() > 0, "something is under way");
    let mut bytes = Vec::new();
    array.save(&Agenda::of(&calendar), &mut bytes).expect("a list takes everything");
    let mut again = small();
    let agenda = again.load(&mut bytes.as_slice()).expect("it was just written");
    let mut resumed = agenda.calendar(|event| event);
    go_on(&mut array, &mut calendar, usize::MAX);
    go_on(&mut again, &mut resumed, usize::MAX);
    assert_eq!((again.digest(), resumed.now()), (array.digest(), calendar.now()));
    array.audit(calendar.now() - Instant::ZERO);
}

#[test]
fn an_event_of_a_member_that_is_not_there_is_refused() {
    let fixed = |count: u64| {
        let members = (0..count).map(|_| FixedLatency::new(Bytes(1 << 20), Duration::from_us(70))).collect();
        Raid0::new(members, Bytes(4096))
    };
    let (mut array, mut calendar) = (fixed(2), Calendar::new());
    let command = Command { sectors: 16, operation: Operation::Read, ..Command::default() };
    array.submit(command, &mut calendar);
    let mut agenda = Agenda::of(&calendar);
    agenda.events[1].1.member = 2;
    let mut bytes = Vec::new();
    array.save(&agenda, &mut bytes).expect("a list takes everything");
    let error = fixed(2).load(&mut bytes.as_slice()).expect_err("there are two").to_string();
    assert!(error.contains("an event of a member that does not exist"), "{error}");
    let error = fixed(3).load(&mut bytes.as_slice()).expect_err("there are three").to_string();
    assert!(error.starts_with("a list of 2 entries, wanted 3"), "{error}");
}

/// The contents that a command writes to its sectors, as sector and version.
fn contents(command: &Command, version: u32) -> Vec<Content> {
    (command.sector..command.sector + command.sectors).map(|sector| content(sector, version)).collect()
}

fn content(sector: u64, version: u32) -> Content {
    Content::of((sector as u32) << 8 | version)
}

fn command(operation: Operation, tag: u32) -> Command {
    Command { operation, sector: u64::from(tag) * 80, sectors: 80, tag, ..Command::default() }
}

#[test]
fn what_sectors_hold_comes_back_through_an_array_after_a_power_cut() {
    let (mut array, mut calendar) = (small(), Calendar::new());
    array.follow_contents();
    for tag in 0..100 {
        let write = command(Operation::Write, tag);
        array.submit_with(write, &contents(&write, 1), &mut calendar);
    }
    go_on(&mut array, &mut calendar, usize::MAX);
    array.submit(Command { sector: 0, sectors: 0, ..command(Operation::Flush, 100) }, &mut calendar);
    go_on(&mut array, &mut calendar, usize::MAX);
    for tag in (0..100).step_by(2) {
        let write = command(Operation::Write, tag);
        array.submit_with(write, &contents(&write, 2), &mut calendar);
    }
    go_on(&mut array, &mut calendar, 400);
    assert!(!array.power_cut(calendar.now()).incomplete.is_empty(), "something is under way");
    calendar.clear();
    array.recover(&mut calendar);
    go_on(&mut array, &mut calendar, usize::MAX);
    assert!(array.is_ready());
    let mut newer = 0;
    for tag in 0..100 {
        let read = command(Operation::Read, tag);
        array.submit(read, &mut calendar);
        go_on(&mut array, &mut calendar, usize::MAX);
        let found = array.take_contents(tag).expect("contents are followed");
        let [first, second] = [1, 2].map(|version| contents(&read, version));
        for (at, content) in found.iter().enumerate() {
            let may = *content == first[at] || tag % 2 == 0 && *content == second[at];
            assert!(may, "sector {at} of {read:?} holds {content:?}");
            newer += u32::from(*content == second[at]);
        }
        assert_eq!(array.take_contents(tag), None, "it is told once");
    }
    assert!((1..50 * 80).contains(&newer), "{newer} sectors of what was not flushed are there");
}

#[test]
fn what_sectors_hold_is_striped_as_they_are() {
    let member = || FixedLatency::new(Bytes(1 << 20), Duration::from_us(70));
    let (mut array, mut calendar) =
        (Raid0::new((0..3).map(|_| member()).collect(), Bytes(4096)), Calendar::new());
    array.submit(command(Operation::Read, 0), &mut calendar);
    while let Some(event) = calendar.advance() {
        array.handle(event, &mut calendar);
    }
    assert_eq!(array.take_contents(0), None, "nobody asked for it");
    array.follow_contents();
    let write = command(Operation::Write, 1);
    let zeroes = Command { sector: 90, sectors: 20, ..command(Operation::WriteZeroes, 2) };
    let plain = Command { sector: 110, sectors: 5, ..command(Operation::Write, 3) };
    array.submit_with(write, &contents(&write, 7), &mut calendar);
    for command in [zeroes, plain, Command { sector: 70, sectors: 60, ..command(Operation::Read, 4) }] {
        array.submit(command, &mut calendar);
    }
    while let Some(event) = calendar.advance() {
        array.handle(event, &mut calendar);
    }
    let expected = (70..130).map(|sector: u64| match sector {
        90..110 => ZEROES,
        110..115 => Content::of(3),
        80.. => content(sector, 7),
        _ => ZEROES,
    });
    assert_eq!(array.take_contents(4), Some(expected.collect()));
}

#[test]
fn a_command_takes_as_long_as_the_slowest_of_its_pieces() {
    let latency = Duration::from_us(70);
    let members = (0..3).map(|_| FixedLatency::new(Bytes(1 << 20), latency)).collect();
    let (mut array, mut calendar) = (Raid0::new(members, Bytes(4096)), Calendar::new());
    let command = Command { sector: 4, sectors: 24, operation: Operation::Read, ..Command::default() };
    array.submit(command, &mut calendar);
    assert_eq!(array.members().iter().map(BlockDevice::outstanding).sum::<usize>(), 3);
    while let Some(event) = calendar.advance() {
        array.handle(event, &mut calendar);
    }
    let [completion] = array.completions() else { panic!("{:?}", array.completions()) };
    assert_eq!((completion.command, completion.latency, completion.failed), (command, latency, false));
}
