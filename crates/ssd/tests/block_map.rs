//! The block map: what it costs, by closed forms, and what it refuses.

mod common;

use common::{Rig, small};
use wordline_kernel::{Bytes, Duration, Schedule, Seed};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::command::RequestId;
use wordline_ssd::config::{BufferMode, Scope};
use wordline_ssd::map::block_map::config::BlockMapFile;
use wordline_ssd::map::checkpoint::DiscardsAtCut;
use wordline_ssd::policy::balancer::{BalancerKind, Reach};
use wordline_ssd::policy::failure::{FailureKind, MOST_FAILURES};
use wordline_ssd::policy::frontier::FrontierKind;
use wordline_ssd::policy::placement::PlacementKind;
use wordline_ssd::policy::router::RouterKind;
use wordline_ssd::policy::victim::VictimKind;
use wordline_ssd::pools::{ChannelsFile, PoolFile};
use wordline_ssd::{BlockDevice, DeviceFile, Event, Operation};

/// Sectors of a page as the host sees it.
const PAGE: u64 = 16;

/// Pages of a block.
const BLOCK: u32 = 16;

/// Rows, and so the distance of logical blocks that live in the same one.
const ROWS: u32 = 4;

/// The small device with a block map: pages of 8 KiB, a pair in two planes, 16 of them a block, 18 logical blocks in a row.
fn mapped(replacements: u32) -> DeviceFile {
    let mut file = small();
    file.ftl.mapping.unit = Some(Bytes::kib(8));
    file.ftl.mapping.block = Some(BlockMapFile { replacements });
    file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
    file.buffer.mode = BufferMode::WriteThrough;
    file
}

fn filled(file: DeviceFile) -> Rig {
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    rig
}

/// The programs that writing these pages one after the other causes: pages of the host, copies, and padding.
fn programs(rig: &mut Rig, pages: impl IntoIterator<Item = u32>) -> [u64; 3] {
    let before = rig.device.totals().clone();
    for page in pages {
        rig.alone(Operation::Write, false, u64::from(page) * PAGE, PAGE);
    }
    rig.audit();
    let now = rig.device.totals().since(&before);
    [now.host_programs, now.gc_programs, now.padding]
}

fn amplification([host, copies, padding]: [u64; 3]) -> f64 {
    (host + copies + padding) as f64 / host as f64
}

/// The write amplification of uniform random writes of single pages: with `most` replacement blocks for `logical` logical blocks
/// of `pages` pages. Replacement blocks are those of the logical blocks written last, so a logical block is written again
/// while it has one with the probability s = `most / logical`, whatever was written before; a little more, as one write in
/// `pages` fills a replacement block and leaves its place to others. Of two random pages the second lies behind the first
/// with the probability `(pages - 1) / (2 pages)`. Any other write begins a block, all of which is programmed.
fn uniform_model(most: u32, logical: u32, pages: u32) -> f64 {
    let pages = f64::from(pages);
    let others = f64::from(most - 1) * pages / (pages - 1.0);
    let share = (1.0 + others) / f64::from(logical);
    pages - share * (pages - 1.0) / 2.0
}

#[test]
fn sequential_overwrites_are_written_once() {
    let mut rig = filled(mapped(4));
    let pages = rig.device.config().logical_pages;
    let erases = rig.device.totals().erases;
    assert_eq!(programs(&mut rig, (0..pages).chain(0..pages)), [2 * u64::from(pages), 0, 0]);
    rig.settle();
    let blocks = u64::from(rig.device.config().logical_blocks());
    assert_eq!(rig.device.totals().erases - erases, 2 * blocks, "each old block is erased");
}

#[test]
fn uniform_random_writes_cost_about_a_block_each() {
    for replacements in [1, 4] {
        let mut rig = Rig::new(mapped(replacements), 1);
        let steady = rig.device.fill_steady(Seed(1));
        let pages = u64::from(rig.device.config().logical_pages);
        let mut random = Seed(7).stream("pages", 0);
        let found = amplification(programs(&mut rig, (0..30_000).map(|_| random.below(pages) as u32)));
        let model = uniform_model(replacements, 18, BLOCK);
        assert!((found / model - 1.0).abs() < 0.01, "{replacements}: {found} of {model}");
        let steady = steady.amplification.expect("pages are overwritten");
        // Of a few dozen writes.
        assert!((steady / model - 1.0).abs() < 0.1, "{replacements}: {steady} of {model} without time");
    }
}

#[test]
fn every_fourth_page_costs_four() {
    let mut rig = filled(mapped(2));
    let pages = rig.device.config().logical_pages;
    let written = programs(&mut rig, (3..pages).step_by(4));
    assert_eq!((written[2], amplification(written)), (0, 4.0));
}

#[test]
fn a_logical_block_too_many_merges_the_one_written_least_recently() {
    let mut rig = filled(mapped(2));
    let [first, second, third] = [0, 1, 2].map(|n| n * ROWS * BLOCK);
    assert_eq!(programs(&mut rig, [first, second, first + 1]), [3, 0, 0]);
    assert_eq!(programs(&mut rig, [third]), [1, 15, 0], "what is left of the second");
    assert_eq!(programs(&mut rig, [first + 2, third + 1]), [2, 0, 0]);
}

#[test]
fn a_page_behind_the_last_one_lets_the_rest_be_copied() {
    let mut rig = filled(mapped(4));
    assert_eq!(programs(&mut rig, [5]), [1, 5, 0], "the pages before it");
    assert_eq!(programs(&mut rig, [8]), [1, 2, 0], "the pages between");
    assert_eq!(programs(&mut rig, [8]), [1, 7 + 8, 0], "the rest, and the pages before it");
}

#[test]
fn what_was_discarded_or_never_written_is_padded_or_left_out() {
    let mut rig = Rig::new(mapped(4), 1);
    assert_eq!(programs(&mut rig, [5]), [1, 0, 5]);
    assert_eq!(programs(&mut rig, [2]), [1, 0, 2], "nothing is left to be copied behind page 5");
    let mut rig = filled(mapped(4));
    rig.alone(Operation::Discard, false, 2 * PAGE, 14 * PAGE);
    assert_eq!(programs(&mut rig, [4]), [1, 2, 2]);
    assert_eq!(programs(&mut rig, [0]), [1, 0, 0], "nothing is valid behind page 4");
}

#[test]
fn a_block_that_is_not_full_goes_on_without_a_copy() {
    let mut rig = Rig::new(mapped(1), 1);
    let [first, second] = [0, ROWS * BLOCK];
    assert_eq!(programs(&mut rig, [first, first + 1, second, first + 2]), [4, 0, 0]);
}

#[test]
fn a_failed_program_moves_the_logical_block_to_a_new_one() {
    let mut file = mapped(4);
    file.faults = vec![FaultFile { nth: Some(20), ..FaultFile::new(Fails::Program) }];
    let mut rig = filled(file);
    rig.overwrite(200);
    let totals = rig.device.totals();
    assert_eq!((totals.program_failures, totals.grown_bad_blocks, totals.lost_pages), (1, 1, 0));
    let sectors = u64::from(rig.device.config().logical_pages) * PAGE;
    rig.alone(Operation::Read, false, 0, sectors);
    assert!(rig.answers.iter().all(|(_, answer)| !answer.failed));
}

#[test]
fn a_device_whose_blocks_all_fail_goes_read_only() {
    let mut file = mapped(4);
    file.faults = vec![FaultFile { every: Some(50), ..FaultFile::new(Fails::Program) }];
    let mut rig = filled(file);
    for n in 0..20_000 {
        rig.run_down_to(3);
        rig.submit(Operation::Write, false, n * 7919 % 1_000 * PAGE, PAGE);
    }
    rig.run_down_to(0);
    assert!(rig.device.is_read_only() && rig.answers.last().is_some_and(|(_, answer)| answer.failed));
    rig.audit();
}

/// A write of a block's last page copies the 15 before it, and after a failure all 16 go to a new block first: with every
/// 25th program failing the second of two such writes never ends, however many failures a block survives.
#[test]
fn a_row_in_which_every_try_fails_gives_up() {
    let mut file = mapped(4);
    file.faults = vec![FaultFile { every: Some(25), ..FaultFile::new(Fails::Program) }];
    file.ftl.failure = FailureKind::Tolerate { programs: 1_000, reads: 0 };
    let mut rig = filled(file);
    let mut writes = || rig.alone(Operation::Write, false, 15 * PAGE, PAGE);
    writes();
    writes();
    assert_eq!(rig.answers.iter().map(|(_, answer)| answer.failed).collect::<Vec<_>>(), [false, true]);
    assert!(rig.device.is_read_only());
    assert_eq!(rig.device.totals().program_failures, u64::from(MOST_FAILURES));
    rig.audit();
}

/// An event that no device has, for the instant of a cut.
const CUT: Event = Event::Begin(RequestId(u32::MAX));

/// Cuts the power after some time and waits for the recovery; how many programs the cut tore.
fn cut_power(rig: &mut Rig, after: Duration) -> u64 {
    rig.calendar.after(after, CUT);
    while let Some(event) = rig.calendar.advance().filter(|event| *event != CUT) {
        rig.device.handle(event, &mut rig.calendar);
    }
    let torn = rig.cut_power().torn;
    rig.wait_until_ready();
    rig.audit();
    torn.programs
}

#[test]
fn a_replacement_block_goes_on_after_a_power_cut_unless_its_last_page_is_torn() {
    let mut rig = filled(mapped(4));
    assert_eq!(programs(&mut rig, [2]), [1, 2, 0]);
    assert_eq!(cut_power(&mut rig, Duration::ZERO), 0);
    assert_eq!(programs(&mut rig, [3]), [1, 0, 0], "the copies count, not what they are of");
    rig.submit(Operation::Write, false, 4 * PAGE, PAGE);
    assert_eq!(cut_power(&mut rig, Duration::from_us(150)), 1);
    assert_eq!(programs(&mut rig, [5]), [1, 16 + 5, 0], "all of it to a new block, and then as ever");
}

#[test]
fn a_merge_that_the_power_cut_is_gone_on_with() {
    let mut rig = filled(mapped(4));
    assert_eq!(programs(&mut rig, [0, 1]), [2, 0, 0]);
    // Page 1 again: 14 pages are copied, and the power is cut while some are.
    rig.submit(Operation::Write, false, PAGE, PAGE);
    let torn = cut_power(&mut rig, Duration::from_us(2_000));
    let before = rig.device.totals().gc_programs;
    assert!((3..12).contains(&before) && torn <= 1, "{before} copied, {torn} torn");
    let [host, copies, padding] = programs(&mut rig, [1]);
    assert_eq!((host, copies, padding), (1, if torn == 1 { 16 + 1 } else { 14 - before + 1 }, 0));
}

#[test]
fn the_tables_are_small() {
    let config = mapped(4).check().expect("the device is sound");
    assert_eq!(config.logical_blocks(), 72);
    assert_eq!(config.map_memory(), Bytes(4 * 72 + 8 * 4 * 4));
}

#[test]
fn what_does_not_go_with_a_block_map_is_named() {
    type Change = fn(&mut DeviceFile);
    let changes: [(&str, Change); 14] = [
        ("ftl.mapping.block.replacements", |f| f.ftl.mapping.block = Some(BlockMapFile { replacements: 0 })),
        ("ftl.mapping.unit", |f| f.ftl.mapping.unit = None),
        ("ftl.mapping.cache", |f| {
            f.ftl.mapping.cache = Some(Bytes::kib(4));
            f.ftl.over_provisioning = 0.5;
        }),
        ("pools", |f| {
            let (part, layout) = (f.part.clone(), f.layout);
            f.pools = vec![PoolFile {
                part,
                layout,
                channels: ChannelsFile::Dedicated,
                start_below_free_blocks: None,
                stop_at_free_blocks: None,
                frontier: FrontierKind::default(),
                slc_cache: None,
            }];
        }),
        ("ftl.placement.policy", |f| f.ftl.placement = PlacementKind::Dynamic {}),
        ("ftl.balancer.policy", |f| f.ftl.balancer = BalancerKind::Stealing { reach: Reach::Die, least: 1 }),
        ("ftl.router.streams", |f| f.ftl.router = RouterKind::Host { streams: 2 }),
        ("ftl.recovery.discards", |f| f.ftl.recovery.discards = DiscardsAtCut::Kept),
        ("ftl.gc.victim", |f| f.ftl.gc.victim = VictimKind::Fifo {}),
        ("ftl.gc.scope", |f| f.ftl.gc.scope = Scope::SuperBlock),
        ("ftl.gc.preemptible", |f| f.ftl.gc.preemptible = true),
        ("ftl.gc.steps_per_write", |f| f.ftl.gc.steps_per_write = Some(2)),
        ("ftl.gc.copyback", |f| f.ftl.gc.copyback = true),
        ("ftl.wear", |f| f.ftl.wear.allocation = wordline_ssd::space::wear::Allocation::ByStream),
    ];
    assert!(mapped(4).check().is_ok());
    for (key, change) in changes {
        let mut file = mapped(4);
        change(&mut file);
        let wrong = file.check().expect_err(key);
        assert!(wrong.0.iter().any(|complaint| complaint.key == key), "{key}: {wrong}");
    }
}
