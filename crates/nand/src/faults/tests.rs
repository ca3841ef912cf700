use wordline_kernel::{Bytes, Calendar, Schedule, Seed};

use super::*;
use crate::geometry::{BlockSetId, DieId, Layout, PageId};
use crate::part::tests::mqsim;
use crate::{Chips, Command, CommandCompletion, DataTag, Location, Operation, Pools};

/// Chips of two dies, each with one group of two planes, and their calendar.
struct Rig {
    chips: Chips,
    calendar: Calendar<crate::Event>,
}

impl Rig {
    fn new(rules: &[FaultFile]) -> Self {
        let part = mqsim();
        let geometry = layout().check(&part).expect("the layout is sound");
        let rules: Vec<Fault> =
            rules.iter().map(|rule| rule.check(&geometry).expect("the rule is sound")).collect();
        let mut chips = Chips::new(Pools::of_pages(part, geometry));
        chips.inject(&rules, Seed(1));
        Self { chips, calendar: Calendar::new() }
    }

    fn run(&mut self, operation: Operation, page: u32) -> CommandCompletion {
        let geometry = *self.chips.geometry();
        let page = PageId(page);
        let die = geometry.die_of(geometry.block_of(page));
        let command = Command::new(operation, page, 2, Bytes(0));
        self.chips.begin(die, command, &mut self.calendar);
        loop {
            let event = self.calendar.advance().expect("the command ends");
            if let Some(done) = self.chips.handle(event, &mut self.calendar) {
                return done;
            }
        }
    }

    /// Programs `page` and its neighbour with data.
    fn program(&mut self, page: u32) -> bool {
        let die = self.chips.geometry().die_of(self.chips.geometry().block_of(PageId(page)));
        self.chips.registers(die).fill(DATA);
        self.run(Operation::Program, page).failed
    }

    fn erase(&mut self, page: u32) -> bool {
        self.run(Operation::Erase, page).failed
    }

    fn read(&mut self, page: u32) -> u16 {
        let done = self.run(Operation::Read, page);
        assert_eq!(done.failed, done.failed_planes != 0);
        done.failed_planes
    }
}

const DATA: DataTag = DataTag { logical: 1, version: 1 };

/// Pages of a block set: 8 pages in two planes.
const ROW_BLOCK: u32 = 16;

fn layout() -> Layout {
    Layout::on_one_channel(2, None)
}

fn rule(fails: Fails) -> FaultFile {
    FaultFile::new(fails)
}

#[test]
fn a_rule_that_names_a_plane_fails_there_alone() {
    let plane = |fails| FaultFile { plane: Some(NumberRange::from(1)), nth: Some(2), ..rule(fails) };
    let mut rig = Rig::new(&[plane(Fails::Program), plane(Fails::Erase)]);
    for (page, failed) in [(0, 0), (2, 0b10), (4, 0)] {
        rig.chips.registers(DieId(0)).fill(DATA);
        assert_eq!(rig.run(Operation::Program, page).failed_planes, failed);
    }
    assert_eq!([2, 3].map(|location| rig.chips.stamp(Location(location))), [DATA, DataTag::UNREADABLE]);
    assert_eq!((rig.read(2), rig.read(4)), (0b10, 0));
    assert_eq!(rig.run(Operation::Erase, 0).failed_planes, 0);
    assert_eq!(rig.run(Operation::Erase, 0).failed_planes, 0b10);
}

#[test]
fn the_nth_program_fails_and_leaves_nothing_that_can_be_read() {
    let mut rig = Rig::new(&[FaultFile { nth: Some(2), ..rule(Fails::Program) }]);
    let failed: Vec<bool> = (0..4).map(|n| rig.program(2 * n)).collect();
    assert_eq!(failed, [false, true, false, false]);
    assert_eq!(rig.chips.stamp(Location(2)), DataTag::UNREADABLE);
    assert!(!DataTag::UNREADABLE.is_data());
    assert_eq!((rig.read(0), rig.read(2), rig.read(4)), (0, 0b11, 0));
}

#[test]
fn every_third_erase_fails_and_leaves_the_block_as_it_was() {
    let mut rig = Rig::new(&[FaultFile { every: Some(3), ..rule(Fails::Erase) }]);
    let mut failed = Vec::new();
    for _ in 0..6 {
        if rig.chips.programmed(BlockSetId(0)) == 0 {
            rig.program(0);
        }
        failed.push(rig.erase(0));
        let left = if failed.ends_with(&[true]) { DATA } else { DataTag::ERASED };
        assert_eq!(rig.chips.stamp(Location(0)), left);
    }
    assert_eq!(failed, [false, false, true, false, false, true]);
    assert_eq!(rig.chips.erases()[BlockSetId(0)], 6, "a failed erase wears, too");
}

#[test]
fn a_rule_with_an_address_strikes_there_alone() {
    let at = FaultFile {
        die: Some(1.into()),
        plane: Some(1.into()),
        block: Some(3.into()),
        page: Some("2..3".parse().expect("a range")),
        ..rule(Fails::Read)
    };
    let mut rig = Rig::new(&[at]);
    let struck = (16 + 3) * ROW_BLOCK;
    for first in [0, 3 * ROW_BLOCK, 16 * ROW_BLOCK, struck] {
        for page in 0..8 {
            let wanted = if first == struck && (2..=3).contains(&page) { 0b10 } else { 0 };
            assert_eq!(rig.read(first + 2 * page), wanted, "page {page} of {first}");
        }
    }
}

#[test]
fn a_probability_is_that_of_each_operation() {
    let mut rig = Rig::new(&[FaultFile { probability: Some(0.25), ..rule(Fails::Erase) }]);
    let failed = (0..4_000).filter(|_| rig.erase(0)).count();
    // 1000 are expected; the bounds are three standard deviations of 27.4 away.
    assert!((918..=1082).contains(&failed), "{failed} of 4000");
}

#[test]
fn wear_makes_a_rule_likelier_from_one_count_of_erases_to_another() {
    let wear = Some(WearFile { from: 1_000, to: 3_000 });
    let mut rig = Rig::new(&[FaultFile { wear, ..rule(Fails::Erase) }]);
    let failed: Vec<usize> = (0..4).map(|_| (0..1_000).filter(|_| rig.erase(0)).count()).collect();
    assert_eq!((failed[0], failed[3]), (0, 1_000));
    // The expected failures of a thousand are a quarter and three quarters of it, with a standard deviation
    // below 14.
    assert!((208..=292).contains(&failed[1]) && (708..=792).contains(&failed[2]), "{failed:?}");
}

#[test]
fn a_page_that_needs_two_senses_more_is_read_by_the_third() {
    let read = FaultFile { nth: Some(1), retries: Some(2.into()), ..rule(Fails::Read) };
    let mut rig = Rig::new(&[read]);
    let senses: Vec<u16> = (0..4).map(|_| rig.read(0)).collect();
    assert_eq!(senses, [1, 1, 0, 0]);
}

#[test]
fn a_page_that_cannot_be_read_is_lost_until_its_block_is_erased() {
    let mut rig = Rig::new(&[FaultFile { nth: Some(1), ..rule(Fails::Read) }]);
    rig.program(0);
    assert_eq!((rig.read(0), rig.read(0), rig.read(2)), (1, 1, 0));
    assert!(!rig.erase(0));
    rig.program(0);
    assert_eq!(rig.read(0), 0);
}

#[test]
fn a_copyback_takes_the_errors_of_a_page_along_for_good() {
    // The copyback senses both planes: its second sense reads page 1.
    let mut rig = Rig::new(&[FaultFile { nth: Some(2), retries: Some(1.into()), ..rule(Fails::Read) }]);
    rig.program(0);
    let per_block = rig.chips.geometry().pages_per_block_set();
    let to = PageId(per_block);
    assert!(!rig.run(Operation::Copyback { to }, 0).failed, "the chip does not know");
    // The source can be read with other voltages. Data that were written with errors cannot.
    assert_eq!((rig.read(per_block), rig.read(per_block), rig.read(per_block)), (0b10, 0b10, 0b10));
    rig.read(0);
    assert_eq!(rig.read(0), 0);
    rig.erase(per_block);
    assert_eq!(rig.read(per_block), 0, "an erase ends it");
}

#[test]
fn a_lost_die_fails_every_command_and_leaves_the_others_alone() {
    let mut rig = Rig::new(&[FaultFile { nth: Some(3), die: Some(0.into()), ..rule(Fails::Die) }]);
    let other = 16 * ROW_BLOCK;
    assert!(!rig.program(0) && !rig.program(other) && !rig.program(2));
    assert!(rig.program(4), "the third command of die 0 is its last");
    assert!(rig.chips.has_failed(DieId(0)) && rig.chips.failed_dies() == 1);
    assert_eq!((rig.read(0), rig.erase(0)), (0b11, true));
    assert_eq!((rig.read(other), rig.erase(other)), (0, false));
}

#[test]
fn a_die_is_lost_at_its_time() {
    // An erase takes 3.8 ms: the second one ends after 4 ms.
    let at = Some(Duration::from_ms(4));
    let mut rig = Rig::new(&[FaultFile { at, ..rule(Fails::Die) }]);
    assert_eq!((rig.erase(0), rig.erase(0)), (false, true));
    assert!(rig.calendar.now() > Instant::ZERO + Duration::from_ms(4));
}

#[test]
fn factory_bad_blocks_are_those_of_the_address_or_as_many_as_is_likely() {
    let block = Some("4..5".parse().expect("a range"));
    let rig = Rig::new(&[FaultFile { plane: Some(0.into()), block, ..rule(Fails::FactoryBad) }]);
    assert_eq!(rig.chips.factory_bad(), [4, 5, 20, 21].map(BlockSetId));
    let geometry = *rig.chips.geometry();
    let file = FaultFile { probability: Some(0.01), ..rule(Fails::FactoryBad) };
    let rule = file.check(&geometry).expect("a rule");
    // Two planes give a probability of 0.0199 per block set. The mean of 16 block sets is 0.318; the bound is
    // six deviations of 0.559 above it.
    assert_eq!(max_factory_bad(&[rule], &geometry, crate::PlaneGroupId(0)), 4);
    let mut all = 0;
    for seed in 0..200 {
        all += Faults::new(&[rule], &Pools::of_pages(mqsim(), geometry), Seed(seed)).factory_bad().len();
    }
    // 127 of 6,400 expected, with a standard deviation of 11.2.
    assert!((94..=160).contains(&all), "{all}");
}

#[test]
fn one_rule_does_not_change_what_another_decides() {
    let half = FaultFile { probability: Some(0.5), ..rule(Fails::Erase) };
    let reads = FaultFile { probability: Some(0.5), ..rule(Fails::Read) };
    let erases = |rules: &[FaultFile]| -> Vec<bool> {
        let mut rig = Rig::new(rules);
        (0..50)
            .map(|n| {
                rig.read(n % 16 / 2 * 2);
                rig.erase(0)
            })
            .collect()
    };
    assert_eq!(erases(std::slice::from_ref(&half)), erases(&[half, reads]));
}

#[test]
fn a_rule_that_means_nothing_is_a_complaint() {
    let geometry = layout().check(&mqsim()).expect("the layout is sound");
    let complaints = |file: FaultFile| -> Vec<String> {
        let wrong = file.check(&geometry).expect_err("the rule is wrong");
        wrong.0.into_iter().map(|complaint| complaint.key).collect()
    };
    assert_eq!(complaints(rule(Fails::Program)), ["fails"]);
    assert_eq!(complaints(FaultFile { probability: Some(1.5), ..rule(Fails::Read) }), ["probability"]);
    assert_eq!(complaints(FaultFile { nth: Some(0), ..rule(Fails::Read) }), ["nth"]);
    assert_eq!(complaints(FaultFile { nth: Some(1), every: Some(2), ..rule(Fails::Read) }), ["every"]);
    assert_eq!(complaints(FaultFile { die: Some(2.into()), ..rule(Fails::Die) }), ["die"]);
    assert_eq!(complaints(FaultFile { at: Some(Duration::ZERO), ..rule(Fails::Erase) }), ["at"]);
    let wear = Some(WearFile { from: 9, to: 3 });
    assert_eq!(complaints(FaultFile { wear, ..rule(Fails::Erase) }), ["wear.to"]);
    let page = Some(0.into());
    assert_eq!(complaints(FaultFile { page, ..rule(Fails::FactoryBad) }), ["page"]);
    let retries = Some(1.into());
    assert_eq!(complaints(FaultFile { nth: Some(1), retries, ..rule(Fails::Program) }), ["retries"]);
    let level = Some(1.into());
    assert_eq!(complaints(FaultFile { nth: Some(1), level, ..rule(Fails::Erase) }), ["level"]);
    assert_eq!(complaints(FaultFile { level, ..rule(Fails::Read) }), ["fails"]);
    assert_eq!(complaints(FaultFile { every: Some(1), level, retries, ..rule(Fails::Read) }), ["retries"]);
    assert_eq!(complaints(FaultFile { page, level, ..rule(Fails::Read) }), ["page"]);
    let level = Some(254.into());
    assert_eq!(complaints(FaultFile { every: Some(1), level, ..rule(Fails::Read) }), ["level"]);
}

/// For each of the two pages from `page` on, the sets of read reference voltages up to `most` that read it,
/// the highest first.
fn levels(rig: &mut Rig, page: u32, most: u8) -> [Vec<u8>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for level in (0..=most).rev() {
        let unreadable = read_at(rig, page, level);
        found.iter_mut().enumerate().filter(|(n, _)| unreadable >> n & 1 == 0).for_each(|(_, found)| {
            found.push(level);
        });
    }
    found
}

/// The unreadable pages of a read of two planes with a set of read reference voltages.
fn read_at(rig: &mut Rig, page: u32, level: u8) -> u16 {
    let die = rig.chips.geometry().die_of(rig.chips.geometry().block_of(PageId(page)));
    rig.chips.set_read_level(die, level, Duration::ZERO);
    rig.read(page)
}

#[test]
fn the_pages_of_a_layer_are_read_with_the_level_that_it_needs_alone_and_others_with_all() {
    let rule = FaultFile {
        level: Some(2.into()),
        block: Some(1.into()),
        plane: Some(1.into()),
        die: Some(0.into()),
        ..rule(Fails::Read)
    };
    let mut rig = Rig::new(&[rule]);
    for page in 0..8 {
        let all = vec![4, 3, 2, 1, 0];
        assert_eq!(levels(&mut rig, ROW_BLOCK + 2 * page, 4), [all.clone(), vec![2]], "page {page}, block 1");
        assert_eq!(levels(&mut rig, 2 * page, 4), [all.clone(), all], "page {page} of block 0");
    }
}

#[test]
fn a_page_that_fails_with_the_level_that_it_needs_is_read_after_its_retries() {
    let needs = FaultFile { level: Some(2.into()), block: Some(0.into()), ..rule(Fails::Read) };
    let fails =
        FaultFile { nth: Some(1), retries: Some(2.into()), plane: Some(1.into()), ..rule(Fails::Read) };
    let mut rig = Rig::new(&[needs, fails]);
    // The second rule counts the senses at the set that the layers need. Plane 1 is read by the second retry.
    let unreadable = [0, 2, 3, 4, 4, 2].map(|level| read_at(&mut rig, 0, level));
    assert_eq!(unreadable, [0b11, 0b10, 0b11, 0b01, 0b11, 0]);
}

#[test]
fn what_a_layer_needs_does_not_depend_on_when_it_is_read_and_is_drawn_anew_after_an_erase() {
    let rule = FaultFile {
        level: Some("1..3".parse().expect("a range")),
        probability: Some(0.5),
        ..rule(Fails::Read)
    };
    let blocks = |rig: &mut Rig, order: &mut dyn Iterator<Item = u32>| {
        let mut found: Vec<_> = order.map(|block| (block, levels(rig, block * ROW_BLOCK + 6, 3))).collect();
        found.sort_unstable();
        found
    };
    let mut rig = Rig::new(std::slice::from_ref(&rule));
    let found = blocks(&mut rig, &mut (0..32));
    assert_eq!(blocks(&mut Rig::new(&[rule]), &mut (0..32).rev()), found);
    assert_eq!(blocks(&mut rig, &mut (0..32)), found, "it stays");
    let all: Vec<_> = found.iter().flat_map(|(_, levels)| levels).collect();
    let count = |levels: &[u8]| all.iter().filter(|found| **found == levels).count();
    // Of 64 layers, 32 and 10.7 are expected, with standard deviations of 4 and 3.
    let (selected, others) = ([1, 2, 3].map(|level| count(&[level])), count(&[3, 2, 1, 0]));
    assert!((20..=44).contains(&others) && selected.iter().all(|count| (2..=20).contains(count)), "{all:?}");
    assert_eq!(others + selected.iter().sum::<usize>(), 64);
    (0..32).for_each(|block| assert!(!rig.erase(block * ROW_BLOCK)));
    assert_ne!(blocks(&mut rig, &mut (0..32)), found, "cells that were programmed anew");
}

#[test]
fn levels_are_set_in_the_time_that_it_takes_and_before_senses_alone() {
    let mut rig = Rig::new(&[]);
    let time = |rig: &mut Rig, operation, page| rig.run(operation, page).array;
    let us = Duration::from_us;
    let array = time(&mut rig, Operation::Read, 0);
    rig.chips.set_read_level(DieId(0), 3, us(2));
    assert_eq!(time(&mut rig, Operation::Read, 0), array + us(2));
    assert_eq!(time(&mut rig, Operation::Read, 16 * ROW_BLOCK), array, "the other die has its own");
    assert_eq!(time(&mut rig, Operation::Erase, 0), us(3_800));
    rig.chips.set_read_level(DieId(0), 0, us(0));
    assert_eq!(time(&mut rig, Operation::Read, 0), array);
}

#[test]
fn a_copyback_takes_along_the_errors_of_other_levels_than_it_senses_with() {
    let mut rig =
        Rig::new(&[FaultFile { level: Some(1.into()), block: Some(0.into()), ..rule(Fails::Read) }]);
    rig.program(0);
    let to = PageId(ROW_BLOCK);
    assert!(!rig.run(Operation::Copyback { to }, 0).failed, "the chip does not know");
    assert!(levels(&mut rig, ROW_BLOCK, 2).iter().all(Vec::is_empty));
    assert_eq!(levels(&mut rig, 0, 2), [vec![1], vec![1]], "the source is as it was");
}

#[test]
fn rules_about_reads_are_told_from_others() {
    let geometry = layout().check(&mqsim()).expect("the layout is sound");
    for fails in [Fails::Read, Fails::Erase, Fails::Program] {
        let file = FaultFile { nth: Some(1), ..rule(fails) };
        let rule = file.check(&geometry).expect("the rule is sound");
        assert_eq!(rule.applies_to_reads(), fails == Fails::Read, "{fails:?}");
    }
}
