//! Time of power-loss recovery, compared with closed forms, and single cases of faults together with power
//! losses.

use wordline_device::{BlockDevice, Operation, Recovered};
use wordline_ftl::blocks::State;
use wordline_ftl::config::{DiscardsAtCut, LowerPages};
use wordline_ftl::contents::Contents;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Bytes, Duration, Instant, Seed};
use wordline_nand::BlockSetId;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::config::DeviceFile;

use crate::common::{Rig, small};

/// Sectors of a page.
const PAGE: u64 = 8;

/// Cuts the power and waits until the device is ready.
fn cut_and_recover(rig: &mut Rig) -> Recovered {
    rig.cut_power();
    rig.wait_until_ready();
    rig.device.recovery().expect("the scan is over")
}

/// Scan reads of each die: the programmed pages of each block, and one more.
fn reads(rig: &Rig) -> Vec<u64> {
    let config = rig.device.config();
    let geometry = config.ftl.geometry();
    let per_die = geometry.block_sets() / geometry.dies();
    let in_block = |block| {
        let locations = rig.device.chips().programmed(BlockSetId(block));
        let pages = (locations * config.ftl.locations().pages()).div_ceil(config.ftl.locations().per_page());
        u64::from((pages.div_ceil(geometry.planes_per_row) + 1).min(geometry.pages_per_block))
    };
    (0..geometry.dies()).map(|die| (die * per_die..(die + 1) * per_die).map(in_block).sum()).collect()
}

/// Device with 32 dies and 48,000 pages in total, on `channels` channels.
fn large(channels: u32, spare: u64) -> DeviceFile {
    let mut file = small();
    (file.layout.channels, file.layout.dies_per_package) = (channels, 32 / channels);
    file.part.geometry.pages_per_block = 32;
    file.part.geometry.spare_size = Bytes(spare);
    file
}

/// Scan of a full device: time in microseconds, and the number of reads of the fullest die and of the fullest
/// channel.
fn scan_of(file: DeviceFile) -> (f64, u64, u64) {
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let (reads, per_channel) = (reads(&rig), rig.device.config().ftl.geometry().dies_per_channel as usize);
    let recovery = cut_and_recover(&mut rig);
    let planes = u64::from(rig.device.config().ftl.geometry().planes_per_row);
    assert_eq!(recovery.pages_read, planes * reads.iter().sum::<u64>());
    let most = *reads.iter().max().expect("there are dies");
    let most_in_channel =
        reads.chunks(per_channel).map(|dies| dies.iter().sum()).max().expect("there are dies");
    (recovery.time.ps() as f64 / 1e6, most, most_in_channel)
}

/// Bus time in microseconds of a read of `spare` bytes from each of two planes, measured on a device where
/// nothing else takes time.
fn bus_of(spare: u64) -> f64 {
    let mut file = large(1, spare);
    file.part
        .timing
        .read
        .iter_mut()
        .for_each(|range| (range.least, range.most) = (Duration::from_ns(1), Duration::from_ns(1)));
    let (time, _, reads) = scan_of(file);
    time / reads as f64
}

#[test]
fn a_scan_takes_what_its_dies_take_or_its_buses() {
    let mut bound = [0, 0];
    for (channels, spare) in [(32, 128), (4, 128), (2, 128), (1, 128), (1, 1024), (2, 2048)] {
        let (time, of_die, of_channel) = scan_of(large(channels, spare));
        let bus = bus_of(spare);
        bound[usize::from(of_channel as f64 * bus > of_die as f64 * (25.0 + bus))] += 1;
        let form = (of_die as f64 * (25.0 + bus)).max(of_channel as f64 * bus);
        assert!(
            (0.999..1.002).contains(&(time / form)),
            "{channels} channels, {spare} B: {time} us, not {form}"
        );
    }
    assert_eq!(bound, [2, 4], "by the dies, and by the buses");
}

#[test]
fn a_checkpoint_leaves_the_first_page_of_each_block_and_what_was_written_since() {
    let mut file = large(32, 128);
    file.ftl.recovery.discards = DiscardsAtCut::Kept;
    file.ftl.recovery.checkpoint = Some(Bytes::mib(1));
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let all = cut_and_recover(&mut rig);
    // The 256th host page begins a checkpoint, which ends within the next few pages.
    let tables = u64::from(rig.device.config().ftl.table_pages());
    for page in 0..400 {
        rig.alone(Operation::Write, true, page * PAGE, PAGE);
    }
    assert_eq!(rig.device.totals().translation_programs, tables);
    let part = cut_and_recover(&mut rig);
    let blocks = u64::from(rig.device.config().ftl.pools.block_sets());
    let planes = u64::from(rig.device.config().ftl.geometry().planes_per_row);
    let least = blocks * planes + tables;
    // The program units since the checkpoint, one page for each block that is not full, and the table pages.
    let most = least + (400 - 256) * planes + blocks * planes;
    assert!((least..most).contains(&part.pages_read), "{} of {least} to {most}", part.pages_read);
    assert!(10 * part.pages_read < all.pages_read * 3 && part.time < all.time, "{part:?} {all:?}");
    assert_eq!((part.lost, part.returned), (0, 0));
}

#[test]
fn a_discard_that_was_flushed_is_kept_or_forgotten_as_the_configuration_says() {
    for (discards, returns) in [(DiscardsAtCut::Kept, false), (DiscardsAtCut::Forgotten, true)] {
        let mut file = large(8, 128);
        file.ftl.recovery.discards = discards;
        let mut rig = Rig::new(file, 1);
        for operation in [Operation::Write, Operation::Discard] {
            rig.alone(operation, false, 3 * PAGE, PAGE);
            rig.alone(Operation::Flush, false, 0, 0);
        }
        let recovered = cut_and_recover(&mut rig);
        assert_eq!(rig.device.version_in_flash(LogicalPage(3)).is_some(), returns, "{discards:?}");
        assert_eq!((recovered.lost, recovered.returned), (0, u64::from(returns)), "{discards:?}");
    }
}

/// Fills a device whose map is in flash and overwrites it at random, with a checkpoint every `checkpoint`
/// bytes or without. Returns the result of a recovery, and the versions after it.
fn overwritten_with_a_map_in_flash(checkpoint: Option<Bytes>) -> (Recovered, Vec<Option<u32>>) {
    let mut file = large(8, 128);
    file.ftl.over_provisioning = 0.4;
    file.ftl.mapping.cache = Some(Bytes::kib(8));
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
    file.ftl.recovery.discards = DiscardsAtCut::Kept;
    file.ftl.recovery.checkpoint = checkpoint;
    let mut rig = Rig::new(file, 1);
    rig.device.keep_contents(Contents::new(None));
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(3).stream("test.recovery", 1);
    for n in 0..12_000 {
        rig.run_down_to(15);
        rig.submit(Operation::Write, false, random.below(pages) * PAGE, PAGE);
        if n % 100 == 0 {
            rig.submit(Operation::Discard, false, random.below(pages) * PAGE, PAGE);
            rig.submit(Operation::Flush, false, 0, 0);
        }
    }
    rig.settle();
    rig.alone(Operation::Flush, false, 0, 0);
    let before = rig.device.totals().translation_programs;
    assert!(before > 500 && rig.device.totals().gc_programs > 1_000, "{before} translation pages");
    let recovered = cut_and_recover(&mut rig);
    let versions = (0..pages as u32).map(|page| rig.device.version_in_flash(LogicalPage(page))).collect();
    rig.audit();
    rig.overwrite(500);
    cut_and_recover(&mut rig);
    (recovered, versions)
}

#[test]
fn a_checkpoint_of_a_map_in_flash_finds_the_same_with_fewer_reads() {
    let (all, expected) = overwritten_with_a_map_in_flash(None);
    let (part, found) = overwritten_with_a_map_in_flash(Some(Bytes::mib(4)));
    assert_eq!(found, expected);
    assert_eq!(((all.lost, all.returned), (part.lost, part.returned)), ((0, 0), (0, 0)));
    let ms = |recovered: &Recovered| recovered.time.ps() as f64 / 1e9;
    eprintln!("{} pages in {:.1} ms, {} in {:.1} ms", all.pages_read, ms(&all), part.pages_read, ms(&part));
    assert!(3 * part.pages_read < all.pages_read && 2.0 * ms(&part) < ms(&all), "{part:?} {all:?}");
}

/// Filled device with half of its capacity as over-provisioning, and these rules.
fn failing(rules: &[FaultFile]) -> Rig {
    let mut file = small();
    file.ftl.over_provisioning = 0.5;
    file.faults = rules.to_vec();
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig
}

fn last_failed(rig: &Rig) -> bool {
    rig.completions.last().expect("it was answered").1.failed
}

#[test]
fn a_block_that_is_to_be_retired_is_so_after_a_cut() {
    let block = BlockSetId(24 + 20);
    let address = FaultFile {
        die: Some(1.into()),
        block: Some(20.into()),
        page: Some(9.into()),
        ..FaultFile::new(Fails::Program)
    };
    let mut rig = failing(&[address]);
    for n in 0.. {
        rig.submit(
            Operation::Write,
            false,
            n * 7919 % u64::from(rig.device.config().ftl.logical_pages) * PAGE,
            PAGE,
        );
        while rig.device.outstanding() > 7 && rig.device.totals().grown_bad_blocks == 0 {
            let event = rig.calendar.advance().expect("commands are outstanding");
            rig.device.handle(event, &mut rig.calendar);
        }
        if rig.device.totals().grown_bad_blocks > 0 {
            break;
        }
    }
    assert!(rig.device.ftl().blocks.table().state(block) != State::Bad, "it is to be emptied yet");
    cut_and_recover(&mut rig);
    let programmed = rig.device.chips().programmed(block);
    rig.overwrite(6_000);
    assert!(
        rig.device.ftl().blocks.table().state(block) == State::Bad
            && rig.device.chips().programmed(block) == programmed
    );
    assert_eq!((rig.device.ftl().blocks.space().bad(), rig.device.totals().grown_bad_blocks), (1, 1));
}

#[test]
fn a_lost_page_does_not_revert_to_an_older_copy_after_a_cut() {
    let page = LogicalPage(0);
    let mut rig = failing(&[FaultFile { nth: Some(1), ..FaultFile::new(Fails::Read) }]);
    rig.alone(Operation::Write, true, 0, PAGE);
    rig.alone(Operation::Read, false, 0, PAGE);
    assert!(last_failed(&rig) && rig.device.map().is_lost(page));
    for _ in 0..2 {
        let recovery = cut_and_recover(&mut rig);
        assert_eq!(
            (rig.device.version(page), recovery.lost),
            (None, 0),
            "the first version is in flash still"
        );
        rig.alone(Operation::Read, false, 0, PAGE);
        assert!(last_failed(&rig) && rig.device.map().is_lost(page));
    }
    // The data of this write are only in the buffer, so they are lost.
    rig.alone(Operation::Write, false, 0, PAGE);
    assert!(!rig.device.map().is_lost(page));
    cut_and_recover(&mut rig);
    assert!(rig.device.map().is_lost(page));
    rig.alone(Operation::Write, true, 0, PAGE);
    cut_and_recover(&mut rig);
    assert!(!rig.device.map().is_lost(page) && rig.device.version(page) == Some(3));
    rig.audit();
}

#[test]
fn a_die_that_is_lost_is_so_after_a_cut() {
    let mut rig = failing(&[FaultFile { nth: Some(40), die: Some(0.into()), ..FaultFile::new(Fails::Die) }]);
    rig.overwrite(400);
    let lost = |rig: &Rig| {
        (0..rig.device.config().ftl.logical_pages)
            .filter(|n| rig.device.map().is_lost(LogicalPage(*n)))
            .count()
    };
    let before = lost(&rig);
    assert!(rig.device.totals().failed_dies == 1 && before > 0);
    cut_and_recover(&mut rig);
    assert_eq!((lost(&rig), rig.device.totals().failed_dies), (before, 1));
    rig.audit();
}

#[test]
fn backups_of_lower_pages_cost_their_copies() {
    let time = |lower_pages| {
        let mut file = small();
        file.part.geometry.bits_per_cell = 2;
        file.ftl.recovery.lower_pages = lower_pages;
        let mut rig = Rig::new(file, 1);
        // In each plane group the first program is of a lower page, and the second of the upper page of the
        // same word line.
        let rows = u64::from(rig.device.config().ftl.pools.rows());
        let unit = u64::from(rig.device.config().ftl.locations().per_program);
        rig.alone(Operation::Write, true, 0, rows * unit * PAGE);
        rig.alone(Operation::Write, true, 0, unit * PAGE)
    };
    // A sense of 25 us and an additional program of 250 us.
    let more = time(LowerPages::BackedUp) - time(LowerPages::Exposed);
    assert_eq!(more, Duration::from_us(275));
}

#[test]
fn pages_copied_by_gc_are_not_copied_again_after_a_cut() {
    let copied = |cuts: u64| {
        let mut file = small();
        (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (6, 8);
        file.ftl.over_provisioning = 0.45;
        let mut rig = Rig::new(file, 1);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        let mut random = Seed(7).stream("test.recovery", 0);
        for _ in 0..6_000 {
            rig.run_down_to(7);
            rig.submit(Operation::Write, false, random.below(pages) * PAGE, PAGE);
        }
        let before = rig.device.totals().gc_programs;
        for _ in 0..cuts {
            rig.rest(Duration::from_us(1_500));
            cut_and_recover(&mut rig);
        }
        rig.settle();
        rig.audit();
        (rig.device.totals().gc_programs - before, u64::from(rig.device.config().ftl.pools.rows()))
    };
    let ((without, rows), (with, _)) = (copied(0), copied(10));
    eprintln!("{without} {with} {rows}");
    assert!(without > 10 * rows, "the cuts fall into work of the collector: {without} pages");
    // Each plane group programs two pages at a time.
    let torn = 10 * 2 * rows;
    assert!(
        with <= without + torn,
        "{without} pages without cuts, {with} with them: more than the programs they tore"
    );
}

#[test]
fn a_full_scan_takes_as_long_as_the_pages_of_a_die_one_after_the_other() {
    let mut file = small();
    // One die on each channel, so no die waits for a bus.
    file.layout.dies_per_package = 1;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let config = rig.device.config().clone();
    let per_die = config.ftl.pools.block_sets() / config.ftl.pools.dies();
    let reads = |die: u32| -> u64 {
        let blocks = (die * per_die..(die + 1) * per_die).map(BlockSetId);
        let pages = |block| rig.device.chips().programmed(block) / config.ftl.geometry().planes_per_row;
        blocks.map(|block| u64::from((pages(block) + 1).min(config.ftl.geometry().pages_per_block))).sum()
    };
    let most = (0..config.ftl.pools.dies()).map(reads).max().expect("there are dies");
    rig.device.power_cut(Instant::ZERO);
    rig.device.recover(&mut rig.calendar);
    while let Some(event) = rig.calendar.advance() {
        rig.device.handle(event, &mut rig.calendar);
    }
    let recovery = rig.device.recovery().expect("the scan is over");
    let one = recovery.time.ps() / most;
    // A read of the spare areas: tR of 25 us, the command, each plane's selection, and 256 bytes at 400 MT/s.
    assert!((25_000_000..28_000_000).contains(&one), "{one} ps a read");
    assert_eq!((recovery.lost, recovery.returned), (0, 0));
}
