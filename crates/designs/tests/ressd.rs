//! ReSSD in a small device: the figures of the paper step by step, the separation by age, and the contract of
//! designs.

use wordline_designs::Designs;
use wordline_designs::ressd::{Overhead, ReSsd, ReSsdFile, WhenAllValid};
use wordline_device::Operation;
use wordline_ftl::blocks::State;
use wordline_ftl::config::{FtlFile, TwoBitFile};
use wordline_kernel::{Duration, Seed};
use wordline_nand::{BlockSetId, CellMode, PlaneGroupId};
use wordline_ssd::{DeviceFile, contract};

use crate::rig::{Rig, named};

/// Sectors of a page.
const SECTORS: u64 = 8;

/// Word lines of a super layer: two layers of two.
const PER_SUPER_LAYER: u32 = 4;

/// One plane with blocks of four layers of two word lines.
pub fn one_plane() -> DeviceFile {
    let mut file = contract::small_with_two_bits();
    (file.layout.channels, file.layout.dies_per_package) = (1, 1);
    let geometry = &mut file.part.geometry;
    (geometry.planes, geometry.layers, geometry.pages_per_block) = (1, 4, 24);
    geometry.blocks_per_plane = 96;
    file.ftl.over_provisioning = 0.6;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 5);
    file
}

fn rig(settings: &str) -> Rig {
    Rig::new(one_plane(), &format!("design = {{ name = 'ressd', {settings} }}"))
}

/// Writes pages that are destaged together.
fn write(rig: &mut Rig, pages: &[u64]) {
    pages.iter().for_each(|page| rig.submit(Operation::Write, page * SECTORS, SECTORS));
    rig.flush();
}

/// The hot blocks in the order in which they were opened.
fn hot_blocks(rig: &Rig) -> Vec<BlockSetId> {
    let space = &rig.device.ftl().blocks;
    let all = space.pools().all_blocks().filter(|block| space.table().mode(*block) == CellMode::Mlc);
    let mut all: Vec<BlockSetId> = all.filter(|block| space.table().state(*block) != State::Free).collect();
    all.sort_by_key(|block| space.table().opening_number(*block));
    all
}

/// The logical pages on a word line of a hot block (`None` for an invalid page), and the reprogram passes of
/// the word line.
fn word_line(rig: &Rig, block: BlockSetId, line: u32) -> ([Option<u32>; 2], u8) {
    let ftl = rig.device.ftl();
    let (space, chips) = (&ftl.blocks, ftl.flash.chips());
    let at = |page| space.pools().at(block, line * 2 + page);
    let held = [0, 1].map(|page| space.table().is_valid(at(page)).then(|| chips.stamp(at(page)).logical));
    (held, chips.reprograms(space.pools().page_of(at(0))))
}

fn super_layer(rig: &Rig, block: BlockSetId, number: u32) -> Vec<([Option<u32>; 2], u8)> {
    (number * PER_SUPER_LAYER..(number + 1) * PER_SUPER_LAYER)
        .map(|line| word_line(rig, block, line))
        .collect()
}

/// A device with pages 0 to 20 written once, to normal blocks.
fn with_normal_pages(settings: &str) -> Rig {
    let mut rig = rig(settings);
    (0..7).for_each(|n| write(&mut rig, &[3 * n, 3 * n + 1, 3 * n + 2]));
    assert_eq!((rig.measured("ressd.normal"), rig.measured("ressd.updates")), (21.0, 0.0));
    assert!(hot_blocks(&rig).is_empty());
    rig
}

#[test]
fn updates_fill_super_layers_of_a_hot_block_as_in_figure_8() {
    let mut rig = with_normal_pages("when_all_valid = 'next-super-layer'");
    for pair in [[0, 1], [2, 3], [4, 5], [6, 7]] {
        write(&mut rig, &pair);
    }
    let [block] = hot_blocks(&rig)[..] else { panic!("one hot block") };
    let first = [[0, 1], [2, 3], [4, 5], [6, 7]].map(|pair| (pair.map(Some), 0)).to_vec();
    assert_eq!(super_layer(&rig, block, 0), first);
    assert_eq!(rig.measured("ressd.super_layers"), 1.0);

    // All pages of the first super layer are valid. The same data, written for the third time, begin the
    // second super layer.
    write(&mut rig, &[0, 8]);
    assert_eq!(word_line(&rig, block, PER_SUPER_LAYER), ([Some(0), Some(8)], 0));
    assert_eq!(rig.measured("ressd.super_layers"), 2.0);
    // The first super layer is passed over: its invalid page is not reprogrammed.
    write(&mut rig, &[9, 10]);
    assert_eq!(word_line(&rig, block, PER_SUPER_LAYER + 1), ([Some(9), Some(10)], 0));
    assert_eq!(word_line(&rig, block, 0), ([None, Some(1)], 0));
    assert_eq!((rig.measured("ressd.hot_1"), rig.measured("flash.reprogrammed")), (12.0, 0.0));
}

/// The writes of figure 9 up to time 3. The figure does not name the partner of P0 in the last word line;
/// here it is P5.
fn figure_9(rig: &mut Rig) -> BlockSetId {
    for pair in [[0, 1], [2, 3], [3, 4], [0, 5]] {
        write(rig, &pair);
    }
    let [block] = hot_blocks(rig)[..] else { panic!("one hot block") };
    let expected =
        [([None, Some(1)], 0), ([Some(2), None], 0), ([Some(3), Some(4)], 0), ([Some(0), Some(5)], 0)];
    assert_eq!(super_layer(rig, block, 0), expected, "time 1");
    for (page, line, holds) in [(6, 0, [6, 1]), (4, 1, [2, 4]), (1, 2, [3, 1])] {
        write(rig, &[page]);
        assert_eq!(word_line(rig, block, line), (holds.map(Some), 1), "time 2: P{page}");
    }
    write(rig, &[8]);
    let expected =
        [([Some(6), Some(8)], 2), ([Some(2), Some(4)], 1), ([Some(3), Some(1)], 1), ([Some(0), Some(5)], 0)];
    assert_eq!(super_layer(rig, block, 0), expected, "time 3");
    block
}

#[test]
fn word_lines_are_programmed_again_as_in_figure_9() {
    let mut rig = with_normal_pages("passive_reclaim = false");
    let block = figure_9(&mut rig);
    assert_eq!((rig.measured("flash.reprogrammed"), rig.measured("flash.padding")), (4.0, 0.0));

    // All pages are valid, and word lines have reprogram passes left. So the block becomes a candidate, and
    // another block is written.
    write(&mut rig, &[9, 10]);
    let space = &rig.device.ftl().blocks;
    assert_eq!((space.table().state(block), rig.measured("ressd.suspended")), (State::Suspended, 1.0));
    let [_, second] = hot_blocks(&rig)[..] else { panic!("a second hot block") };
    assert_eq!(word_line(&rig, second, 0), ([Some(9), Some(10)], 0));

    // An update of a page of the candidate goes to the second block. The next page is reprogrammed in place
    // of the old version.
    write(&mut rig, &[2, 11]);
    assert_eq!(word_line(&rig, second, 1), ([Some(2), Some(11)], 0));
    write(&mut rig, &[12]);
    assert_eq!(word_line(&rig, block, 1), ([Some(12), Some(4)], 2));
    // A block with an invalid page but no reprogram pass left is passed over.
    write(&mut rig, &[6, 13]);
    assert_eq!(word_line(&rig, block, 0), ([None, Some(8)], 2));
    write(&mut rig, &[14, 15]);
    assert_eq!(word_line(&rig, second, 3), ([Some(14), Some(15)], 0));
    assert_eq!(word_line(&rig, block, 0), ([None, Some(8)], 2));
}

#[test]
fn the_pages_of_a_candidate_complete_word_lines_of_the_host() {
    let mut rig = with_normal_pages("");
    let first = figure_9(&mut rig);
    // The candidate is reclaimed when another block begins in its place.
    write(&mut rig, &[9, 10]);
    let [_, second] = hot_blocks(&rig)[..] else { panic!("a second hot block") };
    assert_eq!(word_line(&rig, second, 0), ([Some(9), Some(10)], 0));
    assert_eq!((rig.measured("ressd.reclaimed"), rig.measured("flash.unit_programs")), (1.0, 0.0));
    // Meanwhile GC reads the eight pages of the candidate. Each host page is programmed with two of them.
    for _ in 0..50 {
        rig.submit(Operation::Read, 0, SECTORS);
        rig.run_down_to(0);
    }
    for (n, page) in (21..25).enumerate() {
        write(&mut rig, &[page]);
        assert_eq!(rig.measured("flash.unit_programs"), 2.0 * (n as f64 + 1.0));
    }
    let held = super_layer(&rig, first, 0);
    assert_eq!(held, [2, 1, 1, 0].map(|times| ([None, None], times)));
    assert_eq!((rig.measured("flash.padding"), rig.measured("flash.gc_programs")), (0.0, 0.0));
    // The word lines of the candidate are reprogrammed, first the one with the fewest passes.
    write(&mut rig, &[19]);
    assert_eq!(word_line(&rig, first, 3), ([Some(19), None], 1));
    // While its super layer has a reprogram pass left, the level programs nothing else.
    for page in [11, 12, 13] {
        write(&mut rig, &[page]);
    }
    assert_eq!(rig.measured("ressd.super_layers"), 2.0);
    assert_eq!(word_line(&rig, second, 1), ([None, None], 0));
    // All relocated pages can be read.
    (0..25).for_each(|page| rig.submit(Operation::Read, page * SECTORS, SECTORS));
    rig.flush();
}

#[test]
fn hot_pages_without_a_place_complete_word_lines_too() {
    let mut rig = with_normal_pages("");
    let first = figure_9(&mut rig);
    write(&mut rig, &[9, 10]);
    let [_, second] = hot_blocks(&rig)[..] else { panic!("a second hot block") };
    // GC reads the eight pages of the candidate. The updates have no invalid page to take, so each goes to a
    // normal block with two of the eight pages.
    for _ in 0..50 {
        rig.submit(Operation::Read, 0, SECTORS);
        rig.run_down_to(0);
    }
    for (n, page) in (11..15).enumerate() {
        write(&mut rig, &[page]);
        assert_eq!(rig.measured("flash.unit_programs"), 2.0 * (n as f64 + 1.0));
        assert_eq!(word_line(&rig, second, 1), ([None, None], 0), "no word line is begun");
    }
    assert_eq!((rig.measured("ressd.hot_1"), rig.measured("flash.padding")), (18.0, 0.0));
    assert_eq!(super_layer(&rig, first, 0), [2, 1, 1, 0].map(|times| ([None, None], times)));
    // The next page is reprogrammed in the candidate.
    write(&mut rig, &[15]);
    assert_eq!(word_line(&rig, first, 3), ([Some(15), None], 1));
}

#[test]
fn nothing_is_left_in_earlier_super_layers_of_a_candidate_that_was_reclaimed() {
    let mut rig = with_normal_pages("candidates = 2");
    let (mut before, mut seen) = (None, 0);
    for n in 0..4_000_u64 {
        write(&mut rig, &[n * n % 21, n * 7 % 19]);
        let space = &rig.device.ftl().blocks;
        let vacated = space
            .pool_of(PlaneGroupId(0))
            .vacated(PlaneGroupId(0))
            .map(|block| (block, space.table().opening_number(block)));
        if let Some((block, opening)) = before.filter(|before| Some(*before) != vacated)
            && (space.table().opening_number(block), space.table().mode(block)) == (opening, CellMode::Mlc)
            && space.word_line(block, PER_SUPER_LAYER).again.is_some()
            && space.table().state(block) != State::Victim
        {
            seen += 1;
            let held = super_layer(&rig, block, 0);
            assert!(held.iter().all(|(pages, _)| *pages == [None, None]), "{block:?} holds {held:?}");
        }
        before = vacated;
    }
    assert!(seen > 10, "{seen} candidates with two super layers");
}

#[test]
fn a_candidate_without_rewrites_is_opened_again_for_its_next_super_layer() {
    let mut rig = with_normal_pages("");
    let block = figure_9(&mut rig);
    write(&mut rig, &[9, 10]);
    // Pages of the candidate are updated repeatedly. Each update takes an invalid page, until no reprogram
    // pass is left.
    for _ in 0..40 {
        for page in [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12] {
            write(&mut rig, &[page]);
        }
    }
    assert!(rig.measured("ressd.resumed") > 0.0 && rig.measured("ressd.super_layers") > 3.0);
    let most = (0..8).map(|line| word_line(&rig, block, line).1).max();
    assert!(most <= Some(2));
}

#[test]
fn a_full_candidate_without_rewrites_is_closed() {
    let mut rig = with_normal_pages("passive_reclaim = false, candidates = 4");
    let is_spent = |rig: &Rig, block: BlockSetId| {
        let last = super_layer(rig, block, 1);
        last.iter().all(|(_, times)| *times == 2)
    };
    let (mut suspended, mut closed) = (false, false);
    for n in 0..400 {
        write(&mut rig, &[n * n % 21, n * 7 % 19]);
        for block in hot_blocks(&rig) {
            let state = rig.device.ftl().blocks.table().state(block);
            assert!(state != State::Suspended || !is_spent(&rig, block), "{block:?} after {n} writes");
            suspended |= state == State::Suspended;
            closed |= state == State::Closed && is_spent(&rig, block);
        }
    }
    assert!(suspended && closed);
}

#[test]
fn data_are_as_hot_as_what_they_replace_is_young() {
    // Reads of about 30 us advance the time.
    let ages = "thresholds = ['20ms', '40ms', '60ms'], rewrites = 0";
    for (reads, level) in [(100, "hot_1"), (900, "hot_2"), (1_600, "hot_3"), (2_500, "normal")] {
        let mut rig = rig(ages);
        write(&mut rig, &[0, 1, 2]);
        for _ in 0..reads {
            rig.submit(Operation::Read, 0, SECTORS);
            rig.run_down_to(0);
        }
        let before = rig.measured(&format!("ressd.{level}"));
        write(&mut rig, &[0]);
        assert_eq!(rig.measured(&format!("ressd.{level}")) - before, 1.0, "after {reads} reads");
        assert_eq!(rig.measured("ressd.updates"), 1.0);
    }
}

#[test]
fn the_time_stamp_of_a_hot_block_is_that_of_its_last_super_layer() {
    let mut rig =
        with_normal_pages("thresholds = ['20ms', '40ms', '60ms'], when_all_valid = 'next-super-layer'");
    for pair in [[0, 1], [2, 3], [4, 5], [6, 7]] {
        write(&mut rig, &pair);
    }
    for _ in 0..900 {
        rig.submit(Operation::Read, 0, SECTORS);
        rig.run_down_to(0);
    }
    let counted =
        |rig: &Rig| ["hot_1", "hot_2", "super_layers"].map(|name| rig.measured(&format!("ressd.{name}")));
    assert_eq!(counted(&rig), [8.0, 0.0, 1.0]);
    // Normal pages fill their block and begin another one. So an update of one of them belongs to the hottest
    // level. This update begins the second super layer of the hot block.
    write(&mut rig, &[21, 22, 23]);
    write(&mut rig, &[24, 25, 26]);
    write(&mut rig, &[24]);
    assert_eq!(counted(&rig), [9.0, 0.0, 2.0]);
    // Page 4 was written long ago, but its block has a new time stamp.
    write(&mut rig, &[4]);
    assert_eq!(counted(&rig), [10.0, 0.0, 2.0]);
}

#[test]
fn data_from_before_the_run_are_normal() {
    let mut rig = rig("");
    rig.device.fill_steady(Seed(1));
    let [hot, updates] = ["ressd.hot_1", "ressd.updates"].map(|name| rig.measured(name));
    assert!(hot == 0.0 && updates > 0.0, "{hot} hot of {updates}");
    // First a block of old data is replaced, and then young data.
    (0..8).for_each(|n| write(&mut rig, &[3 * n, 3 * n + 1, 3 * n + 2]));
    assert_eq!(rig.measured("ressd.hot_1"), 0.0);
    write(&mut rig, &[23]);
    assert_eq!(rig.measured("ressd.hot_1"), 1.0);
}

#[test]
fn it_keeps_the_contract_of_designs() {
    let mut file = contract::small_with_two_bits();
    file.part.geometry.blocks_per_plane = 96;
    file.part.geometry.layers = 4;
    file.ftl.over_provisioning = 0.55;
    let us = Duration::from_us;
    let ages = [us(3_000), us(10_000), us(30_000)];
    // With and without a limit on blocks in MLC mode.
    for (limited, rewrites, candidates, when_all_valid) in [
        (false, 2, 4, WhenAllValid::Suspend),
        (true, 1, 0, WhenAllValid::Suspend),
        (true, 2, 3, WhenAllValid::NextSuperLayer),
        (false, 0, 0, WhenAllValid::Suspend),
    ] {
        let settings =
            ReSsdFile { thresholds: ages, rewrites, candidates, when_all_valid, passive_reclaim: true };
        let two_bit = if limited { file.ftl.two_bit } else { Some(TwoBitFile::default()) };
        let file = DeviceFile { ftl: FtlFile { two_bit, ..file.ftl.clone() }, ..file.clone() };
        contract::check(&file, |config| Box::new(ReSsd::new(&settings, config)));
    }
}

#[test]
fn its_memory_follows_from_blocks_planes_and_word_lines() {
    let config = one_plane().check().expect("the device is sound").ftl;
    let overhead = Overhead::of(&config, 2);
    // 96 blocks of 8 word lines on one plane. Three pointers have 7 and 3 bits each.
    let Overhead { stamps, tags, pointers, word_lines, saved_per_block } = overhead;
    assert_eq!((stamps, tags, pointers, word_lines), (384, 36, 4, 576));
    assert_eq!((overhead.total(), saved_per_block), (1_000, 56));
    let never = Overhead::of(&config, 0);
    assert_eq!(
        (never.stamps, never.word_lines, never.saved_per_block),
        (384, 0, 0),
        "no word line is programmed again"
    );
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let complaint = |settings: &str, file: DeviceFile| {
        let design = named(&format!("design = {{ name = 'ressd', {settings} }}"));
        design.check(&Designs::default(), file).map(drop).expect_err("it is refused").to_string()
    };
    let wrong = complaint("thresholds = ['30min', '20min', '1h']", one_plane());
    assert!(wrong.contains("thresholds") && wrong.contains("ages that rise"), "{wrong}");
    let wrong = complaint("rewrites = 3", one_plane());
    assert!(wrong.contains("rewrites") && wrong.contains("at most 2"), "{wrong}");
    let wrong = complaint("candidates = 13", one_plane());
    assert!(wrong.contains("candidates") && wrong.contains("at most 12"), "{wrong}");
    let mut without = one_plane();
    without.part.timing.reprogram = None;
    let wrong = complaint("", without);
    assert!(wrong.contains("part.timing.reprogram"), "{wrong}");
    let mut odd = one_plane();
    (odd.part.geometry.layers, odd.part.geometry.pages_per_block) = (3, 18);
    let wrong = complaint("", odd);
    assert!(wrong.contains("whole super layers of 2 layers"), "{wrong}");
}
