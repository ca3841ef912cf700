//! Write buffer, link, and page copies of the failure manager: closed forms, failures, and their cost for the
//! host.

use wordline_device::PhysicalDevice;
use wordline_device::link::PcieFile;
use wordline_device::physical_device::{Chunk, ChunkState, Command, Failure, Notice, Refusal};
use wordline_kernel::{Bytes, Duration};
use wordline_nand::chain::BusPhase;
use wordline_nand::faults::{Fails, FaultFile, NumberRange};
use wordline_open_channel::OpenChannelFile;
use wordline_open_channel::device::FailuresFile;
use wordline_open_channel::device::buffer::{BufferFile, CompletionMode};
use wordline_open_channel::device::failures::EarlyClose;

use super::host::Host;
use super::{FIRST, device, rule};

/// Buffer of `units` units of 8 KiB for each parallel unit.
fn buffer(units: u64, completion: CompletionMode) -> BufferFile {
    BufferFile { size: Bytes::kib(8 * units), completion, unreliable: false, protected: false }
}

fn manager(shift: bool) -> FailuresFile {
    let early_close = EarlyClose::Pad;
    FailuresFile { block_map: true, shift, reserve: 0.3, early_close, volatile_tables: true }
}

/// Device with write-back completion and a failure manager.
fn asynchronous(units: u64, shift: bool) -> OpenChannelFile {
    let buffer = Some(buffer(units, CompletionMode::WriteBack));
    OpenChannelFile { buffer, failures: Some(manager(shift)), ..device() }
}

fn nth(fails: Fails, nth: u64) -> FaultFile {
    FaultFile { nth: Some(nth), ..rule(fails) }
}

/// Time of a program on both planes: the bus, and 250 us in the array.
fn program(host: &Host) -> Duration {
    BusPhase::Program.total(&host.device.config().pools.first().part, 2) + Duration::from_us(250)
}

/// Latency of a write of `units` units to the first chunk.
fn write(host: &mut Host, units: u32) -> Duration {
    host.run_down();
    host.write(&[(FIRST, units)]).expect("it is in order");
    while host.device.outstanding() > 0 {
        host.go_on(1);
    }
    host.completions.last().expect("it was answered").latency
}

#[test]
fn a_write_waits_for_the_space_that_it_lacks_and_for_no_more() {
    for (units, held) in [(6, 8), (8, 8), (9, 8), (16, 8), (16, 4)] {
        let mut host = Host::new(asynchronous(held, true), 1);
        let wanted = program(&host) * u64::from(units).saturating_sub(held);
        assert_eq!(write(&mut host, units), wanted, "{units} units, a buffer of {held}");
        host.read_all();
    }
    let file = OpenChannelFile { buffer: Some(buffer(4, CompletionMode::WriteThrough)), ..device() };
    let mut host = Host::new(file, 1);
    assert_eq!(write(&mut host, 6), program(&host) * 6);
}

#[test]
fn what_is_in_the_buffer_is_read_from_there() {
    let mut host = Host::new(asynchronous(8, true), 1);
    write(&mut host, 6);
    let before = host.device.chips().counts().read_commands;
    assert_eq!((host.report(FIRST).write_pointer, host.report(FIRST).readable), (12, 12));
    host.read(&[FIRST.at(5), FIRST.at(11)]).expect("they were answered as written");
    assert_eq!(host.completions.last().expect("it is answered at once").latency, Duration::ZERO);
    assert_eq!(host.device.chips().counts().read_commands, before);
    host.read_all();
    assert!(host.device.chips().counts().read_commands > before);
}

#[test]
fn a_flush_waits_for_programs() {
    let mut host = Host::new(asynchronous(8, true), 1);
    write(&mut host, 6);
    let all = program(&host) * 6;
    host.submit(&Command::flush(99)).expect("nothing forbids it");
    host.run_down();
    assert_eq!(host.completions.last().expect("it was answered").latency, all);
    host.submit(&Command::flush(100)).expect("nothing forbids it");
    assert_eq!(host.completions.last().expect("nothing is in the buffer").latency, Duration::ZERO);
}

#[test]
fn a_command_waits_for_its_link() {
    let link = PcieFile::default();
    let mut host = Host::new(OpenChannelFile { link: Some(link), ..asynchronous(8, true) }, 1);
    let latency = write(&mut host, 6);
    // 48 KiB at less than 4 GB/s, plus some messages of one or two microseconds.
    let [least, most] = [48.0 * 1.024 / 4.0, 48.0 * 1.024 / 3.0 + 4.0];
    assert!((least..most).contains(&latency.us()), "{latency}");
    host.run_down();
    host.read(&[FIRST.at(0)]).expect("it is written");
    host.run_down();
    assert!(host.completions.last().expect("it was read").latency > Duration::from_us(26));
    host.read_all();
}

#[test]
fn a_copy_stays_in_the_device() {
    let mut host = Host::new(device(), 1);
    write(&mut host, 4);
    let other = Chunk { unit: 1, ..FIRST };
    let (from, to): (Vec<_>, Vec<_>) = (FIRST.range(2, 4).collect(), other.range(0, 4).collect());
    host.submit(&Command::copy(99, &from, &to)).expect("both are in order");
    assert_eq!(host.reset(&[FIRST]), Err(Refusal::InFlight { chunk: FIRST }), "it is being read");
    host.run_down();
    assert_eq!(host.device.counts().copies, 1);
    assert_eq!((host.report(other).state, host.report(other).write_pointer), (ChunkState::Open, 4));
    host.read_all();
    // Unreadable blocks are not written: the chunk ends before them.
    let page = FaultFile { page: Some(0.into()), plane: Some(0.into()), ..rule(Fails::Read) };
    let mut host = Host::new(OpenChannelFile { faults: vec![page], ..device() }, 1);
    write(&mut host, 4);
    let from: Vec<_> = FIRST.range(0, 4).collect();
    host.submit(&Command::copy(99, &from, &to)).expect("both are in order");
    host.run_down();
    let completion = host.completions.last().expect("it was answered");
    assert_eq!((completion.failure, completion.failed), (Some(Failure::EarlyClose), 0b1111));
    assert_eq!((host.report(other).state, host.report(other).write_pointer), (ChunkState::Closed, 0));
}

#[test]
fn chunks_beyond_the_limit_stay_closed() {
    let file = OpenChannelFile { max_open: Some(2), max_open_per_unit: Some(1), ..device() };
    let mut host = Host::new(file, 1);
    let chunk = |unit, chunk| Chunk { group: 0, unit, chunk };
    host.write(&[(chunk(0, 0), 1)]).expect("it is the first");
    let refused = |chunk, limit| Err(Refusal::TooManyOpen { chunk, limit });
    assert_eq!(host.write(&[(chunk(0, 1), 1)]), refused(chunk(0, 1), 1));
    host.write(&[(chunk(1, 0), 1)]).expect("it is the second");
    let third = Chunk { group: 1, ..FIRST };
    assert_eq!(host.write(&[(third, 1)]), refused(third, 2));
    host.run_down();
    host.submit(&Command::close(99, &[FIRST.at(0)])).expect("it is open");
    host.write(&[(third, 1)]).expect("one was closed");
    host.run_down();
}

#[test]
fn without_a_manager_a_completed_write_is_lost_and_counted() {
    let lossy = BufferFile { unreliable: true, ..buffer(8, CompletionMode::WriteBack) };
    let faults = vec![nth(Fails::Program, 3)];
    let mut host = Host::new(OpenChannelFile { buffer: Some(lossy), faults, ..device() }, 1);
    write(&mut host, 6);
    assert_eq!(host.completions[0].failure, None);
    host.run_down();
    // Units 3 to 6 had completed and are lost. The host learns this when it reads them.
    assert_eq!((host.report(FIRST).state, host.report(FIRST).readable), (ChunkState::Closed, 4));
    assert_eq!(host.device.counts().blocks_lost, 8);
    let lost = Refusal::NotReadable { block: FIRST.at(4), end: 4 };
    assert_eq!(host.device.submit(&Command::read(7, &[FIRST.at(4)]), &mut host.calendar), Err(lost));
}

#[test]
fn a_failed_program_is_made_good_for_at_every_page_and_every_buffer_level() {
    for (units, shift) in [(2, true), (8, true), (2, false), (8, false)] {
        for failure in 1..=16 {
            let mut file = asynchronous(units, shift);
            file.faults = vec![nth(Fails::Program, failure)];
            let mut host = Host::new(file, 1);
            let unit = program(&host);
            let latency = write(&mut host, 16);
            host.run_down();
            let clean = unit * (16 - units);
            // With `shift` a failed program costs one more program. Without it, the copies before it are
            // added.
            let read = Duration::from_us(120);
            let copies = if shift { Duration::ZERO } else { (unit + read) * (failure - 1) };
            assert!(latency <= clean + unit + copies, "{latency} with {units} units, failure {failure}");
            assert_eq!(host.device.counts().recovered, 1);
            host.read_all();
            let manager = host.device.failures().expect("it has one");
            let shifted = if shift { (17 - failure) as u32 % 16 } else { 0 };
            let chunk = wordline_open_channel::device::chunks::ChunkId(0);
            assert_eq!(manager.shift(chunk), Some(shifted), "failure {failure}");
            assert_eq!((manager.lists().count(), host.report(FIRST).state), (0, ChunkState::Closed));
        }
    }
}

#[test]
fn copies_in_the_background_delay_a_command_by_one_operation_at_the_most() {
    let mut file = asynchronous(8, true);
    file.faults = vec![nth(Fails::Program, 9)];
    let mut host = Host::new(file, 1);
    write(&mut host, 16);
    while host.device.chips().counts().program_commands < 17 {
        host.go_on(1);
    }
    let (unit, mut tried) = (program(&host), 0);
    // After the last host program: at each event of the copies, a read arrives.
    while !host.calendar.pending().is_empty() {
        let mut other = host.restored(&host.saved()).expect("it was just written");
        let begin = other.completions.len();
        other.read(&[FIRST.at(1)]).expect("it is written");
        while other.device.outstanding() > 0 {
            other.go_on(1);
        }
        // A read takes 25 us and its transfer.
        let most = unit + Duration::from_us(60);
        assert!(other.completions[begin].latency <= most, "{}", other.completions[begin].latency);
        other.read_all();
        tried += 1;
        host.go_on(1);
    }
    assert!(tried > 16, "{tried} moments");
    host.read_all();
}

#[test]
fn a_chunk_without_a_block_to_go_on_in_is_offline_and_can_be_read() {
    let mut file = asynchronous(8, true);
    // The fifth program of block 0 fails, and all programs of block 1 and of the reserve, which is the last 7
    // of 24 blocks.
    let of = |least, most| FaultFile { block: Some(NumberRange { least, most }), ..rule(Fails::Program) };
    file.faults = vec![FaultFile { nth: Some(5), ..of(0, 0) }, of(1, 1), of(17, 23)];
    let mut host = Host::new(file, 1);
    write(&mut host, 8);
    host.run_down();
    let report = host.report(FIRST);
    assert_eq!((report.state, report.write_pointer, report.readable), (ChunkState::Offline, 16, 16));
    let notices = host.device.notifications().iter().map(|notification| notification.notice);
    assert!(notices.clone().any(|notice| notice == Notice::Offline));
    host.read_all();
    host.submit(&Command::flush(99)).expect("nothing forbids it");
    host.run_down();
    assert_eq!(host.completions.last().expect("it was answered").failure, Some(Failure::NotFlushed));
    let offline = Refusal::State { chunk: FIRST, state: ChunkState::Offline };
    assert_eq!(host.reset(&[FIRST]), Err(offline));
    // Without a reserve, writes are write-through again.
    let other = Chunk { chunk: 1, ..FIRST };
    host.write(&[(other, 1)]).expect("it is free");
    host.run_down();
    assert_eq!(host.completions.last().expect("it was answered").failure, Some(Failure::EarlyClose));
}

#[test]
fn a_cut_takes_what_was_not_flushed_and_nothing_that_was() {
    for protected in [false, true] {
        let mut file = asynchronous(8, true);
        file.failures = Some(FailuresFile { volatile_tables: false, ..manager(true) });
        file.buffer = Some(BufferFile { protected, ..buffer(8, CompletionMode::WriteBack) });
        file.faults = vec![nth(Fails::Program, 2)];
        let mut host = Host::new(file, 1);
        write(&mut host, 3);
        host.submit(&Command::flush(99)).expect("nothing forbids it");
        host.run_down();
        write(&mut host, 5);
        host.cut_power(Duration::from_us(1));
        let written = host.report(FIRST).write_pointer;
        assert_eq!(written, if protected { 16 } else { 6 });
        let recovery = host.device.recovery().expect("it is over");
        assert!(recovery.pages_read > 0 && recovery.time > Duration::from_us(25), "{recovery:?}");
        host.write(&[(FIRST, 2)]).expect("the chunk goes on");
        host.read_all();
        assert!(host.device.counts().journal_programs > 0);
    }
}

/// The tables of 1,024 blocks fit in one page; those of 8,192 need several.
#[test]
fn a_journal_record_has_the_tables_of_one_parallel_unit() {
    let programs = [1, 8].map(|channels| {
        let mut file = asynchronous(8, true);
        file.failures = Some(FailuresFile { volatile_tables: false, ..manager(true) });
        file.layout.channels = channels;
        file.part.geometry.blocks_per_plane = 1_024;
        file.faults = vec![nth(Fails::Program, 2)];
        let mut host = Host::new(file, 1);
        write(&mut host, 8);
        host.run_down();
        host.device.counts().journal_programs
    });
    assert!(programs[0] > 0 && programs[0] == programs[1], "{programs:?}");
}

#[test]
fn keys_of_buffer_and_manager_that_do_not_fit_are_named() {
    let keys = |change: &dyn Fn(&mut OpenChannelFile)| -> Vec<String> {
        let mut file = asynchronous(8, true);
        change(&mut file);
        file.check().expect_err("something is wrong").0.into_iter().map(|wrong| wrong.key).collect()
    };
    let failures = |change: &dyn Fn(&mut FailuresFile)| {
        keys(&|file| change(file.failures.as_mut().expect("it has a manager")))
    };
    assert_eq!(failures(&|failures| failures.reserve = 0.0), ["failures.reserve"]);
    assert_eq!(failures(&|failures| failures.reserve = 0.9), ["failures.reserve"]);
    assert_eq!(failures(&|failures| failures.block_map = false), ["failures.shift"]);
    let keeps = |failures: &mut FailuresFile| {
        (failures.shift, failures.early_close) = (false, EarlyClose::KeepList);
    };
    assert_eq!(failures(&keeps), ["failures.early_close"]);
    assert_eq!(keys(&|file| file.failures = None), ["buffer.completion"]);
    assert_eq!(keys(&|file| file.buffer = Some(buffer(0, CompletionMode::WriteBack))), ["buffer.size"]);
    assert_eq!(keys(&|file| file.mw_cunits = 17), ["mw_cunits"]);
    assert_eq!(keys(&|file| file.ws_opt = Some(3)), ["ws_opt"]);
    assert_eq!(keys(&|file| file.max_open = Some(0)), ["max_open"]);
    let open = |file: &mut OpenChannelFile| {
        (file.max_open, file.max_open_per_unit) = (Some(2), Some(3));
    };
    assert_eq!(keys(&open), ["max_open_per_unit"]);
    let unreliable = |file: &mut OpenChannelFile| {
        file.buffer.as_mut().expect("it has one").unreliable = true;
    };
    assert_eq!(keys(&unreliable), ["buffer.unreliable"]);
    let link = PcieFile { lanes: 3, ..PcieFile::default() };
    assert_eq!(keys(&|file| file.link = Some(link.clone())), ["link.lanes"]);
    let many = |file: &mut OpenChannelFile| file.part.geometry.pages_per_block = 65_536;
    assert!(keys(&many).contains(&"part.geometry.pages_per_block".into()));
}

#[test]
fn without_journals_a_recovery_reads_the_first_page_of_each_block_that_is_written() {
    let mut file = asynchronous(8, true);
    file.failures = Some(FailuresFile { volatile_tables: true, ..manager(true) });
    let mut host = Host::new(file, 1);
    for chunk in 0..3 {
        host.write(&[(Chunk { chunk, ..FIRST }, 2)]).expect("it is free");
    }
    host.submit(&Command::flush(99)).expect("nothing forbids it");
    host.run_down();
    host.cut_power(Duration::ZERO);
    assert_eq!(host.device.recovery().expect("it is over").pages_read, 3);
    host.read_all();
}
