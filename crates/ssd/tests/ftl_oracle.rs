//! Any sequence of host commands must give the same data as a plain map, on any small device.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wordline_device::tail::Tail;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_ftl::config::DiscardsAtCut;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::Duration;
use wordline_ssd::DeviceFile;
use wordline_ssd::config::Protection;

use crate::common::Rig;
use crate::common::devices::{block_mapped, device, suspending};
use crate::common::failing::faults;
use crate::common::steps::{Start, Step, start, step};

/// Versions counted by the host.
#[derive(Default)]
struct Model {
    written: BTreeMap<u32, u32>,
    present: BTreeMap<u32, u32>,
}

impl Model {
    fn write(&mut self, page: u32) {
        let version = self.written.entry(page).or_insert(0);
        *version += 1;
        self.present.insert(page, *version);
    }

    /// Lets the sectors from `from` to `to` read as zeroes. A whole page is discarded; a part of a page
    /// counts as a write.
    fn zero(&mut self, page: u32, (from, to): (u64, u64), per_page: u64) {
        let start = u64::from(page) * per_page;
        if start >= from && start + per_page <= to {
            self.present.remove(&page);
        } else {
            self.write(page);
        }
    }
}

fn play(file: DeviceFile, steps: &[Step], depth: usize, start: Start) {
    play_on(Rig::new(file, 1), steps, depth, start);
}

fn play_on(mut rig: Rig, steps: &[Step], depth: usize, start: Start) {
    let pages = rig.device.config().ftl.logical_pages;
    let per_page = rig.device.config().ftl.unit.0 / 512;
    let sectors = u64::from(pages) * per_page;
    let mut model = Model::default();
    for (page, version) in start.prepare(&mut rig) {
        model.written.insert(page, version);
        model.present.insert(page, version);
    }
    // Chosen: more requests than a sequence has.
    rig.device.explain(Tail::keeping_slowest(10_000));
    let before = rig.completions.len();
    for (n, step) in steps.iter().enumerate() {
        rig.run_down_to(depth - 1);
        // Most commands go to a small part of the device, so that they overlap.
        let range = if step.place % 4 == 0 { sectors } else { 96.min(sectors) };
        let sector = u64::from(step.place) * 7919 % range;
        let count = u64::from(step.sectors).min(sectors - sector);
        let (first, last) = ((sector / per_page) as u32, ((sector + count - 1) / per_page) as u32);
        match step.kind {
            0..=9 => {
                rig.submit(Operation::Write, step.fua, sector, count);
                // Concurrent commands to one page may be executed in any order. The model uses the order of
                // submission, in which the device begins commands that it does not hold back.
                (first..=last).for_each(|page| model.write(page));
            }
            10..=16 => rig.submit(Operation::Read, false, sector, count),
            17..=18 => {
                rig.run_down_to(0);
                rig.submit(Operation::Discard, false, sector, count);
                rig.run_down_to(0);
                for page in sector.div_ceil(per_page) as u32..((sector + count) / per_page) as u32 {
                    model.present.remove(&page);
                }
            }
            19 => {
                rig.submit(Operation::WriteZeroes, step.fua, sector, count);
                (first..=last).for_each(|page| model.zero(page, (sector, sector + count), per_page));
            }
            20 => {
                rig.run_down_to(0);
                let expected = model.present.get(&first).copied().unwrap_or(0);
                rig.compare(u64::from(first) * per_page, per_page, expected);
            }
            21 => rig.rest(Duration::from_us(20 * u64::from(step.sectors))),
            22 => {
                rig.alone(Operation::Flush, false, 0, 0);
                rig.rest(Duration::from_us(u64::from(step.place) % 3_000));
                if !cut_power(&mut rig, &mut model) {
                    break;
                }
            }
            _ => rig.submit(Operation::Flush, false, 0, 0),
        }
        if n % 50 == 0 {
            rig.audit();
        }
    }
    check_explained(&rig, rig.completions.len() - before);
    hold_against(&mut rig, &model);
}

/// Checks that there are `completions` latency breakdowns, and that the parts of each add up to its latency.
fn check_explained(rig: &Rig, completions: usize) {
    let slowest = rig.device.tail().expect("requests are explained").slowest();
    assert_eq!(slowest.len(), completions);
    for slow in slowest {
        assert_eq!(slow.parts.into_iter().sum::<Duration>(), slow.completion.latency, "{slow:?}");
        let behind = slow.behind.as_ref().map_or(Duration::ZERO, |behind| behind.by_work.into_iter().sum());
        assert!(behind <= slow.die_wait(), "{slow:?}");
    }
}

/// Cuts the power after a flush, while only GC and writes of table pages are in progress. Checks that flushed
/// data are there. Returns false if the device is read-only, because a flush then guarantees nothing.
fn cut_power(rig: &mut Rig, model: &mut Model) -> bool {
    let pages = rig.device.config().ftl.logical_pages;
    let per_page = rig.device.config().ftl.unit.0 / 512;
    if rig.device.is_read_only() {
        return false;
    }
    rig.cut_power();
    let failing = Failing::of(rig, per_page);
    for page in 0..pages {
        let found = rig.device.version(LogicalPage(page));
        let forgotten = !model.present.contains_key(&page) && (failing.loses || !keeps_discards(rig));
        let may = forgotten || failing.explain(rig, page, found, model);
        assert!(may, "after a cut, page {page} has version {found:?}, not {:?}", model.present.get(&page));
        model.written.insert(page, rig.device.map().versions(LogicalPage(page)));
        match found {
            Some(version) => model.present.insert(page, version),
            None => model.present.remove(&page),
        };
    }
    rig.wait_until_ready();
    !rig.device.is_read_only()
}

fn keeps_discards(rig: &Rig) -> bool {
    let file = &rig.device.config().file;
    let protected = file.buffer.power_loss_protection != Protection::None;
    protected || file.ftl.recovery.discards == DiscardsAtCut::Kept
}

/// Compares the device with the model: its contents, what is in flash, and the result of reading everything.
fn hold_against(rig: &mut Rig, model: &Model) {
    let pages = rig.device.config().ftl.logical_pages;
    let per_page = rig.device.config().ftl.unit.0 / 512;
    rig.run_down_to(0);
    rig.audit();
    let failing = Failing::of(rig, per_page);
    for page in 0..pages {
        let found = rig.device.version(LogicalPage(page));
        let wanted = model.present.get(&page);
        assert!(
            failing.explain(rig, page, found, model),
            "page {page} has version {found:?}, not {wanted:?}"
        );
    }
    rig.alone(Operation::Flush, false, 0, 0);
    let failing = Failing::of(rig, per_page);
    if !failed_last(rig) {
        let waits =
            |page: &u32| !failing.explain(rig, *page, rig.device.version_in_flash(LogicalPage(*page)), model);
        let left = (0..pages).filter(waits).count();
        let config = rig.device.config();
        let protected = if config.file.buffer.is_protected() { config.buffer_pages } else { 0 };
        assert!(left <= protected as usize, "{left} pages are not in flash after a flush");
    }
    let any_lost = |rig: &Rig| (0..pages).any(|page| rig.device.map().is_lost(LogicalPage(page)));
    let before = any_lost(rig);
    rig.alone(Operation::Read, false, 0, u64::from(pages) * per_page);
    // GC may lose a page that the host has just read.
    assert!(if before { failed_last(rig) } else { !failed_last(rig) || any_lost(rig) });
    Failing::check_answers(rig);
}

fn failed_last(rig: &Rig) -> bool {
    rig.completions.last().expect("a command was answered").1.failed
}

/// Losses allowed in a device with failed operations.
struct Failing {
    /// Whether pages may be lost.
    loses: bool,
    /// Number of rejected writes of each page. The device rejects writes at the end of its life.
    refused: BTreeMap<u32, u32>,
}

impl Failing {
    fn of(rig: &Rig, per_page: u64) -> Self {
        let totals = rig.device.totals();
        let mut refused = BTreeMap::new();
        for (_, completion) in &rig.completions {
            let Command { operation, sector, sectors, .. } = completion.command;
            if completion.failed && matches!(operation, Operation::Write | Operation::WriteZeroes) {
                let pages = (sector / per_page) as u32..=((sector + sectors - 1) / per_page) as u32;
                pages.for_each(|page| *refused.entry(page).or_insert(0) += 1);
            }
        }
        Self { loses: totals.unreadable_pages > 0 || totals.failed_dies > 0, refused }
    }

    /// Whether the state of a page is allowed: it has the version of the model, a fault has lost it, or the
    /// device rejected its last writes.
    fn explain(&self, rig: &Rig, page: u32, found: Option<u32>, model: &Model) -> bool {
        let wanted = model.present.get(&page).copied();
        if found == wanted {
            return true;
        }
        if found.is_none() && rig.device.map().is_lost(LogicalPage(page)) {
            return self.loses;
        }
        let refused = self.refused.get(&page).copied().unwrap_or(0);
        let all = model.written.get(&page).copied().unwrap_or(0);
        refused > 0 && found.is_none_or(|version| version + refused >= all && version <= all)
    }

    /// Checks which commands failed: only reads, which the rig checks, or any command once the device is
    /// read-only.
    fn check_answers(rig: &Rig) {
        let read_only = rig.device.is_read_only();
        let totals = rig.device.totals();
        let worn = totals.grown_bad_blocks > 0 || totals.program_failures > 0;
        assert!(!read_only || worn, "the device has room");
        for (_, completion) in rig.completions.iter().filter(|(_, completion)| completion.failed) {
            let reads = matches!(completion.command.operation, Operation::Read | Operation::Compare);
            assert!(reads || read_only, "{completion:?}");
        }
    }
}

/// Steps, queue depth, and initial contents of the device.
fn run() -> impl Strategy<Value = (Vec<Step>, usize, Start)> {
    (prop::collection::vec(step(24, 0.1), 1..600), 1usize..12, start())
}

proptest! {
    #[test]
    fn a_device_holds_what_a_map_would(
        file in device(),
        (steps, depth, start) in run(),
    ) {
        play(file, &steps, depth, start);
    }

    #[test]
    fn a_device_that_fails_holds_what_a_map_would_or_says_what_is_lost(
        file in device(),
        faults in faults(1..4),
        (steps, depth, start) in run(),
    ) {
        play(faults.strike(file)?, &steps, depth, start);
    }

    #[test]
    fn a_device_with_a_block_map_holds_what_a_map_would(
        file in block_mapped(),
        (steps, depth, start) in run(),
    ) {
        play(file, &steps, depth, start);
    }

    #[test]
    fn a_device_with_a_block_map_that_fails_holds_what_a_map_would_or_says_what_is_lost(
        file in block_mapped(),
        faults in faults(1..4),
        (steps, depth, start) in run(),
    ) {
        play(faults.strike(file)?, &steps, depth, start);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_device_that_suspends_blocks_holds_what_a_map_would(
        (file, settings) in suspending(),
        faults in prop::option::of(faults(1..3)),
        (steps, depth, start) in run(),
    ) {
        let file = match faults {
            Some(faults) => faults.strike(file)?,
            None => file,
        };
        let rig = Rig::with(&file, settings.design(), 1);
        prop_assume!(rig.is_ok(), "{:?}", rig.err());
        play_on(rig.expect("it was just asked"), &steps, depth, start);
    }
}
