//! Block-level mapping: its cost, compared with closed forms, and the configurations that it rejects.

use wordline_device::{BlockDevice, Operation};
use wordline_flash::RequestId;
use wordline_flash::policy::failure::{FailureKind, MOST_FAILURES};
use wordline_ftl::blocks::wear::Allocation;
use wordline_ftl::config::DiscardsAtCut;
use wordline_ftl::config::{Scope, WearFile};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::map::block_map::config::BlockMapFile;
use wordline_ftl::policy::background::BackgroundKind;
use wordline_ftl::policy::balancer::{BalancerKind, Reach};
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_ftl::policy::wear::WearKind;
use wordline_ftl::pools::{ChannelsFile, PoolFile};
use wordline_kernel::{Bytes, Duration, Schedule, Seed};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::config::BufferMode;
use wordline_ssd::{DeviceFile, Event};

use crate::common::{Rig, small};

/// Sectors of a page of the host.
const PAGE: u64 = 16;

/// Pages in a block.
const BLOCK: u32 = 16;

/// Number of plane groups, which is also the distance between logical blocks of the same plane group.
const ROWS: u32 = 4;

/// The small device with block-level mapping: pages of 8 KiB on two planes, 16 pages in a block, 18 logical
/// blocks in a plane group.
pub fn mapped(replacements: u32) -> DeviceFile {
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

/// Programs caused by writing these pages one after another: host pages, copies, and padding.
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

/// Expected write amplification of uniform random writes of single pages, with `most` log blocks for
/// `logical` logical blocks of `pages` pages.
///
/// The log blocks belong to the logical blocks written last. A write goes to a logical block with a log block
/// with probability `most / logical`, or slightly more, because one write in `pages` fills a log block and
/// frees it for another. Such a write follows the last one in its block with probability `(pages - 1) / (2
/// pages)`. Any other write begins a new log block, which is then programmed in full.
fn uniform_model(most: u32, logical: u32, pages: u32) -> f64 {
    let pages = f64::from(pages);
    let others = f64::from(most - 1) * pages / (pages - 1.0);
    let share = (1.0 + others) / f64::from(logical);
    pages - share * (pages - 1.0) / 2.0
}

#[test]
fn sequential_overwrites_are_written_once() {
    let mut rig = filled(mapped(4));
    let pages = rig.device.config().ftl.logical_pages;
    let erases = rig.device.totals().erases;
    assert_eq!(programs(&mut rig, (0..pages).chain(0..pages)), [2 * u64::from(pages), 0, 0]);
    rig.settle();
    let blocks = u64::from(rig.device.config().ftl.logical_blocks());
    assert_eq!(rig.device.totals().erases - erases, 2 * blocks, "each old block is erased");
    assert_eq!(rig.device.totals().gc_empty_victims, 2 * blocks, "without a copy");
}

#[test]
fn uniform_random_writes_cost_about_a_block_each() {
    for replacements in [1, 4] {
        let mut rig = Rig::new(mapped(replacements), 1);
        let steady = rig.device.fill_steady(Seed(1));
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        let mut random = Seed(7).stream("pages", 0);
        let found = amplification(programs(&mut rig, (0..30_000).map(|_| random.below(pages) as u32)));
        let model = uniform_model(replacements, 18, BLOCK);
        assert!((found / model - 1.0).abs() < 0.01, "{replacements}: {found} of {model}");
        let steady = steady.amplification.expect("pages are overwritten");
        // The steady state is measured over only a few dozen writes.
        assert!((steady / model - 1.0).abs() < 0.1, "{replacements}: {steady} of {model} without time");
    }
}

#[test]
fn every_fourth_page_costs_four() {
    let mut rig = filled(mapped(2));
    let pages = rig.device.config().ftl.logical_pages;
    let written = programs(&mut rig, (3..pages).step_by(4));
    assert_eq!((written[2], amplification(written)), (0, 4.0));
    rig.settle();
    assert_eq!(rig.device.totals().gc_empty_victims, 0, "all blocks are erased after copies");
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
fn discarded_and_unwritten_pages_are_padded_or_left_out() {
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
    let sectors = u64::from(rig.device.config().ftl.logical_pages) * PAGE;
    rig.alone(Operation::Read, false, 0, sectors);
    assert!(rig.completions.iter().all(|(_, completion)| !completion.failed));
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
    assert!(
        rig.device.is_read_only() && rig.completions.last().is_some_and(|(_, completion)| completion.failed)
    );
    rig.audit();
}

/// A write of the last page copies 15 pages before it. After a failed program all 16 pages go to a new block.
/// If every 25th program fails, the second of two such writes never ends, however many failures a block
/// survives.
#[test]
fn a_plane_group_in_which_every_attempt_fails_gives_up() {
    let mut file = mapped(4);
    file.faults = vec![FaultFile { every: Some(25), ..FaultFile::new(Fails::Program) }];
    file.ftl.failure = FailureKind::Tolerate { programs: 1_000, reads: 0 };
    let mut rig = filled(file);
    let mut writes = || rig.alone(Operation::Write, false, 15 * PAGE, PAGE);
    writes();
    writes();
    assert_eq!(
        rig.completions.iter().map(|(_, completion)| completion.failed).collect::<Vec<_>>(),
        [false, true]
    );
    assert!(rig.device.is_read_only());
    assert_eq!(rig.device.totals().program_failures, u64::from(MOST_FAILURES));
    rig.audit();
}

/// Event that no device has, used to mark the time of the power loss.
const CUT: Event = Event::Begin(RequestId(u32::MAX));

/// Cuts the power after `after` and waits for the recovery. Returns the number of interrupted programs.
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
    // Rewriting page 1 copies 14 pages. The power is cut while some of them are being copied.
    rig.submit(Operation::Write, false, PAGE, PAGE);
    let torn = cut_power(&mut rig, Duration::from_us(2_000));
    let before = rig.device.totals().gc_programs;
    assert!((3..12).contains(&before) && torn <= 1, "{before} copied, {torn} torn");
    let [host, copies, padding] = programs(&mut rig, [1]);
    assert_eq!((host, copies, padding), (1, if torn == 1 { 16 + 1 } else { 14 - before + 1 }, 0));
}

/// Erases of the blocks of the first plane group, in ascending order.
fn erases_of_first_group(rig: &Rig) -> Vec<u32> {
    let config = rig.device.config();
    let blocks = config.ftl.geometry().blocks_per_plane as usize;
    let mut erases: Vec<u32> = rig.device.chips().erases().iter().copied().take(blocks).collect();
    erases.sort_unstable();
    erases
}

/// Filled device of which one logical block is overwritten sequentially, `times` times.
fn overwritten(file: DeviceFile, times: u32) -> Rig {
    let mut rig = filled(file);
    let written = programs(&mut rig, (0..times).flat_map(|_| 0..BLOCK));
    assert_eq!((written[0], written[2]), (u64::from(times * BLOCK), 0));
    rig.settle();
    rig
}

/// Each sequential overwrite of a logical block costs an erase. Without wear levelling the erases rotate
/// among the free blocks and the block overwritten. With a block erasing table every block of the plane group
/// is erased.
#[test]
fn wear_levelling_moves_logical_blocks_that_lie_still() {
    let plain = overwritten(mapped(4), 300);
    assert_eq!(plain.device.totals().gc_programs, 0);
    let of_plain = erases_of_first_group(&plain);
    let still = of_plain.iter().filter(|erases| **erases == 0).count();
    assert_eq!(still, 17, "the logical blocks of the row but one");
    for allocation in [Allocation::LeastWorn, Allocation::ByStream] {
        let mut file = mapped(4);
        let levelling = WearKind::Bet { k: 0, threshold: 4 };
        file.ftl.wear = WearFile { levelling, allocation };
        let mut rig = overwritten(file, 300);
        let copies = rig.device.totals().gc_programs;
        assert!(copies > 0 && copies.is_multiple_of(u64::from(BLOCK)), "whole blocks are moved: {copies}");
        let levelled = erases_of_first_group(&rig);
        assert!(levelled[0] > 0, "{levelled:?}");
        let (most, most_of_plain) = (levelled[levelled.len() - 1], of_plain[of_plain.len() - 1]);
        assert!(most * 2 < most_of_plain, "{most} erases of a block, {most_of_plain} without levelling");
        // The erases are those of the host, and one for each relocated block.
        assert_eq!(u64::from(levelled.iter().sum::<u32>()), 300 + copies / u64::from(BLOCK));
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        rig.alone(Operation::Read, false, 0, pages * PAGE);
    }
}

#[test]
fn a_move_for_the_sake_of_wear_that_the_power_cuts_is_gone_on_with() {
    let mut file = mapped(4);
    file.ftl.wear.levelling = WearKind::Bet { k: 0, threshold: 2 };
    let mut rig = filled(file);
    let mut passes = 0;
    while rig.device.totals().gc_programs == 0 {
        programs(&mut rig, 0..BLOCK);
        passes += 1;
        assert!(passes < 20, "after two erases for each block that saw one a block is moved");
        // After the last write of a pass the old block is erased, and then the relocation begins.
        rig.rest(Duration::from_ms(4));
    }
    assert!((1..u64::from(BLOCK)).contains(&rig.device.totals().gc_programs), "the move is under way");
    cut_power(&mut rig, Duration::ZERO);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    rig.alone(Operation::Read, false, 0, pages * PAGE);
    programs(&mut rig, (0..4).flat_map(|_| 0..BLOCK));
}

/// Device that merges blocks while the host is idle, until `until_free` blocks of a plane group are free. Two
/// logical blocks of a plane group have been rewritten in part, and 4 of its 24 blocks are free.
fn begun_anew(until_free: u32) -> Rig {
    let mut file = mapped(4);
    file.ftl.gc.background =
        BackgroundKind::IdleGc { idle: Duration::from_ms(1), until_free, until_spare: 0.0 };
    let mut rig = filled(file);
    assert_eq!(programs(&mut rig, [0, ROWS * BLOCK]), [2, 0, 0]);
    rig
}

#[test]
fn logical_blocks_are_merged_while_the_host_is_idle() {
    for (until_free, merged) in [(4, 0), (5, 1), (6, 2), (20, 2)] {
        let mut rig = begun_anew(until_free);
        let before = rig.device.totals().clone();
        rig.rest(Duration::from_ms(100));
        rig.audit();
        let done = rig.device.totals().since(&before);
        assert_eq!((done.gc_programs, done.erases), (15 * merged, merged), "until {until_free} are free");
        // The least recently written block was merged first. A write to it starts a new log block with a copy
        // of its first page.
        let copies = u64::from(merged > 0);
        assert_eq!(programs(&mut rig, [1]), [1, copies, 0], "until {until_free} are free");
    }
}

#[test]
fn a_merge_while_the_host_is_idle_stops_at_its_next_command() {
    let mut rig = begun_anew(5);
    rig.rest(Duration::from_ms(3));
    let copied = rig.device.totals().gc_programs;
    assert!((2..14).contains(&copied), "{copied} copied in two milliseconds");
    let page = u64::from(2 * ROWS * BLOCK) * PAGE;
    rig.alone(Operation::Read, false, page, PAGE);
    rig.rest(Duration::from_us(900));
    let stopped = rig.device.totals().gc_programs;
    assert!(stopped <= copied + 1, "{copied} copied before the read, {stopped} after it");
    rig.audit();
    assert_eq!(programs(&mut rig, [stopped as u32 + 1]), [1, 0, 0], "what was copied counts");
    rig.rest(Duration::from_ms(100));
    let other = u64::from(BLOCK) - 1;
    assert_eq!(
        rig.device.totals().gc_programs,
        stopped + other,
        "the other one was written less recently by now"
    );
}

#[test]
fn copyback_moves_what_is_copied_inside_the_chip() {
    let mut file = mapped(4);
    file.ftl.gc.copyback = true;
    let mut rig = filled(file);
    assert_eq!(programs(&mut rig, [5, 8, 8]), [3, 5 + 2 + 7 + 8, 0], "as many copies as over the bus");
    assert_eq!((rig.device.totals().gc_copied, rig.device.totals().gc_reads), (22, 0));
    let mut random = Seed(7).stream("pages", 0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    programs(&mut rig, (0..500).map(|_| random.below(pages) as u32));
    rig.alone(Operation::Read, false, 0, pages * PAGE);
}

/// The discard table is a logical block after those of the host. A flush writes its page, and the only other
/// cost is a merge of that block.
#[test]
fn the_table_of_discards_has_a_logical_block_of_its_own() {
    let mut file = mapped(4);
    file.ftl.recovery.discards = DiscardsAtCut::Kept;
    let mut rig = filled(file);
    let pages = rig.device.config().ftl.logical_pages;
    assert_eq!(rig.device.config().ftl.first_discard_page() % BLOCK, 0);
    assert_eq!(rig.device.config().ftl.logical_blocks(), pages.div_ceil(BLOCK) + 1);
    let before = rig.device.totals().clone();
    for page in 0..3 {
        rig.alone(Operation::Discard, false, page * PAGE, PAGE);
        rig.alone(Operation::Flush, false, 0, 0);
    }
    let done = rig.device.totals().since(&before);
    assert_eq!((done.translation_programs, done.gc_programs, done.padding), (3, 0, 0));
    cut_power(&mut rig, Duration::ZERO);
    let is_there = |rig: &Rig, page| rig.device.version(LogicalPage(page)).is_some();
    assert!((0..3).all(|page| !is_there(&rig, page)) && is_there(&rig, 3));
}

#[test]
fn the_tables_are_small() {
    let config = mapped(4).check().expect("the device is sound");
    assert_eq!(config.ftl.logical_blocks(), 72);
    assert_eq!(config.ftl.map_memory(), Bytes(4 * 72 + 8 * 4 * 4));
}

#[test]
fn settings_incompatible_with_a_block_map_are_named() {
    type Change = fn(&mut DeviceFile);
    let changes: [(&str, Change); 12] = [
        ("ftl.mapping.block.replacements", |f| f.ftl.mapping.block = Some(BlockMapFile { replacements: 0 })),
        ("ftl.mapping.unit", |f| f.ftl.mapping.unit = None),
        ("ftl.mapping.cache", |f| {
            f.ftl.mapping.cache = Some(Bytes::kib(4));
            f.ftl.over_provisioning = 0.5;
        }),
        ("pools", |f| {
            let (part, layout) = (f.part.clone(), f.layout);
            f.pools = vec![PoolFile { channels: ChannelsFile::Dedicated, ..PoolFile::new(part, layout) }];
        }),
        ("ftl.placement.policy", |f| f.ftl.placement = PlacementKind::Dynamic {}),
        ("ftl.balancer.policy", |f| f.ftl.balancer = BalancerKind::Stealing { reach: Reach::Die, least: 1 }),
        ("ftl.router.streams", |f| f.ftl.router = RouterKind::Host { streams: 2 }),
        ("ftl.gc.victim", |f| f.ftl.gc.victim = VictimKind::Fifo {}),
        ("ftl.gc.scope", |f| f.ftl.gc.scope = Scope::SuperBlock),
        ("ftl.gc.preemptible", |f| f.ftl.gc.preemptible = true),
        ("ftl.gc.steps_per_write", |f| f.ftl.gc.steps_per_write = Some(2)),
        ("ftl.gc.paced", |f| f.ftl.gc.paced = true),
    ];
    assert!(mapped(4).check().is_ok());
    for (key, change) in changes {
        let mut file = mapped(4);
        change(&mut file);
        let wrong = file.check().expect_err(key);
        assert!(wrong.0.iter().any(|complaint| complaint.key == key), "{key}: {wrong}");
    }
}
