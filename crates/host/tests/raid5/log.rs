//! The partial parity log: the data that it preserves in a power cut while a member is missing.

use wordline_device::{BlockDevice, FixedLatency, Operation};
use wordline_host::raid5::ArrayFile;
use wordline_kernel::{Bytes, Schedule};

use super::oracle::Trouble;
use super::trials::{files, over_null_with, over_ssds_with};
use super::{Bench, LATENCY, md};

/// Arrays with a partial parity log: one of md's size, and one so small that every row waits for a flush.
fn logged() -> [(u16, ArrayFile); 2] {
    let [(four, md), (five, other), ..] = files();
    [
        (four, ArrayFile { parity_log: Some(Bytes::kib(128)), ..md }),
        (five, ArrayFile { parity_log: Some(Bytes::kib(8)), stripe_cache: 17, ..other }),
    ]
}

#[test]
fn an_array_with_a_log_does_what_one_without_it_does() {
    over_null_with(&logged(), Trouble { scrubs: true, ..Trouble::default() }, 120);
    let lost = over_null_with(&logged(), Trouble { fails: true, scrubs: true, ..Trouble::default() }, 160);
    assert!(lost.iter().all(|lost| *lost == 0), "{lost:?}");
    let lost = over_null_with(&logged(), Trouble { cuts: true, scrubs: true, ..Trouble::default() }, 160);
    assert!(lost.iter().all(|lost| *lost == 0), "{lost:?}");
}

#[test]
fn with_a_log_power_cuts_beside_failures_lose_only_missing_blocks_that_were_written_with_others() {
    let trouble =
        Trouble { fails: true, cuts: true, cuts_degraded: true, scrubs: true, ..Trouble::default() };
    over_null_with(&logged(), trouble, 200);
    over_null_with(&logged(), Trouble { spoils: true, ..trouble }, 160);
    over_ssds_with(&logged(), trouble, 60);
}

/// An array of four members with data, in the middle of a write: `events` events after the write to the block
/// at `sector` started. The member `failed` is missing.
fn amid_a_write(spares: u16, file: ArrayFile, failed: u16, sector: u64, events: u32) -> Bench<FixedLatency> {
    let mut bench = super::null(4, spares, Bytes::kib(512), file);
    bench.time(Operation::Write, 0, 3 * 128);
    bench.time(Operation::Flush, 0, 0);
    bench.fail(failed);
    bench.submit(Operation::Write, sector, 8);
    for _ in 0..events {
        bench.step();
    }
    bench
}

/// Writes a block of a row with a missing block, and cuts the power after this many events. Returns the lost
/// sectors, and whether the missing block is unchanged.
fn cut_in_a_write(log: Option<Bytes>, events: u32) -> (u64, bool) {
    let mut bench = amid_a_write(0, ArrayFile { parity_log: log, ..md() }, 0, 128, events);
    bench.cut_and_recover();
    bench.run();
    let is_old = bench.reads_as(0, 8, 1);
    (bench.array.lost_sectors(), is_old)
}

#[test]
fn the_write_hole_is_there_without_a_log_and_is_none_with_it() {
    let ever = |log: Option<Bytes>| (0..12).map(|events| cut_in_a_write(log, events)).collect::<Vec<_>>();
    assert!(ever(None).contains(&(8, false)), "{:?}", ever(None));
    assert!(ever(Some(Bytes::kib(128))).iter().all(|outcome| *outcome == (0, true)));
}

#[test]
fn the_recovery_of_an_array_ends_when_its_log_is_replayed() {
    let file = ArrayFile { parity_log: Some(Bytes::kib(128)), ..md() };
    let mut bench = super::null(4, 0, Bytes::kib(512), file);
    bench.time(Operation::Write, 0, 8);
    bench.cut_and_recover();
    let begin = bench.calendar.now();
    while !bench.array.is_ready() {
        assert!(bench.array.recovery().is_none() && bench.step());
    }
    let time = bench.array.recovery().expect("it is over").time;
    // A read of the written block, a write of the parity, and a flush.
    assert_eq!((time, bench.calendar.now() - begin), (LATENCY * 3, LATENCY * 3));
}

#[test]
fn a_replay_that_loses_two_blocks_leaves_the_parity_of_what_stands_in_for_them() {
    let slow = ArrayFile { sync_slowest: Bytes::kib(64), sync_fastest: Bytes::kib(640), ..md() };
    let file = ArrayFile { parity_log: Some(Bytes::kib(128)), ..slow };
    for events in (0..400).step_by(20) {
        let mut bench = amid_a_write(1, file.clone(), 2, 0, events);
        bench.cut();
        // Makes the written block unreadable. The log would need it to recover the parity of its row.
        bench.array.devices_mut()[0].spoil(0..1);
        bench.array.recover(&mut bench.calendar);
        bench.run();
        // The scrub compares the parity of each row.
        assert!(bench.array.scrub(&mut bench.calendar), "the spare is rebuilt");
        bench.run();
    }
}
