//! Centaur's dispatcher and the hybrid, on their own and in a device with small chips in the proportions of
//! the paper.

use proptest::prelude::*;
use toml::Table;
use wordline_designs::centaur::{CentaurFile, Dispatcher, Hybrid, HybridFile};
use wordline_designs::{Designs, DesignsFile};
use wordline_device::Operation;
use wordline_device::lifetime::PoolWear;
use wordline_ftl::Config;
use wordline_ftl::HostWrite;
use wordline_ftl::config::{FtlFile, SlcCacheFile};
use wordline_ftl::policy::frontier::FrontierKind;
use wordline_ftl::policy::pool_state::PoolState;
use wordline_ftl::policy::router::{HostPage, RouterKind};
use wordline_ftl::pools::PoolFile;
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_nand::geometry::Layout;
use wordline_nand::part::SlcTiming;
use wordline_ssd::config::{BufferFile, FrontFile};
use wordline_ssd::{DeviceFile, contract};

use crate::rig::{Rig, named};

include!("../../ssd/tests/common/small.rs");

/// Sectors of a KiB.
const KIB: u64 = 2;

/// A first pool of TLC with program units of 96 KiB, and a second pool of SLC with pages of 8 KiB, as in
/// table 2. Both have few blocks.
pub fn two_pools() -> DeviceFile {
    let mut file = small();
    let mut slc = file.part.clone();
    slc.geometry.page_size = Bytes::kib(8);
    let geometry = &mut file.part.geometry;
    (geometry.bits_per_cell, geometry.one_shot, geometry.pages_per_block) = (3, true, 24);
    geometry.page_size = Bytes::kib(16);
    file.ftl.mapping.unit = Some(Bytes::kib(8));
    file.ftl.mapping.whole_units = true;
    file.ftl.over_provisioning = 0.55;
    file.buffer.size = Bytes::mib(1);
    file.pools = vec![PoolFile::new(slc, Layout { planes_per_row: Some(1), ..file.layout })];
    file
}

fn config() -> Config {
    two_pools().check().unwrap_or_else(|wrong| panic!("{wrong}")).ftl
}

#[test]
fn what_waits_for_one_unit_is_dispatched_together() {
    // Figure 9: A has 72 KB in two units. B and C have 40 KB each, in one unit. The condition is 64 KB.
    let mut rig = Rig::new(two_pools(), "design = { name = 'centaur', condition = '64KiB' }");
    rig.submit(Operation::Write, 64 * KIB, 72 * KIB);
    rig.submit(Operation::Write, 192 * KIB, 40 * KIB);
    rig.submit(Operation::Write, 232 * KIB, 40 * KIB);
    rig.run_down_to(0);
    rig.flush();
    let sent = ["to_first", "to_others"].map(|name| rig.measured(&format!("sub_requests.{name}")));
    assert_eq!(sent, [1.0, 2.0], "B and C go to 3D as one, both parts of A to 2D");
    let bytes =
        ["to_first_bytes", "to_others_bytes"].map(|name| rig.measured(&format!("sub_requests.{name}")));
    assert_eq!(bytes, [81_920.0, 73_728.0]);
}

#[test]
fn without_combining_each_page_is_dispatched_by_itself() {
    let mut rig =
        Rig::new(two_pools(), "design = { name = 'centaur', condition = '64KiB', combining = false }");
    rig.submit(Operation::Write, 192 * KIB, 80 * KIB);
    rig.run_down_to(0);
    rig.flush();
    // The first page is destaged alone. The others wait until it is in flash, and are then destaged together.
    let bytes =
        ["to_first_bytes", "to_others_bytes"].map(|name| rig.measured(&format!("sub_requests.{name}")));
    assert_eq!(bytes, [73_728.0, 8_192.0]);
}

/// Large sequential pieces, then small random ones.
fn large_then_small(stealing: bool, migration: bool) -> [f64; 2] {
    let mut file = two_pools();
    // The buffer has space for more units than there are dies, so that some units wait.
    file.buffer.size = Bytes::mib(4);
    let settings = format!("stealing = {stealing}, migration = {migration}");
    let mut rig = Rig::new(file, &format!("design = {{ name = 'centaur', {settings} }}"));
    let units = rig.device.config().ftl.capacity().0 / (96 << 10);
    for unit in 0..units {
        rig.run_down_to(63);
        rig.submit(Operation::Write, unit * 96 * KIB, 96 * KIB);
    }
    let mut random = Seed(7).stream("test.designs", 0);
    for _ in 0..20_000 {
        rig.run_down_to(7);
        rig.submit(Operation::Write, random.below(units * 12) * 8 * KIB, 8 * KIB);
    }
    rig.flush();
    ["sub_requests.stolen", "sub_requests.migrated_units"].map(|name| rig.measured(name))
}

#[test]
fn stealing_and_migration_each_do_their_own_part() {
    for (stealing, migration) in [(false, false), (true, false), (false, true), (true, true)] {
        let [stolen, migrated] = large_then_small(stealing, migration);
        assert_eq!(stolen > 0.0, stealing, "{stolen} stolen, migration {migration}");
        assert_eq!(migrated > 0.0, migration, "{migrated} migrated, stealing {stealing}");
    }
}

#[test]
fn both_designs_keep_the_contract() {
    for design in ["design.name = 'centaur'", "design.name = 'slc-mlc-hybrid'"] {
        let (config, designs) =
            named(design).check(&Designs::default(), two_pools()).unwrap_or_else(|wrong| panic!("{wrong}"));
        contract::check_all(&config.file, |config| designs.combination(config));
    }
}

#[test]
fn streams_of_the_first_pool_go_beside_a_design_that_says_which_pool() {
    let mut file = two_pools();
    file.ftl.router = RouterKind::HotCold { window: 0.1 };
    let designs = named("design.name = 'centaur'");
    let (config, designs) =
        designs.check(&Designs::default(), file).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(config.ftl.file.streams().host, 3, "two in the first pool, and one in the second");
    contract::check_all(&config.file, |config| designs.combination(config));
}

#[test]
fn an_slc_cache_in_the_first_pool_and_a_mixed_order_of_word_lines_go_beside_centaur() {
    let us = Duration::from_us;
    let mut file = two_pools();
    file.ftl.mapping.whole_units = false;
    file.ftl.router = RouterKind::SlcCache { window: Some(0.2) };
    file.ftl.slc_cache = Some(SlcCacheFile { blocks: 2, ..SlcCacheFile::default() });
    file.ftl.frontier = FrontierKind::Mixed { layers: None };
    file.part.geometry.layers = 4;
    file.part.timing.slc = Some(SlcTiming { read: us(20), program: us(100), erase: us(1_000) });
    let designs = named("design = { name = 'centaur', migration = false }");
    let (config, designs) =
        designs.check(&Designs::default(), file).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(config.ftl.file.uses_slc_cache());
    contract::check_all(&config.file, |config| designs.combination(config));
}

/// Pools whose blocks were erased `first` times and `second` times.
fn worn(first: u64, second: u64) -> [PoolState; 2] {
    let worn = |erases| PoolWear { erases, blocks: 1_000, endurance: 1_000 };
    [first, second].map(|erases| PoolState { worn: worn(erases), ..PoolState::default() })
}

/// A piece of this many sectors from one host write.
fn piece(sectors: u32, pools: &[PoolState]) -> HostPage<'_> {
    HostPage { sectors, request: HostWrite { sector: 0, sectors }, pools, ..HostPage::of(0) }
}

#[test]
fn the_condition_moves_a_step_every_thousand_pieces_and_stays_in_its_range() {
    let mut dispatcher = Dispatcher::new(&CentaurFile::default());
    assert_eq!(dispatcher.condition(), Bytes::kib(72));
    for _ in 0..999 {
        dispatcher.pool(&piece(8, &worn(2, 1)));
    }
    assert_eq!(dispatcher.condition(), Bytes::kib(72));
    // Algorithm 1 adjusts the condition before it compares. So a piece of 72 KiB, the condition until now, is
    // below it.
    assert_eq!(dispatcher.pool(&piece(144, &worn(2, 1))), 1);
    assert_eq!(dispatcher.condition(), Bytes::kib(72) + Bytes(512));
    for _ in 0..40_000 {
        dispatcher.pool(&piece(8, &worn(2, 1)));
    }
    assert_eq!(dispatcher.condition(), Bytes::kib(88));
    // With equal endurance used the condition falls, as if the 2D chips had used more.
    for _ in 0..1_000 {
        dispatcher.pool(&piece(8, &worn(2, 2)));
    }
    assert_eq!(dispatcher.condition(), Bytes(88 * 1024 - 512));
    for _ in 0..200_000 {
        dispatcher.pool(&piece(8, &worn(1, 2)));
    }
    assert_eq!(dispatcher.condition(), Bytes::kib(32));
    assert_eq!([63, 64].map(|sectors| dispatcher.pool(&piece(sectors, &worn(1, 2)))), [1, 0]);
}

#[test]
fn the_hybrid_learns_what_is_small_from_the_last_epoch() {
    let file = HybridFile { epoch: 100, ..HybridFile::default() };
    let mut hybrid = Hybrid::new(&file, &config());
    assert_eq!([16, 17].map(|sectors| hybrid.pool_of(&piece(sectors, &worn(1, 1)))), [1, 0]);
    for n in 0..99 {
        hybrid.learn(if n % 3 == 0 { 128 } else { 24 });
    }
    assert_eq!(hybrid.threshold(), Bytes::kib(8), "the epoch is not over");
    hybrid.learn(24);
    assert_eq!(hybrid.threshold(), Bytes::kib(12));
    assert_eq!([24, 25].map(|sectors| hybrid.pool_of(&piece(sectors, &worn(1, 1)))), [1, 0]);
}

/// Bytes that the hybrid sends to each pool when `write` runs, and the dispatch condition at the end.
fn sent_by_the_hybrid(settings: &str, write: impl FnOnce(&mut Rig)) -> ([f64; 2], f64) {
    let mut rig = Rig::new(two_pools(), &format!("design = {{ name = 'slc-mlc-hybrid'{settings} }}"));
    write(&mut rig);
    rig.run_down_to(0);
    rig.flush();
    let bytes = ["to_first_bytes", "to_others_bytes"];
    (
        bytes.map(|name| rig.measured(&format!("sub_requests.{name}"))),
        rig.measured("sub_requests.condition_bytes"),
    )
}

#[test]
fn the_hybrid_goes_by_what_the_host_asked_for_and_not_by_what_the_buffer_made_of_it() {
    let small = |rig: &mut Rig| (0..6).for_each(|n| rig.submit(Operation::Write, n * 8 * KIB, 8 * KIB));
    assert_eq!(sent_by_the_hybrid("", small).0, [0.0, 49_152.0], "48 KiB of one unit, in writes of 8 KiB");
    let large = |rig: &mut Rig| rig.submit(Operation::Write, 0, 48 * KIB);
    assert_eq!(sent_by_the_hybrid("", large).0, [49_152.0, 0.0], "in one write");
    let both = |rig: &mut Rig| {
        rig.submit(Operation::Write, 0, 8 * KIB);
        rig.submit(Operation::Write, 8 * KIB, 16 * KIB);
    };
    assert_eq!(sent_by_the_hybrid("", both).0, [24_576.0, 0.0], "the largest of a unit decides");
    let over = |rig: &mut Rig| {
        rig.submit(Operation::Write, 0, 16 * KIB);
        (0..2).for_each(|n| rig.submit(Operation::Write, n * 8 * KIB, 8 * KIB));
    };
    assert_eq!(sent_by_the_hybrid("", over).0, [0.0, 16_384.0], "the last write of a page counts");
}

#[test]
fn the_hybrid_counts_each_write_once_and_not_at_all_without_clusters() {
    // Two writes of 24 KiB, which begin 4 KiB into a unit and touch four pages each, and two of 96 KiB.
    let write = |rig: &mut Rig| {
        for n in 0..2 {
            rig.submit(Operation::Write, (n * 96 + 4) * KIB, 24 * KIB);
            rig.submit(Operation::Write, (n + 2) * 96 * KIB, 96 * KIB);
        }
    };
    let least = |settings: &str| sent_by_the_hybrid(settings, write).1;
    assert_eq!(least(", epoch = 4"), 24.0 * 1024.0 + 512.0);
    assert_eq!(least(", epoch = 5"), 8.0 * 1024.0 + 512.0, "four writes are no epoch of five");
    assert_eq!(least(", epoch = 4, clustering = false"), 8.0 * 1024.0 + 512.0);
}

#[test]
fn the_hybrid_spares_the_chips_that_wear_faster_by_the_difference() {
    let sent = |file: &HybridFile, pools: [PoolState; 2]| {
        let mut hybrid = Hybrid::new(file, &config());
        (0..1_000).filter(|_| hybrid.pool_of(&piece(8, &pools)) == 0).count()
    };
    let file = HybridFile::default();
    assert_eq!(sent(&file, worn(3, 4)), 250, "a quarter less is spent in the first pool");
    assert_eq!(sent(&file, worn(4, 3)), 0);
    assert_eq!(sent(&HybridFile { level_lifetimes: false, ..file }, worn(3, 4)), 0);
}

/// The complaints about a device with these designs.
fn refused(designs: &str, file: DeviceFile) -> Vec<String> {
    let wrong = named(designs).check(&Designs::default(), file).expect_err("it does not go together");
    wrong.0.into_iter().map(|complaint| complaint.key).collect()
}

/// The message about misplaced settings.
fn misplaced(text: &str) -> String {
    let mut table: Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    DesignsFile::take_from(&mut table).expect_err("they stand in the wrong place").to_string()
}

#[test]
fn what_does_not_go_with_a_design_is_named() {
    for design in ["design.name = 'centaur'", "design.name = 'slc-mlc-hybrid'"] {
        assert_eq!(refused(design, small()), ["design.name"]);
        let mut file = two_pools();
        file.ftl.router = RouterKind::BySize { least: Bytes::kib(64) };
        assert_eq!(refused(design, file), ["ftl.router.policy"]);
    }
    let wrong = refused("design = { name = 'centaur', condition = '16000B', adjust_every = 0 }", two_pools());
    assert_eq!(wrong, ["design.condition", "design.condition", "design.adjust_every"]);
    let mut paged = two_pools();
    paged.ftl.mapping.whole_units = false;
    assert_eq!(refused("design = { name = 'centaur', least = '8KiB' }", paged), ["design.migration"]);
    let wrong = refused("design = { name = 'slc-mlc-hybrid', epoch = 0, threshold = '0B' }", two_pools());
    assert_eq!(wrong, ["design.epoch", "design.threshold"]);
}

#[test]
fn designs_in_a_list_have_their_settings_by_name() {
    let wrong = refused("designs = ['centaur']\ndesign.centaur.condition = '16000B'", two_pools());
    assert_eq!(wrong, ["design.centaur.condition", "design.centaur.condition"]);
    assert_eq!(refused("designs = ['centaur']", small()), ["designs"]);
    assert_eq!(refused("designs = ['centaur', 'centuar']", two_pools()), ["designs[1]"]);
    let beside = "design = { name = 'centaur', centaur = { step = '1KiB' } }";
    assert_eq!(
        misplaced(beside),
        "design.centaur.step: found \"1KiB\", wanted design.step: settings of a single design are given beside design.name"
    );
    assert_eq!(
        misplaced("designs = ['centaur']\ndesign.step = '1KiB'"),
        "design.step: found \"1KiB\", wanted a setting in the table of its design: design.centaur.step"
    );
    assert_eq!(
        refused("designs = ['centaur']\ndesign.slc-mlc-hybrid.epoch = 5", two_pools()),
        ["design.slc-mlc-hybrid"]
    );
    let both = "designs = ['centaur', 'slc-mlc-hybrid']";
    assert_eq!(refused(both, two_pools()), ["decides.pool"], "both say which pool a piece goes to");
    assert_eq!(refused(&format!("{both}\ndecides.pol = 'centaur'"), two_pools()), ["decides.pol"]);
    let decided = named(&format!("{both}\ndecides.pool = 'slc-mlc-hybrid'"));
    let (_, chosen) = decided.check(&Designs::default(), two_pools()).expect("the one decides");
    assert_eq!(chosen.names().collect::<Vec<_>>(), ["centaur", "slc-mlc-hybrid"]);
    let mut table = Table::new();
    chosen.file().put_into(&mut table);
    assert_eq!(table["design"]["centaur"]["adjust_every"].as_integer(), Some(1_000), "with all settings");
    let again = DesignsFile::take_from(&mut table).expect("it was just written");
    assert_eq!(&again, chosen.file());
}

proptest! {
    #[test]
    fn every_piece_goes_to_one_of_the_two_pools(
        pieces in prop::collection::vec((1u32..=192, 0u64..1_000, 0u64..1_000), 1..3_000),
    ) {
        let (file, config) = (CentaurFile { adjust_every: 7, ..CentaurFile::default() }, config());
        let mut dispatcher = Dispatcher::new(&file);
        let mut hybrid = Hybrid::new(&HybridFile { epoch: 50, ..HybridFile::default() }, &config);
        for (sectors, first, second) in pieces {
            let pools = worn(first, second);
            let piece = piece(sectors, &pools);
            hybrid.learn(sectors);
            prop_assert!(dispatcher.pool(&piece) < 2 && hybrid.pool_of(&piece) < 2);
            prop_assert!((file.least..=file.most).contains(&dispatcher.condition()));
            prop_assert!(hybrid.threshold() <= Bytes::kib(96));
        }
    }
}
