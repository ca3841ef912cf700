//! Unloaded latencies and throughput limits must match their formulas, to the picosecond where nothing is
//! random.

use wordline_device::Operation;
use wordline_device::times::Component;
use wordline_kernel::{Bytes, Duration, Instant};
use wordline_nand::chain::BusPhase;
use wordline_ssd::DeviceFile;

use crate::common::{Rig, small};

/// Pages of 4 KiB, so a page is the request. A buffer access takes no time.
fn file(channels: u32, dies: u32) -> DeviceFile {
    let mut file = small();
    file.layout.channels = channels;
    file.layout.dies_per_package = dies;
    file.layout.planes_per_row = Some(1);
    file.buffer.access_time = Duration::ZERO;
    file.buffer.flush_interval = Duration::ZERO;
    file
}

#[test]
fn an_unloaded_read_takes_command_sensing_and_transfer() {
    let mut rig = Rig::new(file(2, 2), 1);
    rig.device.fill(1.0);
    // tCS + 7 tWC + tWB = 295 ns; tR = 25 us; tCS + tRPRE + tDQSRE = 50 ns; 4096 B at 400 MT/s = 10.24 us.
    assert_eq!(rig.alone(Operation::Read, false, 0, 8), Duration::from_ns(295 + 25_000 + 50 + 10_240));
    // A read of one sector of the page transfers 512 B in 1.28 us. After data out, a command latch waits for
    // tRHW = 100 ns instead of tCS.
    assert_eq!(rig.alone(Operation::Read, false, 3, 1), Duration::from_ns(375 + 25_000 + 50 + 1_280));
}

#[test]
fn an_unloaded_durable_write_takes_command_transfer_and_programming() {
    let mut rig = Rig::new(file(2, 2), 1);
    // tCS + 7 tWC + tADL + tWPST + tWPSTH + tWB = 386 ns; 4096 B = 10.24 us; tPROG = 250 us.
    assert_eq!(rig.alone(Operation::Write, true, 0, 8), Duration::from_ns(386 + 10_240 + 250_000));
}

#[test]
fn a_durable_write_of_part_of_a_page_reads_the_rest_first() {
    let mut rig = Rig::new(file(1, 1), 1);
    rig.device.fill(1.0);
    let fill =
        Duration::from_ns(295 + 25_000 + 50) + rig.device.config().ftl.part().bus.burst_out(Bytes(7 * 512));
    // After data out, the command latch waits for tRHW = 100 ns instead of tCS.
    let program = Duration::from_ns(466 + 10_240 + 250_000);
    assert_eq!(rig.alone(Operation::Write, true, 8, 1), fill + program);
}

#[test]
fn a_read_of_what_is_in_the_buffer_takes_the_access_time() {
    let mut file = file(1, 1);
    file.buffer.access_time = Duration::from_us(3);
    let mut rig = Rig::new(file, 1);
    assert_eq!(rig.alone(Operation::Write, false, 0, 8), Duration::from_us(3));
    assert_eq!(rig.alone(Operation::Read, false, 0, 8), Duration::from_us(3));
    assert_eq!(rig.device.totals().reads_without_flash, 1);
}

#[test]
fn the_command_time_is_added_to_every_command() {
    let mut file = file(1, 1);
    file.front.command_time = Duration::from_us(2);
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    assert_eq!(
        rig.alone(Operation::Read, false, 0, 8),
        Duration::from_ns(2_000 + 295 + 25_000 + 50 + 10_240)
    );
}

/// Reads page after page at queue depth `depth`. Returns the time of `count` reads in the steady state.
fn steady_reads(rig: &mut Rig, depth: usize, count: u64) -> Duration {
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let warm = 4 * depth as u64;
    let mut start = Instant::ZERO;
    for n in 0..warm + count {
        rig.run_down_to(depth - 1);
        if n == warm {
            start = rig.calendar_now();
        }
        rig.submit(Operation::Read, false, n % pages * 8, 8);
    }
    rig.run_down_to(depth - 1);
    rig.calendar_now() - start
}

#[test]
fn throughput_is_bound_by_the_array_of_one_die() {
    let mut rig = Rig::new(file(1, 1), 1);
    rig.device.fill(1.0);
    let part = rig.device.config().ftl.part().clone();
    let turnaround = part.bus.t_rhw - part.bus.t_cs;
    let cycle = turnaround
        + BusPhase::Read.total(&part, 1)
        + Duration::from_us(25)
        + BusPhase::DataOut.total(&part, 1);
    assert_eq!(steady_reads(&mut rig, 8, 1_000), cycle * 1_000);
}

#[test]
fn throughput_of_many_dies_is_bound_by_the_bus() {
    for dies in [6, 8] {
        let mut rig = Rig::new(file(1, dies), 1);
        rig.device.fill(1.0);
        let part = rig.device.config().ftl.part().clone();
        // Each command latch follows data out.
        let turnaround = part.bus.t_rhw - part.bus.t_cs;
        let on_bus = turnaround + BusPhase::Read.total(&part, 1) + BusPhase::DataOut.total(&part, 1);
        // The 25 us of tR are hidden, because each of the other dies uses the bus for 10.585 us.
        assert_eq!(steady_reads(&mut rig, 4 * dies as usize, 1_000), on_bus * 1_000, "{dies} dies");
    }
}

#[test]
fn channels_add_up() {
    let time = |channels| {
        let mut rig = Rig::new(file(channels, 6), 1);
        rig.device.fill(1.0);
        steady_reads(&mut rig, 48 * channels as usize, 1_200)
    };
    let (one, four) = (time(1), time(4));
    let ratio = one.ps() as f64 / four.ps() as f64;
    assert!((ratio - 4.0).abs() < 0.02, "four channels read {ratio} times as fast as one");
}

/// Filled device with `entries` map entries in memory, after random reads have warmed the cache.
fn warmed(entries: u64) -> (Rig, wordline_kernel::Stream) {
    let mut file = file(1, 1);
    file.ftl.mapping.cache = Some(Bytes(8 * entries));
    file.ftl.over_provisioning = 0.4;
    file.ftl.gc.start_below_free_blocks = 4;
    file.ftl.gc.stop_at_free_blocks = 4;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let mut random = wordline_kernel::Seed(5).stream("test.reads", 0);
    read_at_random(&mut rig, &mut random, 5_000);
    (rig, random)
}

fn read_at_random(rig: &mut Rig, random: &mut wordline_kernel::Stream, reads: u64) {
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    for _ in 0..reads {
        rig.run_down_to(0);
        rig.submit(Operation::Read, false, random.below(pages) * 8, 8);
    }
    rig.run_down_to(0);
}

#[test]
fn uniform_reads_find_the_cached_share_of_the_map_and_read_the_rest() {
    for entries in [40, 100, 300] {
        let (mut rig, mut random) = warmed(entries);
        let before = rig.device.totals().clone();
        let reads = 20_000;
        read_at_random(&mut rig, &mut random, reads);
        let now = rig.device.totals();
        // If all of N pages are equally likely in each reference, LRU has any C of them: its hit ratio is C /
        // N.
        let expected = entries as f64 / f64::from(rig.device.config().ftl.logical_pages);
        let hits = (now.map_hits - before.map_hits) as f64 / reads as f64;
        // Three standard deviations for this number of draws.
        let within = 3.0 * (expected * (1.0 - expected) / reads as f64).sqrt();
        assert!((hits - expected).abs() < within, "{entries} entries: {hits}, not {expected}");
        // Each read does one lookup. At queue depth 1 each miss reads one translation page.
        assert_eq!(now.translation_reads - before.translation_reads, now.map_misses - before.map_misses);
        assert_eq!(now.map_hits + now.map_misses - before.map_hits - before.map_misses, reads);
    }
}

#[test]
fn a_read_that_misses_the_map_takes_a_translation_page_longer() {
    let (mut rig, _) = warmed(2);
    let per_page = u64::from(rig.device.config().ftl.logical_pages) / 2;
    for page in [0, 1, 2] {
        rig.alone(Operation::Read, false, page * 8, 8);
    }
    let before = rig.device.totals().times.spent[0][Component::Mapping as usize];
    let bus = rig.device.config().ftl.part().bus;
    let turnaround = (bus.t_rhw - bus.t_cs) * 2;
    let page = Duration::from_ns(295 + 25_000 + 50 + 10_240);
    assert_eq!(rig.alone(Operation::Read, false, per_page * 8, 8), page * 2 + turnaround);
    let mapping = rig.device.totals().times.spent[0][Component::Mapping as usize] - before;
    assert_eq!(mapping, u128::from((page + turnaround / 2).ps()), "one of the two is for the map");
    assert_eq!(rig.alone(Operation::Read, false, per_page * 8, 8), page + turnaround / 2);
}
