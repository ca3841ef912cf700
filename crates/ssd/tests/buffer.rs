//! The buffer must follow its settings: which pages are destaged and when, which reads it serves, and what is
//! in the read cache.

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Bytes, Duration, Energy, Instant, Seed};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::{BufferMode, BufferSpace, Protection};
use wordline_ssd::policy::destage::DestageKind;
use wordline_ssd::policy::eviction::EvictionKind;

use crate::common::{Rig, small};

const ACCESS: Duration = Duration::from_us(1);

/// One die with two planes in a plane group, so a program unit is two pages of 4 KiB. The buffer has 128
/// pages. There is no flush by time.
fn one_die() -> DeviceFile {
    let mut file = small();
    file.layout.channels = 1;
    file.layout.dies_per_package = 1;
    file.buffer.size = Bytes::kib(512);
    file.buffer.flush_interval = Duration::ZERO;
    file.part.geometry.blocks_per_plane = 64;
    file
}

fn write(rig: &mut Rig, page: u64) -> Duration {
    rig.alone(Operation::Write, false, page * 8, 8)
}

fn read(rig: &mut Rig, page: u64) -> Duration {
    rig.alone(Operation::Read, false, page * 8, 8)
}

/// Number of pages whose latest version is not in flash.
fn waiting(rig: &Rig) -> usize {
    let pages = (0..rig.device.config().ftl.logical_pages).map(LogicalPage);
    pages.filter(|page| rig.device.version(*page) != rig.device.version_in_flash(*page)).count()
}

#[test]
fn destaging_starts_above_the_high_watermark_and_stops_at_the_low_one() {
    let mut file = one_die();
    file.buffer.flush_above = 0.5;
    file.buffer.flush_to = Some(0.25);
    let mut rig = Rig::new(file, 1);
    (0..64).for_each(|page| {
        write(&mut rig, page);
    });
    rig.settle();
    assert_eq!(waiting(&rig), 64, "the high mark is not passed");
    write(&mut rig, 64);
    rig.settle();
    // Pages that were being destaged when the low watermark was reached go too: up to two program units.
    assert!((28..=32).contains(&waiting(&rig)), "{} pages wait", waiting(&rig));
    let left = waiting(&rig);
    (65..90).for_each(|page| {
        write(&mut rig, page);
    });
    rig.settle();
    assert_eq!(waiting(&rig), left + 25, "what comes below the high mark stays");
}

#[test]
fn without_a_low_watermark_only_the_excess_is_destaged() {
    let mut rig = Rig::new(one_die(), 1);
    (0..65).for_each(|page| {
        write(&mut rig, page);
    });
    rig.settle();
    assert!((60..=64).contains(&waiting(&rig)), "{} pages wait", waiting(&rig));
}

#[test]
fn a_page_is_in_flash_soon_after_the_interval_and_not_before() {
    let mut file = one_die();
    file.buffer.flush_interval = Duration::from_ms(30_000);
    let mut rig = Rig::new(file, 1);
    write(&mut rig, 7);
    let mut flushed = None;
    while let Some(event) = rig.calendar.advance() {
        rig.device.handle(event, &mut rig.calendar);
        if flushed.is_none() && rig.device.version_in_flash(LogicalPage(7)) == Some(1) {
            flushed = Some(rig.calendar_now() - Instant::ZERO);
        }
    }
    let after = flushed.expect("it is in flash") - Duration::from_ms(30_000);
    // A program of 250 us, plus two pages and the commands on the bus.
    assert!(after > Duration::from_us(250) && after < Duration::from_us(280), "{after}");
}

/// Device that destages pages at once unless they are hot, with at most `in_flight` data on its way to flash.
fn eager(window: Duration, in_flight: Bytes) -> DeviceFile {
    let mut file = one_die();
    file.buffer.destage = DestageKind::UnlessHot { window, in_flight };
    file
}

#[test]
fn a_page_is_destaged_at_once_unless_it_was_written_before_in_the_window() {
    let mut rig = Rig::new(eager(Duration::from_ms(5), Bytes::kib(512)), 1);
    let mut write_all = |pages: std::ops::Range<u64>| {
        pages.for_each(|page| _ = write(&mut rig, page));
        rig.settle();
        waiting(&rig)
    };
    assert_eq!(write_all(0..8), 0, "each is written for the first time");
    assert_eq!(write_all(0..8), 8, "each is written for the second time, 1 ms later");
    assert_eq!(write_all(100..180), 8, "40 programs of 250 us take longer than the window");
    assert_eq!(write_all(0..6), 2, "in another window the first time counts again");
}

#[test]
fn a_write_waits_while_as_much_is_on_its_way_as_may_be_but_not_that_of_a_hot_page() {
    let mut rig = Rig::new(eager(Duration::from_ms(1_000), Bytes::kib(16)), 1);
    for page in 0..4 {
        assert_eq!(write(&mut rig, page), ACCESS);
    }
    assert_eq!(write(&mut rig, 0), ACCESS, "it stays in the buffer");
    let waited = write(&mut rig, 4);
    assert!(
        waited > Duration::from_us(250) && waited < Duration::from_us(320),
        "a program was to end: {waited}"
    );
}

#[test]
fn writes_go_on_where_less_than_a_program_unit_may_be_on_its_way() {
    let mut rig = Rig::new(eager(Duration::from_ms(1_000), Bytes::kib(4)), 1);
    (0..20).for_each(|page| _ = write(&mut rig, page));
    rig.settle();
    assert!(waiting(&rig) <= 1, "{} pages wait", waiting(&rig));
}

#[test]
fn a_least_recently_used_buffer_merges_more_than_one_that_goes_by_age() {
    let merged = |eviction: EvictionKind| {
        let mut file = one_die();
        file.buffer.eviction = eviction;
        let mut rig = Rig::new(file, 1);
        let mut random = Seed(5).stream("test.zipf", 0);
        let zipf = Zipf::new(800);
        (0..6_000).for_each(|_| {
            write(&mut rig, zipf.draw(&mut random));
        });
        rig.device.totals().coalesced_writes
    };
    let [fifo, clock, lru] =
        [EvictionKind::Fifo {}, EvictionKind::Clock {}, EvictionKind::Lru {}].map(merged);
    assert!(fifo * 21 < lru * 20 && fifo * 21 < clock * 20, "fifo {fifo}, clock {clock}, lru {lru}");
}

#[test]
fn half_written_units_take_half_of_the_room_where_what_was_written_counts() {
    // Mapping units of two pages. The host writes one page of each.
    let left = |space| {
        let mut file = one_die();
        file.ftl.mapping.unit = Some(Bytes::kib(8));
        file.buffer.space = space;
        file.buffer.flush_above = 0.5;
        let mut rig = Rig::new(file, 1);
        (0..64).for_each(|unit| {
            write(&mut rig, 2 * unit);
        });
        rig.settle();
        let all = waiting(&rig);
        write(&mut rig, 2 * 64);
        rig.settle();
        (all, waiting(&rig))
    };
    // The buffer of 512 KiB has space for 64 units, or for 128 half-written ones.
    assert!(left(BufferSpace::WholePages).0 <= 32, "{:?}", left(BufferSpace::WholePages));
    assert_eq!(left(BufferSpace::Written), (64, 64), "one more drives one out");
}

#[test]
fn neighbours_that_leave_together_are_read_together() {
    let time = |coalesce| {
        let mut file = one_die();
        file.buffer.coalesce = coalesce;
        let mut rig = Rig::new(file, 1);
        // All even pages first, then all odd ones. If pages leave by age, neighbours do not share a program
        // unit.
        for half in [0, 1] {
            (0..40).for_each(|n| {
                write(&mut rig, 2 * n + half);
            });
        }
        rig.settle();
        assert!(
            rig.device.version_in_flash(LogicalPage(1)).is_some() || !coalesce,
            "page 1 went with page 0"
        );
        rig.alone(Operation::Flush, false, 0, 0);
        rig.alone(Operation::Read, false, 0, 16)
    };
    // One multi-plane read instead of two reads.
    assert!(time(true) + Duration::from_us(20) < time(false));
}

/// Writes one sector of each of the first `pages` pages, which are in flash.
fn write_in_part(rig: &mut Rig, pages: u64) {
    (0..pages).for_each(|page| {
        rig.alone(Operation::Write, false, page * 8, 1);
    });
}

#[test]
fn host_reads_go_before_rmw_reads_of_the_flush_timer() {
    let longest = |flushes: bool| {
        let mut file = one_die();
        file.buffer.flush_interval = Duration::from_ms(if flushes { 20 } else { 0 });
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        write_in_part(&mut rig, 60);
        (0..500).map(|n| read(&mut rig, 200 + n)).max().expect("there are reads")
    };
    let alone = longest(false);
    // At worst the read waits for a program of 250 us and its data on the bus, not for the 60 RMW reads.
    assert!(longest(true) < alone + Duration::from_us(350), "{} and {alone}", longest(true));
}

#[test]
fn a_flush_of_the_host_does_not_wait_for_the_flush_timer() {
    let mut file = one_die();
    file.buffer.flush_interval = Duration::from_ms(20);
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    write_in_part(&mut rig, 60);
    // The flush timer has begun to destage pages, and would take 20 ms.
    rig.rest(Duration::from_ms(20));
    assert!(waiting(&rig) > 40, "{} pages wait", waiting(&rig));
    let flush = rig.alone(Operation::Flush, false, 0, 0);
    assert_eq!(waiting(&rig), 0);
    // 30 program units of two pages: each needs two reads of 25 us, a program, and the bus.
    assert!(flush < Duration::from_us(30 * (250 + 50 + 150)), "{flush}");
}

#[test]
fn a_flush_by_the_clock_is_spread_over_its_interval() {
    let mut file = one_die();
    let interval = Duration::from_ms(20);
    file.buffer.flush_interval = interval;
    let mut rig = Rig::new(file, 1);
    (0..40).for_each(|page| {
        write(&mut rig, page);
    });
    let mut left = Vec::new();
    rig.rest(interval);
    for _ in 0..5 {
        left.push(waiting(&rig));
        rig.rest(interval / 4);
    }
    // Twenty program units, one each millisecond.
    for (n, waiting) in left.iter().enumerate() {
        assert!(waiting.abs_diff(40 - n * 10) <= 4, "{left:?} pages wait");
    }
    assert_eq!(rig.device.totals().padding, 0);
    assert_eq!(waiting(&rig), 0);
}

#[test]
fn a_buffer_larger_than_the_device_costs_no_more_than_one_as_large_and_is_as_full() {
    let run = |mib| {
        let mut file = one_die();
        file.ftl.mapping.unit = Some(Bytes(512));
        (file.buffer.size, file.buffer.read_cache) = (Bytes::mib(mib), Bytes::mib(mib));
        let mut rig = Rig::new(file, 1);
        (0..600).for_each(|page| {
            rig.alone(Operation::Write, false, page * 8, 8);
        });
        rig.alone(Operation::Read, false, 0, 4_800);
        (rig.device.digest(), waiting(&rig))
    };
    // With an entry for each sector, 64 GiB would be 134 million entries of a hundred bytes, in each of the
    // two.
    assert_eq!(run(65_536), run(64));
}

#[test]
fn with_the_buffer_off_writes_of_a_page_do_not_merge_but_those_of_a_command_share_a_program() {
    let programs = |mode| {
        let mut file = one_die();
        file.buffer.mode = mode;
        let mut rig = Rig::new(file, 1);
        (0..3).for_each(|_| rig.submit(Operation::Write, false, 0, 16));
        rig.settle();
        assert_eq!(rig.device.version_in_flash(LogicalPage(1)), Some(3));
        (rig.device.totals().host_programs, rig.device.totals().coalesced_writes, rig.device.totals().padding)
    };
    assert_eq!(programs(BufferMode::Off), (6, 0, 0));
    // The first write is already being programmed when the second comes. The third coalesces with the second.
    assert_eq!(programs(BufferMode::WriteThrough), (4, 4, 0));
}

#[test]
fn a_protected_buffer_completes_flushes_and_forced_writes_at_once() {
    for (protection, at_once) in [(Protection::None, false), (Protection::Full, true)] {
        let mut file = one_die();
        file.buffer.power_loss_protection = protection;
        let mut rig = Rig::new(file, 1);
        let forced = rig.alone(Operation::Write, true, 0, 8);
        write(&mut rig, 1);
        let flush = rig.alone(Operation::Flush, false, 0, 0);
        assert_eq!([forced == ACCESS, flush == ACCESS], [at_once; 2], "{protection:?}: {forced}, {flush}");
    }
    let mut file = one_die();
    file.buffer.power_loss_protection = Protection::Full;
    file.buffer.mode = BufferMode::WriteThrough;
    assert!(write(&mut Rig::new(file, 1), 0) > Duration::from_us(250), "write-through waits for flash still");
}

#[test]
fn no_more_pages_wait_than_the_capacitors_can_program() {
    let mut file = one_die();
    file.buffer.power_loss_protection = Protection::Capacitors;
    // Programming two pages takes 66 mW for 250 us and 25 us, and 16.5 mW for 2 x 8 KiB at 400 MT/s (40.96
    // us): 18.8 uJ, counted twice. A millijoule is enough for 26 pairs.
    file.buffer.capacitors = Energy(1_000_000_000_000);
    let mut rig = Rig::new(file, 1);
    assert_eq!(rig.device.config().buffer_pages, 52);
    (0..300).for_each(|page| rig.submit(Operation::Write, false, page * 8, 8));
    while let Some(event) = rig.calendar.advance() {
        rig.device.handle(event, &mut rig.calendar);
        assert!(waiting(&rig) <= 52, "{} pages wait", waiting(&rig));
    }
    assert_eq!(rig.alone(Operation::Flush, false, 0, 0), ACCESS);
}

#[test]
fn capacitors_for_less_than_two_program_units_are_refused() {
    let mut file = one_die();
    file.buffer.power_loss_protection = Protection::Capacitors;
    file.buffer.capacitors = Energy(60_000_000_000);
    let wrong = file.check().expect_err("that is for one unit");
    assert_eq!(wrong.0[0].key, "buffer.capacitors");
    assert!(wrong.0[0].wanted.starts_with("at least 75"), "{wrong}");
}

/// Device with `pages` written pages and a read cache.
fn cached(pages: u64, eviction: EvictionKind) -> Rig {
    let mut file = one_die();
    file.buffer.read_cache = Bytes::kib(4 * pages);
    file.buffer.read_eviction = eviction;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig
}

#[test]
fn a_hot_set_smaller_than_the_read_cache_is_read_from_flash_once() {
    let mut rig = cached(16, EvictionKind::Lru {});
    for round in 0..10 {
        for page in 0..16 {
            assert_eq!(read(&mut rig, page * 5) == ACCESS, round > 0, "page {page} in round {round}");
        }
    }
    let totals = rig.device.totals();
    assert_eq!((totals.host_reads, totals.read_cache_hits), (16, 9 * 16));
}

#[test]
fn a_write_and_a_discard_make_the_read_cache_forget() {
    let mut rig = cached(16, EvictionKind::Lru {});
    read(&mut rig, 3);
    rig.alone(Operation::Write, true, 24, 8);
    assert_eq!(read(&mut rig, 3), ACCESS, "kept when it was programmed");
    assert_eq!(rig.device.totals().read_cache_hits, 1);
    rig.alone(Operation::Discard, false, 24, 8);
    read(&mut rig, 3);
    assert_eq!((rig.device.totals().host_reads, rig.device.totals().read_cache_hits), (1, 1));
    rig.audit();
}

/// Zipf distribution in scattered order: the k-th number has a probability proportional to 1/k.
struct Zipf {
    /// Cumulative sums of `2^32 / k`.
    sums: Vec<u64>,
}

impl Zipf {
    fn new(numbers: u64) -> Self {
        let sums = (1..=numbers).scan(0, |sum, k| {
            *sum += (1 << 32) / k;
            Some(*sum)
        });
        Self { sums: sums.collect() }
    }

    fn draw(&self, random: &mut wordline_kernel::Stream) -> u64 {
        let roll = random.below(self.sums[self.sums.len() - 1]);
        let rank = self.sums.partition_point(|sum| *sum <= roll) as u64;
        rank * 389 % self.sums.len() as u64
    }
}

/// Hits of a cache of `pages` pages, by the definition of the policy.
fn plain_hits(draws: &[u64], pages: usize, eviction: &EvictionKind) -> u64 {
    let mut line: Vec<(u64, bool)> = Vec::new();
    let mut hits = 0;
    for page in draws {
        if let Some(at) = line.iter().position(|(other, _)| other == page) {
            hits += 1;
            line[at].1 = true;
            if matches!(eviction, EvictionKind::Lru {}) {
                line[at..].rotate_left(1);
            }
            continue;
        }
        if line.len() == pages {
            while matches!(eviction, EvictionKind::Clock {}) && line[0].1 {
                line[0].1 = false;
                line.rotate_left(1);
            }
            line.remove(0);
        }
        line.push((*page, false));
    }
    hits
}

#[test]
fn under_zipf_reads_each_policy_has_the_hits_of_a_plain_cache() {
    let zipf = Zipf::new(800);
    let mut random = Seed(6).stream("test.zipf", 0);
    let draws: Vec<u64> = (0..10_000).map(|_| zipf.draw(&mut random)).collect();
    let mut all = Vec::new();
    for eviction in [EvictionKind::Fifo {}, EvictionKind::Clock {}, EvictionKind::Lru {}] {
        let mut rig = cached(50, eviction.clone());
        draws.iter().for_each(|page| {
            read(&mut rig, *page);
        });
        let hits = rig.device.totals().read_cache_hits;
        assert_eq!(hits, plain_hits(&draws, 50, &eviction), "{eviction:?}");
        all.push(hits);
    }
    assert!(all[0] < all[1] && all[0] < all[2], "fifo, clock, lru: {all:?}");
}

#[test]
fn sequential_reads_are_there_before_they_are_asked_for() {
    let mut file = one_die();
    file.buffer.read_cache = Bytes::kib(64);
    file.buffer.read_ahead = 4;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    for page in 0..100 {
        let time = read(&mut rig, page);
        rig.settle();
        assert_eq!(time == ACCESS, page > 1, "page {page} took {time}");
    }
    let totals = rig.device.totals();
    assert_eq!((totals.host_reads, totals.read_ahead_pages, totals.read_ahead_used), (2, 102, 98));
    rig.audit();
}

#[test]
fn a_read_waits_for_a_page_that_is_being_fetched_instead_of_reading_it_too() {
    let mut file = one_die();
    file.buffer.read_cache = Bytes::kib(64);
    file.buffer.read_ahead = 8;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let times: Vec<Duration> = (0..50).map(|page| read(&mut rig, page)).collect();
    assert_eq!(rig.device.totals().host_reads, 2);
    assert!(times[2] > ACCESS && times[2] <= times[0] * 2, "{} after {}", times[2], times[0]);
    // A page that is overwritten while it is being fetched must not serve later reads.
    rig.submit(Operation::Write, false, 51 * 8, 8);
    rig.run_down_to(0);
    assert_eq!(read(&mut rig, 51), ACCESS);
    rig.settle();
    rig.audit();
}

#[test]
fn every_wrong_key_of_the_buffer_is_named() {
    let mut file = one_die();
    file.buffer.flush_to = Some(0.6);
    file.buffer.capacitors = Energy(1_000);
    file.buffer.read_cache = Bytes::kib(16);
    file.buffer.read_ahead = 3;
    let wrong = file.check().expect_err("three are wrong");
    let keys: Vec<&str> = wrong.0.iter().map(|complaint| complaint.key.as_str()).collect();
    assert_eq!(keys, ["buffer.flush_to", "buffer.capacitors", "buffer.read_ahead"]);
}

#[test]
fn a_page_in_the_read_cache_needs_no_place_in_flash() {
    let mut file = one_die();
    file.buffer.read_cache = Bytes::kib(64);
    // Space for two map entries.
    file.ftl.mapping.cache = Some(Bytes(16));
    file.ftl.gc.start_below_free_blocks = 4;
    file.ftl.gc.stop_at_free_blocks = 4;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    for page in [0, 300, 600, 900] {
        read(&mut rig, page);
    }
    let before = rig.device.totals().translation_reads;
    assert!(before > 0, "the map is in flash");
    assert_eq!((read(&mut rig, 0), rig.device.totals().translation_reads), (ACCESS, before));
}

#[test]
fn any_number_of_commands_may_wait_for_one_page() {
    let mut file = small();
    file.front.queue_depth = 10_000;
    file.buffer.mode = BufferMode::WriteThrough;
    let mut rig = Rig::new(file, 1);
    // Each completion lets another command begin.
    for _ in 0..20_000 {
        rig.submit(Operation::Write, false, 0, 8);
    }
    rig.run_down_to(0);
    assert!(rig.completions.iter().all(|(_, completion)| !completion.failed));
    rig.audit();
}
