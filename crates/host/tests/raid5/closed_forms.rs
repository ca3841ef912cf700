//! Times and member commands of operations on an array of devices with a fixed latency. Times are exact to
//! the picosecond.

use wordline_device::Operation::{Discard, Flush, Read, Write};
use wordline_device::content::{Content, ZEROES};
use wordline_device::{BlockDevice, Command, FixedLatency};
use wordline_host::raid5::{ArrayFile, Layout, Writes};
use wordline_kernel::{Bytes, Duration, Schedule};

use super::{Bench, LATENCY, PAGE, cached, md, null};

/// 64 KiB in sectors.
const CHUNK: u64 = 128;
const SIZE: Bytes = Bytes::mib(2);

/// Cost of an operation: member commands, pre-reads, data blocks written, and parity blocks written.
fn sent(bench: &mut Bench<FixedLatency>, act: impl FnOnce(&mut Bench<FixedLatency>)) -> [u64; 4] {
    let of = |bench: &Bench<FixedLatency>| {
        let counts = bench.array.counts();
        [counts.member_commands, counts.pre_reads, counts.data_writes, counts.parity_writes]
    };
    let before = of(bench);
    act(bench);
    let after = of(bench);
    std::array::from_fn(|at| after[at] - before[at])
}

#[test]
fn a_read_takes_a_command_of_each_chunk_that_it_touches() {
    let mut bench = null(4, 0, SIZE, md());
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Read, 8, PAGE), LATENCY)), [1, 0, 0, 0]);
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Read, CHUNK - 4, CHUNK + 8), LATENCY))[0], 3);
}

#[test]
fn a_full_stripe_is_written_at_once_by_a_command_to_each_member() {
    let mut bench = null(4, 0, SIZE, md());
    let took = sent(&mut bench, |bench| assert_eq!(bench.time(Write, 0, 3 * CHUNK), LATENCY));
    // 16 rows in a batch, for each of four members.
    assert_eq!(took, [4, 0, 48, 16]);
    assert_eq!(bench.array.counts().full_stripe_writes, 16);
    let large = ArrayFile::default();
    let mut bench = null(4, 0, SIZE, large);
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Write, 0, 3 * CHUNK), LATENCY)), [4, 0, 12, 4]);
}

#[test]
fn a_block_is_written_with_parity_after_the_reads_of_md() {
    // Four members: the two other data blocks are read. Five members: the old block and the old parity are
    // read. Then two blocks are written.
    for (members, reconstructed, modified) in [(4, 1, 0), (5, 0, 1)] {
        let mut bench = null(members, 0, SIZE, md());
        let took = sent(&mut bench, |bench| assert_eq!(bench.time(Write, 0, PAGE), LATENCY * 2));
        assert_eq!(took, [4, 2, 1, 1], "{members} members");
        let counts = bench.array.counts();
        assert_eq!((counts.reconstruct_writes, counts.read_modify_writes), (reconstructed, modified));
        // All needed blocks are cached now.
        let again = sent(&mut bench, |bench| assert_eq!(bench.time(Write, 0, PAGE), LATENCY));
        assert_eq!(again, [2, 0, 1, 1], "{members} members");
    }
}

#[test]
fn a_part_of_a_block_is_read_before_it_is_written() {
    let mut bench = null(4, 0, SIZE, md());
    // Read-modify-write needs two reads, and reconstruct-write three.
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Write, 3, 1), LATENCY * 2)), [4, 2, 1, 1]);
    assert_eq!(bench.array.counts().read_modify_writes, 1);
}

#[test]
fn only_background_writes_wait_for_the_pre_reads_of_others() {
    for (writes, wait) in [(Writes::Direct, Duration::ZERO), (Writes::Background, LATENCY / 2)] {
        let mut bench = null(4, 0, SIZE, ArrayFile { writes, ..md() });
        for chunk in 0..2 {
            bench.submit(Write, chunk * 3 * CHUNK, PAGE);
        }
        bench.run_for(LATENCY / 2);
        let late = bench.submit(Write, 2 * 3 * CHUNK, PAGE);
        bench.run();
        for completion in bench.completions() {
            let waits = if completion.command.tag == late { wait } else { Duration::ZERO };
            assert_eq!(completion.latency, LATENCY * 2 + waits, "{completion:?}");
        }
    }
}

#[test]
fn writes_of_an_instant_make_a_full_stripe() {
    let mut bench = null(4, 0, SIZE, md());
    let took = sent(&mut bench, |bench| {
        (0..3).for_each(|chunk| {
            bench.submit(Write, chunk * CHUNK, PAGE);
        });
        bench.run();
    });
    assert_eq!(took, [4, 0, 3, 1]);
    assert!(bench.completions().iter().all(|completion| completion.latency == LATENCY));
}

#[test]
fn parity_stays_behind_in_the_cache_until_a_flush() {
    let mut bench = null(4, 0, SIZE, cached());
    // A block of 16 KiB is written in parts. Its old data are read before the first part.
    for part in 0..4 {
        let took = sent(&mut bench, |bench| {
            assert_eq!(bench.time(Write, part * PAGE, PAGE), LATENCY * (1 + u64::from(part == 0)));
        });
        assert_eq!(took, [1 + u64::from(part == 0), u64::from(part == 0), 1, 0]);
    }
    // The old parity is read, the new one is written, and all members are flushed.
    let took = sent(&mut bench, |bench| assert_eq!(bench.time(Flush, 0, 0), LATENCY * 3));
    assert_eq!(took, [1 + 1 + 4, 1, 0, 1]);
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Flush, 0, 0), LATENCY)), [4, 0, 0, 0]);
}

#[test]
fn a_whole_block_is_written_without_a_read_where_parity_is_reconstructed_later() {
    let mut bench = null(4, 0, SIZE, cached());
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Write, 0, 4 * PAGE), LATENCY)), [1, 0, 1, 0]);
    // The two other blocks are read.
    let took = sent(&mut bench, |bench| assert_eq!(bench.time(Flush, 0, 0), LATENCY * 3));
    assert_eq!(took, [2 + 1 + 4, 2, 0, 1]);
}

#[test]
fn parity_is_written_after_its_delay() {
    let delay = Duration::from_ms(5);
    let file = ArrayFile { parity_delay: Some(delay), ..cached() };
    let mut bench = null(4, 0, SIZE, file);
    bench.submit(Write, 0, 3 * CHUNK);
    bench.run_for(delay - Duration::from_ps(1));
    assert_eq!(bench.array.counts().parity_writes, 0);
    bench.run_for(Duration::from_ps(1));
    bench.run();
    assert_eq!((bench.array.counts().parity_writes, bench.array.counts().pre_reads), (4, 0));
}

#[test]
fn parity_is_written_when_its_row_leaves_the_cache() {
    let file = ArrayFile { stripe_cache: 17, ..cached() };
    let mut bench = null(4, 0, Bytes::mib(4), file);
    for row in 0..17 {
        // A stripe has four rows.
        bench.time(Write, row / 4 * 3 * CHUNK + row % 4 * 32, 32);
    }
    assert_eq!(bench.array.counts().parity_writes, 0);
    let row = 20;
    // Two blocks are read, and parity is written. Only then does the new row get a stripe head.
    assert_eq!(bench.time(Write, row / 4 * 3 * CHUNK, 32), LATENCY * 3);
    assert_eq!(bench.array.counts().parity_writes, 1);
}

#[test]
fn a_log_takes_a_write_before_each_row_and_a_flush_of_all_members_when_it_is_full() {
    // Entries of 8 KiB: a header and a block.
    let file = ArrayFile { parity_log: Some(Bytes::kib(16)), ..md() };
    let mut bench = null(4, 0, SIZE, file);
    for row in 0..2 {
        // Two blocks are read, then the log is written, then data and parity.
        let took = sent(&mut bench, |bench| assert_eq!(bench.time(Write, row * PAGE, PAGE), LATENCY * 3));
        assert_eq!(took, [5, 2, 1, 1]);
    }
    let took = sent(&mut bench, |bench| assert_eq!(bench.time(Write, 2 * PAGE, PAGE), LATENCY * 4));
    assert_eq!((took, bench.array.counts().ppl_flushes), ([9, 2, 1, 1], 1));
    // Parity of another stripe is on another member, which has a log area of its own.
    assert_eq!(bench.time(Write, 3 * CHUNK, PAGE), LATENCY * 3);
    // A full stripe leaves no block untouched. Its entry is one header for all rows of the chunk.
    let took = sent(&mut bench, |bench| assert_eq!(bench.time(Write, 6 * CHUNK, 3 * CHUNK), LATENCY * 2));
    assert_eq!(took, [1 + 4, 0, 48, 16]);
}

#[test]
fn a_durable_write_is_answered_with_its_parity() {
    let mut bench = null(4, 0, SIZE, cached());
    let write = Command { operation: Write, fua: true, sectors: 3 * CHUNK, ..Default::default() };
    bench.submit_command(write);
    bench.run();
    assert_eq!(bench.completions()[0].latency, LATENCY * 2, "data, then parity");
    assert_eq!(bench.array.counts().parity_writes, 4);
}

#[test]
fn a_lost_block_costs_as_many_reads_as_there_are_other_members() {
    for members in 3..8_u16 {
        let mut bench = null(members, 0, SIZE, md());
        bench.fail(0);
        let took = sent(&mut bench, |bench| assert_eq!(bench.time(Read, 0, PAGE), LATENCY));
        assert_eq!(took[0], u64::from(members) - 1);
        assert_eq!(bench.array.counts().degraded_reads, 1);
    }
}

/// The member with the first chunk has failed. The command reads that chunk, and of two others each row that
/// has a missing block as well.
#[test]
fn a_read_of_whole_rows_of_a_degraded_array_reads_each_block_once() {
    let mut bench = null(4, 0, SIZE, md());
    bench.fail(0);
    let rows = CHUNK / PAGE;
    let took = sent(&mut bench, |bench| assert_eq!(bench.time(Read, 0, 3 * CHUNK), LATENCY));
    assert_eq!(took[0], rows * 3);
    // Half of the missing chunk, and all of the next one, whose first half is read by itself.
    let mut bench = null(4, 0, SIZE, md());
    bench.fail(0);
    let took = sent(&mut bench, |bench| assert_eq!(bench.time(Read, CHUNK / 2, 3 * CHUNK / 2), LATENCY));
    assert_eq!(took[0], rows / 2 * 3 + 1);
}

#[test]
fn a_degraded_write_keeps_the_missing_block_in_parity() {
    let mut bench = null(4, 0, SIZE, md());
    bench.fail(0);
    // The missing block is written. The two other data blocks are read, and only parity is written.
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Write, 0, PAGE), LATENCY * 2)), [3, 2, 0, 1]);
    // Another block of a row is written, by read-modify-write.
    let other = CHUNK + PAGE;
    assert_eq!(
        sent(&mut bench, |bench| assert_eq!(bench.time(Write, other, PAGE), LATENCY * 2)),
        [4, 2, 1, 1]
    );
    let tag = bench.submit(Read, 0, PAGE);
    bench.run();
    assert_eq!(bench.array.take_contents(tag), Some(vec![Content::of(1); PAGE as usize]));
}

#[test]
fn a_rebuild_reads_and_writes_a_row_in_two_latencies() {
    let mut bench = null(4, 1, SIZE, ArrayFile { sync_fastest: Bytes::gib(100), ..md() });
    bench.time(Write, 0, 3 * CHUNK);
    let begin = bench.calendar.now();
    bench.fail(2);
    bench.run();
    // 512 rows are rebuilt, 32 concurrently. Then the spare is flushed.
    let rows = SIZE.0 / 4096;
    assert_eq!(bench.calendar.now() - begin, LATENCY * (rows / 32 * 2 + 1));
    assert_eq!((bench.array.counts().rebuilt, bench.array.degraded()), (rows, 0));
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Read, 0, 3 * CHUNK), LATENCY))[0], 3);
}

#[test]
fn a_rebuild_takes_its_bytes_divided_by_the_fastest_pace() {
    let file = ArrayFile { sync_fastest: Bytes::kib(1000), sync_slowest: Bytes::kib(500), ..md() };
    let mut bench = null(4, 1, Bytes::mib(16), file);
    let begin = bench.calendar.now();
    bench.fail(1);
    bench.run();
    let seconds = (bench.calendar.now() - begin).seconds();
    // md measures over seconds that have started, and pauses for half a second.
    let expected = 16.0 * 1024.0 / 1000.0;
    assert!((expected - 1.5..=expected + 0.5).contains(&seconds), "{seconds} s, by the rate {expected} s");
}

#[test]
fn a_scrub_reads_every_block_once() {
    let mut bench = null(4, 0, SIZE, ArrayFile { sync_fastest: Bytes::gib(100), ..md() });
    bench.time(Write, 5, 1000);
    let took = sent(&mut bench, |bench| {
        let Bench { array, calendar, .. } = bench;
        assert!(array.scrub(calendar));
        bench.run();
    });
    assert_eq!(took[0], 4 * SIZE.0 / 4096);
    assert_eq!(bench.array.counts().scrubbed, SIZE.0 / 4096);
}

#[test]
fn a_discard_goes_to_all_members_for_whole_stripes() {
    let mut bench = null(4, 0, SIZE, md());
    bench.time(Write, 0, 4 * 3 * CHUNK);
    assert_eq!(sent(&mut bench, |bench| assert_eq!(bench.time(Discard, 1, 3 * 3 * CHUNK), LATENCY))[0], 4);
    let tag = bench.submit(Read, 0, 4 * 3 * CHUNK);
    bench.run();
    let found = bench.array.take_contents(tag).expect("contents are followed");
    for (sector, content) in (0..).zip(found) {
        let is_whole = (3 * CHUNK..9 * CHUNK).contains(&sector);
        assert_eq!(content, if is_whole { ZEROES } else { Content::of(1) }, "sector {sector}");
    }
    assert_eq!(bench.time(Discard, 1, 3 * CHUNK), Duration::ZERO, "no stripe is covered as a whole");
}

#[test]
fn every_layout_and_size_gives_back_what_was_written() {
    for layout in Layout::ALL {
        for (members, file) in [(3, md()), (4, cached()), (6, md())] {
            let mut bench = null(members, 0, SIZE, ArrayFile { layout, ..file });
            let all = bench.array.shape().namespaces[0];
            for first in (0..all).step_by(777) {
                let sectors = 700.min(all - first);
                bench.time(Write, first, sectors);
            }
            bench.time(Flush, 0, 0);
            for missing in 0..members {
                let tag = bench.submit(Read, 0, all);
                bench.run();
                assert!(!bench.completions().iter().any(|completion| completion.failed));
                let found = bench.array.take_contents(tag).expect("contents are followed");
                for (sector, content) in (0..).zip(found) {
                    let wanted = match sector % 777 {
                        0..700 => Content::of(sector as u32 / 777 + 1),
                        _ => ZEROES,
                    };
                    assert_eq!(content, wanted, "{layout:?}, {members} members, sector {sector}");
                }
                if missing == 0 {
                    bench.fail(members - 1);
                } else {
                    break;
                }
            }
        }
    }
}
