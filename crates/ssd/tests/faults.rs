//! Failing chips: each kind of failure, each way to time it, and which commands and policies are notified.

use wordline_device::{BlockDevice, Operation};
use wordline_flash::policy::failure::FailureKind;
use wordline_ftl::blocks::State;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_ftl::totals::Totals;
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_nand::faults::{Fails, FaultFile, WearFile};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::BufferMode;

use crate::common::{Rig, small};

/// Sectors of a page.
const PAGE: u64 = 8;

/// The small device with half of its capacity as over-provisioning, and these rules.
fn device(rules: &[FaultFile]) -> DeviceFile {
    let mut file = small();
    file.ftl.over_provisioning = 0.5;
    file.faults = rules.to_vec();
    file
}

fn rule(fails: Fails) -> FaultFile {
    FaultFile::new(fails)
}

/// Number of failed completions.
fn failed(rig: &Rig) -> usize {
    rig.completions.iter().filter(|(_, completion)| completion.failed).count()
}

/// Reads each page alone. Returns the numbers of the unreadable pages.
fn unread(rig: &mut Rig) -> Vec<u32> {
    let pages = rig.device.config().ftl.logical_pages;
    let fails = |page: &u32| {
        rig.alone(Operation::Read, false, u64::from(*page) * PAGE, PAGE);
        rig.completions.last().expect("it was answered").1.failed
    };
    (0..pages).filter(fails).collect()
}

fn filled(rules: &[FaultFile]) -> Rig {
    let mut rig = Rig::new(device(rules), 1);
    rig.device.fill(1.0);
    rig
}

fn totals(rig: &Rig) -> &Totals {
    rig.device.totals()
}

fn retries(rig: &Rig) -> u64 {
    rig.device.ftl().flash.counts().read_retries
}

#[test]
fn data_of_a_failed_program_are_written_elsewhere_and_its_block_is_retired() {
    let mut rig = filled(&[FaultFile { nth: Some(5), ..rule(Fails::Program) }]);
    rig.overwrite(400);
    assert_eq!((totals(&rig).program_failures, totals(&rig).grown_bad_blocks), (1, 1));
    assert_eq!(rig.device.ftl().blocks.space().bad(), 1);
    assert_eq!((unread(&mut rig), failed(&rig), totals(&rig).lost_pages), (vec![], 0, 0));
}

#[test]
fn a_write_completes_only_after_a_successful_program() {
    let time = |rules: &[FaultFile]| {
        let mut file = device(rules);
        file.buffer.mode = BufferMode::WriteThrough;
        let mut rig = Rig::new(file, 1);
        rig.alone(Operation::Write, false, 0, PAGE)
    };
    let failing = time(&[FaultFile { nth: Some(1), ..rule(Fails::Program) }]);
    let program = Duration::from_us(250);
    assert!(failing >= time(&[]) + program, "the page is programmed twice: {failing}");
}

#[test]
fn a_block_is_retired_by_its_collector_before_anything_is_lost() {
    let mut rig = filled(&[FaultFile { nth: Some(60), ..rule(Fails::Program) }]);
    rig.overwrite(4_000);
    assert_eq!(rig.device.ftl().blocks.space().bad(), 1);
    let bad: Vec<_> = rig
        .device
        .chips()
        .erases()
        .entries()
        .filter(|(block, _)| rig.device.ftl().blocks.table().state(*block) == State::Bad)
        .collect();
    assert_eq!(bad.len(), 1, "the block was emptied and is out of use");
}

#[test]
fn a_device_of_which_every_twentieth_program_fails_holds_what_was_written() {
    let mut file = device(&[FaultFile { probability: Some(0.05), ..rule(Fails::Program) }]);
    file.ftl.failure = FailureKind::Tolerate { programs: 200, reads: 0 };
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig.overwrite(20_000);
    let (failures, programs) = (totals(&rig).program_failures, rig.device.chips().counts().program_commands);
    // Three standard deviations of a binomial distribution.
    let (mean, deviation) = (programs as f64 * 0.05, (programs as f64 * 0.05 * 0.95).sqrt());
    assert!((failures as f64 - mean).abs() < 3.0 * deviation, "{failures} of {programs}");
    assert!(!rig.device.is_read_only());
    assert_eq!((unread(&mut rig), failed(&rig)), (vec![], 0));
}

#[test]
fn a_block_whose_erase_fails_is_retired() {
    let mut rig = filled(&[FaultFile { every: Some(10), ..rule(Fails::Erase) }]);
    rig.overwrite(3_000);
    let t = totals(&rig);
    assert_eq!((t.erase_failures, t.grown_bad_blocks), (t.erases / 10, t.erases / 10));
    assert_eq!(rig.device.ftl().blocks.space().bad(), t.erases / 10);
    assert_eq!((unread(&mut rig), failed(&rig)), (vec![], 0));
}

#[test]
fn the_blocks_of_an_address_are_retired_and_no_others() {
    let rule = FaultFile { die: Some(1.into()), block: Some(20.into()), ..rule(Fails::Program) };
    let mut rig = filled(&[rule]);
    rig.overwrite(6_000);
    let bad: Vec<u32> = rig
        .device
        .chips()
        .erases()
        .ids()
        .filter(|b| rig.device.ftl().blocks.table().state(*b) == State::Bad)
        .map(|b| b.0)
        .collect();
    assert_eq!(bad, [24 + 20]);
}

#[test]
fn wear_kills_a_device_slowly_and_says_so() {
    let wear = Some(WearFile { from: 2, to: 40 });
    let mut rig = filled(&[FaultFile { wear, ..rule(Fails::Erase) }]);
    let mut writes = 0;
    while !rig.device.is_read_only() && writes < 400_000 {
        rig.overwrite(1_000);
        writes += 1_000;
    }
    assert!(rig.device.is_read_only() && totals(&rig).erase_failures > 10);
    let refused = failed(&rig);
    assert!(refused > 0, "who writes is told");
    assert_eq!((unread(&mut rig), failed(&rig)), (vec![], refused), "what was written before can be read");
}

#[test]
fn a_page_that_retries_read_costs_time_alone() {
    let rule = |n: u32| FaultFile { nth: Some(1), retries: Some(n.into()), ..rule(Fails::Read) };
    let time = |rules: &[FaultFile]| {
        let mut rig = filled(rules);
        let time = rig.alone(Operation::Read, false, 0, PAGE);
        (time, retries(&rig), failed(&rig))
    };
    let (usual, ..) = time(&[]);
    let (three, retries, refused) = time(&[rule(3)]);
    assert_eq!((retries, refused), (3, 0));
    // Each retry takes a microsecond to set the read reference voltages, plus the whole read except the
    // buffer access. Its command latch follows data out, after tRHW = 100 ns in place of tCS = 20 ns.
    assert_eq!(three, usual * 4 + Duration::from_ns(3 * (1_000 + 80)));
}

#[test]
fn a_page_that_no_retry_reads_is_lost_until_it_is_written_again() {
    let mut rig = filled(&[FaultFile { nth: Some(1), ..rule(Fails::Read) }]);
    rig.alone(Operation::Read, false, 5 * PAGE + 2, 1);
    let t = totals(&rig);
    assert_eq!((retries(&rig), t.unreadable_pages, t.lost_pages), (7, 1, 1));
    assert_eq!((failed(&rig), rig.device.map().is_lost(LogicalPage(5))), (1, true));
    assert_eq!(unread(&mut rig), [5]);
    rig.alone(Operation::Write, false, 5 * PAGE, 3);
    rig.alone(Operation::Flush, false, 0, 0);
    let told = failed(&rig);
    rig.alone(Operation::Read, false, 5 * PAGE, 3);
    assert_eq!(failed(&rig), told, "the sectors that were written can be read");
    rig.alone(Operation::Read, false, 5 * PAGE, PAGE);
    assert_eq!(failed(&rig), told + 1, "the others are lost still");
    rig.alone(Operation::Write, false, 5 * PAGE + 3, 5);
    assert!(!rig.device.map().is_lost(LogicalPage(5)));
    assert_eq!((unread(&mut rig), failed(&rig)), (vec![], told + 1));
}

#[test]
fn pages_that_gc_cannot_read_are_lost_and_reported_to_their_readers() {
    // Half of the blocks have an unreadable page.
    let rule = FaultFile {
        page: Some(3.into()),
        block: Some("0..11".parse().expect("a range")),
        ..rule(Fails::Read)
    };
    let mut file = device(&[rule]);
    file.ftl.read_retry.levels = 0;
    file.ftl.gc.victim = VictimKind::Fifo {};
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = rig.device.config().ftl.logical_pages;
    // Only even pages are overwritten, so GC relocates the odd ones.
    for n in 0..u64::from(pages) * 3 {
        rig.run_down_to(7);
        rig.submit(Operation::Write, false, n * 7919 % u64::from(pages / 2) * 2 * PAGE, PAGE);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    let lost: Vec<u32> = (0..pages).filter(|page| rig.device.map().is_lost(LogicalPage(*page))).collect();
    assert!(!lost.is_empty() && failed(&rig) == 0, "nobody read what is lost so far");
    let told = unread(&mut rig);
    assert!(lost.iter().all(|page| told.contains(page)));
    assert!(told.iter().all(|page| rig.device.map().is_lost(LogicalPage(*page))));
}

#[test]
fn a_device_outlives_a_die_and_says_what_was_lost_with_it() {
    let at = Some(Duration::from_ms(5));
    let mut file = device(&[FaultFile { at, die: Some(2.into()), ..rule(Fails::Die) }]);
    file.ftl.over_provisioning = 0.6;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = rig.device.config().ftl.logical_pages;
    rig.overwrite(500);
    assert_eq!((totals(&rig).failed_dies, totals(&rig).grown_bad_blocks), (1, 24));
    assert!(!rig.device.is_read_only(), "the other dies have room");
    let lost = unread(&mut rig);
    assert!((1..pages as usize / 2).contains(&lost.len()), "{} of {pages}", lost.len());
    let told = failed(&rig);
    rig.overwrite(u64::from(pages));
    assert_eq!((unread(&mut rig), failed(&rig)), (vec![], told), "everything was written again");
}

#[test]
fn a_device_without_room_for_its_capacity_after_a_die_was_lost_is_read_only() {
    let mut rig = filled(&[FaultFile { nth: Some(10), die: Some(0.into()), ..rule(Fails::Die) }]);
    rig.device.fill(0.0);
    let mut file = rig.device.config().file.clone();
    file.ftl.over_provisioning = 0.25;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig.overwrite(300);
    assert!(rig.device.is_read_only() && failed(&rig) > 0);
    let lost = unread(&mut rig);
    assert!(lost.len() < rig.device.config().ftl.logical_pages as usize / 2, "the other dies are read still");
}

#[test]
fn pages_with_a_home_on_a_lost_die_make_the_device_read_only() {
    let mut file = device(&[FaultFile { nth: Some(10), die: Some(0.into()), ..rule(Fails::Die) }]);
    file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig.overwrite(300);
    assert!(rig.device.is_read_only());
}

#[test]
fn factory_bad_blocks_by_rule_are_never_written() {
    let bad = FaultFile { block: Some("2..3".parse().expect("a range")), ..rule(Fails::FactoryBad) };
    let mut rig = filled(&[bad]);
    assert_eq!(rig.device.ftl().blocks.space().bad(), 4 * 2);
    rig.overwrite(2_000);
    assert!(
        rig.device
            .chips()
            .erases()
            .entries()
            .all(|(block, erases)| !matches!(block.0 % 24, 2 | 3) || *erases == 0)
    );
    assert_eq!(
        (rig.device.ftl().blocks.space().bad(), totals(&rig).grown_bad_blocks, failed(&rig)),
        (8, 0, 0)
    );
}

#[test]
fn more_factory_bad_blocks_than_the_spare_space_holds_are_a_complaint() {
    let bad = FaultFile { block: Some("0..15".parse().expect("a range")), ..rule(Fails::FactoryBad) };
    let wrong = device(&[bad]).check().expect_err("16 of 24 blocks are bad");
    assert!(wrong.to_string().contains("16 may be bad"), "{wrong}");
}

#[test]
fn a_device_all_of_whose_programs_fail_gives_up() {
    for failure in [FailureKind::Retire {}, FailureKind::Tolerate { programs: 1_000, reads: 0 }] {
        let mut file = device(&[FaultFile { probability: Some(1.0), ..rule(Fails::Program) }]);
        file.ftl.failure = failure;
        file.buffer.size = Bytes::kib(64);
        let mut rig = Rig::new(file, 1);
        rig.overwrite(200);
        assert!(rig.device.is_read_only() && failed(&rig) > 0);
    }
}

#[test]
fn rules_that_never_strike_change_nothing() {
    let digest = |rules: &[FaultFile]| {
        let mut rig = filled(rules);
        rig.overwrite(1_000);
        rig.device.digest()
    };
    let never = FaultFile { nth: Some(u64::MAX), ..rule(Fails::Program) };
    assert_eq!(digest(&[]), digest(&[never, FaultFile { probability: Some(0.0), ..rule(Fails::Read) }]));
}

#[test]
fn equal_seeds_fail_alike_and_others_do_not() {
    let run = |seed| {
        let mut rig =
            Rig::new(device(&[FaultFile { probability: Some(0.02), ..rule(Fails::Program) }]), seed);
        rig.device.fill(1.0);
        rig.overwrite(300);
        rig.device.digest()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn time_of_gc_has_its_retries_and_failed_programs() {
    let rules = [
        FaultFile { every: Some(1), retries: Some(5.into()), ..rule(Fails::Read) },
        FaultFile { every: Some(50), ..rule(Fails::Program) },
    ];
    let mut file = device(&rules);
    file.ftl.failure = FailureKind::Tolerate { programs: 200, reads: 1 };
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig.overwrite(6_000);
    let (t, counts) = (totals(&rig), rig.device.chips().counts());
    assert!(t.gc_reads > 0 && t.program_failures > 0);
    // Nobody but GC reads. A program without pages of the host is one of GC; both planes take part in each.
    let reads = counts.read_commands * 25 + retries(&rig);
    let programs = counts.program_commands - t.host_programs / 2;
    assert_eq!(t.gc_array_us, reads + programs * 250 + t.erases * 1_500);
}

#[test]
fn a_victim_that_is_retired_is_no_direct_erase() {
    let empty_victims = |rules: &[FaultFile]| {
        let mut file = small();
        file.faults = rules.to_vec();
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        let mut random = Seed(3).stream("test.overwrite", 0);
        for _ in 0..2_000 {
            rig.run_down_to(7);
            rig.submit(Operation::Write, false, random.below(pages) * PAGE, PAGE);
        }
        rig.run_down_to(0);
        (totals(&rig).gc_empty_victims, totals(&rig).grown_bad_blocks)
    };
    let at_first_page = FaultFile { page: Some(0.into()), every: Some(30), ..rule(Fails::Program) };
    let (empty, bad) = empty_victims(&[at_first_page]);
    assert!(bad > 0);
    assert_eq!((empty, empty_victims(&[]).0), (0, 0), "every victim had valid pages when it was chosen");
}
