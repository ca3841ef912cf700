//! A device must survive wear: full, overwritten, with bad blocks, to the end of its life.

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::config::Scope;
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_ftl::totals::Totals;
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_nand::geometry::Layout;
use wordline_ssd::DeviceFile;

use crate::common::{Rig, drive_writes, small};

/// Devices for the tests below, with different placements, one or two planes in a plane group, and one-shot
/// programs.
fn devices() -> Vec<DeviceFile> {
    let fixed = PlacementKind::Fixed { order: "PDWC".into() };
    let mut all = Vec::new();
    for placement in [PlacementKind::Dynamic {}, fixed] {
        for planes_per_row in [1, 2] {
            for one_shot in [false, true] {
                let mut file = small();
                file.layout = Layout { planes_per_row: Some(planes_per_row), ..file.layout };
                file.part.geometry.bits_per_cell = 2;
                file.part.geometry.one_shot = one_shot;
                file.ftl.over_provisioning = 0.21;
                file.ftl.placement = placement.clone();
                all.push(file);
            }
        }
    }
    all
}

/// Overwrites whole pages at random until `pages` pages are written or the device rejects a write.
fn overwrite(rig: &mut Rig, pages: u64) {
    let logical = rig.device.config().ftl.capacity().0 / 4096;
    let mut random = Seed(3).stream("test.overwrite", 0);
    for _ in 0..pages {
        rig.run_down_to(15);
        rig.submit(Operation::Write, false, random.below(logical) * 8, 8);
        if rig.device.is_read_only() {
            break;
        }
    }
    rig.run_down_to(0);
    rig.audit();
}

#[test]
fn a_full_device_overwritten_for_many_drive_writes_never_runs_dry() {
    for file in devices() {
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        overwrite(&mut rig, drive_writes() * pages);
        assert_eq!(rig.completions.len() as u64, drive_writes() * pages);
        assert!(rig.completions.iter().all(|(_, completion)| !completion.failed));
        assert!(rig.device.totals().erases > 0 && rig.device.totals().gc_programs > 0);
    }
}

#[test]
fn every_victim_policy_and_placement_survives_many_drive_writes_at_seven_percent() {
    let victims = [
        VictimKind::Greedy {},
        VictimKind::DChoices { choices: 2 },
        VictimKind::Random {},
        VictimKind::Fifo {},
        VictimKind::WindowedGreedy { window: 8 },
        VictimKind::CostBenefit {},
    ];
    let both = [Scope::Row, Scope::SuperBlock];
    for (victim, scope) in victims.iter().flat_map(|victim| both.map(|scope| (victim, scope))) {
        for placement in [PlacementKind::Dynamic {}, PlacementKind::Fixed { order: "CWDP".into() }] {
            let mut file = small();
            file.ftl.gc.scope = scope;
            file.layout.dies_per_package = 1;
            // 5 of 80 blocks are active, and 7 % is over-provisioning: the minimum of a plane group.
            file.part.geometry.blocks_per_plane = 80;
            file.part.geometry.pages_per_block = 8;
            file.ftl.over_provisioning = 0.07;
            file.ftl.placement = placement;
            file.ftl.gc.victim = victim.clone();
            let mut rig = Rig::new(file, 1);
            rig.device.fill(1.0);
            let pages = u64::from(rig.device.config().ftl.logical_pages);
            overwrite(&mut rig, drive_writes() * pages);
            assert_eq!(rig.completions.len() as u64, drive_writes() * pages, "{victim:?} {scope:?}");
            assert!(rig.completions.iter().all(|(_, completion)| !completion.failed), "{victim:?} {scope:?}");
            let chosen =
                rig.device.ftl().blocks.by_pool().super_block_counts().map_or(0, |counts| counts.chosen);
            assert_eq!(chosen > 0, scope == Scope::SuperBlock, "{victim:?} {scope:?}");
        }
    }
}

/// The device with only `entries` map entries in memory.
fn cached(mut file: DeviceFile, entries: u64) -> DeviceFile {
    file.ftl.mapping.cache = Some(Bytes(8 * entries));
    file.ftl.gc.start_below_free_blocks += 1;
    file.ftl.gc.stop_at_free_blocks += 1;
    file
}

#[test]
fn a_device_with_most_of_its_map_in_flash_survives_many_drive_writes() {
    for (entries, file) in
        [2, 700].into_iter().flat_map(|entries| devices().into_iter().map(move |file| (entries, file)))
    {
        let mut file = cached(file, entries);
        // Three more blocks of 24 are active, and a translation page has at most 128 entries.
        file.ftl.mapping.unit = Some(Bytes(512));
        file.ftl.over_provisioning = 0.36;
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages) / 8;
        overwrite(&mut rig, drive_writes() * pages);
        assert_eq!(rig.completions.len() as u64, drive_writes() * pages);
        assert!(rig.completions.iter().all(|(_, completion)| !completion.failed));
        let totals = rig.device.totals();
        assert!(totals.translation_reads > 0 && totals.translation_programs > 0, "{totals:?}");
    }
}

#[test]
fn a_worn_out_device_refuses_writes_and_still_reads() {
    for mut file in devices() {
        file.part.endurance = 6;
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        overwrite(&mut rig, 100 * pages);
        assert!(rig.device.is_read_only() && rig.device.ftl().blocks.space().bad() > 0);
        let most = rig.device.chips().erases().iter().copied().max();
        assert_eq!(most, Some(7), "a block fails at the erase after its last");
        let before = rig.completions.len();
        rig.alone(Operation::Write, false, 0, 8);
        rig.alone(Operation::Read, false, 0, pages * 8);
        let failed: Vec<bool> =
            rig.completions[before..].iter().map(|(_, completion)| completion.failed).collect();
        assert_eq!(failed, [true, false]);
    }
}

#[test]
fn wear_is_level_under_uniform_writes() {
    let mut rig = Rig::new(small(), 1);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    overwrite(&mut rig, 40 * pages);
    let erases: Vec<u32> = rig.device.chips().erases().iter().copied().collect();
    let (least, most) = (erases.iter().min(), erases.iter().max());
    let mean = erases.iter().sum::<u32>() / erases.len() as u32;
    let spread = most.zip(least).map(|(most, least)| most - least);
    assert!(spread.is_some_and(|spread| spread <= mean), "from {least:?} to {most:?}, mean {mean}");
}

#[test]
fn blocks_that_are_bad_from_the_factory_are_never_used() {
    let mut file = small();
    file.ftl.factory_bad_blocks = 0.1;
    file.ftl.over_provisioning = 0.35;
    let mut rig = Rig::new(file, 5);
    assert_eq!(rig.device.ftl().blocks.space().bad(), 4 * 2);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    overwrite(&mut rig, 20 * pages);
    let unused = rig.device.chips().erases().iter().filter(|erases| **erases == 0).count();
    assert_eq!(unused, 8);
}

#[test]
fn discarded_pages_are_not_moved() {
    let moved = |discard: bool| {
        let mut rig = Rig::new(small(), 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        if discard {
            // The upper half is not overwritten, so only a discard frees its pages.
            rig.alone(Operation::Discard, false, pages / 2 * 8, pages / 2 * 8);
        }
        let mut random = Seed(9).stream("test.half", 0);
        for _ in 0..10 * pages {
            rig.run_down_to(7);
            rig.submit(Operation::Write, false, random.below(pages / 2) * 8, 8);
        }
        rig.run_down_to(0);
        rig.device.totals().gc_programs
    };
    let (with, without) = (moved(true), moved(false));
    assert!(with * 4 < without, "{with} pages moved after the discard, {without} without it");
}

#[test]
fn a_device_gives_the_same_digest_alone_and_beside_another() {
    let alone = |seed| {
        let mut rig = Rig::new(small(), seed);
        rig.device.fill(1.0);
        overwrite(&mut rig, 3_000);
        rig.device.digest()
    };
    let (first, again) = (alone(1), alone(1));
    let mut other = small();
    other.layout.channels = 1;
    other.buffer.size = Bytes::kib(128);
    let (mut one, mut two) = (Rig::new(small(), 1), Rig::new(other, 2));
    one.device.fill(1.0);
    two.device.fill(1.0);
    overwrite(&mut two, 1_000);
    overwrite(&mut one, 3_000);
    overwrite(&mut two, 1_000);
    assert_eq!((first, first), (again, one.device.digest()));
    assert_ne!(two.device.digest(), first);
}

#[test]
fn the_buffer_is_written_out_on_time() {
    let mut file = small();
    file.buffer.flush_interval = Duration::from_ms(5);
    let mut rig = Rig::new(file, 1);
    rig.alone(Operation::Write, false, 0, 8);
    assert_eq!(rig.device.totals().host_programs, 0);
    while let Some(event) = rig.calendar.advance() {
        let early = rig.calendar_now() < wordline_kernel::Instant::ZERO + Duration::from_ms(5);
        rig.device.handle(event, &mut rig.calendar);
        assert_eq!(rig.device.totals().host_programs, u64::from(!early));
    }
}

/// Write amplification reported by preconditioning, and measured while half a drive write follows.
fn steady(mut file: DeviceFile) -> [f64; 2] {
    file.part.geometry.blocks_per_plane = 200;
    file.part.geometry.pages_per_block = 64;
    file.ftl.over_provisioning = 0.2;
    let mut rig = Rig::new(file, 1);
    let amplification = rig.device.fill_steady(Seed(1)).amplification.expect("pages are overwritten");
    let before = rig.device.totals().clone();
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    overwrite(&mut rig, pages / 2);
    let totals = rig.device.totals();
    let programmed =
        |totals: &Totals| totals.host_programs + totals.gc_programs + totals.translation_programs;
    let of_host = totals.host_programs - before.host_programs;
    [amplification, (programmed(totals) - programmed(&before)) as f64 / of_host as f64]
}

#[test]
fn a_steady_device_stays_steady() {
    let [amplification, measured] = steady(small());
    let off = (measured / amplification - 1.0).abs();
    assert!(off < 0.03, "preconditioned to {amplification}, then {measured}");
}

#[test]
fn a_device_that_is_steady_with_half_of_its_pages_collects_at_once_and_holds_no_more() {
    let rig = |prepare: &dyn Fn(&mut Rig)| {
        let mut file = small();
        file.part.geometry.blocks_per_plane = 200;
        file.ftl.over_provisioning = 0.25;
        let mut rig = Rig::new(file, 1);
        prepare(&mut rig);
        let before = rig.device.totals().erases;
        let block =
            rig.device.config().ftl.locations().per_block() * rig.device.config().ftl.geometry().rows();
        overwrite(&mut rig, 4 * u64::from(block));
        (rig.device.totals().erases - before, rig.device.ftl().fullness().share())
    };
    let (erases, _) = rig(&|rig| rig.device.fill(0.5));
    assert_eq!(erases, 0, "a device that is half full has blocks enough");
    let (erases, share) = rig(&|rig| _ = rig.device.fill_steady_to(Seed(1), 0.5));
    assert!(erases > 0, "{erases} erases");
    // Some of the overwritten pages are outside of the half that was filled.
    assert!((0.375..0.5).contains(&share), "{share} of the flash is valid");
}

/// Overwrites whole pages at random. Returns the write amplification.
fn amplification(rig: &mut Rig, random: &mut wordline_kernel::Stream, pages: u64) -> f64 {
    let before = rig.device.totals().clone();
    for _ in 0..pages {
        rig.run_down_to(15);
        let logical = u64::from(rig.device.config().ftl.logical_pages);
        rig.submit(Operation::Write, false, random.below(logical) * 8, 8);
    }
    let (now, then) = (rig.device.totals(), before);
    let programmed = now.host_programs + now.gc_programs - then.host_programs - then.gc_programs;
    programmed as f64 / (now.host_programs - then.host_programs) as f64
}

#[test]
fn the_first_writes_to_a_steady_device_cost_what_all_later_ones_do() {
    for free_blocks in [3, 8] {
        for placement in [PlacementKind::Dynamic {}, PlacementKind::Fixed { order: "PDWC".into() }] {
            let mut file = small();
            file.part.geometry.blocks_per_plane = 120;
            file.part.geometry.pages_per_block = 128;
            file.ftl.over_provisioning = 0.13;
            file.ftl.gc.start_below_free_blocks = free_blocks;
            file.ftl.gc.stop_at_free_blocks = free_blocks;
            file.ftl.placement = placement;
            let mut rig = Rig::new(file, 1);
            rig.device.fill_steady(Seed(1));
            let mut random = Seed(3).stream("test.overwrite", 0);
            let (pages, blocks) = {
                let config = rig.device.config();
                let block = config.ftl.locations().per_block() * config.ftl.pools.rows();
                (u64::from(config.ftl.logical_pages), u64::from(block))
            };
            let first = amplification(&mut rig, &mut random, 2 * blocks);
            amplification(&mut rig, &mut random, pages);
            let later = amplification(&mut rig, &mut random, 2 * pages);
            let off = (first / later - 1.0).abs();
            assert!(off < 0.05, "{free_blocks} free blocks: {first}, then {later}");
        }
    }
}

#[test]
fn a_steady_device_stays_steady_with_most_of_its_map_in_flash() {
    let [amplification, measured] = steady(cached(small(), 2_000));
    // The number of map changes that are written together depends on time, and preconditioning has no time.
    let off = (measured / amplification - 1.0).abs();
    assert!(off < 0.15, "preconditioned to {amplification}, then {measured}");
}

#[test]
fn a_device_at_its_end_completes_durable_writes_and_flushes() {
    for mut file in devices() {
        file.part.endurance = 4;
        file.buffer.flush_interval = Duration::from_ms(1);
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        let mut random = Seed(7).stream("test.durable", 0);
        let mut submitted = 0;
        while !rig.device.is_read_only() {
            rig.run_down_to(15);
            let page = random.below(pages - 4);
            rig.submit(Operation::Write, submitted % 3 == 0, page * 8, 8 * (1 + submitted % 4));
            submitted += 1;
        }
        // Flushes, reads and rejected writes while pages are left in the buffer.
        for n in 0..40 {
            match n % 4 {
                0 => rig.submit(Operation::Flush, false, 0, 0),
                1 => rig.submit(Operation::Write, true, n * 8, 8),
                _ => rig.submit(Operation::Read, false, n * 8, 8),
            }
        }
        rig.run_down_to(0);
        rig.audit();
        assert_eq!(rig.completions.len() as u64, submitted + 40);
        let reads =
            rig.completions.iter().filter(|(_, completion)| completion.command.operation == Operation::Read);
        assert!(
            reads.clone().count() == 20 && reads.clone().all(|(_, completion)| !completion.failed),
            "reads are served"
        );
    }
}
