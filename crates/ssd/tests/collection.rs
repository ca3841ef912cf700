//! GC must follow its settings: copyback, idle GC, yielding to the host, and steps for each write.

use wordline_device::Operation;
use wordline_ftl::config::{GcFile, Scope};
use wordline_ftl::policy::background::BackgroundKind;
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_kernel::{Duration, Seed};
use wordline_nand::Operation as Flash;
use wordline_ssd::DeviceFile;

use crate::common::{Rig, drive_writes, small};

fn idle_gc(until_free: u32, until_spare: f64) -> BackgroundKind {
    BackgroundKind::IdleGc { idle: Duration::from_ms(1), until_free, until_spare }
}

fn with(gc: GcFile) -> DeviceFile {
    let mut file = small();
    file.ftl.gc = gc;
    file
}

/// Overwrites whole pages at random, at queue depth `depth`.
fn overwrite(rig: &mut Rig, pages: u64, depth: usize) {
    let logical = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(3).stream("test.overwrite", 0);
    for _ in 0..pages {
        rig.run_down_to(depth - 1);
        rig.submit(Operation::Write, false, random.below(logical) * 8, 8);
    }
    rig.run_down_to(0);
}

#[test]
fn every_way_to_collect_survives_many_drive_writes_at_seven_percent() {
    let ways = [
        GcFile { copyback: true, ..GcFile::default() },
        GcFile { preemptible: true, start_below_free_blocks: 4, stop_at_free_blocks: 4, ..GcFile::default() },
        GcFile { steps_per_write: Some(1), ..GcFile::default() },
        GcFile { paced: true, ..GcFile::default() },
        GcFile {
            paced: true,
            copyback: true,
            preemptible: true,
            scope: Scope::SuperBlock,
            ..GcFile::default()
        },
        GcFile { background: idle_gc(5, 1.0), ..GcFile::default() },
        GcFile {
            copyback: true,
            preemptible: true,
            steps_per_write: Some(2),
            background: idle_gc(0, 0.5),
            ..GcFile::default()
        },
        GcFile {
            scope: Scope::SuperBlock,
            copyback: true,
            preemptible: true,
            background: idle_gc(5, 1.0),
            ..GcFile::default()
        },
    ];
    for gc in ways {
        for placement in [PlacementKind::Dynamic {}, PlacementKind::Fixed { order: "CWDP".into() }] {
            let mut file = with(gc.clone());
            file.layout.dies_per_package = 1;
            // 6 of 86 blocks are active, and 7 % is over-provisioning: the minimum of a plane group.
            file.part.geometry.blocks_per_plane = 86;
            file.part.geometry.pages_per_block = 8;
            file.ftl.over_provisioning = 0.07;
            file.ftl.placement = placement;
            let mut rig = Rig::new(file, 1);
            rig.device.fill(1.0);
            let pages = u64::from(rig.device.config().ftl.logical_pages);
            for _ in 0..drive_writes() {
                overwrite(&mut rig, pages, 16);
                rig.rest(Duration::from_ms(2));
            }
            rig.audit();
            assert_eq!(rig.completions.len() as u64, drive_writes() * pages, "{gc:?}");
            assert!(rig.completions.iter().all(|(_, completion)| !completion.failed), "{gc:?}");
        }
    }
}

/// Write amplification of a device with four plane groups after one random drive write, and the share of its
/// erases that were of superblocks.
fn random_writes(scope: Scope, victim: VictimKind) -> (f64, f64) {
    let mut file = with(GcFile { scope, victim, ..GcFile::default() });
    file.part.geometry.blocks_per_plane = 200;
    file.part.geometry.pages_per_block = 64;
    file.ftl.over_provisioning = 0.2;
    let mut rig = Rig::new(file, 1);
    rig.device.fill_steady(Seed(1));
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    overwrite(&mut rig, pages, 64);
    rig.audit();
    let totals = rig.device.totals();
    let together = rig.device.ftl().blocks.by_pool().super_block_counts().map_or(0, |counts| counts.blocks);
    let amplification = 1.0 + totals.gc_programs as f64 / totals.host_programs as f64;
    (amplification, together as f64 / totals.erases as f64)
}

#[test]
fn super_blocks_make_no_difference_to_gc_by_age_and_some_to_greedy() {
    let [by_age, greedy] = [VictimKind::Fifo {}, VictimKind::Greedy {}].map(|victim| {
        let (alone, none) = random_writes(Scope::Row, victim.clone());
        let (together, share) = random_writes(Scope::SuperBlock, victim);
        assert_eq!(none, 0.0);
        assert!(share > 0.95, "{share} of the erases are of super blocks");
        together / alone
    });
    // The blocks of a superblock have the same age, but not the same number of valid pages.
    assert!((by_age - 1.0).abs() < 0.01, "{by_age} times the pages programmed by age");
    assert!((1.005..1.08).contains(&greedy), "{greedy} times the pages programmed by greedy cleaning");
}

#[test]
fn copyback_spares_the_bus() {
    // The host writes whole program units, because otherwise half of the pages of each unit would still use
    // the bus.
    let run = |copyback| {
        let mut rig = Rig::new(with(GcFile { copyback, ..GcFile::default() }), 1);
        rig.device.fill(1.0);
        let units = u64::from(rig.device.config().ftl.logical_pages) / 2;
        let mut random = Seed(3).stream("test.units", 0);
        for _ in 0..10 * units {
            rig.run_down_to(7);
            rig.submit(Operation::Write, false, random.below(units) * 16, 16);
        }
        rig.run_down_to(0);
        rig.audit();
        let totals = rig.device.totals().clone();
        let elapsed = rig.calendar_now() - wordline_kernel::Instant::ZERO;
        (
            totals,
            rig.device
                .chips()
                .stages_of_kind(Flash::Copyback { to: wordline_nand::PageId(0) }.kind(), elapsed),
        )
    };
    let ((with, copies), (without, none)) = (run(true), run(false));
    assert!(with.gc_copied * 2 > with.gc_programs, "{} of {} were copied", with.gc_copied, with.gc_programs);
    assert_eq!(without.gc_copied, 0);
    assert!(
        with.gc_reads * 2 < without.gc_reads,
        "{} and {} pages were read",
        with.gc_reads,
        without.gc_reads
    );
    assert!(copies.active_ps() > 0 && none.active_ps() == 0);
}

#[test]
fn a_resting_host_finds_free_blocks() {
    let gc = GcFile { background: idle_gc(5, 0.0), ..GcFile::default() };
    let mut rig = Rig::new(with(gc), 1);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    overwrite(&mut rig, 2 * pages, 16);
    let before = rig.device.totals().erases;
    rig.rest(Duration::from_us(900));
    let soon = rig.device.totals().erases;
    rig.rest(Duration::from_ms(10_000));
    let rested = rig.device.totals().erases;
    assert!(soon - before <= 4, "a step of each row ends, and no more: {}", soon - before);
    assert!(rested >= soon + 4, "each of four rows is cleaned: {rested} erases, {soon} before");
    rig.rest(Duration::from_ms(60_000));
    assert_eq!(rig.device.totals().erases, rested, "what is to be had was had");
    rig.audit();
    // The next writes need no GC.
    let (moved, erased) = (rig.device.totals().gc_programs, rig.device.totals().erases);
    overwrite(&mut rig, 32, 4);
    assert_eq!((rig.device.totals().gc_programs, rig.device.totals().erases), (moved, erased));
}

#[test]
fn discards_give_the_background_more_to_free() {
    let freed = |discard: bool| {
        let gc = GcFile { background: idle_gc(0, 0.8), ..GcFile::default() };
        let mut rig = Rig::new(with(gc), 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        if discard {
            rig.alone(Operation::Discard, false, 0, pages / 2 * 8);
        }
        rig.alone(Operation::Write, true, 0, 8);
        rig.rest(Duration::from_ms(60_000));
        rig.audit();
        rig.device.totals().erases
    };
    let (with, without) = (freed(true), freed(false));
    assert!(with >= without + 4 * 4, "{with} erases after a discard of half, {without} without");
}

/// Time of a burst of `units` program units on a full device. GC is due from the first block on, and the
/// burst fits into the free blocks.
fn burst(preemptible: bool, units: u64) -> Duration {
    let mut file =
        with(GcFile { preemptible, start_below_free_blocks: 5, stop_at_free_blocks: 5, ..GcFile::default() });
    file.ftl.over_provisioning = 0.3;
    file.buffer.flush_above = 0.0;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    overwrite(&mut rig, 2 * pages, 16);
    rig.rest(Duration::from_ms(1_000));
    let start = rig.calendar_now();
    overwrite(&mut rig, 2 * units, 16);
    rig.calendar_now() - start
}

#[test]
fn a_collector_that_steps_aside_leaves_the_die_to_a_burst() {
    let (aside, at_once) = (burst(true, 192), burst(false, 192));
    assert!(aside.ps() * 5 < at_once.ps() * 4, "{aside} when it steps aside, {at_once} otherwise");
}
