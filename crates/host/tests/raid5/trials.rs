//! Random arrays compared with the [reference model](super::oracle), and data that they must not lose.

use wordline_device::content::{Content, FILLED, ZEROES};
use wordline_device::tail::Tail;
use wordline_device::{BlockDevice, FixedLatency, Operation};
use wordline_host::raid5::{ArrayFile, Parity, Writes};
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_ssd::{Device, contract};

use super::oracle::{Host, Trouble};
use super::{Bench, LATENCY, cached, explained, md};

/// Arrays with different parity settings.
pub(super) fn files() -> [(u16, ArrayFile); 4] {
    let fast = |file| ArrayFile { sync_slowest: Bytes::mib(50), chunk: Bytes::kib(16), ..file };
    [
        (4, fast(md())),
        (5, fast(ArrayFile { writes: Writes::Background, ..md() })),
        (4, fast(ArrayFile { stripe_cache: 17, ..cached() })),
        (5, fast(ArrayFile { stripe_cache: 20, block: Bytes::kib(4), ..cached() })),
    ]
}

/// Trials of each array. Long runs have more.
fn seeds() -> u64 {
    if std::env::var_os("WORDLINE_LONG").is_some() { 100 } else { 3 }
}

fn over_null(trouble: Trouble, rounds: u32) -> Vec<u64> {
    over_null_with(&files(), trouble, rounds)
}

pub(super) fn over_null_with(files: &[(u16, ArrayFile)], trouble: Trouble, rounds: u32) -> Vec<u64> {
    let mut lost = Vec::new();
    let mut cuts_in_recovery = 0;
    let has_log = files.iter().any(|(_, file)| file.parity_log.is_some());
    for (number, (members, file)) in (0..).zip(files.iter().cloned()) {
        for seed in 0..seeds() {
            // The output appears only if the test fails.
            println!("array {number}, seed {seed}");
            let device = |device| {
                let one = FixedLatency::new(Bytes::kib(256), LATENCY);
                let of = Seed(seed << 32 | number << 16 | u64::from(device));
                if trouble.flushes { one.with_volatile_cache(of) } else { one }
            };
            let devices = (0..members + 40).map(device).collect();
            let block = file.block;
            let bench = Bench::new(devices, members, file.clone());
            let mut host = Host::new(bench, members, block, trouble, 1000 * number + seed, ZEROES);
            host.spoil = Some(FixedLatency::spoil);
            host.stays_behind = file.parity == Parity::Cache;
            host.has_log = file.parity_log.is_some();
            host.work(rounds);
            if file.parity == Parity::Md && !trouble.cuts && !trouble.spoils && !trouble.more_fail {
                assert_eq!(host.lost, 0, "parity is never behind");
            }
            lost.push(host.lost);
            cuts_in_recovery += host.cuts_in_recovery;
        }
    }
    // Null devices recover at once. Only log replay makes a recovery that can be interrupted.
    assert_eq!(cuts_in_recovery > 0, trouble.cuts && has_log);
    lost
}

#[test]
fn an_undisturbed_array_gives_back_what_was_written_and_its_parity_is_right() {
    over_null(Trouble { scrubs: true, ..Trouble::default() }, 120);
}

#[test]
fn members_that_fail_are_rebuilt_and_nothing_is_lost_but_where_parity_stayed_behind() {
    over_null(Trouble { fails: true, scrubs: true, ..Trouble::default() }, 200);
}

#[test]
fn a_whole_array_loses_nothing_with_its_power() {
    let lost = over_null(Trouble { cuts: true, scrubs: true, ..Trouble::default() }, 160);
    assert!(lost.iter().all(|lost| *lost == 0), "{lost:?}");
}

#[test]
fn power_cuts_beside_failures_lose_only_rows_that_were_being_written() {
    let lost = over_null(
        Trouble { fails: true, cuts: true, cuts_degraded: true, scrubs: true, ..Trouble::default() },
        200,
    );
    assert!(lost.iter().any(|lost| *lost > 0), "the write hole is there");
}

#[test]
fn pages_that_cannot_be_read_are_repaired_from_parity() {
    let lost = over_null(Trouble { spoils: true, scrubs: true, ..Trouble::default() }, 160);
    assert!(
        lost[..2 * seeds() as usize].iter().all(|lost| *lost < 64),
        "one row of an array at most: {lost:?}"
    );
}

#[test]
fn all_troubles_together_lose_only_what_they_may() {
    over_null(
        Trouble {
            fails: true,
            cuts: true,
            cuts_degraded: true,
            scrubs: true,
            spoils: true,
            ..Trouble::default()
        },
        200,
    );
}

fn over_ssds(trouble: Trouble, rounds: u32) {
    over_ssds_with(&files(), trouble, rounds);
}

pub(super) fn over_ssds_with(files: &[(u16, ArrayFile)], trouble: Trouble, rounds: u32) {
    let config = contract::small().check().expect("it is sound");
    for (number, (members, file)) in (0..).zip(files.iter().cloned()).filter(|(number, _)| number % 2 == 0) {
        let device = |seed| Device::new(config.clone(), Seed(u64::from(seed)));
        let mut devices: Vec<Device> = (0..members + 12).map(device).collect();
        devices.truncate(usize::from(members) + 12);
        let (block, file_has_log) = (file.block, file.parity_log.is_some());
        let mut bench = Bench::new(devices, members, file);
        assert!(bench.array.fill_while(1.0, &mut |_| true));
        bench.array.explain(Tail::keeping_slowest(10_000));
        let mut host = Host::new(bench, members, block, trouble, number, FILLED);
        host.has_log = file_has_log;
        host.work(rounds);
        assert!(explained::check(&host.bench) > 100, "commands were answered");
    }
}

#[test]
fn ssds_that_fail_are_rebuilt() {
    over_ssds(Trouble { fails: true, scrubs: true, ..Trouble::default() }, 60);
}

#[test]
fn an_array_of_ssds_outlives_power_cuts() {
    over_ssds(Trouble { cuts: true, scrubs: true, ..Trouble::default() }, 60);
}

#[test]
fn an_array_of_ssds_outlives_power_cuts_and_failures() {
    over_ssds(
        Trouble { fails: true, cuts: true, cuts_degraded: true, scrubs: true, ..Trouble::default() },
        60,
    );
}

/// An array with a row that has an unreadable page on each of these members.
fn spoilt(members: &[usize], file: ArrayFile) -> Bench<FixedLatency> {
    let mut bench = super::null(4, 0, Bytes::kib(256), file);
    bench.time(Operation::Write, 0, 3 * 128);
    bench.time(Operation::Flush, 0, 0);
    // Evicts the row from the cache.
    for stripe in 1..3 {
        bench.time(Operation::Write, stripe * 3 * 128, 3 * 128);
    }
    for member in members {
        bench.array.devices_mut()[*member].spoil(3..4);
    }
    bench
}

#[test]
fn a_page_that_cannot_be_read_is_computed_and_written_again() {
    let file = ArrayFile { stripe_cache: 17, ..md() };
    for member in 0..4 {
        let mut bench = spoilt(&[member], file.clone());
        for again in 0..2 {
            let tag = bench.submit(Operation::Read, 0, 3 * 128);
            bench.run();
            assert!(bench.completions().iter().all(|completion| !completion.failed));
            let found = bench.array.take_contents(tag).expect("contents are followed");
            assert!(found.iter().all(|content| *content == Content::of(1)));
            let repaired = bench.array.counts().corrected;
            // The last member has the parity, which is not read.
            assert_eq!(repaired, u64::from(member < 3), "member {member}, time {again}");
            assert_eq!(bench.array.counts().degraded_reads, repaired, "the host reads it once");
        }
        assert_eq!(bench.array.lost_sectors(), 0);
        if member == 3 {
            bench.array.scrub(&mut bench.calendar);
            bench.run();
            assert_eq!(bench.array.counts().corrected, 1, "a scrub finds it");
        }
    }
}

#[test]
fn two_pages_of_a_row_that_cannot_be_read_are_lost_until_they_are_written() {
    let mut bench = spoilt(&[0, 1], ArrayFile { stripe_cache: 17, ..md() });
    let tag = bench.submit(Operation::Read, 0, 8);
    bench.run();
    assert!(bench.completions().iter().any(|completion| completion.command.tag == tag && completion.failed));
    assert_eq!(bench.array.lost_sectors(), 16, "a block of each");
    assert_eq!(bench.array.counts().degraded_reads, 0, "nothing was computed");
    bench.time(Operation::Read, 256, 128);
    bench.time(Operation::Write, 2, 4);
    assert_eq!(bench.array.lost_sectors(), 12);
    bench.time(Operation::Read, 2, 4);
    bench.submit(Operation::Read, 1, 4);
    bench.run();
    assert!(bench.completions()[0].failed, "a sector before is lost still");
    bench.fail(2);
    bench.time(Operation::Read, 256, 128);
}

#[test]
fn pages_at_different_places_of_a_row_that_cannot_be_read_are_computed_from_each_other() {
    for (missing, lost, corrected) in [(None, 0, 2), (Some(2), 2 * 16, 0)] {
        let file = ArrayFile { block: Bytes::kib(16), stripe_cache: 17, ..md() };
        let mut bench = super::null(4, 0, Bytes::mib(2), file);
        bench.time(Operation::Write, 0, 3 * 128);
        // Evicts the rows of the first stripe from the cache.
        for stripe in 1..6 {
            bench.time(Operation::Write, stripe * 3 * 128, 3 * 128);
        }
        bench.array.devices_mut()[0].spoil(3..4);
        bench.array.devices_mut()[1].spoil(30..31);
        missing.into_iter().for_each(|member| bench.fail(member));
        let tags: Vec<u32> = (0..3).map(|chunk| bench.submit(Operation::Read, chunk * 128, 32)).collect();
        bench.run();
        let failed = bench.completions().iter().filter(|completion| completion.failed).count();
        assert_eq!(failed, if lost == 0 { 0 } else { 3 });
        let counts = bench.array.counts();
        assert_eq!((bench.array.lost_sectors(), counts.corrected), (lost, corrected));
        for tag in tags.into_iter().filter(|_| lost == 0) {
            let found = bench.array.take_contents(tag).expect("contents are followed");
            assert!(found.iter().all(|content| *content == Content::of(1)));
        }
        // The other sectors of the blocks are not lost.
        assert!(bench.reads_as(8, 16, 1) && bench.reads_as(256 + 8, 16, 1));
        if missing.is_none() {
            assert!(bench.array.scrub(&mut bench.calendar));
            bench.run();
        }
    }
}

#[test]
fn an_array_without_two_members_answers_what_is_on_the_others_and_refuses_writes() {
    let mut bench = super::null(4, 0, Bytes::kib(256), md());
    bench.time(Operation::Write, 0, 3 * 128);
    bench.fail(0);
    bench.fail(1);
    assert!(bench.array.is_read_only());
    bench.time(Operation::Read, 256, 128);
    for (operation, sector) in [(Operation::Read, 0), (Operation::Write, 256), (Operation::Read, 384 + 128)] {
        let tag = bench.submit(operation, sector, 8);
        bench.run();
        let failed =
            bench.completions().iter().any(|completion| completion.command.tag == tag && completion.failed);
        assert!(failed, "{operation:?} {sector}");
    }
}

/// Arrays for members with volatile caches: three of [`files`], one of them with a small log, one with a log
/// of md's size, and one with delayed parity.
fn volatile_files() -> Vec<(u16, ArrayFile)> {
    let [(four, md), (five, other), (three, cache), ..] = files();
    let logged = ArrayFile { parity_log: Some(Bytes::kib(128)), ..md.clone() };
    let small = ArrayFile { parity_log: Some(Bytes::kib(8)), stripe_cache: 17, ..other };
    let delayed = ArrayFile { parity_delay: Some(Duration::from_us(30)), ..cache.clone() };
    vec![(four, md), (five, small), (three, cache), (four, logged), (four, delayed)]
}

#[test]
fn members_with_volatile_caches_lose_nothing_that_a_flush_covers() {
    let trouble = Trouble { cuts: true, flushes: true, scrubs: true, ..Trouble::default() };
    let lost = over_null_with(&volatile_files(), trouble, 120);
    assert!(lost.iter().all(|lost| *lost == 0), "{lost:?}");
}

#[test]
fn members_with_volatile_caches_that_fail_one_after_another_return_nothing_wrong() {
    let trouble =
        Trouble { fails: true, cuts: true, cuts_degraded: true, flushes: true, ..Trouble::default() };
    over_null_with(&volatile_files(), trouble, 160);
}

#[test]
fn an_array_without_two_members_returns_nothing_wrong() {
    let trouble = Trouble { fails: true, more_fail: true, flushes: true, ..Trouble::default() };
    over_null_with(&volatile_files(), trouble, 60);
    let trouble = Trouble { cuts: true, cuts_degraded: true, spoils: true, ..trouble };
    over_null_with(&volatile_files(), trouble, 80);
}
