//! Commands drawn at random while members fail, devices are rebuilt, the power is cut and sectors become unreadable: what was
//! acknowledged is read, what was flushed outlives the power, and what RAID-5 cannot keep is reported as lost.

use std::collections::{BTreeMap, BTreeSet};

use wordline_host::raid5::{ArrayFile, Parity};
use wordline_kernel::{Bytes, Calendar, Instant, Schedule, Seed, Stream};
use wordline_ssd::ageing::Ages;
use wordline_ssd::contract;
use wordline_ssd::device::{Content, FILLED, Tail, ZEROES};
use wordline_ssd::{BlockDevice, Command, Device, FixedLatency, Operation};

use super::{Bench, LATENCY, explained, md};

/// The host's knowledge of a sector.
#[derive(Clone, Debug)]
struct Sector {
    /// The contents that a read may find: one, unless the device may have chosen.
    now: Vec<Content>,
    /// Those that may be there after a power cut, beside that.
    older: Vec<Content>,
    /// Whether it was discarded, so that anything older may come back with a power cut.
    discarded: bool,
    /// All that it ever held.
    history: Vec<Content>,
}

/// The troubles of a trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    pub(super) fails: bool,
    pub(super) cuts: bool,
    /// Also while a member is missing.
    pub(super) cuts_degraded: bool,
    pub(super) scrubs: bool,
    /// Pages become unreadable.
    pub(super) spoils: bool,
}

/// Makes sectors of a device unreadable.
type Spoil<D> = fn(&mut D, std::ops::Range<u64>);

struct Host<D: BlockDevice> {
    bench: Bench<D>,
    random: Stream,
    sectors: Vec<Sector>,
    /// Rows with writes that are not flushed, and rows of which something may be lost.
    unflushed: BTreeSet<u64>,
    excused: BTreeSet<u64>,
    /// Rows whose parity was to be written anew when the last flush began, which it does not cover.
    unsure: BTreeSet<u64>,
    /// Of rows that are not flushed: the members with data of which blocks were written, where the array has a log of partial parity.
    modified: BTreeMap<u64, u64>,
    has_log: bool,
    /// Rows with a block that became unreadable.
    spoilt: BTreeSet<u64>,
    spoil: Option<Spoil<D>>,
    /// Whether parity stays behind.
    stays_behind: bool,
    /// Outstanding commands.
    sent: Vec<Command>,
    trouble: Trouble,
    members: u16,
    block: u64,
    lost: u64,
}

impl<D: Ages> Host<D> {
    fn new(
        bench: Bench<D>,
        members: u16,
        block: Bytes,
        trouble: Trouble,
        seed: u64,
        content: Content,
    ) -> Self {
        let all = bench.array.shape().namespaces[0] as usize;
        let sector =
            Sector { now: vec![content], older: Vec::new(), discarded: false, history: vec![content] };
        Self {
            bench,
            random: Seed(seed).stream("raid5.oracle", 0),
            sectors: vec![sector; all],
            unflushed: BTreeSet::new(),
            excused: BTreeSet::new(),
            unsure: BTreeSet::new(),
            modified: BTreeMap::new(),
            has_log: false,
            spoilt: BTreeSet::new(),
            spoil: None,
            stays_behind: true,
            sent: Vec::new(),
            trouble,
            members,
            block: block.0 / 512,
            lost: 0,
        }
    }

    fn rows(&self, command: &Command) -> impl Iterator<Item = u64> + use<D> {
        let striping = self.bench.array.striping();
        striping.rows_of(command.sector..command.sector + command.sectors)
    }

    fn submit(&mut self, operation: Operation, sector: u64, sectors: u64) {
        let fua = operation == Operation::Write && self.random.below(8) == 0;
        let command = Command { operation, sector, sectors, fua, ..Command::default() };
        let tag = self.bench.submit_command(command);
        let command = Command { tag, ..command };
        if matches!(operation, Operation::Write | Operation::WriteZeroes | Operation::Discard) {
            let rows: Vec<u64> = self.rows(&command).collect();
            let striping = self.bench.array.striping();
            for row in &rows {
                let parts = striping.parts(*row, sector..sector + sectors);
                let members = parts.fold(0, |all, (member, ..)| all | 1 << member);
                let modified = self.modified.entry(*row).or_default();
                // Discarded blocks leave the log.
                *modified = if operation == Operation::Discard { 0 } else { *modified | members };
            }
            self.unflushed.extend(rows);
        }
        if operation == Operation::Flush {
            self.unsure = self.bench.array.unsure().collect();
        }
        self.sent.push(command);
        self.take_answers();
    }

    fn writes(command: &Command) -> Option<Content> {
        match command.operation {
            Operation::Write => Some(Content::of(command.tag)),
            Operation::WriteZeroes | Operation::Discard => Some(ZEROES),
            _ => None,
        }
    }

    fn take_answers(&mut self) {
        for answer in self.bench.answers() {
            let at = self.sent.iter().position(|command| command.tag == answer.command.tag);
            let command = self.sent.remove(at.expect("each command is answered once"));
            let range = command.sector..command.sector + command.sectors;
            match command.operation {
                Operation::Read => self.check_read(&command, answer.failed),
                Operation::Flush => {
                    assert!(!answer.failed, "a flush failed");
                    self.sectors.iter_mut().for_each(|sector| sector.older.clear());
                    self.unflushed = std::mem::take(&mut self.unsure);
                    let Self { modified, unflushed, .. } = self;
                    modified.retain(|row, _| unflushed.contains(row));
                }
                _ => {
                    assert!(!answer.failed || self.trouble.fails, "{command:?} failed");
                    let new = Self::writes(&command).expect("it writes");
                    for sector in range {
                        let sector = &mut self.sectors[sector as usize];
                        sector.history.push(new);
                        if command.operation == Operation::Discard {
                            // Those of whole stripes alone, and of what is not being worked on.
                            sector.now.push(new);
                            sector.discarded = true;
                        } else if answer.failed {
                            sector.now.push(new);
                        } else {
                            sector.older.append(&mut sector.now);
                            sector.now = vec![new];
                            if command.fua {
                                sector.older.clear();
                            }
                        }
                    }
                }
            }
        }
    }

    fn check_read(&mut self, command: &Command, failed: bool) {
        let range = command.sector..command.sector + command.sectors;
        let lost: Vec<u64> = range.clone().filter(|sector| self.bench.array.is_lost(*sector)).collect();
        if failed {
            assert!(!lost.is_empty(), "{command:?} failed, and nothing of it is lost");
            return;
        }
        let found = self.bench.array.take_contents(command.tag).expect("contents are followed");
        for (sector, content) in range.zip(found) {
            let known = &mut self.sectors[sector as usize];
            assert!(
                known.now.contains(&content),
                "sector {sector} holds {content:?}, wanted one of {:?}",
                known.now
            );
            known.now = vec![content];
        }
    }

    /// Lost sectors are in rows of which something may be lost.
    fn check_lost(&mut self) {
        let all = self.sectors.len() as u64;
        let lost: Vec<u64> = (0..all).filter(|sector| self.bench.array.is_lost(*sector)).collect();
        let striping = self.bench.array.striping();
        for sector in &lost {
            let row = striping.place(*sector).1 / self.block;
            assert!(
                self.excused.contains(&row),
                "sector {sector} is lost, and row {row} had nothing under way"
            );
        }
        self.lost = self.lost.max(lost.len() as u64);
    }

    /// Commands that do not overlap.
    fn submit_round(&mut self) {
        let all = self.sectors.len() as u64;
        let parts = 1 + self.random.below(5);
        let each = all / parts;
        for part in 0..parts {
            let sectors = match self.random.below(4) {
                0 => 1 + self.random.below(16),
                1 => 8 * (1 + self.random.below(16)),
                2 => 1 + self.random.below(200),
                _ => 1 + self.random.below(each),
            };
            let sectors = sectors.min(each);
            let sector = part * each + self.random.below(each - sectors + 1);
            let operation = match self.random.below(20) {
                0..11 => Operation::Write,
                11..17 => Operation::Read,
                17 => Operation::WriteZeroes,
                _ => Operation::Discard,
            };
            self.submit(operation, sector, sectors);
        }
    }

    fn go_on(&mut self, left: usize) {
        while self.sent.len() > left {
            if !self.bench.step() {
                let Bench { array, calendar, .. } = &mut self.bench;
                assert!(array.give_up(calendar), "nothing moves: {}", array.what_waits(calendar.now()));
            }
            self.take_answers();
        }
    }

    fn flush(&mut self) {
        self.go_on(0);
        self.submit(Operation::Flush, 0, 0);
        self.go_on(0);
    }

    fn fail(&mut self) {
        let member = self.random.below(u64::from(self.members)) as u16;
        if self.bench.array.degraded() > 0 {
            return;
        }
        // With parity in the cache it may have stayed behind; without, only rows that a power cut left unsure are in danger.
        if self.bench.array.has_parity_behind() {
            self.excused.extend(&self.unflushed);
        }
        self.excused.extend(self.bench.array.unsure());
        self.excused.extend(&self.spoilt);
        self.bench.fail(member);
        self.take_answers();
    }

    /// A page of a device cannot be read from now on. With parity at hand nothing is lost by it.
    fn spoil(&mut self) {
        let Some(spoil) = self.spoil else { return };
        let devices = u64::from(self.members) + self.bench.array.counts().failures;
        let device = self.random.below(devices) as usize;
        let striping = self.bench.array.striping();
        let row = self.random.below(striping.rows());
        let sector = row * self.block + self.random.below(self.block);
        let has_parity = self.bench.array.degraded() == 0 && !self.stays_behind && !self.trouble.cuts;
        if !has_parity || !self.spoilt.insert(row) {
            self.excused.insert(row);
        }
        spoil(&mut self.bench.array.devices_mut()[device], sector..sector + 1);
    }

    fn cut(&mut self) {
        if self.bench.array.degraded() > 0 {
            if !self.trouble.cuts_degraded {
                return;
            }
            // With a log only rows are in danger of which a missing block was written together with another.
            let missing = self.bench.array.missing();
            let is_safe = |row: &u64| {
                let modified = self.modified.get(row).copied().unwrap_or(0);
                // A row that was discarded before another cut is in no log, and holds nothing.
                self.has_log && modified != 0 && (modified & missing == 0 || modified & !missing == 0)
            };
            let endangered: Vec<u64> = self.unflushed.iter().copied().filter(|row| !is_safe(row)).collect();
            self.excused.extend(endangered);
            self.excused.extend(self.bench.array.unsure());
            let discarded: Vec<u64> =
                (0..self.sectors.len() as u64).filter(|at| self.sectors[*at as usize].discarded).collect();
            let striping = self.bench.array.striping();
            self.excused.extend(discarded.iter().map(|at| striping.place(*at).1 / self.block));
        }
        let steps = self.random.below(60);
        for _ in 0..steps {
            self.bench.step();
            self.take_answers();
        }
        self.bench.array.power_cut(self.bench.calendar.now());
        self.bench.array.forget_answers();
        self.bench.calendar = Calendar::resumed(self.bench.calendar.now(), []);
        for command in std::mem::take(&mut self.sent) {
            let Some(new) = Self::writes(&command) else { continue };
            for sector in command.sector..command.sector + command.sectors {
                let sector = &mut self.sectors[sector as usize];
                sector.older.push(new);
                sector.history.push(new);
                sector.discarded |= command.operation != Operation::Write;
            }
        }
        for sector in &mut self.sectors {
            sector.now.append(&mut sector.older);
            if sector.discarded || sector.now.contains(&ZEROES) {
                sector.now.extend_from_slice(&sector.history);
                sector.now.push(ZEROES);
            }
            sector.discarded = false;
        }
        self.bench.array.recover(&mut self.bench.calendar);
        while !self.bench.array.is_ready() {
            assert!(self.bench.step(), "a recovery is under way");
        }
        // Rows that were discarded are still in doubt, and in no log.
        let unsure: Vec<u64> = self.bench.array.unsure().collect();
        self.modified.extend(unsure.iter().map(|row| (*row, 0)));
        self.unflushed.extend(unsure);
        self.read_all();
    }

    fn read_all(&mut self) {
        self.go_on(0);
        let all = self.sectors.len() as u64;
        for sector in (0..all).step_by(40) {
            self.submit(Operation::Read, sector, 40.min(all - sector));
            self.go_on(3);
        }
        self.go_on(0);
        self.check_lost();
    }

    fn work(&mut self, rounds: u32) {
        for round in 0..rounds {
            self.submit_round();
            let steps = self.random.below(40);
            for _ in 0..steps {
                self.bench.step();
                self.take_answers();
            }
            if self.trouble.fails && self.random.below(12) == 0 {
                self.fail();
            }
            if self.trouble.cuts && self.random.below(12) == 0 {
                self.cut();
            }
            self.go_on(0);
            if self.random.below(5) == 0 {
                self.flush();
            }
            if self.trouble.spoils && self.random.below(4) == 0 {
                self.spoil();
            }
            if self.trouble.scrubs && self.random.below(10) == 0 {
                self.bench.array.scrub(&mut self.bench.calendar);
            }
            if round % 40 == 39 {
                self.read_all();
                self.bench.array.audit(self.bench.calendar.now() - Instant::ZERO);
            }
        }
        self.read_all();
    }
}

/// Arrays that differ in how they write parity.
pub(super) fn files() -> [(u16, ArrayFile); 4] {
    let fast = |file| ArrayFile { sync_slowest: Bytes::mib(50), chunk: Bytes::kib(16), ..file };
    [
        (4, fast(md())),
        (5, fast(md())),
        (4, fast(ArrayFile { stripe_cache: 17, ..ArrayFile::default() })),
        (5, fast(ArrayFile { stripe_cache: 20, block: Bytes::kib(4), ..ArrayFile::default() })),
    ]
}

/// Trials of each array: more where time is given.
fn seeds() -> u64 {
    if std::env::var_os("WORDLINE_LONG").is_some() { 60 } else { 3 }
}

fn over_null(trouble: Trouble, rounds: u32) -> Vec<u64> {
    over_null_with(&files(), trouble, rounds)
}

pub(super) fn over_null_with(files: &[(u16, ArrayFile)], trouble: Trouble, rounds: u32) -> Vec<u64> {
    let mut lost = Vec::new();
    for (number, (members, file)) in (0..).zip(files.iter().cloned()) {
        for seed in 0..seeds() {
            let device = |_| FixedLatency::new(Bytes::kib(256), LATENCY);
            let devices = (0..members + 40).map(device).collect();
            let block = file.block;
            let bench = Bench::new(devices, members, file.clone());
            let mut host = Host::new(bench, members, block, trouble, 1000 * number + seed, ZEROES);
            host.spoil = Some(FixedLatency::spoil);
            host.stays_behind = file.parity == Parity::Cache;
            host.has_log = file.parity_log.is_some();
            host.work(rounds);
            if file.parity == Parity::Md && !trouble.cuts && !trouble.spoils {
                assert_eq!(host.lost, 0, "parity is never behind");
            }
            lost.push(host.lost);
        }
    }
    lost
}

#[test]
fn an_undisturbed_array_gives_back_what_was_written_and_its_parity_is_right() {
    over_null(Trouble { scrubs: true, ..Trouble::default() }, 120);
}

#[test]
fn members_that_fail_are_rebuilt_and_nothing_is_lost_but_where_parity_stayed_behind() {
    over_null(Trouble { fails: true, scrubs: true, ..Trouble::default() }, 200);
}

#[test]
fn a_whole_array_loses_nothing_with_its_power() {
    let lost = over_null(Trouble { cuts: true, scrubs: true, ..Trouble::default() }, 160);
    assert!(lost.iter().all(|lost| *lost == 0), "{lost:?}");
}

#[test]
fn power_cuts_beside_failures_lose_only_rows_that_were_being_written() {
    let lost =
        over_null(Trouble { fails: true, cuts: true, cuts_degraded: true, scrubs: true, spoils: false }, 200);
    assert!(lost.iter().any(|lost| *lost > 0), "the write hole is there");
}

#[test]
fn pages_that_cannot_be_read_are_repaired_from_parity() {
    let lost = over_null(Trouble { spoils: true, scrubs: true, ..Trouble::default() }, 160);
    assert!(
        lost[..2 * seeds() as usize].iter().all(|lost| *lost < 64),
        "one row of an array at most: {lost:?}"
    );
}

#[test]
fn all_troubles_together_lose_only_what_they_may() {
    over_null(Trouble { fails: true, cuts: true, cuts_degraded: true, scrubs: true, spoils: true }, 200);
}

fn over_ssds(trouble: Trouble, rounds: u32) {
    over_ssds_with(&files(), trouble, rounds);
}

pub(super) fn over_ssds_with(files: &[(u16, ArrayFile)], trouble: Trouble, rounds: u32) {
    let config = contract::small().check().expect("it is sound");
    for (number, (members, file)) in (0..).zip(files.iter().cloned()).filter(|(number, _)| number % 2 == 0) {
        let device = |seed| Device::new(config.clone(), Seed(u64::from(seed)));
        let mut devices: Vec<Device> = (0..members + 12).map(device).collect();
        devices.truncate(usize::from(members) + 12);
        let (block, file_has_log) = (file.block, file.parity_log.is_some());
        let mut bench = Bench::new(devices, members, file);
        assert!(bench.array.fill_while(1.0, &mut |_| true));
        bench.array.explain(Tail::keeping(10_000));
        let mut host = Host::new(bench, members, block, trouble, number, FILLED);
        host.has_log = file_has_log;
        host.work(rounds);
        assert!(explained::check(&host.bench) > 100, "commands were answered");
    }
}

#[test]
fn ssds_that_fail_are_rebuilt() {
    over_ssds(Trouble { fails: true, scrubs: true, ..Trouble::default() }, 60);
}

#[test]
fn an_array_of_ssds_outlives_power_cuts() {
    over_ssds(Trouble { cuts: true, scrubs: true, ..Trouble::default() }, 60);
}

#[test]
fn an_array_of_ssds_outlives_power_cuts_and_failures() {
    over_ssds(Trouble { fails: true, cuts: true, cuts_degraded: true, scrubs: true, spoils: false }, 60);
}

/// A row of which a page of each of these members cannot be read.
fn spoilt(members: &[usize], file: ArrayFile) -> Bench<FixedLatency> {
    let mut bench = super::null(4, 0, Bytes::kib(256), file);
    bench.time(Operation::Write, 0, 3 * 128);
    bench.time(Operation::Flush, 0, 0);
    // Another array would have it in its cache.
    for stripe in 1..3 {
        bench.time(Operation::Write, stripe * 3 * 128, 3 * 128);
    }
    for member in members {
        bench.array.devices_mut()[*member].spoil(3..4);
    }
    bench
}

#[test]
fn a_page_that_cannot_be_read_is_computed_and_written_again() {
    let file = ArrayFile { stripe_cache: 17, ..md() };
    for member in 0..4 {
        let mut bench = spoilt(&[member], file.clone());
        for again in 0..2 {
            let tag = bench.submit(Operation::Read, 0, 3 * 128);
            bench.run();
            assert!(bench.answers().iter().all(|answer| !answer.failed));
            let found = bench.array.take_contents(tag).expect("contents are followed");
            assert!(found.iter().all(|content| *content == Content::of(1)));
            let repaired = bench.array.counts().repaired;
            // The last member holds the parity, which is not read.
            assert_eq!(repaired, u64::from(member < 3), "member {member}, time {again}");
        }
        assert_eq!(bench.array.lost_sectors(), 0);
        if member == 3 {
            bench.array.scrub(&mut bench.calendar);
            bench.run();
            assert_eq!(bench.array.counts().repaired, 1, "a scrub finds it");
        }
    }
}

#[test]
fn two_pages_of_a_row_that_cannot_be_read_are_lost_until_they_are_written() {
    let mut bench = spoilt(&[0, 1], ArrayFile { stripe_cache: 17, ..md() });
    let tag = bench.submit(Operation::Read, 0, 8);
    bench.run();
    assert!(bench.answers().iter().any(|answer| answer.command.tag == tag && answer.failed));
    assert_eq!(bench.array.lost_sectors(), 16, "a block of each");
    bench.time(Operation::Read, 256, 128);
    bench.time(Operation::Write, 2, 4);
    assert_eq!(bench.array.lost_sectors(), 12);
    bench.time(Operation::Read, 2, 4);
    bench.submit(Operation::Read, 1, 4);
    bench.run();
    assert!(bench.answers()[0].failed, "a sector before is lost still");
    bench.fail(2);
    bench.time(Operation::Read, 256, 128);
}

#[test]
fn an_array_without_two_members_answers_what_is_on_the_others_and_refuses_writes() {
    let mut bench = super::null(4, 0, Bytes::kib(256), md());
    bench.time(Operation::Write, 0, 3 * 128);
    bench.fail(0);
    bench.fail(1);
    assert!(bench.array.is_read_only());
    bench.time(Operation::Read, 256, 128);
    for (operation, sector) in [(Operation::Read, 0), (Operation::Write, 256), (Operation::Read, 384 + 128)] {
        let tag = bench.submit(operation, sector, 8);
        bench.run();
        let failed = bench.answers().iter().any(|answer| answer.command.tag == tag && answer.failed);
        assert!(failed, "{operation:?} {sector}");
    }
}
