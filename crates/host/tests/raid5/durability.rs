//! Durability of an array: by device, after a covering flush, and never for data on a replaced device.

use wordline_device::content::Content;
use wordline_device::tail::Tail;
use wordline_device::{BlockDevice, Command, FixedLatency, Operation};
use wordline_host::raid5::members::{Members, Purpose};
use wordline_host::raid5::{ArrayFile, Event, FailureFile, Parity};
use wordline_kernel::{Bytes, Calendar, Duration, Seed};
use wordline_ssd::cache::protection::Protection;
use wordline_ssd::{Device, contract};

use super::{Bench, LATENCY, cached, explained, md, null};

const SIZE: Bytes = Bytes::kib(512);

#[test]
fn a_cut_puts_every_row_in_doubt_that_no_flush_covers_and_a_resync_makes_them_durable() {
    let mut bench = null(4, 0, SIZE, md());
    bench.time(Operation::Write, 0, 3 * 128);
    bench.time(Operation::Flush, 0, 0);
    // Three rows with one block each.
    bench.time(Operation::Write, 0, 24);
    bench.cut_and_recover();
    assert_eq!(bench.array.dirty_rows().collect::<Vec<_>>(), [0, 1, 2]);
    bench.run();
    assert_eq!((bench.array.counts().resynced, bench.array.dirty_rows().count()), (3, 0));
    // Nothing was written since. Parity is consistent after a member failure and another power cut.
    bench.fail(0);
    bench.cut_and_recover();
    bench.run();
    assert_eq!((bench.array.lost_sectors(), bench.array.dirty_rows().count()), (0, 0));
    bench.time(Operation::Read, 0, 24);
}

/// The sectors lost by a power cut long after a FUA write to an array with a missing member.
fn lost_after_fua(file: ArrayFile) -> u64 {
    let mut bench = null(4, 0, SIZE, file);
    bench.time(Operation::Write, 0, 3 * 128);
    bench.time(Operation::Flush, 0, 0);
    bench.fail(1);
    bench.submit_command(Command {
        operation: Operation::Write,
        sector: 128,
        sectors: 8,
        fua: true,
        ..Command::default()
    });
    bench.run();
    let written = bench.tag;
    bench.cut_and_recover();
    bench.run();
    assert!(bench.array.lost_sectors() > 0 || bench.reads_as(128, 8, written));
    bench.array.lost_sectors()
}

#[test]
fn a_fua_write_to_an_array_with_a_missing_member_outlives_a_power_cut() {
    let logged = ArrayFile { parity_log: Some(Bytes::kib(128)), ..md() };
    for file in [md(), logged, ArrayFile { block: Bytes::kib(4), ..cached() }] {
        assert_eq!(lost_after_fua(file), 0);
    }
}

#[test]
fn members_whose_buffers_survive_a_power_cut_leave_no_row_in_doubt() {
    for protects in [false, true] {
        let mut file = contract::small();
        if protects {
            file.buffer.power_loss_protection = Protection::Full;
        }
        let config = file.check().expect("it is sound");
        let devices = (0..4).map(|seed| Device::new(config.clone(), Seed(seed))).collect();
        let mut bench = Bench::new(devices, 4, md());
        bench.time(Operation::Write, 0, 3 * 128);
        bench.cut_and_recover();
        bench.run();
        assert_eq!(bench.array.counts().dirty_rows == 0, protects);
    }
}

#[test]
fn a_rebuild_whose_last_flush_fails_goes_through_the_rows_again() {
    let mut bench = null(4, 1, SIZE, ArrayFile { sync_slowest: Bytes::mib(50), ..md() });
    bench.time(Operation::Write, 0, 3 * 128);
    bench.array.devices_mut()[4].fail_next(Operation::Flush);
    bench.fail(1);
    bench.run();
    let rows = bench.array.striping().rows();
    let counts = bench.array.counts();
    assert_eq!((counts.rebuilt, bench.array.degraded()), (2 * rows, 0));
    assert_eq!(counts.parity_writes, counts.data_writes / 3, "the blocks of a rebuild are not counted twice");
}

#[test]
fn a_rebuild_ends_with_one_flush_whenever_a_scrub_before_it_paused() {
    // Two windows of 32 rows are more than the fastest pace of the first two seconds. The other rows follow.
    let file = ArrayFile { sync_slowest: Bytes::kib(64), sync_fastest: Bytes::kib(100), ..md() };
    let half = Duration::from_ms(500);
    for steps in 1..20 {
        let mut bench = null(4, 1, SIZE, file.clone());
        assert!(bench.array.scrub(&mut bench.calendar));
        // The pauses of the scrub end at different times before the last flush of the rebuild.
        bench.run_for(half - Duration::from_us(50) * steps);
        let (before, cached) = (bench.array.counts().member_commands, 3 * bench.array.counts().scrubbed);
        bench.fail(1);
        bench.run();
        assert_eq!(bench.array.degraded(), 0);
        let commands = bench.array.counts().member_commands - before;
        // The rebuild, and the scrub that it ended.
        assert_eq!(commands, 8 * bench.array.striping().rows() - cached + 1, "{steps} steps before");
    }
}

#[test]
fn a_scrub_that_is_due_in_a_rebuild_begins_after_it() {
    let failures = vec![FailureFile { member: 1, after: LATENCY }];
    let mut bench = null(4, 1, SIZE, ArrayFile { failures, scrub_after: Some(LATENCY * 3), ..md() });
    bench.time(Operation::Write, 0, 8);
    let (counts, rows) = (bench.array.counts(), bench.array.striping().rows());
    assert_eq!((counts.rebuilt, counts.scrubbed), (rows, rows));
}

#[test]
fn a_spare_is_not_credited_with_what_a_flush_made_durable_on_the_one_before_it() {
    let slow = ArrayFile { sync_slowest: Bytes::kib(64), sync_fastest: Bytes::kib(640), ..md() };
    let device = |at| FixedLatency::new(Bytes::mib(2), LATENCY).with_volatile_cache(Seed(at));
    let mut bench = Bench::new((0..6).map(device).collect(), 4, slow);
    let all = bench.array.shape().namespaces[0];
    bench.time(Operation::Write, 0, all);
    bench.time(Operation::Flush, 0, 0);
    bench.fail(1);
    bench.run_for(LATENCY * 200);
    bench.submit(Operation::Flush, 0, 0);
    bench.fail(1);
    bench.run_for(LATENCY * 2);
    bench.cut_and_recover();
    bench.run_for(LATENCY);
    let tag = bench.submit(Operation::Read, 0, all.min(128 * 3));
    bench.run_for(LATENCY * 300);
    assert!(bench.completions().iter().any(|completion| completion.command.tag == tag && !completion.failed));
    let found = bench.array.take_contents(tag).expect("contents are followed");
    assert!(found.iter().all(|content| *content == Content::of(1)), "{found:?}");
}

#[test]
fn a_spare_does_not_fail_by_a_command_that_the_device_before_it_had() {
    let devices = (0..4).map(|_| FixedLatency::new(SIZE, LATENCY)).collect();
    let (mut members, mut calendar) = (Members::new(devices, 3), Calendar::new());
    for sector in [0, 8] {
        let write = Command { operation: Operation::Write, sector, sectors: 8, ..Command::default() };
        members.send(1, Purpose::Flush, write, None, &mut calendar);
    }
    // Both members fail before the array processes the first failure.
    while let Some(Event::Device { device, event }) = calendar.advance() {
        members.devices_mut()[1].fail_next(Operation::Write);
        members.handle(device, event, &mut calendar);
    }
    let first = members.next_untimed_completion(0).expect("it is answered");
    assert!(first.failed && !first.gone);
    assert!(members.replace(1));
    let second = members.next_untimed_completion(0).expect("it is answered");
    assert!(!second.failed && second.gone);
}

#[test]
fn parity_that_waits_shorter_than_a_command_is_written_and_explained() {
    let config = contract::small().check().expect("it is sound");
    for delay in [1, 20, 100, 1_000].map(Duration::from_us) {
        let devices = (0..4).map(|seed| Device::new(config.clone(), Seed(seed))).collect();
        let mut bench = Bench::new(devices, 4, ArrayFile { parity_delay: Some(delay), ..cached() });
        assert!(bench.array.fill_while(1.0, &mut |_| true));
        bench.array.explain(Tail::keeping_slowest(10_000));
        let sectors = bench.array.shape().namespaces[0];
        let mut random = Seed(delay.ps()).stream("raid5.parity_delay", 0);
        for _ in 0..400 {
            let operation = if random.below(10) < 7 { Operation::Write } else { Operation::Read };
            bench.submit(operation, random.below(sectors / 8) * 8, 8);
            let steps = random.below(12);
            (0..steps).for_each(|_| {
                bench.step();
            });
        }
        bench.run();
        assert!(explained::check(&bench) > 100, "commands were answered");
        assert!(!bench.array.has_parity_behind());
    }
}

#[test]
fn a_member_that_fails_takes_nothing_with_it_by_default() {
    assert_eq!(ArrayFile::default().parity, Parity::Md);
    let mut bench = null(4, 0, SIZE, ArrayFile::default());
    let mut random = Seed(3).stream("raid5.default", 0);
    let sectors = bench.array.shape().namespaces[0];
    for _ in 0..100 {
        bench.submit(Operation::Write, random.below(sectors - 8), 8);
    }
    bench.run_for(LATENCY * 3);
    bench.fail(2);
    bench.run();
    assert!(bench.completions().iter().all(|completion| !completion.failed));
    assert_eq!(bench.array.lost_sectors(), 0);
}

/// Writes two blocks of a row while the member `missing` is missing, and cuts the power after this many
/// events.
fn cut_beside(missing: u16, events: u32) -> (bool, u64) {
    let file = ArrayFile { parity_log: Some(Bytes::kib(128)), ..md() };
    let mut bench = null(4, 0, SIZE, file);
    bench.time(Operation::Write, 0, 3 * 128);
    bench.time(Operation::Flush, 0, 0);
    bench.fail(missing);
    // The write covers the blocks of members 0 and 1. Parity is on member 3.
    bench.submit(Operation::Write, 0, 8);
    bench.submit(Operation::Write, 128, 8);
    for _ in 0..events {
        bench.step();
    }
    bench.cut_and_recover();
    bench.run();
    (bench.reads_as(256, 8, 1), bench.array.lost_sectors())
}

#[test]
fn the_log_gives_back_a_missing_block_that_was_not_written_and_reports_one_that_was() {
    for events in 0..12 {
        assert_eq!(cut_beside(2, events), (true, 0), "after {events} events");
    }
    // No log covers a missing block that is written together with another block of its row. The missing block
    // is reported as lost, and no wrong data are read.
    let lost: Vec<u64> = (0..12).map(|events| cut_beside(0, events).1).collect();
    assert!(lost.contains(&8) && lost.iter().all(|lost| [0, 8].contains(lost)), "{lost:?}");
}
