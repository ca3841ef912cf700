//! Two pools in one device: a coarsely mapped pool that programs whole units, and a page-mapped pool with one
//! page in each program.

use wordline_device::{BlockDevice, Operation, detail};
use wordline_ftl::Design;
use wordline_ftl::Policies;
use wordline_ftl::config::DiscardsAtCut;
use wordline_ftl::config::SlcCacheFile;
use wordline_ftl::design::{CoalescedUnit, Combination, ExtensionPoint, Needs, View};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::balancer::BalancerKind;
use wordline_ftl::policy::frontier::FrontierKind;
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::relocator::RelocatorKind;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::pools::ChannelsFile;
use wordline_kernel::{Bytes, Calendar, Duration, Energy, Schedule, Seed, state};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_nand::part::SlcTiming;
use wordline_ssd::config::{BufferMode, Protection};
use wordline_ssd::{Device, DeviceFile, contract};

use crate::common;
use crate::common::Rig;
use crate::common::homes::{away, with_homes};

/// Device with a pool of TLC and a pool of SLC chips. TLC programs word lines of two planes, six pages of 4
/// KiB, which are also the unit of coarse-grained mapping. The planes of SLC work independently. Host writes
/// to a unit of at least `least` bytes go to the first pool.
fn two_pools(least: u64) -> DeviceFile {
    let mut file = common::two_pools(least);
    file.ftl.mapping.whole_units = true;
    file.pools[0].layout.planes_per_row = Some(1);
    file
}

const PAGE: u64 = 8;
const UNIT: u64 = 6 * PAGE;

#[test]
fn large_pieces_go_to_the_first_pool_and_small_ones_to_the_second() {
    let mut rig = Rig::new(two_pools(16_384), 1);
    rig.alone(Operation::Write, true, 0, UNIT);
    rig.alone(Operation::Write, true, UNIT, PAGE);
    rig.settle();
    rig.audit();
    assert_eq!(valid(&rig), [6, 1]);
    assert_eq!(rig.device.version_in_flash(LogicalPage(6)), Some(1));
}

/// Overwrites a new device with writes of 1 to 12 pages at random addresses.
fn overwrite(file: DeviceFile, writes: u64) -> Rig {
    let mut rig = Rig::new(file, 1);
    overwrite_further(&mut rig, writes);
    rig
}

fn overwrite_further(rig: &mut Rig, writes: u64) {
    rig.overwrite_pieces(writes, "test.pools", 12);
}

#[test]
fn a_device_with_two_pools_is_overwritten_many_times() {
    for least in [0, 8_192, 16_384, 24_576, 1 << 20] {
        let rig = overwrite(two_pools(least), 10_000);
        let counts = rig.device.writer().sub_requests().expect("there are two pools");
        match least {
            0 => assert_eq!(counts.sent[1], 0, "nothing is small"),
            1_048_576 => assert!(counts.sent[0] == 0 && counts.redirected > 0, "{counts:?}"),
            _ => assert!(counts.sent[0] > 0 && counts.sent[1] > 0, "{counts:?}"),
        }
        assert_eq!((counts.stolen, counts.migrated), (0, 0), "neither balancer nor relocator is on");
    }
}

#[test]
fn a_page_has_a_home_in_each_pool() {
    let mut rig = Rig::new(with_homes(16_384), 1);
    let rows: Vec<u32> = rig.device.config().ftl.pools.iter().map(|pool| pool.geometry.rows()).collect();
    assert_eq!(rows, [4, 8], "the planes of the second pool work by themselves");
    for unit in 0..32 {
        rig.alone(Operation::Write, true, unit * UNIT, if unit % 2 == 0 { UNIT } else { PAGE });
    }
    assert_eq!((valid(&rig), away(&rig)), ([96, 16], 0));
    let mut steady = Rig::new(with_homes(16_384), 1);
    steady.device.fill_steady(Seed(1));
    let (held, elsewhere) = (valid(&steady), away(&steady));
    assert!(held[0] > 500 && held[1] > 500 && 20 * elsewhere < held[0] + held[1], "{elsewhere} of {held:?}");
    overwrite_further(&mut steady, 4_000);
}

#[test]
fn a_page_whose_static_group_is_full_goes_to_another_of_the_pool_or_to_the_first_pool() {
    let rig = overwrite(with_homes(1 << 20), 10_000);
    let counts = rig.device.writer().sub_requests().expect("there are two pools");
    assert!(counts.redirected > 0 && rig.device.totals().remote_programs > 0, "{counts:?}");
    let (held, elsewhere) = (valid(&rig), away(&rig));
    assert!(elsewhere > 0 && held[0] > 0 && held[1] > held[0], "{elsewhere} of {held:?}");
}

/// Design that destages `enough` or more waiting pages of a unit at once, in groups of `with` pages. `along`
/// decides whether pages of the second pool are carried.
#[derive(Clone, Copy)]
struct Gathers {
    enough: u32,
    with: u32,
    along: bool,
}

state!(Gathers { fixed { enough, with, along } });

impl Design for Gathers {
    fn name(&self) -> &'static str {
        "gathers"
    }

    fn needs(&self) -> Needs {
        Needs::of(&[ExtensionPoint::Coalesce])
    }

    fn destages_now(&mut self, unit: &CoalescedUnit<'_>, _: &mut View<'_>) -> bool {
        assert_eq!(unit.size(), 6);
        unit.waiting() >= self.enough
    }

    fn destages_with(&mut self, page: u32, other: u32, _: &mut View<'_>) -> bool {
        page / self.with == other / self.with
    }

    fn is_carried_along(&mut self, _: u32, _: &mut View<'_>) -> bool {
        self.along
    }
}

/// Two pools and a design that selects the pages to be destaged together.
fn gathering(design: Gathers) -> Rig {
    let mut file = two_pools(12_288);
    file.buffer.flush_interval = Duration::ZERO;
    let config = file.check().expect("the device is sound");
    let designs = Combination::of(vec![Box::new(design)]);
    let policies = Policies::of(&config.ftl).with_designs(designs);
    let config = config.check_policies(&policies).expect("the policies go with it");
    Rig::of(Device::with(config, policies, Seed(1)), Calendar::new())
}

#[test]
fn a_design_decides_what_is_destaged_together_and_when() {
    let mut rig = gathering(Gathers { enough: 4, with: 3, along: true });
    for page in [0, 1, 5] {
        rig.alone(Operation::Write, false, page * PAGE, PAGE);
    }
    rig.settle();
    assert_eq!(valid(&rig), [0, 0], "three pages wait");
    rig.alone(Operation::Write, false, 2 * PAGE, PAGE);
    rig.settle();
    assert_eq!(valid(&rig), [3, 0], "the half of the unit that page 2 is in left together, and is large");
    rig.alone(Operation::Flush, false, 0, 0);
    assert_eq!(valid(&rig), [3, 1], "the other page is small by itself");
    rig.audit();
}

#[test]
fn pages_of_another_pool_are_programmed_with_their_unit_where_a_design_says_so() {
    for (along, expected) in [(true, [6, 0]), (false, [5, 1])] {
        let mut rig = gathering(Gathers { enough: 7, with: 6, along });
        rig.alone(Operation::Write, true, 0, PAGE);
        assert_eq!(valid(&rig), [0, 1]);
        rig.alone(Operation::Write, true, PAGE, 5 * PAGE);
        rig.settle();
        assert_eq!(valid(&rig), expected);
        rig.audit();
        rig.cut_power();
        rig.wait_until_ready();
        assert_eq!(valid(&rig), expected);
        (0..6).for_each(|page| rig.compare(page * PAGE, PAGE, 1));
    }
}

#[test]
fn a_design_that_coalesces_destaged_pages_keeps_the_contract() {
    for design in [Gathers { enough: 2, with: 2, along: true }, Gathers { enough: 4, with: 3, along: false }]
    {
        contract::check(&two_pools(12_288), |_| Box::new(design));
    }
}

/// Number of valid pages in each pool.
fn valid(rig: &Rig) -> [u64; 2] {
    let states = rig.device.ftl().pool_states();
    [states[0].fullness.valid, states[1].fullness.valid]
}

#[test]
fn a_page_is_valid_where_it_was_programmed_last() {
    let mut rig = Rig::new(two_pools(16_384), 1);
    rig.alone(Operation::Write, true, 0, UNIT);
    assert_eq!(valid(&rig), [6, 0]);
    // A small write moves one page of the unit to the second pool.
    rig.alone(Operation::Write, true, 2 * PAGE, PAGE);
    assert_eq!(valid(&rig), [5, 1]);
    // A large write of four pages carries the other two, one of them from the second pool.
    let before = rig.device.totals().clone();
    rig.alone(Operation::Write, true, 0, 2 * PAGE);
    assert_eq!(valid(&rig), [3, 3], "two pages are small");
    rig.alone(Operation::Write, true, 0, 4 * PAGE);
    rig.settle();
    let spent = rig.device.totals().since(&before);
    assert_eq!(valid(&rig), [6, 0]);
    assert_eq!((spent.host_programs, spent.unit_programs), (2 + 4, 2));
    assert_eq!(spent.rmw_reads, 2, "pages four and five of the unit");
    let versions = [0, 1, 2, 3, 4, 5].map(|page| rig.device.version_in_flash(LogicalPage(page)));
    assert_eq!(versions, [3, 3, 3, 2, 1, 1].map(Some));
    rig.audit();
}

#[test]
fn a_partly_written_page_is_completed_from_the_other_pool() {
    let mut rig = Rig::new(two_pools(16_384), 1);
    rig.alone(Operation::Write, true, 0, UNIT);
    let before = rig.device.totals().clone();
    rig.alone(Operation::Write, true, PAGE + 3, 2);
    let spent = rig.device.totals().since(&before);
    assert_eq!((spent.rmw_reads, spent.host_programs, spent.unit_programs), (1, 1, 0));
    assert_eq!(valid(&rig), [5, 1]);
    rig.alone(Operation::Read, false, 0, UNIT);
    rig.audit();
}

#[test]
fn waiting_pages_of_a_unit_are_sent_together() {
    let mut file = two_pools(16_384);
    file.buffer.flush_above = 0.9;
    let mut rig = Rig::new(file, 1);
    rig.alone(Operation::Write, false, 0, 2 * PAGE);
    rig.alone(Operation::Write, false, 3 * PAGE, 2 * PAGE);
    rig.alone(Operation::Flush, false, 0, 0);
    let counts = rig.device.writer().sub_requests().expect("there are two pools");
    assert_eq!((counts.sent, counts.sent_bytes), ([1, 0], [16_384, 0]), "each alone is small");
}

#[test]
fn the_balancer_takes_what_waits_and_the_relocator_empties_victims() {
    let mut file = two_pools(16_384);
    // The first pool is fuller than the second, so units are stolen from the first.
    file.ftl.balancer = BalancerKind::ValidShare {};
    let rig = overwrite(file.clone(), 5_000);
    let counts = rig.device.writer().sub_requests().expect("there are two pools");
    assert!(counts.stolen > 0 && counts.migrated == 0, "{counts:?}");
    // With only small writes the second pool is fuller.
    file.ftl.balancer = BalancerKind::None {};
    file.ftl.gc.relocator = RelocatorKind::ValidShare {};
    file.ftl.router = RouterKind::BySize { least: Bytes::mib(1) };
    let rig = overwrite(file, 5_000);
    let counts = rig.device.writer().sub_requests().expect("there are two pools");
    assert!(counts.stolen == 0 && counts.migrated > 0, "{counts:?}");
    assert!(
        counts.migrated_pages >= counts.migrated,
        "a unit is moved for a page of the second pool at least"
    );
}

#[test]
fn with_the_buffer_off_nothing_of_a_unit_merges() {
    for (mode, sent) in [(BufferMode::WriteThrough, 2), (BufferMode::Off, 3)] {
        let mut file = two_pools(16_384);
        file.buffer.mode = mode;
        let mut rig = Rig::new(file, 1);
        // Three pages of a unit, one after another. While the first is being programmed, the others wait.
        (0..3).for_each(|page| rig.submit(Operation::Write, false, page * PAGE, PAGE));
        rig.settle();
        rig.audit();
        let counts = rig.device.writer().sub_requests().expect("there are two pools");
        assert_eq!(counts.sent, [0, sent], "{mode:?}");
        assert_eq!(valid(&rig), [0, 3]);
    }
}

/// [`two_pools`] with map entries for only four pages in memory.
fn with_map_in_flash(least: u64) -> DeviceFile {
    let mut file = two_pools(least);
    file.ftl.mapping.cache = Some(Bytes(4 * 8));
    file.ftl.over_provisioning = 0.6;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
    file
}

#[test]
fn translation_pages_map_the_page_mapped_pool_and_are_in_it() {
    let large = overwrite(with_map_in_flash(0), 3_000);
    let totals = large.device.totals();
    assert_eq!(
        (totals.translation_programs, totals.translation_reads),
        (0, 0),
        "all pages are in whole units"
    );
    assert!(totals.map_misses > 0, "all the same a page might be in the other pool");
    let mut small = overwrite(with_map_in_flash(1 << 20), 3_000);
    let totals = small.device.totals();
    assert!(totals.translation_programs > 0 && totals.translation_reads > 0, "{totals:?}");
    let held: u64 = valid(&small).iter().sum();
    let mapped = (0..small.device.config().ftl.logical_pages)
        .filter(|page| small.device.version_in_flash(LogicalPage(*page)).is_some());
    let tables = held - mapped.count() as u64;
    assert!(
        (1..=u64::from(small.device.config().ftl.translation_pages())).contains(&tables),
        "{tables} tables"
    );
    let written = |rig: &Rig| {
        rig.device.chips().counts_of_pools().iter().map(|pool| pool.pages_programmed).collect::<Vec<_>>()
    };
    assert_eq!(written(&large)[1], 0, "neither pages of the host nor of the map");
    // Reads that have to look up their pages in flash.
    (0..40).for_each(|n| {
        small.alone(Operation::Read, false, n * 7 * PAGE, PAGE);
    });
}

#[test]
fn a_victim_that_leaves_the_pool_leaves_translation_pages_there() {
    let mut file = with_map_in_flash(1 << 20);
    file.ftl.gc.relocator = RelocatorKind::ValidShare {};
    let rig = overwrite(file, 8_000);
    let counts = rig.device.writer().sub_requests().expect("there are two pools");
    assert!(counts.migrated > 0 && rig.device.totals().translation_programs > 0, "{counts:?}");
}

#[test]
fn pools_on_channels_of_their_own_do_not_wait_for_each_other() {
    let time = |channels| {
        let mut file = two_pools(16_384);
        file.pools[0].channels = channels;
        let rig = overwrite(file, 2_000);
        rig.device.chips().bus_waited().sum::<u64>()
    };
    assert!(time(ChannelsFile::Dedicated) < time(ChannelsFile::Shared));
}

#[test]
fn incompatible_settings_are_refused_by_their_key() {
    let mut file = two_pools(16_384);
    file.pools[0].layout.channels = 9;
    let keys = |file: DeviceFile| -> Vec<String> {
        file.check().expect_err("it is wrong").0.into_iter().map(|complaint| complaint.key).collect()
    };
    assert_eq!(keys(file.clone()), ["pools[0].layout.channels"]);
    file.pools[0].layout.channels = 2;
    file.pools[0].frontier = FrontierKind::Vertical {};
    assert_eq!(keys(file.clone()), ["pools[0].frontier.policy"], "the part has a single layer");
    file.pools[0].frontier = FrontierKind::default();
    file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
    assert_eq!(keys(file.clone()), ["ftl.placement.policy"]);
    file.ftl.placement = PlacementKind::default();
    file.ftl.mapping.unit = Some(Bytes(512));
    file.ftl.mapping.whole_units = false;
    file.ftl.mapping.cache = Some(Bytes(32));
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
    file.pools[0].part.geometry.blocks_per_plane = 8;
    assert_eq!(keys(file.clone()), ["pools[0]"], "there is no room for the map");
    file = two_pools(16_384);
    file.pools.clear();
    assert_eq!(keys(file), ["ftl.mapping.whole_units", "ftl.router.policy"]);
}

#[test]
fn in_the_steady_state_each_pool_is_as_full_as_the_other_and_gc_runs() {
    for (whole_units, fraction) in [(true, 1.0), (true, 0.5), (false, 0.5)] {
        let mut file = two_pools(16_384);
        file.ftl.mapping.whole_units = whole_units;
        let mut rig = Rig::new(file, 1);
        let filled = (f64::from(rig.device.config().ftl.logical_pages) * fraction) as u32;
        let steady = rig.device.fill_steady_to(Seed(3), fraction);
        rig.audit();
        assert!(steady.overwritten > 0 && steady.amplification >= Some(1.0), "{steady:?}");
        assert_eq!(valid(&rig).iter().sum::<u64>(), u64::from(filled));
        let shares = rig.device.ftl().pool_states().iter().map(|pool| pool.valid_share()).collect::<Vec<_>>();
        assert!((shares[0] - shares[1]).abs() < 0.1, "{shares:?}");
        assert!(
            rig.device.chips().erases().iter().all(|erases| *erases == 0),
            "what happens before the run wears nothing"
        );
        overwrite_further(&mut rig, 300);
        let worn = rig.device.ftl().pool_states().iter().map(|pool| pool.worn.erases).collect::<Vec<_>>();
        assert!(worn.iter().all(|erases| *erases > 0), "both pools are cleaned at once: {worn:?}");
    }
}

#[test]
fn faults_and_energy_of_each_pool_add_up_to_those_of_the_device() {
    let mut file = two_pools(16_384);
    file.ftl.over_provisioning = 0.7;
    let every = |fails, every| FaultFile { every: Some(every), ..FaultFile::new(fails) };
    let first_dies = file.layout.channels * file.layout.packages_per_channel * file.layout.dies_per_package;
    file.faults = vec![
        FaultFile { die: Some(first_dies.into()), ..every(Fails::Program, 60) },
        FaultFile { die: Some(0.into()), ..every(Fails::Erase, 5) },
        every(Fails::Read, 40),
    ];
    let mut rig = Rig::new(file, 1);
    overwrite_further(&mut rig, 300);
    let mark = rig.device.mark(rig.calendar.now());
    overwrite_further(&mut rig, 900);
    let now = rig.calendar.now();
    let device = rig.device.metrics(&mark, now);
    let pools = rig.device.detail(&mark, now).pools;
    for metric in detail::of_pool() {
        let sum: f64 = pools.iter().filter_map(|pool| pool.metrics.number(metric.name)).sum();
        let all = device.number(metric.name).expect(metric.name);
        assert!((sum - all).abs() <= 1e-12 * all, "{}: {sum} of {all}", metric.name);
    }
    let of = |pool: usize, name: &str| pools[pool].metrics.count(name);
    assert_eq!(of(0, "faults.program_failures"), 0, "none of its dies is said to fail");
    assert!(of(1, "faults.program_failures") > 0 && of(0, "faults.erase_failures") > 0);
    assert_eq!(of(1, "faults.erase_failures"), 0);
    assert!(of(0, "faults.read_retries") > 0 && of(1, "faults.read_retries") > 0);
    let sets = [0, 1].map(|pool| of(pool, "faults.grown_bad_block_sets"));
    let planes = |pool: usize| u64::from(rig.device.config().ftl.pools.get(pool).geometry.planes_per_row);
    assert!(sets[0] > 0 && planes(0) > 1, "{sets:?}");
    assert_eq!(device.count("faults.grown_bad_blocks"), sets[0] * planes(0) + sets[1] * planes(1));
}

/// Executes several thousand writes and cuts the power. All data must be as before.
fn outlives_the_power(file: DeviceFile) -> Rig {
    let mut rig = overwrite(file, 4_000);
    let pages = rig.device.config().ftl.logical_pages;
    let before: Vec<_> = (0..pages).map(|page| rig.device.version(LogicalPage(page))).collect();
    rig.cut_power();
    let after: Vec<_> = (0..pages).map(|page| rig.device.version(LogicalPage(page))).collect();
    assert!(before == after, "everything was flushed");
    rig.wait_until_ready();
    overwrite_further(&mut rig, 500);
    rig
}

#[test]
fn each_pool_programs_its_word_lines_in_an_order_of_its_own() {
    let mut file = two_pools(16_384);
    // Four layers of two word lines in the first pool, eight in the second.
    file.part.geometry.layers = 4;
    file.pools[0].part.geometry.pages_per_block = 16;
    file.pools[0].part.geometry.layers = 8;
    for [first, second] in [[true, true], [true, false], [false, true]] {
        let order = |is_vertical| match is_vertical {
            true => FrontierKind::Vertical {},
            false => FrontierKind::default(),
        };
        file.ftl.frontier = order(first);
        file.pools[0].frontier = order(second);
        let mut rig = Rig::new(file.clone(), 1);
        for n in 0..12 {
            rig.alone(Operation::Write, true, 2 * n * UNIT, UNIT);
            rig.alone(Operation::Write, true, (2 * n + 1) * UNIT, PAGE);
        }
        rig.settle();
        let device = &rig.device;
        let is_programmed =
            |block, place| device.chips().is_programmed(device.config().ftl.pools.at(block, place));
        for (n, is_vertical) in [first, second].into_iter().enumerate() {
            let pool = device.config().ftl.pools.get(n);
            let unit = pool.locations.per_program;
            let begun = pool.geometry.all_blocks().filter(|block| is_programmed(*block, 0));
            let seconds = begun.filter(|block| device.chips().programmed(*block) >= 2 * unit);
            for block in seconds {
                let next = if is_vertical { 2 * unit } else { unit };
                assert!(is_programmed(block, next), "pool {n}, {block:?}");
            }
        }
        outlives_the_power(file.clone());
    }
}

#[test]
fn pages_discarded_in_a_pool_stay_discarded_after_a_power_cut() {
    for checkpoint in [None, Some(Bytes::kib(64))] {
        let mut file = two_pools(16_384);
        file.ftl.recovery.discards = DiscardsAtCut::Kept;
        file.ftl.recovery.checkpoint = checkpoint;
        file.ftl.gc.start_below_free_blocks = 5;
        file.ftl.gc.stop_at_free_blocks = 5;
        file.ftl.over_provisioning = 0.7;
        let mut rig = outlives_the_power(file);
        rig.alone(Operation::Write, true, 0, UNIT);
        rig.alone(Operation::Write, true, UNIT, PAGE);
        // Discards a page in the first pool and a page in the second.
        rig.alone(Operation::Discard, false, 2 * PAGE, PAGE);
        rig.alone(Operation::Discard, false, UNIT, PAGE);
        rig.alone(Operation::Flush, false, 0, 0);
        rig.cut_power();
        let found = [1, 2, 6].map(|page| rig.device.version(LogicalPage(page)).is_some());
        assert_eq!(found, [true, false, false]);
        rig.wait_until_ready();
        rig.audit();
    }
}

#[test]
fn a_pool_of_tables_that_a_power_cut_fills_gives_pages_to_the_first() {
    let mut file = two_pools(1 << 20);
    file.ftl.recovery.discards = DiscardsAtCut::Kept;
    file.ftl.over_provisioning = 0.7;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (5, 5);
    file.buffer.flush_interval = Duration::ZERO;
    let mut rig = Rig::new(file, 1);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    // Small writes fill the second pool; the first takes the rest.
    for page in 0..pages {
        rig.run_down_to(3);
        rig.submit(Operation::Write, false, page * PAGE, PAGE);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    let [_, full] = valid(&rig);
    // Discards in the second pool free space for other pages. Without a flush, discarded data return after a
    // power loss.
    let in_second = |page: &u64| {
        let location = rig.device.map().get(LogicalPage(*page as u32));
        location.is_some_and(|location| rig.device.config().ftl.pools.number_of_location(location) == 1)
    };
    let (second, first): (Vec<u64>, Vec<u64>) = (0..pages).partition(in_second);
    for page in &second[..100] {
        rig.alone(Operation::Discard, false, page * PAGE, PAGE);
    }
    for page in &first[..100] {
        rig.alone(Operation::Write, true, page * PAGE, PAGE);
    }
    rig.cut_power();
    rig.wait_until_ready();
    let [_, crowded] = valid(&rig);
    assert!(crowded > full + 20, "{full} valid pages before, {crowded} after the cut");
    assert!(!rig.device.is_read_only(), "the first pool has room");
    rig.alone(Operation::Discard, false, second[0] * PAGE, PAGE);
    rig.alone(Operation::Flush, false, 0, 0);
    overwrite_further(&mut rig, 500);
    let [_, left] = valid(&rig);
    assert!(left <= full + 20, "pages left the second pool: {left} are there");
}

#[test]
fn a_protected_buffer_keeps_pages_of_several_pools_after_a_power_cut() {
    let mut file = two_pools(16_384);
    file.buffer.power_loss_protection = Protection::Capacitors;
    file.buffer.capacitors = Energy(1);
    let wrong = file.clone().check().expect_err("that is next to nothing").0.remove(0);
    assert_eq!(wrong.key, "buffer.capacitors");
    let least = wrong.wanted.split_whitespace().nth(2).expect("it names a charge").to_owned();
    let rig = |charge: Energy| {
        let mut file = file.clone();
        file.buffer.capacitors = charge;
        file.check()
    };
    let least: Energy = least.parse().expect("a charge");
    assert!(rig(least).is_ok(), "{least} is what is asked for");
    file.buffer.power_loss_protection = Protection::Full;
    file.buffer.capacitors = Energy(0);
    for whole_units in [false, true] {
        let mut file = file.clone();
        file.ftl.mapping.whole_units = whole_units;
        let mut rig = Rig::new(file, 1);
        rig.alone(Operation::Write, false, 0, UNIT);
        rig.alone(Operation::Write, false, UNIT + 3, 2);
        assert_eq!(rig.device.totals().host_programs, 0, "nothing is in flash");
        rig.cut_power();
        assert!((0..7).all(|page| rig.device.version(LogicalPage(page)) == Some(1)));
        rig.wait_until_ready();
        rig.alone(Operation::Read, false, 0, UNIT + PAGE);
        overwrite_further(&mut rig, 300);
    }
}

#[test]
fn a_cache_in_slc_mode_goes_with_a_second_pool_that_holds_the_map() {
    let mut file = two_pools(16_384);
    let us = Duration::from_us;
    file.part.timing.slc = Some(SlcTiming { read: us(20), program: us(100), erase: us(1_000) });
    file.ftl.slc_cache = Some(SlcCacheFile::default());
    let wrong = file.clone().check().expect_err("a unit is no program in SLC mode").0;
    assert!(wrong.iter().any(|complaint| complaint.key == "ftl.slc_cache"), "{wrong:?}");
    file.ftl.mapping.whole_units = false;
    file.ftl.router = RouterKind::SlcCache { window: None };
    file.ftl.mapping.cache = Some(Bytes(1_024));
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (5, 5);
    file.ftl.over_provisioning = 0.75;
    let rig = outlives_the_power(file);
    let totals = rig.device.totals();
    assert!(totals.slc_programs > 1_000 && totals.folded > 100, "{totals:?}");
    assert!(totals.translation_programs > 10 && valid(&rig)[1] > 0, "the map is in the second pool");
}
