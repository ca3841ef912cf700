use wordline_device::{BlockDevice, Command, Operation};
use wordline_ftl::blocks::State;
use wordline_ftl::config::FtlFile;
use wordline_ftl::policy::victim::VictimKind;
use wordline_kernel::{Bytes, Instant, Seed, Stream};
use wordline_nand::PlaneGroupId;

use super::*;
use crate::config::{BufferFile, DeviceFile, FrontFile};

include!("../../../tests/common/small.rs");

/// Device with four plane groups of 256 blocks of 128 pages.
fn device() -> Device {
    device_with(VictimKind::default())
}

fn device_with(victim: VictimKind) -> Device {
    let mut file = small();
    file.ftl.gc.victim = victim;
    (file.part.geometry.blocks_per_plane, file.part.geometry.pages_per_block) = (256, 64);
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 6);
    Device::new(file.check().expect("a device"), Seed(1))
}

/// Device that was filled and then overwritten with whole pages at random for six drive writes.
fn aged(depth: Option<u32>) -> Device {
    let mut device = device();
    device.fill(1.0);
    overwrite(&mut device, 6, depth, &mut Seed(5).stream("test.age", 0));
    device
}

/// Overwrites whole pages at random for `drives` drive writes.
fn overwrite(device: &mut Device, drives: u64, depth: Option<u32>, random: &mut Stream) {
    let pages = u64::from(device.config().ftl.logical_pages);
    overwrite_pages(device, drives * pages, depth, random);
}

/// Overwrites `count` whole pages at random.
fn overwrite_pages(device: &mut Device, count: u64, depth: Option<u32>, random: &mut Stream) {
    let pages = u64::from(device.config().ftl.logical_pages);
    let mut given = 0;
    device.age(
        &mut |_| {
            given += 1;
            let sector = random.below(pages) * 8;
            let command = Command { operation: Operation::Write, sector, sectors: 8, ..Command::default() };
            (given <= count).then(|| (Instant::ZERO + Duration::from_ms(1) * given, command))
        },
        depth,
    );
}

/// Write amplification over `drives` drive writes.
fn amplification(device: &mut Device, drives: u64, random: &mut Stream) -> f64 {
    let before = BlockDevice::programmed(device);
    overwrite(device, drives, Some(16), random);
    let after = BlockDevice::programmed(device);
    1.0 + (after.other - before.other) as f64 / (after.host - before.host) as f64
}

/// Valid pages of every closed block, in ascending order.
fn valid(device: &Device) -> Vec<u32> {
    let closed = device
        .config()
        .ftl
        .pools
        .all_blocks()
        .filter(|block| device.core.ftl.blocks.table().state(*block) == State::Closed);
    let mut valid: Vec<u32> = closed.map(|block| device.core.ftl.blocks.table().valid(block)).collect();
    valid.sort_unstable();
    valid
}

/// Free blocks in all plane groups.
fn free(device: &Device) -> usize {
    device.config().ftl.pools.all_groups().map(|row| device.core.ftl.blocks.space().free(row)).sum()
}

/// Greatest difference between the cumulative distributions (Kolmogorov-Smirnov statistic).
fn distance(one: &[u32], other: &[u32]) -> f64 {
    let up_to = |all: &[u32], value: u32| all.partition_point(|it| *it <= value) as f64 / all.len() as f64;
    let differs = |value: &u32| (up_to(one, *value) - up_to(other, *value)).abs();
    one.iter().chain(other).map(differs).fold(0.0, f64::max)
}

#[test]
fn blocks_are_as_full_as_theory_has_them() {
    let mut from_theory = device();
    from_theory.fill_steady_to(Seed(1), 1.0);
    let [found, wanted] = [aged(None), from_theory].map(|device| valid(&device));
    // Two samples of a thousand blocks from the same distribution differ by more than 0.073 with probability
    // 0.01.
    let limit = 1.63 * (1.0 / found.len() as f64 + 1.0 / wanted.len() as f64).sqrt();
    let distance = distance(&found, &wanted);
    assert!(distance < limit, "{distance}, at most {limit}");
}

#[test]
fn by_the_times_of_the_workload_as_many_blocks_are_free_as_after_a_rest() {
    let mut rested = device();
    rested.fill_steady_to(Seed(1), 1.0);
    let (found, wanted) = (free(&aged(None)), free(&rested));
    let rows = rested.config().ftl.pools.rows() as usize;
    // Free blocks of a plane group may be anywhere between its GC watermarks.
    assert!(found.abs_diff(wanted) <= 2 * rows, "{found} and {wanted} free blocks");
}

#[test]
fn in_a_closed_loop_as_many_blocks_are_free_as_under_full_load() {
    let mut loaded = device();
    loaded.fill_steady(Seed(1));
    let (found, wanted) = (free(&aged(Some(16))), free(&loaded));
    let rows = loaded.config().ftl.pools.rows() as usize;
    assert!(found.abs_diff(wanted) <= rows, "{found} and {wanted} free blocks");
}

#[test]
fn what_is_laid_writes_as_much_from_the_first_page_on_as_what_was_overwritten_for_long() {
    for victim in [
        VictimKind::Greedy {},
        VictimKind::Fifo {},
        VictimKind::Random {},
        VictimKind::CostBenefit {},
        VictimKind::DChoices { choices: 10 },
    ] {
        let random = &mut Seed(5).stream("test.age", 0);
        let mut laid = device_with(victim.clone());
        let reached = laid.fill_steady(Seed(1));
        let first = amplification(&mut laid, 2, random);
        let mut long = device_with(victim.clone());
        long.fill(1.0);
        overwrite(&mut long, 4, Some(16), random);
        let later = amplification(&mut long, 3, random);
        assert!((first / later - 1.0).abs() < 0.01, "{victim:?}: {first}, later {later}");
        let is_known = !matches!(victim, VictimKind::CostBenefit {} | VictimKind::DChoices { .. });
        let pages = u64::from(long.config().ftl.logical_pages);
        assert!(!is_known || reached.overwritten < pages / 4, "{victim:?}: {reached:?}");
    }
}

/// Write amplification over `pages` random whole pages at queue depth `depth`, or in an open loop.
fn amplification_of(device: &mut Device, pages: u64, depth: Option<u32>, random: &mut Stream) -> f64 {
    let before = BlockDevice::programmed(device);
    overwrite_pages(device, pages, depth, random);
    let after = BlockDevice::programmed(device);
    1.0 + (after.other - before.other) as f64 / (after.host - before.host) as f64
}

/// Takes at most about five seconds: two loads on three devices.
#[test]
fn twenty_thousand_pages_are_amplified_like_three_drive_writes_with_pauses_and_without() {
    for victim in [VictimKind::Greedy {}, VictimKind::Fifo {}, VictimKind::Random {}] {
        for depth in [None, Some(16)] {
            let random = &mut Seed(5).stream("test.age", 0);
            let mut device = device_with(victim.clone());
            match depth {
                None => device.fill_steady_to(Seed(1), 1.0),
                Some(_) => device.fill_steady(Seed(1)),
            };
            let short = amplification_of(&mut device, 20_000, depth, random);
            let pages = u64::from(device.config().ftl.logical_pages);
            let long = amplification_of(&mut device, 3 * pages, depth, random);
            assert!((short / long - 1.0).abs() < 0.05, "{victim:?}, {depth:?}: {short}, later {long}");
        }
    }
}

#[test]
fn a_device_that_is_left_as_after_a_rest_owes_no_gc_and_one_left_at_work_does() {
    let [mut rested, mut loaded] = [device(), device()];
    rested.fill_steady_to(Seed(1), 1.0);
    loaded.fill_steady(Seed(1));
    let [start, _] = rested.core.ftl.blocks.space().marks(PlaneGroupId(0));
    assert!(
        (0..4).all(|row| rested.core.ftl.blocks.space().free(PlaneGroupId(row)) >= start),
        "{} free blocks",
        free(&rested)
    );
    // A write starts GC, which in an open loop reaches its goal.
    let collected = |device: &mut Device| {
        let before = BlockDevice::programmed(device).other;
        overwrite_pages(device, 1, None, &mut Seed(5).stream("test.age", 0));
        BlockDevice::programmed(device).other - before
    };
    assert_eq!(collected(&mut rested), 0);
    assert!(collected(&mut loaded) > 100);
}

#[test]
fn a_device_that_was_aged_continues_gc_in_every_row() {
    let random = &mut Seed(5).stream("test.age", 0);
    let mut device = device();
    device.fill_steady(Seed(1));
    // GC is paused between two rounds. Plane groups in which it did not resume would fill up while others
    // take all writes.
    for _ in 0..40 {
        overwrite_pages(&mut device, 2_500, Some(16), random);
        let valid: Vec<u32> =
            (0..4).map(|row| device.core.ftl.blocks.space().valid_in(PlaneGroupId(row))).collect();
        let (least, most) = (valid.iter().min().expect("rows"), valid.iter().max().expect("rows"));
        assert!(most - least < 1_000, "{valid:?}");
    }
}
