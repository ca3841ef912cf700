//! Small open-channel device: rules of the interface, reading back, faults, power losses, snapshots, and
//! speed.

#![allow(missing_docs)]

mod buffered;
mod failures;
mod host;
mod random;
mod table;
mod times;

use host::Host;
use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, ChunkState, Command, Failure, LogicalBlock, Notice, Refusal};
use wordline_kernel::snapshot::SnapshotError;
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_nand::DataTag;
use wordline_nand::faults::{Fails, FaultFile, NumberRange};
use wordline_open_channel::{OpenChannel, OpenChannelFile};

include!("../../../nand/tests/common/small.rs");

/// Chips of the small device: two groups with two parallel units each, and 24 chunks of 32 pages in a
/// parallel unit. A program writes two pages.
fn device() -> OpenChannelFile {
    let (part, layout) = small_chips();
    OpenChannelFile::of(part, layout)
}

const FIRST: Chunk = Chunk { group: 0, unit: 0, chunk: 0 };

fn rule(fails: Fails) -> FaultFile {
    FaultFile::new(fails)
}

/// Host that has written `units` units to the first chunk.
fn written(file: OpenChannelFile, units: u32) -> Host {
    let mut host = Host::new(file, 1);
    for _ in 0..units {
        host.write(&[(FIRST, 1)]).expect("it is in order");
    }
    host.run_down();
    host
}

// Rules.

#[test]
fn the_geometry_is_that_of_the_chips() {
    let host = Host::new(device(), 1);
    let geometry = host.device.geometry();
    assert_eq!((geometry.groups, geometry.units_per_group, geometry.chunks_per_unit), (2, 2, 24));
    assert_eq!((geometry.blocks_per_chunk, geometry.block_size, geometry.ws_min), (32, Bytes::kib(4), 2));
    assert_eq!(geometry.capacity(), host.device.config().pools.capacity());
    let mut file = device();
    file.logical_block = Some(Bytes::kib(1));
    let host = Host::new(file, 1);
    assert_eq!((host.device.geometry().blocks_per_chunk, host.device.geometry().ws_min), (128, 8));
}

#[test]
fn a_chunk_is_free_then_open_then_closed_and_free_again() {
    let mut host = Host::new(device(), 1);
    let states = |host: &Host| (host.report(FIRST).state, host.report(FIRST).write_pointer);
    assert_eq!(states(&host), (ChunkState::Free, 0));
    host.write(&[(FIRST, 1)]).expect("it is free");
    assert_eq!(states(&host), (ChunkState::Open, 2));
    host.write(&[(FIRST, 15)]).expect("it is open");
    host.run_down();
    assert_eq!(states(&host), (ChunkState::Closed, 32));
    host.reset(&[FIRST]).expect("it is closed");
    host.run_down();
    assert_eq!(states(&host), (ChunkState::Free, 0));
    assert_eq!(host.device.chips().erases().iter().sum::<u32>(), 1);
    host.audit();
}

#[test]
fn a_command_that_breaks_a_rule_is_refused_by_its_reason() {
    let mut host = written(device(), 2);
    let (second, none) = (Chunk { chunk: 1, ..FIRST }, Chunk { group: 2, ..FIRST });
    let data = [DataTag { logical: 0, version: 1 }; 65];
    let write = |host: &mut Host, blocks: &[LogicalBlock]| {
        host.submit(&Command::write(9, blocks, &data[..blocks.len()])).expect_err("it breaks a rule")
    };
    let read = |host: &mut Host, block: LogicalBlock| {
        host.submit(&Command::read(9, &[block])).expect_err("it breaks a rule")
    };
    let range = |first, count| FIRST.range(first, count).collect::<Vec<_>>();
    assert_eq!(write(&mut host, &[]), Refusal::Count { found: 0 });
    let many: Vec<LogicalBlock> = (0..65).map(|n| FIRST.at(4 + n)).collect();
    assert_eq!(write(&mut host, &many), Refusal::Count { found: 65 });
    assert_eq!(write(&mut host, &[none.at(0)]), Refusal::NoSuchBlock { block: none.at(0) });
    assert_eq!(write(&mut host, &range(28, 8)), Refusal::NoSuchBlock { block: FIRST.at(32) });
    assert_eq!(write(&mut host, &range(6, 2)), Refusal::OutOfOrder { block: FIRST.at(6), wanted: 4 });
    assert_eq!(write(&mut host, &range(2, 2)), Refusal::OutOfOrder { block: FIRST.at(2), wanted: 4 });
    let twice: Vec<LogicalBlock> = range(4, 2).into_iter().chain(range(4, 2)).collect();
    assert_eq!(write(&mut host, &twice), Refusal::OutOfOrder { block: FIRST.at(4), wanted: 6 });
    assert_eq!(write(&mut host, &range(4, 3)), Refusal::WriteSize { chunk: FIRST, found: 3, wanted: 2 });
    let few = host.submit(&Command::write(9, &range(4, 2), &data[..1])).expect_err("a stamp is missing");
    assert_eq!(few, Refusal::Stamps { found: 1, wanted: 2 });
    let (blocks, torn) = (range(4, 2), [DataTag::PADDING, DataTag::UNREADABLE]);
    let torn = host.device.submit(&Command::write(9, &blocks, &torn), &mut host.calendar);
    assert_eq!(torn, Err(Refusal::NoData { block: FIRST.at(5) }));
    assert_eq!(read(&mut host, FIRST.at(4)), Refusal::NotReadable { block: FIRST.at(4), end: 4 });
    assert_eq!(read(&mut host, second.at(0)), Refusal::NotReadable { block: second.at(0), end: 0 });
    let free = Refusal::State { chunk: second, state: ChunkState::Free };
    assert_eq!(host.reset(&[second]), Err(free));
    assert_eq!(host.reset(&[FIRST, FIRST]), Err(Refusal::Twice { chunk: FIRST }));
    assert_eq!(
        free.to_string(),
        "chunk 1 of parallel unit 0 of group 0: found it free, wanted a state that takes the command"
    );
    host.write(&[(FIRST, 14)]).expect("it goes to its end");
    host.run_down();
    let closed = Refusal::State { chunk: FIRST, state: ChunkState::Closed };
    assert_eq!(write(&mut host, &range(0, 2)), closed);
}

#[test]
fn a_reset_waits_for_nobody_and_is_refused_while_its_chunk_is_in_use() {
    let mut host = written(device(), 2);
    host.read(&[FIRST.at(0)]).expect("it is written");
    assert_eq!(host.reset(&[FIRST]), Err(Refusal::InFlight { chunk: FIRST }));
    host.run_down();
    host.write(&[(FIRST, 1)]).expect("it is open");
    assert_eq!(host.reset(&[FIRST]), Err(Refusal::InFlight { chunk: FIRST }));
    host.run_down();
    host.reset(&[FIRST]).expect("nothing is in flight");
    assert_eq!(host.read(&[FIRST.at(0)]), Err(Refusal::InFlight { chunk: FIRST }));
    assert_eq!(host.write(&[(FIRST, 1)]), Err(Refusal::InFlight { chunk: FIRST }));
    host.run_down();
}

#[test]
fn an_open_chunk_can_be_read_so_far_behind_its_write_pointer_and_a_closed_one_to_its_end() {
    let mut file = device();
    file.mw_cunits = 4;
    let mut host = written(file, 3);
    assert_eq!(host.report(FIRST).readable, 2);
    host.read(&[FIRST.at(1)]).expect("four were written after it");
    assert_eq!(host.read(&[FIRST.at(2)]), Err(Refusal::NotReadable { block: FIRST.at(2), end: 2 }));
    host.write(&[(FIRST, 13)]).expect("it goes to its end");
    host.run_down();
    assert_eq!(host.report(FIRST).readable, 32);
    host.read_all();
}

#[test]
fn keys_that_do_not_fit_are_named() {
    let keys = |change: &dyn Fn(&mut OpenChannelFile)| -> Vec<String> {
        let mut file = device();
        change(&mut file);
        file.check().expect_err("something is wrong").0.into_iter().map(|wrong| wrong.key).collect()
    };
    assert_eq!(keys(&|file| file.logical_block = Some(Bytes::kib(8))), ["logical_block"]);
    assert_eq!(keys(&|file| file.logical_block = Some(Bytes(768))), ["logical_block"]);
    assert_eq!(keys(&|file| file.mw_cunits = 31), ["mw_cunits"]);
    assert_eq!(keys(&|file| file.scheduling.max_suspends = 0), ["scheduling.max_suspends"]);
    assert_eq!(
        keys(&|file| file.part.geometry.independent_reads = true),
        ["part.geometry.independent_reads"]
    );
    assert_eq!(keys(&|file| file.faults = vec![rule(Fails::Program)]), ["faults[0].fails"]);
    let many = |file: &mut OpenChannelFile| {
        (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (2, true);
        (file.part.geometry.planes, file.part.geometry.page_size) = (4, Bytes::kib(16));
        file.logical_block = Some(Bytes::kib(1));
    };
    assert_eq!(keys(&many), ["logical_block"]);
}

// Failures.

#[test]
fn a_failed_program_closes_its_chunk_and_takes_what_is_to_follow_with_it() {
    let mut file = device();
    file.faults = vec![FaultFile { nth: Some(3), ..rule(Fails::Program) }];
    let mut host = Host::new(file, 1);
    for _ in 0..3 {
        host.write(&[(FIRST, 2)]).expect("it is in order");
    }
    host.run_down();
    let told: Vec<_> =
        host.completions.iter().map(|completion| (completion.failure, completion.failed)).collect();
    let early = Some(Failure::EarlyClose);
    assert_eq!(told, [(None, 0), (early, 0b1111), (early, 0b1111)]);
    let report = host.report(FIRST);
    assert_eq!((report.state, report.write_pointer, report.readable), (ChunkState::Closed, 4, 4));
    assert_eq!(host.device.counts().programs, 3, "nothing of the chunk was programmed after that");
    host.read_all();
    assert_eq!(host.completions.last().expect("it was read").failure, None);
    host.reset(&[FIRST]).expect("it is closed");
    host.run_down();
    assert_eq!(host.report(FIRST).state, ChunkState::Offline);
    assert_eq!(host.completions.last().expect("it was reset").failure, Some(Failure::Offline));
    assert_eq!(host.device.chips().erases().iter().sum::<u32>(), 0);
    let offline = Refusal::State { chunk: FIRST, state: ChunkState::Offline };
    assert_eq!(host.read(&[FIRST.at(0)]), Err(offline));
    assert_eq!(host.write(&[(FIRST, 1)]), Err(offline));
    assert_eq!(host.reset(&[FIRST]), Err(offline));
}

#[test]
fn a_completion_names_the_failed_chunks() {
    let mut file = device();
    file.faults = vec![FaultFile { die: Some(2.into()), nth: Some(1), ..rule(Fails::Program) }];
    let mut host = Host::new(file, 1);
    let other = Chunk { group: 1, ..FIRST };
    host.write(&[(FIRST, 1), (other, 1), (FIRST, 1)]).expect("they are in order");
    host.run_down();
    let completion = &host.completions[0];
    assert_eq!((completion.failure, completion.failed), (Some(Failure::EarlyClose), 0b1100));
    assert_eq!((host.report(FIRST).write_pointer, host.report(other).write_pointer), (4, 0));
    assert_eq!(host.report(other).state, ChunkState::Closed);
    host.audit();
}

#[test]
fn a_failed_erase_takes_its_chunk_offline_as_one_too_many_does() {
    let mut file = device();
    file.faults = vec![FaultFile { nth: Some(1), ..rule(Fails::Erase) }];
    let mut host = written(file, 1);
    host.reset(&[FIRST]).expect("it is open");
    host.run_down();
    assert_eq!(host.report(FIRST).state, ChunkState::Offline);
    let mut file = device();
    file.part.endurance = 2;
    let mut host = Host::new(file, 1);
    // The device wears out without a fault rule.
    host.fails = true;
    let mut levels = Vec::new();
    for _ in 0..3 {
        host.write(&[(FIRST, 1)]).expect("it is free");
        host.run_down();
        levels.push(host.report(FIRST).wear_level);
        host.reset(&[FIRST]).expect("it is open");
        host.run_down();
    }
    assert_eq!(levels, [0, 127, 255]);
    assert_eq!(host.report(FIRST).state, ChunkState::Offline);
}

#[test]
fn unreadable_logical_blocks_are_reported_and_notified() {
    let mut file = device();
    file.logical_block = Some(Bytes::kib(2));
    let page = FaultFile { page: Some(1.into()), plane: Some(0.into()), ..rule(Fails::Read) };
    file.faults = vec![page.clone()];
    // Pages are 4 KiB on two planes. Logical blocks 4 and 5 are in page 1 of plane 0.
    let mut host = written(file.clone(), 3);
    let blocks: Vec<LogicalBlock> = FIRST.range(3, 4).collect();
    host.read(&blocks).expect("they are written");
    host.run_down();
    let completion = host.completions.last().expect("it was answered");
    assert_eq!((completion.failure, completion.failed), (Some(Failure::Unread), 0b0110));
    assert_eq!(completion.found[1], DataTag::UNREADABLE);
    let notices = |host: &Host| -> Vec<_> {
        host.device.notifications().iter().map(|n| (n.first, n.blocks, n.notice)).collect()
    };
    assert_eq!(notices(&host), [(FIRST.at(4), 2, Notice::Unrecovered)]);
    file.faults = vec![FaultFile { retries: Some(NumberRange { least: 2, most: 2 }), ..page }];
    let mut host = written(file, 3);
    host.read(&blocks).expect("they are written");
    host.run_down();
    assert_eq!(host.completions.last().expect("it was answered").failure, None);
    assert_eq!(notices(&host), [(FIRST.at(4), 2, Notice::HighErrorRate)]);
    host.device.clear_notifications();
    assert!(host.device.notifications().is_empty());
}

#[test]
fn chunks_that_are_bad_from_the_factory_are_offline() {
    let mut file = device();
    file.faults = vec![FaultFile { block: Some(3.into()), ..rule(Fails::FactoryBad) }];
    let host = Host::new(file, 1);
    let offline = |chunk: &Chunk| host.report(*chunk).state == ChunkState::Offline;
    let chunks: Vec<u32> =
        host.device.geometry().all_chunks().filter(offline).map(|chunk| chunk.chunk).collect();
    assert_eq!(chunks, [3; 4]);
}

// Power losses.

#[test]
fn a_torn_unit_closes_its_chunk_before_it() {
    let mut host = written(device(), 2);
    host.write(&[(FIRST, 3)]).expect("it is open");
    host.write(&[(Chunk { chunk: 1, ..FIRST }, 1)]).expect("it is free");
    // The first of the three units is being programmed. The other two, and the other chunk of the die, wait
    // for it.
    let cut = host.cut_power(Duration::from_us(100));
    assert_eq!((cut.torn.programs, cut.torn.pages, cut.incomplete.len()), (1, 2, 2));
    let report = host.report(FIRST);
    assert_eq!((report.state, report.write_pointer), (ChunkState::Closed, 4));
    let waited = host.report(Chunk { chunk: 1, ..FIRST });
    assert_eq!((waited.state, waited.write_pointer), (ChunkState::Free, 0), "it had not begun");
    let recovery = host.device.recovery().expect("it is over");
    assert!(recovery.time >= Duration::from_us(25) && recovery.pages_read > 0, "{recovery:?}");
    host.read_all();
    host.reset(&[FIRST]).expect("it is closed");
    host.run_down();
    assert_eq!(host.report(FIRST).state, ChunkState::Free, "what was torn is not worn");
}

#[test]
fn a_torn_erase_leaves_a_chunk_that_has_to_be_reset_again() {
    let mut host = written(device(), 2);
    host.reset(&[FIRST]).expect("it is open");
    let cut = host.cut_power(Duration::from_us(100));
    assert_eq!(cut.torn.erases, 1);
    assert_eq!(host.report(FIRST).state, ChunkState::Closed);
    host.read(&[FIRST.at(0)]).expect("it is closed");
    host.run_down();
    assert_eq!(host.completions.last().expect("it was answered").failure, Some(Failure::Unread));
    host.reset(&[FIRST]).expect("it is closed");
    host.run_down();
    assert_eq!(host.report(FIRST).state, ChunkState::Free);
    host.audit();
}

#[test]
fn no_command_is_taken_before_the_recovery_is_over() {
    let mut host = written(device(), 1);
    host.write(&[(FIRST, 1)]).expect("it is open");
    host.device.power_cut(host.now());
    host.calendar.clear();
    let blocks = [FIRST.at(0)];
    let command = Command::read(9, &blocks);
    assert_eq!(host.device.submit(&command, &mut host.calendar), Err(Refusal::NotReady));
    host.device.recover(&mut host.calendar);
    assert_eq!(host.device.submit(&command, &mut host.calendar), Err(Refusal::NotReady));
    // A second power loss during the recovery.
    host.device.power_cut(host.now());
    host.calendar.clear();
    host.device.recover(&mut host.calendar);
    host.wait_until_ready();
    host.device.submit(&command, &mut host.calendar).expect("it is ready");
}

// Snapshots.

#[test]
fn a_state_that_cannot_be_is_refused() {
    let mut host = written(device(), 2);
    host.write(&[(FIRST, 3)]).expect("it is open");
    let bytes = host.saved();
    let mut other = device();
    other.layout.channels = 1;
    let mut device = OpenChannel::new(other.check().expect("it is sound"), Seed(1));
    let error = device.load(&mut bytes.as_slice()).expect_err("it has fewer chunks");
    assert!(!matches!(error, SnapshotError::UnexpectedEnd), "{error}");
    let short = host.restored(&bytes[..bytes.len() - 1]);
    assert!(short.is_err());
}

// Progress.

#[test]
fn outstanding_commands_are_described_and_the_oldest_progresses() {
    let mut host = Host::new(device(), 1);
    assert_eq!(host.device.oldest(), None);
    host.write(&[(FIRST, 3)]).expect("it is free");
    let second = host.write(&[(Chunk { chunk: 1, ..FIRST }, 1)]).expect("it is free");
    let first = host.device.oldest().expect("two commands are in flight");
    assert_eq!(first.tag, second - 1);
    let text = host.device.describe_outstanding(host.now());
    let wanted = [
        "2 outstanding",
        "write 1 of 6 logical blocks",
        "waits for 3 parts",
        "die 0: busy; 4 units to write",
    ];
    assert!(wanted.iter().all(|wanted| text.contains(wanted)), "{text}");
    while host.device.chips().counts().program_commands == 0 {
        host.go_on(1);
    }
    let later = host.device.oldest().expect("two commands are in flight");
    assert!(later.tag == first.tag && later.done != first.done);
    assert!(host.device.stall_limit() > Duration::from_us(1_500));
    host.run_down();
}
