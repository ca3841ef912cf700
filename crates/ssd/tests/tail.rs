//! Latency breakdown of requests.

use wordline_device::tail::{RequestBreakdown, Tail};
use wordline_device::times::Component;
use wordline_device::{BlockDevice, Operation};
use wordline_flash::DieWork;
use wordline_kernel::Duration;
use wordline_nand::chain::BusPhase;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::BufferMode;

use crate::common::{Rig, small};

/// One die without background work.
fn file() -> DeviceFile {
    let mut file = small();
    file.layout.channels = 1;
    file.layout.dies_per_package = 1;
    file.layout.planes_per_row = Some(1);
    file.buffer.access_time = Duration::ZERO;
    file.buffer.flush_interval = Duration::ZERO;
    file
}

/// Tail attribution of a device.
fn tail(rig: &Rig) -> &Tail {
    rig.device.tail().expect("requests are explained")
}

fn sum(explained: &RequestBreakdown) -> Duration {
    explained.parts.into_iter().sum()
}

#[test]
fn a_read_waits_behind_the_program_and_the_reads_before_it() {
    let mut rig = Rig::new(file(), 1);
    rig.device.fill(1.0);
    rig.device.explain(Tail::keeping_slowest(10));
    rig.submit(Operation::Write, true, 0, 8);
    for page in [10, 200, 400] {
        rig.submit(Operation::Read, false, 8 * page, 8);
    }
    rig.run_down_to(0);

    let part = file().part.check().expect("the part is sound");
    let program = BusPhase::Program.total(&part, 1) + part.program_time(0);
    let read = BusPhase::Read.total(&part, 1) + part.read_time(0) + BusPhase::DataOut.total(&part, 1);
    let turn = part.bus.t_rhw - part.bus.t_cs;
    let mut reads: Vec<&RequestBreakdown> = tail(&rig).slowest();
    reads.retain(|slow| slow.completion.command.operation == Operation::Read);
    assert_eq!(reads.len(), 3);
    for (before, slow) in reads.iter().rev().enumerate() {
        let behind = slow.behind.as_ref().expect("it waited for the die");
        assert_eq!(behind.by_work[DieWork::HostProgram as usize], program);
        // Between two reads there is a turnaround of the bus.
        let turns = turn.ps() * before.saturating_sub(1) as u64;
        let reads = Duration::from_ps(read.ps() * before as u64 + turns);
        assert_eq!(behind.by_work[DieWork::HostRead as usize], reads, "reads before the {before}th");
        assert_eq!(slow.die_wait(), program + reads, "nothing of the wait is left");
        let (work, _, time) = behind.longest.expect("it waited behind something");
        assert_eq!((work, time), (DieWork::HostProgram, program));
        assert_eq!(sum(slow), slow.completion.latency);
    }
}

#[test]
fn a_host_read_that_shares_a_command_with_an_rmw_read_waits_behind_the_program_before_them() {
    let mut two_planes = file();
    two_planes.layout.planes_per_row = Some(2);
    two_planes.buffer.mode = BufferMode::WriteThrough;
    let mut rig = Rig::filled(two_planes);
    rig.device.explain(Tail::keeping_slowest(10));
    rig.submit(Operation::Write, false, 0, 16);
    let sensed = rig.device.chips().counts().read_commands;
    rig.submit(Operation::Write, false, 8 * 100, 1);
    rig.submit(Operation::Read, false, 8 * 101, 8);
    rig.run_down_to(0);
    assert_eq!(rig.device.chips().counts().read_commands, sensed + 1, "one command reads both planes");
    let read = |slow: &&RequestBreakdown| slow.completion.command.operation == Operation::Read;
    let slow = tail(&rig).slowest().into_iter().find(read).expect("the read waited");
    let behind = slow.behind.as_ref().expect("it waited for the die");
    assert_eq!(behind.by_work[DieWork::HostProgram as usize], slow.die_wait(), "{slow:?}");
}

#[test]
fn the_slowest_are_kept_and_no_others() {
    let mut rig = Rig::new(small(), 1);
    rig.device.fill(1.0);
    rig.device.explain(Tail::keeping_slowest(25));
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    for n in 0..3_000u64 {
        rig.run_down_to(7);
        let operation = if n % 3 == 0 { Operation::Read } else { Operation::Write };
        rig.submit(operation, false, n * 7919 % pages * 8, 8);
    }
    rig.run_down_to(0);
    let mut all: Vec<Duration> = rig.completions.iter().map(|(_, completion)| completion.latency).collect();
    all.sort_unstable_by_key(|latency| std::cmp::Reverse(*latency));
    let kept: Vec<Duration> = tail(&rig).slowest().iter().map(|slow| slow.completion.latency).collect();
    assert_eq!(kept, all[..25]);

    let sampled: u64 = tail(&rig).sample().iter().flatten().map(|interval| interval.requests).sum();
    assert_eq!(sampled, 3_000, "all of a short run are in the sample");
    let latency: u128 = tail(&rig).sample().iter().flatten().map(|interval| interval.latency_ps).sum();
    assert_eq!(latency, all.iter().map(|latency| u128::from(latency.ps())).sum());
}

#[test]
fn writes_that_wait_for_room_wait_while_dies_program_move_and_erase() {
    let mut rig = Rig::new(small(), 1);
    rig.device.fill(1.0);
    rig.overwrite(2_000);
    rig.device.explain(Tail::keeping_slowest(50));
    rig.overwrite(2_000);
    let slow = tail(&rig).slowest();
    let meanwhile = slow[0].meanwhile.expect("the slowest write waits for room");
    let worked = |work: DieWork| meanwhile[work as usize] > Duration::ZERO;
    assert!(worked(DieWork::HostProgram), "{meanwhile:?}");
    let cleaned = [DieWork::GcProgram, DieWork::Erase].into_iter().any(worked);
    assert!(cleaned, "the slowest write meets the collector: {meanwhile:?}");
    let of_buffer: Duration = slow[0].buffer_by_work().expect("it waited").into_iter().sum();
    let buffer = slow[0].parts[Component::Buffer as usize];
    assert!(of_buffer <= buffer && (buffer - of_buffer).ps() < 16, "{of_buffer} of {buffer}");
}

#[test]
fn the_time_of_earlier_tries_is_that_of_retries() {
    let mut rig = Rig::new(crate::common::with_cells(8_760.0), 1);
    rig.device.fill(1.0);
    rig.device.explain(Tail::keeping_slowest(1_000));
    for page in 0..300 {
        rig.alone(Operation::Read, false, page * 8, 8);
    }
    let retries = |slow: &&RequestBreakdown| slow.parts[Component::Retries as usize] > Duration::ZERO;
    let slow = tail(&rig).slowest();
    let tried = slow.iter().filter(|slow| retries(slow)).count();
    assert!(tried > 0, "cells of a year need retries");
    for slow in slow {
        assert_eq!(slow.die_wait(), Duration::ZERO, "a read alone waits for nothing: {slow:?}");
        assert_eq!(slow.submitted + sum(slow), slow.submitted + slow.completion.latency);
    }
}

#[test]
fn failed_senses_stay_retries_if_the_page_was_written_elsewhere_meanwhile() {
    let mut failing = small();
    failing.faults = vec![FaultFile { nth: Some(1), ..FaultFile::new(Fails::Read) }];
    failing.buffer.mode = BufferMode::WriteThrough;
    let mut rig = Rig::filled(failing);
    rig.device.explain(Tail::keeping_slowest(2));
    // The page is on the second die, and the first die programs it anew during the retries.
    rig.submit(Operation::Read, false, 8 * 2, 8);
    rig.submit(Operation::Write, false, 8 * 2, 8);
    rig.run_down_to(0);
    let slow = tail(&rig).slowest();
    let read = slow.iter().find(|slow| slow.completion.command.operation == Operation::Read);
    let read = read.expect("it was explained");
    let part = small().part.check().expect("the part is sound");
    let sense = BusPhase::Read.total(&part, 1) + part.read_time(0) + BusPhase::DataOut.total(&part, 1);
    let retries = read.parts[Component::Retries as usize];
    assert!(!read.completion.failed, "the new copy of the page is readable");
    assert!(retries >= Duration::from_ps(8 * sense.ps()), "{retries} for eight senses of {sense}");
    assert_eq!((read.die_wait(), sum(read)), (Duration::ZERO, read.completion.latency));
}

#[test]
fn nothing_depends_on_whether_requests_are_explained() {
    let digest = |explains: bool| {
        let mut rig = Rig::new(small(), 1);
        rig.device.fill(1.0);
        if explains {
            rig.device.explain(Tail::keeping_slowest(10));
        }
        rig.overwrite(1_500);
        rig.cut_power();
        rig.wait_until_ready();
        rig.overwrite(100);
        (rig.device.digest(), rig.calendar_now())
    };
    assert_eq!(digest(true), digest(false));
}
