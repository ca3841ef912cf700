//! The SLC cache must take the right writes, at the speed of SLC mode, and fold them.

use wordline_device::Operation;
use wordline_ftl::config::SlcCacheFile;
use wordline_ftl::policy::background::BackgroundKind;
use wordline_ftl::policy::router::RouterKind;
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_nand::CellMode;
use wordline_nand::part::SlcTiming;
use wordline_ssd::DeviceFile;

use crate::common::{Rig, small};

fn us(time: u64) -> Duration {
    Duration::from_us(time)
}

/// One-shot TLC part: 24 blocks of 16 word lines in each plane. Programs take 900 us, or 100 us in SLC mode.
fn tlc() -> DeviceFile {
    let mut file = small();
    (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (3, true);
    file.part.geometry.pages_per_block = 48;
    file.part.timing.program = vec![us(900).into()];
    file.part.timing.slc = Some(SlcTiming { read: us(20), program: us(100), erase: us(1_000) });
    file.ftl.over_provisioning = 0.5;
    file
}

fn cached(cache: SlcCacheFile) -> DeviceFile {
    let mut file = tlc();
    file.ftl.router = RouterKind::SlcCache { window: None };
    file.ftl.slc_cache = Some(cache);
    file
}

fn fixed(blocks: u32) -> SlcCacheFile {
    SlcCacheFile { blocks, ..SlcCacheFile::default() }
}

/// Writes `count` pages from `first` on, two in each command, at queue depth 8. Returns the time until all
/// are in flash.
fn write(rig: &mut Rig, first: u64, count: u64) -> Duration {
    let start = rig.calendar_now();
    for page in (first..first + count).step_by(2) {
        rig.run_down_to(7);
        rig.submit(Operation::Write, true, page * 8, 16);
    }
    rig.run_down_to(0);
    rig.audit();
    rig.calendar_now() - start
}

#[test]
fn a_write_to_the_cache_takes_the_time_of_the_slc_mode() {
    let time = |file| Rig::new(file, 1).alone(Operation::Write, true, 0, 8);
    let (slc, all) = (time(cached(fixed(2))), time(tlc()));
    // Two pages of the plane group use the bus instead of six.
    assert!(slc > us(100) && slc < us(160), "{slc}");
    assert!(all > us(900), "{all}");
}

#[test]
fn a_burst_fits_into_the_cache_and_what_is_beyond_goes_to_blocks_of_all_bits() {
    let mut rig = Rig::new(cached(fixed(3)), 1);
    // Three blocks of 32 pages in each of four plane groups.
    let room = 4 * 3 * 32;
    let within = write(&mut rig, 0, room);
    assert_eq!(rig.device.totals().slc_programs, room, "all of it is cached");
    assert_eq!(rig.device.ftl().blocks.by_pool().blocks_in(CellMode::Slc), 12);
    let beyond = write(&mut rig, room, room);
    assert_eq!(rig.device.totals().slc_programs, room, "a full cache takes no more");
    assert!(within.ps() * 2 < beyond.ps(), "{within} within the cache, {beyond} beyond");
    assert_eq!((rig.device.totals().folded, rig.device.totals().gc_programs), (0, 0));
}

#[test]
fn a_resting_host_finds_the_cache_empty_again() {
    let mut file = cached(fixed(3));
    file.ftl.gc.background = BackgroundKind::IdleFold { idle: Duration::from_ms(1), until_cached: 1 };
    let mut rig = Rig::new(file, 1);
    let room = 4 * 3 * 32;
    let first = write(&mut rig, 0, room);
    rig.rest(Duration::from_ms(1_000));
    let folded = rig.device.totals().folded;
    // The last victim of a plane group may wait for pages that complete its program unit.
    assert!((4 * 2 * 32 - 4 * 6..=4 * 2 * 32).contains(&folded), "{folded} pages were folded");
    assert_eq!(rig.device.ftl().blocks.by_pool().blocks_in(CellMode::Slc), 4, "one block stays in each row");
    assert_eq!(rig.device.totals().gc_programs, folded, "nothing else is moved");
    let again = write(&mut rig, 0, 4 * 32);
    assert!(rig.device.totals().slc_programs > room + 2 * 32, "there is room for another burst");
    assert!(again.ps() * 2 < first.ps());
}

#[test]
fn blocks_beyond_a_number_are_folded_while_the_host_is_at_work() {
    let mut rig = Rig::new(cached(SlcCacheFile { fold_above: Some(1), ..fixed(4) }), 1);
    write(&mut rig, 0, 4 * 8 * 32);
    let totals = rig.device.totals();
    assert!(totals.folded > 4 * 32, "{} pages were folded", totals.folded);
    assert!(totals.slc_programs > 4 * 4 * 32, "{} pages were cached", totals.slc_programs);
    assert_eq!(totals.gc_victim_pages, 32 * totals.erases, "a block has 32 pages in SLC mode, and not 96");
}

#[test]
fn pages_that_are_overwritten_in_the_cache_are_not_folded() {
    let folded = |pages: u64| {
        let mut rig = Rig::new(cached(SlcCacheFile { fold_above: Some(2), ..fixed(4) }), 1);
        for n in 0..32 {
            write(&mut rig, n * 64 % pages, 64);
        }
        rig.device.totals().folded
    };
    let (hot, cold) = (folded(64), folded(1_024));
    assert!(hot * 4 < cold, "{hot} pages of a small range are folded, {cold} of a large one");
}

#[test]
fn the_dynamic_part_shrinks_as_the_device_fills() {
    let most = |fill: f64| {
        let mut rig = Rig::new(cached(SlcCacheFile { blocks: 0, spare: 0.5, ..SlcCacheFile::default() }), 1);
        rig.device.fill(fill);
        let mut most = 0;
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        for first in (0..pages / 2).step_by(64) {
            write(&mut rig, first, 64);
            most = most.max(rig.device.ftl().blocks.by_pool().blocks_in(CellMode::Slc));
        }
        most
    };
    let (empty, half, full) = (most(0.0), most(0.5), most(1.0));
    assert!(
        empty > half && half > full,
        "{empty} blocks cached at most when empty, {half}, {full} when full"
    );
}

#[test]
fn a_cache_of_a_size_holds_it_on_an_erased_device_whatever_gc_keeps() {
    for (reserved, kept_free) in [(0, 3), (5, 3), (0, 6)] {
        let size = Some(Bytes::mib(1));
        let mut file = cached(SlcCacheFile { blocks: 0, size, ..SlcCacheFile::default() });
        file.ftl.reserved_blocks = reserved;
        file.ftl.gc.start_below_free_blocks = kept_free;
        file.ftl.gc.stop_at_free_blocks = kept_free;
        let mut rig = Rig::new(file, 1);
        write(&mut rig, 0, 512);
        assert_eq!(rig.device.totals().slc_programs, 256, "{reserved} reserved, {kept_free} kept free");
    }
}

#[test]
fn a_cached_device_survives_ten_drive_writes_filled_to_the_brim() {
    let caches =
        [fixed(2), SlcCacheFile { spare: 1.0, ..fixed(1) }, SlcCacheFile { fold_above: Some(0), ..fixed(3) }];
    for cache in caches {
        for window in [None, Some(0.1)] {
            let mut file = cached(cache);
            file.ftl.router = RouterKind::SlcCache { window };
            let mut rig = Rig::new(file, 1);
            rig.device.fill_steady(Seed(5));
            let pages = u64::from(rig.device.config().ftl.logical_pages);
            let mut random = Seed(3).stream("test.overwrite", 0);
            for _ in 0..10 * pages {
                rig.run_down_to(15);
                rig.submit(Operation::Write, false, random.below(pages) * 8, 8);
            }
            rig.run_down_to(0);
            rig.audit();
            assert!(rig.completions.iter().all(|(_, completion)| !completion.failed), "{cache:?}");
            let totals = rig.device.totals();
            assert!(totals.slc_programs > pages / 20, "{cache:?}: {}", totals.slc_programs);
            assert!(totals.folded > 0 && totals.folded <= totals.gc_programs, "{cache:?}");
        }
    }
}

#[test]
fn a_cache_without_a_mode_for_it_or_for_nobody_is_refused() {
    let keys = |file: DeviceFile| -> Vec<String> {
        file.check().expect_err("it is refused").0.into_iter().map(|wrong| wrong.key).collect()
    };
    let mut no_mode = cached(fixed(2));
    no_mode.part.timing.slc = None;
    assert_eq!(keys(no_mode), ["ftl.slc_cache"]);
    assert_eq!(keys(cached(fixed(0))), ["ftl.slc_cache.blocks"]);
    let mut nobody = tlc();
    nobody.ftl.router = RouterKind::SlcCache { window: Some(2.0) };
    assert_eq!(keys(nobody), ["ftl.slc_cache", "ftl.router.window"]);
}
