//! After a power loss at any event, all flushed data must be there, and nothing that was never written.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_flash::{ProgramsAtCut, RequestId};
use wordline_ftl::config::{DiscardsAtCut, LowerPages};
use wordline_ftl::contents::Contents;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::map::block_map::config::BlockMapFile;
use wordline_ftl::policy::background::BackgroundKind;
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::wear::WearKind;
use wordline_kernel::{Bytes, Duration, Instant, Schedule};
use wordline_nand::CutLosses;
use wordline_ssd::config::{BufferMode, Protection};
use wordline_ssd::{DeviceFile, Event};

use crate::common::devices::{block_mapped, device};
use crate::common::failing::faults;
use crate::common::steps::{Start, Step, mixed, start, step};
use crate::common::{Rig, small};

/// Content of a page at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Version(u32),
    Discarded,
    /// Lost by a fault: a read fails.
    Lost,
}

impl Held {
    fn version(self) -> Option<u32> {
        if let Self::Version(version) = self { Some(version) } else { None }
    }
}

/// Contents that a page may have after a power loss, from the last one that must not be lost to the latest.
#[derive(Clone, Debug)]
struct Page {
    versions: u32,
    states: Vec<Held>,
}

impl Page {
    fn new() -> Self {
        Self { versions: 0, states: vec![Held::Nothing] }
    }

    fn newest(&self) -> Option<u32> {
        match self.states.last() {
            Some(Held::Version(version)) => Some(*version),
            _ => None,
        }
    }

    /// Records that `state` must not be lost. Earlier states are then not allowed.
    fn safe(&mut self, state: Held) {
        if let Some(at) = self.states.iter().position(|held| *held == state) {
            self.states.drain(..at);
        }
    }

    fn may_hold(&self, held: Held, promises: Promises) -> bool {
        let found = held.version();
        let among = self.states.iter().any(|known| match known {
            Held::Version(_) | Held::Lost => held == *known,
            Held::Nothing | Held::Discarded => held == Held::Nothing,
        });
        let older = found.is_none_or(|version| version <= self.versions);
        // GC may have erased the latest version of a page after an unflushed discard, and not an earlier one.
        let is_flushed = self.states[0] == Held::Discarded;
        let comes_back =
            self.states.contains(&Held::Discarded) && (promises == Promises::Writes || !is_flushed);
        among || older && (comes_back || promises == Promises::Nothing)
    }
}

/// Flushed data that a device keeps through a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Promises {
    /// None: an interrupted program corrupts other pages.
    Nothing,
    /// Written data, but not discards.
    Writes,
    /// All flushed data.
    All,
}

impl Promises {
    fn of(file: &DeviceFile) -> Self {
        let part = &file.part.geometry;
        let exposed = file.ftl.recovery.lower_pages == LowerPages::Exposed;
        let paired = part.bits_per_cell > 1 && !part.one_shot && exposed;
        let torn = file.ftl.recovery.programs_at_cut == ProgramsAtCut::Torn;
        let protected = file.buffer.power_loss_protection != Protection::None;
        match file.ftl.recovery.discards {
            _ if paired && torn && !protected => Self::Nothing,
            DiscardsAtCut::Forgotten if !protected => Self::Writes,
            _ => Self::All,
        }
    }
}

/// Contents that a command guarantees when it completes, and contents that then count as completed.
#[derive(Clone, Debug, Default)]
struct Pending {
    written: Vec<(u32, Held)>,
    safe: Vec<(u32, Held)>,
    durable: bool,
}

/// Power loss `delay` after a number of events.
#[derive(Clone, Copy, Debug)]
struct Cut {
    events: usize,
    delay: Duration,
}

/// Event that no device has, used to mark the time of the power loss.
const CUT: Event = Event::Begin(RequestId(u32::MAX));

/// Device, allowed contents of its pages, and planned power losses.
struct Play {
    rig: Rig,
    promises: Promises,
    write_through: bool,
    pages: Vec<Page>,
    /// Last content of each page whose write has completed.
    completed: BTreeMap<u32, Held>,
    pending: BTreeMap<u32, Pending>,
    tag: u32,
    events: usize,
    cuts: Vec<Cut>,
    /// Time of each event.
    times: Vec<Instant>,
    torn: CutLosses,
}

impl Play {
    fn new(file: DeviceFile, start: Start, cuts: &[Cut]) -> Self {
        let promises = Promises::of(&file);
        let protected = file.buffer.power_loss_protection != Protection::None;
        let write_through = file.buffer.mode != BufferMode::WriteBack || protected;
        let watches = file.ftl.recovery.checkpoint.is_some();
        let mut rig = Rig::new(file, 1);
        if watches {
            rig.device.keep_contents(Contents::new(None));
        }
        let count = rig.device.config().ftl.logical_pages;
        let mut pages = vec![Page::new(); count as usize];
        let written = start.prepare(&mut rig);
        if matches!(start, Start::Aged(_)) {
            // The last data written are still in the buffer.
            rig.alone(Operation::Flush, false, 0, 0);
            rig.completions.clear();
        }
        for (page, version) in written {
            pages[page as usize] = Page { versions: version, states: vec![Held::Version(version)] };
        }
        let cuts = cuts.iter().rev().copied().collect();
        let (completed, pending) = Default::default();
        let (times, torn) = Default::default();
        Self { rig, promises, write_through, pages, completed, pending, tag: 0, events: 0, cuts, times, torn }
    }

    fn submit(&mut self, operation: Operation, fua: bool, sector: u64, sectors: u64) {
        let per_page = self.rig.device.config().ftl.unit.0 / 512;
        let mut pending = Pending::default();
        let whole = sector.div_ceil(per_page) as u32..((sector + sectors) / per_page) as u32;
        match operation {
            Operation::Write => {
                pending.durable = fua || self.write_through;
                for page in (sector / per_page) as u32..=((sector + sectors - 1) / per_page) as u32 {
                    let known = &mut self.pages[page as usize];
                    known.versions += 1;
                    known.states.push(Held::Version(known.versions));
                    pending.written.push((page, Held::Version(known.versions)));
                }
            }
            Operation::Discard => {
                for page in whole {
                    self.pages[page as usize].states.push(Held::Discarded);
                    pending.written.push((page, Held::Discarded));
                }
            }
            Operation::Flush => {
                pending.safe = self.completed.iter().map(|(page, held)| (*page, *held)).collect();
            }
            _ => {}
        }
        self.tag += 1;
        self.pending.insert(self.tag, pending);
        let tag = self.tag;
        let command = Command { operation, fua, sector, sectors, tag, ..Command::default() };
        self.rig.submit_command(command);
        self.take_completions();
    }

    fn take_completions(&mut self) {
        for completion in self.rig.take_completions() {
            let reads = completion.command.operation == Operation::Read;
            assert!(reads || !completion.failed || self.is_worn(), "nothing is refused: {completion:?}");
            let pending =
                self.pending.remove(&completion.command.tag).expect("each command is answered once");
            for (page, held) in pending.written {
                if pending.durable {
                    self.pages[page as usize].safe(held);
                }
                self.completed.insert(page, held);
            }
            for (page, held) in pending.safe {
                self.pages[page as usize].safe(held);
            }
        }
    }

    /// Handles one event, and cuts the power if it is due.
    fn advance(&mut self) {
        let Some(event) = self.rig.calendar.advance() else {
            let waits = self.rig.device.describe_outstanding(self.rig.calendar_now());
            panic!("nothing happens any more\n{waits}");
        };
        if event == CUT {
            self.cut();
            return;
        }
        self.rig.device.handle(event, &mut self.rig.calendar);
        self.take_completions();
        self.events += 1;
        self.times.push(self.rig.calendar_now());
        if let Some(cut) = self.cuts.pop_if(|cut| cut.events == self.events) {
            if cut.delay == Duration::ZERO {
                self.cut();
            } else {
                self.rig.calendar.after(cut.delay, CUT);
            }
        }
    }

    /// Runs until at most `outstanding` commands are outstanding, or the device rejects commands.
    fn run_down_to(&mut self, outstanding: usize) {
        while (self.rig.device.outstanding() > outstanding && !self.is_worn()) || !self.rig.device.is_ready()
        {
            self.advance();
        }
    }

    /// Erases of the preparation, which causes no wear.
    fn erases_without_wear(&self) -> u64 {
        let Rig { device, .. } = &self.rig;
        device.totals().erases - device.chips().counts().block_sets_erased
    }

    fn cut(&mut self) {
        let now = self.rig.calendar_now();
        let without_wear = self.erases_without_wear();
        let cut = self.rig.device.power_cut(now);
        self.rig.under_way.loses_power();
        assert_eq!(cut.incomplete.len(), self.pending.len(), "what was not answered never will be");
        assert_eq!(
            self.erases_without_wear(),
            without_wear,
            "interrupted erases wear their blocks and count"
        );
        self.torn.add(&cut.torn);
        self.rig.calendar.clear();
        self.pending.clear();
        self.completed.clear();
        self.rig.device.recover(&mut self.rig.calendar);
        self.check();
        self.rig.audit();
    }

    /// Checks that every page has an allowed content, which must not be lost from then on.
    fn check(&mut self) {
        let loses = self.loses();
        // If a discard record is lost, its discards are recorded again at the next flush.
        let promises = if loses { self.promises.min(Promises::Writes) } else { self.promises };
        for n in 0..self.pages.len() as u32 {
            let (held, logical) = (self.held(n), LogicalPage(n));
            let page = &mut self.pages[n as usize];
            let may = page.may_hold(held, promises) || loses && held == Held::Lost;
            assert!(may, "page {n} holds {held:?}, may hold {page:?}");
            page.versions = self.rig.device.map().versions(logical);
            let nothing = if page.versions > 0 { Held::Discarded } else { Held::Nothing };
            page.states = vec![if held == Held::Nothing { nothing } else { held }];
        }
    }

    fn held(&self, page: u32) -> Held {
        let page = LogicalPage(page);
        match self.rig.device.version(page) {
            Some(version) => Held::Version(version),
            None if self.rig.device.map().is_lost(page) => Held::Lost,
            None => Held::Nothing,
        }
    }

    /// Whether faults may have lost data.
    fn loses(&self) -> bool {
        let totals = self.rig.device.totals();
        totals.unreadable_pages > 0 || totals.failed_dies > 0
    }

    /// Whether the device is at the end of its life. Here only faults can be the cause.
    fn is_worn(&self) -> bool {
        let totals = self.rig.device.totals();
        let worn = totals.grown_bad_blocks > 0 || totals.program_failures > 0;
        assert!(worn || !self.rig.device.is_read_only(), "the device has room");
        self.rig.device.is_read_only()
    }

    fn step(&mut self, step: &Step, depth: usize) {
        self.run_down_to(depth - 1);
        if self.is_worn() {
            return;
        }
        let per_page = self.rig.device.config().ftl.unit.0 / 512;
        let sectors = self.pages.len() as u64 * per_page;
        // Most commands go to a small part of the device, so that they overlap.
        let range = if step.place.is_multiple_of(4) { sectors } else { 96.min(sectors) };
        let sector = u64::from(step.place) * 7919 % range;
        let count = u64::from(step.sectors).min(sectors - sector);
        match step.kind {
            0..=11 => self.submit(Operation::Write, step.fua, sector, count),
            12..=14 => self.submit(Operation::Read, false, sector, count),
            15..=17 => {
                self.run_down_to(0);
                self.submit(Operation::Discard, false, sector, count);
                self.run_down_to(0);
            }
            _ => self.submit(Operation::Flush, false, 0, 0),
        }
    }

    /// Checks after the last command that the device has all data, and that a flush and a read succeed.
    fn end(&mut self) {
        self.run_down_to(0);
        self.rig.audit();
        if self.is_worn() {
            return;
        }
        for (n, page) in (0..).zip(&self.pages) {
            let held = self.held(n);
            let lost = held == Held::Lost && self.loses();
            assert!(lost || held.version() == page.newest(), "page {n} holds {held:?}, not {page:?}");
        }
        self.submit(Operation::Flush, false, 0, 0);
        self.run_down_to(0);
        let per_page = self.rig.device.config().ftl.unit.0 / 512;
        self.submit(Operation::Read, false, 0, self.pages.len() as u64 * per_page);
        self.run_down_to(0);
    }
}

/// Executes the steps with these power losses. Returns the times of the events, and what was interrupted.
fn play(
    file: &DeviceFile,
    steps: &[Step],
    depth: usize,
    start: Start,
    cuts: &[Cut],
) -> (Vec<Instant>, CutLosses) {
    let mut play = Play::new(file.clone(), start, cuts);
    for step in steps {
        if play.is_worn() {
            break;
        }
        play.step(step, depth);
    }
    play.end();
    (play.times, play.torn)
}

/// Device so small that GC starts after a few dozen commands.
fn tiny(change: impl FnOnce(&mut DeviceFile)) -> DeviceFile {
    let mut file = small();
    file.layout.channels = 1;
    file.layout.dies_per_package = 1;
    file.part.geometry.blocks_per_plane = 8;
    file.part.geometry.pages_per_block = 6;
    file.ftl.over_provisioning = 0.65;
    change(&mut file);
    let program = u64::from(file.part.geometry.bits_per_cell) * 2 * 4096;
    file.buffer.size = Bytes(2 * program + 8192);
    file
}

/// Repeats a run with a power loss after each event, and between events. Returns what was interrupted.
fn cut_everywhere(file: &DeviceFile, steps: &[Step], depth: usize, start: Start) -> CutLosses {
    let (times, mut torn) = play(file, steps, depth, start, &[]);
    assert!(times.len() > 2 * steps.len(), "{} events are too few to mean much", times.len());
    for (n, time) in times.iter().enumerate() {
        let between =
            times.get(n + 1).map_or(Duration::ZERO, |next| Duration::from_ps((*next - *time).ps() / 2));
        for delay in [Duration::ZERO, between] {
            let cut = Cut { events: n + 1, delay };
            torn.add(&play(file, steps, depth, start, &[cut]).1);
        }
    }
    torn
}

#[test]
fn nothing_flushed_is_lost_by_a_cut_after_any_event() {
    let torn = cut_everywhere(&tiny(|_| {}), &mixed(120), 4, Start::Filled);
    assert!(torn.programs > 20 && torn.erases > 5 && torn.partners == 0, "{torn:?}");
}

#[test]
fn nothing_flushed_is_lost_with_one_shot_programs() {
    let one_shot = |file: &mut DeviceFile| {
        file.part.geometry.bits_per_cell = 3;
        file.part.geometry.one_shot = true;
    };
    let torn = cut_everywhere(&tiny(one_shot), &mixed(100), 4, Start::Filled);
    assert!(torn.pages == 6 * torn.programs && torn.partners == 0, "{torn:?}");
}

#[test]
fn nothing_flushed_is_lost_where_pages_share_cells_and_programs_are_finished() {
    let paired = |file: &mut DeviceFile| {
        file.part.geometry.bits_per_cell = 3;
        file.ftl.recovery.programs_at_cut = ProgramsAtCut::Finished;
    };
    assert_eq!(cut_everywhere(&tiny(paired), &mixed(100), 3, Start::Filled), CutLosses::default());
}

#[test]
fn nothing_flushed_is_lost_where_lower_pages_are_backed_up() {
    for bits in [2, 3] {
        let paired = |file: &mut DeviceFile| {
            file.part.geometry.bits_per_cell = bits;
            file.ftl.recovery.lower_pages = LowerPages::BackedUp;
        };
        let torn = cut_everywhere(&tiny(paired), &mixed(80), 3, Start::Filled);
        assert!(torn.programs > 10 && torn.partners == 0, "{torn:?}");
    }
}

#[test]
fn flushed_discards_survive_a_cut_after_any_event() {
    let checkpoint = Some(Bytes::kib(64));
    for (mode, checkpoint) in [(BufferMode::WriteBack, None), (BufferMode::WriteThrough, checkpoint)] {
        let kept = |file: &mut DeviceFile| {
            file.buffer.mode = mode;
            file.ftl.recovery.discards = DiscardsAtCut::Kept;
            file.ftl.recovery.checkpoint = checkpoint;
        };
        cut_everywhere(&tiny(kept), &mixed(100), 4, Start::Filled);
    }
}

/// Keeps only a few map entries in memory, and makes a checkpoint every 64 KiB.
fn map_in_flash(file: &mut DeviceFile) {
    (file.part.geometry.blocks_per_plane, file.ftl.over_provisioning) = (12, 0.75);
    file.ftl.mapping.unit = Some(Bytes(1024));
    file.ftl.mapping.cache = Some(Bytes(24 * 8));
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
    file.ftl.recovery.discards = DiscardsAtCut::Kept;
    file.ftl.recovery.checkpoint = Some(Bytes::kib(64));
}

#[test]
fn a_checkpoint_of_a_map_in_flash_covers_all_that_a_recovery_does_not_read() {
    let torn = cut_everywhere(&tiny(map_in_flash), &mixed(120), 4, Start::Filled);
    assert!(torn.programs > 20 && torn.erases > 5, "{torn:?}");
    let one_shot = |file: &mut DeviceFile| {
        map_in_flash(file);
        (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (2, true);
        file.ftl.mapping.unit = Some(Bytes(2048));
    };
    let torn = cut_everywhere(&tiny(one_shot), &mixed(80), 4, Start::Empty);
    assert!(torn.programs > 20, "{torn:?}");
}

#[test]
fn a_torn_page_never_comes_out_where_pages_share_cells() {
    let torn =
        cut_everywhere(&tiny(|file| file.part.geometry.bits_per_cell = 2), &mixed(100), 3, Start::Empty);
    assert!(torn.partners > 10, "{torn:?}");
}

#[test]
fn nothing_flushed_is_lost_with_a_block_map() {
    let map = |bits, one_shot, at_cut| {
        let change = |file: &mut DeviceFile| {
            file.part.geometry.bits_per_cell = bits;
            file.part.geometry.one_shot = one_shot;
            file.ftl.recovery.programs_at_cut = at_cut;
            file.ftl.mapping.unit = Some(Bytes(2 * 4096 * if one_shot { u64::from(bits) } else { 1 }));
            file.ftl.mapping.block = Some(BlockMapFile { replacements: 2 });
            file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
        };
        cut_everywhere(&tiny(change), &mixed(80), 3, Start::Filled)
    };
    let torn = map(1, false, ProgramsAtCut::Torn);
    assert!(torn.programs > 20 && torn.erases > 5, "{torn:?}");
    let torn = map(3, true, ProgramsAtCut::Torn);
    assert!(torn.programs > 20 && torn.erases > 5, "{torn:?}");
    assert_eq!(map(2, false, ProgramsAtCut::Finished), CutLosses::default());
}

#[test]
fn nothing_flushed_is_lost_where_a_block_map_levels_wear_merges_ahead_and_keeps_discards() {
    for (copyback, checkpoint) in [(false, None), (true, Some(Bytes::kib(64)))] {
        let change = |file: &mut DeviceFile| {
            (file.part.geometry.blocks_per_plane, file.ftl.over_provisioning) = (10, 0.7);
            file.ftl.mapping.unit = Some(Bytes(2 * 4096));
            file.ftl.mapping.block = Some(BlockMapFile { replacements: 2 });
            file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
            file.ftl.wear.levelling = WearKind::Bet { k: 0, threshold: 2 };
            file.ftl.gc.copyback = copyback;
            let idle = Duration::from_us(100);
            file.ftl.gc.background = BackgroundKind::IdleGc { idle, until_free: 9, until_spare: 0.0 };
            file.ftl.recovery.discards = DiscardsAtCut::Kept;
            file.ftl.recovery.checkpoint = checkpoint;
        };
        let torn = cut_everywhere(&tiny(change), &mixed(80), 3, Start::Filled);
        assert!(torn.programs > 20 && torn.erases > 5, "{torn:?}");
    }
}

#[test]
fn every_write_that_went_through_is_there() {
    cut_everywhere(&tiny(|file| file.buffer.mode = BufferMode::WriteThrough), &mixed(80), 3, Start::Empty);
}

/// Power losses, each given by the number of events since the last one, and a delay in microseconds.
fn cuts(gaps: &[(usize, u64)]) -> Vec<Cut> {
    let mut events = 0;
    let mut cut = |(gap, delay): &(usize, u64)| {
        events += gap;
        Cut { events, delay: Duration::from_us(*delay) }
    };
    gaps.iter().map(&mut cut).collect()
}

/// Devices with random settings for interrupted programs and lower pages.
fn torn(device: impl Strategy<Value = DeviceFile>) -> impl Strategy<Value = DeviceFile> {
    let programs = prop_oneof![Just(ProgramsAtCut::Torn), Just(ProgramsAtCut::Finished)];
    let lower = prop_oneof![Just(LowerPages::Exposed), Just(LowerPages::BackedUp)];
    (device, programs, lower).prop_map(|(mut file, programs, lower)| {
        (file.ftl.recovery.programs_at_cut, file.ftl.recovery.lower_pages) = (programs, lower);
        file
    })
}

/// Steps, queue depth, initial contents of the device, and power losses.
fn run() -> impl Strategy<Value = (Vec<Step>, usize, Start, Vec<Cut>)> {
    let gaps = prop::collection::vec((1usize..1200, 0u64..400), 1..6);
    let steps = prop::collection::vec(step(20, 0.2), 1..300);
    (steps, 1usize..12, start(), gaps.prop_map(|gaps| cuts(&gaps)))
}

proptest! {
    #[test]
    fn a_device_keeps_what_was_flushed_through_several_cuts(
        file in torn(device()),
        (steps, depth, start, cuts) in run(),
    ) {
        play(&file, &steps, depth, start, &cuts);
    }

    #[test]
    fn a_device_that_fails_keeps_what_was_flushed_through_several_cuts_or_says_what_is_lost(
        file in torn(device()),
        faults in faults(1..4),
        (steps, depth, start, cuts) in run(),
    ) {
        play(&faults.strike(file)?, &steps, depth, start, &cuts);
    }

    #[test]
    fn a_block_map_keeps_what_was_flushed_through_several_cuts_or_says_what_is_lost(
        file in torn(block_mapped()),
        faults in faults(0..3),
        (steps, depth, start, cuts) in run(),
    ) {
        play(&faults.strike(file)?, &steps, depth, start, &cuts);
    }
}
