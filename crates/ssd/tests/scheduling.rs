//! Reads that meet programs and erases must wait as long as the scheduler settings say.

use wordline_device::Operation;
use wordline_flash::scheduling::GcPriority;
use wordline_kernel::{Duration, Instant};
use wordline_nand::chain::BusPhase;
use wordline_ssd::DeviceFile;

use crate::common::{Rig, small};

const PROGRAM: Duration = Duration::from_us(250);
const REST: Duration = Duration::from_us(20);

/// One die with a suspend time of 20 us during a program and 50 us during an erase.
fn file() -> DeviceFile {
    let mut file = small();
    file.layout.channels = 1;
    file.layout.dies_per_package = 1;
    file.layout.planes_per_row = Some(1);
    file.part.timing.suspend = [REST, Duration::from_us(50)];
    file.buffer.access_time = Duration::ZERO;
    file.buffer.flush_interval = Duration::ZERO;
    file
}

/// Latencies of a read and of a durable write that are submitted at the same time, to different pages.
fn read_and_write(file: DeviceFile) -> (Duration, Duration) {
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig.submit(Operation::Write, true, 0, 8);
    rig.submit(Operation::Read, false, 80, 8);
    rig.run_down_to(0);
    rig.audit();
    let of = |operation| {
        let found = rig.completions.iter().find(|(_, completion)| completion.command.operation == operation);
        found.expect("it is answered").1.latency
    };
    (of(Operation::Read), of(Operation::Write))
}

#[test]
fn a_read_that_meets_a_program_waits_for_its_end_or_for_the_array_to_rest() {
    let part = file().part.check().expect("the part is sound");
    let load = BusPhase::Program.total(&part, 1);
    let read = BusPhase::Read.total(&part, 1) + part.read_time(0) + BusPhase::DataOut.total(&part, 1);
    assert_eq!(read_and_write(file()), (load + PROGRAM + read, load + PROGRAM));

    let mut suspends = file();
    suspends.ftl.scheduling.suspend_programs = true;
    let suspend = BusPhase::SuspendProgram.total(&part, 1);
    let turn = part.bus.t_rhw - part.bus.t_cs;
    let resume = turn + BusPhase::ResumeProgram.total(&part, 1);
    let rested = load + suspend + REST;
    let left = PROGRAM - suspend;
    assert_eq!(read_and_write(suspends), (rested + read, rested + read + resume + left));

    let mut erases = file();
    erases.ftl.scheduling.suspend_erases = true;
    assert_eq!(read_and_write(erases).0, load + PROGRAM + read, "a program is no erase");
}

#[test]
fn a_program_is_suspended_so_often_and_not_more() {
    // Reads follow each other without a pause, so each of them meets the resumed program.
    let slow_reads = |most| {
        let mut file = file();
        file.ftl.scheduling.suspend_programs = true;
        file.ftl.scheduling.max_suspends = most;
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        rig.submit(Operation::Write, true, 0, 8);
        for n in 1..=6 {
            rig.submit(Operation::Read, false, n * 80, 8);
            rig.run_down_to(1);
        }
        rig.run_down_to(0);
        rig.audit();
        let reads =
            rig.completions.iter().filter(|(_, completion)| completion.command.operation == Operation::Read);
        let latencies: Vec<Duration> = reads.map(|(_, completion)| completion.latency).collect();
        latencies.iter().position(|latency| *latency > PROGRAM - REST * 2)
    };
    assert_eq!([1, 2, 4].map(slow_reads), [Some(1), Some(2), Some(4)]);
}

/// Overwrites pages at random, each write with a read of another page. Returns the maximum read latency.
fn longest_read(file: DeviceFile) -> Duration {
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    for n in 0..1_500u64 {
        rig.run_down_to(1);
        rig.submit(Operation::Write, false, n * 7_919 % pages * 8, 8);
        rig.submit(Operation::Read, false, (n * 104_729 + 13) % pages * 8, 8);
    }
    rig.run_down_to(0);
    rig.audit();
    assert!(rig.device.totals().erases > 50, "{:?}", rig.device.totals());
    let reads =
        rig.completions.iter().filter(|(_, completion)| completion.command.operation == Operation::Read);
    reads.map(|(_, completion)| completion.latency).max().expect("there are reads")
}

#[test]
fn no_read_waits_for_an_erase_that_is_suspended() {
    let erase = Duration::from_us(1_500);
    assert!(longest_read(file()) > erase);
    let mut suspends = file();
    suspends.ftl.scheduling.suspend_erases = true;
    suspends.ftl.scheduling.max_suspends = 1_000;
    // In the worst case the read meets a program whose data must be transferred first.
    let longest = longest_read(suspends.clone());
    assert!(longest < PROGRAM * 2, "{longest}");
    suspends.ftl.scheduling.suspend_programs = true;
    assert!(longest_read(suspends.clone()) < PROGRAM);
    suspends.ftl.gc.copyback = true;
    assert!(longest_read(suspends) < PROGRAM, "the program of a copyback is suspended, too");
}

#[test]
fn the_oldest_goes_first_where_reads_have_no_priority() {
    // A write between two reads: its program is queued before the second read.
    let ends = |priority| {
        let mut file = file();
        file.ftl.scheduling.read_priority = priority;
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        rig.submit(Operation::Read, false, 80, 8);
        rig.submit(Operation::Write, true, 0, 8);
        rig.submit(Operation::Read, false, 160, 8);
        rig.run_down_to(0);
        let mut ends: Vec<(Instant, Operation)> =
            rig.completions.iter().map(|(at, completion)| (*at, completion.command.operation)).collect();
        ends.sort_by_key(|(at, _)| *at);
        ends.into_iter().map(|(_, operation)| operation).collect::<Vec<_>>()
    };
    assert_eq!(ends(true), [Operation::Read, Operation::Read, Operation::Write]);
    assert_eq!(ends(false), [Operation::Read, Operation::Write, Operation::Read]);
}

/// Overwrites pages at random, with reads, on one die whose GC has priority over all host commands. Returns
/// the number of pages that GC copied, and the maximum read latency.
fn collector_first(priority: GcPriority, age_limit: Duration) -> (u64, Duration) {
    let mut file = file();
    file.ftl.scheduling.read_priority = false;
    file.ftl.scheduling.gc_priority = priority;
    file.ftl.scheduling.age_limit = age_limit;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    for n in 0..3_000u64 {
        rig.run_down_to(15);
        rig.submit(Operation::Write, false, n * 7_919 % pages * 8, 8);
        rig.submit(Operation::Read, false, (n * 104_729 + 13) % pages * 8, 8);
    }
    rig.run_down_to(0);
    rig.audit();
    let reads =
        rig.completions.iter().filter(|(_, completion)| completion.command.operation == Operation::Read);
    let longest = reads.map(|(_, completion)| completion.latency).max().expect("there are reads");
    (rig.device.totals().gc_programs, longest)
}

#[test]
fn a_collector_that_goes_first_waits_for_the_reads_of_its_victims_and_copies_no_more_for_it() {
    let (copied, _) = collector_first(GcPriority::Equal, Duration::ZERO);
    for age_limit in [Duration::ZERO, Duration::from_ms(20)] {
        let (high, longest) = collector_first(GcPriority::High, age_limit);
        assert!(high < copied * 2, "{high} pages copied, and {copied} by a collector that takes its turn");
        // At most sixteen commands wait, each for GC of a block of 16 pages.
        assert!(longest < Duration::from_ms(16 * 16), "{longest}");
    }
}

#[test]
fn merged_reads_of_a_page_transfer_it_once() {
    let mut rig = Rig::new(file(), 1);
    rig.device.fill(1.0);
    let alone = rig.alone(Operation::Read, false, 160, 8);
    rig.submit(Operation::Read, false, 80, 8);
    // These reads wait for the first one and are merged.
    (0..3).for_each(|_| rig.submit(Operation::Read, false, 160, 8));
    rig.run_down_to(0);
    rig.audit();
    let latencies: Vec<Duration> =
        rig.completions[1..].iter().map(|(_, completion)| completion.latency).collect();
    // Includes the turnaround of the bus after the first read.
    assert!(latencies[0] >= alone && latencies[0] < alone + Duration::from_ns(200), "{latencies:?}");
    assert_eq!(latencies[1..], [latencies[0] * 2; 3]);
}

#[test]
fn wrong_settings_are_named() {
    let mut file = file();
    let scheduling = &mut file.ftl.scheduling;
    scheduling.reads_in_a_row = 0;
    scheduling.max_suspends = 0;
    scheduling.age_limit = Duration::from_ns(1);
    scheduling.read_priority = false;
    scheduling.suspend_programs = true;
    scheduling.suspend_erases = true;
    let wrong = file.check().expect_err("five are wrong");
    let keys: Vec<&str> = wrong.0.iter().map(|complaint| complaint.key.as_str()).collect();
    let named = ["reads_in_a_row", "max_suspends", "age_limit", "suspend_programs", "suspend_erases"];
    assert_eq!(keys, named.map(|key| format!("ftl.scheduling.{key}")));
}
